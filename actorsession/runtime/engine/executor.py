"""The executor actor of a device, and loaded graphs: partitions ready to run in this process.

An executor owns its device's counters and starts partitions on the device. It never waits; callers wait for
the step itself. A ``LoadedGraph`` is the share of a plan that one process runs: direct sessions have one per
plan, workers one per registered graph.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

import actorsession.ops  # noqa: F401 - kernels must be registered before a graph is loaded
from actorsession.actors.actor import Actor, handles
from actorsession.actors.context import CallContext
from actorsession.actors.deadline import Deadline
from actorsession.errors import DeadlineExceededError, InternalError, OpError, from_exception
from actorsession.plan.codegen.bind import BoundPartition, BoundSegment
from actorsession.plan.codegen.compile import compile_partition
from actorsession.plan.control_flow.dataflow_partition import BoundDataflow
from actorsession.plan.partition import Partition
from actorsession.records import dataclass
from actorsession.runtime.devices import Device
from actorsession.runtime.engine.partition_run import locate_error
from actorsession.runtime.engine.step import Step
from actorsession.runtime.interruptible import Begun, wait_for
from actorsession.runtime.offload import is_dear, took
from actorsession.runtime.watchdog import HELD, WATCHDOG

__all__ = [
    "Executor", "ExecutorStatistics", "Gate", "InlineRun", "LoadedGraph", "RunPartition", "TimedGate",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class RunPartition:
    """The request to an executor to begin a partition; a message within one process, never sent.

    Attributes:
        step: the step of the partition; gets values and errors.
        linked: the partition, bound to its device.
        feeds: values of all feeds of the signature.
    """

    step: Step
    linked: BoundPartition
    feeds: Sequence[Any]


@dataclass(frozen=True, slots=True)
class ExecutorStatistics:
    """The counters of an executor.

    Attributes:
        device: full name of its device.
        partitions: partitions begun so far.
    """

    device: str
    partitions: int


class Executor(Actor):
    """The actor that runs partitions on one device.

    Args:
        device: the device.
    """

    def __init__(self, device: Device) -> None:
        super().__init__(f"executor {device.name}")
        # The actor belongs to the loop that first sends it a message, not to the one where its session was
        # made: a synchronous session that is made on an event loop runs its steps elsewhere.
        self.loop = None
        self.device = device
        self._partitions = 0

    @handles(RunPartition)
    def on_run_partition(self, message: RunPartition, call: CallContext) -> None:
        """Begin a partition; its step reports how it ends.

        A partition that cannot begin fails its step, not this actor, which other steps use too.
        """
        try:
            self.begin(message.step, message.linked, message.feeds)
            message.step.drain()
        except Exception as exc:
            message.step.fail(from_exception(exc))

    def begin(self, step: Step, linked: BoundPartition, feeds: Sequence[Any]) -> None:
        """Do the work of ``RunPartition``; called directly where there is no event loop."""
        self._partitions += 1
        step.start(linked, feeds)

    def executor_statistics(self) -> ExecutorStatistics:
        """Return the counters of this executor."""
        return ExecutorStatistics(self.device.name, self._partitions)


class LoadedGraph:
    """The partitions of one plan that this process runs, bound to its devices.

    Args:
        partitions: the partitions on devices of this process.
        executors: executors by device name.
        states: states of stateful kernels, by device and node; shared by all plans of a session.
        own_fetches: whether the caller must own fetched arrays.

    Attributes:
        fetches: positions in the signature of the values that this process returns, in their order.
        inline: the graph as a single call, if it is simple enough.
        may_wait: whether one of its ops may wait for anything, such as another step.
        suspends: whether one of its ops waits without a thread, so that the step needs an event loop.
    """

    def __init__(
        self,
        partitions: Sequence[Partition],
        executors: Mapping[str, Executor],
        states: dict[str, dict[str, Any]],
        *,
        own_fetches: bool = True,
    ) -> None:
        self.partitions = tuple(partitions)
        self.parts: list[tuple[Executor, BoundPartition]] = []
        for partition in partitions:
            executor = executors.get(partition.device)
            if executor is None:
                raise InternalError(
                    f"a partition is for {partition.device}; this process has {sorted(executors)}"
                )
            kept = states.setdefault(partition.device, {})
            linked = _linked(partition, executor.device, kept, own_fetches)
            self.parts.append((executor, linked))
        # Positions of the fetches that this process returns, in the order in which it returns them.
        self.fetches = sorted(p for part in partitions for p, _, _ in part.fetches)
        self.inline = self._bind_inline()
        self.suspends = any(part.compiled.suspensions for _, part in self.parts)
        self.may_wait = self.suspends or any(
            segment.blocks for _, part in self.parts for segment in part.segments
        )

    def _bind_inline(self) -> InlineRun | None:
        """Return the graph as a single call, if it is one segment that neither sends nor receives."""
        if len(self.parts) != 1:
            return None
        linked = self.parts[0][1]
        if isinstance(linked, BoundDataflow):
            return None
        compiled = linked.compiled
        apart = compiled.recvs or compiled.sends or compiled.suspensions
        # What a loop has taken can be put back only by a step, if it ends early.
        if len(compiled.segments) != 1 or apart or compiled.taken_inside is not None:
            return None
        return InlineRun(linked, linked.segments[0])

    def begin(self, step: Step, feeds: Sequence[Any]) -> None:
        """Begin all partitions in the calling thread; ``step`` reports how they end."""
        for executor, linked in self.parts:
            executor.begin(step, linked, feeds)
        step.drain()

    def tell(self, step: Step, feeds: Sequence[Any]) -> None:
        """Begin all partitions by a message to the executor of each; needs the executors' event loop.

        Segments that are ready at once have run when this returns, unless an executor was busy.
        """
        for executor, linked in self.parts:
            executor.ref.tell(RunPartition(step, linked, feeds))


def _linked(
    partition: Partition, device: Device, states: dict[str, Any], own_fetches: bool
) -> BoundPartition:
    """Return a partition bound to its device: compiled, or for the dataflow engine if it needs that."""
    if partition.has_primitives:
        return BoundDataflow(partition, device.resources, states, own_fetches=own_fetches)
    compiled = compile_partition(partition, own_fetches=own_fetches)
    return BoundPartition(compiled, device.resources, states)


class Gate:
    """The open or closed state of a session; passed as ``C`` to generated code that has no step.

    Closing it from another thread ends such code between two nodes.
    """

    __slots__ = ("_closed",)

    def __init__(self) -> None:
        self._closed: OpError | None = None

    def check(self) -> None:
        """Raise if the gate was closed.

        Raises:
            OpError: the error with which the gate was closed.
        """
        if self._closed is not None:
            raise type(self._closed)(self._closed.message)

    def wait_for(self, begun: Begun) -> Any:
        """Wait for a node that suspends inside a loop or branch, and return its values."""
        return wait_for(begun, self.check)

    def close(self, error: OpError) -> bool:
        """Close the gate; return whether it was open."""
        if self._closed is not None:
            return False
        self._closed = error
        return True


class TimedGate(Gate):
    """A session's gate for one run with a time limit, in the thread that runs it.

    Args:
        gate: the session's.
        deadline: the time limit of the run.
    """

    __slots__ = ("_deadline", "_of_session")

    def __init__(self, gate: Gate, deadline: Deadline) -> None:
        super().__init__()
        self._of_session = gate
        self._deadline = deadline

    def check(self) -> None:
        """Raise if the session's gate was closed or the time limit is over.

        Raises:
            OpError: DeadlineExceededError, or the error with which the gate was closed.
        """
        self._of_session.check()
        if self._deadline.expired:
            raise DeadlineExceededError("the run took longer than it may")


class InlineRun:
    """A plan of one segment, run as one call of its emitted function.

    Args:
        linked: its only partition.
        segment: its only segment.
    """

    __slots__ = ("_feeds", "_in_order", "_linked", "_order", "_segment")

    def __init__(self, linked: BoundPartition, segment: BoundSegment) -> None:
        self._linked = linked
        self._segment = segment
        position_of = dict(linked.compiled.feeds)
        self._feeds = tuple(position_of[slot] for slot in segment.segment.arguments)
        slot_order = list(segment.segment.results)
        self._order = tuple(slot_order.index(slot) for _, slot in linked.compiled.fetches)
        # Most plans need no reordering of results; checking once here saves it in every run.
        self._in_order = self._order == tuple(range(len(slot_order)))

    def is_cheap(self, feeds: Sequence[Any]) -> bool:
        """Return whether the segment may run on an event loop, with these feeds."""
        return not is_dear(self._segment, feeds, self._feeds)

    def run(self, feeds: Sequence[Any], gate: Gate) -> Sequence[Any]:
        """Run the step in the calling thread.

        Args:
            feeds: values in the signature's order.
            gate: ends the run between two nodes when it is closed.

        Returns:
            The fetched values in the signature's order.

        Raises:
            OpError: the error, with node and source line.
        """
        gate.check()
        begin = time.perf_counter()
        try:
            with np.errstate(all="ignore"):
                results = self._segment.function(gate, *[feeds[i] for i in self._feeds])
        except Exception as exc:
            error = locate_error(exc, self._linked, self._segment)
            if error is exc:
                raise
            raise error from exc
        seconds = time.perf_counter() - begin
        if seconds > HELD:
            WATCHDOG.ran_inline(self._linked, self._segment, seconds)
        took(self._segment, seconds, feeds, self._feeds)
        return results if self._in_order else [results[i] for i in self._order]


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the event loop that runs in this thread, if one does."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
