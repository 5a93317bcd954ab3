"""What is remembered of a step after it has ended: when it ran and where, what it waited for and sent.

Plain data, which servers and sessions keep for their last steps without being asked, unlike ``StepStats``, which
are recorded of a step that is traced. A master knows a step as a whole, a worker knows its parts there;
``merge_records`` puts together what several tasks have kept of the same steps.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

from actorsession.config.stats import NodeStats, StepStats, TransferStats
from actorsession.drawing.shown import Shown
from actorsession.drawing.text import duration
from actorsession.errors import InvalidArgumentError
from actorsession.records import dataclass
from actorsession.terminal_text import visible

if TYPE_CHECKING:
    from actorsession.drawing.sheet import Sheet

__all__ = ["ErrorRecord", "PartRecord", "StepKind", "StepRecord", "merge_records", "without_fragments"]

StepKind: TypeAlias = Literal["run", "partial"]
"""Whether a step is that of a run or of a partial run."""


@dataclass(frozen=True, slots=True)
class PartRecord:
    """The part of a step on one device.

    Attributes:
        device: full name of the device.
        began: wall-clock seconds at its begin.
        ended: wall-clock seconds at its end; 0 while it runs.
        waited: seconds in which it had nothing to run: for values of other tasks, or for an operation that waits,
            such as a dequeue. Devices of one task share a thread, and so these times.
    """

    device: str
    began: float
    ended: float
    waited: float


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class StepRecord(Shown):
    """One step that has ended or runs, as a task or a session has seen it.

    Attributes:
        step_id: its number; the same at all tasks.
        session: the handle of its session.
        task: the task whose record it is; of a merged one, the task of the master.
        kind: ``run`` or ``partial``.
        began: wall-clock seconds at its begin.
        took: seconds from there to its end; 0 while it runs.
        error: the class and the message of the error with which it has ended; "" for none.
        feeds: the names of the fed tensors.
        fetches: the names of the fetched tensors, then those of the target operations; empty in the record of a
            worker, which does not know them.
        parts: what ran on each device.
        transfers: the ends of the transfers between devices that were recorded.
        left_out: how many were not, because the step had more than are kept.
        trace_id: the trace of OpenTelemetry that it belongs to; "" for none.
    """

    step_id: int
    session: str
    task: str
    kind: StepKind = "run"
    began: float
    took: float
    error: str = ""
    feeds: tuple[str, ...] = ()
    fetches: tuple[str, ...] = ()
    parts: tuple[PartRecord, ...] = ()
    transfers: tuple[TransferStats, ...] = ()
    left_out: int = 0
    trace_id: str = ""

    @property
    def is_whole(self) -> bool:
        """Whether it is the record of a master or of a local session, which know the step as a whole."""
        return bool(self.fetches)

    @property
    def is_running(self) -> bool:
        """Whether the step had not ended when the record was made."""
        return not self.took

    @property
    def ended(self) -> float:
        """Wall-clock seconds at its end; at its begin while it runs."""
        return self.began + self.took

    def __repr__(self) -> str:
        took = "running" if self.is_running else duration(self.took)
        words = [", ".join(self.fetches), took, self.error]
        return visible(f"<StepRecord {self.step_id}: {', '.join(filter(None, words))}>")

    def _sheet(self) -> Sheet:
        from actorsession.config.stats_sheet import record_sheet

        return record_sheet(self)

    def step_stats(self) -> StepStats:
        """Return the record in the form of a traced step, of which a trace can be drawn.

        A part is one node with the name of its device, since the nodes of a step that is not traced are not
        recorded. Its waiting is a second node, at the beginning of its time: that of the single waits is unknown.
        """
        nodes = []
        for part in self.parts:
            ended = max(part.ended, part.began)
            worked = min(part.began + part.waited, ended)
            if part.waited:
                nodes.append(NodeStats(part.device, "waited", "Wait", part.began, worked, "step", 0))
            nodes.append(NodeStats(part.device, f"step {self.step_id}", "Part", worked, ended, "step", 0))
        return StepStats(self.step_id, nodes, list(self.transfers))

    def to_wire(self) -> list[Any]:
        """Return the record as plain values."""
        return [
            self.step_id,
            self.session,
            self.task,
            self.kind,
            self.began,
            self.took,
            self.error,
            list(self.feeds),
            list(self.fetches),
            [[p.device, p.began, p.ended, p.waited] for p in self.parts],
            [[t.kind, t.key, t.device, t.time, t.nbytes] for t in self.transfers],
            self.left_out,
            self.trace_id,
        ]

    @classmethod
    def from_wire(cls, value: Any) -> StepRecord:
        """Read the result of ``to_wire``; what a later version has added at the end is left out.

        Raises:
            InvalidArgumentError: the value has another form.
        """
        try:
            step_id, session, task, kind, began, took, error, feeds, fetches, parts, transfers, left_out, trace_id = (
                value[:13]
            )
            texts = (session, task, error, trace_id, *feeds, *fetches)
            if kind not in get_args(StepKind) or not all(isinstance(text, str) for text in texts):
                raise TypeError(kind)
            return cls(
                step_id=int(step_id),
                session=session,
                task=task,
                kind=kind,
                began=float(began),
                took=float(took),
                error=error,
                feeds=tuple(feeds),
                fetches=tuple(fetches),
                parts=tuple([PartRecord(str(d), float(b), float(e), float(w)) for d, b, e, w in parts]),
                transfers=tuple(
                    [TransferStats(str(k), str(key), str(d), float(t), int(n)) for k, key, d, t, n in transfers]
                ),
                left_out=int(left_out),
                trace_id=trace_id,
            )
        except (TypeError, ValueError) as exc:
            raise InvalidArgumentError(f"invalid record of a step: {value!r:.200}") from exc


@dataclass(frozen=True, slots=True)
class ErrorRecord:
    """An error that a server or a session remembers.

    Attributes:
        when: wall-clock seconds.
        code: the name of its class, such as ``DeadlineExceededError``.
        message: its text.
        task: the task that it happened on.
        session: the handle of the session; "" for none.
        step_id: the step; 0 for none.
        subject: what failed: ``step``, ``session``, ``link``, ``kernel``, ``snapshot`` or ``task``.
    """

    when: float
    code: str
    message: str
    task: str
    session: str = ""
    step_id: int = 0
    subject: str = "step"

    def to_wire(self) -> list[Any]:
        """Return the record as plain values."""
        return [self.when, self.code, self.message, self.task, self.session, self.step_id, self.subject]

    @classmethod
    def from_wire(cls, value: Any) -> ErrorRecord:
        """Read the result of ``to_wire``.

        Raises:
            InvalidArgumentError: the value has another form.
        """
        try:
            when, code, message, task, session, step_id, subject = value[:7]
            if not all(isinstance(text, str) for text in (code, message, task, session, subject)):
                raise TypeError("texts are strings")
            return cls(float(when), code, message, task, session, int(step_id), subject)
        except (TypeError, ValueError) as exc:
            raise InvalidArgumentError(f"invalid record of an error: {value!r:.200}") from exc


def merge_records(records: Iterable[StepRecord]) -> list[StepRecord]:
    """Return one record for each step of the records of several tasks, in the order of their ends.

    A step whose master is not among them is as long as its known parts, and has the error of one of them.
    """
    steps: dict[tuple[str, int], StepRecord] = {}
    for record in records:
        name = record.session, record.step_id
        known = steps.get(name)
        steps[name] = record if known is None else _merged(known, record)
    return sorted(steps.values(), key=lambda step: (step.is_running, step.ended))


def without_fragments(records: Sequence[StepRecord]) -> list[StepRecord]:
    """Return records without the parts of steps whose master says nothing of the step, though it has answered.

    Such a step began after the answer, or its master keeps it no longer.
    """
    whole = {record.session for record in records if record.is_whole}
    return [record for record in records if record.is_whole or record.session not in whole]


def _merged(one: StepRecord, other: StepRecord) -> StepRecord:
    if other.is_whole and not one.is_whole:
        one, other = other, one
    parts = sorted({*one.parts, *other.parts}, key=lambda part: part.device)
    transfers = sorted({*one.transfers, *other.transfers}, key=lambda transfer: transfer.time)
    merged = replace(
        one,
        error=one.error or ("" if one.is_whole else other.error),
        parts=tuple(parts),
        transfers=tuple(transfers),
        left_out=one.left_out + other.left_out,
        trace_id=one.trace_id or other.trace_id,
    )
    if one.is_whole:
        return merged
    began = min(one.began, other.began)
    running = one.is_running or other.is_running
    return replace(merged, began=began, took=0.0 if running else max(one.ended, other.ended) - began)
