"""Partial runs: what their calls may do, and those of this process, in the thread of the caller or on a loop."""

from __future__ import annotations

import asyncio
import itertools
import threading
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, Operation, Tensor, ops
from actorsession.actors import Deadline
from actorsession.actors.deadline import NEVER
from actorsession.errors import (
    CancelledError,
    DeadlineExceededError,
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    OpError,
    UnavailableError,
)
from actorsession.extend import DeviceSet, RunSignature
from actorsession.plan.partial import PartialParts, make_partial
from actorsession.plan.partition import partition
from actorsession.plan.place import Placer
from actorsession.plan.prune import GraphView, prune
from actorsession.runtime.devices import make_devices
from actorsession.runtime.engine.executor import Executor
from actorsession.runtime.engine.loaded_graph import LoadedGraph
from actorsession.runtime.engine.step import Step
from actorsession.runtime.kernel_pool import KernelPool
from actorsession.runtime.partial.local_runs import (
    AbortRuns,
    BeginRun,
    ContinueRun,
    LocalRun,
    PartialRunActor,
    wait_for_answer,
)
from actorsession.runtime.partial.manager import PartialRunMgr
from actorsession.runtime.partial.run_state import Call, Phase, RunState
from actorsession.runtime.partial.thread_runs import ThreadPartialRunMgr, ThreadRun
from actorsession.runtime.rendezvous import Arrival, Rendezvous
from actorsession.testing import StillClock
from tests.loops import cancelled
from tests.rows import for_each
from tests.runtime.kit import turns_until

ERROR = UnavailableError("the device is gone")


# Two feeds and two fetches: x waits for a, y for both.
PLAN = PartialParts(
    RunSignature(("a", "b"), ("x", "y")),
    feed_keys=(("to a",), ("to b",)),
    fetch_keys=("from x", "from y"),
    needs=(0b01, 0b11),
    owned=(True, True),
)


class ToldStep:
    """A step that notes in order what it is told, with its rendezvous and the manager of its run."""

    step_id = 1

    def __init__(self) -> None:
        self.told: list[Any] = []
        self.waiters: dict[str, Callable[[Any], None]] = {}
        self.handed_out: set[int] = set()
        self.rendezvous: Any = self
        self.while_feeding: Callable[[], object] = list

    def recv_async(self, key: str, waiter: Callable[[Any], None]) -> None:
        self.told.append(("receive", key))
        self.waiters[key] = waiter

    def feed(self, values: Sequence[tuple[str, Any]]) -> None:
        self.told.append(("feed", *values))
        self.while_feeding()

    def limit(self, deadline: Deadline) -> None:
        self.told.append(("limit", deadline))

    def delete(self, run: Any) -> None:
        self.told.append("delete")


class Told(RunState[ToldStep]):
    """A state whose step notes how it ends."""

    __slots__ = ()

    def _start_step(self) -> None:
        self.step.told.append("start")

    def _end_step(self, error: OpError) -> None:
        self.step.told.append(("abort", error))

    def _roll_back(self, error: OpError) -> None:
        self.step.told.append("roll back")

    def _release(self) -> None:
        self.step.told.append("release")


OVER = ["release", "delete"]


class Core:
    """A state and its step; values arrive by the name of their fetch."""

    def __init__(self, plan: PartialParts = PLAN) -> None:
        self.step = ToldStep()
        runs: Any = self.step
        self.state = Told("h", plan, self.step, runs, 0.0)

    def phase(self) -> Phase:
        return self.state.phase

    def call(self, feeds: Sequence[str] = (), fetches: Sequence[str] = (), now: float = 0.0) -> Call:
        called = self.state.call(tuple(feeds), [f"value of {name}" for name in feeds], tuple(fetches), now)
        called.on_done = lambda: self.step.told.append(("answer", called, called.error))
        return called

    def arrive(self, fetch: str, value: Any) -> None:
        self.step.waiters[f"from {fetch}"](Arrival(value))

    def since(self, event: Callable[[], object]) -> list[Any]:
        """What the step is told, and which calls are answered, because of an event."""
        before = len(self.step.told)
        event()
        return self.step.told[before:]

    def ended(self, error: OpError | None) -> list[Any]:
        return self.since(lambda: self.state.ended(error))

    def abort(self, error: OpError) -> list[Any]:
        return self.since(lambda: self.state.abort(error))


