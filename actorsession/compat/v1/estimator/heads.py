"""Heads of ready models: from logits to predictions, loss, metrics and exported outputs."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from typing import Any

from actorsession import ops, opsets
from actorsession.compat.v1 import metrics
from actorsession.compat.v1.estimator.export import ClassificationOutput, PredictOutput, RegressionOutput
from actorsession.compat.v1.estimator.specs import EstimatorSpec, ModeKeys
from actorsession.graph.dtypes import float32, int64, string
from actorsession.graph.graph import control_dependencies
from actorsession.namespaces import lookup, nn
from actorsession.ops.neural import losses
from actorsession.ops.neural.losses import Reduction
from actorsession.opsets.summaries.functions import scalar

__all__ = ["BinaryHead", "Head", "MultiClassHead", "RegressionHead", "head_of"]

_SERVING = "serving_default"


class Head(abc.ABC):
    """A head.

    Args:
        weight_column: key of the weights of examples, or a numeric column; all weigh 1 if omitted.
        loss_reduction: how the losses of a batch make one.
    """

    logits_dimension = 1

    def __init__(self, weight_column: Any = None, loss_reduction: str = Reduction.SUM) -> None:
        self._weight_column = weight_column
        self._reduction = loss_reduction

    def spec(
        self, features: Any, mode: str, logits: Any, labels: Any, train_op_fn: Callable[[Any], Any]
    ) -> EstimatorSpec:
        """Return the operations of a model.

        Args:
            features: the features, for the weights.
            mode: what the model is called for.
            logits: what the model computes, of shape ``[batch, logits_dimension]``.
            labels: the labels; none for predictions.
            train_op_fn: from the loss to the operation of a step.

        Raises:
            ValueError: without labels outside of predictions, or for labels of another shape.
        """
        predictions = self._predictions(logits)
        if mode == ModeKeys.PREDICT:
            return EstimatorSpec(mode, predictions=predictions, export_outputs=self._outputs(predictions))
        if labels is None:
            raise ValueError(
                "You must provide a labels Tensor. Given: None. Suggested troubleshooting steps: Check "
                "that your data contain your label feature. Check that your input_fn properly parses "
                "and returns labels."
            )
        weights = self._weights(features)
        targets = self._checked_labels(labels, logits)
        each = self._losses(targets, logits)
        loss = losses.compute_weighted_loss(each, weights, reduction=self._reduction)
        if mode == ModeKeys.EVAL:
            eval_metrics = {"average_loss": metrics.mean(each, weights)}
            eval_metrics |= self._metrics(targets, predictions, weights)
            return EstimatorSpec(mode, predictions, loss, eval_metric_ops=eval_metrics)
        scalar("loss", loss)
        average = losses.compute_weighted_loss(each, weights, reduction=Reduction.MEAN)
        scalar("average_loss", average)
        return EstimatorSpec(mode, predictions, loss, train_op_fn(loss))

    def _weights(self, features: Any) -> Any:
        column = self._weight_column
        if column is None:
            return 1.0
        key = column if isinstance(column, str) else column.key
        weights = ops.cast(features[key], float32)
        return ops.expand_dims(weights, -1) if weights.shape.rank == 1 else weights

    def _checked_labels(self, labels: Any, logits: Any) -> Any:
        """Return dense labels of one row for each example."""
        if isinstance(labels, Mapping):
            raise ValueError(f"labels must be one tensor, got a dict with the keys {sorted(labels)}")
        dense = ops.convert_to_tensor(labels)
        if dense.shape.rank == 1:
            dense = ops.expand_dims(dense, -1)
        width = self._label_dimension()
        known = dense.shape.as_list()[-1] if dense.shape.rank else None
        if known is not None and known != width:
            raise ValueError(
                "Mismatched label shape. Expected labels dimension="
                f"{width}.  Received {known}. Suggested Fix:If your classifier expects one-hot encoding "
                "label,check your n_classes argument to the estimator and/or the shape of your label."
            )
        return dense

    def _label_dimension(self) -> int:
        return self.logits_dimension

    @abc.abstractmethod
    def _predictions(self, logits: Any) -> dict[str, Any]:
        """Return the predictions by key."""

    @abc.abstractmethod
    def _outputs(self, predictions: Mapping[str, Any]) -> dict[str, Any]:
        """Return the outputs of an exported model."""

    @abc.abstractmethod
    def _losses(self, labels: Any, logits: Any) -> Any:
        """Return the loss of each example, of shape ``[batch, 1]`` or as the logits."""

    @abc.abstractmethod
    def _metrics(self, labels: Any, predictions: Mapping[str, Any], weights: Any) -> dict[str, Any]:
        """Return the metrics by name."""


class _ClassHead(Head):
    """What heads for classes share: the words of classes."""

    def __init__(self, classes: int, vocabulary: Any, weight_column: Any, loss_reduction: str) -> None:
        super().__init__(weight_column, loss_reduction)
        self._classes = classes
        self._vocabulary = None if vocabulary is None else list(vocabulary)
        if self._vocabulary is not None and len(self._vocabulary) != classes:
            raise ValueError(f"Length of label_vocabulary must be n_classes = {classes}, got {len(self._vocabulary)}")

    def _label_dimension(self) -> int:
        return 1

    def _ids(self, labels: Any) -> Any:
        """Return labels as ids, refusing those of no class when they are read."""
        if self._vocabulary is not None:
            if labels.dtype is not string:
                raise ValueError(f"Labels dtype should be string when label_vocabulary is given, got {labels.dtype}")
            return lookup.index_table_from_tensor(self._vocabulary).lookup(labels)
        if labels.dtype is string:
            raise ValueError("Labels dtype should be integer. Instead got string; give label_vocabulary for strings")
        return ops.cast(labels, int64)

    def _in_range(self, ids: Any) -> Any:
        most = self._classes - 1
        with control_dependencies(
            [ops.Assert(ops.reduce_all((ids >= 0) & (ids <= most)), [f"Labels must be in range [0, {most}], got", ids])]
        ):
            return ops.identity(ids)

    def _words(self, ids: Any) -> Any:
        if self._vocabulary is None:
            return opsets.as_string(ids)
        return lookup.index_to_string_table_from_tensor(self._vocabulary).lookup(ids)

    def _all_words(self, logits: Any) -> Any:
        words = self._vocabulary or [str(number) for number in range(self._classes)]
        row = ops.expand_dims(ops.constant(words, string), 0)
        return ops.tile(row, [ops.shape(logits)[0], 1])


class MultiClassHead(_ClassHead):
    """A head for one of several classes, with softmax.

    Args:
        classes: how many, more than two.
        vocabulary: their words, where labels are strings.
        weight_column: see ``Head``.
        loss_reduction: see ``Head``.
    """

    def __init__(
        self, classes: int, vocabulary: Any = None, weight_column: Any = None, loss_reduction: str = Reduction.SUM
    ) -> None:
        super().__init__(classes, vocabulary, weight_column, loss_reduction)
        self.logits_dimension = classes

    def _predictions(self, logits: Any) -> dict[str, Any]:
        ids = ops.expand_dims(ops.argmax(logits, -1), -1)
        every = ops.tile(ops.expand_dims(ops.range(self._classes), 0), [ops.shape(logits)[0], 1])
        return {
            "logits": logits,
            "probabilities": nn.softmax(logits, name="probabilities"),
            "class_ids": ids,
            "classes": self._words(ids),
            "all_class_ids": every,
            "all_classes": self._all_words(logits),
        }

    def _outputs(self, predictions: Mapping[str, Any]) -> dict[str, Any]:
        classes = ClassificationOutput(predictions["probabilities"], predictions["all_classes"])
        return {_SERVING: classes, "classification": classes, "predict": PredictOutput(predictions)}

    def _checked_labels(self, labels: Any, logits: Any) -> Any:
        return self._in_range(self._ids(super()._checked_labels(labels, logits)))

    def _losses(self, labels: Any, logits: Any) -> Any:
        each = nn.sparse_softmax_cross_entropy_with_logits(labels=ops.squeeze(labels, [-1]), logits=logits)
        return ops.expand_dims(each, -1)

    def _metrics(self, labels: Any, predictions: Mapping[str, Any], weights: Any) -> dict[str, Any]:
        return {"accuracy": metrics.accuracy(labels, predictions["class_ids"], _of(weights, labels))}


class BinaryHead(_ClassHead):
    """A head for one of two classes, with one logit.

    Args:
        vocabulary: the words of the classes, where labels are strings.
        weight_column: see ``Head``.
        loss_reduction: see ``Head``.
    """

    def __init__(self, vocabulary: Any = None, weight_column: Any = None, loss_reduction: str = Reduction.SUM) -> None:
        super().__init__(2, vocabulary, weight_column, loss_reduction)

    def _predictions(self, logits: Any) -> dict[str, Any]:
        both = ops.concat([ops.zeros_like(logits), logits], -1, name="two_class_logits")
        ids = ops.expand_dims(ops.argmax(both, -1), -1)
        every = ops.tile(ops.expand_dims(ops.range(2), 0), [ops.shape(logits)[0], 1])
        return {
            "logits": logits,
            "logistic": nn.sigmoid(logits, name="logistic"),
            "probabilities": nn.softmax(both, name="probabilities"),
            "class_ids": ids,
            "classes": self._words(ids),
            "all_class_ids": every,
            "all_classes": self._all_words(logits),
        }

    def _outputs(self, predictions: Mapping[str, Any]) -> dict[str, Any]:
        classes = ClassificationOutput(predictions["probabilities"], predictions["all_classes"])
        return {
            _SERVING: classes,
            "classification": classes,
            "regression": RegressionOutput(predictions["logistic"]),
            "predict": PredictOutput(predictions),
        }

    def _checked_labels(self, labels: Any, logits: Any) -> Any:
        ids = self._ids(super()._checked_labels(labels, logits))
        return ops.cast(self._in_range(ids), float32)

    def _losses(self, labels: Any, logits: Any) -> Any:
        return nn.sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    def _metrics(self, labels: Any, predictions: Mapping[str, Any], weights: Any) -> dict[str, Any]:
        ids, chances = predictions["class_ids"], predictions["logistic"]
        weights = _of(weights, labels)
        share = metrics.mean(labels, weights)
        baseline = tuple([ops.maximum(value, 1.0 - value) for value in share])
        return {
            "accuracy": metrics.accuracy(labels, ids, weights),
            "precision": metrics.precision(labels, ids, weights),
            "recall": metrics.recall(labels, ids, weights),
            "prediction/mean": metrics.mean(chances, weights),
            "label/mean": share,
            "accuracy_baseline": baseline,
            "auc": metrics.auc(labels, chances, weights),
            "auc_precision_recall": metrics.auc(labels, chances, weights, curve="PR"),
        }


class RegressionHead(Head):
    """A head for numbers, with the squared error.

    Args:
        dimension: how many numbers an example has.
        weight_column: see ``Head``.
        loss_reduction: see ``Head``.
    """

    def __init__(self, dimension: int = 1, weight_column: Any = None, loss_reduction: str = Reduction.SUM) -> None:
        super().__init__(weight_column, loss_reduction)
        self.logits_dimension = dimension

    def _predictions(self, logits: Any) -> dict[str, Any]:
        return {"predictions": logits}

    def _outputs(self, predictions: Mapping[str, Any]) -> dict[str, Any]:
        numbers = RegressionOutput(predictions["predictions"])
        return {_SERVING: numbers, "regression": numbers, "predict": PredictOutput(predictions)}

    def _checked_labels(self, labels: Any, logits: Any) -> Any:
        return ops.cast(super()._checked_labels(labels, logits), float32)

    def _losses(self, labels: Any, logits: Any) -> Any:
        return ops.squared_difference(logits, labels)

    def _metrics(self, labels: Any, predictions: Mapping[str, Any], weights: Any) -> dict[str, Any]:
        weights = _of(weights, labels)
        return {
            "prediction/mean": metrics.mean(predictions["predictions"], weights),
            "label/mean": metrics.mean(labels, weights),
        }


def _of(weights: Any, labels: Any) -> Any:
    """Return the weights of examples; ``None`` where all are 1."""
    return None if isinstance(weights, float) else weights


def head_of(
    classes: int | None = None,
    vocabulary: Any = None,
    dimension: int = 1,
    weight_column: Any = None,
    loss_reduction: str = Reduction.SUM,
) -> Head:
    """Return the head of a classifier, or of a regressor if there are no classes.

    Args:
        classes: how many classes there are.
        vocabulary: the words of the classes.
        dimension: how many numbers a regressor gives.
        weight_column: see ``Head``.
        loss_reduction: see ``Head``.

    Raises:
        ValueError: for less than two classes, or an unknown reduction.
    """
    if loss_reduction not in Reduction.all() or loss_reduction == Reduction.NONE:
        raise ValueError(f"Invalid loss_reduction: {loss_reduction}")
    if classes is None:
        return RegressionHead(dimension, weight_column, loss_reduction)
    if classes < 2:
        raise ValueError(f"n_classes must be at least 2, got {classes}")
    if classes == 2:
        return BinaryHead(vocabulary, weight_column, loss_reduction)
    return MultiClassHead(classes, vocabulary, weight_column, loss_reduction)
