"""Margins that mirror a tensor at its edges, and their gradient.

Owns ``MirrorPad`` and ``MirrorPadGrad``, each of which is the gradient of the other. ``layout.pad`` builds
the first. A margin of the mode REFLECT excludes the edge itself, one of SYMMETRIC repeats it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.arrays.layout import check_margins, infer_pad, margins_of, padded_rank
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import shape_of_rank

__all__: list[str] = []

_EDGES = {"REFLECT": 1, "SYMMETRIC": 0}


def _edge(ctx: KernelContext | InferContext) -> int:
    """Return how many positions at an edge are not mirrored."""
    mode = ctx.attrs["mode"]
    if mode not in _EDGES:
        raise ValueError(f"{ctx.op}: mode is REFLECT or SYMMETRIC, got {mode!r}")
    return _EDGES[mode]


def _infer(ctx: InferContext) -> list[TensorShape]:
    _edge(ctx)
    return infer_pad(ctx)


def _kernel(ctx: KernelContext) -> Kernel:
    mode: Any = ctx.attrs["mode"].lower()
    edge = _edge(ctx)

    def mirrored(x: Any, paddings: Any) -> Any:
        margins = margins_of(paddings)
        check_margins(x, margins)
        _check_reach(x.shape, margins, edge)
        return np.pad(x, margins, mode=mode) if margins else x.copy()

    return mirrored


def _check_reach(dims: Any, margins: list[tuple[int, int]], edge: int) -> None:
    """Check that the tensor is large enough to be mirrored."""
    pairs = zip(dims, margins, strict=True)
    if any(max(pair) > max(d - edge, 0) for d, pair in pairs):
        raise InvalidArgumentError(
            f"paddings {margins} reach over shape {list(dims)}: they are at most the dimension"
            + (" less 1, for the edge is not repeated" if edge else "")
        )


def _gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    back = raw.MirrorPadGrad if op.type == "MirrorPad" else raw.MirrorPad
    return [back(grad, op.inputs[1], mode=op.attrs["mode"]), None]


op("MirrorPad", _infer, kernel=_kernel, grad=_gradient, sized_by=(1,))


# -- MirrorPadGrad ---------------------------------------------------------------------------------


def _infer_back(ctx: InferContext) -> list[TensorShape]:
    _edge(ctx)
    shape, known, rank = ctx.inputs[0].shape, ctx.constant(1), padded_rank(ctx)
    if known is None or shape.rank is None:
        return [shape_of_rank(rank)]
    dims = []
    for dim, (before, after) in zip(shape, margins_of(known), strict=True):
        if dim is not None and dim < before + after:
            raise ValueError(f"MirrorPadGrad: paddings {known.tolist()} are wider than the shape {shape}")
        dims.append(None if dim is None else dim - before - after)
    return [TensorShape(dims)]


def _folded(x: Array, axis: int, before: int, after: int, edge: int) -> Array:
    """Return the tensor with the margins along an axis added to the positions that they mirror."""
    front: tuple[Any, ...] = (slice(None),) * axis
    size = x.shape[axis] - before - after
    out = x[(*front, slice(before, before + size))].copy()
    out[(*front, slice(edge, edge + before))] += np.flip(x[(*front, slice(0, before))], axis)
    tail = slice(size - edge - after, size - edge)
    out[(*front, tail)] += np.flip(x[(*front, slice(before + size, None))], axis)
    return out


def _back_kernel(ctx: KernelContext) -> Kernel:
    edge = _edge(ctx)

    def folded(x: Any, paddings: Any) -> Any:
        margins = margins_of(paddings)
        check_margins(x, margins)
        dims = [d - before - after for d, (before, after) in zip(x.shape, margins, strict=True)]
        _check_reach(dims, margins, edge)
        out = x
        for axis, (before, after) in enumerate(margins):
            if before or after:
                out = _folded(out, axis, before, after, edge)
        return out.copy() if out is x else out

    return folded


op("MirrorPadGrad", _infer_back, kernel=_back_kernel, grad=_gradient)
