"""``tf.contrib.data``: steps of pipelines, under the names that they had before ``tf.data.experimental``."""

from __future__ import annotations

from actorsession.compat.v1.data.experimental import (
    Counter,
    CsvDataset,
    RandomDataset,
    Reducer,
    bucket_by_sequence_length,
    choose_from_datasets,
    enumerate_dataset,
    get_single_element,
    group_by_reducer,
    group_by_window,
    ignore_errors,
    make_batched_features_dataset,
    make_csv_dataset,
    make_saveable_from_iterator,
    map_and_batch,
    parallel_interleave,
    prefetch_to_device,
    rejection_resample,
    sample_from_datasets,
    scan,
    shuffle_and_repeat,
    unbatch,
    unique,
)
from actorsession.opsets.datasets.combining import dense_to_sparse_batch
from actorsession.opsets.datasets.dataset import Dataset
from actorsession.opsets.datasets.files import (
    FixedLengthRecordDataset,
    TextLineDataset,
    TFRecordDataset,
)
from actorsession.opsets.datasets.iterators import Iterator

__all__ = [
    "Counter", "CsvDataset", "Dataset", "FixedLengthRecordDataset", "Iterator", "RandomDataset",
    "Reducer", "TFRecordDataset", "TextLineDataset", "batch_and_drop_remainder",
    "bucket_by_sequence_length", "choose_from_datasets", "dense_to_sparse_batch",
    "enumerate_dataset", "get_single_element", "group_by_reducer", "group_by_window",
    "ignore_errors", "make_batched_features_dataset", "make_csv_dataset",
    "make_saveable_from_iterator", "map_and_batch", "padded_batch_and_drop_remainder",
    "parallel_interleave", "prefetch_to_device", "rejection_resample", "sample_from_datasets", "scan",
    "shuffle_and_repeat", "unbatch", "unique",
]  # fmt: skip


def batch_and_drop_remainder(batch_size: object) -> object:
    """Return the step ``Dataset.batch`` without a smaller last batch."""
    return lambda dataset: dataset.batch(batch_size, drop_remainder=True)


def padded_batch_and_drop_remainder(
    batch_size: object, padded_shapes: object, padding_values: object = None
) -> object:
    """Return the step ``Dataset.padded_batch`` without a smaller last batch."""
    return lambda dataset: dataset.padded_batch(
        batch_size, padded_shapes, padding_values, drop_remainder=True
    )
