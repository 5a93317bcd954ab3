"""Operation types of pooling: maxima and means, over two and three spatial axes.

Owns ``MaxPool``, ``AvgPool``, ``MaxPool3D``, ``AvgPool3D``, their gradients and the gradients of those;
``pooling`` builds them. A window over the channels is implemented as a pool over an additional axis.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import Dim, TensorShape
from actorsession.ops.arrays.dimensions import shape_tensor
from actorsession.ops.arrays.fills import zeros_like
from actorsession.ops.build import make_one
from actorsession.ops.convolutions.kernels import Sliding
from actorsession.ops.convolutions.nodes import halves_widened, known_dims
from actorsession.ops.convolutions.pooling_kernels import (
    averaged,
    averaged_back,
    chosen,
    largest,
    spread,
    spread_to_all,
)
from actorsession.ops.convolutions.windows import Windows, channels_last, restored, windows_of
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import Ints, constant_ints, elements, ints, require_index, same_dtype

__all__ = ["Pool", "pool_of"]


@dataclasses.dataclass(frozen=True, slots=True)
class Pool:
    """The attributes of a pooling node, interpreted.

    Attributes:
        windows: how the windows move.
        window: number of elements of a window on each spatial axis.
        rank: rank of the images.
        depth: size and stride of a window over the channels; ``(1, 1)`` for none.
        op: operation type.
    """

    windows: Windows
    window: Ints
    rank: int
    depth: tuple[int, int]
    op: str

    def output_dims(self, images: Sequence[Dim], error: Any = ValueError) -> list[Dim]:
        """Return the dimensions of the result."""
        w = self.windows
        dims = list(images)
        sizes = [images[a] for a in w.axes]
        for axis, count in zip(w.axes, w.output_dims(sizes, self.window, error), strict=True):
            dims[axis] = count
        (channel,) = (a for a in range(1, self.rank) if a not in w.axes)
        deep = dims[channel]
        if self.depth != (1, 1) and deep is not None:
            wide = self.depth[0]
            if deep % wide:
                raise error(f"{self.op}: {deep} channels are no multiple of a window of {wide}")
            dims[channel] = deep // wide
        return dims

    def sliding(self, images: Ints) -> Sliding:
        """Return the windows over images of shape ``images``, channels last."""
        w = self.windows
        if self.depth != (1, 1):
            ones = (1,) * len(w.axes)
            counts = (*images[1:-1], images[-1] // self.depth[0])
            steps = (*ones, self.depth[0])
            return Sliding(counts, steps, steps, (*ones, 1), ((0, 0),) * len(counts))
        sizes = images[1:-1]
        counts = tuple(int(n or 0) for n in w.output_dims(sizes, self.window, InvalidArgumentError))
        return Sliding(counts, self.window, w.strides, w.dilations, w.pads(sizes, self.window))

    def inner(self, x: Array) -> Array:
        """Return images in the layout of the kernels: channels last, or a single channel behind them."""
        x = channels_last(x, self.windows.data_format)
        return x[..., None] if self.depth != (1, 1) else x

    def outer(self, x: Array) -> Array:
        """Return a kernel's result in the layout of the node."""
        if self.depth != (1, 1):
            x = x[..., 0]
        return restored(x, self.windows.data_format)


