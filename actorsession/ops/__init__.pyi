# Written by scripts/generated.py.
"""Graph-building functions under TensorFlow's names: one folder per domain.

This package owns all operation types. Importing it registers them and defines Python's operators on tensors.
The signature, shape function, gradient and numpy kernel of an op stand together in its file. The package
imports only the ``graph`` package. What all folders share (operands, conversion, static shapes) stands beside
this file, and so do the namespaces (``math``, ``nn``, ``linalg``, ...), which own nothing but names.
"""

from actorsession.ops.arrays.array import concat as concat
from actorsession.ops.arrays.array import fill as fill
from actorsession.ops.arrays.array import identity as identity
from actorsession.ops.arrays.array import ones as ones
from actorsession.ops.arrays.array import ones_like as ones_like
from actorsession.ops.arrays.array import pad as pad
from actorsession.ops.arrays.array import placeholder as placeholder
from actorsession.ops.arrays.array import placeholder_with_default as placeholder_with_default
from actorsession.ops.arrays.array import range_ as range
from actorsession.ops.arrays.array import split as split
from actorsession.ops.arrays.array import stack as stack
from actorsession.ops.arrays.array import stop_gradient as stop_gradient
from actorsession.ops.arrays.array import tile as tile
from actorsession.ops.arrays.array import transpose as transpose
from actorsession.ops.arrays.array import unstack as unstack
from actorsession.ops.arrays.array import zeros as zeros
from actorsession.ops.arrays.array import zeros_like as zeros_like
from actorsession.ops.arrays.batch_blocks import batch_to_space as batch_to_space
from actorsession.ops.arrays.batch_blocks import batch_to_space_nd as batch_to_space_nd
from actorsession.ops.arrays.batch_blocks import required_space_to_batch_paddings as required_space_to_batch_paddings
from actorsession.ops.arrays.batch_blocks import space_to_batch as space_to_batch
from actorsession.ops.arrays.batch_blocks import space_to_batch_nd as space_to_batch_nd
from actorsession.ops.arrays.depth_blocks import depth_to_space as depth_to_space
from actorsession.ops.arrays.depth_blocks import space_to_depth as space_to_depth
from actorsession.ops.arrays.gather import gather as gather
from actorsession.ops.arrays.gather import gather_nd as gather_nd
from actorsession.ops.arrays.gather import one_hot as one_hot
from actorsession.ops.arrays.gather import scatter_nd as scatter_nd
from actorsession.ops.arrays.gather import unsorted_segment_sum as unsorted_segment_sum
from actorsession.ops.arrays.grids import broadcast_dynamic_shape as broadcast_dynamic_shape
from actorsession.ops.arrays.grids import broadcast_static_shape as broadcast_static_shape
from actorsession.ops.arrays.grids import meshgrid as meshgrid
from actorsession.ops.arrays.grids import parallel_stack as parallel_stack
from actorsession.ops.arrays.grids import repeat as repeat
from actorsession.ops.arrays.layout import invert_permutation as invert_permutation
from actorsession.ops.arrays.linspace import lin_space as lin_space
from actorsession.ops.arrays.linspace import linspace as linspace
from actorsession.ops.arrays.masks import batch_gather as batch_gather
from actorsession.ops.arrays.masks import boolean_mask as boolean_mask
from actorsession.ops.arrays.masks import sequence_mask as sequence_mask
from actorsession.ops.arrays.masks import sparse_mask as sparse_mask
from actorsession.ops.arrays.partitions import dynamic_partition as dynamic_partition
from actorsession.ops.arrays.partitions import dynamic_stitch as dynamic_stitch
from actorsession.ops.arrays.pass_through import ensure_shape as ensure_shape
from actorsession.ops.arrays.pass_through import guarantee_const as guarantee_const
from actorsession.ops.arrays.pass_through import identity_n as identity_n
from actorsession.ops.arrays.pass_through import shape_n as shape_n
from actorsession.ops.arrays.reversal import reverse as reverse
from actorsession.ops.arrays.reversal import reverse_sequence as reverse_sequence
from actorsession.ops.arrays.reversal import reverse_v2 as reverse_v2
from actorsession.ops.arrays.reversal import roll as roll
from actorsession.ops.arrays.shape import broadcast_to as broadcast_to
from actorsession.ops.arrays.shape import expand_dims as expand_dims
from actorsession.ops.arrays.shape import rank as rank
from actorsession.ops.arrays.shape import reshape as reshape
from actorsession.ops.arrays.shape import shape as shape
from actorsession.ops.arrays.shape import size as size
from actorsession.ops.arrays.shape import squeeze as squeeze
from actorsession.ops.arrays.slicing import slice_ as slice
from actorsession.ops.arrays.slicing import strided_slice as strided_slice
from actorsession.ops.arrays.tensor_scatter import tensor_scatter_add as tensor_scatter_add
from actorsession.ops.arrays.tensor_scatter import tensor_scatter_nd_add as tensor_scatter_nd_add
from actorsession.ops.arrays.tensor_scatter import tensor_scatter_nd_max as tensor_scatter_nd_max
from actorsession.ops.arrays.tensor_scatter import tensor_scatter_nd_min as tensor_scatter_nd_min
from actorsession.ops.arrays.tensor_scatter import tensor_scatter_nd_sub as tensor_scatter_nd_sub
from actorsession.ops.arrays.tensor_scatter import tensor_scatter_nd_update as tensor_scatter_nd_update
from actorsession.ops.arrays.tensor_scatter import tensor_scatter_sub as tensor_scatter_sub
from actorsession.ops.arrays.tensor_scatter import tensor_scatter_update as tensor_scatter_update
from actorsession.ops.arrays.unravelling import unravel_index as unravel_index
from actorsession.ops.build import constant as constant
from actorsession.ops.build import convert_to_tensor as convert_to_tensor
from actorsession.ops.derivatives.custom_gradients import custom_gradient as custom_gradient
from actorsession.ops.derivatives.custom_gradients import grad_pass_through as grad_pass_through
from actorsession.ops.derivatives.custom_gradients import hessians as hessians
from actorsession.ops.derivatives.gradients import AggregationMethod as AggregationMethod
from actorsession.ops.derivatives.gradients import UnconnectedGradients as UnconnectedGradients
from actorsession.ops.derivatives.gradients import gradients as gradients
from actorsession.ops.derivatives.registry import NoGradient as NoGradient
from actorsession.ops.derivatives.registry import NotDifferentiable as NotDifferentiable
from actorsession.ops.derivatives.registry import RegisterGradient as RegisterGradient
from actorsession.ops.elements.arithmetic import add as add
from actorsession.ops.elements.arithmetic import add_n as add_n
from actorsession.ops.elements.arithmetic import div as div
from actorsession.ops.elements.arithmetic import divide as divide
from actorsession.ops.elements.arithmetic import floordiv as floordiv
from actorsession.ops.elements.arithmetic import floormod as floormod
from actorsession.ops.elements.arithmetic import maximum as maximum
from actorsession.ops.elements.arithmetic import minimum as minimum
from actorsession.ops.elements.arithmetic import mod as mod
from actorsession.ops.elements.arithmetic import multiply as multiply
from actorsession.ops.elements.arithmetic import pow as pow
from actorsession.ops.elements.arithmetic import realdiv as realdiv
from actorsession.ops.elements.arithmetic import squared_difference as squared_difference
from actorsession.ops.elements.arithmetic import subtract as subtract
from actorsession.ops.elements.arithmetic import truediv as truediv
from actorsession.ops.elements.cast import cast as cast
from actorsession.ops.elements.clip import clip_by_average_norm as clip_by_average_norm
from actorsession.ops.elements.clip import clip_by_global_norm as clip_by_global_norm
from actorsession.ops.elements.clip import clip_by_norm as clip_by_norm
from actorsession.ops.elements.clip import clip_by_value as clip_by_value
from actorsession.ops.elements.clip import global_norm as global_norm
from actorsession.ops.elements.comparison import equal as equal
from actorsession.ops.elements.comparison import greater as greater
from actorsession.ops.elements.comparison import greater_equal as greater_equal
from actorsession.ops.elements.comparison import is_finite as is_finite
from actorsession.ops.elements.comparison import is_inf as is_inf
from actorsession.ops.elements.comparison import is_nan as is_nan
from actorsession.ops.elements.comparison import less as less
from actorsession.ops.elements.comparison import less_equal as less_equal
from actorsession.ops.elements.comparison import logical_and as logical_and
from actorsession.ops.elements.comparison import logical_not as logical_not
from actorsession.ops.elements.comparison import logical_or as logical_or
from actorsession.ops.elements.comparison import logical_xor as logical_xor
from actorsession.ops.elements.comparison import not_equal as not_equal
from actorsession.ops.elements.comparison import where as where
from actorsession.ops.elements.comparison import where_v2 as where_v2
from actorsession.ops.elements.complex_numbers import angle as angle
from actorsession.ops.elements.complex_numbers import complex as complex
from actorsession.ops.elements.complex_numbers import imag as imag
from actorsession.ops.elements.complex_numbers import real as real
from actorsession.ops.elements.division import floor_div as floor_div
from actorsession.ops.elements.division import truncatediv as truncatediv
from actorsession.ops.elements.division import truncatemod as truncatemod
from actorsession.ops.elements.elementwise import abs as abs
from actorsession.ops.elements.elementwise import ceil as ceil
from actorsession.ops.elements.elementwise import conj as conj
from actorsession.ops.elements.elementwise import cos as cos
from actorsession.ops.elements.elementwise import exp as exp
from actorsession.ops.elements.elementwise import expm1 as expm1
from actorsession.ops.elements.elementwise import floor as floor
from actorsession.ops.elements.elementwise import log as log
from actorsession.ops.elements.elementwise import log1p as log1p
from actorsession.ops.elements.elementwise import negative as negative
from actorsession.ops.elements.elementwise import reciprocal as reciprocal
from actorsession.ops.elements.elementwise import round as round
from actorsession.ops.elements.elementwise import rsqrt as rsqrt
from actorsession.ops.elements.elementwise import sign as sign
from actorsession.ops.elements.elementwise import sin as sin
from actorsession.ops.elements.elementwise import sqrt as sqrt
from actorsession.ops.elements.elementwise import square as square
from actorsession.ops.elements.elementwise import tan as tan
from actorsession.ops.elements.error_functions import erf as erf
from actorsession.ops.elements.error_functions import erfc as erfc
from actorsession.ops.elements.nearness import rint as rint
from actorsession.ops.elements.quotients import div_no_nan as div_no_nan
from actorsession.ops.elements.recast import bitcast as bitcast
from actorsession.ops.elements.recast import saturate_cast as saturate_cast
from actorsession.ops.elements.trigonometry import acos as acos
from actorsession.ops.elements.trigonometry import acosh as acosh
from actorsession.ops.elements.trigonometry import asin as asin
from actorsession.ops.elements.trigonometry import asinh as asinh
from actorsession.ops.elements.trigonometry import atan as atan
from actorsession.ops.elements.trigonometry import atan2 as atan2
from actorsession.ops.elements.trigonometry import atanh as atanh
from actorsession.ops.elements.trigonometry import cosh as cosh
from actorsession.ops.elements.trigonometry import sinh as sinh
from actorsession.ops.flow.assertions import Assert as Assert
from actorsession.ops.flow.assertions import Print as Print
from actorsession.ops.flow.assertions import add_check_numerics_ops as add_check_numerics_ops
from actorsession.ops.flow.assertions import check_numerics as check_numerics
from actorsession.ops.flow.assertions import verify_tensor_all_finite as verify_tensor_all_finite
from actorsession.ops.flow.cases import case as case
from actorsession.ops.flow.cases import switch_case as switch_case
from actorsession.ops.flow.checks import assert_equal as assert_equal
from actorsession.ops.flow.checks import assert_greater as assert_greater
from actorsession.ops.flow.checks import assert_greater_equal as assert_greater_equal
from actorsession.ops.flow.checks import assert_integer as assert_integer
from actorsession.ops.flow.checks import assert_less as assert_less
from actorsession.ops.flow.checks import assert_less_equal as assert_less_equal
from actorsession.ops.flow.checks import assert_near as assert_near
from actorsession.ops.flow.checks import assert_negative as assert_negative
from actorsession.ops.flow.checks import assert_non_negative as assert_non_negative
from actorsession.ops.flow.checks import assert_non_positive as assert_non_positive
from actorsession.ops.flow.checks import assert_none_equal as assert_none_equal
from actorsession.ops.flow.checks import assert_positive as assert_positive
from actorsession.ops.flow.checks import assert_rank as assert_rank
from actorsession.ops.flow.checks import assert_rank_at_least as assert_rank_at_least
from actorsession.ops.flow.checks import assert_rank_in as assert_rank_in
from actorsession.ops.flow.checks import assert_scalar as assert_scalar
from actorsession.ops.flow.checks import assert_type as assert_type
from actorsession.ops.flow.control import group as group
from actorsession.ops.flow.control import no_op as no_op
from actorsession.ops.flow.control import tuple_ as tuple
from actorsession.ops.flow.control_flow import cond as cond
from actorsession.ops.flow.control_flow import while_loop as while_loop
from actorsession.ops.flow.functions import Defun as Defun
from actorsession.ops.flow.mapping import foldl as foldl
from actorsession.ops.flow.mapping import foldr as foldr
from actorsession.ops.flow.mapping import map_fn as map_fn
from actorsession.ops.flow.mapping import scan as scan
from actorsession.ops.flow.script import async_py_func as async_py_func
from actorsession.ops.flow.script import numpy_function as numpy_function
from actorsession.ops.flow.script import py_func as py_func
from actorsession.ops.graph_keys import GraphKeys as GraphKeys
from actorsession.ops.indexed_slices import IndexedSlices as IndexedSlices
from actorsession.ops.indexed_slices import IndexedSlicesValue as IndexedSlicesValue
from actorsession.ops.linear.contractions import eye as eye
from actorsession.ops.linear.contractions import norm as norm
from actorsession.ops.linear.contractions import tensordot as tensordot
from actorsession.ops.linear.contractions import trace as trace
from actorsession.ops.linear.determinants import matrix_determinant as matrix_determinant
from actorsession.ops.linear.diagonals import diag as diag
from actorsession.ops.linear.diagonals import diag_part as diag_part
from actorsession.ops.linear.diagonals import matrix_band_part as matrix_band_part
from actorsession.ops.linear.einsum import einsum as einsum
from actorsession.ops.linear.factorisations import cholesky as cholesky
from actorsession.ops.linear.factorisations import qr as qr
from actorsession.ops.linear.least_squares import matrix_solve_ls as matrix_solve_ls
from actorsession.ops.linear.matmul import matmul as matmul
from actorsession.ops.linear.matrix_diagonals import matrix_diag as matrix_diag
from actorsession.ops.linear.matrix_diagonals import matrix_diag_part as matrix_diag_part
from actorsession.ops.linear.matrix_diagonals import matrix_set_diag as matrix_set_diag
from actorsession.ops.linear.matrix_functions import matrix_square_root as matrix_square_root
from actorsession.ops.linear.products import accumulate_n as accumulate_n
from actorsession.ops.linear.products import cross as cross
from actorsession.ops.linear.products import scalar_mul as scalar_mul
from actorsession.ops.linear.solving import cholesky_solve as cholesky_solve
from actorsession.ops.linear.solving import matrix_inverse as matrix_inverse
from actorsession.ops.linear.solving import matrix_solve as matrix_solve
from actorsession.ops.linear.solving import matrix_triangular_solve as matrix_triangular_solve
from actorsession.ops.linear.spectra import self_adjoint_eig as self_adjoint_eig
from actorsession.ops.linear.spectra import self_adjoint_eigvals as self_adjoint_eigvals
from actorsession.ops.linear.spectra import svd as svd
from actorsession.ops.linear.transposition import matrix_transpose as matrix_transpose
from actorsession.ops.lists.tensor_array import TensorArray as TensorArray
from actorsession.ops.neural.activations import sigmoid as sigmoid
from actorsession.ops.neural.activations import tanh as tanh
from actorsession.ops.neural.rectifiers import log_sigmoid as log_sigmoid
from actorsession.ops.queues.base import QueueBase as QueueBase
from actorsession.ops.queues.queues import FIFOQueue as FIFOQueue
from actorsession.ops.queues.queues import PaddingFIFOQueue as PaddingFIFOQueue
from actorsession.ops.queues.queues import PriorityQueue as PriorityQueue
from actorsession.ops.queues.queues import RandomShuffleQueue as RandomShuffleQueue
from actorsession.ops.randomness.numbers import get_seed as get_seed
from actorsession.ops.randomness.numbers import random_normal as random_normal
from actorsession.ops.randomness.numbers import random_uniform as random_uniform
from actorsession.ops.randomness.numbers import set_random_seed as set_random_seed
from actorsession.ops.randomness.numbers import truncated_normal as truncated_normal
from actorsession.ops.randomness.samples import multinomial as multinomial
from actorsession.ops.randomness.samples import random_gamma as random_gamma
from actorsession.ops.randomness.samples import random_poisson as random_poisson
from actorsession.ops.randomness.samples import random_shuffle as random_shuffle
from actorsession.ops.reductions.argmax import argmax as argmax
from actorsession.ops.reductions.argmax import argmin as argmin
from actorsession.ops.reductions.cumulative import cumprod as cumprod
from actorsession.ops.reductions.cumulative import cumsum as cumsum
from actorsession.ops.reductions.histograms import bincount as bincount
from actorsession.ops.reductions.histograms import confusion_matrix as confusion_matrix
from actorsession.ops.reductions.histograms import histogram_fixed_width as histogram_fixed_width
from actorsession.ops.reductions.histograms import histogram_fixed_width_bins as histogram_fixed_width_bins
from actorsession.ops.reductions.reduction import reduce_all as reduce_all
from actorsession.ops.reductions.reduction import reduce_any as reduce_any
from actorsession.ops.reductions.reduction import reduce_logsumexp as reduce_logsumexp
from actorsession.ops.reductions.reduction import reduce_max as reduce_max
from actorsession.ops.reductions.reduction import reduce_mean as reduce_mean
from actorsession.ops.reductions.reduction import reduce_min as reduce_min
from actorsession.ops.reductions.reduction import reduce_prod as reduce_prod
from actorsession.ops.reductions.reduction import reduce_sum as reduce_sum
from actorsession.ops.reductions.searching import argsort as argsort
from actorsession.ops.reductions.searching import searchsorted as searchsorted
from actorsession.ops.reductions.searching import sort as sort
from actorsession.ops.reductions.segments import segment_max as segment_max
from actorsession.ops.reductions.segments import segment_mean as segment_mean
from actorsession.ops.reductions.segments import segment_min as segment_min
from actorsession.ops.reductions.segments import segment_prod as segment_prod
from actorsession.ops.reductions.segments import segment_sum as segment_sum
from actorsession.ops.reductions.segments import unsorted_segment_max as unsorted_segment_max
from actorsession.ops.reductions.segments import unsorted_segment_mean as unsorted_segment_mean
from actorsession.ops.reductions.segments import unsorted_segment_min as unsorted_segment_min
from actorsession.ops.reductions.segments import unsorted_segment_prod as unsorted_segment_prod
from actorsession.ops.reductions.segments import unsorted_segment_sqrt_n as unsorted_segment_sqrt_n
from actorsession.ops.reductions.spread import count_nonzero as count_nonzero
from actorsession.ops.reductions.spread import is_non_decreasing as is_non_decreasing
from actorsession.ops.reductions.spread import is_strictly_increasing as is_strictly_increasing
from actorsession.ops.reductions.unique import setdiff1d as setdiff1d
from actorsession.ops.reductions.unique import unique as unique
from actorsession.ops.reductions.unique import unique_with_counts as unique_with_counts
from actorsession.ops.variables.assignment import assign as assign
from actorsession.ops.variables.assignment import assign_add as assign_add
from actorsession.ops.variables.assignment import assign_sub as assign_sub
from actorsession.ops.variables.assignment import batch_scatter_update as batch_scatter_update
from actorsession.ops.variables.assignment import count_up_to as count_up_to
from actorsession.ops.variables.assignment import scatter_add as scatter_add
from actorsession.ops.variables.assignment import scatter_div as scatter_div
from actorsession.ops.variables.assignment import scatter_max as scatter_max
from actorsession.ops.variables.assignment import scatter_min as scatter_min
from actorsession.ops.variables.assignment import scatter_mul as scatter_mul
from actorsession.ops.variables.assignment import scatter_nd_add as scatter_nd_add
from actorsession.ops.variables.assignment import scatter_nd_sub as scatter_nd_sub
from actorsession.ops.variables.assignment import scatter_nd_update as scatter_nd_update
from actorsession.ops.variables.assignment import scatter_sub as scatter_sub
from actorsession.ops.variables.assignment import scatter_update as scatter_update
from actorsession.ops.variables.creation import VariableAggregation as VariableAggregation
from actorsession.ops.variables.creation import VariableSynchronization as VariableSynchronization
from actorsession.ops.variables.creation import variable_creator_scope as variable_creator_scope
from actorsession.ops.variables.get_variable import create_partitioned_variables as create_partitioned_variables
from actorsession.ops.variables.get_variable import get_local_variable as get_local_variable
from actorsession.ops.variables.get_variable import get_variable as get_variable
from actorsession.ops.variables.initializers import Initializer as Initializer
from actorsession.ops.variables.initializers import constant_initializer as constant_initializer
from actorsession.ops.variables.initializers import glorot_normal_initializer as glorot_normal_initializer
from actorsession.ops.variables.initializers import glorot_uniform_initializer as glorot_uniform_initializer
from actorsession.ops.variables.initializers import he_normal_initializer as he_normal_initializer
from actorsession.ops.variables.initializers import he_uniform_initializer as he_uniform_initializer
from actorsession.ops.variables.initializers import identity_initializer as identity_initializer
from actorsession.ops.variables.initializers import lecun_normal_initializer as lecun_normal_initializer
from actorsession.ops.variables.initializers import lecun_uniform_initializer as lecun_uniform_initializer
from actorsession.ops.variables.initializers import ones_initializer as ones_initializer
from actorsession.ops.variables.initializers import orthogonal_initializer as orthogonal_initializer
from actorsession.ops.variables.initializers import random_normal_initializer as random_normal_initializer
from actorsession.ops.variables.initializers import random_uniform_initializer as random_uniform_initializer
from actorsession.ops.variables.initializers import truncated_normal_initializer as truncated_normal_initializer
from actorsession.ops.variables.initializers import uniform_unit_scaling_initializer as uniform_unit_scaling_initializer
from actorsession.ops.variables.initializers import variance_scaling_initializer as variance_scaling_initializer
from actorsession.ops.variables.initializers import zeros_initializer as zeros_initializer
from actorsession.ops.variables.lists import assert_variables_initialized as assert_variables_initialized
from actorsession.ops.variables.lists import global_variables as global_variables
from actorsession.ops.variables.lists import global_variables_initializer as global_variables_initializer
from actorsession.ops.variables.lists import is_variable_initialized as is_variable_initialized
from actorsession.ops.variables.lists import local_variables as local_variables
from actorsession.ops.variables.lists import local_variables_initializer as local_variables_initializer
from actorsession.ops.variables.lists import model_variables as model_variables
from actorsession.ops.variables.lists import moving_average_variables as moving_average_variables
from actorsession.ops.variables.lists import report_uninitialized_variables as report_uninitialized_variables
from actorsession.ops.variables.lists import trainable_variables as trainable_variables
from actorsession.ops.variables.lists import variables_initializer as variables_initializer
from actorsession.ops.variables.partitioned import PartitionedVariable as PartitionedVariable
from actorsession.ops.variables.partitioners import fixed_size_partitioner as fixed_size_partitioner
from actorsession.ops.variables.partitioners import min_max_variable_partitioner as min_max_variable_partitioner
from actorsession.ops.variables.partitioners import variable_axis_size_partitioner as variable_axis_size_partitioner
from actorsession.ops.variables.scope import AUTO_REUSE as AUTO_REUSE
from actorsession.ops.variables.scope import VariableScope as VariableScope
from actorsession.ops.variables.scope import get_variable_scope as get_variable_scope
from actorsession.ops.variables.scope import no_regularizer as no_regularizer
from actorsession.ops.variables.scope import variable_op_scope as variable_op_scope
from actorsession.ops.variables.scope import variable_scope as variable_scope
from actorsession.ops.variables.session_ops import delete_session_tensor as delete_session_tensor
from actorsession.ops.variables.session_ops import get_session_handle as get_session_handle
from actorsession.ops.variables.session_ops import get_session_tensor as get_session_tensor
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
