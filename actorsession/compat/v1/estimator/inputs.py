"""``tf.estimator.inputs``: input functions over arrays in memory."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from actorsession import ops

__all__ = ["numpy_input_fn", "pandas_input_fn"]


def numpy_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
) -> Callable[[], Any]:
    """Return an input function for arrays.

    Args:
        x: an array of features, or arrays by key.
        y: an array of labels, or arrays by key; none for predictions.
        batch_size: rows of a batch. Batches go on over the end of an epoch; only the last one is smaller.
        num_epochs: how often the rows are given; without end if ``None``.
        shuffle: whether the rows of each epoch are given in random order.
        queue_capacity: accepted for compatibility; batches are made when they are asked for.
        num_threads: accepted for compatibility as well.

    Raises:
        ValueError: if ``shuffle`` is not given, arrays differ in length, or there are none.
        TypeError: if ``x`` or ``y`` is neither an array nor a mapping.
    """
    if not isinstance(shuffle, bool):
        raise ValueError(
            "shuffle must be provided and explicitly set as boolean (it is recommended to set it as True "
            f"for training); got {shuffle}"
        )
    features, labels = _arrays(x, "x"), None if y is None else _arrays(y, "y")
    for key in features.keys() & (labels or {}).keys():
        if key is not None:
            raise ValueError(f"features and labels have the key {key!r} in common")
    columns = [*features.values(), *(labels or {}).values()]
    sizes = {len(column) for column in columns}
    if len(sizes) != 1:
        raise ValueError(
            "Length of tensors in x and y is mismatched. All elements in x and y must have the same "
            f"length. Found {sorted(sizes)}"
        )
    (size,) = sizes

    def input_fn() -> Any:
        lock, rows = threading.Lock(), _batches(size, batch_size, num_epochs, shuffle)

        def next_batch() -> list[Any]:
            with lock:
                chosen = next(rows)
            return [column[chosen] for column in columns]

        batch: Any = ops.py_func(next_batch, [], [column.dtype for column in columns])
        known = batch_size if num_epochs is None else None
        for tensor, column in zip(batch, columns, strict=True):
            tensor.set_shape([known, *column.shape[1:]])
        by_name = dict(zip(features, batch, strict=False))
        inputs = by_name[None] if list(by_name) == [None] else by_name
        if labels is None:
            return inputs
        rest = dict(zip(labels, batch[len(features) :], strict=True))
        return inputs, rest[None] if list(rest) == [None] else rest

    return input_fn


def _arrays(data: Any, what: str) -> dict[Any, Any]:
    """Return arrays by key; ``None`` is the key of a single one."""
    if isinstance(data, Mapping):
        if not data:
            raise ValueError(f"{what} cannot be an empty dict, use None instead.")
        arrays = dict(data)
    else:
        arrays = {None: data}
    for key, array in arrays.items():
        if what == "y" and hasattr(array, "__array__"):
            arrays[key] = np.asarray(array)  # a series of pandas, for one
        elif not isinstance(array, np.ndarray):
            raise TypeError(f"{what} must be a dict or array; got {type(data).__name__}")
    return arrays


def _batches(size: int, batch: int, epochs: int | None, shuffle: bool) -> Iterator[Any]:
    """Yield the rows of each batch."""
    waiting = np.empty(0, np.int64)
    epoch = 0
    while True:
        while len(waiting) < batch and (epochs is None or epoch < epochs) and size:
            order = np.random.permutation(size) if shuffle else np.arange(size)
            waiting = np.concatenate([waiting, order])
            epoch += 1
        if not len(waiting):
            return
        yield waiting[:batch]
        waiting = waiting[batch:]


def pandas_input_fn(
    x: Any,
    y: Any = None,
    batch_size: int = 128,
    num_epochs: int | None = 1,
    shuffle: bool | None = None,
    queue_capacity: int = 1000,
    num_threads: int = 1,
    target_column: str = "target",
) -> Callable[[], Any]:
    """Return an input function for a data frame of pandas; the features are its columns.

    Args:
        x: the data frame.
        y: a series or data frame of labels, with the same index; none for predictions.
        batch_size: as for ``numpy_input_fn``, like the following arguments.
        num_epochs: how often the rows are given.
        shuffle: whether the rows of each epoch are given in random order.
        queue_capacity: accepted for compatibility.
        num_threads: accepted for compatibility.
        target_column: accepted for compatibility; labels have no name in the features.

    Raises:
        ValueError: as for ``numpy_input_fn``, and if the indices differ.
    """
    labels = None
    if y is not None:
        if not np.array_equal(x.index, y.index):
            raise ValueError(f"Index for x and y are mismatched: {x.index}, {y.index}")
        columns = getattr(y, "columns", None)
        labels = _values(y) if columns is None else {key: _values(y[key]) for key in columns}
    features = {key: _values(x[key]) for key in x.columns}
    return numpy_input_fn(features, labels, batch_size, num_epochs, shuffle, queue_capacity, num_threads)


def _values(series: Any) -> Any:
    """Return a series as an array, text as strings of bytes."""
    array = np.asarray(series)
    if array.dtype.kind in "OU":
        return np.array([str(item).encode() for item in array], object)
    return array
