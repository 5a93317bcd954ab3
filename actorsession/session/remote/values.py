"""Values of remote runs: plans, the ownership of arrays, the wire form of options and metadata.

A master in this process gets the caller's arrays themselves and returns its own; over a link all arrays are
copied anyway. Plain data and functions, used by remote sessions and their partial runs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any, ClassVar, Protocol, TypeAlias

import numpy as np

from actorsession.config import CostGraphDef, RunMetadata, RunOptions, SessionMetadata, StepStats
from actorsession.graph.node import GraphDef
from actorsession.messages.step_frames import WireValues
from actorsession.plan.signature import RunSignature
from actorsession.records import dataclass
from actorsession.rpc.link import Link
from actorsession.rpc.local_calls import LocalCalls, LocalValues
from actorsession.rpc.step_calls import StepCalls
from actorsession.runtime.kept_feeds import kept_feed, large_arrays

__all__ = [
    "RemotePlan", "RunValues", "SessionProgram", "copies_much", "fill_metadata", "own_values",
    "sent_feeds", "timeline_of", "wire_limit", "wire_options",
]  # fmt: skip


RunValues: TypeAlias = WireValues | LocalValues
"""The feeds or fetches of a run of a step program."""


class ProgramCalls(Protocol):
    """Requests runs of programs: ``StepCalls`` over a link, ``LocalCalls`` within a process."""

    def run(self, call: int, program: int, seconds: float | None, values: Any, waiter: Any) -> None:
        """Request a run; see ``StepCalls.run``."""

    def cancel(self, call: int) -> None:
        """Cancel a run; see ``StepCalls.cancel``."""


@dataclass(frozen=True, slots=True, eq=False)
class SessionProgram:
    """The step program of a plan.

    Attributes:
        way: the link over which it was registered, or the calls of a master in this process.
        calls: the runs that are requested by that way.
        number: its number at the master; 0 if the plan has to be run by messages.
        over_link: whether values are encoded on their way to the master.
    """

    way: Link | LocalCalls
    calls: ProgramCalls
    number: int
    over_link: bool

    @property
    def threads_may_write(self) -> bool:
        """Whether ``run_from_thread`` can request a run now, as far as can be seen."""
        way = self.way
        return isinstance(way, Link) and way.threads_may_write

    def open_to_threads(self) -> None:
        """Let threads request runs, if values travel over a link that can."""
        if isinstance(self.way, Link):
            self.way.open_to_threads()

    def run_from_thread(
        self, call: int, seconds: float | None, values: RunValues, waiter: Any
    ) -> bool:
        """Request a run in another thread than that of the loop; see ``StepCalls.run_from_thread``."""
        calls = self.calls
        return (
            isinstance(calls, StepCalls)
            and isinstance(values, WireValues)
            and calls.run_from_thread(call, self.number, seconds, values, waiter)
        )

    def sent(self, feeds: Sequence[Any]) -> RunValues:
        """Return feeds as a run takes them; arrays are borrowed until it has ended, or copied."""
        return WireValues.of(feeds) if self.over_link else LocalValues(map(kept_feed, feeds))


@dataclass(slots=True, eq=False)
class RemotePlan:
    """A remote session's record of a plan: the names in the order in which values are sent.

    Attributes:
        signature: the names.
        fetches: its fetches, as a list for messages.
        targets: its targets, as a list for messages.
        wiring: its wiring in wire form.
        program: its step program, once it was registered.
        registering: ends with the registration, while that is under way.
        needs_loop: whether a step needs an event loop: always.
    """

    needs_loop: ClassVar[bool] = True
    signature: RunSignature
    fetches: list[str]
    targets: list[str]
    wiring: list[Any]
    program: SessionProgram | None = None
    registering: asyncio.Task[None] | None = None


def sent_feeds(feeds: Sequence[Any], *, over_link: bool) -> Sequence[Any]:
    """Return feeds that cannot change while the step is under way."""
    # Over a link the arrays are borrowed until the answer arrives, and must be contiguous.
    if not over_link:
        return [kept_feed(feed) for feed in feeds]
    return [f if _is_whole(f) else np.ascontiguousarray(f) for f in feeds]


def copies_much(feeds: Sequence[Any], *, over_link: bool) -> bool:
    """Return whether ``sent_feeds`` copies so much that it would hold the event loop."""
    return large_arrays(feeds) and not (over_link and all(_is_whole(feed) for feed in feeds))


def _is_whole(value: Any) -> bool:
    return not large_arrays((value,)) or bool(value.flags.c_contiguous)


def own_values(values: Sequence[Any], *, over_link: bool) -> list[Any]:
    """Return fetched values owned by the caller; rank 0 becomes a scalar, as in TensorFlow."""
    return list(map(_received if over_link else _own, values))


def wire_limit(limit: float | None) -> int:
    """Return a limit in milliseconds for the master, which can name what the step waits for."""
    return 0 if limit is None else max(1, round(limit * 1000))


def wire_options(options: RunOptions | None, limit: float | None) -> dict[str, Any]:
    """Return the wire form of a run's options with its limit."""
    if limit is None:
        return options.to_wire() if options is not None else {}
    return {**(options or RunOptions()).to_wire(), "timeout_in_ms": wire_limit(limit)}


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
    found = wire.get("timeline") if wire else None
    if found is None:
        return None
    # The caller gets the same statistics where it requested them, too.
    return metadata.step_stats if found is True else StepStats.from_wire(found)


def _own(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    return np.array(value) if value.ndim else value[()]


def _received(value: Any) -> Any:
    if not isinstance(value, np.ndarray):
        return value
    if not value.ndim:
        return value[()]
    # What cannot be written to is memory of the master.
    return value if value.flags.writeable else value.copy()
