"""Measurement of how long small steps wait while a session does something large; runs on its own in a minute.

    .venv/bin/python scripts/benchmarks/lag.py [--nodes 60000]

On one event loop, or at one master, a session runs small steps one after the other, while another session
does something large: the first run of a large graph, in this process and on a cluster of two processes, or a
run with large feeds. The script prints the longest small step during that time and the longest of the half
second before. Machines differ, so nothing here is a bound; the goal is 50 ms on two idle cores.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import numpy as np

import actorsession as acts
from actorsession.actors.loops import new_event_loop

Work = Callable[[], Awaitable[Any]]


def large_graph(nodes: int) -> tuple[acts.Graph, Work, Callable[[str], acts.AsyncSession]]:
    """Return a graph with a number of nodes that all run, in a hundred parallel chains."""
    with acts.Graph().as_default() as graph:
        x = acts.placeholder(acts.float32, [], name="x")
        now = [x * float(k + 1) for k in range(100)]
        for _ in range(nodes // 100 - 2):
            now = [value + now[(k + 1) % 100] for k, value in enumerate(now)]
        end = acts.add_n(now)
    made: list[acts.AsyncSession] = []

    async def first_run() -> None:
        await made[-1].run(end, {x: 0.0})

    def session(target: str) -> acts.AsyncSession:
        made.append(acts.AsyncSession(target, graph=graph))
        return made[-1]

    return graph, first_run, session


@asynccontextmanager
async def small_steps(target: str) -> AsyncIterator[list[float]]:
    """Run steps of another session during the block, and yield their times in seconds."""
    with acts.Graph().as_default() as graph:
        y = acts.placeholder(acts.float32, [])
        z = y + 1.0
    times: list[float] = []
    async with acts.AsyncSession(target, graph=graph) as session, asyncio.TaskGroup() as group:

        async def steps() -> None:
            while True:
                begin = time.perf_counter()
                await session.run(z, {y: 1.0})
                times.append(time.perf_counter() - begin)
                await asyncio.sleep(0.001)

        running = group.create_task(steps())
        yield times
        running.cancel()


async def report(name: str, target: str, work: Work) -> None:
    """Print the longest small step before and during ``work``."""
    async with small_steps(target) as times:
        await asyncio.sleep(0.5)
        before = max(times)
        times.clear()
        begin = time.perf_counter()
        await work()
        took = time.perf_counter() - begin
        longest = max(times, default=took)
    print(f"{name:40} {took:8.2f} s {before * 1e3:10.1f} ms {longest * 1e3:10.1f} ms")


async def large_feeds() -> None:
    """Measure a run with four feeds of 16 MB each in a session of this process."""
    with acts.Graph().as_default() as graph:
        fed = [acts.placeholder(acts.float32, [None]) for _ in range(4)]
        end = acts.add_n([acts.reduce_sum(acts.tanh(x)) for x in fed])
    arrays = {x: np.ones(4 * 2**20, np.float32) for x in fed}
    async with acts.AsyncSession(graph=graph) as session:
        await session.warm_up(end, fed)
        await report("4 feeds of 16 MB", "", lambda: session.run(end, arrays))


async def main(nodes: int) -> None:
    """Measure all cases and print the results."""
    print(f"{'':40} {'took':>10} {'before':>13} {'meanwhile':>13}")
    await large_feeds()
    _, first_run, session = large_graph(nodes)
    async with session(""):
        await report(f"{nodes:,} nodes in this process", "", first_run)
    async with acts.LocalCluster({"ps": 1, "worker": 1}) as cluster:
        target = cluster.target("ps")
        made = session(target)  # opened by its first run, so that the master receives the graph during the measurement
        await report(f"{nodes:,} nodes on a cluster", target, first_run)
        await made.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="How long small steps wait beside something large.")
    parser.add_argument("--nodes", type=int, default=60_000, help="of the large graph")
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(main(parser.parse_args().nodes))
