"""The feature columns of ``tf.contrib.layers``, from before ``tf.feature_column``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from actorsession.compat.v1.feature_column.categorical import (
    categorical_column_with_hash_bucket,
    categorical_column_with_identity,
    categorical_column_with_vocabulary_list,
)
from actorsession.compat.v1.feature_column.categorical import crossed_column as _crossed
from actorsession.compat.v1.feature_column.dense import bucketized_column as _bucketized
from actorsession.compat.v1.feature_column.dense import embedding_column as _embedding
from actorsession.compat.v1.feature_column.dense import indicator_column, numeric_column
from actorsession.graph.dtypes import float32, int64, string

__all__ = [
    "bucketized_column",
    "crossed_column",
    "embedding_column",
    "one_hot_column",
    "real_valued_column",
    "sparse_column_with_hash_bucket",
    "sparse_column_with_integerized_feature",
    "sparse_column_with_keys",
]

# The key of features that are a single array, whose column had an empty name.
_ONLY = "x"


def real_valued_column(
    column_name: str,
    dimension: int = 1,
    default_value: Any = None,
    dtype: Any = float32,
    normalizer: Callable[[Any], Any] | None = None,
) -> Any:
    """Return a column of numbers.

    Args:
        column_name: key of the feature; an empty one stands for features that are a single array.
        dimension: how many numbers an example has.
        default_value: number of examples without one.
        dtype: dtype of the numbers.
        normalizer: from the numbers to others.
    """
    return numeric_column(column_name or _ONLY, (dimension,), default_value, dtype, normalizer)


def sparse_column_with_hash_bucket(
    column_name: str, hash_bucket_size: int, combiner: str = "sum", dtype: Any = string
) -> Any:
    """Return a column of values that are hashed to ids.

    Args:
        column_name: key of the feature.
        hash_bucket_size: how many ids there are.
        combiner: accepted for compatibility; the model combines ids.
        dtype: dtype of the values.
    """
    return categorical_column_with_hash_bucket(column_name, hash_bucket_size, dtype)


def sparse_column_with_integerized_feature(
    column_name: str, bucket_size: int, combiner: str = "sum", dtype: Any = int64
) -> Any:
    """Return a column of values that are ids.

    Args:
        column_name: key of the feature.
        bucket_size: how many ids there are.
        combiner: accepted for compatibility.
        dtype: accepted for compatibility.
    """
    return categorical_column_with_identity(column_name, bucket_size)


def sparse_column_with_keys(
    column_name: str, keys: Sequence[Any], default_value: int = -1, combiner: str = "sum", dtype: Any = string
) -> Any:
    """Return a column of values that are looked up in a list.

    Args:
        column_name: key of the feature.
        keys: the values.
        default_value: id of others.
        combiner: accepted for compatibility.
        dtype: dtype of the values.
    """
    return categorical_column_with_vocabulary_list(column_name, keys, dtype, default_value)


def one_hot_column(sparse_id_column: Any) -> Any:
    """Return a column with a number for each id of another: how often it occurs."""
    return indicator_column(sparse_id_column)


def embedding_column(
    sparse_id_column: Any, dimension: int, combiner: str = "mean", initializer: Any = None, **others: Any
) -> Any:
    """Return a column with a vector for each id of another.

    Args:
        sparse_id_column: the column of ids.
        dimension: length of the vectors.
        combiner: how the vectors of several ids make one.
        initializer: first value of the table.
        others: accepted for compatibility.
    """
    return _embedding(sparse_id_column, dimension, combiner, initializer)


def bucketized_column(source_column: Any, boundaries: Sequence[float]) -> Any:
    """Return a column with the bucket of each number of another.

    Args:
        source_column: the column of numbers.
        boundaries: where buckets begin.
    """
    return _bucketized(source_column, list(boundaries))


def crossed_column(columns: Sequence[Any], hash_bucket_size: int, **others: Any) -> Any:
    """Return a column of combinations of the values of others.

    Args:
        columns: keys, or columns of ids.
        hash_bucket_size: how many ids there are.
        others: accepted for compatibility.
    """
    keys = [getattr(column, "key", column) for column in columns]
    crossed = [c if type(c).__name__ == "BucketizedColumn" else k for c, k in zip(columns, keys, strict=True)]
    return _crossed(crossed, hash_bucket_size)
