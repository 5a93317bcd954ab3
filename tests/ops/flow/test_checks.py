"""Assertions, prints and checks of numbers: what they let pass, what they say, and when."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import Graph, Session, ops
from actorsession.errors import InvalidArgumentError
from actorsession.ops.flow.assertions import summary
from tests.rows import for_each


def run(fetch: Any, feeds: Any = None) -> Any:
    with Session() as session:
        return session.run(fetch, feeds)


# -- Assert ----------------------------------------------------------------------------------------


def test_an_assertion_says_what_it_was_given() -> None:
    x = ops.placeholder("float32", name="x")
    check = ops.Assert(ops.reduce_all(x > 0.0), [x, "msg", ops.shape(x)], summarize=2)
    assert run(check, {x: [1.0, 2.0]}) is None
    with pytest.raises(InvalidArgumentError, match=r"assertion failed: \[1 -2\.\.\.\] \[msg\] \[4\]"):
        run(check, {x: [1.0, -2.0, 3.0, 4.0]})


def test_an_assertion_holds_back_what_waits_for_it(graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    with graph.control_dependencies([ops.Assert(x > 0.0, ["negative"])]):
        y = ops.sqrt(x)
    assert run(y, {x: 4.0}) == 2.0
    with pytest.raises(InvalidArgumentError, match="negative"):
        run(y, {x: -4.0})


@for_each(
    "value, few, text",
    [
        (np.array([[1.0, 2.0], [3.0, 4.0]], np.float32), 3, "[[1 2][3...]...]"),
        (np.array([[1, 2], [3, 4]]), -1, "[[1 2][3 4]]"),
        (np.array([[1, 2], [3, 4]]), 2, "[[1 2]...]"),
        (np.float32(0.1), 3, "[0.1]"),
        (np.float32(1 / 3), 3, "[0.333333343]"),
        (np.float64(1 / 3), 3, "[0.33333333333333331]"),
        (np.array([True, False]), 3, "[1 0]"),
        (b"word", 3, "[word]"),
        (np.array([np.nan, np.inf], np.float32), 3, "[nan inf]"),
        (np.complex64(1 + 2j), 3, "[(1,2)]"),
        (np.zeros([0]), 3, "[]"),
    ],
    ids=["matrix", "all", "row", "scalar", "float32", "float64", "bools", "text", "no number", "complex", "empty"],
)
def test_values_are_written_in_a_line(value: Any, few: int, text: str) -> None:
    assert summary(value, few) == text


# -- Print -----------------------------------------------------------------------------------------


def test_a_print_hands_its_input_on_and_writes_the_data(capfd: pytest.CaptureFixture[str]) -> None:
    x = ops.placeholder("float32", name="x")
    y = ops.Print(x, [x, ops.shape(x)], "msg: ", first_n=2, summarize=3)
    with Session() as session:
        for _ in range(3):
            found = session.run(y * 2.0, {x: [[1.0, 2.0], [3.0, 4.0]]})
    np.testing.assert_array_equal(found, [[2.0, 4.0], [6.0, 8.0]])
    assert capfd.readouterr().err == "msg: [[1 2][3...]...][2 2]\n" * 2


def test_a_print_lets_gradients_pass() -> None:
    x = ops.constant(3.0)
    (grad,) = ops.gradients(ops.square(ops.Print(x, [])), [x])
    assert run(grad) == 6.0


# -- numbers ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "words"),
    [([1.0, np.nan], "NaN"), ([np.inf], "Inf"), ([np.nan, -np.inf], "Inf and NaN")],
    ids=["nan", "infinity", "both"],
)
def test_numbers_that_are_none_are_refused(values: list[float], words: str) -> None:
    x = ops.placeholder("float32")
    with pytest.raises(InvalidArgumentError, match=f"here : Tensor had {words} values"):
        run(ops.check_numerics(x, "here"), {x: values})
    with pytest.raises(InvalidArgumentError, match=f"there : Tensor had {words} values"):
        run(ops.verify_tensor_all_finite(x, "there"), {x: values})


def test_numbers_and_their_gradients_pass() -> None:
    x = ops.constant([1.0, 2.0])
    y = ops.check_numerics(x, "here")
    assert run(y).tolist() == [1.0, 2.0]
    assert run(ops.gradients(ops.square(y), [x])[0]).tolist() == [2.0, 4.0]
    with pytest.raises(InvalidArgumentError, match="detected in gradient"):
        run(ops.gradients(ops.sqrt(ops.check_numerics(x * 0.0, "here")), [x]))


# -- assertions about two tensors --------------------------------------------------------------------

BINARY = [
    (ops.assert_equal, "==", 2.0, 3.0),
    (ops.assert_none_equal, "!=", 3.0, 2.0),
    (ops.assert_less, "<", 3.0, 2.0),
    (ops.assert_less_equal, "<=", 2.0, 1.0),
    (ops.assert_greater, ">", 1.0, 2.0),
    (ops.assert_greater_equal, ">=", 2.0, 3.0),
]


@for_each("check, sign, fits, fails", BINARY, ids=[b[0].__name__ for b in BINARY])
def test_a_comparison_is_checked_in_the_step_or_at_once(check: Any, sign: str, fits: float, fails: float) -> None:
    x, y = ops.placeholder("float32", name="x"), ops.placeholder("float32", name="y")
    made = check(x, y, message="said")
    assert run(made, {x: [2.0], y: [fits]}) is None
    head = rf"\[said\] \[Condition x {sign} y did not hold element-wise:\] \[x \(x:0\) = \] \[2\]"
    with pytest.raises(InvalidArgumentError, match=head):
        run(made, {x: [2.0], y: [fails]})
    assert check([2.0], [fits]).type == "Assert"
    with pytest.raises(InvalidArgumentError, match=f"said\nCondition x {sign} y did not hold"):
        check([2.0], [fails], message="said")


@for_each(
    "check, sign, fits, fails",
    [
        (ops.assert_positive, ">", 1.0, 0.0),
        (ops.assert_negative, "<", -1.0, 0.0),
        (ops.assert_non_negative, ">=", 0.0, -1.0),
        (ops.assert_non_positive, "<=", 0.0, 1.0),
    ],
    ids=["positive", "negative", "non_negative", "non_positive"],
)
def test_a_sign_is_checked_in_the_step_or_at_once(check: Any, sign: str, fits: float, fails: float) -> None:
    x = ops.placeholder("float32", name="x")
    assert run(check(x), {x: [fits]}) is None
    with pytest.raises(InvalidArgumentError, match=f"Condition x {sign} 0 did not hold"):
        run(check(x), {x: [fails]})
    assert check([fits]).type == "Assert"
    with pytest.raises(InvalidArgumentError, match=f"Condition x {sign} 0 did not hold"):
        check([fails])


def test_nearness_has_tolerances() -> None:
    x = ops.placeholder("float32", name="x")
    assert run(ops.assert_near(x, 1.0, rtol=0.1), {x: [1.05]}) is None
    with pytest.raises(InvalidArgumentError, match="x and y not equal to tolerance"):
        run(ops.assert_near(x, 1.0), {x: [1.05]})


# -- dtypes and ranks --------------------------------------------------------------------------------


def test_dtypes_are_checked_at_once() -> None:
    x = ops.placeholder("float32", name="x")
    assert ops.assert_integer(1).type == ops.assert_type(x, "float32").type == "NoOp"
    with pytest.raises(TypeError, match='Expected "x" to be integer type'):
        ops.assert_integer(x)
    with pytest.raises(TypeError, match="x:0 must be of type int32; got float32"):
        ops.assert_type(x, "int32")


@pytest.mark.parametrize(
    ("check", "wanted", "fits", "words"),
    [
        (ops.assert_rank, 2, [[1.0]], "must have rank 2"),
        (ops.assert_rank_at_least, 2, [[[1.0]]], "must have rank at least 2"),
        (ops.assert_rank_in, [0, 2], [[1.0]], r"must have rank in \(0, 2\)"),
    ],
    ids=["rank", "at least", "in"],
)
def test_ranks_are_checked_in_the_step_or_at_once(check: Any, wanted: Any, fits: Any, words: str) -> None:
    x = ops.placeholder("float32", name="x")
    assert run(check(x, wanted), {x: fits}) is None
    with pytest.raises(InvalidArgumentError, match=r"Tensor x:0 must have rank"):
        run(check(x, wanted), {x: [1.0]})
    assert check(ops.constant(fits), wanted).type == "NoOp"
    with pytest.raises(ValueError, match=rf"said.  Tensor .* {words}.  Received rank 1"):
        check(ops.constant([1.0]), wanted, message="said")


def test_a_scalar_is_handed_on() -> None:
    x = ops.constant(1.0)
    assert ops.assert_scalar(x) is x
    with pytest.raises(ValueError, match="Expected scalar shape"):
        ops.assert_scalar(ops.constant([1.0]))
    with pytest.raises(ValueError, match="a rank must be a scalar"):
        ops.assert_rank(x, [1, 2])
