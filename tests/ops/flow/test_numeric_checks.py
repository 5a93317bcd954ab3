"""Checks of all floating numbers of a graph, and functions of arrays under their later name."""

from __future__ import annotations

from typing import Any

import numpy as np

import actorsession as acts
from actorsession import ops
from actorsession.errors import InvalidArgumentError
from tests.rows import refused


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
