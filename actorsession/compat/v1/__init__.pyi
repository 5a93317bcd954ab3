# Written by scripts/generated.py.
"""TensorFlow 1's API: ``import actorsession.compat.v1 as tf``.

Names, arguments, defaults and error classes are those of ``tensorflow.compat.v1``; the implementation is this
library. Importing the package starts nothing and changes no policy; its modules are imported when they are
first used.
"""

from actorsession.compat.v1 import (
app as app, autograph as autograph, compat as compat, config as config, contrib as contrib, core as
core, data as data, debugging as debugging, distributions as distributions, dtypes as dtypes, errors
as errors, estimator as estimator, examples as examples, feature_column as feature_column, flags as
flags, gfile as gfile, io as io, layers as layers, logging as logging, manip as manip, metrics as
metrics, nn as nn, profiler as profiler, python as python, python_io as python_io, queue as queue,
raw_ops as raw_ops, saved_model as saved_model, spectral as spectral, summary as summary, test as
test, train as train, version as version
)
from actorsession.compat.v1.compat import (
as_bytes as as_bytes, as_str as as_str, as_str_any as as_str_any, as_text as as_text
)
from actorsession.compat.v1.dtypes import QUANTIZED_DTYPES as QUANTIZED_DTYPES
from actorsession.compat.v1.graphs.behavior import (
COMPILER_VERSION as COMPILER_VERSION, CXX11_ABI_FLAG as CXX11_ABI_FLAG, GIT_VERSION as GIT_VERSION,
GRAPH_DEF_VERSION as GRAPH_DEF_VERSION, GRAPH_DEF_VERSION_MIN_CONSUMER as
GRAPH_DEF_VERSION_MIN_CONSUMER, GRAPH_DEF_VERSION_MIN_PRODUCER as GRAPH_DEF_VERSION_MIN_PRODUCER,
MONOLITHIC_BUILD as MONOLITHIC_BUILD, VERSION as VERSION, __compiler_version__ as
__compiler_version__, __cxx11_abi_flag__ as __cxx11_abi_flag__, __git_version__ as __git_version__,
__monolithic_build__ as __monolithic_build__, __version__ as __version__, control_flow_v2_enabled as
control_flow_v2_enabled, disable_control_flow_v2 as disable_control_flow_v2, disable_eager_execution
as disable_eager_execution, disable_resource_variables as disable_resource_variables,
disable_v2_behavior as disable_v2_behavior, disable_v2_tensorshape as disable_v2_tensorshape,
enable_eager_execution as enable_eager_execution, enable_resource_variables as
enable_resource_variables, enable_v2_tensorshape as enable_v2_tensorshape, executing_eagerly as
executing_eagerly, resource_variables_enabled as resource_variables_enabled
)
from actorsession.compat.v1.graphs.devices import DeviceSpec as DeviceSpec
from actorsession.compat.v1.graphs.forms import (
TensorShape as TensorShape, as_dtype as as_dtype, colocate_with as colocate_with, container as
container, device as device, name_scope as name_scope, op_scope as op_scope
)
from actorsession.compat.v1.graphs.graph import (
Graph as Graph, get_default_graph as get_default_graph, reset_default_graph as reset_default_graph
)
from actorsession.compat.v1.graphs.tensors import (
assert_proper_iterable as assert_proper_iterable, assert_same_float_dtype as
assert_same_float_dtype, convert_to_tensor_or_indexed_slices as convert_to_tensor_or_indexed_slices,
convert_to_tensor_or_sparse_tensor as convert_to_tensor_or_sparse_tensor, is_numeric_tensor as
is_numeric_tensor, is_symbolic_tensor as is_symbolic_tensor, is_tensor as is_tensor, newaxis as
newaxis
)
from actorsession.compat.v1.graphs.type_specs import (
IndexedSlicesSpec as IndexedSlicesSpec, SparseTensorSpec as SparseTensorSpec, TensorSpec as
TensorSpec, TypeSpec as TypeSpec
)
from actorsession.compat.v1.internals import files as resource_loader, nest as nest
from actorsession.compat.v1.internals.framework import (
init_scope as init_scope, register_tensor_conversion_function as register_tensor_conversion_function
)
from actorsession.compat.v1.logging import get_logger as get_logger
from actorsession.compat.v1.ops.control_flow import while_loop as while_loop
from actorsession.compat.v1.ops.legacy_ops import (
all_variables as all_variables, arg_max as arg_max, arg_min as arg_min, batch_matmul as
batch_matmul, extract_image_patches as extract_image_patches, initialize_all_tables as
initialize_all_tables, initialize_all_variables as initialize_all_variables,
initialize_local_variables as initialize_local_variables, initialize_variables as
initialize_variables, mul as mul, neg as neg, pack as pack, sub as sub, to_bfloat16 as to_bfloat16,
to_complex128 as to_complex128, to_complex64 as to_complex64, to_double as to_double, to_float as
to_float, to_int32 as to_int32, to_int64 as to_int64, unpack as unpack
)
from actorsession.compat.v1.ops.module import Module as Module
from actorsession.compat.v1.ops.py_functions import py_function as py_function
from actorsession.compat.v1.ops.template import make_template as make_template
from actorsession.compat.v1.ops.traced_functions import function as function
from actorsession.compat.v1.sessions.messages import (
ConfigProto as ConfigProto, GPUOptions as GPUOptions, GraphOptions as GraphOptions, NameAttrList as
NameAttrList, OptimizerOptions as OptimizerOptions, RunMetadata as RunMetadata, RunOptions as
RunOptions
)
from actorsession.compat.v1.sessions.session import (
InteractiveSession as InteractiveSession, Session as Session
)
from actorsession.errors import OpError as OpError
from actorsession.graph.constant_value import get_static_value as get_static_value
from actorsession.graph.default_session import get_default_session as get_default_session
from actorsession.graph.dimension import Dimension as Dimension, dimension_value as dimension_value
from actorsession.graph.dtypes import (
DType as DType, bfloat16 as bfloat16, bool_ as bool, complex128 as complex128, complex64 as
complex64, float16 as float16, float16 as half, float32 as float32, float64 as float64, float64 as
double, int16 as int16, int32 as int32, int64 as int64, int8 as int8, qint16 as qint16, qint32 as
qint32, qint8 as qint8, quint16 as quint16, quint8 as quint8, resource as resource, string as
string, uint16 as uint16, uint32 as uint32, uint64 as uint64, uint8 as uint8, variant as variant
)
from actorsession.graph.graph import (
add_to_collection as add_to_collection, add_to_collections as add_to_collections,
control_dependencies as control_dependencies, get_collection as get_collection, get_collection_ref
as get_collection_ref
)
from actorsession.graph.operation import Operation as Operation, Tensor as Tensor
from actorsession.graph.shape import dimension_at_index as dimension_at_index
from actorsession.interop import (
AttrValue as AttrValue, GraphDef as GraphDef, MetaGraphDef as MetaGraphDef, NodeDef as NodeDef,
make_ndarray as make_ndarray, make_tensor_proto as make_tensor_proto, graph_util as graph_util
)
from actorsession.interop.event_protos import (
Event as Event, HistogramProto as HistogramProto, LogMessage as LogMessage, SessionLog as
SessionLog, Summary as Summary, SummaryMetadata as SummaryMetadata
)
from actorsession.interop.meta_protos import TensorInfo as TensorInfo
from actorsession.namespaces import (
audio as audio, image as image, linalg as linalg, lookup as lookup, math as math, quantization as
quantization, random as random, sets as sets, signal as signal, sparse as sparse, strings as strings
)
from actorsession.ops import (
AUTO_REUSE as AUTO_REUSE, AggregationMethod as AggregationMethod, Assert as Assert, Defun as Defun,
FIFOQueue as FIFOQueue, GraphKeys as GraphKeys, IndexedSlices as IndexedSlices, IndexedSlicesValue
as IndexedSlicesValue, Initializer as Initializer, NoGradient as NoGradient, NotDifferentiable as
NotDifferentiable, PaddingFIFOQueue as PaddingFIFOQueue, PartitionedVariable as PartitionedVariable,
Print as Print, PriorityQueue as PriorityQueue, QueueBase as QueueBase, RandomShuffleQueue as
RandomShuffleQueue, RegisterGradient as RegisterGradient, TensorArray as TensorArray,
UnconnectedGradients as UnconnectedGradients, Variable as Variable, VariableAggregation as
VariableAggregation, VariableScope as VariableScope, VariableSynchronization as
VariableSynchronization, abs as abs, accumulate_n as accumulate_n, acos as acos, acosh as acosh, add
as add, add_check_numerics_ops as add_check_numerics_ops, add_n as add_n, angle as angle, asin as
asin, asinh as asinh, assert_equal as assert_equal, assert_greater as assert_greater,
assert_greater_equal as assert_greater_equal, assert_integer as assert_integer, assert_less as
assert_less, assert_less_equal as assert_less_equal, assert_near as assert_near, assert_negative as
assert_negative, assert_non_negative as assert_non_negative, assert_non_positive as
assert_non_positive, assert_none_equal as assert_none_equal, assert_positive as assert_positive,
assert_rank as assert_rank, assert_rank_at_least as assert_rank_at_least, assert_rank_in as
assert_rank_in, assert_scalar as assert_scalar, assert_type as assert_type,
assert_variables_initialized as assert_variables_initialized, async_py_func as async_py_func, atan
as atan, atan2 as atan2, atanh as atanh, batch_gather as batch_gather, batch_to_space as
batch_to_space, batch_to_space_nd as batch_to_space_nd, bincount as bincount, bitcast as bitcast,
boolean_mask as boolean_mask, broadcast_dynamic_shape as broadcast_dynamic_shape,
broadcast_static_shape as broadcast_static_shape, broadcast_to as broadcast_to, case as case, cast
as cast, ceil as ceil, check_numerics as check_numerics, cholesky as cholesky, cholesky_solve as
cholesky_solve, clip_by_average_norm as clip_by_average_norm, clip_by_global_norm as
clip_by_global_norm, clip_by_norm as clip_by_norm, clip_by_value as clip_by_value, complex as
complex, concat as concat, confusion_matrix as confusion_matrix, conj as conj, constant as constant,
constant_initializer as constant_initializer, cos as cos, cosh as cosh, count_up_to as count_up_to,
create_partitioned_variables as create_partitioned_variables, cross as cross, cumprod as cumprod,
cumsum as cumsum, custom_gradient as custom_gradient, delete_session_tensor as
delete_session_tensor, depth_to_space as depth_to_space, diag as diag, diag_part as diag_part, div
as div, div_no_nan as div_no_nan, divide as divide, dynamic_partition as dynamic_partition,
dynamic_stitch as dynamic_stitch, ensure_shape as ensure_shape, equal as equal, erf as erf, erfc as
erfc, exp as exp, expm1 as expm1, eye as eye, fill as fill, fixed_size_partitioner as
fixed_size_partitioner, floor as floor, floor_div as floor_div, floordiv as floordiv, floormod as
floormod, foldl as foldl, foldr as foldr, gather_nd as gather_nd, get_local_variable as
get_local_variable, get_seed as get_seed, get_session_handle as get_session_handle,
get_session_tensor as get_session_tensor, get_variable as get_variable, get_variable_scope as
get_variable_scope, global_norm as global_norm, global_variables as global_variables,
global_variables_initializer as global_variables_initializer, glorot_normal_initializer as
glorot_normal_initializer, glorot_uniform_initializer as glorot_uniform_initializer,
grad_pass_through as grad_pass_through, gradients as gradients, greater as greater, greater_equal as
greater_equal, group as group, guarantee_const as guarantee_const, he_normal_initializer as
he_normal_initializer, he_uniform_initializer as he_uniform_initializer, hessians as hessians,
histogram_fixed_width as histogram_fixed_width, identity as identity, identity_initializer as
identity_initializer, identity_n as identity_n, imag as imag, invert_permutation as
invert_permutation, is_finite as is_finite, is_inf as is_inf, is_nan as is_nan, is_non_decreasing as
is_non_decreasing, is_strictly_increasing as is_strictly_increasing, is_variable_initialized as
is_variable_initialized, lecun_normal_initializer as lecun_normal_initializer,
lecun_uniform_initializer as lecun_uniform_initializer, less as less, less_equal as less_equal,
lin_space as lin_space, linspace as linspace, local_variables as local_variables,
local_variables_initializer as local_variables_initializer, log as log, log1p as log1p, log_sigmoid
as log_sigmoid, logical_and as logical_and, logical_not as logical_not, logical_or as logical_or,
logical_xor as logical_xor, matrix_band_part as matrix_band_part, matrix_determinant as
matrix_determinant, matrix_diag as matrix_diag, matrix_diag_part as matrix_diag_part, matrix_inverse
as matrix_inverse, matrix_set_diag as matrix_set_diag, matrix_solve as matrix_solve, matrix_solve_ls
as matrix_solve_ls, matrix_square_root as matrix_square_root, matrix_transpose as matrix_transpose,
matrix_triangular_solve as matrix_triangular_solve, maximum as maximum, meshgrid as meshgrid,
min_max_variable_partitioner as min_max_variable_partitioner, minimum as minimum, mod as mod,
model_variables as model_variables, moving_average_variables as moving_average_variables,
multinomial as multinomial, multiply as multiply, negative as negative, no_op as no_op,
no_regularizer as no_regularizer, not_equal as not_equal, numpy_function as numpy_function, one_hot
as one_hot, ones as ones, ones_initializer as ones_initializer, ones_like as ones_like,
orthogonal_initializer as orthogonal_initializer, pad as pad, parallel_stack as parallel_stack,
placeholder as placeholder, placeholder_with_default as placeholder_with_default, pow as pow,
py_func as py_func, qr as qr, random_gamma as random_gamma, random_normal as random_normal,
random_normal_initializer as random_normal_initializer, random_poisson as random_poisson,
random_shuffle as random_shuffle, random_uniform as random_uniform, random_uniform_initializer as
random_uniform_initializer, range as range, rank as rank, real as real, realdiv as realdiv,
reciprocal as reciprocal, repeat as repeat, report_uninitialized_variables as
report_uninitialized_variables, required_space_to_batch_paddings as
required_space_to_batch_paddings, reshape as reshape, reverse as reverse, reverse_v2 as reverse_v2,
rint as rint, roll as roll, round as round, rsqrt as rsqrt, saturate_cast as saturate_cast,
scalar_mul as scalar_mul, scatter_nd as scatter_nd, searchsorted as searchsorted, segment_max as
segment_max, segment_mean as segment_mean, segment_min as segment_min, segment_prod as segment_prod,
segment_sum as segment_sum, self_adjoint_eig as self_adjoint_eig, self_adjoint_eigvals as
self_adjoint_eigvals, sequence_mask as sequence_mask, set_random_seed as set_random_seed, setdiff1d
as setdiff1d, shape as shape, shape_n as shape_n, sigmoid as sigmoid, sign as sign, sin as sin, sinh
as sinh, size as size, slice as slice, sort as sort, space_to_batch as space_to_batch,
space_to_batch_nd as space_to_batch_nd, space_to_depth as space_to_depth, sparse_mask as
sparse_mask, split as split, sqrt as sqrt, square as square, squared_difference as
squared_difference, stack as stack, stop_gradient as stop_gradient, subtract as subtract, svd as
svd, switch_case as switch_case, tan as tan, tanh as tanh, tensor_scatter_add as tensor_scatter_add,
tensor_scatter_nd_add as tensor_scatter_nd_add, tensor_scatter_nd_max as tensor_scatter_nd_max,
tensor_scatter_nd_min as tensor_scatter_nd_min, tensor_scatter_nd_sub as tensor_scatter_nd_sub,
tensor_scatter_nd_update as tensor_scatter_nd_update, tensor_scatter_sub as tensor_scatter_sub,
tensor_scatter_update as tensor_scatter_update, tensordot as tensordot, tile as tile, trace as
trace, trainable_variables as trainable_variables, transpose as transpose, truediv as truediv,
truncated_normal as truncated_normal, truncated_normal_initializer as truncated_normal_initializer,
truncatediv as truncatediv, truncatemod as truncatemod, tuple as tuple,
uniform_unit_scaling_initializer as uniform_unit_scaling_initializer, unique as unique,
unique_with_counts as unique_with_counts, unravel_index as unravel_index, unsorted_segment_max as
unsorted_segment_max, unsorted_segment_mean as unsorted_segment_mean, unsorted_segment_min as
unsorted_segment_min, unsorted_segment_prod as unsorted_segment_prod, unsorted_segment_sqrt_n as
unsorted_segment_sqrt_n, unsorted_segment_sum as unsorted_segment_sum, unstack as unstack,
variable_axis_size_partitioner as variable_axis_size_partitioner, variable_creator_scope as
variable_creator_scope, variable_op_scope as variable_op_scope, variable_scope as variable_scope,
variables_initializer as variables_initializer, variance_scaling_initializer as
variance_scaling_initializer, where as where, where_v2 as where_v2, zeros as zeros,
zeros_initializer as zeros_initializer
)
from actorsession.ops.elements import bitwise as bitwise
from actorsession.ops.neural import losses as losses
from actorsession.ops.variables import initializers as initializers
from actorsession.opsets import (
Barrier as Barrier, ConditionalAccumulator as ConditionalAccumulator, ConditionalAccumulatorBase as
ConditionalAccumulatorBase, CriticalSection as CriticalSection, FixedLenFeature as FixedLenFeature,
FixedLenSequenceFeature as FixedLenSequenceFeature, FixedLengthRecordReader as
FixedLengthRecordReader, IdentityReader as IdentityReader, MapStagingArea as MapStagingArea,
ReaderBase as ReaderBase, SparseConditionalAccumulator as SparseConditionalAccumulator,
SparseFeature as SparseFeature, SparseTensor as SparseTensor, SparseTensorValue as
SparseTensorValue, StagingArea as StagingArea, TFRecordReader as TFRecordReader, TextLineReader as
TextLineReader, VarLenFeature as VarLenFeature, WholeFileReader as WholeFileReader, as_string as
as_string, betainc as betainc, decode_base64 as decode_base64, decode_compressed as
decode_compressed, decode_csv as decode_csv, decode_json_example as decode_json_example,
deserialize_many_sparse as deserialize_many_sparse, digamma as digamma, edit_distance as
edit_distance, encode_base64 as encode_base64, extract_volume_patches as extract_volume_patches,
fake_quant_with_min_max_args as fake_quant_with_min_max_args, fake_quant_with_min_max_args_gradient
as fake_quant_with_min_max_args_gradient, fake_quant_with_min_max_vars as
fake_quant_with_min_max_vars, fake_quant_with_min_max_vars_gradient as
fake_quant_with_min_max_vars_gradient, fake_quant_with_min_max_vars_per_channel as
fake_quant_with_min_max_vars_per_channel, fake_quant_with_min_max_vars_per_channel_gradient as
fake_quant_with_min_max_vars_per_channel_gradient, fft as fft, fft2d as fft2d, fft3d as fft3d,
fingerprint as fingerprint, ifft as ifft, ifft2d as ifft2d, ifft3d as ifft3d, igamma as igamma,
igammac as igammac, lbeta as lbeta, lgamma as lgamma, matching_files as matching_files,
parse_example as parse_example, parse_sequence_example as parse_sequence_example,
parse_single_example as parse_single_example, parse_single_sequence_example as
parse_single_sequence_example, parse_tensor as parse_tensor, polygamma as polygamma, random_crop as
random_crop, read_file as read_file, regex_replace as regex_replace, serialize_many_sparse as
serialize_many_sparse, serialize_sparse as serialize_sparse, serialize_tensor as serialize_tensor,
sparse_fill_empty_rows as sparse_fill_empty_rows, sparse_maximum as sparse_maximum, sparse_merge as
sparse_merge, sparse_minimum as sparse_minimum, sparse_placeholder as sparse_placeholder,
sparse_reorder as sparse_reorder, sparse_reset_shape as sparse_reset_shape, sparse_reshape as
sparse_reshape, sparse_retain as sparse_retain, sparse_segment_mean as sparse_segment_mean,
sparse_segment_sqrt_n as sparse_segment_sqrt_n, sparse_segment_sum as sparse_segment_sum,
sparse_slice as sparse_slice, sparse_softmax as sparse_softmax, sparse_tensor_dense_matmul as
sparse_tensor_dense_matmul, sparse_tensor_to_dense as sparse_tensor_to_dense, sparse_to_dense as
sparse_to_dense, sparse_to_indicator as sparse_to_indicator, sparse_transpose as sparse_transpose,
string_join as string_join, string_strip as string_strip, string_to_hash_bucket_fast as
string_to_hash_bucket_fast, string_to_hash_bucket_strong as string_to_hash_bucket_strong, substr as
substr, tables_initializer as tables_initializer, write_file as write_file, zeta as zeta
)
from actorsession.opsets.images.patches import extract_volume_patches as extract_volume_patches
from actorsession.opsets.quantisation.conversions import (
dequantize as dequantize, quantize as quantize, quantize_v2 as quantize_v2
)
from actorsession.opsets.quantisation.neural import quantized_concat as quantized_concat
from actorsession.opsets.text.printing import print_ as print
from typing import Any

