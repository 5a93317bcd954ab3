"""Older forms of operations on arrays: attributes that are inputs now, blocks of one size, old checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import float32
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.elements.cast import cast
from actorsession.ops.rows import first, op, same
from actorsession.ops.shape_operands import constant_ints, ints
from actorsession.opsets.older.forms import Item, ShapeOf, older_form

__all__: list[str] = []


def _attr(name: str, dtype: Any = np.int32) -> Item:
    """An input that was an attribute."""
    return lambda attrs, dtypes: dtype(attrs[name])


def _block(attrs: Any, dtypes: Any) -> Any:
    return np.full(2, attrs["block_size"], np.int32)


def _sizes(shape: TensorShape) -> Any:
    """A static shape as an operand."""
    if shape.sizes is None:
        return np.int32(-1)
    return np.array([-1 if size is None else size for size in shape.sizes], np.int32)


older_form("AccumulateNV2", "AddN")
older_form("BatchToSpace", "BatchToSpaceND", (0, _block, 1))
older_form("BiasAddV1", "BiasAdd")
older_form("Concat", "ConcatV2", (slice(1, None), 0))
older_form("Conv3DBackpropFilter", "Conv3DBackpropFilterV2", (0, ShapeOf(1), 2), gradient=None)
older_form("Conv3DBackpropInput", "Conv3DBackpropInputV2", (ShapeOf(0), 1, 2), gradient=None)
older_form("Gather", "GatherV2", (0, 1, lambda attrs, dtypes: np.int32(0)))
older_form("InTopK", "InTopKV2", (0, 1, lambda attrs, dtypes: dtypes[1].np_dtype.type(attrs["k"])))
older_form("Mod", "TruncateMod", gradient=None)
older_form("PlaceholderV2", "Placeholder")
older_form("RandomPoisson", "RandomPoissonV2", attrs=lambda attrs, dtypes: {"dtype": dtypes[1]})
older_form("ScatterNdNonAliasingAdd", "TensorScatterAdd")
older_form("Snapshot", "Identity", gradient=None)
older_form("SpaceToBatch", "SpaceToBatchND", (0, _block, 1))
older_form(
    "TensorListConcat",
    "TensorListConcatV2",
    (0, lambda attrs, dtypes: _sizes(attrs["element_shape"]), lambda attrs, dtypes: np.zeros(0, np.int64)),
)
older_form("TensorListScatter", "TensorListScatterV2", (0, 1, 2, lambda attrs, dtypes: np.int32(-1)))
older_form("TopK", "TopKV2", (0, _attr("k")))


# -- copies and checks -----------------------------------------------------------------------------


def _prevented(op: Operation, grad: Tensor | None) -> Sequence[Tensor | None]:
    raise LookupError(f"Gradient explicitly disabled. Reason: {op.attrs['message']}")


op("PreventGradient", same, lambda x: x, _prevented, emit="{0}", aliases=True)
op("DeepCopy", same, lambda x: np.array(x, order="C")[()])


# -- Reverse ---------------------------------------------------------------------------------------


def _infer_reverse(ctx: InferContext) -> Sequence[TensorShape]:
    value, dims = ctx.inputs[0].shape, ctx.inputs[1].shape
    if value.rank is not None and not dims.is_compatible_with([value.rank]):
        raise ValueError(f"Reverse: dims has a bool for each axis of {value}, got shape {dims}")
    return [value]


def _reversed(x: Any, dims: Any) -> Any:
    if dims.ndim != 1 or len(dims) != x.ndim:
        raise InvalidArgumentError(
            f"'dims' must have length equal to input rank: {x.ndim}, got shape {list(dims.shape)}"
        )
    return x[tuple([slice(None, None, -1 if turned else None) for turned in dims])]


op("Reverse", _infer_reverse, _reversed, lambda op, grad: [raw.Reverse(grad, op.inputs[1]), None])


# -- TileGrad --------------------------------------------------------------------------------------


def _infer_tile_grad(ctx: InferContext) -> Sequence[TensorShape]:
    shape, times = ctx.inputs[0].shape, constant_ints(ctx, 1)
    if shape.rank is None or times is None:
        return [TensorShape([None] * shape.rank) if shape.rank is not None else shape]
    if len(times) != shape.rank or min(times, default=1) < 1:
        raise ValueError(f"TileGrad: a multiple of at least 1 for each axis of {shape}, got {times}")
    sizes = [None if size is None else size // n for size, n in zip(shape, times, strict=True)]
    return [TensorShape(sizes)]


def _tile_grad(x: Any, multiples: Any) -> Any:
    times = ints(multiples)
    if len(times) != x.ndim or any(n < 1 or size % n for size, n in zip(x.shape, times, strict=True)):
        raise InvalidArgumentError(f"shape {list(x.shape)} is not tiled by {list(times)}")
    pairs = [part for size, n in zip(x.shape, times, strict=True) for part in (n, size // n)]
    return x.reshape(pairs).sum(tuple(range(0, len(pairs), 2)), dtype=x.dtype)


op("TileGrad", _infer_tile_grad, sentence=lambda xp, ctx: _tile_grad)


# -- SparseMatMul ----------------------------------------------------------------------------------


def _infer_product(ctx: InferContext) -> Sequence[TensorShape]:
    a, b = (spec.shape.with_rank(2) for spec in ctx.inputs)
    rows, inner = reversed(a) if ctx.attrs["transpose_a"] else tuple(a)
    other, columns = reversed(b) if ctx.attrs["transpose_b"] else tuple(b)
    TensorShape([inner]).merge_with([other])
    return [TensorShape([rows, columns])]


def _product_kernel(ctx: KernelContext) -> Kernel:
    """Return the product in float32; that many elements are zero only made it faster."""
    turned = ctx.attrs["transpose_a"], ctx.attrs["transpose_b"]

    def product(*values: Any) -> Any:
        a, b = ((v.T if turns else v).astype(np.float32) for v, turns in zip(values, turned, strict=True))
        if a.ndim != 2 or b.ndim != 2 or a.shape[1] != b.shape[0]:
            shapes = [list(v.shape) for v in values]
            raise InvalidArgumentError(f"matrices of shapes {shapes[0]} and {shapes[1]}: no product")
        return a @ b

    return product


def _product_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    a, b = (cast(tensor, float32) for tensor in op.inputs)
    turns_a, turns_b = op.attrs["transpose_a"], op.attrs["transpose_b"]
    by_a = raw.MatMul(grad, b, transpose_b=not turns_b)
    if turns_a:
        by_a = raw.MatMul(b, grad, transpose_a=turns_b, transpose_b=True)
    by_b = raw.MatMul(a, grad, transpose_a=not turns_a)
    if turns_b:
        by_b = raw.MatMul(grad, a, transpose_a=True, transpose_b=turns_a)
    return [cast(by_a, op.inputs[0].dtype), cast(by_b, op.inputs[1].dtype)]


op("SparseMatMul", _infer_product, kernel=_product_kernel, grad=_product_gradient)


# -- BatchNormWithGlobalNormalization --------------------------------------------------------------


def _normalised(xp: Any, ctx: KernelContext) -> Kernel:
    epsilon, scales = ctx.attrs["variance_epsilon"], ctx.attrs["scale_after_normalization"]

    def normalised(t: Any, m: Any, v: Any, beta: Any, gamma: Any) -> Any:
        factor = 1 / xp.sqrt(v + epsilon)
        return (t - m) * (factor * gamma if scales else factor) + beta

    return normalised


def _normalised_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    back: Any = raw.BatchNormWithGlobalNormalizationGrad
    gradients = back(
        *op.inputs[:3],
        op.inputs[4],
        grad,
        variance_epsilon=op.attrs["variance_epsilon"],
        scale_after_normalization=op.attrs["scale_after_normalization"],
    )
    return list(gradients)


def _normalised_back(xp: Any, ctx: KernelContext) -> Kernel:
    epsilon, scales = ctx.attrs["variance_epsilon"], ctx.attrs["scale_after_normalization"]

    def back(t: Any, m: Any, v: Any, gamma: Any, grad: Any) -> Any:
        factor, axes = 1 / xp.sqrt(v + epsilon), tuple(range(t.ndim - 1))
        by_scaled = grad * gamma if scales else grad
        by_v = (by_scaled * (t - m)).sum(axes) * factor**3 / -2
        by_gamma = (grad * (t - m)).sum(axes) * factor if scales else xp.zeros_like(gamma)
        return by_scaled * factor, -by_scaled.sum(axes) * factor, by_v, grad.sum(axes), by_gamma

    return back


def _normalised_back_shapes(ctx: InferContext) -> Sequence[TensorShape]:
    return [ctx.inputs[0].shape, *[ctx.inputs[1].shape] * 4]


op("BatchNormWithGlobalNormalization", first, sentence=_normalised, grad=_normalised_gradient)
op("BatchNormWithGlobalNormalizationGrad", _normalised_back_shapes, sentence=_normalised_back)
