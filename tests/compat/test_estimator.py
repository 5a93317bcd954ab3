"""Estimators, those of ``tf.contrib`` and of TPUs among them, and the columns that they take."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession.compat.v1 as tf
from actorsession.compat.v1.feature_column.sequences import sequence_input_layer
from tests.rows import for_each

pytestmark = pytest.mark.usefixtures("graph")


estimator: Any = tf.estimator
Modes = estimator.ModeKeys
numpy_input_fn = estimator.inputs.numpy_input_fn

X = np.array([[i % 3, i % 5] for i in range(30)], np.float32)
Y = X @ np.array([[2.0], [-1.0]], np.float32) + np.float32(0.5)


@pytest.fixture(autouse=True)
def writers_are_forgotten() -> Iterator[None]:
    with tf.Graph().as_default():
        yield
    tf.summary.FileWriterCache.clear()


def linear(features: Any, labels: Any, mode: str, params: Any) -> Any:
    """A linear model whose steps can be computed by hand."""
    w = tf.get_variable("w", [2, 1], initializer=tf.zeros_initializer())
    b = tf.get_variable("b", [1], initializer=tf.zeros_initializer())
    predicted = tf.matmul(features["x"], w) + b
    if mode == Modes.PREDICT:
        return estimator.EstimatorSpec(mode, {"y": predicted, "twice": 2 * predicted})
    loss = tf.losses.mean_squared_error(labels, predicted)
    if mode == Modes.EVAL:
        mae = tf.metrics.mean_absolute_error(labels, predicted)
        return estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops={"mae": mae})
    train_op = tf.train.GradientDescentOptimizer(params["rate"]).minimize(loss, tf.train.get_global_step())
    return estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def by_hand(steps: int, rate: float) -> Any:
    """The weights and the bias after some steps on all rows."""
    w, b = np.zeros((2, 1)), np.zeros(1)
    for _ in range(steps):
        error = X @ w + b - Y
        w, b = w - rate * 2 * X.T @ error / len(X), b - rate * 2 * error.mean()
    return w, b


def made(folder: Path, **settings: Any) -> Any:
    config = estimator.RunConfig(model_dir=str(folder), **settings)
    return estimator.Estimator(linear, config=config, params={"rate": 0.1})


def rows(epochs: int | None = 1, labels: bool = True, size: int = 30) -> Any:
    return numpy_input_fn({"x": X}, Y if labels else None, batch_size=size, num_epochs=epochs, shuffle=False)


def test_a_model_is_trained_evaluated_and_asked(tmp_path: Path) -> None:
    model = made(tmp_path)
    assert model.train(rows(None), steps=5) is model
    w, b = by_hand(5, 0.1)
    assert np.allclose(model.get_variable_value("w"), w, atol=1e-5)
    assert model.get_variable_names() == ["b", "global_step", "w"]
    error = X @ w + b - Y
    found = model.evaluate(rows())
    assert set(found) == {"loss", "mae", "global_step"}
    assert found["global_step"] == 5
    assert np.allclose([found["loss"], found["mae"]], [np.mean(error**2), np.abs(error).mean()], 1e-4)
    predicted = list(model.predict(rows(labels=False, size=7)))
    assert len(predicted) == 30
    assert np.allclose([p["y"] for p in predicted], X @ w + b, atol=1e-5)
    [only] = model.predict(rows(labels=False), predict_keys=["twice"], yield_single_examples=False)
    assert list(only) == ["twice"]
    assert only["twice"].shape == (30, 1)


def test_training_goes_on_from_the_latest_checkpoint(tmp_path: Path) -> None:
    made(tmp_path).train(rows(None), steps=2)
    model = made(tmp_path).train(rows(None), max_steps=5)
    assert np.allclose(model.get_variable_value("w"), by_hand(5, 0.1)[0], atol=1e-5)
    assert model.latest_checkpoint() == str(tmp_path / "model.ckpt-5")
    model.train(rows(None), max_steps=5)  # has been reached
    assert model.get_variable_value("global_step") == 5
    model.train(rows(2, size=15))  # until the input ends
    assert model.get_variable_value("global_step") == 9


def test_the_loss_and_the_metrics_are_written_as_summaries(tmp_path: Path) -> None:
    model = made(tmp_path, save_summary_steps=2)
    model.train(rows(None), steps=4)
    result = model.evaluate(rows(), name="test")
    tf.summary.FileWriterCache.clear()

    def tags(folder: Path) -> list[tuple[int, str]]:
        return [
            (event.step, value.tag)
            for file in folder.glob("events*")
            for event in tf.train.summary_iterator(file)
            for value in event.summary.value
        ]

    assert [(step, tag) for step, tag in tags(tmp_path) if tag == "loss"] == [(1, "loss"), (3, "loss")]
    assert tags(Path(model.eval_dir("test"))) == [(4, "loss"), (4, "mae")]
    assert result["global_step"] == 4


def test_a_model_without_a_checkpoint_begins_with_its_first_values(tmp_path: Path) -> None:
    model = made(tmp_path)
    assert np.isclose(model.evaluate(rows())["loss"], np.mean(Y**2))
    assert next(model.predict(rows(labels=False)))["y"] == [0.0]
    with pytest.raises(ValueError, match="hasn't been trained"):
        model.get_variable_names()
    with pytest.raises(ValueError, match="Couldn't find trained model"):
        model.export_saved_model(str(tmp_path / "e"), lambda: None)


def test_a_model_is_exported_and_loaded(tmp_path: Path) -> None:
    model = made(tmp_path / "m").train(rows(None), steps=3)
    receiver = estimator.export.build_raw_serving_input_receiver_fn(
        {"x": tf.placeholder(tf.float32, [None, 2], name="x")}
    )
    (tmp_path / "words").write_text("a")
    folder = model.export_saved_model(
        str(tmp_path / "e"), receiver, assets_extra={"more/words": str(tmp_path / "words")}
    ).decode()
    assert Path(folder).parent == tmp_path / "e"
    assert (Path(folder) / "assets.extra" / "more" / "words").read_text() == "a"
    with tf.Graph().as_default(), tf.Session() as sess:
        meta = tf.saved_model.loader.load(sess, [tf.saved_model.tag_constants.SERVING], folder)
        signature = meta.signature_def["serving_default"]
        found = sess.run(signature.outputs["y"].name, {signature.inputs["x"].name: X})
    w, b = by_hand(3, 0.1)
    assert np.allclose(found, X @ w + b, atol=1e-5)


def test_a_model_is_evaluated_while_it_is_trained(tmp_path: Path) -> None:
    evaluated = []

    class Exporter(estimator.Exporter):  # type: ignore[misc]
        name = "mine"

        def export(
            self, estimator: Any, export_path: str, checkpoint_path: str, eval_result: Any, is_the_final_export: bool
        ) -> str:
            evaluated.append((os.path.basename(checkpoint_path), is_the_final_export))
            return export_path

    model = made(tmp_path, save_checkpoints_steps=2)
    metrics, exports = estimator.train_and_evaluate(
        model,
        estimator.TrainSpec(rows(None), max_steps=5),
        estimator.EvalSpec(rows(), steps=None, exporters=Exporter(), throttle_secs=0),
    )
    assert evaluated == [("model.ckpt-2", False), ("model.ckpt-4", False), ("model.ckpt-5", True)]
    assert metrics["global_step"] == 5
    assert exports == [str(tmp_path / "export" / "mine")]


def test_variables_begin_with_another_model(tmp_path: Path) -> None:
    made(tmp_path / "a").train(rows(None), steps=3)
    settings = estimator.WarmStartSettings(str(tmp_path / "a"), vars_to_warm_start="w")
    model = estimator.Estimator(linear, str(tmp_path / "b"), params={"rate": 0.0}, warm_start_from=settings)
    model.train(rows(None), steps=1)
    assert np.allclose(model.get_variable_value("w"), by_hand(3, 0.1)[0], atol=1e-5)
    assert model.get_variable_value("b") == [0.0]
    assert model.get_variable_value("global_step") == 1


def test_a_vocabulary_may_be_another_one(tmp_path: Path) -> None:
    (tmp_path / "old").write_text("a\nb\nc\n")
    (tmp_path / "new").write_text("c\nx\na\n")
    with tf.Graph().as_default(), tf.Session() as sess:
        sess.run(tf.get_variable("e", initializer=[[1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]).initializer)
        tf.train.Saver().save(sess, str(tmp_path / "model"))
    info = tf.train.VocabInfo(
        str(tmp_path / "new"), 3, 1, str(tmp_path / "old"), backup_initializer=tf.constant_initializer(9.0)
    )
    now = tf.get_variable("now", [4, 2])
    tf.train.warm_start(str(tmp_path / "model"), "now", {"now": info}, {"now": "e"})
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        assert sess.run(now).tolist() == [[3, 3], [9, 9], [1, 1], [9, 9]]
    with pytest.raises(ValueError, match="are of no variable"):
        tf.train.warm_start(str(tmp_path / "model"), "now", None, {"nobody": "e"})


# -- ready models --------------------------------------------------------------------------------

COLUMNS = [tf.feature_column.numeric_column("x", shape=[2])]
IDS = (Y[:, 0] > 0).astype(np.int64)


@for_each(
    "make, labels",
    [
        (lambda d: estimator.DNNClassifier([8], COLUMNS, d, optimizer="Adam", config=seeded()), IDS),
        (
            lambda d: estimator.LinearClassifier(COLUMNS, d, label_vocabulary=["no", "yes"]),
            np.array([[b"no", b"yes"][i] for i in IDS], object),
        ),
        (
            lambda d: estimator.DNNLinearCombinedClassifier(
                d,
                linear_feature_columns=COLUMNS,
                linear_optimizer=tf.train.FtrlOptimizer(0.5),
                dnn_feature_columns=COLUMNS,
                dnn_hidden_units=[4],
                n_classes=3,
                config=seeded(),
            ),
            IDS * 2,
        ),
    ],
)
def test_classifiers_learn(tmp_path: Path, make: Any, labels: Any) -> None:
    model = make(str(tmp_path / str(len(os.listdir(tmp_path)))))
    model.train(numpy_input_fn({"x": X}, labels, batch_size=30, num_epochs=None, shuffle=False), steps=60)
    found = model.evaluate(numpy_input_fn({"x": X}, labels, shuffle=False))
    assert found["accuracy"] > 0.8
    assert np.isclose(found["loss"], 30 * found["average_loss"], 1e-4)
    predicted = list(model.predict(numpy_input_fn({"x": X}, shuffle=False)))
    said = [p["classes"][0] for p in predicted]
    theirs = [label if isinstance(label, bytes) else str(label).encode() for label in labels]
    assert np.mean(np.array(said) == np.array(theirs)) == pytest.approx(found["accuracy"])
    assert np.allclose([p["probabilities"].sum() for p in predicted], 1.0, atol=1e-5)
    if "auc" in found:
        assert np.isclose(found["label/mean"], IDS.mean())
        assert {"precision", "recall", "auc_precision_recall", "accuracy_baseline"} <= set(found)


def seeded() -> Any:
    return estimator.RunConfig(tf_random_seed=3)


@for_each(
    "make",
    [
        lambda d: estimator.LinearRegressor(COLUMNS, d, optimizer=lambda: tf.train.GradientDescentOptimizer(0.003)),
        lambda d: estimator.DNNRegressor([8], COLUMNS, d, optimizer="Adam", config=seeded()),
        lambda d: estimator.DNNLinearCombinedRegressor(
            d, linear_feature_columns=COLUMNS, linear_optimizer=tf.train.FtrlOptimizer(0.5)
        ),
    ],
)
def test_regressors_learn(tmp_path: Path, make: Any) -> None:
    model = make(str(tmp_path / str(len(os.listdir(tmp_path)))))
    model.train(numpy_input_fn({"x": X}, Y, batch_size=30, num_epochs=None, shuffle=False), steps=60)
    found = model.evaluate(numpy_input_fn({"x": X}, Y, shuffle=False))
    assert found["average_loss"] < 0.5 * Y.var()
    assert np.isclose(found["label/mean"], Y.mean())
    assert set(found) == {"average_loss", "loss", "label/mean", "prediction/mean", "global_step"}


def test_examples_weigh_what_their_column_says(tmp_path: Path) -> None:
    model = estimator.LinearRegressor(COLUMNS, str(tmp_path), weight_column="w")
    weights = np.arange(30, dtype=np.float32)
    found = model.evaluate(numpy_input_fn({"x": X, "w": weights}, Y, shuffle=False))
    assert np.isclose(found["loss"], (weights * Y[:, 0] ** 2).sum(), 1e-4)
    assert np.isclose(found["average_loss"], np.average(Y[:, 0] ** 2, weights=weights), 1e-4)


def test_a_classifier_is_served_with_examples(tmp_path: Path) -> None:
    model = estimator.LinearClassifier(COLUMNS, str(tmp_path / "m"), n_classes=3)
    model.train(numpy_input_fn({"x": X}, IDS, num_epochs=None, shuffle=False), steps=1)
    assert list(estimator.classifier_parse_example_spec(COLUMNS, "label")) == ["x", "label"]
    receiver = estimator.export.build_parsing_serving_input_receiver_fn(
        tf.feature_column.make_parse_example_spec(COLUMNS)
    )
    folder = model.export_savedmodel(str(tmp_path / "e"), receiver)
    example = tf.train.Example()
    example.features.feature["x"].float_list.value.extend([1.0, 2.0])
    with tf.Graph().as_default(), tf.Session() as sess:
        meta = tf.saved_model.loader.load(sess, ["serve"], folder.decode())
        assert {key: sig.method_name.rsplit("/")[-1] for key, sig in meta.signature_def.items()} == {
            "serving_default": "classify",
            "classification": "classify",
            "predict": "predict",
        }
        signature = meta.signature_def["serving_default"]
        scores, classes = sess.run(
            [signature.outputs["scores"].name, signature.outputs["classes"].name],
            {signature.inputs["inputs"].name: [example.SerializeToString()]},
        )
    assert np.allclose(scores.sum(), 1.0)
    assert classes.tolist() == [[b"0", b"1", b"2"]]


# -- arguments -----------------------------------------------------------------------------------


def test_batches_go_on_over_the_end_of_an_epoch() -> None:
    data = {"a": np.arange(5), "b": np.arange(10.0).reshape(5, 2)}
    features = numpy_input_fn(data, batch_size=4, num_epochs=2, shuffle=False)()
    assert features["b"].shape.as_list() == [None, 2]
    with tf.Session() as sess:
        assert [sess.run(features["a"]).tolist() for _ in range(3)] == [[0, 1, 2, 3], [4, 0, 1, 2], [3, 4]]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run(features["a"])
    x, y = numpy_input_fn(np.arange(9), np.arange(9) * 2, batch_size=3, shuffle=True)()
    with tf.Session() as sess:
        pairs = [sess.run([x, y]) for _ in range(3)]
    assert sorted(np.concatenate([p[0] for p in pairs])) == list(range(9))
    assert all((2 * one == two).all() for one, two in pairs)


def test_the_place_in_a_cluster_is_read_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    alone = estimator.RunConfig()
    assert (alone.task_type, alone.task_id, alone.is_chief, alone.master) == ("worker", 0, True, "")
    assert (alone.save_checkpoints_secs, alone.save_checkpoints_steps) == (600, None)
    cluster = {"chief": ["h0:1"], "worker": ["h1:1", "h2:1"], "ps": ["h3:1"]}
    config = {"cluster": cluster, "task": {"type": "worker", "index": 1}, "model_dir": "d"}
    monkeypatch.setenv("TF_CONFIG", json.dumps(config))
    found = estimator.RunConfig(save_checkpoints_steps=3)
    assert (found.task_type, found.task_id, found.is_chief) == ("worker", 1, False)
    assert (found.master, found.model_dir) == ("grpc://h2:1", "d")
    assert (found.num_worker_replicas, found.num_ps_replicas, found.global_id_in_cluster) == (3, 1, 2)
    assert (found.save_checkpoints_secs, found.save_checkpoints_steps) == (None, 3)
    other = found.replace(save_checkpoints_secs=9)
    assert (other.save_checkpoints_secs, other.save_checkpoints_steps) == (9, None)
    with pytest.raises(ValueError, match="Replacing task_id is not supported"):
        found.replace(task_id=3)
    monkeypatch.setenv("TF_CONFIG", json.dumps({"cluster": cluster}))
    with pytest.raises(ValueError, match='must have a "task"'):
        estimator.RunConfig()


def spec(**values: Any) -> Any:
    return estimator.EstimatorSpec(Modes.TRAIN, **values)


@for_each(
    "make, kind, said",
    [
        (lambda: estimator.Estimator(lambda labels: None), ValueError, "must include features"),
        (lambda: estimator.Estimator(lambda features: None, params={}), ValueError, "include params"),
        (lambda: estimator.Estimator(lambda features, x: None), ValueError, "not expected args"),
        (lambda: estimator.Estimator(linear, "a", estimator.RunConfig("b")), ValueError, "different values"),
        (lambda: estimator.Estimator(linear, "a", config=3), ValueError, "instance of `RunConfig`"),
        (lambda: estimator.Estimator(linear, "a").train(rows(), steps=1, max_steps=1), ValueError,
         "both steps and max_steps"),
        (lambda: estimator.Estimator(linear, "a").train(rows(), steps=0), ValueError, "steps > 0"),
        (lambda: estimator.Estimator(linear, "a").evaluate(rows(), steps=0), ValueError, "steps > 0"),
        (lambda: estimator.Estimator(linear, "a").train(rows(), hooks=[3]), TypeError, "SessionRunHook"),
        (lambda: spec(), ValueError, "Missing train_op"),
        (lambda: spec(train_op=tf.no_op()), ValueError, "Missing loss"),
        (lambda: spec(train_op=tf.no_op(), loss=tf.zeros([2])), ValueError, "Loss must be scalar"),
        (lambda: spec(train_op=tf.no_op(), loss=3), TypeError, "loss must be Tensor"),
        (lambda: estimator.EstimatorSpec("x"), ValueError, "mode must be one of"),
        (lambda: estimator.EstimatorSpec(Modes.PREDICT), ValueError, "Missing predictions"),
        (lambda: estimator.EstimatorSpec(Modes.EVAL, loss=tf.zeros([]), eval_metric_ops={"a": 1}), TypeError,
         "must be .metric_value, update_op. tuples"),
        (lambda: estimator.TrainSpec(3), TypeError, "must be callable"),
        (lambda: estimator.TrainSpec(rows(), max_steps=0), ValueError, "max_steps > 0"),
        (lambda: estimator.EvalSpec(rows(), steps=-1), ValueError, "steps > 0"),
        (lambda: estimator.EvalSpec(rows(), throttle_secs=-1), ValueError, "throttle_secs >= 0"),
        (lambda: estimator.EvalSpec(rows(), exporters=3), TypeError, "."),
        (lambda: estimator.train_and_evaluate(3, 3, 3), TypeError, "must have type"),
        (lambda: estimator.RunConfig(save_checkpoints_steps=1, save_checkpoints_secs=1), ValueError,
         "cannot be both set"),
        (lambda: estimator.RunConfig(train_distribute=1), ValueError, "not here"),
        (lambda: numpy_input_fn(X), ValueError, "explicitly set as boolean"),
        (lambda: numpy_input_fn({}, shuffle=True), ValueError, "empty dict"),
        (lambda: numpy_input_fn([1], shuffle=True), TypeError, "must be a dict or array"),
        (lambda: numpy_input_fn({"x": X}, Y[:3], shuffle=True), ValueError, "mismatched"),
        (lambda: estimator.DNNClassifier([3], COLUMNS, optimizer="x", n_classes=1), ValueError, "n_classes"),
        (lambda: estimator.LinearClassifier(COLUMNS, "a").evaluate(rows(labels=False)), ValueError,
         "must provide a labels"),
    ],
)  # fmt: skip
def test_arguments_that_fail(make: Any, kind: Any, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(kind, match=said):
        make()


# -- hooks of evaluations ------------------------------------------------------------------------


def test_further_metrics_are_added(tmp_path: Path) -> None:
    model = made(tmp_path).train(rows(None), steps=2)

    def metric_fn(labels: Any, features: Any) -> Any:
        return {"labels": tf.metrics.mean(labels), "x": tf.metrics.mean(features["x"])}

    found = estimator.add_metrics(model, metric_fn).evaluate(rows())
    assert set(found) == {"loss", "mae", "labels", "x", "global_step"}
    assert np.isclose(found["labels"], Y.mean())
    with pytest.raises(ValueError, match="not expected args"):
        estimator.add_metrics(model, lambda other: {})


@for_each(
    "make, ends",
    [
        (lambda m: estimator.experimental.stop_if_lower_hook(m, "loss", 1e9, run_every_secs=None,
                                                             run_every_steps=1), 3),
        (lambda m: estimator.experimental.stop_if_higher_hook(m, "loss", 1e9, run_every_secs=None,
                                                              run_every_steps=1), 9),
        (lambda m: estimator.experimental.stop_if_no_increase_hook(m, "loss", 1, run_every_secs=None,
                                                                   run_every_steps=1), 5),
        (lambda m: estimator.experimental.stop_if_no_decrease_hook(m, "loss", 1, run_every_secs=None,
                                                                   run_every_steps=1), 9),
        (lambda m: estimator.experimental.make_early_stopping_hook(m, lambda: True), 3),
    ],
)  # fmt: skip
def test_training_ends_when_an_evaluation_says_so(tmp_path: Path, make: Any, ends: int) -> None:
    """Two evaluations lie before; the loss decreases."""
    model = made(tmp_path / str(len(os.listdir(tmp_path))))
    model.train(rows(None), steps=1).evaluate(rows())
    model.train(rows(None), steps=1).evaluate(rows())
    model.evaluate(rows(), name="other")
    if ends == 5:
        model.train(rows(None), steps=2).evaluate(rows())
    model.train(rows(None), max_steps=9, hooks=[make(model)])
    assert model.get_variable_value("global_step") == ends


def test_a_hook_evaluates_while_the_model_is_trained(tmp_path: Path) -> None:
    model = made(tmp_path, save_checkpoints_steps=2)
    hook = estimator.experimental.InMemoryEvaluatorHook(model, rows(), every_n_iter=2)
    model.train(rows(None), steps=4, hooks=[hook])
    tf.summary.FileWriterCache.clear()
    steps = [
        event.step
        for file in Path(model.eval_dir()).glob("events*")
        for event in tf.train.summary_iterator(file)
        if event.HasField("summary")
    ]
    assert steps == [2, 4]
    with pytest.raises(ValueError, match="every_n_iter=0"):
        estimator.experimental.InMemoryEvaluatorHook(model, rows(), every_n_iter=0)
    with pytest.raises(TypeError, match="must have type"):
        estimator.experimental.make_early_stopping_hook(3, bool)


@for_each(
    "make, found",
    [
        (
            lambda folder: estimator.DNNRegressor([], COLUMNS, folder, optimizer="Adam"),
            ["dnn/head/beta1_power", "dnn/head/beta2_power", "dnn/logits/bias",
             "dnn/logits/bias/t_0/Adam", "dnn/logits/bias/t_0/Adam_1", "dnn/logits/kernel",
             "dnn/logits/kernel/t_0/Adam", "dnn/logits/kernel/t_0/Adam_1"],
        ),
        (
            lambda folder: estimator.LinearRegressor(COLUMNS, folder, optimizer="Adagrad"),
            ["linear/linear_model/bias_weights", "linear/linear_model/bias_weights/part_0/Adagrad",
             "linear/linear_model/x/weights", "linear/linear_model/x/weights/part_0/Adagrad"],
        ),
        (
            lambda folder: estimator.DNNLinearCombinedRegressor(folder, COLUMNS, "Adagrad"),
            ["linear/linear_model/bias_weights", "linear/linear_model/bias_weights/Adagrad",
             "linear/linear_model/x/weights", "linear/linear_model/x/weights/Adagrad"],
        ),
        (
            lambda d: estimator.BaselineRegressor(d, optimizer="Adagrad"),
            ["baseline/bias", "baseline/bias/Adagrad"],
        ),
    ],
)  # fmt: skip
def test_checkpoints_of_ready_models_have_the_names_of_tensorflow(tmp_path: Path, make: Any, found: list[str]) -> None:
    make(str(tmp_path)).train(rows(), steps=1)
    assert [name for name, _ in tf.train.list_variables(str(tmp_path))] == sorted([*found, "global_step"])


def test_a_baseline_learns_the_mean(tmp_path: Path) -> None:
    model = estimator.BaselineRegressor(str(tmp_path), optimizer=tf.train.GradientDescentOptimizer(0.01))
    model.train(rows(epochs=60), steps=60)
    assert float(model.get_variable_value("baseline/bias")[0]) == pytest.approx(float(Y.mean()), abs=1e-3)


def test_hyperparameters_come_as_they_were_given(tmp_path: Path) -> None:
    def model_fn(features: Any, labels: Any, mode: str, params: Any) -> Any:
        loss = tf.reduce_mean(features) * params.rate
        return estimator.EstimatorSpec(mode, loss=loss, train_op=tf.train.get_global_step().assign_add(1).op)

    given: Any = tf.contrib.training.HParams(rate=2.0, sizes=[1, 2])
    model = estimator.Estimator(model_fn, str(tmp_path), params=given)
    given.rate = 3.0
    kept: Any = model.params
    assert kept.rate == 2.0
    model.train(numpy_input_fn(X, Y, shuffle=False), steps=1)


def test_labels_may_be_a_column_of_a_table() -> None:
    class Series:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.arange(4)

    _, labels = numpy_input_fn({"x": X[:4]}, Series(), shuffle=False)()
    with tf.train.MonitoredSession() as sess:
        assert sess.run(labels).tolist() == [0, 1, 2, 3]
    with pytest.raises(TypeError, match="y must be a dict or array; got str"):
        numpy_input_fn(X, "abc", shuffle=False)


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


def tpu_estimator(folder: Path, **given: Any) -> Any:
    config = tpu.RunConfig(
        model_dir=str(folder), save_checkpoints_steps=10, tpu_config=tpu.TPUConfig(iterations_per_loop=5)
    )
    sizes = {"train_batch_size": 4, "eval_batch_size": 2, "predict_batch_size": 8}
    settings = {"use_tpu": False, "params": {"rate": 0.01}, **sizes, **given}
    return tpu.TPUEstimator(model_fn=model, config=config, **settings)


def test_functions_are_told_the_size_of_batches_of_each_mode(tmp_path: Path) -> None:
    estimator = tpu_estimator(tmp_path)
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
        tpu_estimator(tmp_path, use_tpu=True)
    with pytest.raises(ValueError, match="batch_size are reserved keys"):
        tpu_estimator(tmp_path, params={"batch_size": 3})
    assert tf.estimator.tpu.TPUEstimator is tpu.TPUEstimator


learn: Any = tf.contrib.learn


CLASSES_OF_X = (X.sum(1) > 3).astype(np.int64)


def test_a_classifier_is_fitted_to_arrays(tmp_path: Path) -> None:
    """The numbers are those of TensorFlow 1.15."""
    columns = learn.infer_real_valued_columns_from_input(X)
    model = learn.LinearClassifier(columns, str(tmp_path), optimizer=tf.train.GradientDescentOptimizer(0.1))
    assert model.fit(x=X, y=CLASSES_OF_X, steps=20, batch_size=30) is model
    found = model.evaluate(x=X, y=CLASSES_OF_X, steps=1)
    assert found["accuracy"] == pytest.approx(0.8)
    assert found["loss"] == pytest.approx(0.5954, abs=1e-4)
    assert found["labels/prediction_mean"] == pytest.approx(0.5592, abs=1e-4)
    assert [int(number) for number in model.predict(X[:3])] == [0, 0, 1]
    assert np.allclose(model.predict_proba(X[:2], as_iterable=False), [[0.575, 0.425], [0.511, 0.489]], atol=1e-3)


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
        predicted = tf.reduce_sum(features * tf.get_variable("w", [2], initializer=tf.ones_initializer()), 1)
        if mode == learn.ModeKeys.INFER:
            return learn.ModelFnOps(mode, {"sum": predicted})
        return predicted, tf.losses.mean_squared_error(labels, predicted), tf.train.get_global_step().assign_add(1).op

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
    assert np.array(list(processor.fit_transform(texts))).tolist() == [[1, 2, 3, 4, 0], [1, 5, 6, 2, 7]]
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
        predicted = tf.reduce_sum(x * tf.get_variable("w", [2], initializer=tf.ones_initializer()), 1)
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
    assert learn.MetricSpec(older, "p", "a", "w").create_metric_ops(inputs, labels, predictions) == (4, 1, 3)
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
    model.fit(X, CLASSES_OF_X, steps=40)
    precise = learn.MetricSpec(tf.contrib.metrics.streaming_precision, learn.PredictionKey.CLASSES)
    found = model.evaluate(X, CLASSES_OF_X, metrics={"precise": precise})
    assert found["precise"] == found["precision/positive_threshold_0.500000_mean"]
    right = np.mean(model.predict(X, as_iterable=False) == CLASSES_OF_X)
    assert found["accuracy"] == pytest.approx(right)


def test_training_ends_when_a_monitor_finds_nothing_better(tmp_path: Path) -> None:
    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        predicted = tf.reduce_sum(features * tf.get_variable("w", [2], initializer=tf.ones_initializer()), 1)
        return predicted, tf.losses.mean_squared_error(labels, predicted), tf.train.get_global_step().assign_add(1).op

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
    x, y = tf.constant(X), tf.one_hot(CLASSES_OF_X, 2)
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


contrib: Any = tf.contrib


PAIRS = np.arange(8, dtype=np.float32).reshape(4, 2)


ModeKeys: Any = tf.estimator.ModeKeys


def model_fn(features: Any, labels: Any, mode: str) -> Any:
    w = tf.get_variable("w", [2, 1], initializer=tf.ones_initializer())
    predictions = {"y": tf.matmul(features["x"], w)}
    if mode == ModeKeys.PREDICT:
        output = tf.estimator.export.PredictOutput(predictions)
        return tf.estimator.EstimatorSpec(mode, predictions, export_outputs={"serving_default": output})
    loss = tf.losses.mean_squared_error(labels, predictions["y"])
    optimizer = contrib.estimator.clip_gradients_by_norm(tf.train.GradientDescentOptimizer(1.0), 0.5)
    return tf.estimator.EstimatorSpec(mode, predictions, loss, optimizer.minimize(loss, tf.train.get_global_step()))


def pair_inputs(number: int | None = 1) -> Any:
    features = {"x": PAIRS, "key": np.arange(4)}
    return tf.estimator.inputs.numpy_input_fn(features, np.zeros([4, 1], np.float32), 4, number, shuffle=False)


def receiver() -> Any:
    x = tf.placeholder(tf.float32, [None, 2])
    return tf.estimator.export.ServingInputReceiver({"x": x}, {"x": x})


def test_a_trained_model_is_a_function_of_arrays(tmp_path: Path) -> None:
    model = tf.estimator.Estimator(model_fn, str(tmp_path / "model"))
    model.train(pair_inputs(None), steps=1)
    w = model.get_variable_value("w")
    assert np.linalg.norm(w - 1) == pytest.approx(0.5, rel=1e-5)  # the gradient was cut
    function = contrib.predictor.from_estimator(model, receiver)
    np.testing.assert_allclose(function({"x": PAIRS})["y"], PAIRS @ w, rtol=1e-5)
    named = contrib.predictor.from_estimator(model, receiver, "serving_default")
    assert list(named.fetch_tensors) == ["y"]
    folder = model.export_saved_model(str(tmp_path / "exported"), receiver)
    loaded = contrib.predictor.from_saved_model(folder)
    np.testing.assert_allclose(loaded({"x": PAIRS})["y"], PAIRS @ w, rtol=1e-5)
    assert "'x'" in repr(loaded)
    with pytest.raises(ValueError, match=r"unexpected keys in input_dict: \['z'\]"):
        loaded({"z": PAIRS})
    with pytest.raises(ValueError, match="Available signatures are"):
        contrib.predictor.from_saved_model(folder, "other")
    with pytest.raises(ValueError, match="at most one of"):
        contrib.predictor.from_saved_model(folder, "other", loaded)
    with pytest.raises(ValueError, match="output_key must be one of"):
        contrib.predictor.from_estimator(model, receiver, "other")
    for each in (function, named, loaded):
        each.session.close()


def test_features_are_passed_on_to_predictions(tmp_path: Path) -> None:
    model = tf.estimator.Estimator(model_fn, str(tmp_path))
    forwarding = contrib.estimator.forward_features(model, "key")
    assert [row["key"] for row in forwarding.predict(pair_inputs())] == [0, 1, 2, 3]
    assert sorted(next(iter(contrib.estimator.forward_features(model).predict(pair_inputs())))) == ["key", "x", "y"]
    with pytest.raises(ValueError, match="'z' is none of"):
        next(iter(contrib.estimator.forward_features(model, ["z"]).predict(pair_inputs())))


def test_triplets_are_chosen_farther_than_their_pair() -> None:
    """As TensorFlow 1.15 defines it, one anchor after the other."""
    x = np.random.RandomState(0).randn(9, 4).astype(np.float32)
    labels = np.arange(9) % 3
    distances = np.square(x[:, None] - x).sum(2)
    found = []
    for a in range(9):
        others = distances[a][labels != labels[a]]
        for p in np.flatnonzero((labels == labels[a]) & (np.arange(9) != a)):
            farther = others[others > distances[a, p]]
            negative = farther.min() if len(farther) else others.max()
            found.append(max(0.0, 1.0 + distances[a, p] - negative))
    loss = contrib.losses.metric_learning.triplet_semihard_loss(labels, x)
    gradient = tf.gradients(loss, loss.graph.get_tensor_by_name("Const:0"))
    with tf.Session() as sess:
        assert sess.run(loss) == pytest.approx(np.mean(found), rel=1e-4)
        assert np.isfinite(sess.run(gradient)).all()


def test_pairs_are_near_each_other_or_far_apart() -> None:
    learning = contrib.losses.metric_learning
    anchors = np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0]], np.float32)
    others = np.array([[0.0, 2.0], [0.3, 0.4], [0.0, 1.0]], np.float32)
    pairs = learning.contrastive_loss([1, 0, 0], anchors, others)
    products = learning.npairs_loss([0, 0, 1], anchors, others)
    logits = anchors @ others.T
    wanted = np.array([[0.5, 0.5, 0], [0.5, 0.5, 0], [0, 0, 1]])
    entropy = -(wanted * (logits - np.log(np.exp(logits).sum(1, keepdims=True)))).sum(1).mean()
    length = 0.0005 * (np.square(anchors).sum(1).mean() + np.square(others).sum(1).mean())
    with tf.Session() as sess:
        assert sess.run(pairs) == pytest.approx((4.0 + 0.25 + 0.0) / 3, rel=1e-5)
        assert sess.run(products) == pytest.approx(entropy + length, rel=1e-5)


def test_the_values_of_composite_tensors_are_cast() -> None:
    sparse: Any = tf.cast(tf.SparseTensor([[0, 1]], [2], [2, 2]), tf.float32)
    rows: Any = tf.to_double(tf.IndexedSlices(tf.constant([[1]]), tf.constant([3])))
    assert (sparse.dtype, rows.dtype) == (tf.float32, tf.float64)
    with tf.Session() as sess:
        assert sess.run(tf.sparse_tensor_to_dense(sparse)).tolist() == [[0.0, 2.0], [0.0, 0.0]]
        assert sess.run(rows.indices).tolist() == [3]


fc = tf.feature_column


def run(fetches: Any) -> Any:
    with tf.Session() as session:
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        return session.run(fetches)


CITIES = fc.categorical_column_with_vocabulary_list("city", ["oslo", "rome"])


FEATURES = {"age": np.array([20.0, 60.0]), "city": np.array([["rome"], ["bern"]])}


def test_columns_stand_side_by_side_in_the_order_of_their_names() -> None:
    age = fc.numeric_column("age")
    net = fc.input_layer(FEATURES, [fc.indicator_column(CITIES), age, fc.bucketized_column(age, [30, 50])])
    assert net.shape.as_list() == [2, 6]
    assert run(net).tolist() == [[20, 1, 0, 0, 0, 1], [60, 0, 0, 1, 0, 0]]
    # An id out of range is an error of the step.
    column = fc.indicator_column(fc.categorical_column_with_identity("n", 2))
    with pytest.raises(tf.errors.InvalidArgumentError):
        run(fc.input_layer({"n": [[5]]}, [column]))


def test_shared_embeddings_are_one_variable() -> None:
    home, work = fc.categorical_column_with_identity("home", 3), fc.categorical_column_with_identity("work", 3)
    both = fc.shared_embedding_columns([home, work], 2, initializer=tf.ones_initializer())
    net = fc.input_layer({"home": [[0], [1]], "work": [[2], [2]]}, both)
    assert [v.name for v in tf.global_variables()] == ["input_layer/home_work_shared_embedding/embedding_weights:0"]
    assert run(net).tolist() == [[1.0] * 4] * 2


def test_variables_have_the_names_of_columns() -> None:
    fc.input_layer(FEATURES, [fc.embedding_column(CITIES, 3)])
    fc.linear_model(FEATURES, [fc.numeric_column("age"), CITIES], units=2)
    assert {v.name: v.shape.as_list() for v in tf.global_variables()} == {
        "input_layer/city_embedding/embedding_weights:0": [2, 3],
        "linear_model/age/weights:0": [1, 2],
        "linear_model/city/weights:0": [2, 2],
        "linear_model/bias_weights:0": [2],
    }
    assert tf.get_collection(tf.GraphKeys.MODEL_VARIABLES) == tf.global_variables()


def test_parsed_examples_become_numbers() -> None:
    columns = [
        fc.numeric_column("age", default_value=7.0),
        fc.indicator_column(fc.crossed_column(["city", "job"], 4)),
        fc.indicator_column(CITIES),
    ]
    example = tf.train.Example()
    example.features.feature["city"].bytes_list.value.append(b"rome")
    spec = fc.make_parse_example_spec(columns)
    assert sorted(spec) == ["age", "city", "job"]
    parsed = tf.io.parse_example([example.SerializeToString()], spec)
    assert run(fc.input_layer(parsed, columns)).tolist() == [[7, 0, 0, 0, 0, 0, 1]]


def test_sequences_have_a_row_for_each_step_and_a_length() -> None:
    words = fc.sequence_categorical_column_with_identity("word", 4)
    table = tf.constant_initializer(np.arange(8.0).reshape(4, 2))
    columns = [fc.embedding_column(words, 2, initializer=table), fc.sequence_numeric_column("speed")]
    steps = [[0, 0], [1, 0], [1, 1]]
    features = {
        "word": tf.SparseTensor(steps, np.array([3, 1, 2], np.int64), [2, 2]),
        "speed": tf.SparseTensor(steps, [0.5, 1.5, 2.5], [2, 2]),
    }
    net, lengths = sequence_input_layer(features, columns)
    found = run([net, lengths])
    assert found[1].tolist() == [1, 2]
    assert found[0].tolist() == [[[0.5, 6, 7], [0, 0, 0]], [[1.5, 2, 3], [2.5, 4, 5]]]


def test_what_is_no_column_of_numbers_is_refused() -> None:
    with pytest.raises(ValueError, match="wrap a categorical column"):
        fc.input_layer(FEATURES, [CITIES])
    with pytest.raises(ValueError, match="Duplicate feature column name"):
        fc.input_layer(FEATURES, [fc.numeric_column("age")] * 2)
    with pytest.raises(ValueError, match="Feature x is not in features dictionary"):
        fc.input_layer(FEATURES, [fc.numeric_column("x")])


factorization: Any = tf.contrib.factorization


CENTRES = np.array([[0.0, 5.0], [5.0, 0.0], [-5.0, -5.0]], np.float32)


POINTS = (CENTRES[np.arange(30) % 3] + 0.1 * np.random.RandomState(0).randn(30, 2)).astype("f4")


MEANS = np.array([POINTS[first::3].mean(0) for first in range(3)])


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
    graph = factorization.KMeans(tf.constant(POINTS), 3, POINTS[:3], "cosine").training_graph()
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        sess.run(graph[4])
        sess.run(graph[5])
        np.testing.assert_allclose(np.linalg.norm(sess.run(tf.global_variables("clusters")[0]), axis=1), 1, rtol=1e-5)
        assert sess.run(graph[2][0]).max() < 0.01


def test_an_estimator_of_clusters_is_trained_with_one_epoch_at_a_time(tmp_path: Path) -> None:
    def points() -> Any:
        return tf.train.limit_epochs(tf.constant(POINTS), num_epochs=1)

    model = factorization.KMeansClustering(3, str(tmp_path), POINTS[:3], use_mini_batch=False, relative_tolerance=1e-4)
    for _ in range(3):
        model.train(points)
    means = model.cluster_centers()
    np.testing.assert_allclose(in_order(means), MEANS, atol=1e-4)
    assert [int(number) for number in model.predict_cluster_index(points)] == [0, 1, 2] * 10
    wanted = np.square(POINTS[:, None] - means).sum(2)
    np.testing.assert_allclose(list(model.transform(points)), wanted, atol=1e-3)
    assert model.score(points) == pytest.approx(wanted.min(1).sum(), rel=1e-3)


def test_other_beginnings_and_distances_are_refused() -> None:
    with pytest.raises(ValueError, match="initialization algorithm 'best'"):
        factorization.KMeans(POINTS, 3, "best")
    with pytest.raises(ValueError, match="distance metric 'far'"):
        factorization.KMeans(POINTS, 3, distance_metric="far")
