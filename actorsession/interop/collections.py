"""Variables and collections as messages.

The form of a collection depends on its elements: variables are written as ``VariableDef``, operations and
tensors by name, numbers and strings as they are. ``register_proto_function`` registers how a collection of
other objects is written and read. ``meta_graph`` uses this module.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any

from actorsession.graph.extension import PROTO_VIEWS
from actorsession.graph.graph import Graph, get_default_graph
from actorsession.graph.operation import Operation, Tensor
from actorsession.interop import protos
from actorsession.interop.tabled import message_class
from actorsession.ops import GraphKeys, Variable
from actorsession.ops.variables.creation import VariableAggregation, VariableSynchronization
from actorsession.ops.variables.reference_variable import ReferenceVariable
from actorsession.ops.variables.save_slices import SaveSliceInfo
from actorsession.records import dataclass

__all__ = [
    "collection_proto",
    "is_restored_by_function",
    "register_proto_function",
    "restore_collection",
    "variable_from_proto",
    "variable_to_proto",
    "without_scope",
]


# -- variables -----------------------------------------------------------------------------------


def variable_to_proto(variable: Variable, export_scope: str | None = None) -> protos.VariableDef:
    """Return a variable as a message with the names of its nodes.

    Args:
        variable: the variable.
        export_scope: a name scope to strip from all names.
    """
    names = {
        "variable_name": variable.name,
        "initializer_name": variable.initializer.name,
        "snapshot_name": variable._element.name,
    }
    if variable.initial_value is not None:
        names["initial_value_name"] = variable.initial_value.name
    proto = protos.VariableDef(
        **{key: without_scope(name, export_scope) for key, name in names.items()},
        is_resource=variable._is_resource,
        trainable=variable.trainable,
        synchronization=int(variable.synchronization.value),
        aggregation=int(variable.aggregation.value),
    )
    info = variable._get_save_slice_info()
    if info is not None:
        slices = proto.save_slice_info_def
        slices.full_name = info.full_name
        slices.full_shape.extend(info.full_shape)
        slices.var_offset.extend(info.var_offset)
        slices.var_shape.extend(info.var_shape)
    return proto


def variable_from_proto(proto: protos.VariableDef, graph: Graph, import_scope: str | None = None) -> Variable:
    """Return the variable that consists of existing nodes of a graph.

    Args:
        proto: the names of the nodes.
        graph: the graph that holds them.
        import_scope: a name scope to put before all names.

    Raises:
        ValueError: for names of nodes that form no variable.
        KeyError: for names that are not in the graph.
    """

    def tensor(name: str) -> Tensor:
        return graph.get_tensor_by_name(_within(name, import_scope))

    handle = tensor(proto.variable_name)
    is_reference = handle.op.op_def.makes_reference
    if handle.op.type != "VarHandleOp" and not is_reference:
        raise ValueError(
            f"{proto.variable_name!r} is a {handle.op.type}, but a variable is a VarHandleOp or a VariableV2"
        )
    read = "read:0" if is_reference else "Read/ReadVariableOp:0"
    snapshot = proto.snapshot_name or f"{proto.variable_name.partition(':')[0]}/{read}"
    first = proto.initial_value_name  # writers before TensorFlow 1.5 do not name it
    slices = proto.save_slice_info_def
    parts: Mapping[str, Any] = {
        "_handle": handle,
        "_initializer": graph.get_operation_by_name(_within(proto.initializer_name, import_scope)),
        "_initial_value": tensor(first) if first else None,
        "_element": tensor(snapshot),
        "_trainable": proto.trainable,
        "_constraint": None,
        "_kinds": _kinds(proto, not is_reference),
        "_known_shape": None,
        "_cached": None,
        "_slice_info": SaveSliceInfo(
            slices.full_name, list(slices.full_shape), list(slices.var_offset), list(slices.var_shape)
        )
        if proto.HasField("save_slice_info_def")
        else None,
    }
    # The nodes exist already, so nothing is built and variable creators are not called.
    variable = object.__new__(ReferenceVariable if is_reference else Variable)
    for name, value in parts.items():
        setattr(variable, name, value)
    return variable


def _kinds(proto: protos.VariableDef, is_resource: bool) -> tuple[Any, ...]:
    return (is_resource, VariableSynchronization(proto.synchronization), VariableAggregation(proto.aggregation))


def _within(name: str, scope: str | None) -> str:
    return f"{scope.rstrip('/')}/{name}" if scope else name


def without_scope(name: str, scope: str | None) -> str:
    """Return a name without the given scope prefix."""
    prefix = f"{scope.rstrip('/')}/" if scope else ""
    return name.removeprefix(prefix)


# -- collections ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Functions:
    """The converters between the objects of a collection and messages."""

    proto_type: type[Any] | None
    to_proto: Callable[..., Any] | None
    from_proto: Callable[..., Any] | None


_FUNCTIONS: dict[str, _Functions] = {}


def register_proto_function(
    collection_name: str,
    proto_type: type[Any] | None = None,
    to_proto: Callable[..., Any] | None = None,
    from_proto: Callable[..., Any] | None = None,
) -> None:
    """Register how the objects of a collection are written and read.

    Args:
        collection_name: the collection.
        proto_type: the class of the messages, with ``FromString``.
        to_proto: converts an object, with ``export_scope=``, to a message, or to ``None`` to omit the object.
        from_proto: converts a message, with ``import_scope=``, to an object.

    Raises:
        TypeError: if a converter is not callable.
    """
    for function in (to_proto, from_proto):
        if function is not None and not callable(function):
            raise TypeError(f"the conversions of {collection_name!r} must be functions, got {function!r:.100}")
    _FUNCTIONS[collection_name] = _Functions(proto_type, to_proto, from_proto)


_OF_VARIABLES = (
    GraphKeys.GLOBAL_VARIABLES,
    GraphKeys.LOCAL_VARIABLES,
    GraphKeys.METRIC_VARIABLES,
    GraphKeys.MODEL_VARIABLES,
    GraphKeys.TRAINABLE_VARIABLES,
    GraphKeys.MOVING_AVERAGE_VARIABLES,
    GraphKeys.GLOBAL_STEP,
)


def _variable_of(handle: Tensor) -> Variable | None:
    """Return the variable with the given handle, if it is in a collection of the graph."""
    for key in _OF_VARIABLES:
        for variable in handle.graph.get_collection(key):
            if isinstance(variable, Variable) and variable.handle is handle:
                return variable
    return None


def _read_variable(proto: protos.VariableDef, import_scope: str | None = None) -> Variable:
    # A variable is one object, even if it is in several collections.
    graph = get_default_graph()
    variable = variable_from_proto(proto, graph, import_scope)
    known = _variable_of(variable.handle)
    return variable if known is None else known


for _key in _OF_VARIABLES:
    register_proto_function(_key, protos.VariableDef, variable_to_proto, _read_variable)


def _write_variable(variable: Variable, scope: str | None) -> protos.VariableDef | None:
    outside = scope and not variable.name.startswith(f"{scope.rstrip('/')}/")
    return None if outside else variable_to_proto(variable, scope)


PROTO_VIEWS.fill("Variable.to_proto", _write_variable)
PROTO_VIEWS.fill("Variable.from_proto", _read_variable)


def collection_proto(key: str, values: list[Any], scope: str | None) -> protos.CollectionDef:
    """Return a collection as a message.

    Args:
        key: the name of the collection.
        values: its elements.
        scope: a name scope to strip from names.

    Raises:
        TypeError, ValueError: for values of a kind that no message can hold.
    """
    proto = protos.CollectionDef()
    functions = _FUNCTIONS.get(key)
    if functions is not None and functions.to_proto is not None:
        written = [functions.to_proto(value, export_scope=scope) for value in values]
        proto.bytes_list.value.extend([w.SerializeToString() for w in written if w is not None])
    elif all(isinstance(v, (Tensor, Operation, Variable)) for v in values):
        proto.node_list.value.extend([without_scope(v.name, scope) for v in values])
    elif all(isinstance(v, (str, bytes)) for v in values):
        proto.bytes_list.value.extend([v.encode() if isinstance(v, str) else v for v in values])
    elif all(isinstance(v, float) for v in values):
        proto.float_list.value.extend(values)
    elif all(isinstance(v, protos.Any) for v in values):
        proto.any_list.value.extend(values)
    else:
        proto.int64_list.value.extend(values)
    return proto


def _renamed(message: Any, rename: Callable[[str], str]) -> Any:
    """Return a message in which all strings are names, and are given other ones."""
    renamed = message.copy()
    _rename(renamed, rename)
    return renamed


def _rename(message: Any, rename: Callable[[str], str]) -> None:
    for field, value in message.ListFields():
        if field.key:
            items = {rename(key): rename(item) for key, item in value.items()}
            value.clear()
            value.update(items)
        elif field.scalar is None:
            for part in value if field.repeated else [value]:
                _rename(part, rename)
        elif field.repeated:
            value[:] = [rename(item) if isinstance(item, str) else item for item in value]
        elif isinstance(value, str):
            setattr(message, field.name, rename(value))


def _write_context(context: Any, export_scope: str | None = None) -> Any:
    outside = export_scope and not context.context_name.startswith(f"{export_scope.rstrip('/')}/")
    return None if outside else _renamed(context, lambda name: without_scope(name, export_scope))


def _read_context(message: Any, import_scope: str | None = None) -> Any:
    return _renamed(message, lambda name: _within(name, import_scope))


# How TensorFlow knows its branches and loops again. They are found in the graph here, and kept as messages.
for _key, _name in (("cond_context", "CondContextDef"), ("while_context", "WhileContextDef")):
    register_proto_function(_key, message_class(_name), _write_context, _read_context)


def restore_collection(key: str, written: protos.CollectionDef, graph: Graph, scope: str | None) -> None:
    """Add the elements that a message holds to a collection of a graph; their names are below ``scope``."""
    kind = written.WhichOneof("kind")
    if kind is None:
        return
    values = list(getattr(written, kind).value)
    functions = _FUNCTIONS.get(key)
    if kind == "bytes_list" and functions is not None and functions.from_proto is not None:
        assert functions.proto_type is not None
        for value in values:
            message = functions.proto_type.FromString(value)
            graph.add_to_collection(key, functions.from_proto(message, import_scope=scope))
    elif kind == "node_list":
        for value in values:
            graph.add_to_collection(key, _element(value, graph, scope))
    else:
        for value in values:
            # As in TensorFlow, any text counts as a name.
            if isinstance(value, bytes) and scope:
                with contextlib.suppress(UnicodeDecodeError):
                    value = _within(value.decode(), scope)
            graph.add_to_collection(key, value)


def _element(name: str, graph: Graph, scope: str | None) -> Any:
    """Return the operation, tensor or variable with the given name."""
    element = graph.as_graph_element(_within(name, scope))
    variable = _variable_of(element) if isinstance(element, Tensor) else None
    return element if variable is None else variable


def is_restored_by_function(key: str) -> bool:
    """Return whether a collection holds objects with a registered converter, such as variables."""
    return key in _FUNCTIONS
