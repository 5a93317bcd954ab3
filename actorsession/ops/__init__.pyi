# Written by scripts/generated.py.
"""Graph-building functions under TensorFlow's names: one folder per domain.

This package owns all operation types. Importing it registers them and defines Python's operators on tensors.
The signature, shape function, gradient and numpy kernel of an op stand together in its file. The package
imports only the ``graph`` package. What all folders share (operands, conversion, static shapes) stands beside
this file, and so do the namespaces (``math``, ``nn``, ``linalg``, ...), which own nothing but names.
"""

from actorsession.ops.arrays.array import (
concat as concat, fill as fill, identity as identity, ones as ones, ones_like as ones_like, pad as
pad, placeholder as placeholder, placeholder_with_default as placeholder_with_default, range_ as
range, split as split, stack as stack, stop_gradient as stop_gradient, tile as tile, transpose as
transpose, unstack as unstack, zeros as zeros, zeros_like as zeros_like
)
from actorsession.ops.arrays.batch_blocks import (
batch_to_space as batch_to_space, batch_to_space_nd as batch_to_space_nd,
required_space_to_batch_paddings as required_space_to_batch_paddings, space_to_batch as
space_to_batch, space_to_batch_nd as space_to_batch_nd
)
from actorsession.ops.arrays.depth_blocks import (
depth_to_space as depth_to_space, space_to_depth as space_to_depth
)
from actorsession.ops.arrays.gather import (
gather as gather, gather_nd as gather_nd, one_hot as one_hot, scatter_nd as scatter_nd,
unsorted_segment_sum as unsorted_segment_sum
)
from actorsession.ops.arrays.grids import (
broadcast_dynamic_shape as broadcast_dynamic_shape, broadcast_static_shape as
broadcast_static_shape, meshgrid as meshgrid, parallel_stack as parallel_stack, repeat as repeat
)
from actorsession.ops.arrays.layout import invert_permutation as invert_permutation
from actorsession.ops.arrays.linspace import lin_space as lin_space, linspace as linspace
from actorsession.ops.arrays.masks import (
batch_gather as batch_gather, boolean_mask as boolean_mask, sequence_mask as sequence_mask,
sparse_mask as sparse_mask
)
from actorsession.ops.arrays.partitions import (
dynamic_partition as dynamic_partition, dynamic_stitch as dynamic_stitch
)
from actorsession.ops.arrays.pass_through import (
ensure_shape as ensure_shape, guarantee_const as guarantee_const, identity_n as identity_n, shape_n
as shape_n
)
from actorsession.ops.arrays.reversal import (
reverse as reverse, reverse_sequence as reverse_sequence, reverse_v2 as reverse_v2, roll as roll
)
from actorsession.ops.arrays.shape import (
broadcast_to as broadcast_to, expand_dims as expand_dims, rank as rank, reshape as reshape, shape as
shape, size as size, squeeze as squeeze
)
from actorsession.ops.arrays.slicing import slice_ as slice, strided_slice as strided_slice
from actorsession.ops.arrays.tensor_scatter import (
tensor_scatter_add as tensor_scatter_add, tensor_scatter_nd_add as tensor_scatter_nd_add,
tensor_scatter_nd_max as tensor_scatter_nd_max, tensor_scatter_nd_min as tensor_scatter_nd_min,
tensor_scatter_nd_sub as tensor_scatter_nd_sub, tensor_scatter_nd_update as
tensor_scatter_nd_update, tensor_scatter_sub as tensor_scatter_sub, tensor_scatter_update as
tensor_scatter_update
)
from actorsession.ops.arrays.unravelling import unravel_index as unravel_index
from actorsession.ops.build import constant as constant, convert_to_tensor as convert_to_tensor
from actorsession.ops.derivatives.custom_gradients import (
custom_gradient as custom_gradient, grad_pass_through as grad_pass_through, hessians as hessians
)
from actorsession.ops.derivatives.gradients import (
AggregationMethod as AggregationMethod, UnconnectedGradients as UnconnectedGradients, gradients as
gradients
)
from actorsession.ops.derivatives.registry import (
NoGradient as NoGradient, NotDifferentiable as NotDifferentiable, RegisterGradient as
RegisterGradient
)
from actorsession.ops.elements.arithmetic import (
add as add, add_n as add_n, div as div, divide as divide, floordiv as floordiv, floormod as
floormod, maximum as maximum, minimum as minimum, mod as mod, multiply as multiply, pow as pow,
realdiv as realdiv, squared_difference as squared_difference, subtract as subtract, truediv as
truediv
)
from actorsession.ops.elements.cast import cast as cast
from actorsession.ops.elements.clip import (
clip_by_average_norm as clip_by_average_norm, clip_by_global_norm as clip_by_global_norm,
clip_by_norm as clip_by_norm, clip_by_value as clip_by_value, global_norm as global_norm
)
from actorsession.ops.elements.comparison import (
equal as equal, greater as greater, greater_equal as greater_equal, is_finite as is_finite, is_inf
as is_inf, is_nan as is_nan, less as less, less_equal as less_equal, logical_and as logical_and,
logical_not as logical_not, logical_or as logical_or, logical_xor as logical_xor, not_equal as
not_equal, where as where, where_v2 as where_v2
)
from actorsession.ops.elements.complex_numbers import (
angle as angle, complex as complex, imag as imag, real as real
)
from actorsession.ops.elements.division import (
floor_div as floor_div, truncatediv as truncatediv, truncatemod as truncatemod
)
from actorsession.ops.elements.elementwise import (
abs as abs, ceil as ceil, conj as conj, cos as cos, exp as exp, expm1 as expm1, floor as floor, log
as log, log1p as log1p, negative as negative, reciprocal as reciprocal, round as round, rsqrt as
rsqrt, sign as sign, sin as sin, sqrt as sqrt, square as square, tan as tan
)
from actorsession.ops.elements.error_functions import erf as erf, erfc as erfc
from actorsession.ops.elements.nearness import rint as rint
from actorsession.ops.elements.quotients import div_no_nan as div_no_nan
from actorsession.ops.elements.recast import bitcast as bitcast, saturate_cast as saturate_cast
from actorsession.ops.elements.trigonometry import (
acos as acos, acosh as acosh, asin as asin, asinh as asinh, atan as atan, atan2 as atan2, atanh as
atanh, cosh as cosh, sinh as sinh
)
from actorsession.ops.flow.assertions import (
Assert as Assert, Print as Print, add_check_numerics_ops as add_check_numerics_ops, check_numerics
as check_numerics, verify_tensor_all_finite as verify_tensor_all_finite
)
from actorsession.ops.flow.cases import case as case, switch_case as switch_case
from actorsession.ops.flow.checks import (
assert_equal as assert_equal, assert_greater as assert_greater, assert_greater_equal as
assert_greater_equal, assert_integer as assert_integer, assert_less as assert_less,
assert_less_equal as assert_less_equal, assert_near as assert_near, assert_negative as
assert_negative, assert_non_negative as assert_non_negative, assert_non_positive as
assert_non_positive, assert_none_equal as assert_none_equal, assert_positive as assert_positive,
assert_rank as assert_rank, assert_rank_at_least as assert_rank_at_least, assert_rank_in as
assert_rank_in, assert_scalar as assert_scalar, assert_type as assert_type
)
from actorsession.ops.flow.control import group as group, no_op as no_op, tuple_ as tuple
from actorsession.ops.flow.control_flow import cond as cond, while_loop as while_loop
from actorsession.ops.flow.functions import Defun as Defun
from actorsession.ops.flow.mapping import (
foldl as foldl, foldr as foldr, map_fn as map_fn, scan as scan
)
from actorsession.ops.flow.script import (
async_py_func as async_py_func, numpy_function as numpy_function, py_func as py_func
)
from actorsession.ops.graph_keys import GraphKeys as GraphKeys
from actorsession.ops.indexed_slices import (
IndexedSlices as IndexedSlices, IndexedSlicesValue as IndexedSlicesValue
)
from actorsession.ops.linear.contractions import (
eye as eye, norm as norm, tensordot as tensordot, trace as trace
)
from actorsession.ops.linear.determinants import matrix_determinant as matrix_determinant
from actorsession.ops.linear.diagonals import (
diag as diag, diag_part as diag_part, matrix_band_part as matrix_band_part
)
from actorsession.ops.linear.einsum import einsum as einsum
from actorsession.ops.linear.factorisations import cholesky as cholesky, qr as qr
from actorsession.ops.linear.least_squares import matrix_solve_ls as matrix_solve_ls
from actorsession.ops.linear.matmul import matmul as matmul
from actorsession.ops.linear.matrix_diagonals import (
matrix_diag as matrix_diag, matrix_diag_part as matrix_diag_part, matrix_set_diag as matrix_set_diag
)
from actorsession.ops.linear.matrix_functions import matrix_square_root as matrix_square_root
from actorsession.ops.linear.products import (
accumulate_n as accumulate_n, cross as cross, scalar_mul as scalar_mul
)
from actorsession.ops.linear.solving import (
cholesky_solve as cholesky_solve, matrix_inverse as matrix_inverse, matrix_solve as matrix_solve,
matrix_triangular_solve as matrix_triangular_solve
)
from actorsession.ops.linear.spectra import (
self_adjoint_eig as self_adjoint_eig, self_adjoint_eigvals as self_adjoint_eigvals, svd as svd
)
from actorsession.ops.linear.transposition import matrix_transpose as matrix_transpose
from actorsession.ops.lists.tensor_array import TensorArray as TensorArray
from actorsession.ops.neural.activations import sigmoid as sigmoid, tanh as tanh
from actorsession.ops.neural.rectifiers import log_sigmoid as log_sigmoid
from actorsession.ops.queues.base import QueueBase as QueueBase
from actorsession.ops.queues.queues import (
FIFOQueue as FIFOQueue, PaddingFIFOQueue as PaddingFIFOQueue, PriorityQueue as PriorityQueue,
RandomShuffleQueue as RandomShuffleQueue
)
from actorsession.ops.randomness.numbers import (
get_seed as get_seed, random_normal as random_normal, random_uniform as random_uniform,
set_random_seed as set_random_seed, truncated_normal as truncated_normal
)
from actorsession.ops.randomness.samples import (
multinomial as multinomial, random_gamma as random_gamma, random_poisson as random_poisson,
random_shuffle as random_shuffle
)
from actorsession.ops.reductions.argmax import argmax as argmax, argmin as argmin
from actorsession.ops.reductions.cumulative import cumprod as cumprod, cumsum as cumsum
from actorsession.ops.reductions.histograms import (
bincount as bincount, confusion_matrix as confusion_matrix, histogram_fixed_width as
histogram_fixed_width, histogram_fixed_width_bins as histogram_fixed_width_bins
)
from actorsession.ops.reductions.reduction import (
reduce_all as reduce_all, reduce_any as reduce_any, reduce_logsumexp as reduce_logsumexp, reduce_max
as reduce_max, reduce_mean as reduce_mean, reduce_min as reduce_min, reduce_prod as reduce_prod,
reduce_sum as reduce_sum
)
from actorsession.ops.reductions.searching import (
argsort as argsort, searchsorted as searchsorted, sort as sort
)
from actorsession.ops.reductions.segments import (
segment_max as segment_max, segment_mean as segment_mean, segment_min as segment_min, segment_prod
as segment_prod, segment_sum as segment_sum, unsorted_segment_max as unsorted_segment_max,
unsorted_segment_mean as unsorted_segment_mean, unsorted_segment_min as unsorted_segment_min,
unsorted_segment_prod as unsorted_segment_prod, unsorted_segment_sqrt_n as unsorted_segment_sqrt_n
)
from actorsession.ops.reductions.spread import (
count_nonzero as count_nonzero, is_non_decreasing as is_non_decreasing, is_strictly_increasing as
is_strictly_increasing
)
from actorsession.ops.reductions.unique import (
setdiff1d as setdiff1d, unique as unique, unique_with_counts as unique_with_counts
)
from actorsession.ops.variables.assignment import (
assign as assign, assign_add as assign_add, assign_sub as assign_sub, batch_scatter_update as
batch_scatter_update, count_up_to as count_up_to, scatter_add as scatter_add, scatter_div as
scatter_div, scatter_max as scatter_max, scatter_min as scatter_min, scatter_mul as scatter_mul,
scatter_nd_add as scatter_nd_add, scatter_nd_sub as scatter_nd_sub, scatter_nd_update as
scatter_nd_update, scatter_sub as scatter_sub, scatter_update as scatter_update
)
from actorsession.ops.variables.creation import (
VariableAggregation as VariableAggregation, VariableSynchronization as VariableSynchronization,
variable_creator_scope as variable_creator_scope
)
from actorsession.ops.variables.get_variable import (
create_partitioned_variables as create_partitioned_variables, get_local_variable as
get_local_variable, get_variable as get_variable
)
from actorsession.ops.variables.initializers import (
Initializer as Initializer, constant_initializer as constant_initializer, glorot_normal_initializer
as glorot_normal_initializer, glorot_uniform_initializer as glorot_uniform_initializer,
he_normal_initializer as he_normal_initializer, he_uniform_initializer as he_uniform_initializer,
identity_initializer as identity_initializer, lecun_normal_initializer as lecun_normal_initializer,
lecun_uniform_initializer as lecun_uniform_initializer, ones_initializer as ones_initializer,
orthogonal_initializer as orthogonal_initializer, random_normal_initializer as
random_normal_initializer, random_uniform_initializer as random_uniform_initializer,
truncated_normal_initializer as truncated_normal_initializer, uniform_unit_scaling_initializer as
uniform_unit_scaling_initializer, variance_scaling_initializer as variance_scaling_initializer,
zeros_initializer as zeros_initializer
)
from actorsession.ops.variables.lists import (
assert_variables_initialized as assert_variables_initialized, global_variables as global_variables,
global_variables_initializer as global_variables_initializer, is_variable_initialized as
is_variable_initialized, local_variables as local_variables, local_variables_initializer as
local_variables_initializer, model_variables as model_variables, moving_average_variables as
moving_average_variables, report_uninitialized_variables as report_uninitialized_variables,
trainable_variables as trainable_variables, variables_initializer as variables_initializer
)
from actorsession.ops.variables.partitioned import PartitionedVariable as PartitionedVariable
from actorsession.ops.variables.partitioners import (
fixed_size_partitioner as fixed_size_partitioner, min_max_variable_partitioner as
min_max_variable_partitioner, variable_axis_size_partitioner as variable_axis_size_partitioner
)
from actorsession.ops.variables.scope import (
AUTO_REUSE as AUTO_REUSE, VariableScope as VariableScope, get_variable_scope as get_variable_scope,
no_regularizer as no_regularizer, variable_op_scope as variable_op_scope, variable_scope as
variable_scope
)
from actorsession.ops.variables.session_ops import (
delete_session_tensor as delete_session_tensor, get_session_handle as get_session_handle,
get_session_tensor as get_session_tensor
)
from actorsession.ops.variables.variable import Variable as Variable


