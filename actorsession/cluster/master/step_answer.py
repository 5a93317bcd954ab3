"""The answer of the master to a client when a step has run: values in the requested order, and metadata.

Plain functions over a step whose tasks have all answered; called by a ``MasterSession``.
"""

from __future__ import annotations

from typing import Any

from actorsession.cluster.master.client_graph import ClientGraph
from actorsession.cluster.master.master_step import MasterStep
from actorsession.cluster.master.step_observer import StepObserver
from actorsession.config import RunOptions, SessionMetadata, StepStats
from actorsession.messages.session import StepDone
from actorsession.plan.report import cost_graph, partition_graphs
from actorsession.plan.signature import RunSignature

__all__ = ["step_done"]


def step_done(
    graph: ClientGraph,
    step: MasterStep,
    signature: RunSignature,
    options: RunOptions,
    infer_shapes: bool,
    observer: StepObserver,
    session_metadata: SessionMetadata | None,
    client: str,
) -> StepDone:
    """Return the answer to the client, with the values in the order that the client requested.

    Args:
        graph: the client graph that was run.
        step: the step, which has succeeded.
        signature: the signature that the client requested.
        options: the options of the run.
        infer_shapes: whether partition graphs include the shapes of tensors.
        observer: records the statistics of a traced step.
        session_metadata: the name and version of the session, which every answer tells, if it has any.
        client: the client device, which has the feeds in partition graphs.
    """
    values: list[Any] = [None] * len(graph.signature.fetches)
    observed = step.observed
    stats = StepStats(step.step_id) if options.traced or observed is not None else None
    for part, answer in zip(graph.parts, step.answers, strict=True):
        assert answer is not None  # the step has succeeded
        for position, value in zip(part.fetches, answer.values, strict=True):
            values[position] = value
        if stats is not None and answer.stats is not None:
            stats.merge(StepStats.from_wire(answer.stats))
    if graph.signature.fetches != signature.fetches:
        by_name = dict(zip(graph.signature.fetches, values, strict=True))
        values = [by_name[name] for name in signature.fetches]
    metadata = None
    if stats is not None:
        observer.record(graph, observed, stats)
    # The caller does not get what the session or a publisher alone has asked for.
    measured = observed is not None and observed.model
    asked = stats if options.traced or measured else None
    if asked is not None or options.output_partition_graphs:
        metadata = _metadata(graph, asked, options, infer_shapes, client)
    if observed is not None and observed.timeline and stats is not None:
        metadata = {**(metadata or {}), "timeline": asked is not None or stats.to_wire()}
    if measured and observer.cost_model is not None:
        costs = cost_graph(graph.partitions, observer.cost_model)
        metadata = {**(metadata or {}), "cost_graph": costs.to_wire()}
    if session_metadata is not None:
        metadata = {**(metadata or {}), "session_metadata": session_metadata.to_wire()}
    return StepDone(
        values=values,
        metadata=metadata,
        unconfirmed=graph.takes,
    )


def _metadata(
    graph: ClientGraph,
    stats: StepStats | None,
    options: RunOptions,
    infer_shapes: bool,
    client: str,
) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if stats is not None:
        out["step_stats"] = stats.to_wire()
    if options.output_partition_graphs:
        graphs = partition_graphs(graph.partitions, infer_shapes=infer_shapes, client=client)
        out["partition_graphs"] = [g.to_wire() for g in graphs]
    return out
