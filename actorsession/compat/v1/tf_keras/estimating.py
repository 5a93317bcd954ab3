"""``tf.keras.estimator``: an ``Estimator`` of a compiled model of Keras."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import actorsession.compat.v1 as _tf
from actorsession.compat.found_keras import library
from actorsession.compat.v1.tf_keras.calling import phase

__all__ = ["model_to_estimator"]

tf: Any = _tf


def model_to_estimator(
    keras_model: Any = None,
    keras_model_path: str | None = None,
    custom_objects: Any = None,
    model_dir: str | None = None,
    config: Any = None,
    checkpoint_format: str = "saver",
) -> Any:
    """Return an ``Estimator`` that trains, evaluates and exports a model.

    Args:
        keras_model: the model, which is compiled; its weights are those that training begins with. A class
            of a program is made anew with the arguments that this one was made with; its features have the
            names ``input_1``, ``input_2`` and so on if they are a dictionary.
        keras_model_path: the H5 file of a model, instead.
        custom_objects: classes and functions by the names that the file has for them.
        model_dir: where checkpoints and summaries are kept.
        config: a ``RunConfig``.
        checkpoint_format: ``saver``; checkpoints have the names of variables.

    Raises:
        ValueError: without a model, with two, or with one that is not compiled.
    """
    keras = library()
    if (keras_model is None) == (keras_model_path is None):
        raise ValueError("model_to_estimator takes either keras_model or keras_model_path")
    if checkpoint_format not in ("saver", None):
        raise ValueError(f"checkpoint_format: checkpoints of estimators are 'saver', got {checkpoint_format!r}")
    model = keras_model
    if model is None:
        model = keras.models.load_model(keras_model_path, custom_objects=custom_objects)
    if getattr(model, "optimizer", None) is None:
        raise ValueError("the model is not compiled: compile it before model_to_estimator")
    return tf.estimator.Estimator(_ModelFunction(keras, model, custom_objects), model_dir, config)


class _ModelFunction:
    """The model function: builds the model anew on the tensors of features.

    Args:
        keras: the package.
        model: the compiled model.
        custom_objects: what its layers need to be made again.
    """

    def __init__(self, keras: Any, model: Any, custom_objects: Any) -> None:
        self._keras, self._model, self._custom = keras, model, custom_objects or {}
        graph = model.inputs[0].graph if model.inputs else tf.get_default_graph()
        with graph.as_default():
            # Not ``get_weights``, which has them layer by layer.
            self._weights = keras.backend.batch_get_value(model.weights)
            optimizer = model.optimizer
            self._native = getattr(optimizer, "optimizer", None)
            self._config = None if self._native is not None else optimizer.get_config()

    def __call__(self, features: Any, labels: Any, mode: str) -> Any:
        keys = tf.estimator.ModeKeys
        with phase(self._keras, mode == keys.TRAIN):
            model = self._built(features)
            if mode == keys.PREDICT:
                predictions = dict(zip(model.output_names, model.outputs, strict=True))
                served = tf.estimator.export.PredictOutput(predictions)
                return tf.estimator.EstimatorSpec(
                    mode, predictions=predictions, export_outputs={"serving_default": served}
                )
            with _local(kept=[*model.weights, tf.train.get_or_create_global_step()], if_=mode == keys.EVAL):
                self._compile(model, labels, measured=mode == keys.EVAL)
                if mode == keys.EVAL:
                    return tf.estimator.EstimatorSpec(
                        mode, loss=model.total_loss, eval_metric_ops=dict(_metrics(model))
                    )
            return tf.estimator.EstimatorSpec(
                mode, loss=model.total_loss, train_op=self._train(model), scaffold=self._begun(model)
            )

    def _built(self, features: Any) -> Any:
        """Return the model on the tensors of features."""
        keras = self._keras
        with keras.utils.CustomObjectScope(self._custom):
            if not self._model._is_graph_network:
                count = len(features) if isinstance(features, dict) else 0
                names = [f"input_{number}" for number in range(1, count + 1)]
                model = _anew(keras, self._model)
                model._set_inputs([_as_float(tensor) for tensor in _in_order(features, names)])
                return model
            tensors = _in_order(features, self._model.input_names)
            inputs = [
                tf.cast(tensor, of.dtype) if tensor.dtype != of.dtype else tensor
                for tensor, of in zip(tensors, self._model.inputs, strict=True)
            ]
            return keras.models.clone_model(self._model, inputs if len(inputs) > 1 else inputs[0])

    def _compile(self, model: Any, labels: Any, measured: bool) -> None:
        targets = []
        tensors = _in_order(labels, model.output_names, "labels")
        for tensor, output in zip(tensors, model.outputs, strict=True):
            target = tf.cast(tensor, output.dtype)
            targets.append(tf.expand_dims(target, -1) if target.shape.ndims == 1 else target)
        optimizer = self._native
        if optimizer is None:
            optimizer = type(self._model.optimizer).from_config(dict(self._config or {}))
        metrics = getattr(self._model, "_compile_metrics", getattr(self._model, "metrics", None))
        model.compile(
            optimizer,
            self._model.loss,
            metrics=metrics if measured else None,
            loss_weights=self._model.loss_weights,
            target_tensors=targets,
        )

    def _train(self, model: Any) -> Any:
        step, weights = tf.train.get_or_create_global_step(), model._collected_trainable_weights
        if self._native is not None:
            grads = self._native.compute_gradients(model.total_loss, weights)
            return tf.group(self._native.apply_gradients(grads, step), *model.updates)
        updates = model.optimizer.get_updates(loss=model.total_loss, params=weights)
        return tf.group(*updates, *model.updates, step.assign_add(1))

    def _begun(self, model: Any) -> Any:
        """Return a scaffold that begins with the weights of the model that was given."""

        def load(scaffold: Any, session: Any) -> None:
            for variable, value in zip(model.weights, self._weights, strict=True):
                variable.load(value, session)

        return tf.train.Scaffold(init_fn=load if self._weights else None)


def _anew(keras: Any, value: Any) -> Any:
    """Return a model, or layers in a structure, without the weights and tensors that belong to a graph."""
    if isinstance(value, (list, tuple)) and not hasattr(value, "_fields"):
        return type(value)(_anew(keras, item) for item in value)
    if isinstance(value, dict):
        return {key: _anew(keras, item) for key, item in value.items()}
    if not isinstance(value, keras.engine.base_layer.Layer):
        return value
    is_network = isinstance(value, keras.engine.network.Network)
    if is_network and value._is_graph_network:
        return keras.models.clone_model(value)
    if is_network and not isinstance(value, keras.models.Sequential):
        args, kwargs = value._arguments
        return type(value)(*_anew(keras, args), **_anew(keras, kwargs))
    return type(value).from_config(value.get_config())


def _as_float(tensor: Any) -> Any:
    """Return a tensor, a float in Keras' type of floats."""
    kind = tf.as_dtype(tf.keras.backend.floatx())
    return tf.cast(tensor, kind) if tensor.dtype.is_floating and tensor.dtype != kind else tensor


