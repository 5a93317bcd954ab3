"""Limits for values and norms, as for gradients before they are applied.

``IndexedSlices`` are clipped by their rows, and entries ``None`` in lists of gradients stay ``None``.
"""

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
from actorsession.ops.arrays.array import identity
from actorsession.ops.arrays.dimensions import size
from actorsession.ops.arrays.fills import ones_like
from actorsession.ops.arrays.joining import stack
from actorsession.ops.broadcasting import sum_to_operands
from actorsession.ops.build import constant, convert_to_tensor, graph_of
from actorsession.ops.elements.arithmetic import maximum, minimum
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.comparison import greater, less, logical_or
from actorsession.ops.elements.elementwise import rsqrt, sqrt
from actorsession.ops.elements.selection import where_v2
from actorsession.ops.indexed_slices import IndexedSlices, SparseGradient
from actorsession.ops.operands import scalar_like
from actorsession.ops.reductions.reduction import reduce_sum
from actorsession.ops.rows import op

__all__ = ["clip_by_average_norm", "clip_by_global_norm", "clip_by_norm", "clip_by_value", "global_norm"]


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: str | None = None) -> Any:
    """Return a tensor or ``IndexedSlices`` with elements limited to a minimum and a maximum.

    Args:
        t: numbers.
        clip_value_min: minimum; broadcast, but not beyond the shape of ``t``.
        clip_value_max: maximum, likewise.
        name: wanted name.

    Raises:
        ValueError: if the result would have another shape than ``t``.
    """
    values = _values(t)
    with values.graph.name_scope(name or "clip_by_value") as scope:
        below = minimum(values, clip_value_max)
        clipped = maximum(below, clip_value_min, name=scope)
    if not values.shape.is_compatible_with(clipped.shape):
        raise ValueError(f"clip_by_value keeps the shape {values.shape}; with those limits it would be {clipped.shape}")
    return _like(t, clipped)


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """Return a tensor or ``IndexedSlices``, scaled down to the norm ``clip_norm`` if its own is larger.

    Args:
        t: floating numbers.
        clip_norm: a scalar; a negative one is treated as 0.
        axes: axes over which the norm is computed; all if left out.
        name: wanted name.
    """
    values = _values(t)
    graph = values.graph
    with graph.name_scope(name or "clip_by_norm") as scope:
        if np.isscalar(clip_norm):
            limit = convert_to_tensor(max(clip_norm, 0), values.dtype, graph=graph)  # type: ignore[type-var]
        else:
            limit = cast(maximum(clip_norm, 0), values.dtype)
        squares = reduce_sum(values * values, axes, keepdims=True)
        # The root has no finite derivative at 0.
        some = greater(squares, scalar_like(0, squares))
        norm = where_v2(some, sqrt(where_v2(some, squares, ones_like(squares))), squares)
        scaled = values * limit
        if not values.shape.is_compatible_with(scaled.shape):
            raise ValueError(f"clip_norm is a scalar; got shape {limit.shape}")
        return _like(t, identity(scaled / maximum(norm, limit), name=scope))


def clip_by_average_norm(t: Any, clip_norm: Any, name: str | None = None) -> Tensor:
    """Return ``t``, scaled down if its norm divided by its number of elements is above ``clip_norm``."""
    values = convert_to_tensor(t)
    graph = values.graph
    with graph.name_scope(name or "clip_by_average_norm") as scope:
        elements = cast(size(values), float32)
        inverse = rsqrt(reduce_sum(values * values))
        factor = minimum(inverse * elements, constant(1.0, graph=graph) / clip_norm)
        return identity(values * clip_norm * factor, name=scope)