import_graph_def: Any
argmax: Any
argmin: Any
argsort: Any
assign: Any
assign_add: Any
assign_sub: Any
batch_scatter_update: Any
cond: Any
convert_to_tensor: Any
count_nonzero: Any
einsum: Any
expand_dims: Any
gather: Any
histogram_fixed_width_bins: Any
map_fn: Any
matmul: Any
norm: Any
reduce_all: Any
reduce_any: Any
reduce_logsumexp: Any
reduce_max: Any
reduce_mean: Any
reduce_min: Any
reduce_prod: Any
reduce_sum: Any
reverse_sequence: Any
scan: Any
scatter_add: Any
scatter_div: Any
scatter_max: Any
scatter_min: Any
scatter_mul: Any
scatter_nd_add: Any
scatter_nd_sub: Any
scatter_nd_update: Any
scatter_sub: Any
scatter_update: Any
squeeze: Any
strided_slice: Any
verify_tensor_all_finite: Any
zeros_like: Any
decode_raw: Any
reduce_join: Any
sparse_add: Any
sparse_concat: Any
sparse_reduce_max: Any
sparse_reduce_max_sparse: Any
sparse_reduce_sum: Any
sparse_reduce_sum_sparse: Any
sparse_split: Any
string_split: Any
string_to_hash_bucket: Any
string_to_number: Any

