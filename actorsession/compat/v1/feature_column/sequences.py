"""Columns of features that are sequences, for ``contrib.feature_column.sequence_input_layer``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import Any

from actorsession import ops
from actorsession.compat.v1.feature_column import categorical
from actorsession.compat.v1.feature_column.base import CategoricalColumn, DenseColumn, Features, Ids, Weights
from actorsession.compat.v1.feature_column.dense import lengths_of, numeric_column
from actorsession.graph.dtypes import DType, float32, int64, string
from actorsession.graph.operation import Tensor
from actorsession.opsets import SparseTensor, VarLenFeature, sparse_reshape, sparse_tensor_to_dense
from actorsession.records import dataclass

__all__ = [
    "sequence_categorical_column_with_hash_bucket",
    "sequence_categorical_column_with_identity",
    "sequence_categorical_column_with_vocabulary_file",
    "sequence_categorical_column_with_vocabulary_list",
    "sequence_input_layer",
    "sequence_numeric_column",
]


@dataclass(frozen=True)
class SequenceCategoricalColumn(CategoricalColumn):
    """Ids of sequences."""

    categorical_column: Any

    is_sequence = True

    @property
    def name(self) -> str:
        """The key."""
        return str(self.categorical_column.name)

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """What ``parse_example`` has to read."""
        return dict(self.categorical_column.parse_example_spec)

    @property
    def num_buckets(self) -> int:
        """The number of ids."""
        return int(self.categorical_column.num_buckets)

    def transform(self, features: Features) -> SparseTensor:
        """Return the ids."""
        ids: SparseTensor = self.categorical_column.transform(features)
        return ids

    def sparse(self, features: Features) -> Ids:
        """Return the ids with an axis more, so that the steps of a sequence are not combined."""
        ids = features.get(self)
        extent = ops.concat([ids.dense_shape[:2], ops.constant([-1], int64)], 0)
        return Ids(sparse_reshape(ids, extent), None)


@dataclass(frozen=True)
class SequenceNumericColumn(DenseColumn):
    """Numbers of sequences."""

    key: str
    shape: tuple[int, ...]
    default_value: float
    dtype: DType
    normalizer_fn: Callable[[Any], Any] | None

    is_sequence = True

    @property
    def name(self) -> str:
        """The key."""
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """What ``parse_example`` has to read."""
        return {self.key: VarLenFeature(self.dtype)}

    @property
    def variable_shape(self) -> tuple[int, ...]:
        """The shape of the numbers of one step."""
        return self.shape

    def transform(self, features: Features) -> Any:
        """Return the numbers, dense, and the sparse ones that they are of."""
        sparse = features.get(self.key)
        dense = sparse_tensor_to_dense(sparse, default_value=self.default_value)
        return sparse, self.normalizer_fn(dense) if self.normalizer_fn else dense

    def dense(self, features: Features, weights: Weights) -> Tensor:
        """Refuse, because the numbers are of sequences."""
        raise ValueError(f"In input_layer column {self.name!r} must not be of sequences")

    def sequence(self, features: Features, weights: Weights) -> tuple[Tensor, Tensor]:
        """Return the numbers of each step, and the lengths of the sequences."""
        sparse, dense = features.get(self)
        steps = ops.reshape(dense, ops.stack([ops.shape(dense)[0], -1, *self.shape]))
        count = prod(self.shape)
        return ops.cast(steps, float32), (lengths_of(sparse) + count - 1) // count


def _sequence(make: Callable[..., Any], *args: Any) -> Any:
    return SequenceCategoricalColumn(make(*args))


def sequence_categorical_column_with_identity(key: str, num_buckets: int, default_value: int | None = None) -> Any:
    """Return a ``categorical_column_with_identity`` of sequences."""
    return _sequence(categorical.categorical_column_with_identity, key, num_buckets, default_value)


def sequence_categorical_column_with_hash_bucket(key: str, hash_bucket_size: int, dtype: Any = string) -> Any:
    """Return a ``categorical_column_with_hash_bucket`` of sequences."""
    return _sequence(categorical.categorical_column_with_hash_bucket, key, hash_bucket_size, dtype)


def sequence_categorical_column_with_vocabulary_list(
    key: str, vocabulary_list: Sequence[Any], dtype: Any = None, default_value: int = -1, num_oov_buckets: int = 0
) -> Any:
    """Return a ``categorical_column_with_vocabulary_list`` of sequences."""
    return _sequence(
        categorical.categorical_column_with_vocabulary_list, key, vocabulary_list, dtype, default_value, num_oov_buckets
    )


def sequence_categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: Any = string,
) -> Any:
    """Return a ``categorical_column_with_vocabulary_file`` of sequences."""
    return _sequence(
        categorical.categorical_column_with_vocabulary_file,
        key,
        vocabulary_file,
        vocabulary_size,
        num_oov_buckets,
        default_value,
        dtype,
    )


def sequence_numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: float = 0.0,
    dtype: Any = float32,
    normalizer_fn: Callable[[Any], Any] | None = None,
) -> Any:
    """Return a column of numbers of sequences; see ``numeric_column``.

    ``default_value`` stands behind the end of shorter sequences.
    """
    checked = numeric_column(key, shape, None, dtype, normalizer_fn)
    return SequenceNumericColumn(key, checked.shape, default_value, checked.dtype, normalizer_fn)


def sequence_input_layer(
    features: Mapping[str, Any],
    feature_columns: Iterable[Any],
    weight_collections: Iterable[str] | None = None,
    trainable: bool = True,
) -> tuple[Tensor, Tensor]:
    """Return what a recurrent network takes: the numbers of each step, and the lengths of the sequences.

    Args:
        features: tensors by key.
        feature_columns: columns of sequences.
        weight_collections: further collections of variables.
        trainable: whether variables are trainable.

    Returns:
        float32 ``[batch, steps, numbers]``, and int64 ``[batch]``.
    """
    from actorsession.compat.v1.feature_column.models import sorted_columns, weights_of

    weights, transformed = weights_of(weight_collections, trainable), Features(features)
    outputs, lengths = [], None
    with ops.variable_scope(None, default_name="sequence_input_layer"):
        for column in sorted_columns(feature_columns, DenseColumn):
            with ops.variable_scope(None, default_name=column.var_scope_name):
                steps, count = column.sequence(transformed, weights)
                extent = ops.shape(steps)
                numbers = prod(column.variable_shape)
                outputs.append(ops.reshape(steps, ops.stack([extent[0], extent[1], numbers])))
                lengths = count if lengths is None else lengths
        assert lengths is not None
        return ops.concat(outputs, -1), lengths
