"""What all feature columns share: their base classes, and the cache of transformed features."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from typing import Any, NamedTuple

from actorsession import ops
from actorsession.graph.dtypes import as_dtype, string
from actorsession.graph.operation import Tensor
from actorsession.opsets import SparseTensor, SparseTensorValue

__all__ = ["CategoricalColumn", "DenseColumn", "Features", "Ids", "Weights", "as_sparse"]


class Features:
    """The features of a batch and what columns made of them, each once.

    Args:
        features: tensors by key, and by column where they are transformed already.
    """

    def __init__(self, features: Mapping[Any, Any]) -> None:
        self._given, self._transformed = features, dict[Any, Any]()

    def get(self, key: Any) -> Any:
        """Return the feature of a key, with at least two axes, or what a column makes of its features.

        Raises:
            ValueError: for a key that there is not, or a feature that is a scalar.
        """
        if key not in self._transformed:
            if key in self._given:
                self._transformed[key] = self._read(key)
            elif isinstance(key, str):
                raise ValueError(
                    f"Feature {key} is not in features dictionary, which has {sorted(map(str, self._given))}."
                )
            else:
                self._transformed[key] = key.transform(self)
        return self._transformed[key]

    def _read(self, key: Any) -> Any:
        feature = self._given[key]
        if isinstance(feature, SparseTensorValue):
            feature = SparseTensor(*feature)
        if isinstance(feature, SparseTensor):
            return feature
        value = ops.convert_to_tensor(feature)
        rank = value.shape.rank
        if rank == 0:
            raise ValueError(f"Feature (key: {key}) cannot have rank 0. Given: {value}")
        if rank is None:
            return ops.cond(ops.equal(ops.rank(value), 1), lambda: ops.expand_dims(value, -1), lambda: value)
        return ops.expand_dims(value, -1) if rank == 1 else value


class Ids(NamedTuple):
    """What a categorical column gives.

    Attributes:
        ids: the ids of each example, a sparse tensor.
        weights: their weights, a sparse tensor, or ``None``.
    """

    ids: SparseTensor
    weights: SparseTensor | None


class Weights(NamedTuple):
    """How the variables of columns are made.

    Attributes:
        collections: the collections that they join.
        trainable: whether they are trainable.
    """

    collections: list[str] | None
    trainable: bool

    def get(self, name: str, shape: Any, initializer: Any, *, trainable: bool = True) -> Any:
        """Return the variable with a name in the current scope."""
        return ops.get_variable(
            name, shape, initializer=initializer, trainable=trainable and self.trainable, collections=self.collections
        )


class FeatureColumn(abc.ABC):
    """A description of one feature or of several."""

    @property
    @abc.abstractmethod
    def name(self) -> str:
        """The name, by which columns are sorted and variables named."""

    @property
    def var_scope_name(self) -> str:
        """The name of the scope of its variables."""
        return self.name

    @property
    @abc.abstractmethod
    def parse_example_spec(self) -> dict[str, Any]:
        """What ``parse_example`` has to read, by key."""

    @abc.abstractmethod
    def transform(self, features: Features) -> Any:
        """Return what the column makes of its features."""

    @property
    def _parse_example_spec(self) -> dict[str, Any]:
        return self.parse_example_spec


class DenseColumn(FeatureColumn):
    """A column of numbers."""

    is_sequence = False

    @property
    @abc.abstractmethod
    def variable_shape(self) -> tuple[int, ...]:
        """The shape of the numbers of one example."""

    @abc.abstractmethod
    def dense(self, features: Features, weights: Weights) -> Tensor:
        """Return the numbers."""

    def sequence(self, features: Features, weights: Weights) -> tuple[Tensor, Tensor]:
        """Return the numbers of each step of sequences, and their lengths.

        Raises:
            TypeError: if the column is of no sequences.
        """
        raise TypeError(f"column {self.name!r} is not of sequences")


class CategoricalColumn(FeatureColumn):
    """A column of ids."""

    is_sequence = False

    @property
    @abc.abstractmethod
    def num_buckets(self) -> int:
        """The number of ids."""

    @abc.abstractmethod
    def sparse(self, features: Features) -> Ids:
        """Return the ids and their weights."""


def as_sparse(feature: Any, ignored: Any = None) -> SparseTensor:
    """Return a feature as a sparse tensor.

    Args:
        feature: the feature; a sparse one is returned as it is.
        ignored: what stands for nothing; the empty string or -1 if left out.
    """
    if isinstance(feature, SparseTensor):
        return feature
    dtype = as_dtype(feature.dtype)
    if ignored is None:
        ignored = "" if dtype is string else -1
    places = ops.where(ops.not_equal(feature, ops.constant(ignored, dtype)), name="indices")
    values = ops.gather_nd(feature, places, name="values")
    return SparseTensor(places, values, ops.shape(feature, out_type=places.dtype))
