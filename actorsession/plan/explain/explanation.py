"""The value that ``session.explain`` returns: one step before it runs, as plain frozen data.

Masters send it as JSON, the page serves it, and it shows itself as text, HTML, SVG or DOT. It holds names, numbers
and sentences alone, nothing of the graph itself; every text of it may come from a peer.
"""

from __future__ import annotations

import dataclasses
import json
import reprlib
import types
import typing
from collections.abc import Callable
from typing import Any

from actorsession.drawing.shown import ShownValue
from actorsession.errors import RequestValueError
from actorsession.json_text import read_json_object
from actorsession.records import dataclass

__all__ = [
    "CriticalPart",
    "DroppedNode",
    "ExplainedNode",
    "ExplainedPartition",
    "ExplainedSegment",
    "ExplainedTensor",
    "Explanation",
    "Finding",
    "Missing",
    "PassReport",
    "Refused",
    "SourceLine",
    "TaskLink",
    "Transfer",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedTensor:
    """A tensor as far as it is known before the step.

    Attributes:
        name: its name, ``node:output``.
        dtype: its element type.
        shape: its sizes, ``None`` for each that is unknown; ``None`` alone if even their number is.
        nbytes: its bytes; ``None`` unless they are known.
    """

    name: str
    dtype: str
    shape: tuple[int | None, ...] | None = None
    nbytes: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Devices that a node does not have, for one reason.

    Attributes:
        why: the reason.
        devices: the first of them.
        more: how many others there are.
    """

    why: str
    devices: tuple[str, ...]
    more: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedNode:
    """A node that runs in the step.

    Attributes:
        name: its name.
        op: its operation type.
        device: full name of its device.
        reason: the rule that chose the device.
        refused: the other devices, by reason.
        line: the user's line that built it.
        inputs: the tensors that it reads, and ``^name`` for each node that it runs after.
        outputs: its values.
        flops: floating-point operations; ``None`` if no rule says it or a shape is unknown.
        seconds: expected seconds, measured ones where there are any.
        known: whether every shape behind ``seconds`` is known, or it was measured.
        measured: whether ``seconds`` was measured.
    """

    name: str
    op: str
    device: str
    reason: str = ""
    refused: tuple[Refused, ...] = ()
    line: str = ""
    inputs: tuple[str, ...] = ()
    outputs: tuple[ExplainedTensor, ...] = ()
    flops: int | None = None
    seconds: float = 0.0
    known: bool = True
    measured: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DroppedNode:
    """A node of the graph that does not run in the step, although it is near what is fetched.

    Attributes:
        name: its name.
        op: its operation type.
        line: the user's line that built it.
        stage: what left it out: ``prune``, or the name of a pass.
        why: the reason.
    """

    name: str
    op: str
    line: str
    stage: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """A value that one device sends to another in each step.

    Attributes:
        key: the rendezvous key.
        tensor: the value; for a control edge its name is ``^node``, and it is one byte.
        source: full name of the device that sends it.
        target: full name of the device that receives it.
        producer: the node that makes it.
        readers: the nodes that read it there.
        line: the user's line that built the producer.
        seconds: expected seconds on the way.
    """

    key: str
    tensor: ExplainedTensor
    source: str
    target: str
    producer: str
    readers: tuple[str, ...] = ()
    line: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceLine:
    """A line of generated source.

    Attributes:
        text: the line.
        node: the node that it belongs to; empty for lines that are no node's own.
        line: the user's line that built the node.
    """

    text: str
    node: str = ""
    line: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedSegment:
    """The nodes of a partition that wait for the same arrivals: one generated function.

    Attributes:
        name: of the function.
        waits: what it waits for: rendezvous keys, and names of nodes that suspend.
        after: the segments that run before it.
        lines: its source.
        seconds: expected seconds.
        known: whether every shape behind ``seconds`` is known.
        subgraphs: the names of nodes that the compiler of the device gets as one function once they ran often.
    """

    name: str
    waits: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    lines: tuple[SourceLine, ...] = ()
    seconds: float = 0.0
    known: bool = True
    subgraphs: tuple[tuple[str, ...], ...] = ()

    @property
    def source(self) -> str:
        """The source of the function as text."""
        return "\n".join([line.text for line in self.lines])


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainedPartition:
    """The part of the step on one device.

    Attributes:
        device: full name of the device.
        task: the task that has it.
        engine: ``segments`` for generated functions; ``dataflow`` where nodes run one by one, because a value may
            be dead or belong to an iteration of a loop.
        nodes: the names of its nodes, sends and receives left out.
        feeds: the tensors that are fed to it.
        fetches: the tensors that it returns.
        segments: its generated functions; with ``dataflow`` those of its compiled loops, branches and calls.
    """

    device: str
    task: str
    engine: str
    nodes: tuple[str, ...] = ()
    feeds: tuple[str, ...] = ()
    fetches: tuple[str, ...] = ()
    segments: tuple[ExplainedSegment, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PassReport:
    """What a stage of planning did to the step.

    Attributes:
        name: of the stage or pass.
        before: number of nodes before it.
        after: number of nodes after it.
        removed: the nodes that it removed.
        added: the nodes that it added.
        changed: the nodes that it changed.
    """

    name: str
    before: int
    after: int
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """Something that the step would lack.

    Attributes:
        kind: ``feed``, ``value``, ``task`` or ``plan``.
        name: of the placeholder, variable or task; empty for a plan that cannot be made.
        what: a sentence.
        line: the user's line that built it.
    """

    kind: str
    name: str
    what: str
    line: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that would make the step slow.

    Attributes:
        kind: the row of the table of findings, such as ``to-and-fro``.
        node: the node that it is about.
        line: the user's line that built it.
        what: a sentence that says what is slow, and where.
        advice: a sentence that says what to do.
        seconds: what it is expected to cost in a step; 0 if that is not known.
    """

    kind: str
    node: str
    line: str
    what: str
    advice: str
    seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CriticalPart:
    """One part of the longest chain of the step, in the order of time.

    Attributes:
        kind: ``work`` or ``wire``.
        what: the node, the dearest of several that run one after the other, or the tensor on its way.
        nodes: how many nodes run.
        where: the device, or the two devices.
        began: expected seconds since the beginning of the step.
        ended: expected seconds since the beginning of the step.
    """

    kind: str
    what: str
    where: str
    began: float
    ended: float
    nodes: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLink:
    """The link from the task that plans to another task.

    Attributes:
        task: the other task.
        round_trip: measured seconds to it and back.
    """

    task: str
    round_trip: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Explanation(ShownValue):
    """One step before it runs.

    ``print(explanation)`` is a page of text, and a notebook shows it with its picture.

    Attributes:
        feeds: the feeds.
        fetches: the tensors that are fetched.
        targets: the operations that must run.
        devices: the devices of the session.
        client: the device through which feeds enter and fetches leave.
        graph_nodes: number of nodes of the whole graph.
        nodes: the nodes that run, producers first.
        dropped: nodes near the fetches that do not run, with the reason.
        dropped_more: how many others do not.
        partitions: the parts of the step, by device.
        transfers: what they send each other.
        passes: what each stage of planning did.
        links: the round trips to the tasks of the step.
        missing: what the step would lack.
        findings: what would make it slow, the dearest first.
        critical: the chain of work and transfers that is expected to end last.
        seconds: expected seconds of a step.
        flops: floating-point operations, as far as rules say them.
        sent_bytes: bytes sent between tasks, as far as shapes are known.
    """

    feeds: tuple[ExplainedTensor, ...] = ()
    fetches: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    devices: tuple[str, ...] = ()
    client: str = ""
    graph_nodes: int = 0
    nodes: tuple[ExplainedNode, ...] = ()
    dropped: tuple[DroppedNode, ...] = ()
    dropped_more: int = 0
    partitions: tuple[ExplainedPartition, ...] = ()
    transfers: tuple[Transfer, ...] = ()
    passes: tuple[PassReport, ...] = ()
    links: tuple[TaskLink, ...] = ()
    missing: tuple[Missing, ...] = ()
    findings: tuple[Finding, ...] = ()
    critical: tuple[CriticalPart, ...] = ()
    seconds: float = 0.0
    flops: int = 0
    sent_bytes: int = 0

    def node(self, name: str) -> ExplainedNode:
        """Return the node of a name.

        Raises:
            KeyError: if no such node runs; says why, where that is known.
        """
        for node in self.nodes:
            if node.name == name:
                return node
        left = next((f": {dropped.why}" for dropped in self.dropped if dropped.name == name), "")
        raise KeyError(f"{name!r} does not run in this step{left}")

    def to_json(self) -> str:
        """Return the explanation as a JSON object, with the fields of the classes of this module."""
        return json.dumps(self, default=_plain, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> Explanation:
        """Read the result of ``to_json``.

        Raises:
            ValueError: for any other text.
        """
        try:
            explanation: Explanation = _reader(cls)(read_json_object(text, "an explanation"))
        except TypeError as exc:
            raise RequestValueError(f"this is not an explanation: {exc}") from None
        return explanation

    @property
    def source(self) -> str:
        """The generated source of all partitions, with a comment before each segment."""
        from actorsession.plan.explain.text import source

        return "\n".join(source(self))

    def __str__(self) -> str:
        from actorsession.plan.explain.text import page

        return page(self)

    def to_dot(self) -> str:
        """Return a drawing of the step in the language of Graphviz."""
        from actorsession.plan.explain.picture import picture

        return picture(self).dot()

    def to_svg(self) -> str:
        """Return a drawing of the step as a self-contained SVG image."""
        from actorsession.plan.explain.picture import picture

        return picture(self).svg()

    def _repr_html_(self) -> str:
        from actorsession.plan.explain.picture import html_page

        return html_page(self)


def _plain(value: Any) -> dict[str, Any]:
    """Return the fields of one of the classes of this module; those within it are asked for in turn."""
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


_READERS: dict[Any, Callable[[Any], Any]] = {}


def _reader(kind: Any) -> Callable[[Any], Any]:
    """Return the function that reads plain data as a value of a declared type; TypeError if it is none."""
    if kind not in _READERS:
        _READERS[kind] = _new_reader(kind)
    return _READERS[kind]


def _new_reader(kind: Any) -> Callable[[Any], Any]:
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return _object_reader(kind)
    if isinstance(kind, types.UnionType):
        present = _reader(kind.__args__[0])
        return lambda value: None if value is None else present(value)
    if typing.get_origin(kind) is tuple:
        item = _reader(kind.__args__[0])
        return lambda value: tuple([item(one) for one in _checked(list, value)])
    numbers = {float: (float, int), int: int}.get(kind, kind)
    return lambda value: _checked(numbers, value)


def _object_reader(kind: type) -> Callable[[Any], Any]:
    readers = {name: _reader(hint) for name, hint in typing.get_type_hints(kind).items()}

    def read(value: Any) -> Any:
        return kind(**{name: readers[name](v) for name, v in _checked(dict, value).items() if name in readers})

    return read


def _checked(kind: Any, value: Any) -> Any:
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise TypeError(f"expected {kind}, got {reprlib.repr(value)}")
    return value
