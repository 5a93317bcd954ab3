"""Conversions between strings and numbers: formatting, parsing, and raw bytes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType, as_dtype, float32, string
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import boxed
from actorsession.opsets.text.kernels import each_number, like_strings, number_reader, require_string, string_array

__all__ = ["as_string", "decode_raw", "string_to_number"]


# -- formatting numbers ----------------------------------------------------------------------------


def as_string(
    input: Any,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> Tensor:
    """Return each number formatted as a string, as by C's ``printf``.

    Args:
        input: numbers, bools or strings.
        precision: digits after the point (significant ones if ``shortest``); 6 for -1.
        scientific: whether floating-point numbers are written with an exponent.
        shortest: whether the shorter of both notations is used.
        width: minimum number of characters; none for -1.
        fill: padding: a blank if empty, ``0``; or a blank, ``+`` or ``-`` as in ``printf``.
    """
    return raw.AsString(
        input,
        precision=int(precision),
        scientific=bool(scientific),
        shortest=bool(shortest),
        width=int(width),
        fill=fill,
        name=name,
    )


# Maximum number of characters of one number: the C standard guarantees this many, and more would only waste
# memory.
_WIDEST = 4095


def _check_width(attrs: Mapping[str, Any]) -> None:
    for name in ("width", "precision"):
        if attrs[name] > _WIDEST:
            raise InvalidArgumentError(f"AsString: {name} is {_WIDEST} at most, as for printf in C, got {attrs[name]}")


def _formatted(ctx: InferContext) -> Sequence[TensorShape]:
    dtype, attrs = ctx.inputs[0].dtype, ctx.attrs
    if attrs["scientific"] and attrs["shortest"]:
        raise ValueError("AsString: scientific and shortest exclude each other")
    written = attrs["scientific"] or attrs["shortest"] or attrs["precision"] >= 0
    if written and dtype.kind not in "fc":
        raise ValueError(
            f"AsString: scientific, shortest and precision are for floating-point numbers, got {dtype.name}"
        )
    _check_width(attrs)
    if attrs["fill"] not in ("", " ", "+", "-", "0"):
        raise ValueError(f"AsString: fill is empty, ' ', '+', '-' or '0', got {attrs['fill']!r:.100}")
    return [ctx.inputs[0].shape]


def _as_string_kernel(ctx: KernelContext) -> Kernel:
    _check_width(ctx.attrs)
    one = _writer(ctx.inputs[0].dtype, ctx)

    def written(value: Any) -> Any:
        array = np.asarray(boxed(value))
        return string_array([one(v) for v in array.ravel().tolist()], array.shape)

    return written


def _writer(dtype: DType, ctx: KernelContext) -> Callable[[Any], bytes]:
    """Return the function that formats one number, given as a Python object."""
    attrs = ctx.attrs
    if dtype.kind == "s":
        return bytes
    if dtype.kind == "b":
        return lambda value: b"true" if value else b"false"
    width = attrs["width"] if attrs["width"] > -1 else ""
    if dtype.kind in "iu":
        pattern = f"%{attrs['fill']}{width}d"
        return lambda value: (pattern % value).encode()
    letter = "e" if attrs["scientific"] else "g" if attrs["shortest"] else "f"
    precision = f".{attrs['precision']}" if attrs["precision"] > -1 else ""
    pattern = f"%{attrs['fill']}{width}{precision}{letter}"
    plain = pattern.replace("%0", "%", 1)

    def real(value: float) -> str:
        # C does not pad infinities and NaN with zeros, nor give NaN a sign here.
        return (pattern if np.isfinite(value) else plain) % value

    if dtype.kind == "c":
        return lambda value: f"({real(value.real)},{real(value.imag)})".encode()
    return lambda value: real(value).encode()


op("AsString", _formatted, kernel=_as_string_kernel, grad=NOT_DIFFERENTIABLE)


# -- parsing numbers -------------------------------------------------------------------------------


def string_to_number(input: Any, out_type: Any = float32, name: str | None = None) -> Tensor:
    """Parse a number from each string.

    Args:
        input: strings; white space around a number is ignored.
        out_type: float32, float64, int32, int64, uint32 or uint64.

    Returns:
        The numbers. At run time an InvalidArgumentError is raised for invalid numbers or numbers out of
        range.
    """
    value = convert_to_tensor(input, string)
    return raw.StringToNumber(value, out_type=as_dtype(out_type), name=name)


def _to_number_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.outputs[0].dtype
    number = number_reader(dtype)

    def numbers(value: Any) -> Any:
        try:
            with np.errstate(over="ignore"):
                return each_number(number, value, dtype.np_dtype)
        except ValueError as exc:
            raise InvalidArgumentError(f"StringToNumber {exc}") from None

    return numbers


op("StringToNumber", like_strings, kernel=_to_number_kernel, grad=NOT_DIFFERENTIABLE)


# -- bytes as numbers ------------------------------------------------------------------------------


def decode_raw(input_bytes: Any, out_type: Any, little_endian: bool = True, name: str | None = None) -> Tensor:
    """Interpret the bytes of each string as numbers.

    Args:
        input_bytes: strings, all of one length.
        out_type: dtype of the numbers.
        little_endian: whether the lowest byte of each comes first.

    Returns:
        A tensor with one more axis. At run time an InvalidArgumentError is raised for strings of different
        lengths, or of a length that is no multiple of the element size.
    """
    value = convert_to_tensor(input_bytes, string)
    little = bool(little_endian)
    return raw.DecodeRaw(value, out_type=as_dtype(out_type), little_endian=little, name=name)


def _decoded(ctx: InferContext) -> Sequence[TensorShape]:
    require_string(ctx, 0)
    dims = ctx.inputs[0].shape.sizes
    return [unknown_shape if dims is None else TensorShape([*dims, None])]


def _decode_raw_kernel(ctx: KernelContext) -> Kernel:
    dtype, little = ctx.outputs[0].dtype.np_dtype, ctx.attrs["little_endian"]
    # The byte order applies to each half of a complex number.
    step = dtype.itemsize // 2 if dtype.kind == "c" else dtype.itemsize

    def decoded(value: Any) -> Any:
        array = boxed(value)
        lengths = {len(v) for v in array.flat} or {0}
        if len(lengths) > 1 or min(lengths) % dtype.itemsize:
            raise InvalidArgumentError(
                f"DecodeRaw: strings have one length, a multiple of {dtype.itemsize} bytes, got {sorted(lengths)}"
            )
        raw = np.frombuffer(b"".join(array.flat), np.uint8)
        if not little:
            raw = raw.reshape(-1, step)[:, ::-1].reshape(-1)
        [length] = lengths
        shape = (*array.shape, length // dtype.itemsize)
        if dtype == np.bool_:
            return (raw != 0).reshape(shape)
        return raw.copy().view(dtype).reshape(shape)

    return decoded


def _decoded_padded(ctx: InferContext) -> Sequence[TensorShape]:
    require_string(ctx, 0)
    dims, length = ctx.inputs[0].shape.sizes, ctx.constant(1)
    size = as_dtype(ctx.attrs["out_type"]).itemsize
    if length is not None and (int(length) <= 0 or int(length) % size):
        raise ValueError(f"fixed_length must be a positive multiple of {size}, the size of out_type; got {length}")
    count = None if length is None else int(length) // size
    return [unknown_shape if dims is None else TensorShape([*dims, count])]


def _decode_padded_kernel(ctx: KernelContext) -> Kernel:
    decode, size = _decode_raw_kernel(ctx), ctx.outputs[0].dtype.itemsize

    def decoded(value: Any, length: Any) -> Any:
        width = int(length)
        if width <= 0 or width % size:
            raise InvalidArgumentError(
                f"fixed_length ({width}) must be a positive multiple of the size of out_type ({size})"
            )
        cut = [text[:width].ljust(width, b"\0") for text in boxed(value).flat]
        shape = np.shape(value)
        if not cut:
            return np.empty((*shape, width // size), ctx.outputs[0].dtype.np_dtype)
        return decode(string_array(cut, shape))

    return decoded


op("DecodePaddedRaw", _decoded_padded, kernel=_decode_padded_kernel, sized_by=(1,))
op("DecodeRaw", _decoded, kernel=_decode_raw_kernel, grad=NOT_DIFFERENTIABLE)
