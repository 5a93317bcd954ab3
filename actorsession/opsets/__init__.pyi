# Written by scripts/generated.py.
"""Operation types that few programs need, by subject; a file is imported when a name or graph asks for it.

Images, signals, text, parsing, sparse tensors, lookup tables, CTC, sampling of candidates, fake quantisation,
special functions, accumulators and staging. The files have the form of those in ``ops``, import ``ops`` and
below, and nothing in ``ops`` imports them: ``ops.op_modules`` says which file registers a type.
"""

from actorsession.opsets.accumulators.accumulators import (
ConditionalAccumulator as ConditionalAccumulator, ConditionalAccumulatorBase as
ConditionalAccumulatorBase, SparseConditionalAccumulator as SparseConditionalAccumulator
)
from actorsession.opsets.images.augmentation import random_crop as random_crop
from actorsession.opsets.images.patches import extract_volume_patches as extract_volume_patches
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
from actorsession.opsets.parsing.readers import (
FixedLengthRecordReader as FixedLengthRecordReader, IdentityReader as IdentityReader, ReaderBase as
ReaderBase, TFRecordReader as TFRecordReader, TextLineReader as TextLineReader, WholeFileReader as
WholeFileReader
)
from actorsession.opsets.parsing.sequence_examples import (
parse_sequence_example as parse_sequence_example, parse_single_sequence_example as
parse_single_sequence_example
)
from actorsession.opsets.parsing.serialized import (
decode_compressed as decode_compressed, parse_tensor as parse_tensor, serialize_tensor as
serialize_tensor
)
from actorsession.opsets.quantisation.fake_quant import (
fake_quant_with_min_max_args as fake_quant_with_min_max_args, fake_quant_with_min_max_args_gradient
as fake_quant_with_min_max_args_gradient, fake_quant_with_min_max_vars as
fake_quant_with_min_max_vars, fake_quant_with_min_max_vars_gradient as
fake_quant_with_min_max_vars_gradient, fake_quant_with_min_max_vars_per_channel as
fake_quant_with_min_max_vars_per_channel, fake_quant_with_min_max_vars_per_channel_gradient as
fake_quant_with_min_max_vars_per_channel_gradient
)
from actorsession.opsets.signals.transforms import (
fft as fft, fft2d as fft2d, fft3d as fft3d, ifft as ifft, ifft2d as ifft2d, ifft3d as ifft3d
)
from actorsession.opsets.sparse.basics import (
SparseTensor as SparseTensor, SparseTensorValue as SparseTensorValue, sparse_add as sparse_add,
sparse_placeholder as sparse_placeholder, sparse_reorder as sparse_reorder,
sparse_tensor_dense_matmul as sparse_tensor_dense_matmul, sparse_tensor_to_dense as
sparse_tensor_to_dense, sparse_to_dense as sparse_to_dense
)
from actorsession.opsets.sparse.edit_distance import edit_distance as edit_distance
from actorsession.opsets.sparse.functions import (
sparse_concat as sparse_concat, sparse_fill_empty_rows as sparse_fill_empty_rows, sparse_reduce_max
as sparse_reduce_max, sparse_reduce_sum as sparse_reduce_sum, sparse_reset_shape as
sparse_reset_shape, sparse_reshape as sparse_reshape, sparse_retain as sparse_retain, sparse_slice
as sparse_slice, sparse_softmax as sparse_softmax, sparse_transpose as sparse_transpose
)
from actorsession.opsets.sparse.makers import (
sparse_merge as sparse_merge, sparse_to_indicator as sparse_to_indicator
)
from actorsession.opsets.sparse.pieces import (
sparse_maximum as sparse_maximum, sparse_minimum as sparse_minimum, sparse_reduce_max_sparse as
sparse_reduce_max_sparse, sparse_reduce_sum_sparse as sparse_reduce_sum_sparse, sparse_split as
sparse_split
)
from actorsession.opsets.sparse.segments import (
sparse_segment_mean as sparse_segment_mean, sparse_segment_sqrt_n as sparse_segment_sqrt_n,
sparse_segment_sum as sparse_segment_sum
)
from actorsession.opsets.sparse.serialising import (
deserialize_many_sparse as deserialize_many_sparse, serialize_many_sparse as serialize_many_sparse,
serialize_sparse as serialize_sparse
)
from actorsession.opsets.special.gamma import (
digamma as digamma, lbeta as lbeta, lgamma as lgamma, polygamma as polygamma, zeta as zeta
)
from actorsession.opsets.special.incomplete import (
betainc as betainc, igamma as igamma, igammac as igammac
)
from actorsession.opsets.staging.areas import (
MapStagingArea as MapStagingArea, StagingArea as StagingArea
)
from actorsession.opsets.staging.barriers import Barrier as Barrier
from actorsession.opsets.staging.mutexes import CriticalSection as CriticalSection
from actorsession.opsets.tables.tables import tables_initializer as tables_initializer
from actorsession.opsets.text.characters import (
decode_base64 as decode_base64, encode_base64 as encode_base64, string_strip as string_strip, substr
as substr
)
from actorsession.opsets.text.fingerprints import fingerprint as fingerprint
from actorsession.opsets.text.hash_buckets import (
string_to_hash_bucket as string_to_hash_bucket, string_to_hash_bucket_fast as
string_to_hash_bucket_fast, string_to_hash_bucket_strong as string_to_hash_bucket_strong
)
from actorsession.opsets.text.joining import reduce_join as reduce_join, string_join as string_join
from actorsession.opsets.text.numbers import (
as_string as as_string, decode_raw as decode_raw, string_to_number as string_to_number
)
from actorsession.opsets.text.regex import regex_replace as regex_replace
from actorsession.opsets.text.splitting import string_split as string_split


