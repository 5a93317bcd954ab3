"""The inspection of steps in this process: what they wait for and what runs, with no records by the steps.

Waiting nodes are found in the rendezvous and the queue of a step, running ones in the stacks of the threads:
the line of a generated function on a stack identifies the node, and its caller has the start time. So steps
have no overhead for being inspectable. Sessions and workers call it for reports on hangs, from the thread of
the steps or any other.

Invariants: nothing here waits, and results are bounded by the given limits.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

from actorsession.plan.partition import SEND
from actorsession.records import dataclass
from actorsession.runtime.engine.dataflow_engine import PooledNode
from actorsession.runtime.engine.inline_run import Gate, InlineRun, TimedGate
from actorsession.runtime.engine.segment_engine import PooledSegment, SegmentEngine
from actorsession.runtime.wait_graph import (
    FOLLOWS,
    NOBODY,
    QUEUED,
    READY,
    RUNS,
    SENT,
    WAITS,
    CollectiveWait,
    HeldPool,
    KernelNow,
    SentKey,
    StepWaits,
    Waiter,
)
from transports.host import current_host

if TYPE_CHECKING:
    from actorsession.plan.codegen.bind import BoundPartition, BoundSegment
    from actorsession.runtime.engine.engine import Engine, OffloadedWork
    from actorsession.runtime.engine.step import Step
    from actorsession.runtime.engine.suspended_nodes import Suspended
    from actorsession.runtime.kernel_pool import KernelPool

__all__ = ["Stacks", "held_pool", "inline_kernels", "step_waits", "what_became_of"]

# Names of nodes and keys that one entry lists.
_FEW = 4
# The functions that call generated code: ``begin`` says when they have, and ``seconds`` that it has ended.
_CALLERS = frozenset([SegmentEngine.run.__code__, SegmentEngine.execute.__code__, InlineRun.run.__code__])


@dataclass(frozen=True, slots=True)
class _Found:
    """A generated function on a stack.

    Attributes:
        engine: the engine of its partition; ``None`` for a plan without a step.
        index: number of the segment in the partition.
        gate: the session's gate, for a plan without a step.
        kernel: the node that is running.
    """

    engine: Engine | None
    index: int
    gate: Any
    kernel: KernelNow


class Stacks:
    """The generated functions on the stacks of all threads of this process, at one moment."""

    def __init__(self) -> None:
        self.found = [f for frame in _frames() if (f := _look_at(frame)) is not None]

    def of(self, step: Step) -> dict[tuple[int, int], KernelNow]:
        """Return the kernels of a step by engine and segment."""
        return {(id(f.engine), f.index): f.kernel for f in self.found if f.engine is not None and f.engine.step is step}


def _frames() -> Iterator[FrameType]:
    for bottom in sys._current_frames().values():
        frame: FrameType | None = bottom
        while frame is not None:
            if frame.f_code in _CALLERS:
                yield frame
            frame = frame.f_back


def _look_at(frame: FrameType) -> _Found | None:
    """Return the state of a call of generated code; ``None`` if it is at its first line or has ended."""
    here = dict(frame.f_locals)
    owner, begin = here.get("self"), here.get("begin")
    if owner is None or begin is None or "seconds" in here:
        return None
    if isinstance(owner, InlineRun):
        bound, segment = owner.bound, owner.segment
        engine, index, gate = None, 0, here.get("gate")
    else:
        engine, index, gate = owner, here["index"], None
        bound, segment = engine.bound, engine.bound.segments[index]
    number = _node_at(frame, segment)
    kernel = _kernel(bound, index, number, current_host().clock.perf_counter() - begin, engine)
    return _Found(engine, index, gate, kernel)


def _node_at(caller: FrameType, segment: BoundSegment) -> int | None:
    """Return the node at whose line the function of a segment is, if it is still on a stack."""
    names = (segment.filename, segment.traced_filename)
    for bottom in sys._current_frames().values():
        frame: FrameType | None = bottom
        number: int | None = None
        while frame is not None and frame is not caller:
            if frame.f_code.co_filename in names:
                # Of a long function the called piece counts, not the line that calls it; see ``outline``.
                here = segment.node_at(frame.f_code.co_filename, frame.f_lineno or 0)
                number = number if here is None else here
            frame = frame.f_back
        if frame is caller:
            return number
    return None


def _kernel(
    bound: BoundPartition,
    index: int,
    number: int | None,
    seconds: float,
    engine: Engine | None,
    *,
    queued: bool = False,
    suspended: bool = False,
) -> KernelNow:
    """Return the description of a kernel: of the node, or of the first one of the segment ``index``."""
    if number is None:
        lines = bound.segments[index].segment.line_nodes
        number = next((n for n in lines if n is not None), None)
    node = None if number is None else bound.compiled.nodes[number]
    return KernelNow(
        node=node.name if node is not None else bound.segments[index].segment.name,
        op=node.op if node is not None else "",
        device=bound.device,
        source=node.source if node is not None else "",
        seconds=seconds,
        step_id=engine.step.step_id if engine is not None else 0,
        queued=queued,
        suspended=suspended,
    )


def _offloaded(work: OffloadedWork) -> KernelNow:
    """Return the description of work that was handed to the pool and is on no stack."""
    engine, seconds = work.engine, current_host().clock.monotonic() - work.since
    queued = not work.is_running
    return _kernel(engine.bound, work.index, work.node, seconds, engine, queued=queued)


def inline_kernels(stacks: Stacks, gate: Gate) -> tuple[KernelNow, ...]:
    """Return the kernels of a session's runs without a step."""
    return tuple(
        [
            f.kernel
            for f in stacks.found
            if f.gate is gate or (isinstance(f.gate, TimedGate) and f.gate.of_session is gate)
        ]
    )


