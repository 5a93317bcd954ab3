"""The rendezvous: senders and receivers meet under keys, in order, once, and abort ends everything once."""

from __future__ import annotations

import asyncio

import pytest

from actorsession import errors
from actorsession.actors import Deadline
from actorsession.plan.rendezvous_key import build_key
from actorsession.runtime.rendezvous import Arrival, Rendezvous
from tests.loops import cancelled
from tests.rows import for_each
from tests.runtime.kit import turns_until

CPU0 = "/job:worker/replica:0/task:0/device:CPU:0"
CPU1 = "/job:worker/replica:0/task:0/device:CPU:1"


def key(edge: str = "x") -> str:
    return build_key(CPU0, 0x1ED2, CPU1, edge)


class Taken:
    """A receiver that notes what it was called with."""

    def __init__(self) -> None:
        self.outcomes: list[Arrival | errors.OpError] = []

    def __call__(self, outcome: Arrival | errors.OpError) -> None:
        self.outcomes.append(outcome)

    @property
    def values(self) -> list[object]:
        return [o.value for o in self.outcomes if isinstance(o, Arrival)]


class Part:
    """A receiver of several keys; it is its own step, which notes when it is drained."""

    def __init__(self, *edges: str) -> None:
        self.keys = [key(edge) for edge in edges]
        self.seen: list[object] = []

    @property
    def step(self) -> Part:
        return self

    def drain(self) -> None:
        self.seen.append("drained")

    def received(self, key: str, value: object, dead: bool) -> None:
        self.seen.append((value, dead))

    def aborted(self, error: errors.OpError) -> None:
        self.seen.append(error)


def test_recv_before_send_gets_the_value() -> None:
    rendezvous, taken = Rendezvous(), Taken()
    rendezvous.recv_async(key(), taken)
    assert taken.outcomes == []
    rendezvous.send(key(), 7)
    assert taken.outcomes == [Arrival(7)]
    assert rendezvous.pending == (0, 0)


def test_send_before_recv_gets_the_value() -> None:
    rendezvous, taken = Rendezvous(), Taken()
    rendezvous.send(key(), 7)
    assert rendezvous.pending == (1, 0)
    rendezvous.recv_async(key(), taken)
    assert taken.values == [7]
    assert rendezvous.pending == (0, 0)


def test_several_sends_under_one_key_are_delivered_in_order_each_once() -> None:
    rendezvous = Rendezvous()
    receivers = [Taken() for _ in range(4)]
    rendezvous.send(key(), 1)
    rendezvous.send(key(), 2)
    for receiver in receivers:
        rendezvous.recv_async(key(), receiver)
    rendezvous.send(key(), 3)
    rendezvous.send(key(), 4)
    assert [r.values for r in receivers] == [[1], [2], [3], [4]]


def test_keys_do_not_see_each_other() -> None:
    rendezvous, taken = Rendezvous(), Taken()
    rendezvous.recv_async(key("x"), taken)
    rendezvous.send(key("y"), 1)
    assert taken.outcomes == []
    assert rendezvous.pending == (1, 1)
    assert rendezvous.waiting_keys() == (key("x"),)


def test_a_dead_value_arrives_as_dead() -> None:
    rendezvous, taken = Rendezvous(), Taken()
    rendezvous.send(key(), None, dead=True)
    rendezvous.recv_async(key(), taken)
    assert taken.outcomes == [Arrival(None, dead=True)]


@for_each("bad", ["", "a;b;c;d;e", f"{CPU0};1;{CPU1};x;0:0", key() + ";more"])
def test_a_malformed_key_is_refused_and_nothing_is_stored(bad: str) -> None:
    rendezvous = Rendezvous()
    with pytest.raises(errors.InvalidArgumentError, match="invalid rendezvous key"):
        rendezvous.send(bad, 1)
    with pytest.raises(errors.InvalidArgumentError, match="invalid rendezvous key"):
        rendezvous.recv_async(bad, Taken())
    assert rendezvous.pending == (0, 0)


