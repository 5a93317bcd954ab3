"""The dataflow engine: a partition with primitive control flow operations, run node by node.

``DataflowRun`` is a ``PartitionRun`` whose content is a queue of nodes whose inputs have arrived; to a step
it looks like any other. It runs the nodes one after another. ``propagate`` determines where their values go
and which nodes become ready.

Everything belongs to the thread of the step, except expensive kernels: each of them runs in the pool by
itself.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from actorsession.errors import InternalError, InvalidArgumentError, OpError, from_exception
from actorsession.graph.take import Take
from actorsession.plan.codegen.bind import own
from actorsession.plan.control_flow.dataflow_partition import (
    CALL,
    CONSTANT,
    FEED,
    MERGE,
    RECEIVE,
    SENDING,
    SWITCH,
    BoundDataflow,
    NodePlan,
)
from actorsession.plan.partition import CONTROL_TOKEN
from actorsession.runtime.engine.frames import Iteration, key_of
from actorsession.runtime.engine.partition_run import (
    PartitionRun,
    PooledSegmentContext,
    locate_error,
)
from actorsession.runtime.engine.propagate import DEAD, Propagation
from actorsession.runtime.engine.takes import Taken
from actorsession.runtime.kernel_pool import OFFLOAD_ABOVE
from actorsession.runtime.offload import LARGE, bytes_of
from actorsession.runtime.rendezvous import Arrival

if TYPE_CHECKING:
    from actorsession.runtime.engine.step import Step

__all__ = ["DataflowRun", "PooledNodeContext"]


# Nodes between two reads of the clock, and seconds for which an event loop is held at a time.
_LOOK = 32
_SLICE = 0.002
# Weight of the newest measurement in a kernel's moving average.
_EMA = 0.25


class PooledNodeContext(PooledSegmentContext):
    """A node of the dataflow engine that runs in the pool.

    Args:
        run: the engine.
        plan: the node.
        iteration: the iteration in which it runs.
        values: its inputs.
    """

    __slots__ = ("_runs", "iteration", "plan", "values")

    def __init__(
        self, run: DataflowRun, plan: NodePlan, iteration: Iteration, values: Sequence[Any]
    ) -> None:
        super().__init__(run, 0)
        self.plan = plan
        self.iteration = iteration
        self.values = values
        self._runs = False

    @property
    def runs(self) -> bool:
        """Whether it has got a thread."""
        return self._runs

    def begin_running(self) -> None:
        """Record that it has got a thread."""
        self._runs = True

    @property
    def node(self) -> int | None:
        """The number of the node in the partition."""
        return self.plan.number


class DataflowRun(PartitionRun):
    """One partition with primitive control flow operations in one step."""

    __slots__ = (
        "_feeds", "_plain", "_queued", "_routing", "_running", "_suspended", "_tickets", "engine",
    )  # fmt: skip

    def __init__(self, step: Step, linked: BoundDataflow, feeds: Sequence[Any]) -> None:
        super().__init__(step, linked, feeds)
        self.engine = linked
        self.left = 1
        self._feeds = feeds
        self._routing = Propagation()
        self._queued = self._running = False
        self._plain = not step.has_pool and step.collector is None
        self._suspended: dict[int, tuple[NodePlan, Iteration, int]] = {}
        self._tickets = 0

    # -- the interface of a partition to its step ----------------------------------------------

    def start(self) -> None:
        """Queue the nodes that have no inputs."""
        self._routing.begin(self.engine.roots)
        if self._routing.queue:
            self._wake()
        else:
            self._conclude()

    def execute(
        self, index: int, context: PooledSegmentContext | None = None
    ) -> tuple[Sequence[Any], OpError | None]:
        """Run the queued nodes, or in the pool one node; return errors of kernels and never raise them."""
        if isinstance(context, PooledNodeContext):
            return self._execute_held(context)
        step, queue = self.step, self._routing.queue
        self._queued, self._running = False, True
        until = time.perf_counter() + _SLICE
        looks = 0
        plan: NodePlan | None = None
        try:
            while queue:
                if step.error is not None:
                    break
                looks += 1
                if looks == _LOOK:
                    looks = 0
                    if step.given_up:
                        return (), step.error or step._given_up
                    if step.loop is not None and time.perf_counter() > until:
                        break
                plan, iteration, values, dead = queue.popleft()
                self._run(plan, iteration, values, dead)
        except Exception as exc:
            if step.given_up:
                return (), step.error or step._given_up
            return (), self._located(plan, exc)
        finally:
            self._running = False
        return (), None

    def finished(self, index: int, results: Sequence[Any]) -> None:
        """Propagate the results of the pool, then continue with the queue or end the partition."""
        for plan, iteration, values in results:
            self._routing.give(plan, iteration, values)
        if not self._routing.queue:
            self._conclude()
        elif results or self.step.loop is None:
            self._wake()
        else:
            self.step.loop.call_soon(self._resume)  # lets other work on the event loop run

    def delivered(self, number: int, values: Any) -> None:
        """Propagate the values of a node that was suspended."""
        plan, iteration, begin = self._suspended.pop(number)
        self._routing.give(plan, iteration, self._outputs(plan, values, begin))
        self._go_on()

    def took(self, number: int, take: Take) -> None:
        """Record what a suspended node has taken, before ``delivered`` is called for it."""
        compiled = self.engine.compiled
        plan = compiled.takes.get(number % len(compiled.suspensions))
        if plan is not None:
            # It is not tracked which iteration has stored the value.
            stored = plan.uses.stored
            self.step.takes.add(Taken(take, plan.uses, lambda: stored))

    def located(self, number: int, exc: BaseException) -> OpError:
        """Return the error of a node that was suspended, as an ``OpError`` that names the node."""
        return self._located(self._suspended[number][0], exc)

    def _resume(self) -> None:
        self._wake()
        self.step.drain()

    def _wake(self) -> None:
        if not (self._queued or self._running):
            self._queued = True
            self.step.ready(self, 0)

    def _go_on(self) -> None:
        """Continue after a value has arrived from outside."""
        if self._running:
            return
        if self._routing.queue:
            self._wake()
        else:
            self._conclude()

    def _conclude(self) -> None:
        """End the partition if none of its nodes is under way."""
        if not (self._routing.over and self.left) or self.step.error is not None:
            return
        self.left = 0
        copy = own if self.engine.own_fetches else None
        values = self._routing.fetched
        for position, name, output in self.engine.compiled.partition.fetches:
            if position not in values:
                self.step.fail(self._dead_fetch(name, output))
                return
            value = values[position]
            if copy is not None:
                value = copy(value)
            elif isinstance(value, np.ndarray) and not value.ndim:
                value = value[()]
            self.step.outputs[position] = value
        self.step.ended()

    def _dead_fetch(self, name: str, output: int) -> OpError:
        # TensorFlow's two kinds of session raise these two error classes.
        kind = InvalidArgumentError if self.engine.own_fetches else InternalError
        return kind(
            f"the fetched tensor '{name}:{output}' has no value: it is on a way that was not taken, so it "
            "is dead"
        )

    # -- nodes ---------------------------------------------------------------------------------

    def _run(self, plan: NodePlan, iteration: Iteration, values: Any, dead: bool) -> None:
        kind = plan.kind
        if dead and kind != SENDING and kind != RECEIVE:
            self._routing.give(plan, iteration, (DEAD,) * plan.outputs, True)
        elif kind <= MERGE:
            self._routing.give(plan, iteration, values)
        elif kind == CALL:
            if self._plain and plan.is_plain:
                made = plan.function(*values)
                self._routing.give(plan, iteration, (made,) if plan.outputs == 1 else made or ())
            else:
                self._call(plan, iteration, values)
        elif kind == SWITCH:
            data, predicate = values
            if type(predicate) is not np.bool_ and np.ndim(predicate):
                raise InvalidArgumentError(
                    f"a predicate is a scalar, but it has shape {list(np.shape(predicate))}"
                )
            self._routing.give(plan, iteration, (DEAD, data) if predicate else (data, DEAD))
        elif kind == CONSTANT:
            self._routing.give(plan, iteration, (plan.function,))
        elif kind == FEED:
            self._routing.give(plan, iteration, (self._feeds[plan.index],))
        elif kind == SENDING:
            self._send(plan, iteration, values, dead)
        elif kind == RECEIVE:
            key = key_of(plan, iteration)
            self.step.rendezvous.recv_async(key, partial(self._came, plan, iteration, key))
        else:
            data, chosen = values
            ways: list[Any] = [DEAD] * plan.outputs
            chosen = int(chosen)
            ways[chosen if 0 <= chosen < plan.outputs else -1] = data
            self._routing.give(plan, iteration, ways)

    def _call(self, plan: NodePlan, iteration: Iteration, values: Sequence[Any]) -> None:
        step = self.step
        pooled = step.has_pool
        if pooled and (
            plan.blocks
            or plan.varies
            or plan.dear > OFFLOAD_ABOVE
            or (plan.is_unsized and bytes_of(values) > LARGE)
        ):
            first = None if plan.dear else plan
            held = PooledNodeContext(self, plan, iteration, values)
            step.offload(held, blocks=plan.blocks, first=first)
            return
        if plan.suspends >= 0:
            number = plan.suspends + self._tickets * len(self.engine.compiled.suspensions)
            self._tickets += 1
            self._suspended[number] = plan, iteration, time.perf_counter_ns()
            step.suspend(self, number, plan.function(*values))
            return
        if plan.segment is not None:
            self._routing.give(plan, iteration, self._construct(plan, values))
        else:
            begin = time.perf_counter_ns()
            found = self._outputs(plan, plan.function(*values), begin)
            seconds = (time.perf_counter_ns() - begin) * 1e-9
            if seconds > OFFLOAD_ABOVE:
                plan.dear += _EMA * (seconds - plan.dear) if plan.dear else seconds
            self._routing.give(plan, iteration, found)

    def _outputs(self, plan: NodePlan, made: Any, begin: int) -> Sequence[Any]:
        """Return the results of a kernel as one value per output; record them if the step is traced."""
        outputs: Sequence[Any] = (made,) if plan.outputs == 1 else made or ()
        if self.step.collector is not None:
            self.step.collector.add_suspended(self.linked, plan.number, begin, outputs)
        return outputs

    def _construct(self, plan: NodePlan, values: Sequence[Any]) -> Sequence[Any]:
        """Return the values of a functional control flow operation."""
        assert plan.segment is not None
        order, results = plan.index
        found = plan.segment.function(self, *[values[i] for i in order])
        return [found[i] for i in results]

    def _execute_held(self, held: PooledNodeContext) -> tuple[Sequence[Any], OpError | None]:
        plan, begin = held.plan, time.perf_counter_ns()
        held.begin_running()
        try:
            if plan.segment is not None:
                found = self._construct(plan, held.values)
            else:
                found = self._outputs(plan, plan.function(*held.values), begin)
        except Exception as exc:
            if self.step.given_up:
                return (), self.step.error or self.step._given_up
            return (), self._located(plan, exc)
        seconds = (time.perf_counter_ns() - begin) * 1e-9
        plan.dear += _EMA * (seconds - plan.dear) if plan.dear else seconds
        return [(plan, held.iteration, found)], None

    def _located(self, plan: NodePlan | None, exc: BaseException) -> OpError:
        if plan is not None and plan.linked is not None and plan.segment is not None:
            assert isinstance(exc, Exception)
            return locate_error(exc, plan.linked, plan.segment)
        error = from_exception(exc)
        if plan is not None:
            error.locate(node=plan.node.name, device=self.linked.device, source=plan.node.source)
        return error

    # -- transfers -----------------------------------------------------------------------------

    def _send(self, plan: NodePlan, iteration: Iteration, values: Any, dead: bool) -> None:
        key = key_of(plan, iteration)
        value = values[0] if values and not dead else CONTROL_TOKEN
        if self.step.collector is not None:
            self.step.collector.add_transfer("send", key, self.linked.device, value)
        self.step.rendezvous.send(key, value, dead)
        self._routing.give(plan, iteration, (), dead)

    def _came(
        self, plan: NodePlan, iteration: Iteration, key: str, outcome: Arrival | OpError
    ) -> None:
        if isinstance(outcome, OpError):
            self.step.fail(outcome)
            return
        if self.step.collector is not None:
            self.step.collector.add_transfer("recv", key, self.linked.device, outcome.value)
        self._routing.give(
            plan, iteration, (DEAD if outcome.dead else outcome.value,), outcome.dead
        )
        self._go_on()
        if not self._running:
            self.step.drain()
