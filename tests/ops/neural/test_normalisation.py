"""Means, variances and batch normalisation as programs write them."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.graph.graph import Graph
from actorsession.namespaces import nn
from tests.ops.cases import computed
from tests.ops.interpreter import check_gradient, evaluate, source
from tests.rows import for_each, refusing

RNG = np.random.default_rng(0)
X = RNG.standard_normal((2, 3, 4, 5)).astype(np.float32)
MEAN, SHIFT, SCALE = RNG.standard_normal((3, 5)).astype(np.float32)
SPREAD = (abs(MEAN) + 0.5).astype(np.float32)


def all_of(function: Any, *arrays: Any) -> list[Any]:
    with Graph().as_default():
        tensors = [source(a.dtype, a.shape) for a in arrays]
        made = [t for t in function(*tensors) if t is not None]
        return evaluate(made, dict(zip(tensors, arrays, strict=True)))


def same(found: Any, wanted: Any, tolerance: float = 1e-5) -> None:
    assert np.shape(found) == np.shape(wanted)
    np.testing.assert_allclose(found, wanted, tolerance, tolerance)


def test_moments_of_16_bits_are_summed_in_32() -> None:
    x = np.full([300], 200, np.float16)
    mean, variance = all_of(lambda x: nn.moments(x, [0]), x)
    assert (mean, variance, mean.dtype) == (200, 0, np.float16)


def test_moments_have_gradients_and_names() -> None:
    check_gradient(lambda x: nn.moments(x, [0, 2]), X[:, :2, :2, :2])
    mean, variance = nn.moments(source("float32", [None, 3]), [0])
    assert (mean.op.name, variance.op.name) == ("moments/Squeeze", "moments/Squeeze_1")
    assert mean.shape.as_list() == [3]


def test_weights_count_numbers_more_than_once() -> None:
    w = np.array([[1], [3]], np.float32)
    x = X[:, 0, 0]
    mean, variance = all_of(lambda x, w: nn.weighted_moments(x, [0], w), x, w)
    each = np.repeat(x, [1, 3], 0)
    same(mean, each.mean(0))
    same(variance, each.var(0))
    kept, _ = all_of(lambda x, w: nn.weighted_moments(x, [0], w, keepdims=True), x, w)
    assert kept.shape == (1, 5)


def test_without_weight_the_moments_are_zero() -> None:
    mean, variance = all_of(lambda x, w: nn.weighted_moments(x, [0], w), X[:, 0, 0], np.zeros([2, 1], np.float32))
    assert not mean.any()
    assert not variance.any()


@for_each("shift", [None, 0.5])
@for_each("known", [True, False])
def test_sufficient_statistics_give_the_moments(shift: Any, known: bool) -> None:
    x = source("float32", X.shape if known else None)
    counts, total, squares, moved = nn.sufficient_statistics(x, [0, -2], shift)
    assert (moved is None) == (shift is None)
    made = nn.normalize_moments(counts, total, squares, moved)
    count, mean, variance = evaluate([counts, *made], {x: X})
    assert count == 8
    same(mean, X.mean((0, 2)))
    same(variance, X.var((0, 2)), 1e-4)


@for_each("scale", [SCALE, None])
@for_each("offset", [SHIFT, None])
def test_batch_normalization_follows_its_formula(scale: Any, offset: Any) -> None:
    wanted = (X - MEAN) / np.sqrt(SPREAD + 1e-3) * (1 if scale is None else scale) + (0 if offset is None else offset)
    same(computed(lambda x: nn.batch_normalization(x, MEAN, SPREAD, offset, scale, 1e-3), X), wanted, 1e-4)
    check_gradient(
        lambda x, m, v: nn.batch_normalization(x, m, v, None, None, 1e-3), X[:1, :2, :2, :2], MEAN[:2], SPREAD[:2]
    )


def test_the_oldest_name_may_leave_the_scale_out() -> None:
    function = nn.batch_norm_with_global_normalization
    for after in (False, True):
        wanted = (X - MEAN) / np.sqrt(SPREAD + 1e-3) * (SCALE if after else 1) + SHIFT
        same(computed(lambda x, a=after: function(x, MEAN, SPREAD, SHIFT, SCALE, 1e-3, a), X), wanted, 1e-4)


def test_16_bit_images_have_32_bit_statistics() -> None:
    x = source("float16", [None, 4, 4, 5])
    y, mean, variance = nn.fused_batch_norm(x, SCALE, SHIFT)
    assert [t.dtype.name for t in (y, mean, variance)] == ["float16", "float32", "float32"]
    assert y.op.type == "FusedBatchNormV3"
    assert y.shape.as_list() == [None, 4, 4, 5]
    assert y.op.outputs[5].shape.as_list() == []  # it is there for gradients on GPUs


def _normed(dims: Any, **arguments: Any) -> Any:
    return lambda: nn.fused_batch_norm(source("float32", dims), SCALE, SHIFT, **arguments)


test_what_fits_no_batch_norm_is_refused = refusing(
    (_normed([2, 3, 4, 5], is_training=False), ValueError, "mean and variance are needed"),
    (_normed([2, 3, 4, 5], exponential_avg_factor=0.5), ValueError, "mean and variance are needed"),
    (_normed([2, 3, 5]), ValueError, "takes images of rank 4"),
    (_normed([2, 3, 4, 6]), ValueError, "a number for each channel"),
    (_normed([2, 3, 4, 5], data_format="NWC"), ValueError, "data_format of FusedBatchNormV3 is one of"),
)