# -- one call --------------------------------------------------------------------------------------
def test_a_call_receives_its_fetches_and_sends_its_feeds() -> None:
    core = Core()
    call = core.call("a", "x")
    assert core.step.told == [("receive", "from x"), ("feed", ("to a", "value of a"))]
    assert call.fetches == (0,)
    assert (core.state.pending_inputs, core.state.pending_outputs) == (("b",), ("y",))


def test_a_feed_goes_to_each_device_that_reads_it_and_one_that_nothing_reads_to_none() -> None:
    core = Core(PartialParts(PLAN.signature, feed_keys=(("1", "2"), ()), fetch_keys=("", ""), needs=(0, 0)))
    assert core.call("ab").done
    assert core.step.told == [("feed", ("1", "value of a"), ("2", "value of a"))]


def test_a_call_is_answered_when_its_feeds_are_sent_and_its_fetches_there() -> None:
    for arrives_first in (True, False):
        core = Core()
        if arrives_first:

            def arrive(core: Core = core) -> None:
                core.arrive("x", 7)
                assert core.state.waiting == 1

            core.step.while_feeding = arrive
            call = core.call("ab", "x")
        else:
            call = core.call("ab", "x")
            assert not call.done
            assert core.since(lambda c=core: c.arrive("x", 7)) == [("answer", call, None)]  # type: ignore[misc]
        assert call.done
        assert call.values == [7]
        assert core.state.waiting == 0


def test_a_call_that_only_feeds_is_answered_once_it_has_sent() -> None:
    core = Core()

    def waits() -> None:
        assert core.state.waiting == 1

    core.step.while_feeding = waits
    assert core.call("a").done
    assert core.step.told == [("feed", ("to a", "value of a"))]


def test_a_call_of_nothing_is_answered_and_changes_nothing() -> None:
    core = Core()
    assert core.call().done
    assert core.step.told == []
    assert core.state.pending_inputs == ("a", "b")


def test_a_limit_is_that_of_the_feeds_of_its_call_alone() -> None:
    core, deadline = Core(), Deadline.after(60.0)
    core.state.call(("a",), [1], (), 0.0, deadline)
    assert core.step.told == [("limit", deadline), ("feed", ("to a", 1)), ("limit", Deadline.never())]


@pytest.mark.parametrize("ends_first", [True, False], ids=["step first", "values first"])
def test_the_call_that_completes_the_run_waits_for_the_step_too(ends_first: bool) -> None:
    core = Core()
    call = core.call("ab", "xy")
    assert core.phase() is Phase.COMPLETE
    core.arrive("x", 1)
    if ends_first:
        assert core.ended(None) == []
        last = core.since(lambda: core.arrive("y", 2))
    else:
        assert core.since(lambda: core.arrive("y", 2)) == []
        last = core.ended(None)
    assert last == [("answer", call, None), *OVER]
    assert call.values == [1, 2]
    assert core.phase() is Phase.OVER


def test_two_calls_that_wait_at_once_are_answered_as_their_values_come() -> None:
    core = Core()
    first = core.call("a", "x")
    second = core.call("b", "y")
    assert core.state.waiting == 2
    assert core.since(lambda: core.arrive("y", 2)) == []  # it completes the run
    assert core.since(lambda: core.arrive("x", 1)) == [("answer", first, None)]
    assert core.ended(None) == [("answer", second, None), *OVER]


def test_a_value_that_comes_after_the_end_of_the_step_completes_the_run() -> None:
    core = Core()
    first = core.call("a", "x")
    second = core.call("b", "y")
    core.arrive("y", 2)
    assert core.ended(None) == [("answer", second, None)]
    assert core.phase() is Phase.COMPLETE
    assert core.since(lambda: core.arrive("x", 1)) == [("answer", first, None), *OVER]


def test_a_run_of_targets_alone_is_over_after_its_first_call() -> None:
    core = Core(PartialParts(RunSignature((), (), ("t",))))
    assert core.phase() is Phase.COMPLETE
    assert core.ended(None) == []
    assert core.since(core.call) == OVER


def test_only_values_that_were_delivered_count_as_handed_out() -> None:
    core = Core()
    call = core.call("ab", "y")
    core.arrive("y", 2)
    assert core.step.handed_out == set()
    assert core.state.deliver(call) == [2]
    assert core.step.handed_out == {1}


