# Written by scripts/generated.py.
"""A runtime for stateful dataflow graphs: sessions, feeds and fetches on asyncio actors.

The public names, each once; ``import actorsession as acts`` gives a program everything that it needs.
The rooms below never import this file.
"""

from actorsession.cluster import ClusterResolver as ClusterResolver
from actorsession.cluster import ClusterSpec as ClusterSpec
from actorsession.cluster import FileClusterResolver as FileClusterResolver
from actorsession.cluster import LocalCluster as LocalCluster
from actorsession.cluster import SecurityConfig as SecurityConfig
from actorsession.cluster import Server as Server
from actorsession.cluster import SimpleClusterResolver as SimpleClusterResolver
from actorsession.cluster import TFConfigClusterResolver as TFConfigClusterResolver
from actorsession.config import ConfigProto as ConfigProto
from actorsession.config import DebugOptions as DebugOptions
from actorsession.config import DebugTensorWatch as DebugTensorWatch
from actorsession.config import Experimental as Experimental
from actorsession.config import GraphOptions as GraphOptions
from actorsession.config import JitLevel as JitLevel
from actorsession.config import OptLevel as OptLevel
from actorsession.config import OptimizerOptions as OptimizerOptions
from actorsession.config import RPCOptions as RPCOptions
from actorsession.config import RunMetadata as RunMetadata
from actorsession.config import RunOptions as RunOptions
from actorsession.config import SessionMetadata as SessionMetadata
from actorsession.config import StepStats as StepStats
from actorsession.config import ThreadPoolOptionProto as ThreadPoolOptionProto
from actorsession.config import TraceLevel as TraceLevel
from actorsession import errors as errors
from actorsession.graph.constant_value import get_static_value as get_static_value
from actorsession.graph.device import DeviceAttributes as DeviceAttributes
from actorsession.graph.device import DeviceSpec as DeviceSpec
from actorsession.graph.dtypes import DType as DType
from actorsession.graph.dtypes import as_dtype as as_dtype
from actorsession.graph.dtypes import bfloat16 as bfloat16
from actorsession.graph.dtypes import bool_ as bool_
from actorsession.graph.dtypes import complex128 as complex128
from actorsession.graph.dtypes import complex64 as complex64
from actorsession.graph.dtypes import float16 as float16
from actorsession.graph.dtypes import float32 as float32
from actorsession.graph.dtypes import float64 as float64
from actorsession.graph.dtypes import int16 as int16
from actorsession.graph.dtypes import int32 as int32
from actorsession.graph.dtypes import int64 as int64
from actorsession.graph.dtypes import int8 as int8
from actorsession.graph.dtypes import resource as resource
from actorsession.graph.dtypes import string as string
from actorsession.graph.dtypes import uint16 as uint16
from actorsession.graph.dtypes import uint32 as uint32
from actorsession.graph.dtypes import uint64 as uint64
from actorsession.graph.dtypes import uint8 as uint8
from actorsession.graph.dtypes import variant as variant
from actorsession.graph.graph import Graph as Graph
from actorsession.graph.graph import add_to_collection as add_to_collection
from actorsession.graph.graph import add_to_collections as add_to_collections
from actorsession.graph.graph import colocate_with as colocate_with
from actorsession.graph.graph import control_dependencies as control_dependencies
from actorsession.graph.graph import device as device
from actorsession.graph.graph import get_collection as get_collection
from actorsession.graph.graph import get_collection_ref as get_collection_ref
from actorsession.graph.graph import get_default_graph as get_default_graph
from actorsession.graph.graph import name_scope as name_scope
from actorsession.graph.graph import reset_default_graph as reset_default_graph
from actorsession.graph.node import GraphDef as GraphDef
from actorsession.graph.node import NodeDef as NodeDef
from actorsession.graph.operation import Operation as Operation
from actorsession.graph.operation import Tensor as Tensor
from actorsession.graph.shape import TensorShape as TensorShape
from actorsession import interop as interop
from actorsession.interop import import_graph_def as import_graph_def
from actorsession.interop import make_ndarray as make_ndarray
from actorsession.interop import make_tensor_proto as make_tensor_proto
from actorsession.interop import graph_util as graph_util
from actorsession.observe import timeline as timeline
from actorsession import ops as ops
from actorsession.plan.passes.registry import GraphPass as GraphPass
from actorsession.plan.passes.registry import PassContext as PassContext
from actorsession.plan.passes.registry import PassGroup as PassGroup
from actorsession.plan.passes.registry import PassStatistics as PassStatistics
from actorsession.plan.passes.registry import PlacedGraph as PlacedGraph
from actorsession.plan.passes.registry import register_pass as register_graph_pass
from actorsession.plan.passes.registry import registered_passes as registered_graph_passes
from actorsession.plan.passes.registry import unregister_pass as unregister_graph_pass
from actorsession.runtime.debug.dump import DebugDump as DebugDump
from actorsession.runtime.debug.dump import DebugReport as DebugReport
from actorsession.runtime.debug.sinks import register_debug_sink as register_debug_sink
from actorsession.runtime.debug.sinks import unregister_debug_sink as unregister_debug_sink
from actorsession.runtime.debug.state import DebuggerState as DebuggerState
from actorsession.runtime.debug.state import DebuggerStateRegistry as DebuggerStateRegistry
from actorsession.runtime.devices import Device as Device
from actorsession.runtime.devices import DeviceFactory as DeviceFactory
from actorsession.runtime.devices import new_incarnation as new_incarnation
from actorsession.runtime.devices import register_device_factory as register_device_factory
from actorsession.session import AsyncInteractiveSession as AsyncInteractiveSession
from actorsession.session import AsyncSession as AsyncSession
from actorsession.session import GraphGrowthWarning as GraphGrowthWarning
from actorsession.session import GraphMutationWarning as GraphMutationWarning
from actorsession.session import InteractiveSession as InteractiveSession
from actorsession.session import Session as Session
from actorsession.session import SessionFactory as SessionFactory
from actorsession.session import SessionOptions as SessionOptions
from actorsession.session import get_default_session as get_default_session
from actorsession.session import register_factory as register_session_factory
from actorsession.session.conversions import register_session_run_conversion_functions as register_session_run_conversion_functions
from actorsession.session.handles import TensorHandle as TensorHandle
from actorsession import train as train
from actorsession.train import AdamOptimizer as AdamOptimizer
from actorsession.train import GradientDescentOptimizer as GradientDescentOptimizer
from actorsession.train import MomentumOptimizer as MomentumOptimizer
from actorsession.ops import *

