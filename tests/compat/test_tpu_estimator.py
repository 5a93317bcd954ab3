"""Estimators of TPUs run as plain ones where no TPU is asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf

tpu = tf.contrib.tpu


def inputs(params: Any) -> Any:
    data = tf.data.Dataset.from_tensor_slices(np.arange(8, dtype=np.float32))
    return data.map(lambda x: ({"x": x}, 2.0 * x)).repeat(2).batch(params["batch_size"])


def model(features: Any, labels: Any, mode: str, params: Any) -> Any:
    weight = tf.get_variable("weight", [], initializer=tf.zeros_initializer())
    found = features["x"] * weight
    if mode == tf.estimator.ModeKeys.PREDICT:
        size = tf.fill(tf.shape(found), params["batch_size"])
        return tpu.TPUEstimatorSpec(mode, predictions={"found": found, "size": size})
    loss = tf.reduce_mean(tf.square(found - labels))
    step = tf.train.get_or_create_global_step()
    optimizer = tpu.CrossShardOptimizer(tf.train.GradientDescentOptimizer(params["rate"]))
    return tpu.TPUEstimatorSpec(
        mode,
        loss=loss,
        train_op=optimizer.minimize(loss, step),
        eval_metrics=(lambda off: {"off": tf.metrics.mean(off)}, [found - labels]),
        host_call=(lambda loss: [tf.identity(loss)], [loss]),
        scaffold_fn=lambda: tf.train.Scaffold(),
    )


def made(folder: Path, **given: Any) -> Any:
    config = tpu.RunConfig(
        model_dir=str(folder), save_checkpoints_steps=10, tpu_config=tpu.TPUConfig(iterations_per_loop=5)
    )
    sizes = {"train_batch_size": 4, "eval_batch_size": 2, "predict_batch_size": 8}
    settings = {"use_tpu": False, "params": {"rate": 0.01}, **sizes, **given}
    return tpu.TPUEstimator(model_fn=model, config=config, **settings)


def test_functions_are_told_the_size_of_batches_of_each_mode(tmp_path: Path) -> None:
    estimator = made(tmp_path)
    estimator.train(inputs, max_steps=3)
    found = estimator.evaluate(inputs)
    assert sorted(found) == ["global_step", "loss", "off"]
    assert found["global_step"] == 3
    assert found["off"] < 0
    predictions = list(estimator.predict(inputs))
    assert len(predictions) == 16
    assert {int(each["size"]) for each in predictions} == {8}
    assert estimator.config.tpu_config.iterations_per_loop == 5


def test_there_are_no_tpus(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there are no TPUs here"):
        made(tmp_path, use_tpu=True)
    with pytest.raises(ValueError, match="batch_size are reserved keys"):
        made(tmp_path, params={"batch_size": 3})
    assert tf.estimator.tpu.TPUEstimator is tpu.TPUEstimator