def held_pool(pool: KernelPool | None, task: str) -> HeldPool | None:
    """Return the threads of a pool that are held by kernels of steps that are over; ``None`` if none are.

    Such a kernel has not reached its next node, where it would have ended with its step.

    Args:
        pool: the pool.
        task: the task of the pool.
    """
    if pool is None:
        return None
    late = _overdue(pool.running())
    if not late:
        return None
    stacks, kernels = Stacks(), []
    for work in late:
        stack = stacks.of(work.engine.step).get((id(work.engine), work.index))
        if stack is None:
            stack = _offloaded(work)
        kernels.append(stack)
    kernels.sort(key=lambda k: -k.seconds)
    return HeldPool(task=task, threads=pool.threads, held=len(late), kernels=tuple(kernels[:_FEW]))


def _overdue(running: Sequence[tuple[Any, ...]]) -> list[OffloadedWork]:
    """Return the running segments of steps that are over."""
    return [
        work
        for work, *_ in running
        if isinstance(work, PooledSegment | PooledNode) and work.engine.step.abort_error is not None
    ]


# -- steps -----------------------------------------------------------------------------------------


class _States:
    """The state of each segment of a step's partitions."""

    def __init__(self, step: Step, stacks: Stacks) -> None:
        self.step = step
        self.engines = [engine for engine in tuple(step.engines) if engine.remaining]
        self.running = stacks.of(step)
        self.ready = {(id(engine), index) for engine, index in tuple(step.queue)}
        self.pooled = {(id(work.engine), work.index) for work in tuple(step.pooled)}
        self.missing = frozenset(step.rendezvous.waiting_keys())

    def of(self, engine: Engine, index: int) -> str:
        place = (id(engine), index)
        if place in self.running:
            return RUNS
        if place in self.pooled:
            return QUEUED
        if place in self.ready:
            return READY
        if engine.waits[index]:
            return WAITS if self.keys(engine, index) else FOLLOWS
        return SENT

    def keys(self, engine: Engine, index: int) -> list[str]:
        """Return the keys that a segment waits for, which include those of the segments before it."""
        slots = set(engine.bound.segments[index].segment.waits)
        recvs = engine.bound.compiled.recvs
        return [key for slot, key in recvs if slot in slots and key in self.missing]

    def kernels(self) -> list[KernelNow]:
        kernels = list(self.running.values())
        kernels += [
            _offloaded(work) for work in tuple(self.step.pooled) if (id(work.engine), work.index) not in self.running
        ]
        kernels += [self.suspended(s) for s in self.step.suspended]
        return sorted(kernels, key=lambda k: (k.queued, k.suspended, -k.seconds))

    def suspended(self, waiting: Suspended) -> KernelNow:
        """Return the description of a suspended node."""
        bound = waiting.engine.bound
        suspension = waiting.suspension
        seconds = current_host().clock.monotonic() - waiting.since
        return _kernel(bound, 0, suspension.node, seconds, waiting.engine, suspended=True)


