"""Measurement of how the costs of a cluster grow with its workers; runs on its own, in some minutes.

    .venv/bin/python scripts/benchmarks/scale.py [--in-process 2 10 50] [--processes 2 4 8 16] [--repeats 20]

All workers are on this machine: servers in this process, which speak over TCP sockets, or processes of a
``LocalCluster``. For each number of workers it prints

- start: seconds from nothing until a session has run a node on each worker;
- step: the median time of a step that runs a node on each worker and adds their results up on the first one;
- broadcast: the median time of a step that sends a variable of 10 MB from the first worker to all others;
- lost: the time from the loss of a worker (SIGKILL, or the end of its server) to the error of a step that
  waits for it.

Each figure is followed by its share per worker. Answers are compared with numpy before anything is timed.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import signal
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol, TypeAlias

import numpy as np

import actorsession as acts

MEGABYTES = 10
_SIZE = MEGABYTES * 250_000
_HEADINGS = ("workers", "start s", "step ms", "broadcast ms", "lost ms")


class Workers(Protocol):
    """Workers that were started for a measurement."""

    @property
    def target(self) -> str:
        """The address of the first worker."""

    async def lose_last(self) -> None:
        """End the last worker, without notice if it is a process."""


class _Servers:
    """Servers in this process."""

    def __init__(self, count: int) -> None:
        bind = ["tcp://127.0.0.1:0"] * count
        self._servers = [acts.Server({"worker": bind}, "worker", index) for index in range(count)]

    @property
    def target(self) -> str:
        return self._servers[0].target

    async def lose_last(self) -> None:
        await self._servers[-1].stop()

    async def __aenter__(self) -> _Servers:
        for server in self._servers:
            await server.start()
        addresses = [server.target for server in self._servers]
        for server in self._servers:
            server.learn_peers({"worker": addresses})
        return self

    async def __aexit__(self, *_: object) -> None:
        for server in self._servers:
            await server.stop()


class _Processes:
    """Processes of a ``LocalCluster``."""

    def __init__(self, count: int) -> None:
        self._last = count - 1
        self._cluster = acts.LocalCluster({"worker": count}, start_timeout=120.0)

    @property
    def target(self) -> str:
        return self._cluster.target("worker", 0)

    async def lose_last(self) -> None:
        self._cluster.process("worker", self._last).send_signal(signal.SIGKILL)

    async def __aenter__(self) -> _Processes:
        await self._cluster.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._cluster.stop()


class _Graph:
    """The nodes that are measured, for some workers."""

    def __init__(self, count: int) -> None:
        self.sums = np.arange(1.0, count + 1.0).sum()
        with acts.Graph().as_default() as self.graph:
            self.x = acts.placeholder(acts.float32, [])
            with acts.device("/job:worker/task:0"):
                value = acts.Variable(np.full(_SIZE, 2.0, np.float32))
            terms, picks = [], []
            for index in range(count):
                with acts.device(f"/job:worker/task:{index}"):
                    terms.append(self.x * (index + 1.0))
                    picks.append(value.read_value()[:: _SIZE // 10])
            with acts.device("/job:worker/task:0"):
                self.total = acts.add_n(terms)
            self.picks = picks
            with acts.device(f"/job:worker/task:{count - 1}"):
                self.never = acts.FIFOQueue(1, [acts.float32], [[]]).dequeue(name="awaited")
            self.initialize = acts.global_variables_initializer()


Starts: TypeAlias = Callable[[int], AbstractAsyncContextManager[Workers]]
"""Starts so many workers, for as long as a block lasts."""


async def measure(workers: Starts, count: int, repeats: int) -> list[float]:
    """Return the figures of so many workers, in the order of the headings after the first."""
    nodes = _Graph(count)
    begin = time.perf_counter()
    async with workers(count) as started:
        async with acts.AsyncSession(started.target, graph=nodes.graph) as session:
            feeds = {nodes.x: 3.0}
            found = await session.run(nodes.total, feeds)
            start = time.perf_counter() - begin
            _check(found, 3.0 * nodes.sums)
            step = await _median(lambda: session.run(nodes.total, feeds), repeats)
            await session.run(nodes.initialize)
            for pick in await session.run(nodes.picks):
                _check(pick, np.full(10, 2.0))
            broadcast = await _median(lambda: session.run(nodes.picks), max(3, repeats // 4))
            lost = await _lost(session, started, nodes.never)
    return [start, step * 1e3, broadcast * 1e3, lost * 1e3]


async def _median(step: Callable[[], Awaitable[object]], repeats: int) -> float:
    times = []
    for number in range(repeats + 3):
        begin = time.perf_counter()
        await step()
        if number >= 3:  # the first ones register the graph
            times.append(time.perf_counter() - begin)
    return statistics.median(times)


async def _lost(session: acts.AsyncSession, workers: Workers, never: acts.Tensor) -> float:
    """Return the seconds from the loss of the last worker to the error of a step that waits for it."""
    async with asyncio.TaskGroup() as group:
        waiting = group.create_task(_failure(session, never))
        while "awaited" not in str(await session.why()):
            pass
        begin = time.perf_counter()
        group.create_task(workers.lose_last())
        return await waiting - begin


async def _failure(session: acts.AsyncSession, fetch: acts.Tensor) -> float:
    """Return when a step has failed."""
    try:
        await session.run(fetch)
    except acts.errors.OpError:
        return time.perf_counter()
    raise RuntimeError("the step has survived the loss of its worker")


def _check(found: object, wanted: object) -> None:
    if not np.allclose(np.asarray(found), np.asarray(wanted)):
        raise RuntimeError(f"the workers answer {found!r:.200} in place of {wanted!r:.200}")


def _row(count: int, figures: Sequence[float]) -> list[str]:
    *grows, lost = [f"{figure:,.2f} ({figure / count:.3f})" for figure in figures]
    return [str(count), *grows, lost.partition(" ")[0]]


async def main(in_process: Sequence[int], processes: Sequence[int], repeats: int) -> None:
    """Measure all numbers of workers and print a table for each kind."""
    kinds: dict[str, tuple[Starts, Sequence[int]]] = {
        "servers in one process, over TCP": (_Servers, in_process),
        "processes": (_Processes, processes),
    }
    for title, (workers, counts) in kinds.items():
        if counts:
            await measure(workers, 1, 1)  # modules are loaded when they are first used
            print(f"{title}; in brackets, per worker")
            print(" | ".join(f"{heading:>18}" for heading in _HEADINGS))
        for count in counts:
            figures = await measure(workers, count, repeats)
            print(" | ".join(f"{cell:>18}" for cell in _row(count, figures)), flush=True)
            gc.collect()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, counts in (("--in-process", [2, 10, 50]), ("--processes", [2, 4, 8, 16])):
        parser.add_argument(name, type=int, nargs="*", default=counts, help="numbers of workers")
    parser.add_argument("--repeats", type=int, default=20, help="steps of a median")
    options = parser.parse_args()
    asyncio.run(main(options.in_process, options.processes, options.repeats))
