"""The dataflow engine: a partition with primitive control flow operations, run node by node.

``DataflowEngine`` has a queue of nodes whose inputs have arrived, and runs them one after another. To its
step the queue is one segment with the number 0. ``propagate`` determines where values go and which nodes
become ready.

Everything belongs to the thread of the step, except expensive kernels: each of them runs in the pool by
itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from actorsession.errors import InternalError, InvalidArgumentError, OpError, UnimplementedError
from actorsession.graph.completion import Completion
from actorsession.graph.device_kernels import arrays_of
from actorsession.plan.codegen.bind import own
from actorsession.plan.codegen.segment_context import ControlFlowContext
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
from actorsession.runtime.engine.engine import Engine, OffloadedWork
from actorsession.runtime.engine.frames import Iteration, key_of
from actorsession.runtime.engine.node_errors import node_error
from actorsession.runtime.engine.propagate import DEAD, Propagation
from actorsession.runtime.engine.segment_engine import RAISED, locate_error
from actorsession.runtime.engine.suspended_nodes import SuspendedNodes
from actorsession.runtime.engine.takes import Taken
from actorsession.runtime.rendezvous import Arrival

if TYPE_CHECKING:
    from actorsession.runtime.engine.executor import Executor
    from actorsession.runtime.engine.step import Step

__all__ = ["DataflowEngine", "PooledNode"]


# Nodes between two reads of the clock, and seconds for which an event loop is held at a time.
_LOOK = 32
_SLICE = 0.002


class DataflowEngine(Engine, ControlFlowContext):
    """One partition with primitive control flow operations in one step.

    It is the context of the functional control flow operations among its nodes.

    Args:
        executor: the executor of the partition's device.
        bound: the partition.
        step: the step.
        feeds: values of all feeds of the signature, in its order; borrowed.

    Raises:
        UnimplementedError: if the step is debugged.
    """

    __slots__ = ("_feeds", "_plain", "_propagation", "_queued", "_running", "_tickets", "_waiting")

    bound: BoundDataflow

    def __init__(self, executor: Executor, bound: BoundDataflow, step: Step, feeds: Sequence[Any]) -> None:
        if step.debug is not None:
            raise UnimplementedError(
                "a run cannot be debugged whose graph holds control flow of single operations "
                "(Switch, Merge, Enter); build it with cond and while_loop"
            )
        self.executor = executor
        self.bound = bound
        self.step = step
        self.remaining = 1
        self.waits = bound.waits
        self._feeds = feeds
        self._propagation = Propagation()
        self._queued = self._running = False
        self._plain = step.pool is None and step.collector is None
        self._suspended: SuspendedNodes = SuspendedNodes()
        # By number: what is suspended, and when it began.
        self._waiting: dict[int, tuple[NodePlan, Iteration, int]] = {}
        self._tickets = 0
        self._propagation.begin(bound.roots)
        self._go_on()

    # -- Engine --------------------------------------------------------------------------------

    def run(self, index: int) -> None:
        """Run the queued nodes for a while, then end the partition or queue the rest."""
        plan: NodePlan | None = None
        step, queue = self.step, self._propagation.queue
        self._queued, self._running = False, True
        policy = self.executor.policy
        begin, count = policy.now(), 0
        try:
            while queue and step.error is None:
                count += 1
                if not count % _LOOK:
                    error = step.abort_error
                    if error is not None:
                        step.fail(error)
                        return
                    if step.loop is not None and policy.now() > begin + _SLICE:
                        break
                plan, iteration, values, dead = queue.popleft()
                self._run(plan, iteration, values, dead)
        except RAISED as exc:
            step.fail(step.abort_error or self.located_at(plan, exc))
            return
        finally:
            self._running = False
            policy.count(count, policy.now() - begin)
        if step.error is not None:
            return
        if queue and step.loop is not None:
            step.loop.call_soon(self._resume)  # lets other work on the event loop run
        else:
            self._go_on()

    def delivered(self, number: int, completion: Completion) -> None:
        """See ``Engine.delivered``."""
        error = completion.error
        if error is None:
            plan, iteration, begin = self._waiting[number]
            compiled = self.bound.compiled
            takes = compiled.takes.get(number % len(compiled.suspensions))
            if takes is not None:
                # It is not tracked which iteration has stored the value.
                stored = takes.uses.stored
                self.step.takes.add(Taken(completion, takes.uses, lambda: stored))
            try:
                values = completion.values if plan.convert is None else plan.convert(completion.values)
                self._propagation.give(plan, iteration, self._outputs(plan, values, begin))
            except Exception as exc:  # such as for another number of values than the node has outputs
                error = exc
        if error is not None:
            self.step.fail(self.located(number, error))
            return
        del self._waiting[number]  # not before, because an error in between is the node's
        self._go_on()

    def located(self, number: int, exc: BaseException) -> OpError:
        """See ``Engine.located``."""
        waiting = self._waiting.get(number)
        return self.located_at(None if waiting is None else waiting[0], exc)

    # -- the queue -----------------------------------------------------------------------------

    def _resume(self) -> None:
        self._go_on()
        self.step.drain()

    def _go_on(self) -> None:
        """Continue with the queue, or end the partition if none of its nodes is under way."""
        if self._queued or self._running:
            return
        if self._propagation.queue:
            self._queued = True
            if self.step.error is None:
                self.step.queue.append((self, 0))
        elif self._propagation.over and self.remaining and self.step.error is None:
            self._conclude()

    def completed(self, plan: NodePlan, iteration: Iteration, values: Sequence[Any]) -> None:
        """Propagate the values of a node that has run in the pool."""
        self._propagation.give(plan, iteration, values)
        self._go_on()

    def _conclude(self) -> None:
        """End the partition with its fetched values."""
        self.remaining = 0
        copy, arrays = own if self.bound.own_fetches else None, arrays_of(self.bound.device)
        to_host = None if arrays is None else arrays.to_host
        values = self._propagation.fetched
        for position, name, output in self.bound.compiled.partition.fetches:
            if position not in values:
                self.step.fail(self._dead_fetch(name, output))
                return
            value = values[position] if to_host is None else to_host(values[position])
            if copy is not None:
                value = copy(value)
            elif isinstance(value, np.ndarray) and not value.ndim:
                value = value[()]
            self.step.outputs[position] = value
        self.step.unfinished -= 1

    def _dead_fetch(self, name: str, output: int) -> OpError:
        # TensorFlow's two kinds of session raise these two error classes: its workers take an output that
        # cannot be fetched for their own failure.
        kind = InvalidArgumentError if self.bound.own_fetches else InternalError
        return kind(
            f"the fetched tensor '{name}:{output}' has no value: it is on a way that was not taken, so it is dead"
        )

    # -- nodes ---------------------------------------------------------------------------------

    def _run(self, plan: NodePlan, iteration: Iteration, values: Any, dead: bool) -> None:
        kind = plan.kind
        if dead and kind != SENDING and kind != RECEIVE:
            self._propagation.give(plan, iteration, (DEAD,) * plan.outputs, True)
        elif kind <= MERGE:
            self._propagation.give(plan, iteration, values)
        elif kind == CALL:
            if self._plain and plan.is_plain:
                result = plan.function(*values)
                self._propagation.give(plan, iteration, (result,) if plan.outputs == 1 else result or ())
            else:
                self._call(plan, iteration, values)
        elif kind == SWITCH:
            data, predicate = values
            if type(predicate) is not np.bool_ and np.ndim(predicate):
                raise InvalidArgumentError(f"a predicate is a scalar, but it has shape {list(np.shape(predicate))}")
            self._propagation.give(plan, iteration, (DEAD, data) if predicate else (data, DEAD))
        elif kind == CONSTANT:
            self._propagation.give(plan, iteration, (plan.function,))
        elif kind == FEED:
            value = self._feeds[plan.index]
            self._propagation.give(plan, iteration, (value if plan.convert is None else plan.convert(value),))
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
            self._propagation.give(plan, iteration, ways)

    def _call(self, plan: NodePlan, iteration: Iteration, values: Sequence[Any]) -> None:
        step, policy = self.step, self.executor.policy
        if plan.may_be_expensive and step.pool is not None and policy.is_expensive_node(plan, values):
            # A node of unknown cost may be short, so it need not queue behind long ones.
            first = None if plan.seconds else plan
            work = PooledNode(self, plan, iteration, values)
            step.offload(work, blocks=plan.blocks, first=first)
            return
        nanos = policy.nanos
        begin = nanos()
        if plan.suspends >= 0:
            number = plan.suspends + self._tickets * len(self.bound.compiled.suspensions)
            self._tickets += 1
            self._waiting[number] = plan, iteration, begin
            self._suspended.add(self, number, plan.function(*values))
            return
        if plan.segment is not None:
            outputs = self._run_function(plan, values)
        else:
            start = self._start()
            result = plan.function(*values)
            seconds = (nanos() - begin) * 1e-9
            if seconds > policy.offload_above:
                policy.record_node(plan, seconds)
            outputs = self._outputs(plan, result, start)
        self._propagation.give(plan, iteration, outputs)

    def compute(self, plan: NodePlan, values: Sequence[Any]) -> Sequence[Any]:
        """Return the results of a node that does not suspend, one per output; callable from any thread."""
        if plan.segment is not None:
            return self._run_function(plan, values)
        start = self._start()
        return self._outputs(plan, plan.function(*values), start)

    def _start(self) -> Any:
        """Return what a trace needs of the moment at which a node begins; see ``BoundPartition.start``."""
        return None if self.step.collector is None else self.bound.start()

    def _run_function(self, plan: NodePlan, values: Sequence[Any]) -> Sequence[Any]:
        """Return the results of a functional control flow operation."""
        assert plan.segment is not None
        order, results = plan.index
        outputs = plan.segment.function(self, *[values[i] for i in order])
        fetched = [outputs[i] for i in results]
        if plan.convert is None or not fetched:
            return fetched
        converted = plan.convert(fetched if len(fetched) > 1 else fetched[0])
        return converted if len(fetched) > 1 else (converted,)

    def _outputs(self, plan: NodePlan, result: Any, start: Any) -> Sequence[Any]:
        """Return the results of a kernel as one value per output; record them if the step is traced."""
        outputs: Sequence[Any] = (result,) if plan.outputs == 1 else result or ()
        if self.step.collector is not None:
            self.step.collector.add_suspended(self.bound, plan.number, start, outputs)
        return outputs

    def located_at(self, plan: NodePlan | None, exc: BaseException) -> OpError:
        """Return the error of a node, as an ``OpError`` that names the node."""
        if plan is not None and plan.linked is not None and plan.segment is not None:
            return locate_error(exc, plan.linked, plan.segment)
        return node_error(exc, self.bound, None if plan is None else plan.number)

    # -- transfers -----------------------------------------------------------------------------

    def _send(self, plan: NodePlan, iteration: Iteration, values: Any, dead: bool) -> None:
        key = key_of(plan, iteration)
        value = CONTROL_TOKEN
        if values and not dead:
            value = values[0] if plan.convert is None else plan.convert(values[0])
        if self.step.collector is not None:
            self.step.collector.add_transfer("send", key, self.bound.device, value)
        self.step.rendezvous.send(key, value, dead)
        self._propagation.give(plan, iteration, (), dead)

    def _came(self, plan: NodePlan, iteration: Iteration, key: str, outcome: Arrival | OpError) -> None:
        if isinstance(outcome, OpError):
            self.step.fail(outcome)
            return
        if self.step.collector is not None:
            self.step.collector.add_transfer("recv", key, self.bound.device, outcome.value)
        value = DEAD if outcome.dead else outcome.value
        if plan.convert is not None and not outcome.dead:
            value = plan.convert(value)
        self._propagation.give(plan, iteration, (value,), outcome.dead)
        self._go_on()
        if not self._running:
            self.step.drain()


class PooledNode(OffloadedWork):
    """A node that runs in the pool by itself.

    Args:
        engine: the engine of its partition.
        plan: the node.
        iteration: the iteration in which it runs.
        values: its inputs.
    """

    __slots__ = ("_found", "_iteration", "_plan", "_values")

    engine: DataflowEngine

    def __init__(self, engine: DataflowEngine, plan: NodePlan, iteration: Iteration, values: Sequence[Any]) -> None:
        super().__init__(engine, node=plan.number)
        self._plan = plan
        self._iteration = iteration
        self._values = values
        self._found: Sequence[Any] = ()

    def execute(self) -> OpError | None:
        """See ``OffloadedWork.execute``."""
        engine, plan, policy = self.engine, self._plan, self.engine.executor.policy
        begin = policy.nanos()
        self.is_running = True
        try:
            self._found = engine.compute(plan, self._values)
        except RAISED as exc:
            return engine.step.abort_error or engine.located_at(plan, exc)
        seconds = (policy.nanos() - begin) * 1e-9
        policy.record_node(plan, seconds)
        policy.count(1, seconds)
        return None

    def complete(self) -> None:
        """See ``OffloadedWork.complete``."""
        self.engine.completed(self._plan, self._iteration, self._found)
