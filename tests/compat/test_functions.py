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
        (remote,) = functional_ops.remote_call(
            args=[a, 2.0], Tout=[tf.float32], f=axpy, target="/cpu:0"
        )
        (grad,) = tf.gradients(found, a)
        assert session.run([found, remote, grad]) == [7.0, 8.0, 2.0]
        total = tf.map_fn(lambda v: axpy(v, a), tf.constant([1.0, 2.0]))
        assert list(session.run(total)) == [5.0, 7.0]
