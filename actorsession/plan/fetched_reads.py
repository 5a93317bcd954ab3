"""Fetched reads of variables come last: after everything in the step that may write to their variables.

``run([train, global_step])`` returns the number of the step that it has made, as it does in TensorFlow with
reference variables, where a fetch refers to the memory of the variable and is read at the end of the step.
``GraphExecutionState`` calls this for plain steps. The fetches of a partial run are values of the moment at
which they are requested, when updates may still wait for feeds.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from actorsession.graph.control_flow_ops import PRIMITIVES
from actorsession.graph.node import NodeDef
from actorsession.plan.prune import StepGraph

__all__ = ["VARIABLE_READS", "in_raw_control_flow", "read_variables_last"]

VARIABLE_READS = frozenset(
    {"ReadVariableOp", "ResourceGather", "ResourceGatherNd", "VarIsInitializedOp", "VariableShape"}
)
"""Operation types that take a variable's handle and do not change its value."""


def read_variables_last(graph: StepGraph) -> StepGraph:
    """Return a step whose fetched reads of variables run after the nodes that may write to these.

    Only reads without control inputs are meant that nothing else in the step uses: the values of others have
    to be those that the step has computed with.

    Args:
        graph: what a run needs, producers first.

    Returns:
        The graph; the argument itself if there is nothing to order.
    """
    nodes = graph.nodes
    reads = {
        name: nodes[name].inputs[0]
        for name, _ in graph.fetches
        if nodes[name].op == "ReadVariableOp" and not nodes[name].control_inputs
    }
    if not reads:
        return graph
    for node in nodes.values():
        for name in (*[name for name, _ in node.inputs], *node.control_inputs):
            reads.pop(name, None)
    writers: dict[tuple[str, int], list[str]] = {handle: [] for handle in reads.values()}
    raw = in_raw_control_flow(nodes)
    for node in nodes.values():
        if node.op not in VARIABLE_READS and node.name not in raw:
            for handle in node.inputs:
                if handle in writers:
                    writers[handle].append(node.name)
    late = {
        name: replace(nodes[name], control_inputs=tuple(dict.fromkeys(writers[handle])))
        for name, handle in reads.items()
        if writers[handle]
    }
    if not late:
        return graph
    # Nothing reads them, so the last places are after their producers.
    rest = {name: node for name, node in nodes.items() if name not in late}
    return replace(graph, nodes={**rest, **late})


def in_raw_control_flow(nodes: Mapping[str, NodeDef]) -> Collection[str]:
    """Return the nodes that may be dead or run repeatedly, which no node outside can wait for."""
    inside: set[str] = set()
    if PRIMITIVES.isdisjoint([node.op for node in nodes.values()]):
        return inside
    for node in nodes.values():
        before = (*[name for name, _ in node.inputs], *node.control_inputs)
        if node.op in PRIMITIVES or not inside.isdisjoint(before):
            inside.add(node.name)
    return inside
