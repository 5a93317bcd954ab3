"""Operations as programs of TensorFlow look at them: ``op.node_def`` and ``op.get_attr``.

Registers with ``graph.forms`` when it is imported. An attribute is given as TensorFlow gives it: strings as
bytes, lists as lists, element types as ``DType``, shapes and tensors as messages; and those are there as
well that an operation here does not keep, because they follow from its inputs, such as ``T``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.graph.forms import register_forms
from actorsession.graph.operation import Operation
from actorsession.graph.shape import TensorShape
from actorsession.interop import protos
from actorsession.interop.exporting import attributes_of, node_of
from actorsession.interop.signatures import signature_of
from actorsession.interop.tensors import make_tensor_proto, shape_proto

__all__: list[str] = []


class _Forms:
    """What ``graph.forms.Forms`` asks for."""

    def node(self, op: Operation) -> protos.NodeDef:
        return node_of(op.plain, _inputs(op))

    def attribute(self, op: Operation, name: str) -> Any:
        signature = signature_of(op.type)
        kind = signature.attrs[name].type if signature and name in signature.attrs else None
        value = op.attrs.get(name)
        if value is None and kind is not None:
            try:
                value, _ = attributes_of(op.plain, _inputs(op)).get(name, (None, kind))
            except ValueError:
                value = None  # no form in TensorFlow, so nothing is derived either
        if value is None and kind == "shape":
            value = TensorShape(None)
        if value is None and name not in op.attrs:
            raise ValueError(
                f"Operation {op.name!r} has no attr named {name!r}: its type is {op.type}, and it has "
                f"{sorted({*op.attrs, *(signature.attrs if signature else ())}) or 'none'}"
            )
        return _shown(value, kind)

    def shape(self, shape: TensorShape) -> protos.TensorShapeProto:
        return shape_proto(shape)


def _inputs(op: Operation) -> Any:
    return tuple([tensor.spec for tensor in op.inputs])


def _shown(value: Any, kind: str | None) -> Any:
    """A value as TensorFlow gives it; what no message can hold is given as it is."""
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


register_forms(_Forms())
