"""The words that graphs are written with: one file per domain, TensorFlow's names.

Owns all operation types: importing the package registers them and defines Python's operators on
tensors. Each op's signature, shape function, gradient and numpy kernel stand together in its file.
Imports the graph room only. Some files are named after their main function; as an attribute of the
package such a name is the function.
"""

from __future__ import annotations

from actorsession.ops import bitwise, manip, math, strings  # namespaces
from actorsession.ops import checkpointing, losses, mirroring, initializers, nn, training, training_updates  # noqa: F401 - these only register ops
from actorsession.ops.accumulators import (
    ConditionalAccumulator,
    ConditionalAccumulatorBase,
    SparseConditionalAccumulator,
)
from actorsession.ops.activations import sigmoid, tanh
from actorsession.ops.argmax import arg_max, arg_min, argmax, argmin
from actorsession.ops.arithmetic import (
    add,
    add_n,
    div,
    divide,
    floordiv,
    floormod,
    maximum,
    minimum,
    mod,
    multiply,
    pow,
    realdiv,
    squared_difference,
    subtract,
    truediv,
)
from actorsession.ops.array import (
    concat,
    fill,
    identity,
    ones,
    ones_like,
    pad,
    placeholder,
    placeholder_with_default,
    split,
    stack,
    stop_gradient,
    tile,
    transpose,
    unstack,
    zeros,
    zeros_like,
)
from actorsession.ops.array import range_ as range
from actorsession.ops.assertions import Assert, Print, check_numerics, verify_tensor_all_finite
from actorsession.ops.assignment import (
    assign,
    assign_add,
    assign_sub,
    batch_scatter_update,
    scatter_add,
    scatter_div,
    scatter_max,
    scatter_min,
    scatter_mul,
    scatter_nd_add,
    scatter_nd_sub,
    scatter_nd_update,
    scatter_sub,
    scatter_update,
)
from actorsession.ops.batch_blocks import (
    batch_to_space,
    batch_to_space_nd,
    required_space_to_batch_paddings,
    space_to_batch,
    space_to_batch_nd,
)
from actorsession.ops.build import constant, convert_to_tensor
from actorsession.ops.cases import case, switch_case
from actorsession.ops.cast import (
    cast,
    to_bfloat16,
    to_complex64,
    to_complex128,
    to_double,
    to_float,
    to_int32,
    to_int64,
)
from actorsession.ops.checks import (
    assert_equal,
    assert_greater,
    assert_greater_equal,
    assert_integer,
    assert_less,
    assert_less_equal,
    assert_near,
    assert_negative,
    assert_non_negative,
    assert_non_positive,
    assert_none_equal,
    assert_positive,
    assert_rank,
    assert_rank_at_least,
    assert_rank_in,
    assert_scalar,
    assert_type,
)
from actorsession.ops.comparison import (
    equal,
    greater,
    greater_equal,
    is_finite,
    is_inf,
    is_nan,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    not_equal,
    where,
    where_v2,
)
from actorsession.ops.control import group, no_op
from actorsession.ops.control import tuple_ as tuple
from actorsession.ops.control_flow import cond, while_loop
from actorsession.ops.counting import count_up_to
from actorsession.ops.depth_blocks import depth_to_space, space_to_depth
from actorsession.ops.diagonals import diag, diag_part, matrix_band_part
from actorsession.ops.edit_distance import edit_distance
from actorsession.ops.elementwise import (
    abs,
    ceil,
    conj,
    cos,
    exp,
    expm1,
    floor,
    log,
    log1p,
    negative,
    reciprocal,
    round,
    rsqrt,
    sign,
    sin,
    sqrt,
    square,
    tan,
)
from actorsession.ops.fingerprints import fingerprint
from actorsession.ops.functions import Defun  # registers calls
from actorsession.ops.gather import gather, gather_nd, one_hot, scatter_nd, unsorted_segment_sum
from actorsession.ops.get_variable import get_local_variable, get_variable
from actorsession.ops.gradients import UnconnectedGradients, gradients
from actorsession.ops.graph_keys import GraphKeys
from actorsession.ops.grids import (
    broadcast_dynamic_shape,
    broadcast_static_shape,
    meshgrid,
    parallel_stack,
    repeat,
)
from actorsession.ops.indexed_slices import IndexedSlices, IndexedSlicesValue
from actorsession.ops.initializers import (
    Initializer,
    constant_initializer,
    glorot_normal_initializer,
    glorot_uniform_initializer,
    he_normal_initializer,
    he_uniform_initializer,
    identity_initializer,
    lecun_normal_initializer,
    lecun_uniform_initializer,
    ones_initializer,
    orthogonal_initializer,
    random_normal_initializer,
    random_uniform_initializer,
    truncated_normal_initializer,
    uniform_unit_scaling_initializer,
    variance_scaling_initializer,
    zeros_initializer,
)
from actorsession.ops.layout import invert_permutation
from actorsession.ops.masks import batch_gather, boolean_mask, sequence_mask, sparse_mask
from actorsession.ops.matmul import matmul
from actorsession.ops.matrix_diagonals import matrix_diag, matrix_diag_part, matrix_set_diag
from actorsession.ops.partitioned import PartitionedVariable
from actorsession.ops.partitioners import (
    fixed_size_partitioner,
    min_max_variable_partitioner,
    variable_axis_size_partitioner,
)
from actorsession.ops.partitions import dynamic_partition, dynamic_stitch
from actorsession.ops.pass_through import ensure_shape, guarantee_const, identity_n, shape_n
from actorsession.ops.patches import extract_image_patches
from actorsession.ops.queues import (
    FIFOQueue,
    PaddingFIFOQueue,
    PriorityQueue,
    QueueBase,
    RandomShuffleQueue,
)
from actorsession.ops.random import (
    get_seed,
    random_normal,
    random_uniform,
    set_random_seed,
    truncated_normal,
)
from actorsession.ops.reduction import (
    reduce_all,
    reduce_any,
    reduce_logsumexp,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_prod,
    reduce_sum,
)
from actorsession.ops.reversal import reverse, reverse_sequence, reverse_v2, roll
from actorsession.ops.script import async_py_func, py_func
from actorsession.ops.searching import argsort, searchsorted, sort
from actorsession.ops.session_ops import (
    delete_session_tensor,
    get_session_handle,
    get_session_tensor,
)
from actorsession.ops.shape import broadcast_to, expand_dims, rank, reshape, shape, size, squeeze
from actorsession.ops.slicing import slice_ as slice
from actorsession.ops.slicing import strided_slice
from actorsession.ops.sparse import (
    SparseTensor,
    SparseTensorValue,
    sparse_add,
    sparse_placeholder,
    sparse_reorder,
    sparse_tensor_dense_matmul,
    sparse_tensor_to_dense,
    sparse_to_dense,
)
from actorsession.ops.tensor_scatter import (
    tensor_scatter_add,
    tensor_scatter_nd_add,
    tensor_scatter_nd_max,
    tensor_scatter_nd_min,
    tensor_scatter_nd_sub,
    tensor_scatter_nd_update,
    tensor_scatter_sub,
    tensor_scatter_update,
)
from actorsession.ops.transposition import matrix_transpose
from actorsession.ops.unique import setdiff1d, unique, unique_with_counts
from actorsession.ops.variable_creation import (
    VariableAggregation,
    VariableSynchronization,
    variable_creator_scope,
)
from actorsession.ops.variable_lists import (
    all_variables,
    assert_variables_initialized,
    global_variables,
    global_variables_initializer,
    initialize_all_variables,
    initialize_local_variables,
    initialize_variables,
    is_variable_initialized,
    local_variables,
    local_variables_initializer,
    model_variables,
    moving_average_variables,
    report_uninitialized_variables,
    trainable_variables,
    variables_initializer,
)
from actorsession.ops.variable_scope import (
    AUTO_REUSE,
    VariableScope,
    get_variable_scope,
    no_regularizer,
    variable_op_scope,
    variable_scope,
)
from actorsession.ops.variables import Variable
from actorsession.ops.clip import (
    clip_by_average_norm,
    clip_by_global_norm,
    clip_by_norm,
    clip_by_value,
    global_norm,
)
from actorsession.ops.complex_numbers import angle, complex, imag, real
from actorsession.ops.cumulative import cumprod, cumsum
from actorsession.ops.error_functions import erf, erfc
from actorsession.ops.gamma_functions import digamma, lbeta, lgamma, polygamma, zeta
from actorsession.ops.histograms import (
    bincount,
    confusion_matrix,
    histogram_fixed_width,
    histogram_fixed_width_bins,
)
from actorsession.ops.incomplete import betainc, igamma, igammac
from actorsession.ops.linspace import lin_space, linspace
from actorsession.ops.spread import count_nonzero, is_non_decreasing, is_strictly_increasing
from actorsession.ops.nearness import rint
from actorsession.ops.products import accumulate_n, cross, scalar_mul
from actorsession.ops.quotients import div_no_nan, floor_div, truncatediv, truncatemod
from actorsession.ops.recast import bitcast, saturate_cast
from actorsession.ops.rectifiers import log_sigmoid
from actorsession.ops.segments import (
    segment_max,
    segment_mean,
    segment_min,
    segment_prod,
    segment_sum,
    unsorted_segment_max,
    unsorted_segment_mean,
    unsorted_segment_min,
    unsorted_segment_prod,
    unsorted_segment_sqrt_n,
)
from actorsession.ops.sparse_segments import (
    sparse_segment_mean,
    sparse_segment_sqrt_n,
    sparse_segment_sum,
)
from actorsession.ops.string_characters import (
    decode_base64,
    encode_base64,
    string_strip,
    substr,
)
from actorsession.ops.string_joining import reduce_join, string_join
from actorsession.ops.string_numbers import (
    as_string,
    decode_raw,
    string_to_hash_bucket_fast,
    string_to_number,
)
from actorsession.ops.string_regex import regex_replace
from actorsession.ops.string_splitting import string_split
from actorsession.ops.trigonometry import (
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

__all__ = [
    "as_string", "decode_base64", "decode_raw", "encode_base64", "reduce_join", "regex_replace",
    "string_join", "string_split", "string_strip", "string_to_hash_bucket_fast", "string_to_number",
    "strings", "substr",
    "Assert", "Print", "assert_equal", "assert_greater", "assert_greater_equal", "assert_integer", "assert_less",
    "assert_less_equal", "assert_near", "assert_negative", "assert_non_negative", "assert_non_positive",
    "assert_none_equal", "assert_positive", "assert_rank", "assert_rank_at_least", "assert_rank_in",
    "assert_scalar", "assert_type", "check_numerics", "verify_tensor_all_finite",
    "ConditionalAccumulator", "ConditionalAccumulatorBase", "SparseConditionalAccumulator",
    "manip", "Defun", "case", "switch_case",
    "async_py_func",
    "no_regularizer", "orthogonal_initializer",
    "AUTO_REUSE", "PartitionedVariable", "VariableAggregation", "VariableScope",
    "VariableSynchronization", "all_variables", "assert_variables_initialized",
    "batch_scatter_update", "fixed_size_partitioner", "get_local_variable", "get_variable",
    "get_variable_scope", "identity_initializer", "initialize_all_variables",
    "initialize_local_variables", "initialize_variables", "initializers",
    "lecun_normal_initializer", "lecun_uniform_initializer", "min_max_variable_partitioner",
    "model_variables", "moving_average_variables", "scatter_div", "scatter_max", "scatter_min",
    "scatter_mul", "scatter_nd_add", "scatter_nd_sub", "scatter_nd_update",
    "uniform_unit_scaling_initializer", "variable_axis_size_partitioner", "variable_creator_scope",
    "variable_op_scope", "variable_scope",
    "accumulate_n", "acos", "acosh", "angle", "asin", "asinh", "atan", "atan2", "atanh",
    "betainc", "bincount", "bitcast", "bitwise", "clip_by_average_norm", "clip_by_global_norm",
    "clip_by_norm", "clip_by_value", "complex", "confusion_matrix", "cosh", "count_nonzero",
    "cross", "cumprod", "cumsum", "digamma", "div_no_nan", "erf", "erfc", "floor_div", "global_norm",
    "histogram_fixed_width", "histogram_fixed_width_bins", "igamma", "igammac", "imag",
    "is_non_decreasing", "is_strictly_increasing", "lbeta", "lgamma", "lin_space", "linspace",
    "log_sigmoid", "math", "polygamma", "real", "rint", "saturate_cast", "scalar_mul",
    "segment_max", "segment_mean", "segment_min", "segment_prod", "segment_sum", "sinh",
    "sparse_segment_mean", "sparse_segment_sqrt_n", "sparse_segment_sum", "truncatediv",
    "truncatemod", "unsorted_segment_max", "unsorted_segment_mean", "unsorted_segment_min",
    "unsorted_segment_prod", "unsorted_segment_sqrt_n", "zeta",
    "argsort", "batch_gather", "batch_to_space", "batch_to_space_nd", "boolean_mask",
    "broadcast_dynamic_shape",
    "broadcast_static_shape", "depth_to_space", "diag", "diag_part", "dynamic_partition",
    "dynamic_stitch", "edit_distance", "ensure_shape", "extract_image_patches", "fingerprint",
    "guarantee_const", "identity_n", "matrix_band_part", "matrix_diag", "matrix_diag_part",
    "matrix_set_diag", "matrix_transpose", "meshgrid", "parallel_stack",
    "repeat", "required_space_to_batch_paddings", "reverse", "reverse_sequence", "reverse_v2",
    "roll", "searchsorted", "sequence_mask", "setdiff1d", "shape_n", "sort", "space_to_batch",
    "space_to_batch_nd", "space_to_depth", "sparse_mask", "tensor_scatter_add",
    "tensor_scatter_nd_add", "tensor_scatter_nd_max", "tensor_scatter_nd_min",
    "tensor_scatter_nd_sub", "tensor_scatter_nd_update", "tensor_scatter_sub",
    "tensor_scatter_update", "unique", "unique_with_counts",
    "FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "QueueBase", "RandomShuffleQueue",
    "GraphKeys", "IndexedSlices", "IndexedSlicesValue", "Initializer", "SparseTensor",
    "SparseTensorValue", "UnconnectedGradients", "Variable", "abs", "add", "add_n", "arg_max",
    "arg_min", "argmax", "argmin", "assign", "assign_add", "assign_sub", "broadcast_to", "cast",
    "ceil", "concat", "cond", "conj", "constant", "constant_initializer", "convert_to_tensor", "cos",
    "count_up_to", "delete_session_tensor", "div", "divide", "equal", "exp", "expand_dims", "expm1",
    "fill", "floor", "floordiv", "floormod", "gather", "gather_nd", "get_seed",
    "get_session_handle", "get_session_tensor", "global_variables", "global_variables_initializer",
    "glorot_normal_initializer", "glorot_uniform_initializer", "gradients", "greater",
    "greater_equal", "group", "he_normal_initializer", "he_uniform_initializer", "identity",
    "invert_permutation", "is_finite", "is_inf", "is_nan", "is_variable_initialized", "less",
    "less_equal", "local_variables", "local_variables_initializer", "log", "log1p", "logical_and",
    "logical_not", "logical_or", "logical_xor", "losses", "matmul", "maximum", "minimum", "mod", "multiply",
    "negative", "nn", "no_op", "not_equal", "one_hot", "ones", "ones_initializer", "ones_like",
    "pad", "placeholder", "placeholder_with_default", "pow", "py_func", "random_normal",
    "random_normal_initializer", "random_uniform", "random_uniform_initializer", "range", "rank",
    "realdiv", "reciprocal", "reduce_all", "reduce_any", "reduce_logsumexp", "reduce_max",
    "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum", "report_uninitialized_variables",
    "reshape", "round", "rsqrt", "scatter_add", "scatter_nd", "scatter_sub", "scatter_update",
    "set_random_seed", "shape", "sigmoid", "sign", "sin", "size", "slice", "sparse_add",
    "sparse_placeholder", "sparse_reorder", "sparse_tensor_dense_matmul", "sparse_tensor_to_dense",
    "sparse_to_dense", "split", "sqrt", "square", "squared_difference", "squeeze", "stack",
    "stop_gradient", "strided_slice", "subtract", "tan", "tanh", "tile", "to_bfloat16",
    "to_complex64", "to_complex128", "to_double", "to_float", "to_int32", "to_int64",
    "trainable_variables", "transpose", "truediv", "truncated_normal",
    "truncated_normal_initializer", "tuple", "unsorted_segment_sum", "unstack",
    "variables_initializer", "variance_scaling_initializer", "where", "where_v2", "while_loop", "zeros",
    "zeros_initializer", "zeros_like",
]  # fmt: skip
