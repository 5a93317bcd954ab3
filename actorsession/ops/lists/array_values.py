"""The objects behind the array and stack handles of TensorFlow 1's loops; see ``array_nodes``.

An array exists as long as the step that made it: its handle is the object itself, which no other step can
reach. Kernels of one step may run in several threads, so each method is atomic.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType
from actorsession.graph.shape import TensorShape

__all__ = ["StepArray", "StepStack"]

# Elements that one write may add to an array, so that an index cannot determine how long a step takes.
_MOST_GROWTH = 1 << 20


class _Cleared:
    """Marker in place of an element that was read and is not needed again."""


class StepArray:
    """An array of tensors, each written once and read once or several times.

    Args:
        dtype: dtype of all elements.
        size: number of elements.
        element_shape: static shape of each element.
        dynamic: whether a write after the end extends the array.
        clears: whether an element is removed when it is read.
        alike: whether all elements have the shape of the first.
        adds: whether a second write to an element is added to the first, as for gradients.
    """

    def __init__(
        self,
        dtype: DType,
        size: int,
        element_shape: TensorShape,
        *,
        dynamic: bool = False,
        clears: bool = True,
        alike: bool = False,
        adds: bool = False,
    ) -> None:
        if size < 0:
            raise InvalidArgumentError(f"an array has 0 elements or more, got {size}")
        self._dtype = dtype
        self._element_shape = element_shape
        self._dynamic, self._clears, self._alike, self._adds = dynamic, clears, alike, adds
        self._elements: list[Any] = [None] * size
        # Shapes of elements that were written, even if they are cleared; their gradients have the same
        # shapes.
        self._shapes: dict[int, tuple[int, ...]] = {}
        # The shape last written: looking it up took two thirds of the time of a small RNN.
        self._fitting: tuple[int, ...] | None = None
        self._lock = threading.RLock()
        self._gradients: dict[str, StepArray] = {}

    def __len__(self) -> int:
        return len(self._elements)

    def write(self, index: int, value: Any) -> None:
        """Write an element.

        Raises:
            InvalidArgumentError: for an index out of range, another shape, or an element that was written
                before.
        """
        with self._lock:
            if index < 0 or (index >= len(self._elements) and not self._dynamic):
                raise InvalidArgumentError(f"cannot write element {index} of an array of {len(self._elements)}")
            shape = np.shape(value)
            if shape != self._fitting:
                self._check_shape(index, shape)
            more = index + 1 - len(self._elements)
            if more > _MOST_GROWTH:
                raise InvalidArgumentError(
                    f"cannot write element {index} of an array of {len(self._elements)}, which grows by "
                    f"{_MOST_GROWTH} elements at most"
                )
            self._elements.extend([None] * more)
            before = self._elements[index]
            if before is not None and not self._adds:
                raise InvalidArgumentError(f"element {index} was written before")
            if before is not None and np.shape(before) != shape:
                raise InvalidArgumentError(
                    f"element {index} has shape {list(np.shape(before))}, what is added has {list(shape)}"
                )
            self._elements[index] = value if before is None else np.add(before, value)
            self._shapes[index] = shape
            if self._alike and shape != self._fitting:
                self._element_shape = self._element_shape.merge_with(shape)
            self._fitting = shape

    def _check_shape(self, index: int, shape: tuple[int, ...]) -> None:
        if not self._element_shape.is_compatible_with(shape):
            raise InvalidArgumentError(f"elements have shape {self._element_shape}, element {index} has {list(shape)}")

    def read(self, index: int) -> Any:
        """Return an element; zeros if it was never written and its shape is known.

        Raises:
            InvalidArgumentError: for an index out of range, or an element that was cleared or has no known
                shape.
        """
        with self._lock:
            if not 0 <= index < len(self._elements):
                raise InvalidArgumentError(f"cannot read element {index} of an array of {len(self._elements)}")
            value = self._elements[index]
            if value is None:
                return self._zeros(index)
            if value is _Cleared:
                raise InvalidArgumentError(
                    f"element {index} was read before, and is gone: the array clears what was read"
                )
            if self._clears:
                self._elements[index] = _Cleared
            return value

    def _zeros(self, index: int) -> Any:
        shape = self._shapes.get(index)
        if shape is None:
            shape = _sizes(self._element_shape)
            if shape is None:
                raise InvalidArgumentError(f"element {index} was never written")
        return np.zeros(shape, self._dtype.np_dtype)

    def read_all(self, indices: Sequence[int], shape: TensorShape) -> Any:
        """Return elements stacked along a new first axis; see ``read``.

        Args:
            indices: indices of the elements.
            shape: static shape of the elements, used if there are none.

        Raises:
            InvalidArgumentError: as for ``read``, and for elements of different shapes.
        """
        with self._lock:
            parts = [self.read(index) for index in indices]
        known = shape.merge_with(self._element_shape)
        if not parts:
            sizes = _sizes(known)
            if sizes is None:
                raise InvalidArgumentError(f"no elements are read, and their shape is only known as {known}")
            return np.zeros((0, *sizes), self._dtype.np_dtype)
        first = np.shape(parts[0])
        if any(np.shape(part) != first for part in parts):
            shapes = ", ".join(str(list(np.shape(part))) for part in parts)
            raise InvalidArgumentError(f"elements of one shape are read together, got {shapes}")
        out = np.empty((len(parts), *first), self._dtype.np_dtype)
        for place, part in enumerate(parts):
            out[place] = part
        return out

    def gradient(self, source: str, ahead: tuple[int, ...] = ()) -> StepArray:
        """Return the array of the gradients, one for each ``source``.

        Args:
            source: what the gradients are of.
            ahead: sizes of axes that each gradient has before those of its element.
        """
        with self._lock:
            if source not in self._gradients:
                shape = TensorShape(ahead).concatenate(self._element_shape)
                gradients = StepArray(self._dtype, len(self), shape, clears=False, adds=True)
                gradients._shapes.update({place: (*ahead, *sizes) for place, sizes in self._shapes.items()})
                self._gradients[source] = gradients
            return self._gradients[source]


def _sizes(shape: TensorShape) -> tuple[int, ...] | None:
    """Return the sizes of a fully defined shape, else ``None``."""
    known = [size for size in shape.sizes or () if size is not None]
    return tuple(known) if shape.rank == len(known) else None


class StepStack:
    """A stack of tensors.

    Args:
        limit: maximum number of elements; unlimited if less than 0.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._elements: list[Any] = []
        self._lock = threading.Lock()

    def push(self, value: Any) -> None:
        """Push an element.

        Raises:
            InvalidArgumentError: if the stack is full.
        """
        with self._lock:
            if 0 <= self._limit <= len(self._elements):
                raise InvalidArgumentError(f"the stack is full: it holds {self._limit} elements")
            self._elements.append(value)

    def pop(self) -> Any:
        """Remove the last element and return it.

        Raises:
            InvalidArgumentError: if the stack is empty.
        """
        with self._lock:
            if not self._elements:
                raise InvalidArgumentError("the stack is empty")
            return self._elements.pop()