__all__ = [
"Barrier", "ConditionalAccumulator", "ConditionalAccumulatorBase", "CriticalSection",
"FixedLenFeature", "FixedLenSequenceFeature", "FixedLengthRecordReader", "IdentityReader",
"MapStagingArea", "ReaderBase", "SparseConditionalAccumulator", "SparseFeature", "SparseTensor",
"SparseTensorValue", "StagingArea", "TFRecordReader", "TextLineReader", "VarLenFeature",
"WholeFileReader", "as_string", "betainc", "decode_base64", "decode_compressed", "decode_csv",
"decode_json_example", "decode_raw", "deserialize_many_sparse", "digamma", "edit_distance",
"encode_base64", "extract_volume_patches", "fake_quant_with_min_max_args",
"fake_quant_with_min_max_args_gradient", "fake_quant_with_min_max_vars",
"fake_quant_with_min_max_vars_gradient", "fake_quant_with_min_max_vars_per_channel",
"fake_quant_with_min_max_vars_per_channel_gradient", "fft", "fft2d", "fft3d", "fingerprint", "ifft",
"ifft2d", "ifft3d", "igamma", "igammac", "lbeta", "lgamma", "matching_files", "parse_example",
"parse_sequence_example", "parse_single_example", "parse_single_sequence_example", "parse_tensor",
"polygamma", "random_crop", "read_file", "reduce_join", "regex_replace", "serialize_many_sparse",
"serialize_sparse", "serialize_tensor", "sparse_add", "sparse_concat", "sparse_fill_empty_rows",
"sparse_maximum", "sparse_merge", "sparse_minimum", "sparse_placeholder", "sparse_reduce_max",
"sparse_reduce_max_sparse", "sparse_reduce_sum", "sparse_reduce_sum_sparse", "sparse_reorder",
"sparse_reset_shape", "sparse_reshape", "sparse_retain", "sparse_segment_mean",
"sparse_segment_sqrt_n", "sparse_segment_sum", "sparse_slice", "sparse_softmax", "sparse_split",
"sparse_tensor_dense_matmul", "sparse_tensor_to_dense", "sparse_to_dense", "sparse_to_indicator",
"sparse_transpose", "string_join", "string_split", "string_strip", "string_to_hash_bucket",
"string_to_hash_bucket_fast", "string_to_hash_bucket_strong", "string_to_number", "substr",
"tables_initializer", "write_file", "zeta"
]
