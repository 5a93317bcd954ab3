"""Group control edges: what waits for many nodes of another device waits for one token from there.

This is a pure pass over a placed step graph. Each control edge between devices costs a message of its own,
so a node that runs after fifty updates on another task costs fifty. Where a device waits for more nodes of
another one than it has different sets of them to wait for, a NoOp on the source device joins each set, and
one edge leaves from there. TensorFlow's DependencyOptimizer groups the same edges
(GroupCrossDeviceControlEdges).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import replace

from actorsession.graph.control_flow_ops import PRIMITIVES
from actorsession.graph.node import NodeDef
from actorsession.plan.partition import is_copied
from actorsession.plan.prune import StepGraph

__all__ = ["group_control_edges"]

# Nodes of one device for which a node of another one waits, with the two devices.
_Edge = tuple[str, str, tuple[str, ...]]


def group_control_edges(graph: StepGraph, device_of: Mapping[str, str]) -> tuple[StepGraph, Mapping[str, str]]:
    """Return a graph with the same order of effects and fewer control edges between devices.

    Args:
        graph: the nodes that the run needs, producers first.
        device_of: full device name of each node.

    Returns:
        The graph and the device of each of its nodes; the arguments themselves if nothing can be saved. A
        graph with raw control flow is returned as it is, because its nodes may be dead or run repeatedly.
    """
    if len({device_of[name] for name in graph.nodes}) < 2:
        return graph, device_of
    edges = {
        node.name: edges_in
        for node in graph.nodes.values()
        if node.control_inputs and (edges_in := _edges(node, graph, device_of))
    }
    grouped = _worth_grouping(edge for edges_in in edges.values() for edge in edges_in)
    if not grouped or not PRIMITIVES.isdisjoint([n.op for n in graph.nodes.values()]):
        return graph, device_of
    nodes: dict[str, NodeDef] = {}
    devices = dict(device_of)
    joined: dict[_Edge, str] = {}
    for node in graph.nodes.values():
        for edge in edges.get(node.name, ()):
            if edge in grouped:
                if edge not in joined:
                    name = joined[edge] = f"_joined/{len(joined)}"
                    nodes[name] = NodeDef(name=name, op="NoOp", control_inputs=edge[2], source=node.source)
                    devices[name] = edge[0]
                node = _after(node, edge[2], joined[edge])
        nodes[node.name] = node
    return replace(graph, nodes=nodes), devices


def _edges(node: NodeDef, graph: StepGraph, device_of: Mapping[str, str]) -> list[_Edge]:
    """Return the nodes of other devices after which a node runs, by device."""
    here = device_of[node.name]
    after: defaultdict[str, list[str]] = defaultdict(list)
    for name in node.control_inputs:
        if device_of[name] != here and not is_copied(graph.nodes[name]):
            after[device_of[name]].append(name)
    return [(there, here, tuple(sorted(set(names)))) for there, names in after.items()]


def _worth_grouping(edges: Iterable[_Edge]) -> set[_Edge]:
    """Return the sets of several nodes between devices that have fewer sets than single nodes."""
    between: defaultdict[tuple[str, str], set[_Edge]] = defaultdict(set)
    for edge in edges:
        between[edge[:2]].add(edge)
    return {
        edge
        for sets in between.values()
        if len(sets) < len({name for edge in sets for name in edge[2]})
        for edge in sets
        if len(edge[2]) > 1
    }


def _after(node: NodeDef, names: tuple[str, ...], joined: str) -> NodeDef:
    """Return the node with one control input in the place of several."""
    left = [name for name in node.control_inputs if name not in names]
    return replace(node, control_inputs=(*left, joined))
