"""Objects that a saver saves: variables, parts of variables, and objects with their own save methods.

Owns ``SaveableObject`` and the conversion of the arguments of a saver to a list of such objects, with the
names of their tensors in a checkpoint. ``saver_graph`` builds the nodes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from actorsession.graph.dtypes import DType
from actorsession.graph.graph import get_default_graph
from actorsession.graph.operation import Operation, Tensor
from actorsession.ops.arrays.shape import reshape
from actorsession.ops.build import graph_of
from actorsession.ops.graph_keys import GraphKeys
from actorsession.ops.variables.reference_variable import ReferenceVariable

__all__ = ["SaveSpec", "SaveableObject", "saveables_of", "slice_info"]

Restored: TypeAlias = "Sequence[Tensor]"


class SaveSpec:
    """One tensor to save.

    Args:
        tensor: the tensor.
        slice_spec: which slice of a larger tensor it is, as in ``"5 4 2,2:-"``; empty for a whole tensor.
        name: its name in the checkpoint.
        dtype: its element type; that of ``tensor`` if left out.
        device: device that saves it if the checkpoint is sharded; that of ``tensor`` if left out.
    """

    def __init__(
        self, tensor: Tensor, slice_spec: str, name: str, dtype: DType | None = None, device: str | None = None
    ) -> None:
        self.tensor = tensor
        self.slice_spec = slice_spec
        self.name = name
        self.dtype = dtype or tensor.dtype
        self.device = tensor.device if device is None else device


class SaveableObject:
    """An object with state that a saver saves and restores; a base class for users.

    Args:
        op: the graph element that represents it, such as its variable or table.
        specs: its tensors.
        name: name of the object.
    """

    def __init__(self, op: Any, specs: Sequence[SaveSpec], name: str) -> None:
        self.op = op
        self.specs = list(specs)
        self.name = name

    @property
    def device(self) -> str:
        """The device that saves the first tensor of the object."""
        return self.specs[0].device if self.specs else ""

    @property
    def graph(self) -> Any:
        """The graph of the object's tensors."""
        return graph_of(*[spec.tensor for spec in self.specs])

    def wanted_shapes(self) -> list[Any]:
        """Return the static shape required of each tensor in a checkpoint; ``None`` where any is allowed."""
        return [None] * len(self.specs)

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[Any] | None) -> Operation:
        """Return an operation that sets the object's state to the restored one.

        Args:
            restored_tensors: one for each of ``specs``.
            restored_shapes: shapes to which the tensors are reshaped first; ``None`` to use them unchanged.
        """
        raise NotImplementedError(f"{type(self).__name__} has no method restore, which a saver needs")


class _VariableSaveable(SaveableObject):
    """A variable, or a part of a partitioned variable."""

    def __init__(self, variable: Any, name: str) -> None:
        info = slice_info(variable)
        spec = SaveSpec(
            variable._as_graph_element(), "" if info is None else info.spec, name, variable.dtype, variable.device
        )
        super().__init__(variable, [spec], name)

    def wanted_shapes(self) -> list[Any]:
        return [self.op.shape]

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[Any] | None) -> Operation:
        [value] = restored_tensors
        if restored_shapes is not None and restored_shapes[0] is not None:
            value = reshape(value, list(restored_shapes[0].as_tuple()))
        more = {"validate_shape": self.op.shape.is_fully_defined()} if isinstance(self.op, ReferenceVariable) else {}
        assigned: Operation = self.op.assign(value, read_value=False, **more)
        return assigned


def slice_info(variable: Any) -> Any:
    """Return which part of a larger variable a variable is; ``None`` if it is no part."""
    get = getattr(variable, "_get_save_slice_info", None)
    return None if get is None else get()


def _is_variable(value: Any) -> bool:
    return hasattr(value, "assign") and hasattr(value, "_as_graph_element") and hasattr(value, "op")


def saveables_of(var_list: Any) -> list[SaveableObject]:
    """Return the objects that a saver saves, ordered by name.

    Args:
        var_list: variables and saveable objects in a list, or by the name that they have in the checkpoint. A
            partitioned variable, or a list of its parts, is saved under one name. ``None`` for all global
            variables and saveable objects of the default graph.

    Raises:
        ValueError: if two objects have one name, or one object has two names.
        TypeError: for anything else.
    """
    if var_list is None:
        graph = get_default_graph()
        var_list = [
            *graph.get_collection(GraphKeys.GLOBAL_VARIABLES),
            *graph.get_collection(GraphKeys.SAVEABLE_OBJECTS),
        ]
    named = dict(var_list) if isinstance(var_list, Mapping) else _variables_by_name(var_list)
    saveables: list[SaveableObject] = []
    for name in sorted(named):
        saveables += _saveables(name, named[name])
    _check_once(saveables)
    return saveables


def _variables_by_name(var_list: Any) -> dict[str, Any]:
    """Return variables by the name of their operation, and lists of parts by the name of the whole."""
    if isinstance(var_list, (str, bytes)) or not isinstance(var_list, Iterable):
        raise TypeError(f"var_list must be a list or a dict of variables, got {var_list!r:.100}")
    if _is_variable(var_list):
        raise TypeError(f"var_list must be a list or a dict of variables, got the single variable {var_list!r:.100}")
    by_name: dict[str, Any] = {}
    for item in var_list:
        info = slice_info(item)
        if isinstance(item, SaveableObject):
            name = item.name
        elif info is not None:
            name = info.full_name
        elif hasattr(item, "_get_variable_list"):
            name = item.name
        elif _is_variable(item):
            name = item.op.name
        else:
            raise TypeError(f"a saver can save variables and saveable objects, got {item!r:.100}")
        if info is not None:
            known = by_name.setdefault(name, [])
            if not isinstance(known, list):
                raise ValueError(_TWICE.format(name))
            known.append(item)
        elif name in by_name:
            raise ValueError(_TWICE.format(name))
        else:
            by_name[name] = item
    return by_name


_TWICE = "at least two variables have the name {!r}; pass a dict with distinct names"


def _saveables(name: Any, value: Any) -> list[SaveableObject]:
    if not isinstance(name, str):
        raise TypeError(f"the names of variables must be strings, got {name!r:.100}")
    if isinstance(value, SaveableObject):
        return [value]
    if hasattr(value, "_get_variable_list"):
        value = value._get_variable_list()
    if isinstance(value, (list, tuple)):
        for part in value:
            if slice_info(part) is None:
                raise ValueError(
                    f"the value for {name!r} is a list, which must contain the parts of one "
                    f"partitioned variable, but {part!r:.100} is not"
                )
        return [_VariableSaveable(part, name) for part in value]
    if not _is_variable(value):
        raise TypeError(f"the value for {name!r} must be a variable or a saveable object, got {value!r:.100}")
    return [_VariableSaveable(value, name)]


def _check_once(saveables: Sequence[SaveableObject]) -> None:
    seen: dict[Any, str] = {}
    for saveable in saveables:
        key = saveable.op if isinstance(saveable.op, str) else id(saveable.op)
        if key in seen:
            raise ValueError(f"{saveable.op!r} would be restored from two names, {seen[key]!r} and {saveable.name!r}")
        seen[key] = saveable.name
