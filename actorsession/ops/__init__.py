"""The words that graphs are written with, under TensorFlow's names: one folder per domain.

Owns all operation types: importing the package registers them and defines Python's operators on
tensors. Each op's signature, shape function, gradient and numpy kernel stand together in its file.
Imports the graph room only. What all folders share (operands, conversion, static shapes) stands beside
this file, and so do the namespaces (``math``, ``nn``, ``linalg``, ...), which own nothing but names.
"""

from __future__ import annotations

from actorsession.ops import image, lookup, linalg, random, manip, math, nn, strings  # fmt: skip
from actorsession.ops import sets, signal, spectral  # fmt: skip
from actorsession.ops.elements import bitwise  # fmt: skip
from actorsession.ops.neural import losses  # fmt: skip
from actorsession.ops.variables import initializers  # fmt: skip
from actorsession.ops.variables import checkpointing  # noqa: F401 - registers its ops
from actorsession.ops import blockwise  # noqa: F401 - generated code uses it
from actorsession.ops.flow import dataflow  # noqa: F401 - registers its ops
from actorsession.ops.arrays import concat_offset, mirroring  # noqa: F401 - register their ops
import actorsession.ops.training.nodes
import actorsession.ops.training.updates  # noqa: F401 - registers its ops
from actorsession.ops.queues.accumulators import (
    ConditionalAccumulator, ConditionalAccumulatorBase, SparseConditionalAccumulator,
)  # fmt: skip
from actorsession.ops.neural.activations import sigmoid, tanh
from actorsession.ops.reductions.argmax import arg_max, arg_min, argmax, argmin
from actorsession.ops.elements.arithmetic import (
    add, add_n, div, divide, floordiv, floormod, maximum, minimum, mod, multiply, pow, realdiv,
    squared_difference, subtract, truediv,
)  # fmt: skip
from actorsession.ops.arrays.array import (
    concat, fill, identity, ones, ones_like, pad, placeholder, placeholder_with_default, split, stack,
    stop_gradient, tile, transpose, unstack, zeros, zeros_like,
)  # fmt: skip
from actorsession.ops.arrays.array import range_ as range
from actorsession.ops.flow.assertions import Assert, Print, check_numerics, verify_tensor_all_finite
from actorsession.ops.variables.assignment import (
    assign, assign_add, assign_sub, batch_scatter_update, scatter_add, scatter_div, scatter_max,
    scatter_min, scatter_mul, scatter_nd_add, scatter_nd_sub, scatter_nd_update, scatter_sub,
    scatter_update,
)  # fmt: skip
from actorsession.ops.queues.barriers import Barrier
from actorsession.ops.arrays.batch_blocks import (
    batch_to_space, batch_to_space_nd, required_space_to_batch_paddings, space_to_batch,
    space_to_batch_nd,
)  # fmt: skip
from actorsession.ops.build import constant, convert_to_tensor
from actorsession.ops.flow.cases import case, switch_case
from actorsession.ops.elements.cast import (
    cast, to_bfloat16, to_complex64, to_complex128, to_double, to_float, to_int32, to_int64,
)  # fmt: skip
from actorsession.ops.flow.checks import (
    assert_equal, assert_greater, assert_greater_equal, assert_integer, assert_less, assert_less_equal,
    assert_near, assert_negative, assert_non_negative, assert_non_positive, assert_none_equal,
    assert_positive, assert_rank, assert_rank_at_least, assert_rank_in, assert_scalar, assert_type,
)  # fmt: skip
from actorsession.ops.elements.clip import (
    clip_by_average_norm, clip_by_global_norm, clip_by_norm, clip_by_value, global_norm,
)  # fmt: skip
from actorsession.ops.elements.comparison import (
    equal, greater, greater_equal, is_finite, is_inf, is_nan, less, less_equal, logical_and, logical_not,
    logical_or, logical_xor, not_equal, where, where_v2,
)  # fmt: skip
from actorsession.ops.elements.complex_numbers import angle, complex, imag, real
from actorsession.ops.linear.contractions import eye, norm, tensordot, trace
from actorsession.ops.flow.control import group, no_op
from actorsession.ops.flow.control import tuple_ as tuple
from actorsession.ops.flow.control_flow import cond, while_loop
from actorsession.ops.variables.counting import count_up_to
from actorsession.ops.reductions.cumulative import cumprod, cumsum
from actorsession.ops.derivatives.custom_gradients import (
    custom_gradient,
    grad_pass_through,
    hessians,
)
from actorsession.ops.arrays.depth_blocks import depth_to_space, space_to_depth
from actorsession.ops.linear.determinants import matrix_determinant
from actorsession.ops.linear.diagonals import diag, diag_part, matrix_band_part
from actorsession.ops.sparse_tensors.edit_distance import edit_distance
from actorsession.ops.linear.einsum import einsum
from actorsession.ops.elements.elementwise import (
    abs, ceil, conj, cos, exp, expm1, floor, log, log1p, negative, reciprocal, round, rsqrt, sign, sin,
    sqrt, square, tan,
)  # fmt: skip
from actorsession.ops.elements.error_functions import erf, erfc
from actorsession.ops.linear.factorisations import cholesky, qr
from actorsession.ops.text.fingerprints import fingerprint
from actorsession.ops.flow import functional  # noqa: F401 - for programs that import it by itself
from actorsession.ops.flow.functions import Defun  # registers calls
from actorsession.ops.elements.gamma_functions import digamma, lbeta, lgamma, polygamma, zeta
from actorsession.ops.arrays.gather import (
    gather,
    gather_nd,
    one_hot,
    scatter_nd,
    unsorted_segment_sum,
)
from actorsession.ops.variables.get_variable import get_local_variable, get_variable
from actorsession.ops.derivatives.registry import NoGradient, NotDifferentiable, RegisterGradient
from actorsession.ops.derivatives.gradients import (
    AggregationMethod,
    UnconnectedGradients,
    gradients,
)
from actorsession.ops.graph_keys import GraphKeys
from actorsession.ops.arrays.grids import (
    broadcast_dynamic_shape, broadcast_static_shape, meshgrid, parallel_stack, repeat,
)  # fmt: skip
from actorsession.ops.reductions.histograms import (
    bincount, confusion_matrix, histogram_fixed_width, histogram_fixed_width_bins,
)  # fmt: skip
from actorsession.ops.images.chance import random_crop
from actorsession.ops.elements.incomplete import betainc, igamma, igammac
from actorsession.ops.indexed_slices import IndexedSlices, IndexedSlicesValue
from actorsession.ops.variables.initializers import (
    Initializer, constant_initializer, glorot_normal_initializer, glorot_uniform_initializer,
    he_normal_initializer, he_uniform_initializer, identity_initializer, lecun_normal_initializer,
    lecun_uniform_initializer, ones_initializer, orthogonal_initializer, random_normal_initializer,
    random_uniform_initializer, truncated_normal_initializer, uniform_unit_scaling_initializer,
    variance_scaling_initializer, zeros_initializer,
)  # fmt: skip
from actorsession.ops.arrays.layout import invert_permutation
from actorsession.ops.linear.least_squares import matrix_solve_ls
from actorsession.ops.arrays.linspace import lin_space, linspace
from actorsession.ops.flow.mapping import foldl, foldr, map_fn, scan
from actorsession.ops.arrays.masks import batch_gather, boolean_mask, sequence_mask, sparse_mask
from actorsession.ops.linear.matmul import matmul
from actorsession.ops.linear.matrix_diagonals import matrix_diag, matrix_diag_part, matrix_set_diag
from actorsession.ops.linear.matrix_functions import matrix_square_root
from actorsession.ops.elements.nearness import rint
from actorsession.ops.variables.partitioned import PartitionedVariable
from actorsession.ops.variables.partitioners import (
    fixed_size_partitioner, min_max_variable_partitioner, variable_axis_size_partitioner,
)  # fmt: skip
from actorsession.ops.arrays.partitions import dynamic_partition, dynamic_stitch
from actorsession.ops.arrays.pass_through import ensure_shape, guarantee_const, identity_n, shape_n
from actorsession.ops.images.patches import extract_image_patches
from actorsession.ops.parsing import example_nodes  # noqa: F401 - registers its ops
from actorsession.ops.parsing.csv import decode_csv
from actorsession.ops.parsing.examples import parse_example, parse_single_example
from actorsession.ops.parsing.features import (
    FixedLenFeature, FixedLenSequenceFeature, SparseFeature, VarLenFeature,
)  # fmt: skip
from actorsession.ops.parsing.files import matching_files, read_file, write_file
from actorsession.ops.parsing.json_examples import decode_json_example
from actorsession.ops.parsing import sequence_nodes  # noqa: F401 - registers its ops
from actorsession.ops.parsing.sequence_examples import (
    parse_sequence_example, parse_single_sequence_example,
)  # fmt: skip
from actorsession.ops.parsing.serialized import decode_compressed, parse_tensor, serialize_tensor
from actorsession.ops.linear.products import accumulate_n, cross, scalar_mul
from actorsession.ops.queues.base import QueueBase
from actorsession.ops.queues.queues import (
    FIFOQueue, PaddingFIFOQueue, PriorityQueue, RandomShuffleQueue,
)  # fmt: skip
from actorsession.ops.elements.quotients import div_no_nan, floor_div, truncatediv, truncatemod
from actorsession.ops.random import (
    get_seed, random_normal, random_uniform, set_random_seed, truncated_normal,
)  # fmt: skip
from actorsession.ops.elements.recast import bitcast, saturate_cast
from actorsession.ops.neural.fake_quantisation import (
    fake_quant_with_min_max_args, fake_quant_with_min_max_args_gradient,
    fake_quant_with_min_max_vars, fake_quant_with_min_max_vars_gradient,
    fake_quant_with_min_max_vars_per_channel, fake_quant_with_min_max_vars_per_channel_gradient,
)  # fmt: skip
from actorsession.ops.neural.rectifiers import log_sigmoid
from actorsession.ops.signals.transforms import fft, fft2d, fft3d, ifft, ifft2d, ifft3d
from actorsession.ops.randomness.samples import (
    multinomial, random_gamma, random_poisson, random_shuffle,
)  # fmt: skip
from actorsession.ops.reductions.reduction import (
    reduce_all, reduce_any, reduce_logsumexp, reduce_max, reduce_mean, reduce_min, reduce_prod,
    reduce_sum,
)  # fmt: skip
from actorsession.ops.arrays.reversal import reverse, reverse_sequence, reverse_v2, roll
from actorsession.ops.flow.numeric_checks import add_check_numerics_ops
from actorsession.ops.flow.numpy_functions import numpy_function
from actorsession.ops.flow.script import async_py_func, py_func
from actorsession.ops.reductions.searching import argsort, searchsorted, sort
from actorsession.ops.reductions.segments import (
    segment_max, segment_mean, segment_min, segment_prod, segment_sum, unsorted_segment_max,
    unsorted_segment_mean, unsorted_segment_min, unsorted_segment_prod, unsorted_segment_sqrt_n,
)  # fmt: skip
from actorsession.ops.variables.session_ops import (
    delete_session_tensor, get_session_handle, get_session_tensor,
)  # fmt: skip
from actorsession.ops.arrays.shape import (
    broadcast_to,
    expand_dims,
    rank,
    reshape,
    shape,
    size,
    squeeze,
)
from actorsession.ops.arrays.slicing import slice_ as slice
from actorsession.ops.arrays.slicing import strided_slice
from actorsession.ops.linear.solving import (
    cholesky_solve, matrix_inverse, matrix_solve, matrix_triangular_solve,
)  # fmt: skip
from actorsession.ops.sparse_tensors.basics import (
    SparseTensor, SparseTensorValue, sparse_add, sparse_placeholder, sparse_reorder,
    sparse_tensor_dense_matmul, sparse_tensor_to_dense, sparse_to_dense,
)  # fmt: skip
from actorsession.ops import sparse_names as sparse
from actorsession.ops.sparse_tensors.functions import (
    sparse_concat, sparse_fill_empty_rows, sparse_reduce_max, sparse_reduce_sum, sparse_reset_shape,
    sparse_reshape, sparse_retain, sparse_slice, sparse_softmax, sparse_transpose,
)  # fmt: skip
from actorsession.ops.sparse_tensors.makers import sparse_merge, sparse_to_indicator
from actorsession.ops.sparse_tensors.pieces import (
    sparse_maximum, sparse_minimum, sparse_reduce_max_sparse, sparse_reduce_sum_sparse, sparse_split,
)  # fmt: skip
from actorsession.ops.sparse_tensors.segments import (
    sparse_segment_mean, sparse_segment_sqrt_n, sparse_segment_sum,
)  # fmt: skip
from actorsession.ops.sparse_tensors.serialising import (
    deserialize_many_sparse, serialize_many_sparse, serialize_sparse,
)  # fmt: skip
from actorsession.ops.linear.spectra import self_adjoint_eig, self_adjoint_eigvals, svd
from actorsession.ops.reductions.spread import (
    count_nonzero,
    is_non_decreasing,
    is_strictly_increasing,
)
from actorsession.ops.queues.staging import MapStagingArea, StagingArea
from actorsession.ops.text.characters import decode_base64, encode_base64, string_strip, substr
from actorsession.ops.text.hash_buckets import string_to_hash_bucket, string_to_hash_bucket_strong
from actorsession.ops.text.joining import reduce_join, string_join
from actorsession.ops.text.numbers import (
    as_string, decode_raw, string_to_hash_bucket_fast, string_to_number,
)  # fmt: skip
from actorsession.ops.text.regex import regex_replace
from actorsession.ops.text.splitting import string_split
from actorsession.ops.tables.tables import initialize_all_tables, tables_initializer
from actorsession.ops.lists import array_nodes  # noqa: F401 - registers its ops
from actorsession.ops.lists.tensor_array import TensorArray
from actorsession.ops.arrays.tensor_scatter import (
    tensor_scatter_add, tensor_scatter_nd_add, tensor_scatter_nd_max, tensor_scatter_nd_min,
    tensor_scatter_nd_sub, tensor_scatter_nd_update, tensor_scatter_sub, tensor_scatter_update,
)  # fmt: skip
from actorsession.ops.linear.transposition import matrix_transpose
from actorsession.ops.elements.trigonometry import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cosh,
    sinh,
)
from actorsession.ops.reductions.unique import setdiff1d, unique, unique_with_counts
from actorsession.ops.arrays.unravelling import unravel_index
from actorsession.ops.variables.creation import (
    VariableAggregation, VariableSynchronization, variable_creator_scope,
)  # fmt: skip
from actorsession.ops.variables.lists import (
    all_variables, assert_variables_initialized, global_variables, global_variables_initializer,
    initialize_all_variables, initialize_local_variables, initialize_variables, is_variable_initialized,
    local_variables, local_variables_initializer, model_variables, moving_average_variables,
    report_uninitialized_variables, trainable_variables, variables_initializer,
)  # fmt: skip
from actorsession.ops.variables.scope import (
    AUTO_REUSE, VariableScope, get_variable_scope, no_regularizer, variable_op_scope, variable_scope,
)  # fmt: skip
from actorsession.ops.variables.variable import Variable

