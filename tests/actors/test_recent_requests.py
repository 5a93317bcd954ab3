"""Requests that come twice."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from actorsession.actors.recent_requests import RecentRequests
from actorsession.errors import AbortedError, InvalidArgumentError
from tests.actors.kit import soon


def future() -> asyncio.Future[Any]:
    return asyncio.get_running_loop().create_future()


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
