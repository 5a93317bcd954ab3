"""Measurement of how many updates a parameter server makes for several workers at once; takes a minute.

    .venv/bin/python -m scripts.benchmarks.ps_load [--workers 1 2 4] [--optimizers sgd adam] [--seconds 3]

The parameter server has one core of its own; the workers and this process share the other ones. Each worker
has a session, whose step makes a gradient of 1 MB and updates a variable of that size on the parameter
server. For each number of workers the script prints the updates per second, the processor time of the
parameter server for each of them, and how much of its core that takes. The updates scale until that is the
whole core.

The variable is compared with the number of updates afterwards: none was lost or made twice.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from pathlib import Path

import numpy as np

import actorsession as acts

from .usage import processor_seconds

SIZE = 2**18  # elements of 4 bytes
_RATE = 2.0**-10  # sums of it are exact in float32
OPTIMIZERS: dict[str, Callable[[], acts.train.Optimizer]] = {
    "sgd": lambda: acts.train.GradientDescentOptimizer(_RATE),
    "adam": lambda: acts.train.AdamOptimizer(_RATE),
}


class _Worker:
    """A worker's graph: the update, and what reads the variable of the parameter server."""

    def __init__(self, optimizer: str, index: int) -> None:
        with acts.Graph().as_default() as self.graph:
            with acts.device("/job:ps/task:0"):
                weights = acts.Variable(np.zeros(SIZE, np.float32), name="weights")
            with acts.device(f"/job:worker/task:{index}"):
                ones = acts.Variable(np.ones(SIZE, np.float32), name=f"ones_{index}")
                gradient = ones.read_value() * 1.0
            with acts.device("/job:ps/task:0"):
                self.update = OPTIMIZERS[optimizer]().apply_gradients([(gradient, weights)])
            self.some = weights.read_value()[:: SIZE // 4]
            self.initialize = acts.global_variables_initializer()
            self.initialize_own = ones.initializer


async def measure(optimizer: str, workers: int, seconds: float) -> tuple[float, float, float]:
    """Return updates per second, seconds of the server's processor for each, and its share of a core."""
    async with AsyncExitStack() as stack:
        cluster = acts.LocalCluster({"ps": 1, "worker": workers}, start_timeout=120.0)
        await stack.enter_async_context(cluster)
        server = cluster.process("ps").pid
        others = [cluster.process("worker", index).pid for index in range(workers)]
        first, *rest = sorted(os.sched_getaffinity(0))
        _bind([server], {first})
        _bind([*others, os.getpid()], set(rest))
        nodes = [_Worker(optimizer, index) for index in range(workers)]
        sessions = []
        for index, own in enumerate(nodes):
            session = acts.AsyncSession(cluster.target("worker", index), graph=own.graph)
            sessions.append(await stack.enter_async_context(session))
        await sessions[0].run(nodes[0].initialize)
        for session, own in zip(sessions, nodes, strict=True):
            await session.run(own.initialize_own)
        done = [0] * workers

        async def work(index: int, until: float) -> None:
            while time.perf_counter() < until:
                await sessions[index].run(nodes[index].update)
                done[index] += 1

        async def all_work(span: float) -> None:
            until = time.perf_counter() + span
            await asyncio.gather(*(work(index, until) for index in range(workers)))

        await all_work(min(1.0, seconds))
        before, spent, began = sum(done), processor_seconds([server]), time.perf_counter()
        await all_work(seconds)
        took = time.perf_counter() - began
        spent, made = processor_seconds([server]) - spent, sum(done) - before
        found = await sessions[0].run(nodes[0].some)
        if optimizer == "sgd" and not np.array_equal(found, np.full(4, -sum(done) * _RATE)):
            raise RuntimeError(f"{sum(done)} updates have made {found} of zeros")
        return made / took, spent / made, spent / took


def _bind(pids: Sequence[int], cores: set[int]) -> None:
    """Bind all threads of processes, and those that they start, to some cores."""
    for pid in pids:
        for thread in (Path("/proc") / str(pid) / "task").iterdir():
            os.sched_setaffinity(int(thread.name), cores)


def main(counts: Sequence[int], optimizers: Sequence[str], seconds: float) -> int:
    """Measure, print a table, and return the exit code."""
    cores = os.sched_getaffinity(0)
    if len(cores) < 2:
        print("the parameter server needs a core of its own, and there is one alone", file=sys.stderr)
        return 2
    print("optimizer | workers | updates/s | us of the ps each | of its core")
    for optimizer in optimizers:
        for workers in counts:
            rate, each, share = asyncio.run(measure(optimizer, workers, seconds))
            _bind([os.getpid()], cores)
            print(f"{optimizer:9} | {workers:7} | {rate:9,.0f} | {each * 1e6:17,.0f} | {share:11.0%}", flush=True)
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2, 4], help="numbers of workers")
    parser.add_argument("--optimizers", nargs="+", choices=list(OPTIMIZERS), default=list(OPTIMIZERS))
    parser.add_argument("--seconds", type=float, default=3.0, help="of each measurement")
    options = parser.parse_args()
    sys.exit(main(options.workers, options.optimizers, options.seconds))
