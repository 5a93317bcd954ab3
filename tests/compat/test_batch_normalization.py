"""The rarer ways of batch normalisation, by numbers that TensorFlow 1.15 gives."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")

BATCHES = [np.sin(np.arange(24) * (step + 1.0)).reshape(8, 3) * 2 + 1 for step in range(3)]
WEIGHTS = [1.0, 2.0, 0.0, 1.0, 1.0, 3.0, 0.5, 0.5]


def adjusted(shape: Any) -> tuple[Any, Any]:
    return tf.fill(shape[-1:], 1.1), tf.fill(shape[-1:], 0.3)


# Arguments, then the first row of the outputs and of the gradient in the third step, and the averages.
CASES: dict[str, Any] = {
    "renormalised": (
        {"renorm": True, "renorm_momentum": 0.8, "renorm_clipping": {"rmin": 0.5, "rmax": 1.2, "dmax": 0.3}},
        [0.2812, 0.53628, -0.13453],
        [-3.81266, -3.6376, -2.83774],
        {
            "moving_mean": [0.16191, 0.40418, 0.28581],
            "moving_variance": [1.02361, 1.02282, 1.25581],
            "moving_stddev": [1.01223, 1.01184, 1.12108],
            "renorm_mean": [0.29265, 0.7232, 0.51308],
            "renorm_stddev": [1.02889, 1.02801, 1.20898],
        },
    ),
    "in parts": (
        {"virtual_batch_size": 2},
        [0.99949, -0.99926, 0.99877],
        [0.0, 0.0, 0.0],
        {"moving_mean": [0.16191, 0.40418, 0.28581], "moving_variance": [0.82915, 0.82711, 0.87232]},
    ),
    "renormalised in parts": (
        {"virtual_batch_size": 4, "renorm": True},
        [2.11275, 0.02973, 1.69532],
        [0.79058, 0.89969, 0.16535],
        {
            "moving_mean": [0.16191, 0.40418, 0.28581],
            "moving_variance": [0.81418, 0.81077, 0.82757],
            "moving_stddev": [0.90287, 0.90098, 0.91026],
            "renorm_mean": [0.01779, 0.04444, 0.03139],
            "renorm_stddev": [0.98922, 0.98901, 0.9896],
        },
    ),
    "adjusted": (
        {"adjustment": adjusted},
        [0.28277, 0.51659, -0.11065],
        [-2.93672, -2.80186, -2.395],
        {"moving_mean": [0.16191, 0.40418, 0.28581], "moving_variance": [1.04607, 1.04619, 1.3216]},
    ),
}


def averages(session: Any) -> dict[str, Any]:
    found = [v for v in tf.global_variables() if v not in tf.trainable_variables()]
    return {variable.op.name: np.ravel(session.run(variable)) for variable in found}


def assert_close(found: dict[str, Any], wanted: dict[str, Any]) -> None:
    assert list(found) == list(wanted)
    for name, value in wanted.items():
        np.testing.assert_allclose(found[name], value, atol=2e-5, err_msg=name)


@pytest.mark.parametrize("as_tensor", [False, True])
@pytest.mark.parametrize("case", CASES)
def test_numbers_of_tensorflow(case: str, as_tensor: bool) -> None:
    settings, outputs, gradient, kept = CASES[case]
    x = tf.placeholder(tf.float32, [8, 3])
    training = tf.placeholder_with_default(True, []) if as_tensor else True
    y = tf.layers.batch_normalization(x, training=training, momentum=0.9, **settings)
    (slope,) = tf.gradients(tf.reduce_sum(y**3), x)
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    assert len(updates) == 2
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for batch in BATCHES:
            found, slopes = session.run([y, slope], {x: batch})
            session.run(updates, {x: batch})
        np.testing.assert_allclose(found[0], outputs, atol=2e-5)
        np.testing.assert_allclose(slopes[0], gradient, atol=5e-5)
        wanted = {f"batch_normalization/{name}": value for name, value in kept.items()}
        assert_close(averages(session), wanted)
        if as_tensor:
            # A step of inference moves nothing, and normalises by the averages.
            found = session.run([y, *updates], {x: BATCHES[0], training: False})[0]
            assert_close(averages(session), wanted)
            spread = np.sqrt(np.asarray(kept["moving_variance"]) + 1e-3)
            by_averages = (BATCHES[0] - kept["moving_mean"]) / spread
            np.testing.assert_allclose(found, by_averages, atol=1e-3)


def test_several_axes_have_a_scale_for_each_of_their_places() -> None:
    batch = np.random.default_rng(0).normal(size=(8, 2, 2, 3))
    y = tf.layers.batch_normalization(tf.constant(batch, tf.float32), axis=[1, 3], training=True)
    assert [variable.shape.as_list() for variable in tf.global_variables()] == [[1, 2, 1, 3]] * 4
    mean, spread = batch.mean((0, 2), keepdims=True), batch.var((0, 2), keepdims=True)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        wanted = (batch - mean) / np.sqrt(spread + 1e-3)
        np.testing.assert_allclose(session.run(y), wanted, atol=1e-5)


@pytest.mark.parametrize(
    ("settings", "error", "match"),
    [
        ({"renorm": True, "renorm_clipping": {"rmean": 1}}, ValueError, "contains keys not in"),
        ({"virtual_batch_size": 0}, ValueError, "must be a positive integer that divides"),
        ({"virtual_batch_size": 2, "axis": 0}, ValueError, "axis cannot include 0"),
        ({"virtual_batch_size": 2, "adjustment": adjusted}, ValueError, "cannot be specified"),
        ({"axis": [1, 1]}, ValueError, "Duplicate axis"),
        ({"axis": (1,)}, TypeError, "axis must be int or list"),
    ],
)
def test_contradicting_arguments_are_refused(settings: dict[str, Any], error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        tf.layers.batch_normalization(tf.ones([8, 3]), **settings)


OF_CONTRIB: dict[str, Any] = {
    "weights": (
        {"batch_weights": WEIGHTS},
        (
            [-0.56188, 0.7901, -1.0055],
            {
                "BatchNorm/moving_mean": [0.25696, 0.30198, 0.28249],
                "BatchNorm/moving_variance": [0.99953, 0.98557, 1.21498],
            },
        ),
    ),
    "without the bias of zeros": (
        {"zero_debias_moving_mean": True, "updates_collections": None},
        (
            [-0.01567, 0.1969, -0.37331],
            {
                "BatchNorm/moving_mean": [0.59746, 1.49142, 1.05467],
                "BatchNorm/moving_variance": [1.09137, 1.0915, 1.40625],
                "BatchNorm/BatchNorm/moving_mean/biased": [0.16191, 0.40418, 0.28581],
                "BatchNorm/BatchNorm/moving_mean/local_step": [3.0],
            },
        ),
    ),
}


@pytest.mark.parametrize("case", OF_CONTRIB)
def test_numbers_of_contrib(case: str) -> None:
    settings, (outputs, kept) = OF_CONTRIB[case]
    x = tf.placeholder(tf.float32, [8, 3])
    y = tf.contrib.layers.batch_norm(x, decay=0.9, scale=True, **settings)
    # As in TensorFlow, which makes them in this order here, and the other way round in its plain layer.
    assert [v.op.name for v in tf.trainable_variables()] == ["BatchNorm/beta", "BatchNorm/gamma"]
    updates = tf.get_collection(tf.GraphKeys.UPDATE_OPS)
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for batch in BATCHES:
            found = session.run([y, *updates], {x: batch})[0]
        np.testing.assert_allclose(found[0], outputs, atol=2e-5)
        assert_close(averages(session), kept)


def test_contrib_renormalises_where_updates_are_in_their_usual_collection() -> None:
    batch_norm = tf.contrib.layers.batch_norm
    batch_norm(tf.ones([8, 3]), renorm=True, variables_collections=["mine"])
    assert [v.op.name for v in tf.model_variables()[-3:]] == [
        "BatchNorm/moving_stddev",
        "BatchNorm/renorm_mean",
        "BatchNorm/renorm_stddev",
    ]
    assert len(tf.get_collection("mine")) == 3
    with pytest.raises(ValueError, match="renorm is not supported with"):
        batch_norm(tf.ones([8, 3]), renorm=True, updates_collections=None)
    with pytest.raises(ValueError, match="incompatible"):
        batch_norm(tf.ones([7, 3]), batch_weights=WEIGHTS)
