"""What the master answers to a client when a step has run: values in the order asked for, and metadata.

Plain functions over a step whose parts have all answered; called by a MasterSession.
"""

from __future__ import annotations

from typing import Any

from actorsession.cluster.master.client_graph import ClientGraph
from actorsession.cluster.master.master_step import MasterStep
from actorsession.config import RunOptions, StepStats
from actorsession.messages.session import StepDone
from actorsession.plan.report import partition_graphs
from actorsession.plan.signature import RunSignature

__all__ = ["step_done"]


def step_done(
    graph: ClientGraph,
    step: MasterStep,
    signature: RunSignature,
    options: RunOptions,
    infer_shapes: bool,
) -> StepDone:
    """Return the answer to the client, with the values in the order that it asked for.

    Args:
        graph: what was run.
        step: it has ended well.
        signature: what the client asked for.
        options: of the run.
        infer_shapes: whether partition graphs tell the shapes of tensors.
    """
    values: list[Any] = [None] * len(graph.signature.fetches)
    stats = StepStats(step.step_id) if options.traced else None
    for part, answer in zip(graph.parts, step.answers, strict=True):
        assert answer is not None  # the step has ended well
        for position, value in zip(part.fetches, answer.values, strict=True):
            values[position] = value
        if stats is not None and answer.stats is not None:
            stats.merge(StepStats.from_wire(answer.stats))
    if graph.signature.fetches != signature.fetches:
        by_name = dict(zip(graph.signature.fetches, values, strict=True))
        values = [by_name[name] for name in signature.fetches]
    return StepDone(
        values=values,
        metadata=_metadata(graph, stats, options, infer_shapes),
        unconfirmed=graph.takes,
    )


def _metadata(
    graph: ClientGraph, stats: StepStats | None, options: RunOptions, infer_shapes: bool
) -> dict[str, Any] | None:
    out: dict[str, Any] = {}
    if stats is not None:
        out["step_stats"] = stats.to_wire()
    if options.output_partition_graphs:
        graphs = partition_graphs(graph.partitions, infer_shapes=infer_shapes)
        out["partition_graphs"] = [g.to_wire() for g in graphs]
    return out or None