# -- every order of two feeds and two fetches ------------------------------------------------------
NEEDS = {"x": {"a"}, "y": {"a", "b"}}
ORDERS = list(itertools.permutations("abxy"))


@for_each("order", ORDERS, ids="".join)
def test_every_order_of_feeds_and_fetches_goes_as_far_as_the_feeds_allow(order: Sequence[str]) -> None:
    """Each is a call of its own. A fetch that comes too early is refused, and comes again at the end."""
    core, fed, early = Core(), set[str](), []
    for name in order:
        if name in PLAN.signature.feeds:
            assert core.call(name).done
            fed.add(name)
        elif NEEDS[name] <= fed:
            core.call((), name)
            core.arrive(name, 1)
        else:
            missing = ", ".join(sorted(NEEDS[name] - fed))
            with pytest.raises(InvalidArgumentError, match=f"Fetch {name} can't .* needs {missing}$"):
                core.call((), name)
            early.append(name)
    assert core.state.pending_outputs == tuple(sorted(early))
    for name in early:
        core.call((), name)
        core.arrive(name, 1)
    assert core.phase() is Phase.COMPLETE
    assert core.ended(None)[-1] == "delete"


@for_each("cut", range(16), ids="{:04b}".format)
def test_every_split_into_two_calls_ends_in_the_same_state(cut: int) -> None:
    """The first call has the names of the cut; if it is refused, all come in one call."""
    core = Core()
    names = [n for i, n in enumerate("abxy") if cut >> i & 1]
    feeds, fetches = [n for n in names if n in "ab"], [n for n in names if n in "xy"]
    if all(NEEDS[name] <= set(feeds) for name in fetches):
        core.call(feeds, fetches)
        assert core.state.pending_inputs == tuple(n for n in "ab" if n not in feeds)
        assert core.state.pending_outputs == tuple(n for n in "xy" if n not in fetches)
    else:
        with pytest.raises(InvalidArgumentError, match="can't be computed"):
            core.call(feeds, fetches)
        assert core.state.pending_inputs == ("a", "b")
        assert core.state.pending_outputs == ("x", "y")
    core.call(core.state.pending_inputs, core.state.pending_outputs)
    assert core.phase() is Phase.COMPLETE


# -- the order of checks ---------------------------------------------------------------------------
@for_each(
    "feeds, fetches, said",
    [
        (["a", "z"], ["z", "x", "y"], "Feeds of 'h' are a, b; the feed z was not specified .*setup\\.$"),
        (["a"], ["z", "x", "y"], "Still to be fed in 'h': b; the feed a has already been fed\\.$"),
        ([], ["x", "z", "y"], "Fetches of 'h' are x, y; the fetch z was not specified .*setup\\.$"),
        ([], ["y", "x"], "Still to be fetched in 'h': y; the fetch x has already been fetched\\.$"),
        ([], ["y"], "Fetch y can't be computed .* it also needs b"),
    ],
    ids=["unknown feed", "fed twice", "unknown fetch", "fetched twice", "too early"],
)
def test_checks_come_in_order_and_mark_nothing(feeds: list[str], fetches: list[str], said: str) -> None:
    core = Core()
    core.call("a", "x", now=1.0)
    with pytest.raises(InvalidArgumentError, match=said):
        core.call(feeds, fetches, now=2.0)
    assert (core.state.pending_inputs, core.state.pending_outputs) == (("b",), ("y",))
    assert core.state.last_use == 1.0
    assert core.state.waiting == 1


def test_a_feed_of_this_call_counts_for_its_fetches() -> None:
    core = Core()
    core.call("a")
    core.call("b", "y")
    assert core.state.pending_outputs == ("x",)


# -- errors ----------------------------------------------------------------------------------------
def test_an_error_of_the_step_is_told_to_every_call_that_waits() -> None:
    core = Core()
    first = core.call("a", "x")
    second = core.call("b", "y")
    assert core.ended(ERROR) == [("answer", first, ERROR), ("answer", second, ERROR), *OVER]
    assert core.since(lambda: core.arrive("x", 1)) == []
    assert core.since(lambda: core.arrive("y", 1)) == []