__version__: str

__all__ = [
"AUTO_REUSE", "AdamOptimizer", "AggregationMethod", "Assert", "AsyncInteractiveSession",
"AsyncSession", "Barrier", "ClusterResolver", "ClusterSpec", "ConditionalAccumulator",
"ConditionalAccumulatorBase", "ConfigProto", "DType", "DebugDump", "DebugOptions", "DebugReport",
"DebugTensorWatch", "DebuggerState", "DebuggerStateRegistry", "Defun", "Device", "DeviceAttributes",
"DeviceFactory", "DeviceSpec", "Experimental", "FIFOQueue", "FileClusterResolver",
"FixedLenFeature", "FixedLenSequenceFeature", "GradientDescentOptimizer", "Graph", "GraphDef",
"GraphGrowthWarning", "GraphKeys", "GraphMutationWarning", "GraphOptions", "GraphPass",
"IndexedSlices", "IndexedSlicesValue", "Initializer", "InteractiveSession", "JitLevel",
"LocalCluster", "MapStagingArea", "MomentumOptimizer", "NoGradient", "NodeDef", "NotDifferentiable",
"Operation", "OptLevel", "OptimizerOptions", "PaddingFIFOQueue", "PartitionedVariable",
"PassContext", "PassGroup", "PassStatistics", "PlacedGraph", "Print", "PriorityQueue", "QueueBase",
"RPCOptions", "RandomShuffleQueue", "RegisterGradient", "RunMetadata", "RunOptions",
"SecurityConfig", "Server", "Session", "SessionFactory", "SessionMetadata", "SessionOptions",
"SimpleClusterResolver", "SparseConditionalAccumulator", "SparseFeature", "SparseTensor",
"SparseTensorValue", "StagingArea", "StepStats", "TFConfigClusterResolver", "Tensor", "TensorArray",
"TensorHandle", "TensorShape", "ThreadPoolOptionProto", "TraceLevel", "UnconnectedGradients",
"VarLenFeature", "Variable", "VariableAggregation", "VariableScope", "VariableSynchronization",
"abs", "accumulate_n", "acos", "acosh", "add", "add_check_numerics_ops", "add_n",
"add_to_collection", "add_to_collections", "all_variables", "angle", "arg_max", "arg_min", "argmax",
"argmin", "argsort", "as_dtype", "as_string", "asin", "asinh", "assert_equal", "assert_greater",
"assert_greater_equal", "assert_integer", "assert_less", "assert_less_equal", "assert_near",
"assert_negative", "assert_non_negative", "assert_non_positive", "assert_none_equal",
"assert_positive", "assert_rank", "assert_rank_at_least", "assert_rank_in", "assert_scalar",
"assert_type", "assert_variables_initialized", "assign", "assign_add", "assign_sub",
"async_py_func", "atan", "atan2", "atanh", "batch_gather", "batch_scatter_update", "batch_to_space",
"batch_to_space_nd", "betainc", "bfloat16", "bincount", "bitcast", "bitwise", "bool_",
"boolean_mask", "broadcast_dynamic_shape", "broadcast_static_shape", "broadcast_to", "case", "cast",
"ceil", "check_numerics", "cholesky", "cholesky_solve", "clip_by_average_norm",
"clip_by_global_norm", "clip_by_norm", "clip_by_value", "colocate_with", "complex", "complex128",
"complex64", "concat", "cond", "confusion_matrix", "conj", "constant", "constant_initializer",
"control_dependencies", "convert_to_tensor", "cos", "cosh", "count_nonzero", "count_up_to", "cross",
"cumprod", "cumsum", "custom_gradient", "decode_base64", "decode_compressed", "decode_csv",
"decode_json_example", "decode_raw", "delete_session_tensor", "depth_to_space",
"deserialize_many_sparse", "device", "diag", "diag_part", "digamma", "div", "div_no_nan", "divide",
"dynamic_partition", "dynamic_stitch", "edit_distance", "einsum", "encode_base64", "ensure_shape",
"equal", "erf", "erfc", "errors", "exp", "expand_dims", "expm1", "extract_image_patches", "eye",
"fake_quant_with_min_max_args", "fake_quant_with_min_max_args_gradient",
"fake_quant_with_min_max_vars", "fake_quant_with_min_max_vars_gradient",
"fake_quant_with_min_max_vars_per_channel", "fake_quant_with_min_max_vars_per_channel_gradient",
"fft", "fft2d", "fft3d", "fill", "fingerprint", "fixed_size_partitioner", "float16", "float32",
"float64", "floor", "floor_div", "floordiv", "floormod", "foldl", "foldr", "gather", "gather_nd",
"get_collection", "get_collection_ref", "get_default_graph", "get_default_session",
"get_local_variable", "get_seed", "get_session_handle", "get_session_tensor", "get_static_value",
"get_variable", "get_variable_scope", "global_norm", "global_variables",
"global_variables_initializer", "glorot_normal_initializer", "glorot_uniform_initializer",
"grad_pass_through", "gradients", "graph_util", "greater", "greater_equal", "group",
"guarantee_const", "he_normal_initializer", "he_uniform_initializer", "hessians",
"histogram_fixed_width", "histogram_fixed_width_bins", "identity", "identity_initializer",
"identity_n", "ifft", "ifft2d", "ifft3d", "igamma", "igammac", "imag", "image", "import_graph_def",
"initialize_all_tables", "initialize_all_variables", "initialize_local_variables",
"initialize_variables", "initializers", "int16", "int32", "int64", "int8", "interop",
"invert_permutation", "is_finite", "is_inf", "is_nan", "is_non_decreasing",
"is_strictly_increasing", "is_variable_initialized", "lbeta", "lecun_normal_initializer",
"lecun_uniform_initializer", "less", "less_equal", "lgamma", "lin_space", "linalg", "linspace",
"local_variables", "local_variables_initializer", "log", "log1p", "log_sigmoid", "logical_and",
"logical_not", "logical_or", "logical_xor", "lookup", "losses", "make_ndarray", "make_tensor_proto",
"manip", "map_fn", "matching_files", "math", "matmul", "matrix_band_part", "matrix_determinant",
"matrix_diag", "matrix_diag_part", "matrix_inverse", "matrix_set_diag", "matrix_solve",
"matrix_solve_ls", "matrix_square_root", "matrix_transpose", "matrix_triangular_solve", "maximum",
"meshgrid", "min_max_variable_partitioner", "minimum", "mod", "model_variables",
"moving_average_variables", "multinomial", "multiply", "name_scope", "negative", "new_incarnation",
"nn", "no_op", "no_regularizer", "norm", "not_equal", "numpy_function", "one_hot", "ones",
"ones_initializer", "ones_like", "ops", "orthogonal_initializer", "pad", "parallel_stack",
"parse_example", "parse_sequence_example", "parse_single_example", "parse_single_sequence_example",
"parse_tensor", "placeholder", "placeholder_with_default", "polygamma", "pow", "py_func", "qr",
"random", "random_crop", "random_gamma", "random_normal", "random_normal_initializer",
"random_poisson", "random_shuffle", "random_uniform", "random_uniform_initializer", "range", "rank",
"read_file", "real", "realdiv", "reciprocal", "reduce_all", "reduce_any", "reduce_join",
"reduce_logsumexp", "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum",
"regex_replace", "register_debug_sink", "register_device_factory", "register_graph_pass",
"register_session_factory", "register_session_run_conversion_functions", "registered_graph_passes",
"repeat", "report_uninitialized_variables", "required_space_to_batch_paddings",
"reset_default_graph", "reshape", "resource", "reverse", "reverse_sequence", "reverse_v2", "rint",
"roll", "round", "rsqrt", "saturate_cast", "scalar_mul", "scan", "scatter_add", "scatter_div",
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
"string_to_number", "strings", "substr", "subtract", "svd", "switch_case", "tables_initializer",
"tan", "tanh", "tensor_scatter_add", "tensor_scatter_nd_add", "tensor_scatter_nd_max",
"tensor_scatter_nd_min", "tensor_scatter_nd_sub", "tensor_scatter_nd_update", "tensor_scatter_sub",
"tensor_scatter_update", "tensordot", "tile", "timeline", "to_bfloat16", "to_complex128",
"to_complex64", "to_double", "to_float", "to_int32", "to_int64", "trace", "train",
"trainable_variables", "transpose", "truediv", "truncated_normal", "truncated_normal_initializer",
"truncatediv", "truncatemod", "tuple", "uint16", "uint32", "uint64", "uint8",
"uniform_unit_scaling_initializer", "unique", "unique_with_counts", "unravel_index",
"unregister_debug_sink", "unregister_graph_pass", "unsorted_segment_max", "unsorted_segment_mean",
"unsorted_segment_min", "unsorted_segment_prod", "unsorted_segment_sqrt_n", "unsorted_segment_sum",
"unstack", "variable_axis_size_partitioner", "variable_creator_scope", "variable_op_scope",
"variable_scope", "variables_initializer", "variance_scaling_initializer", "variant",
"verify_tensor_all_finite", "where", "where_v2", "while_loop", "write_file", "zeros",
"zeros_initializer", "zeros_like", "zeta"
]
