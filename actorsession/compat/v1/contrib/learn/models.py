"""``tf.contrib.learn.models`` and ``ops``: linear models and embeddings from before estimators."""

from __future__ import annotations

from typing import Any

import actorsession.compat.v1 as tf

__all__ = [
    "categorical_variable",
    "embedding_lookup",
    "linear_regression",
    "linear_regression_zero_init",
    "logistic_regression",
    "logistic_regression_zero_init",
    "mean_squared_error_regressor",
    "softmax_classifier",
]


def embedding_lookup(params: Any, ids: Any, name: str = "embedding_lookup") -> Any:
    """Return the rows of a table by their numbers, whatever shape those have.

    Args:
        params: the table.
        ids: the numbers.
        name: name of the operation.
    """
    return tf.nn.embedding_lookup(params, ids, name=name)


def categorical_variable(tensor_in: Any, n_classes: int, embedding_size: int, name: str) -> Any:
    """Return a row of a new table for each class.

    Args:
        tensor_in: numbers of classes.
        n_classes: how many there are.
        embedding_size: the length of a row.
        name: name of the scope of the table.
    """
    with tf.variable_scope(name):
        table = tf.get_variable(f"{name}_embeddings", [n_classes, embedding_size])
        return embedding_lookup(table, tensor_in)


def mean_squared_error_regressor(
    tensor_in: Any, labels: Any, weights: Any, biases: Any, name: str | None = None
) -> tuple[Any, Any]:
    """Return the predictions of a linear model, and their mean squared error.

    Args:
        tensor_in: the features.
        labels: what is to be predicted.
        weights: the weights.
        biases: the biases.
        name: name of the scope.
    """
    with tf.name_scope(name, "mean_squared_error_regressor", [tensor_in, labels]):
        predicted = tf.nn.xw_plus_b(tensor_in, weights, biases)
        if labels.shape.ndims == 1:
            predicted = tf.squeeze(predicted, [1])
        return predicted, tf.losses.mean_squared_error(labels, predicted)


def softmax_classifier(
    tensor_in: Any, labels: Any, weights: Any, biases: Any, class_weight: Any = None, name: str | None = None
) -> tuple[Any, Any]:
    """Return the probabilities of classes by a linear model, and the cross entropy.

    Args:
        tensor_in: the features.
        labels: rows with one 1.
        weights: the weights.
        biases: the biases.
        class_weight: a factor for each class.
        name: name of the scope.
    """
    with tf.name_scope(name, "softmax_classifier", [tensor_in, labels]):
        logits = tf.nn.xw_plus_b(tensor_in, weights, biases)
        if class_weight is not None:
            logits = tf.multiply(logits, class_weight)
        return tf.nn.softmax(logits), tf.losses.softmax_cross_entropy(labels, logits)


def linear_regression(x: Any, y: Any, init_mean: float | None = None, init_stddev: float = 1.0) -> tuple[Any, Any]:
    """Return the predictions of a new linear model, and their mean squared error.

    Args:
        x: the features.
        y: what is to be predicted.
        init_mean: mean of the first values; they are even on both sides of zero if omitted.
        init_stddev: their deviation.
    """
    width = 1 if y.shape.ndims == 1 else y.shape[1]
    with tf.variable_scope("linear_regression"):
        return mean_squared_error_regressor(x, y, *_linear(x, y, width, init_mean, init_stddev))


def logistic_regression(
    x: Any, y: Any, class_weight: Any = None, init_mean: float | None = None, init_stddev: float = 1.0
) -> tuple[Any, Any]:
    """Return the probabilities of classes by a new linear model, and the cross entropy.

    Args:
        x: the features.
        y: rows with one 1.
        class_weight: a factor for each class; the tensor ``class_weight:0`` of the graph, if there is one.
        init_mean: mean of the first values; they are even on both sides of zero if omitted.
        init_stddev: their deviation.
    """
    with tf.variable_scope("logistic_regression"):
        weights, biases = _linear(x, y, y.shape[-1], init_mean, init_stddev)
        if class_weight is None:
            try:
                class_weight = tf.get_default_graph().get_tensor_by_name("class_weight:0")
            except KeyError:
                class_weight = None
        return softmax_classifier(x, y, weights, biases, class_weight)


def linear_regression_zero_init(x: Any, y: Any) -> tuple[Any, Any]:
    """Return the same as ``linear_regression`` with weights that begin as zeros."""
    return linear_regression(x, y, init_mean=0.0, init_stddev=0.0)


def logistic_regression_zero_init(x: Any, y: Any) -> tuple[Any, Any]:
    """Return the same as ``logistic_regression`` with weights that begin as zeros."""
    return logistic_regression(x, y, init_mean=0.0, init_stddev=0.0)


def _linear(x: Any, y: Any, width: Any, mean: float | None, deviation: float) -> tuple[Any, Any]:
    scope, kind = tf.get_variable_scope().name, x.dtype.base_dtype
    first = None if mean is None else tf.random_normal_initializer(mean, deviation, dtype=kind)
    weights = tf.get_variable("weights", [x.shape[1], width], kind, first)
    biases = tf.get_variable("bias", [width], kind, first)
    for name, value in {"x": x, "y": y, "weights": weights, "bias": biases}.items():
        tf.summary.histogram(f"{scope}.{name}", value)
    return weights, biases
