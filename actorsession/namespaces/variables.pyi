# Written by scripts/generated.py.
"""Scopes, lists, partitions and updates of variables."""

from actorsession.ops.variables.assignment import (
assign as assign, assign_add as assign_add, assign_sub as assign_sub, batch_scatter_update as
batch_scatter_update, count_up_to as count_up_to, scatter_add as scatter_add, scatter_div as
scatter_div, scatter_max as scatter_max, scatter_min as scatter_min, scatter_mul as scatter_mul,
scatter_nd_add as scatter_nd_add, scatter_nd_sub as scatter_nd_sub, scatter_nd_update as
scatter_nd_update, scatter_sub as scatter_sub, scatter_update as scatter_update
)
from actorsession.ops.variables.creation import (
VariableAggregation as VariableAggregation, VariableSynchronization as VariableSynchronization,
variable_creator_scope as variable_creator_scope
)
from actorsession.ops.variables.get_variable import (
get_local_variable as get_local_variable, get_variable as get_variable
)
from actorsession.ops.variables.lists import (
global_variables as global_variables, global_variables_initializer as global_variables_initializer,
is_variable_initialized as is_variable_initialized, local_variables as local_variables,
local_variables_initializer as local_variables_initializer, model_variables as model_variables,
moving_average_variables as moving_average_variables, report_uninitialized_variables as
report_uninitialized_variables, trainable_variables as trainable_variables, variables_initializer as
variables_initializer
)
from actorsession.ops.variables.partitioned import PartitionedVariable as PartitionedVariable
from actorsession.ops.variables.partitioners import (
fixed_size_partitioner as fixed_size_partitioner, min_max_variable_partitioner as
min_max_variable_partitioner, variable_axis_size_partitioner as variable_axis_size_partitioner
)
from actorsession.ops.variables.scope import (
AUTO_REUSE as AUTO_REUSE, VariableScope as VariableScope, get_variable_scope as get_variable_scope,
no_regularizer as no_regularizer, variable_scope as variable_scope
)
from actorsession.ops.variables.variable import Variable as Variable


__all__ = [
"AUTO_REUSE", "PartitionedVariable", "Variable", "VariableAggregation", "VariableScope",
"VariableSynchronization", "assign", "assign_add", "assign_sub", "batch_scatter_update",
"count_up_to", "fixed_size_partitioner", "get_local_variable", "get_variable", "get_variable_scope",
"global_variables", "global_variables_initializer", "is_variable_initialized", "local_variables",
"local_variables_initializer", "min_max_variable_partitioner", "model_variables",
"moving_average_variables", "no_regularizer", "report_uninitialized_variables", "scatter_add",
"scatter_div", "scatter_max", "scatter_min", "scatter_mul", "scatter_nd_add", "scatter_nd_sub",
"scatter_nd_update", "scatter_sub", "scatter_update", "trainable_variables",
"variable_axis_size_partitioner", "variable_creator_scope", "variable_scope",
"variables_initializer"
]
