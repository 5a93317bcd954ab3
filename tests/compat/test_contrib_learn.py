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
    model = learn.LinearClassifier(columns, str(tmp_path), optimizer=tf.train.GradientDescentOptimizer(0.1))
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
        return learn.Experiment(model, inputs, inputs, metrics, train_steps=hparams["steps"], eval_steps=2)

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


def test_the_older_names_of_model_functions_are_free(tmp_path: Path) -> None:
    """Features and labels are given by position, and there are labels for predictions too."""

    def model_fn(x: Any, y: Any) -> Any:
        w = tf.get_variable("w", [2], initializer=tf.ones_initializer())
        predicted = tf.reduce_sum(x * w, 1)
        loss = tf.losses.mean_squared_error(y, predicted)
        return {"sum": predicted}, loss, tf.train.get_global_step().assign_add(1).op

    model = learn.Estimator(model_fn, str(tmp_path))
    model.fit(X, X.sum(1), steps=2)
    assert [row["sum"] for row in model.predict(X[:3], as_iterable=True)] == [0.0, 2.0, 4.0]
    bias = learn.MetricSpec(tf.contrib.metrics.streaming_mean_squared_error, prediction_key="sum")
    assert model.evaluate(X, X.sum(1) + 2, metrics={"bias": bias})["bias"] == 4.0


def test_metrics_are_given_what_their_arguments_are_called() -> None:
    def older(predictions: Any, labels: Any, weights: Any = None) -> Any:
        return predictions, labels, weights

    def younger(target: Any, prediction: Any) -> Any:
        return prediction, target

    inputs, labels, predictions = {"w": 3}, {"a": 1, "b": 2}, {"p": 4}
    assert learn.MetricSpec(older, label_key="b").create_metric_ops(inputs, labels, predictions) == (4, 2, None)
    weighted = learn.MetricSpec(older, "p", "a", "w")
    assert weighted.create_metric_ops(inputs, labels, predictions) == (4, 1, 3)
    assert learn.MetricSpec(younger).create_metric_ops(inputs, 2, 4) == (4, 2)
    assert learn.MetricSpec(lambda x: x).create_metric_ops(inputs, 2, 4) == 4


def test_both_parts_together_predict_classes(tmp_path: Path) -> None:
    columns = learn.infer_real_valued_columns_from_input(X)
    model = learn.DNNLinearCombinedClassifier(
        str(tmp_path),
        linear_feature_columns=columns,
        dnn_feature_columns=columns,
        dnn_hidden_units=[4],
        config=learn.RunConfig(tf_random_seed=1, num_cores=1),
    )
    model.fit(X, Y, steps=40)
    precise = learn.MetricSpec(tf.contrib.metrics.streaming_precision, learn.PredictionKey.CLASSES)
    found = model.evaluate(X, Y, metrics={"precise": precise})
    assert found["precise"] == found["precision/positive_threshold_0.500000_mean"]
    right = np.mean(model.predict(X, as_iterable=False) == Y)
    assert found["accuracy"] == pytest.approx(right)


def test_training_ends_when_a_monitor_finds_nothing_better(tmp_path: Path) -> None:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        w = tf.get_variable("w", [2], initializer=tf.ones_initializer())
        predicted = tf.reduce_sum(features * w, 1)
        loss = tf.losses.mean_squared_error(labels, predicted)
        return predicted, loss, tf.train.get_global_step().assign_add(1).op

    config = learn.RunConfig(save_checkpoints_steps=2)
    model = learn.Estimator(model_fn, str(tmp_path), config)
    monitor = learn.monitors.ValidationMonitor(
        X, X.sum(1) + 1, every_n_steps=1, early_stopping_rounds=4, check_interval_secs=None
    )
    model.fit(X, X.sum(1), steps=50, monitors=[monitor])
    assert monitor.early_stopped
    assert (monitor.best_step, monitor.best_value) == (1, 1.0)
    assert monitor.best_metrics["global_step"] <= 2
    assert model.get_variable_value("global_step") < 12
    with pytest.raises(ValueError, match="Either x or input_fn"):
        learn.monitors.ValidationMonitor()


def test_files_of_numbers_become_data_sets(tmp_path: Path) -> None:
    base = learn.datasets.base
    rows = "1.5,2.5,0\n3.5,4.5,2\n"
    path = tmp_path / "flowers.csv"
    path.write_text("2,2,rose,tulip\n" + rows)
    found = base.load_csv_with_header(path, np.int64, np.float32)
    assert found.data.tolist() == [[1.5, 2.5], [3.5, 4.5]]
    assert (found.data.dtype, found.target.dtype, found.target.tolist()) == ("f4", "i8", [0, 2])
    assert learn.datasets.load_iris(path).target.tolist() == [0, 2]
    path.write_text(rows)
    found = base.load_csv_without_header(path, float, np.float32, target_column=0)
    assert (found.data.tolist(), found.target.tolist()) == ([[2.5, 0], [4.5, 2]], [1.5, 3.5])
    path.write_text("3,2\n" + rows)
    with pytest.raises(ValueError, match="where it says"):
        base.load_csv_with_header(path, int, float)
    assert base.maybe_download("flowers.csv", str(tmp_path), "unused") == str(path)


def test_data_sets_have_names() -> None:
    fake = learn.datasets.load_dataset("dbpedia", test_with_fake_data=True)
    assert fake.train.data.shape == (70, 2)
    assert sorted(set(fake.test.target.tolist())) == list(range(1, 15))
    round_ones = learn.datasets.make_dataset("circles", 50)
    assert np.allclose(np.hypot(*round_ones.data.T), np.where(round_ones.target, 0.8, 1.0))
    assert learn.datasets.make_dataset("spirals", 10).target.sum() == 5
    with pytest.raises(ValueError, match="Name of dataset is not found: cats"):
        learn.datasets.load_dataset("cats")
    with pytest.raises(tf.errors.NotFoundError, match="data_path"):
        learn.datasets.load_boston()


def test_models_from_before_estimators_make_their_variables() -> None:
    x, y = tf.constant(X), tf.one_hot(Y, 2)
    with tf.variable_scope("a"):
        chances, loss = learn.models.logistic_regression_zero_init(x, y)
    rows = learn.ops.categorical_variable([[0, 2]], 3, 4, "words")
    assert [v.op.name for v in tf.trainable_variables()] == [
        "a/logistic_regression/weights",
        "a/logistic_regression/bias",
        "words/words_embeddings",
    ]
    assert rows.shape.as_list() == [1, 2, 4]
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert np.allclose(sess.run(chances), 0.5)
        assert sess.run(loss) == pytest.approx(np.log(2))
        predicted, error = learn.models.linear_regression(x, tf.constant(X.sum(1)), 0.0, 0.0)
        sess.run(tf.global_variables_initializer())
        assert sess.run(error) == pytest.approx(np.mean(X.sum(1) ** 2))
        assert predicted.shape.as_list() == [30]
