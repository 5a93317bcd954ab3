"""Updates of variables as functions, the older spelling of the methods of ``Variable``."""

from __future__ import annotations

from typing import Any

from actorsession.graph.operation import Tensor
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.variables import Variable

__all__ = ["assign", "assign_add", "assign_sub", "scatter_add", "scatter_sub", "scatter_update"]


def assign(
    ref: Variable,
    value: Any,
    validate_shape: bool | None = None,
    use_locking: bool | None = None,
    name: str | None = None,
) -> Any:
    """Replaces a variable's value; see ``Variable.assign``.

    Args:
        ref: the variable.
        value: the new value.
        validate_shape: accepted for TensorFlow's sake; a variable made with
            ``validate_shape=False`` takes any shape, all others only their own.
        use_locking: accepted for TensorFlow's sake.
        name: wanted name of the update.
    """
    return ref.assign(value, use_locking, name)


def assign_add(
    ref: Variable, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """Adds to a variable's value; see ``Variable.assign``."""
    return ref.assign_add(value, use_locking, name)


def assign_sub(
    ref: Variable, value: Any, use_locking: bool | None = None, name: str | None = None
) -> Any:
    """Subtracts from a variable's value; see ``Variable.assign``."""
    return ref.assign_sub(value, use_locking, name)


def _scatter(op_type: str, ref: Variable, indices: Any, updates: Any, name: str | None) -> Tensor:
    where = convert_to_tensor(indices, graph=ref.graph)
    values = convert_to_tensor(updates, ref.dtype, graph=ref.graph)
    return ref.read_after(ref.add_update(op_type, [where, values], name))


def scatter_add(
    ref: Variable, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Adds ``updates`` to the rows ``indices`` of a variable.

    Args:
        ref: the variable, of rank 1 or more.
        indices: int32 or int64, any shape.
        updates: shape ``indices.shape + ref.shape[1:]``, or a scalar for all of them.
        use_locking: accepted for TensorFlow's sake; updates are atomic anyway.
        name: wanted name of the update.

    Returns:
        A tensor that reads the variable after the update.
    """
    return _scatter("ResourceScatterAdd", ref, indices, updates, name)


def scatter_sub(
    ref: Variable, indices: Any, updates: Any, use_locking: bool = False, name: str | None = None
) -> Tensor:
    """Subtracts ``updates`` from the rows ``indices`` of a variable; see ``scatter_add``."""
    return _scatter("ResourceScatterSub", ref, indices, updates, name)


def scatter_update(
    ref: Variable, indices: Any, updates: Any, use_locking: bool = True, name: str | None = None
) -> Tensor:
    """Replaces the rows ``indices`` of a variable by ``updates``; see ``scatter_add``."""
    return _scatter("ResourceScatterUpdate", ref, indices, updates, name)
