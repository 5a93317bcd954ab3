"""Which kernels run beside those of the nodes behind them, in another thread.

A kernel of some 0.1 ms gains little from two threads, which have to wake and to wait for each other: a product of
64x156 by 156x512 takes 57 us with one and 49 with two. Two products at a time, with a thread each, take half as long as
one after the other. In a training step such are the gradients of weights, which nothing reads before the updates at the
end. They are begun where their inputs are there, and finished where they are read first.

That pays in a segment whose other kernels are too small for several threads, too; a kernel that has them waits for the
one that another kernel runs in (a training step of BERT's encoder took 24 ms for 9.4). ``emitter`` writes the code, and
``SideBySide`` of the device begins kernels.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from actorsession.plan.codegen.sums import Sum
from actorsession.plan.codegen.use_def import Ref, UseDef
from actorsession.plan.cost import node_cost

if TYPE_CHECKING:
    from actorsession.plan.codegen.emitter import Emitter

__all__ = ["BesideWriter", "begun_among"]

# Microseconds of ``node_cost``, which for products is some four times what torch takes on a core with AVX-512: a kernel
# or a part of a sum that takes less is not worth a thread's wake, and one that takes more has use for several threads.
_LEAST, _MOST = 100.0, 250.0
# Nodes that are compared each with each.
_MOST_COMPARED = 1000


class BesideWriter:
    """The code of the nodes of an emitter that run beside others.

    Args:
        block: the emitter.
        begun: the nodes, and the sums whose parts do, which ``sums`` writes.

    Attributes:
        begun: as given.
    """

    def __init__(self, block: Emitter, begun: frozenset[int] = frozenset()) -> None:
        self._block = block
        self.begun = begun
        self._unfinished: set[Ref] = set()  # values that nothing has read yet

    def begin(self, i: int, arguments: Sequence[str]) -> None:
        """Write the line that begins a node; in traced code it runs as any other."""
        block = self._block
        name, number, comment = block.local((i, 0)), block.number(i), block.comment(i)
        given = ", ".join([block.bind("k", i), *arguments])
        traced = f"t = clock(); {name} = {block.bind('k', i)}({', '.join(arguments)}); C.note({number}, t, {name})"
        block.line(f"{name} = beside({given}){comment}", number, traced=traced + comment)
        self._unfinished.add((i, 0))

    def finish(self, refs: Iterable[Ref]) -> None:
        """Write the lines that ask for values, before they are read."""
        block = self._block
        for ref in sorted(self._unfinished.intersection(refs)):
            self._unfinished.discard(ref)
            name = block.local(ref)
            block.line(f"{name} = {name}.result(){block.comment(ref[0])}", block.number(ref[0]), traced="pass")


def begun_among(flow: UseDef, nodes: Sequence[int], sums: Sequence[Sum]) -> frozenset[int]:
    """Return the nodes of a segment that run beside others.

    Args:
        flow: the use-def analysis.
        nodes: those of the segment, producers first.
        sums: those among them whose inputs are added one by one.

    Returns:
        The nodes, and in place of terms the nodes of their sums; none if some other node is expensive.
    """
    if flow.compiles or not flow.has_side_by_side or not any(_could(flow, i) for i in nodes):
        return frozenset()
    costs = {}
    for i in nodes:
        if flow.ops[i] is not None:
            costs[i], is_known = node_cost(flow.nodes[i], flow.context(i).inputs)
            if not is_known:
                return frozenset()
    begun_sums = [total for total in sums if _is_begun(flow, total, costs)]
    terms = frozenset[int]().union(*[total.terms for total in begun_sums])
    ended = frozenset(i for total in sums for i, _ in flow.inputs[total.node])
    others = {i: cost for i, cost in costs.items() if i not in terms}
    if max(others.values(), default=0.0) > _MOST:
        return frozenset()
    begun = _needed_late(flow, nodes, others, ended)
    return begun.union([total.node for total in begun_sums])


def _is_begun(flow: UseDef, total: Sum, costs: Mapping[int, float]) -> bool:
    """Return whether the parts of a sum run beside each other: all are terms, and expensive enough."""
    inputs, parts = flow.inputs[total.node], len(total.parts)
    if parts < 2 or len(total.terms) < len(inputs):
        return False
    return sum([costs[i] for i, _ in inputs]) >= parts * _LEAST


def _could(flow: UseDef, i: int) -> bool:
    """Return whether the kernel of a node is a pure function that could be a term of a sum."""
    op = flow.ops[i]
    return op is not None and op.adds is not None


def _needed_late(
    flow: UseDef, nodes: Sequence[int], costs: Mapping[int, float], ended: frozenset[int]
) -> frozenset[int]:
    """Return the nodes that are read first after others have taken as long as they do.

    Args:
        flow: the use-def analysis.
        nodes: those of the segment.
        costs: of those that may count.
        ended: the nodes that a sum reads as soon as they are there.
    """
    reader: dict[int, int] = {}  # the place of the first
    for place, i in enumerate(nodes):
        for j, _ in flow.inputs[i]:
            reader.setdefault(j, place)
    may = {i: place for place, i in enumerate(nodes) if i in reader and _could(flow, i) and costs.get(i, 0.0) >= _LEAST}
    may = {i: place for i, place in may.items() if i not in ended}
    if len(may) > _MOST_COMPARED:
        return frozenset()
    passed = [0.0, *itertools.accumulate([0.0 if i in may else costs.get(i, 0.0) for i in nodes])]
    begun: set[int] = set()
    stays: set[int] = set()
    # What is read soonest is decided on first: it stays, and what is read later has its time.
    for i in sorted(may, key=lambda i: reader[i] - may[i]):
        meanwhile = sum([costs[j] for j in stays if may[i] < may[j] < reader[i]])
        is_late = passed[reader[i]] - passed[may[i]] + meanwhile >= costs[i]
        (begun if is_late else stays).add(i)
    return frozenset(begun)
