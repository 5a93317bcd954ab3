"""``tf.contrib.learn``: the older form of estimators."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf

learn: Any = tf.contrib.learn
X = np.array([[i % 3, i % 5] for i in range(30)], np.float32)
Y = (X.sum(1) > 3).astype(np.int64)


@pytest.fixture(autouse=True)
def writers_are_forgotten() -> Iterator[None]:
    with tf.Graph().as_default():
        yield
    tf.summary.FileWriterCache.clear()


def test_a_classifier_is_fitted_to_arrays(tmp_path: Path) -> None:
    """The numbers are those of TensorFlow 1.15."""
    columns = learn.infer_real_valued_columns_from_input(X)
    model = learn.LinearClassifier(
        columns, str(tmp_path), optimizer=tf.train.GradientDescentOptimizer(0.1)
    )
    assert model.fit(x=X, y=Y, steps=20, batch_size=30) is model
    found = model.evaluate(x=X, y=Y, steps=1)
    assert found["accuracy"] == pytest.approx(0.8)
    assert found["loss"] == pytest.approx(0.5954, abs=1e-4)
    assert found["labels/prediction_mean"] == pytest.approx(0.5592, abs=1e-4)
    assert [int(number) for number in model.predict(X[:3])] == [0, 0, 1]
    chances = model.predict_proba(X[:2], as_iterable=False)
    assert np.allclose(chances, [[0.575, 0.425], [0.511, 0.489]], atol=1e-3)


def test_an_experiment_trains_and_evaluates(tmp_path: Path) -> None:
    def make(config: Any, hparams: Any) -> Any:
        column = tf.contrib.layers.real_valued_column("", dimension=2)
        model = learn.LinearRegressor([column], config=config, optimizer="SGD")
        inputs = tf.estimator.inputs.numpy_input_fn(X, X.sum(1), shuffle=False, num_epochs=None)
        metrics = {"mae": learn.MetricSpec(tf.metrics.mean_absolute_error)}
        return learn.Experiment(
            model, inputs, inputs, metrics, train_steps=hparams["steps"], eval_steps=2
        )

    config = learn.RunConfig(model_dir=str(tmp_path))
    found, exports = learn.learn_runner.run(make, run_config=config, hparams={"steps": 4})
    assert (found["global_step"], exports) == (4, [])
    assert {"loss", "mae"} <= set(found)
    with pytest.raises(ValueError, match="Must set value"):
        learn.learn_runner.run(make)
    with pytest.raises(ValueError, match="no method 'fly'"):
        learn.learn_runner.run(make, "d", "fly", config, {"steps": 1})


def test_arrays_are_predicted_in_the_form_of_scikit_learn(tmp_path: Path) -> None:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        w = tf.get_variable("w", [2], initializer=tf.ones_initializer())
        predicted = tf.reduce_sum(features * w, 1)
        if mode == learn.ModeKeys.INFER:
            return learn.ModelFnOps(mode, {"sum": predicted})
        loss = tf.losses.mean_squared_error(labels, predicted)
        return predicted, loss, tf.train.get_global_step().assign_add(1).op

    model = learn.SKCompat(learn.Estimator(model_fn, str(tmp_path)))
    model.fit(X, X.sum(1), batch_size=30, steps=2)
    assert model.score(X, X.sum(1), batch_size=30) == {"loss": 0.0, "global_step": 2}
    assert np.array_equal(model.predict(X, batch_size=7)["sum"], X.sum(1))
    with pytest.raises(ValueError, match="Either x or input_fn"):
        model._estimator.fit()
    with pytest.raises(ValueError, match="both input_fn and x"):
        model._estimator.fit(X, input_fn=len)


def test_documents_become_rows_of_word_numbers(tmp_path: Path) -> None:
    texts = ["the rock of NASA", "the too-tepid camelCase's rock rocks"]
    processor = learn.preprocessing.VocabularyProcessor(5)
    rows = np.array(list(processor.fit_transform(texts)))
    assert rows.tolist() == [[1, 2, 3, 4, 0], [1, 5, 6, 2, 7]]
    assert list(processor.reverse([[2, 4, 0]])) == ["rock NASA <UNK>"]
    processor.save(tmp_path / "words")
    again = learn.preprocessing.VocabularyProcessor.restore(tmp_path / "words")
    assert [row.tolist() for row in again.transform(["rock the unknown"])] == [[2, 1, 0, 0, 0]]
    rare = learn.preprocessing.VocabularyProcessor(5, min_frequency=1)
    assert [row.tolist() for row in rare.fit_transform(texts)] == [[2, 1, 0, 0, 0], [2, 0, 0, 1, 0]]
    blind = learn.preprocessing.CategoricalVocabulary(support_reverse=False)
    with pytest.raises(ValueError, match="support_reverse"):
        blind.reverse(0)
    bytes_of = learn.preprocessing.ByteProcessor(3)
    [row] = bytes_of.fit(texts).fit_transform(["ab"])
    assert row.tolist() == [97, 98, 0]
    assert list(bytes_of.reverse([row])) == ["ab"]
