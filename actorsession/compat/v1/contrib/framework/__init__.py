"""``tf.contrib.framework``: scopes of arguments, variables of models, checkpoints, and the global step."""

from __future__ import annotations

from actorsession.compat.v1.internals.module_paths import add_modules
from actorsession.compat.v1.ops.arguments import older_names

_NAMES = {
    "actorsession.compat.v1.internals.nest": "*=nest",
    "actorsession.compat.v1": "TensorSpec py_func",
    "actorsession.compat.v1.internals.framework": "_get_graph_from_inputs=get_graph_from_inputs",
    "actorsession.compat.v1.internals.python_tools": ("deprecated deprecated_arg_values deprecated_args"),
    "actorsession.compat.v1.graphs.tensors": "is_tensor",
    "actorsession.namespaces.math": "is_non_decreasing is_strictly_increasing",
    "actorsession.ops": "Print=print_op argsort sort zeros_initializer=zero_initializer",
    "actorsession.train": (
        "assert_global_step create_global_step get_global_step get_or_create_global_step "
        "init_from_checkpoint list_variables load_checkpoint load_variable"
    ),
    ".arg_scopes": ("add_arg_scope arg_scope arg_scoped_arguments current_arg_scope has_arg_scope"),
    ".checkpoints": ("assign_from_checkpoint assign_from_checkpoint_fn assign_from_values assign_from_values_fn"),
    ".conditions": "smart_case smart_cond smart_constant_value",
    ".names": "prepend_name_scope strip_name_scope",
    ".shapes": (
        "assert_or_get_global_step assert_same_float_dtype assert_scalar assert_scalar_int "
        "convert_to_tensor_or_sparse_tensor reduce_sum_n remove_squeezable_dimensions "
        "with_same_shape with_shape"
    ),
    ".variables": (
        "add_model_variable filter_variables get_local_variables get_model_variables "
        "get_name_scope get_trainable_variables get_unique_variable get_variable_full_name "
        "get_variables get_variables_by_name get_variables_by_suffix get_variables_to_restore "
        "global_variable local_variable model_variable variable"
    ),
}

__all__, __getattr__, __dir__ = older_names(__name__, _NAMES)

add_modules(__name__)
