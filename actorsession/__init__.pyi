# Written by scripts/generated.py.
"""A runtime for stateful dataflow graphs: sessions, feeds and fetches on asyncio actors.

The public names, each once; ``import actorsession as acts`` gives a program everything that it needs.
The packages below never import this file.
"""

from actorsession import config as config, errors as errors, train as train
from actorsession.cluster import (
ClusterResolver as ClusterResolver, ClusterSpec as ClusterSpec, FileClusterResolver as
FileClusterResolver, LocalCluster as LocalCluster, SecurityConfig as SecurityConfig, Server as
Server, ServerSettings as ServerSettings, SimpleClusterResolver as SimpleClusterResolver,
TFConfigClusterResolver as TFConfigClusterResolver
)
from actorsession.config import (
ConfigProto as ConfigProto, GPUOptions as GPUOptions, GraphOptions as GraphOptions, OptimizerOptions
as OptimizerOptions, RPCOptions as RPCOptions, RunMetadata as RunMetadata, RunOptions as RunOptions,
TraceLevel as TraceLevel
)
from actorsession.graph.constant_value import get_static_value as get_static_value
from actorsession.graph.device import DeviceSpec as DeviceSpec
from actorsession.graph.dtypes import (
DType as DType, as_dtype as as_dtype, bfloat16 as bfloat16, bool_ as bool_, complex128 as
complex128, complex64 as complex64, float16 as float16, float32 as float32, float64 as float64,
int16 as int16, int32 as int32, int64 as int64, int8 as int8, string as string, uint16 as uint16,
uint32 as uint32, uint64 as uint64, uint8 as uint8
)
from actorsession.graph.graph import (
Graph as Graph, add_to_collection as add_to_collection, colocate_with as colocate_with,
control_dependencies as control_dependencies, device as device, get_collection as get_collection,
get_default_graph as get_default_graph, name_scope as name_scope, reset_default_graph as
reset_default_graph
)
from actorsession.graph.node import GraphDef as GraphDef, NodeDef as NodeDef
from actorsession.graph.operation import Operation as Operation, Tensor as Tensor
from actorsession.graph.shape import TensorShape as TensorShape
from actorsession.interop import import_graph_def as import_graph_def, graph_util as graph_util
from actorsession.namespaces import (
arrays as arrays, autodiff as autodiff, collective as collective, data as data, debugging as
debugging, flow as flow, image as image, io as io, layers as layers, linalg as linalg, lookup as
lookup, math as math, nn as nn, plugins as plugins, quantization as quantization, queue as queue,
random as random, sets as sets, signal as signal, sparse as sparse, strings as strings, variables as
variables
)
from actorsession.observe import timeline as timeline
from actorsession.ops.arrays.array import (
concat as concat, fill as fill, identity as identity, ones as ones, ones_like as ones_like, pad as
pad, placeholder as placeholder, placeholder_with_default as placeholder_with_default, range_ as
range, split as split, stack as stack, stop_gradient as stop_gradient, tile as tile, transpose as
transpose, unstack as unstack, zeros as zeros, zeros_like as zeros_like
)
from actorsession.ops.arrays.gather import (
gather as gather, gather_nd as gather_nd, one_hot as one_hot
)
from actorsession.ops.arrays.masks import boolean_mask as boolean_mask
from actorsession.ops.arrays.reversal import reverse as reverse
from actorsession.ops.arrays.shape import (
broadcast_to as broadcast_to, expand_dims as expand_dims, reshape as reshape, shape as shape, size
as size, squeeze as squeeze
)
from actorsession.ops.arrays.slicing import slice_ as slice
from actorsession.ops.build import constant as constant, convert_to_tensor as convert_to_tensor
from actorsession.ops.derivatives.custom_gradients import custom_gradient as custom_gradient
from actorsession.ops.derivatives.gradients import gradients as gradients
from actorsession.ops.derivatives.registry import RegisterGradient as RegisterGradient
from actorsession.ops.elements import bitwise as bitwise
from actorsession.ops.elements.arithmetic import (
add as add, add_n as add_n, divide as divide, maximum as maximum, minimum as minimum, multiply as
multiply, pow as pow, subtract as subtract
)
from actorsession.ops.elements.cast import cast as cast
from actorsession.ops.elements.clip import (
clip_by_global_norm as clip_by_global_norm, clip_by_norm as clip_by_norm, clip_by_value as
clip_by_value
)
from actorsession.ops.elements.comparison import (
equal as equal, greater as greater, greater_equal as greater_equal, less as less, less_equal as
less_equal, logical_and as logical_and, logical_not as logical_not, logical_or as logical_or,
not_equal as not_equal, where as where
)
from actorsession.ops.elements.elementwise import (
abs as abs, cos as cos, exp as exp, floor as floor, log as log, negative as negative, sign as sign,
sin as sin, sqrt as sqrt, square as square
)
from actorsession.ops.flow.control import group as group, no_op as no_op, tuple_ as tuple
from actorsession.ops.flow.control_flow import cond as cond, while_loop as while_loop
from actorsession.ops.flow.mapping import map_fn as map_fn
from actorsession.ops.flow.script import async_py_func as async_py_func, py_func as py_func
from actorsession.ops.graph_keys import GraphKeys as GraphKeys
from actorsession.ops.indexed_slices import IndexedSlices as IndexedSlices
from actorsession.ops.linear.contractions import eye as eye
from actorsession.ops.linear.einsum import einsum as einsum
from actorsession.ops.linear.matmul import matmul as matmul
from actorsession.ops.lists.tensor_array import TensorArray as TensorArray
from actorsession.ops.neural import losses as losses
from actorsession.ops.neural.activations import sigmoid as sigmoid, tanh as tanh
from actorsession.ops.queues.queues import (
FIFOQueue as FIFOQueue, RandomShuffleQueue as RandomShuffleQueue
)
from actorsession.ops.randomness.numbers import (
random_normal as random_normal, random_uniform as random_uniform, set_random_seed as
set_random_seed, truncated_normal as truncated_normal
)
from actorsession.ops.reductions.argmax import argmax as argmax, argmin as argmin
from actorsession.ops.reductions.reduction import (
reduce_all as reduce_all, reduce_any as reduce_any, reduce_max as reduce_max, reduce_mean as
reduce_mean, reduce_min as reduce_min, reduce_prod as reduce_prod, reduce_sum as reduce_sum
)
from actorsession.ops.variables import initializers as initializers
from actorsession.ops.variables.assignment import (
assign as assign, assign_add as assign_add, assign_sub as assign_sub
)
from actorsession.ops.variables.get_variable import get_variable as get_variable
from actorsession.ops.variables.lists import (
global_variables as global_variables, global_variables_initializer as global_variables_initializer,
local_variables as local_variables, local_variables_initializer as local_variables_initializer,
trainable_variables as trainable_variables, variables_initializer as variables_initializer
)
from actorsession.ops.variables.scope import (
AUTO_REUSE as AUTO_REUSE, variable_scope as variable_scope
)
from actorsession.ops.variables.session_ops import (
delete_session_tensor as delete_session_tensor, get_session_handle as get_session_handle,
get_session_tensor as get_session_tensor
)
from actorsession.ops.variables.variable import Variable as Variable
from actorsession.opsets.sparse.basics import SparseTensor as SparseTensor
from actorsession.opsets.tables.tables import tables_initializer as tables_initializer
from actorsession.plan.explain.explanation import Explanation as Explanation
from actorsession.session import (
AsyncInteractiveSession as AsyncInteractiveSession, AsyncSession as AsyncSession, InteractiveSession
as InteractiveSession, Session as Session, get_default_session as get_default_session
)
from actorsession.session.handles import TensorHandle as TensorHandle
from actorsession.version import __version__ as __version__


