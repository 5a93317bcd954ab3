"""What the calls of a partial run may do: checks, order, answers and errors, without a step."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from actorsession.actors import Deadline
from actorsession.errors import CancelledError, InvalidArgumentError, OpError, UnavailableError
from actorsession.plan.partial import PartialParts
from actorsession.plan.signature import RunSignature
from actorsession.runtime.partial.run_state import Call, Phase, RunState
from actorsession.runtime.rendezvous import Arrival
from tests.rows import for_each

# Two feeds and two fetches: x waits for a, y for both.
PLAN = PartialParts(
    RunSignature(("a", "b"), ("x", "y")),
    feed_keys=(("to a",), ("to b",)),
    fetch_keys=("from x", "from y"),
    needs=(0b01, 0b11),
    owned=(True, True),
)
ERROR = UnavailableError("the device is gone")


class Step:
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


class Told(RunState[Step]):
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
        self.step = Step()
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
