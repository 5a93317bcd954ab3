"""Static values of integer vectors that are partly constant: ``[shape(x)[0], 2 * shape(x)[1]]``.

A shape function sees an operand either as a constant or not at all. The public functions that build
shape-like operands have more information: they trace the few ops that programs build shapes with, entry by
entry, and refine the static shape of their result. Imported graphs are not refined in this way.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import cycle
from typing import Any

import numpy as np

from actorsession.graph.constant_value import get_static_value
from actorsession.graph.graph import constant_value
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops.arrays.strided import numpy_index
from actorsession.ops.shape_operands import constant_ints_of, shape_of_rank, vector_length

__all__ = [
    "partial_ints", "refine", "refine_by", "refine_padded", "refine_tiled", "shape_from",
]  # fmt: skip

_Entries = Sequence[float | None]
_Follow = Callable[[Tensor, int], _Entries | None]

_DEPTH = 10
"""The number of ops through which an entry is traced at most: sizes are computed by few ops, and a sum of
sums would take exponential time.
"""


def partial_ints(tensor: Tensor) -> Sequence[int | None] | None:
    """Return the entries of an integer vector or scalar, ``None`` where an entry is unknown.

    Returns:
        ``None`` if the number of entries is unknown as well.
    """
    if not tensor.dtype.is_integer:
        return None
    found = _entries(tensor, _DEPTH)
    return None if found is None else [None if e is None else int(e) for e in found]


def _entries(tensor: Tensor, depth: int) -> _Entries | None:
    """Return entries like ``partial_ints``, of floating dtypes as well, since casts make sizes of them."""
    if tensor.shape.rank not in (0, 1):
        return None
    known = constant_value(tensor)
    if known is not None and known.dtype.kind in "iuf":
        return [known.item()] if known.ndim == 0 else list(known.tolist())
    follow = _FOLLOWED.get(tensor.op.type)
    found = None if follow is None or not depth else follow(tensor, depth - 1)
    if found is not None:
        return found
    length = 1 if tensor.shape.rank == 0 else vector_length(tensor.spec)
    return None if length is None else [None] * length


def _of_shape(tensor: Tensor, _depth: int) -> _Entries | None:
    return tensor.op.inputs[0].shape.sizes


def _of_same(tensor: Tensor, depth: int) -> _Entries | None:
    return _entries(tensor.op.inputs[0], depth)


def _of_cast(tensor: Tensor, depth: int) -> _Entries | None:
    found, dtype = _entries(tensor.op.inputs[0], depth), tensor.dtype.np_dtype
    if found is None or dtype.kind not in "iuf":
        return None
    return [None if e is None or not np.isfinite(e) else dtype.type(e).item() for e in found]


def _of_joined(tensor: Tensor, depth: int) -> _Entries | None:
    joined = tensor.op.inputs[:-1] if tensor.op.type == "ConcatV2" else tensor.op.inputs
    parts = [_entries(part, depth) for part in joined]
    if any(part is None for part in parts):
        return None
    return [entry for part in parts if part is not None for entry in part]


def _of_slice(tensor: Tensor, depth: int) -> _Entries | None:
    value, *bounds = tensor.op.inputs
    entries = _entries(value, depth)
    begin, end, strides = map(constant_ints_of, bounds)
    if entries is None or begin is None or end is None or strides is None:
        return None
    index = numpy_index(begin, end, strides, tensor.op.attrs)
    if len(index) != 1 or index[0] is None or index[0] is Ellipsis:
        return None
    taken = entries[index[0]]
    return taken if isinstance(taken, Sequence) else [taken]


def _of_unpacked(tensor: Tensor, depth: int) -> _Entries | None:
    entries = _entries(tensor.op.inputs[0], depth)
    return None if entries is None else [entries[tensor.value_index]]


def _by(function: Callable[..., float]) -> _Follow:
    """Return the tracing function of an elementwise op, on vectors of one length or with a scalar."""

    def follow(tensor: Tensor, depth: int) -> _Entries | None:
        given = [_entries(t, depth) for t in tensor.op.inputs]
        sides = [side for side in given if side]
        longest = max(map(len, sides), default=0)
        if len(sides) < len(given) or any(len(side) not in (1, longest) for side in sides):
            return None
        rows = zip(range(longest), *map(cycle, sides), strict=False)
        return [None if None in row else _computed(function, row[1:], tensor) for row in rows]

    return follow


def _computed(function: Callable[..., float], row: _Entries, tensor: Tensor) -> float | None:
    """Return one entry, or ``None`` if only a step can compute it."""
    try:
        value = function(*row)
    except (ArithmeticError, ValueError):
        return None
    return tensor.dtype.np_dtype.type(value).item() if abs(value) < 1 << 31 else None


_FOLLOWED: dict[str, _Follow] = {
    "Shape": _of_shape,
    "Identity": _of_same,
    "Cast": _of_cast,
    "Pack": _of_joined,
    "ConcatV2": _of_joined,
    "StridedSlice": _of_slice,
    "Unpack": _of_unpacked,
    "Mul": _by(operator.mul),
    "AddV2": _by(operator.add),
    "Sub": _by(operator.sub),
    "RealDiv": _by(operator.truediv),
    "FloorDiv": _by(operator.floordiv),
    "FloorMod": _by(operator.mod),
    "Maximum": _by(max),
    "Minimum": _by(min),
    "Neg": _by(operator.neg),
}


def refine_by(tensor: Tensor, dims: Sequence[int | None] | None) -> Tensor:
    """Merge dimensions into a tensor's static shape."""
    if dims is not None and not tensor.shape.is_fully_defined():
        tensor.set_shape(TensorShape(dims))
    return tensor


