"""``case`` and ``switch_case``: one of several functions."""

from __future__ import annotations

from typing import Any

import pytest

import actorsession as acts
from tests.rows import refusing


def run(fetches: Any, feeds: Any) -> Any:
    with acts.Session(graph=acts.get_default_graph()) as session:
        return session.run(fetches, feeds)


def number(value: float) -> Any:
    return lambda: acts.constant(value)


def number_in(x: Any, of: Any, values: Any) -> list[float]:
    with acts.Session(graph=x.graph) as session:
        return [float(session.run(of, {x: value})) for value in values]


def test_the_first_predicate_that_holds_chooses() -> None:
    x = acts.placeholder(acts.int32, [])
    found = acts.flow.case([(x < 1, number(1.0)), (x < 5, number(2.0))], default=number(3.0))
    assert found.name == "case/cond/Merge:0"
    assert number_in(x, found, (0, 3, 9)) == [1.0, 2.0, 3.0]


def test_pairs_may_be_a_dict_in_its_order() -> None:
    x = acts.placeholder(acts.int32, [])
    found = acts.flow.case({x < 5: number(1.0), x < 9: number(2.0)}, default=number(3.0))
    assert number_in(x, found, (0, 7, 9)) == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("pairs", [1, 2], ids=["one", "two"])
def test_without_default_one_predicate_must_hold(pairs: int) -> None:
    x = acts.placeholder(acts.int32, [])
    outside = acts.constant(4.0)
    found = acts.flow.case([(x < k + 1, lambda: outside) for k in range(pairs)])
    assert run(found, {x: 0}) == 4.0
    with pytest.raises(acts.errors.InvalidArgumentError, match="None of the conditions"):
        run(found, {x: 5})


def test_exclusive_refuses_two_that_hold() -> None:
    x = acts.placeholder(acts.int32, [])
    found = acts.flow.case([(x < 1, number(1.0)), (x < 5, number(2.0))], default=number(3.0), exclusive=True)
    assert number_in(x, found, (3, 9)) == [2.0, 3.0]
    with pytest.raises(acts.errors.InvalidArgumentError, match="more than 1 condition"):
        run(found, {x: 0})


def test_a_list_of_one_stays_one_if_strict() -> None:
    x = acts.placeholder(acts.int32, [])
    pairs = [(x < 1, lambda: [acts.constant(1.0)])]
    loose = acts.flow.case(pairs, default=lambda: [acts.constant(2.0)])
    kept = acts.flow.case(pairs, default=lambda: [acts.constant(2.0)], strict=True)
    assert (type(loose), type(kept)) == (acts.Tensor, list)


def test_a_number_chooses_and_others_take_the_last() -> None:
    x = acts.placeholder(acts.int32, [])
    found = acts.flow.switch_case(x, [number(float(k)) for k in range(100)])
    assert number_in(x, found, (-1, 0, 1, 50, 99, 100)) == [99.0, 0.0, 1.0, 50.0, 99.0, 99.0]


def test_numbers_of_a_dict_and_a_default() -> None:
    x = acts.placeholder(acts.int64, [])
    found = acts.flow.switch_case(x, {1: number(1.0), 0: number(0.0)}, default=number(7.0))
    assert number_in(x, found, (-1, 0, 1, 2)) == [7.0, 0.0, 1.0, 7.0]


def _case(pairs: Any) -> Any:
    """A case over pairs, or over those that are made of a number."""
    x = acts.placeholder(acts.int32, [])
    return acts.flow.case(pairs(x) if callable(pairs) else pairs, default=number(2.0))


def _switch(functions: Any, **more: Any) -> Any:
    return acts.flow.switch_case(more.pop("index", acts.placeholder(acts.int32, [])), functions, **more)


test_what_cannot_be_chosen_from_is_refused = refusing(
    (lambda: _case(3), TypeError, "case: "),
    (lambda: _case([]), ValueError, "case: "),
    (lambda: _case([(True, number(1.0))]), TypeError, "case: "),
    (lambda: _case([("spam",)]), TypeError, "case: "),
    (lambda: _case(lambda x: [(x, number(1.0))]), TypeError, "case: "),
    (lambda: _case(lambda x: [(x < 1, 3)]), TypeError, "case: "),
    (lambda: _switch([]), ValueError, "at least one"),
    (lambda: _switch([3]), TypeError, "must be a pair"),
    (lambda: _switch({"a": number(1.0)}), TypeError, "key must be an int"),
    (lambda: _switch({2: number(1.0), 5: number(1.0)}), ValueError, "all numbers from 0"),
    (lambda: _switch([(0, number(1.0)), (0, number(2.0))]), ValueError, "all numbers from 0"),
    (lambda: _switch(number(1.0)), TypeError, "must be a list"),
    (lambda: _switch([number(1.0)], index=1), TypeError, "branch_index must be"),
    (lambda: _switch([number(1.0)], default=3), TypeError, "default must be callable, got 3"),
)
