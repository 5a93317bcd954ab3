# Written by scripts/generated.py.
"""TensorFlow 1's API: ``import actorsession.compat.v1 as tf``.

Names, arguments, defaults and error classes are those of ``tensorflow.compat.v1``; the implementation is this
library. Importing the package starts nothing and changes no policy; its modules are imported when they are
first used.
"""

from typing import Any

from actorsession.compat.v1 import app as app
from actorsession.compat.v1 import autograph as autograph
from actorsession.compat.v1 import compat as compat
from actorsession.compat.v1.compat import as_bytes as as_bytes
from actorsession.compat.v1.compat import as_str as as_str
from actorsession.compat.v1.compat import as_str_any as as_str_any
from actorsession.compat.v1.compat import as_text as as_text
from actorsession.compat.v1 import contrib as contrib
from actorsession.compat.v1 import core as core
from actorsession.compat.v1 import data as data
from actorsession.compat.v1 import debugging as debugging
from actorsession.compat.v1 import distributions as distributions
from actorsession.compat.v1 import dtypes as dtypes
from actorsession.compat.v1.dtypes import QUANTIZED_DTYPES as QUANTIZED_DTYPES
from actorsession.compat.v1 import errors as errors
from actorsession.compat.v1 import estimator as estimator
from actorsession.compat.v1 import examples as examples
from actorsession.compat.v1 import feature_column as feature_column
from actorsession.compat.v1 import flags as flags
from actorsession.compat.v1 import gfile as gfile
from actorsession.compat.v1.graphs.behavior import COMPILER_VERSION as COMPILER_VERSION
from actorsession.compat.v1.graphs.behavior import CXX11_ABI_FLAG as CXX11_ABI_FLAG
from actorsession.compat.v1.graphs.behavior import GIT_VERSION as GIT_VERSION
from actorsession.compat.v1.graphs.behavior import GRAPH_DEF_VERSION as GRAPH_DEF_VERSION
from actorsession.compat.v1.graphs.behavior import GRAPH_DEF_VERSION_MIN_CONSUMER as GRAPH_DEF_VERSION_MIN_CONSUMER
from actorsession.compat.v1.graphs.behavior import GRAPH_DEF_VERSION_MIN_PRODUCER as GRAPH_DEF_VERSION_MIN_PRODUCER
from actorsession.compat.v1.graphs.behavior import MONOLITHIC_BUILD as MONOLITHIC_BUILD
from actorsession.compat.v1.graphs.behavior import VERSION as VERSION
from actorsession.compat.v1.graphs.behavior import __compiler_version__ as __compiler_version__
from actorsession.compat.v1.graphs.behavior import __cxx11_abi_flag__ as __cxx11_abi_flag__
from actorsession.compat.v1.graphs.behavior import __git_version__ as __git_version__
from actorsession.compat.v1.graphs.behavior import __monolithic_build__ as __monolithic_build__
from actorsession.compat.v1.graphs.behavior import __version__ as __version__
from actorsession.compat.v1.graphs.behavior import control_flow_v2_enabled as control_flow_v2_enabled
from actorsession.compat.v1.graphs.behavior import disable_control_flow_v2 as disable_control_flow_v2
from actorsession.compat.v1.graphs.behavior import disable_eager_execution as disable_eager_execution
from actorsession.compat.v1.graphs.behavior import disable_resource_variables as disable_resource_variables
from actorsession.compat.v1.graphs.behavior import disable_v2_behavior as disable_v2_behavior
from actorsession.compat.v1.graphs.behavior import disable_v2_tensorshape as disable_v2_tensorshape
from actorsession.compat.v1.graphs.behavior import enable_eager_execution as enable_eager_execution
from actorsession.compat.v1.graphs.behavior import enable_resource_variables as enable_resource_variables
from actorsession.compat.v1.graphs.behavior import enable_v2_tensorshape as enable_v2_tensorshape
from actorsession.compat.v1.graphs.behavior import executing_eagerly as executing_eagerly
from actorsession.compat.v1.graphs.behavior import resource_variables_enabled as resource_variables_enabled
from actorsession.compat.v1.graphs.devices import DeviceSpec as DeviceSpec
from actorsession.compat.v1.graphs.forms import TensorShape as TensorShape
from actorsession.compat.v1.graphs.forms import as_dtype as as_dtype
from actorsession.compat.v1.graphs.forms import colocate_with as colocate_with
from actorsession.compat.v1.graphs.forms import container as container
from actorsession.compat.v1.graphs.forms import device as device
from actorsession.compat.v1.graphs.forms import name_scope as name_scope
from actorsession.compat.v1.graphs.forms import op_scope as op_scope
from actorsession.compat.v1.graphs.graph import Graph as Graph
from actorsession.compat.v1.graphs.graph import get_default_graph as get_default_graph
from actorsession.compat.v1.graphs.graph import reset_default_graph as reset_default_graph
from actorsession.compat.v1.graphs.tensors import assert_proper_iterable as assert_proper_iterable
from actorsession.compat.v1.graphs.tensors import assert_same_float_dtype as assert_same_float_dtype
from actorsession.compat.v1.graphs.tensors import convert_to_tensor_or_indexed_slices as convert_to_tensor_or_indexed_slices
from actorsession.compat.v1.graphs.tensors import convert_to_tensor_or_sparse_tensor as convert_to_tensor_or_sparse_tensor
from actorsession.compat.v1.graphs.tensors import is_numeric_tensor as is_numeric_tensor
from actorsession.compat.v1.graphs.tensors import is_symbolic_tensor as is_symbolic_tensor
from actorsession.compat.v1.graphs.tensors import is_tensor as is_tensor
from actorsession.compat.v1.graphs.tensors import newaxis as newaxis
from actorsession.compat.v1.graphs.type_specs import IndexedSlicesSpec as IndexedSlicesSpec
from actorsession.compat.v1.graphs.type_specs import SparseTensorSpec as SparseTensorSpec
from actorsession.compat.v1.graphs.type_specs import TensorSpec as TensorSpec
from actorsession.compat.v1.graphs.type_specs import TypeSpec as TypeSpec
from actorsession.compat.v1.internals import files as resource_loader
from actorsession.compat.v1.internals.framework import init_scope as init_scope
from actorsession.compat.v1.internals.framework import register_tensor_conversion_function as register_tensor_conversion_function
from actorsession.compat.v1.internals import nest as nest
from actorsession.compat.v1 import io as io
from actorsession.compat.v1 import layers as layers
from actorsession.compat.v1 import logging as logging
from actorsession.compat.v1.logging import get_logger as get_logger
from actorsession.compat.v1 import manip as manip
from actorsession.compat.v1 import metrics as metrics
from actorsession.compat.v1 import nn as nn
from actorsession.compat.v1.ops.control_flow import while_loop as while_loop
from actorsession.compat.v1.ops.legacy_ops import all_variables as all_variables
from actorsession.compat.v1.ops.legacy_ops import arg_max as arg_max
from actorsession.compat.v1.ops.legacy_ops import arg_min as arg_min
from actorsession.compat.v1.ops.legacy_ops import batch_matmul as batch_matmul
from actorsession.compat.v1.ops.legacy_ops import extract_image_patches as extract_image_patches
from actorsession.compat.v1.ops.legacy_ops import initialize_all_tables as initialize_all_tables
from actorsession.compat.v1.ops.legacy_ops import initialize_all_variables as initialize_all_variables
from actorsession.compat.v1.ops.legacy_ops import initialize_local_variables as initialize_local_variables
from actorsession.compat.v1.ops.legacy_ops import initialize_variables as initialize_variables
from actorsession.compat.v1.ops.legacy_ops import mul as mul
from actorsession.compat.v1.ops.legacy_ops import neg as neg
from actorsession.compat.v1.ops.legacy_ops import pack as pack
from actorsession.compat.v1.ops.legacy_ops import sub as sub
from actorsession.compat.v1.ops.legacy_ops import to_bfloat16 as to_bfloat16
from actorsession.compat.v1.ops.legacy_ops import to_complex128 as to_complex128
from actorsession.compat.v1.ops.legacy_ops import to_complex64 as to_complex64
from actorsession.compat.v1.ops.legacy_ops import to_double as to_double
from actorsession.compat.v1.ops.legacy_ops import to_float as to_float
from actorsession.compat.v1.ops.legacy_ops import to_int32 as to_int32
from actorsession.compat.v1.ops.legacy_ops import to_int64 as to_int64
from actorsession.compat.v1.ops.legacy_ops import unpack as unpack
from actorsession.compat.v1.ops.module import Module as Module
from actorsession.compat.v1.ops.py_functions import py_function as py_function
from actorsession.compat.v1.ops.template import make_template as make_template
from actorsession.compat.v1.ops.traced_functions import function as function
from actorsession.compat.v1 import profiler as profiler
from actorsession.compat.v1 import python as python
from actorsession.compat.v1 import python_io as python_io
from actorsession.compat.v1 import queue as queue
from actorsession.compat.v1 import raw_ops as raw_ops
from actorsession.compat.v1 import saved_model as saved_model
from actorsession.compat.v1.sessions.messages import ConfigProto as ConfigProto
from actorsession.compat.v1.sessions.messages import GPUOptions as GPUOptions
from actorsession.compat.v1.sessions.messages import GraphOptions as GraphOptions
from actorsession.compat.v1.sessions.messages import NameAttrList as NameAttrList
from actorsession.compat.v1.sessions.messages import OptimizerOptions as OptimizerOptions
from actorsession.compat.v1.sessions.messages import RunMetadata as RunMetadata
from actorsession.compat.v1.sessions.messages import RunOptions as RunOptions
from actorsession.compat.v1.sessions.session import InteractiveSession as InteractiveSession
from actorsession.compat.v1.sessions.session import Session as Session
from actorsession.compat.v1 import spectral as spectral
from actorsession.compat.v1 import summary as summary
from actorsession.compat.v1 import test as test
from actorsession.compat.v1 import train as train
from actorsession.compat.v1 import version as version
from actorsession.errors import OpError as OpError
from actorsession.graph.constant_value import get_static_value as get_static_value
from actorsession.graph.default_session import get_default_session as get_default_session
from actorsession.graph.dimension import Dimension as Dimension
from actorsession.graph.dimension import dimension_value as dimension_value
from actorsession.graph.dtypes import DType as DType
from actorsession.graph.dtypes import bfloat16 as bfloat16
from actorsession.graph.dtypes import bool_ as bool
from actorsession.graph.dtypes import complex128 as complex128
from actorsession.graph.dtypes import complex64 as complex64
from actorsession.graph.dtypes import float16 as float16
from actorsession.graph.dtypes import float16 as half
from actorsession.graph.dtypes import float32 as float32
from actorsession.graph.dtypes import float64 as float64
from actorsession.graph.dtypes import float64 as double
from actorsession.graph.dtypes import int16 as int16
from actorsession.graph.dtypes import int32 as int32
from actorsession.graph.dtypes import int64 as int64
from actorsession.graph.dtypes import int8 as int8
from actorsession.graph.dtypes import qint16 as qint16
from actorsession.graph.dtypes import qint32 as qint32
from actorsession.graph.dtypes import qint8 as qint8
from actorsession.graph.dtypes import quint16 as quint16
from actorsession.graph.dtypes import quint8 as quint8
from actorsession.graph.dtypes import resource as resource
from actorsession.graph.dtypes import string as string
from actorsession.graph.dtypes import uint16 as uint16
from actorsession.graph.dtypes import uint32 as uint32
from actorsession.graph.dtypes import uint64 as uint64
from actorsession.graph.dtypes import uint8 as uint8
from actorsession.graph.dtypes import variant as variant
from actorsession.graph.graph import add_to_collection as add_to_collection
from actorsession.graph.graph import add_to_collections as add_to_collections
from actorsession.graph.graph import control_dependencies as control_dependencies
from actorsession.graph.graph import get_collection as get_collection
from actorsession.graph.graph import get_collection_ref as get_collection_ref
from actorsession.graph.operation import Operation as Operation
from actorsession.graph.operation import Tensor as Tensor
from actorsession.graph.shape import dimension_at_index as dimension_at_index
from actorsession.interop import AttrValue as AttrValue
from actorsession.interop import GraphDef as GraphDef
from actorsession.interop import MetaGraphDef as MetaGraphDef
from actorsession.interop import NodeDef as NodeDef
import_graph_def: Any
from actorsession.interop import make_ndarray as make_ndarray
from actorsession.interop import make_tensor_proto as make_tensor_proto
from actorsession.interop.event_protos import Event as Event
from actorsession.interop.event_protos import HistogramProto as HistogramProto
from actorsession.interop.event_protos import LogMessage as LogMessage
from actorsession.interop.event_protos import SessionLog as SessionLog
from actorsession.interop.event_protos import Summary as Summary
from actorsession.interop.event_protos import SummaryMetadata as SummaryMetadata
from actorsession.interop import graph_util as graph_util
from actorsession.interop.meta_protos import TensorInfo as TensorInfo
from actorsession.namespaces import audio as audio
from actorsession.namespaces import image as image
from actorsession.namespaces import linalg as linalg
from actorsession.namespaces import lookup as lookup
from actorsession.namespaces import math as math
from actorsession.namespaces import quantization as quantization
from actorsession.namespaces import random as random
from actorsession.namespaces import sets as sets
from actorsession.namespaces import signal as signal
from actorsession.namespaces import sparse as sparse
from actorsession.namespaces import strings as strings
from actorsession.ops import AUTO_REUSE as AUTO_REUSE
from actorsession.ops import AggregationMethod as AggregationMethod
from actorsession.ops import Assert as Assert
from actorsession.ops import Defun as Defun
from actorsession.ops import FIFOQueue as FIFOQueue
from actorsession.ops import GraphKeys as GraphKeys
from actorsession.ops import IndexedSlices as IndexedSlices
from actorsession.ops import IndexedSlicesValue as IndexedSlicesValue
from actorsession.ops import Initializer as Initializer
from actorsession.ops import NoGradient as NoGradient
from actorsession.ops import NotDifferentiable as NotDifferentiable
from actorsession.ops import PaddingFIFOQueue as PaddingFIFOQueue
from actorsession.ops import PartitionedVariable as PartitionedVariable
from actorsession.ops import Print as Print
from actorsession.ops import PriorityQueue as PriorityQueue
from actorsession.ops import QueueBase as QueueBase
from actorsession.ops import RandomShuffleQueue as RandomShuffleQueue
from actorsession.ops import RegisterGradient as RegisterGradient
from actorsession.ops import TensorArray as TensorArray
from actorsession.ops import UnconnectedGradients as UnconnectedGradients
from actorsession.ops import Variable as Variable
from actorsession.ops import VariableAggregation as VariableAggregation
from actorsession.ops import VariableScope as VariableScope
from actorsession.ops import VariableSynchronization as VariableSynchronization
from actorsession.ops import abs as abs
from actorsession.ops import accumulate_n as accumulate_n
from actorsession.ops import acos as acos
from actorsession.ops import acosh as acosh
from actorsession.ops import add as add
from actorsession.ops import add_check_numerics_ops as add_check_numerics_ops
from actorsession.ops import add_n as add_n
from actorsession.ops import angle as angle
argmax: Any
argmin: Any
argsort: Any
from actorsession.ops import asin as asin
from actorsession.ops import asinh as asinh
from actorsession.ops import assert_equal as assert_equal
from actorsession.ops import assert_greater as assert_greater
from actorsession.ops import assert_greater_equal as assert_greater_equal
from actorsession.ops import assert_integer as assert_integer
from actorsession.ops import assert_less as assert_less
from actorsession.ops import assert_less_equal as assert_less_equal
from actorsession.ops import assert_near as assert_near
from actorsession.ops import assert_negative as assert_negative
from actorsession.ops import assert_non_negative as assert_non_negative
from actorsession.ops import assert_non_positive as assert_non_positive
from actorsession.ops import assert_none_equal as assert_none_equal
from actorsession.ops import assert_positive as assert_positive
from actorsession.ops import assert_rank as assert_rank
from actorsession.ops import assert_rank_at_least as assert_rank_at_least
from actorsession.ops import assert_rank_in as assert_rank_in
from actorsession.ops import assert_scalar as assert_scalar
from actorsession.ops import assert_type as assert_type
from actorsession.ops import assert_variables_initialized as assert_variables_initialized
assign: Any
assign_add: Any
assign_sub: Any
from actorsession.ops import async_py_func as async_py_func
from actorsession.ops import atan as atan
from actorsession.ops import atan2 as atan2
from actorsession.ops import atanh as atanh
from actorsession.ops import batch_gather as batch_gather
batch_scatter_update: Any
from actorsession.ops import batch_to_space as batch_to_space
from actorsession.ops import batch_to_space_nd as batch_to_space_nd
from actorsession.ops import bincount as bincount
from actorsession.ops import bitcast as bitcast
from actorsession.ops import boolean_mask as boolean_mask
from actorsession.ops import broadcast_dynamic_shape as broadcast_dynamic_shape
from actorsession.ops import broadcast_static_shape as broadcast_static_shape
from actorsession.ops import broadcast_to as broadcast_to
from actorsession.ops import case as case
from actorsession.ops import cast as cast
from actorsession.ops import ceil as ceil
from actorsession.ops import check_numerics as check_numerics
from actorsession.ops import cholesky as cholesky
from actorsession.ops import cholesky_solve as cholesky_solve
from actorsession.ops import clip_by_average_norm as clip_by_average_norm
from actorsession.ops import clip_by_global_norm as clip_by_global_norm
from actorsession.ops import clip_by_norm as clip_by_norm
from actorsession.ops import clip_by_value as clip_by_value
from actorsession.ops import complex as complex
from actorsession.ops import concat as concat
cond: Any
from actorsession.ops import confusion_matrix as confusion_matrix
from actorsession.ops import conj as conj
from actorsession.ops import constant as constant
from actorsession.ops import constant_initializer as constant_initializer
convert_to_tensor: Any
from actorsession.ops import cos as cos
from actorsession.ops import cosh as cosh
count_nonzero: Any
from actorsession.ops import count_up_to as count_up_to
from actorsession.ops import create_partitioned_variables as create_partitioned_variables
from actorsession.ops import cross as cross
from actorsession.ops import cumprod as cumprod
from actorsession.ops import cumsum as cumsum
from actorsession.ops import custom_gradient as custom_gradient
from actorsession.ops import delete_session_tensor as delete_session_tensor
from actorsession.ops import depth_to_space as depth_to_space
from actorsession.ops import diag as diag
from actorsession.ops import diag_part as diag_part
from actorsession.ops import div as div
from actorsession.ops import div_no_nan as div_no_nan
from actorsession.ops import divide as divide
from actorsession.ops import dynamic_partition as dynamic_partition
from actorsession.ops import dynamic_stitch as dynamic_stitch
einsum: Any
from actorsession.ops import ensure_shape as ensure_shape
from actorsession.ops import equal as equal
from actorsession.ops import erf as erf
from actorsession.ops import erfc as erfc
from actorsession.ops import exp as exp
expand_dims: Any
from actorsession.ops import expm1 as expm1
from actorsession.ops import eye as eye
from actorsession.ops import fill as fill
from actorsession.ops import fixed_size_partitioner as fixed_size_partitioner
from actorsession.ops import floor as floor
from actorsession.ops import floor_div as floor_div
from actorsession.ops import floordiv as floordiv
from actorsession.ops import floormod as floormod
from actorsession.ops import foldl as foldl
from actorsession.ops import foldr as foldr
gather: Any
from actorsession.ops import gather_nd as gather_nd
from actorsession.ops import get_local_variable as get_local_variable
from actorsession.ops import get_seed as get_seed
from actorsession.ops import get_session_handle as get_session_handle
from actorsession.ops import get_session_tensor as get_session_tensor
from actorsession.ops import get_variable as get_variable
from actorsession.ops import get_variable_scope as get_variable_scope
from actorsession.ops import global_norm as global_norm
from actorsession.ops import global_variables as global_variables
from actorsession.ops import global_variables_initializer as global_variables_initializer
from actorsession.ops import glorot_normal_initializer as glorot_normal_initializer
from actorsession.ops import glorot_uniform_initializer as glorot_uniform_initializer
from actorsession.ops import grad_pass_through as grad_pass_through
from actorsession.ops import gradients as gradients
from actorsession.ops import greater as greater
from actorsession.ops import greater_equal as greater_equal
from actorsession.ops import group as group
from actorsession.ops import guarantee_const as guarantee_const
from actorsession.ops import he_normal_initializer as he_normal_initializer
from actorsession.ops import he_uniform_initializer as he_uniform_initializer
from actorsession.ops import hessians as hessians
from actorsession.ops import histogram_fixed_width as histogram_fixed_width
histogram_fixed_width_bins: Any
from actorsession.ops import identity as identity
from actorsession.ops import identity_initializer as identity_initializer
from actorsession.ops import identity_n as identity_n
from actorsession.ops import imag as imag
from actorsession.ops import invert_permutation as invert_permutation
from actorsession.ops import is_finite as is_finite
from actorsession.ops import is_inf as is_inf
from actorsession.ops import is_nan as is_nan
from actorsession.ops import is_non_decreasing as is_non_decreasing
from actorsession.ops import is_strictly_increasing as is_strictly_increasing
from actorsession.ops import is_variable_initialized as is_variable_initialized
from actorsession.ops import lecun_normal_initializer as lecun_normal_initializer
from actorsession.ops import lecun_uniform_initializer as lecun_uniform_initializer
from actorsession.ops import less as less
from actorsession.ops import less_equal as less_equal
from actorsession.ops import lin_space as lin_space
from actorsession.ops import linspace as linspace
from actorsession.ops import local_variables as local_variables
from actorsession.ops import local_variables_initializer as local_variables_initializer
from actorsession.ops import log as log
from actorsession.ops import log1p as log1p
from actorsession.ops import log_sigmoid as log_sigmoid
from actorsession.ops import logical_and as logical_and
from actorsession.ops import logical_not as logical_not
from actorsession.ops import logical_or as logical_or
from actorsession.ops import logical_xor as logical_xor
map_fn: Any
matmul: Any
from actorsession.ops import matrix_band_part as matrix_band_part
from actorsession.ops import matrix_determinant as matrix_determinant
from actorsession.ops import matrix_diag as matrix_diag
from actorsession.ops import matrix_diag_part as matrix_diag_part
from actorsession.ops import matrix_inverse as matrix_inverse
from actorsession.ops import matrix_set_diag as matrix_set_diag
from actorsession.ops import matrix_solve as matrix_solve
from actorsession.ops import matrix_solve_ls as matrix_solve_ls
from actorsession.ops import matrix_square_root as matrix_square_root
from actorsession.ops import matrix_transpose as matrix_transpose
from actorsession.ops import matrix_triangular_solve as matrix_triangular_solve
from actorsession.ops import maximum as maximum
from actorsession.ops import meshgrid as meshgrid
from actorsession.ops import min_max_variable_partitioner as min_max_variable_partitioner
from actorsession.ops import minimum as minimum
from actorsession.ops import mod as mod
from actorsession.ops import model_variables as model_variables
from actorsession.ops import moving_average_variables as moving_average_variables
from actorsession.ops import multinomial as multinomial
from actorsession.ops import multiply as multiply
from actorsession.ops import negative as negative
from actorsession.ops import no_op as no_op
from actorsession.ops import no_regularizer as no_regularizer
norm: Any
from actorsession.ops import not_equal as not_equal
from actorsession.ops import numpy_function as numpy_function
from actorsession.ops import one_hot as one_hot
from actorsession.ops import ones as ones
from actorsession.ops import ones_initializer as ones_initializer
from actorsession.ops import ones_like as ones_like
from actorsession.ops import orthogonal_initializer as orthogonal_initializer
from actorsession.ops import pad as pad
from actorsession.ops import parallel_stack as parallel_stack
from actorsession.ops import placeholder as placeholder
from actorsession.ops import placeholder_with_default as placeholder_with_default
from actorsession.ops import pow as pow
from actorsession.ops import py_func as py_func
from actorsession.ops import qr as qr
from actorsession.ops import random_gamma as random_gamma
from actorsession.ops import random_normal as random_normal
from actorsession.ops import random_normal_initializer as random_normal_initializer
from actorsession.ops import random_poisson as random_poisson
from actorsession.ops import random_shuffle as random_shuffle
from actorsession.ops import random_uniform as random_uniform
from actorsession.ops import random_uniform_initializer as random_uniform_initializer
from actorsession.ops import range as range
from actorsession.ops import rank as rank
from actorsession.ops import real as real
from actorsession.ops import realdiv as realdiv
from actorsession.ops import reciprocal as reciprocal
reduce_all: Any
reduce_any: Any
reduce_logsumexp: Any
reduce_max: Any
reduce_mean: Any
reduce_min: Any
reduce_prod: Any
reduce_sum: Any
from actorsession.ops import repeat as repeat
from actorsession.ops import report_uninitialized_variables as report_uninitialized_variables
from actorsession.ops import required_space_to_batch_paddings as required_space_to_batch_paddings
from actorsession.ops import reshape as reshape
from actorsession.ops import reverse as reverse
reverse_sequence: Any
from actorsession.ops import reverse_v2 as reverse_v2
from actorsession.ops import rint as rint
from actorsession.ops import roll as roll
from actorsession.ops import round as round
from actorsession.ops import rsqrt as rsqrt
from actorsession.ops import saturate_cast as saturate_cast
from actorsession.ops import scalar_mul as scalar_mul
scan: Any
scatter_add: Any
scatter_div: Any
scatter_max: Any
scatter_min: Any
scatter_mul: Any
from actorsession.ops import scatter_nd as scatter_nd
scatter_nd_add: Any
scatter_nd_sub: Any
scatter_nd_update: Any
scatter_sub: Any
scatter_update: Any
from actorsession.ops import searchsorted as searchsorted
from actorsession.ops import segment_max as segment_max
from actorsession.ops import segment_mean as segment_mean
from actorsession.ops import segment_min as segment_min
from actorsession.ops import segment_prod as segment_prod
from actorsession.ops import segment_sum as segment_sum
from actorsession.ops import self_adjoint_eig as self_adjoint_eig
from actorsession.ops import self_adjoint_eigvals as self_adjoint_eigvals
from actorsession.ops import sequence_mask as sequence_mask
from actorsession.ops import set_random_seed as set_random_seed
from actorsession.ops import setdiff1d as setdiff1d
from actorsession.ops import shape as shape
from actorsession.ops import shape_n as shape_n
from actorsession.ops import sigmoid as sigmoid
from actorsession.ops import sign as sign
from actorsession.ops import sin as sin
from actorsession.ops import sinh as sinh
from actorsession.ops import size as size
from actorsession.ops import slice as slice
from actorsession.ops import sort as sort
from actorsession.ops import space_to_batch as space_to_batch
from actorsession.ops import space_to_batch_nd as space_to_batch_nd
from actorsession.ops import space_to_depth as space_to_depth
from actorsession.ops import sparse_mask as sparse_mask
from actorsession.ops import split as split
from actorsession.ops import sqrt as sqrt
from actorsession.ops import square as square
from actorsession.ops import squared_difference as squared_difference
squeeze: Any
from actorsession.ops import stack as stack
from actorsession.ops import stop_gradient as stop_gradient
strided_slice: Any
from actorsession.ops import subtract as subtract
from actorsession.ops import svd as svd
from actorsession.ops import switch_case as switch_case
from actorsession.ops import tan as tan
from actorsession.ops import tanh as tanh
from actorsession.ops import tensor_scatter_add as tensor_scatter_add
from actorsession.ops import tensor_scatter_nd_add as tensor_scatter_nd_add
from actorsession.ops import tensor_scatter_nd_max as tensor_scatter_nd_max
from actorsession.ops import tensor_scatter_nd_min as tensor_scatter_nd_min
from actorsession.ops import tensor_scatter_nd_sub as tensor_scatter_nd_sub
from actorsession.ops import tensor_scatter_nd_update as tensor_scatter_nd_update
from actorsession.ops import tensor_scatter_sub as tensor_scatter_sub
from actorsession.ops import tensor_scatter_update as tensor_scatter_update
from actorsession.ops import tensordot as tensordot
from actorsession.ops import tile as tile
from actorsession.ops import trace as trace
from actorsession.ops import trainable_variables as trainable_variables
from actorsession.ops import transpose as transpose
from actorsession.ops import truediv as truediv
from actorsession.ops import truncated_normal as truncated_normal
from actorsession.ops import truncated_normal_initializer as truncated_normal_initializer
from actorsession.ops import truncatediv as truncatediv
from actorsession.ops import truncatemod as truncatemod
from actorsession.ops import tuple as tuple
from actorsession.ops import uniform_unit_scaling_initializer as uniform_unit_scaling_initializer
from actorsession.ops import unique as unique
from actorsession.ops import unique_with_counts as unique_with_counts
from actorsession.ops import unravel_index as unravel_index
from actorsession.ops import unsorted_segment_max as unsorted_segment_max
from actorsession.ops import unsorted_segment_mean as unsorted_segment_mean
from actorsession.ops import unsorted_segment_min as unsorted_segment_min
from actorsession.ops import unsorted_segment_prod as unsorted_segment_prod
from actorsession.ops import unsorted_segment_sqrt_n as unsorted_segment_sqrt_n
from actorsession.ops import unsorted_segment_sum as unsorted_segment_sum
from actorsession.ops import unstack as unstack
from actorsession.ops import variable_axis_size_partitioner as variable_axis_size_partitioner
from actorsession.ops import variable_creator_scope as variable_creator_scope
from actorsession.ops import variable_op_scope as variable_op_scope
from actorsession.ops import variable_scope as variable_scope
from actorsession.ops import variables_initializer as variables_initializer
from actorsession.ops import variance_scaling_initializer as variance_scaling_initializer
verify_tensor_all_finite: Any
from actorsession.ops import where as where
from actorsession.ops import where_v2 as where_v2
from actorsession.ops import zeros as zeros
from actorsession.ops import zeros_initializer as zeros_initializer
zeros_like: Any
from actorsession.ops.elements import bitwise as bitwise
from actorsession.ops.neural import losses as losses
from actorsession.ops.variables import initializers as initializers
from actorsession.opsets import Barrier as Barrier
from actorsession.opsets import ConditionalAccumulator as ConditionalAccumulator
from actorsession.opsets import ConditionalAccumulatorBase as ConditionalAccumulatorBase
from actorsession.opsets import CriticalSection as CriticalSection
from actorsession.opsets import FixedLenFeature as FixedLenFeature
from actorsession.opsets import FixedLenSequenceFeature as FixedLenSequenceFeature
from actorsession.opsets import FixedLengthRecordReader as FixedLengthRecordReader
from actorsession.opsets import IdentityReader as IdentityReader
from actorsession.opsets import MapStagingArea as MapStagingArea
from actorsession.opsets import ReaderBase as ReaderBase
from actorsession.opsets import SparseConditionalAccumulator as SparseConditionalAccumulator
from actorsession.opsets import SparseFeature as SparseFeature
from actorsession.opsets import SparseTensor as SparseTensor
from actorsession.opsets import SparseTensorValue as SparseTensorValue
from actorsession.opsets import StagingArea as StagingArea
from actorsession.opsets import TFRecordReader as TFRecordReader
from actorsession.opsets import TextLineReader as TextLineReader
from actorsession.opsets import VarLenFeature as VarLenFeature
from actorsession.opsets import WholeFileReader as WholeFileReader
from actorsession.opsets import as_string as as_string
from actorsession.opsets import betainc as betainc
from actorsession.opsets import decode_base64 as decode_base64
from actorsession.opsets import decode_compressed as decode_compressed
from actorsession.opsets import decode_csv as decode_csv
from actorsession.opsets import decode_json_example as decode_json_example
decode_raw: Any
from actorsession.opsets import deserialize_many_sparse as deserialize_many_sparse
from actorsession.opsets import digamma as digamma
from actorsession.opsets import edit_distance as edit_distance
from actorsession.opsets import encode_base64 as encode_base64
from actorsession.opsets import extract_volume_patches as extract_volume_patches
from actorsession.opsets import fake_quant_with_min_max_args as fake_quant_with_min_max_args
from actorsession.opsets import fake_quant_with_min_max_args_gradient as fake_quant_with_min_max_args_gradient
from actorsession.opsets import fake_quant_with_min_max_vars as fake_quant_with_min_max_vars
from actorsession.opsets import fake_quant_with_min_max_vars_gradient as fake_quant_with_min_max_vars_gradient
from actorsession.opsets import fake_quant_with_min_max_vars_per_channel as fake_quant_with_min_max_vars_per_channel
from actorsession.opsets import fake_quant_with_min_max_vars_per_channel_gradient as fake_quant_with_min_max_vars_per_channel_gradient
from actorsession.opsets import fft as fft
from actorsession.opsets import fft2d as fft2d
from actorsession.opsets import fft3d as fft3d
from actorsession.opsets import fingerprint as fingerprint
from actorsession.opsets import ifft as ifft
from actorsession.opsets import ifft2d as ifft2d
from actorsession.opsets import ifft3d as ifft3d
from actorsession.opsets import igamma as igamma
from actorsession.opsets import igammac as igammac
from actorsession.opsets import lbeta as lbeta
from actorsession.opsets import lgamma as lgamma
from actorsession.opsets import matching_files as matching_files
from actorsession.opsets import parse_example as parse_example
from actorsession.opsets import parse_sequence_example as parse_sequence_example
from actorsession.opsets import parse_single_example as parse_single_example
from actorsession.opsets import parse_single_sequence_example as parse_single_sequence_example
from actorsession.opsets import parse_tensor as parse_tensor
from actorsession.opsets import polygamma as polygamma
from actorsession.opsets import random_crop as random_crop
from actorsession.opsets import read_file as read_file
reduce_join: Any
from actorsession.opsets import regex_replace as regex_replace
from actorsession.opsets import serialize_many_sparse as serialize_many_sparse
from actorsession.opsets import serialize_sparse as serialize_sparse
from actorsession.opsets import serialize_tensor as serialize_tensor
sparse_add: Any
sparse_concat: Any
from actorsession.opsets import sparse_fill_empty_rows as sparse_fill_empty_rows
from actorsession.opsets import sparse_maximum as sparse_maximum
from actorsession.opsets import sparse_merge as sparse_merge
from actorsession.opsets import sparse_minimum as sparse_minimum
from actorsession.opsets import sparse_placeholder as sparse_placeholder
sparse_reduce_max: Any
sparse_reduce_max_sparse: Any
sparse_reduce_sum: Any
sparse_reduce_sum_sparse: Any
from actorsession.opsets import sparse_reorder as sparse_reorder
from actorsession.opsets import sparse_reset_shape as sparse_reset_shape
from actorsession.opsets import sparse_reshape as sparse_reshape
from actorsession.opsets import sparse_retain as sparse_retain
from actorsession.opsets import sparse_segment_mean as sparse_segment_mean
from actorsession.opsets import sparse_segment_sqrt_n as sparse_segment_sqrt_n
from actorsession.opsets import sparse_segment_sum as sparse_segment_sum
from actorsession.opsets import sparse_slice as sparse_slice
from actorsession.opsets import sparse_softmax as sparse_softmax
sparse_split: Any
from actorsession.opsets import sparse_tensor_dense_matmul as sparse_tensor_dense_matmul
from actorsession.opsets import sparse_tensor_to_dense as sparse_tensor_to_dense
from actorsession.opsets import sparse_to_dense as sparse_to_dense
from actorsession.opsets import sparse_to_indicator as sparse_to_indicator
from actorsession.opsets import sparse_transpose as sparse_transpose
from actorsession.opsets import string_join as string_join
string_split: Any
from actorsession.opsets import string_strip as string_strip
string_to_hash_bucket: Any
from actorsession.opsets import string_to_hash_bucket_fast as string_to_hash_bucket_fast
from actorsession.opsets import string_to_hash_bucket_strong as string_to_hash_bucket_strong
string_to_number: Any
from actorsession.opsets import substr as substr
from actorsession.opsets import tables_initializer as tables_initializer
from actorsession.opsets import write_file as write_file
from actorsession.opsets import zeta as zeta
from actorsession.opsets.images.patches import extract_volume_patches as extract_volume_patches
from actorsession.opsets.quantisation.conversions import dequantize as dequantize
from actorsession.opsets.quantisation.conversions import quantize as quantize
from actorsession.opsets.quantisation.conversions import quantize_v2 as quantize_v2
from actorsession.opsets.quantisation.neural import quantized_concat as quantized_concat
from actorsession.opsets.text.printing import print_ as print

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
"complex128", "complex64", "concat", "cond", "confusion_matrix", "conj", "constant",
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
