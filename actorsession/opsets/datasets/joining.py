"""Elements joined to batches, and batches taken apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import DataLossError, InvalidArgumentError
from actorsession.graph.registry import Array
from actorsession.opsets.datasets.stages import Element, rows

__all__ = ["join", "padded", "split"]


def join(elements: Sequence[Element]) -> Element:
    """Return elements as one, with a new first dimension.

    Raises:
        InvalidArgumentError: if components differ in shape.
    """
    columns = zip(*elements, strict=True)
    return tuple([_stacked(column, number) for number, column in enumerate(columns)])


def _stacked(column: Sequence[Any], number: int) -> Array:
    first = column[0]
    if isinstance(first, bytes):
        strings = np.empty(len(column), object)
        strings[:] = column
        return strings
    shape = np.shape(first)
    for value in column:
        if np.shape(value) != shape:
            raise InvalidArgumentError(
                "Cannot add tensor to the batch: number of elements does not match. Shapes are: [tensor]: "
                f"{_written(np.shape(value))}, [batch]: {_written(shape)}"
            )
    return np.stack(column)


def padded(elements: Sequence[Element], shapes: Sequence[Any], fillers: Sequence[Any]) -> Element:
    """Return elements as one, each component filled up to a common shape.

    Args:
        elements: the elements.
        shapes: for each component its shape; -1 for the largest size among the elements.
        fillers: what each component is filled up with.

    Raises:
        InvalidArgumentError: if a component has another rank than its shape.
        DataLossError: if it is larger.
    """
    return tuple(
        [
            _padded([element[k] for element in elements], np.asarray(shape), filler, k)
            for k, (shape, filler) in enumerate(zip(shapes, fillers, strict=True))
        ]
    )


def _padded(column: Sequence[Any], shape: Array, filler: Any, number: int) -> Array:
    shapes = [np.shape(value) for value in column]
    for one in shapes:
        if len(one) != shape.size:
            raise InvalidArgumentError(
                "All elements in a batch must have the same rank as the padded shape for component "
                f"{number}: expected rank {shape.size} but got element with rank {len(one)}"
            )
    largest = np.max(np.array(shapes, np.int64).reshape(len(shapes), -1), axis=0)
    sizes = np.where(shape < 0, largest, shape)
    if (largest > sizes).any():
        raise DataLossError("Attempted to pad to a smaller size than the input element.")
    first = column[0]
    dtype = object if isinstance(first, bytes) else np.asarray(first).dtype
    batch = np.empty((len(column), *sizes), dtype)
    batch[...] = filler
    for k, value in enumerate(column):
        where: Any = (k, *[slice(0, size) for size in np.shape(value)])
        batch[where] = value
    return batch


def split(element: Element) -> list[Element]:
    """Return the elements of a batch: the rows of all components.

    Raises:
        InvalidArgumentError: if components are scalars, or have different numbers of rows.
    """
    if not all(np.ndim(value) for value in element):
        raise InvalidArgumentError("a scalar has no rows: each component must have one or more dimensions")
    columns = [rows(value) for value in element]
    counts = {len(column) for column in columns}
    if len(counts) > 1:
        raise InvalidArgumentError(
            f"all components must have the same number of rows, got {[len(column) for column in columns]}"
        )
    return list(zip(*columns, strict=True))


def _written(shape: Any) -> str:
    return f"[{','.join([str(int(size)) for size in shape])}]"
