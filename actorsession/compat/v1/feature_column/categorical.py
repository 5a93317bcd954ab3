"""Columns of ids: from vocabularies, hashes and the ids themselves, crossed and weighted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession import ops
from actorsession.compat.v1 import gfile
from actorsession.compat.v1.feature_column.base import CategoricalColumn, Features, Ids, as_sparse
from actorsession.graph.dtypes import DType, as_dtype, float32, int64, string
from actorsession.graph.graph import control_dependencies
from actorsession.namespaces import lookup, sparse
from actorsession.opsets import SparseTensor, VarLenFeature, as_string, string_to_hash_bucket_fast
from actorsession.records import dataclass

__all__ = [
    "categorical_column_with_hash_bucket",
    "categorical_column_with_identity",
    "categorical_column_with_vocabulary_file",
    "categorical_column_with_vocabulary_list",
    "crossed_column",
    "weighted_categorical_column",
]


class _OfKey(CategoricalColumn):
    """The common part of columns of one feature."""

    key: str
    dtype: DType

    @property
    def name(self) -> str:
        """The key."""
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """What ``parse_example`` has to read."""
        return {self.key: VarLenFeature(self.dtype)}

    def sparse(self, features: Features) -> Ids:
        """Return the ids."""
        return Ids(features.get(self), None)

    def transform(self, features: Features) -> SparseTensor:
        """Return the ids of the feature."""
        tensor = as_sparse(features.get(self.key))
        dtype = as_dtype(tensor.dtype)
        if (dtype is string) != (self.dtype is string):
            raise ValueError(
                "Column dtype and SparseTensors dtype must be compatible. "
                f"key: {self.key}, column dtype: {self.dtype}, tensor dtype: {dtype}"
            )
        if dtype is not string and not dtype.is_integer:
            raise ValueError(
                "SparseTensor dtype must be string or integer, or a number that stands for a category is "
                f"needed. key: {self.key}, dtype: {dtype}"
            )
        return SparseTensor(tensor.indices, self._ids(tensor.values), tensor.dense_shape)

    def _ids(self, values: Any) -> Any:
        raise NotImplementedError


@dataclass(frozen=True)
class HashedColumn(_OfKey):
    """Ids that are hash buckets."""

    key: str
    hash_bucket_size: int
    dtype: DType

    @property
    def num_buckets(self) -> int:
        """The number of ids."""
        return self.hash_bucket_size

    def _ids(self, values: Any) -> Any:
        text = values if self.dtype is string else as_string(values)
        return string_to_hash_bucket_fast(text, self.hash_bucket_size, name="lookup")


def categorical_column_with_hash_bucket(key: str, hash_bucket_size: int, dtype: Any = string) -> Any:
    """Return a column whose ids are hash buckets of strings or integers.

    Args:
        key: the key of the feature.
        hash_bucket_size: the number of buckets.
        dtype: the dtype of the feature, strings or integers.

    Raises:
        ValueError: for a number below 1 or another dtype.
    """
    if hash_bucket_size is None or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be at least 1. hash_bucket_size: {hash_bucket_size}, key: {key}")
    return HashedColumn(_key(key), hash_bucket_size, _id_dtype(key, dtype))


@dataclass(frozen=True)
class VocabularyColumn(_OfKey):
    """Ids that are places in a list of words."""

    key: str
    vocabulary_list: tuple[Any, ...]
    dtype: DType
    default_value: int
    num_oov_buckets: int

    @property
    def num_buckets(self) -> int:
        """The number of ids."""
        return len(self.vocabulary_list) + self.num_oov_buckets

    def _ids(self, values: Any) -> Any:
        wide = self.dtype if self.dtype is string else int64
        table = lookup.index_table_from_tensor(
            ops.constant(list(self.vocabulary_list), wide),
            self.num_oov_buckets,
            self.default_value,
            dtype=wide,
            name=f"{self.key}_lookup",
        )
        return table.lookup(values if wide is string else ops.cast(values, wide))


def categorical_column_with_vocabulary_list(
    key: str, vocabulary_list: Sequence[Any], dtype: Any = None, default_value: int = -1, num_oov_buckets: int = 0
) -> Any:
    """Return a column whose ids are places in a list.

    Args:
        key: the key of the feature.
        vocabulary_list: the words or integers.
        dtype: the dtype of the feature; that of the list if left out.
        default_value: the id of what is not in the list; -1 counts as nothing.
        num_oov_buckets: the number of buckets for what is not in the list.

    Raises:
        ValueError: for an empty list or one with a word twice, another dtype, or both of the last two.
    """
    words = tuple(vocabulary_list or ())
    if not words:
        raise ValueError(f"vocabulary_list {vocabulary_list} must be non-empty, column_name: {key}")
    if len(set(words)) != len(words):
        raise ValueError(f"Duplicate keys in vocabulary_list {vocabulary_list}, column_name: {key}")
    id_dtype = _id_dtype(key, as_dtype(np.array(words).dtype) if dtype is None else dtype)
    _check_unknown(key, default_value, num_oov_buckets)
    return VocabularyColumn(_key(key), words, id_dtype, default_value, num_oov_buckets)


@dataclass(frozen=True)
class VocabularyFileColumn(_OfKey):
    """Ids that are lines of a file."""

    key: str
    vocabulary_file: str
    vocabulary_size: int
    num_oov_buckets: int
    dtype: DType
    default_value: int

    @property
    def num_buckets(self) -> int:
        """The number of ids."""
        return self.vocabulary_size + self.num_oov_buckets

    def _ids(self, values: Any) -> Any:
        wide = self.dtype if self.dtype is string else int64
        table = lookup.index_table_from_file(
            self.vocabulary_file,
            self.num_oov_buckets,
            self.vocabulary_size,
            self.default_value,
            key_dtype=wide,
            name=f"{self.key}_lookup",
        )
        return table.lookup(values if wide is string else ops.cast(values, wide))


def categorical_column_with_vocabulary_file(
    key: str,
    vocabulary_file: str,
    vocabulary_size: int | None = None,
    num_oov_buckets: int = 0,
    default_value: int | None = None,
    dtype: Any = string,
) -> Any:
    """Return a column whose ids are lines of a file.

    Args:
        key: the key of the feature.
        vocabulary_file: the file, with a word in each line.
        vocabulary_size: the number of lines; counted if left out.
        num_oov_buckets: the number of buckets for what is not in the file.
        default_value: the id of what is not in the file; -1, which counts as nothing, if left out.
        dtype: the dtype of the feature.

    Raises:
        ValueError: without a file, for a size below 1, another dtype, or both of buckets and a default.
    """
    if not vocabulary_file:
        raise ValueError(f"Missing vocabulary_file in {key}.")
    if vocabulary_size is None:
        with gfile.GFile(vocabulary_file, "rb") as file:
            vocabulary_size = sum(1 for _ in file)
    if vocabulary_size < 1:
        raise ValueError(f"Invalid vocabulary_size in {key}.")
    _check_unknown(key, -1 if default_value is None else default_value, num_oov_buckets)
    return VocabularyFileColumn(
        _key(key),
        vocabulary_file,
        vocabulary_size,
        num_oov_buckets,
        _id_dtype(key, dtype),
        -1 if default_value is None else default_value,
    )


@dataclass(frozen=True)
class IdentityColumn(_OfKey):
    """Ids that are the feature itself."""

    key: str
    number_buckets: int
    default_value: int | None
    dtype: DType = int64

    @property
    def num_buckets(self) -> int:
        """The number of ids."""
        return self.number_buckets

    def _ids(self, values: Any) -> Any:
        ids = ops.cast(values, int64, name="values")
        limit, zero = ops.constant(self.num_buckets, int64), ops.constant(0, int64)
        if self.default_value is None:
            checks = [
                ops.assert_less(ids, limit, name="assert_less_than_num_buckets"),
                ops.assert_greater_equal(ids, zero, name="assert_greater_or_equal_0"),
            ]
            with control_dependencies(checks):
                return ops.identity(ids)
        outside = ops.logical_or(ops.less(ids, zero), ops.greater_equal(ids, limit))
        default = ops.fill(ops.shape(ids), ops.constant(self.default_value, int64))
        return ops.where(outside, default, ids)


def categorical_column_with_identity(key: str, num_buckets: int, default_value: int | None = None) -> Any:
    """Return a column whose ids are the feature itself.

    Args:
        key: the key of the feature, integers.
        num_buckets: the number of ids.
        default_value: the id of what is out of range; if left out that is an error of the step.

    Raises:
        ValueError: for a number below 1 or a default out of range.
    """
    if num_buckets < 1:
        raise ValueError(f"num_buckets {num_buckets} < 1, column_name {key}")
    if default_value is not None and not 0 <= default_value < num_buckets:
        raise ValueError(f"default_value {default_value} not in range [0, {num_buckets}), column_name {key}")
    return IdentityColumn(_key(key), num_buckets, default_value)


@dataclass(frozen=True)
class WeightedColumn(CategoricalColumn):
    """Ids with weights from another feature."""

    categorical_column: Any
    weight_feature_key: str
    dtype: DType

    @property
    def name(self) -> str:
        """The names of both."""
        return f"{self.categorical_column.name}_weighted_by_{self.weight_feature_key}"

    @property
    def is_sequence(self) -> bool:  # type: ignore[override]
        """Whether the ids are of sequences."""
        return bool(self.categorical_column.is_sequence)

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """What ``parse_example`` has to read."""
        spec = dict(self.categorical_column.parse_example_spec)
        if self.weight_feature_key in spec:
            raise ValueError(
                f"Parse config {spec[self.weight_feature_key]} already exists for {self.weight_feature_key}."
            )
        return {**spec, self.weight_feature_key: VarLenFeature(self.dtype)}

    @property
    def num_buckets(self) -> int:
        """The number of ids."""
        return int(self.categorical_column.num_buckets)

    def transform(self, features: Features) -> Ids:
        """Return the ids and their weights."""
        numbers = features.get(self.weight_feature_key)
        if not self.dtype.is_compatible_with(as_dtype(numbers.dtype)):
            raise ValueError(f"Bad dtype, expected {self.dtype}, but got {numbers.dtype}.")
        weights = as_sparse(numbers, 0.0)
        floats = SparseTensor(weights.indices, ops.cast(weights.values, float32), weights.dense_shape)
        return Ids(self.categorical_column.sparse(features).ids, floats)

    def sparse(self, features: Features) -> Ids:
        """Return the ids and their weights."""
        ids: Ids = features.get(self)
        return ids


def weighted_categorical_column(categorical_column: Any, weight_feature_key: str, dtype: Any = float32) -> Any:
    """Return a column of ids with weights from another feature.

    Args:
        categorical_column: the column of the ids.
        weight_feature_key: the key of the weights, of the same shape.
        dtype: the dtype of the weights.

    Raises:
        ValueError: for a dtype that is no number.
    """
    weight_dtype = as_dtype(dtype)
    if not (weight_dtype.is_integer or weight_dtype.is_floating):
        raise ValueError(f"dtype {weight_dtype} is not convertible to float.")
    return WeightedColumn(categorical_column, weight_feature_key, weight_dtype)


@dataclass(frozen=True)
class CrossedColumn(CategoricalColumn):
    """Hash buckets of the combinations of several features."""

    keys: tuple[Any, ...]
    hash_bucket_size: int
    hash_key: int | None

    @property
    def name(self) -> str:
        """The names of the features, sorted and joined."""
        return "_X_".join(sorted(self._names()))

    def _names(self) -> list[str]:
        names: list[str] = []
        for key in self.keys:
            if isinstance(key, CrossedColumn):
                names += key._names()
            else:
                names.append(key if isinstance(key, str) else key.name)
        return names

    def _leaves(self) -> list[Any]:
        leaves: list[Any] = []
        for key in self.keys:
            leaves += key._leaves() if isinstance(key, CrossedColumn) else [key]
        return leaves

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """What ``parse_example`` has to read."""
        spec: dict[str, Any] = {}
        for key in self.keys:
            spec |= {key: VarLenFeature(string)} if isinstance(key, str) else key.parse_example_spec
        return spec

    @property
    def num_buckets(self) -> int:
        """The number of ids."""
        return self.hash_bucket_size

    def transform(self, features: Features) -> SparseTensor:
        """Return the buckets."""
        inputs = []
        for leaf in self._leaves():
            if isinstance(leaf, str):
                inputs.append(features.get(leaf))
                continue
            ids, weights = leaf.sparse(features)
            if weights is not None:
                raise ValueError(
                    "crossed_column does not support weight_tensor, but the given column populates "
                    f"weight_tensor. Given column: {leaf.name}"
                )
            inputs.append(ids)
        return sparse.cross_hashed(inputs, self.hash_bucket_size, self.hash_key)

    def sparse(self, features: Features) -> Ids:
        """Return the buckets."""
        return Ids(features.get(self), None)


def crossed_column(keys: Sequence[Any], hash_bucket_size: int, hash_key: int | None = None) -> Any:
    """Return a column of hash buckets of the combinations of several features.

    Args:
        keys: keys of features, strings or integers, or columns of ids that are not hash buckets.
        hash_bucket_size: the number of buckets.
        hash_key: what the hashes start from.

    Raises:
        ValueError: for fewer than two keys, a key of another kind, or a number of buckets below 1.
    """
    if not hash_bucket_size or hash_bucket_size < 1:
        raise ValueError(f"hash_bucket_size must be > 1. hash_bucket_size: {hash_bucket_size}")
    if not keys or len(keys) < 2:
        raise ValueError(f"keys must be a list with length > 1. Given: {keys}")
    for key in keys:
        if not isinstance(key, (str, CategoricalColumn)):
            raise ValueError(
                "Unsupported key type. All keys must be either string, or categorical column except "
                f"HashedCategoricalColumn. Given: {key}"
            )
        if isinstance(key, HashedColumn):
            raise ValueError(
                "categorical_column_with_hash_bucket is not supported for crossing. Hashing before crossing "
                "will increase probability of collision. Instead, use the feature name as a string. Given: "
                f"{key}"
            )
    return CrossedColumn(tuple(keys), hash_bucket_size, hash_key)


# -- checks ----------------------------------------------------------------------------------------


def _key(key: Any) -> str:
    if not isinstance(key, str):
        raise ValueError(f"key must be a string. Got: type {type(key)}. Given key: {key}.")
    return key


def _id_dtype(key: str, dtype: Any) -> DType:
    id_dtype = as_dtype(dtype)
    if id_dtype is not string and not id_dtype.is_integer:
        raise ValueError(f"dtype must be string or integer. dtype: {id_dtype}, column_name: {key}")
    return id_dtype


def _check_unknown(key: str, default_value: int, num_oov_buckets: int) -> None:
    if num_oov_buckets and default_value != -1:
        raise ValueError(f"Can't specify both num_oov_buckets and default_value in {key}.")
    if num_oov_buckets < 0:
        raise ValueError(f"Invalid num_oov_buckets {num_oov_buckets} in {key}.")
