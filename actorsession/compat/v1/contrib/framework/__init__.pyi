# Written by scripts/generated.py.
"""``tf.contrib.framework``: scopes of arguments, variables of models, checkpoints, and the global step."""

from typing import Any

from actorsession.compat.v1 import TensorSpec as TensorSpec
from actorsession.compat.v1 import py_func as py_func
from actorsession.compat.v1.contrib.framework.arg_scopes import add_arg_scope as add_arg_scope
from actorsession.compat.v1.contrib.framework.arg_scopes import arg_scope as arg_scope
from actorsession.compat.v1.contrib.framework.arg_scopes import arg_scoped_arguments as arg_scoped_arguments
from actorsession.compat.v1.contrib.framework.arg_scopes import current_arg_scope as current_arg_scope
from actorsession.compat.v1.contrib.framework.arg_scopes import has_arg_scope as has_arg_scope
from actorsession.compat.v1.contrib.framework.checkpoints import assign_from_checkpoint as assign_from_checkpoint
from actorsession.compat.v1.contrib.framework.checkpoints import assign_from_checkpoint_fn as assign_from_checkpoint_fn
from actorsession.compat.v1.contrib.framework.checkpoints import assign_from_values as assign_from_values
from actorsession.compat.v1.contrib.framework.checkpoints import assign_from_values_fn as assign_from_values_fn
from actorsession.compat.v1.contrib.framework.conditions import smart_case as smart_case
from actorsession.compat.v1.contrib.framework.conditions import smart_cond as smart_cond
from actorsession.compat.v1.contrib.framework.conditions import smart_constant_value as smart_constant_value
from actorsession.compat.v1.contrib.framework.names import prepend_name_scope as prepend_name_scope
from actorsession.compat.v1.contrib.framework.names import strip_name_scope as strip_name_scope
from actorsession.compat.v1.contrib.framework.shapes import assert_or_get_global_step as assert_or_get_global_step
from actorsession.compat.v1.contrib.framework.shapes import assert_same_float_dtype as assert_same_float_dtype
from actorsession.compat.v1.contrib.framework.shapes import assert_scalar as assert_scalar
from actorsession.compat.v1.contrib.framework.shapes import assert_scalar_int as assert_scalar_int
from actorsession.compat.v1.contrib.framework.shapes import convert_to_tensor_or_sparse_tensor as convert_to_tensor_or_sparse_tensor
from actorsession.compat.v1.contrib.framework.shapes import reduce_sum_n as reduce_sum_n
from actorsession.compat.v1.contrib.framework.shapes import remove_squeezable_dimensions as remove_squeezable_dimensions
from actorsession.compat.v1.contrib.framework.shapes import with_same_shape as with_same_shape
from actorsession.compat.v1.contrib.framework.shapes import with_shape as with_shape
from actorsession.compat.v1.contrib.framework.variables import add_model_variable as add_model_variable
from actorsession.compat.v1.contrib.framework.variables import filter_variables as filter_variables
from actorsession.compat.v1.contrib.framework.variables import get_local_variables as get_local_variables
from actorsession.compat.v1.contrib.framework.variables import get_model_variables as get_model_variables
from actorsession.compat.v1.contrib.framework.variables import get_name_scope as get_name_scope
from actorsession.compat.v1.contrib.framework.variables import get_trainable_variables as get_trainable_variables
from actorsession.compat.v1.contrib.framework.variables import get_unique_variable as get_unique_variable
from actorsession.compat.v1.contrib.framework.variables import get_variable_full_name as get_variable_full_name
from actorsession.compat.v1.contrib.framework.variables import get_variables as get_variables
from actorsession.compat.v1.contrib.framework.variables import get_variables_by_name as get_variables_by_name
from actorsession.compat.v1.contrib.framework.variables import get_variables_by_suffix as get_variables_by_suffix
from actorsession.compat.v1.contrib.framework.variables import get_variables_to_restore as get_variables_to_restore
from actorsession.compat.v1.contrib.framework.variables import global_variable as global_variable
from actorsession.compat.v1.contrib.framework.variables import local_variable as local_variable
from actorsession.compat.v1.contrib.framework.variables import model_variable as model_variable
from actorsession.compat.v1.contrib.framework.variables import variable as variable
from actorsession.compat.v1.graphs.tensors import is_tensor as is_tensor
from actorsession.compat.v1.internals.framework import _get_graph_from_inputs as get_graph_from_inputs
from actorsession.compat.v1.internals import nest as nest
from actorsession.compat.v1.internals.python_tools import deprecated as deprecated
from actorsession.compat.v1.internals.python_tools import deprecated_arg_values as deprecated_arg_values
from actorsession.compat.v1.internals.python_tools import deprecated_args as deprecated_args
from actorsession.namespaces.math import is_non_decreasing as is_non_decreasing
from actorsession.namespaces.math import is_strictly_increasing as is_strictly_increasing
from actorsession.ops import Print as print_op
argsort: Any
from actorsession.ops import sort as sort
from actorsession.ops import zeros_initializer as zero_initializer
from actorsession.train import assert_global_step as assert_global_step
from actorsession.train import create_global_step as create_global_step
from actorsession.train import get_global_step as get_global_step
from actorsession.train import get_or_create_global_step as get_or_create_global_step
from actorsession.train import init_from_checkpoint as init_from_checkpoint
from actorsession.train import list_variables as list_variables
from actorsession.train import load_checkpoint as load_checkpoint
from actorsession.train import load_variable as load_variable

__all__ = [
"TensorSpec", "add_arg_scope", "add_model_variable", "arg_scope", "arg_scoped_arguments", "argsort",
"assert_global_step", "assert_or_get_global_step", "assert_same_float_dtype", "assert_scalar",
"assert_scalar_int", "assign_from_checkpoint", "assign_from_checkpoint_fn", "assign_from_values",
"assign_from_values_fn", "convert_to_tensor_or_sparse_tensor", "create_global_step",
"current_arg_scope", "deprecated", "deprecated_arg_values", "deprecated_args", "filter_variables",
"get_global_step", "get_graph_from_inputs", "get_local_variables", "get_model_variables",
"get_name_scope", "get_or_create_global_step", "get_trainable_variables", "get_unique_variable",
"get_variable_full_name", "get_variables", "get_variables_by_name", "get_variables_by_suffix",
"get_variables_to_restore", "global_variable", "has_arg_scope", "init_from_checkpoint",
"is_non_decreasing", "is_strictly_increasing", "is_tensor", "list_variables", "load_checkpoint",
"load_variable", "local_variable", "model_variable", "nest", "prepend_name_scope", "print_op",
"py_func", "reduce_sum_n", "remove_squeezable_dimensions", "smart_case", "smart_cond",
"smart_constant_value", "sort", "strip_name_scope", "variable", "with_same_shape", "with_shape",
"zero_initializer"
]
