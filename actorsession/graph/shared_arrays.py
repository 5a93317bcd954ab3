"""Arrays in memory that other processes of the host can read where it lies.

An array that lies there can be sent to a process of this host by its place alone. ``rpc`` provides the
memory, because it alone knows the transports; the state of devices and generated code make arrays here. Until
another process has opened that memory, and for arrays too small to be worth it, arrays are made as usual.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.graph.registry import Array

__all__ = ["LEAST", "empty", "is_shared", "provide", "shared", "source"]

LEAST = 2**15
"""Bytes of the smallest array that is worth sharing; the lane of ``transports`` has the same number."""

_allocate: Callable[[int], Any] = lambda _: None  # noqa: E731 - a default of the same type
_kind: type[Any] | None = None


def provide(allocate: Callable[[int], Any], kind: type[Any] | None) -> None:
    """Set where the memory comes from.

    Args:
        allocate: from a number of bytes to a buffer that is freed when nothing refers to it; ``None`` if
            there is none.
        kind: the class of these buffers; ``None`` if there are none.
    """
    global _allocate, _kind
    _allocate, _kind = allocate, kind


def source() -> tuple[Callable[[int], Any], type[Any] | None]:
    """Return what ``provide`` was called with last."""
    return _allocate, _kind


def empty(shape: Sequence[int], dtype: Any) -> Array:
    """Return a new array with any contents, in shared memory if there is some for it."""
    array = _empty(shape, np.dtype(dtype))
    return np.empty(shape, dtype) if array is None else array


def is_shared(array: Array) -> bool:
    """Return whether an array, which is not a view of another, is in shared memory."""
    return type(array.base) is _kind and _kind is not None


def shared(array: Array) -> Array:
    """Return an array if it is in shared memory; else a copy there, or the array if there is no space."""
    if is_shared(array) or array.nbytes < LEAST:
        return array
    copy = _empty(array.shape, array.dtype)
    if copy is None:
        return array
    np.copyto(copy, array)
    return copy


def _empty(shape: Sequence[int], dtype: np.dtype[Any]) -> Array | None:
    nbytes = dtype.itemsize
    for size in shape:
        nbytes *= size
    memory = None if nbytes < LEAST or dtype.hasobject else _allocate(nbytes)
    return None if memory is None else np.ndarray(shape, dtype, memory)
