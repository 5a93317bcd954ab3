"""Reading and writing of files; parsing of examples, records and encoded values."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.interop": "import_graph_def make_ndarray make_tensor_proto",
    "actorsession.opsets.parsing.csv": "decode_csv",
    "actorsession.opsets.parsing.examples": "parse_example parse_single_example",
    "actorsession.opsets.parsing.features": ("FixedLenFeature FixedLenSequenceFeature SparseFeature VarLenFeature"),
    "actorsession.opsets.parsing.files": "matching_files read_file write_file",
    "actorsession.opsets.parsing.json_examples": "decode_json_example",
    "actorsession.opsets.parsing.sequence_examples": ("parse_sequence_example parse_single_sequence_example"),
    "actorsession.opsets.parsing.serialized": "decode_compressed parse_tensor serialize_tensor",
    "actorsession.opsets.sparse.serialising": ("deserialize_many_sparse serialize_many_sparse serialize_sparse"),
    "actorsession.opsets.text.characters": "decode_base64 encode_base64",
    "actorsession.opsets.text.numbers": "decode_raw",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