def test_an_error_of_the_step_while_a_call_feeds_is_that_of_the_call() -> None:
    core = Core()
    core.step.while_feeding = lambda: core.state.ended(ERROR)
    call = core.call("a", "x")
    with pytest.raises(UnavailableError):
        call.result()
    assert core.step.told[-2:] == OVER


def test_an_error_that_nobody_waits_for_is_told_to_the_next_call() -> None:
    core = Core()
    assert core.ended(ERROR) == []
    assert core.phase() is Phase.FAILED
    with pytest.raises(InvalidArgumentError, match="can't be computed"):
        core.call((), "x")  # a wrong call is told so
    call = core.call("a")
    assert call.error is ERROR
    assert core.step.told == OVER
    with pytest.raises(InvalidArgumentError, match="or is complete, failed, or given up"):
        core.call("a")


@for_each("error", [None, ERROR], ids=["ends well", "fails"])
@for_each("given_up_first", [True, False], ids=["given up first", "step first"])
def test_of_an_end_and_giving_up_the_first_counts(given_up_first: bool, error: Any) -> None:
    core = Core()
    waiting = core.call("a", "x")
    gone = CancelledError("not wanted")
    given_up = [("abort", gone), ("answer", waiting, gone), *OVER, "roll back"]
    if given_up_first:
        assert core.abort(gone) == given_up
        assert core.ended(error) == []
    else:
        told = core.ended(error)
        if error is None:
            assert core.abort(gone) == given_up
        else:
            assert told == [("answer", waiting, error), *OVER]
            assert core.abort(gone) == ["roll back"]
    assert core.phase() is Phase.OVER
    assert core.abort(gone) == ["roll back"]


def test_a_fetch_on_a_branch_that_was_not_taken_ends_the_run() -> None:
    core = Core()
    call = core.call("a", "x")
    core.step.waiters["from x"](Arrival(None, dead=True))
    with pytest.raises(InvalidArgumentError, match="the fetched tensor 'x' is on a way that was not taken"):
        call.result()
    assert core.phase() is Phase.OVER


def test_a_plan_that_cannot_succeed_is_not_started_and_fails_the_first_call() -> None:
    core = Core(PartialParts(PLAN.signature, needs=(0, 0), failure=ERROR))
    core.state.start()
    ((what, error),) = core.step.told
    assert what == "abort"
    assert error is not ERROR  # a raised error keeps its frames alive
    assert core.call("a").error is error
    plain = Core()
    plain.state.start()
    assert plain.step.told == ["start"]


def test_a_run_is_idle_when_nobody_waits_and_the_last_call_was_long_ago() -> None:
    core = Core()
    assert core.state.is_idle(10.0, 10.0)
    core.call("a", "x", now=5.0)
    assert not core.state.is_idle(1000.0, 10.0)  # somebody waits
    core.arrive("x", 1)
    assert not core.state.is_idle(14.9, 10.0)
    assert core.state.is_idle(15.0, 10.0)
    core.state.abort(ERROR)
    assert not core.state.is_idle(1000.0, 10.0)


def test_a_state_tells_how_it_stands() -> None:
    core = Core()
    core.call("a", "x")
    assert repr(core.state) == "<RunState 'h' open, to feed ('b',), to fetch ('y',), 1 waiting>"


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
        handle: str = "h",
        failure: OpError | None = None,
        runs: Any = None,
    ) -> None:
        made = make_devices("/job:localhost/replica:0/task:0", {"CPU": devices})
        device_set = DeviceSet([d.attributes for d in made])
        nodes = [op.plain for op in graph.get_operations()]
        placer = Placer(device_set)
        placer.place(nodes)
        signature = RunSignature(
            tuple(t.name for t in feeds), tuple(t.name for t in fetches), tuple(op.name for op in targets)
        )
        pruned = prune(GraphView(nodes), signature)
        client = device_set.client_device
        where = {n: placer.placed[n].device if n in placer.placed else client for n in pruned.nodes}
        self.plan = make_partial(pruned, partition(pruned, where, device_set), signature, device_set)
        self.graph = LoadedGraph(self.plan.parts, {d.name: Executor(d) for d in made}, {})
        if failure is not None:
            self.plan = PartialParts(signature, failure=failure)
        self.begun = 0
        self.closed: list[Step] = []
        self.deleted: list[Any] = []
        loop = asyncio.get_running_loop() if pool is not None else None
        self.step = Step(1, Rendezvous(), len(fetches), partitions=len(self.graph.parts), pool=pool, loop=loop)
        kind: Any = LocalRun if on_loop or pool is not None else ThreadRun
        # It is its own manager, and counts how often its parts are begun.
        self.run = kind(handle, self.plan, self.step, self if runs is None else runs, 0.0, self, self.closed.append)

    def delete(self, run: Any) -> None:
        self.deleted.append(run)

    def done(self) -> bool:
        return self.step.done

    @property
    def parts(self) -> Sequence[Any]:
        self.begun += 1
        return self.graph.parts

    def start(self) -> None:
        self.run.start()

    def call(self, feeds: dict[str, Any], fetches: Sequence[str] = (), deadline: Deadline = NEVER) -> Call:
        called: Call = self.run.call(tuple(feeds), list(feeds.values()), tuple(fetches), 0.0, deadline)
        return called


