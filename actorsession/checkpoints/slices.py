"""Slices of tensors: the saved parts of a partitioned variable, and their assembly.

This module holds ``Extent`` and its two written forms: TensorFlow's ``shape_and_slice`` of the save and
restore ops (``"5 4 2,2:-"``: of a [5, 4] tensor the rows 2 and 3), and the order-preserving key under which a
TensorFlow checkpoint stores a slice.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.records import dataclass

__all__ = ["Extent", "Shape", "assemble", "check_shape", "parse_spec", "slice_key", "write_spec"]

Array: TypeAlias = "np.ndarray[Any, Any]"
Shape: TypeAlias = tuple[int, ...]

# The most dimensions of an array of numpy 1, and the most elements that any has.
_MOST_DIMENSIONS, _MOST_ELEMENTS = 32, 1 << 60


def check_shape(shape: Shape) -> Shape:
    """Return a shape that was read, if there are arrays of it.

    Raises:
        ValueError: if it has too many dimensions or too large ones.
    """
    if len(shape) > _MOST_DIMENSIONS or math.prod([dim or 1 for dim in shape]) > _MOST_ELEMENTS:
        raise ValueError(f"there is no array of the shape {list(shape)!r:.100}")
    return shape


@dataclass(frozen=True, slots=True)
class Extent:
    """A box in a tensor.

    Attributes:
        starts: first index of each dimension.
        sizes: number of indices of each dimension.
    """

    starts: Shape
    sizes: Shape

    @staticmethod
    @functools.lru_cache(1024)  # the variables of a model have few shapes
    def whole(shape: Shape) -> Extent:
        """Return the box of a whole tensor of that shape."""
        return Extent((0,) * len(shape), shape)

    @property
    def elements(self) -> int:
        """The number of elements in it."""
        return math.prod(self.sizes)

    def fits(self, shape: Sequence[int]) -> bool:
        """Return whether it lies in a tensor of that shape."""
        return len(self.starts) == len(self.sizes) == len(shape) and all(
            start >= 0 and size >= 0 and start + size <= dim
            for start, size, dim in zip(self.starts, self.sizes, shape, strict=True)
        )

    def intersection(self, other: Extent) -> Extent | None:
        """Return the intersection; ``None`` if it is empty."""
        starts = tuple(map(max, self.starts, other.starts))
        ends = tuple(
            min(a + n, b + m) for a, n, b, m in zip(self.starts, self.sizes, other.starts, other.sizes, strict=True)
        )
        sizes = tuple(e - s for s, e in zip(starts, ends, strict=True))
        return Extent(starts, sizes) if all(n > 0 for n in sizes) else None

    def within(self, outer: Extent) -> tuple[slice, ...]:
        """Return its index in an array that holds ``outer``."""
        return tuple(slice(a - b, a - b + n) for a, b, n in zip(self.starts, outer.starts, self.sizes, strict=True))

    def __str__(self) -> str:
        spans = (f"{a}:{a + n}" for a, n in zip(self.starts, self.sizes, strict=True))
        return f"[{', '.join(spans)}]"


def parse_spec(spec: str) -> tuple[Shape, Extent] | None:
    """Read a ``shape_and_slice``: the shape of the whole and the part.

    Args:
        spec: sizes of the whole, then ``start,size`` or ``-`` for each dimension joined by colons; empty for
            a whole tensor.

    Returns:
        The shape and the part; ``None`` for the empty text.

    Raises:
        InvalidArgumentError: for another form, or a part that exceeds the whole.
    """
    if not spec:
        return None
    *dims, parts = spec.split(" ")
    try:
        shape = check_shape(tuple(int(d) for d in dims))
        spans = [_span(part, dim) for part, dim in zip(parts.split(":"), shape, strict=True)]
    except ValueError:
        raise InvalidArgumentError(
            f"{spec!r} is not a shape_and_slice; write the sizes of the whole, then "
            "start,size or - for each dimension joined by colons, as in '5 4 2,2:-'"
        ) from None
    extent = Extent(tuple(s for s, _ in spans), tuple(n for _, n in spans))
    if not extent.fits(shape):
        raise InvalidArgumentError(f"the slice in {spec!r} exceeds the shape {list(shape)}")
    return shape, extent


def _span(part: str, dim: int) -> tuple[int, int]:
    if part == "-":
        return 0, dim
    start, size = part.split(",")
    return int(start), int(size)


def write_spec(shape: Sequence[int], starts: Sequence[int], sizes: Sequence[int]) -> str:
    """Return the ``shape_and_slice`` of a part of a tensor; see ``parse_spec``."""
    spans = ":".join(f"{a},{n}" for a, n in zip(starts, sizes, strict=True))
    return " ".join([*map(str, shape), spans])


def assemble(
    shape: Sequence[int], dtype: Any, wanted: Extent, pieces: Iterable[tuple[Extent, Array]]
) -> tuple[Array, int]:
    """Assemble a box of a tensor from pieces that do not overlap.

    Args:
        shape: of the whole tensor.
        dtype: of its elements, numpy's.
        wanted: the box.
        pieces: the position of each in the whole, and its values.

    Returns:
        A new array, and the number of its elements that no piece has.
    """
    assert wanted.fits(shape), (shape, wanted)
    out = np.empty(wanted.sizes, dtype)
    missing = wanted.elements
    for extent, values in pieces:
        common = wanted.intersection(extent)
        if common is not None or not wanted.starts:
            part = common or wanted
            out[part.within(wanted)] = values[part.within(extent)]
            missing -= part.elements
    return out, missing


# -- keys of TensorFlow's index --------------------------------------------------------------------


def slice_key(name: str, extents: Sequence[tuple[int, int]]) -> bytes:
    """Return the key of one slice in the index of a TensorFlow checkpoint.

    Args:
        name: of the whole tensor.
        extents: start and size of each dimension; size -1 for a whole one, with start 0.
    """
    # The byte 255 would be escaped too, but UTF-8 has none.
    text = name.encode().replace(b"\0", b"\0\xff")
    spans = b"".join(_ordered(a) + _ordered(n) for a, n in extents)
    return _unsigned(0) + text + b"\x00\x01" + _unsigned(len(extents)) + spans


def _unsigned(value: int) -> bytes:
    """Return the number of bytes, then the bytes, so that longer numbers sort behind shorter ones."""
    digits = value.to_bytes((value.bit_length() + 7) // 8, "big")
    return bytes([len(digits)]) + digits


def _ordered(value: int) -> bytes:
    """Return a signed number as bytes that sort in its order; leading ones give the number of bytes."""
    size = (~value if value < 0 else value).bit_length() // 7 + 1
    # There are as many leading ones as bytes; those of a negative number are inverted with it.
    leading = ((1 << size) - 1) << 7 * size
    return ((value & (1 << 8 * size) - 1) ^ leading).to_bytes(size, "big")
