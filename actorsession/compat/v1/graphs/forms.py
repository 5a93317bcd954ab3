"""Functions with TensorFlow's arguments, where those of this library differ."""

from __future__ import annotations

import inspect
from typing import Any

from actorsession.graph import graph as defaults
from actorsession.graph import shape
from actorsession.graph.dtypes import DType, dtype_or_reference
from actorsession.graph.graph import get_default_graph
from actorsession.graph.reentrant import Reentrant

__all__ = ["TensorShape", "as_dtype", "colocate_with", "container", "device", "name_scope", "op_scope"]


class _Shown(type):
    """The type of a class whose objects are shapes as they are shown to programs."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return shape.shown(shape.TensorShape(*args, **kwargs))

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, shape.TensorShape)

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, shape.TensorShape)


class TensorShape(shape.TensorShape, metaclass=_Shown):
    """The static shape of a tensor; of ``Dimension`` objects, where shapes consist of them.

    Args:
        dims: as for ``actorsession.TensorShape``.
    """

    __slots__ = ()
    __signature__ = inspect.signature(shape.TensorShape)


def as_dtype(type_value: Any) -> DType:
    """Return the dtype of a name, a numpy type or a Python type.

    Raises:
        TypeError: if the value denotes no dtype.
    """
    try:
        return dtype_or_reference(type_value)
    except TypeError as exc:
        raise TypeError(
            f"Cannot convert the argument `type_value`: {type_value!r} to a TensorFlow DType: {exc}"
        ) from None


def device(device_name_or_function: Any) -> Reentrant[Any]:
    """Request a device for the operations built in the block; see ``actorsession.device``."""
    return defaults.device(device_name_or_function)


def container(container_name: str) -> Reentrant[Any]:
    """Put the state of operations built in the block into the resource container with that name."""
    return get_default_graph().container(container_name)


def colocate_with(op: Any, ignore_existing: bool = False) -> Reentrant[Any]:
    """Place the operations built in the block on the device of ``op``.

    Args:
        op: an operation, tensor or variable.
        ignore_existing: whether the blocks of this kind around it do not count.
    """
    return defaults.colocate_with(op, ignore_existing)


def name_scope(name: str | None, default_name: str | None = None, values: Any = None) -> Reentrant[Any]:
    """Prefix the names of the operations built in the block with a scope.

    Args:
        name: the scope; ``None`` for the default, ``""`` for none.
        default_name: the scope if ``name`` is ``None``.
        values: tensors of the graph, as in TensorFlow; only checked for the error below.

    Raises:
        TypeError: if there are values, but neither name nor default name.
    """
    if name is None and default_name is None and values is not None:
        raise TypeError(
            "`default_name` type (<class 'NoneType'>) is not a string type. You likely meant to pass this "
            "into the `values` kwarg."
        )
    return defaults.name_scope(default_name if name is None else name)


def op_scope(values: Any, name: str | None, default_name: str | None = None) -> Reentrant[Any]:
    """Return ``name_scope`` with its arguments in the order from before TensorFlow 1.0."""
    return name_scope(name, default_name, values)
