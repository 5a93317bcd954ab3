"""Processes that run out of something: the step that needs it fails, and nothing else does."""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actorsession import ops
from actorsession.errors import ResourceExhaustedError
from actorsession.graph.graph import Graph
from actorsession.session import AsyncSession
from tests.cluster.kit import W0, W1, chain, on, patient_cluster, soon
from transports.shm.lane import SHARED_VARIABLE

# Bytes of what there is no memory for, and how much a process may grow.
LARGE, ROOM = 56 * 2**20, 48 * 2**20
SMALL = 2**20


class Steps:
    """Steps that bring a value of so many bytes to W1, each in another way.

    Args:
        session: at a master in W1.
        target: of the session.
    """

    def __init__(self, session: AsyncSession, target: str) -> None:
        self._session = session
        self._target = target
        with on(W0):
            self._count = ops.placeholder("int32", [])
            made = ops.fill([self._count], 1.0)
            self._text = ops.placeholder("string", [])
            text = ops.identity(self._text)
        with on(W1):
            self._pushed = ops.reduce_max(made)
            self._pushed_text = ops.identity(text)
            self._fed = ops.placeholder("float32", [None])
            self._sum = ops.reduce_max(self._fed)
        self._made = made

    def _ones(self, nbytes: int) -> Any:
        return np.ones(nbytes // 4, np.float32)

    async def pushed(self, nbytes: int) -> float:
        return float(await self._session.run(self._pushed, {self._count: nbytes // 4}))

    async def fed(self, nbytes: int) -> float:
        return float(await self._session.run(self._sum, {self._fed: self._ones(nbytes)}))

    async def passed_on(self, nbytes: int) -> float:
        """Through the master to the client."""
        found = await self._session.run(self._made, {self._count: nbytes // 4})
        return float(found.max())

    async def text(self, nbytes: int) -> float:
        """In the header of a frame, whose length is limited."""
        return len(await self._session.run(self._pushed_text, {self._text: b"x" * nbytes})) / nbytes

    async def constant(self, nbytes: int) -> float:
        """Of a graph of its own, which is sent as a whole."""
        with Graph().as_default() as graph, on(W1):
            total = ops.reduce_max(ops.constant(self._ones(nbytes)))
        async with AsyncSession(self._target, graph) as session:
            return float(await session.run(total))

    async def partial_run(self, nbytes: int) -> float:
        handle = await self._session.partial_run_setup(
            [self._pushed, self._sum], [self._count, self._fed]
        )
        assert await self._session.partial_run(handle, self._pushed, {self._count: 5}) == 1.0
        feeds = {self._fed: self._ones(nbytes)}
        return float(await self._session.partial_run(handle, self._sum, feeds))


WAYS: Mapping[str, Callable[[Steps, int], Coroutine[Any, Any, float]]] = {
    "pushed": Steps.pushed, "fed": Steps.fed, "passed on": Steps.passed_on, "text": Steps.text,
    "constant": Steps.constant, "partial run": Steps.partial_run,
}  # fmt: skip


def address_space(pid: int) -> int:
    """How many bytes of address space a process uses."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * resource.getpagesize()


@pytest.mark.process
async def test_steps_for_whose_values_a_process_has_no_memory_fail_alone(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """
    1. A step waits at W1, whose address space is limited then. 2. Steps bring values there for which it has
    no memory, in every way, while small ones go on. 3. The step that waited ends as if nothing had been.
    """
    monkeypatch.setenv(SHARED_VARIABLE, "0")  # what is read where it lies needs no memory here
    async with (
        patient_cluster({"worker": 2}) as cluster,
        AsyncSession(cluster.target("worker", 1), graph) as session,
    ):
        steps = Steps(session, cluster.target("worker", 1))
        with on(W1):
            queue = ops.FIFOQueue(1, "float32", [[]])
            held, fill = queue.dequeue() + 1.0, queue.enqueue(2.0)
        x = ops.placeholder("float32", [])
        small = chain(x, 3)
        for way in WAYS.values():  # links, plans, code and threads are there
            assert await soon(way(steps, SMALL)) == 1.0
        assert await soon(session.run(small, {x: 1.0})) == 4.0
        waiting = asyncio.create_task(session.run(held))
        links = {link.address for s in (await cluster.statistics()).values() for link in s.links}
        pid = cluster.process("worker", 1).pid
        limit = address_space(pid) + ROOM
        resource.prlimit(pid, resource.RLIMIT_AS, (limit, limit))
        for name, way in WAYS.items():
            with pytest.raises(ResourceExhaustedError, match=r"(?i)memory"):
                await soon(way(steps, LARGE))
            assert await soon(session.run(small, {x: 1.0})) == 4.0, name
        for way in WAYS.values():
            assert await soon(way(steps, SMALL)) == 1.0
        after = {link.address for s in (await cluster.statistics()).values() for link in s.links}
        assert after == links
        await soon(session.run(fill))
        assert await soon(waiting) == 3.0
