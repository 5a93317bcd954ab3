"""The executor actor of a device: the partitions that are loaded on it and those that are under way.

An executor binds partitions to its device and chooses the engine of each, once. It lets partitions of steps begin
(``Step.begin``) until it is stopped, decides with its ``OffloadPolicy`` what runs in the kernel pool, and counts. It
never waits; callers wait for the step itself.

Its calls are direct, like every call of an actor that is idle, and are made in the thread of the step.
Steps of synchronous sessions run in the threads of their callers, several of them at once, so a lock
guards the books. A plan that is one call (``InlineRun``) begins no partition: it uses the executor's
policy and nothing else.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import actorsession.ops  # noqa: F401 - kernels must be registered before a partition is loaded
from actorsession.actors.actor import Actor, handles
from actorsession.actors.context import CallContext
from actorsession.actors.supervision import STOP_GRACE
from actorsession.errors import AbortedError, OpError
from actorsession.graph.registry import lookup
from actorsession.plan.codegen.bind import BoundPartition
from actorsession.plan.codegen.compile import compile_partition
from actorsession.plan.control_flow.dataflow_partition import BoundDataflow
from actorsession.plan.partition import Partition
from actorsession.records import dataclass
from actorsession.runtime.devices import Device
from actorsession.runtime.engine.dataflow_engine import DataflowEngine
from actorsession.runtime.engine.engine import Engine
from actorsession.runtime.engine.executor_statistics import ExecutorStatistics
from actorsession.runtime.engine.segment_engine import SegmentEngine
from actorsession.runtime.engine.step import Step
from actorsession.runtime.offload import OffloadPolicy

__all__ = ["Executor", "LoadedPartition", "RunPartition"]


class LoadedPartition:
    """A partition that is ready to run; made by ``Executor.load``.

    Args:
        executor: the executor of its device.
        bound: the partition, bound to the device.
        new_engine: makes and begins the engine that runs it in a step, from the step and the values of all feeds.

    Attributes:
        calls_python: whether an op of it calls functions of the user.
    """

    __slots__ = ("__weakref__", "bound", "calls_python", "executor", "new_engine")

    def __init__(
        self, executor: Executor, bound: BoundPartition, new_engine: Callable[[Step, Sequence[Any]], Engine]
    ) -> None:
        self.executor = executor
        self.bound = bound
        self.new_engine = new_engine
        self.calls_python = any(lookup(context.op).calls_python for context in bound.compiled.contexts.values())


@dataclass(frozen=True, slots=True)
class RunPartition:
    """The message to an executor to begin a partition; within one process, never sent.

    Attributes:
        part: the partition.
        step: the step; gets values and errors.
        feeds: values of all feeds of the signature.
    """

    part: LoadedPartition
    step: Step
    feeds: Sequence[Any]


class Executor(Actor):
    """The actor that runs partitions on one device.

    Args:
        device: the device.

    Attributes:
        policy: decides for all partitions of the device what runs in the kernel pool.
        lock: held for all that follows.
        running: the steps with a partition here, in the order in which they have begun; each removes itself when it is
            done.
        begun: how many partitions have begun.
        offloaded: how many segments and nodes ran in a kernel pool.
        closed: the error with which the executor was closed; no partition begins any more.
    """

    def __init__(self, device: Device) -> None:
        super().__init__(f"executor {device.name}")
        # The actor belongs to the loop that first sends it a message, not to the one where its session was
        # made: a synchronous session that is made on an event loop runs its steps elsewhere.
        self.loop = None
        self.device = device
        self.policy = OffloadPolicy()
        self.lock = threading.Lock()
        self._loaded: weakref.WeakSet[LoadedPartition] = weakref.WeakSet()  # a plan owns its own
        self.running: dict[Step, None] = {}
        self.begun = self.offloaded = 0
        self.closed: OpError | None = None

    def load(self, partition: Partition, states: dict[str, Any], *, own_fetches: bool) -> LoadedPartition:
        """Return a partition bound to the device, with the engine that it needs.

        Args:
            partition: a partition for the device.
            states: states of stateful kernels by node; shared by all plans of a session.
            own_fetches: whether the caller must own fetched arrays.
        """
        host = self.device.resources
        if partition.has_primitives:
            flow = BoundDataflow(partition, host, states, own_fetches=own_fetches)
            part = LoadedPartition(self, flow, partial(DataflowEngine, self, flow))
        else:
            compiled = compile_partition(partition, own_fetches=own_fetches)
            bound = BoundPartition(compiled, host, states)
            part = LoadedPartition(self, bound, partial(SegmentEngine, self, bound))
        self._loaded.add(part)
        return part

    @handles(RunPartition)
    def on_run_partition(self, message: RunPartition, call: CallContext) -> None:
        """Begin a partition and run what is ready.

        A partition that cannot begin fails its step, not this actor, which other steps use too.
        """
        message.step.begin((message.part,), message.feeds)

    def close(self, error: OpError) -> None:
        """Refuse further partitions, and cancel the steps of those under way; callable from any thread.

        Args:
            error: for both. The first one counts, and steps that were cancelled before keep their own error.
        """
        with self.lock:
            if self.closed is not None:
                return
            self.closed = error
            running = list(self.running)
        for step in running:
            if step.abort_error is None:
                step.cancel(error)

    async def stop(self, reason: str | OpError = "stopped", grace: float = STOP_GRACE) -> None:
        """Stop the actor; cancel the steps under way with an error that names the device and the reason."""
        why = reason.message if isinstance(reason, OpError) else reason
        self.close(AbortedError(f"the executor of {self.device.name} was stopped: {why}"))
        await super().stop(reason, grace)

    def executor_statistics(self) -> ExecutorStatistics:
        """Return the counters of this executor; callable from any thread."""
        return ExecutorStatistics(
            device=self.device.name,
            loaded=len(self._loaded),
            begun=self.begun,
            running=len(self.running),
            offloaded=self.offloaded,
            runs=self.policy.runs,
            seconds=self.policy.seconds,
        )
