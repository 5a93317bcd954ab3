"""A partial run joined to a step: its parts run as feeds come, in any thread or by an actor."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import actorsession.ops as ops
from actorsession.actors.deadline import NEVER, Deadline
from actorsession.errors import (
    CancelledError,
    DeadlineExceededError,
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    UnavailableError,
)
from actorsession.graph.graph import Graph
from actorsession.graph.operation import Operation, Tensor
from actorsession.plan.device_set import DeviceSet
from actorsession.plan.partial import make_partial
from actorsession.plan.partition import partition
from actorsession.plan.place import Placer
from actorsession.plan.prune import GraphView, prune
from actorsession.plan.signature import RunSignature
from actorsession.runtime.devices import make_devices
from actorsession.runtime.engine.executor import Executor
from actorsession.runtime.engine.loaded_graph import LoadedGraph
from actorsession.runtime.engine.step import Step
from actorsession.runtime.kernel_pool import KernelPool
from actorsession.runtime.partial.partial_step import (
    BeginRun,
    ContinueRun,
    GiveUpAll,
    GiveUpRun,
    PartialStep,
    RunStates,
)
from actorsession.runtime.partial.run_state import Call, RunState
from actorsession.runtime.rendezvous import Rendezvous
from tests.runtime.kit import turns_until

ERROR = UnavailableError("the device is gone")


# -- joined to a step ------------------------------------------------------------------------------


class Loaded:
    """A partial run of a graph on devices of this process, without a session."""

    def __init__(
        self,
        graph: Graph,
        fetches: Sequence[Tensor],
        feeds: Sequence[Tensor],
        targets: Sequence[Operation] = (),
        *,
        devices: int = 1,
        pool: KernelPool | None = None,
        on_loop: bool = False,
    ) -> None:
        made = make_devices("/job:localhost/replica:0/task:0", {"CPU": devices})
        device_set = DeviceSet([d.attributes for d in made])
        nodes = [op.plain for op in graph.get_operations()]
        placer = Placer(device_set)
        placer.place(nodes)
        signature = RunSignature(
            tuple(t.name for t in feeds),
            tuple(t.name for t in fetches),
            tuple(op.name for op in targets),
        )
        pruned = prune(GraphView(nodes), signature)
        client = device_set.client_device
        where = {n: placer.placed[n].device if n in placer.placed else client for n in pruned.nodes}
        self.plan = make_partial(
            pruned, partition(pruned, where, device_set), signature, device_set
        )
        self.graph = LoadedGraph(self.plan.parts, {d.name: Executor(d) for d in made}, {})
        self.deleted: list[PartialStep] = []
        loop = asyncio.get_running_loop() if pool is not None else None
        self.step = Step(
            1, Rendezvous(), len(fetches), partitions=len(self.graph.parts), pool=pool, loop=loop
        )
        self.run = PartialStep(
            RunState("h", self.plan, 0.0), self.step, self.plan, self.deleted.append,
            loop_driven=on_loop or pool is not None,
        )  # fmt: skip

    def done(self) -> bool:
        return self.step.done

    def begin(self) -> None:
        self.run.begin(lambda: self.graph.begin(self.step, ()))

    def call(
        self, feeds: dict[str, Any], fetches: Sequence[str] = (), deadline: Deadline = NEVER
    ) -> Call:
        shape = self.run.shape(tuple(feeds), tuple(fetches))
        return self.run.call(shape, list(feeds.values()), 0.0, deadline)


def in_two_stages(*, on_loop: bool = False) -> Loaded:
    graph = Graph()
    with graph.as_default():
        a = ops.placeholder("float32", [2], name="a")
        b = ops.placeholder("float32", [2], name="b")
        with graph.device("/cpu:1"):
            x = ops.multiply(a, 2.0, name="x")
        y = ops.add(x, b, name="y")
    return Loaded(graph, [x, y], [a, b], devices=2, on_loop=on_loop)


@pytest.fixture
def two_stages() -> Loaded:
    return in_two_stages()


ONES = np.ones(2, np.float32)


def answered(call: Call) -> bool:
    return call.done


def test_all_parts_start_with_nothing_fed_and_run_as_feeds_come(two_stages: Loaded) -> None:
    two_stages.begin()
    assert two_stages.step.rendezvous.pending == (0, 3)  # a, b and x are awaited
    first = two_stages.call({"a:0": ONES}, ["x:0"])
    np.testing.assert_array_equal(first.result()[0], [2, 2])
    assert not two_stages.done()
    second = two_stages.call({"b:0": ONES}, ["y:0"])
    np.testing.assert_array_equal(second.result()[0], [3, 3])
    assert two_stages.done()
    assert two_stages.deleted == [two_stages.run]
    assert two_stages.step.rendezvous.pending == (0, 0)


def test_a_value_that_nobody_takes_waits_in_the_rendezvous_until_the_run_is_given_up(
    two_stages: Loaded,
) -> None:
    two_stages.begin()
    two_stages.call({"a:0": ONES, "b:0": ONES})
    assert two_stages.done()
    assert two_stages.step.rendezvous.pending == (2, 0)
    two_stages.run.give_up(CancelledError("dropped"))
    assert two_stages.step.rendezvous.pending == (0, 0)
    assert two_stages.deleted == [two_stages.run]


def test_what_cannot_be_started_is_told_to_the_first_call(two_stages: Loaded) -> None:
    two_stages.run.begin(lambda: pytest.fail("it was started"), ERROR)
    with pytest.raises(UnavailableError):
        two_stages.call({"a:0": ONES}).result()
    assert two_stages.deleted == [two_stages.run]


def test_a_limit_that_is_over_ends_the_step_between_two_nodes(two_stages: Loaded) -> None:
    two_stages.begin()
    call = two_stages.call({"a:0": ONES}, ["x:0"], Deadline.after(0.0))
    with pytest.raises(DeadlineExceededError):
        call.result()
    assert two_stages.deleted == [two_stages.run]


def test_a_limit_that_is_not_over_is_gone_after_the_call(two_stages: Loaded) -> None:
    two_stages.begin()
    two_stages.call({"a:0": ONES}, ["x:0"], Deadline.after(60.0)).result()
    assert two_stages.step.abort_error is None
    assert two_stages.step._deadline is None


def test_a_call_that_nobody_would_ever_answer_is_an_internal_error(two_stages: Loaded) -> None:
    """Its parts were never started."""
    call = two_stages.call({"a:0": ONES}, ["x:0"])
    with pytest.raises(InternalError, match="with nobody to send it"):
        call.result()


async def test_giving_up_while_a_kernel_runs_answers_at_once_and_the_step_ends_with_the_kernel() -> (
    None
):
    """1. The pool's only thread is busy, so a dear segment waits behind it. 2. The run is given up: its call
    is answered, its handle gone. 3. The thread comes back. 4. The step is done."""
    graph = Graph()
    with graph.as_default():
        x = ops.placeholder("float32", [600, 600], name="x")
        y = ops.matmul(x, x, name="y")
    pool = KernelPool(1)
    gate = threading.Event()
    pool.submit(gate.wait, 10)
    loaded = Loaded(graph, [y], [x], pool=pool)
    loaded.begin()
    call = loaded.call({"x:0": np.ones([600, 600], np.float32)}, ["y:0"])
    assert not answered(call)
    loaded.run.give_up(CancelledError("not wanted"))
    assert answered(call)
    assert loaded.deleted == [loaded.run]
    assert not loaded.done()
    gate.set()
    await turns_until(loaded.done, turns=1_000_000)
    with pytest.raises(CancelledError, match="not wanted"):
        call.result()
    pool.shutdown()


@pytest.mark.parametrize(
    "base", [np.zeros([3], np.float32), np.zeros([2], np.float32)], ids=["broadcast", "view"]
)
def test_a_fed_view_that_is_read_only_is_kept_as_it_was_when_it_was_fed(
    two_stages: Loaded, base: Any
) -> None:
    fed = np.broadcast_to(base[:1], [2]) if base.size == 3 else base[:]
    fed.flags.writeable = False
    two_stages.begin()
    two_stages.call({"b:0": fed})
    base[:] = 99
    np.testing.assert_array_equal(two_stages.call({"a:0": ONES}, ["y:0"]).result()[0], [2, 2])


# -- threads ---------------------------------------------------------------------------------------


def in_thread(function: Any, *args: Any) -> BaseException | None:
    """What a function raises in another thread."""
    raised: list[BaseException | None] = [None]

    def work() -> None:
        try:
            function(*args)
        except BaseException as exc:
            raised[0] = exc

    thread = threading.Thread(target=work)
    thread.start()
    thread.join(20)
    assert not thread.is_alive()
    return raised[0]


def test_the_thread_that_is_in_a_run_ends_it_when_it_leaves(two_stages: Loaded) -> None:
    """1. A thread is in the run, past its last node. 2. Another one ends the run, and cannot enter. 3. The
    first one leaves."""
    two_stages.begin()
    two_stages.run.enter()
    assert two_stages.call({"a:0": ONES}, ["x:0"]).done
    assert in_thread(two_stages.run.end, ERROR) is None
    assert two_stages.deleted == []
    two_stages.run.leave()
    assert two_stages.deleted == [two_stages.run]
    assert two_stages.step.rendezvous.pending == (0, 0)


def test_a_run_that_nobody_is_in_is_ended_at_once_and_once(two_stages: Loaded) -> None:
    two_stages.begin()
    for _ in range(2):
        two_stages.run.end(ERROR)
        assert two_stages.deleted == [two_stages.run]
    two_stages.run.enter()  # and its lock is free
    two_stages.run.leave()


def test_an_idle_run_is_ended_unless_somebody_is_in_it_or_has_called(two_stages: Loaded) -> None:
    two_stages.begin()
    two_stages.run.enter()
    assert in_thread(two_stages.run.end_if_idle, 10.0, 10.0, ERROR) is None
    two_stages.run.leave()
    assert two_stages.deleted == []
    two_stages.run.end_if_idle(9.0, 10.0, ERROR)
    assert two_stages.deleted == []
    two_stages.run.end_if_idle(10.0, 10.0, ERROR)
    assert two_stages.deleted == [two_stages.run]


def test_a_look_for_idleness_loses_no_end_that_comes_meanwhile(two_stages: Loaded) -> None:
    """1. The collector has entered. 2. The session closes and cannot. 3. The run is not idle. 4. The
    collector leaves."""
    two_stages.begin()
    state = two_stages.run.state

    class Watched(RunState):
        __slots__ = ()

        def is_idle(self, now: float, limit: float) -> bool:
            two_stages.run.end(ERROR)
            assert two_stages.deleted == []
            return False

    state.__class__ = Watched
    two_stages.run.end_if_idle(10.0, 10.0, CancelledError("idle"))
    assert two_stages.deleted == [two_stages.run]


def test_a_thread_that_is_in_a_run_may_not_enter_it_again(two_stages: Loaded) -> None:
    two_stages.run.enter()
    with pytest.raises(FailedPreconditionError, match="inside partial run 'h' continues that very"):
        two_stages.run.enter()
    two_stages.run.leave()
    two_stages.run.enter()
    two_stages.run.leave()


def test_a_run_is_entered_without_waiting_only_while_nobody_is_in_it(two_stages: Loaded) -> None:
    assert two_stages.run.enter_nowait()
    assert not two_stages.run.enter_nowait()
    with pytest.raises(FailedPreconditionError, match="inside partial run 'h' continues that very"):
        two_stages.run.enter()
    two_stages.run.leave()
    assert two_stages.run.enter_nowait()
    two_stages.run.leave()


def test_waiting_for_another_thread_has_a_limit(two_stages: Loaded) -> None:
    two_stages.run.enter()
    raised = in_thread(two_stages.run.enter, Deadline.after(0.01))
    assert isinstance(raised, DeadlineExceededError)
    assert "another thread's call of partial run 'h'" in str(raised)
    two_stages.run.leave()
    two_stages.run.enter(Deadline.after(60.0))
    two_stages.run.leave()


# -- the actor -------------------------------------------------------------------------------------


async def test_the_actor_begins_continues_and_gives_up_runs(two_stages: Loaded) -> None:
    runs: dict[str, PartialStep] = {}
    actor = RunStates(runs)
    await actor.ref.ask(
        BeginRun(two_stages.run, lambda: two_stages.graph.begin(two_stages.step, ()), None)
    )
    assert list(runs) == ["h"]
    call = await actor.ref.ask(ContinueRun("h", ("a:0",), [ONES], ("x:0",), 0.0, NEVER))
    np.testing.assert_array_equal(call.result()[0], [2, 2])
    with pytest.raises(InvalidArgumentError, match="already been fed"):
        await actor.ref.ask(ContinueRun("h", ("a:0",), [ONES], (), 0.0, NEVER))
    actor.ref.tell(GiveUpRun("h", CancelledError("dropped")))
    assert two_stages.deleted == [two_stages.run]
    runs.clear()
    with pytest.raises(InvalidArgumentError, match="has the handle 'h'"):
        await actor.ref.ask(ContinueRun("h", (), [], (), 0.0, NEVER))
    actor.ref.tell(GiveUpRun("h", CancelledError("twice")))  # is no error
    assert actor.statistics().stopped is None
    await actor.stop()


@pytest.mark.parametrize("on_loop", [False, True])
async def test_one_message_ends_all_runs_of_a_session_but_those_that_live_in_threads(
    on_loop: bool,
) -> None:
    loaded = in_two_stages(on_loop=on_loop)
    runs: dict[str, PartialStep] = {}
    actor = RunStates(runs)
    await actor.ref.ask(BeginRun(loaded.run, lambda: loaded.graph.begin(loaded.step, ()), None))
    actor.ref.tell(GiveUpAll(CancelledError("closed")))
    assert loaded.deleted == ([loaded.run] if on_loop else [])
    await actor.stop()
