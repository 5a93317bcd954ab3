"""Names that TensorFlow itself no longer has: those that are another name of something are here.

``former_names.txt`` has the ones that public TensorFlow 1 programs use, with how many programs do.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")

FORMER = [line.split()[0] for line in (Path(__file__).parent / "former_names.txt").read_text().splitlines()]


def find(name: str) -> Any:
    found: Any = tf
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


def value(fetch: Any) -> Any:
    with tf.Session() as sess:
        return sess.run(fetch)


ELSEWHERE = (
    "contrib.learn",
    "contrib.tensorboard",
    "estimator",
    "g3doc",
    "histogram_summary",
    "image_summary",
    "merge_all_summaries",
    "scalar_summary",
    "train.SummaryWriter",
    "contrib.layers.real_valued_column",
)


def test_older_names_do_what_the_newer_ones_do() -> None:
    """The others are of libraries around TensorFlow, and of summaries before TensorFlow 1.0."""
    missing = [name for name in FORMER if find(name) is None]
    assert [name for name in missing if not name.startswith(ELSEWHERE)] == []
    assert value([tf.mul(2, 3), tf.sub(2, 3), tf.neg(2)]) == [6, -1, -2]
    assert (tf.mul, tf.sub, tf.neg) == (tf.multiply, tf.subtract, tf.negative)
    packed = tf.pack([[1, 2], [3, 4]], axis=1)
    assert (packed.op.name, packed.op.type) == ("pack", "Pack")
    assert value(packed).tolist() == [[1, 3], [2, 4]]
    assert [part.tolist() for part in value(tf.unpack(packed, axis=1))] == [[1, 2], [3, 4]]
    x, y = np.arange(12.0).reshape(2, 2, 3), np.arange(12.0, 24.0).reshape(2, 2, 3)
    np.testing.assert_allclose(value(tf.batch_matmul(x, y, adj_y=True)), x @ y.swapaxes(1, 2))
    np.testing.assert_allclose(value(tf.batch_matmul(x, y, adj_x=True)), x.swapaxes(1, 2) @ y)
    step = tf.contrib.framework.get_or_create_global_step()
    assert tf.train.get_global_step() is tf.contrib.framework.get_global_step() is step
    message = tf.contrib.util.make_tensor_proto([[1, 2]], dtype=tf.int64)
    np.testing.assert_array_equal(tf.contrib.util.make_ndarray(message), [[1, 2]])
    assert tf.contrib.util.constant_value(tf.constant(3)) == 3


def test_initialisers_spread_by_the_inputs_of_a_unit() -> None:
    layers = tf.contrib.layers
    xavier = layers.xavier_initializer()
    assert xavier.get_config() == {
        "scale": 1.0,
        "mode": "fan_avg",
        "distribution": "uniform",
        "seed": None,
        "dtype": "float32",
    }
    bound = np.sqrt(6.0 / 50)
    drawn = value(xavier([20, 30]))
    assert 0.9 * bound < np.abs(drawn).max() <= bound
    assert layers.xavier_initializer_conv2d(uniform=False).distribution == "truncated_normal"
    scaling = layers.variance_scaling_initializer(factor=3.0, mode="FAN_OUT", uniform=True, seed=5)
    assert scaling.get_config() == {
        "scale": 3.0,
        "mode": "fan_out",
        "distribution": "uniform",
        "seed": 5,
        "dtype": "float32",
    }
    with pytest.raises(TypeError, match="int32"):
        layers.xavier_initializer(dtype=tf.int32)
    with pytest.raises(ValueError, match="fan_most"):
        layers.variance_scaling_initializer(mode="FAN_MOST")


def test_regularisers_are_losses_of_weights() -> None:
    layers = tf.contrib.layers
    with tf.variable_scope("layer", regularizer=layers.l2_regularizer(0.5)):
        tf.get_variable("w", initializer=[3.0, -4.0])
    (loss,) = tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES)
    assert loss.op.name == "layer/w/Regularizer/l2_regularizer"
    l1: Any = layers.l1_regularizer(2.0)(tf.constant([3.0, -4.0], tf.float64))
    assert (l1.op.name, l1.dtype) == ("l1_regularizer", tf.float64)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run([loss, l1]) == [6.25, 14.0]
    assert layers.l2_regularizer(0.0)(loss) is None


@pytest.mark.parametrize(("scale", "said"), [(1, "integer"), (-0.5, "less than 0")])
def test_a_regulariser_is_scaled_by_a_fraction(scale: float, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        tf.contrib.layers.l1_regularizer(scale)


def test_streaming_metrics_take_predictions_first() -> None:
    labels, predictions = tf.constant([0, 0, 1, 1]), tf.constant([0.1, 0.4, 0.35, 0.8])
    area, update = tf.contrib.metrics.streaming_auc(predictions, labels)
    share, count = tf.contrib.metrics.streaming_accuracy(tf.constant([0, 1, 1, 1]), labels)
    with tf.Session() as sess:
        sess.run(tf.local_variables_initializer())
        sess.run([update, count])
        found = sess.run([area, share])
    np.testing.assert_allclose(found, [0.75, 0.75], atol=0.01)
