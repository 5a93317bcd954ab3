"""Lists of variables: the collections that they join, and ops over all of them.

Owns initialisers of many variables at once, and checks which variables have a value. Built on
``variables.variable``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.graph.dtypes import string
from actorsession.graph.graph import get_default_graph
from actorsession.graph.operation import Operation, ReferenceTensor, Tensor
from actorsession.ops import raw
from actorsession.ops.arrays.gather import gather
from actorsession.ops.arrays.joining import stack
from actorsession.ops.arrays.shape import rank, reshape
from actorsession.ops.build import constant
from actorsession.ops.elements.comparison import logical_not, where
from actorsession.ops.flow import control
from actorsession.ops.graph_keys import GraphKeys
from actorsession.ops.variables.variable import Variable

__all__ = [
    "assert_variables_initialized",
    "global_variables",
    "global_variables_initializer",
    "is_variable_initialized",
    "local_variables",
    "local_variables_initializer",
    "model_variables",
    "moving_average_variables",
    "report_uninitialized_variables",
    "trainable_variables",
    "variables_initializer",
]


def global_variables(scope: str | None = None) -> list[Any]:
    """Return the variables of the default graph that are shared and saved.

    Args:
        scope: pattern; only variables whose name starts with a match of it are returned.
    """
    return get_default_graph().get_collection(GraphKeys.GLOBAL_VARIABLES, scope)


def trainable_variables(scope: str | None = None) -> list[Any]:
    """Return the variables of the default graph that optimisers change; see ``global_variables``."""
    return get_default_graph().get_collection(GraphKeys.TRAINABLE_VARIABLES, scope)


def local_variables(scope: str | None = None) -> list[Any]:
    """Return the variables of the default graph that belong to one process; see ``global_variables``."""
    return get_default_graph().get_collection(GraphKeys.LOCAL_VARIABLES, scope)


def model_variables(scope: str | None = None) -> list[Any]:
    """Return the variables of the default graph that inference needs; see ``global_variables``."""
    return get_default_graph().get_collection(GraphKeys.MODEL_VARIABLES, scope)


def moving_average_variables(scope: str | None = None) -> list[Any]:
    """Return the variables of the default graph that have moving averages; see ``global_variables``."""
    return get_default_graph().get_collection(GraphKeys.MOVING_AVERAGE_VARIABLES, scope)


def variables_initializer(var_list: Sequence[Variable], name: str = "init") -> Operation:
    """Return an operation that assigns each variable its initial value.

    Args:
        var_list: the variables; for an empty list the operation does nothing.
        name: wanted name.
    """
    return control.group(*[variable.initializer for variable in var_list], name=name)


def global_variables_initializer() -> Operation:
    """Return an operation that initialises all current global variables of the default graph."""
    return variables_initializer(global_variables())


def local_variables_initializer() -> Operation:
    """Return an operation that initialises all current local variables of the default graph."""
    return variables_initializer(local_variables())


def is_variable_initialized(variable: Any) -> Tensor:
    """Return a bool scalar that is true if a value was assigned.

    Args:
        variable: a variable, or the tensor that refers to one, as a graph has it under its name.
    """
    if not isinstance(variable, Tensor):
        initialized: Tensor = variable.is_initialized()
        return initialized
    if isinstance(variable, ReferenceTensor):
        return raw.IsVariableInitialized(variable)
    return raw.VarIsInitializedOp(variable)


def report_uninitialized_variables(
    var_list: Sequence[Variable] | None = None, name: str = "report_uninitialized_variables"
) -> Tensor:
    """Return the names of variables that have no value yet, as a string vector.

    Args:
        var_list: the variables to look at; all global and local ones if left out.
        name: name scope of the new nodes.
    """
    chosen = [*global_variables(), *local_variables()] if var_list is None else list(var_list)
    if not chosen:
        return constant(np.zeros(0, object), string, name=name)
    graph = chosen[0].graph
    with graph.as_default(), graph.name_scope(name):
        missing = where(logical_not(stack([v.is_initialized() for v in chosen])))
        return gather(constant([v.op.name for v in chosen]), reshape(missing, [-1]))


def assert_variables_initialized(var_list: Sequence[Variable] | None = None) -> Tensor | None:
    """Return a tensor whose step fails unless all variables have a value (an older function).

    Args:
        var_list: the variables to look at; all global and local ones if left out.

    Returns:
        The ranks of the values, a scalar if there is one variable; ``None`` without variables.
    """
    chosen = [*global_variables(), *local_variables()] if var_list is None else list(var_list)
    if not chosen:
        return None
    graph = chosen[0].graph
    with graph.as_default():
        reads = [variable.new_read() for variable in chosen]
        with graph.control_dependencies(reads):
            ranks = [rank(read) for read in reads]
        return ranks[0] if len(ranks) == 1 else stack(ranks)
