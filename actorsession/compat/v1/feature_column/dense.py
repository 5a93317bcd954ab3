"""Columns of numbers: numeric and bucketized ones, and indicators and embeddings of ids."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession import ops
from actorsession.compat.v1.feature_column.base import CategoricalColumn, DenseColumn, Features, Ids, Weights
from actorsession.graph.dtypes import DType, as_dtype, float32, int64
from actorsession.graph.graph import get_default_graph
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.namespaces import nn
from actorsession.ops import raw
from actorsession.opsets import FixedLenFeature, SparseTensor, sparse_merge, sparse_tensor_to_dense
from actorsession.records import dataclass
from actorsession.train.checkpoint_utils import init_from_checkpoint

__all__ = ["bucketized_column", "embedding_column", "indicator_column", "numeric_column", "shared_embedding_columns"]


# -- numbers ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class NumericColumn(DenseColumn):
    """Numbers of a feature."""

    key: str
    shape: tuple[int, ...]
    default_value: Any
    dtype: DType
    normalizer_fn: Callable[[Any], Any] | None

    @property
    def name(self) -> str:
        """The key."""
        return self.key

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """What ``parse_example`` has to read."""
        return {self.key: FixedLenFeature(self.shape, self.dtype, self.default_value)}

    @property
    def variable_shape(self) -> tuple[int, ...]:
        """The shape of the numbers of one example."""
        return self.shape

    def transform(self, features: Features) -> Tensor:
        """Return the numbers as float32."""
        numbers = features.get(self.key)
        if isinstance(numbers, SparseTensor):
            raise ValueError(
                "The corresponding Tensor of numerical column must be a Tensor. SparseTensor is not "
                f"supported. key: {self.key}"
            )
        if self.normalizer_fn is not None:
            numbers = self.normalizer_fn(numbers)
        return ops.cast(numbers, float32)

    def dense(self, features: Features, weights: Weights) -> Tensor:
        """Return the numbers."""
        numbers: Tensor = features.get(self)
        return numbers


def numeric_column(
    key: str,
    shape: Any = (1,),
    default_value: Any = None,
    dtype: Any = float32,
    normalizer_fn: Callable[[Any], Any] | None = None,
) -> Any:
    """Return a column of the numbers of a feature.

    Args:
        key: the key of the feature.
        shape: the shape of the numbers of one example.
        default_value: what ``parse_example`` puts where an example has none: a number, or one for each.
        dtype: the dtype of the feature.
        normalizer_fn: a function of the feature.

    Raises:
        TypeError: for a key that is no string, a shape of other than integers, or a normaliser that is no
            function.
        ValueError: for a shape with a size below 1, a dtype that is no number, or a default of another shape.
    """
    if not isinstance(key, str):
        raise ValueError(f"key must be a string. Got: type {type(key)}. Given key: {key}.")
    extents = (shape,) if isinstance(shape, int) else tuple(TensorShape(shape).as_list())
    sizes = tuple(size for size in extents if size is not None and size > 0)
    if sizes != extents:
        raise ValueError(f"shape dimensions must be greater than 0. shape: {extents}, key: {key}")
    element_dtype = as_dtype(dtype)
    if not (element_dtype.is_integer or element_dtype.is_floating):
        raise ValueError(f"dtype must be convertible to float. dtype: {element_dtype}, key: {key}")
    if normalizer_fn is not None and not callable(normalizer_fn):
        raise TypeError(f"normalizer_fn must be a callable. Given: {normalizer_fn} ({type(normalizer_fn)})")
    default = None if default_value is None else _default_of(key, default_value, sizes)
    return NumericColumn(key, sizes, default, element_dtype, normalizer_fn)


def _default_of(key: str, default_value: Any, shape: tuple[int, ...]) -> Any:
    """Return the default of all numbers, as nested tuples."""
    values = np.asarray(default_value)
    if values.shape not in ((), shape):
        raise ValueError(
            f"The shape of default_value must be equal to given shape. default_value: {default_value}, shape: "
            f"{shape}, key: {key}"
        )
    return _as_tuples(np.broadcast_to(values, shape).tolist())


def _as_tuples(nested: Any) -> Any:
    return tuple(map(_as_tuples, nested)) if isinstance(nested, list) else nested


@dataclass(frozen=True)
class BucketizedColumn(DenseColumn, CategoricalColumn):
    """Numbers by the interval that they are in."""

    source_column: Any
    boundaries: tuple[float, ...]

    @property
    def name(self) -> str:
        """The name of the numbers with an ending."""
        return f"{self.source_column.name}_bucketized"

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """What ``parse_example`` has to read."""
        return dict(self.source_column.parse_example_spec)

    @property
    def variable_shape(self) -> tuple[int, ...]:
        """The shape of the numbers of one example: 1 for the interval of each number, else 0."""
        return (*self.source_column.shape, len(self.boundaries) + 1)

    @property
    def num_buckets(self) -> int:
        """The number of intervals, of all numbers of an example."""
        return (len(self.boundaries) + 1) * int(self.source_column.shape[0])

    def transform(self, features: Features) -> Tensor:
        """Return the number of the interval of each number."""
        return raw.Bucketize(features.get(self.source_column), boundaries=list(self.boundaries))

    def dense(self, features: Features, weights: Weights) -> Tensor:
        """Return 1 for the interval of each number, else 0."""
        return ops.one_hot(features.get(self), len(self.boundaries) + 1, 1.0, 0.0)

    def sparse(self, features: Features) -> Ids:
        """Return the intervals as ids; each number of an example has ids of its own."""
        buckets = features.get(self)
        batch, count = ops.shape(buckets)[0], int(self.source_column.shape[0])
        rows = ops.reshape(ops.tile(ops.expand_dims(ops.range(0, batch), 1), [1, count]), [-1])
        columns = ops.tile(ops.range(0, count), [batch])
        ids = ops.reshape(buckets, [-1]) + (len(self.boundaries) + 1) * columns
        places = ops.cast(ops.transpose(ops.stack([rows, columns])), int64)
        extent = ops.cast(ops.stack([batch, count]), int64)
        return Ids(SparseTensor(places, ops.cast(ids, int64), extent), None)


def bucketized_column(source_column: Any, boundaries: Sequence[float]) -> Any:
    """Return a column of the intervals that numbers are in.

    Args:
        source_column: the numbers, a ``numeric_column`` of one axis.
        boundaries: where the next interval begins, in ascending order.

    Raises:
        ValueError: for another column, or boundaries that do not ascend.
    """
    if not isinstance(source_column, NumericColumn):
        raise ValueError(f"source_column must be a column generated with numeric_column(). Given: {source_column}")
    if len(source_column.shape) > 1:
        raise ValueError(f"source_column must be one-dimensional column. Given: {source_column}")
    limits = tuple(boundaries) if isinstance(boundaries, (list, tuple)) else ()
    if not limits or any(a >= b for a, b in itertools.pairwise(limits)):
        raise ValueError("boundaries must be a sorted list.")
    return BucketizedColumn(source_column, limits)


# -- of ids ----------------------------------------------------------------------------------------


class _OfIds(DenseColumn):
    """The common part of columns of numbers that are made of ids."""

    categorical_column: Any

    @property
    def parse_example_spec(self) -> dict[str, Any]:
        """What ``parse_example`` has to read."""
        return dict(self.categorical_column.parse_example_spec)

    @property
    def is_sequence(self) -> bool:  # type: ignore[override]
        """Whether the ids are of sequences."""
        return bool(self.categorical_column.is_sequence)

    def _numbers(self, features: Features, weights: Weights) -> Tensor:
        raise NotImplementedError

    def transform(self, features: Features) -> Any:
        """Return the ids and their weights."""
        return self.categorical_column.sparse(features)

    def dense(self, features: Features, weights: Weights) -> Tensor:
        """Return the numbers."""
        if self.is_sequence:
            raise ValueError(
                f"In input_layer column {self.name!r} must not be of sequences; "
                "contrib.feature_column.sequence_input_layer takes such columns"
            )
        return self._numbers(features, weights)

    def sequence(self, features: Features, weights: Weights) -> tuple[Tensor, Tensor]:
        """Return the numbers of each step of sequences, and their lengths."""
        if not self.is_sequence:
            raise TypeError(f"column {self.name!r} is not of sequences")
        ids = self.categorical_column.sparse(features).ids
        return self._numbers(features, weights), lengths_of(ids)


def lengths_of(sparse: SparseTensor) -> Tensor:
    """Return the length of each example's sequence: its last step with an entry, and one."""
    rows, steps = sparse.indices[:, 0], sparse.indices[:, 1] + 1
    lengths = ops.segment_max(steps, rows)
    missing = ops.cast(sparse.dense_shape[0], int64) - ops.shape(lengths, out_type=int64)[0]
    return ops.concat([lengths, ops.zeros(ops.stack([missing]), int64)], 0)


