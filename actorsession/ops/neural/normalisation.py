"""Means, variances and normalisation, composed of small ops.

Owns no operation type: ``fused_batch_norm`` and ``lrn`` are modules of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.graph.dtypes import DType, bfloat16, float16, float32
from actorsession.graph.operation import Tensor
from actorsession.ops import raw
from actorsession.ops.arrays.array import stop_gradient
from actorsession.ops.arrays.dimensions import rank, shape
from actorsession.ops.arrays.fills import zeros_like
from actorsession.ops.arrays.gather import gather
from actorsession.ops.arrays.shape import squeeze
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.elements.arithmetic import add, multiply, squared_difference, subtract
from actorsession.ops.elements.elementwise import reciprocal, rsqrt, square
from actorsession.ops.reductions.reduction import reduce_mean, reduce_prod, reduce_sum

__all__ = [
    "batch_norm_with_global_normalization",
    "batch_normalization",
    "moments",
    "normalize_moments",
    "sufficient_statistics",
    "weighted_moments",
]


def _cast(value: Tensor, dtype: DType) -> Tensor:
    return value if value.dtype is dtype else raw.Cast(value, DstT=dtype)


def _precise(value: Tensor) -> Tensor:
    """Widen half types to float32: their range is too small for sums of squares."""
    return _cast(value, float32) if value.dtype in (float16, bfloat16) else value


def _finished(both: Sequence[Tensor], axes: Any, keep: bool, dtype: DType) -> tuple[Tensor, Tensor]:
    if not keep:
        both = [squeeze(value, axes) for value in both]
    mean, variance = (_cast(value, dtype) for value in both)
    return mean, variance


def _listed(axes: Any) -> list[int]:
    return [int(a) for a in np.atleast_1d(np.asarray(axes))]


def moments(x: Any, axes: Any, name: str | None = None, keepdims: bool = False) -> tuple[Tensor, Tensor]:
    """Return the mean and the (biased) variance over axes.

    Args:
        x: numbers.
        axes: ints; all when ``None``.
        keepdims: whether the axes stay, with extent 1.

    Returns:
        Mean and variance, of the dtype of ``x``.
    """
    value = convert_to_tensor(x)
    listed = list(range(len(value.shape))) if axes is None else _listed(axes)
    with value.graph.name_scope(name or "moments"):
        y = _precise(value)
        mean = reduce_mean(y, listed, keepdims=True, name="mean")
        # The gradients through this mean sum to 0.
        apart = squared_difference(y, stop_gradient(mean))
        variance = reduce_mean(apart, listed, keepdims=True, name="variance")
        return _finished([mean, variance], listed, keepdims, value.dtype)


def weighted_moments(
    x: Any, axes: Any, frequency_weights: Any, name: str | None = None, keepdims: bool = False
) -> tuple[Tensor, Tensor]:
    """Return mean and variance over axes, each number counted as often as its weight specifies.

    The arguments are those of ``moments``, with weights that broadcast with ``x``.
    """
    value = convert_to_tensor(x)
    listed = _listed(axes)
    with value.graph.name_scope(name or "weighted_moments"):
        y = _precise(value)
        weights = _cast(convert_to_tensor(frequency_weights, name="frequency_weights", graph=value.graph), y.dtype)
        total = reduce_sum(weights * y, listed, keepdims=True, name="weighted_input_sum")
        # The weights may be smaller than the values they broadcast to, and the count of the latter is needed.
        each = add(weights, zeros_like(y))
        count = reduce_sum(each, listed, keepdims=True, name="sum_of_weights")
        mean = raw.DivNoNan(total, count)
        apart = multiply(weights, squared_difference(y, mean))
        spread = reduce_sum(apart, listed, keepdims=True, name="weighted_distsq")
        variance = raw.DivNoNan(spread, count)
        return _finished([mean, variance], listed, keepdims, value.dtype)


def sufficient_statistics(
    x: Any, axes: Any, shift: Any = None, name: str | None = None, keepdims: bool = False
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Return the sums from which mean and variance over axes can be computed.

    Args:
        x: numbers.
        axes: ints.
        shift: number to subtract from each element first, or ``None``.
        keepdims: whether the axes stay, with extent 1.

    Returns:
        The count, the sum, the sum of squares, and ``shift`` as a tensor or ``None``.
    """
    value = convert_to_tensor(x)
    listed = sorted(set(_listed(axes)))
    with value.graph.name_scope(name or "sufficient_statistics"):
        counts = _count(value, listed)
        moved = None
        if shift is None:
            plain, squares = value, square(value)
        else:
            moved = convert_to_tensor(shift, value.dtype, "shift", graph=value.graph)
            plain, squares = subtract(value, moved), squared_difference(value, moved)
        total = reduce_sum(plain, listed, keepdims=keepdims, name="mean_ss")
        return counts, total, reduce_sum(squares, listed, keepdims=keepdims, name="var_ss"), moved


