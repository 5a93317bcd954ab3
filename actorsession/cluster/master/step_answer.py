"""The metadata of a step that has run: what its tasks have measured, and its graphs.

Plain functions; called by a ``SessionSteps``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession.cluster.master.client_graph import ClientGraph
from actorsession.cluster.master.step_observer import Observation, StepObserver
from actorsession.config import RunOptions, SessionMetadata, StepStats
from actorsession.plan.report import cost_graph, partition_graphs

__all__ = ["step_metadata"]


def step_metadata(
    graph: ClientGraph,
    step_id: int,
    measured: Sequence[list[Any]],
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
        step_id: the step.
        measured: the statistics of its tasks in wire form.
        options: the options of the run.
        observed: why the session has the step traced although its options do not request it.
        observer: records the statistics of a traced step.
        infer_shapes: whether partition graphs include the shapes of tensors.
        session_metadata: the name and version of the session, which every answer tells, if it has any.
        client: the client device, which has the feeds in partition graphs.
    """
    stats = StepStats(step_id) if options.traced or observed is not None else None
    metadata = None
    if stats is not None:
        for wire in measured:
            stats.merge(StepStats.from_wire(wire))
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