def in_two_stages(*, on_loop: bool = False, **options: Any) -> Loaded:
    with Graph().as_default() as graph:
        a = ops.placeholder("float32", [2], name="a")
        b = ops.placeholder("float32", [2], name="b")
        with graph.device("/cpu:1"):
            x = ops.multiply(a, 2.0, name="x")
        y = ops.add(x, b, name="y")
    return Loaded(graph, [x, y], [a, b], devices=2, on_loop=on_loop, **options)


@pytest.fixture(params=[False, True], ids=["in threads", "on a loop"])
def two_stages(request: Any) -> Loaded:
    return in_two_stages(on_loop=request.param)


@pytest.fixture
def threaded() -> Loaded:
    return in_two_stages()


ONES = np.ones(2, np.float32)


def answered(call: Call) -> bool:
    return call.done


def test_all_parts_start_with_nothing_fed_and_run_as_feeds_come(two_stages: Loaded) -> None:
    two_stages.start()
    assert two_stages.step.rendezvous.pending == (0, 3)  # a, b and x are awaited
    first = two_stages.call({"a:0": ONES}, ["x:0"])
    np.testing.assert_array_equal(first.result()[0], [2, 2])
    assert not two_stages.done()
    second = two_stages.call({"b:0": ONES}, ["y:0"])
    np.testing.assert_array_equal(second.result()[0], [3, 3])
    assert two_stages.done()
    assert two_stages.deleted == [two_stages.run]
    assert two_stages.step.rendezvous.pending == (0, 0)


@pytest.mark.parametrize("on_loop", [False, True], ids=["in threads", "on a loop"])
def test_nothing_runs_before_all_feeds_of_a_call_are_there(on_loop: bool) -> None:
    """What the first of them lets fail ends the call, and not the sending of the others."""
    with Graph().as_default() as graph:
        divisor, b = (ops.placeholder("int32", [], name=name) for name in ("divisor", "b"))
        y = ops.add(ops.floordiv(7, divisor), b, name="y")
    loaded = Loaded(graph, [y], [divisor, b], on_loop=on_loop)
    loaded.start()
    call = loaded.call({"divisor:0": np.int32(0), "b:0": np.int32(1)}, ["y:0"])
    with pytest.raises(InvalidArgumentError, match="division by zero"):
        call.result()
    assert loaded.deleted == [loaded.run]


def test_a_value_that_nobody_takes_waits_in_the_rendezvous_until_the_run_is_given_up(two_stages: Loaded) -> None:
    two_stages.start()
    two_stages.call({"a:0": ONES, "b:0": ONES})
    assert two_stages.done()
    assert two_stages.step.rendezvous.pending == (2, 0)
    two_stages.run.abort(CancelledError("dropped"))
    assert two_stages.step.rendezvous.pending == (0, 0)
    assert two_stages.deleted == [two_stages.run]


@pytest.mark.parametrize("on_loop", [False, True])
def test_what_cannot_be_started_is_told_to_the_first_call_of_each_run(on_loop: bool) -> None:
    for _ in range(2):
        loaded = in_two_stages(on_loop=on_loop, failure=ERROR)
        loaded.start()
        with pytest.raises(UnavailableError) as raised:
            loaded.call({"a:0": ONES}).result()
        assert raised.value is not ERROR  # a raised error keeps its frames alive
        assert not loaded.begun
        assert loaded.deleted == [loaded.run]


