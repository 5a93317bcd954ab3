"""Datasets, the iterators that sessions take elements from, and readers of files in a queue."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.opsets.datasets.combining": (
        "bucket_by_sequence_length choose_from_datasets group_by_window map_and_batch "
        "parallel_interleave sample_from_datasets scan shuffle_and_repeat unbatch"
    ),
    "actorsession.opsets.datasets.dataset": "Dataset",
    "actorsession.opsets.datasets.files": (
        "CsvDataset FixedLengthRecordDataset TFRecordDataset TextLineDataset "
        "make_batched_features_dataset make_csv_dataset"
    ),
    "actorsession.opsets.datasets.iterators": "Iterator",
    "actorsession.opsets.datasets.options": "AUTOTUNE",
    "actorsession.opsets.parsing.readers": (
        "FixedLengthRecordReader IdentityReader ReaderBase TFRecordReader TextLineReader WholeFileReader"
    ),
    "actorsession.train.iterator_saving": "make_saveable_from_iterator",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
