"""A table of rows in one test: all rows are gone through, and each that fails is named."""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
from pathlib import Path
from typing import Any

import pytest

from actorsession import Graph, get_default_graph, ops
from tests.rows import few_of, for_each


def failures(test: Any, *args: Any, **fixtures: Any) -> BaseExceptionGroup[BaseException]:
    with pytest.raises(BaseExceptionGroup) as caught:
        test(*args, **fixtures)
    return caught.value


def test_all_rows_are_gone_through_and_each_that_fails_is_named() -> None:
    seen = []

    @for_each("number", range(5))
    def check(number: int) -> None:
        seen.append(number)
        assert number % 2 == 0, f"{number} is odd"

    found = failures(check)
    assert seen == [0, 1, 2, 3, 4]
    assert found.message == "2 of 5 rows failed: 1, 3"
    assert [str(exc).splitlines()[0] for exc in found.exceptions] == ["1 is odd", "3 is odd"]
    assert [exc.__notes__ for exc in found.exceptions] == [["in the row 1"], ["in the row 3"]]


def test_a_table_whose_rows_all_hold_says_nothing() -> None:
    @for_each("number", range(5))
    def check(number: int) -> None:
        assert number < 5

    check()


def test_a_row_in_which_nothing_is_raised_as_it_should_be_fails() -> None:
    @for_each("text", ["1", "one"])
    def check(text: str) -> None:
        with pytest.raises(ValueError, match="invalid literal"):
            int(text)

    assert failures(check).message == "1 of 2 rows failed: '1'"


def test_tables_on_tables_give_all_combinations() -> None:
    seen = []

    @for_each("letter, digit", [("a", 1), ("b", 2)])
    @for_each("sign", [pytest.param("+", id="plus"), "-"], ids=lambda sign: f"sign {sign}")
    def check(letter: str, digit: int, sign: str) -> None:
        seen.append(f"{letter}{sign}{digit}")
        raise ValueError("no")

    found = failures(check)
    assert sorted(seen) == ["a+1", "a-1", "b+2", "b-2"]
    assert "sign --'b'-2" in found.message
    assert "plus-'a'-1" in found.message


def test_a_function_stands_by_its_name_and_names_may_be_given() -> None:
    @for_each("kind", [int, len])
    def by_itself(kind: Any) -> None:
        raise ValueError

    @for_each("kind", [int, len], ids=["number", "size"])
    def by_names(kind: Any) -> None:
        raise ValueError

    assert failures(by_itself).message == "2 of 2 rows failed: int, len"
    assert failures(by_names).message == "2 of 2 rows failed: number, size"


def test_what_is_no_argument_of_the_test_or_has_marks_or_no_rows_is_refused() -> None:
    def check(number: int) -> None: ...

    with pytest.raises(TypeError, match="takes no"):
        for_each("letter", "ab")(check)
    with pytest.raises(ValueError, match="without rows"):
        for_each("number", [])
    with pytest.raises(ValueError, match="marks"):
        for_each("number", [pytest.param(1, marks=pytest.mark.slow)])
    with pytest.raises(ValueError, match="zip"):
        for_each("number, other", [(1, 2, 3)])


def test_a_row_that_skips_leaves_the_test_skipped_once_the_others_hold() -> None:
    @for_each("number", range(3))
    def check(number: int) -> None:
        if number == 0:
            pytest.skip("there is no zero here")

    with pytest.raises(pytest.skip.Exception, match="1 of 3 rows skipped: there is no zero here"):
        check()


def test_a_row_that_skips_hides_none_that_fails() -> None:
    @for_each("number", range(3))
    def check(number: int) -> None:
        if number == 0:
            pytest.skip("there is no zero here")
        assert number == 1

    assert failures(check).message == "1 of 3 rows failed: 2"


def test_the_timeout_and_an_interrupt_end_the_table() -> None:
    def check(number: int) -> None:
        seen.append(number)
        if number == 1:
            raise how

    for how in (pytest.fail.Exception("Timeout (>120.0s) from pytest-timeout."), KeyboardInterrupt()):
        seen: list[int] = []
        with pytest.raises(type(how)):
            for_each("number", range(5))(check)()
        assert seen == [0, 1]


