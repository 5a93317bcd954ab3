"""``py_function``: Python functions of tensors that have their values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf


def ran(func: Any, inp: Any, Tout: Any) -> Any:
    with tf.Graph().as_default(), tf.Session() as sess:
        return sess.run(tf.py_function(func, inp, Tout))


@pytest.mark.parametrize(
    ("func", "expected"),
    [
        (lambda x: x.numpy() * 2, [2, 4]),
        (lambda x: x * 2, [2, 4]),
        (lambda x: (x + 1).numpy(), [2, 3]),
        (lambda x: x[0].numpy(), 1),
        (lambda x: tf.reduce_sum(x) + 1, 4),
        (lambda x: 1, 1),
        (lambda x: np.array([1.0, 2.0]), [1, 2]),
        (lambda x: x.get_shape().as_list()[0], 2),
        # Of several values for one result the first is taken.
        (lambda x: (1.0, 2.0), 1),
        (lambda x: [each.numpy() * 2 for each in x], 2),
    ],
)
def test_a_function_has_values_and_may_use_operations(func: Any, expected: Any) -> None:
    found = ran(func, [[1.0, 2.0]], tf.float32)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, expected)


def test_several_results_come_as_a_list() -> None:
    first, second = ran(lambda x: [x, tf.constant(3)], [[1.0]], [tf.float32, tf.int32])
    assert (first.tolist(), second) == ([1.0], 3)
    # Strings come as bytes and may be returned as text.
    assert ran(lambda x: x.numpy().decode() + "!", [b"ab"], tf.string) == b"ab!"
    seen: list[Any] = []
    assert ran(lambda x: seen.append(x.numpy()), ["ab"], []) is None
    assert seen == [b"ab"]
    assert type(seen[0]) is bytes
    # An error of the function ends the step.
    with pytest.raises(tf.errors.UnknownError, match="ZeroDivisionError"):
        ran(lambda x: 1 / 0, [1.0], tf.float32)
    # The operation has the name that tensorflow gives it.
    with tf.Graph().as_default():
        assert tf.py_function(lambda: 1.0, [], tf.float32).name == "EagerPyFunc:0"
        assert tf.py_function(lambda: 1.0, [], [], name="own").name == "own"


@pytest.mark.parametrize(
    ("func", "Tout"), [(lambda: 1.5, tf.int32), (lambda: None, tf.float32), (lambda: tf.constant(1), tf.float32)]
)
def test_a_result_of_another_type_is_an_invalid_argument(func: Any, Tout: Any) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError):
        ran(func, [], Tout)


def test_a_function_is_decorated_or_mapped_over_a_dataset() -> None:
    @tf.py_function(Tout=tf.string)
    def marked(text: Any) -> Any:
        return text.numpy() + b"?"

    with tf.Graph().as_default(), tf.Session() as sess:
        dataset = tf.data.Dataset.from_tensor_slices(["a", "bc"]).map(marked)
        following = dataset.make_one_shot_iterator().get_next()
        assert [sess.run(following) for _ in range(2)] == [b"a?", b"bc?"]
    with pytest.raises(ValueError, match="inputs are given with a function"):
        tf.py_function(inp=[1.0], Tout=tf.float32)
