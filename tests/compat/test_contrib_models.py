"""Functions of models, models around models, losses of embeddings, and casts of composite tensors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf

contrib: Any = tf.contrib
X = np.arange(8, dtype=np.float32).reshape(4, 2)
Modes: Any = tf.estimator.ModeKeys


@pytest.fixture(autouse=True)
def writers_are_forgotten() -> Iterator[None]:
    with tf.Graph().as_default():
        yield
    tf.summary.FileWriterCache.clear()


def model_fn(features: Any, labels: Any, mode: str) -> Any:
    w = tf.get_variable("w", [2, 1], initializer=tf.ones_initializer())
    predictions = {"y": tf.matmul(features["x"], w)}
    if mode == Modes.PREDICT:
        output = tf.estimator.export.PredictOutput(predictions)
        return tf.estimator.EstimatorSpec(mode, predictions, export_outputs={"serving_default": output})
    loss = tf.losses.mean_squared_error(labels, predictions["y"])
    optimizer = contrib.estimator.clip_gradients_by_norm(tf.train.GradientDescentOptimizer(1.0), 0.5)
    step = optimizer.minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, predictions, loss, step)


def inputs(number: int | None = 1) -> Any:
    features = {"x": X, "key": np.arange(4)}
    return tf.estimator.inputs.numpy_input_fn(features, np.zeros([4, 1], np.float32), 4, number, shuffle=False)


def receiver() -> Any:
    x = tf.placeholder(tf.float32, [None, 2])
    return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})


def test_a_trained_model_is_a_function_of_arrays(tmp_path: Path) -> None:
    model = tf.estimator.Estimator(model_fn, str(tmp_path / "model"))
    model.train(inputs(None), steps=1)
    w = model.get_variable_value("w")
    assert np.linalg.norm(w - 1) == pytest.approx(0.5, rel=1e-5)  # the gradient was cut
    function = contrib.predictor.from_estimator(model, receiver)
    np.testing.assert_allclose(function({"x": X})["y"], X @ w, rtol=1e-5)
    named = contrib.predictor.from_estimator(model, receiver, "serving_default")
    assert list(named.fetch_tensors) == ["y"]
    folder = model.export_saved_model(str(tmp_path / "exported"), receiver)
    loaded = contrib.predictor.from_saved_model(folder)
    np.testing.assert_allclose(loaded({"x": X})["y"], X @ w, rtol=1e-5)
    assert "'x'" in repr(loaded)
    with pytest.raises(ValueError, match=r"unexpected keys in input_dict: \['z'\]"):
        loaded({"z": X})
    with pytest.raises(ValueError, match="Available signatures are"):
        contrib.predictor.from_saved_model(folder, "other")
    with pytest.raises(ValueError, match="at most one of"):
        contrib.predictor.from_saved_model(folder, "other", loaded)
    with pytest.raises(ValueError, match="output_key must be one of"):
        contrib.predictor.from_estimator(model, receiver, "other")
    for each in (function, named, loaded):
        each.session.close()


def test_features_are_passed_on_to_predictions(tmp_path: Path) -> None:
    model = tf.estimator.Estimator(model_fn, str(tmp_path))
    forwarding = contrib.estimator.forward_features(model, "key")
    assert [row["key"] for row in forwarding.predict(inputs())] == [0, 1, 2, 3]
    everything = contrib.estimator.forward_features(model)
    assert sorted(next(iter(everything.predict(inputs())))) == ["key", "x", "y"]
    with pytest.raises(ValueError, match="'z' is none of"):
        next(iter(contrib.estimator.forward_features(model, ["z"]).predict(inputs())))


def test_triplets_are_chosen_farther_than_their_pair() -> None:
    """As TensorFlow 1.15 defines it, one anchor after the other."""
    x = np.random.RandomState(0).randn(9, 4).astype(np.float32)
    labels = np.arange(9) % 3
    distances = np.square(x[:, None] - x).sum(2)
    found = []
    for a in range(9):
        others = distances[a][labels != labels[a]]
        for p in np.flatnonzero((labels == labels[a]) & (np.arange(9) != a)):
            farther = others[others > distances[a, p]]
            negative = farther.min() if len(farther) else others.max()
            found.append(max(0.0, 1.0 + distances[a, p] - negative))
    loss = contrib.losses.metric_learning.triplet_semihard_loss(labels, x)
    gradient = tf.gradients(loss, loss.graph.get_tensor_by_name("Const:0"))
    with tf.Session() as sess:
        assert sess.run(loss) == pytest.approx(np.mean(found), rel=1e-4)
        assert np.isfinite(sess.run(gradient)).all()


def test_pairs_are_near_each_other_or_far_apart() -> None:
    learning = contrib.losses.metric_learning
    anchors = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]], np.float32)
    others = np.array([[0.0, 2.0], [0.3, 0.4], [0.0, 1.0]], np.float32)
    pairs = learning.contrastive_loss([1, 0, 0], anchors, others)
    products = learning.npairs_loss([0, 0, 1], anchors, others)
    logits = anchors @ others.T
    wanted = np.array([[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1]])
    entropy = -(wanted * (logits - np.log(np.exp(logits).sum(1, keepdims=True)))).sum(1).mean()
    length = 0.0005 * (np.square(anchors).sum(1).mean() + np.square(others).sum(1).mean())
    with tf.Session() as sess:
        assert sess.run(pairs) == pytest.approx((4.0 + 0.25 + 0.0) / 3, rel=1e-5)
        assert sess.run(products) == pytest.approx(entropy + length, rel=1e-5)


def test_the_values_of_composite_tensors_are_cast() -> None:
    sparse: Any = tf.cast(tf.SparseTensor([[0, 1]], [2], [2, 2]), tf.float32)
    rows: Any = tf.to_double(tf.IndexedSlices(tf.constant([[1]]), tf.constant([3])))
    assert (sparse.dtype, rows.dtype) == (tf.float32, tf.float64)
    with tf.Session() as sess:
        assert sess.run(tf.sparse_tensor_to_dense(sparse)).tolist() == [[0.0, 2.0], [0.0, 0.0]]
        assert sess.run(rows.indices).tolist() == [3]
