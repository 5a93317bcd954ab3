"""Waits for a child that others may wait for, too, and that its owner may end."""

from __future__ import annotations

import asyncio

import pytest

from actorsession.actors.futures import outcome
from actorsession.errors import AbortedError, OpError, UnavailableError
from tests.actors.kit import soon, turns
from tests.loops import cancelled

ENDED = UnavailableError("its owner has ended")


def waiting_for(child: asyncio.Future[str]) -> asyncio.Task[str]:
    return asyncio.create_task(outcome(child, ENDED))


def child_of_nobody() -> asyncio.Future[str]:
    return asyncio.get_running_loop().create_future()


@pytest.mark.parametrize("late", [False, True], ids=["before", "while"])
@pytest.mark.parametrize(
    ("end", "expected"),
    [
        (lambda child: child.set_result("done"), "done"),
        (lambda child: child.set_exception(AbortedError("refused")), AbortedError),
        (lambda child: child.cancel(), UnavailableError),
    ],
    ids=["result", "error", "cancelled"],
)
async def test_each_waiter_has_the_result_or_an_error(end: object, expected: object, late: bool) -> None:
    """A child that its owner has cancelled cancels nobody who waits for it."""
    assert callable(end)
    child = child_of_nobody()
    if not late:
        end(child)
    waiters = [waiting_for(child) for _ in range(2)]
    await turns()
    if late:
        end(child)
    for waiter in waiters:
        try:
            assert await soon(waiter) == expected
        except OpError as error:
            assert type(error) is expected  # noqa: PT017


@pytest.mark.parametrize("child_first", [False, True])
async def test_a_cancelled_waiter_is_cancelled_whatever_becomes_of_the_child(child_first: bool) -> None:
    """Both in one turn of the loop."""
    child = child_of_nobody()
    waiter = waiting_for(child)
    await turns()
    if child_first:
        child.cancel()
    await cancelled(waiter)


async def test_a_child_outlives_its_waiters_and_nobody_hears_of_its_error() -> None:
    child = child_of_nobody()
    waiter, other = waiting_for(child), waiting_for(child)
    await turns()
    await cancelled(waiter)
    assert not child.done()
    await cancelled(other)
    child.set_exception(AbortedError("of no interest"))
    await turns()
