# Written by scripts/generated.py.
"""Datasets, the iterators that sessions take elements from, and readers of files in a queue."""

from actorsession.opsets.datasets.combining import bucket_by_sequence_length as bucket_by_sequence_length
from actorsession.opsets.datasets.combining import choose_from_datasets as choose_from_datasets
from actorsession.opsets.datasets.combining import group_by_window as group_by_window
from actorsession.opsets.datasets.combining import map_and_batch as map_and_batch
from actorsession.opsets.datasets.combining import parallel_interleave as parallel_interleave
from actorsession.opsets.datasets.combining import sample_from_datasets as sample_from_datasets
from actorsession.opsets.datasets.combining import scan as scan
from actorsession.opsets.datasets.combining import shuffle_and_repeat as shuffle_and_repeat
from actorsession.opsets.datasets.combining import unbatch as unbatch
from actorsession.opsets.datasets.dataset import Dataset as Dataset
from actorsession.opsets.datasets.files import CsvDataset as CsvDataset
from actorsession.opsets.datasets.files import FixedLengthRecordDataset as FixedLengthRecordDataset
from actorsession.opsets.datasets.files import TFRecordDataset as TFRecordDataset
from actorsession.opsets.datasets.files import TextLineDataset as TextLineDataset
from actorsession.opsets.datasets.files import make_batched_features_dataset as make_batched_features_dataset
from actorsession.opsets.datasets.files import make_csv_dataset as make_csv_dataset
from actorsession.opsets.datasets.iterators import Iterator as Iterator
from actorsession.opsets.datasets.options import AUTOTUNE as AUTOTUNE
from actorsession.opsets.parsing.readers import FixedLengthRecordReader as FixedLengthRecordReader
from actorsession.opsets.parsing.readers import IdentityReader as IdentityReader
from actorsession.opsets.parsing.readers import ReaderBase as ReaderBase
from actorsession.opsets.parsing.readers import TFRecordReader as TFRecordReader
from actorsession.opsets.parsing.readers import TextLineReader as TextLineReader
from actorsession.opsets.parsing.readers import WholeFileReader as WholeFileReader
from actorsession.train.iterator_saving import make_saveable_from_iterator as make_saveable_from_iterator

__all__ = [
"AUTOTUNE", "CsvDataset", "Dataset", "FixedLengthRecordDataset", "FixedLengthRecordReader",
"IdentityReader", "Iterator", "ReaderBase", "TFRecordDataset", "TFRecordReader", "TextLineDataset",
"TextLineReader", "WholeFileReader", "bucket_by_sequence_length", "choose_from_datasets",
"group_by_window", "make_batched_features_dataset", "make_csv_dataset",
"make_saveable_from_iterator", "map_and_batch", "parallel_interleave", "sample_from_datasets",
"scan", "shuffle_and_repeat", "unbatch"
]