def test_a_limit_that_is_over_ends_the_step_between_two_nodes(two_stages: Loaded) -> None:
    two_stages.start()
    call = two_stages.call({"a:0": ONES}, ["x:0"], Deadline.after(0.0))
    with pytest.raises(DeadlineExceededError):
        call.result()
    assert two_stages.deleted == [two_stages.run]


def test_a_limit_that_is_not_over_is_gone_after_the_call(two_stages: Loaded) -> None:
    two_stages.start()
    two_stages.call({"a:0": ONES}, ["x:0"], Deadline.after(60.0)).result()
    assert two_stages.step.abort_error is None
    assert two_stages.step._deadline is None


def test_a_call_that_nobody_would_ever_answer_is_an_internal_error(threaded: Loaded) -> None:
    """Its parts were never started."""
    call = threaded.call({"a:0": ONES}, ["x:0"])
    with pytest.raises(InternalError, match="with nobody to send it"):
        call.result()


async def test_giving_up_while_a_kernel_runs_answers_at_once_and_the_step_ends_with_the_kernel() -> None:
    """1. The pool's only thread is busy, so a dear segment waits behind it. 2. The run is given up: its call
    is answered, its handle gone. 3. The thread comes back. 4. The step is done."""
    with Graph().as_default() as graph:
        x = ops.placeholder("float32", [600, 600], name="x")
        y = ops.matmul(x, x, name="y")
    pool = KernelPool(1)
    gate = threading.Event()
    pool.submit(gate.wait, 10)
    loaded = Loaded(graph, [y], [x], pool=pool)
    loaded.start()
    call = loaded.call({"x:0": np.ones([600, 600], np.float32)}, ["y:0"])
    assert not answered(call)
    loaded.run.abort(CancelledError("not wanted"))
    assert answered(call)
    assert loaded.deleted == [loaded.run]
    assert not loaded.done()
    gate.set()
    await turns_until(loaded.done, turns=1_000_000)
    with pytest.raises(CancelledError, match="not wanted"):
        call.result()
    pool.shutdown()


@pytest.mark.parametrize("kind", ["broadcast", "view"])
def test_a_fed_view_that_is_read_only_is_kept_as_it_was_when_it_was_fed(two_stages: Loaded, kind: str) -> None:
    base = np.zeros([2], np.float32)
    fed = np.broadcast_to(base[:1], [2]) if kind == "broadcast" else base[:]
    fed.flags.writeable = False
    two_stages.start()
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


def test_the_thread_that_is_in_a_run_ends_it_when_it_leaves(threaded: Loaded) -> None:
    """1. A thread is in the run, past its last node. 2. Another one ends the run, and cannot enter. 3. The
    first one leaves."""
    threaded.start()
    threaded.run.enter()
    inside = LocalRun.call(threaded.run, ("a:0",), [ONES], ("x:0",), 0.0)
    assert inside.done
    assert in_thread(threaded.run.abort, ERROR) is None
    assert threaded.deleted == []
    threaded.run.leave()
    assert threaded.deleted == [threaded.run]
    assert threaded.step.rendezvous.pending == (0, 0)


def test_a_run_that_nobody_is_in_is_ended_at_once_and_once(threaded: Loaded) -> None:
    threaded.start()
    for _ in range(2):
        threaded.run.abort(ERROR)
        assert threaded.deleted == [threaded.run]
    threaded.run.enter()  # and its lock is free
    threaded.run.leave()


def test_an_idle_run_is_ended_unless_somebody_is_in_it_or_has_called(threaded: Loaded) -> None:
    threaded.start()
    threaded.run.enter()
    assert in_thread(threaded.run.abort_if_idle, 10.0, 10.0) is None
    threaded.run.leave()
    assert threaded.deleted == []
    threaded.run.abort_if_idle(9.0, 10.0)
    assert threaded.deleted == []
    threaded.run.abort_if_idle(10.0, 10.0)
    assert threaded.deleted == [threaded.run]


def test_a_look_for_idleness_loses_no_end_that_comes_meanwhile(threaded: Loaded) -> None:
    """1. The collector has entered. 2. The session closes and cannot. 3. The run is not idle. 4. The
    collector leaves."""
    threaded.start()

    class Watched(ThreadRun):
        __slots__ = ()

        def is_idle(self, now: float, limit: float) -> bool:
            threaded.run.abort(ERROR)
            assert threaded.deleted == []
            return False

    threaded.run.__class__ = Watched
    threaded.run.abort_if_idle(10.0, 10.0)
    assert threaded.deleted == [threaded.run]


