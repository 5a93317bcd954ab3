"""Partial evaluation: the numbers in a small tensor that are known while the graph is built.

Programs compute sizes: ``[shape(x)[0], 2 * shape(x)[1]]``. Some of those numbers follow from static shapes
and constants, others from the step. This module evaluates the operations that sizes are computed with, number
by number, for the shape functions, which see the result through ``InferContext``. TensorFlow's shape
functions do the same, and leave every tensor feedable, as this does.

Numbers are float64 and an unknown one is NaN, so that numpy itself tells what depends on what is unknown.
A number that its type cannot hold, or that a float64 cannot hold exactly, is unknown.

The work is bounded: tensors of a few hundred numbers, and of the operations that a tensor is computed from
about a hundred for each node that is built.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from actorsession.errors import OpError
from actorsession.graph.constant_value import constant_value
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import InferContext

__all__ = ["PartialValues", "entries", "partial_ints"]

Numbers: TypeAlias = "np.ndarray[Any, np.dtype[np.float64]]"
_Attrs: TypeAlias = Mapping[str, Any]
_Rule: TypeAlias = Callable[..., Any]

_MOST_NUMBERS = 256
_MOST_NODES = 100
# What computing with numbers that do not fit together may raise; then nothing is known.
_FAILED = (ArithmeticError, IndexError, OpError, TypeError, ValueError)
# Numbers from here on are not in the type, or not exact in a float64.
_ENDS = {"int8": 2**7, "uint8": 2**8, "int16": 2**15, "uint16": 2**16, "int32": 2**31, "uint32": 2**32}
_END = 2**53


class PartialValues:
    """The values of tensors as far as they are known, for one node that is built.

    Args:
        tensors: the inputs of the node.
        seen: returns whether the values that an operation computes are seen; all are if left out.
    """

    __slots__ = ("_found", "_left", "_seen", "_tensors")

    def __init__(self, tensors: Sequence[Tensor], seen: Callable[[Operation], bool] | None = None) -> None:
        self._tensors, self._seen = tensors, seen
        self._found: dict[Tensor, Numbers | None] = {}
        self._left = _MOST_NODES

    def __call__(self, index: int) -> Numbers | None:
        """Return the numbers in an input, NaN for each that is unknown; ``None`` if it has no static shape.

        The array must not be changed.
        """
        with np.errstate(all="ignore"):
            return self.of(self._tensors[index])

    def of(self, tensor: Tensor) -> Numbers | None:
        """Return the numbers in a tensor; see ``__call__``."""
        shape = tensor.spec.shape
        count = shape.num_elements()
        if tensor.dtype.kind not in "iufb" or (count or 0) > _MOST_NUMBERS:
            return None
        if count is None and tensor.op.type not in _OF_ANY_LENGTH:
            return None
        if tensor in self._found:
            return self._found[tensor]
        known = None
        if self._seen is None or tensor.op.type == "Const":
            known = constant_value(tensor)
        if self._seen is not None and not self._seen(tensor.op):
            value: Numbers | None = None
        elif known is not None:
            value = np.asarray(known, np.float64)
        else:
            value = self._evaluated(tensor)
        if value is None and count is not None:
            value = np.full(shape.as_tuple(), np.nan)
        if value is not None:
            value = _held(value, tensor.dtype.np_dtype)
        self._found[tensor] = value
        return value

    def _evaluated(self, tensor: Tensor) -> Numbers | None:
        """Return what an operation makes of what is known of its inputs."""
        op = tensor.op
        if op.type in _OF_SHAPES:
            dims = op.inputs[tensor.value_index].spec.shape.sizes
            return None if dims is None else _OF_SHAPES[op.type](_numbers(dims))
        rule, general = _RULES.get(op.type), op.op_def.static_value
        if not self._left or (rule is None and general is None):
            return None
        self._left -= 1
        inputs = [self.of(t) for t in op.inputs]
        given = [value for value in inputs if value is not None]
        if len(given) < len(inputs):
            return None
        try:
            if rule is not None:
                result = rule(op.attrs, *given)
                result = result[tensor.value_index] if len(op.outputs) > 1 else result
            elif general is not None:
                exact = tuple(map(_exact, given, op.inputs))
                specs = tuple([t.spec for t in op.inputs])
                result = general(InferContext(op.type, specs, op.attrs, exact))
        except _FAILED:
            return None
        if result is None or not tensor.spec.shape.is_compatible_with(np.shape(result)):
            return None
        return np.asarray(result, np.float64) if np.size(result) <= _MOST_NUMBERS else None


def partial_ints(tensor: Tensor) -> Sequence[int | None] | None:
    """Return the entries of an integer vector or scalar, ``None`` where an entry is unknown.

    Returns:
        ``None`` if the number of entries is unknown as well.
    """
    value = PartialValues([tensor])(0) if tensor.dtype.is_integer else None
    return None if value is None or value.ndim > 1 else entries(value)


def entries(numbers: Numbers) -> list[int | None]:
    """Return numbers as integers, ``None`` for each that is unknown."""
    return [None if number != number else int(number) for number in numbers.reshape(-1).tolist()]


def _held(value: Numbers, dtype: np.dtype[Any]) -> Numbers:
    """Return numbers as a type holds them; those that it does not hold are unknown."""
    if dtype.kind == "f":
        return value.astype(dtype).astype(np.float64)
    if dtype.kind in "iu":
        outside = (np.abs(value) >= _ENDS.get(dtype.name, _END)) | (value != np.trunc(value))
        return np.where(outside, np.nan, value)
    return value


def _exact(value: Numbers, tensor: Tensor) -> Any:
    """Return numbers in their own type if all are known."""
    return value if np.isnan(value).any() else value.astype(tensor.dtype.np_dtype)


def _numbers(dims: Sequence[int | None]) -> Numbers:
    return np.array([np.nan if dim is None else dim for dim in dims], np.float64)


# -- rules -----------------------------------------------------------------------------------------

_OF_SHAPES: Mapping[str, Callable[[Numbers], Any]] = {
    "Shape": lambda dims: dims,
    "ShapeN": lambda dims: dims,
    "Size": np.prod,
    "Rank": lambda dims: np.float64(dims.size),
}


def _by(function: Callable[..., Any]) -> _Rule:
    """Return the rule of an op that works element by element, as numpy does."""
    return lambda attrs, *values: function(*values)


def _compared(function: Callable[..., Any]) -> _Rule:
    """Return the rule of a comparison; of what is unknown it is unknown."""
    return lambda attrs, a, b: np.where(np.isnan(a + b), np.nan, function(a, b))


def _reduced(function: Callable[..., Any]) -> _Rule:
    """Return the rule of a reduction."""

    def reduced(attrs: _Attrs, value: Numbers, axes: Numbers) -> Any:
        return function(value, axis=_ints(axes), keepdims=bool(attrs["keep_dims"]))

    return reduced


def _ints(numbers: Numbers) -> tuple[int, ...]:
    """Return numbers as integers; ValueError if one is unknown."""
    return tuple([int(number) for number in numbers.reshape(-1).tolist()])


def _cast(attrs: _Attrs, value: Numbers) -> Any:
    return np.trunc(value) if attrs["DstT"].is_integer else value


def _truncated(value: Numbers, divisor: Numbers) -> Any:
    return np.trunc(value / np.where(divisor == 0, np.nan, divisor))


def _floored(value: Numbers, divisor: Numbers) -> Any:
    return np.floor_divide(value, np.where(divisor == 0, np.nan, divisor))


def _modulo(value: Numbers, divisor: Numbers) -> Any:
    return np.mod(value, np.where(divisor == 0, np.nan, divisor))


def _power(value: Numbers, exponent: Numbers) -> Any:
    # numpy has 1 ** nan == 1 and nan ** 0 == 1, which hold whatever is unknown.
    return np.power(value, exponent)


def _selected(attrs: _Attrs, condition: Numbers, first: Numbers, second: Numbers) -> Any:
    either = np.where(first == second, first, np.nan)
    return np.where(np.isnan(condition), either, np.where(condition != 0, first, second))


def _gathered(attrs: _Attrs, value: Numbers, indices: Numbers, axis: Any = 0) -> Any:
    where = indices.astype(np.int64)
    if attrs.get("batch_dims") or np.isnan(indices).any() or (where < 0).any():
        return None
    return np.take(value, where, int(axis))


def _sliced(attrs: _Attrs, value: Numbers, begin: Numbers, size: Numbers) -> Any:
    pairs = zip(_ints(begin), _ints(size), strict=True)
    return value[tuple([slice(b, None if n == -1 else b + n) for b, n in pairs])]


def _unpacked(attrs: _Attrs, value: Numbers) -> Any:
    return list(np.moveaxis(value, attrs["axis"], 0))


def _squeezed(attrs: _Attrs, value: Numbers) -> Any:
    axes = attrs.get("squeeze_dims") or attrs.get("axis")
    return np.squeeze(value, tuple(axes) if axes else None)


def _scanned(function: Callable[..., Any]) -> _Rule:
    """Return the rule of a cumulative op."""

    def scanned(attrs: _Attrs, value: Numbers, axis: Numbers) -> Any:
        plain = not (attrs["exclusive"] or attrs["reverse"])
        return function(value, axis=int(axis)) if plain else None

    return scanned


def _widened(attrs: _Attrs, value: Numbers, axis: Numbers) -> Any:
    return np.expand_dims(value, int(axis))


def _inverted(attrs: _Attrs, value: Numbers) -> Any:
    return None if sorted(_ints(value)) != list(range(value.size)) else np.argsort(value)


def _stitched(attrs: _Attrs, *values: Numbers) -> Any:
    indices, data = values[: len(values) // 2], values[len(values) // 2 :]
    places = [_ints(each) for each in indices]
    if any(each.shape != rows.shape for each, rows in zip(indices, data, strict=True)):
        return None  # rows that are more than one number
    merged = np.zeros(max([place + 1 for each in places for place in each], default=0))
    for each, rows in zip(places, data, strict=True):
        merged[list(each)] = rows.reshape(-1)
    return merged


def _summed_axes(attrs: _Attrs, first: Numbers, second: Numbers) -> Any:
    """Return the axes of a broadcast result to sum over for each of two shapes; see ``ops.broadcasting``."""
    if _ints(first) == _ints(second):
        return [np.zeros(0)] * 2
    rank = max(first.size, second.size)
    shapes = [np.concatenate([np.ones(rank - each.size), each]) for each in (first, second)]
    return [np.flatnonzero(each == 1) for each in shapes]


def _densified(attrs: _Attrs, indices: Numbers, shape: Numbers, values: Numbers, default: Numbers) -> Any:
    dense = np.full(_ints(shape), float(default))
    dense[tuple(indices.reshape(-1, dense.ndim).astype(np.int64).T)] = values
    return dense if not np.isnan(indices).any() else None


def _other(attrs: _Attrs, value: Numbers, without: Numbers) -> Any:
    _ints(value), _ints(without)  # all are known
    places = np.flatnonzero(np.isin(value, without, invert=True))
    return [value[places], places]


# What these give may have as many numbers as the values of their inputs say.
_OF_ANY_LENGTH = frozenset(
    {"BroadcastGradientArgs", "ConcatV2", "DynamicStitch", "GatherV2", "Identity", "ListDiff", "Squeeze", "Where"}
)

_RULES: Mapping[str, _Rule] = {
    "Add": _by(np.add), "AddV2": _by(np.add), "Sub": _by(np.subtract), "Mul": _by(np.multiply),
    "AddN": _by(lambda *values: sum(values)), "RealDiv": _by(np.true_divide),
    "Div": _by(_truncated), "TruncateDiv": _by(_truncated), "FloorDiv": _by(_floored),
    "FloorMod": _by(_modulo), "Maximum": _by(np.maximum), "Minimum": _by(np.minimum),
    "Pow": _by(_power), "Neg": _by(np.negative), "Abs": _by(np.abs), "Square": _by(np.square),
    "Sign": _by(np.sign), "Floor": _by(np.floor), "Ceil": _by(np.ceil), "Round": _by(np.rint),
    "Rint": _by(np.rint), "Sqrt": _by(np.sqrt), "Cast": _cast,
    "Less": _compared(np.less), "LessEqual": _compared(np.less_equal),
    "Greater": _compared(np.greater), "GreaterEqual": _compared(np.greater_equal),
    "Equal": _compared(np.equal), "NotEqual": _compared(np.not_equal),
    "Select": _selected, "SelectV2": _selected,
    "Sum": _reduced(np.sum), "Prod": _reduced(np.prod), "Max": _reduced(np.max),
    "Min": _reduced(np.min), "Mean": _reduced(np.mean),
    "Gather": _gathered, "GatherV2": _gathered, "Slice": _sliced, "Unpack": _unpacked,
    "Squeeze": _squeezed, "ExpandDims": _widened,
    "Cumsum": _scanned(np.cumsum), "Cumprod": _scanned(np.cumprod),
    "ReverseV2": lambda attrs, value, axes: np.flip(value, _ints(axes)),
    "Transpose": lambda attrs, value, order: np.transpose(value, _ints(order)),
    "Tile": lambda attrs, value, times: np.tile(value, _ints(times)),
    "InvertPermutation": _inverted, "DynamicStitch": _stitched, "ListDiff": _other,
    "BroadcastGradientArgs": _summed_axes, "SparseToDense": _densified,
    "Where": lambda attrs, value: None if np.isnan(value).any() else np.argwhere(value),
    "ZerosLike": _by(np.zeros_like), "OnesLike": _by(np.ones_like),
    "PreventGradient": _by(lambda value: value), "Snapshot": _by(lambda value: value),
}  # fmt: skip
