# Written by scripts/generated.py.
"""``tf.io``: operations for input and output, under their newer names."""

from actorsession.compat.v1.io import gfile as gfile
from actorsession.compat.v1.python_io import (
TFRecordCompressionType as TFRecordCompressionType, TFRecordOptions as TFRecordOptions,
TFRecordWriter as TFRecordWriter, tf_record_iterator as tf_record_iterator
)
from actorsession.interop import write_graph as write_graph
from actorsession.namespaces.image import (
decode_and_crop_jpeg as decode_and_crop_jpeg, decode_bmp as decode_bmp, decode_gif as decode_gif,
decode_image as decode_image, decode_png as decode_png, encode_jpeg as encode_jpeg, encode_png as
encode_png, extract_jpeg_shape as extract_jpeg_shape, is_jpeg as is_jpeg
)
from actorsession.ops import (
PaddingFIFOQueue as PaddingFIFOQueue, PriorityQueue as PriorityQueue, QueueBase as QueueBase,
RandomShuffleQueue as RandomShuffleQueue
)
from actorsession.opsets import (
FixedLenFeature as FixedLenFeature, FixedLenSequenceFeature as FixedLenSequenceFeature,
SparseFeature as SparseFeature, VarLenFeature as VarLenFeature, decode_base64 as decode_base64,
decode_compressed as decode_compressed, decode_csv as decode_csv, decode_json_example as
decode_json_example, deserialize_many_sparse as deserialize_many_sparse, encode_base64 as
encode_base64, matching_files as matching_files, parse_example as parse_example,
parse_sequence_example as parse_sequence_example, parse_single_example as parse_single_example,
parse_single_sequence_example as parse_single_sequence_example, parse_tensor as parse_tensor,
read_file as read_file, serialize_many_sparse as serialize_many_sparse, serialize_sparse as
serialize_sparse, serialize_tensor as serialize_tensor, write_file as write_file
)
from actorsession.train import match_filenames_once as match_filenames_once
from typing import Any

decode_jpeg: Any
decode_raw: Any

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
