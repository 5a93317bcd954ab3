"""Clusters by their means, as graphs and as an estimator."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from tests.rows import for_each

factorization: Any = tf.contrib.factorization
CENTRES = np.array([[0.0, 5.0], [5.0, 0.0], [-5.0, -5.0]], np.float32)
POINTS = (CENTRES[np.arange(30) % 3] + 0.1 * np.random.RandomState(0).randn(30, 2)).astype("f4")
MEANS = np.array([POINTS[first::3].mean(0) for first in range(3)])


@pytest.fixture(autouse=True)
def writers_are_forgotten() -> Iterator[None]:
    with tf.Graph().as_default():
        yield
    tf.summary.FileWriterCache.clear()


def in_order(means: Any) -> Any:
    """Means in the order of the centres that they are nearest to."""
    return [means[np.square(means - centre).sum(1).argmin()] for centre in CENTRES]


@for_each(
    "options",
    [
        {"initial_clusters": POINTS[:3]},
        {"initial_clusters": "kmeans_plus_plus"},
        {"initial_clusters": lambda inputs, number: inputs[0][:number], "use_mini_batch": True},
        {"initial_clusters": POINTS[:3], "use_mini_batch": True, "mini_batch_steps_per_iteration": 2},
    ],
)
def test_means_move_to_the_middle_of_their_points(options: dict[str, Any]) -> None:
    inputs = [tf.constant(POINTS[:12]), tf.constant(POINTS[12:])]
    graph = factorization.KMeans(inputs, 3, **options).training_graph()
    (_, distances), (nearest, _), scores, ready, begin, step = graph
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert not sess.run(ready)
        while not sess.run(ready):
            sess.run(begin)
        for _ in range(6):
            sess.run(step)
        means = sess.run(tf.global_variables("clusters")[0])
        np.testing.assert_allclose(in_order(means), MEANS, atol=0.05)
        assert len(set(sess.run(nearest).tolist())) == 3
        wanted = np.square(POINTS[12:, None] - means).sum(2)
        np.testing.assert_allclose(sess.run(distances), wanted, atol=1e-3)
        np.testing.assert_allclose(sess.run(scores[1]), wanted.min(1), atol=1e-3)


def test_directions_are_compared_by_their_angles() -> None:
    x = tf.constant(POINTS)
    graph = factorization.KMeans(x, 3, POINTS[:3], "cosine").training_graph()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(graph[4])
        sess.run(graph[5])
        means = sess.run(tf.global_variables("clusters")[0])
        np.testing.assert_allclose(np.linalg.norm(means, axis=1), 1, rtol=1e-5)
        assert sess.run(graph[2][0]).max() < 0.01


def test_an_estimator_of_clusters_is_trained_with_one_epoch_at_a_time(tmp_path: Path) -> None:
    def points() -> Any:
        return tf.train.limit_epochs(tf.constant(POINTS), num_epochs=1)

    model = factorization.KMeansClustering(3, str(tmp_path), POINTS[:3], use_mini_batch=False, relative_tolerance=1e-4)
    for _ in range(3):
        model.train(points)
    means = model.cluster_centers()
    np.testing.assert_allclose(in_order(means), MEANS, atol=1e-4)
    indices = [int(number) for number in model.predict_cluster_index(points)]
    assert indices == [0, 1, 2] * 10
    wanted = np.square(POINTS[:, None] - means).sum(2)
    np.testing.assert_allclose(list(model.transform(points)), wanted, atol=1e-3)
    assert model.score(points) == pytest.approx(wanted.min(1).sum(), rel=1e-3)


def test_other_beginnings_and_distances_are_refused() -> None:
    with pytest.raises(ValueError, match="initialization algorithm 'best'"):
        factorization.KMeans(POINTS, 3, "best")
    with pytest.raises(ValueError, match="distance metric 'far'"):
        factorization.KMeans(POINTS, 3, distance_metric="far")