def pool_of(attrs: Mapping[str, Any], rank: int, op: str) -> Pool:
    """Return the pool that the attributes of a node describe.

    Raises:
        ValueError: for attributes that describe none, or windows over batches.
    """
    windows = windows_of(attrs, rank, op, explicit="explicit_paddings" in attrs)
    ksize, strides = tuple(attrs["ksize"]), tuple(attrs["strides"])
    if len(ksize) != rank or min(ksize) < 1:
        raise ValueError(f"ksize of {op} is {rank} numbers of at least 1, got {list(ksize)}")
    (channel,) = (a for a in range(1, rank) if a not in windows.axes)
    if ksize[0] != 1 or strides[0] != 1:
        raise ValueError(f"{op} does not pool over batches: ksize {ksize}, strides {strides}")
    depth = (ksize[channel], strides[channel])
    window = tuple(ksize[a] for a in windows.axes)
    if depth != (1, 1) and (
        not op.startswith("MaxPool")
        or depth[0] != depth[1]
        or max(*window, *windows.strides) > 1
        or windows.padding == "EXPLICIT"
    ):
        raise ValueError(
            f"{op} pools over the channels, if it is of maxima, only in steps of the window and over "
            f"nothing else: ksize {list(ksize)}, strides {list(strides)}"
        )
    if any(max(pad) >= wide for pad, wide in zip(windows.explicit, window, strict=False)):
        raise ValueError(f"paddings of {op} are smaller than the window {list(window)}, got {windows.explicit}")
    return Pool(windows, window, rank, depth, op)


def _pool(ctx: InferContext | KernelContext) -> Pool:
    return pool_of(ctx.attrs, 5 if "3D" in ctx.op else 4, ctx.op)


# -- static types --------------------------------------------------------------------------------


def _pooled(ctx: InferContext) -> Sequence[TensorShape]:
    pool = _pool(ctx)
    return [TensorShape(pool.output_dims(known_dims(ctx, 0, pool.rank)))]


def _merged(ctx: InferContext, index: int, dims: Sequence[Dim]) -> TensorShape:
    shape = ctx.inputs[index].shape
    if not shape.is_compatible_with(dims):
        raise ValueError(f"{ctx.op}: input {index} has shape {TensorShape(dims)}, got {shape}")
    return shape.merge_with(dims)


def _maxima_back(ctx: InferContext) -> Sequence[TensorShape]:
    pool = _pool(ctx)
    same_dtype(ctx, 0, 2)  # MaxPool3DGrad has two attributes for one type
    images = known_dims(ctx, 0, pool.rank)
    result = _merged(ctx, 1, pool.output_dims(images))
    forward = ctx.op.endswith("GradGrad")
    back = _merged(ctx, 2, images if forward else result.as_list())
    gradient = result if forward else TensorShape(images)
    if gradient.rank is not None and gradient[0] is None:
        gradient = TensorShape([back[0], *gradient.as_list()[1:]])
    return [gradient]


def _means_back(ctx: InferContext) -> Sequence[TensorShape]:
    pool = _pool(ctx)
    require_index(ctx, 0, rank=1)
    sizes = constant_ints(ctx, 0)
    if sizes is not None and len(sizes) != pool.rank:
        raise ValueError(f"{ctx.op}: the shape of the images has {pool.rank} sizes, got {sizes}")
    images: list[Dim] = [None] * pool.rank if sizes is None else list(sizes)
    back = _merged(ctx, 1, pool.output_dims(images))
    if images[0] is None:
        images[0] = back[0]
    return [TensorShape(images)]


# -- kernels -------------------------------------------------------------------------------------


def _check_rank(pool: Pool, shape: Ints) -> None:
    if len(shape) != pool.rank:
        raise InvalidArgumentError(f"images have rank {pool.rank}, got shape {list(shape)}")


def _check_shape(what: str, actual: Ints, expected: Sequence[Any]) -> None:
    if actual != tuple(expected):
        raise InvalidArgumentError(f"{what} has shape {list(expected)}, got {list(actual)}")


def _pool_kernel(ctx: KernelContext) -> Kernel:
    pool = _pool(ctx)
    maximal = ctx.op.startswith("MaxPool")
    function = largest if maximal else averaged

    def kernel(images: Any) -> Any:
        _check_rank(pool, images.shape)
        shape = pool.output_dims(images.shape, InvalidArgumentError)
        if not math.prod(int(n or 0) for n in shape):
            return np.zeros([int(n or 0) for n in shape], images.dtype)
        x = channels_last(images, pool.windows.data_format)
        return pool.outer(function(pool.inner(images), pool.sliding(x.shape)))

    # Maxima of 16-bit floats are found without widening.
    return kernel if maximal else halves_widened(kernel, ctx.outputs[0].dtype)


