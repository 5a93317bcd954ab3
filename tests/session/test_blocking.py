"""Coroutines of a ``Session`` are completed in one step, in the thread of their caller."""

from __future__ import annotations

import asyncio

import pytest

from actorsession.errors import InternalError
from actorsession.session.blocking import complete


async def double(number: int) -> int:
    if number < 0:
        raise ValueError("below 0")
    return 2 * number


def test_the_result_and_the_error_of_a_coroutine_are_its_callers() -> None:
    assert complete(double(2)) == 4
    with pytest.raises(ValueError, match="below 0"):
        complete(double(-1))


async def test_a_coroutine_is_not_begun_inside_a_running_loop() -> None:
    begun = double(-1)
    with pytest.raises(RuntimeError, match="use AsyncSession"):
        complete(begun)
    with pytest.raises(RuntimeError, match="cannot reuse already awaited coroutine"):
        await begun


def test_a_coroutine_that_suspends_is_an_error_of_ours_and_is_closed() -> None:
    ended = []

    async def suspending() -> None:
        try:
            await asyncio.sleep(0)
        finally:
            ended.append(True)

    with pytest.raises(InternalError, match="suspended without an event loop"):
        complete(suspending())
    assert ended == [True]
