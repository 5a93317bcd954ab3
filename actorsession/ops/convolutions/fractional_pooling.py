"""Fractional pooling: the sizes of the regions vary randomly, so that images shrink by any ratio.

Owns ``FractionalMaxPool`` and ``FractionalAvgPool`` with their gradients. The starts of the regions are drawn
anew in each step, along rows and columns; the nodes also output them, because the gradients need them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import as_dtype, int64
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import Dim, TensorShape
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import shape_tensor
from actorsession.ops.build import convert_to_tensor, make
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import constant_ints, ints
from transports.host import current_host

__all__ = ["fractional_avg_pool", "fractional_max_pool"]


class FractionalPool(NamedTuple):
    """The result of a fractional pool.

    Attributes:
        output: the pooled images.
        row_pooling_sequence: starts of the row regions, and the end of the last one.
        col_pooling_sequence: likewise for columns.
    """

    output: Tensor
    row_pooling_sequence: Tensor
    col_pooling_sequence: Tensor


def fractional_max_pool(
    value: Any,
    pooling_ratio: Sequence[float],
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> FractionalPool:
    """Return the largest number of each region of images, where regions differ in size by at most one.

    Args:
        value: float32, float64, int32 or int64 of shape ``[batch, height, width, channels]``.
        pooling_ratio: factors by which images shrink: ``[1, rows, columns, 1]``, each at least 1.
        pseudo_random: whether the sizes alternate evenly instead of in random order.
        overlapping: whether a region shares its last row and column with the next one.
        deterministic: whether regions are the same in each step.
        seed: seed of the random numbers; only with ``deterministic``.
        seed2: a second seed.

    Raises:
        TypeError: for another dtype.
        ValueError: for another shape, other ratios, or seeds without ``deterministic``.
    """
    rest = (pseudo_random, overlapping, deterministic, seed, seed2, name)
    return _pool("FractionalMaxPool", value, pooling_ratio, *rest)


def fractional_avg_pool(
    value: Any,
    pooling_ratio: Sequence[float],
    pseudo_random: bool = False,
    overlapping: bool = False,
    deterministic: bool = False,
    seed: int = 0,
    seed2: int = 0,
    name: str | None = None,
) -> FractionalPool:
    """Return the mean of each region of images; arguments as for ``fractional_max_pool``."""
    rest = (pseudo_random, overlapping, deterministic, seed, seed2, name)
    return _pool("FractionalAvgPool", value, pooling_ratio, *rest)


def _pool(
    op_type: str,
    value: Any,
    ratio: Sequence[float],
    pseudo_random: bool,
    overlapping: bool,
    deterministic: bool,
    seed: int,
    seed2: int,
    name: str | None,
) -> FractionalPool:
    attrs = {
        "pooling_ratio": tuple(map(float, ratio)),
        "pseudo_random": bool(pseudo_random),
        "overlapping": bool(overlapping),
        "deterministic": bool(deterministic),
        "seed": int(seed),
        "seed2": int(seed2),
    }
    pool = make(op_type, [convert_to_tensor(value, name="value")], attrs, name)
    return FractionalPool(*pool.outputs)


# -- static types ----------------------------------------------------------------------------------


def _pooled(ctx: InferContext) -> Sequence[TensorShape]:
    spec, ratio = ctx.inputs[0], ctx.attrs["pooling_ratio"]
    if spec.shape.rank not in (None, 4):
        raise ValueError(f"{ctx.op}: images have rank 4, got shape {spec.shape}")
    if len(ratio) != 4 or ratio[0] != 1 or ratio[3] != 1 or min(ratio) < 1:
        raise ValueError(f"{ctx.op}: pooling_ratio is [1, rows, columns, 1], none smaller than 1, got {list(ratio)}")
    if (ctx.attrs["seed"] or ctx.attrs["seed2"]) and not ctx.attrs["deterministic"]:
        raise ValueError(f"{ctx.op}: both seed and seed2 should be 0 if deterministic is false")
    batch, height, width, channels = spec.shape.with_rank(4).as_list()
    sizes: list[Dim] = []
    for extent, by in ((height, ratio[1]), (width, ratio[2])):
        if extent is not None and extent < by:
            raise ValueError(f"{ctx.op}: a ratio of {by} is higher than the size of {extent}")
        sizes.append(None if extent is None else int(extent / by))
    # There is one end more than rows or columns; TensorFlow says one less, so that it is left open here.
    return [TensorShape([batch, *sizes, channels]), TensorShape([None]), TensorShape([None])]


def _means_back(ctx: InferContext) -> Sequence[TensorShape]:
    return [TensorShape(constant_ints(ctx, 0) or [None] * 4)]


# -- regions ---------------------------------------------------------------------------------------


def _sequence(random: np.random.Generator, size: int, count: int, even: bool) -> Array:
    """Return the starts of the regions along an axis, followed by the end of the last one."""
    base, rest = divmod(size, count)
    if even:
        ratio = size / count
        most = min((base + 2) / ratio - 1, (size + 1 - base) / ratio - (count - 1))
        start = random.random() * most
        inner = np.ceil(ratio * (np.arange(1, count) + start)) - 1
        return np.concatenate([[0], inner, [size]]).astype(np.int64)
    lengths = np.full(count, base)
    lengths[:rest] += 1
    return np.concatenate([[0], np.cumsum(random.permutation(lengths))]).astype(np.int64)


def _generators(seeds: Sequence[int] | None) -> tuple[np.random.SeedSequence, Any]:
    """Return the seed sequence for regions that stay the same, and the generator for those that change."""
    start = np.random.SeedSequence(seeds or current_host().entropy.randbits(128))
    return start, np.random.default_rng(start)


def _reduced(x: Any, starts: Array, axis: int, overlapping: bool, most: bool) -> Any:
    """Return the maxima or the sums of the regions along an axis."""
    combine = np.fmax if most else np.add
    reduced = combine.reduceat(x, starts[:-1], axis=axis)
    if overlapping and len(starts) > 2:
        # All regions but the last also include the start of the next one.
        shared = np.take(x, starts[1:-1], axis=axis)
        part = (slice(None),) * axis + (slice(0, -1),)
        reduced[part] = combine(reduced[part], shared)
    return combine(reduced, as_dtype(x.dtype).min) if most else reduced


def _lengths(starts: Array, overlapping: bool) -> Array:
    lengths = np.diff(starts)
    if overlapping:
        lengths[:-1] += 1
    return lengths


def _regions(rows: Array, columns: Array, overlapping: bool) -> Iterator[tuple[Any, Any]]:
    """Yield the index of each pooled pixel, and the slices of the image region that it belongs to."""
    high, wide = _lengths(rows, overlapping).tolist(), _lengths(columns, overlapping).tolist()
    for i, top in enumerate(rows[:-1].tolist()):
        for j, left in enumerate(columns[:-1].tolist()):
            part = (slice(None), slice(top, top + high[i]), slice(left, left + wide[j]))
            yield (slice(None), i, j), part


# -- kernels ---------------------------------------------------------------------------------------


def _pool_kernel(ctx: KernelContext) -> Kernel:
    attrs, most = ctx.attrs, ctx.op == "FractionalMaxPool"
    overlapping, even = attrs["overlapping"], attrs["pseudo_random"]
    ratio = attrs["pooling_ratio"]
    numbers = [attrs["seed"], attrs["seed2"]]
    seeds = [abs(n) for n in numbers] if any(numbers) else None
    start, moving = ctx.state(lambda: _generators(seeds))

    def pooled(x: Any) -> Any:
        if x.ndim != 4 or x.shape[1] < ratio[1] or x.shape[2] < ratio[2]:
            raise InvalidArgumentError(
                f"{ctx.op}: images have rank 4 and at least {ratio[1]} rows and {ratio[2]} columns, got "
                f"shape {list(x.shape)}"
            )
        random = np.random.default_rng(start) if attrs["deterministic"] else moving
        rows, columns = (_sequence(random, x.shape[i], int(x.shape[i] / ratio[i]), even) for i in (1, 2))
        pooled = _reduced(_reduced(x, rows, 1, overlapping, most), columns, 2, overlapping, most)
        if not most:
            high, wide = _lengths(rows, overlapping), _lengths(columns, overlapping)
            counts = (high[:, np.newaxis] * wide)[..., np.newaxis].astype(x.dtype)
            # Integers are truncated towards zero, as in TensorFlow.
            pooled = pooled / counts if x.dtype.kind == "f" else np.trunc(pooled / counts)
        return pooled.astype(x.dtype), rows, columns

    return pooled


def _check_sequences(op: str, shape: Any, grad: Any, rows: Any, columns: Any) -> None:
    fits = len(shape) == 4 and grad.ndim == 4 and rows.ndim == columns.ndim == 1
    if fits:
        expected = (shape[0], len(rows) - 1, len(columns) - 1, shape[3])
        ends = [
            len(s) > 1 and s[0] == 0 and s[-1] == n and (np.diff(s) > 0).all()
            for s, n in ((rows, shape[1]), (columns, shape[2]))
        ]
        fits = grad.shape == expected and all(ends)
    if not fits:
        raise InvalidArgumentError(
            f"{op}: regions go from 0 to the size of images, and the gradient has a number for each, got "
            f"images of shape {list(shape)}, a gradient of shape {list(grad.shape)}, {rows.tolist()} and "
            f"{columns.tolist()}"
        )


def _largest_back_kernel(ctx: KernelContext) -> Kernel:
    overlapping = ctx.attrs["overlapping"]

    def back(x: Any, pooled: Any, grad: Any, rows: Any, columns: Any) -> Any:
        _check_sequences(ctx.op, x.shape, grad, rows, columns)
        out = np.zeros_like(x)
        batch, channels = np.ogrid[: x.shape[0], : x.shape[3]]
        for place, part in _regions(rows, columns, overlapping):
            block = x[part]
            flat = block.reshape(len(x), -1, x.shape[3]).argmax(1) if block.size else None
            if flat is None:
                continue
            row, column = np.divmod(flat, block.shape[2])
            out[batch, part[1].start + row, part[2].start + column, channels] += grad[place]
        return out

    return back


def _means_back_kernel(ctx: KernelContext) -> Kernel:
    overlapping = ctx.attrs["overlapping"]

    def back(size: Any, grad: Any, rows: Any, columns: Any) -> Any:
        shape = ints(size)
        _check_sequences(ctx.op, shape, grad, rows, columns)
        out = np.zeros(shape, np.result_type(grad.dtype, np.float32))
        for place, part in _regions(rows, columns, overlapping):
            count = (part[1].stop - part[1].start) * (part[2].stop - part[2].start)
            out[part] += (grad[place] / count)[:, np.newaxis, np.newaxis]
        return out.astype(grad.dtype)

    return back


# -- gradients and rows ----------------------------------------------------------------------------


def _largest_gradient(op: Operation, grad: Tensor | None, *others: Any) -> list[Tensor | None]:
    if grad is None:
        return [None]
    overlapping = op.attrs["overlapping"]
    inputs = (op.inputs[0], op.outputs[0], grad, *op.outputs[1:])
    return [raw.FractionalMaxPoolGrad(*inputs, overlapping=overlapping)]


def _means_gradient(op: Operation, grad: Tensor | None, *others: Any) -> list[Tensor | None]:
    if grad is None:
        return [None]
    overlapping = op.attrs["overlapping"]
    inputs = (shape_tensor(op.inputs[0], int64), grad, *op.outputs[1:])
    return [raw.FractionalAvgPoolGrad(*inputs, overlapping=overlapping)]


op("FractionalMaxPool", _pooled, kernel=_pool_kernel, grad=_largest_gradient)
op("FractionalMaxPoolGrad", lambda ctx: [ctx.inputs[0].shape.with_rank(4)], kernel=_largest_back_kernel)
op("FractionalAvgPool", _pooled, kernel=_pool_kernel, grad=_means_gradient)
op("FractionalAvgPoolGrad", _means_back, kernel=_means_back_kernel)
