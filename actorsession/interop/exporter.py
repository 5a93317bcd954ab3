"""Conversion of graphs to TensorFlow's ``GraphDef``.

``graph_def_of`` writes each node with the attributes that TensorFlow requires and this library derives, above
all types and counts of inputs. Attributes that exist only in this library are written with the prefix
``PRIVATE``. TensorFlow keeps such attributes without reading them, so a graph survives a round trip
unchanged.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from actorsession.checkpoints import write_whole
from actorsession.checkpoints.seals import seal_message, seal_text
from actorsession.config.file_roots import path_text
from actorsession.graph import registry
from actorsession.graph.dtypes import DType, resource, string
from actorsession.graph.function import (
    BRANCHES,
    CALLS,
    LOOPS,
    STANDS_FOR,
    STATEFUL_CALL,
    SYMBOLIC_GRADIENT,
    FunctionDef,
    is_same_function,
)
from actorsession.graph.graph import Graph
from actorsession.graph.names import free_name
from actorsession.graph.node import GraphDef as PlainGraphDef
from actorsession.graph.node import NodeDef as PlainNodeDef
from actorsession.graph.node import TensorSpec
from actorsession.graph.op_signatures import REQUIRED, Arg, Signature, bind, tensorflow_signature
from actorsession.interop import protos, text_format
from actorsession.interop.attributes import FunctionName, attr_proto
from actorsession.interop.first_values import with_first_values, with_stand_ins
from actorsession.interop.functions import CASE, CONSTRUCTS, function_proto
from actorsession.interop.message import Message
from actorsession.interop.own_types import in_their_types
from actorsession.interop.signatures import FROM_HANDLE, GRAPH_DEF_VERSION, OF_TENSORFLOW, PRIVATE
from actorsession.interop.tensors import shape_proto

__all__ = ["attributes_of", "graph_def_of", "node_of", "write_graph", "write_message"]


def graph_def_of(
    graph: Graph | PlainGraphDef, *, after: int = 0, add_shapes: bool = False, into: protos.GraphDef | None = None
) -> protos.GraphDef:
    """Return a graph in TensorFlow's form.

    Args:
        graph: a graph, or a graph as plain data.
        after: how many operations to omit, counted from the first built.
        add_shapes: whether nodes carry the static shapes of their outputs, as ``_output_shapes``.
        into: an empty message to write to; a new one if omitted.

    Returns:
        The message.

    Raises:
        ValueError: for a node that has no such form.
    """
    plain = Graph.as_graph_def(graph) if isinstance(graph, Graph) else graph
    exported = protos.GraphDef() if into is None else into
    exported.versions.producer = GRAPH_DEF_VERSION
    writer = _Writer(exported.library, add_shapes)
    nodes = list(with_first_values(in_their_types(with_stand_ins(plain.nodes), after)))
    types = {node.name: node.outputs for node in (*plain.nodes, *nodes)}
    for node in nodes:
        inputs = tuple([types[name][index] for name, index in node.inputs])
        exported.node.adopt(writer.node(node, inputs))
    return exported


def node_of(node: PlainNodeDef, inputs: tuple[TensorSpec, ...]) -> protos.NodeDef:
    """Return one node in TensorFlow's form; the functions of a loop or branch are only named.

    Args:
        node: the node.
        inputs: static types of its inputs.

    Raises:
        ValueError: for a node that has no such form.
    """
    return _Writer(protos.FunctionDefLibrary(), add_shapes=False).node(node, inputs)


# Attributes that only this library has: in a file the name of a function is that of ``f``, and the Exits that
# a loop stands for read it (``with_stand_ins``).
_OURS = frozenset({"_function", CASE, STANDS_FOR})


class _Writer:
    """A writer of nodes; it adds the functions of loops, branches and datasets to a library.

    Args:
        library: the library that receives the functions.
        add_shapes: whether nodes carry the static shapes of their outputs.
    """

    def __init__(self, library: protos.FunctionDefLibrary, add_shapes: bool) -> None:
        self._library = library
        self._add_shapes = add_shapes
        self._names: set[str] = set()
        self._shared: dict[tuple[str, tuple[TensorSpec, ...]], list[tuple[str, FunctionDef]]] = {}

    def node(self, node: PlainNodeDef, inputs: tuple[TensorSpec, ...]) -> protos.NodeDef:
        """Return a node in TensorFlow's form; ``inputs`` are the static types of its inputs."""
        # The gradient of a function has been expanded by now, and is called like any other function.
        op = STATEFUL_CALL if node.op == SYMBOLIC_GRADIENT else node.op
        proto = protos.NodeDef(name=node.name, op=op, device=node.device)
        proto.input.extend([n if index == 0 else f"{n}:{index}" for n, index in node.inputs])
        proto.input.extend([f"^{name}" for name in node.control_inputs])
        try:
            is_construct = node.op in CONSTRUCTS
            attrs = self._construct(node, inputs) if is_construct else attributes_of(node, inputs)
            for name in sorted(attrs):
                value, kind = attrs[name]
                if isinstance(value, FunctionDef) and kind == "func":
                    value = FunctionName(self._function(node, name, value))
                proto.attr.adopt(name, attr_proto(value, kind))
        except (TypeError, ValueError) as exc:
            raise ValueError(f"node {node.name!r} ({node.op}) cannot be exported to a GraphDef: {exc}") from exc
        outputs = _outputs(node, inputs)
        if self._add_shapes and outputs:
            shapes = proto.attr["_output_shapes"].list.shape
            shapes.extend([shape_proto(spec.shape) for spec in outputs])
        return proto

    def _construct(self, node: PlainNodeDef, inputs: tuple[TensorSpec, ...]) -> dict[str, tuple[Any, str | None]]:
        """Return the attributes of a loop or branch, and add its functions to the library."""
        attrs: dict[str, tuple[Any, str | None]] = {
            name: (value, None) for name, value in node.attrs.items() if name.startswith("_") and name not in _OURS
        }
        for key in CONSTRUCTS[node.op]:
            functions = node.attrs[key]
            if isinstance(functions, FunctionDef):
                attrs[key] = (FunctionName(self._function(node, key, functions)), "func")
            else:  # the branches of a Case
                names = [self._function(node, f"{key}_{k}", each) for k, each in enumerate(functions)]
                attrs[key] = (tuple(map(FunctionName, names)), "list(func)")
        outputs = _outputs(node, inputs)
        if node.op in LOOPS:
            attrs["T"] = (tuple([spec.dtype for spec in outputs]), "list(type)")
        elif node.op in CALLS:
            passed = inputs[CALLS[node.op] :]
            attrs["Tin"] = (tuple([spec.dtype for spec in passed]), "list(type)")
            attrs["Tout"] = (tuple([spec.dtype for spec in outputs]), "list(type)")
            return attrs
        else:
            if node.op in BRANCHES:
                attrs["Tcond"] = (inputs[0].dtype, "type")
            attrs["Tin"] = (tuple([spec.dtype for spec in inputs[1:]]), "list(type)")
            attrs["Tout"] = (tuple([spec.dtype for spec in outputs]), "list(type)")
        attrs["output_shapes"] = (tuple([spec.shape for spec in outputs]), "list(shape)")
        return attrs

    def _function(self, node: PlainNodeDef, key: str, function: FunctionDef) -> str:
        """Write a function of a node and return its name in the library; calls of one function share it."""
        named = node.attrs.get("_function") if node.op in CALLS else None
        shared = self._shared.setdefault((str(named), function.arguments), [])
        if named is not None and node.op != SYMBOLIC_GRADIENT:
            for name, other in shared:
                if is_same_function(function, other):
                    return name
        name = self._free_name(str(named or f"{node.name}_{key}".replace("/", "_")))
        if named is not None:
            shared.append((name, function))
        proto = function_proto(name, function, self.node, carried=key == "body")
        self._library.function.adopt(proto)
        return name

    def _free_name(self, base: str) -> str:
        name = free_name(base, self._names)
        self._names.add(name)
        return name


