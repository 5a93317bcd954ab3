"""``tf.data.experimental``: further steps of pipelines."""

from __future__ import annotations

from typing import Any

from actorsession import ops
from actorsession.compat.v1.ops.arguments import older_names
from actorsession.graph.operation import Tensor
from actorsession.opsets.datasets.dataset import Dataset
from actorsession.opsets.datasets.elements import leaves, like

_NAMES = {
    "actorsession.compat.v1.data.structures": "get_structure",
    "actorsession.opsets.datasets.combining": (
        "Counter RandomDataset Reducer assert_cardinality bucket_by_sequence_length cardinality "
        "choose_from_datasets copy_to_device dense_to_sparse_batch enumerate_dataset "
        "get_single_element group_by_reducer group_by_window ignore_errors map_and_batch "
        "map_and_batch=map_and_batch_with_legacy_function parallel_interleave "
        "parse_example_dataset prefetch_to_device rejection_resample sample_from_datasets scan "
        "shuffle_and_repeat take_while unbatch unique"
    ),
    "actorsession.opsets.datasets.files": ("CsvDataset make_batched_features_dataset make_csv_dataset"),
    "actorsession.opsets.datasets.optionals": "Optional get_next_as_optional",
    "actorsession.opsets.datasets.options": (
        "AUTOTUNE AutoShardPolicy AutotuneAlgorithm AutotuneOptions DistributeOptions "
        "ExternalStatePolicy MapVectorizationOptions OptimizationOptions StatsOptions "
        "ThreadingOptions"
    ),
    "actorsession.train.iterator_saving": "make_saveable_from_iterator",
}

__all__, __getattr__, __dir__ = older_names(__name__, _NAMES)
__all__ += ["INFINITE_CARDINALITY", "UNKNOWN_CARDINALITY", "from_list", "from_variant", "to_variant"]

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
