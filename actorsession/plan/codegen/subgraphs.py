"""Subgraphs that the compiler of a device gets as one function, as XLA's auto-clustering finds them.

``parted`` finds them among the nodes of an emitter, and ``write_subgraph`` writes both variants: a call of the
function, which gives nothing as long as it was not compiled, and the nodes one by one for that case. ``compiled_calls``
counts the calls and has the function compiled. Traced steps run the nodes one by one. ``emitter`` calls this, for
devices that bring a compiler and in sessions that ask for it.

A subgraph has nodes whose kernels are the device's own and pure functions of its arrays; whole numbers are constants of
the plan. Nodes in between that need nothing of it are moved before it, and the others behind it.

Invariant: nodes keep their order wherever one has to run before the other (``UseDef.before``), as those do that read
or change one variable.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from actorsession.graph.device_kernels import can_compile
from actorsession.plan.codegen.segment import INDENT, Line
from actorsession.plan.codegen.use_def import Ref, UseDef

if TYPE_CHECKING:
    from actorsession.plan.codegen.emitter import Emitter

__all__ = ["parted", "write_subgraph"]

# Nodes below which the call takes longer than it saves; XLA's auto-clustering has the same number.
_FEWEST = 4
# Most nodes: a compiler takes some 0.1 s for each.
_MOST = 400
# Nodes that may be moved behind a subgraph: their inputs must stay that much longer.
_MOST_MOVED = 256


def parted(flow: UseDef, nodes: Sequence[int]) -> Iterator[tuple[Sequence[int], bool]]:
    """Yield nodes in parts, producers first, each with whether it is a subgraph.

    Args:
        flow: the use-def analysis.
        nodes: of one emitter, producers first.
    """
    left = deque(nodes)
    while left:
        before, subgraph, behind = _first(flow, left)
        yield before, False
        yield subgraph, len(subgraph) >= _FEWEST
        left.extendleft(reversed(behind))


def _first(flow: UseDef, left: deque[int]) -> tuple[list[int], list[int], list[int]]:
    """Take the first subgraph out of some nodes; return what runs before it, its nodes, and what runs behind it."""
    before: list[int] = []
    subgraph: list[int] = []
    behind: list[int] = []
    members: set[int] = set()
    moved: set[int] = set()
    while left and len(behind) <= _MOST_MOVED and len(subgraph) < _MOST:
        i = left.popleft()
        waits = not moved.isdisjoint(flow.before[i])
        if flow.ops[i] is not None and can_compile(flow.context(i)):
            if not waits:
                subgraph.append(i)
                members.add(i)
                continue
        elif not waits and members.isdisjoint(flow.before[i]):
            before.append(i)
            continue
        behind.append(i)
        moved.add(i)
    return before, subgraph, behind


def write_subgraph(block: Emitter, subgraph: Sequence[int], write_one_by_one: Callable[[], None]) -> None:
    """Write a subgraph in both variants.

    Args:
        block: the emitter to which it is written.
        subgraph: its nodes, producers first.
        write_one_by_one: writes the nodes to the emitter and deletes the values that they read last.
    """
    flow, last = block.flow, subgraph[-1]
    members, uses = frozenset(subgraph), _reads(flow, subgraph)
    results = [(i, k) for i in subgraph for k in range(len(flow.nodes[i].outputs))]
    results = [ref for ref in results if block.uses_left(ref) > uses.get(ref, 0)]
    if not results:  # none is read
        write_one_by_one()
        return
    operands = [ref for ref in uses if ref[0] not in members and not flow.once[ref[0]]]
    # By their expressions: a function may have the same value twice, or a constant of the plan.
    given = {block.value(ref): ref for ref in operands}
    parameters = [name for name in given if not name.startswith("c")]
    number, comment = block.number(last), block.comment(last)
    name, values = f"q{number}", f"v{number}_{len(flow.nodes[last].outputs)}"
    part = [_line(block, i) for i in subgraph]
    part.append(f"return {', '.join([block.local(ref) for ref in results])},")
    varying = [k for k, p in enumerate(parameters) if not _has_shape(flow, given[p])]
    block.text.functions += [
        Line(f"def {name}_part({', '.join(parameters)}):"),
        *[Line(INDENT + text) for text in part],
        # Once: the code of traced steps has the same functions.
        Line(f"{name} = CompiledCalls({name}_part, {varying}, {len(subgraph)})", traced="pass"),
    ]
    block.text.subgraphs.append(tuple(map(block.number, subgraph)))
    block.line("C.check()")
    call = f"{values} = {name}({', '.join(parameters)}){comment}"
    block.line(call, number, traced=f"{values} = None")
    block.line(f"if {values} is None:", number)
    block.indent += INDENT
    before = {ref: block.local(ref) for ref in operands}
    write_one_by_one()
    block.indent = block.indent.removesuffix(INDENT)
    targets = [block.local(ref) for ref in results]
    block.line("else:", number)
    block.indent += INDENT
    block.line(f"{', '.join(targets)}, = {values}{comment}", number)
    ended = [local for ref, local in before.items() if block.has_ended(ref) and local not in targets]
    block.line(f"del {', '.join(dict.fromkeys([values, *ended]))}")
    block.indent = block.indent.removesuffix(INDENT)


def _reads(flow: UseDef, subgraph: Sequence[int]) -> dict[Ref, int]:
    """Return how often each value is read by nodes of a subgraph."""
    uses: dict[Ref, int] = {}
    for i in subgraph:
        for ref in flow.inputs[i]:
            uses[ref] = uses.get(ref, 0) + 1
    return uses


def _line(block: Emitter, i: int) -> str:
    """Return the line of a node in the function."""
    flow = block.flow
    targets = ", ".join([block.local((i, k)) for k in range(len(flow.nodes[i].outputs))])
    arguments, context = [block.value(ref) for ref in flow.inputs[i]], flow.context(i)
    expression = flow.expression(i, context, arguments)
    if expression is None:
        expression = f"{block.bind('k', i, context)}({', '.join(arguments)})"
    return f"{targets} = {expression}{block.comment(i)}"


def _has_shape(flow: UseDef, ref: Ref) -> bool:
    return flow.nodes[ref[0]].outputs[ref[1]].shape.is_fully_defined()
