"""Processes that run out of something: the step that needs it fails, and nothing else does."""

from __future__ import annotations

import asyncio
import errno
import os
import resource
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import ops
from actorsession.config import ConfigProto
from actorsession.errors import ResourceExhaustedError, UnavailableError
from tests.allocation_failures import Shortage
from tests.cluster.kit import W0, W1, chain, in_process, on, patient_cluster, reach_over_links, soon
from tests.cluster.test_security import with_files
from tests.rows import for_each
from tests.transports.authority import Authority
from transports.shm.lane import SHARED_VARIABLE

# Bytes of what there is no memory for, and how much a process may grow.
LARGE, ROOM = 64 * 2**20, 40 * 2**20
SMALL = 2**19


class Steps:
    """Steps that bring a value of so many bytes to W1, each in another way.

    Args:
        session: at a master in W1.
        target: of the session.
        config: of the session.
    """

    def __init__(self, session: acts.AsyncSession, target: str, config: ConfigProto | None = None) -> None:
        self._session = session
        self._target = target
        self._config = config
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
        group = acts.collective.Group(2)
        self._totals = []
        for task in (W0, W1):
            with on(task):
                half = ops.fill([self._count], 0.5)
                self._totals.append(ops.reduce_max(acts.collective.all_reduce(half, group)))

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
        """In the header of a frame, whose length is limited; it is copied more than once."""
        nbytes = min(nbytes, 40 * 2**20)
        return len(await self._session.run(self._pushed_text, {self._text: b"x" * nbytes})) / nbytes

    async def constant(self, nbytes: int) -> float:
        """Of a graph of its own, which is sent as a whole."""
        with acts.Graph().as_default() as graph, on(W1):
            total = ops.reduce_max(ops.constant(self._ones(nbytes)))
        async with acts.AsyncSession(self._target, graph, self._config) as session:
            return float(await session.run(total))

    async def reduced(self, nbytes: int) -> float:
        """By both tasks together, which need more memory for it than only that of what arrives."""
        return max(await self._session.run(self._totals, {self._count: nbytes // 4}))

    async def partial_run(self, nbytes: int) -> float:
        handle = await self._session.partial_run_setup([self._pushed, self._sum], [self._count, self._fed])
        assert await self._session.partial_run(handle, self._pushed, {self._count: 5}) == 1.0
        feeds = {self._fed: self._ones(nbytes)}
        return float(await self._session.partial_run(handle, self._sum, feeds))


WAYS: Mapping[str, Callable[[Steps, int], Coroutine[Any, Any, float]]] = {
    "pushed": Steps.pushed,
    "fed": Steps.fed,
    "passed on": Steps.passed_on,
    "text": Steps.text,
    "constant": Steps.constant,
    "partial run": Steps.partial_run,
    "reduced": Steps.reduced,
}


class Others:
    """A step that waits while others fail, and a small one."""

    def __init__(self, session: acts.AsyncSession) -> None:
        self._session = session
        with on(W1):
            queue = ops.FIFOQueue(1, "float32", [[]])
            self._held, self._fill = queue.dequeue() + 1.0, queue.enqueue(2.0)
        self._x = ops.placeholder("float32", [])
        self._small = chain(self._x, 3)

    async def begin(self) -> None:
        await self.go_on()
        self._waiting = asyncio.create_task(self._session.run(self._held))

    async def go_on(self) -> None:
        assert await soon(self._session.run(self._small, {self._x: 1.0})) == 4.0

    async def end(self) -> None:
        await soon(self._session.run(self._fill))
        assert await soon(self._waiting) == 3.0


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> acts.SecurityConfig:
    return Authority(tmp_path_factory.mktemp("authority") / "ca").files()


@for_each("tls", [False, True], ids=["plain", "tls"])
async def test_whichever_allocation_for_a_peer_fails_one_step_fails_at_most(
    tls: bool, files: acts.SecurityConfig, graph: acts.Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the client, the master and the workers; each way of a value is tried until no allocation fails."""
    reach_over_links(monkeypatch)
    monkeypatch.setattr("transports.decoder.FIRST_ROOM", 2**17)
    monkeypatch.setenv(SHARED_VARIABLE, "0")
    config = with_files(files) if tls else None
    options: dict[str, Any] = {"security": files} if tls else {}
    async with in_process(**options) as cluster, acts.AsyncSession(cluster.target(W1), graph, config) as session:
        steps, others = Steps(session, cluster.target(W1), config), Others(session)
        await others.begin()
        for name, way in WAYS.items():
            assert await soon(way(steps, SMALL)) == 1.0
            nth, failed, is_short = 0, 0, True
            while is_short:
                nth += 1
                with pytest.MonkeyPatch.context() as patched:
                    shortage = Shortage(patched, nth, least=2**15)
                    try:
                        assert await soon(way(steps, SMALL)) == 1.0
                    except ResourceExhaustedError as error:
                        failed += "no memory" in error.message
                is_short = shortage.failed > 0
                await others.go_on()
            assert failed, name
        await others.end()
        await cluster.until_idle()


@pytest.mark.process
@for_each("allowed", [0, 1])
async def test_a_cluster_for_which_there_are_too_few_processes_says_so_and_leaves_nothing(
    allowed: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    spawn, begun = asyncio.create_subprocess_exec, list[asyncio.subprocess.Process]()

    async def limited(*words: Any, **options: Any) -> asyncio.subprocess.Process:
        if len(begun) == allowed:
            raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        begun.append(await spawn(*words, **options))
        return begun[-1]

    monkeypatch.setattr(asyncio, "create_subprocess_exec", limited)
    with pytest.raises(ResourceExhaustedError, match=f"cannot start the process of .*{allowed}: Res"):
        async with acts.LocalCluster({"worker": 2}):
            raise AssertionError("it has started")
    assert not any(tmp_path.iterdir())
    assert all(process.returncode is not None for process in begun)


@pytest.mark.process
async def test_a_cluster_whose_folder_is_full_says_so_and_leaves_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """There is room for the folder of the sockets, and for no socket."""
    with tempfile.TemporaryDirectory() as full:
        words = ["mount", "-t", "tmpfs", "-o", "size=4k,nr_inodes=2", "none", full]
        if shutil.which("mount") is None or subprocess.run(words, capture_output=True).returncode:
            pytest.skip("nothing can be mounted here")
        try:
            monkeypatch.setattr(tempfile, "tempdir", full)
            cluster = acts.LocalCluster({"worker": 1})
            with pytest.raises(UnavailableError, match="did not come up") as info:
                await cluster.start()
            assert "No space left on device" in info.value.message
            assert not os.listdir(full)
            assert not any(process.alive for process in cluster.processes.values())
        finally:
            subprocess.run(["umount", full], check=True)


def address_space(pid: int) -> int:
    """How many bytes of address space a process uses."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[0]) * resource.getpagesize()


@pytest.mark.process
async def test_steps_without_memory_for_values_fail_alone(graph: acts.Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    """1. A step waits at W1, whose address space is limited then. 2. Steps bring values there for which it has no
    memory, in every way, while small ones go on. 3. The step that waited ends as if nothing had been."""
    monkeypatch.setenv(SHARED_VARIABLE, "0")  # what is read where it lies needs no memory here
    async with (
        patient_cluster({"worker": 2}) as cluster,
        acts.AsyncSession(cluster.target("worker", 1), graph) as session,
    ):
        steps, others = Steps(session, cluster.target("worker", 1)), Others(session)
        for way in WAYS.values():  # links, plans, code and threads are there
            assert await soon(way(steps, SMALL)) == 1.0
        await others.begin()
        links = {link.address for s in (await cluster.statistics()).values() for link in s.links}
        pid = cluster.process("worker", 1).pid
        limit = address_space(pid) + ROOM
        resource.prlimit(pid, resource.RLIMIT_AS, (limit, limit))
        for way in WAYS.values():
            with pytest.raises(ResourceExhaustedError, match=r"(?i)memory"):
                await soon(way(steps, LARGE))
            await others.go_on()
        for way in WAYS.values():
            assert await soon(way(steps, SMALL)) == 1.0
        after = {link.address for s in (await cluster.statistics()).values() for link in s.links}
        assert after == links
        await others.end()