@dataclass(frozen=True)
class IndicatorColumn(_OfIds):
    """The number of times, or the weight, that an example has each id with."""

    categorical_column: Any

    @property
    def name(self) -> str:
        """The name of the ids with an ending."""
        return f"{self.categorical_column.name}_indicator"

    @property
    def variable_shape(self) -> tuple[int, ...]:
        """The shape of the numbers of one example."""
        return (1, self.categorical_column.num_buckets)

    def _numbers(self, features: Features, weights: Weights) -> Tensor:
        ids, factors = self.categorical_column.sparse(features)
        depth = self.categorical_column.num_buckets
        if factors is not None:
            merged = sparse_merge(ids, factors, depth)
            summed = ops.scatter_nd(merged.indices, merged.values, merged.dense_shape)
            return summed[:, :depth]
        dense = sparse_tensor_to_dense(ids, default_value=-1)
        return ops.reduce_sum(ops.one_hot(dense, depth, 1.0, 0.0), axis=[-2])


def indicator_column(categorical_column: Any) -> Any:
    """Return a column of the number of times that an example has each id.

    Args:
        categorical_column: the column of the ids.
    """
    _check_ids(categorical_column)
    return IndicatorColumn(categorical_column)


def _check_ids(column: Any) -> None:
    if not isinstance(column, CategoricalColumn):
        raise ValueError(
            f"Unsupported column type. Expected one of a categorical_column_with_* function, got {column!r}"
        )


