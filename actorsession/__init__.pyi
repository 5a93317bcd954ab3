# Written by scripts/generated.py.
"""A runtime for stateful dataflow graphs: sessions, feeds and fetches on asyncio actors.

The public names, each once; ``import actorsession as acts`` gives a program everything that it needs.
The packages below never import this file.
"""

from actorsession.cluster import ClusterResolver as ClusterResolver
from actorsession.cluster import ClusterSpec as ClusterSpec
from actorsession.cluster import FileClusterResolver as FileClusterResolver
from actorsession.cluster import LocalCluster as LocalCluster
from actorsession.cluster import SecurityConfig as SecurityConfig
from actorsession.cluster import Server as Server
from actorsession.cluster import ServerSettings as ServerSettings
from actorsession.cluster import SimpleClusterResolver as SimpleClusterResolver
from actorsession.cluster import TFConfigClusterResolver as TFConfigClusterResolver
from actorsession import config as config
from actorsession.config import ConfigProto as ConfigProto
from actorsession.config import GraphOptions as GraphOptions
from actorsession.config import OptimizerOptions as OptimizerOptions
from actorsession.config import RPCOptions as RPCOptions
from actorsession.config import RunMetadata as RunMetadata
from actorsession.config import RunOptions as RunOptions
from actorsession.config import TraceLevel as TraceLevel
from actorsession import errors as errors
from actorsession.graph.constant_value import get_static_value as get_static_value
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
from actorsession.graph.dtypes import string as string
from actorsession.graph.dtypes import uint16 as uint16
from actorsession.graph.dtypes import uint32 as uint32
from actorsession.graph.dtypes import uint64 as uint64
from actorsession.graph.dtypes import uint8 as uint8
from actorsession.graph.graph import Graph as Graph
from actorsession.graph.graph import add_to_collection as add_to_collection
from actorsession.graph.graph import colocate_with as colocate_with
from actorsession.graph.graph import control_dependencies as control_dependencies
from actorsession.graph.graph import device as device
from actorsession.graph.graph import get_collection as get_collection
from actorsession.graph.graph import get_default_graph as get_default_graph
from actorsession.graph.graph import name_scope as name_scope
from actorsession.graph.graph import reset_default_graph as reset_default_graph
from actorsession.graph.node import GraphDef as GraphDef
from actorsession.graph.node import NodeDef as NodeDef
from actorsession.graph.operation import Operation as Operation
from actorsession.graph.operation import Tensor as Tensor
from actorsession.graph.shape import TensorShape as TensorShape
from actorsession.interop import import_graph_def as import_graph_def
from actorsession.interop import graph_util as graph_util
from actorsession.namespaces import arrays as arrays
from actorsession.namespaces import autodiff as autodiff
from actorsession.namespaces import collective as collective
from actorsession.namespaces import data as data
from actorsession.namespaces import debugging as debugging
from actorsession.namespaces import flow as flow
from actorsession.namespaces import image as image
from actorsession.namespaces import io as io
from actorsession.namespaces import layers as layers
from actorsession.namespaces import linalg as linalg
from actorsession.namespaces import lookup as lookup
from actorsession.namespaces import math as math
from actorsession.namespaces import nn as nn
from actorsession.namespaces import plugins as plugins
from actorsession.namespaces import quantization as quantization
from actorsession.namespaces import queue as queue
from actorsession.namespaces import random as random
from actorsession.namespaces import sets as sets
from actorsession.namespaces import signal as signal
from actorsession.namespaces import sparse as sparse
from actorsession.namespaces import strings as strings
from actorsession.namespaces import variables as variables
from actorsession.observe import timeline as timeline
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
from actorsession.ops.arrays.gather import gather as gather
from actorsession.ops.arrays.gather import gather_nd as gather_nd
from actorsession.ops.arrays.gather import one_hot as one_hot
from actorsession.ops.arrays.masks import boolean_mask as boolean_mask
from actorsession.ops.arrays.reversal import reverse as reverse
from actorsession.ops.arrays.shape import broadcast_to as broadcast_to
from actorsession.ops.arrays.shape import expand_dims as expand_dims
from actorsession.ops.arrays.shape import reshape as reshape
from actorsession.ops.arrays.shape import shape as shape
from actorsession.ops.arrays.shape import size as size
from actorsession.ops.arrays.shape import squeeze as squeeze
from actorsession.ops.arrays.slicing import slice_ as slice
from actorsession.ops.build import constant as constant
from actorsession.ops.build import convert_to_tensor as convert_to_tensor
from actorsession.ops.derivatives.custom_gradients import custom_gradient as custom_gradient
from actorsession.ops.derivatives.gradients import gradients as gradients
from actorsession.ops.derivatives.registry import RegisterGradient as RegisterGradient
from actorsession.ops.elements.arithmetic import add as add
from actorsession.ops.elements.arithmetic import add_n as add_n
from actorsession.ops.elements.arithmetic import divide as divide
from actorsession.ops.elements.arithmetic import maximum as maximum
from actorsession.ops.elements.arithmetic import minimum as minimum
from actorsession.ops.elements.arithmetic import multiply as multiply
from actorsession.ops.elements.arithmetic import pow as pow
from actorsession.ops.elements.arithmetic import subtract as subtract
from actorsession.ops.elements import bitwise as bitwise
from actorsession.ops.elements.cast import cast as cast
from actorsession.ops.elements.clip import clip_by_global_norm as clip_by_global_norm
from actorsession.ops.elements.clip import clip_by_norm as clip_by_norm
from actorsession.ops.elements.clip import clip_by_value as clip_by_value
from actorsession.ops.elements.comparison import equal as equal
from actorsession.ops.elements.comparison import greater as greater
from actorsession.ops.elements.comparison import greater_equal as greater_equal
from actorsession.ops.elements.comparison import less as less
from actorsession.ops.elements.comparison import less_equal as less_equal
from actorsession.ops.elements.comparison import logical_and as logical_and
from actorsession.ops.elements.comparison import logical_not as logical_not
from actorsession.ops.elements.comparison import logical_or as logical_or
from actorsession.ops.elements.comparison import not_equal as not_equal
from actorsession.ops.elements.comparison import where as where
from actorsession.ops.elements.elementwise import abs as abs
from actorsession.ops.elements.elementwise import cos as cos
from actorsession.ops.elements.elementwise import exp as exp
from actorsession.ops.elements.elementwise import floor as floor
from actorsession.ops.elements.elementwise import log as log
from actorsession.ops.elements.elementwise import negative as negative
from actorsession.ops.elements.elementwise import sign as sign
from actorsession.ops.elements.elementwise import sin as sin
from actorsession.ops.elements.elementwise import sqrt as sqrt
from actorsession.ops.elements.elementwise import square as square
from actorsession.ops.flow.control import group as group
from actorsession.ops.flow.control import no_op as no_op
from actorsession.ops.flow.control import tuple_ as tuple
from actorsession.ops.flow.control_flow import cond as cond
from actorsession.ops.flow.control_flow import while_loop as while_loop
from actorsession.ops.flow.mapping import map_fn as map_fn
from actorsession.ops.flow.script import async_py_func as async_py_func
from actorsession.ops.flow.script import py_func as py_func
from actorsession.ops.graph_keys import GraphKeys as GraphKeys
from actorsession.ops.indexed_slices import IndexedSlices as IndexedSlices
from actorsession.ops.linear.contractions import eye as eye
from actorsession.ops.linear.einsum import einsum as einsum
from actorsession.ops.linear.matmul import matmul as matmul
from actorsession.ops.lists.tensor_array import TensorArray as TensorArray
from actorsession.ops.neural.activations import sigmoid as sigmoid
from actorsession.ops.neural.activations import tanh as tanh
from actorsession.ops.neural import losses as losses
from actorsession.ops.queues.queues import FIFOQueue as FIFOQueue
from actorsession.ops.queues.queues import RandomShuffleQueue as RandomShuffleQueue
from actorsession.ops.randomness.numbers import random_normal as random_normal
from actorsession.ops.randomness.numbers import random_uniform as random_uniform
from actorsession.ops.randomness.numbers import set_random_seed as set_random_seed
from actorsession.ops.randomness.numbers import truncated_normal as truncated_normal
from actorsession.ops.reductions.argmax import argmax as argmax
from actorsession.ops.reductions.argmax import argmin as argmin
from actorsession.ops.reductions.reduction import reduce_all as reduce_all
from actorsession.ops.reductions.reduction import reduce_any as reduce_any
from actorsession.ops.reductions.reduction import reduce_max as reduce_max
from actorsession.ops.reductions.reduction import reduce_mean as reduce_mean
from actorsession.ops.reductions.reduction import reduce_min as reduce_min
from actorsession.ops.reductions.reduction import reduce_prod as reduce_prod
from actorsession.ops.reductions.reduction import reduce_sum as reduce_sum
from actorsession.ops.variables.assignment import assign as assign
from actorsession.ops.variables.assignment import assign_add as assign_add
from actorsession.ops.variables.assignment import assign_sub as assign_sub
from actorsession.ops.variables.get_variable import get_variable as get_variable
from actorsession.ops.variables import initializers as initializers
from actorsession.ops.variables.lists import global_variables as global_variables
from actorsession.ops.variables.lists import global_variables_initializer as global_variables_initializer
from actorsession.ops.variables.lists import local_variables as local_variables
from actorsession.ops.variables.lists import local_variables_initializer as local_variables_initializer
from actorsession.ops.variables.lists import trainable_variables as trainable_variables
from actorsession.ops.variables.lists import variables_initializer as variables_initializer
from actorsession.ops.variables.scope import AUTO_REUSE as AUTO_REUSE
from actorsession.ops.variables.scope import variable_scope as variable_scope
from actorsession.ops.variables.session_ops import delete_session_tensor as delete_session_tensor
from actorsession.ops.variables.session_ops import get_session_handle as get_session_handle
from actorsession.ops.variables.session_ops import get_session_tensor as get_session_tensor
from actorsession.ops.variables.variable import Variable as Variable
from actorsession.opsets.sparse.basics import SparseTensor as SparseTensor
from actorsession.opsets.tables.tables import tables_initializer as tables_initializer
from actorsession.session import AsyncInteractiveSession as AsyncInteractiveSession
from actorsession.session import AsyncSession as AsyncSession
from actorsession.session import InteractiveSession as InteractiveSession
from actorsession.session import Session as Session
from actorsession.session import get_default_session as get_default_session
from actorsession.session.handles import TensorHandle as TensorHandle
from actorsession import train as train
from actorsession.version import __version__ as __version__

