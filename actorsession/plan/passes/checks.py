"""Checks that a graph pass returned a valid graph with the same interface.

Pure functions, called by ``registry`` after each pass that is not the library's own. They raise
InvalidArgumentError; the messages are prefixed with the name of the pass.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from actorsession.errors import InvalidArgumentError
from actorsession.graph.control_flow_ops import is_back_edge
from actorsession.graph.function import CONSTRUCTS, function_fault
from actorsession.graph.node import NodeDef
from actorsession.graph.registry import InferContext, is_registered, lookup
from actorsession.plan.partition import RECV, SEND, Partition
from actorsession.plan.prune import ARG, StepGraph
from actorsession.plan.topological_order import CycleError, producers_first

__all__ = ["check_partitions", "checked_nodes", "checked_step"]


def checked_nodes(view: Mapping[str, NodeDef], before: Mapping[str, NodeDef], after: Any) -> dict[str, NodeDef]:
    """Return the nodes that a pass made of nodes added to a graph, checked and in order.

    Args:
        view: the graph to which they are added.
        before: the nodes.
        after: the result of the pass.
    """
    nodes = _nodes(after)
    for name, node in before.items():
        if name not in nodes:
            raise InvalidArgumentError(f"node {name!r} was removed, although a run may fetch it")
        _check_outputs(node, nodes[name])
    for name in nodes:
        if name in view and name not in before:
            raise InvalidArgumentError(f"node {name!r} has a name that already exists in the graph")
    _check_types(nodes, {**view, **before}, view)
    known = {name: node for name, node in view.items() if name not in nodes}
    return _in_order(nodes, known)


def checked_step(before: StepGraph, after: Any, device_of: Any, devices: Collection[str]) -> StepGraph:
    """Return the step graph that a pass made, checked and with producers first.

    Args:
        before: the graph given to the pass.
        after: the graph that it returned.
        device_of: the devices that it returned.
        devices: the full names of all devices.
    """
    if not isinstance(after, StepGraph):
        raise InvalidArgumentError(f"must return a StepGraph, got {after!r:.100}")
    for what in ("feeds", "fetches", "targets"):
        if getattr(after, what) != getattr(before, what):
            raise InvalidArgumentError(
                f"the {what} are {getattr(after, what)} now, but the run has {getattr(before, what)}"
            )
    nodes = _nodes(after.nodes)
    for name, index in before.fetches:
        if name not in nodes or index >= len(nodes[name].outputs):
            raise InvalidArgumentError(f"the fetch '{name}:{index}' was removed")
        _check_outputs(before.nodes[name], nodes[name], only=index)
    for name in before.targets:
        if name not in nodes:
            raise InvalidArgumentError(f"the target {name!r} was removed")
    _check_types(nodes, before.nodes, {})
    if not isinstance(device_of, Mapping):
        raise InvalidArgumentError(f"must return devices, got {device_of!r:.100}")
    for name in nodes:
        if device_of.get(name) not in devices:
            raise InvalidArgumentError(
                f"node {name!r} is on {device_of.get(name)!r}, which is not a device of the session"
            )
    return replace(after, nodes=_in_order(nodes, {}))


def check_partitions(before: Sequence[Partition], after: Any) -> tuple[Partition, ...]:
    """Return the partitions that a pass made of those of a step, checked.

    Args:
        before: the partitions given to the pass.
        after: its result.
    """
    if not isinstance(after, (list, tuple)) or not all(isinstance(p, Partition) for p in after):
        raise InvalidArgumentError(f"must return partitions, got {after!r:.100}")
    if [p.device for p in after] != [p.device for p in before]:
        raise InvalidArgumentError(
            f"the partitions are on {[p.device for p in after]}, but were on {[p.device for p in before]}"
        )
    return tuple(map(_checked_partition, before, after))


def _checked_partition(before: Partition, after: Partition) -> Partition:
    nodes = {node.name: node for node in after.nodes}
    if len(nodes) < len(after.nodes):
        raise InvalidArgumentError(f"several nodes on {after.device} have the same name")
    known = {node.name: node for node in before.nodes}
    if sorted(after.fetches) != sorted(before.fetches):
        raise InvalidArgumentError(f"the fetches on {after.device} are {after.fetches}, but were {before.fetches}")
    for _, name, index in after.fetches:
        if name not in nodes or index >= len(nodes[name].outputs):
            raise InvalidArgumentError(f"the fetch '{name}:{index}' was removed")
        _check_outputs(known[name], nodes[name], only=index)
    if _ends(before.nodes) != _ends(after.nodes):
        raise InvalidArgumentError(f"the feeds, sends or receives of {after.device} were changed")
    _check_types(nodes, known, {})
    return replace(after, nodes=tuple(_in_order(nodes, {}).values()))


def _ends(nodes: Iterable[NodeDef]) -> list[tuple[str, str]]:
    """Return the feeds, sends and receives of a partition."""
    return sorted(
        (node.op, str(node.attrs["index" if node.op == ARG else "key"]))
        for node in nodes
        if node.op in (ARG, SEND, RECV)
    )


# -- nodes ---------------------------------------------------------------------------------------


def _nodes(given: Any) -> dict[str, NodeDef]:
    if not isinstance(given, Mapping):
        raise InvalidArgumentError(f"must return nodes by name, got {given!r:.100}")
    for name, node in given.items():
        if not isinstance(node, NodeDef) or node.name != name:
            raise InvalidArgumentError(f"the value for the name {name!r} is not a node of this name: {node!r:.100}")
    return dict(given)


def _check_outputs(before: NodeDef, after: NodeDef, only: int | None = None) -> None:
    """Refuse a node with other dtypes or fewer outputs than before."""
    outputs = list(enumerate(before.outputs)) if only is None else [(only, before.outputs[only])]
    for index, spec in outputs:
        if index >= len(after.outputs) or after.outputs[index].dtype is not spec.dtype:
            raise InvalidArgumentError(
                f"'{before.name}:{index}' is no longer of dtype {spec.dtype.name}, although other nodes read it"
            )


def _check_types(nodes: Mapping[str, NodeDef], before: Mapping[str, NodeDef], around: Mapping[str, NodeDef]) -> None:
    """Refuse nodes that cannot run with their present inputs."""
    for node in nodes.values():
        for name, index in node.inputs:
            producer = nodes.get(name) or around.get(name)
            if producer is None or not 0 <= index < len(producer.outputs):
                raise InvalidArgumentError(f"node {node.name!r} reads '{name}:{index}', which does not exist")
        for name in node.control_inputs:
            if name not in nodes and name not in around:
                raise InvalidArgumentError(f"node {node.name!r} runs after {name!r}, which does not exist")
        if before.get(node.name) is node:
            _check_read(node, nodes, before)
        elif node.op not in (ARG, SEND, RECV):
            _check_new(node, {**around, **nodes} if around else nodes)


def _check_read(node: NodeDef, nodes: Mapping[str, NodeDef], before: Mapping[str, NodeDef]) -> None:
    """Refuse an unchanged node that reads another dtype than before."""
    for name, index in node.inputs:
        if name in nodes and name in before:
            _check_outputs(before[name], nodes[name], only=index)


def _check_new(node: NodeDef, nodes: Mapping[str, NodeDef]) -> None:
    """Refuse a new node that is not valid."""
    if not is_registered(node.op):
        raise InvalidArgumentError(f"node {node.name!r} is of type {node.op!r}, which is not registered here")
    fault = function_fault(node)
    if fault is not None:
        raise InvalidArgumentError(f"node {node.name!r} {fault}")
    if node.op in CONSTRUCTS:
        return
    read = [(nodes[name], index) for name, index in node.inputs]
    specs = tuple([producer.outputs[index] for producer, index in read])
    constants = tuple([p.attrs.get("value") if p.op == "Const" else None for p, _ in read])
    try:
        inferred = lookup(node.op).infer(InferContext(node.op, specs, node.attrs, constants))
    except Exception as exc:
        raise InvalidArgumentError(f"node {node.name!r} ({node.op}) is invalid: {exc}") from exc
    if [spec.dtype for spec in inferred] != [spec.dtype for spec in node.outputs]:
        raise InvalidArgumentError(
            f"node {node.name!r} ({node.op}) declares outputs of dtypes "
            f"{[spec.dtype.name for spec in node.outputs]}, but its shape function "
            f"returns {[s.dtype.name for s in inferred]}"
        )


def _in_order(nodes: Mapping[str, NodeDef], done: Mapping[str, Any]) -> dict[str, NodeDef]:
    """Return the nodes with producers first, otherwise in the given order."""

    def before(name: str) -> list[str]:
        node = nodes[name]
        read = [p for p, _ in node.inputs if not _is_back(node, p, nodes)]
        return [p for p in (*read, *node.control_inputs) if p not in done]

    try:
        return {name: nodes[name] for name in producers_first(nodes, before)}
    except CycleError as cycle:
        raise InvalidArgumentError(f"the graph has a cycle through {cycle.names[0]!r}") from None


def _is_back(node: NodeDef, producer: str, nodes: Mapping[str, NodeDef]) -> bool:
    """Return whether a node reads a producer on a loop's back edge, which closes no invalid cycle."""
    return producer in nodes and is_back_edge(node.op, nodes[producer].op)
