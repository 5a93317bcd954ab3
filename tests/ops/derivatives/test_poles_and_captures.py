"""Gradients at poles, gradient functions of Defuns, gradients by captured references; none is dropped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import ops
from actorsession.ops import raw
from tests.rows import for_each

INF = float("inf")
# An operation with the points at which its slope is infinite or no number, and TensorFlow has a zero gradient
# all the same where the gradient before it is zero.
POLES: dict[str, tuple[Any, list[float]]] = {
    "rsqrt": (ops.rsqrt, [0.0, -1.0, 1e-30, -INF]),
    "reciprocal": (ops.reciprocal, [0.0, -0.0, 1e-30]),
    "inv": (raw.Inv, [0.0, -0.0, 1e-30]),
    "sqrt": (ops.sqrt, [0.0, -1.0, -INF]),
    "clip_by_average_norm": (lambda x: ops.clip_by_average_norm(x, 1.0), [0.0, 0.0]),
    "reduce_prod of one": (lambda x: ops.reduce_prod(x[:1]), [INF]),
    "product that overflows": (lambda x: ops.reduce_prod(ops.reshape(x, [1, 2]), 1), [3e38, 3e38]),
    "svd": (lambda x: acts.linalg.svd(ops.reshape(x, [2, 2]))[1], [0.0, 0.0, 0.0, 0.0]),
}

# The same for the gradients of these gradients; their own slope times zero is no number, as in TensorFlow.
SECOND: dict[str, tuple[Any, list[float]]] = {
    "log": (ops.log, [0.0, -0.0]),
    "log1p": (ops.log1p, [-1.0]),
    "asin": (ops.asin, [1.0, -1.0, 2.0]),
    "acos": (ops.acos, [1.0, -1.0, 2.0]),
    "atanh": (ops.atanh, [1.0, -1.0]),
}


@pytest.fixture(autouse=True)
def session() -> Iterator[acts.Session]:
    with acts.Graph().as_default() as graph, acts.Session(graph=graph) as made:
        yield made


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@for_each("name, order", [*((name, 1) for name in POLES), *((name, 2) for name in SECOND)])
def test_a_zero_gradient_stays_zero_at_a_pole(name: str, order: int) -> None:
    function, points = (POLES if order == 1 else SECOND)[name]
    x, before = acts.placeholder("float32", [len(points)]), acts.placeholder("float32", [])
    y = function(x) if order == 1 else ops.gradients(function(x), x)[0]
    slope = ops.gradients(y, x, grad_ys=before * ops.ones_like(y))[0]
    assert slope is not None
    with acts.Session() as session:
        np.testing.assert_array_equal(session.run(slope, {x: points, before: 0.0}), 0.0)


@pytest.mark.parametrize("shown", [False, True])
def test_a_function_may_have_another_function_as_its_gradient(session: acts.Session, shown: bool) -> None:
    @acts.flow.Defun(acts.float32, acts.float32, acts.float32)
    def back(x: Any, z: Any, dy: Any) -> Any:
        return dy * 10.0 * x, dy * z

    @acts.flow.Defun(acts.float32, acts.float32, grad_func=back)
    def product(x: Any, z: Any) -> Any:
        return x * z

    session.graph.shown_prefix = "tf." if shown else ""  # then a call has the type of its function
    x, z = acts.constant(3.0), acts.constant(4.0)
    assert session.run(ops.gradients(product(x, z), [x, z])) == [30.0, 4.0]


def test_a_captured_reference_has_a_gradient_by_itself_and_by_its_value(session: acts.Session) -> None:
    w = ops.Variable(3.0, use_resource=False)

    @acts.flow.Defun(acts.float32)
    def times(x: Any) -> Any:
        return x * w

    yes = acts.constant(True)
    for y in (
        times(acts.constant(2.0)),
        ops.cond(yes, lambda: w * 2.0, lambda: w),
        ops.while_loop(lambda i, s: i < 2, lambda i, s: (i + 1, s + w), [0, 0.0])[1],
        w * 2.0,
    ):
        slopes = [ops.gradients(y, x)[0] for x in (w, w.value())]
        session.run(w.initializer)
        assert session.run(slopes) == [2.0, 2.0]


def test_a_gradient_in_a_loop_by_what_a_variable_started_from_is_refused() -> None:
    a = acts.constant(2.0)
    for start in (a, a * 3.0):
        for function in (lambda s: s * s, lambda s: s * a, lambda s: s):
            with pytest.raises(ValueError, match="it would have to go through the iterations before"):
                ops.while_loop(
                    lambda i, s: i < 3, lambda i, s, f=function: (i + 1, ops.gradients(f(s), a)[0]), [0, start]
                )


def test_other_gradients_in_a_loop_are_given(session: acts.Session) -> None:
    a, b = acts.constant(2.0), acts.constant(5.0)

    def body(i: Any, s: Any) -> Any:
        by_variable = ops.gradients(s * s, s)[0]
        by_invariant = ops.gradients(s * b, b)[0]
        stopped = ops.gradients(ops.stop_gradient(s) * a, a)[0]
        return i + 1, by_variable + by_invariant + stopped

    assert session.run(ops.while_loop(lambda i, s: i < 1, body, [0, a])[1]) == 8.0