def _count(value: Tensor, axes: list[int]) -> Tensor:
    dims = value.shape.sizes
    if dims is not None and all(dims[a] is not None for a in axes):
        count = int(np.prod([dims[a] or 0 for a in axes]))
        return convert_to_tensor(count, value.dtype, graph=value.graph)
    known = [a + rank(value) if a < 0 else a for a in axes]
    sizes = gather(_cast(shape(value), value.dtype), known)
    return reduce_prod(sizes, name="count")


def normalize_moments(
    counts: Any, mean_ss: Any, variance_ss: Any, shift: Any, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Return mean and variance from the result of ``sufficient_statistics``.

    Args:
        counts: number of elements.
        mean_ss: sum of the elements, each minus ``shift``.
        variance_ss: sum of the squares of the elements, each minus ``shift``.
        shift: the number that was subtracted, or ``None``.
    """
    total = convert_to_tensor(mean_ss)
    graph, dtype = total.graph, total.dtype
    with graph.name_scope(name or "normalize"):
        divisor = reciprocal(convert_to_tensor(counts, dtype, graph=graph), name="divisor")
        if shift is None:
            moved = mean = multiply(total, divisor, name="mean")
        else:
            moved = multiply(total, divisor, name="shifted_mean")
            mean = add(moved, convert_to_tensor(shift, dtype, graph=graph), name="mean")
        squares = convert_to_tensor(variance_ss, dtype, graph=graph)
        return mean, subtract(multiply(squares, divisor), square(moved), name="variance")


def batch_normalization(
    x: Any, mean: Any, variance: Any, offset: Any, scale: Any, variance_epsilon: Any, name: str | None = None
) -> Tensor:
    """Return ``scale * (x - mean) / sqrt(variance + variance_epsilon) + offset``.

    All of them broadcast with ``x``, which is of a floating type. ``offset`` may be ``None`` for 0, and
    ``scale`` for 1.
    """
    value = convert_to_tensor(x)
    with value.graph.name_scope(name or "batchnorm"):
        middle = convert_to_tensor(mean, graph=value.graph)
        factor = rsqrt(convert_to_tensor(variance, graph=value.graph) + variance_epsilon)
        if scale is not None:
            factor = factor * scale
        moved = value * _cast(factor, value.dtype)
        rest = -middle * factor if offset is None else offset - middle * factor
        return moved + _cast(rest, value.dtype)


def batch_norm_with_global_normalization(
    t: Any = None,
    m: Any = None,
    v: Any = None,
    beta: Any = None,
    gamma: Any = None,
    variance_epsilon: Any = None,
    scale_after_normalization: bool | None = None,
    name: str | None = None,
    input: Any = None,
    mean: Any = None,
    variance: Any = None,
) -> Tensor:
    """Call ``batch_normalization`` under TensorFlow's oldest name.

    ``input``, ``mean`` and ``variance`` are other names of ``t``, ``m`` and ``v``.

    Args:
        beta: the offset.
        gamma: the scale.
        scale_after_normalization: whether ``gamma`` is applied.
    """
    images = input if t is None else t
    middle, spread = (mean if m is None else m), (variance if v is None else v)
    scale = gamma if scale_after_normalization else None
    return batch_normalization(images, middle, spread, beta, scale, variance_epsilon, name)
