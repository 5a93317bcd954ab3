"""What remote runs send and get beside their frames: feeds that have to be copied, plans, reports.

A master in this process gets the caller's arrays themselves and returns its own; over a link all arrays are
copied anyway. Plain data and functions, used by remote sessions and their partial runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from actorsession.config import (
    ClockStats,
    CostGraphDef,
    FrameStats,
    PhaseStats,
    RunMetadata,
    RunOptions,
    SessionMetadata,
    StepStats,
)
from actorsession.graph.held_arrays import large_arrays
from actorsession.graph.node import GraphDef
from actorsession.messages.session import PrepareStep
from actorsession.plan.signature import RunSignature
from actorsession.rpc.clock_offset import ClockOffset
from actorsession.runtime.kept_feeds import fixed_feed

__all__ = ["Answer", "copies_much", "fill_metadata", "plan_to_wire", "sent_feeds", "timeline_of"]


class Answer(NamedTuple):
    """The answer to a run, over a link to another process.

    Attributes:
        clock: the clock of the master; learns from the report.
        returned: wall-clock seconds at which the answer was read.
        nbytes: the size of its frame.
        waited: seconds that the run waited here before it was requested.
    """

    clock: ClockOffset
    returned: float
    nbytes: int
    waited: float

    def stats(self, wire: Any) -> StepStats:
        """Return the statistics of a step in the time of the clock here.

        Args:
            wire: the report of the master, in the time of its own clock.

        Raises:
            InvalidArgumentError: for a malformed report.
        """
        outline = StepStats.outline_from_wire(wire)
        requests = [frame for frame in outline.frames if frame.kind == "RunStep"]
        steps = [phase for phase in outline.phases if phase.kind == "step"]
        if not (requests and steps):
            return StepStats.from_wire(wire)
        request, step = requests[0], steps[0]
        self.clock.learn(request.sent, request.arrived, step.ended, self.returned)
        offset, error = self.clock.at(self.returned)
        if error == math.inf:
            return StepStats.from_wire(wire)
        stats = StepStats.from_wire(wire, offset, error)
        stats.frames = [f if f.kind != "RunStep" else f.told(f.source, -offset) for f in stats.frames]
        master, client = request.target, request.source
        answered = step.ended + offset
        stats.frames.append(FrameStats("done", master, client, (), self.nbytes, answered, self.returned))
        if self.waited:
            stats.phases.append(PhaseStats("admission", client, request.sent - self.waited, request.sent))
        stats.phases.append(PhaseStats("run", client, request.sent - self.waited, self.returned))
        stats.clocks.append(ClockStats(master, offset, error))
        return stats


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


def fill_metadata(metadata: RunMetadata, wire: dict[str, Any] | None, answer: Answer | None) -> None:
    """Fill metadata with the master's report on a run.

    Args:
        metadata: what is filled.
        wire: the report.
        answer: how it has come; ``None`` from a master in this process.
    """
    metadata.clear()
    if not wire:
        return
    if wire.get("step_stats") is not None:
        metadata.step_stats = _stats(wire["step_stats"], answer)
    if wire.get("cost_graph") is not None:
        metadata.cost_graph = CostGraphDef.from_wire(wire["cost_graph"])
    if wire.get("session_metadata") is not None:
        metadata.session_metadata = SessionMetadata.from_wire(wire["session_metadata"])
    metadata.partition_graphs = [GraphDef.from_wire(g) for g in wire.get("partition_graphs") or ()]


def _stats(wire: Any, answer: Answer | None) -> StepStats:
    return StepStats.from_wire(wire) if answer is None else answer.stats(wire)


def timeline_of(metadata: RunMetadata, wire: dict[str, Any] | None, answer: Answer | None) -> StepStats | None:
    """Return the statistics that the session keeps as a timeline, if the master traced the run for that.

    Args:
        metadata: filled with the report.
        wire: the report.
        answer: as in ``fill_metadata``.
    """
    timeline = wire.get("timeline") if wire else None
    if timeline is None:
        return None
    # The caller gets the same statistics where it requested them, too.
    return metadata.step_stats if timeline is True else _stats(timeline, answer)
