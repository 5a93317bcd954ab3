"""Transformations of graphs in TensorFlow's form: subgraphs, and variables turned into constants."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from actorsession.graph.dtypes import int32, string
from actorsession.graph.graph import Graph
from actorsession.graph.node import GraphDef as PlainGraphDef
from actorsession.graph.operation import Operation
from actorsession.graph.shape import TensorShape
from actorsession.interop.exporter import graph_def_of
from actorsession.interop.import_plan import split_input
from actorsession.interop.importer import import_graph_def
from actorsession.interop.protos import AttrValue, GraphDef, NodeDef
from actorsession.interop.tensors import make_tensor_proto

__all__ = [
    "convert_variables_to_constants",
    "extract_sub_graph",
    "import_graph_def",
    "must_run_on_cpu",
    "remove_training_nodes",
    "tensor_shape_from_node_def_name",
]


def _message(graph_def: Any) -> GraphDef:
    if isinstance(graph_def, (Graph, PlainGraphDef)):
        return graph_def_of(graph_def)
    if isinstance(graph_def, GraphDef):
        return graph_def
    raise TypeError(f"graph_def must be a GraphDef, got {type(graph_def).__name__}")


def _producer(text: str) -> str:
    return split_input(text)[0]


def _like(graph_def: GraphDef, nodes: Iterable[NodeDef]) -> GraphDef:
    """Return a graph with other nodes and the library and versions of a given graph."""
    graph = GraphDef()
    graph.node.extend(nodes)
    graph.library.MergeFrom(graph_def.library)
    graph.versions.CopyFrom(graph_def.versions)
    return graph


# -- parts ---------------------------------------------------------------------------------------


def extract_sub_graph(graph_def: Any, dest_nodes: Sequence[str]) -> GraphDef:
    """Return a graph of the given nodes and all nodes that they depend on.

    Args:
        graph_def: the graph, in TensorFlow's form or the library's own.
        dest_nodes: names of nodes.

    Returns:
        A new graph, with its nodes in their original order.

    Raises:
        TypeError: if ``graph_def`` is no graph or ``dest_nodes`` is a single string.
        AssertionError: for a name that is not in the graph.
    """
    message = _message(graph_def)
    if isinstance(dest_nodes, str):
        raise TypeError(f"dest_nodes must be a list of names, got {dest_nodes!r}")
    by_name = {node.name: node for node in message.node}
    waiting = list(dest_nodes)
    needed: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in needed:
            continue
        if name not in by_name:
            raise AssertionError(f"{name} is not in the graph")
        needed.add(name)
        waiting.extend([_producer(text) for text in by_name[name].input])
    return _like(message, [node for node in message.node if node.name in needed])


def remove_training_nodes(input_graph: Any, protected_nodes: Iterable[str] | None = None) -> GraphDef:
    """Return a graph without nodes that only training needs: ``CheckNumerics`` and ``Identity``.

    Args:
        input_graph: the graph.
        protected_nodes: names of nodes to keep.

    Returns:
        A new graph, in which the readers of a removed node read its input instead. Nodes with incoming or
        outgoing control dependencies are kept.
    """
    message = _message(input_graph)
    kept = set(protected_nodes or ())
    for node in message.node:
        for text in node.input:
            if text.startswith("^"):
                kept.update((node.name, text[1:]))
    passed = {
        node.name: node.input[0]
        for node in message.node
        if node.op in ("CheckNumerics", "Identity") and node.name not in kept and node.input
    }
    pruned = _like(message, [node for node in message.node if node.name not in passed])
    for node in pruned.node:
        node.input[:] = [_source(text, passed) for text in node.input]
        groups = node.attr["_class"].list.s if "_class" in node.attr else []
        groups[:] = [g for g in groups if g.decode("utf-8", "replace")[5:] not in passed]
        if "_class" in node.attr and not groups:
            del node.attr["_class"]
    return pruned


def _source(text: str, passed: Mapping[str, str]) -> str:
    seen = set()
    while text not in seen and _producer(text) in passed:
        seen.add(text)
        text = passed[_producer(text)]
    return text


# -- constants -----------------------------------------------------------------------------------


def convert_variables_to_constants(
    sess: Any,
    input_graph_def: Any,
    output_node_names: Sequence[str],
    variable_names_whitelist: Iterable[str] | None = None,
    variable_names_blacklist: Iterable[str] | None = None,
) -> GraphDef:
    """Return a graph in which variables are constants with their values in a session.

    Args:
        sess: a session of the graph; its ``run`` is called once.
        input_graph_def: the graph.
        output_node_names: names of the output nodes of the result.
        variable_names_whitelist: names of the variables to convert; all if omitted.
        variable_names_blacklist: names of variables to leave as variables.

    Returns:
        A new graph of the output nodes and the nodes that they depend on.

    Raises:
        AssertionError: for a name that is not in the graph.
        ValueError: for a variable that is used for more than reads.
        FailedPreconditionError: for an uninitialised variable.
    """
    message = extract_sub_graph(input_graph_def, list(output_node_names))
    frozen = _Frozen(message, variable_names_whitelist, variable_names_blacklist)
    reads = frozen.reads()
    fetched = sess.run({name: f"{read}:0" for name, read in reads.items()}) if reads else {}
    constant_graph = GraphDef()
    for node in message.node:
        for converted in frozen.converted(node, fetched):
            constant_graph.node.adopt(converted)
    constant_graph.library.MergeFrom(message.library)
    constant_graph.versions.CopyFrom(message.versions)
    return constant_graph


class _Frozen:
    """The nodes of a graph that pass variables on, and their replacements.

    Args:
        message: the graph.
        only: names of the variables to convert; all if ``None``.
        never: names of variables to leave as variables.
    """

    def __init__(self, message: GraphDef, only: Iterable[str] | None, never: Iterable[str] | None) -> None:
        self._nodes = {node.name: node for node in message.node}
        chosen, spared = None if only is None else set(only), set(never or ())
        # Reference variables, whose readers need no change.
        self._references = {
            node.name
            for node in message.node
            if node.op in ("Variable", "VariableV2")
            and node.name not in spared
            and (chosen is None or node.name in chosen)
        }
        # The variable of each node whose output is a handle.
        self._downstream = {
            node.name: node.name
            for node in message.node
            if node.op == "VarHandleOp" and node.name not in spared and (chosen is None or node.name in chosen)
        }
        changed = True
        while changed:
            downstream = {
                node.name: self._downstream[_producer(node.input[0])]
                for node in message.node
                if node.op == "Identity"
                and _producer(node.input[0]) in self._downstream
                and node.name not in self._downstream
            }
            changed = bool(downstream)
            self._downstream.update(downstream)

    def _variable(self, node: NodeDef) -> str | None:
        """Return the variable that is a node's first input, if it is to be converted."""
        data = [text for text in node.input if not text.startswith("^")]
        return self._downstream.get(_producer(data[0])) if data else None

    def reads(self) -> dict[str, str]:
        """Return, for each variable, a node that reads it.

        Raises:
            ValueError: if a node other than a read uses a variable.
        """
        reads: dict[str, str] = {name: name for name in sorted(self._references)}
        for node in self._nodes.values():
            variable = self._variable(node)
            if variable is None or node.name in self._downstream:
                continue
            if node.op not in ("ReadVariableOp", "ResourceGather"):
                raise ValueError(
                    f"variable {variable!r} cannot become a constant: node {node.name!r} "
                    f"({node.op}) does more than read it; choose outputs that only read it, or "
                    "add it to variable_names_blacklist"
                )
            if node.op == "ReadVariableOp":
                reads.setdefault(variable, node.name)
        unread = {v for v in map(self._variable, self._nodes.values()) if v} - set(reads)
        if unread:
            raise ValueError(f"no ReadVariableOp among the nodes reads {sorted(unread)}")
        return reads

    def converted(self, node: NodeDef, values: Mapping[str, Any]) -> list[NodeDef]:
        """Return the nodes that replace a node."""
        if node.name in self._references or self._downstream.get(node.name) == node.name:
            if node.name not in values:
                return [node.copy()]
            return [_constant(node.name, np.asarray(values[node.name]), node)]
        variable = self._variable(node)
        if variable is None:
            return [node.copy()]
        dtype = self._nodes[variable].attr["dtype"]
        copied = node.copy()
        if node.op == "ResourceGather":
            return self._gather(copied, dtype)
        copied.op = "Identity"
        _keep_attrs(copied, {"T": dtype})
        return [copied]

    def _gather(self, gather: NodeDef, dtype: AttrValue) -> list[NodeDef]:
        axis = _constant(f"{gather.name}/axis", np.zeros((), np.int32), gather)
        gather.op = "GatherV2"
        gather.input.insert(2, axis.name)
        indices = gather.attr["Tindices"].copy()
        batch_dims = gather.attr["batch_dims"].i if "batch_dims" in gather.attr else 0
        _keep_attrs(
            gather,
            {"Tparams": dtype, "Tindices": indices, "Taxis": axis.attr["dtype"], "batch_dims": AttrValue(i=batch_dims)},
        )
        return [axis, gather]


