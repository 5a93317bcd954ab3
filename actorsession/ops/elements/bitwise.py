"""Bitwise operations on integers: the namespace ``bitwise``, and Python's ``&``, ``|``, ``^`` and ``~``.

On bools those operators are the logical ones, as in TensorFlow. No gradient flows through any op of this
module. A shift distance outside of the width of the type is clamped to the nearest valid one, as in
TensorFlow on CPUs; in C it would be undefined.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from actorsession.graph.operation import OPERATORS, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Kernel, KernelContext
from actorsession.ops import raw
from actorsession.ops.elements.comparison import logical_and, logical_not, logical_or, logical_xor
from actorsession.ops.rows import broadcasts, op, same

__all__ = ["bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "population_count", "right_shift"]


def bitwise_and(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return the bits that are set in both integers, with broadcasting."""
    return raw.BitwiseAnd(x, y, name=name)


def bitwise_or(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return the bits that are set in either integer, with broadcasting."""
    return raw.BitwiseOr(x, y, name=name)


def bitwise_xor(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return the bits that are set in exactly one of two integers, with broadcasting."""
    return raw.BitwiseXor(x, y, name=name)


def invert(x: Any, name: str | None = None) -> Tensor:
    """Return each integer with all bits inverted."""
    return raw.Invert(x, name=name)


def left_shift(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return the bits of ``x`` shifted left by ``y``, with broadcasting; bits shifted out are lost."""
    return raw.LeftShift(x, y, name=name)


def right_shift(x: Any, y: Any, name: str | None = None) -> Tensor:
    """Return the bits of ``x`` shifted right by ``y``, with broadcasting; the sign is kept."""
    return raw.RightShift(x, y, name=name)


def population_count(x: Any, name: str | None = None) -> Tensor:
    """Return the number of bits that are set in each integer, as uint8."""
    return raw.PopulationCount(x, name=name)


def _shift_kernel(function: Kernel) -> Callable[[KernelContext], Kernel]:
    def kernel(ctx: KernelContext) -> Kernel:
        dtype = ctx.inputs[0].dtype
        low, high = dtype.np_dtype.type(0), dtype.np_dtype.type(dtype.itemsize * 8 - 1)
        return lambda x, y: function(x, np.minimum(np.maximum(y, low), high))

    return kernel


def _count_kernel(ctx: KernelContext) -> Kernel:
    # numpy counts the bits of the absolute value of a signed integer.
    unsigned = np.dtype(f"u{ctx.inputs[0].dtype.itemsize}")
    return lambda x: np.bitwise_count(x.view(unsigned))


_none = NOT_DIFFERENTIABLE  # short, for rows of one line
op("BitwiseAnd", broadcasts, operator.and_, _none, emit="({0} & {1})")
op("BitwiseOr", broadcasts, operator.or_, _none, emit="({0} | {1})")
op("BitwiseXor", broadcasts, operator.xor, _none, emit="({0} ^ {1})")
op("LeftShift", broadcasts, grad=_none, kernel=_shift_kernel(np.left_shift))
op("RightShift", broadcasts, grad=_none, kernel=_shift_kernel(np.right_shift))
op("Invert", same, operator.invert, _none, emit="(~{0})")
op("PopulationCount", same, grad=_none, kernel=_count_kernel)


# -- operators -----------------------------------------------------------------------------------


def _of_either(symbol: str, logical: Callable[..., Tensor], bits: Callable[..., Tensor], *operands: Any) -> Tensor:
    """Apply a Python operator that bools and integers share."""
    tensor = next(v._as_graph_element() for v in operands if hasattr(v, "_as_graph_element"))
    if symbol == "invert":
        return (logical if tensor.dtype.is_bool else bits)(*operands)
    if tensor.dtype.is_bool:
        return logical(*operands, name=symbol)
    with tensor.graph.name_scope(symbol):
        return bits(*operands)


for _symbol, _logical, _bits in (
    ("and", logical_and, bitwise_and),
    ("or", logical_or, bitwise_or),
    ("xor", logical_xor, bitwise_xor),
    ("invert", logical_not, invert),
):
    OPERATORS.fill(_symbol, functools.partial(_of_either, _symbol, _logical, _bits))
