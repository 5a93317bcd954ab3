"""Helpers of string ops: their shape rule, and kernels that process strings one at a time.

A string is ``bytes``. An array of strings has dtype object; one of rank 0 is passed as plain ``bytes``. Text
is UTF-8 where an op works on characters. Called by the other modules of ``text``; imports ``build`` and
below.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError, ResourceExhaustedError
from actorsession.graph.dtypes import DType, string
from actorsession.graph.registry import InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops.shape_operands import boxed
from actorsession.plan.codegen.memory_check import memory_limit

__all__ = [
    "LONGEST",
    "boxed_all",
    "each",
    "each_number",
    "joined",
    "like_strings",
    "number_reader",
    "one_string",
    "per_string",
    "require_string",
    "string_array",
    "text_of",
]


LONGEST = 2**31 - 1
"""The maximum bytes of one string: the limit of Protocol Buffers, and so of TensorFlow's graphs."""


def text_of(value: Any) -> str:
    """Return as ``str`` an attribute that may be ``str`` or ``bytes`` in TensorFlow."""
    return value.decode() if isinstance(value, bytes) else str(value)


# -- values ----------------------------------------------------------------------------------------


def string_array(values: list[bytes], shape: tuple[int, ...]) -> Any:
    """Return strings in row-major order as a value of the given shape; plain ``bytes`` for rank 0."""
    if not shape:
        return values[0]
    out = np.empty(len(values), object)
    out[:] = values
    return out.reshape(shape)


def each(function: Callable[[bytes], bytes], value: Any) -> Any:
    """Apply ``function`` to each string."""
    if isinstance(value, bytes):
        return function(value)
    return string_array([function(v) for v in value.flat], value.shape)


def each_number(function: Callable[[bytes], Any], value: Any, dtype: np.dtype[Any]) -> Any:
    """Apply ``function`` to each string, and return the results as an array of numbers."""
    array = boxed(value)
    out = np.fromiter((function(v) for v in array.flat), dtype, array.size).reshape(array.shape)
    return out[()]


def joined(separator: bytes, rows: Iterable[Sequence[bytes]], op: str) -> list[bytes]:
    """Join the strings of each row with a separator, after checking the lengths.

    Raises:
        InvalidArgumentError: if a result would be longer than a string may be.
        ResourceExhaustedError: if all results together would exceed the available memory.
    """
    parts = list(rows)
    lengths = [sum(map(len, row)) + len(separator) * max(len(row) - 1, 0) for row in parts]
    if max(lengths, default=0) > LONGEST:
        raise InvalidArgumentError(f"{op}: a string has {LONGEST} bytes at most, the result would have {max(lengths)}")
    if sum(lengths) > memory_limit():
        raise ResourceExhaustedError(
            f"{op}: the strings would take {sum(lengths)} bytes; this process can have {memory_limit()}"
        )
    return [separator.join(row) for row in parts]


def one_string(value: Any) -> bytes:
    """Return the string in a value of rank 0."""
    text = value if isinstance(value, bytes) else value.item()
    assert isinstance(text, bytes)
    return text


def boxed_all(values: Any) -> list[Any]:
    """Return strings as arrays, including those of rank 0."""
    return [boxed(v) for v in values]


# -- numbers in strings -----------------------------------------------------------------------------

_FLOAT = re.compile(
    rb"[+-]?(?:(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?|inf|infinity|nan|0x[0-9a-f]+(?:\.[0-9a-f]*)?(?:p[+-]?\d+)?)",
    re.IGNORECASE,
)
_INTEGER = re.compile(rb"[+-]?\d+")
# Python parses integers of up to this many digits; no number of these types is longer.
_LONGEST = 4000


def number_reader(dtype: DType) -> Callable[[bytes], Any]:
    """Return the function that parses a number of a type, surrounded by white space.

    The function raises ``ValueError`` for text that is no number or out of range.
    """
    pattern = _FLOAT if dtype.is_floating else _INTEGER
    info = None if dtype.is_floating else np.iinfo(dtype.np_dtype)

    def number(value: bytes) -> Any:
        text = value.strip(b" \t\n\x0b\x0c\r")
        if pattern.fullmatch(text) is None or len(text) > _LONGEST:
            raise ValueError(f"could not correctly convert string: {value!r:.100} to {dtype.name}")
        if info is None:
            return float.fromhex(text.decode()) if b"x" in text.lower() else float(text)
        integer = int(text)
        if not info.min <= integer <= info.max:
            raise ValueError(f"got {value!r:.100}, which is not between {info.min} and {info.max}")
        return integer

    return number


# -- rows ------------------------------------------------------------------------------------------


def require_string(ctx: InferContext, *operands: int, rank: int | None = None) -> None:
    """Check that operands are strings, and of the given rank.

    Raises:
        TypeError: for another dtype.
        ValueError: for another rank.
    """
    for i in operands:
        spec = ctx.inputs[i]
        if spec.dtype is not string:
            raise TypeError(f"{ctx.op}: input {i} is a string tensor, got {spec.dtype.name}")
        if rank is not None and spec.shape.rank not in (None, rank):
            raise ValueError(f"{ctx.op}: input {i} has rank {rank}, got shape {spec.shape}")


def like_strings(ctx: InferContext) -> Sequence[TensorShape]:
    """The first input is a tensor of strings, and the output has its shape."""
    require_string(ctx, 0)
    return [ctx.inputs[0].shape]


def per_string(function: Callable[[KernelContext], Callable[[bytes], Any]]) -> Callable[[KernelContext], Kernel]:
    """Return the kernel of an op of one tensor of strings, from the factory of the function of one string."""

    def kernel(ctx: KernelContext) -> Kernel:
        one, dtype = function(ctx), ctx.outputs[0].dtype
        if dtype is string:
            return lambda value: each(one, value)
        return lambda value: each_number(one, value, dtype.np_dtype)

    return kernel