def global_norm(t_list: Sequence[Any], name: str | None = None) -> Tensor:
    """Return the norm of a list of tensors, ``IndexedSlices`` and ``None`` together, a scalar."""
    tensors = _listed(t_list)
    graph = graph_of(*[_part(t) for t in tensors if t is not None])
    with graph.name_scope(name or "global_norm"):
        halves = []
        for i, t in enumerate(tensors):
            if t is not None:
                value = convert_to_tensor(_part(t), name=f"t_{i}", graph=graph)
                with graph.colocate_with(value):
                    halves.append(raw.L2Loss(value))
        if not halves:
            return constant(0.0, graph=graph)
        half = reduce_sum(stack(halves))
        return sqrt(half * scalar_like(2, half), name="global_norm")


def clip_by_global_norm(
    t_list: Sequence[Any], clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> tuple[list[Any], Tensor]:
    """Return tensors scaled down together, so that their global norm is at most ``clip_norm``.

    Args:
        t_list: floating tensors, ``IndexedSlices`` or ``None``, which stays.
        clip_norm: a scalar above 0.
        use_norm: the global norm, if it was computed already.
        name: wanted name.

    Returns:
        The list, and the global norm. If that is infinite or NaN, all values are NaN.

    Raises:
        TypeError: if ``t_list`` is not a list.
    """
    tensors = _listed(t_list)
    graph = graph_of(*[_part(t) for t in tensors if t is not None])
    norm = global_norm(tensors, name) if use_norm is None else use_norm
    norm = convert_to_tensor(norm, graph=graph)
    with graph.name_scope(name or "clip_by_global_norm") as scope:
        finite = clip_norm * minimum(1.0 / norm, scalar_like(1, norm) / clip_norm)
        # The difference of infinities is NaN, so that a failure shows in every value.
        scale = finite + (norm - norm)
        scaled = [_scaled(t, scale, f"{scope}_{i}") for i, t in enumerate(tensors)]
    return scaled, norm


def _scaled(t: Any, scale: Tensor, name: str) -> Any:
    if t is None:
        return None
    value = convert_to_tensor(_part(t), graph=scale.graph)
    with scale.graph.colocate_with(value):
        return _like(t, identity(value * cast(scale, value.dtype), name=name))


def _listed(t_list: Any) -> list[Any]:
    if isinstance(t_list, (str, bytes)) or not isinstance(t_list, Sequence):
        raise TypeError(f"a list of tensors is wanted; got {t_list!r:.100}")
    return list(t_list)


def _part(t: Any) -> Any:
    return t.values if isinstance(t, IndexedSlices) else t


def _values(t: Any) -> Tensor:
    return convert_to_tensor(_part(t))


def _like(t: Any, values: Tensor) -> SparseGradient:
    if isinstance(t, IndexedSlices):
        return IndexedSlices(values, t.indices, t.dense_shape)
    return values


# -- ClipByValue -----------------------------------------------------------------------------------


def _of_values(ctx: InferContext) -> Sequence[TensorShape]:
    shape = ctx.inputs[0].shape
    for limit in ctx.inputs[1:]:
        if limit.shape.rank != 0 and not limit.shape.is_compatible_with(shape):
            raise ValueError(f"ClipByValue: limits are scalars or have the shape {shape}; got {limit.shape}")
    return [shape]


def _clip(xp: Any, ctx: KernelContext) -> Kernel:
    def clip(t: Any, low: Any, high: Any) -> Any:
        for limit in (low, high):
            if limit.ndim and limit.shape != t.shape:
                raise InvalidArgumentError(
                    f"ClipByValue: limits are scalars or have the shape {list(t.shape)}; got {list(limit.shape)}"
                )
        return xp.maximum(xp.minimum(t, high), low)

    return clip


def _gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    t, low, high = op.inputs
    zero = scalar_like(0, grad)
    below, above = less(t, low), greater(t, high)
    by_low, by_high = where_v2(below, grad, zero), where_v2(above, grad, zero)
    return [
        where_v2(logical_or(below, above), zero, grad),
        sum_to_operands(low, t, by_low, None)[0],
        sum_to_operands(high, t, by_high, None)[0],
    ]


op("ClipByValue", _of_values, sentence=_clip, grad=_gradient)
