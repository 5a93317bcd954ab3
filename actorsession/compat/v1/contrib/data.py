"""``tf.contrib.data``: steps of pipelines, under the names that they had before ``tf.data.experimental``."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.compat.v1.ops.arguments import older_names
from actorsession.opsets.datasets.combining import Reducer, parallel_interleave
from actorsession.opsets.datasets.dataset import Dataset
from actorsession.opsets.datasets.files import TFRecordDataset, make_batched_features_dataset

_NAMES = {
    "actorsession.compat.v1.data.experimental": (
        "AUTOTUNE Counter CsvDataset Optional RandomDataset Reducer bucket_by_sequence_length "
        "choose_from_datasets copy_to_device enumerate_dataset get_next_as_optional "
        "get_single_element group_by_reducer group_by_window ignore_errors "
        "make_batched_features_dataset make_csv_dataset make_saveable_from_iterator map_and_batch "
        "parallel_interleave parse_example_dataset prefetch_to_device rejection_resample "
        "sample_from_datasets scan shuffle_and_repeat unbatch unique"
    ),
    "actorsession.opsets.datasets.combining": ("assert_element_shape dense_to_sparse_batch sliding_window_batch"),
    "actorsession.opsets.datasets.dataset": "Dataset",
    "actorsession.opsets.datasets.files": ("FixedLengthRecordDataset TFRecordDataset TextLineDataset"),
    "actorsession.opsets.datasets.iterators": "Iterator",
}

__all__, __getattr__, __dir__ = older_names(__name__, _NAMES)
__all__ += [
    "batch_and_drop_remainder",
    "padded_batch_and_drop_remainder",
    "read_batch_features",
    "reduce_dataset",
    "sloppy_interleave",
]


def batch_and_drop_remainder(batch_size: object) -> object:
    """Return the step ``Dataset.batch`` without a smaller last batch."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(batch_size: object, padded_shapes: object, padding_values: object = None) -> object:
    """Return the step ``Dataset.padded_batch`` without a smaller last batch."""
    return lambda dataset: dataset.padded_batch(batch_size, padded_shapes, padding_values, drop_remainder=True)


def sloppy_interleave(map_func: Any, cycle_length: Any, block_length: Any = 1) -> Any:
    """Return the step ``parallel_interleave`` in any order; here it is the same one."""
    return parallel_interleave(map_func, cycle_length, block_length, sloppy=True)


def reduce_dataset(dataset: Any, reducer: Reducer) -> Any:
    """Return what a reducer makes of all elements.

    Raises:
        TypeError: for anything that is no dataset.
    """
    if not isinstance(dataset, Dataset):
        raise TypeError("`dataset` must be a `tf.data.Dataset` object.")
    return dataset.reduce(reducer.init_func(np.int64(0)), reducer.reduce_func)


def read_batch_features(
    file_pattern: Any,
    batch_size: int,
    features: Any,
    reader: Any = TFRecordDataset,
    reader_args: Any = None,
    randomize_input: bool = True,
    num_epochs: int | None = None,
    capacity: int = 10000,
) -> Any:
    """Return the next batch of parsed examples; see ``make_batched_features_dataset``."""
    dataset = make_batched_features_dataset(
        file_pattern,
        batch_size,
        features,
        reader=reader,
        reader_args=reader_args,
        shuffle=randomize_input,
        num_epochs=num_epochs,
        shuffle_buffer_size=capacity,
    )
    return dataset.make_one_shot_iterator().get_next()