def _max_back_kernel(ctx: KernelContext) -> Kernel:
    pool = _pool(ctx)
    forward = ctx.op.endswith("GradGrad")
    function = chosen if forward else spread_to_all if "3D" in ctx.op else spread

    def kernel(images: Any, result: Any, back: Any) -> Any:
        _check_rank(pool, images.shape)
        pooled = pool.output_dims(images.shape, InvalidArgumentError)
        _check_shape("the pool's result", result.shape, pooled)
        _check_shape("the gradient", back.shape, images.shape if forward else pooled)
        if not images.size or not result.size:
            return np.zeros(result.shape if forward else images.shape, images.dtype)
        x = channels_last(images, pool.windows.data_format)
        parts = (pool.inner(images), pool.inner(result), pool.inner(back))
        return pool.outer(function(*parts, pool.sliding(x.shape)))

    return halves_widened(kernel, ctx.outputs[0].dtype)


def _average_back_kernel(ctx: KernelContext) -> Kernel:
    pool = _pool(ctx)
    front = not pool.windows.data_format.endswith("C")

    def kernel(sizes: Any, back: Any) -> Any:
        shape = ints(sizes)
        _check_rank(pool, shape)
        if min(shape) < 0:
            raise InvalidArgumentError(f"sizes of images are at least 0, got {list(shape)}")
        _check_shape("the gradient", back.shape, pool.output_dims(shape, InvalidArgumentError))
        if not back.size:
            return np.zeros(shape, back.dtype)
        inner = (shape[0], *shape[2:], shape[1]) if front else shape
        return pool.outer(averaged_back(inner, pool.inner(back), pool.sliding(inner)))

    return halves_widened(kernel, ctx.outputs[0].dtype)


# Elements per microsecond that numpy compares or adds from strided views, and the cost of a kernel call.
_SPEED = 500.0
_CALL = 20.0


def _cost(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> float:
    """Return the estimated cost; the window size is ignored, as windows cover the images about once."""
    return _CALL + 2 * max(elements(s) for s in (*inputs, *outputs)) / _SPEED


# -- gradients and rows --------------------------------------------------------------------------


def _max_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [make_one(f"{op.type}Grad", [op.inputs[0], op.outputs[0], grad], op.attrs)]


def _max_back_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    """Return the gradient through the incoming gradient only: small changes do not move the maxima."""
    images, result, _ = op.inputs
    other = op.type.removesuffix("Grad") if op.type.endswith("GradGrad") else f"{op.type}Grad"
    through = make_one(other, [images, result, grad], op.attrs)
    return [zeros_like(images), zeros_like(result), through]


def _average_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [make_one(f"{op.type}Grad", [shape_tensor(op.inputs[0]), grad], op.attrs)]


def _average_back_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [None, make_one(op.type.removesuffix("Grad"), [grad], op.attrs)]


# MaxPoolGradGrad accepts explicit paddings too, so that second derivatives also exist for them.
for _axes in ("", "3D"):
    op(f"MaxPool{_axes}", _pooled, kernel=_pool_kernel, grad=_max_gradient, cost=_cost, divides=True)
    for _suffix in ("Grad", "GradGrad"):
        op(
            f"MaxPool{_axes}{_suffix}",
            _maxima_back,
            kernel=_max_back_kernel,
            grad=_max_back_gradient,
            cost=_cost,
            divides=_axes + _suffix == "Grad",
        )
    op(f"AvgPool{_axes}", _pooled, kernel=_pool_kernel, grad=_average_gradient, cost=_cost)
    op(
        f"AvgPool{_axes}Grad",
        _means_back,
        kernel=_average_back_kernel,
        grad=_average_back_gradient,
        cost=_cost,
        sized_by=(0,),
    )