__all__ = [
    "AUTO_REUSE", "AggregationMethod", "Assert", "Barrier", "ConditionalAccumulator",
    "ConditionalAccumulatorBase", "Defun", "FIFOQueue", "FixedLenFeature", "FixedLenSequenceFeature",
    "GraphKeys", "IndexedSlices", "IndexedSlicesValue", "Initializer", "MapStagingArea", "NoGradient",
    "NotDifferentiable", "PaddingFIFOQueue", "PartitionedVariable", "Print", "PriorityQueue",
    "QueueBase", "RandomShuffleQueue", "RegisterGradient", "SparseConditionalAccumulator",
    "SparseFeature", "SparseTensor", "SparseTensorValue", "StagingArea", "TensorArray",
    "UnconnectedGradients", "VarLenFeature", "Variable", "VariableAggregation", "VariableScope",
    "VariableSynchronization", "abs", "accumulate_n", "acos", "acosh", "add", "add_check_numerics_ops",
    "add_n", "all_variables", "angle", "arg_max", "arg_min", "argmax", "argmin", "argsort",
    "as_string", "asin", "asinh", "assert_equal", "assert_greater", "assert_greater_equal",
    "assert_integer", "assert_less", "assert_less_equal", "assert_near", "assert_negative",
    "assert_non_negative", "assert_non_positive", "assert_none_equal", "assert_positive",
    "assert_rank", "assert_rank_at_least", "assert_rank_in", "assert_scalar", "assert_type",
    "assert_variables_initialized", "assign", "assign_add", "assign_sub", "async_py_func", "atan",
    "atan2", "atanh", "batch_gather", "batch_scatter_update", "batch_to_space", "batch_to_space_nd",
    "betainc", "bincount", "bitcast", "bitwise", "boolean_mask", "broadcast_dynamic_shape",
    "broadcast_static_shape", "broadcast_to", "case", "cast", "ceil", "check_numerics", "cholesky",
    "cholesky_solve", "clip_by_average_norm", "clip_by_global_norm", "clip_by_norm", "clip_by_value",
    "complex", "concat", "cond", "confusion_matrix", "conj", "constant", "constant_initializer",
    "convert_to_tensor", "cos", "cosh", "count_nonzero", "count_up_to", "cross", "cumprod", "cumsum",
    "custom_gradient", "decode_base64", "decode_compressed", "decode_csv", "decode_json_example",
    "decode_raw", "delete_session_tensor", "depth_to_space", "deserialize_many_sparse", "diag",
    "diag_part", "digamma", "div", "div_no_nan", "divide", "dynamic_partition", "dynamic_stitch",
    "edit_distance", "einsum", "encode_base64", "ensure_shape", "equal", "erf", "erfc", "exp",
    "expand_dims", "expm1", "extract_image_patches", "eye", "fake_quant_with_min_max_args",
    "fake_quant_with_min_max_args_gradient", "fake_quant_with_min_max_vars",
    "fake_quant_with_min_max_vars_gradient", "fake_quant_with_min_max_vars_per_channel",
    "fake_quant_with_min_max_vars_per_channel_gradient", "fft", "fft2d", "fft3d", "fill",
    "fingerprint", "fixed_size_partitioner", "floor", "floor_div", "floordiv", "floormod", "foldl",
    "foldr", "gather", "gather_nd", "get_local_variable", "get_seed", "get_session_handle",
    "get_session_tensor", "get_variable", "get_variable_scope", "global_norm", "global_variables",
    "global_variables_initializer", "glorot_normal_initializer", "glorot_uniform_initializer",
    "grad_pass_through", "gradients", "greater", "greater_equal", "group", "guarantee_const",
    "he_normal_initializer", "he_uniform_initializer", "hessians", "histogram_fixed_width",
    "histogram_fixed_width_bins", "identity", "identity_initializer", "identity_n", "ifft", "ifft2d",
    "ifft3d", "igamma", "igammac", "imag", "image", "initialize_all_tables",
    "initialize_all_variables", "initialize_local_variables", "initialize_variables", "initializers",
    "invert_permutation", "is_finite", "is_inf", "is_nan", "is_non_decreasing",
    "is_strictly_increasing", "is_variable_initialized", "lbeta", "lecun_normal_initializer",
    "lecun_uniform_initializer", "less", "less_equal", "lgamma", "lin_space", "linalg", "linspace",
    "local_variables", "local_variables_initializer", "log", "log1p", "log_sigmoid", "logical_and",
    "logical_not", "logical_or", "logical_xor", "lookup", "losses", "manip", "map_fn",
    "matching_files", "math", "matmul", "matrix_band_part", "matrix_determinant", "matrix_diag",
    "matrix_diag_part", "matrix_inverse", "matrix_set_diag", "matrix_solve", "matrix_solve_ls",
    "matrix_square_root", "matrix_transpose", "matrix_triangular_solve", "maximum", "meshgrid",
    "min_max_variable_partitioner", "minimum", "mod", "model_variables", "moving_average_variables",
    "multinomial", "multiply", "negative", "nn", "no_op", "no_regularizer", "norm", "not_equal",
    "numpy_function", "one_hot", "ones", "ones_initializer", "ones_like", "orthogonal_initializer",
    "pad", "parallel_stack", "parse_example", "parse_sequence_example", "parse_single_example",
    "parse_single_sequence_example", "parse_tensor", "placeholder", "placeholder_with_default",
    "polygamma", "pow", "py_func", "qr", "random", "random_crop", "random_gamma", "random_normal",
    "random_normal_initializer", "random_poisson", "random_shuffle", "random_uniform",
    "random_uniform_initializer", "range", "rank", "read_file", "real", "realdiv", "reciprocal",
    "reduce_all", "reduce_any", "reduce_join", "reduce_logsumexp", "reduce_max", "reduce_mean",
    "reduce_min", "reduce_prod", "reduce_sum", "regex_replace", "repeat",
    "report_uninitialized_variables", "required_space_to_batch_paddings", "reshape", "reverse",
    "reverse_sequence", "reverse_v2", "rint", "roll", "round", "rsqrt", "saturate_cast", "scalar_mul",
    "scan", "scatter_add", "scatter_div", "scatter_max", "scatter_min", "scatter_mul", "scatter_nd",
    "scatter_nd_add", "scatter_nd_sub", "scatter_nd_update", "scatter_sub", "scatter_update",
    "searchsorted", "segment_max", "segment_mean", "segment_min", "segment_prod", "segment_sum",
    "self_adjoint_eig", "self_adjoint_eigvals", "sequence_mask", "serialize_many_sparse",
    "serialize_sparse", "serialize_tensor", "set_random_seed", "setdiff1d", "sets", "shape", "shape_n",
    "sigmoid", "sign", "signal", "sin", "sinh", "size", "slice", "sort", "space_to_batch",
    "space_to_batch_nd", "space_to_depth", "sparse", "sparse_add", "sparse_concat",
    "sparse_fill_empty_rows", "sparse_mask", "sparse_maximum", "sparse_merge", "sparse_minimum",
    "sparse_placeholder", "sparse_reduce_max", "sparse_reduce_max_sparse", "sparse_reduce_sum",
    "sparse_reduce_sum_sparse", "sparse_reorder", "sparse_reset_shape", "sparse_reshape",
    "sparse_retain", "sparse_segment_mean", "sparse_segment_sqrt_n", "sparse_segment_sum",
    "sparse_slice", "sparse_softmax", "sparse_split", "sparse_tensor_dense_matmul",
    "sparse_tensor_to_dense", "sparse_to_dense", "sparse_to_indicator", "sparse_transpose", "spectral",
    "split", "sqrt", "square", "squared_difference", "squeeze", "stack", "stop_gradient",
    "strided_slice", "string_join", "string_split", "string_strip", "string_to_hash_bucket",
    "string_to_hash_bucket_fast", "string_to_hash_bucket_strong", "string_to_number", "strings",
    "substr", "subtract", "svd", "switch_case", "tables_initializer", "tan", "tanh",
    "tensor_scatter_add", "tensor_scatter_nd_add", "tensor_scatter_nd_max", "tensor_scatter_nd_min",
    "tensor_scatter_nd_sub", "tensor_scatter_nd_update", "tensor_scatter_sub", "tensor_scatter_update",
    "tensordot", "tile", "to_bfloat16", "to_complex64", "to_complex128", "to_double", "to_float",
    "to_int32", "to_int64", "trace", "trainable_variables", "transpose", "truediv", "truncated_normal",
    "truncated_normal_initializer", "truncatediv", "truncatemod", "tuple",
    "uniform_unit_scaling_initializer", "unique", "unique_with_counts", "unravel_index",
    "unsorted_segment_max", "unsorted_segment_mean", "unsorted_segment_min", "unsorted_segment_prod",
    "unsorted_segment_sqrt_n", "unsorted_segment_sum", "unstack", "variable_axis_size_partitioner",
    "variable_creator_scope", "variable_op_scope", "variable_scope", "variables_initializer",
    "variance_scaling_initializer", "verify_tensor_all_finite", "where", "where_v2", "while_loop",
    "write_file", "zeros", "zeros_initializer", "zeros_like", "zeta",
]  # fmt: skip