def test_a_thread_that_is_in_a_run_may_not_enter_it_again(threaded: Loaded) -> None:
    threaded.run.enter()
    with pytest.raises(FailedPreconditionError, match="inside partial run 'h' continues that very"):
        threaded.run.enter()
    threaded.run.leave()
    threaded.run.enter()
    threaded.run.leave()


def test_a_run_is_entered_without_waiting_only_while_nobody_is_in_it(threaded: Loaded) -> None:
    assert threaded.run.enter_nowait()
    assert not threaded.run.enter_nowait()
    with pytest.raises(FailedPreconditionError, match="inside partial run 'h' continues that very"):
        threaded.run.enter()
    threaded.run.leave()
    assert threaded.run.enter_nowait()
    threaded.run.leave()


def test_waiting_for_another_thread_has_a_limit(threaded: Loaded) -> None:
    threaded.run.enter()
    raised = in_thread(threaded.run.enter, Deadline.after(0.01))
    assert isinstance(raised, DeadlineExceededError)
    assert "another thread's call of partial run 'h'" in str(raised)
    threaded.run.leave()
    threaded.run.enter(Deadline.after(60.0))
    threaded.run.leave()


# -- managers ---------------------------------------------------------------------------------------
def managed(runs: Any, handle: str, **options: Any) -> Loaded:
    """A run that a manager holds, begun."""
    on_loop = not isinstance(runs, ThreadPartialRunMgr)
    loaded = in_two_stages(on_loop=on_loop, handle=handle, runs=runs, **options)
    runs.begin(loaded.run)
    return loaded


@pytest.fixture(params=[PartialRunMgr, ThreadPartialRunMgr])
async def runs(request: Any) -> AsyncIterator[Any]:
    made = request.param(10.0)
    made.clock = StillClock()
    yield made
    made.abort_all(CancelledError("the test is over"))
    if isinstance(made, ThreadPartialRunMgr):
        made.stop_collector()
    else:
        assert made._timer is None


async def test_a_manager_finds_the_open_runs_and_forgets_those_that_are_over(runs: Any) -> None:
    loaded = managed(runs, "h")
    assert "h" in runs
    run, call = runs.call("h", (), [], ())
    assert run is loaded.run
    assert call.done
    loaded.call({"a:0": ONES, "b:0": ONES}, ["x:0", "y:0"]).result()
    assert len(runs) == 0
    assert loaded.closed == [loaded.step]
    with pytest.raises(InvalidArgumentError, match="has the handle 'h'"):
        runs.call("h", (), [], ())


async def test_a_manager_aborts_one_run_or_all(runs: Any) -> None:
    one, two, three = (managed(runs, name) for name in ("one", "two", "three"))
    assert runs.abort("one", ERROR) is one.run
    assert runs.abort("one", ERROR) is None
    assert len(runs) == 2
    runs.abort_all(ERROR)
    assert len(runs) == 0
    assert one.step.error is two.step.error is three.step.error is ERROR


async def test_a_manager_aborts_runs_that_were_not_continued_for_the_idle_limit(runs: Any) -> None:
    managed(runs, "idle")
    runs.clock.advance(4.0)
    managed(runs, "used")
    runs.call("used", ("a:0",), [ONES], ())
    runs.clock.advance(6.0)
    runs.collect()
    assert ("idle" in runs, "used" in runs) == (False, True)
    runs.clock.advance(4.0)
    runs.collect()
    assert len(runs) == 0


async def test_a_manager_reports_the_oldest_runs_with_what_they_wait_for(runs: Any) -> None:
    for name in ("one", "two", "three"):
        managed(runs, name)
    runs.call("one", ("a:0",), [ONES], ("x:0",))
    runs.clock.advance(3.0)
    one, two = runs.waits(2)
    assert (one.handle, one.feeds, one.fetches, one.seconds) == ("one", ("b:0",), ("y:0",), 3.0)
    assert (two.handle, two.feeds, two.fetches) == ("two", ("a:0", "b:0"), ("x:0", "y:0"))


