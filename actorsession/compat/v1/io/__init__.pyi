# Written by scripts/generated.py.
"""``tf.io``: operations for input and output, under their newer names."""

from typing import Any

from actorsession.compat.v1.io import gfile as gfile
from actorsession.compat.v1.python_io import TFRecordCompressionType as TFRecordCompressionType
from actorsession.compat.v1.python_io import TFRecordOptions as TFRecordOptions
from actorsession.compat.v1.python_io import TFRecordWriter as TFRecordWriter
from actorsession.compat.v1.python_io import tf_record_iterator as tf_record_iterator
from actorsession.interop import write_graph as write_graph
from actorsession.namespaces.image import decode_and_crop_jpeg as decode_and_crop_jpeg
from actorsession.namespaces.image import decode_bmp as decode_bmp
from actorsession.namespaces.image import decode_gif as decode_gif
from actorsession.namespaces.image import decode_image as decode_image
decode_jpeg: Any
from actorsession.namespaces.image import decode_png as decode_png
from actorsession.namespaces.image import encode_jpeg as encode_jpeg
from actorsession.namespaces.image import encode_png as encode_png
from actorsession.namespaces.image import extract_jpeg_shape as extract_jpeg_shape
from actorsession.namespaces.image import is_jpeg as is_jpeg
from actorsession.ops import PaddingFIFOQueue as PaddingFIFOQueue
from actorsession.ops import PriorityQueue as PriorityQueue
from actorsession.ops import QueueBase as QueueBase
from actorsession.ops import RandomShuffleQueue as RandomShuffleQueue
from actorsession.opsets import FixedLenFeature as FixedLenFeature
from actorsession.opsets import FixedLenSequenceFeature as FixedLenSequenceFeature
from actorsession.opsets import SparseFeature as SparseFeature
from actorsession.opsets import VarLenFeature as VarLenFeature
from actorsession.opsets import decode_base64 as decode_base64
from actorsession.opsets import decode_compressed as decode_compressed
from actorsession.opsets import decode_csv as decode_csv
from actorsession.opsets import decode_json_example as decode_json_example
decode_raw: Any
from actorsession.opsets import deserialize_many_sparse as deserialize_many_sparse
from actorsession.opsets import encode_base64 as encode_base64
from actorsession.opsets import matching_files as matching_files
from actorsession.opsets import parse_example as parse_example
from actorsession.opsets import parse_sequence_example as parse_sequence_example
from actorsession.opsets import parse_single_example as parse_single_example
from actorsession.opsets import parse_single_sequence_example as parse_single_sequence_example
from actorsession.opsets import parse_tensor as parse_tensor
from actorsession.opsets import read_file as read_file
from actorsession.opsets import serialize_many_sparse as serialize_many_sparse
from actorsession.opsets import serialize_sparse as serialize_sparse
from actorsession.opsets import serialize_tensor as serialize_tensor
from actorsession.opsets import write_file as write_file
from actorsession.train import match_filenames_once as match_filenames_once

__all__ = [
"FixedLenFeature", "FixedLenSequenceFeature", "PaddingFIFOQueue", "PriorityQueue", "QueueBase",
"RandomShuffleQueue", "SparseFeature", "TFRecordCompressionType", "TFRecordOptions",
"TFRecordWriter", "VarLenFeature", "decode_and_crop_jpeg", "decode_base64", "decode_bmp",
"decode_compressed", "decode_csv", "decode_gif", "decode_image", "decode_jpeg",
"decode_json_example", "decode_png", "decode_raw", "deserialize_many_sparse", "encode_base64",
"encode_jpeg", "encode_png", "extract_jpeg_shape", "gfile", "is_jpeg", "match_filenames_once",
"matching_files", "parse_example", "parse_sequence_example", "parse_single_example",
"parse_single_sequence_example", "parse_tensor", "read_file", "serialize_many_sparse",
"serialize_sparse", "serialize_tensor", "tf_record_iterator", "write_file", "write_graph"
]