def _outputs(node: PlainNodeDef, inputs: tuple[TensorSpec, ...]) -> tuple[TensorSpec, ...]:
    """Return the outputs that a node has in TensorFlow's form, where loops also return their captures."""
    rest = inputs[len(node.outputs) :] if node.op in LOOPS else ()
    return (*node.outputs, *rest)


def attributes_of(node: PlainNodeDef, inputs: tuple[TensorSpec, ...]) -> dict[str, tuple[Any, str | None]]:
    """Return the attribute values with TensorFlow's names of their types.

    Args:
        node: the node.
        inputs: static types of its inputs.

    Raises:
        ValueError: for a node that does not fit the signature of TensorFlow's operation type.
    """
    signature = tensorflow_signature(node.op)
    if signature is None:
        return {name: (value, None) for name, value in node.attrs.items() if value is not None}
    bound = _bound(node, inputs, signature)
    attrs: dict[str, tuple[Any, str | None]] = {}
    for name, attr in signature.attrs.items():
        value = bound.get(name, node.attrs.get(name, attr.default))
        if value is REQUIRED:
            raise ValueError(f"TensorFlow's {node.op} needs the attribute {name!r}, which the node does not have")
        if value is not None:
            attrs[name] = (value, attr.type)
    defaults = registry.lookup(node.op).attrs if registry.is_registered(node.op) else {}
    for name, value in node.attrs.items():
        if name not in attrs and _is_needed(name, value, node, inputs, defaults):
            attrs[name if name.startswith("_") else PRIVATE + name] = (value, None)
    return attrs


