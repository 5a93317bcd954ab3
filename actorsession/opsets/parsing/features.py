"""Descriptions of the features that a program requests from examples, and the operands that follow from them.

Owns the four kinds of descriptions and ``Wanted``, in which keys, types, shapes and defaults are in the order
of the node's operands. ``examples`` builds nodes from it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from typing import Any, NamedTuple

from actorsession.graph.dtypes import DType, as_dtype, float32, int64, string
from actorsession.graph.graph import Graph
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.ops.arrays.shape import reshape
from actorsession.ops.build import constant, convert_to_tensor
from actorsession.records import dataclass

__all__ = [
    "FixedLenFeature",
    "FixedLenSequenceFeature",
    "SparseFeature",
    "VarLenFeature",
    "Wanted",
    "index_keys",
    "wanted_of",
]


class VarLenFeature(NamedTuple):
    """A feature with any number of values, returned as a sparse tensor.

    Attributes:
        dtype: string, float32 or int64.
    """

    dtype: Any


class SparseFeature(NamedTuple):
    """A sparse tensor stored in an example as two or more features: its indices and its values.

    Attributes:
        index_key: key of the indices along an axis, an int64 feature; a list of keys for several axes.
        value_key: key of the values.
        dtype: dtype of the values: string, float32 or int64.
        size: extent of the axis, or a list of them.
        already_sorted: whether the indices of each example are sorted.
    """

    index_key: Any
    value_key: Any
    dtype: Any
    size: Any
    already_sorted: bool = False


class FixedLenFeature(NamedTuple):
    """A feature whose values have the same shape in all examples.

    Attributes:
        shape: shape of the values of an example.
        dtype: string, float32 or int64.
        default_value: replaces a missing feature; without it a missing feature is an error.
    """

    shape: Any
    dtype: Any
    default_value: Any = None


class FixedLenSequenceFeature(NamedTuple):
    """A feature with any number of blocks of one shape, padded to the longest example of the batch.

    Attributes:
        shape: shape of a block.
        dtype: string, float32 or int64.
        allow_missing: whether an example may have none.
        default_value: value for padding; zeros or empty strings if left out.
    """

    shape: Any
    dtype: Any
    allow_missing: bool = False
    default_value: Any = None


@dataclass(slots=True)
class Wanted:
    """The features of a node, in the order of its operands and results.

    Attributes:
        sparse: types of features with any number of values, by key.
        dense: types of the features that become arrays, by key.
        shapes: shapes of these, by key; the first dimension is unknown if the number of blocks varies.
        defaults: the given defaults, by key; ``None`` where the feature may be missing.
    """

    sparse: dict[str, DType] = field(default_factory=dict)
    dense: dict[str, DType] = field(default_factory=dict)
    shapes: dict[str, TensorShape] = field(default_factory=dict)
    defaults: dict[str, Any] = field(default_factory=dict)

    def default_tensors(self, graph: Graph) -> list[Tensor]:
        """Return the default operand of each dense feature; empty where there is no default.

        Raises:
            TypeError: for a default of another type.
            ValueError: for a default of another shape.
        """
        return [self._default(key, graph) for key in self.dense]

    def _default(self, key: str, graph: Graph) -> Tensor:
        dtype, shape, default = self.dense[key], self.shapes[key], self.defaults.get(key)
        named = re.sub(r"[^A-Za-z0-9_.\-/]", "_", key)
        if shape.sizes and shape.sizes[0] is None:
            if default is None:
                return constant("" if dtype is string else 0, dtype, graph=graph)
            value = convert_to_tensor(default, dtype, f"padding_{named}", graph=graph)
            return reshape(value, [])
        if default is None:
            return constant([], dtype, graph=graph)
        if isinstance(default, Tensor):
            return convert_to_tensor(default, dtype)
        value = convert_to_tensor(default, dtype, f"key_{named}", graph=graph)
        return reshape(value, shape.as_tuple())


def wanted_of(features: Mapping[str, Any], allowed: tuple[type[Any], ...] | None = None) -> Wanted:
    """Return the features of a node for given descriptions.

    Args:
        features: by key, one of the four kinds of descriptions.
        allowed: the allowed kinds; all if left out.

    Raises:
        ValueError: for a description that is incomplete, contradicts another, or is of another kind.
        TypeError: for another type than string, float32 and int64.
    """
    layout = Wanted()
    allowed = _ALL if allowed is None else allowed
    for key in sorted(features):
        feature = features[key]
        if not isinstance(feature, allowed):
            names = ", ".join(kind.__name__ for kind in allowed)
            raise ValueError(
                f"Unsupported {type(feature).__name__} {feature} for key {key!r}: one of {names} is wanted"
            )
        if isinstance(feature, SparseFeature) and not (feature.index_key and feature.value_key):
            missing = "value_key" if feature.index_key else "index_key"
            raise ValueError(f"Missing {missing} for SparseFeature {feature}.")
        if not feature.dtype:
            raise ValueError(f"Missing type for feature {key}. Received feature={feature}.")
        _add(layout, key, feature)
    both = sorted(layout.sparse.keys() & layout.dense.keys())
    if both:
        raise ValueError(
            f"Dense and sparse keys must not intersect; dense_keys: {list(layout.dense)}, sparse_keys: "
            f"{list(layout.sparse)}, intersection: {both}"
        )
    return layout


_ALL = (VarLenFeature, SparseFeature, FixedLenFeature, FixedLenSequenceFeature)


def _add(layout: Wanted, key: str, feature: Any) -> None:
    if isinstance(feature, VarLenFeature):
        _add_sparse(layout, key, feature.dtype)
    elif isinstance(feature, SparseFeature):
        for index_key in sorted(index_keys(feature)):
            _add_sparse(layout, index_key, int64)
        _add_sparse(layout, feature.value_key, feature.dtype)
    else:
        _add_dense(layout, key, feature)


def index_keys(feature: SparseFeature) -> list[str]:
    """Return the keys of the indices of a sparse feature, one for each axis."""
    return [feature.index_key] if isinstance(feature.index_key, str) else list(feature.index_key)


def _add_sparse(layout: Wanted, key: str, dtype: Any) -> None:
    kind = _checked(key, dtype)
    known = layout.sparse.setdefault(key, kind)
    if known is not kind:
        raise ValueError(f"Conflicting type {known.name} vs {kind.name} for feature {key}.")


def _add_dense(layout: Wanted, key: str, feature: FixedLenFeature | FixedLenSequenceFeature) -> None:
    if feature.shape is None:
        raise ValueError(f"Missing shape for feature {key}. Received feature={feature}.")
    shape = TensorShape(feature.shape)
    layout.dense[key], layout.shapes[key] = _checked(key, feature.dtype), shape
    if isinstance(feature, FixedLenFeature):
        if shape.sizes and shape.sizes[0] is None:
            raise ValueError(
                f"First dimension of shape for feature {key} unknown. Consider using "
                f"FixedLenSequenceFeature. Received feature={feature}."
            )
        if not shape.is_fully_defined():
            raise ValueError(
                f"All dimensions of shape for feature {key} need to be known but received {feature.shape!s}."
            )
    elif feature.allow_missing:
        layout.defaults[key] = None
    if feature.default_value is not None:
        layout.defaults[key] = feature.default_value


def _checked(key: str, dtype: Any) -> DType:
    element_type = as_dtype(dtype)
    if element_type not in (string, float32, int64):
        raise TypeError(f"feature {key!r} is of {element_type.name}: string, float32 and int64 are stored")
    return element_type
