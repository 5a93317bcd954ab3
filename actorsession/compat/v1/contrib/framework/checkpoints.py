"""Values of variables from checkpoints and dicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from actorsession import ops
from actorsession.compat.v1 import logging
from actorsession.compat.v1.contrib.framework.variables import get_variable_full_name
from actorsession.compat.v1.train.checkpoints.savers import Saver
from actorsession.graph.operation import Operation
from actorsession.train import load_checkpoint

__all__ = ["assign_from_checkpoint", "assign_from_checkpoint_fn", "assign_from_values", "assign_from_values_fn"]


def _by_name(var_list: Any) -> dict[str, list[Any]]:
    """Return variables by the names that a checkpoint has them under."""
    if isinstance(var_list, Mapping):
        return {
            name: list(members) if isinstance(members, (list, tuple)) else [members]
            for name, members in var_list.items()
        }
    by_name: dict[str, list[Any]] = {}
    for variable in var_list:
        by_name.setdefault(get_variable_full_name(variable), []).append(variable)
    return by_name


def assign_from_checkpoint(
    model_path: str, var_list: Any, ignore_missing_vars: bool = False
) -> tuple[Operation, dict[Any, Any]]:
    """Return an operation that gives variables the values of a checkpoint, and its feeds.

    Args:
        model_path: the path of the checkpoint.
        var_list: variables, or variables by the names that the checkpoint has them under.
        ignore_missing_vars: whether variables that it does not have are passed over.

    Raises:
        ValueError: for a variable that it does not have, or has in another shape.
    """
    reader = load_checkpoint(model_path)
    values: dict[Any, Any] = {}
    for name, variables in _by_name(var_list).items():
        if not reader.has_tensor(name):
            said = f"Checkpoint is missing variable [{name}]"
            if not ignore_missing_vars:
                raise ValueError(said)
            logging.warning(said)
            continue
        whole = reader.get_tensor(name)
        for variable in variables:
            values[variable.op.name] = (variable, _part(whole, variable, name))
    return _assigned(values)


def _part(whole: Any, variable: Any, name: str) -> Any:
    saved = getattr(variable, "_save_slice_info", None)
    if saved:
        places = zip(saved.var_offset, saved.var_shape, strict=True)
        whole = whole[tuple(slice(start, start + size) for start, size in places)]
    shape = variable.shape
    if not shape.is_compatible_with(whole.shape):
        raise ValueError(
            f"Total size of new array must be unchanged for {name} lh_shape: [{list(whole.shape)}], "
            f"rh_shape: [{shape.as_list()}]"
        )
    return whole


def _assigned(values: Mapping[str, tuple[Any, Any]]) -> tuple[Operation, dict[Any, Any]]:
    assigned, feeds = [], {}
    for variable, value in values.values():
        fed = ops.placeholder(variable.dtype.base_dtype, np.shape(value))
        assigned.append(ops.assign(variable, fed))
        feeds[fed] = value
    return ops.group(*assigned), feeds


def assign_from_checkpoint_fn(
    model_path: str, var_list: Any, ignore_missing_vars: bool = False, reshape_variables: bool = False
) -> Callable[[Any], None] | None:
    """Return a function of a session that gives variables the values of a checkpoint.

    Args:
        model_path: the path of the checkpoint.
        var_list: variables, or variables by the names that the checkpoint has them under.
        ignore_missing_vars: whether variables that it does not have are passed over.
        reshape_variables: whether values of another shape and as many elements are taken.

    Returns:
        The function; ``None`` if there is nothing to restore.

    Raises:
        ValueError: for no variables at all.
    """
    if not var_list:
        raise ValueError("var_list cannot be empty")
    known: Any = var_list
    if ignore_missing_vars:
        reader = load_checkpoint(model_path)
        by_name = (
            var_list if isinstance(var_list, Mapping) else {get_variable_full_name(each): each for each in var_list}
        )
        known = {name: each for name, each in by_name.items() if reader.has_tensor(name)}
        for name in sorted(set(by_name) - set(known)):
            logging.warning(f"Variable {name} missing in checkpoint {model_path}")
    if not known:
        logging.warning("No Variables to restore")
        return None
    saver = Saver(known, reshape=reshape_variables)
    return lambda session: saver.restore(session, model_path)


def assign_from_values(var_names_to_values: Mapping[str, Any]) -> tuple[Operation, dict[Any, Any]]:
    """Return an operation that gives variables values, and its feeds.

    Args:
        var_names_to_values: the values by the names of variables.

    Raises:
        ValueError: for a name that no variable has.
    """
    known = {variable.op.name: variable for variable in ops.global_variables()}
    values = {}
    for name, value in var_names_to_values.items():
        if name not in known:
            raise ValueError(f"Variable [{name}] wasn't found")
        values[name] = (known[name], value)
    return _assigned(values)


def assign_from_values_fn(var_names_to_values: Mapping[str, Any]) -> Callable[[Any], None]:
    """Return a function of a session that gives variables values; see ``assign_from_values``."""
    assigned, feeds = assign_from_values(var_names_to_values)
    return lambda session: session.run(assigned, feeds)
