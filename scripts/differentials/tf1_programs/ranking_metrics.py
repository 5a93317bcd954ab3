"""Evaluates a recommender batch by batch with the metrics of the best k and of points of curves."""

import numpy as np
import tensorflow.compat.v1 as tf

SCORES = np.array(
    [
        [[0.1, 0.3, 0.2, 0.4], [0.9, 0.05, 0.03, 0.02]],
        [[0.25, 0.26, 0.24, 0.23], [0.1, 0.2, 0.3, 0.4]],
        [[0.6, 0.1, 0.2, 0.1001], [0.0, 0.3, 0.1, 0.2]],
    ],
    np.float32,
)
LABELS = np.array([[[3, 1], [1, 2]], [[0, 0], [2, 3]], [[0, 2], [1, 3]]], np.int64)
CLASSES = np.array([[3, 0], [2, 3], [0, 1]], np.int64)
WEIGHTS = np.array([[1.0, 0.5], [2.0, 0.0], [1.0, 1.0]], np.float32)


def build():
    scores = tf.placeholder(tf.float32, [None, 4])
    labels = tf.placeholder(tf.int64, [None, 2])
    classes = tf.placeholder(tf.int64, [None])
    weights = tf.placeholder(tf.float32, [None])
    best = tf.nn.top_k(scores, 2).indices
    right = tf.cast(tf.equal(tf.argmax(scores, 1), classes), tf.int64)
    chance = tf.reduce_max(scores, 1)
    few = tf.sparse.from_dense(tf.one_hot(classes, 4, dtype=tf.int64) * tf.range(4, dtype=tf.int64))
    metrics = {
        "recall2": tf.metrics.recall_at_k(labels, scores, 2),
        "recall1": tf.metrics.recall_at_k(classes, scores, 1),
        "recall_class": tf.metrics.recall_at_k(labels, scores, 2, class_id=3),
        "recall_weighted": tf.metrics.recall_at_k(labels, scores, 2, weights=weights),
        "recall_sparse": tf.metrics.recall_at_k(few, scores, 2),
        "precision2": tf.metrics.precision_at_k(labels, scores, 2),
        "precision_class": tf.metrics.precision_at_k(labels, scores, 2, class_id=1),
        "precision_top": tf.metrics.precision_at_top_k(labels, best, 2, name="top"),
        "recall_top": tf.metrics.recall_at_top_k(labels, best),
        "average2": tf.metrics.average_precision_at_k(labels, scores, 2),
        "average3": tf.metrics.average_precision_at_k(labels, scores, 3, weights=weights),
        "average_one": tf.metrics.average_precision_at_k(classes, scores, 4),
        "per_class": tf.metrics.mean_per_class_accuracy(classes, tf.argmax(scores, 1), 4),
        "per_class_weighted": tf.metrics.mean_per_class_accuracy(
            classes, tf.argmax(scores, 1), 4, weights, ["values"], ["updates"]
        ),
        "sensitivity": tf.metrics.sensitivity_at_specificity(right, chance, 0.5),
        "specificity": tf.metrics.specificity_at_sensitivity(right, chance, 0.6, num_thresholds=20),
        "sparse_precision": tf.metrics.sparse_precision_at_k(labels, scores, 3),
    }
    return (scores, labels, classes, weights), metrics


def shown(value):
    return " ".join("%.4f" % each for each in np.ravel(value))


def main(_):
    feeds, metrics = build()
    names = sorted(v.name for v in tf.local_variables() if not v.name.startswith("average"))
    print(names)
    print([t.name for t in tf.get_collection("values") + tf.get_collection("updates")])
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        for name in sorted(metrics):
            print("before", name, shown(sess.run(metrics[name][0])))
        for batch in zip(SCORES, LABELS, CLASSES, WEIGHTS):
            updates = {name: pair[1] for name, pair in metrics.items()}
            found = sess.run(updates, dict(zip(feeds, batch)))
            for name in sorted(found):
                print(name, shown(found[name]))
        for name in sorted(metrics):
            value = sess.run(metrics[name][0])
            print("after", name, value.dtype, shown(value))
    for wrong in (-0.1, 1.5):
        try:
            tf.metrics.sensitivity_at_specificity(CLASSES, SCORES[..., 0], wrong)
        except ValueError as error:
            print(type(error).__name__, error)


if __name__ == "__main__":
    tf.app.run()
