"""The estimators from before ``tf.estimator``, whose methods take arrays as well.

They are estimators of ``tf.estimator`` with ``fit`` and ``predict`` in the older form. Losses of batches are
means here, as they were there.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import actorsession.compat.v1 as tf
from actorsession.compat.v1 import estimator
from actorsession.compat.v1.contrib.learn.learn_runner import argument_names
from actorsession.compat.v1.contrib.learn.monitors import replace_monitors_with_hooks
from actorsession.compat.v1.estimator.run_config import RunConfig as _RunConfig
from actorsession.compat.v1.estimator.specs import EstimatorSpec
from actorsession.compat.v1.feature_column.dense import numeric_column
from actorsession.graph.dtypes import as_dtype

__all__ = [
    "DNNClassifier",
    "DNNLinearCombinedClassifier",
    "DNNLinearCombinedRegressor",
    "DNNRegressor",
    "Estimator",
    "Experiment",
    "LinearClassifier",
    "LinearRegressor",
    "MetricSpec",
    "ModeKeys",
    "ModelFnOps",
    "PredictionKey",
    "RunConfig",
    "SKCompat",
    "infer_real_valued_columns_from_input",
    "infer_real_valued_columns_from_input_fn",
]

# The key of features that are a single array.
_ONLY = "x"
_MEAN = "weighted_sum_over_batch_size"
_ABSENT: Any = object()


class ModeKeys:
    """What a model function is called for."""

    TRAIN, EVAL, INFER = "train", "eval", "infer"


class PredictionKey:
    """Keys of predictions."""

    CLASSES, PROBABILITIES, LOGITS = "classes", "probabilities", "logits"
    LOGISTIC, SCORES, GENERIC = "logistic", "scores", "output"


class ModelFnOps(NamedTuple):
    """What a model function returns.

    Attributes:
        mode: one of ``ModeKeys``.
        predictions: tensors by key, or one.
        loss: the loss.
        train_op: the operation of a step.
        eval_metric_ops: metrics by name.
        output_alternatives: accepted for compatibility.
        training_chief_hooks: hooks of the chief's training.
        training_hooks: hooks of training.
        scaffold: the scaffold of the session.
    """

    mode: str
    predictions: Any = None
    loss: Any = None
    train_op: Any = None
    eval_metric_ops: Any = None
    output_alternatives: Any = None
    training_chief_hooks: Any = None
    training_hooks: Any = None
    scaffold: Any = None

    def estimator_spec(self, default_serving_output_alternative_key: str | None = None) -> Any:
        """Return the same as an ``EstimatorSpec``."""
        return EstimatorSpec(
            self.mode,
            self.predictions,
            self.loss,
            self.train_op,
            self.eval_metric_ops,
            training_chief_hooks=self.training_chief_hooks,
            training_hooks=self.training_hooks,
            scaffold=self.scaffold,
        )


class MetricSpec(NamedTuple):
    """A metric of an evaluation.

    Attributes:
        metric_fn: a function of ``tf.metrics``.
        prediction_key: key of the prediction that it takes; the only one if omitted.
        label_key: key of the label; the only one if omitted.
        weight_key: key of the feature with the weights.
    """

    metric_fn: Callable[..., Any]
    prediction_key: str | None = None
    label_key: str | None = None
    weight_key: str | None = None

    def create_metric_ops(self, inputs: Any, labels: Any, predictions: Any) -> Any:
        """Return the value of the metric and its update.

        Args:
            inputs: the features.
            labels: the labels.
            predictions: the predictions.
        """
        tensors = {"predictions": _of(predictions, self.prediction_key), "labels": _of(labels, self.label_key)}
        if self.weight_key is not None:
            tensors["weights"] = inputs[self.weight_key]
        names = list(inspect.signature(self.metric_fn).parameters)
        named = {_NAMED.get(name, name): name for name in names}
        if "predictions" in named and "labels" in named:
            return self.metric_fn(**{named.get(key, key): value for key, value in tensors.items()})
        # Functions of two arguments that are called otherwise take them in this order.
        order = [tensors.pop("predictions"), tensors.pop("labels")]
        return self.metric_fn(*order[: max(1, len(names))], **tensors)


# What the arguments of metrics were called, besides predictions, labels and weights.
_NAMED = {
    "label": "labels",
    "target": "labels",
    "targets": "labels",
    "y": "labels",
    "prediction": "predictions",
    "y_pred": "predictions",
    "y_hat": "predictions",
    "weight": "weights",
}


def _of(tensors: Any, key: str | None) -> Any:
    if not isinstance(tensors, Mapping):
        return tensors
    if key is None:
        if len(tensors) != 1:
            raise ValueError(f"a key is needed to choose one of {sorted(tensors)}")
        return next(iter(tensors.values()))
    return tensors[key]


def infer_real_valued_columns_from_input(x: Any) -> list[Any]:
    """Return the columns of an array of floats, or of several by key.

    Args:
        x: an array, or arrays by key.
    """
    arrays = x if isinstance(x, Mapping) else {_ONLY: x}
    return [
        numeric_column(key, shape=array.shape[1:] or (1,), dtype=as_dtype(array.dtype))
        for key, array in sorted(arrays.items())
    ]


def infer_real_valued_columns_from_input_fn(input_fn: Callable[[], Any]) -> list[Any]:
    """Return the columns of the features that a function makes.

    Args:
        input_fn: makes features and labels.
    """
    with tf.Graph().as_default():
        features, _ = input_fn()
        return infer_real_valued_columns_from_input(features)


class _Arrays:
    """The older methods, over those of ``tf.estimator``."""

    def fit(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Any = None,
        steps: int | None = None,
        batch_size: int | None = None,
        monitors: Sequence[Any] | None = None,
        max_steps: int | None = None,
    ) -> Any:
        """Train on arrays, or on what a function gives; returns the estimator.

        Args:
            x: features, an array or arrays by key.
            y: labels.
            input_fn: makes features and labels instead.
            steps: how many steps.
            batch_size: rows of a batch of arrays; all if omitted.
            monitors: hooks.
            max_steps: the global step to end at, instead.
        """
        data = _input_fn(x, y, input_fn, batch_size, endless=True)
        hooks = replace_monitors_with_hooks(monitors, self)
        return super().train(data, hooks, steps, max_steps)  # type: ignore[misc]

    def partial_fit(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Any = None,
        steps: int | None = 1,
        batch_size: int | None = None,
        monitors: Sequence[Any] | None = None,
    ) -> Any:
        """Train on a part of the data; arguments as for ``fit``."""
        return self.fit(x, y, input_fn, steps, batch_size, monitors)

    def evaluate(
        self,
        x: Any = None,
        y: Any = None,
        input_fn: Any = None,
        feed_fn: Any = None,
        batch_size: int | None = None,
        steps: int | None = None,
        metrics: Mapping[str, Any] | None = None,
        name: str | None = None,
        checkpoint_path: str | None = None,
        hooks: Any = None,
        log_progress: bool = True,
    ) -> dict[str, Any]:
        """Return metrics on arrays, or on what a function gives.

        Args:
            x: features, an array or arrays by key.
            y: labels.
            input_fn: makes features and labels instead.
            feed_fn: accepted for compatibility.
            batch_size: rows of a batch of arrays; all if omitted.
            steps: how many batches.
            metrics: further metrics, ``MetricSpec`` by name.
            name: name of the evaluation.
            checkpoint_path: the checkpoint; the latest if omitted.
            hooks: further hooks.
            log_progress: accepted for compatibility.
        """
        data = _input_fn(x, y, input_fn, batch_size, endless=False)
        self._asked: Mapping[str, Any] = metrics or {}
        try:
            values: dict[str, Any] = super().evaluate(  # type: ignore[misc]
                data, steps, hooks, checkpoint_path, name
            )
        finally:
            self._asked = {}
        return values

    def predict(
        self,
        x: Any = None,
        input_fn: Any = None,
        batch_size: int | None = None,
        outputs: Any = None,
        as_iterable: bool = True,
    ) -> Any:
        """Return the predictions for arrays, or for what a function gives.

        Args:
            x: features, an array or arrays by key.
            input_fn: makes features instead.
            batch_size: rows of a batch of arrays; all if omitted.
            outputs: keys of the predictions.
            as_iterable: whether they come one by one; else as arrays.
        """
        data = _input_fn(x, None, input_fn, batch_size, endless=False)
        rows: Iterator[Any] = super().predict(data, outputs)  # type: ignore[misc]
        if as_iterable:
            return rows
        listed = list(rows)
        if listed and isinstance(listed[0], Mapping):
            return {key: np.array([row[key] for row in listed]) for key in listed[0]}
        return np.array(listed)


def _input_fn(x: Any, y: Any, input_fn: Any, batch_size: int | None, *, endless: bool) -> Any:
    if input_fn is not None:
        if x is not None or y is not None:
            raise ValueError("Can not provide both input_fn and x or y.")
        return input_fn
    if x is None:
        raise ValueError("Either x or input_fn must be provided.")
    arrays = {k: np.asarray(v) for k, v in x.items()} if isinstance(x, Mapping) else np.asarray(x)
    labels = None if y is None else np.asarray(y)
    size = len(next(iter(arrays.values())) if isinstance(arrays, dict) else arrays)
    return estimator.inputs.numpy_input_fn(
        arrays, labels, batch_size or size, num_epochs=None if endless else 1, shuffle=False
    )


class Estimator(_Arrays, estimator.Estimator):  # type: ignore[misc]
    """A model that is defined by a function of features, labels and, if it names them, mode and params.

    Args:
        model_fn: it returns ``ModelFnOps``, an ``EstimatorSpec``, or predictions, loss and step.
        model_dir: the folder of checkpoints.
        config: the settings.
        params: hyperparameters.
        feature_engineering_fn: from features and labels to others.
    """

    def __init__(
        self,
        model_fn: Any = None,
        model_dir: Any = None,
        config: Any = None,
        params: Any = None,
        feature_engineering_fn: Any = None,
    ) -> None:
        self._asked = {}
        self._labels: Any = None
        self._engineering = feature_engineering_fn
        # Features and labels are given by position, so that their names are free.
        super().__init__(_any_model, model_dir, config, params)
        self._model_fn = model_fn

    def _call_model_fn(self, features: Any, labels: Any, mode: str, config: Any) -> Any:
        if self._engineering is not None:
            features, labels = self._engineering(features, labels)
        if labels is not None:
            self._labels = _kinds(labels)
        elif self._labels is not None:
            # Model functions of that time build the loss for predictions as well.
            labels = _placeholders(self._labels)
        spec = self._model_fn(features, labels, **self._argument_values(mode, config))
        if isinstance(spec, ModelFnOps):
            spec = spec.estimator_spec()
        elif not isinstance(spec, EstimatorSpec):
            predictions, loss, train_op = spec
            spec = EstimatorSpec(mode, predictions, loss, train_op)
        return _with_metrics(spec, self._asked, features, labels)

    def _argument_values(self, mode: str, config: Any) -> dict[str, Any]:
        names = argument_names(self._model_fn)
        values = {"mode": mode, "params": self.params, "config": config, "model_dir": self.model_dir}
        return {key: value for key, value in values.items() if key in names}


def _kinds(labels: Any) -> Any:
    """The element types and shapes of labels, which may be several by key."""
    if isinstance(labels, Mapping):
        return {key: _kinds(each) for key, each in labels.items()}
    return labels.dtype, labels.shape.as_list() if labels.shape.ndims is not None else None


def _placeholders(kinds: Any) -> Any:
    if isinstance(kinds, Mapping):
        return {key: _placeholders(each) for key, each in kinds.items()}
    dtype, shape = kinds
    return tf.placeholder(dtype, shape if not shape else [None, *shape[1:]])


def _any_model(features: Any, labels: Any, mode: Any, params: Any, config: Any) -> Any:
    """The arguments of a model function that an estimator knows."""


def _with_metrics(spec: Any, asked: Mapping[str, Any], features: Any, labels: Any) -> Any:
    if spec.mode != ModeKeys.EVAL or not asked:
        return spec
    more = {name: metric.create_metric_ops(features, labels, spec.predictions) for name, metric in asked.items()}
    return spec._replace(eval_metric_ops={**spec.eval_metric_ops, **more})


class _Ready(_Arrays):
    """What ready models of this form share."""

    _asked: Mapping[str, Any] = {}

    def _call_model_fn(self, features: Any, labels: Any, mode: str, config: Any) -> Any:
        by_name = features if isinstance(features, Mapping) else {_ONLY: features}
        spec = super()._call_model_fn(dict(by_name), labels, mode, config)  # type: ignore[misc]
        spec = spec._replace(predictions=self._predicted(spec.predictions))
        if mode == ModeKeys.EVAL:
            spec = spec._replace(eval_metric_ops=self._older(spec.eval_metric_ops))
        return _with_metrics(spec, self._asked, features, labels)

    def _predicted(self, predictions: Mapping[str, Any]) -> dict[str, Any]:
        """Return predictions under the names of that time."""
        raise NotImplementedError

    def _older(self, metrics: Mapping[str, Any]) -> dict[str, Any]:
        """Return metrics under the names of that time."""
        return {_OLDER.get(name, name): pair for name, pair in metrics.items() if name not in _YOUNGER}


_OLDER = {
    "label/mean": "labels/actual_label_mean",
    "prediction/mean": "labels/prediction_mean",
    "precision": "precision/positive_threshold_0.500000_mean",
    "recall": "recall/positive_threshold_0.500000_mean",
}
_YOUNGER = {"average_loss", "accuracy_baseline"}


class _Classifier(_Ready):
    def _predicted(self, predictions: Mapping[str, Any]) -> dict[str, Any]:
        kept = {key: predictions[key] for key in ("logits", "logistic", "probabilities") if key in predictions}
        return {**kept, "classes": tf.squeeze(predictions["class_ids"], [-1])}

    def predict(
        self,
        x: Any = None,
        input_fn: Any = None,
        batch_size: int | None = None,
        outputs: Any = None,
        as_iterable: bool = True,
    ) -> Any:
        """Return the classes, or the predictions of some keys."""
        if outputs is not None:
            return super().predict(x, input_fn, batch_size, outputs, as_iterable)
        return self.predict_classes(x, input_fn, batch_size, as_iterable)

    def predict_classes(
        self, x: Any = None, input_fn: Any = None, batch_size: int | None = None, as_iterable: bool = True
    ) -> Any:
        """Return the number of the class of each example; arguments as for ``predict``."""
        classes = self._one("classes", x, input_fn, batch_size)
        return classes if as_iterable else np.array(list(classes))

    def predict_proba(
        self, x: Any = None, input_fn: Any = None, batch_size: int | None = None, as_iterable: bool = True
    ) -> Any:
        """Return the probabilities of the classes of each example; arguments as for ``predict``."""
        probabilities = self._one("probabilities", x, input_fn, batch_size)
        return probabilities if as_iterable else np.array(list(probabilities))

    def _one(self, key: str, x: Any, input_fn: Any, batch_size: int | None) -> Iterator[Any]:
        return (row[key] for row in super().predict(x, input_fn, batch_size, [key]))

    def _older(self, metrics: Mapping[str, Any]) -> dict[str, Any]:
        older = super()._older(metrics)
        if "labels/actual_label_mean" in older:
            older["accuracy/baseline_label_mean"] = older["labels/actual_label_mean"]
            older["accuracy/threshold_0.500000_mean"] = older["accuracy"]
        return older


class _Regressor(_Ready):
    def _predicted(self, predictions: Mapping[str, Any]) -> dict[str, Any]:
        scores = predictions["predictions"]
        return {"scores": tf.squeeze(scores, [1]) if scores.shape[-1] == 1 else scores}

    def _older(self, metrics: Mapping[str, Any]) -> dict[str, Any]:
        return {}  # there was the loss alone

    def predict(
        self,
        x: Any = None,
        input_fn: Any = None,
        batch_size: int | None = None,
        outputs: Any = None,
        as_iterable: bool = True,
    ) -> Any:
        """Return the predicted number of each example, or the predictions of some keys."""
        if outputs is not None:
            return super().predict(x, input_fn, batch_size, outputs, as_iterable)
        rows = super().predict(x, input_fn, batch_size, ["scores"])
        scores = (row["scores"] for row in rows)
        return scores if as_iterable else np.array(list(scores))

    predict_scores = predict


class LinearClassifier(_Classifier, estimator.LinearClassifier):  # type: ignore[misc]
    """A linear classifier.

    Args:
        feature_columns: the columns.
        model_dir: the folder of checkpoints.
        n_classes: how many classes there are.
        weight_column_name: key of the weights of examples.
        optimizer: an optimiser, or its name.
        config: the settings.
        others: accepted for compatibility.
    """

    def __init__(
        self,
        feature_columns: Any,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column_name: str | None = None,
        optimizer: Any = None,
        config: Any = None,
        **others: Any,
    ) -> None:
        super().__init__(
            feature_columns,
            model_dir,
            n_classes,
            weight_column_name,
            None,
            optimizer or "Ftrl",
            config,
            loss_reduction=_MEAN,
        )


class LinearRegressor(_Regressor, estimator.LinearRegressor):  # type: ignore[misc]
    """A linear regressor; arguments as for ``LinearClassifier``, with ``label_dimension`` instead."""

    def __init__(
        self,
        feature_columns: Any,
        model_dir: Any = None,
        weight_column_name: str | None = None,
        optimizer: Any = None,
        label_dimension: int = 1,
        config: Any = None,
        **others: Any,
    ) -> None:
        super().__init__(
            feature_columns,
            model_dir,
            label_dimension,
            weight_column_name,
            optimizer or "Ftrl",
            config,
            loss_reduction=_MEAN,
        )


class DNNClassifier(_Classifier, estimator.DNNClassifier):  # type: ignore[misc]
    """A classifier of dense layers.

    Args:
        hidden_units: units of each hidden layer.
        feature_columns: the columns.
        model_dir: the folder of checkpoints.
        n_classes: how many classes there are.
        weight_column_name: key of the weights of examples.
        optimizer: an optimiser, or its name.
        activation_fn: activation of hidden layers; ``relu`` if omitted.
        dropout: share of activations that are dropped in training.
        config: the settings.
        others: accepted for compatibility.
    """

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Any,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column_name: str | None = None,
        optimizer: Any = None,
        activation_fn: Any = None,
        dropout: float | None = None,
        config: Any = None,
        **others: Any,
    ) -> None:
        super().__init__(
            hidden_units,
            feature_columns,
            model_dir,
            n_classes,
            weight_column_name,
            optimizer=optimizer or "Adagrad",
            activation_fn=activation_fn,
            dropout=dropout,
            config=config,
            loss_reduction=_MEAN,
        )


class DNNRegressor(_Regressor, estimator.DNNRegressor):  # type: ignore[misc]
    """A regressor of dense layers; arguments as for ``DNNClassifier``, with ``label_dimension`` instead."""

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Any,
        model_dir: Any = None,
        weight_column_name: str | None = None,
        optimizer: Any = None,
        activation_fn: Any = None,
        dropout: float | None = None,
        label_dimension: int = 1,
        config: Any = None,
        **others: Any,
    ) -> None:
        super().__init__(
            hidden_units,
            feature_columns,
            model_dir,
            label_dimension,
            weight_column_name,
            optimizer=optimizer or "Adagrad",
            activation_fn=activation_fn,
            dropout=dropout,
            config=config,
            loss_reduction=_MEAN,
        )


class DNNLinearCombinedClassifier(_Classifier, estimator.DNNLinearCombinedClassifier):  # type: ignore[misc]
    """A classifier that is linear and deep; arguments as for both, with ``linear_`` and ``dnn_`` in front."""

    def __init__(
        self,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column_name: str | None = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = None,
        _joint_linear_weights: bool = False,
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = None,
        dnn_hidden_units: Any = None,
        dnn_activation_fn: Any = tf.nn.relu,
        dnn_dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        config: Any = None,
        **others: Any,
    ) -> None:
        super().__init__(
            model_dir,
            linear_feature_columns,
            linear_optimizer or "Ftrl",
            dnn_feature_columns,
            dnn_optimizer or "Adagrad",
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            n_classes,
            weight_column_name,
            config=config,
            loss_reduction=_MEAN,
        )


class DNNLinearCombinedRegressor(_Regressor, estimator.DNNLinearCombinedRegressor):  # type: ignore[misc]
    """A regressor that is linear and deep; see ``DNNLinearCombinedClassifier``."""

    def __init__(
        self,
        model_dir: Any = None,
        weight_column_name: str | None = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = None,
        _joint_linear_weights: bool = False,
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = None,
        dnn_hidden_units: Any = None,
        dnn_activation_fn: Any = tf.nn.relu,
        dnn_dropout: float | None = None,
        gradient_clip_norm: float | None = None,
        enable_centered_bias: bool = False,
        label_dimension: int = 1,
        config: Any = None,
        **others: Any,
    ) -> None:
        super().__init__(
            model_dir,
            linear_feature_columns,
            linear_optimizer or "Ftrl",
            dnn_feature_columns,
            dnn_optimizer or "Adagrad",
            dnn_hidden_units,
            dnn_activation_fn,
            dnn_dropout,
            label_dimension,
            weight_column_name,
            config=config,
            loss_reduction=_MEAN,
        )


class RunConfig(_RunConfig):
    """The settings of an estimator, in the older form.

    Args:
        master: accepted for compatibility: the address is that of ``TF_CONFIG``.
        num_cores: threads of a session; as many as there are processors if 0.
        log_device_placement: whether sessions say where operations are.
        gpu_memory_fraction: share of a device's memory.
        tf_random_seed: the seed of the graph.
        save_summary_steps: steps between two summaries.
        save_checkpoints_secs: seconds between two checkpoints; 600 if neither is given.
        save_checkpoints_steps: steps between two checkpoints.
        keep_checkpoint_max: how many checkpoints are kept.
        keep_checkpoint_every_n_hours: hours after which a checkpoint is kept for good.
        log_step_count_steps: steps between two log lines.
        protocol: accepted for compatibility.
        evaluation_master: accepted for compatibility.
        model_dir: the folder of checkpoints and summaries.
        session_config: settings of sessions, instead of those above.
        session_creation_timeout_secs: how long workers wait for the chief.
    """

    def __init__(
        self,
        master: str | None = None,
        num_cores: int = 0,
        log_device_placement: bool = False,
        gpu_memory_fraction: float = 1,
        tf_random_seed: int | None = None,
        save_summary_steps: int | None = 100,
        save_checkpoints_secs: Any = _ABSENT,
        save_checkpoints_steps: int | None = None,
        keep_checkpoint_max: int | None = 5,
        keep_checkpoint_every_n_hours: float = 10000,
        log_step_count_steps: int | None = 100,
        protocol: str | None = None,
        evaluation_master: str = "",
        model_dir: Any = None,
        session_config: Any = None,
        session_creation_timeout_secs: float = 7200,
    ) -> None:
        if save_checkpoints_secs is _ABSENT:
            save_checkpoints_secs = None if save_checkpoints_steps else 600
        self._tf_config = tf.ConfigProto(
            log_device_placement=log_device_placement,
            inter_op_parallelism_threads=num_cores,
            intra_op_parallelism_threads=num_cores,
            gpu_options=tf.GPUOptions(per_process_gpu_memory_fraction=gpu_memory_fraction),
        )
        super().__init__(
            model_dir,
            tf_random_seed,
            save_summary_steps,
            save_checkpoints_steps,
            save_checkpoints_secs,
            session_config or self._tf_config,
            keep_checkpoint_max,
            keep_checkpoint_every_n_hours,
            log_step_count_steps,
            protocol=protocol,
            session_creation_timeout_secs=session_creation_timeout_secs,
        )

    @property
    def tf_config(self) -> Any:
        """The settings of sessions."""
        return self._tf_config


class SKCompat:
    """An estimator in the form of scikit-learn: ``fit``, ``score`` and ``predict`` on arrays.

    Args:
        estimator: the estimator.
    """

    def __init__(self, estimator: Any) -> None:
        self._estimator = estimator

    def fit(
        self,
        x: Any,
        y: Any,
        batch_size: int = 128,
        steps: int | None = None,
        max_steps: int | None = None,
        monitors: Any = None,
    ) -> SKCompat:
        """Train on arrays; arguments as for ``Estimator.fit``."""
        self._estimator.fit(x, y, None, steps, batch_size, monitors, max_steps)
        return self

    def score(
        self,
        x: Any,
        y: Any,
        batch_size: int = 128,
        steps: int | None = None,
        metrics: Any = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """Return the metrics on arrays; arguments as for ``Estimator.evaluate``."""
        values: dict[str, Any] = self._estimator.evaluate(
            x, y, batch_size=batch_size, steps=steps, metrics=metrics, name=name
        )
        return values

    def predict(self, x: Any, batch_size: int = 128, outputs: Any = None) -> Any:
        """Return the predictions for arrays, as arrays."""
        return self._estimator.predict(x, batch_size=batch_size, outputs=outputs, as_iterable=False)


class Experiment:
    """An estimator with its input functions, for ``learn_runner.run``.

    Args:
        estimator: the estimator.
        train_input_fn: makes the input of training.
        eval_input_fn: makes the input of evaluations.
        eval_metrics: further metrics, for estimators of this package.
        train_steps: the global step to end at.
        eval_steps: batches of an evaluation; all if ``None``.
        train_monitors: hooks of training.
        eval_hooks: hooks of evaluations.
        others: accepted for compatibility.
    """

    def __init__(
        self,
        estimator: Any,
        train_input_fn: Callable[[], Any],
        eval_input_fn: Callable[[], Any],
        eval_metrics: Any = None,
        train_steps: int | None = None,
        eval_steps: int | None = 100,
        train_monitors: Any = None,
        eval_hooks: Any = None,
        **others: Any,
    ) -> None:
        self.estimator = estimator
        self._inputs = (train_input_fn, eval_input_fn)
        self._metrics = eval_metrics
        self.train_steps, self.eval_steps = train_steps, eval_steps
        self._hooks = (list(train_monitors or ()), list(eval_hooks or ()))

    def train(self, delay_secs: float | None = None) -> Any:
        """Train, and return the estimator."""
        return self.estimator.train(self._inputs[0], hooks=self._hooks[0], max_steps=self.train_steps)

    def evaluate(self, delay_secs: float | None = None, name: str | None = None) -> Any:
        """Return the metrics of the latest checkpoint."""
        more = {} if self._metrics is None else {"metrics": self._metrics}
        return self.estimator.evaluate(
            input_fn=self._inputs[1], steps=self.eval_steps, hooks=self._hooks[1], name=name, **more
        )

    def train_and_evaluate(self) -> Any:
        """Train, and return the metrics and the exports, of which there are none."""
        self.train()
        return self.evaluate(), []
