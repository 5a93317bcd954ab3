"""The direct session: plans and runs a graph on devices of this process.

Holds the devices, one executor per device, the graph as planners see it, and the plan cache. A run whose
signature was seen before does no prune, place, partition or compile. Plans of one segment are a single
call; others run as a step, on the event loop or, when there is none, in the caller's thread.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.actors.deadline import Deadline
from actorsession.config import DEFAULT_STEP_TIMEOUT, ConfigProto, RunMetadata, RunOptions
from actorsession.errors import CancelledError, DeadlineExceededError, InternalError, OpError
from actorsession.graph.device import LOCAL_TASK, DeviceAttributes
from actorsession.graph.graph import Graph
from actorsession.graph.node import GraphDef
from actorsession.plan.place import DeviceSet, Placed
from actorsession.plan.signature import RunSignature
from actorsession.runtime.devices import make_devices
from actorsession.runtime.executor import Executor, Gate
from actorsession.runtime.kernel_pool import KernelPool
from actorsession.runtime.rendezvous import Rendezvous
from actorsession.runtime.step import Step
from actorsession.session.planner import DirectPlan, Planner
from actorsession.session.statistics import SessionStatistics

__all__ = ["DirectPlan", "DirectSession", "SessionStatistics"]

_log = logging.getLogger("actorsession.session")
_STEP_IDS = itertools.count(1)
# Seconds to wait, after a step was given up, for kernels that are in the middle of a node.
_SETTLE = 5.0
# Seconds that runs which need no waiting may hold the event loop in a row.
_TURN = 0.005
_CLOSED = "Session has been closed."


class DirectSession:
    """Runs a graph in this process.

    Args:
        graph: it may grow; new nodes are found when a run needs a plan.
        config: settings.

    Attributes:
        on_evict: called with a plan that is kept no longer, so that a face can let go of it.
        on_close: called once when the session closes, with the session.

    Raises:
        NotFoundError: if the devices asked for do not exist.
    """

    def __init__(self, graph: Graph, config: ConfigProto) -> None:
        self._config = config
        self._devices = make_devices(LOCAL_TASK, config.device_count)
        self._executors = {d.name: Executor(d) for d in self._devices}
        device_set = DeviceSet([d.attributes for d in self._devices])
        self.planner = Planner(graph, config, device_set, self._executors, self._evicted)
        self.on_evict: Callable[[DirectPlan], None] | None = None
        self.on_close: Callable[[DirectSession], None] | None = None
        self._gate = Gate()
        self._steps: set[Step] = set()
        threads = config.inter_op_parallelism_threads
        self._pool = None if threads < 0 else KernelPool(threads)
        self._turn_ends = 0.0

    def list_devices(self) -> list[DeviceAttributes]:
        """The session's devices, the client device first.

        Raises:
            CancelledError: if the session is closed.
        """
        self._gate.check()
        return [d.attributes for d in self._devices]

    async def connect(self) -> None:
        """Nothing to reach: the session is in this process."""

    async def devices(self) -> list[DeviceAttributes]:
        """``list_devices`` for the asynchronous face."""
        return self.list_devices()

    async def prepare(self, signature: RunSignature) -> DirectPlan:
        """``plan`` for the asynchronous face."""
        return self.planner.plan(signature)

    def plan(self, signature: RunSignature) -> DirectPlan:
        """The plan of a signature, built if it is not kept.

        Raises:
            InvalidArgumentError: if the signature cannot be run on this graph and these devices.
        """
        return self.planner.plan(signature)

    def placement(self) -> dict[str, Placed]:
        """The device of every node of the graph, with the reason."""
        return self.planner.placement()

    def _evicted(self, plan: DirectPlan) -> None:
        if self.on_evict is not None:
            self.on_evict(plan)

    # -- running -------------------------------------------------------------------------------

    def run_here(
        self,
        plan: DirectPlan,
        feeds: Sequence[Any],
        options: RunOptions | None = None,
        metadata: RunMetadata | None = None,
    ) -> Sequence[Any]:
        """Runs a step in the calling thread, without an event loop.

        Args:
            plan: what ``plan`` returned.
            feeds: values in the plan's order; borrowed until the call returns.
            options: of this run.
            metadata: filled with what ``options`` ask for.

        Returns:
            The fetched values in the plan's order; arrays are the caller's own.

        Raises:
            OpError: the step's first error.
        """
        self.planner.touch(plan)
        if plan.inline is not None and (options is None or not options.traced):
            values = plan.inline.run(feeds, self._gate)
            _report(plan, None, options, metadata)
            return values
        step = self._new_step(plan, options, None)
        try:
            plan.graph.begin(step, feeds)
            values = _result(step)
        finally:
            self._steps.discard(step)
        _report(plan, step, options, metadata)
        return values

    async def run(
        self,
        plan: DirectPlan,
        feeds: Sequence[Any],
        limit: float | None,
        options: RunOptions | None = None,
        metadata: RunMetadata | None = None,
    ) -> Sequence[Any]:
        """Runs a step on the running event loop.

        Cancelling it gives the step up between two nodes; the session stays usable.

        Args:
            plan: what ``plan`` returned.
            feeds: values in the plan's order; arrays that the caller could change while the step is
                suspended are copied.
            limit: seconds; ``None`` for the default.
            options: of this run.
            metadata: filled with what ``options`` ask for.

        Returns:
            The fetched values in the plan's order; arrays are the caller's own.

        Raises:
            DeadlineExceededError: if the step took too long.
            OpError: the step's first error.
        """
        # Steps that end at once never suspend by themselves: a program that makes one after the other
        # would keep the loop from everybody else. Before the step, so that a cancellation that comes
        # here has no step behind it.
        now = time.perf_counter()
        if now >= self._turn_ends:
            self._turn_ends = now + _TURN
            await asyncio.sleep(0)
        self.planner.touch(plan)
        traced = options is not None and options.traced
        if plan.inline is not None and not traced and (plan.inline.cheap or self._pool is None):
            values = plan.inline.run(feeds, self._gate)
            _report(plan, None, options, metadata)
            return values
        step = self._new_step(plan, options, self._pool)
        try:
            plan.graph.tell(step, [_kept(f) for f in feeds])
            if not step.done:
                await self._wait(step, plan, limit)
            values = _result(step)
        finally:
            self._steps.discard(step)
        _report(plan, step, options, metadata)
        return values

    def _new_step(
        self, plan: DirectPlan, options: RunOptions | None, pool: KernelPool | None
    ) -> Step:
        self._gate.check()
        step = Step(
            next(_STEP_IDS),
            Rendezvous(),
            len(plan.signature.fetches),
            partitions=len(plan.graph.parts),
            pool=pool,
            loop=asyncio.get_running_loop() if pool is not None else None,
            trace=options is not None and options.traced,
        )
        self._steps.add(step)
        return step

    async def _wait(self, step: Step, plan: DirectPlan, limit: float | None) -> None:
        deadline = Deadline.after(DEFAULT_STEP_TIMEOUT if limit is None else limit)
        try:
            await deadline.wait(step.wait(), what=f"step {step.step_id} ({plan.signature})")
        except DeadlineExceededError as error:
            step.fail(error)
        except asyncio.CancelledError:
            step.fail(CancelledError(f"step {step.step_id} was cancelled by its caller"))
            await _settled(step)
            raise
        await _settled(step)

    # -- end -----------------------------------------------------------------------------------

    def cancel_steps(self, error: OpError) -> None:
        """Gives up every step that runs; callable from any thread."""
        for step in list(self._steps):
            step.give_up(error)

    def reset_containers(self, containers: Sequence[str]) -> None:
        """Clears containers on every device; the default one if none is named."""
        for device in self._devices:
            device.resources.clear(containers)

    async def close(self) -> None:
        """Cancels what runs and lets threads and executors go; may be called twice."""
        self.close_here()
        for executor in self._executors.values():
            await executor.stop(_CLOSED)

    def close_here(self) -> None:
        """``close`` from any thread, without an event loop; may be called twice."""
        if not self._gate.close(CancelledError(_CLOSED)):
            return
        self.cancel_steps(CancelledError(_CLOSED))
        self.planner.clear()
        if self._pool is not None:
            self._pool.shutdown(wait=False)
        if self.on_close is not None:
            self.on_close(self)

    def statistics(self) -> SessionStatistics:
        """Counters of the session."""
        resources = [d.resources.statistics() for d in self._devices]
        steps = list(self._steps)
        return SessionStatistics(
            cache=self.planner.statistics(),
            nodes=len(self.planner.known),
            steps=len(steps),
            pending=sum(sum(step.rendezvous.pending) for step in steps),
            variables=sum(r.variables for r in resources),
            variable_bytes=sum(r.nbytes for r in resources),
            offloaded=self._pool.submitted if self._pool is not None else 0,
        )


def _kept(feed: Any) -> Any:
    """A fed value that nobody changes while the step is suspended."""
    return feed.copy() if isinstance(feed, np.ndarray) and feed.flags.writeable else feed


def _result(step: Step) -> Sequence[Any]:
    if not step.done:
        raise InternalError(
            f"step {step.step_id} waits for {step.waiting()} with nobody to send it"
        )
    return step.result()


async def _settled(step: Step) -> None:
    """Waits for kernels of a failed step, which end between two nodes."""
    if step.done:
        return
    try:
        await Deadline.after(_SETTLE).wait(step.wait(), what="kernels of a step that was given up")
    except DeadlineExceededError as exc:
        _log.warning("step %d: %s", step.step_id, exc)


def _report(
    plan: DirectPlan, step: Step | None, options: RunOptions | None, metadata: RunMetadata | None
) -> None:
    if metadata is None:
        return
    metadata.clear()
    if step is not None:
        metadata.step_stats = step.stats
    if options is not None and options.output_partition_graphs:
        metadata.partition_graphs = {p.device: GraphDef(p.nodes) for p in plan.graph.partitions}
