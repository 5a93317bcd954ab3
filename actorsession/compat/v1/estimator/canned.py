"""Ready models over feature columns: linear, deep, and both together."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from actorsession import ops
from actorsession.compat.v1.estimator.estimator import Estimator
from actorsession.compat.v1.estimator.heads import Head, head_of
from actorsession.compat.v1.estimator.specs import ModeKeys
from actorsession.compat.v1.feature_column.models import input_layer, linear_model
from actorsession.compat.v1.graphs.graph import get_default_graph
from actorsession.compat.v1.layers.functions import batch_normalization, dense, dropout
from actorsession.graph.graph import control_dependencies, name_scope
from actorsession.namespaces import nn
from actorsession.ops import GraphKeys
from actorsession.opsets.summaries.functions import histogram, scalar
from actorsession.train import (
    AdagradOptimizer,
    AdamOptimizer,
    FtrlOptimizer,
    GradientDescentOptimizer,
    RMSPropOptimizer,
    get_global_step,
)

__all__ = [
    "BaselineClassifier",
    "BaselineRegressor",
    "DNNClassifier",
    "DNNLinearCombinedClassifier",
    "DNNLinearCombinedRegressor",
    "DNNRegressor",
    "LinearClassifier",
    "LinearRegressor",
]

_OPTIMIZERS: dict[str, Callable[[float], Any]] = {
    "Adagrad": AdagradOptimizer,
    "Adam": AdamOptimizer,
    "Ftrl": FtrlOptimizer,
    "RMSProp": RMSPropOptimizer,
    "SGD": GradientDescentOptimizer,
}
# TensorFlow's learning rates: of a deep model, alone and beside a linear one, and the largest of a linear
# one, alone and beside a deep one, which is smaller where there are many columns.
_DEEP_RATE, _DEEP_RATE_OF_BOTH = 0.05, 0.001
_LINEAR_RATE, _LINEAR_RATE_OF_BOTH = 0.2, 0.005
_BASELINE_RATE = 0.3


def _optimizer(optimizer: Any, rate: float) -> Any:
    """Return an optimiser: itself, of its name, or what a function returns."""
    if isinstance(optimizer, str):
        if optimizer not in _OPTIMIZERS:
            raise ValueError(f"Unsupported optimizer name: {optimizer}. Supported names are: {sorted(_OPTIMIZERS)}")
        return _OPTIMIZERS[optimizer](rate)
    result = optimizer() if callable(optimizer) else optimizer
    if not hasattr(result, "apply_gradients"):
        raise ValueError(f"The given object is not an Optimizer instance. Given: {result}")
    return result


class _Deep:
    """A stack of dense layers over numeric columns."""

    def __init__(
        self,
        hidden_units: Sequence[int],
        columns: Any,
        optimizer: Any,
        rate: float,
        activation_fn: Any,
        drop: float | None,
        batch_norm: bool,
        partitioner: Any,
    ) -> None:
        self._units = hidden_units
        self._columns = columns
        self._given, self._rate = optimizer, rate
        self._activation_fn = nn.relu if activation_fn is None else activation_fn
        self._drop = drop
        self._batch_norm = batch_norm
        self._partitioner = partitioner

    def logits(self, features: Any, mode: str, units: int, servers: int) -> Any:
        """Build the layers, and return what the last one gives."""
        training = mode == ModeKeys.TRAIN
        parts, of_inputs = _in_parts(servers), self._partitioner or _in_parts(servers, 64 << 20)
        with ops.variable_scope("dnn", values=tuple(features.values()), partitioner=parts):
            with ops.variable_scope("input_from_feature_columns", partitioner=of_inputs):
                net = input_layer(features, self._columns)
            for number, width in enumerate(self._units):
                with ops.variable_scope(f"hiddenlayer_{number}") as scope:
                    net = dense(
                        net,
                        width,
                        activation=self._activation_fn,
                        kernel_initializer=ops.glorot_uniform_initializer(),
                        name=scope,
                    )
                    if self._drop is not None and training:
                        net = dropout(net, self._drop, training=True)
                    if self._batch_norm:
                        net = batch_normalization(net, momentum=0.999, training=training, name=f"batchnorm_{number}")
                _add_summaries(net, scope.name)
            with ops.variable_scope("logits") as scope:
                logits = dense(net, units, kernel_initializer=ops.glorot_uniform_initializer(), name=scope)
            _add_summaries(logits, scope.name)
        return logits

    def optimizer(self) -> Any:
        """Return the optimiser."""
        return _optimizer(self._given, self._rate)


def _add_summaries(values: Any, tag: str) -> None:
    scalar(f"{tag}/fraction_of_zero_values", nn.zero_fraction(values))
    histogram(f"{tag}/activation", values)


class _Linear:
    """A weighted sum of columns."""

    def __init__(self, columns: Any, optimizer: Any, rate: float, combiner: str, partitioner: Any) -> None:
        self._columns, self._partitioner = columns, partitioner
        count = len(columns) if isinstance(columns, (list, tuple, set)) else 1
        self._given = optimizer
        self._rate = min(rate, 1.0 / math.sqrt(max(1, count)))
        self._combiner = combiner

    def logits(self, features: Any, mode: str, units: int, servers: int) -> Any:
        """Build the sum and return it."""
        parts = self._partitioner or _in_parts(servers, 64 << 20)
        with ops.variable_scope("linear", values=tuple(features.values()), partitioner=parts):
            logits = linear_model(features, self._columns, units=units, sparse_combiner=self._combiner)
        scalar("linear/fraction_of_zero_weights", _share_of_zeros("linear/linear_model"))
        return logits

    def optimizer(self) -> Any:
        """Return the optimiser."""
        return _optimizer(self._given, self._rate)


class _Baseline:
    """A bias and nothing else."""

    def __init__(self, optimizer: Any) -> None:
        self._given = optimizer

    def logits(self, features: Any, mode: str, units: int, servers: int) -> Any:
        """Build the logits, which are alike for all examples, and return them."""
        first = next(iter(features.values()))
        with ops.variable_scope("baseline"):
            bias = ops.get_variable("bias", [units], initializer=ops.zeros_initializer())
            return bias * ops.ones([ops.shape(first)[0], units])

    def optimizer(self) -> Any:
        """Return the optimiser."""
        return _optimizer(self._given, _BASELINE_RATE)


def _in_parts(servers: int, smallest: int = 256 << 10) -> Any:
    """Return the partitioner over parameter servers; without any, each variable is one part."""
    return ops.min_max_variable_partitioner(max(servers, 1), min_slice_size=smallest)


def _share_of_zeros(scope: str) -> Any:
    """Return the share of weights that are zero, without the bias."""
    trainable = get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope=scope)
    weights = [ops.reshape(v, [-1]) for v in trainable if "bias" not in v.op.name]
    return nn.zero_fraction(ops.concat(weights, 0)) if weights else ops.constant(0.0)


class _Canned(Estimator):
    """An estimator whose model has one part or two, and a head."""

    def __init__(
        self, parts: Sequence[tuple[str, Any]], head: Head, model_dir: Any, config: Any, warm_start_from: Any
    ) -> None:
        alone = parts[0][0] if len(parts) == 1 and not isinstance(self, _Both) else ""

        def model_fn(features: Any, labels: Any, mode: str, config: Any) -> Any:
            if not isinstance(features, dict):
                raise ValueError(f"features should be a dictionary of `Tensor`s. Given type: {type(features)}")
            servers = 0 if config is None else config.num_ps_replicas
            outputs = [part.logits(features, mode, head.logits_dimension, servers) for _, part in parts]
            logits = outputs[0] if len(outputs) == 1 else outputs[0] + outputs[1]

            def train_op(loss: Any) -> Any:
                graph, steps = get_default_graph(), []
                # The names of slots begin with the scope, and checkpoints of TensorFlow have them.
                within = "" if alone == "baseline" else alone
                for scope, part in parts:
                    variables = graph.get_collection(GraphKeys.TRAINABLE_VARIABLES, scope=scope)
                    with (
                        ops.variable_scope(within, auxiliary_name_scope=False),
                        name_scope(f"{within}/head/" if within else "head/"),
                    ):
                        steps.append(part.optimizer().minimize(loss, var_list=variables))
                updates = graph.get_collection(GraphKeys.UPDATE_OPS)
                with control_dependencies([*steps, *updates]):
                    return get_global_step().assign_add(1).op

            return head.spec(features, mode, logits, labels, train_op)

        super().__init__(model_fn, model_dir, config, warm_start_from=warm_start_from)


class BaselineClassifier(_Canned):
    """A classifier that learns how often each class is, whatever the features are.

    Args:
        model_dir: as for ``Estimator``.
        n_classes: how many classes there are.
        weight_column: key of the weights of examples, or a numeric column.
        label_vocabulary: words of the classes, where labels are strings.
        optimizer: an optimiser, its name, or a function that returns one.
        config: as for ``Estimator``.
        loss_reduction: how the losses of a batch make one.
    """

    def __init__(
        self,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        loss_reduction: str = "weighted_sum",
    ) -> None:
        head = head_of(n_classes, label_vocabulary, weight_column=weight_column, loss_reduction=loss_reduction)
        super().__init__([("baseline", _Baseline(optimizer))], head, model_dir, config, None)


class BaselineRegressor(_Canned):
    """A regressor that learns the mean; arguments as for the classifier, with ``label_dimension`` instead."""

    def __init__(
        self,
        model_dir: Any = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        loss_reduction: str = "weighted_sum",
    ) -> None:
        head = head_of(dimension=label_dimension, weight_column=weight_column, loss_reduction=loss_reduction)
        super().__init__([("baseline", _Baseline(optimizer))], head, model_dir, config, None)


def _check_deep(hidden_units: Any, columns: Any) -> None:
    if not columns:
        raise ValueError("feature_columns must be given")
    if not hidden_units and hidden_units != []:
        raise ValueError("hidden_units must be given")


class DNNClassifier(_Canned):
    """A classifier of dense layers.

    Args:
        hidden_units: units of each hidden layer.
        feature_columns: columns of numbers.
        model_dir: as for ``Estimator``.
        n_classes: how many classes there are.
        weight_column: key of the weights of examples, or a numeric column.
        label_vocabulary: words of the classes, where labels are strings.
        optimizer: an optimiser, its name, or a function that returns one.
        activation_fn: activation of hidden layers; ``relu`` if omitted.
        dropout: share of activations that are dropped in training.
        input_layer_partitioner: how the variables of columns are cut; by size over parameter servers if left
            out.
        config: as for ``Estimator``.
        warm_start_from: as for ``Estimator``.
        loss_reduction: how the losses of a batch make one.
        batch_norm: whether batches are normalised behind each hidden layer.
    """

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Any,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        optimizer: Any = "Adagrad",
        activation_fn: Any = None,
        dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = "weighted_sum",
        batch_norm: bool = False,
    ) -> None:
        _check_deep(hidden_units, feature_columns)
        head = head_of(n_classes, label_vocabulary, weight_column=weight_column, loss_reduction=loss_reduction)
        deep = _Deep(
            hidden_units,
            feature_columns,
            optimizer,
            _DEEP_RATE,
            activation_fn,
            dropout,
            batch_norm,
            input_layer_partitioner,
        )
        super().__init__([("dnn", deep)], head, model_dir, config, warm_start_from)


class DNNRegressor(_Canned):
    """A regressor of dense layers; arguments as for ``DNNClassifier``, with ``label_dimension`` instead."""

    def __init__(
        self,
        hidden_units: Sequence[int],
        feature_columns: Any,
        model_dir: Any = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Adagrad",
        activation_fn: Any = None,
        dropout: float | None = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = "weighted_sum",
        batch_norm: bool = False,
    ) -> None:
        _check_deep(hidden_units, feature_columns)
        head = head_of(dimension=label_dimension, weight_column=weight_column, loss_reduction=loss_reduction)
        deep = _Deep(
            hidden_units,
            feature_columns,
            optimizer,
            _DEEP_RATE,
            activation_fn,
            dropout,
            batch_norm,
            input_layer_partitioner,
        )
        super().__init__([("dnn", deep)], head, model_dir, config, warm_start_from)


class LinearClassifier(_Canned):
    """A linear classifier.

    Args:
        feature_columns: columns of any kind.
        model_dir: as for ``Estimator``.
        n_classes: how many classes there are.
        weight_column: key of the weights of examples, or a numeric column.
        label_vocabulary: words of the classes, where labels are strings.
        optimizer: an optimiser, its name, or a function that returns one.
        config: as for ``Estimator``.
        partitioner: how the weights are cut; by size over parameter servers if left out.
        warm_start_from: as for ``Estimator``.
        loss_reduction: how the losses of a batch make one.
        sparse_combiner: how the weights of several ids of one column make one.
    """

    def __init__(
        self,
        feature_columns: Any,
        model_dir: Any = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        partitioner: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = "weighted_sum",
        sparse_combiner: str = "sum",
    ) -> None:
        head = head_of(n_classes, label_vocabulary, weight_column=weight_column, loss_reduction=loss_reduction)
        linear = _Linear(feature_columns, optimizer, _LINEAR_RATE, sparse_combiner, partitioner)
        super().__init__([("linear", linear)], head, model_dir, config, warm_start_from)


class LinearRegressor(_Canned):
    """A linear regressor; arguments as for ``LinearClassifier``, with ``label_dimension`` instead."""

    def __init__(
        self,
        feature_columns: Any,
        model_dir: Any = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        optimizer: Any = "Ftrl",
        config: Any = None,
        partitioner: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = "weighted_sum",
        sparse_combiner: str = "sum",
    ) -> None:
        head = head_of(dimension=label_dimension, weight_column=weight_column, loss_reduction=loss_reduction)
        linear = _Linear(feature_columns, optimizer, _LINEAR_RATE, sparse_combiner, partitioner)
        super().__init__([("linear", linear)], head, model_dir, config, warm_start_from)


class _Both(_Canned):
    """The common part of models whose logits are those of a linear and a deep model together."""

    def __init__(self, head: Head, arguments: Any) -> None:
        parts: list[tuple[str, Any]] = []
        if arguments["dnn_feature_columns"]:
            if not arguments["dnn_hidden_units"]:
                raise ValueError("dnn_hidden_units must be given with dnn_feature_columns")
            deep = _Deep(
                arguments["dnn_hidden_units"],
                arguments["dnn_feature_columns"],
                arguments["dnn_optimizer"],
                _DEEP_RATE_OF_BOTH,
                arguments["dnn_activation_fn"],
                arguments["dnn_dropout"],
                arguments["batch_norm"],
                arguments["input_layer_partitioner"],
            )
            parts.append(("dnn", deep))
        if arguments["linear_feature_columns"]:
            linear = _Linear(
                arguments["linear_feature_columns"],
                arguments["linear_optimizer"],
                _LINEAR_RATE_OF_BOTH,
                arguments["linear_sparse_combiner"],
                arguments["input_layer_partitioner"],
            )
            parts.append(("linear", linear))
        if not parts:
            raise ValueError("Either linear_feature_columns or dnn_feature_columns must be defined.")
        super().__init__(parts, head, arguments["model_dir"], arguments["config"], arguments["warm_start_from"])


class DNNLinearCombinedClassifier(_Both):
    """A classifier that is linear and deep; arguments as for both, with ``linear_`` and ``dnn_`` in front."""

    def __init__(
        self,
        model_dir: Any = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Any = None,
        dnn_dropout: float | None = None,
        n_classes: int = 2,
        weight_column: Any = None,
        label_vocabulary: Any = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = "weighted_sum",
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        head = head_of(n_classes, label_vocabulary, weight_column=weight_column, loss_reduction=loss_reduction)
        super().__init__(head, locals())


class DNNLinearCombinedRegressor(_Both):
    """A regressor that is linear and deep; see ``DNNLinearCombinedClassifier``."""

    def __init__(
        self,
        model_dir: Any = None,
        linear_feature_columns: Any = None,
        linear_optimizer: Any = "Ftrl",
        dnn_feature_columns: Any = None,
        dnn_optimizer: Any = "Adagrad",
        dnn_hidden_units: Sequence[int] | None = None,
        dnn_activation_fn: Any = None,
        dnn_dropout: float | None = None,
        label_dimension: int = 1,
        weight_column: Any = None,
        input_layer_partitioner: Any = None,
        config: Any = None,
        warm_start_from: Any = None,
        loss_reduction: str = "weighted_sum",
        batch_norm: bool = False,
        linear_sparse_combiner: str = "sum",
    ) -> None:
        head = head_of(dimension=label_dimension, weight_column=weight_column, loss_reduction=loss_reduction)
        super().__init__(head, locals())
