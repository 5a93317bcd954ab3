"""The functions of ``tf.data`` that ask a dataset or an iterator."""

from __future__ import annotations

from typing import Any

from actorsession import ops
from actorsession.compat.v1.graphs import type_specs
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Tensor
from actorsession.opsets.datasets.dataset import Dataset
from actorsession.opsets.datasets.elements import SparseSpec, leaves, like, mapped
from actorsession.opsets.datasets.iterators import Iterator

__all__ = [
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "DatasetV1",
    "from_list",
    "from_variant",
    "get_legacy_output_classes",
    "get_legacy_output_shapes",
    "get_legacy_output_types",
    "get_output_classes",
    "get_output_shapes",
    "get_output_types",
    "get_structure",
    "make_initializable_iterator",
    "make_one_shot_iterator",
    "to_variant",
]

DatasetV1 = Dataset


def get_output_types(dataset_or_iterator: Any) -> Any:
    """Return the dtype of each component of an element."""
    return dataset_or_iterator.output_types


def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """Return the static shape of each component of an element."""
    return dataset_or_iterator.output_shapes


def get_output_classes(dataset_or_iterator: Any) -> Any:
    """Return the class of each component of an element."""
    return dataset_or_iterator.output_classes


def get_structure(dataset_or_iterator: Any) -> Any:
    """Return the static type of each component of an element."""
    return mapped(_described, dataset_or_iterator.element_spec)


def _described(leaf: Any) -> Any:
    """Return the description of a component; that of a dataset is the library's own."""
    if isinstance(leaf, SparseSpec):
        return type_specs.SparseTensorSpec(leaf.shape, leaf.dtype)
    return type_specs.TensorSpec(leaf.shape, leaf.dtype) if isinstance(leaf, TensorSpec) else leaf


def make_one_shot_iterator(dataset: Dataset) -> Iterator:
    """Return an iterator that needs no initialisation."""
    return dataset.make_one_shot_iterator()


def make_initializable_iterator(dataset: Dataset, shared_name: str | None = None) -> Iterator:
    """Return an iterator whose ``initializer`` begins a pass."""
    return dataset.make_initializable_iterator(shared_name)


get_legacy_output_types = get_output_types
get_legacy_output_shapes = get_output_shapes
get_legacy_output_classes = get_output_classes

INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2


def from_list(elements: Any, name: str | None = None) -> Dataset:
    """Return a dataset of the elements of a list, which have one structure."""
    if not isinstance(elements, list):
        raise TypeError("`elements` must be a list.")
    if not elements:
        raise ValueError("Empty input lists are not supported.")
    joined = [ops.stack(parts) for parts in zip(*map(leaves, elements), strict=True)]
    return Dataset.from_tensor_slices(like(elements[0], joined), name=name)


def to_variant(dataset: Dataset) -> Tensor:
    """Return the tensor that stands for a dataset."""
    return dataset._dataset_tensor


def from_variant(variant: Tensor, structure: Any) -> Dataset:
    """Return the dataset that a tensor stands for."""
    return Dataset(variant, structure)
