# Written by scripts/generated.py.
"""Datasets, the iterators that sessions take elements from, and readers of files in a queue."""

from actorsession.opsets.datasets.combining import (
bucket_by_sequence_length as bucket_by_sequence_length, choose_from_datasets as
choose_from_datasets, group_by_window as group_by_window, map_and_batch as map_and_batch,
parallel_interleave as parallel_interleave, sample_from_datasets as sample_from_datasets, scan as
scan, shuffle_and_repeat as shuffle_and_repeat, unbatch as unbatch
)
from actorsession.opsets.datasets.dataset import Dataset as Dataset
from actorsession.opsets.datasets.files import (
CsvDataset as CsvDataset, FixedLengthRecordDataset as FixedLengthRecordDataset, TFRecordDataset as
TFRecordDataset, TextLineDataset as TextLineDataset, make_batched_features_dataset as
make_batched_features_dataset, make_csv_dataset as make_csv_dataset
)
from actorsession.opsets.datasets.iterators import Iterator as Iterator
from actorsession.opsets.datasets.options import AUTOTUNE as AUTOTUNE
from actorsession.opsets.parsing.readers import (
FixedLengthRecordReader as FixedLengthRecordReader, IdentityReader as IdentityReader, ReaderBase as
ReaderBase, TFRecordReader as TFRecordReader, TextLineReader as TextLineReader, WholeFileReader as
WholeFileReader
)
from actorsession.train.iterator_saving import make_saveable_from_iterator as make_saveable_from_iterator


__all__ = [
"AUTOTUNE", "CsvDataset", "Dataset", "FixedLengthRecordDataset", "FixedLengthRecordReader",
"IdentityReader", "Iterator", "ReaderBase", "TFRecordDataset", "TFRecordReader", "TextLineDataset",
"TextLineReader", "WholeFileReader", "bucket_by_sequence_length", "choose_from_datasets",
"group_by_window", "make_batched_features_dataset", "make_csv_dataset",
"make_saveable_from_iterator", "map_and_batch", "parallel_interleave", "sample_from_datasets",
"scan", "shuffle_and_repeat", "unbatch"
]
