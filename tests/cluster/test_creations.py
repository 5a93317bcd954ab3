"""Objects that requests create: one for a request, however often it comes."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from actorsession.actors import Deadline
from actorsession.cluster.master.creations import Creations
from actorsession.errors import DeadlineExceededError
from tests.cluster.kit import soon


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
