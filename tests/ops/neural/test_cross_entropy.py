"""Softmax, cross entropies between labels and logits, and the Poisson loss."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from actorsession.errors import InvalidArgumentError
from actorsession.namespaces import nn
from actorsession.ops.arrays.layout import transpose
from actorsession.ops.build import constant, make
from actorsession.ops.neural.cross_entropy import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from actorsession.ops.neural.softmax import log_softmax, softmax
from tests.ops.cases import computed, expect, f32, i32
from tests.ops.interpreter import check_gradient, evaluate, source
from tests.rows import for_each, refusing

RNG = np.random.default_rng(0)


def _logits(*dims: int, scale: float = 3.0) -> Any:
    return (RNG.standard_normal(dims) * scale).astype(np.float32)


def _labels(*dims: int) -> Any:
    raw = RNG.random(dims)
    return (raw / raw.sum(axis=-1, keepdims=True)).astype(np.float32)


def _log_softmax(x: Any, axis: int = -1) -> Any:
    wide = x.astype(np.float64)
    shifted = wide - wide.max(axis=axis, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


def _loss(x: Any, y: Any, axis: int = -1) -> Any:
    return -(y.astype(np.float64) * _log_softmax(x, axis)).sum(axis=axis).astype(np.float32)


def _dense(labels: Any, logits: Any) -> Any:
    return softmax_cross_entropy_with_logits(labels=labels, logits=logits)


def _sparse(labels: Any, logits: Any) -> Any:
    return sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)


# -- softmax_cross_entropy_with_logits -------------------------------------------------------------


@for_each("axis", [0, 1, 2, -2])
def test_the_classes_may_stand_along_any_axis(axis: Any) -> None:
    x, y = _logits(2, 3, 4), _logits(2, 3, 4)
    xs, ys = source("float32", x.shape), source("float32", y.shape)
    loss = softmax_cross_entropy_with_logits_v2(labels=ys, logits=xs, axis=axis)
    (found,) = evaluate([loss], {xs: x, ys: y})
    np.testing.assert_allclose(found, _loss(x, y, axis), rtol=1e-5, atol=1e-5)


def test_the_op_broadcasts_as_tensorflow_does() -> None:
    x, y = _logits(1, 4), _labels(3, 4)
    expect(
        lambda x, y: make("SoftmaxCrossEntropyWithLogits", [x, y]).outputs[0],
        _loss(np.repeat(x, 3, 0), y),
        x,
        y,
        exact=False,
    )
    check_gradient(lambda x, y: make("SoftmaxCrossEntropyWithLogits", [x, y]).outputs[0], x, y)


def test_a_loss_of_views_in_another_layout() -> None:
    x, y = _logits(40, 50), _logits(40, 50)
    expect(lambda y, x: _dense(transpose(y), transpose(x)), _loss(x.T, y.T), y, x, exact=False)
    classes = RNG.integers(0, 40, 50)
    one_hot = np.eye(40)[classes]
    expect(lambda y, x: _sparse(y, transpose(x)), _loss(x.T, one_hot), classes, x, exact=False)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
def test_half_types_are_computed_in_float32(dtype: Any) -> None:
    x, y = _logits(3, 4).astype(dtype), _labels(3, 4).astype(dtype)
    for known in (True, False):
        found = computed(_dense, y, x, known=known)
        assert found.dtype == x.dtype
        np.testing.assert_allclose(found.astype(np.float32), _loss(x, y), rtol=1e-2, atol=1e-2)
    # The op itself takes them as well.
    loss, back = computed(lambda x, y: list(make("SoftmaxCrossEntropyWithLogits", [x, y]).outputs), x, y)
    assert loss.dtype == back.dtype == x.dtype
    np.testing.assert_allclose(loss.astype(np.float32), _loss(x, y), rtol=1e-2, atol=1e-2)


def test_the_static_shape_of_the_loss() -> None:
    y, x = source("float32", [None, 4]), source("float32", [5, None])
    assert _dense(y, x).shape.as_list() == [5]
    deep = source("float32", [None, 3, 4])
    assert _dense(deep, deep).shape.as_list() == [None, 3]
    assert _dense(source("float32"), source("float32")).shape.rank is None


def test_without_classes_the_loss_is_nothing_and_a_label_is_refused_in_the_step() -> None:
    np.testing.assert_array_equal(computed(_dense, np.zeros((2, 0)), np.zeros((2, 0))), [0.0, 0.0])
    with pytest.raises(InvalidArgumentError, match="at least 1 class"):
        computed(_sparse, i32([0, 0]), np.zeros((2, 0)))
    with pytest.raises(InvalidArgumentError, match="one label for each row"):
        computed(_sparse, i32([0, 1]), _logits(3, 4), known=False)


@pytest.mark.parametrize("dims", [(3, 4), (2, 3, 4), (4,)])
def test_the_gradient_reaches_logits_and_in_the_newer_form_labels(dims: Any) -> None:
    x, y = _logits(*dims, scale=1.0), _labels(*dims)
    check_gradient(softmax_cross_entropy_with_logits_v2, y, x)


# -- sparse_softmax_cross_entropy_with_logits ------------------------------------------------------


@for_each("dims", [(3, 4), (100, 10), (50, 128), (50, 129), (2, 3, 4), (4,)])
@for_each("index_type", [np.int32, np.int64])
def test_the_sparse_loss_is_that_of_one_hot_labels(dims: Any, index_type: Any) -> None:
    x = _logits(*dims)
    classes = np.asarray(RNG.integers(0, dims[-1], dims[:-1]), index_type)
    expect(_sparse, f32(_loss(x, np.eye(dims[-1])[classes])), classes, x, exact=False)


def test_the_sparse_loss_of_a_matrix_has_its_name_twice() -> None:
    """As in TensorFlow, where programs look it up."""
    loss = sparse_softmax_cross_entropy_with_logits
    found = [loss(labels=i32([0]), logits=f32([[1.0]]), name=name) for name in ("loss", None)]
    assert [t.op.name for t in found] == [
        "loss/loss",
        "SparseSoftmaxCrossEntropyWithLogits/SparseSoftmaxCrossEntropyWithLogits",
    ]


# -- sigmoid_cross_entropy_with_logits -------------------------------------------------------------


def _sigmoid(labels: Any, logits: Any) -> Any:
    return sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)


def test_the_sigmoid_loss_does_not_overflow() -> None:
    x = f32([1000, -1000, 1000, -1000])
    expect(_sigmoid, f32([0, 0, 1000, 1000]), f32([1, 0, 0, 1]), x)


def test_the_gradient_of_the_sigmoid_loss_holds_at_zero_too() -> None:
    check_gradient(_sigmoid, f32([0, 1, 0.3, 0.3]), f32([0, 0, -2, 3]))


@for_each("dims", [(3, 4), (100, 10), (2, 300), (4,), (2, 3, 4), (1, 1)])
def test_the_loss_is_the_mean_surprise(dims: Any) -> None:
    x, y = _logits(*dims), _labels(*dims)
    expect(_dense, f32(_loss(x, y)), y, x, exact=False)
    expect(softmax_cross_entropy_with_logits_v2, f32(_loss(x, y)), y, x, exact=False)


# -- softmax ------------------------------------------------------------------------------------------


@for_each("axis", [0, 1, 2, -1, -2, -3])
def test_softmax_along_any_axis(axis: Any) -> None:
    x = _logits(2, 3, 4)
    wanted = _log_softmax(x, axis)
    expect(lambda x: softmax(x, axis), np.exp(wanted).astype(np.float32), x, exact=False)
    expect(lambda x: log_softmax(x, axis), wanted.astype(np.float32), x, exact=False)


def test_softmax_of_a_view_in_another_layout() -> None:
    x = _logits(50, 40)
    wanted = np.exp(_log_softmax(x.T)).astype(np.float32)
    expect(lambda x: softmax(transpose(x)), wanted, x, exact=False)


# -- of one number at a time -----------------------------------------------------------------------


@for_each("weight", [0.5, 1.0, 2.5])
def test_the_weighted_cross_entropy_counts_positive_labels_that_often(weight: float) -> None:
    z, x = f32([[1, 0, 0.25], [0, 1, 0.5]]), f32([[0.5, -1, 2], [1.5, 90, -90]])
    wanted = (weight * z * np.logaddexp(0, -x) + (1 - z) * np.logaddexp(0, x)).astype(np.float32)
    expect(lambda z, x: nn.weighted_cross_entropy_with_logits(z, x, weight), wanted, z, x, exact=False)


def test_gradients_of_the_weighted_cross_entropy_at_zero_too_and_of_the_poisson_loss() -> None:
    labels, logits = np.array([0.2, 0.7, 1.0]), np.array([0.0, 0.4, -1.3])
    check_gradient(lambda z, x: nn.weighted_cross_entropy_with_logits(z, x, 3.0), labels, logits)
    check_gradient(nn.log_poisson_loss, np.array([0.5, 2.0]), np.array([0.3, -0.7]))
    check_gradient(lambda c, m: nn.log_poisson_loss(c, m, True), np.array([1.5, 4.0]), np.array([0.3, -0.7]))


def test_cross_entropies_take_labels_before_logits_and_need_both() -> None:
    """As in TensorFlow; with names they may come in any order."""
    makers: list[tuple[Any, Any, Any]] = [
        (nn.softmax_cross_entropy_with_logits, [[0.0, 1.0]], [np.log1p(np.exp(1.0))]),
        (nn.sparse_softmax_cross_entropy_with_logits, np.array([1]), [np.log1p(np.exp(1.0))]),
        (nn.sigmoid_cross_entropy_with_logits, [[0.0, 1.0]], [[np.log1p(np.exp(1.0)), np.log(2)]]),
    ]
    for loss, labels, wanted in makers:
        found = evaluate([loss(labels, [[1.0, 0.0]])])[0]
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
        for given in ({"labels": labels}, {"logits": [[1.0, 0.0]]}):
            with pytest.raises(ValueError, match="labels and logits must be given"):
                loss(**given)


# -- what is refused -------------------------------------------------------------------------------


test_what_does_not_fit_is_refused_by_the_line_that_builds = refusing(
    (lambda: _sparse(source("int32", [3, 1]), source("float32", [3, 4])), ValueError, "without the last axis"),
    (lambda: _sparse(source("int32", []), constant(1.0)), ValueError, "without the last axis"),
    (lambda: _sparse(source("float32", [3]), source("float32", [3, 4])), TypeError, "labels; got float32"),
    (lambda: _sigmoid(source("float32", [3]), source("float32", [4])), ValueError, "one shape"),
    (lambda: nn.weighted_cross_entropy_with_logits([1.0, 2.0], [1.0], 1.0), ValueError, r"\(1,\) and \(2,\)"),
    (lambda: nn.log_poisson_loss([1.0, 2.0], [1.0]), ValueError, r"one shape, got \(1,\) and \(2,\)"),
)
