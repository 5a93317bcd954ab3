"""Every loss of tf.losses with weights, reductions, scopes and collections, and what it refuses."""

import numpy as np
import tensorflow.compat.v1 as tf

rng = np.random.RandomState(3)
LABELS = rng.randint(0, 2, (4, 3)).astype(np.float32)
GUESSES = rng.uniform(0.05, 0.95, (4, 3)).astype(np.float32)
LOGITS = rng.normal(size=(4, 3)).astype(np.float32)
CLASSES = np.array([0, 2, 1, 1], np.int64)
ROW_WEIGHTS = np.array([[1.0], [0.0], [2.0], [0.5]], np.float32)
WEIGHTS = np.array([[1, 0, 1], [0, 0, 0], [2, 1, 0], [1, 1, 1]], np.float32)


def units(values):
    return values / np.linalg.norm(values, axis=1, keepdims=True)


def elementwise():
    losses = tf.losses
    return {
        "absolute": lambda **k: losses.absolute_difference(LABELS, GUESSES, **k),
        "squared": lambda **k: losses.mean_squared_error(LABELS, GUESSES, **k),
        "huber": lambda **k: losses.huber_loss(LABELS, GUESSES, delta=0.3, **k),
        "log": lambda **k: losses.log_loss(LABELS, GUESSES, **k),
        "hinge": lambda **k: losses.hinge_loss(LABELS, LOGITS, **k),
        "sigmoid": lambda **k: losses.sigmoid_cross_entropy(LABELS, LOGITS, **k),
        "smooth": lambda **k: losses.sigmoid_cross_entropy(
            LABELS, LOGITS, label_smoothing=0.1, **k
        ),
    }


def by_row():
    losses, onehot = tf.losses, np.eye(3, dtype=np.float32)[CLASSES]
    return {
        "softmax": lambda **k: losses.softmax_cross_entropy(onehot, LOGITS, **k),
        "softmax_smooth": lambda **k: losses.softmax_cross_entropy(
            onehot, LOGITS, label_smoothing=0.2, **k
        ),
        "sparse": lambda **k: losses.sparse_softmax_cross_entropy(CLASSES, LOGITS, **k),
        "sparse_column": lambda **k: losses.sparse_softmax_cross_entropy(
            CLASSES[:, None], LOGITS, **k
        ),
    }


def shown(value):
    return " ".join("%.4f" % each for each in np.ravel(value))


def main(_):
    reductions = [tf.losses.Reduction.NONE, tf.losses.Reduction.SUM, tf.losses.Reduction.MEAN]
    reductions += ["weighted_sum_over_batch_size", "weighted_sum_by_nonzero_weights"]
    print(sorted(tf.losses.Reduction.all()))
    built = {}
    for table, weights in ((elementwise(), [2.0, ROW_WEIGHTS, WEIGHTS]), (by_row(), [0.5, ROW_WEIGHTS[:, 0]])):
        for name, loss in table.items():
            built[name] = loss()
            for number, weight in enumerate(weights):
                for reduction in reductions:
                    kept = loss(weights=weight, reduction=reduction, loss_collection=None)
                    built["%s %d %s" % (name, number, reduction)] = kept
    built["pairwise"] = tf.losses.mean_pairwise_squared_error(LABELS, GUESSES)
    built["pairwise_rows"] = tf.losses.mean_pairwise_squared_error(
        LABELS, GUESSES, ROW_WEIGHTS, scope="pairs"
    )
    built["cosine"] = tf.losses.cosine_distance(units(LOGITS), units(GUESSES), axis=1)
    built["cosine_rows"] = tf.losses.cosine_distance(
        units(LOGITS), units(GUESSES), 1, ROW_WEIGHTS, loss_collection="mine"
    )
    built["weighted"] = tf.losses.compute_weighted_loss(np.float32([1, 2, 3]), [0.0, 1.0, 1.0])
    tf.losses.add_loss(tf.constant(1.5, name="own"))
    tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, tf.constant(0.25))
    print([loss.name for loss in tf.losses.get_losses()])
    print([loss.name for loss in tf.losses.get_losses("pairs")], len(tf.get_collection("mine")))
    built["total"] = tf.losses.get_total_loss()
    built["without"] = tf.losses.get_total_loss(add_regularization_losses=False, name="plain")
    built["regular"] = tf.losses.get_regularization_loss()
    gradient = tf.gradients(built["total"], [tf.losses.get_losses()[0]])[0]
    with tf.Session() as sess:
        found = sess.run(built)
        for name in built:
            print(name, np.shape(found[name]), shown(found[name]))
        print(gradient.name, sess.run(gradient))
    wrong = {
        "shapes": lambda: tf.losses.mean_squared_error(LABELS, GUESSES[:2]),
        "none": lambda: tf.losses.log_loss(None, GUESSES),
        "weights": lambda: tf.losses.absolute_difference(LABELS, GUESSES, WEIGHTS[:, :2]),
        "reduction": lambda: tf.losses.absolute_difference(LABELS, GUESSES, reduction="all"),
        "axis": lambda: tf.losses.cosine_distance(LABELS, GUESSES),
        "classes": lambda: tf.losses.sparse_softmax_cross_entropy(LABELS, LOGITS),
    }
    for name in sorted(wrong):
        try:
            wrong[name]()
            print(name, "taken")
        except Exception as error:
            print(name, type(error).__name__)


if __name__ == "__main__":
    tf.app.run()
