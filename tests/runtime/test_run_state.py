"""What the calls of a partial run may do: checks, order, answers and errors, without a step."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from actorsession.errors import CancelledError, InvalidArgumentError, UnavailableError
from actorsession.plan.partial import PartialParts
from actorsession.plan.signature import RunSignature
from actorsession.runtime.partial.run_state import (
    Abort,
    Answer,
    Call,
    Delete,
    Instruction,
    Phase,
    Receive,
    Refuse,
    RunState,
    Send,
)
from tests.rows import for_each

# Two feeds and two fetches: x waits for a, y for both.
PLAN = PartialParts(RunSignature(("a", "b"), ("x", "y")), needs=(0b01, 0b11))
ERROR = UnavailableError("the device is gone")


class Core:
    """A state, with names in place of positions."""

    def __init__(self, plan: PartialParts = PLAN) -> None:
        self.plan = plan
        self.state = RunState("h", plan, 0.0)

    def phase(self) -> Phase:
        return self.state.phase

    def call(
        self, feeds: Sequence[str] = (), fetches: Sequence[str] = (), now: float = 0.0
    ) -> tuple[Call, list[Instruction]]:
        shape = self.plan.shape(tuple(feeds), tuple(fetches))
        return self.state.call(shape, [f"value of {name}" for name in feeds], now)


# -- one call --------------------------------------------------------------------------------------


def test_a_call_receives_its_fetches_and_sends_its_feeds() -> None:
    core = Core()
    call, instructions = core.call("a", "x")
    assert instructions == [Receive(call), Send(call)]
    assert list(call.feeds) == [(0, "value of a")]
    assert call.fetches == (0,)
    assert (core.state.pending_inputs, core.state.pending_outputs) == (("b",), ("y",))


def test_a_call_is_answered_when_its_feeds_are_sent_and_its_fetches_there() -> None:
    for arrives_first in (True, False):
        core = Core()
        call, _ = core.call("ab", "xy"[:1])
        events = [lambda c=core, k=call: c.state.arrived(k, 0, 7), lambda c=core, k=call: c.state.sent(k)]
        first, second = events if arrives_first else reversed(events)
        assert first() == []
        assert second() == [Answer(call)]
        assert call.values == [7]


def test_a_call_that_only_feeds_is_answered_once_it_has_sent() -> None:
    core = Core()
    call, instructions = core.call("a")
    assert instructions == [Send(call)]
    assert core.state.sent(call) == [Answer(call)]


def test_a_call_of_nothing_is_answered_and_changes_nothing() -> None:
    core = Core()
    call, _ = core.call()
    assert core.state.sent(call) == [Answer(call)]
    assert core.state.pending_inputs == ("a", "b")


@pytest.mark.parametrize("ends_first", [True, False], ids=["step first", "values first"])
def test_the_call_that_completes_the_run_waits_for_the_step_too(ends_first: bool) -> None:
    core = Core()
    call, _ = core.call("ab", "xy")
    assert core.phase() is Phase.COMPLETE
    core.state.arrived(call, 0, 1)
    core.state.sent(call)
    if ends_first:
        assert core.state.ended(None) == []
        last = core.state.arrived(call, 1, 2)
    else:
        assert core.state.arrived(call, 1, 2) == []
        last = core.state.ended(None)
    assert last == [Answer(call), Delete()]
    assert call.values == [1, 2]
    assert core.phase() is Phase.OVER


def test_two_calls_that_wait_at_once_are_answered_as_their_values_come() -> None:
    core = Core()
    first, _ = core.call("a", "x")
    second, _ = core.call("b", "y")
    core.state.sent(first)
    core.state.sent(second)
    assert core.state.waiting == 2
    assert core.state.arrived(second, 0, 2) == []  # it completes the run
    assert core.state.arrived(first, 0, 1) == [Answer(first)]
    assert core.state.ended(None) == [Answer(second), Delete()]


def test_a_value_that_comes_after_the_end_of_the_step_completes_the_run() -> None:
    core = Core()
    first, _ = core.call("a", "x")
    second, _ = core.call("b", "y")
    for call in (first, second):
        core.state.sent(call)
    core.state.arrived(second, 0, 2)
    assert core.state.ended(None) == [Answer(second)]
    assert core.phase() is Phase.COMPLETE
    assert core.state.arrived(first, 0, 1) == [Answer(first), Delete()]


def test_a_run_of_targets_alone_is_over_after_its_first_call() -> None:
    core = Core(PartialParts(RunSignature((), (), ("t",))))
    assert core.phase() is Phase.COMPLETE
    assert core.state.ended(None) == []
    call, _ = core.call()
    assert core.state.sent(call) == [Answer(call), Delete()]


# -- every order of two feeds and two fetches ------------------------------------------------------


NEEDS = {"x": {"a"}, "y": {"a", "b"}}
ORDERS = list(itertools.permutations("abxy"))


@for_each("order", ORDERS, ids="".join)
def test_every_order_of_feeds_and_fetches_goes_as_far_as_the_feeds_allow(order: Sequence[str]) -> None:
    """Each is a call of its own. A fetch that comes too early is refused, and comes again at the end."""
    core, fed, early = Core(), set[str](), []
    for name in order:
        if name in PLAN.signature.feeds:
            call, _ = core.call(name)
            core.state.sent(call)
            fed.add(name)
        elif NEEDS[name] <= fed:
            call, _ = core.call((), name)
            core.state.sent(call)
            core.state.arrived(call, 0, 1)
        else:
            missing = ", ".join(sorted(NEEDS[name] - fed))
            with pytest.raises(InvalidArgumentError, match=f"Fetch {name} can't .* needs {missing}$"):
                core.call((), name)
            early.append(name)
    assert core.state.pending_outputs == tuple(sorted(early))
    for name in early:
        call, _ = core.call((), name)
        core.state.sent(call)
        core.state.arrived(call, 0, 1)
    assert core.phase() is Phase.COMPLETE
    assert core.state.ended(None)[-1] == Delete()


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
    first, _ = core.call("a", "x")
    second, _ = core.call("b", "y")
    assert core.state.ended(ERROR) == [Refuse(first, ERROR), Refuse(second, ERROR), Delete()]
    assert core.state.sent(first) == []
    assert core.state.arrived(second, 0, 1) == []


def test_an_error_that_nobody_waits_for_is_told_to_the_next_call() -> None:
    core = Core()
    assert core.state.ended(ERROR) == []
    assert core.phase() is Phase.FAILED
    with pytest.raises(InvalidArgumentError, match="can't be computed"):
        core.call((), "x")  # a wrong call is told so
    call, instructions = core.call("a")
    assert instructions == [Refuse(call, ERROR), Delete()]
    with pytest.raises(InvalidArgumentError, match="or is complete, failed, or given up"):
        core.call("a")


@for_each("error", [None, ERROR], ids=["ends well", "fails"])
@for_each("given_up_first", [True, False], ids=["given up first", "step first"])
def test_of_an_end_and_giving_up_the_first_counts(given_up_first: bool, error: Any) -> None:
    core = Core()
    waiting, _ = core.call("a", "x")
    core.state.sent(waiting)
    gone = CancelledError("not wanted")
    if given_up_first:
        assert core.state.abort(gone) == [Abort(gone), Refuse(waiting, gone), Delete()]
        assert core.state.ended(error) == []
    else:
        told = core.state.ended(error)
        if error is None:
            assert core.state.abort(gone) == [Abort(gone), Refuse(waiting, gone), Delete()]
        else:
            assert told == [Refuse(waiting, error), Delete()]
            assert core.state.abort(gone) == []
    assert core.phase() is Phase.OVER
    assert core.state.abort(gone) == []


def test_a_run_is_idle_when_nobody_waits_and_the_last_call_was_long_ago() -> None:
    core = Core()
    assert core.state.is_idle(10.0, 10.0)
    call, _ = core.call("a", "x", now=5.0)
    assert not core.state.is_idle(1000.0, 10.0)  # somebody waits
    core.state.sent(call)
    core.state.arrived(call, 0, 1)
    assert not core.state.is_idle(14.9, 10.0)
    assert core.state.is_idle(15.0, 10.0)
    core.state.abort(ERROR)
    assert not core.state.is_idle(1000.0, 10.0)


def test_a_state_tells_how_it_stands() -> None:
    core = Core()
    core.call("a", "x")
    assert repr(core.state) == "<RunState 'h' open, to feed ('b',), to fetch ('y',), 1 waiting>"
