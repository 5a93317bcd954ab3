"""What takes feature columns: ``input_layer``, ``linear_model`` and ``make_parse_example_spec``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping
from math import prod
from typing import Any

from actorsession import ops
from actorsession.compat.v1.feature_column.base import CategoricalColumn, DenseColumn, FeatureColumn, Features, Weights
from actorsession.graph.graph import get_default_graph
from actorsession.graph.operation import Tensor
from actorsession.namespaces import nn
from actorsession.ops import GraphKeys
from actorsession.opsets import SparseTensor, sparse_reshape

__all__ = ["input_layer", "linear_model", "make_parse_example_spec", "sorted_columns", "weights_of"]


def weights_of(collections: Iterable[str] | None, trainable: bool) -> Weights:
    """Return how variables are made that join some collections beside the usual ones."""
    usual = (GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES)
    return Weights(list(dict.fromkeys([*(collections or ()), *usual])), trainable)


def sorted_columns(columns: Any, *kinds: type[Any]) -> list[Any]:
    """Return columns by name.

    Args:
        columns: a column, or several.
        kinds: the classes that are taken.

    Raises:
        ValueError: for no columns, one of another class, or two of one name.
    """
    if isinstance(columns, Mapping):
        raise ValueError("Expected feature_columns to be iterable, found dict.")
    listed = [columns] if isinstance(columns, FeatureColumn) else list(columns)
    if not listed:
        raise ValueError("feature_columns must not be empty.")
    for column in listed:
        if not isinstance(column, kinds):
            words = " or ".join(f"_{kind.__name__}" for kind in kinds)
            raise ValueError(
                f"Items of feature_columns must be a {words}. You can wrap a categorical column with an "
                f"embedding_column or indicator_column. Given: {column}"
            )
    known: dict[str, Any] = {}
    for column in listed:
        if column.name in known:
            raise ValueError(
                f"Duplicate feature column name found for columns: {column} and {known[column.name]}. This "
                "usually means that these columns refer to same base feature. Either one must be discarded "
                "or a duplicated but renamed item must be inserted in features dict."
            )
        known[column.name] = column
    return sorted(listed, key=lambda column: column.name)


def _values(features: Mapping[Any, Any]) -> list[Any]:
    if not isinstance(features, Mapping):
        raise ValueError(f"We expected a dictionary here. Instead we got: {features}")
    return [value for value in features.values() if isinstance(value, Tensor)]


def input_layer(
    features: Mapping[Any, Any],
    feature_columns: Any,
    weight_collections: Iterable[str] | None = None,
    trainable: bool = True,
    cols_to_vars: MutableMapping[Any, Any] | None = None,
    cols_to_output_tensors: MutableMapping[Any, Any] | None = None,
) -> Tensor:
    """Return the numbers of columns side by side, in the order of the columns' names.

    Args:
        features: tensors by key.
        feature_columns: columns of numbers.
        weight_collections: further collections of variables.
        trainable: whether variables are trainable.
        cols_to_vars: a dict that is filled with the variables of each column.
        cols_to_output_tensors: a dict that is filled with the numbers of each column.

    Returns:
        float32 of shape ``[batch, numbers]``.

    Raises:
        ValueError: for no columns, one that has no numbers, two of one name, or a feature that there is not.
    """
    columns = sorted_columns(feature_columns, DenseColumn)
    weights, transformed = weights_of(weight_collections, trainable), Features(features)
    outputs = []
    with ops.variable_scope(None, default_name="input_layer", values=_values(features)):
        for column in columns:
            with ops.variable_scope(None, default_name=column.var_scope_name) as scope:
                numbers = _flat(column, column.dense(transformed, weights))
                outputs.append(numbers)
                if cols_to_vars is not None:
                    cols_to_vars[column] = _variables(scope)
                if cols_to_output_tensors is not None:
                    cols_to_output_tensors[column] = numbers
        _check_batches(outputs, columns)
        return ops.concat(outputs, 1)


def _variables(scope: Any) -> list[Any]:
    return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope=f"{scope.name}/")


def _flat(column: Any, numbers: Tensor) -> Tensor:
    """Return the numbers of each example as a row."""
    known = numbers.shape.sizes
    batch = known[0] if known else None
    width = prod(column.variable_shape)
    rows = ops.reshape(numbers, ops.stack([ops.shape(numbers)[0], width]))
    rows.set_shape([batch, width])
    return rows


def _check_batches(outputs: list[Tensor], columns: list[Any]) -> None:
    batches = {each.shape.sizes[0] for each in outputs if each.shape.sizes} - {None}
    if len(batches) > 1:
        raise ValueError(
            "Batch size (first dimension) of each feature must be same. Batch size of columns "
            f"({', '.join(column.name for column in columns)}): {sorted(map(str, batches))}"
        )


def linear_model(
    features: Mapping[Any, Any],
    feature_columns: Any,
    units: int = 1,
    sparse_combiner: str = "sum",
    weight_collections: Iterable[str] | None = None,
    trainable: bool = True,
    cols_to_vars: MutableMapping[Any, Any] | None = None,
) -> Tensor:
    """Return a linear function of columns, whose weights and bias are trained from zero.

    Args:
        features: tensors by key.
        feature_columns: columns of numbers or ids.
        units: the number of columns of the outputs.
        sparse_combiner: how the weights of an example's ids are combined: ``sum``, ``mean`` or ``sqrtn``.
        weight_collections: further collections of variables.
        trainable: whether variables are trainable.
        cols_to_vars: a dict that is filled with the variables of each column, and of ``"bias"``.

    Returns:
        float32 of shape ``[batch, units]``.

    Raises:
        ValueError: for no columns, two of one name, or a feature that there is not.
    """
    columns = sorted_columns(feature_columns, DenseColumn, CategoricalColumn)
    weights, transformed = weights_of(weight_collections, trainable), Features(features)
    sums = []
    with ops.variable_scope(None, default_name="linear_model", values=_values(features)):
        for column in columns:
            with ops.variable_scope(None, default_name=column.var_scope_name) as scope:
                sums.append(_weighted(column, transformed, weights, units, sparse_combiner))
                if cols_to_vars is not None:
                    cols_to_vars[column] = _variables(scope)
        total = ops.add_n(sums, name="weighted_sum_no_bias")
        bias = weights.get("bias_weights", [units], ops.zeros_initializer())
        if cols_to_vars is not None:
            cols_to_vars["bias"] = [bias]
        return nn.bias_add(total, bias, name="weighted_sum")


def _weighted(column: Any, features: Features, weights: Weights, units: int, combiner: str) -> Tensor:
    """Return the sum of a column's numbers with their weights."""
    zeros = ops.zeros_initializer()
    if isinstance(column, CategoricalColumn):
        ids, factors = column.sparse(features)
        table = weights.get("weights", [column.num_buckets, units], zeros)
        return nn.safe_embedding_lookup_sparse(
            table,
            _as_matrix(ids),
            None if factors is None else _as_matrix(factors),
            combiner=combiner,
            name="weighted_sum",
        )
    numbers = _flat(column, column.dense(features, weights))
    width = prod(column.variable_shape)
    return ops.matmul(numbers, weights.get("weights", [width, units], zeros), name="weighted_sum")


def _as_matrix(sparse: SparseTensor) -> SparseTensor:
    return sparse_reshape(sparse, ops.stack([sparse.dense_shape[0], -1]))


def make_parse_example_spec(feature_columns: Iterable[Any]) -> dict[str, Any]:
    """Return what ``parse_example`` has to read for columns, by key.

    Raises:
        ValueError: for something that is no column, or two columns that read a key differently.
    """
    spec: dict[str, Any] = {}
    for column in feature_columns:
        if not isinstance(column, FeatureColumn):
            raise ValueError(f"All feature_columns must be _FeatureColumn instances. Given: {column}")
        for key, feature in column.parse_example_spec.items():
            if spec.get(key, feature) != feature:
                raise ValueError(
                    f"feature_columns contain different parse_spec for key {key}. Given {spec[key]} and {feature}"
                )
            spec[key] = feature
    return spec