class Delayed:
    """A run with a call whose fetch is computed once a gate opens."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        with Graph().as_default() as graph:
            x = ops.placeholder("float32", [2], name="x")
            y = ops.py_func(self.passed, [x], "float32", name="y")
        assert isinstance(y, Tensor)
        self.pool = KernelPool(1)
        self.loaded = Loaded(graph, [y], [x], pool=self.pool)
        self.loaded.start()
        self.call = self.loaded.call({"x:0": ONES}, [y.name])

    def passed(self, value: Any) -> Any:
        self.gate.wait(20)
        return value * 2

    async def end(self) -> None:
        self.gate.set()
        await turns_until(self.loaded.done, turns=1_000_000)
        self.pool.shutdown()


@pytest.fixture
async def delayed() -> AsyncIterator[Delayed]:
    made = Delayed()
    yield made
    await made.end()


async def test_an_answer_is_awaited(delayed: Delayed) -> None:
    waiting = asyncio.create_task(wait_for_answer(delayed.loaded.run, delayed.call, NEVER))
    await asyncio.sleep(0)
    assert not waiting.done()
    delayed.gate.set()
    await waiting
    np.testing.assert_array_equal(delayed.call.result()[0], [2, 2])


async def test_a_call_that_is_not_answered_in_time_aborts_its_run(delayed: Delayed) -> None:
    with pytest.raises(DeadlineExceededError, match="a call of partial run 'h'"):
        await wait_for_answer(delayed.loaded.run, delayed.call, Deadline.after(0.0))
    assert delayed.loaded.deleted == [delayed.loaded.run]
    with pytest.raises(DeadlineExceededError):
        delayed.call.result()


async def test_cancelling_the_wait_for_an_answer_aborts_the_run(delayed: Delayed) -> None:
    waiting = asyncio.create_task(wait_for_answer(delayed.loaded.run, delayed.call, NEVER))
    await asyncio.sleep(0)
    await cancelled(waiting)
    with pytest.raises(CancelledError, match="cancelled by its caller"):
        delayed.call.result()


async def test_a_call_that_is_done_at_its_deadline_counts(two_stages: Loaded) -> None:
    two_stages.start()
    call = two_stages.call({"a:0": ONES}, ["x:0"])
    await wait_for_answer(two_stages.run, call, Deadline.after(0.0))
    np.testing.assert_array_equal(call.result()[0], [2, 2])


# -- the actor -------------------------------------------------------------------------------------
async def test_the_actor_begins_continues_and_aborts_runs() -> None:
    actor = PartialRunActor(10.0)
    loaded = in_two_stages(on_loop=True, runs=actor.runs)
    await actor.ref.ask(BeginRun(loaded.run))
    assert "h" in actor.runs
    run, call = await actor.ref.ask(ContinueRun("h", ("a:0",), [ONES], ("x:0",), NEVER))
    assert run is loaded.run
    np.testing.assert_array_equal(call.result()[0], [2, 2])
    with pytest.raises(InvalidArgumentError, match="already been fed"):
        await actor.ref.ask(ContinueRun("h", ("a:0",), [ONES], (), NEVER))
    actor.ref.tell(AbortRuns(CancelledError("dropped"), "h"))
    assert len(actor.runs) == 0
    with pytest.raises(InvalidArgumentError, match="has the handle 'h'"):
        await actor.ref.ask(ContinueRun("h", (), [], (), NEVER))
    assert await actor.ref.ask(AbortRuns(CancelledError("twice"), "h")) is None
    assert actor.statistics().stopped is None
    await actor.stop()


async def test_one_message_aborts_all_runs_of_the_actor() -> None:
    actor = PartialRunActor(10.0)
    made = [in_two_stages(on_loop=True, handle=name, runs=actor.runs) for name in "abc"]
    for loaded in made:
        await actor.ref.ask(BeginRun(loaded.run))
    assert len(actor.runs) == 3
    actor.ref.tell(AbortRuns(CancelledError("closed")))
    assert len(actor.runs) == 0
    assert all(loaded.closed == [loaded.step] for loaded in made)
    await actor.stop()


async def test_a_stopped_actor_has_no_timer_left() -> None:
    actor = PartialRunActor(10.0)
    loaded = in_two_stages(on_loop=True)
    await actor.ref.ask(BeginRun(loaded.run))
    timer: Any = actor.runs._timer
    await actor.stop()
    assert timer.cancelled()
    assert actor.runs._timer is None
