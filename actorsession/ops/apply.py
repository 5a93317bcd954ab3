"""How the functions of ``raw`` add a node: conversion of operands, derived attributes, grouped outputs.

The functions here read the signature of the operation type. As in TensorFlow, a plain operand becomes a
constant that is named after the input, inside a name scope of the node; it gets the element type of the
operands that share its type attribute.
"""

from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from actorsession.graph.dtypes import DType, as_dtype, resource
from actorsession.graph.graph import get_default_graph
from actorsession.graph.op_signatures import REQUIRED, Arg, Attr, Signature, bind, signature_of
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.shape import TensorShape
from actorsession.ops.build import convert_to_tensor, graph_of, to_array

__all__ = ["Operand", "Operands", "Value", "many", "node", "one"]

Value: TypeAlias = Any
"""The value of an attribute that holds a tensor or a function."""

Operand: TypeAlias = Any
"""A tensor, or a value that converts to one."""

Operands: TypeAlias = Sequence[Any]
"""Values for an input that is a list."""


def one(op_type: str, operands: Sequence[Any], attrs: dict[str, Any], name: str | None) -> Tensor:
    """Add a node and return its only output; see ``node``."""
    return node(op_type, operands, attrs, name).outputs[0]


def many(op_type: str, operands: Sequence[Any], attrs: dict[str, Any], name: str | None) -> Any:
    """Add a node and return its outputs.

    Returns:
        A list if the type has one output that is a list; else a named tuple with a tensor or list per output.
    """
    op = node(op_type, operands, attrs, name)
    signature = _known(op_type)
    groups = list(_grouped(signature.outputs, op, signature))
    return groups[0] if len(groups) == 1 else _outputs_class(op_type)(*groups)


def node(op_type: str, operands: Sequence[Any], attrs: dict[str, Any], name: str | None) -> Operation:
    """Add a node and return its operation.

    Args:
        op_type: operation type; it has a row in the table of signatures.
        operands: an operand per input of the signature; a sequence of them for an input that is a list.
        attrs: values of the attributes that nodes store. One that is ``None`` and that follows from the
            inputs is derived.
        name: wanted name.

    Raises:
        TypeError: if a plain operand does not fit the element type of the others, or for an operand of a type
            that the operation does not accept.
        ValueError: for shapes that can never work.
    """
    inputs: Sequence[Tensor] = operands
    for operand in operands:
        if operand.__class__ is not Tensor:
            for arg, value in zip(_known(op_type).inputs, operands, strict=True):
                if arg.number and attrs.get(arg.number, 0) is None:
                    attrs[arg.number] = len(value)  # several lists of one type cannot be told apart later
                elif arg.is_list and attrs.get(arg.type, 0) is None:
                    attrs[arg.type] = tuple([_dtype_of(each) for each in value])
            inputs, name = _tensors(op_type, operands, name)
            break
    if attrs:
        _complete(op_type, inputs, attrs)
    graph = inputs[0].graph if inputs else get_default_graph()
    return graph.create_op(op_type, inputs, attrs, name)


def _dtype_of(value: Any) -> DType:
    return value.dtype if isinstance(value, Tensor) else as_dtype(to_array(value).dtype)


def _tensors(op_type: str, operands: Sequence[Any], name: str | None) -> tuple[Sequence[Tensor], str | None]:
    """Return the operands as tensors, and the name for the node: that of its scope if constants were made."""
    signature = _known(op_type)
    flat = [leaf for _, leaf, _ in _leaves(signature.inputs, operands)]
    if all(isinstance(leaf, Tensor) for leaf in flat):
        return flat, name
    graph = graph_of(*flat)
    with graph.name_scope(name or op_type) as scope:
        return _converted(signature, operands, graph), scope


def _complete(op_type: str, inputs: Sequence[Tensor], attrs: dict[str, Any]) -> None:
    """Bring attributes into the form that nodes store, and derive those that are ``None``."""
    for key, convert in _converters(op_type):
        if attrs[key] is not None:
            attrs[key] = convert(attrs[key])
    derived = [key for key, value in attrs.items() if value is None]
    if derived:
        _derive(_known(op_type), inputs, attrs, derived)


# Attributes of this library, and the attribute that TensorFlow has in their place.
_OF_INPUTS: Mapping[str, str] = {"dtype": "T", "component_types": "Tcomponents"}


def _single(value: Any) -> float:
    """Return an attribute of type float as TensorFlow keeps it: with the digits of a float32."""
    return float(np.float32(value))


_CONVERTERS: Mapping[str, Callable[[Any], Any]] = {
    "type": as_dtype,
    "list(type)": lambda value: tuple([as_dtype(item) for item in value]),
    "shape": TensorShape,
    "list(shape)": lambda value: tuple([TensorShape(item) for item in value]),
    "float": _single,
    "list(float)": lambda value: tuple([_single(item) for item in value]),
    "string": lambda value: value.decode() if isinstance(value, bytes) else value,
}