__all__ = [
"AUTO_REUSE", "AsyncInteractiveSession", "AsyncSession", "ClusterResolver", "ClusterSpec",
"ConfigProto", "DType", "DeviceSpec", "FIFOQueue", "FileClusterResolver", "Graph", "GraphDef",
"GraphKeys", "GraphOptions", "IndexedSlices", "InteractiveSession", "LocalCluster", "NodeDef",
"Operation", "OptimizerOptions", "RPCOptions", "RandomShuffleQueue", "RegisterGradient",
"RunMetadata", "RunOptions", "SecurityConfig", "Server", "ServerSettings", "Session",
"SimpleClusterResolver", "SparseTensor", "TFConfigClusterResolver", "Tensor", "TensorArray",
"TensorHandle", "TensorShape", "TraceLevel", "Variable", "abs", "add", "add_n", "add_to_collection",
"argmax", "argmin", "arrays", "as_dtype", "assign", "assign_add", "assign_sub", "async_py_func",
"autodiff", "bfloat16", "bitwise", "bool_", "boolean_mask", "broadcast_to", "cast",
"clip_by_global_norm", "clip_by_norm", "clip_by_value", "collective", "colocate_with", "complex128",
"complex64", "concat", "cond", "config", "constant", "control_dependencies", "convert_to_tensor",
"cos", "custom_gradient", "data", "debugging", "delete_session_tensor", "device", "divide",
"einsum", "equal", "errors", "exp", "expand_dims", "eye", "fill", "float16", "float32", "float64",
"floor", "flow", "gather", "gather_nd", "get_collection", "get_default_graph",
"get_default_session", "get_session_handle", "get_session_tensor", "get_static_value",
"get_variable", "global_variables", "global_variables_initializer", "gradients", "graph_util",
"greater", "greater_equal", "group", "identity", "image", "import_graph_def", "initializers",
"int16", "int32", "int64", "int8", "io", "layers", "less", "less_equal", "linalg",
"local_variables", "local_variables_initializer", "log", "logical_and", "logical_not", "logical_or",
"lookup", "losses", "map_fn", "math", "matmul", "maximum", "minimum", "multiply", "name_scope",
"negative", "nn", "no_op", "not_equal", "one_hot", "ones", "ones_like", "pad", "placeholder",
"placeholder_with_default", "plugins", "pow", "py_func", "quantization", "queue", "random",
"random_normal", "random_uniform", "range", "reduce_all", "reduce_any", "reduce_max", "reduce_mean",
"reduce_min", "reduce_prod", "reduce_sum", "reset_default_graph", "reshape", "reverse",
"set_random_seed", "sets", "shape", "sigmoid", "sign", "signal", "sin", "size", "slice", "sparse",
"split", "sqrt", "square", "squeeze", "stack", "stop_gradient", "string", "strings", "subtract",
"tables_initializer", "tanh", "tile", "timeline", "train", "trainable_variables", "transpose",
"truncated_normal", "tuple", "uint16", "uint32", "uint64", "uint8", "unstack", "variable_scope",
"variables", "variables_initializer", "where", "while_loop", "zeros", "zeros_like"
]