__all__ = [
"AUTO_REUSE", "AsyncInteractiveSession", "AsyncSession", "ClusterResolver", "ClusterSpec",
"ConfigProto", "DType", "DeviceSpec", "Explanation", "FIFOQueue", "FileClusterResolver",
"GPUOptions", "Graph", "GraphDef", "GraphKeys", "GraphOptions", "IndexedSlices",
"InteractiveSession", "LocalCluster", "NodeDef", "Operation", "OptimizerOptions", "RPCOptions",
"RandomShuffleQueue", "RegisterGradient", "RunMetadata", "RunOptions", "SecurityConfig", "Server",
"ServerSettings", "Session", "SimpleClusterResolver", "SparseTensor", "TFConfigClusterResolver",
"Tensor", "TensorArray", "TensorHandle", "TensorShape", "TraceLevel", "Variable", "abs", "add",
"add_n", "add_to_collection", "argmax", "argmin", "arrays", "as_dtype", "assign", "assign_add",
"assign_sub", "async_py_func", "autodiff", "bfloat16", "bitwise", "bool_", "boolean_mask",
"broadcast_to", "cast", "clip_by_global_norm", "clip_by_norm", "clip_by_value", "collective",
"colocate_with", "complex128", "complex64", "concat", "cond", "config", "constant",
"control_dependencies", "convert_to_tensor", "cos", "custom_gradient", "data", "debugging",
"delete_session_tensor", "device", "divide", "einsum", "equal", "errors", "exp", "expand_dims",
"eye", "fill", "float16", "float32", "float64", "floor", "flow", "gather", "gather_nd",
"get_collection", "get_default_graph", "get_default_session", "get_session_handle",
"get_session_tensor", "get_static_value", "get_variable", "global_variables",
"global_variables_initializer", "gradients", "graph_util", "greater", "greater_equal", "group",
"identity", "image", "import_graph_def", "initializers", "int16", "int32", "int64", "int8", "io",
"layers", "less", "less_equal", "linalg", "local_variables", "local_variables_initializer", "log",
"logical_and", "logical_not", "logical_or", "lookup", "losses", "map_fn", "math", "matmul",
"maximum", "minimum", "multiply", "name_scope", "negative", "nn", "no_op", "not_equal", "one_hot",
"ones", "ones_like", "pad", "placeholder", "placeholder_with_default", "plugins", "pow", "py_func",
"quantization", "queue", "random", "random_normal", "random_uniform", "range", "reduce_all",
"reduce_any", "reduce_max", "reduce_mean", "reduce_min", "reduce_prod", "reduce_sum",
"reset_default_graph", "reshape", "reverse", "set_random_seed", "sets", "shape", "sigmoid", "sign",
"signal", "sin", "size", "slice", "sparse", "split", "sqrt", "square", "squeeze", "stack",
"stop_gradient", "string", "strings", "subtract", "tables_initializer", "tanh", "tile", "timeline",
"train", "trainable_variables", "transpose", "truncated_normal", "tuple", "uint16", "uint32",
"uint64", "uint8", "unstack", "variable_scope", "variables", "variables_initializer", "where",
"while_loop", "zeros", "zeros_like"
]