def test_abort_ends_all_waiting_with_the_error_and_drops_what_was_sent() -> None:
    rendezvous, first, second = Rendezvous(), Taken(), Taken()
    rendezvous.recv_async(key("x"), first)
    rendezvous.recv_async(key("y"), second)
    rendezvous.send(key("z"), 1)
    error = errors.UnavailableError("gone")
    rendezvous.abort(error)
    assert first.outcomes == [error]
    assert second.outcomes == [error]
    assert rendezvous.pending == (0, 0)


def test_abort_ends_everybody_who_waits_under_one_key() -> None:
    rendezvous, waiting = Rendezvous(), [Taken() for _ in range(3)]
    for taken in waiting:
        rendezvous.recv_async(key(), taken)
    error = errors.UnavailableError("gone")
    rendezvous.abort(error)
    assert [taken.outcomes for taken in waiting] == [[error]] * 3


def test_after_an_abort_sends_and_receives_fail_with_its_error() -> None:
    rendezvous, taken = Rendezvous(), Taken()
    error = errors.AbortedError("step given up")
    rendezvous.abort(error)
    with pytest.raises(errors.AbortedError, match="step given up"):
        rendezvous.send(key(), 1)
    rendezvous.recv_async(key(), taken)
    assert taken.outcomes == [error]


def test_the_first_abort_wins() -> None:
    rendezvous = Rendezvous()
    first = errors.UnavailableError("the root cause")
    rendezvous.abort(first)
    rendezvous.abort(errors.CancelledError("a consequence", derived=True))
    assert rendezvous.aborted is first


def test_a_receiver_that_sends_from_its_callback_finds_the_table_whole() -> None:
    rendezvous, taken = Rendezvous(), Taken()
    rendezvous.recv_async(key("x"), lambda outcome: rendezvous.send(key("y"), outcome))
    rendezvous.recv_async(key("y"), taken)
    rendezvous.send(key("x"), 5)
    assert taken.values == [Arrival(5)]


def test_a_receiver_can_be_taken_out() -> None:
    rendezvous, taken, other = Rendezvous(), Taken(), Taken()
    rendezvous.recv_async(key(), taken)
    rendezvous.recv_async(key(), other)
    assert rendezvous.forget(key(), taken)
    assert not rendezvous.forget(key(), taken)
    rendezvous.send(key(), 1)
    assert taken.outcomes == []
    assert other.values == [1]


def test_closing_ends_receivers_with_a_derived_cancellation() -> None:
    rendezvous, taken = Rendezvous(), Taken()
    rendezvous.recv_async(key(), taken)
    rendezvous.close()
    (outcome,) = taken.outcomes
    assert isinstance(outcome, errors.CancelledError)
    assert outcome.derived


# -- receivers of several keys ---------------------------------------------------------------------
def test_a_receiver_gets_a_value_under_each_of_its_keys_and_its_step_is_drained() -> None:
    rendezvous, part = Rendezvous(), Part("x", "y")
    rendezvous.expect(part.keys, part)
    assert rendezvous.pending == (0, 2)
    assert rendezvous.waiting_keys() == (key("x"), key("y"))
    rendezvous.send(key("y"), 1)
    assert rendezvous.waiting_keys() == (key("x"),)
    rendezvous.send(key("x"), None, dead=True)
    assert part.seen == [(1, False), "drained", (None, True), "drained"]
    assert rendezvous.pending == (0, 0)


def test_of_values_that_come_together_all_are_received_before_the_step_is_drained() -> None:
    rendezvous, part, taken = Rendezvous(), Part("x", "y"), Taken()
    rendezvous.expect(part.keys, part)
    rendezvous.recv_async(key("z"), taken)
    rendezvous.receive([key("x"), key("z"), key("y")], [1, 2, 3], [False] * 3)
    assert part.seen == [(1, False), (3, False), "drained"]
    assert taken.values == [2]


def test_a_second_value_under_a_key_of_a_receiver_is_kept_for_the_next_one() -> None:
    rendezvous, part, taken = Rendezvous(), Part("x"), Taken()
    rendezvous.expect(part.keys, part)
    rendezvous.send(key("x"), 1)
    rendezvous.send(key("x"), 2)
    rendezvous.recv_async(key("x"), taken)
    assert part.seen == [(1, False), "drained"]
    assert taken.values == [2]


