"""Assertions, prints and checks of numbers: what they let pass, what they say, and when."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import Graph, Session, ops
from actorsession.errors import InvalidArgumentError
from actorsession.ops.flow.assertions import summary
from tests.ops.cases import run
from tests.ops.uses import each_use, equals
from tests.rows import for_each, refused

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
    refused(lambda: run(y, {x: -4.0}), InvalidArgumentError, "negative")


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


@for_each("values, words", [([1.0, np.nan], "NaN"), ([np.inf], "Inf"), ([np.nan, -np.inf], "Inf and NaN")])
@for_each("check", [ops.check_numerics, ops.verify_tensor_all_finite])
def test_numbers_that_are_none_are_refused(check: Any, values: list[float], words: str) -> None:
    x = ops.placeholder("float32")
    refused(lambda: run(check(x, "here"), {x: values}), InvalidArgumentError, f"here : Tensor had {words} values")


def test_numbers_and_their_gradients_pass() -> None:
    x = ops.constant([1.0, 2.0])
    y = ops.check_numerics(x, "here")
    assert (run(y).tolist(), run(ops.gradients(ops.square(y), [x])[0]).tolist()) == ([1.0, 2.0], [2.0, 4.0])
    with pytest.raises(InvalidArgumentError, match="detected in gradient"):
        run(ops.gradients(ops.sqrt(ops.check_numerics(x * 0.0, "here")), [x]))


# -- assertions ------------------------------------------------------------------------------------


@for_each(
    "check, condition, fits, fails",
    [
        (ops.assert_equal, "x == y", 2.0, 3.0),
        (ops.assert_none_equal, "x != y", 3.0, 2.0),
        (ops.assert_less, "x < y", 1.0, 2.0),
        (ops.assert_less_equal, "x <= y", 2.0, 3.0),
        (ops.assert_greater, "x > y", 3.0, 2.0),
        (ops.assert_greater_equal, "x >= y", 2.0, 1.0),
        (ops.assert_positive, "x > 0", 1.0, 0.0),
        (ops.assert_negative, "x < 0", -1.0, 0.0),
        (ops.assert_non_negative, "x >= 0", 0.0, -1.0),
        (ops.assert_non_positive, "x <= 0", 0.0, 1.0),
    ],
)
def test_numbers_are_compared_in_the_step_or_at_once(check: Any, condition: str, fits: float, fails: float) -> None:
    x, y = ops.placeholder("float32", name="x"), ops.placeholder("float32", name="y")
    others, known = ([y], [[2.0]]) if "y" in condition else ([], [])
    made = check(x, *others, message="said")
    assert run(made, {x: [fits], y: [2.0]}) is None
    head = rf"\[said\] \[Condition {condition} did not hold element-wise:\] \[x \(x:0\) = \] \[{fails:g}\]"
    refused(lambda: run(made, {x: [fails], y: [2.0]}), InvalidArgumentError, head)
    assert check([fits], *known).type == "Assert"
    with pytest.raises(InvalidArgumentError, match=f"said\nCondition {condition} did not hold"):
        check([fails], *known, message="said")


@for_each(
    "check, wanted, fits, words",
    [
        (ops.assert_rank, 2, [[1.0]], "must have rank 2"),
        (ops.assert_rank_at_least, 2, [[[1.0]]], "must have rank at least 2"),
        (ops.assert_rank_in, [0, 2], [[1.0]], r"must have rank in \(0, 2\)"),
    ],
)
def test_ranks_are_checked_in_the_step_or_at_once(check: Any, wanted: Any, fits: Any, words: str) -> None:
    x = ops.placeholder("float32", name="x")
    assert run(check(x, wanted), {x: fits}) is None
    refused(lambda: run(check(x, wanted), {x: [1.0]}), InvalidArgumentError, r"Tensor x:0 must have rank")
    assert check(ops.constant(fits), wanted).type == "NoOp"
    with pytest.raises(ValueError, match=rf"said.  Tensor .* {words}.  Received rank 1"):
        check(ops.constant([1.0]), wanted, message="said")


def _x() -> Any:
    return ops.placeholder("float32", name="x")


def _near(**options: Any) -> Any:
    x = _x()
    return run(ops.assert_near(x, 1.0, **options), {x: [1.05]})


def _scalar() -> Any:
    x = ops.constant(1.0)
    return ops.assert_scalar(x) is x


OTHERS = [
    equals(lambda: _near(rtol=0.1), None),
    (_near, InvalidArgumentError, "x and y not equal to tolerance"),
    equals(lambda: [ops.assert_integer(1).type, ops.assert_type(_x(), "float32").type], ["NoOp", "NoOp"]),
    equals(_scalar, True),
    (lambda: ops.assert_integer(_x()), TypeError, 'Expected "x" to be integer type'),
    (lambda: ops.assert_type(_x(), "int32"), TypeError, "x:0 must be of type int32; got float32"),
    (lambda: ops.assert_scalar(ops.constant([1.0])), ValueError, "Expected scalar shape"),
    (lambda: ops.assert_rank(ops.constant(1.0), [1, 2]), ValueError, "a rank must be a scalar"),
]


test_other_assertions_do_what_their_rows_say = each_use(OTHERS)


# -- checks of all floating numbers of a graph -----------------------------------------------------


def test_the_first_tensor_that_is_not_finite_is_named() -> None:
    x = ops.placeholder(acts.float32, [2], name="x")
    y = ops.divide(1.0, x, name="y")
    ops.add(y, y, name="z")
    checks = ops.add_check_numerics_ops()
    with acts.Session() as sess:
        sess.run(checks, {x: [1.0, 2.0]})
        refused(lambda: sess.run(checks, {x: [1.0, 0.0]}), InvalidArgumentError, r"^y:0 : Tensor had Inf")
        refused(lambda: sess.run(checks, {x: [1.0, np.nan]}), InvalidArgumentError, r"^x:0 : Tensor had NaN")


def test_integers_are_not_checked_and_loops_are_refused(graph: Any) -> None:
    ops.constant([1, 2])
    ops.add_check_numerics_ops()
    assert "CheckNumerics" not in {op.type for op in graph.get_operations()}
    ops.while_loop(lambda i: i < 3.0, lambda i: i + 1.0, [0.0])
    refused(lambda: ops.add_check_numerics_ops(), ValueError, "not compatible with TensorFlow control flow")


def test_a_function_of_arrays_is_called_with_arrays() -> None:
    made: Any = ops.numpy_function(lambda a, b: a + b, [1.0, ops.constant([2.0])], acts.float32)
    with acts.Session() as sess:
        assert sess.run(made).tolist() == [3.0]


def test_a_function_of_arrays_may_be_decorated() -> None:
    decorate: Any = ops.numpy_function(Tout=acts.float32)

    @decorate
    def doubled(a: Any) -> Any:
        return 2 * a

    with acts.Session() as sess:
        assert sess.run(doubled(ops.constant([2.0]))).tolist() == [4.0]
    refused(lambda: ops.numpy_function(inp=[1.0]), ValueError, "inputs are given with a function")
