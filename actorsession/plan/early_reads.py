"""Reads of resource variables come before writes of the step that nothing orders before them.

What a step computes with is the value from before its writes, unless the program orders them: a read that
needs the handle alone is the first thing that TensorFlow's executor comes to, whenever it was built. A
variable's first assignment is an exception: what else one step initialises may be computed of its value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from actorsession.graph.node import NodeDef
from actorsession.plan.fetched_reads import VARIABLE_READS, in_raw_control_flow
from actorsession.plan.prune import StepGraph, in_order
from actorsession.plan.references import BY_REFERENCE

__all__ = ["read_variables_first"]


def read_variables_first(graph: StepGraph, view: Mapping[str, NodeDef]) -> StepGraph:
    """Return a step whose reads of resource variables run before the writers that were built before them.

    Args:
        graph: what a run needs, producers first, whose fetched reads are the last (``read_variables_last``).
        view: the whole graph, in the order of building.

    Returns:
        The graph; the argument itself if nothing in it was open.
    """
    nodes = graph.nodes
    writers: dict[tuple[str, int], list[str]] = {}
    waits: dict[str, list[str]] = {}
    for name, node in nodes.items():
        if node.op == "VarHandleOp":
            if not node.control_inputs and BY_REFERENCE not in node.attrs:
                writers[name, 0] = []
        elif node.op == "ReadVariableOp":
            for writer in writers.get(node.inputs[0], ()) if not node.control_inputs else ():
                waits.setdefault(writer, []).append(name)
        elif node.op not in VARIABLE_READS:
            for ref in node.inputs:
                if ref in writers:
                    writers[ref].append(name)
    if not waits:
        return graph
    first: dict[tuple[str, int], str] = {}
    for name, node in view.items():
        if node.op == "AssignVariableOp":
            first.setdefault(node.inputs[0], name)
    kept = {*in_raw_control_flow(nodes), *first.values()}
    result = dict(nodes)
    for name, reads in waits.items():
        if name not in kept:
            control = tuple(dict.fromkeys([*nodes[name].control_inputs, *reads]))
            result[name] = replace(nodes[name], control_inputs=control)
    return replace(graph, nodes=in_order(result, result))