def _constant(name: str, value: Any, like: NodeDef) -> NodeDef:
    constant = NodeDef(name=name, op="Const", device=like.device)
    proto = make_tensor_proto(value)
    constant.attr["value"].tensor.CopyFrom(proto)
    constant.attr["dtype"].type = proto.dtype
    return constant


def _keep_attrs(node: NodeDef, attrs: Mapping[str, AttrValue]) -> None:
    """Replace the attributes of a node; those of its colocation and output shapes are kept."""
    kept = {key: value for key, value in node.attr.items() if key in ("_class", "_output_shapes") and key not in attrs}
    node.attr.clear()
    for key, value in {**kept, **attrs}.items():
        node.attr[key].CopyFrom(value)


# -- questions about nodes -------------------------------------------------------------------------

_OF_VARIABLES = frozenset(
    {
        "Assign",
        "AssignAdd",
        "AssignSub",
        "Queue",
        "ScatterAdd",
        "ScatterSub",
        "ScatterUpdate",
        "TruncatedNormal",
        "Variable",
        "VariableV2",
    }
)


def must_run_on_cpu(node: Any, pin_variables_on_cpu: bool = False) -> bool:
    """Return whether TensorFlow has only a CPU kernel for a node: strings, and int32 for a few operations.

    Args:
        node: an operation or a ``NodeDef``.
        pin_variables_on_cpu: whether operations on variables count as well.

    Raises:
        AssertionError: for anything else.
    """
    described = node.node_def if isinstance(node, Operation) else node
    assert isinstance(described, NodeDef)
    if pin_variables_on_cpu and described.op in _OF_VARIABLES:
        return True
    decides = {
        "Const": ("dtype", (int32, string)),
        "DynamicStitch": ("T", (int32,)),
        "ParallelDynamicStitch": ("T", (int32,)),
        "Cast": ("SrcT", (int32,)),
    }.get(described.op)
    if decides is None:
        return False
    key, kinds = decides
    return described.attr[key].type in [kind.as_datatype_enum for kind in kinds]


def tensor_shape_from_node_def_name(graph: Graph, input_name: str) -> TensorShape:
    """Return the static shape of a tensor, given its name as an input of a ``NodeDef``.

    Args:
        graph: the graph of the tensor.
        input_name: the name of the tensor, or of the operation whose first output it is.

    Raises:
        KeyError: if there is no such tensor.
        ValueError: if the name is malformed.
    """
    name = input_name if ":" in input_name else f"{input_name}:0"
    return graph.get_tensor_by_name(name).shape