def shape_from(vector: Tensor) -> TensorShape:
    """Return the static shape that a shape vector describes; -1 counts as unknown."""
    if vector.shape.rank not in (None, 1):
        return unknown_shape
    entries = partial_ints(vector)
    if entries is None:
        return shape_of_rank(vector_length(vector.spec))
    return TensorShape([None if e is None or e < 0 else e for e in entries])


def refine(tensor: Tensor, shape_operand: Tensor) -> Tensor:
    """Merge into a tensor's static shape what is known of the operand that describes it."""
    if not tensor.shape.is_fully_defined() and constant_value(shape_operand) is None:
        tensor.set_shape(shape_from(shape_operand))
    return tensor


def refine_tiled(tiled: Tensor) -> Tensor:
    """Refine the shape of a ``Tile`` by the multiples that are known."""
    value, multiples = tiled.op.inputs
    dims, times = value.shape.sizes, partial_ints(multiples)
    if dims is None or times is None or len(dims) != len(times):
        return tiled
    pairs = zip(dims, times, strict=True)
    return refine_by(tiled, [None if d is None or t is None else d * t for d, t in pairs])


def refine_padded(padded: Tensor, paddings: Any) -> Tensor:
    """Refine the shape of a padded tensor by the margins that are known.

    Tensors that the program passed in ``paddings`` can then no longer be fed. This is as in TensorFlow, which
    infers the shape of the result in the same way.
    """
    value, margins = padded.op.inputs[:2]
    if margins.op.type == "Const" and not isinstance(paddings, Tensor):
        return padded  # plain numbers: the shape function has used all of them
    known, dims = get_static_value(margins, partial=True), value.shape.sizes
    if known is None or dims is None or len(known) != len(dims):
        return padded
    return refine_by(padded, [_widened(d, pair) for d, pair in zip(dims, known, strict=True)])


def _widened(dim: int | None, pair: Any) -> int | None:
    """Return the length of an axis with its margin, if both ends are known."""
    if dim is None or np.shape(pair) != (2,) or None in list(pair):
        return None
    return dim + int(pair[0]) + int(pair[1])
