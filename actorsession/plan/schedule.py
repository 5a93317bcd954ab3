"""Scheduling: the device that each node should have, from the measured costs of nodes.

This is a pure pass over the partitions of a plan: their nodes as pieces of work (``work_graph``), the time
that a step of them would take on given devices (``finish_time``), and a better choice of devices if there is
one (``reschedule``). Sessions with a cost model and a placement period call it; nothing runs here.

The choice is list scheduling after HEFT (Topcuoglu, Hariri and Wu 2002): nodes in order of the longest path
from each to the end of the step, each to the device on which it would end first. That is a heuristic for
single nodes. The decision rests on ``finish_time``, which models how steps run: a partition as
segments, cheap ones one after the other in the thread of the step, expensive ones in the threads of the
kernel pool. The results of an expensive segment are sent when the segment has ended. Each task of a cluster
has a thread and a pool of its own, and a transfer between tasks takes longer than one between devices.
"""

from __future__ import annotations

import functools
import heapq
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from actorsession.graph.device import device_task
from actorsession.graph.node import NodeDef, TensorSpec
from actorsession.graph.registry import is_registered, lookup
from actorsession.plan.cost_model import CostModel
from actorsession.plan.partition import RECV, SEND, Partition
from actorsession.plan.prune import ARG
from actorsession.records import dataclass

__all__ = ["Edge", "Rescheduled", "Threads", "Work", "finish_time", "reschedule", "transfer_seconds", "work_graph"]

Threads: TypeAlias = "int | Mapping[str, int]"
"""The threads of the kernel pool of each task; a number where all have as many."""

# Seconds. Handing a segment to a thread and back costs about 60 us (measured, 2 cores). A value that is sent
# from one device to another waits as long.
_HANDOVER = 60e-6
# Seconds per byte that another thread reads first: the bytes are in memory and not in its core's cache.
_PER_BYTE = 1e-10
# Seconds for a value from one task to another, and per byte of it. A step of two tasks takes 600 us longer
# than one of a single task (docs/benchmarks.md, two-workers), half of it for each direction; 64 MB over tcp
# take 69 ms.
_HOP = 300e-6
_PER_BYTE_SENT = 1e-9
# A new placement drops plans and compiles again, and estimates are imprecise: it must save a fifth.
_MARGIN = 0.8


class Edge(NamedTuple):
    """A dependency of a piece of work.

    Attributes:
        producer: name of the node that makes the value.
        output: which of that node's outputs it is; -1 for a control edge.
        nbytes: its size.
    """

    producer: str
    output: int
    nbytes: float


@dataclass(frozen=True, slots=True)
class Work:
    """One node of a step, for the scheduler.

    Attributes:
        name: of the node.
        device: its current device.
        seconds: its running time.
        inputs: its dependencies.
        candidates: devices that it may have, ``device`` first; that one alone if it must stay.
        fed: bytes of the feeds that it reads.
        fetched: bytes of its outputs that are fetched.
    """

    name: str
    device: str
    seconds: float
    inputs: tuple[Edge, ...]
    candidates: tuple[str, ...]
    fed: float = 0.0
    fetched: float = 0.0


@dataclass(frozen=True, slots=True)
class Rescheduled:
    """A better placement.

    Attributes:
        devices: the new devices of the nodes that move, by node.
        before: estimated seconds of a step before the move.
        after: estimated seconds of a step after the move.
    """

    devices: Mapping[str, str]
    before: float
    after: float


def work_graph(
    partitions: Sequence[Partition], model: CostModel, candidates: Callable[[NodeDef, str], Sequence[str]]
) -> dict[str, Work]:
    """Return the nodes of a plan as pieces of work, producers first.

    Args:
        partitions: of the plan.
        model: measured costs; a node without any counts as free.
        candidates: from a node and its device to the devices that it may have.
    """
    nodes = {n.name: (n, part.device) for part in partitions for n in part.nodes}
    sender = {n.attrs["key"]: n for n, _ in nodes.values() if n.op == SEND}
    fetched: dict[str, float] = {}
    for name, index in dict.fromkeys([(name, index) for part in partitions for _, name, index in part.fetches]):
        size = model.output_bytes(name, index) or _static_bytes(nodes[name][0].outputs[index])
        fetched[name] = fetched.get(name, 0.0) + size
    work: dict[str, Work] = {}
    for name in _producers_first(nodes, sender):
        node, device = nodes[name]
        if _is_free(node):
            continue
        edges = [Edge(p, i, model.output_bytes(p, i) or 0.0) for p, i in _inputs(node, nodes, sender)]
        others = [d for d in candidates(node, device) if d != device]
        seconds, _ = model.node_seconds(node) or (0.0, 0.0)
        feeds = [nodes[e.producer][0] for e in edges if nodes[e.producer][0].op == ARG]
        work[name] = Work(
            name,
            device,
            seconds,
            tuple(e for e in edges if e.producer in work),
            (device, *others),
            fed=sum(_static_bytes(feed.outputs[0]) for feed in feeds),
            fetched=fetched.get(name, 0.0),
        )
    return work


