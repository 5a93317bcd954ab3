"""Conversion of queue elements to the values of nodes, single or stacked, and back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.node import TensorSpec

__all__ = ["Element", "join_many", "join_one", "own", "split_many"]

Element: TypeAlias = tuple[Any, ...]
"""The components of an element."""


def join_one(elements: Sequence[Element]) -> Any:
    """Return the components of a single element."""
    (element,) = elements
    return element[0] if len(element) == 1 else element


def split_many(values: Sequence[Any]) -> list[Element]:
    """Return elements from components that hold one row for each element.

    Raises:
        InvalidArgumentError: if components have different numbers of rows.
    """
    counts = {len(value) for value in values}
    if len(counts) > 1:
        raise InvalidArgumentError(
            "All input tensors must have the same size in the 0th dimension; they have "
            f"{[len(value) for value in values]}"
        )
    # Copies: a row must not keep the whole array alive.
    return [tuple([own(value[i]) for value in values]) for i in range(counts.pop())]


def own(row: Any) -> Any:
    """Return a component as a value that shares no memory."""
    return row.copy() if isinstance(row, np.ndarray) else row


def join_many(elements: Sequence[Element], specs: Sequence[TensorSpec]) -> Any:
    """Return the components of several elements, stacked, and padded with zeros or empty strings.

    Args:
        elements: the elements.
        specs: static types of the components.

    Raises:
        InvalidArgumentError: if components have different ranks.
    """
    stacked = [_stack([element[i] for element in elements], spec) for i, spec in enumerate(specs)]
    return stacked[0] if len(stacked) == 1 else tuple(stacked)


def _stack(values: Sequence[Any], spec: TensorSpec) -> Any:
    shapes = {np.shape(value) for value in values}
    if len({len(shape) for shape in shapes}) > 1:
        raise InvalidArgumentError(f"elements of different ranks cannot be stacked: {shapes}")
    known = [0 if d is None else d for d in spec.shape.sizes or ()]
    shape = tuple(max(dims) for dims in zip(*shapes, strict=True)) if shapes else tuple(known)
    is_text = spec.dtype.kind == "s"
    out = np.full((len(values), *shape), b"" if is_text else 0, spec.dtype.np_dtype)
    for i, value in enumerate(values):
        part: tuple[Any, ...] = (i, *[slice(0, d) for d in np.shape(value)])
        out[part] = value
    return out
