"""``tf.metrics``: values over several batches, against the same over all elements at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from tests.rows import for_each

pytestmark = pytest.mark.usefixtures("graph")

RANDOM = np.random.default_rng(5)
LABELS = RANDOM.integers(0, 2, (3, 7))
SCORES = RANDOM.random((3, 7)).astype(np.float32)
WEIGHTS = RANDOM.random((3, 7)).astype(np.float32)
SURE = (SCORES > 0.5).astype(np.int64)


def after_all(
    build: Callable[..., Any], first: Any = LABELS, second: Any = SCORES, weights: Any = WEIGHTS
) -> tuple[Any, Any, Any]:
    """The metric before any batch, after the last by its update, and by its value then."""
    x = tf.placeholder(tf.as_dtype(first.dtype), [7])
    y = tf.placeholder(tf.as_dtype(second.dtype), [7])
    w = tf.placeholder(tf.float32, [7])
    value, update = build(x, y, w)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        before = sess.run(value)
        for a, b, c in zip(first, second, weights, strict=True):
            last = sess.run(update, {x: a, y: b, w: c})
        return before, last, sess.run(value)


def check(build: Callable[..., Any], wanted: Any, **given: Any) -> None:
    before, last, now = after_all(build, **given)
    np.testing.assert_array_equal(before, np.zeros_like(before))
    np.testing.assert_allclose(last, wanted, rtol=1e-5)
    np.testing.assert_allclose(now, wanted, rtol=1e-5)


def average(values: Any, weights: Any = WEIGHTS) -> Any:
    return np.average(values.astype(np.float64), weights=weights)


ERRORS = LABELS - SCORES.astype(np.float64)


@for_each(
    "build, wanted",
    [
        (lambda y, p, w: tf.metrics.mean(p), SCORES.mean()),
        (lambda y, p, w: tf.metrics.mean(p, w), average(SCORES)),
        (lambda y, p, w: tf.metrics.mean(p, 2.0), SCORES.mean()),
        (lambda y, p, w: tf.metrics.accuracy(y, tf.cast(p > 0.5, tf.int32), w), average(SURE == LABELS)),
        (lambda y, p, w: tf.metrics.mean_absolute_error(tf.cast(y, tf.float32), p, w), average(abs(ERRORS))),
        (lambda y, p, w: tf.metrics.mean_squared_error(tf.cast(y, tf.float32), p, w), average(ERRORS**2)),
        (lambda y, p, w: tf.metrics.root_mean_squared_error(tf.cast(y, tf.float32), p), np.sqrt((ERRORS**2).mean())),
        (lambda y, p, w: tf.metrics.mean_relative_error(p, w, p), (abs(SCORES - WEIGHTS) / SCORES).mean()),
        (lambda y, p, w: tf.metrics.percentage_below(p, 0.4, w), average(SCORES < 0.4)),
        (lambda y, p, w: tf.metrics.mean_tensor(p, w), (SCORES * WEIGHTS).sum(0) / WEIGHTS.sum(0)),
    ],
    ids=["mean", "weighted", "scalar-weight", "accuracy", "absolute", "squared", "root", "relative", "below", "tensor"],
)
def test_a_mean_is_that_of_all_batches(build: Callable[..., Any], wanted: Any) -> None:
    check(build, wanted)


def hits(says: int, predicts: int, scores: Any = SURE) -> Any:
    return (WEIGHTS * ((says == LABELS) & (scores == predicts))).sum()


TP, FP, TN, FN = hits(1, 1), hits(0, 1), hits(0, 0), hits(1, 0)


@for_each(
    "name, wanted",
    [
        ("true_positives", TP),
        ("false_positives", FP),
        ("true_negatives", TN),
        ("false_negatives", FN),
        ("precision", TP / (TP + FP)),
        ("recall", TP / (TP + FN)),
    ],
)
def test_counts_are_those_of_all_batches(name: str, wanted: float) -> None:
    metric = getattr(tf.metrics, name)
    check(lambda y, p, w: metric(y, p > 0.5, w), wanted)
    # A threshold splits predictions as the comparison does.
    at = getattr(tf.metrics, f"{name}_at_thresholds")
    with tf.Graph().as_default():
        check(lambda y, p, w: at(y, p, [0.5, 2.0], w)[:2], [wanted, _beyond(name)])


def _beyond(name: str) -> float:
    """What is counted where nothing is predicted true."""
    everything = {"true_negatives": hits(0, 0) + hits(0, 1), "false_negatives": TP + FN}
    return everything.get(name, 0.0)


def ranked(labels: Any, scores: Any) -> float:
    """The probability that something true has the higher score."""
    true, false = scores[labels == 1], scores[labels == 0]
    return float((true[:, None] > false).mean())


def test_the_area_under_the_curve_is_a_probability() -> None:
    before, last, now = after_all(lambda y, p, w: tf.metrics.auc(y, p, num_thresholds=2000))
    assert before == 0.0
    assert last == now == pytest.approx(ranked(LABELS, SCORES), abs=2e-3)
    # Careful interpolation of a constant precision is that precision.
    labels = np.array([[1, 0, 1, 0]])
    scores = np.array([[0.9, 0.9, 0.3, 0.3]], np.float32)
    x, y = tf.constant(labels[0]), tf.constant(scores[0])
    value, update = tf.metrics.auc(x, y, curve="PR", summation_method="careful_interpolation", thresholds=[0.5])
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        assert sess.run(update) == pytest.approx(0.5)
        assert sess.run(value) == pytest.approx(0.5)
    # Scores lie between 0 and 1.
    fed = tf.placeholder(tf.float32, [2])
    _, update = tf.metrics.auc([0, 1], fed)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"predictions must be in \[0, 1\]"):
            sess.run(update, {scores: [0.5, 1.5]})


@pytest.mark.parametrize("curve", ["ROC", "PR"])
def test_the_rules_of_an_area_bound_each_other(curve: str) -> None:
    areas = {}
    for method in ("minoring", "trapezoidal", "majoring"):
        with tf.Graph().as_default():
            areas[method] = after_all(
                lambda y, p, w, m=method: tf.metrics.auc(y, p, w, curve=curve, num_thresholds=9, summation_method=m)
            )[2]
    assert 0 < areas["minoring"] < areas["trapezoidal"] < areas["majoring"] < 1
    assert areas["trapezoidal"] * 2 == pytest.approx(areas["minoring"] + areas["majoring"])


def test_intersection_over_union_is_the_mean_of_the_classes_that_occur() -> None:
    wanted = []
    for kind in (0, 1):
        labelled, predicted = np.equal(LABELS, kind), np.equal(SURE, kind)
        wanted.append((labelled & predicted).sum() / (labelled | predicted).sum())
    before, last, now = after_all(lambda y, p, w: tf.metrics.mean_iou(y, p > 0.5, 3))
    assert before == 0.0
    assert last.sum() == LABELS.size
    assert now == pytest.approx(np.mean(wanted))
    # Cosine distances are those of unit vectors.
    units = np.array([[1.0, 0.0], [0.6, 0.8]], np.float32)
    value, update = tf.metrics.mean_cosine_distance(units, units[::-1], dim=1)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        assert sess.run(update) == pytest.approx(0.4)
        assert sess.run(value) == pytest.approx(0.4)
    # A last dimension of one is no difference.
    value, update = tf.metrics.accuracy(tf.constant([[1], [0]]), tf.constant([1, 1]))
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        assert sess.run(update) == 0.5
        assert sess.run(value) == 0.5
    with pytest.raises(ValueError, match="are incompatible"):
        tf.metrics.accuracy(tf.zeros([2]), tf.zeros([3]))


def test_variables_are_local_and_names_are_tensorflows(graph: Any) -> None:
    value, update = tf.metrics.accuracy([1, 0], [1, 1], metrics_collections=["values"], updates_collections=["updates"])
    assert [v.name for v in tf.local_variables()] == ["accuracy/total:0", "accuracy/count:0"]
    assert [v.name for v in graph.get_collection(tf.GraphKeys.METRIC_VARIABLES)] == [
        "accuracy/total:0",
        "accuracy/count:0",
    ]
    assert not tf.global_variables()
    assert (value.name, update.name) == ("accuracy/value:0", "accuracy/update_op:0")
    assert graph.get_collection("values") == [value]
    assert graph.get_collection("updates") == [update]
    tf.metrics.precision([1], [1], name="mine")
    assert tf.local_variables()[2].name == "mine/true_positives/count:0"


@pytest.mark.parametrize("given", [{"curve": "no"}, {"summation_method": "no"}])
def test_an_area_is_of_a_known_kind(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="got 'no'"):
        tf.metrics.auc([1], [0.5], **given)
