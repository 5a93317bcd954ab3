# Written by scripts/generated.py.
"""``tf.contrib.framework``: scopes of arguments, variables of models, checkpoints, and the global step."""

from actorsession.compat.v1 import TensorSpec as TensorSpec, py_func as py_func
from actorsession.compat.v1.contrib.framework.arg_scopes import (
add_arg_scope as add_arg_scope, arg_scope as arg_scope, arg_scoped_arguments as
arg_scoped_arguments, current_arg_scope as current_arg_scope, has_arg_scope as has_arg_scope
)
from actorsession.compat.v1.contrib.framework.checkpoints import (
assign_from_checkpoint as assign_from_checkpoint, assign_from_checkpoint_fn as
assign_from_checkpoint_fn, assign_from_values as assign_from_values, assign_from_values_fn as
assign_from_values_fn
)
from actorsession.compat.v1.contrib.framework.conditions import (
smart_case as smart_case, smart_cond as smart_cond, smart_constant_value as smart_constant_value
)
from actorsession.compat.v1.contrib.framework.names import (
prepend_name_scope as prepend_name_scope, strip_name_scope as strip_name_scope
)
from actorsession.compat.v1.contrib.framework.shapes import (
assert_or_get_global_step as assert_or_get_global_step, assert_same_float_dtype as
assert_same_float_dtype, assert_scalar as assert_scalar, assert_scalar_int as assert_scalar_int,
convert_to_tensor_or_sparse_tensor as convert_to_tensor_or_sparse_tensor, reduce_sum_n as
reduce_sum_n, remove_squeezable_dimensions as remove_squeezable_dimensions, with_same_shape as
with_same_shape, with_shape as with_shape
)
from actorsession.compat.v1.contrib.framework.variables import (
add_model_variable as add_model_variable, filter_variables as filter_variables, get_local_variables
as get_local_variables, get_model_variables as get_model_variables, get_name_scope as
get_name_scope, get_trainable_variables as get_trainable_variables, get_unique_variable as
get_unique_variable, get_variable_full_name as get_variable_full_name, get_variables as
get_variables, get_variables_by_name as get_variables_by_name, get_variables_by_suffix as
get_variables_by_suffix, get_variables_to_restore as get_variables_to_restore, global_variable as
global_variable, local_variable as local_variable, model_variable as model_variable, variable as
variable
)
from actorsession.compat.v1.graphs.tensors import is_tensor as is_tensor
from actorsession.compat.v1.internals import nest as nest
from actorsession.compat.v1.internals.framework import _get_graph_from_inputs as get_graph_from_inputs
from actorsession.compat.v1.internals.python_tools import (
deprecated as deprecated, deprecated_arg_values as deprecated_arg_values, deprecated_args as
deprecated_args
)
from actorsession.namespaces.math import (
is_non_decreasing as is_non_decreasing, is_strictly_increasing as is_strictly_increasing
)
from actorsession.ops import Print as print_op, sort as sort, zeros_initializer as zero_initializer
from actorsession.train import (
assert_global_step as assert_global_step, create_global_step as create_global_step, get_global_step
as get_global_step, get_or_create_global_step as get_or_create_global_step, init_from_checkpoint as
init_from_checkpoint, list_variables as list_variables, load_checkpoint as load_checkpoint,
load_variable as load_variable
)
from typing import Any

argsort: Any

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
