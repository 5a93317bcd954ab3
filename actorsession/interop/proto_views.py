"""Operations, their types and shapes as TensorFlow's messages, such as ``op.node_def`` and ``op.op_def``.

The module fills ``graph.extension.PROTO_VIEWS`` when it is imported. Attributes have the form that TensorFlow
returns: strings as bytes, lists as lists, element types as ``DType``, shapes and tensors as messages.
Attributes such as ``T``, which operations here do not store because they follow from the inputs, are derived.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from actorsession.graph.dtypes import as_dtype
from actorsession.graph.extension import PROTO_VIEWS
from actorsession.graph.op_signatures import REQUIRED, Arg, tensorflow_signature
from actorsession.graph.operation import Operation
from actorsession.graph.registry import OpDef
from actorsession.graph.shape import TensorShape
from actorsession.interop import protos
from actorsession.interop.attributes import attr_of, attr_proto
from actorsession.interop.enums import DATA_TYPES, dtype_number
from actorsession.interop.exporter import attributes_of, node_of
from actorsession.interop.tensors import make_tensor_proto, shape_proto

__all__: list[str] = []


def _node_def(op: Operation) -> protos.NodeDef:
    return node_of(op.plain, _inputs(op))


def _get_attr(op: Operation, name: str) -> Any:
    signature = tensorflow_signature(op.op_def.name)
    kind = signature.attrs[name].type if signature and name in signature.attrs else None
    value = op.attrs.get(name)
    if value is None and kind is not None:
        try:
            value, _ = attributes_of(op.plain, _inputs(op)).get(name, (None, kind))
        except ValueError:
            value = None  # no form in TensorFlow, so nothing can be derived
    if value is None and kind == "shape":
        value = TensorShape(None)
    if value is None and name not in op.attrs:
        raise ValueError(
            f"Operation {op.name!r} has no attr named {name!r}: its type is {op.type}, and it has "
            f"{sorted({*op.attrs, *(signature.attrs if signature else ())}) or 'none'}"
        )
    return _shown(value, kind)


def _op_def(op_def: OpDef) -> protos.OpDef:
    return _definition(op_def.name, op_def.stateful)


@functools.cache
def _definition(name: str, stateful: bool) -> protos.OpDef:
    """Return an operation type as TensorFlow declares it; for a type of this library alone, only its name."""
    op_def = protos.OpDef(name=name, is_stateful=stateful)
    signature = tensorflow_signature(name)
    if signature is None:
        return op_def
    for args, field in ((signature.inputs, op_def.input_arg), (signature.outputs, op_def.output_arg)):
        for arg in args:
            field.add().CopyFrom(_argument(arg, arg.type in signature.attrs))
    for attr in signature.attrs.values():
        said = op_def.attr.add(name=attr.name, type=attr.type)
        if attr.default not in (REQUIRED, None) and not (attr.type == "type" and isinstance(attr.default, str)):
            said.default_value.CopyFrom(attr_proto(attr.default, attr.type))
    return op_def


def _argument(arg: Arg, is_attr: bool) -> protos.OpDef.ArgDef:
    arg_def = protos.OpDef.ArgDef(name=arg.name, number_attr=arg.number, is_ref=arg.is_ref)
    if arg.is_list:
        arg_def.type_list_attr = arg.type
    elif is_attr:
        arg_def.type_attr = arg.type
    else:
        # Most types have their names from Python; ``half`` and similar types have those from C++.
        arg_def.type = DATA_TYPES.get(f"DT_{arg.type.upper()}") or dtype_number(as_dtype(arg.type))
    return arg_def


def _inputs(op: Operation) -> Any:
    return tuple([tensor.spec for tensor in op.inputs])


def _shown(value: Any, kind: str | None) -> Any:
    """Return a value in TensorFlow's form; a value that no message can hold is returned as it is."""
    if kind == "shape":
        return shape_proto(TensorShape(value))
    if kind == "list(shape)":
        return [shape_proto(TensorShape(item)) for item in value]
    if isinstance(value, (list, tuple)):
        return [_shown(item, None) for item in value]
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, TensorShape):
        return shape_proto(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return make_tensor_proto(value)
    return value


PROTO_VIEWS.fill("Operation.attr", attr_of)
PROTO_VIEWS.fill("Operation.node_def", _node_def)
PROTO_VIEWS.fill("Operation.get_attr", _get_attr)
PROTO_VIEWS.fill("OpDef", _op_def)
PROTO_VIEWS.fill("TensorShape.as_proto", shape_proto)