@dataclass(frozen=True)
class EmbeddingColumn(_OfIds):
    """Vectors of ids, which are trained."""

    categorical_column: Any
    dimension: int
    combiner: str
    initializer: Any
    ckpt_to_load_from: str | None
    tensor_name_in_ckpt: str | None
    max_norm: float | None
    trainable: bool
    shared: str | None = None

    @property
    def name(self) -> str:
        """The name of the ids with an ending."""
        ending = "embedding" if self.shared is None else "shared_embedding"
        return f"{self.categorical_column.name}_{ending}"

    @property
    def var_scope_name(self) -> str:
        """The name of the scope of its variables."""
        return self.name if self.shared is None else self.shared

    @property
    def variable_shape(self) -> tuple[int, ...]:
        """The shape of the numbers of one example."""
        return (self.dimension,)

    def _table(self, weights: Weights) -> Any:
        """Return the vectors of all ids, which columns of one shared name have in common."""
        shape = [self.categorical_column.num_buckets, self.dimension]
        if self.shared is not None:
            known = get_default_graph().get_collection(self.shared)
            if known:
                if known[0].shape.as_list() != shape:
                    raise ValueError(
                        f"Shared embedding collection {self.shared} contains a variable of shape "
                        f"{known[0].shape}; expected {shape}"
                    )
                return known[0]
        table = weights.get("embedding_weights", shape, self.initializer, trainable=self.trainable)
        if self.shared is not None:
            get_default_graph().add_to_collection(self.shared, table)
        if self.ckpt_to_load_from is not None:
            init_from_checkpoint(self.ckpt_to_load_from, {self.tensor_name_in_ckpt: table})
        return table

    def _numbers(self, features: Features, weights: Weights) -> Tensor:
        ids, factors = self.categorical_column.sparse(features)
        return nn.safe_embedding_lookup_sparse(
            self._table(weights),
            ids,
            factors,
            combiner=self.combiner,
            max_norm=self.max_norm,
            name=f"{self.name}_weights",
        )


