"""Errors as programs for TensorFlow raise and look at them."""

from __future__ import annotations

import copy

import pytest

import actorsession.compat.v1 as tf
from actorsession import errors


def test_a_program_raises_errors_with_tensorflows_arguments() -> None:
    for made in (
        tf.errors.InvalidArgumentError(None, None, "said"),
        tf.errors.InvalidArgumentError(node_def=None, op=None, message="said"),
        tf.errors.InvalidArgumentError(None, None, message="said"),
        tf.errors.InvalidArgumentError(None, None, "said", {"more": b"payload"}),
        tf.OpError(None, None, "said", tf.errors.INVALID_ARGUMENT),
        tf.OpError(None, None, message="said", error_code=tf.errors.INVALID_ARGUMENT),
    ):
        assert (made.node_def, made.op, made.message) == (None, None, "said")
        assert (made.error_code, str(made)) == (3, "said")
        assert isinstance(made, errors.OpError)
    assert tf.OpError(None, None, "said").error_code == tf.errors.UNKNOWN


def test_an_error_knows_the_operation_that_it_is_about() -> None:
    with tf.Graph().as_default():
        c = tf.constant(1, name="c")
        made = tf.errors.NotFoundError(c.op.node_def, c.op, "said")
        assert (made.op, made.node_def.name, made.node) == (c.op, "c", "c")
    # An error can be copied.
    copied = copy.copy(tf.errors.AbortedError(None, None, "said"))
    assert (type(copied), copied.message) == (tf.errors.AbortedError, "said")

    # Classes of a program are caught as what they derive from.
    class NoMore(tf.errors.OutOfRangeError):
        def __init__(self) -> None:
            super().__init__(None, None, "no more")

    with pytest.raises(errors.OutOfRangeError, match="no more") as caught:
        raise NoMore
    assert caught.value.error_code == tf.errors.OUT_OF_RANGE
