"""Functions that update variables, the older form of the methods of ``Variable``."""

from __future__ import annotations

from typing import Any

from actorsession.graph.operation import ReferenceTensor, Tensor
from actorsession.ops.variables.reference_variable import ReferenceVariable, reference_read, variable_of
from actorsession.ops.variables.updates import batch_places
from actorsession.ops.variables.variable import Variable

__all__ = [
    "assign", "assign_add", "assign_sub", "batch_scatter_update", "count_up_to", "scatter_add",
    "scatter_div", "scatter_max", "scatter_min", "scatter_mul", "scatter_nd_add", "scatter_nd_sub",
    "scatter_nd_update", "scatter_sub", "scatter_update",
]  # fmt: skip


def _changed(ref: Any) -> Variable:
    """Return the object with the methods that change what ``ref`` stands for."""
    if isinstance(ref, ReferenceTensor):
        return variable_of(ref)
    # What an update gives inside of loop bodies and branches is the value that it left.
    if isinstance(ref, Tensor) and (reference := reference_read(ref)) is not None:
        return variable_of(reference, [ref.op])
    variable: Variable = ref
    return variable


def assign(ref: Variable | Tensor, value: Any, validate_shape: bool | None = None, name: str | None = None) -> Any:
    """Replace a variable's value; see ``Variable.assign``.

    Args:
        ref: the variable, or a part of one that square brackets read.
        value: the new value.
        validate_shape: whether the value must have the shape of a reference variable. Other variables that
            were made with ``validate_shape=False`` accept any shape, all others only their own.
        name: wanted name of the update.
    """
    changed: Any = _changed(ref)
    if isinstance(changed, ReferenceVariable):
        checked = validate_shape is None or validate_shape
        return changed.assign(value, name=name, validate_shape=checked)
    # By name: the ``assign`` of a part of a variable, ``variable[...]``, has no other arguments.
    return ref.assign(value, name=name)


def assign_add(ref: Variable, value: Any, name: str | None = None) -> Any:
    """Add to a variable's value; see ``Variable.assign``."""
    return _changed(ref).assign_add(value, name=name)


def assign_sub(ref: Variable, value: Any, name: str | None = None) -> Any:
    """Subtract from a variable's value; see ``Variable.assign``."""
    return _changed(ref).assign_sub(value, name=name)


def count_up_to(ref: Variable, limit: int, name: str | None = None) -> Tensor:
    """Increment a variable up to a limit; see ``Variable.count_up_to``.

    Args:
        ref: a scalar variable of an integer type.
        limit: the limit.
        name: wanted name.
    """
    return _changed(ref).count_up_to(limit, name)


def scatter_add(ref: Variable, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """Add ``updates`` to the rows ``indices`` of a variable.

    Args:
        ref: the variable, of rank 1 or more.
        indices: int32 or int64, any shape.
        updates: shape ``indices.shape + ref.shape[1:]``, or a scalar for all of them.
        name: wanted name of the update.

    Returns:
        A tensor that reads the variable after the update.
    """
    return _changed(ref).scattered("ResourceScatterAdd", indices, updates, name)


def scatter_sub(ref: Variable, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """Subtract ``updates`` from the rows ``indices`` of a variable; see ``scatter_add``."""
    return _changed(ref).scattered("ResourceScatterSub", indices, updates, name)


def scatter_update(ref: Variable, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """Replace the rows ``indices`` of a variable by ``updates``; see ``scatter_add``."""
    return _changed(ref).scattered("ResourceScatterUpdate", indices, updates, name)


def scatter_mul(ref: Variable, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """Multiply the rows ``indices`` of a variable by ``updates``; see ``scatter_add``."""
    return _changed(ref).scattered("ResourceScatterMul", indices, updates, name)


def scatter_div(ref: Variable, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """Divide the rows ``indices`` of a variable by ``updates``; see ``scatter_add``.

    Integers are divided towards zero, and never by zero.
    """
    return _changed(ref).scattered("ResourceScatterDiv", indices, updates, name)


def scatter_min(ref: Variable, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """Take the minimum of the rows ``indices`` of a variable and ``updates``, element by element."""
    return _changed(ref).scattered("ResourceScatterMin", indices, updates, name)


def scatter_max(ref: Variable, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """Take the maximum of the rows ``indices`` of a variable and ``updates``, element by element."""
    return _changed(ref).scattered("ResourceScatterMax", indices, updates, name)


def scatter_nd_update(ref: Variable, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """Replace single elements or blocks of a variable; see ``Variable.scatter_nd_update``."""
    return _changed(ref).scatter_nd_update(indices, updates, name)


def scatter_nd_add(ref: Variable, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """Add to single elements or blocks of a variable; see ``Variable.scatter_nd_update``."""
    return _changed(ref).scatter_nd_add(indices, updates, name)


def scatter_nd_sub(ref: Variable, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """Subtract from single elements or blocks; see ``Variable.scatter_nd_update``."""
    return _changed(ref).scatter_nd_sub(indices, updates, name)


def batch_scatter_update(ref: Variable, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """Replace rows in each member of a batch in a variable.

    Args:
        ref: the variable.
        indices: shape ``[b1, ..., bk, n]``: positions on axis k.
        updates: shape ``indices.shape + ref.shape[k + 1:]``.
        name: wanted name of the update.

    Returns:
        A tensor that reads the variable after the update.
    """
    with ref.graph.as_default():
        places = batch_places(indices)
    return _changed(ref).scatter_nd_update(places, updates, name)
