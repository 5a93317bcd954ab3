"""Validation of nodes that came from elsewhere: over a link or from a file, and not from builders of ``ops``.

A node is described by what is wrong with it, as ``function_fault`` does. The rules are TensorFlow's:
those of its ValidateExternalGraphDefSyntax for names, and of its ValidateNodeDef for attributes and for the
numbers and types of inputs and outputs, which the table of signatures has. Masters and workers call this
before anything reads an attribute.

Invariant: a node without a fault has every attribute that its operation type stores, of the type that
kernels, shape functions and planners expect.
"""

from __future__ import annotations

import functools
import reprlib
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType, as_dtype
from actorsession.graph.function import ARGUMENT, CONSTRUCTS, STANDS_FOR, FunctionDef, function_fault
from actorsession.graph.names import OP_NAME, is_op_name
from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.graph.op_signatures import bind, output_types, signature_of
from actorsession.graph.registry import is_registered, lookup
from actorsession.graph.shape import TensorShape

__all__ = ["attribute_fault", "check_received", "class_fault", "name_fault", "types_fault"]


def _is_int(value: Any) -> bool:
    return type(value) is int and -(2**63) <= value < 2**63


def _is_list(value: Any, kind: str) -> bool:
    return isinstance(value, (list, tuple)) and all(map(_IS_OF[kind], value))


# Whether a value is of a type, by TensorFlow's name of the type; "text" is a string that is no bytes.
_IS_OF: Mapping[str, Callable[[Any], bool]] = {
    "int": _is_int,
    "float": lambda value: type(value) is float or _is_int(value),
    "bool": lambda value: type(value) is bool,
    "string": lambda value: isinstance(value, (str, bytes)),
    "text": lambda value: isinstance(value, str),
    "type": lambda value: isinstance(value, DType),
    "shape": lambda value: isinstance(value, TensorShape) or _is_list(value, "int"),
    "tensor": lambda value: isinstance(value, np.ndarray),
    "func": lambda value: type(value) is FunctionDef,
}
# Attributes that any node may have.
_WELL_KNOWN: Mapping[str, str] = {
    "_class": "list(text)",
    "_function": "text",
    "_gradient_op_type": "text",
    STANDS_FOR: "list(text)",
    "_output_shapes": "list(shape)",
}


def check_received(nodes: Iterable[NodeDef], known: Mapping[str, NodeDef]) -> None:
    """Check nodes that a client sends for its graph.

    Args:
        nodes: the nodes, in any order.
        known: those that the graph has.

    Raises:
        InvalidArgumentError: for the first node with a fault.
    """
    added = {node.name: node for node in nodes}

    def outputs_of(name: str) -> tuple[TensorSpec, ...]:
        producer = added.get(name) or known.get(name)
        return () if producer is None else producer.outputs

    for node in nodes:
        fault = _fault(node) or types_fault(node, outputs_of) or function_fault(node, check=_fault)
        if fault is not None:
            raise InvalidArgumentError(f"node {node.name!r:.200} {fault}", node=node.name, source=node.source)


def _fault(node: NodeDef) -> str | None:
    return name_fault(node) or attribute_fault(node)


def name_fault(node: NodeDef) -> str | None:
    """Return what is wrong with the name of a node, and with those that it reads; ``None`` for nothing."""
    wrong = [name for name, _ in node.inputs if name != ARGUMENT and not is_op_name(name)]
    wrong += [name for name in node.control_inputs if not is_op_name(name)]
    if not is_op_name(node.name):
        return f"has a name that does not match {OP_NAME}"
    return f"reads {reprlib.repr(wrong[0])}, and names match {OP_NAME}" if wrong else None


def attribute_fault(node: NodeDef) -> str | None:
    """Return what is wrong with the attributes of a node; ``None`` for nothing."""
    kinds = _kinds(node.op)
    for name, value in node.attrs.items():
        kind = kinds.get(name) or _WELL_KNOWN.get(name)
        if kind is not None and not _is_of(value, kind):
            return _wrong_attribute(node.op, name, kind, value)
    missing = [name for name in kinds if name not in node.attrs]
    return f"({node.op}) has no attribute {missing[0]!r}" if missing else None


def class_fault(attrs: Mapping[str, Any]) -> str | None:
    """Return what is wrong with the colocation groups of a node; ``None`` for nothing, as in most."""
    value = attrs.get("_class", ())
    return None if _is_of(value, "list(text)") else _wrong_attribute("", "_class", "list(text)", value)


def _wrong_attribute(op: str, name: str, kind: str, value: Any) -> str:
    of_op = f"({op}) " if op else ""
    expected = kind.replace("text", "string").removeprefix("?")
    actual = f"{type(value).__name__}: {reprlib.repr(value)}"
    return f"{of_op}has the attribute {name!r}, which must be of type {expected}, got {actual}"


def _is_of(value: Any, kind: str) -> bool:
    if kind.startswith("?"):
        return value is None or _is_of(value, kind[1:])
    if kind.startswith("list("):
        return _is_list(value, kind[5:-1])
    return _IS_OF[kind](value)


@functools.lru_cache(2048)
def _kinds(op: str) -> Mapping[str, str]:
    """Return the types of the attributes that nodes of an operation type store; with ``?``, or ``None``."""
    signature = signature_of(op)
    if signature is None or not is_registered(op):
        return {}
    return {
        name: ("?" if default is None else "") + signature.kinds[name]
        for name, default in lookup(op).attrs.items()
        if name in signature.kinds
    }


def types_fault(node: NodeDef, outputs_of: Callable[[str], tuple[TensorSpec, ...]]) -> str | None:
    """Return what is wrong with the numbers and element types of a node's inputs and outputs.

    Args:
        node: the node, whose attributes have no fault.
        outputs_of: returns the static types of the outputs of a node, none for one that there is not.
    """
    if node.op in CONSTRUCTS or signature_of(node.op) is None or not is_registered(node.op):
        return None  # a construct is checked against its functions
    given = [(outputs_of(name), index) for name, index in node.inputs]
    if any(not 0 <= index < len(specs) for specs, index in given):
        return None  # whoever looks for its inputs says so
    actual = tuple([spec.dtype for spec in node.outputs])
    try:
        expected = output_types(node.op, tuple([specs[at].dtype for specs, at in given]), node.attrs)
    except (TypeError, ValueError, KeyError) as exc:
        return f"({node.op}) cannot have such inputs: {exc}"
    if not expected:  # they follow from an attribute that is not stored
        expected = _unstored(node) or (actual if _fits(node, actual) else ())
    if actual == expected:
        return None
    names = [", ".join([dtype.name for dtype in dtypes]) or "none" for dtypes in (expected, actual)]
    return f"({node.op}) has outputs of the types {names[0]}, got {names[1]}"


def _unstored(node: NodeDef) -> tuple[DType, ...]:
    """Return the element types of outputs that follow from the value of a constant."""
    value = node.attrs.get("value")
    return (as_dtype(value.dtype),) if isinstance(value, np.ndarray) else ()


def _fits(node: NodeDef, dtypes: tuple[DType, ...]) -> bool:
    signature = signature_of(node.op)
    return signature is not None and bind(signature.outputs, dtypes, node.attrs, signature.attrs) is not None