__all__ = [
"AUTO_REUSE", "AggregationMethod", "Assert", "Defun", "FIFOQueue", "GraphKeys", "IndexedSlices",
"IndexedSlicesValue", "Initializer", "NoGradient", "NotDifferentiable", "PaddingFIFOQueue",
"PartitionedVariable", "Print", "PriorityQueue", "QueueBase", "RandomShuffleQueue",
"RegisterGradient", "TensorArray", "UnconnectedGradients", "Variable", "VariableAggregation",
"VariableScope", "VariableSynchronization", "abs", "accumulate_n", "acos", "acosh", "add",
"add_check_numerics_ops", "add_n", "angle", "argmax", "argmin", "argsort", "asin", "asinh",
"assert_equal", "assert_greater", "assert_greater_equal", "assert_integer", "assert_less",
"assert_less_equal", "assert_near", "assert_negative", "assert_non_negative", "assert_non_positive",
"assert_none_equal", "assert_positive", "assert_rank", "assert_rank_at_least", "assert_rank_in",
"assert_scalar", "assert_type", "assert_variables_initialized", "assign", "assign_add",
"assign_sub", "async_py_func", "atan", "atan2", "atanh", "batch_gather", "batch_scatter_update",
"batch_to_space", "batch_to_space_nd", "bincount", "bitcast", "boolean_mask",
"broadcast_dynamic_shape", "broadcast_static_shape", "broadcast_to", "case", "cast", "ceil",
"check_numerics", "cholesky", "cholesky_solve", "clip_by_average_norm", "clip_by_global_norm",
"clip_by_norm", "clip_by_value", "complex", "concat", "cond", "confusion_matrix", "conj",
"constant", "constant_initializer", "convert_to_tensor", "cos", "cosh", "count_nonzero",
"count_up_to", "create_partitioned_variables", "cross", "cumprod", "cumsum", "custom_gradient",
"delete_session_tensor", "depth_to_space", "diag", "diag_part", "div", "div_no_nan", "divide",
"dynamic_partition", "dynamic_stitch", "einsum", "ensure_shape", "equal", "erf", "erfc", "exp",
"expand_dims", "expm1", "eye", "fill", "fixed_size_partitioner", "floor", "floor_div", "floordiv",
"floormod", "foldl", "foldr", "gather", "gather_nd", "get_local_variable", "get_seed",
"get_session_handle", "get_session_tensor", "get_variable", "get_variable_scope", "global_norm",
"global_variables", "global_variables_initializer", "glorot_normal_initializer",
"glorot_uniform_initializer", "grad_pass_through", "gradients", "greater", "greater_equal", "group",
"guarantee_const", "he_normal_initializer", "he_uniform_initializer", "hessians",
"histogram_fixed_width", "histogram_fixed_width_bins", "identity", "identity_initializer",
"identity_n", "imag", "invert_permutation", "is_finite", "is_inf", "is_nan", "is_non_decreasing",
"is_strictly_increasing", "is_variable_initialized", "lecun_normal_initializer",
"lecun_uniform_initializer", "less", "less_equal", "lin_space", "linspace", "local_variables",
"local_variables_initializer", "log", "log1p", "log_sigmoid", "logical_and", "logical_not",
"logical_or", "logical_xor", "map_fn", "matmul", "matrix_band_part", "matrix_determinant",
"matrix_diag", "matrix_diag_part", "matrix_inverse", "matrix_set_diag", "matrix_solve",
"matrix_solve_ls", "matrix_square_root", "matrix_transpose", "matrix_triangular_solve", "maximum",
"meshgrid", "min_max_variable_partitioner", "minimum", "mod", "model_variables",
"moving_average_variables", "multinomial", "multiply", "negative", "no_op", "no_regularizer",
"norm", "not_equal", "numpy_function", "one_hot", "ones", "ones_initializer", "ones_like",
"orthogonal_initializer", "pad", "parallel_stack", "placeholder", "placeholder_with_default", "pow",
"py_func", "qr", "random_gamma", "random_normal", "random_normal_initializer", "random_poisson",
"random_shuffle", "random_uniform", "random_uniform_initializer", "range", "rank", "real",
"realdiv", "reciprocal", "reduce_all", "reduce_any", "reduce_logsumexp", "reduce_max",
"reduce_mean", "reduce_min", "reduce_prod", "reduce_sum", "repeat",
"report_uninitialized_variables", "required_space_to_batch_paddings", "reshape", "reverse",
"reverse_sequence", "reverse_v2", "rint", "roll", "round", "rsqrt", "saturate_cast", "scalar_mul",
"scan", "scatter_add", "scatter_div", "scatter_max", "scatter_min", "scatter_mul", "scatter_nd",
"scatter_nd_add", "scatter_nd_sub", "scatter_nd_update", "scatter_sub", "scatter_update",
"searchsorted", "segment_max", "segment_mean", "segment_min", "segment_prod", "segment_sum",
"self_adjoint_eig", "self_adjoint_eigvals", "sequence_mask", "set_random_seed", "setdiff1d",
"shape", "shape_n", "sigmoid", "sign", "sin", "sinh", "size", "slice", "sort", "space_to_batch",
"space_to_batch_nd", "space_to_depth", "sparse_mask", "split", "sqrt", "square",
"squared_difference", "squeeze", "stack", "stop_gradient", "strided_slice", "subtract", "svd",
"switch_case", "tan", "tanh", "tensor_scatter_add", "tensor_scatter_nd_add",
"tensor_scatter_nd_max", "tensor_scatter_nd_min", "tensor_scatter_nd_sub",
"tensor_scatter_nd_update", "tensor_scatter_sub", "tensor_scatter_update", "tensordot", "tile",
"trace", "trainable_variables", "transpose", "truediv", "truncated_normal",
"truncated_normal_initializer", "truncatediv", "truncatemod", "tuple",
"uniform_unit_scaling_initializer", "unique", "unique_with_counts", "unravel_index",
"unsorted_segment_max", "unsorted_segment_mean", "unsorted_segment_min", "unsorted_segment_prod",
"unsorted_segment_sqrt_n", "unsorted_segment_sum", "unstack", "variable_axis_size_partitioner",
"variable_creator_scope", "variable_op_scope", "variable_scope", "variables_initializer",
"variance_scaling_initializer", "verify_tensor_all_finite", "where", "where_v2", "while_loop",
"zeros", "zeros_initializer", "zeros_like"
]
