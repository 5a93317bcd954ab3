"""``tf.io``: operations for input and output, under their newer names."""

from __future__ import annotations

from actorsession.compat.v1.ops.arguments import older_names

_NAMES = {
    ".gfile": "*=gfile",
    "actorsession.compat.v1.python_io": ("TFRecordCompressionType TFRecordOptions TFRecordWriter tf_record_iterator"),
    "actorsession.interop": "write_graph",
    "actorsession.namespaces.image": (
        "decode_and_crop_jpeg decode_bmp decode_gif decode_image decode_jpeg decode_png "
        "encode_jpeg encode_png extract_jpeg_shape is_jpeg"
    ),
    "actorsession.ops": "PaddingFIFOQueue PriorityQueue QueueBase RandomShuffleQueue",
    "actorsession.opsets": (
        "FixedLenFeature FixedLenSequenceFeature SparseFeature VarLenFeature decode_base64 "
        "decode_compressed decode_csv decode_json_example decode_raw deserialize_many_sparse "
        "encode_base64 matching_files parse_example parse_sequence_example parse_single_example "
        "parse_single_sequence_example parse_tensor read_file serialize_many_sparse "
        "serialize_sparse serialize_tensor write_file"
    ),
    "actorsession.train": "match_filenames_once",
}

__all__, __getattr__, __dir__ = older_names(__name__, _NAMES)
