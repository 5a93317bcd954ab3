"""An evaluation loop that keeps every plain metric of tf.metrics over batches, resets it and starts again."""

import numpy as np
import tensorflow.compat.v1 as tf

rng = np.random.RandomState(11)
LABELS = rng.randint(0, 2, (3, 8))
SCORES = np.round(rng.uniform(0, 1, (3, 8)), 3).astype(np.float32)
WEIGHTS = np.round(rng.uniform(0, 2, (3, 8)), 2).astype(np.float32)
CLASSES = rng.randint(0, 3, (3, 8))


def build(labels, scores, weights, classes):
    m = tf.metrics
    sure = tf.cast(scores > 0.5, tf.int64)
    floats = tf.cast(labels, tf.float32)
    points = [0.25, 0.5, 0.75]
    return {
        "accuracy": m.accuracy(labels, sure),
        "accuracy_weighted": m.accuracy(labels, sure, weights, ["values"], ["updates"], "acc"),
        "auc": m.auc(labels, scores),
        "auc_pr": m.auc(labels, scores, weights, 50, curve="PR", summation_method="careful_interpolation"),
        "fn": m.false_negatives(labels, sure, weights),
        "fn_at": m.false_negatives_at_thresholds(labels, scores, points),
        "fp": m.false_positives(labels, sure),
        "fp_at": m.false_positives_at_thresholds(labels, scores, points, weights),
        "mae": m.mean_absolute_error(floats, scores),
        "mean": m.mean(scores, weights),
        "mean_tensor": m.mean_tensor(scores, weights),
        "iou": m.mean_iou(classes, tf.minimum(labels + 1, 2), 3),
        "iou_weighted": m.mean_iou(classes, tf.minimum(labels + 1, 2), 3, weights),
        "relative": m.mean_relative_error(floats, scores, floats + 0.5),
        "mse": m.mean_squared_error(floats, scores, weights),
        "cosine": m.mean_cosine_distance(
            tf.nn.l2_normalize(scores[None], 1), tf.nn.l2_normalize(floats[None], 1), 1
        ),
        "below": m.percentage_below(scores, 0.4, weights),
        "precision": m.precision(labels, sure, weights),
        "precision_at": m.precision_at_thresholds(labels, scores, points),
        "recall": m.recall(labels, sure),
        "recall_at": m.recall_at_thresholds(labels, scores, points, weights),
        "rmse": m.root_mean_squared_error(floats, scores),
        "tn": m.true_negatives(labels, sure),
        "tn_at": m.true_negatives_at_thresholds(labels, scores, points),
        "tp": m.true_positives(labels, sure, weights),
        "tp_at": m.true_positives_at_thresholds(labels, scores, points),
    }


def shown(value):
    return str(np.shape(value)) + " " + " ".join("%.4f" % each for each in np.ravel(value))


def main(_):
    labels = tf.placeholder(tf.int64, [8])
    scores = tf.placeholder(tf.float32, [8])
    weights = tf.placeholder(tf.float32, [8])
    classes = tf.placeholder(tf.int64, [8])
    metrics = build(labels, scores, weights, classes)
    kept = tf.get_collection(tf.GraphKeys.METRIC_VARIABLES)
    print(len(kept), sorted(v.name for v in kept) == sorted(v.name for v in tf.local_variables()))
    print(sorted(v.name for v in kept))
    print([t.name for t in tf.get_collection("values") + tf.get_collection("updates")])
    values = {name: pair[0] for name, pair in metrics.items()}
    updates = {name: pair[1] for name, pair in metrics.items()}
    reset = tf.variables_initializer(kept)
    with tf.Session() as sess:
        sess.run(reset)
        for name, value in sorted(sess.run(values).items()):
            print("empty", name, shown(value))
        for round_, batches in enumerate(([0, 1, 2], [2])):
            sess.run(reset)
            for number in batches:
                feeds = {
                    labels: LABELS[number], scores: SCORES[number], weights: WEIGHTS[number],
                    classes: CLASSES[number],
                }
                last = sess.run(updates, feeds)
            for name, value in sorted(sess.run(values).items()):
                print(round_, name, shown(value), shown(last[name]))
        try:
            sess.run(metrics["auc"][1], {labels: LABELS[0], scores: SCORES[0] + 1})
        except tf.errors.InvalidArgumentError as error:
            print(type(error).__name__, error.op.type)
    for wrong in (
        lambda: tf.metrics.auc(LABELS, SCORES, curve="XY"),
        lambda: tf.metrics.accuracy(LABELS, CLASSES[:2]),
        lambda: tf.metrics.mean(SCORES, WEIGHTS[:, :3]),
    ):
        try:
            wrong()
            print("taken")
        except Exception as error:
            print(type(error).__name__)


if __name__ == "__main__":
    tf.app.run()
