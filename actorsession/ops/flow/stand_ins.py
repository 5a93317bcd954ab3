"""Gradients of loops of single operations: for each such loop, a ``While`` that stands in for it.

From single operations alone it cannot be determined which backward operations belong to which forward ones. A
loop of the form that TensorFlow's ``while_loop`` builds, recognised as in planning (``plan.control_flow``),
can be converted to a ``While``, and that has a gradient. So for each loop between the differentiated values
and the values they are differentiated by, an equivalent ``While`` is added. Gradients skip from an Exit
directly to the output of the ``While``; ``plan.prune`` lets a step that needs the ``While`` for a gradient
read the Exits from it too, so that nothing runs twice. Called by ``derivatives.backward``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from actorsession.errors import InvalidArgumentError
from actorsession.graph.function import STANDS_FOR, WHILE, function_fault
from actorsession.graph.graph import Graph
from actorsession.graph.node import NodeDef
from actorsession.graph.operation import Operation, Tensor
from actorsession.ops.build import make
from actorsession.plan.control_flow.conditionals import functionalize_conditionals
from actorsession.plan.control_flow.frames import ROOT, Frame, frames_of
from actorsession.plan.control_flow.loops import functionalize_loop
from actorsession.plan.control_flow.predicates import Predicates
from actorsession.plan.control_flow.rewrite import GraphRewriter, RefusedError, in_order
from actorsession.plan.control_flow.shapes import with_known_shapes

__all__ = ["add_stand_ins", "sources"]

_ATTEMPTS = 4


def sources(op: Operation) -> Sequence[Tensor]:
    """Return the tensors an operation depends on: its inputs, or the stand-in of the loop that it leaves."""
    stand_in = op.graph.stand_ins.get(op)
    return op.inputs if stand_in is None else (stand_in,)


def add_stand_ins(upstream: Iterable[Operation], xs: Iterable[Tensor]) -> bool:
    """Add stand-ins for loops of single operations, and return whether any was added.

    Args:
        upstream: all operations that the differentiated values depend on.
        xs: the tensors to differentiate by. A loop that depends on none of them is left alone.
    """
    ops = list(upstream)
    graph = ops[0].graph
    exits = [op for op in ops if op.type == "Exit" and op not in graph.stand_ins]
    if not exits:
        return False
    made_of_xs = _downstream(ops, xs)
    needed = [op for op in exits if op in made_of_xs]
    return bool(needed) and _add(graph, needed)


def _downstream(ops: Sequence[Operation], xs: Iterable[Tensor]) -> set[Operation]:
    """Return the operations, among some, that depend on tensors."""
    readers: dict[Tensor, list[Operation]] = {}
    for op in ops:
        for tensor in sources(op):
            readers.setdefault(tensor, []).append(op)
    reached: set[Operation] = set()
    waiting = list(xs)
    while waiting:
        for op in readers.get(waiting.pop(), ()):
            if op not in reached:
                reached.add(op)
                waiting.extend(op.outputs)
    return reached


def _add(graph: Graph, needed: Sequence[Operation]) -> bool:
    ops = sorted(_with_siblings(needed), key=lambda op: op.number)
    nodes = {op.name: op.plain for op in ops}
    exits = [op for op in ops if op.type == "Exit"]
    try:
        nodes = {name: nodes[name] for name in in_order(nodes, list(nodes))}
        frames = frames_of(nodes)
    except (ValueError, InvalidArgumentError):
        return False
    outermost = [op for op in exits if frames[op.name] == ROOT]
    asked = _devices_asked(nodes, frames)
    refused = {frame for frame, devices in asked.items() if len(devices) > 1}
    for _ in range(_ATTEMPTS):
        draft = GraphRewriter(nodes, dict.fromkeys(nodes, ""), frames, [(op.name, 0) for op in outermost])
        try:
            lifted = _lifted(draft, refused)
            break
        except RefusedError as error:
            refused.add(error.frame)
        except ValueError:
            return False
    else:
        return False
    leaving = {frames[op.inputs[0].op.name] for op in needed}
    for name, node in lifted.items():
        if draft.loops[name].frame in leaving:
            devices = asked.get(draft.loops[name].frame, ())
            pairs = [(draft.nodes[op.name].inputs[0], op) for op in outermost]
            outputs = [(ref[1], op) for ref, op in pairs if ref[0] == name]
            _stand_in(graph, node, outputs, next(iter(devices), None))
    return True


def _with_siblings(exits: Sequence[Operation]) -> set[Operation]:
    """Return the operations that some Exits need, and those of the other Exits of the same loops."""
    reached: set[Operation] = set()
    waiting = list(exits)
    while waiting:
        op = waiting.pop()
        if op in reached:
            continue
        reached.add(op)
        waiting.extend([tensor.op for tensor in op.inputs])
        waiting.extend(op.control_inputs)
        if op.type == "Switch":
            waiting.extend([r for t in op.outputs for r in t.consumers() if r.type == "Exit"])
    return reached


def _devices_asked(nodes: Mapping[str, NodeDef], frames: Mapping[str, Frame]) -> dict[Frame, set[str]]:
    """Return the devices that the nodes of each loop request."""
    asked: dict[Frame, set[str]] = {}
    for node in nodes.values():
        if node.device:
            for frame in frames[node.name].outwards:
                asked.setdefault(frame, set()).add(node.device)
    return asked


def _lifted(draft: GraphRewriter, refused: set[Frame]) -> dict[str, NodeDef]:
    """Return the outermost loops as nodes.

    Raises:
        RefusedError: for a loop that may be partially dead.
        ValueError: if shapes do not fit.
    """
    for frame in sorted(draft.members, key=lambda frame: -len(frame.outwards)):
        if frame != ROOT:
            functionalize_conditionals(draft, frame)
            if frame not in refused:
                functionalize_loop(draft, frame)
    Predicates(draft, ROOT)
    order = in_order(draft.nodes, sorted(draft.nodes, key=draft.position.__getitem__))
    loops = {name for name in draft.loops if draft.frames.get(name) == ROOT and name in draft.nodes}
    nodes = with_known_shapes({name: draft.nodes[name] for name in order}, loops)
    return {name: nodes[name] for name in order if name in loops and not function_fault(nodes[name])}


def _stand_in(graph: Graph, node: NodeDef, exits: Sequence[tuple[int, Operation]], device: str | None) -> None:
    """Build a loop, and register its outputs as the stand-ins of Exits."""
    of = graph.get_operation_by_name
    attrs = {**node.attrs, STANDS_FOR: tuple([f"{k}:{op.name}" for k, op in exits])}
    inputs = [of(name).outputs[index] for name, index in node.inputs]
    with (
        graph.control_dependencies(None),
        graph.control_dependencies([of(name) for name in node.control_inputs]),
        graph.device(device),
    ):
        loop = make(WHILE, inputs, attrs, "stand_in", graph)
    for k, op in exits:
        graph.stand_ins[op] = loop.outputs[k]
