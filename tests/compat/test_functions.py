"""What programs import from ``tensorflow.python`` for functions."""

from __future__ import annotations

from typing import Any

import actorsession.compat.v1 as tf
from actorsession.compat.v1.python.framework import function
from actorsession.compat.v1.python.ops import functional_ops


def test_a_program_that_calls_functions_runs() -> None:
    with tf.Graph().as_default(), tf.Session() as session:

        @function.Defun(tf.float32, tf.float32, func_name="Axpy")
        def axpy(x: Any, y: Any) -> Any:
            return 2.0 * x + y

        a = tf.constant(3.0)
        found = axpy(a, 1.0)
        (remote,) = functional_ops.remote_call(args=[a, 2.0], Tout=[tf.float32], f=axpy, target="/cpu:0")
        (grad,) = tf.gradients(found, a)
        assert session.run([found, remote, grad]) == [7.0, 8.0, 2.0]
        total = tf.map_fn(lambda v: axpy(v, a), tf.constant([1.0, 2.0]))
        assert list(session.run(total)) == [5.0, 7.0]


def test_functions_that_call_each_other_twice_are_built_in_time_by_their_number() -> None:
    """Each is built once, and not once for each of its 32,768 calls."""

    def twice(inner: Any, number: int) -> Any:
        @function.Defun(tf.float32, func_name=f"Twice{number}")
        def outer(x: Any) -> Any:
            return inner(inner(x))

        return outer

    def grow(x: Any) -> Any:
        return x + 1.0

    whole = grow
    for number in range(15):
        whole = twice(whole, number)
    built = whole(tf.constant([1.0, 2.0]))
    assert len(built.graph.as_graph_def().library.function) == 15
    with tf.Session() as session:
        assert session.run(built).tolist() == [2.0**15 + 1.0, 2.0**15 + 2.0]