def _in_order(tensors: Any, names: list[str], what: str = "features") -> list[Any]:
    """Return tensors in the order of a model's inputs or outputs."""
    if isinstance(tensors, dict):
        if missing := [name for name in names if name not in tensors]:
            raise ValueError(
                f"{what}: the model has {', '.join(names)}, the input function gives "
                f"{', '.join(sorted(tensors))}; {', '.join(missing)} missing"
            )
        return [tf.convert_to_tensor(tensors[name]) for name in names]
    items = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
    if names and len(items) != len(names):
        raise ValueError(f"{what}: the model has {len(names)}, the input function gives {len(items)}")
    return [tf.convert_to_tensor(item) for item in items]


def _metrics(model: Any) -> Iterator[tuple[str, Any]]:
    """Yield the metrics of a compiled model, by name, as values with their updates."""
    if hasattr(model, "_get_training_eval_metrics"):
        for metric in model._get_training_eval_metrics():
            yield metric.name, (metric.result(), tf.group(*metric.updates))
        return
    for name, tensor in zip(model.metrics_names[1:], model.metrics_tensors, strict=True):
        yield name, tf.metrics.mean(tensor)


@contextlib.contextmanager
def _local(kept: list[Any], if_: bool) -> Iterator[None]:
    """Make the variables of a block local ones, which no checkpoint has."""
    yield
    if not if_:
        return
    variables = tf.get_collection_ref(tf.GraphKeys.GLOBAL_VARIABLES)
    moved = [item for item in variables if not any(item is one for one in kept)]
    variables[:] = [item for item in variables if any(item is one for one in kept)]
    tf.get_collection_ref(tf.GraphKeys.LOCAL_VARIABLES).extend(moved)
