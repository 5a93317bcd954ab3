"""Frequencies of values: bincount, histograms with equal bins, confusion matrices."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import as_dtype, int32, int64
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import size
from actorsession.ops.arrays.fills import ones_like
from actorsession.ops.arrays.joining import stack
from actorsession.ops.arrays.scatter import scatter_nd
from actorsession.ops.arrays.shape import reshape, squeeze
from actorsession.ops.build import convert_to_tensor, graph_of
from actorsession.ops.elements.arithmetic import maximum, minimum
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.comparison import greater
from actorsession.ops.elements.division import truediv
from actorsession.ops.elements.elementwise import floor
from actorsession.ops.reductions.reduction import reduce_max
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import constant_ints, constant_ints_of, require_rank

__all__ = ["bincount", "confusion_matrix", "histogram_fixed_width", "histogram_fixed_width_bins"]


# -- bincount ------------------------------------------------------------------------------------


def bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = int32,
    name: str | None = None,
) -> Tensor:
    """Return how often each integer from 0 on occurs, or the sum of its weights.

    Args:
        arr: int32 or int64 of any shape, not negative; numbers other than integers become int32.
        weights: a number for each element: int32, int64, float32 or float64.
        minlength: minimum length of the result.
        maxlength: maximum length of the result; larger integers are not counted.
        dtype: dtype of the result, if there are no weights.

    Returns:
        A vector whose length is the largest integer plus 1.
    """
    graph = graph_of(arr, weights)
    with graph.name_scope(name or "bincount"):
        values = convert_to_tensor(arr, name="arr", graph=graph)
        if not values.dtype.is_integer:
            values = cast(values, int32)
        length = cast(greater(size(values), 0), values.dtype) * (reduce_max(values) + 1)
        if minlength is not None:
            length = maximum(cast(convert_to_tensor(minlength, graph=graph), values.dtype), length)
        if maxlength is not None:
            length = minimum(cast(convert_to_tensor(maxlength, graph=graph), values.dtype), length)
        if weights is None:
            factors = convert_to_tensor(np.zeros(0, as_dtype(dtype).np_dtype), graph=graph)
        else:
            factors = reshape(convert_to_tensor(weights, name="weights", graph=graph), [-1])
        flat = reshape(values, [-1])
        return raw.DenseBincount(flat, length, factors, binary_output=False)


def _infer_bincount(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, 1, rank=0)
    values, length = ctx.inputs[0].shape, constant_ints(ctx, 1)
    if values.rank is not None and values.rank > 2:
        raise ValueError(f"DenseBincount counts in vectors and matrices; got shape {values}")
    if length is not None and length[0] < 0:
        raise ValueError(f"DenseBincount: size is at least 0, got {length[0]}")
    if values.rank is None:
        return [unknown_shape]
    bins = None if length is None else length[0]
    return [TensorShape([*values[:-1], bins] if values.rank else [bins])]


def _bincount_kernel(ctx: KernelContext) -> Kernel:
    dtype, binary = ctx.outputs[0].dtype.np_dtype, ctx.attrs["binary_output"]

    def bincount(values: Any, length: Any, weights: Any) -> Array:
        _check_counted(values, length, weights)
        bins = int(length)
        rows = np.atleast_2d(values)
        out = np.zeros((len(rows), bins), dtype)
        kept = rows < bins
        places = (np.arange(len(rows))[:, None] * bins + rows)[kept]
        if binary:
            out.reshape(-1)[places] = 1
        else:
            each = weights.reshape(rows.shape)[kept] if weights.size else dtype.type(1)
            np.add.at(out.reshape(-1), places, each)
        return out if values.ndim == 2 else out[0]

    return bincount


def _check_counted(values: Any, length: Any, weights: Any) -> None:
    if np.ndim(length) or int(length) < 0:
        raise InvalidArgumentError(f"DenseBincount: size is a scalar of at least 0, got {length}")
    if values.ndim > 2:
        raise InvalidArgumentError(f"DenseBincount counts in vectors and matrices; got shape {list(values.shape)}")
    if values.size and values.min() < 0:
        raise InvalidArgumentError(f"DenseBincount counts from 0; got {values.min()}")
    if weights.size and weights.shape != values.shape:
        raise InvalidArgumentError(
            f"DenseBincount takes a weight for each value, or none; got {list(weights.shape)} for "
            f"values of shape {list(values.shape)}"
        )


op("DenseBincount", _infer_bincount, kernel=_bincount_kernel, sized_by=(1,))


# -- histograms ----------------------------------------------------------------------------------


def histogram_fixed_width(
    values: Any, value_range: Any, nbins: Any = 100, dtype: Any = int32, name: str | None = None
) -> Tensor:
    """Return how many values fall into each of several equal bins.

    Args:
        values: int32, int64, float32 or float64 of any shape; those outside the range count in the first or
            last bin.
        value_range: vector of the lower and the upper end, of the same dtype.
        nbins: number of bins.
        dtype: dtype of the counts, int32 or int64.
    """
    numbers = convert_to_tensor(values)
    with numbers.graph.name_scope(name or "histogram_fixed_width") as scope:
        ends = convert_to_tensor(value_range, numbers.dtype, graph=numbers.graph)
        count = convert_to_tensor(nbins, int32, "nbins", graph=numbers.graph)
        return raw.HistogramFixedWidth(numbers, ends, count, dtype=dtype, name=scope)


def histogram_fixed_width_bins(values: Any, value_range: Any, nbins: Any = 100, name: str | None = None) -> Tensor:
    """Return the index of the bin that each value falls into, int32 of the shape of ``values``.

    Args:
        values: floating numbers.
        value_range: vector of the lower and the upper end, of the same dtype.
        nbins: number of bins.
    """
    numbers = convert_to_tensor(values)
    graph = numbers.graph
    with graph.name_scope(name or "histogram_fixed_width_bins"):
        ends = convert_to_tensor(value_range, numbers.dtype, "value_range", graph=graph)
        count = convert_to_tensor(nbins, int32, "nbins", graph=graph)
        known = constant_ints_of(count)
        if known is not None and known[0] < 1:
            raise ValueError(f"a histogram has at least 1 bin; got nbins={known[0]}")
        bins = cast(count, numbers.dtype)
        scaled = truediv(numbers - ends[0], ends[1] - ends[0])
        place = floor(cast(bins, scaled.dtype) * scaled)
        last = cast(bins, scaled.dtype) - 1
        return cast(maximum(minimum(place, last), 0), int32)


def _infer_histogram(ctx: InferContext) -> list[TensorShape]:
    require_rank(ctx, 2, rank=0)
    if ctx.inputs[2].dtype is not int32:
        raise TypeError(f"{ctx.op} takes int32 bins; got {ctx.inputs[2].dtype.name}")
    if not ctx.inputs[1].shape.is_compatible_with([2]):
        raise ValueError(f"{ctx.op}: the range is a vector of 2, got {ctx.inputs[1].shape}")
    bins = constant_ints(ctx, 2)
    if bins is not None and bins[0] < 1:
        raise ValueError(f"{ctx.op}: a histogram has at least 1 bin; got {bins[0]}")
    return [TensorShape([None if bins is None else bins[0]])]


def _histogram_kernel(ctx: KernelContext) -> Kernel:
    dtype, op = ctx.outputs[0].dtype.np_dtype, ctx.op

    def histogram(values: Any, ends: Any, nbins: Any) -> Array:
        if np.shape(ends) != (2,) or np.ndim(nbins) or int(nbins) < 1 or not ends[0] < ends[1]:
            raise InvalidArgumentError(
                f"{op}: a range [low, high] with low < high and at least 1 bin; got "
                f"{np.asarray(ends).tolist()} and {np.asarray(nbins).tolist()}"
            )
        if np.isnan(values).any():
            raise InvalidArgumentError(f"{op}: a value is NaN, which is in no bin")
        count, low = int(nbins), ends[0]
        step = np.float64(ends[1] - low) / count
        above = (np.maximum(values, low) - low).astype(np.float64).reshape(-1)
        places = np.minimum(above / step, count - 1).astype(np.intp)
        return np.bincount(places, minlength=count).astype(dtype)

    return histogram


op("HistogramFixedWidth", _infer_histogram, kernel=_histogram_kernel, sized_by=(2,))


# -- confusion matrices --------------------------------------------------------------------------


def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    dtype: Any = int32,
    name: str | None = None,
    weights: Any = None,
) -> Tensor:
    """Return how often each class was predicted for each true class.

    Args:
        labels: vector of the right classes, integers from 0; a last axis of length 1 is dropped.
        predictions: vector of the predicted classes.
        num_classes: number of classes; inferred from the values if left out.
        dtype: dtype of the result.
        weights: weight of each prediction, 1 if left out.

    Returns:
        A matrix with a row for each label and a column for each prediction. A class out of range raises an
        InvalidArgumentError in the step.
    """
    graph = graph_of(labels, predictions, weights)
    with graph.name_scope(name or "confusion_matrix") as scope:
        right = convert_to_tensor(labels, name="labels", graph=graph)
        guess = convert_to_tensor(predictions, name="predictions", graph=graph)
        right, guess = (cast(t, int64) for t in _without_single(right, guess))
        if num_classes is None:
            classes = maximum(reduce_max(guess), reduce_max(right)) + 1
        else:
            classes = cast(convert_to_tensor(num_classes, graph=graph), int64)
        if weights is None:
            counted = ones_like(guess, dtype)
        else:
            factors = convert_to_tensor(weights, name="weights", graph=graph)
            guess.shape.merge_with(factors.shape)
            counted = cast(factors, dtype)
        indices = stack([right, guess], axis=1)
        return scatter_nd(indices, counted, stack([classes, classes]), name=scope)


def _without_single(labels: Tensor, predictions: Tensor) -> tuple[Tensor, Tensor]:
    """Return both tensors, dropping a last axis of length 1 from the one that has one axis more."""
    ranks = labels.shape.rank, predictions.shape.rank
    if ranks[0] is not None and ranks[1] is not None:
        if ranks[1] == ranks[0] + 1 and predictions.spec.shape[-1] in (None, 1):
            predictions = squeeze(predictions, [-1])
        elif ranks[0] == ranks[1] + 1 and labels.spec.shape[-1] in (None, 1):
            labels = squeeze(labels, [-1])
    return labels, predictions
