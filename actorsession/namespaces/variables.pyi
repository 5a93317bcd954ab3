# Written by scripts/generated.py.
"""Scopes, lists, partitions and updates of variables."""

from actorsession.ops.variables.assignment import assign as assign
from actorsession.ops.variables.assignment import assign_add as assign_add
from actorsession.ops.variables.assignment import assign_sub as assign_sub
from actorsession.ops.variables.assignment import batch_scatter_update as batch_scatter_update
from actorsession.ops.variables.assignment import count_up_to as count_up_to
from actorsession.ops.variables.assignment import scatter_add as scatter_add
from actorsession.ops.variables.assignment import scatter_div as scatter_div
from actorsession.ops.variables.assignment import scatter_max as scatter_max
from actorsession.ops.variables.assignment import scatter_min as scatter_min
from actorsession.ops.variables.assignment import scatter_mul as scatter_mul
from actorsession.ops.variables.assignment import scatter_nd_add as scatter_nd_add
from actorsession.ops.variables.assignment import scatter_nd_sub as scatter_nd_sub
from actorsession.ops.variables.assignment import scatter_nd_update as scatter_nd_update
from actorsession.ops.variables.assignment import scatter_sub as scatter_sub
from actorsession.ops.variables.assignment import scatter_update as scatter_update
from actorsession.ops.variables.creation import VariableAggregation as VariableAggregation
from actorsession.ops.variables.creation import VariableSynchronization as VariableSynchronization
from actorsession.ops.variables.creation import variable_creator_scope as variable_creator_scope
from actorsession.ops.variables.get_variable import get_local_variable as get_local_variable
from actorsession.ops.variables.get_variable import get_variable as get_variable
from actorsession.ops.variables.lists import global_variables as global_variables
from actorsession.ops.variables.lists import global_variables_initializer as global_variables_initializer
from actorsession.ops.variables.lists import is_variable_initialized as is_variable_initialized
from actorsession.ops.variables.lists import local_variables as local_variables
from actorsession.ops.variables.lists import local_variables_initializer as local_variables_initializer
from actorsession.ops.variables.lists import model_variables as model_variables
from actorsession.ops.variables.lists import moving_average_variables as moving_average_variables
from actorsession.ops.variables.lists import report_uninitialized_variables as report_uninitialized_variables
from actorsession.ops.variables.lists import trainable_variables as trainable_variables
from actorsession.ops.variables.lists import variables_initializer as variables_initializer
from actorsession.ops.variables.partitioned import PartitionedVariable as PartitionedVariable
from actorsession.ops.variables.partitioners import fixed_size_partitioner as fixed_size_partitioner
from actorsession.ops.variables.partitioners import min_max_variable_partitioner as min_max_variable_partitioner
from actorsession.ops.variables.partitioners import variable_axis_size_partitioner as variable_axis_size_partitioner
from actorsession.ops.variables.scope import AUTO_REUSE as AUTO_REUSE
from actorsession.ops.variables.scope import VariableScope as VariableScope
from actorsession.ops.variables.scope import get_variable_scope as get_variable_scope
from actorsession.ops.variables.scope import no_regularizer as no_regularizer
from actorsession.ops.variables.scope import variable_scope as variable_scope
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
