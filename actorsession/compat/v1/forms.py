"""Functions that take their arguments in TensorFlow's form where ours have another."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from actorsession.graph import default_scopes as defaults
from actorsession.graph.dtypes import DType
from actorsession.graph.dtypes import as_dtype as our_dtype
from actorsession.graph.graph import get_default_graph

__all__ = ["as_dtype", "colocate_with", "container", "device", "name_scope", "op_scope"]


def as_dtype(type_value: Any) -> DType:
    """Return the dtype that a name, a numpy type or a Python type stands for.

    Raises:
        TypeError: if it stands for none.
    """
    return our_dtype(type_value)


def device(device_name_or_function: Any) -> AbstractContextManager[Any]:
    """Ask for a device for operations built in the block; see ``actorsession.device``."""
    return defaults.device(device_name_or_function)


def container(container_name: str) -> AbstractContextManager[Any]:
    """Put state of operations built in the block into a resource container of that name."""
    return get_default_graph().container(container_name)


def colocate_with(op: Any, ignore_existing: bool = False) -> AbstractContextManager[Any]:
    """Places operations built in the block where ``op`` is.

    Args:
        op: an operation, tensor or variable.
        ignore_existing: accepted for TensorFlow's sake, whose blocks around then do not count; here the
            innermost one always decides.
    """
    return defaults.colocate_with(op)


def name_scope(
    name: str | None, default_name: str | None = None, values: Any = None
) -> AbstractContextManager[Any]:
    """Put a name in front of those of operations built in the block.

    Args:
        name: the name; ``None`` for the default one, ``""`` for none.
        default_name: used where there is no name.
        values: tensors that say in which graph this is.

    Raises:
        TypeError: if there are values, but neither name nor default name.
    """
    if name is None and default_name is None and values is not None:
        raise TypeError(
            "`default_name` type (<class 'NoneType'>) is not a string type. You likely meant to pass this "
            "into the `values` kwarg."
        )
    return defaults.name_scope(default_name if name is None else name)


def op_scope(
    values: Any, name: str | None, default_name: str | None = None
) -> AbstractContextManager[Any]:
    """``name_scope`` as it was called before TensorFlow 1.0; the same arguments in another order."""
    return name_scope(name, default_name, values)
