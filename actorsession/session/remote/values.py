"""What remote runs send and get beside their frames: feeds that have to be copied, plans, reports.

A master in this process gets the caller's arrays themselves and returns its own; over a link all arrays are
copied anyway. Plain data and functions, used by remote sessions and their partial runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.config import CostGraphDef, RunMetadata, RunOptions, SessionMetadata, StepStats
from actorsession.graph.held_arrays import large_arrays
from actorsession.graph.node import GraphDef
from actorsession.messages.session import PrepareStep
from actorsession.plan.signature import RunSignature
from actorsession.runtime.kept_feeds import fixed_feed

__all__ = ["copies_much", "fill_metadata", "plan_to_wire", "sent_feeds", "timeline_of"]


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