def _static_bytes(spec: TensorSpec) -> float:
    """Return the bytes of a tensor as far as its static shape shows; an unknown dimension counts as 1."""
    return math.prod(size or 1 for size in spec.shape.sizes or ()) * spec.dtype.np_dtype.itemsize


def _is_free(node: NodeDef) -> bool:
    """Return whether a node is no work: it moves values, or every partition has a copy of it."""
    if node.op in (ARG, SEND, RECV):
        return True
    return is_registered(node.op) and lookup(node.op).once


def _inputs(
    node: NodeDef, nodes: Mapping[str, tuple[NodeDef, str]], sender: Mapping[str, NodeDef]
) -> list[tuple[str, int]]:
    """Return the producers and outputs that a node waits for, across transfers; -1 for a control edge."""
    inputs = []
    for name, index in (*node.inputs, *[(c, -1) for c in node.control_inputs]):
        producer = nodes[name][0]
        if producer.op == RECV:
            sent = sender[producer.attrs["key"]]
            inputs.append(sent.inputs[0] if sent.inputs else (sent.control_inputs[0], -1))
        else:
            inputs.append((name, index))
    return inputs


def _producers_first(nodes: Mapping[str, tuple[NodeDef, str]], sender: Mapping[str, NodeDef]) -> list[str]:
    """Return the names of all nodes of all partitions in one topological order."""
    waits = {}
    readers: dict[str, list[str]] = {}
    for name, (node, _) in nodes.items():
        before = {producer for producer, _ in _inputs(node, nodes, sender)}
        waits[name] = len(before)
        for producer in before:
            readers.setdefault(producer, []).append(name)
    order = [name for name, count in waits.items() if not count]
    for name in order:
        for reader in readers.get(name, ()):
            waits[reader] -= 1
            if not waits[reader]:
                order.append(reader)
    return order


def transfer_seconds(nbytes: float, source: str = "", target: str = "") -> float:
    """Return the estimated seconds for a value from one device to another."""
    if device_task(source) == device_task(target):
        return _HANDOVER + nbytes * _PER_BYTE
    return _sent(nbytes)


def _sent(nbytes: float) -> float:
    """Return the seconds for values from one task to another."""
    return _HOP + nbytes * _PER_BYTE_SENT


# -- estimated time of a step ------------------------------------------------------------------------


@dataclass(slots=True)
class _Segment:
    """The nodes of one device that can run when the same values have arrived."""

    task: str
    seconds: float = 0.0
    waits: int = 0
    ready: float = 0.0
    fed: float = 0.0
    fetched: float = 0.0


def finish_time(
    work: Mapping[str, Work], device_of: Mapping[str, str], *, threads: Threads, dear: float, home: str | None = None
) -> float:
    """Return the estimated seconds from the start of a step to its end.

    Args:
        work: the step, producers first.
        device_of: device of each piece.
        threads: of the kernel pools; 0 for everything in the caller's thread.
        dear: seconds above which a segment goes to the pool.
        home: the task that starts the step, sends feeds to the others and waits for what they return;
            ``None`` if all devices are in one task.
    """
    segments, readers = _segments(work, device_of)
    for segment in segments:
        segment.ready = _start(segment.task, segment.fed, home)
    order = [(s.ready, i) for i, s in enumerate(segments) if not s.waits]
    heapq.heapify(order)
    here: dict[str, float] = {}
    pools = {task: [0.0] * _threads_of(threads, task) for task in {s.task for s in segments}}
    end = 0.0
    while order:
        ready, index = heapq.heappop(order)
        segment = segments[index]
        pool = pools[segment.task]
        if pool and segment.seconds > dear:
            done = max(ready, heapq.heappop(pool)) + segment.seconds + _HANDOVER
            heapq.heappush(pool, done)
        else:
            done = here[segment.task] = max(ready, here.get(segment.task, 0.0)) + segment.seconds
        end = max(end, done + _start(segment.task, segment.fetched, home))
        for reader, delay in readers[index].items():
            follower = segments[reader]
            follower.ready = max(follower.ready, done + delay)
            follower.waits -= 1
            if not follower.waits:
                heapq.heappush(order, (follower.ready, reader))
    return end


def _start(task: str, nbytes: float, home: str | None) -> float:
    """Return the seconds between the home of a step and one of its tasks."""
    return 0.0 if home is None or task == home else _sent(nbytes)


def _threads_of(threads: Threads, task: str) -> int:
    return threads if isinstance(threads, int) else threads.get(task, 0)


