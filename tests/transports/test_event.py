"""The event of connections and links: what ``asyncio.Event`` promises, in less memory."""

from __future__ import annotations

import asyncio
import sys

import pytest

from transports.event import Event


async def test_everybody_who_waits_goes_on_when_it_is_set_even_if_it_is_cleared_at_once() -> None:
    event = Event()
    async with asyncio.TaskGroup() as group:
        for _ in range(3):
            group.create_task(event.wait())
        await asyncio.sleep(0)
        event.set()
        event.clear()
    assert not event.is_set()


async def test_an_event_that_is_set_is_not_waited_for_until_it_is_cleared() -> None:
    event = Event()
    event.set()
    await event.wait()
    assert event.is_set()
    event.clear()
    waiting = asyncio.ensure_future(event.wait())
    await asyncio.sleep(0)
    assert not waiting.done()
    event.set()
    await waiting


async def test_one_who_no_longer_waits_is_forgotten() -> None:
    event = Event()
    stays, leaves = asyncio.ensure_future(event.wait()), asyncio.ensure_future(event.wait())
    await asyncio.sleep(0)
    leaves.cancel()
    with pytest.raises(asyncio.CancelledError):
        await leaves
    event.set()
    await stays


def test_an_event_that_nobody_waits_for_is_small() -> None:
    event = Event()
    assert sys.getsizeof(event) + sum(map(sys.getsizeof, (event._is_set, event._waiters))) < 150
