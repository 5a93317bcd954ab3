"""Quantised sums and products: what graphs consist of whose weights and values were made integers.

Owns ``QuantizedConv2D``, ``QuantizedMatMul``, ``QuantizedBiasAdd``, ``QuantizedRelu`` and the rest of
TensorFlow's own family. Each takes the ends of the range of each operand and gives those of its result;
products and sums have 32 bits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType, float64, qint32
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops import raw
from actorsession.ops.compounds import kernel_of, specs_of
from actorsession.ops.rows import broadcast, check_inputs, op
from actorsession.opsets.quantisation.ranges import (
    bounds,
    integers_of,
    product_range,
    quantised,
    quantised_exactly,
    real,
    real_exactly,
    requantised,
    tagged,
)

__all__ = ["quantized_avg_pool", "quantized_concat", "quantized_conv2d", "quantized_max_pool"]

Ranged = tuple[Tensor, Tensor, Tensor]
"""Integers, and the lower and upper end of their range."""


# -- public functions ------------------------------------------------------------------------------


def quantized_conv2d(
    input: Any,
    filter: Any,
    min_input: Any,
    max_input: Any,
    min_filter: Any,
    max_filter: Any,
    strides: Sequence[int],
    padding: str,
    out_type: Any = qint32,
    dilations: Sequence[int] = (1, 1, 1, 1),
    name: str | None = None,
) -> Ranged:
    """Return the convolution of quantised images, ``[batch, height, width, channels]``.

    Args:
        input: quint8 images.
        filter: a quint8 or qint8 filter, as for ``conv2d``.
        min_input: the lower end of the range of the images.
        max_input: the upper end.
        min_filter: the lower end of the range of the filter.
        max_filter: the upper end.
        strides: see ``conv2d``.
        padding: see ``conv2d``.
        out_type: the type of the result.
        dilations: see ``conv2d``.
    """
    return raw.QuantizedConv2D(
        input,
        filter,
        min_input,
        max_input,
        min_filter,
        max_filter,
        strides=strides,
        padding=padding,
        out_type=out_type,
        dilations=dilations,
        name=name,
    )


def quantized_max_pool(
    input: Any,
    min_input: Any,
    max_input: Any,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    name: str | None = None,
) -> Ranged:
    """Return the greatest of each window of quantised images; arguments as for ``quantized_conv2d``."""
    return raw.QuantizedMaxPool(input, min_input, max_input, ksize=ksize, strides=strides, padding=padding, name=name)


def quantized_avg_pool(
    input: Any,
    min_input: Any,
    max_input: Any,
    ksize: Sequence[int],
    strides: Sequence[int],
    padding: str,
    name: str | None = None,
) -> Ranged:
    """Return the mean of each window of quantised images; arguments as for ``quantized_conv2d``."""
    return raw.QuantizedAvgPool(input, min_input, max_input, ksize=ksize, strides=strides, padding=padding, name=name)


def quantized_concat(
    concat_dim: Any,
    values: Sequence[Any],
    input_mins: Sequence[Any],
    input_maxes: Sequence[Any],
    name: str | None = None,
) -> Ranged:
    """Return quantised values joined along an axis, in the range that has all of their ranges in it."""
    return raw.QuantizedConcat(concat_dim, values, input_mins, input_maxes, name=name)


Range = tuple[Any, Any]
_FLOAT = np.float32


def _ranges(op_type: str, ends: Sequence[Any]) -> list[Range]:
    """Return the pairs of ends among the last operands.

    Raises:
        InvalidArgumentError: for ends that are no scalars, or in the wrong order.
    """
    if any(np.ndim(end) for end in ends):
        raise InvalidArgumentError(
            f"{op_type}: the ends of ranges are scalars, got shapes {[list(np.shape(e)) for e in ends]}"
        )
    return list(zip(ends[::2], ends[1::2], strict=True))


def _result(integers: Any, ends: Range, dtype: DType) -> tuple[Any, ...]:
    return tagged(integers, dtype), *[np.asarray(end, _FLOAT) for end in ends]


def _shaped(shape: Callable[[InferContext], TensorShape]) -> Callable[[InferContext], Any]:
    """Return the shape rule of an operation that gives a value and the ends of its range."""

    def rule(ctx: InferContext) -> Sequence[TensorShape]:
        check_inputs(ctx)
        return [shape(ctx), scalar_shape, scalar_shape]

    return rule


def _as_floats(*specs: TensorSpec) -> list[TensorSpec]:
    return [TensorSpec(float64, spec.shape) for spec in specs]


# -- products --------------------------------------------------------------------------------------


def _product_kernel(of: Callable[[KernelContext], Kernel]) -> Callable[[KernelContext], Kernel]:
    """Return the kernel factory of a product of two operands from one of real numbers.

    The products of bytes and their sums are whole numbers far below 2 to the 53rd, so float64 has them all.
    """

    def factory(ctx: KernelContext) -> Kernel:
        function = of(ctx)
        types = [spec.dtype for spec in ctx.inputs[:2]]
        dtype = ctx.outputs[0].dtype

        def product(a: Any, b: Any, *ends: Any) -> Any:
            ranges = _ranges(ctx.op, ends)
            operands = []
            for value, kind, (low, high) in zip((a, b), types, ranges, strict=True):
                zero = quantised_exactly(_FLOAT(0), low, high, kind)
                operands.append(integers_of(value, kind).astype(np.float64) - float(zero))
            products = np.asarray(function(*operands)).astype(np.int64)
            span = product_range(ranges[0], types[0], ranges[1], types[1], dtype)
            return _result(products.astype(dtype.integers), span, dtype)

        return product

    return factory


def _convolution(ctx: KernelContext) -> Kernel:
    return kernel_of(ctx, "Conv2D", _as_floats(*ctx.inputs[:2]), ctx.attrs)


def _convolved(ctx: InferContext) -> TensorShape:
    return specs_of("Conv2D", _as_floats(*ctx.inputs[:2]), ctx.attrs)[0].shape


def _matrices(ctx: KernelContext) -> Kernel:
    return kernel_of(ctx, "MatMul", _as_floats(*ctx.inputs[:2]), ctx.attrs)


def _multiplied(ctx: InferContext) -> TensorShape:
    return specs_of("MatMul", _as_floats(*ctx.inputs[:2]), ctx.attrs)[0].shape


def _both(ctx: InferContext) -> TensorShape:
    return broadcast(ctx, 0, 1)


op("QuantizedConv2D", _shaped(_convolved), kernel=_product_kernel(_convolution))
op("QuantizedMatMul", _shaped(_multiplied), kernel=_product_kernel(_matrices))
op("QuantizedMul", _shaped(_both), kernel=_product_kernel(lambda ctx: np.multiply))


# -- sums ------------------------------------------------------------------------------------------

# The range of a sum is this many times that of its operands, so that many sums fit in a row.
_ROOM = {"QuantizedAdd": 1 << 14, "QuantizedBiasAdd": 1 << 17}


def _sum_kernel(ctx: KernelContext) -> Kernel:
    types = [spec.dtype for spec in ctx.inputs[:2]]
    dtype, room = ctx.outputs[0].dtype, _FLOAT(_ROOM[ctx.op])

    def add(a: Any, b: Any, *ends: Any) -> Any:
        ranges = _ranges(ctx.op, ends)
        if ctx.op == "QuantizedBiasAdd" and (np.ndim(b) != 1 or a.shape[-1:] != b.shape):
            raise InvalidArgumentError(
                f"Must provide as many biases as the last dimension of the input: got {list(np.shape(a))} "
                f"and {list(np.shape(b))}"
            )
        highest = max(ranges[0][1], -ranges[0][0], ranges[1][1], -ranges[1][0])
        total = (-highest * room, highest * room)
        if ctx.op == "QuantizedAdd":
            sums = sum(
                _widened(integers_of(value, kind), span, kind, total, dtype)
                for value, kind, span in zip((a, b), types, ranges, strict=True)
            )
            return _result(sums, total, dtype)
        zero = _within(quantised_exactly(_FLOAT(0), *total, dtype), dtype)
        parts = [
            quantised(real(integers_of(value, kind), *span, kind), *total, dtype)
            for value, kind, span in zip((a, b), types, ranges, strict=True)
        ]
        return _result((parts[0] + (parts[1] + zero)).astype(dtype.integers), total, dtype)

    return add


def _widened(integers: Any, span: Range, kind: DType, total: Range, dtype: DType) -> Any:
    """Return bytes as integers of a wide range, by the distance of two neighbours."""
    first = real_exactly(np.arange(2), *span, kind)
    nought, one = quantised_exactly(first, *total, dtype)
    return _within(nought + integers.astype(np.int64) * (one - nought), dtype)


def _biased(ctx: InferContext) -> TensorShape:
    return specs_of("BiasAdd", _as_floats(*ctx.inputs[:2]), {})[0].shape


def _within(integers: Any, dtype: DType) -> Any:
    return np.clip(integers, *bounds(dtype))


op("QuantizedAdd", _shaped(_both), kernel=_sum_kernel)
op("QuantizedBiasAdd", _shaped(_biased), kernel=_sum_kernel)


# -- activations and pools -------------------------------------------------------------------------


def _relu_kernel(ctx: KernelContext) -> Kernel:
    dtype, most = ctx.inputs[0].dtype, 6.0 if ctx.op == "QuantizedRelu6" else None

    def relu(x: Any, low: Any, high: Any) -> Any:
        ((low, high),) = _ranges(ctx.op, (low, high))
        ends = [
            None if end is None else _within(quantised_exactly(_FLOAT(end), low, high, dtype), dtype)
            for end in (0.0, most)
        ]
        return _result(np.clip(integers_of(x, dtype), *ends), (low, high), ctx.outputs[0].dtype)

    return relu


def _pool_kernel(ctx: KernelContext) -> Kernel:
    dtype, kind = ctx.inputs[0].dtype, ctx.op.removeprefix("Quantized")
    function = kernel_of(ctx, kind, _as_floats(ctx.inputs[0]), ctx.attrs)

    def pool(x: Any, low: Any, high: Any) -> Any:
        (span,) = _ranges(ctx.op, (low, high))
        pooled = function(integers_of(x, dtype).astype(np.float64))
        return _result(np.rint(pooled), span, dtype)

    return pool


def _pooled(ctx: InferContext) -> TensorShape:
    kind = ctx.op.removeprefix("Quantized")
    return specs_of(kind, _as_floats(ctx.inputs[0]), ctx.attrs)[0].shape


for _name in ("QuantizedRelu", "QuantizedRelu6"):
    op(_name, _shaped(lambda ctx: ctx.inputs[0].shape), kernel=_relu_kernel)
for _name in ("QuantizedMaxPool", "QuantizedAvgPool"):
    op(_name, _shaped(_pooled), kernel=_pool_kernel)


# -- arrays ----------------------------------------------------------------------------------------


def _reshaped(ctx: InferContext) -> TensorShape:
    return specs_of("Reshape", ctx.inputs[:2], ctx.attrs, [None, ctx.constant(1)])[0].shape


def _reshape_kernel(ctx: KernelContext) -> Kernel:
    function = kernel_of(ctx, "Reshape", ctx.inputs[:2], ctx.attrs)
    return lambda x, shape, low, high: (np.array(function(x, shape)), np.array(low), np.array(high))


def _parts(ctx: InferContext | KernelContext) -> tuple[slice, slice]:
    """Return where the values and the ends of ranges stand among the inputs, after the axis."""
    count = (len(ctx.inputs) - 1) // 3
    return slice(1, count + 1), slice(count + 1, None)


def _joined(ctx: InferContext) -> TensorShape:
    values, _ = _parts(ctx)
    specs = [*ctx.inputs[values], ctx.inputs[0]]
    known = [None] * (len(specs) - 1) + [ctx.constant(0)]
    return specs_of("ConcatV2", specs, {"N": len(specs) - 1}, known)[0].shape


def _concat_kernel(ctx: KernelContext) -> Kernel:
    where, rest = _parts(ctx)
    dtype = ctx.outputs[0].dtype
    specs = [*ctx.inputs[where], ctx.inputs[0]]
    function = kernel_of(ctx, "ConcatV2", specs, {"N": len(specs) - 1})

    def concat(*inputs: Any) -> Any:
        values, ends = inputs[where], inputs[rest]
        lows, highs = ends[: len(values)], ends[len(values) :]
        low, high = min(lows), max(highs)
        if bounds(dtype)[0] < 0:
            high = max(abs(low), abs(high))
            low = -high
        parts = [
            value
            if (each, top) == (low, high)
            else tagged(requantised(integers_of(value, dtype), (each, top), dtype, (low, high), dtype), dtype)
            for value, each, top in zip(values, lows, highs, strict=True)
        ]
        return _result(integers_of(function(*parts, inputs[0]), dtype), (low, high), dtype)

    return concat


op("QuantizedReshape", _shaped(_reshaped), kernel=_reshape_kernel, sized_by=())
op("QuantizedConcat", _shaped(_joined), kernel=_concat_kernel)


# -- batch normalisation ---------------------------------------------------------------------------

_NORMALISED: Range = (_FLOAT(-(1 << 20)), _FLOAT(1 << 20))


def _normalise_kernel(ctx: KernelContext) -> Kernel:
    types = [spec.dtype for spec in ctx.inputs[::3]]
    scales, epsilon = ctx.attrs["scale_after_normalization"], ctx.attrs["variance_epsilon"]
    dtype = ctx.outputs[0].dtype

    def normalise(*operands: Any) -> Any:
        numbers = [
            real(integers_of(operands[at], kind), operands[at + 1], operands[at + 2], kind).astype(np.float64)
            for at, kind in zip(range(0, 15, 3), types, strict=True)
        ]
        x, mean, variance, beta, gamma = numbers
        normalised = (x - mean) / np.sqrt(variance + epsilon)
        normalised = (normalised * gamma if scales else normalised) + beta
        integers = _within(quantised_exactly(normalised.astype(_FLOAT), *_NORMALISED, dtype), dtype)
        return _result(integers, _NORMALISED, dtype)

    return normalise


op("QuantizedBatchNormWithGlobalNormalization", _shaped(lambda ctx: ctx.inputs[0].shape), kernel=_normalise_kernel)
