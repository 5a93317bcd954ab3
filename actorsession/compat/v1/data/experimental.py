"""``tf.data.experimental``: further steps of pipelines."""

from __future__ import annotations

from typing import Any

from actorsession import ops
from actorsession.compat.v1.data.structures import get_structure
from actorsession.graph.operation import Tensor
from actorsession.opsets.datasets.combining import (
    Counter,
    RandomDataset,
    Reducer,
    assert_cardinality,
    bucket_by_sequence_length,
    cardinality,
    choose_from_datasets,
    copy_to_device,
    dense_to_sparse_batch,
    enumerate_dataset,
    get_single_element,
    group_by_reducer,
    group_by_window,
    ignore_errors,
    map_and_batch,
    parallel_interleave,
    parse_example_dataset,
    prefetch_to_device,
    rejection_resample,
    sample_from_datasets,
    scan,
    shuffle_and_repeat,
    take_while,
    unbatch,
    unique,
)
from actorsession.opsets.datasets.dataset import Dataset
from actorsession.opsets.datasets.elements import leaves, like
from actorsession.opsets.datasets.files import (
    CsvDataset,
    make_batched_features_dataset,
    make_csv_dataset,
)
from actorsession.opsets.datasets.optionals import Optional, get_next_as_optional
from actorsession.opsets.datasets.options import (
    AUTOTUNE,
    AutoShardPolicy,
    AutotuneAlgorithm,
    AutotuneOptions,
    DistributeOptions,
    ExternalStatePolicy,
    MapVectorizationOptions,
    OptimizationOptions,
    StatsOptions,
    ThreadingOptions,
)
from actorsession.train.iterator_saving import make_saveable_from_iterator

__all__ = [
    "AUTOTUNE",
    "INFINITE_CARDINALITY",
    "UNKNOWN_CARDINALITY",
    "AutoShardPolicy",
    "AutotuneAlgorithm",
    "AutotuneOptions",
    "Counter",
    "CsvDataset",
    "DistributeOptions",
    "ExternalStatePolicy",
    "MapVectorizationOptions",
    "OptimizationOptions",
    "Optional",
    "RandomDataset",
    "Reducer",
    "StatsOptions",
    "ThreadingOptions",
    "assert_cardinality",
    "bucket_by_sequence_length",
    "cardinality",
    "choose_from_datasets",
    "copy_to_device",
    "dense_to_sparse_batch",
    "enumerate_dataset",
    "from_list",
    "from_variant",
    "get_next_as_optional",
    "get_single_element",
    "get_structure",
    "group_by_reducer",
    "group_by_window",
    "ignore_errors",
    "make_batched_features_dataset",
    "make_csv_dataset",
    "make_saveable_from_iterator",
    "map_and_batch",
    "map_and_batch_with_legacy_function",
    "parallel_interleave",
    "parse_example_dataset",
    "prefetch_to_device",
    "rejection_resample", "sample_from_datasets",
    "scan",
    "shuffle_and_repeat",
    "take_while",
    "to_variant",
    "unbatch",
    "unique",
]  # fmt: skip

INFINITE_CARDINALITY = -1
UNKNOWN_CARDINALITY = -2

map_and_batch_with_legacy_function = map_and_batch


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
