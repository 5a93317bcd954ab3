"""The rendezvous of steps at one worker: what stays, what is pushed, what comes too early or too late."""

from __future__ import annotations

import gc
import weakref
from typing import Any

import numpy as np
import pytest

from actorsession.cluster.worker import worker_rendezvous
from actorsession.cluster.worker.worker_rendezvous import RendezvousTable
from actorsession.errors import CancelledError, InvalidArgumentError, OpError, UnavailableError
from actorsession.plan.rendezvous_key import build_key
from actorsession.rpc.pushes import Pushed
from actorsession.runtime.rendezvous import Arrival
from actorsession.testing import StillClock
from tests.cluster.kit import PS0, W0, W1
from transports.host import Host, on_host


def key(edge: str, to: str = W1, source: str = W0) -> str:
    return build_key(f"{source}/device:CPU:0", 7, f"{to}/device:CPU:0", edge)


class Sent:
    """A table whose pushes are kept."""

    def __init__(self) -> None:
        self.pushes: list[tuple[str, Pushed]] = []
        self.table = RendezvousTable(W0, self)

    def push(self, task: str, message: Pushed) -> None:
        self.pushes.append((task, message))

    def unsent_bytes(self, task: str) -> int:
        return 0


def push(step_id: int, **tensors: Any) -> tuple[int, list[str], list[Any], list[bool]]:
    """What another worker pushes: a value per edge."""
    keys = [key(edge, to=W0, source=W1) for edge in tensors]
    return step_id, keys, list(tensors.values()), [False] * len(tensors)


def received(rendezvous: Any, edge: str) -> list[Any]:
    """What has come under an edge from W1 so far, in a list that grows."""
    values: list[Any] = []
    rendezvous.recv_async(key(edge, to=W0, source=W1), values.append)
    return values


def test_a_value_for_this_task_stays_here() -> None:
    sent = Sent()
    rendezvous = sent.table.begin(1)
    rendezvous.send(key("x", to=W0), 5)
    rendezvous.flush()
    assert sent.pushes == []
    values: list[Any] = []
    rendezvous.recv_async(key("x", to=W0), values.append)
    assert values == [Arrival(5)]


def test_values_for_another_task_go_in_one_message_when_the_step_comes_to_rest() -> None:
    sent = Sent()
    rendezvous = sent.table.begin(1)
    rendezvous.send(key("x"), 5)
    rendezvous.send(key("y", to=PS0), 6)
    rendezvous.send(key("z"), None, True)
    assert sent.pushes == []
    rendezvous.flush()
    assert sent.pushes == [
        (W1, Pushed(step_id=1, keys=[key("x"), key("z")], values=[5, None], dead=[False, True])),
        (PS0, Pushed(step_id=1, keys=[key("y", to=PS0)], values=[6], dead=[False])),
    ]
    rendezvous.flush()
    assert len(sent.pushes) == 2


def test_a_push_before_the_step_has_begun_waits_for_it() -> None:
    table = Sent().table
    table.push(*push(1, x=5))
    assert len(table) == 1
    assert received(table.begin(1), "x") == [Arrival(5)]


def test_a_push_after_the_step_has_begun_wakes_who_waits() -> None:
    table = Sent().table
    values = received(table.begin(1), "x")
    assert values == []
    table.push(*push(1, x=5, y=6))
    assert values == [Arrival(5)]


def test_a_push_after_the_end_is_dropped() -> None:
    table = Sent().table
    table.begin(1)
    table.end(1)
    table.push(*push(1, x=5))
    assert len(table) == 0


def test_the_end_of_a_step_fails_who_still_waits() -> None:
    table = Sent().table
    values = received(table.begin(1), "x")
    table.end(1, UnavailableError("lost", task=W1))
    (error,) = values
    assert isinstance(error, UnavailableError)
    assert error.task == W1


def test_a_step_that_was_given_up_before_it_began_does_not_begin() -> None:
    table = Sent().table
    table.push(*push(1, x=5))
    table.end(1, InvalidArgumentError("wrong", node="n"))
    with pytest.raises(InvalidArgumentError, match="wrong") as info:
        table.begin(1)
    assert info.value.node == "n"
    table.end(2)
    with pytest.raises(CancelledError, match="step 2 is over"):
        table.begin(2)
    assert len(table) == 0


def test_sending_in_a_step_that_was_given_up_fails_with_the_step_s_error() -> None:
    table = Sent().table
    rendezvous = table.begin(1)
    table.end(1, UnavailableError("lost"))
    for task in (W0, W1):
        with pytest.raises(UnavailableError, match="lost"):
            rendezvous.send(key("x", to=task), 5)


def fail_with_an_array() -> tuple[OpError, weakref.ref[Any]]:
    array = np.zeros(10)
    try:
        raise InvalidArgumentError("from a frame with an array")
    except InvalidArgumentError as error:
        return error, weakref.ref(array)


def test_what_is_remembered_of_a_failed_step_keeps_no_array_alive() -> None:
    table = Sent().table
    error, array = fail_with_an_array()
    table.end(1, error)
    assert array() is not None  # the traceback holds it
    del error
    gc.collect()
    assert array() is None
    with pytest.raises(InvalidArgumentError, match="from a frame with an array"):
        table.begin(1)


def test_only_so_many_steps_are_remembered() -> None:
    table, last = Sent().table, worker_rendezvous.MAX_REMEMBERED + 1
    for step_id in range(last + 1):
        table.begin(step_id)
        table.end(step_id)
    table.push(*push(last, x=5))
    assert len(table) == 0
    table.push(*push(0, x=5))  # so old that nobody knows it
    assert len(table) == 1


def test_what_is_pushed_for_a_step_that_never_begins_goes_after_a_while() -> None:
    clock = StillClock()
    with on_host(Host(clock=clock)):
        table = Sent().table
    table.push(*push(1, x=5))
    begun = table.begin(2)
    clock.advance(worker_rendezvous._UNBEGUN + 1)
    assert len(table) == 1
    assert begun.aborted is None
    with pytest.raises(CancelledError):
        table.begin(1)


def test_a_push_with_a_malformed_key_is_refused() -> None:
    table = Sent().table
    with pytest.raises(InvalidArgumentError, match="invalid rendezvous key 'nonsense'"):
        table.push(1, ["nonsense"], [5], [False])


def test_a_push_whose_lists_do_not_match_is_refused() -> None:
    table = Sent().table
    with pytest.raises(InvalidArgumentError, match=r"as many keys as values, got \[1, 2, 1\]"):
        table.push(1, [key("x", to=W0)], [5, 6], [False])
    assert len(table) == 0
