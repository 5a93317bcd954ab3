"""What tests of partial runs run, in two stages or for long."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np

from actorsession import AsyncSession, ops

__all__ = ["LARGE", "Dear", "Stages", "collect", "offloaded", "run_of", "set_clock"]


class Stages:
    """Two stages: ``first`` waits for ``a`` and ``b``, ``second`` for ``c`` too."""

    def __init__(self) -> None:
        self.a = ops.placeholder("float32", [], name="a")
        self.b = ops.placeholder("float32", [], name="b")
        self.c = ops.placeholder("float32", [], name="c")
        self.first = ops.add(self.a, self.b, name="first")
        self.second = ops.multiply(self.first, self.c, name="second")
        self.feeds = [self.a, self.b, self.c]
        self.fetches = [self.first, self.second]

    async def setup(self, face: Any) -> str:
        return await face.partial_run_setup(self.fetches, self.feeds)


def managers(session: Any) -> list[Any]:
    """What holds the partial runs of a session of this process: those on a loop, and those in threads."""
    runs = session._session.partial_runs
    return [runs.actor.runs, runs.thread_runs]


def run_of(session: Any, handle: str) -> Any:
    """An open partial run of a session of this process."""
    return next(runs._runs[handle] for runs in managers(session) if handle in runs)


def set_clock(session: Any, clock: Any) -> None:
    """Has idle times of a session measured by another clock."""
    for runs in managers(session):
        runs.clock = clock


def collect(session: Any) -> None:
    """Has the idle runs of a session collected: at once, or soon on a loop of another thread."""
    on_loop, in_threads = managers(session)
    in_threads.collect()
    loop = session._session.partial_runs.actor.loop
    if loop is None or loop is asyncio._get_running_loop():
        on_loop.collect()
    else:
        loop.call_soon_threadsafe(on_loop.collect)


LARGE = np.full([700, 700], 1 / 700, np.float32)  # its own square


class Dear:
    """A chain of products that takes seconds, and a short way."""

    def __init__(self) -> None:
        self.x = ops.placeholder("float32", [700, 700], name="x")
        self.s = ops.placeholder("float32", [], name="s")
        y = self.x
        for _ in range(400):
            y = ops.matmul(y, self.x)
        self.product, self.short = y, self.s + 1.0
        self.medium = ops.matmul(self.x, self.x)


async def offloaded(session: AsyncSession) -> None:
    """Waits until the pool has taken a segment."""
    while session.statistics().offloaded == 0:  # noqa: ASYNC110 - a counter has no event
        await asyncio.sleep(0.001)