def embedding_column(
    categorical_column: Any,
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
    use_safe_embedding_lookup: bool = True,
) -> Any:
    """Return a column of vectors of ids, which are trained.

    Args:
        categorical_column: the column of the ids.
        dimension: the length of a vector.
        combiner: how the vectors of an example become one: ``mean``, ``sqrtn`` or ``sum``.
        initializer: the initialiser; a truncated normal one of deviation ``dimension ** -0.5`` if left out.
        ckpt_to_load_from: a checkpoint with the first values.
        tensor_name_in_ckpt: the name of the values there.
        max_norm: the greatest length of a vector.
        trainable: whether the vectors are trained.
        use_safe_embedding_lookup: accepted for compatibility; examples without ids are allowed.

    Raises:
        ValueError: for a dimension below 1, an initialiser that is no function, or a checkpoint without name.
    """
    arguments = _embedding(
        categorical_column,
        dimension,
        combiner,
        initializer,
        ckpt_to_load_from,
        tensor_name_in_ckpt,
        max_norm,
        trainable,
    )
    return EmbeddingColumn(*arguments)


def _embedding(
    column: Any,
    dimension: int,
    combiner: str,
    initializer: Any,
    ckpt_to_load_from: str | None,
    tensor_name_in_ckpt: str | None,
    max_norm: float | None,
    trainable: bool,
) -> tuple[Any, ...]:
    """Return the checked arguments of an embedding."""
    _check_ids(column)
    if dimension is None or dimension < 1:
        raise ValueError(f"Invalid dimension {dimension}.")
    if (ckpt_to_load_from is None) != (tensor_name_in_ckpt is None):
        raise ValueError("Must specify both `ckpt_to_load_from` and `tensor_name_in_ckpt` or none of them.")
    if initializer is not None and not callable(initializer):
        raise ValueError(f"initializer must be callable if specified. Embedding of column_name: {column.name}")
    if initializer is None:
        initializer = ops.truncated_normal_initializer(0.0, 1 / math.sqrt(dimension))
    return (column, dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable)


def shared_embedding_columns(
    categorical_columns: Sequence[Any],
    dimension: int,
    combiner: str = "mean",
    initializer: Any = None,
    shared_embedding_collection_name: str | None = None,
    ckpt_to_load_from: str | None = None,
    tensor_name_in_ckpt: str | None = None,
    max_norm: float | None = None,
    trainable: bool = True,
    use_safe_embedding_lookup: bool = True,
) -> list[Any]:
    """Return columns of vectors of ids, which columns with as many ids share.

    Args:
        categorical_columns: the columns of the ids.
        dimension: see ``embedding_column``, as for the others.
        combiner: see there.
        initializer: see there.
        shared_embedding_collection_name: the name of the vectors; those of the columns if left out.
        ckpt_to_load_from: see there.
        tensor_name_in_ckpt: see there.
        max_norm: see there.
        trainable: see there.
        use_safe_embedding_lookup: see there.

    Raises:
        ValueError: as for ``embedding_column``, or for columns with different numbers of ids.
    """
    columns = list(categorical_columns)
    if len({column.num_buckets for column in columns}) > 1:
        raise ValueError(
            "To use shared_embedding_column, all categorical_columns must have the same number of buckets. "
            f"Given: {[(column.name, column.num_buckets) for column in columns]}"
        )
    names = "_".join(sorted(column.name for column in columns))
    shared = shared_embedding_collection_name or f"{names}_shared_embedding"
    arguments = [
        _embedding(
            column, dimension, combiner, initializer, ckpt_to_load_from, tensor_name_in_ckpt, max_norm, trainable
        )
        for column in columns
    ]
    return [EmbeddingColumn(*(*each, shared)) for each in arguments]