def _segments(work: Mapping[str, Work], device_of: Mapping[str, str]) -> tuple[list[_Segment], list[dict[int, float]]]:
    """Return the segments of a step and, for each, the segments that wait for it with the transfer delays."""
    numbers: dict[tuple[str, int], int] = {}  # (device, arrivals) -> segment
    arrivals: dict[tuple[str, int, str], int] = {}  # (producer, output, destination) -> bit
    mask: dict[str, int] = {}
    home: dict[str, int] = {}
    segments: list[_Segment] = []
    readers: list[dict[int, float]] = []
    for name, piece in work.items():
        device = device_of[name]
        bits = 0
        for producer, output, _ in piece.inputs:
            if device_of[producer] == device:
                bits |= mask[producer]
            else:
                bits |= 1 << arrivals.setdefault((producer, output, device), len(arrivals))
        mask[name] = bits
        index = home[name] = numbers.setdefault((device, bits), len(segments))
        if index == len(segments):
            segments.append(_Segment(device_task(device)))
            readers.append({})
        segments[index].seconds += piece.seconds
        segments[index].fed += piece.fed
        segments[index].fetched += piece.fetched
        for producer, _, nbytes in piece.inputs:
            before = home[producer]
            if before == index:
                continue
            source = device_of[producer]
            delay = 0.0 if source == device else transfer_seconds(nbytes, source, device)
            segments[index].waits += index not in readers[before]
            readers[before][index] = max(delay, readers[before].get(index, 0.0))
    return segments, readers


# -- a better placement ------------------------------------------------------------------------------


def reschedule(
    work: Mapping[str, Work], devices: Sequence[str], *, threads: Threads, dear: float, home: str | None = None
) -> Rescheduled | None:
    """Return a placement that ends a step earlier by a fifth or more, if one is found.

    Args:
        work: the step, producers first.
        devices: the session's devices, the client device first.
        threads: of the kernel pools.
        dear: seconds above which a segment goes to the pool.
        home: see ``finish_time``.

    Returns:
        The nodes that move; ``None`` if no placement found is better by a fifth.
    """
    now = {name: piece.device for name, piece in work.items()}
    time_of = functools.partial(finish_time, work, threads=threads, dear=dear, home=home)
    before = time_of(now)
    best: Rescheduled | None = None
    # More devices than threads only cut a step into more pieces, so both numbers are tried.
    most = threads if isinstance(threads, int) else sum(threads.values())
    counts = sorted({len(devices), min(len(devices), most)})
    for count, reserves in itertools.product(counts, (False, True)):
        chosen = _assign(work, frozenset(devices[:count]), reserves=reserves, home=home)
        after = time_of(chosen)
        if after < (best.after if best is not None else before * _MARGIN):
            moved = {name: device for name, device in chosen.items() if device != now[name]}
            best = Rescheduled(moved, before, after)
    return best


def _assign(work: Mapping[str, Work], devices: frozenset[str], *, reserves: bool, home: str | None) -> dict[str, str]:
    """Return the device of each piece by list scheduling over some of the devices.

    Args:
        work: the step.
        devices: those to use for pieces that may move.
        reserves: whether a device counts as occupied for the pieces that must run there later.
        home: see ``finish_time``.
    """
    free = dict.fromkeys(devices, 0.0)
    reserved: dict[str, float] = {}
    for piece in work.values():
        if reserves and len(piece.candidates) == 1:
            reserved[piece.device] = reserved.get(piece.device, 0.0) + piece.seconds
    end: dict[str, float] = {}
    chosen: dict[str, str] = {}
    for name in _by_rank(work):
        piece = work[name]
        options = [d for d in piece.candidates if d in devices] or [piece.device]

        ends = {}
        for device in options:
            there = [
                end[p] + (0.0 if chosen[p] == device else transfer_seconds(nbytes, chosen[p], device))
                for p, _, nbytes in piece.inputs
            ]
            fed = _start(device_task(device), piece.fed, home)
            ends[device] = max([free.get(device, 0.0), fed, *there]) + piece.seconds
            if piece.fetched:
                ends[device] += _start(device_task(device), piece.fetched, home)
        # The first of equals, which is where the piece is now.
        device = min(options, key=lambda d: ends[d] + reserved.get(d, 0.0))
        if piece.device in reserved and len(piece.candidates) == 1:
            reserved[piece.device] -= piece.seconds
        end[name] = ends[device]
        free[device] = end[name]
        chosen[name] = device
    return chosen


def _by_rank(work: Mapping[str, Work]) -> list[str]:
    """Return the pieces by the longest path from each to the end of the step; producers stay first."""
    rank = dict.fromkeys(work, 0.0)
    for name in reversed(list(work)):
        piece = work[name]
        rank[name] += piece.seconds
        for producer, _, nbytes in piece.inputs:
            rank[producer] = max(rank[producer], rank[name] + transfer_seconds(nbytes))
    position = {name: i for i, name in enumerate(work)}
    return sorted(work, key=lambda name: (-rank[name], position[name]))
