"""Squares of an image moved into its depth, and back: ``space_to_depth`` and ``depth_to_space``.

Each op is a reshape, a transposition and another reshape; the kernels copy once. Both image layouts are
supported, including the one that TensorFlow supports on other devices only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actorsession.errors import InvalidArgumentError
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import InferContext, Kernel, KernelContext
from actorsession.graph.shape import Dim, TensorShape
from actorsession.ops import raw
from actorsession.ops.rows import op

__all__ = ["depth_to_space", "space_to_depth"]


def space_to_depth(input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:
    """Move squares of pixels into the depth of an image.

    Args:
        input: images, ``[batch, height, width, depth]``, or depth first with ``NCHW``.
        block_size: side of the squares, at least 2; divides height and width.
        data_format: ``NHWC`` or ``NCHW``.
    """
    return raw.SpaceToDepth(input, block_size=int(block_size), data_format=data_format, name=name)


def depth_to_space(input: Any, block_size: int, name: str | None = None, data_format: str = "NHWC") -> Tensor:
    """Move the depth of an image into squares of pixels: the inverse of ``space_to_depth``.

    Args:
        input: images, ``[batch, height, width, depth]``, or depth first with ``NCHW``.
        block_size: side of the squares, at least 2; its square divides the depth.
        data_format: ``NHWC`` or ``NCHW``.
    """
    return raw.DepthToSpace(input, block_size=int(block_size), data_format=data_format, name=name)


def _depth_shape(op: str, shape: list[Dim], block: int, layout: str, error: Callable[[str], Exception]) -> list[Dim]:
    """Return the shape of the result of either op."""
    height, width, depth = (1, 2, 3) if layout == "NHWC" else (2, 3, 1)
    out = list(shape)
    shrunk = {height: block, width: block} if op == "SpaceToDepth" else {depth: block * block}
    grown = {depth: block * block} if op == "SpaceToDepth" else {height: block, width: block}
    for axis, factor in shrunk.items():
        dim = shape[axis]
        if dim is not None:
            if dim % factor:
                raise error(f"{op}: axis {axis} of shape {shape} is not divisible by {factor}")
            out[axis] = dim // factor
    for axis, factor in grown.items():
        dim = shape[axis]
        out[axis] = None if dim is None else dim * factor
    return out


def _infer_depth(ctx: InferContext) -> list[TensorShape]:
    shape, block, layout = ctx.inputs[0].shape, ctx.attrs["block_size"], ctx.attrs["data_format"]
    if block < 2:
        raise ValueError(f"{ctx.op}: block_size is at least 2, got {block}")
    if layout not in ("NHWC", "NCHW"):
        raise ValueError(f"{ctx.op}: data_format is NHWC or NCHW, got {layout!r}")
    if shape.rank not in (None, 4):
        raise ValueError(f"{ctx.op} takes images of rank 4, got shape {shape}")
    dims = shape.with_rank(4).as_list()
    return [TensorShape(_depth_shape(ctx.op, dims, block, layout, ValueError))]


# The axes of an image between the two reshapes: b is the batch, y and x count blocks, i and j pixels within
# one, c channels. The depth of a block counts rows first, then columns, then channels.
_AXES = {
    ("SpaceToDepth", "NHWC"): ("byixjc", "byxijc"),
    ("SpaceToDepth", "NCHW"): ("bcyixj", "bijcyx"),
    ("DepthToSpace", "NHWC"): ("byxijc", "byixjc"),
    ("DepthToSpace", "NCHW"): ("bijcyx", "bcyixj"),
}


def _depth_blocks(xp: Any, ctx: KernelContext) -> Kernel:
    op, block, layout = ctx.op, ctx.attrs["block_size"], ctx.attrs["data_format"]
    before, after = _AXES[op, layout]
    order = [before.index(axis) for axis in after]

    def moved(x: Any) -> Any:
        if x.ndim != 4:
            raise InvalidArgumentError(f"{op} takes images of rank 4, got shape {list(x.shape)}")
        out = _depth_shape(op, list(x.shape), block, layout, InvalidArgumentError)
        small = x.shape if op == "DepthToSpace" else out
        batch, height, width = (small[a] for a in ((0, 1, 2) if layout == "NHWC" else (0, 2, 3)))
        channels = (out if op == "DepthToSpace" else x.shape)[3 if layout == "NHWC" else 1]
        sizes = {"b": batch, "y": height, "x": width, "i": block, "j": block, "c": channels}
        return xp.permute_dims(x.reshape([sizes[axis] for axis in before]), order).reshape(out)

    return moved


def _depth_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    back = depth_to_space if op.type == "SpaceToDepth" else space_to_depth
    return [back(grad, op.attrs["block_size"], data_format=op.attrs["data_format"])]


for _name in ("SpaceToDepth", "DepthToSpace"):
    op(_name, _infer_depth, sentence=_depth_blocks, grad=_depth_gradient, aliases=True)