class TestFixtures:
    """What the decorator leaves of the arguments is given by fixtures, and by the instance."""

    @pytest.fixture
    def number(self) -> int:
        return 7

    @for_each("other", [1, 2])
    def test_are_given(self, number: int, other: int) -> None:
        assert isinstance(self, TestFixtures)
        assert number == 7
        assert other in (1, 2)

    @for_each("name", ["x", "x"])
    async def test_are_given_on_a_loop(self, number: int, name: str) -> None:
        await asyncio.sleep(0)
        assert (number, name) == (7, "x")

    @pytest.fixture
    def graph(self) -> Any:
        with Graph().as_default() as graph:
            yield graph

    @for_each("again", [False, True])
    def test_the_graph_is_new_for_each_row(self, graph: Graph, again: bool) -> None:
        assert get_default_graph() is graph
        assert ops.constant(1.0, name="c").op.name == "c"

    @pytest.fixture
    def something(self, graph: Graph) -> None:
        ops.constant(1.0, name="c")

    @pytest.mark.usefixtures("something")
    @for_each("again", [False, True])
    def test_the_graph_is_shared_where_a_fixture_has_filled_it(self, graph: Graph, again: bool) -> None:
        assert graph.get_tensor_by_name("c:0").graph is get_default_graph()

    @for_each("index", [0, 1])
    def test_the_graph_is_shared_where_a_fixture_may_be_built_on_it(
        self, graph: Graph, number: int, index: int
    ) -> None:
        assert get_default_graph() is graph
        assert ops.constant(1.0, name="c").op.name == ("c" if index == 0 else "c_1")


@for_each("number", [1, 2])
def test_folder_patches_output_and_log_are_of_the_row(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    number: int,
) -> None:
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").touch()
    assert "OF_THE_ROW" not in os.environ
    monkeypatch.setenv("OF_THE_ROW", "set")
    print(number)  # noqa: T201 - what is captured
    assert capsys.readouterr().out == f"{number}\n"
    print("not read")  # noqa: T201
    assert caplog.messages == []
    logging.getLogger("rows").warning("row %d", number)
    assert caplog.messages == [f"row {number}"]


def test_marks_and_parameters_between_tables_stay() -> None:
    @for_each("outer", [1, 2])
    @pytest.mark.slow
    @pytest.mark.parametrize("inner", [1, 2])
    @for_each("first", [1, 2])
    @pytest.mark.process
    def check(outer: int, inner: int, first: int) -> None: ...

    names = [mark.name for mark in vars(check)["pytestmark"]]
    assert names == ["process", "parametrize", "slow"]
    assert list(inspect.signature(check).parameters) == ["inner"]


@for_each("word, starts", [("apple", "a"), ("axe", "a"), ("box", "b")], by=lambda word, starts: starts)
def test_groups_are_tests_of_their_own(request: pytest.FixtureRequest, word: str, starts: str) -> None:
    assert request.node.name == f"test_groups_are_tests_of_their_own[{starts}]"
    assert word.startswith(starts)


def test_a_group_goes_through_its_rows_only() -> None:
    @for_each("other", [0, 1])
    @for_each("number", range(5), by=lambda number: "even" if number % 2 == 0 else "odd")
    def check(number: int, other: int) -> None:
        raise ValueError

    [mark] = vars(check)["pytestmark"]
    assert mark.args == ("group_of_rows", ["even", "odd"])
    assert failures(check, group_of_rows="odd").message == ("4 of 4 rows failed: 1-0, 3-0, 1-1, 3-1")


def test_few_of_some_rows_are_not_marked() -> None:
    rows = few_of([(1, 2), 3, pytest.param(4, id="four", marks=pytest.mark.slow), 5], 2)
    assert [row.values for row in rows] == [(1, 2), (3,), (4,), (5,)]
    assert [[mark.name for mark in row.marks] for row in rows] == [[], ["whole"], ["slow"], ["whole"]]
    assert rows[2].id == "four"


def test_a_row_that_leaves_children_on_the_loop_fails() -> None:
    @for_each("leaves", [False, True])
    async def check(leaves: bool) -> None:
        if leaves:
            kept.append(asyncio.get_running_loop().create_task(asyncio.sleep(60)))

    kept: list[Any] = []
    with pytest.raises(BaseExceptionGroup) as caught:
        asyncio.run(check())
    assert caught.value.message == "1 of 2 rows failed: True"
    assert "the row left" in str(caught.value.exceptions[0])
