"""Requests that come twice."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from actorsession.actors import Deadline
from actorsession.cluster.master.recent_requests import Creations, RecentRequests
from actorsession.errors import AbortedError, DeadlineExceededError, InvalidArgumentError
from tests.cluster.kit import soon


def future() -> asyncio.Future[Any]:
    return asyncio.get_running_loop().create_future()


# -- steps -----------------------------------------------------------------------------------------


def test_a_request_that_comes_again_is_refused() -> None:
    requests = RecentRequests()
    assert requests.repeat("a-1") is None
    assert requests.repeat("a-2") is None
    with pytest.raises(AbortedError, match="'a-1' was run already and is not run twice"):
        requests.repeat("a-1")


def test_requests_without_an_id_are_never_repeats() -> None:
    requests = RecentRequests()
    for _ in range(3):
        assert requests.repeat("") is None
    assert requests.repeat("a") is None
    with pytest.raises(AbortedError):
        requests.repeat("a")


def test_only_the_latest_are_remembered() -> None:
    requests = RecentRequests(kept=3)
    for number in range(4):
        requests.repeat(str(number))
    assert requests.repeat("0") is None  # forgotten
    for number in (2, 3, 0):
        with pytest.raises(AbortedError):
            requests.repeat(str(number))


def test_an_answer_that_is_kept_is_given_again_and_another_is_not() -> None:
    requests = RecentRequests()
    for name, keep in [("small", True), ("large", False)]:
        requests.repeat(name)
        requests.answered(name, "an answer", keep=keep)
    assert requests.repeat("small") == requests.repeat("small") == "an answer"
    with pytest.raises(AbortedError):
        requests.repeat("large")


@pytest.mark.parametrize("keep", [True, False])
async def test_a_repeat_joins_what_is_under_way(keep: bool) -> None:
    requests, first = RecentRequests(), future()
    requests.repeat("a")
    requests.answered("a", first, keep=keep)
    joined = [requests.repeat("a") for _ in range(2)]
    joined[0].cancel()  # harms nobody else
    await asyncio.sleep(0)
    first.set_result("an answer")
    assert await soon(joined[1]) == "an answer"
    if keep:
        assert requests.repeat("a") == "an answer"
    else:
        with pytest.raises(AbortedError):
            requests.repeat("a")


async def test_a_repeat_ends_as_the_first_does() -> None:
    requests = RecentRequests()
    failing, given_up = future(), future()
    for name, first in [("failing", failing), ("given up", given_up)]:
        requests.repeat(name)
        requests.answered(name, first, keep=True)
    told, cancelled = requests.repeat("failing"), requests.repeat("given up")
    failing.set_exception(InvalidArgumentError("no"))
    given_up.cancel()
    with pytest.raises(InvalidArgumentError, match="no"):
        await soon(told)
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    for name in ("failing", "given up"):  # a failure is not kept
        with pytest.raises(AbortedError):
            requests.repeat(name)


async def test_what_was_forgotten_under_way_stays_forgotten() -> None:
    requests, first = RecentRequests(kept=1), future()
    requests.repeat("a")
    requests.answered("a", first, keep=True)
    requests.repeat("b")
    first.set_result("late")
    await asyncio.sleep(0)
    assert requests.repeat("a") is None


# -- creations -------------------------------------------------------------------------------------


class Maker:
    """Makes numbers, each once a test lets it."""

    def __init__(self) -> None:
        self.made = 0
        self.existing: set[int] = set()
        self.held: asyncio.Event | None = None
        self.creations = Creations(lambda number: number in self.existing)

    async def create(self) -> int:
        self.made += 1
        number = self.made
        if self.held is not None:
            await self.held.wait()
        self.existing.add(number)
        return number

    async def once(self, request_id: str, seconds: float = 20.0) -> Any:
        return await self.creations.once(request_id, self.create, Deadline.after(seconds))


async def test_a_creation_is_made_once_per_request() -> None:
    maker = Maker()
    assert [await maker.once(name) for name in ("a", "b", "a", "b")] == [1, 2, 1, 2]
    assert [await maker.once("") for _ in range(2)] == [3, 4]


async def test_a_repeat_waits_for_the_first_but_not_for_ever() -> None:
    maker = Maker()
    maker.held = asyncio.Event()
    first, second = asyncio.create_task(maker.once("a")), asyncio.create_task(maker.once("a"))
    await asyncio.sleep(0)
    with pytest.raises(DeadlineExceededError, match="the first try of 'a'"):
        await maker.once("a", 0.02)
    maker.held.set()
    assert await soon(asyncio.gather(first, second)) == [1, 1]


async def test_a_repeat_of_a_creation_that_was_given_up_makes_it_anew() -> None:
    maker = Maker()
    maker.held = asyncio.Event()
    first = asyncio.create_task(maker.once("a"))
    await asyncio.sleep(0)
    second = asyncio.create_task(maker.once("a"))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    maker.held.set()
    assert await soon(second) == 2


async def test_a_repeat_after_the_end_of_what_was_made_makes_it_anew() -> None:
    maker = Maker()
    assert await maker.once("a") == 1
    maker.existing.clear()
    assert await maker.once("a") == 2
    assert await maker.once("a") == 2


async def test_only_the_latest_creations_are_remembered() -> None:
    maker = Maker()
    maker.creations = Creations(lambda number: True, kept=2)
    assert [await maker.once(name) for name in ("a", "b", "c")] == [1, 2, 3]
    assert await maker.once("c") == 3
    assert await maker.once("a") == 4
