# Written by scripts/generated.py.
"""Reading and writing of files; parsing of examples, records and encoded values."""

from actorsession.interop import (
import_graph_def as import_graph_def, make_ndarray as make_ndarray, make_tensor_proto as
make_tensor_proto
)
from actorsession.opsets.parsing.csv import decode_csv as decode_csv
from actorsession.opsets.parsing.examples import (
parse_example as parse_example, parse_single_example as parse_single_example
)
from actorsession.opsets.parsing.features import (
FixedLenFeature as FixedLenFeature, FixedLenSequenceFeature as FixedLenSequenceFeature,
SparseFeature as SparseFeature, VarLenFeature as VarLenFeature
)
from actorsession.opsets.parsing.files import (
matching_files as matching_files, read_file as read_file, write_file as write_file
)
from actorsession.opsets.parsing.json_examples import decode_json_example as decode_json_example
from actorsession.opsets.parsing.sequence_examples import (
parse_sequence_example as parse_sequence_example, parse_single_sequence_example as
parse_single_sequence_example
)
from actorsession.opsets.parsing.serialized import (
decode_compressed as decode_compressed, parse_tensor as parse_tensor, serialize_tensor as
serialize_tensor
)
from actorsession.opsets.sparse.serialising import (
deserialize_many_sparse as deserialize_many_sparse, serialize_many_sparse as serialize_many_sparse,
serialize_sparse as serialize_sparse
)
from actorsession.opsets.text.characters import (
decode_base64 as decode_base64, encode_base64 as encode_base64
)
from actorsession.opsets.text.numbers import decode_raw as decode_raw


__all__ = [
"FixedLenFeature", "FixedLenSequenceFeature", "SparseFeature", "VarLenFeature", "decode_base64",
"decode_compressed", "decode_csv", "decode_json_example", "decode_raw", "deserialize_many_sparse",
"encode_base64", "import_graph_def", "make_ndarray", "make_tensor_proto", "matching_files",
"parse_example", "parse_sequence_example", "parse_single_example", "parse_single_sequence_example",
"parse_tensor", "read_file", "serialize_many_sparse", "serialize_sparse", "serialize_tensor",
"write_file"
]
