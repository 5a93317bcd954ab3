"""The metadata of a step that has run: what its tasks have measured, and its graphs.

The tasks report times of their own clocks; the merged statistics have times of the master's.

Plain functions; called by a ``SessionSteps``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from actorsession.cluster.master.client_graph import ClientGraph
from actorsession.cluster.master.step_observer import Observation, StepObserver
from actorsession.cluster.master.step_parts import Measured
from actorsession.cluster.master.task_clocks import TaskClocks
from actorsession.config import ClockStats, FrameStats, PhaseStats, RunOptions, SessionMetadata, StepStats
from actorsession.messages.step_frames import StepRequest
from actorsession.plan.report import cost_graph, partition_graphs
from transports.host import current_host

__all__ = ["merged_stats", "step_metadata"]


def merged_stats(
    step_id: int, measured: Sequence[Measured], clocks: TaskClocks, asked: StepRequest | None, began: float
) -> StepStats:
    """Return what all tasks have measured of a step, in the time of the master's clock.

    Args:
        step_id: the step.
        measured: what each task has reported.
        clocks: the clocks of the tasks; learns from the reports.
        asked: the request of the client; ``None`` without one.
        began: wall-clock seconds at which the parts were begun.

    Raises:
        InvalidArgumentError: for a malformed report.
    """
    stats, here, offsets = StepStats(step_id), clocks.task, {}
    answers = []
    for part in sorted(measured, key=lambda part: not part.returned):  # its own task's last, which knows no others
        _learn(clocks, part)
    for part in measured:
        offset = error = 0.0
        if part.returned:
            offset, error = clocks.offsets[part.task].at(part.returned)
        report = StepStats.from_wire(part.stats, offset)
        if part.returned:
            offsets[part.task] = offset
            if error < math.inf:
                stats.clocks.append(ClockStats(part.task, offset, error))
            answered = max([phase.ended for phase in report.phases], default=part.returned)
            answers.append(FrameStats("done", part.task, here, (), part.nbytes, answered, part.returned))
        stats.merge(report)
    for at, frame in enumerate(stats.frames):
        # The worker knows the name of the link to its master, which may be the session's own. When a frame was
        # sent, its sender has said by its own clock.
        source = here if frame.kind == "RunGraph" else frame.source
        stats.frames[at] = frame.told(source, offsets.get(source, 0.0) - offsets.get(frame.target, 0.0))
    stats.frames += answers
    arrived = began if asked is None else asked.arrived or began
    if asked is not None and asked.arrived:
        stats.frames.append(FrameStats("RunStep", "client", here, (), asked.nbytes, asked.sent, asked.arrived))
        stats.phases.append(PhaseStats("admission", here, arrived, began))
    stats.phases.append(PhaseStats("step", here, arrived, current_host().clock.time()))
    return stats


def _learn(clocks: TaskClocks, part: Measured) -> None:
    """Learn from the messages of a step between the master's task and others.

    Raises:
        InvalidArgumentError: for a malformed report.
    """
    outline = StepStats.outline_from_wire(part.stats)
    answered = [phase.ended for phase in outline.phases if phase.kind == "part"]
    for frame in outline.frames:
        if not part.returned:  # the master's own task
            if frame.source in clocks.offsets:
                clocks.offsets[frame.source].received(frame.sent, frame.arrived)
        elif frame.kind == "RunGraph" and answered:
            clocks.offsets[part.task].learn(frame.sent, frame.arrived, answered[0], part.returned)
        elif frame.source == clocks.task:
            clocks.offsets[part.task].sent(frame.sent, frame.arrived)


def step_metadata(
    graph: ClientGraph,
    stats: StepStats | None,
    options: RunOptions,
    observed: Observation | None,
    observer: StepObserver,
    infer_shapes: bool,
    session_metadata: SessionMetadata | None,
    client: str,
) -> dict[str, Any] | None:
    """Return the metadata for the client in wire form; ``None`` if there are none.

    Args:
        graph: the client graph that was run.
        stats: the statistics of its tasks, if it was traced.
        options: the options of the run.
        observed: why the session has the step traced although its options do not request it.
        observer: records the statistics of a traced step.
        infer_shapes: whether partition graphs include the shapes of tensors.
        session_metadata: the name and version of the session, which every answer tells, if it has any.
        client: the client device, which has the feeds in partition graphs.
    """
    metadata = None
    if stats is not None:
        observer.record(graph, observed, stats)
    # The caller does not get what the session or a publisher alone has asked for.
    models = observed is not None and observed.model
    asked = stats if options.traced or models else None
    if asked is not None or options.output_partition_graphs:
        metadata = _metadata(graph, asked, options, infer_shapes, client)
    if observed is not None and observed.timeline and stats is not None:
        metadata = {**(metadata or {}), "timeline": asked is not None or stats.to_wire()}
    if models and observer.cost_model is not None:
        costs = cost_graph(graph.partitions, observer.cost_model)
        metadata = {**(metadata or {}), "cost_graph": costs.to_wire()}
    if session_metadata is not None:
        metadata = {**(metadata or {}), "session_metadata": session_metadata.to_wire()}
    return metadata


def _metadata(
    graph: ClientGraph, stats: StepStats | None, options: RunOptions, infer_shapes: bool, client: str
) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if stats is not None:
        out["step_stats"] = stats.to_wire()
    if options.output_partition_graphs:
        graphs = partition_graphs(graph.partitions, infer_shapes=infer_shapes, client=client)
        out["partition_graphs"] = [g.to_wire() for g in graphs]
    return out
