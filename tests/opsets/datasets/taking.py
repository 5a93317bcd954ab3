"""What the tests of datasets share: all elements of a dataset, as plain values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

import actorsession.compat.v1 as tf

Dataset = tf.data.Dataset
END = "end"


def plain(value: Any) -> Any:
    """A fetched value without arrays."""
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*[plain(item) for item in value])
    if isinstance(value, (tuple, list)):
        return tuple([plain(item) for item in value])
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return np.asarray(value).tolist()


def elements(dataset: Any, most: int = 40) -> list[Any]:
    """All elements of a dataset, and ``END`` if they end; the class of an error in place of an element."""
    iterator = dataset.make_initializable_iterator()
    following = iterator.get_next()
    found: list[Any] = []
    with tf.Session(graph=dataset._dataset_tensor.graph) as sess:
        sess.run(iterator.initializer)
        for _ in range(most):
            try:
                found.append(plain(sess.run(following)))
            except tf.errors.OutOfRangeError:
                found.append(END)
                break
            except tf.errors.OpError as exc:
                found.append(type(exc).__name__)
    return found
