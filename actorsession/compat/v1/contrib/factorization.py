"""``tf.contrib.factorization``: clusters of points by their means, as a graph and as an estimator."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

import actorsession.compat.v1 as tf
from actorsession.compat.v1 import estimator
from actorsession.compat.v1.internals.module_paths import add_modules
from actorsession.compat.v1.train.hooks.basic import SessionRunHook

__all__ = [
    "CLUSTERS_VAR_NAME",
    "COSINE_DISTANCE",
    "KMEANS_PLUS_PLUS_INIT",
    "RANDOM_INIT",
    "SQUARED_EUCLIDEAN_DISTANCE",
    "KMeans",
    "KMeansClustering",
]

SQUARED_EUCLIDEAN_DISTANCE, COSINE_DISTANCE = "squared_euclidean", "cosine"
RANDOM_INIT, KMEANS_PLUS_PLUS_INIT, _KMC2_INIT = "random", "kmeans_plus_plus", "kmc2"
CLUSTERS_VAR_NAME = "clusters"


class KMeans:
    """Builds the graph that finds the means of clusters.

    Args:
        inputs: points, a row for each, or several tensors of them.
        num_clusters: how many clusters there are.
        initial_clusters: the first means; a function of the points and a number that returns as many; or
            ``random`` or ``kmeans_plus_plus``, which choose points. ``kmc2`` chooses as the latter does.
        distance_metric: ``squared_euclidean``, or ``cosine``.
        use_mini_batch: whether a step moves means towards the points of a batch; else it sets them to the
            means of all points.
        mini_batch_steps_per_iteration: after so many steps points are assigned to the means that were moved.
        random_seed: of the choice of points.
        kmeans_plus_plus_num_retries: points that are tried for each that is chosen.
        kmc2_chain_length: accepted for compatibility.

    Raises:
        ValueError: for another choice of first means, or another distance.
    """

    def __init__(
        self,
        inputs: Any,
        num_clusters: Any,
        initial_clusters: Any = RANDOM_INIT,
        distance_metric: str = SQUARED_EUCLIDEAN_DISTANCE,
        use_mini_batch: bool = False,
        mini_batch_steps_per_iteration: int = 1,
        random_seed: int = 0,
        kmeans_plus_plus_num_retries: int = 2,
        kmc2_chain_length: int = 200,
    ) -> None:
        known = (RANDOM_INIT, KMEANS_PLUS_PLUS_INIT, _KMC2_INIT)
        if isinstance(initial_clusters, str) and initial_clusters not in known:
            raise ValueError(f"Unsupported initialization algorithm '{initial_clusters}'")
        if distance_metric not in (SQUARED_EUCLIDEAN_DISTANCE, COSINE_DISTANCE):
            raise ValueError(f"Unsupported distance metric '{distance_metric}'")
        self._inputs = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
        self._given = initial_clusters
        self._chosen = isinstance(initial_clusters, str) or callable(initial_clusters)
        self._number = tf.convert_to_tensor(num_clusters if self._chosen else len(initial_clusters), tf.int32)
        self._cosine = distance_metric == COSINE_DISTANCE
        self._batches, self._steps = use_mini_batch, int(mini_batch_steps_per_iteration)
        self._seed, self._tries = random_seed, max(1, kmeans_plus_plus_num_retries)

    def training_graph(self) -> tuple[Any, Any, Any, Any, Any, Any]:
        """Build the graph.

        Returns:
            For each tensor of points: the distances to all means, the nearest one, and the distance to it.
            Then whether the means have first values, the operation that gives them these, and that of a step.
        """
        kind = self._inputs[0].dtype
        empty = tf.placeholder_with_default(np.zeros([0], kind.as_numpy_dtype), shape=None)
        means = tf.Variable(empty, name=CLUSTERS_VAR_NAME, validate_shape=False)
        ready = tf.Variable(False, name="initialized")
        moved, left = means, None
        if self._batches and self._steps > 1:
            moved = tf.Variable(empty, name="clusters_updated", validate_shape=False)
            left = tf.Variable(self._steps, dtype=tf.int64, name="update_in_steps")
        counts = None
        if self._batches:
            first = tf.ones if left is None else tf.zeros
            counts = tf.Variable(first([self._number], tf.int64))
        begin = self._begin(means, moved, ready)
        points = [tf.nn.l2_normalize(x, 1) if self._cosine else x for x in self._inputs]
        now = tf.nn.l2_normalize(means, 1) if self._cosine else means
        distances = [self._distances(x, now) for x in points]
        nearest = [tf.argmin(each, 1) for each in distances]
        scores = [tf.reduce_min(each, 1) for each in distances]
        if counts is None:
            step = self._all_at_once(points, nearest, means)
        else:
            with tf.control_dependencies([self._synchronised(means, moved, counts, left)]):
                step = self._a_batch(points, nearest, moved, counts)
        return distances, nearest, scores, ready, begin, step

    def _distances(self, points: Any, means: Any) -> Any:
        products = tf.matmul(points, means, transpose_b=True)
        if self._cosine:
            return 1 - products
        own = tf.reduce_sum(tf.square(points), 1, keepdims=True)
        return own - 2 * products + tf.reduce_sum(tf.square(means), 1)

    def _begin(self, means: Any, moved: Any, ready: Any) -> Any:
        """The operation that chooses first means, as many as one batch has."""

        def choose() -> Any:
            there = tf.shape(means)[0]
            new = self._first(self._number - there)
            if self._cosine:
                new = tf.nn.l2_normalize(new, 1)
            both = tf.cond(tf.equal(there, 0), lambda: new, lambda: tf.concat([means, new], 0))
            changed = [tf.assign(means, both, validate_shape=False)]
            if moved is not means:
                changed.append(tf.assign(moved, both, validate_shape=False))
            with tf.control_dependencies(changed):
                return tf.assign(ready, tf.equal(tf.shape(both)[0], self._number))

        return tf.cond(ready, lambda: tf.identity(ready), choose).op

    def _first(self, number: Any) -> Any:
        if not self._chosen:
            return tf.convert_to_tensor(self._given, self._inputs[0].dtype)
        if callable(self._given):
            return self._given(self._inputs, number)
        points = tf.concat(self._inputs, 0)
        if self._given == RANDOM_INIT:
            ends = tf.shape(points, out_type=tf.int64)[0]
            chosen = tf.random_uniform([number], 0, ends, tf.int64, seed=self._seed)
            return tf.gather(points, chosen)
        if self._cosine:
            points = tf.nn.l2_normalize(points, 1)
        centres: Any = tf.py_func(self._spread, [points, number], points.dtype)
        centres.set_shape([None, *points.shape.as_list()[1:]])
        return centres

    def _spread(self, points: Any, number: Any) -> Any:
        """Choose points, each with a chance by its squared distance from those chosen before."""
        draws = np.random.RandomState(self._seed)
        chosen = [points[draws.randint(len(points))]]
        nearest = np.square(points - chosen[0]).sum(1)
        while len(chosen) < min(int(number), len(points)):
            chances = nearest / nearest.sum() if nearest.sum() else None
            tried = draws.choice(len(points), self._tries, p=chances)
            after = [np.minimum(nearest, np.square(points - points[i]).sum(1)) for i in tried]
            best = int(np.argmin([each.sum() for each in after]))
            chosen.append(points[tried[best]])
            nearest = after[best]
        return np.array(chosen, points.dtype)

    def _all_at_once(self, points: list[Any], nearest: list[Any], means: Any) -> Any:
        x, index = tf.concat(points, 0), tf.concat(nearest, 0)
        sums = tf.unsorted_segment_sum(x, index, self._number)
        ones = tf.ones_like(x[:, :1])
        new = sums / (tf.unsorted_segment_sum(ones, index, self._number) + 1e-6)
        return tf.assign(means, tf.nn.l2_normalize(new, 1) if self._cosine else new)

    def _synchronised(self, means: Any, moved: Any, counts: Any, left: Any) -> Any:
        """Take over the means that were moved, once in so many steps."""
        if left is None:
            return tf.no_op()

        def take_over() -> Any:
            new = tf.nn.l2_normalize(moved, 1) if self._cosine else tf.identity(moved)
            taken = tf.assign(means, new)
            with tf.control_dependencies([taken, tf.assign(counts, tf.zeros_like(counts))]):
                return tf.assign(left, self._steps - 1)

        return tf.cond(left <= 0, take_over, lambda: tf.assign_sub(left, 1))

    def _a_batch(self, points: list[Any], nearest: list[Any], means: Any, counts: Any) -> Any:
        steps = []
        for x, index in zip(points, nearest, strict=True):
            clusters, places = tf.unique(index)
            number = tf.size(clusters)
            before = tf.gather(counts, clusters)
            added = tf.unsorted_segment_sum(tf.ones_like(places, tf.int64), places, number)
            sums = tf.unsorted_segment_sum(x, places, number)
            weight = tf.cast(added, x.dtype)[:, tf.newaxis]
            whole = tf.cast(before + added, x.dtype)[:, tf.newaxis]
            change = (sums - weight * tf.gather(means, clusters)) / whole
            steps += [tf.scatter_add(counts, clusters, added), tf.scatter_add(means, clusters, change)]
        return tf.group(*steps)


class _Begin(SessionRunHook):
    """Chooses first means before training, from as many batches as it takes; workers wait for the chief."""

    def __init__(self, begin: Any, ready: Any, chief: bool) -> None:
        self._begin, self._ready, self._chief = begin, ready, chief

    def after_create_session(self, session: Any, coord: Any) -> None:
        while not session.run(self._ready):
            if self._chief:
                session.run(self._begin)
            else:
                time.sleep(0.2)


class _EndsWhenStill(SessionRunHook):
    """Ends training when the loss changes by less than a share of itself."""

    def __init__(self, loss: Any, tolerance: float) -> None:
        self._loss, self._tolerance = loss, tolerance
        self._last: Any = None

    def before_run(self, run_context: Any) -> Any:
        return tf.train.SessionRunArgs(self._loss)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        now, last = run_values.results, self._last
        self._last = now
        if last is not None and abs(now - last) / (last or 1) < self._tolerance:
            run_context.request_stop()


class KMeansClustering(estimator.Estimator):
    """Finds the means of clusters by ``train``, and tells which cluster points belong to.

    Args:
        num_clusters: how many clusters there are.
        model_dir: the folder of checkpoints.
        initial_clusters: as for ``KMeans``.
        distance_metric: as for ``KMeans``.
        random_seed: as for ``KMeans``.
        use_mini_batch: as for ``KMeans``.
        mini_batch_steps_per_iteration: as for ``KMeans``.
        kmeans_plus_plus_num_retries: as for ``KMeans``.
        relative_tolerance: training ends when the loss changes by a smaller share.
        config: the settings.
        feature_columns: columns that make points of features; the features themselves, side by side, if
            omitted.
    """

    SQUARED_EUCLIDEAN_DISTANCE = SQUARED_EUCLIDEAN_DISTANCE
    COSINE_DISTANCE = COSINE_DISTANCE
    RANDOM_INIT = RANDOM_INIT
    KMEANS_PLUS_PLUS_INIT = KMEANS_PLUS_PLUS_INIT
    SCORE, CLUSTER_INDEX, ALL_DISTANCES = "score", "cluster_index", "all_distances"
    CLUSTER_CENTERS_VAR_NAME = CLUSTERS_VAR_NAME

    def __init__(
        self,
        num_clusters: int,
        model_dir: Any = None,
        initial_clusters: Any = RANDOM_INIT,
        distance_metric: str = SQUARED_EUCLIDEAN_DISTANCE,
        random_seed: int = 0,
        use_mini_batch: bool = True,
        mini_batch_steps_per_iteration: int = 1,
        kmeans_plus_plus_num_retries: int = 2,
        relative_tolerance: float | None = None,
        config: Any = None,
        feature_columns: Any = None,
    ) -> None:
        def points_of(features: Any) -> Any:
            if feature_columns is not None:
                return tf.feature_column.input_layer(features, feature_columns)
            if isinstance(features, Mapping):
                return tf.concat([features[key] for key in sorted(features)], 1)
            return features

        def model_fn(features: Any, labels: Any, mode: str, config: Any) -> Any:
            graph = KMeans(
                points_of(features),
                num_clusters,
                initial_clusters,
                distance_metric,
                use_mini_batch,
                mini_batch_steps_per_iteration,
                random_seed,
                kmeans_plus_plus_num_retries,
            ).training_graph()
            ((distances,), (nearest,), (scores,)), (ready, begin, step) = graph[:3], graph[3:]
            loss = tf.reduce_sum(scores)
            tf.summary.scalar("loss/raw", loss)
            count = tf.train.get_global_step()
            with tf.control_dependencies([step, tf.assign_add(count, 1)]):
                trained = tf.identity(loss, name="train_op")
            # The chief chooses before the first checkpoint is saved, which then has the means.
            chief, others = [_Begin(begin, ready, True)], [_Begin(begin, ready, False)]
            hooks: list[Any] = [] if config.is_chief else others
            if relative_tolerance is not None:
                hooks.append(_EndsWhenStill(loss, relative_tolerance))
            predictions = {self.ALL_DISTANCES: distances, self.CLUSTER_INDEX: nearest, self.SCORE: scores}
            return estimator.EstimatorSpec(
                mode,
                predictions,
                loss,
                trained,
                {self.SCORE: tf.metrics.mean(loss)},
                training_chief_hooks=chief,
                training_hooks=hooks,
                export_outputs={
                    self.ALL_DISTANCES: estimator.export.PredictOutput(distances),
                    self.CLUSTER_INDEX: estimator.export.PredictOutput(nearest),
                    "serving_default": estimator.export.PredictOutput(scores),
                },
            )

        super().__init__(model_fn, model_dir, config)

    def _each(self, input_fn: Any, key: str) -> Iterator[Any]:
        for row in self.predict(input_fn, [key]):
            yield row[key]

    def predict_cluster_index(self, input_fn: Any) -> Iterator[Any]:
        """Yield the number of the cluster of each point.

        Args:
            input_fn: makes the points.
        """
        return self._each(input_fn, self.CLUSTER_INDEX)

    def transform(self, input_fn: Any) -> Iterator[Any]:
        """Yield the distances of each point from all means, squared ones as they are.

        Args:
            input_fn: makes the points.
        """
        return self._each(input_fn, self.ALL_DISTANCES)

    def score(self, input_fn: Any) -> Any:
        """Return the sum of the distances of the points of the first batch from the nearest means.

        Args:
            input_fn: makes the points.
        """
        return self.evaluate(input_fn, steps=1)[self.SCORE]

    def cluster_centers(self) -> Any:
        """Return the means, a row for each."""
        return self.get_variable_value(CLUSTERS_VAR_NAME)


add_modules(__name__)
