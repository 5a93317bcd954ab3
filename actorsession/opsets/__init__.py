"""Operation types that few programs need, by subject; a file is imported when a name or graph asks for it.

Images, signals, text, parsing, sparse tensors, lookup tables, CTC, sampling of candidates, fake quantisation,
special functions, accumulators and staging. The files have the form of those in ``ops``, import ``ops`` and
below, and nothing in ``ops`` imports them: ``ops.op_modules`` says which file registers a type.
"""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

# Names of TensorFlow's top level by the module that defines them; see ``lazy_names``.
_NAMES = {
    ".accumulators.accumulators": ("ConditionalAccumulator ConditionalAccumulatorBase SparseConditionalAccumulator"),
    ".images.augmentation": "random_crop",
    ".images.patches": "extract_volume_patches",
    ".parsing.csv": "decode_csv",
    ".parsing.examples": "parse_example parse_single_example",
    ".parsing.features": "FixedLenFeature FixedLenSequenceFeature SparseFeature VarLenFeature",
    ".parsing.files": "matching_files read_file write_file",
    ".parsing.json_examples": "decode_json_example",
    ".parsing.readers": (
        "FixedLengthRecordReader IdentityReader ReaderBase TFRecordReader TextLineReader WholeFileReader"
    ),
    ".parsing.sequence_examples": "parse_sequence_example parse_single_sequence_example",
    ".parsing.serialized": "decode_compressed parse_tensor serialize_tensor",
    ".quantisation.fake_quant": (
        "fake_quant_with_min_max_args fake_quant_with_min_max_args_gradient "
        "fake_quant_with_min_max_vars fake_quant_with_min_max_vars_gradient "
        "fake_quant_with_min_max_vars_per_channel "
        "fake_quant_with_min_max_vars_per_channel_gradient"
    ),
    ".signals.transforms": "fft fft2d fft3d ifft ifft2d ifft3d",
    ".sparse.basics": (
        "SparseTensor SparseTensorValue sparse_add sparse_placeholder sparse_reorder "
        "sparse_tensor_dense_matmul sparse_tensor_to_dense sparse_to_dense"
    ),
    ".sparse.edit_distance": "edit_distance",
    ".sparse.functions": (
        "sparse_concat sparse_fill_empty_rows sparse_reduce_max sparse_reduce_sum "
        "sparse_reset_shape sparse_reshape sparse_retain sparse_slice sparse_softmax "
        "sparse_transpose"
    ),
    ".sparse.makers": "sparse_merge sparse_to_indicator",
    ".sparse.pieces": ("sparse_maximum sparse_minimum sparse_reduce_max_sparse sparse_reduce_sum_sparse sparse_split"),
    ".sparse.segments": "sparse_segment_mean sparse_segment_sqrt_n sparse_segment_sum",
    ".sparse.serialising": "deserialize_many_sparse serialize_many_sparse serialize_sparse",
    ".special.gamma": "digamma lbeta lgamma polygamma zeta",
    ".special.incomplete": "betainc igamma igammac",
    ".staging.areas": "MapStagingArea StagingArea",
    ".staging.barriers": "Barrier",
    ".staging.mutexes": "CriticalSection",
    ".tables.tables": "tables_initializer",
    ".text.characters": "decode_base64 encode_base64 string_strip substr",
    ".text.fingerprints": "fingerprint",
    ".text.hash_buckets": ("string_to_hash_bucket string_to_hash_bucket_fast string_to_hash_bucket_strong"),
    ".text.joining": "reduce_join string_join",
    ".text.numbers": "as_string decode_raw string_to_number",
    ".text.regex": "regex_replace",
    ".text.splitting": "string_split",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