def step_waits(step: Step, stacks: Stacks, most: int, **where: Any) -> StepWaits:
    """Return what a step of this process waits for, and its running kernels.

    Args:
        step: the step.
        stacks: the stacks at this moment.
        most: most waiters and most kernels to list.
        where: ``session`` and ``task``.
    """
    states = _States(step, stacks)
    waiters: list[Waiter] = []
    unfinished = more = 0
    for engine in states.engines:
        unfinished += engine.remaining
        for index, count in enumerate(tuple(engine.waits)):
            if not count or not (keys := states.keys(engine, index)):
                continue
            if len(waiters) < most:
                waiters.append(_waiter(engine, index, keys))
            else:
                more += 1
    kernels = states.kernels()
    collectives = [] if step.collectives is None else step.collectives.waits()
    return StepWaits(
        step_id=step.step_id,
        seconds=current_host().clock.monotonic() - step.since,
        unfinished=unfinished,
        waiters=tuple(waiters),
        more_waiters=more,
        kernels=tuple(kernels[:most]),
        more_kernels=max(0, len(kernels) - most),
        collectives=tuple(
            [
                CollectiveWait(device=device, group=c.group, instance=c.instance, awaits=awaits)
                for device, c, awaits in collectives[:most]
            ]
        ),
        **where,
    )


def _waiter(engine: Engine, index: int, keys: list[str]) -> Waiter:
    names, count = _names(engine, index)
    return Waiter(
        device=engine.bound.device,
        nodes=tuple(names),
        more_nodes=count - len(names),
        keys=tuple(keys[:_FEW]),
        more_keys=max(0, len(keys) - _FEW),
    )


def _names(engine: Engine, index: int) -> tuple[list[str], int]:
    """Return the first few nodes of a segment, and their total number."""
    numbers = dict.fromkeys(n for n in _lines(engine, index) if n is not None)
    nodes = engine.bound.compiled.nodes
    names = [nodes[n].name for n in numbers if nodes[n].op != SEND]
    # A segment may do nothing but send values that it has received.
    names = names or [nodes[n].name for n in numbers]
    return names[:_FEW], len(names)


def _lines(engine: Engine, index: int) -> Iterable[int | None]:
    return (line.node for line in engine.bound.segments[index].segment.code)


# -- values ----------------------------------------------------------------------------------------


def what_became_of(step: Step, keys: Collection[str], stacks: Stacks) -> list[SentKey]:
    """Return the states of values that a step of this process should send.

    Args:
        step: the step, under way here.
        keys: keys of values from devices of this process.
        stacks: the stacks at this moment.
    """
    states = _States(step, stacks)
    asked = set(keys)
    places: dict[str, tuple[Engine, int, str]] = {}
    for engine in states.engines:
        if asked.isdisjoint(engine.bound.compiled.sends):
            continue
        for index, key, node in _sends(engine):
            if key in asked:
                places[key] = engine, index, node
    return [_became(states, key, places) for key in keys]


def _sends(engine: Engine) -> Iterator[tuple[int, str, str]]:
    """Yield the sends of a partition: the segment, the key, and the node of the value."""
    nodes = engine.bound.compiled.nodes
    for index in range(len(engine.bound.segments)):
        for number in _lines(engine, index):
            if number is None or nodes[number].op != SEND:
                continue
            node = nodes[number]
            source = [name for name, _ in node.inputs] or list(node.control_inputs)
            yield index, node.attrs["key"], source[0] if source else node.name


def _became(states: _States, key: str, places: Mapping[str, tuple[Engine, int, str]]) -> SentKey:
    step_id = states.step.step_id
    if key not in places:
        return SentKey(step_id=step_id, key=key, state=NOBODY)
    engine, index, node = places[key]
    state = states.of(engine, index)
    kernel = states.running.get((id(engine), index))
    if state == FOLLOWS:
        kernel = _blocking(states, engine, index)
        if kernel is not None:
            state = kernel.state
    elif state == QUEUED:
        kernel = _kernel(engine.bound, index, None, 0.0, engine, queued=True)
    return SentKey(
        step_id=step_id,
        key=key,
        state=state,
        node=node,
        kernel=kernel,
        keys=tuple(states.keys(engine, index)[:_FEW]) if state == WAITS else (),
    )


def _blocking(states: _States, engine: Engine, index: int) -> KernelNow | None:
    """Return a running, queued or suspended kernel before a segment whose arrivals are all present."""
    before, left = set[int](), [index]
    while left:
        new = set(engine.bound.segments[left.pop()].segment.after) - before
        before |= new
        left += new
    for number in sorted(before):
        kernel = states.running.get((id(engine), number))
        if kernel is not None:
            return kernel
    for number in sorted(before):
        if (id(engine), number) in states.pooled:
            return _kernel(engine.bound, number, None, 0.0, engine, queued=True)
    slots = set(engine.bound.segments[index].segment.waits)
    for waiting in states.step.suspended:
        suspension = waiting.suspension if waiting.engine is engine else None
        if suspension is not None and suspension.arrival in slots:
            return states.suspended(waiting)
    return None