def test_a_receiver_gets_what_was_sent_before_it_came() -> None:
    rendezvous, part = Rendezvous(), Part("x", "y")
    rendezvous.send(key("y"), 1)
    rendezvous.expect(part.keys, part)
    assert part.seen == [(1, False), "drained"]
    assert rendezvous.waiting_keys() == (key("x"),)


def test_a_receiver_stands_behind_those_who_came_before_it() -> None:
    rendezvous, taken, first, second = Rendezvous(), Taken(), Part("x"), Part("x", "y")
    rendezvous.recv_async(key("x"), taken)
    for part in (first, second):
        rendezvous.expect(part.keys, part)
    for value in range(3):
        rendezvous.send(key("x"), value)
    assert taken.values == [0]
    assert first.seen == [(1, False), "drained"]
    assert second.seen == [(2, False), "drained"]


@for_each("close", [False, True])
def test_the_end_of_a_step_reaches_a_receiver_once(close: bool) -> None:
    rendezvous, part, late = Rendezvous(), Part("x", "y"), Part("z")
    rendezvous.expect(part.keys, part)
    if close:
        rendezvous.close()
    else:
        rendezvous.abort(errors.UnavailableError("gone"))
    rendezvous.expect(late.keys, late)
    rendezvous.receive([key("x")], [1], [False])
    assert rendezvous.pending == (0, 0)
    for seen in (part.seen, late.seen):
        (error,) = seen
        assert isinstance(error, errors.CancelledError if close else errors.UnavailableError)


# -- waiting ---------------------------------------------------------------------------------------
async def test_recv_awaits_a_value_that_is_sent_later() -> None:
    rendezvous = Rendezvous()
    async with asyncio.TaskGroup() as group:
        receiving = group.create_task(rendezvous.recv(key()))
        await turns_until(lambda: rendezvous.pending == (0, 1))
        rendezvous.send(key(), 3)
    assert receiving.result() == Arrival(3)


async def test_recv_raises_the_error_of_an_abort() -> None:
    rendezvous = Rendezvous()
    asyncio.get_running_loop().call_soon(rendezvous.abort, errors.UnavailableError("ps is gone"))
    with pytest.raises(errors.UnavailableError, match="ps is gone"):
        await rendezvous.recv(key())


async def test_recv_past_its_deadline_names_the_key_and_leaves_nothing() -> None:
    rendezvous = Rendezvous()
    with pytest.raises(errors.DeadlineExceededError, match="edge_that_never_comes"):
        await rendezvous.recv(key("edge_that_never_comes"), Deadline.after(0.01))
    assert rendezvous.pending == (0, 0)


async def test_a_cancelled_recv_leaves_others_on_its_key_untouched() -> None:
    rendezvous = Rendezvous()
    first = asyncio.create_task(rendezvous.recv(key()))
    second = asyncio.create_task(rendezvous.recv(key()))
    await turns_until(lambda: rendezvous.pending == (0, 2))
    await cancelled(first)
    rendezvous.send(key(), 1)
    assert await second == Arrival(1)


async def test_a_value_that_meets_a_receiver_in_the_moment_of_its_cancellation_is_kept() -> None:
    """1. recv waits. 2. A value completes its future. 3. Before it resumes, it is cancelled.
    4. The next recv gets that value."""
    rendezvous = Rendezvous()
    first = asyncio.create_task(rendezvous.recv(key()))
    await turns_until(lambda: rendezvous.pending == (0, 1))
    rendezvous.send(key(), 9)
    await cancelled(first)
    assert await rendezvous.recv(key()) == Arrival(9)


async def test_a_value_that_is_given_back_comes_before_what_was_sent_after_it() -> None:
    """1. recv waits. 2. A value completes its future. 3. It is cancelled before it resumes.
    4. Another value is sent. 5. The next receivers get both values in the order of their sends."""
    rendezvous = Rendezvous()
    first = asyncio.create_task(rendezvous.recv(key()))
    await turns_until(lambda: rendezvous.pending == (0, 1))
    rendezvous.send(key(), "earlier")
    first.cancel()
    rendezvous.send(key(), "later")
    with pytest.raises(asyncio.CancelledError):
        await first
    assert [await rendezvous.recv(key()) for _ in range(2)] == [Arrival("earlier"), Arrival("later")]