def _is_needed(
    name: str, value: Any, node: PlainNodeDef, inputs: Sequence[TensorSpec], defaults: Mapping[str, Any]
) -> bool:
    """Return whether an attribute that TensorFlow does not have would otherwise be lost."""
    if name.startswith("_"):
        return True
    if name in FROM_HANDLE and inputs and inputs[0].dtype is resource:
        return False
    meant = OF_TENSORFLOW.get(node.op, {}).get(name, defaults.get(name))
    return value is not None and not _is_same(value, meant)


def _is_same(value: Any, default: Any) -> bool:
    return type(value) is type(default) and bool(value == default)


def _bound(node: PlainNodeDef, inputs: tuple[TensorSpec, ...], signature: Signature) -> dict[str, Any]:
    bound: dict[str, Any] = {}
    for args, specs, what in ((signature.inputs, inputs, "inputs"), (signature.outputs, node.outputs, "outputs")):
        known = {**node.attrs, **bound}
        of_args = bind(args, _written_types(args, specs), known, signature.attrs)
        if of_args is None:
            raise ValueError(f"it has {len(specs)} {what}, which do not match TensorFlow's {node.op}")
        bound = {**of_args, **bound}
    return bound


def _written_types(args: Sequence[Arg], specs: Sequence[TensorSpec]) -> list[DType]:
    """Return the types of inputs or outputs as TensorFlow has them, where older handles refer to a string."""
    dtypes = [spec.dtype for spec in specs]
    if args and args[0].is_ref and dtypes and dtypes[0] is resource:
        dtypes[0] = string
    return dtypes


# -- files ---------------------------------------------------------------------------------------


def write_graph(graph_or_graph_def: Any, logdir: str | os.PathLike[str], name: str, as_text: bool = True) -> str:
    """Write a graph to a file, in TensorFlow's form, with a checksum that TensorFlow ignores.

    Args:
        graph_or_graph_def: a graph, a graph as plain data, or a message.
        logdir: the folder, created if it does not exist.
        name: the file's name.
        as_text: whether to write the text form.

    Returns:
        The path of the file.

    Raises:
        ValueError: for a graph that has no such form.
        OpError: if the file system refuses.
    """
    message = graph_or_graph_def
    if isinstance(message, (Graph, PlainGraphDef)):
        message = graph_def_of(message)
    path = Path(path_text(logdir, "logdir")) / path_text(name, "name")
    write_message(message, path, as_text=as_text)
    return str(path)


def write_message(message: Message, path: str | os.PathLike[str], *, as_text: bool) -> None:
    """Write a message to a file atomically, with a checksum: a reader never sees half of it.

    Args:
        message: the message.
        path: the file.
        as_text: whether to write the text form.

    Raises:
        OpError: if the file system refuses.
    """
    if as_text:
        content = seal_text(text_format.MessageToBytes(message))
    else:
        content = seal_message(message.SerializeToString())
    write_whole(path_text(path), lambda file: file.writelines([content]))
