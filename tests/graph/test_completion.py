"""Completions: told once, whichever of listening, completing and abandoning comes first, in any threads."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

import pytest

from actorsession.errors import CancelledError, InvalidArgumentError
from actorsession.extend import Completed, Completion
from tests.rows import for_each

PATIENCE = 60.0


class Shelf:
    """State that completions take a value out of, which counts what comes back."""

    def __init__(self) -> None:
        self.forgotten: list[Completion] = []
        self.put_back = 0

    def take(self) -> Completion:
        return Completion(self.forgotten.append)

    def undo(self) -> None:
        self.put_back += 1


@for_each("first", ["listen", "complete"])
def test_the_listener_is_called_once_whichever_comes_first(first: str) -> None:
    told: list[Completion] = []
    completion = Completion()
    calls: list[Callable[[], object]] = [lambda: completion.listen(told.append), lambda: completion.complete(3)]
    for call in calls if first == "listen" else reversed(calls):
        assert told == []
        call()
    assert told == [completion]
    assert (completion.done, completion.values, completion.error) == (True, 3, None)


def test_what_is_done_stays_as_it_is() -> None:
    told: list[Completion] = []
    error = InvalidArgumentError("of no use")
    completion = Completion()
    completion.listen(told.append)
    completion.fail(error)
    completion.complete(3)
    assert (completion.values, completion.error, len(told)) == (None, error, 1)


def test_only_the_last_listener_is_told() -> None:
    told: list[str] = []
    completion = Completion()
    completion.listen(lambda _: told.append("first"))
    completion.listen(lambda _: told.append("second"))
    completion.complete(3)
    assert told == ["second"]


@for_each("when", ["before", "after"])
def test_what_is_abandoned_goes_back_once_and_tells_nobody(when: str) -> None:
    told: list[Completion] = []
    shelf = Shelf()
    completion = shelf.take()
    completion.listen(told.append)
    if when == "before":
        completion.abandon()
        assert shelf.forgotten == [completion]
        completion.complete(3, shelf.undo)  # it was taken out of the shelf at the same moment
    else:
        completion.complete(3, shelf.undo)
        completion.abandon()
        assert shelf.forgotten == []
    completion.abandon()
    completion.put_back()
    assert shelf.put_back == 1
    assert len(told) == (when == "after")


def test_what_cannot_be_made_of_what_was_taken_goes_back() -> None:
    shelf = Shelf()
    completion = shelf.take()
    completion.complete_by(lambda: [][0], shelf.undo)
    assert isinstance(completion.error, IndexError)
    completion.put_back()
    assert shelf.put_back == 1


def test_what_is_there_already_is_told_at_once() -> None:
    told: list[Completion] = []
    shelf = Shelf()
    completion = Completed(3, shelf.undo)
    completion.listen(told.append)
    assert told == [completion]
    assert completion.wait(pytest.fail) == 3
    completion.abandon()
    assert shelf.put_back == 1


def test_two_threads_tell_once_and_lose_nothing() -> None:
    """One completes a thousand, the other listens to each and abandons every second one."""
    shelf = Shelf()
    told: list[Completion] = []
    completions = [shelf.take() for _ in range(1000)]

    def complete() -> None:
        for number, completion in enumerate(completions):
            completion.complete(number, shelf.undo)

    thread = threading.Thread(target=complete)
    thread.start()
    for completion in completions:
        completion.listen(told.append)
    for completion in completions[::2]:
        completion.abandon()
    thread.join(PATIENCE)
    assert shelf.put_back == 500
    assert len(set(told)) == len(told)
    assert set(completions[1::2]) <= set(told)


def test_a_thread_waits_for_the_values_and_looks_from_time_to_time() -> None:
    completion = Completion()
    looks: list[None] = []

    def look() -> None:
        looks.append(None)
        if len(looks) == 2:
            threading.Thread(target=completion.complete, args=[3]).start()

    assert completion.wait(look) == 3
    assert len(looks) >= 2


@for_each("how", ["look", "error"])
def test_a_wait_that_ends_early_abandons_what_it_waits_for(how: str) -> None:
    shelf = Shelf()
    completion = shelf.take()

    def look() -> None:
        if how == "look":
            raise CancelledError("the step is over")
        completion.fail(CancelledError("the shelf is gone"))

    with pytest.raises(CancelledError, match=r"the step is over|the shelf is gone"):
        completion.wait(look)
    assert shelf.forgotten == ([completion] if how == "look" else [])
    completion.complete(3, shelf.undo)
    assert shelf.put_back == (how == "look")


@for_each("outcome", [3, InvalidArgumentError("of no use"), None])
@for_each("when", ["before", "after"])
def test_a_future_is_followed(outcome: Any, when: str) -> None:
    future: Future[Any] = Future()

    def settle() -> None:
        if outcome is None:
            future.cancel()
        elif isinstance(outcome, Exception):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)

    if when == "before":
        settle()
    completion = Completion.of(future)
    if when == "after":
        assert not completion.done
        settle()
    assert completion.done
    if outcome is None:
        assert isinstance(completion.error, CancelledError)
    else:
        assert outcome in (completion.values, completion.error)


def test_a_future_that_is_abandoned_is_cancelled() -> None:
    future: Future[Any] = Future()
    Completion.of(future).abandon()
    assert future.cancelled()
