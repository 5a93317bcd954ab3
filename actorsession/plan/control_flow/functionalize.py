"""Functionalize: primitive loops and conditionals become ``While`` and ``If`` where no difference is
observable.

This is a pure pass over a pruned and placed step graph, called through ``passes``. A graph that TensorFlow 1
wrote has its control flow as Switch, Merge, Enter, Exit and NextIteration, which the dataflow engine runs
node by node. As one operation each, loops and conditionals are compiled into those of Python, which are many
times as fast. ``loops`` and ``conditionals`` define which are functionalized. The others are left to the
engine, together with the functionalized operations inside them.

Frames are processed from the innermost outwards, in each first the conditionals. A loop on an untaken branch
is dead, and so is a ``While``. Whether the two are equivalent depends on the nodes around the loop, so a loop
that turns out to be partially dead is left alone in a second attempt.

The static shapes in a loop follow from the values that enter it (see ``shapes``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from actorsession.errors import InvalidArgumentError
from actorsession.graph.control_flow_ops import PRIMITIVES
from actorsession.graph.function import ARGUMENT, function_fault
from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.plan.control_flow.conditionals import functionalize_conditionals
from actorsession.plan.control_flow.frames import ROOT, Frame, frames_of
from actorsession.plan.control_flow.loops import functionalize_loop
from actorsession.plan.control_flow.rewrite import GraphRewriter, RefusedError, in_order
from actorsession.plan.control_flow.shapes import with_known_shapes
from actorsession.plan.prune import StepGraph

__all__ = ["functionalize", "functionalize_function"]

# A partially dead loop is so rare that a graph with several is left alone.
_ATTEMPTS = 4


def functionalize(
    graph: StepGraph, device_of: Mapping[str, str], note: Callable[[str, str], None] | None = None
) -> tuple[StepGraph, dict[str, str]]:
    """Return the same step with fewer primitive loops and conditionals.

    Args:
        graph: the nodes that the run needs, producers first.
        device_of: full device name of each node.
        note: takes the frame name of each loop that stays, or a Merge of each conditional, and why it does.

    Returns:
        The new graph, or the very same, and the device of each of its nodes. Feeds, fetches and targets are
        the same.
    """
    if PRIMITIVES.isdisjoint([node.op for node in graph.nodes.values()]):
        return graph, dict(device_of)
    try:
        frames = frames_of(graph.nodes)
    except InvalidArgumentError:
        return graph, dict(device_of)  # the partitioning raises the error
    refused: set[Frame] = set()
    for _ in range(_ATTEMPTS):
        rewriter = GraphRewriter(graph.nodes, device_of, frames, graph.fetches, graph.targets)
        try:
            _lift_all(rewriter, refused, note)
            return _finished(graph, rewriter)
        except RefusedError as error:
            refused.add(error.frame)
            if note is not None:
                note(error.frame.name, "it may be dead in some steps while a part of it is not")
        except ValueError as error:  # a cycle, or shapes that do not fit: the error appears when it runs
            if note is not None:
                for frame in rewriter.members:
                    note(frame.name, str(error))
            break
    return graph, dict(device_of)


def functionalize_function(
    nodes: Sequence[NodeDef], arguments: Sequence[TensorSpec], outputs: Sequence[tuple[str, int]]
) -> list[NodeDef]:
    """Return the nodes of a function without primitive control flow.

    Args:
        nodes: the nodes, producers first except on back edges.
        arguments: static types of what they read from outside.
        outputs: what the function returns.

    Raises:
        ValueError: for a loop or conditional that one operation cannot replace.
    """

    def outside(index: int) -> str:
        return f"_argument_{index}"

    given = {
        outside(index): NodeDef(name=outside(index), op="Placeholder", outputs=(spec,))
        for index, spec in enumerate(arguments)
    }
    there = {**given}
    for node in nodes:
        read = [(outside(k), 0) if name == ARGUMENT else (name, k) for name, k in node.inputs]
        there[node.name] = replace(node, inputs=tuple(read))
    fetches = tuple([(outside(k), 0) if name == ARGUMENT else (name, k) for name, k in outputs])
    converted, _ = functionalize(StepGraph(there, (), fetches, ()), dict.fromkeys(there, ""))
    places = {name: index for index, name in enumerate(given)}
    added = []
    for name, node in converted.nodes.items():
        if node.op in PRIMITIVES:
            raise ValueError(
                f"node {name!r} ({node.op}) is in a function, and of no loop or conditional that one "
                "operation can replace"
            )
        if name not in given:
            refs = [(ARGUMENT, places[n]) if n in places else (n, k) for n, k in node.inputs]
            added.append(replace(node, inputs=tuple(refs)))
    return added


def _lift_all(rewriter: GraphRewriter, refused: set[Frame], note: Callable[[str, str], None] | None) -> None:
    frames = sorted(rewriter.members, key=lambda frame: -len(frame.outwards))
    for frame in frames:
        functionalize_conditionals(rewriter, frame, note)
        if frame != ROOT and frame not in refused:
            why = functionalize_loop(rewriter, frame)
            if why and note is not None:
                note(frame.name, why)


def _finished(graph: StepGraph, rewriter: GraphRewriter) -> tuple[StepGraph, dict[str, str]]:
    if not rewriter.made:
        return graph, rewriter.device_of
    order = sorted(rewriter.nodes, key=rewriter.position.__getitem__)
    nodes = {name: rewriter.nodes[name] for name in in_order(rewriter.nodes, order)}
    nodes = with_known_shapes(nodes, rewriter.made)
    for name in rewriter.made:
        fault = function_fault(nodes[name]) if name in nodes else None
        if fault is not None:
            raise ValueError(f"{name!r} {fault}")
    return replace(graph, nodes=nodes), {name: rewriter.device_of[name] for name in nodes}
