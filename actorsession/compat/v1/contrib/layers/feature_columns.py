"""Further feature columns of ``tf.contrib.layers``, and what takes columns, under their older names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from actorsession import ops
from actorsession.compat.v1 import feature_column as fc
from actorsession.graph.dtypes import float32, string
from actorsession.graph.operation import Tensor

__all__ = [
    "create_feature_spec_for_parsing",
    "input_from_feature_columns",
    "shared_embedding_columns",
    "sparse_column_with_vocabulary_file",
    "weighted_sparse_column",
    "weighted_sum_from_feature_columns",
]


def sparse_column_with_vocabulary_file(
    column_name: str,
    vocabulary_file: str,
    num_oov_buckets: int = 0,
    vocab_size: int | None = None,
    default_value: int = -1,
    combiner: str = "sum",
    dtype: Any = string,
) -> Any:
    """Return a ``categorical_column_with_vocabulary_file``."""
    default = None if num_oov_buckets else default_value
    return fc.categorical_column_with_vocabulary_file(
        column_name, vocabulary_file, vocab_size, num_oov_buckets, default, dtype
    )


def weighted_sparse_column(sparse_id_column: Any, weight_column_name: str, dtype: Any = float32) -> Any:
    """Return a ``weighted_categorical_column``."""
    return fc.weighted_categorical_column(sparse_id_column, weight_column_name, dtype)


def shared_embedding_columns(
    sparse_id_columns: Sequence[Any],
    dimension: int,
    combiner: str = "mean",
    shared_embedding_name: str | None = None,
    initializer: Any = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
) -> list[Any]:
    """Return ``shared_embedding_columns``."""
    return fc.shared_embedding_columns(
        sparse_id_columns,
        dimension,
        combiner,
        initializer,
        shared_embedding_name,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        max_norm,
        trainable,
    )


def create_feature_spec_for_parsing(feature_columns: Sequence[Any]) -> dict[str, Any]:
    """Return what ``parse_example`` has to read for columns."""
    return fc.make_parse_example_spec(feature_columns)


def input_from_feature_columns(
    columns_to_tensors: Mapping[Any, Any],
    feature_columns: Any,
    weight_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
    cols_to_outs: Any = None,
) -> Tensor:
    """Return what ``input_layer`` does, in a scope of this name."""
    with ops.variable_scope(scope, default_name="input_from_feature_columns"):
        return fc.input_layer(
            columns_to_tensors, feature_columns, weight_collections, trainable, cols_to_output_tensors=cols_to_outs
        )


def weighted_sum_from_feature_columns(
    columns_to_tensors: Mapping[Any, Any],
    feature_columns: Any,
    num_outputs: int,
    weight_collections: Any = None,
    trainable: bool = True,
    scope: Any = None,
) -> tuple[Tensor, dict[Any, Any], Any]:
    """Return the sum of ``linear_model``, the variables of each column, and the bias."""
    variables: dict[Any, Any] = {}
    with ops.variable_scope(scope, default_name="weighted_sum_from_feature_columns"):
        total = fc.linear_model(
            columns_to_tensors,
            feature_columns,
            num_outputs,
            weight_collections=weight_collections,
            trainable=trainable,
            cols_to_vars=variables,
        )
    (bias,) = variables.pop("bias")
    return total, variables, bias
