"""The result of ``compile``: segments of generated Python, and the partition that they form.

These are plain values between ``compile``, ``bind`` and the executor. A **segment** is all nodes that wait
for the same set of arrivals; its code is one function ``segment_n(C, *arguments)`` that returns a tuple of
results. Values that cross segments are kept in numbered **slots** of the step.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, NamedTuple

from actorsession.graph.node import NodeDef
from actorsession.plan.codegen.node_context import NodeContext
from actorsession.plan.cost import LIGHT
from actorsession.plan.partition import Partition
from actorsession.plan.takes import TakePlan, TakeUses
from actorsession.records import dataclass

if TYPE_CHECKING:
    from actorsession.plan.fed_cost import FedCost

__all__ = ["INDENT", "CompiledPartition", "Line", "Segment", "Suspension"]

INDENT = "    "


class Line(NamedTuple):
    """One line of generated code.

    Attributes:
        text: the line, indented.
        node: number of the node that it belongs to; see ``CompiledPartition.nodes``.
        value: expression for the value that the node makes here; ``None`` for lines that are no node's own
            work.
        traced: the line in the traced variant; ``None`` if it is the same.
    """

    text: str
    node: int | None = None
    value: str | None = None
    traced: str | None = None


class Suspension(NamedTuple):
    """A node that starts in one segment and whose values arrive later; see ``OpDef.suspends``.

    Attributes:
        node: its number.
        slots: of its outputs.
        arrival: the slot by which segments wait for it: that of its first output, or an extra one.
    """

    node: int
    slots: tuple[int, ...]
    arrival: int


@dataclass(frozen=True, slots=True)
class Segment:
    """One generated function and the data that the executor needs to call it.

    Attributes:
        name: of the function.
        code: its text, line by line.
        bindings: global names in the text, with the number of the node whose kernel (``k``), value (``c``) or
            other function (``o``: ``OpDef.into``, ``n``: that or ``OpDef.into_new``, ``j``: ``OpDef.joins``,
            ``s``: ``OpDef.adds``) each is.
        arguments: slots of its parameters.
        results: slots of its results.
        waits: slots of the arrivals that it waits for.
        after: segments that must run first.
        cost: estimated microseconds.
        cost_known: whether every shape behind the estimate is known.
        is_steady: whether the time of one run predicts the others; see ``trip_counts``.
        unsized: positions of the arguments whose number of bytes is not static.
        fed_cost: estimates the cost for given arguments, if static types do not determine it.
        runs: the nodes, by number, that are computed together block by block if their arrays are large.
        subgraphs: the nodes, by number, that the compiler of the device gets as one function once they ran often.
        side_by_side: whether some kernels run beside others; see ``beside``.
    """

    name: str
    code: tuple[Line, ...]
    bindings: Mapping[str, int]
    arguments: tuple[int, ...]
    results: tuple[int, ...]
    waits: tuple[int, ...]
    after: tuple[int, ...]
    cost: float
    cost_known: bool
    is_steady: bool = True
    unsized: tuple[int, ...] = ()
    fed_cost: FedCost | None = None
    runs: tuple[tuple[int, ...], ...] = ()
    subgraphs: tuple[tuple[int, ...], ...] = ()
    side_by_side: bool = False

    @property
    def lines(self) -> tuple[str, ...]:
        """The function's text."""
        return tuple([line.text for line in self.code])

    @property
    def line_nodes(self) -> tuple[int | None, ...]:
        """The node at each line of ``lines``, counted from 0; ``None`` for other lines."""
        return tuple([line.node for line in self.code])

    @property
    def traced_lines(self) -> tuple[str, ...]:
        """The text of the same function that also records when each node ran."""
        return tuple([text for text, _ in self._traced()])

    @property
    def traced_line_nodes(self) -> tuple[int | None, ...]:
        """The node at each line of ``traced_lines``."""
        return tuple([node for _, node in self._traced()])

    def _traced(self) -> Iterator[tuple[str, int | None]]:
        for line in self.code:
            if line.value is None:
                yield line.traced or line.text, line.node
                continue
            indent = line.text[: -len(line.text.lstrip())]
            yield f"{indent}t = clock()", line.node
            yield line.text, line.node
            yield f"{indent}C.note({line.node}, t, {line.value})", line.node

    @property
    def is_light(self) -> bool:
        """Whether the segment is so short that it is cheap for any but enormous inputs."""
        return self.cost < LIGHT


@dataclass(frozen=True, slots=True)
class CompiledPartition:
    """A partition as segments.

    Attributes:
        partition: the partition that was compiled.
        nodes: its nodes, and behind them those of loop bodies and branches, by their numbers in the code.
        segments: each after those it depends on.
        slots: number of slots for values that cross segments.
        feeds: (slot, position in the signature's feeds).
        recvs: (slot, rendezvous key).
        suspensions: nodes whose values arrive later, in the numbering of the generated code.
        sends: rendezvous keys, in the numbering of the generated code.
        fetches: (position in the signature's fetches, slot).
        readers: number of segments that read each slot.
        contexts: contexts for the kernel factories of bound nodes, by number.
        takes: those of ``suspensions`` that take, by their number there.
        taken_inside: uses of values that nodes in loops and branches take; ``None`` if none does.
        unread: contexts of nodes of state whose handles nothing reads, so that no code binds them.
    """

    partition: Partition
    nodes: tuple[NodeDef, ...]
    segments: tuple[Segment, ...]
    slots: int
    feeds: tuple[tuple[int, int], ...]
    recvs: tuple[tuple[int, str], ...]
    suspensions: tuple[Suspension, ...]
    sends: tuple[str, ...]
    fetches: tuple[tuple[int, int], ...]
    readers: tuple[int, ...]
    contexts: Mapping[int, NodeContext]
    takes: Mapping[int, TakePlan] = field(default_factory=dict)
    taken_inside: TakeUses | None = None
    unread: tuple[NodeContext, ...] = ()
