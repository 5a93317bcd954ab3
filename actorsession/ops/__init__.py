"""The words that graphs are written with: one file per domain, TensorFlow's names.

Owns all operation types: importing the package registers them and defines Python's operators on
tensors. Each op's signature, shape function, gradient and numpy kernel stand together in its file.
Imports the graph room only. Some files are named after their main function; as an attribute of the
package such a name is the function.
"""

from __future__ import annotations

from actorsession.ops import nn, training  # noqa: F401 - training only registers its ops
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
from actorsession.ops.assignment import (
    assign,
    assign_add,
    assign_sub,
    scatter_add,
    scatter_sub,
    scatter_update,
)
from actorsession.ops.build import constant, convert_to_tensor
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
from actorsession.ops.gather import gather, gather_nd, one_hot, scatter_nd, unsorted_segment_sum
from actorsession.ops.gradients import UnconnectedGradients, gradients
from actorsession.ops.graph_keys import GraphKeys
from actorsession.ops.indexed_slices import IndexedSlices, IndexedSlicesValue
from actorsession.ops.initializers import (
    Initializer,
    constant_initializer,
    glorot_normal_initializer,
    glorot_uniform_initializer,
    he_normal_initializer,
    he_uniform_initializer,
    ones_initializer,
    random_normal_initializer,
    random_uniform_initializer,
    truncated_normal_initializer,
    variance_scaling_initializer,
    zeros_initializer,
)
from actorsession.ops.layout import invert_permutation
from actorsession.ops.matmul import matmul
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
from actorsession.ops.script import py_func
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
from actorsession.ops.variable_lists import (
    global_variables,
    global_variables_initializer,
    is_variable_initialized,
    local_variables,
    local_variables_initializer,
    report_uninitialized_variables,
    trainable_variables,
    variables_initializer,
)
from actorsession.ops.variables import Variable

__all__ = [
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
    "logical_not", "logical_or", "logical_xor", "matmul", "maximum", "minimum", "mod", "multiply",
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
