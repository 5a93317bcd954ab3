"""The expected course of a step: when each node would run, and the chain that ends last.

A device runs its nodes one after the other, as soon as what they read is there; a value takes its time on the way.
The times of nodes are measured or estimated, those of links are measured round trips or the constants of
``schedule``. Only orders of magnitude matter: what is long is to be found, not how long it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from actorsession.graph.device import device_task
from actorsession.plan.cost_model import CostModel
from actorsession.plan.explain.explanation import CriticalPart, ExplainedNode, Transfer
from actorsession.plan.partition import Partition
from actorsession.plan.schedule import Work, transfer_seconds, work_graph

__all__ = ["critical_chain", "wire_seconds"]


def wire_seconds(nbytes: float, source: str, target: str, round_trips: Mapping[str, float]) -> float:
    """Return the expected seconds of a value on its way.

    Args:
        nbytes: its size.
        source: the task that sends it.
        target: the task that receives it.
        round_trips: seconds from the task that plans to others and back. Between two others the longer of the
            two counts.
    """
    usual = transfer_seconds(nbytes, f"{source}/", f"{target}/")
    if source == target:
        return usual
    least = transfer_seconds(0, f"{source}/", f"{target}/")
    return usual - least + max(least, round_trips.get(source, 0.0) / 2, round_trips.get(target, 0.0) / 2)


def critical_chain(
    parts: Sequence[Partition],
    nodes: Mapping[str, ExplainedNode],
    transfers: Sequence[Transfer],
    home: str,
    round_trips: Mapping[str, float],
) -> tuple[CriticalPart, ...]:
    """Return the chain of work and transfers that ends last, in the order of time.

    Args:
        parts: the partitions.
        nodes: their nodes, with their expected seconds.
        transfers: between them.
        home: the task that begins the step and waits for its end; empty if there is only one.
        round_trips: see ``wire_seconds``.
    """
    sent = {(t.producer, t.tensor.name, t.target): t for t in transfers}
    times = CostModel.of_seconds({name: node.seconds for name, node in nodes.items()})
    work = work_graph(parts, times, lambda node, device: ())
    free: dict[str, str] = {}  # by device the node that has run there last
    ended: dict[str, float] = {}
    chain: dict[str, list[CriticalPart]] = {}  # by node the parts from the one before it on
    previous: dict[str, str] = {}
    for piece in work.values():
        task = device_task(piece.device)
        begins = _start(task, home, round_trips)
        before, way = "", [_on_the_way("the step", home, task, 0.0, begins)] if begins else []
        last = free.get(piece.device, "")
        if last and ended[last] >= begins:
            begins, before, way = ended[last], last, []
        for producer, output, _ in piece.inputs:
            there = work[producer].device
            name = f"{producer}:{output}" if output >= 0 else f"^{producer}"
            transfer = None if there == piece.device else sent.get((producer, name, piece.device))
            arrives = ended[producer] + (transfer.seconds if transfer else 0.0)
            if arrives > begins or (arrives == begins and before == ""):
                begins, before = arrives, producer
                way = [_on_the_way(name, there, piece.device, ended[producer], arrives)] if transfer else []
        ended[piece.name] = begins + piece.seconds
        own = CriticalPart(kind="work", what=piece.name, where=piece.device, began=begins, ended=ended[piece.name])
        chain[piece.name], previous[piece.name], free[piece.device] = [*way, own], before, piece.name
    return _longest(work, ended, chain, previous, home, round_trips)


def _start(task: str, home: str, round_trips: Mapping[str, float]) -> float:
    return 0.0 if not home or task == home else wire_seconds(0, home, task, round_trips)


def _on_the_way(what: str, source: str, target: str, began: float, ended: float) -> CriticalPart:
    return CriticalPart(kind="wire", what=what, where=f"{source} to {target}", began=began, ended=ended)


def _longest(
    work: Mapping[str, Work],
    ended: Mapping[str, float],
    chain: Mapping[str, list[CriticalPart]],
    previous: Mapping[str, str],
    home: str,
    round_trips: Mapping[str, float],
) -> tuple[CriticalPart, ...]:
    """Return the chain of the node whose end, and the way back from it, come last."""
    back = {name: _start(device_task(piece.device), home, round_trips) for name, piece in work.items()}
    if not work:
        return ()
    name = last = max(work, key=lambda n: ended[n] + back[n])
    links: list[list[CriticalPart]] = []
    while name:
        links.append(chain[name])
        name = previous[name]
    parts = _joined([part for link in reversed(links) for part in link])
    if back[last]:
        task = device_task(work[last].device)
        parts.append(_on_the_way("the answer", task, home, ended[last], ended[last] + back[last]))
    return tuple(parts)


def _joined(parts: Sequence[CriticalPart]) -> list[CriticalPart]:
    """Return parts with what runs on one device without a pause as one."""
    joined: list[CriticalPart] = []
    longest = 0.0
    for part in parts:
        last = joined[-1] if joined else None
        if last is None or (last.kind, last.where) != (part.kind, part.where) or part.kind != "work":
            joined.append(part)
            longest = part.ended - part.began
            continue
        what = last.what
        if part.ended - part.began > longest:
            what, longest = part.what, part.ended - part.began
        joined[-1] = replace(last, what=what, ended=part.ended, nodes=last.nodes + part.nodes)
    return joined