__all__ = [
"AUTO_REUSE", "AggregationMethod", "Assert", "AttrValue", "Barrier", "COMPILER_VERSION",
"CXX11_ABI_FLAG", "ConditionalAccumulator", "ConditionalAccumulatorBase", "ConfigProto",
"CriticalSection", "DType", "Defun", "DeviceSpec", "Dimension", "Event", "FIFOQueue",
"FixedLenFeature", "FixedLenSequenceFeature", "FixedLengthRecordReader", "GIT_VERSION",
"GPUOptions", "GRAPH_DEF_VERSION", "GRAPH_DEF_VERSION_MIN_CONSUMER",
"GRAPH_DEF_VERSION_MIN_PRODUCER", "Graph", "GraphDef", "GraphKeys", "GraphOptions",
"HistogramProto", "IdentityReader", "IndexedSlices", "IndexedSlicesSpec", "IndexedSlicesValue",
"Initializer", "InteractiveSession", "LogMessage", "MONOLITHIC_BUILD", "MapStagingArea",
"MetaGraphDef", "Module", "NameAttrList", "NoGradient", "NodeDef", "NotDifferentiable", "OpError",
"Operation", "OptimizerOptions", "PaddingFIFOQueue", "PartitionedVariable", "Print",
"PriorityQueue", "QUANTIZED_DTYPES", "QueueBase", "RandomShuffleQueue", "ReaderBase",
"RegisterGradient", "RunMetadata", "RunOptions", "Session", "SessionLog",
"SparseConditionalAccumulator", "SparseFeature", "SparseTensor", "SparseTensorSpec",
"SparseTensorValue", "StagingArea", "Summary", "SummaryMetadata", "TFRecordReader", "Tensor",
"TensorArray", "TensorInfo", "TensorShape", "TensorSpec", "TextLineReader", "TypeSpec",
"UnconnectedGradients", "VERSION", "VarLenFeature", "Variable", "VariableAggregation",
"VariableScope", "VariableSynchronization", "WholeFileReader", "abs", "accumulate_n", "acos",
"acosh", "add", "add_check_numerics_ops", "add_n", "add_to_collection", "add_to_collections",
"all_variables", "angle", "app", "arg_max", "arg_min", "argmax", "argmin", "argsort", "as_bytes",
"as_dtype", "as_str", "as_str_any", "as_string", "as_text", "asin", "asinh", "assert_equal",
"assert_greater", "assert_greater_equal", "assert_integer", "assert_less", "assert_less_equal",
"assert_near", "assert_negative", "assert_non_negative", "assert_non_positive", "assert_none_equal",
"assert_positive", "assert_proper_iterable", "assert_rank", "assert_rank_at_least",
"assert_rank_in", "assert_same_float_dtype", "assert_scalar", "assert_type",
"assert_variables_initialized", "assign", "assign_add", "assign_sub", "async_py_func", "atan",
"atan2", "atanh", "audio", "autograph", "batch_gather", "batch_matmul", "batch_scatter_update",
"batch_to_space", "batch_to_space_nd", "betainc", "bfloat16", "bincount", "bitcast", "bitwise",
"bool", "boolean_mask", "broadcast_dynamic_shape", "broadcast_static_shape", "broadcast_to", "case",
"cast", "ceil", "check_numerics", "cholesky", "cholesky_solve", "clip_by_average_norm",
"clip_by_global_norm", "clip_by_norm", "clip_by_value", "colocate_with", "compat", "complex",
"complex128", "complex64", "concat", "cond", "config", "confusion_matrix", "conj", "constant",
"constant_initializer", "container", "contrib", "control_dependencies", "control_flow_v2_enabled",
"convert_to_tensor", "convert_to_tensor_or_indexed_slices", "convert_to_tensor_or_sparse_tensor",
"core", "cos", "cosh", "count_nonzero", "count_up_to", "create_partitioned_variables", "cross",
"cumprod", "cumsum", "custom_gradient", "data", "debugging", "decode_base64", "decode_compressed",
"decode_csv", "decode_json_example", "decode_raw", "delete_session_tensor", "depth_to_space",
"dequantize", "deserialize_many_sparse", "device", "diag", "diag_part", "digamma",
"dimension_at_index", "dimension_value", "disable_control_flow_v2", "disable_eager_execution",
"disable_resource_variables", "disable_v2_behavior", "disable_v2_tensorshape", "distributions",
"div", "div_no_nan", "divide", "double", "dtypes", "dynamic_partition", "dynamic_stitch",
"edit_distance", "einsum", "enable_eager_execution", "enable_resource_variables",
"enable_v2_tensorshape", "encode_base64", "ensure_shape", "equal", "erf", "erfc", "errors",
"estimator", "examples", "executing_eagerly", "exp", "expand_dims", "expm1",
"extract_image_patches", "extract_volume_patches", "eye", "fake_quant_with_min_max_args",
"fake_quant_with_min_max_args_gradient", "fake_quant_with_min_max_vars",
"fake_quant_with_min_max_vars_gradient", "fake_quant_with_min_max_vars_per_channel",
"fake_quant_with_min_max_vars_per_channel_gradient", "feature_column", "fft", "fft2d", "fft3d",
"fill", "fingerprint", "fixed_size_partitioner", "flags", "float16", "float32", "float64", "floor",
"floor_div", "floordiv", "floormod", "foldl", "foldr", "function", "gather", "gather_nd",
"get_collection", "get_collection_ref", "get_default_graph", "get_default_session",
"get_local_variable", "get_logger", "get_seed", "get_session_handle", "get_session_tensor",
"get_static_value", "get_variable", "get_variable_scope", "gfile", "global_norm",
"global_variables", "global_variables_initializer", "glorot_normal_initializer",
"glorot_uniform_initializer", "grad_pass_through", "gradients", "graph_util", "greater",
"greater_equal", "group", "guarantee_const", "half", "he_normal_initializer",
"he_uniform_initializer", "hessians", "histogram_fixed_width", "histogram_fixed_width_bins",
"identity", "identity_initializer", "identity_n", "ifft", "ifft2d", "ifft3d", "igamma", "igammac",
"imag", "image", "import_graph_def", "init_scope", "initialize_all_tables",
"initialize_all_variables", "initialize_local_variables", "initialize_variables", "initializers",
"int16", "int32", "int64", "int8", "invert_permutation", "io", "is_finite", "is_inf", "is_nan",
"is_non_decreasing", "is_numeric_tensor", "is_strictly_increasing", "is_symbolic_tensor",
"is_tensor", "is_variable_initialized", "layers", "lbeta", "lecun_normal_initializer",
"lecun_uniform_initializer", "less", "less_equal", "lgamma", "lin_space", "linalg", "linspace",
"local_variables", "local_variables_initializer", "log", "log1p", "log_sigmoid", "logging",
"logical_and", "logical_not", "logical_or", "logical_xor", "lookup", "losses", "make_ndarray",
"make_template", "make_tensor_proto", "manip", "map_fn", "matching_files", "math", "matmul",
"matrix_band_part", "matrix_determinant", "matrix_diag", "matrix_diag_part", "matrix_inverse",
"matrix_set_diag", "matrix_solve", "matrix_solve_ls", "matrix_square_root", "matrix_transpose",
"matrix_triangular_solve", "maximum", "meshgrid", "metrics", "min_max_variable_partitioner",
"minimum", "mod", "model_variables", "moving_average_variables", "mul", "multinomial", "multiply",
"name_scope", "neg", "negative", "nest", "newaxis", "nn", "no_op", "no_regularizer", "norm",
"not_equal", "numpy_function", "one_hot", "ones", "ones_initializer", "ones_like", "op_scope",
"orthogonal_initializer", "pack", "pad", "parallel_stack", "parse_example",
"parse_sequence_example", "parse_single_example", "parse_single_sequence_example", "parse_tensor",
"placeholder", "placeholder_with_default", "polygamma", "pow", "print", "profiler", "py_func",
"py_function", "python", "python_io", "qint16", "qint32", "qint8", "qr", "quantization", "quantize",
"quantize_v2", "quantized_concat", "queue", "quint16", "quint8", "random", "random_crop",
"random_gamma", "random_normal", "random_normal_initializer", "random_poisson", "random_shuffle",
"random_uniform", "random_uniform_initializer", "range", "rank", "raw_ops", "read_file", "real",
"realdiv", "reciprocal", "reduce_all", "reduce_any", "reduce_join", "reduce_logsumexp",
"reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum", "regex_replace",
"register_tensor_conversion_function", "repeat", "report_uninitialized_variables",
"required_space_to_batch_paddings", "reset_default_graph", "reshape", "resource", "resource_loader",
"resource_variables_enabled", "reverse", "reverse_sequence", "reverse_v2", "rint", "roll", "round",
"rsqrt", "saturate_cast", "saved_model", "scalar_mul", "scan", "scatter_add", "scatter_div",
"scatter_max", "scatter_min", "scatter_mul", "scatter_nd", "scatter_nd_add", "scatter_nd_sub",
"scatter_nd_update", "scatter_sub", "scatter_update", "searchsorted", "segment_max", "segment_mean",
"segment_min", "segment_prod", "segment_sum", "self_adjoint_eig", "self_adjoint_eigvals",
"sequence_mask", "serialize_many_sparse", "serialize_sparse", "serialize_tensor", "set_random_seed",
"setdiff1d", "sets", "shape", "shape_n", "sigmoid", "sign", "signal", "sin", "sinh", "size",
"slice", "sort", "space_to_batch", "space_to_batch_nd", "space_to_depth", "sparse", "sparse_add",
"sparse_concat", "sparse_fill_empty_rows", "sparse_mask", "sparse_maximum", "sparse_merge",
"sparse_minimum", "sparse_placeholder", "sparse_reduce_max", "sparse_reduce_max_sparse",
"sparse_reduce_sum", "sparse_reduce_sum_sparse", "sparse_reorder", "sparse_reset_shape",
"sparse_reshape", "sparse_retain", "sparse_segment_mean", "sparse_segment_sqrt_n",
"sparse_segment_sum", "sparse_slice", "sparse_softmax", "sparse_split",
"sparse_tensor_dense_matmul", "sparse_tensor_to_dense", "sparse_to_dense", "sparse_to_indicator",
"sparse_transpose", "spectral", "split", "sqrt", "square", "squared_difference", "squeeze", "stack",
"stop_gradient", "strided_slice", "string", "string_join", "string_split", "string_strip",
"string_to_hash_bucket", "string_to_hash_bucket_fast", "string_to_hash_bucket_strong",
"string_to_number", "strings", "sub", "substr", "subtract", "summary", "svd", "switch_case",
"tables_initializer", "tan", "tanh", "tensor_scatter_add", "tensor_scatter_nd_add",
"tensor_scatter_nd_max", "tensor_scatter_nd_min", "tensor_scatter_nd_sub",
"tensor_scatter_nd_update", "tensor_scatter_sub", "tensor_scatter_update", "tensordot", "test",
"tile", "to_bfloat16", "to_complex128", "to_complex64", "to_double", "to_float", "to_int32",
"to_int64", "trace", "train", "trainable_variables", "transpose", "truediv", "truncated_normal",
"truncated_normal_initializer", "truncatediv", "truncatemod", "tuple", "uint16", "uint32", "uint64",
"uint8", "uniform_unit_scaling_initializer", "unique", "unique_with_counts", "unpack",
"unravel_index", "unsorted_segment_max", "unsorted_segment_mean", "unsorted_segment_min",
"unsorted_segment_prod", "unsorted_segment_sqrt_n", "unsorted_segment_sum", "unstack",
"variable_axis_size_partitioner", "variable_creator_scope", "variable_op_scope", "variable_scope",
"variables_initializer", "variance_scaling_initializer", "variant", "verify_tensor_all_finite",
"version", "where", "where_v2", "while_loop", "write_file", "zeros", "zeros_initializer",
"zeros_like", "zeta"
]
