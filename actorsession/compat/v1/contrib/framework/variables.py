"""Variables of models: how they are made, and how those of a scope are found."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from actorsession import ops
from actorsession.compat.v1.contrib.framework.arg_scopes import add_arg_scope
from actorsession.graph.dtypes import float32
from actorsession.graph.graph import add_to_collection, device, get_collection, get_default_graph
from actorsession.ops import GraphKeys

__all__ = [
    "add_model_variable",
    "filter_variables",
    "get_local_variables",
    "get_model_variables",
    "get_name_scope",
    "get_trainable_variables",
    "get_unique_variable",
    "get_variable_full_name",
    "get_variables",
    "get_variables_by_name",
    "get_variables_by_suffix",
    "get_variables_to_restore",
    "global_variable",
    "local_variable",
    "model_variable",
    "variable",
]


# -- making ----------------------------------------------------------------------------------------


@add_arg_scope
def variable(
    name: str,
    shape: Any = None,
    dtype: Any = None,
    initializer: Any = None,
    regularizer: Callable[..., Any] | None = None,
    trainable: bool = True,
    collections: Iterable[str] | None = None,
    caching_device: Any = None,
    device: Any = None,
    partitioner: Any = None,
    custom_getter: Callable[..., Any] | None = None,
    use_resource: bool | None = None,
    synchronization: Any = ops.VariableSynchronization.AUTO,
    aggregation: Any = ops.VariableAggregation.NONE,
) -> Any:
    """Return a new variable or that of a name; see ``tf.get_variable``.

    Args:
        name: the name below the current scope.
        shape: see ``tf.get_variable``, as for the others.
        dtype: see there.
        initializer: see there.
        regularizer: see there.
        trainable: see there.
        collections: the collections that it joins; that of global variables if left out.
        caching_device: see there.
        device: the device, or a function of the operation that returns it.
        partitioner: see there.
        custom_getter: what makes the variable instead of ``tf.get_variable``.
        use_resource: see there.
        synchronization: see there.
        aggregation: see there.
    """
    joined = list(collections) if collections is not None else [GraphKeys.GLOBAL_VARIABLES]
    getter: Callable[..., Any] = custom_getter or ops.get_variable
    with _on(device):
        return getter(
            name,
            shape=shape,
            dtype=dtype,
            initializer=initializer,
            regularizer=regularizer,
            trainable=trainable,
            collections=list(dict.fromkeys(joined)),
            caching_device=caching_device,
            partitioner=partitioner,
            use_resource=use_resource,
            synchronization=synchronization,
            aggregation=aggregation,
        )


def _on(where: Any) -> Any:
    return device(where or "")


@add_arg_scope
def model_variable(
    name: str,
    shape: Any = None,
    dtype: Any = float32,
    initializer: Any = None,
    regularizer: Callable[..., Any] | None = None,
    trainable: bool = True,
    collections: Iterable[str] | None = None,
    caching_device: Any = None,
    device: Any = None,
    partitioner: Any = None,
    custom_getter: Callable[..., Any] | None = None,
    use_resource: bool | None = None,
    synchronization: Any = ops.VariableSynchronization.AUTO,
    aggregation: Any = ops.VariableAggregation.NONE,
) -> Any:
    """Return a variable that belongs to the model, which checkpoints of models have; see ``variable``."""
    usual = [GraphKeys.GLOBAL_VARIABLES, GraphKeys.MODEL_VARIABLES]
    return variable(
        name,
        shape,
        dtype,
        initializer,
        regularizer,
        trainable,
        [*(collections or []), *usual],
        caching_device,
        device,
        partitioner,
        custom_getter,
        use_resource,
        synchronization,
        aggregation,
    )


def local_variable(
    initial_value: Any, validate_shape: bool = True, name: str | None = None, use_resource: Any = None
) -> Any:
    """Return a variable that no checkpoint has.

    Args:
        initial_value: the initial value, or a function that returns it.
        validate_shape: whether the value's shape has to be known.
        name: the name.
        use_resource: see ``tf.Variable``.
    """
    return ops.Variable(
        initial_value,
        trainable=False,
        collections=[GraphKeys.LOCAL_VARIABLES],
        validate_shape=validate_shape,
        name=name,
    )


def global_variable(
    initial_value: Any, validate_shape: bool = True, name: str | None = None, use_resource: Any = None
) -> Any:
    """Return a variable that is not trained; see ``local_variable``."""
    return ops.Variable(
        initial_value,
        trainable=False,
        collections=[GraphKeys.GLOBAL_VARIABLES],
        validate_shape=validate_shape,
        name=name,
    )


def add_model_variable(var: Any) -> None:
    """Let a variable belong to the model."""
    if not any(var is each for each in get_collection(GraphKeys.MODEL_VARIABLES)):
        add_to_collection(GraphKeys.MODEL_VARIABLES, var)


# -- finding ---------------------------------------------------------------------------------------


def get_variables(
    scope: Any = None, suffix: str | None = None, collection: str = GraphKeys.GLOBAL_VARIABLES
) -> list[Any]:
    """Return the variables of a scope.

    Args:
        scope: the scope or its name, as a pattern that begins names; all if left out.
        suffix: the end of names.
        collection: the collection that has them.
    """
    prefix = scope.name if isinstance(scope, ops.VariableScope) else scope
    variables = list(get_collection(collection, prefix))
    if suffix is None:
        return variables
    ending = suffix if ":" in suffix else f"{suffix}:0"
    return [each for each in variables if each.name.endswith(ending)]


def get_model_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """Return the variables of a model; see ``get_variables``."""
    return get_variables(scope, suffix, GraphKeys.MODEL_VARIABLES)


def get_local_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """Return the local variables; see ``get_variables``."""
    return get_variables(scope, suffix, GraphKeys.LOCAL_VARIABLES)


def get_trainable_variables(scope: Any = None, suffix: str | None = None) -> list[Any]:
    """Return the trainable variables; see ``get_variables``."""
    return get_variables(scope, suffix, GraphKeys.TRAINABLE_VARIABLES)


def get_variables_by_name(given_name: str, scope: Any = None) -> list[Any]:
    """Return the variables whose last part of the name is the given one."""
    suffix = f"/{given_name}:|^{given_name}:"
    return [each for each in get_variables(scope) if re.search(suffix, each.name)]


def get_variables_by_suffix(suffix: str, scope: Any = None) -> list[Any]:
    """Return the variables whose names end so."""
    return get_variables(scope, suffix)


def get_unique_variable(var_op_name: str) -> Any:
    """Return the variable of a name.

    Raises:
        ValueError: if there is none, or several.
    """
    variables = [each for each in get_variables(var_op_name) if each.op.name == var_op_name]
    if len(variables) != 1:
        raise ValueError(
            f"Variable {var_op_name} does not uniquely identify a variable: {len(variables)} have the name"
        )
    return variables[0]


def get_variables_to_restore(include: Sequence[str] | None = None, exclude: Sequence[str] | None = None) -> list[Any]:
    """Return the variables of scopes, without those of others.

    Args:
        include: names of scopes; all if left out.
        exclude: names of scopes that are left out.

    Raises:
        TypeError: for something other than a list.
    """
    for argument, names in (("include", include), ("exclude", exclude)):
        if names is not None and not isinstance(names, (list, tuple)):
            raise TypeError(f"{argument} is provided but is not a list or a tuple.")
    variables = get_variables() if include is None else [v for s in include for v in get_variables(s)]
    left_out = {id(v) for s in exclude or () for v in get_variables(s)}
    return [each for each in variables if id(each) not in left_out]


def filter_variables(
    var_list: Iterable[Any],
    include_patterns: Iterable[str] | None = None,
    exclude_patterns: Iterable[str] | None = None,
    reg_search: bool = True,
) -> list[Any]:
    """Return the variables whose names some patterns match, and others do not.

    Args:
        var_list: the variables.
        include_patterns: regular expressions, one of which has to match; all do if left out.
        exclude_patterns: regular expressions of which none may match.
        reg_search: whether a pattern may match anywhere in a name instead of at its beginning only.
    """
    matches = re.search if reg_search else re.match
    variables = list(var_list)
    included, excluded = list(include_patterns or ()), list(exclude_patterns or ())
    if included:
        variables = [v for v in variables if any(matches(each, v.name) for each in included)]
    return [v for v in variables if not any(matches(each, v.name) for each in excluded)]


def get_variable_full_name(var: Any) -> str:
    """Return the name under which checkpoints have a variable, which for a part is that of the whole."""
    saved = getattr(var, "_save_slice_info", None)
    return str(saved.full_name if saved else var.op.name)


def get_name_scope() -> str:
    """Return the name of the current name scope."""
    return str(get_default_graph().get_name_scope())
