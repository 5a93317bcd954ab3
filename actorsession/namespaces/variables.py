"""Scopes, lists, partitions and updates of variables."""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.ops.variables.assignment": (
        "assign assign_add assign_sub batch_scatter_update count_up_to scatter_add scatter_div "
        "scatter_max scatter_min scatter_mul scatter_nd_add scatter_nd_sub scatter_nd_update "
        "scatter_sub scatter_update"
    ),
    "actorsession.ops.variables.creation": ("VariableAggregation VariableSynchronization variable_creator_scope"),
    "actorsession.ops.variables.get_variable": "get_local_variable get_variable",
    "actorsession.ops.variables.lists": (
        "global_variables global_variables_initializer is_variable_initialized local_variables "
        "local_variables_initializer model_variables moving_average_variables "
        "report_uninitialized_variables trainable_variables variables_initializer"
    ),
    "actorsession.ops.variables.partitioned": "PartitionedVariable",
    "actorsession.ops.variables.partitioners": (
        "fixed_size_partitioner min_max_variable_partitioner variable_axis_size_partitioner"
    ),
    "actorsession.ops.variables.scope": ("AUTO_REUSE VariableScope get_variable_scope no_regularizer variable_scope"),
    "actorsession.ops.variables.variable": "Variable",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
