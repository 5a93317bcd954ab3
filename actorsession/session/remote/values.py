"""Values of remote runs: plans, the ownership of arrays, the wire form of options and metadata.

A master in this process gets the caller's arrays themselves and returns its own; over a link all arrays are
copied anyway. Plain data and functions, used by remote sessions and their partial runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np

from actorsession.config import CostGraphDef, RunMetadata, RunOptions, SessionMetadata, StepStats
from actorsession.graph.node import GraphDef
from actorsession.messages.session import PrepareStep
from actorsession.messages.step_frames import CallRequest, StepRequest, WireValues
from actorsession.plan.signature import RunSignature
from actorsession.records import dataclass
from actorsession.rpc.link import Link
from actorsession.rpc.local_calls import LocalCalls, LocalValues
from actorsession.runtime.kept_feeds import fixed_feed, kept_feed, large_arrays

__all__ = [
    "RemotePlan",
    "RunCalls",
    "RunValues",
    "SessionProgram",
    "copies_much",
    "fill_metadata",
    "own_value",
    "plan_to_wire",
    "received_value",
    "sent_feeds",
    "timeline_of",
]


RunValues: TypeAlias = WireValues | LocalValues
"""The feeds or fetches of a run of a step program."""


class RunCalls(Protocol):
    """Requests runs of a master: ``StepCalls`` over a link, ``LocalCalls`` within a process."""

    def request(
        self,
        kind: int,
        call: int,
        number: int,
        seconds: float | None,
        asked: StepRequest | CallRequest | None,
        values: Any,
        waiter: Any,
    ) -> None:
        """Request a run; see ``StepCalls.request``."""

    def cancel(self, call: int) -> None:
        """Cancel a run; see ``StepCalls.cancel``."""

    def confirm(self, call: int, *, received: bool) -> None:
        """Say whether the values of a run were received; see ``StepCalls.confirm``."""


@dataclass(slots=True, eq=False)
class SessionProgram:
    """A plan as it is run over one connection to a master.

    Attributes:
        channel: the link to the master, or the calls of a master in this process.
        number: the client's number for it there.
        plan: the plan in wire form, which the first run brings along.
        calls: the runs that are requested over the channel.
        over_link: whether values are encoded on their way to the master.
        known: whether the master has answered a run of it.
    """

    channel: Link | LocalCalls
    number: int
    plan: list[Any]
    calls: RunCalls
    over_link: bool
    known: bool = False

    @classmethod
    def over(cls, channel: Link | LocalCalls, number: int, plan: list[Any]) -> SessionProgram:
        """Return a plan that no run of has been answered over a channel."""
        return cls(channel, number, plan, channel.steps, isinstance(channel, Link))

    @property
    def threads_may_write(self) -> bool:
        """Whether ``run_from_thread`` can request a run now, as far as can be seen."""
        channel = self.channel
        return isinstance(channel, Link) and channel.threads_may_write

    def open_to_threads(self) -> None:
        """Let threads request runs, if values travel over a link that can."""
        if isinstance(self.channel, Link):
            self.channel.open_to_threads()

    def run_from_thread(
        self, call: int, seconds: float | None, asked: StepRequest | None, values: RunValues, waiter: Any
    ) -> bool:
        """Request a run in another thread than that of the loop; see ``StepCalls.run_from_thread``."""
        channel = self.channel
        return (
            isinstance(channel, Link)
            and isinstance(values, WireValues)
            and channel.steps.run_from_thread(call, self.number, seconds, asked, values, waiter)
        )

    def sent(self, feeds: Sequence[Any], nbytes: int) -> RunValues:
        """Return feeds of so many bytes as a run takes them; arrays are borrowed until it has ended, or copied."""
        if self.over_link:
            return WireValues.of(feeds)
        values = LocalValues(map(kept_feed, feeds))
        values.nbytes = nbytes
        return values


@dataclass(slots=True, eq=False)
class RemotePlan:
    """A remote session's record of a plan: the names in the order in which values are sent.

    Attributes:
        signature: the names.
        programs: how it is run over the present connection, by what options make another plan of it.
        needs_loop: whether a step needs an event loop: always.
    """

    needs_loop: ClassVar[bool] = True
    signature: RunSignature
    programs: dict[Any, SessionProgram] = field(default_factory=dict)


def plan_to_wire(
    session_handle: str, signature: RunSignature, options: RunOptions | None, *, partial: bool
) -> PrepareStep:
    """Return the plan of a signature as a master makes it, with what its options watch."""
    return PrepareStep(
        session_handle=session_handle,
        feeds=list(signature.feeds),
        fetches=list(signature.fetches),
        targets=list(signature.targets),
        partial=partial,
        wiring=signature.wiring.to_wire(),
        options={} if options is None else options.to_wire(),
    )


def sent_feeds(feeds: Sequence[Any], *, over_link: bool) -> Sequence[Any]:
    """Return feeds that cannot change while the step is under way."""
    # Over a link the arrays are borrowed until the answer arrives, and must be contiguous.
    if not over_link:
        return [fixed_feed(feed) for feed in feeds]
    return [f if _is_whole(f) else np.ascontiguousarray(f) for f in feeds]


def copies_much(feeds: Sequence[Any], *, over_link: bool) -> bool:
    """Return whether ``sent_feeds`` copies so much that it would hold the event loop."""
    return large_arrays(feeds) and not (over_link and all(_is_whole(feed) for feed in feeds))


def _is_whole(value: Any) -> bool:
    return not large_arrays((value,)) or bool(value.flags.c_contiguous)


def fill_metadata(metadata: RunMetadata, wire: dict[str, Any] | None) -> None:
    """Fill metadata with the master's report on a run."""
    metadata.clear()
    if not wire:
        return
    if wire.get("step_stats") is not None:
        metadata.step_stats = StepStats.from_wire(wire["step_stats"])
    if wire.get("cost_graph") is not None:
        metadata.cost_graph = CostGraphDef.from_wire(wire["cost_graph"])
    if wire.get("session_metadata") is not None:
        metadata.session_metadata = SessionMetadata.from_wire(wire["session_metadata"])
    metadata.partition_graphs = [GraphDef.from_wire(g) for g in wire.get("partition_graphs") or ()]


def timeline_of(metadata: RunMetadata, wire: dict[str, Any] | None) -> StepStats | None:
    """Return the statistics that the session keeps as a timeline, if the master traced the run for that.

    Args:
        metadata: filled with the report.
        wire: the report.
    """
    timeline = wire.get("timeline") if wire else None
    if timeline is None:
        return None
    # The caller gets the same statistics where it requested them, too.
    return metadata.step_stats if timeline is True else StepStats.from_wire(timeline)


def own_value(value: Any) -> Any:
    """Return a value of a master in this process, owned by the caller; rank 0 becomes a scalar, as in TensorFlow."""
    if not isinstance(value, np.ndarray):
        return value
    return np.array(value) if value.ndim else value[()]


def received_value(value: Any) -> Any:
    """Return a value that has come over a link, owned by the caller; see ``own_value``."""
    if not isinstance(value, np.ndarray):
        return value
    if not value.ndim:
        return value[()]
    # What cannot be written to is memory of the master.
    return value if value.flags.writeable else value.copy()