@functools.cache
def _converters(op_type: str) -> Sequence[tuple[str, Callable[[Any], Any]]]:
    """Return the functions that bring attributes into the form that nodes store, by name."""
    signature = _known(op_type)
    kinds = [(key, signature.kinds[key]) for key in signature.stored]
    return [
        (key, _CONVERTERS.get(kind, tuple)) for key, kind in kinds if kind in _CONVERTERS or kind.startswith("list(")
    ]


def _known(op_type: str) -> Signature:
    signature = signature_of(op_type)
    assert signature is not None
    return signature


def _leaves(args: Sequence[Arg], operands: Sequence[Any]) -> Iterator[tuple[Arg, Any, str]]:
    """Yield each single operand with its input and the name for a constant made of it."""
    for arg, operand in zip(args, operands, strict=True):
        if arg.number or arg.is_list:
            for index, item in enumerate(operand):
                yield arg, item, f"{arg.name}_{index}"
        else:
            yield arg, operand, arg.name


def _converted(signature: Signature, operands: Sequence[Any], graph: Any) -> list[Tensor]:
    """Return the operands as tensors; plain ones get the element type of those that share their attribute."""
    dtypes: dict[str, DType] = {}
    leaves = list(_leaves(signature.inputs, operands))
    for arg, value, _ in leaves:
        if not arg.is_list and hasattr(value, "_as_graph_element"):
            dtypes.setdefault(arg.type, value._as_graph_element().dtype)
    inputs = []
    for arg, value, name in leaves:
        if hasattr(value, "_as_graph_element"):
            tensor = convert_to_tensor(value, name=name, graph=graph)
        elif arg.is_list or arg.type in signature.attrs:
            dtype = None if arg.is_list else dtypes.get(arg.type)
            hint = None if arg.is_list or dtype else _default_for(signature.attrs[arg.type], value)
            tensor = convert_to_tensor(value, dtype, name=name, dtype_hint=hint, graph=graph)
        else:
            hint = None if arg.type in ("resource", "variant") else as_dtype(arg.type)
            tensor = convert_to_tensor(value, name=name, dtype_hint=hint, graph=graph)
        if not arg.is_list:
            dtypes.setdefault(arg.type, tensor.dtype)
        inputs.append(tensor)
    return inputs


def _default_for(attr: Attr, value: Any) -> DType | None:
    """Return the element type for a plain operand whose own is not accepted, if the attribute has a default.

    As in TensorFlow, which makes integers of an array of floats, or of an empty list, where it wants them.
    """
    if not isinstance(attr.default, DType):
        return None
    if attr.allowed:
        try:
            own = to_array(value)
        except (TypeError, ValueError, NotImplementedError):
            return None
        if own.dtype == object or attr.allows(as_dtype(own.dtype)):
            return None
    return attr.default


def _derive(signature: Signature, inputs: Sequence[Tensor], attrs: dict[str, Any], names: Sequence[str]) -> None:
    """Set attributes that follow from the types of the inputs, or from the variable behind a handle."""
    dtypes = [tensor.dtype for tensor in inputs]
    bound: Mapping[str, Any] = bind(signature.inputs, dtypes, attrs, signature.attrs) or {}
    handle = inputs[0].op if inputs and inputs[0].dtype is resource else None
    for name in names:
        value = bound.get(name, bound.get(_OF_INPUTS.get(name, "")))
        if value is not None:
            attrs[name] = value
        elif handle is not None and handle.attrs.get(name) is not None:
            attrs[name] = handle.attrs[name]
        elif (default := signature.stored.get(name, attrs)) is REQUIRED and name in signature.attrs:
            kind = signature.attrs[name].type
            raise TypeError(
                f"Expected list for '{name}' argument, not None."
                if kind.startswith("list(")
                else f"Expected {kind} for argument '{name}' not None."
            )
        elif default is not None:
            del attrs[name]  # the default, or an error that says that a value is needed


def _grouped(args: Sequence[Arg], op: Operation, signature: Signature) -> Iterator[Any]:
    """Yield the outputs of an operation by the outputs of its signature."""
    outputs = iter(op.outputs)
    dtypes = [tensor.dtype for tensor in op.inputs]
    known = {**(bind(signature.inputs, dtypes, op.attrs, signature.attrs) or {}), **op.attrs}
    if len(args) == 1:
        yield list(outputs)
        return
    for arg in args:
        if arg.number:
            yield [next(outputs) for _ in range(known[arg.number])]
        elif arg.is_list:
            yield [next(outputs) for _ in known[arg.type]]
        else:
            yield next(outputs)


@functools.cache
def _outputs_class(op_type: str) -> Any:
    """Return the named tuple of the outputs of an operation type."""
    return namedtuple(op_type, [arg.name for arg in _known(op_type).outputs])
