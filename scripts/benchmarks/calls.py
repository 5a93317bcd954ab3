"""Counts what a step calls, by kind of step; runs on its own in some seconds.

    .venv/bin/python scripts/benchmarks/calls.py [--steps 50] [--rooms] [SCENARIO ...]

All servers are in this process, so that one profile sees the client, the master and the workers. Printed are
the calls of our own functions, those of functions of C, and the processor time without the profile, all per
step. Unlike times, the counts are the same on a busy machine, up to what happens to meet in one turn of the
loop. With ``--rooms`` the calls of our own functions are listed by folder.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

import actorsession as acts
from actorsession.actors.loops import run
from actorsession.config import ConfigProto, RPCOptions

Step = Callable[[], Awaitable[Any]]

ROOT = f"{Path(acts.__file__).parents[1]}/"
# Elements of the values that are reduced: 4 KB.
ELEMENTS = 1024
# Rounds whose processor time is measured; the median counts.
ROUNDS = 5
WARM_UP = 20


class Case(NamedTuple):
    """A step, and the answer that it must have."""

    run: Step
    answer: Any


class Counts(NamedTuple):
    """What one step takes on the average.

    Attributes:
        own: calls of our own functions by folder; ``generated`` for those without a file.
        builtin: calls of functions of C.
        seconds: processor time of the process.
    """

    own: Mapping[str, float]
    builtin: float
    seconds: float


@asynccontextmanager
async def local(device: str = "CPU") -> AsyncIterator[Case]:
    """Two feeds and their sum, in this process."""
    with acts.Graph().as_default() as graph, acts.device(f"/device:{device}:0"):
        x, y = acts.placeholder(acts.float32, []), acts.placeholder(acts.float32, [])
        total = x + y
    async with acts.AsyncSession(graph=graph, config=ConfigProto(device_count={device: 1})) as session:
        yield Case(lambda: session.run(total, {x: 1.0, y: 2.0}), 3.0)


@asynccontextmanager
async def nothing(device: str = "CPU") -> AsyncIterator[Case]:
    """A step with nothing to do, in this process."""
    with acts.Graph().as_default() as graph, acts.device(f"/device:{device}:0"):
        target = acts.no_op()
    async with acts.AsyncSession(graph=graph, config=ConfigProto(device_count={device: 1})) as session:
        yield Case(lambda: session.run([target]), [None])


@asynccontextmanager
async def suspending() -> AsyncIterator[Case]:
    """A step that waits for an element, and the one that enqueues it."""
    with acts.Graph().as_default() as graph:
        queue = acts.FIFOQueue(1, [acts.float32], [[]])
        taken, put = queue.dequeue() + 1.0, queue.enqueue(1.0)
    async with acts.AsyncSession(graph=graph) as session:

        async def step() -> Any:
            async with asyncio.TaskGroup() as group:
                waiting = group.create_task(session.run(taken))
                await asyncio.sleep(0)
                await session.run(put)
            return waiting.result()

        yield Case(step, 2.0)


@asynccontextmanager
async def two_workers(*, over_link: bool = False) -> AsyncIterator[Case]:
    """A feed at one worker, and a value that the other computes from its double."""
    with acts.Graph().as_default() as graph:
        with acts.device("/job:worker/task:1"):
            x = acts.placeholder(acts.float32, [])
            doubled = x * 2.0
        with acts.device("/job:worker/task:0"):
            total = doubled + 1.0
    async with session_of_workers(2, graph, over_link=over_link) as session:
        yield Case(lambda: session.run(total, {x: 1.0}), 3.0)


@asynccontextmanager
async def hops(count: int) -> AsyncIterator[Case]:
    """A value that goes to and fro between two workers so many times, or stays at the first for none."""
    with acts.Graph().as_default() as graph:
        total = x = acts.placeholder(acts.float32, [])
        for number in range(count + 1):
            with acts.device(f"/job:worker/task:{number % 2}"):
                total = total + 1.0
    async with session_of_workers(2, graph, over_link=True) as session:
        yield Case(lambda: session.run(total, {x: 1.0}), 2.0 + count)


@asynccontextmanager
async def partial_run(workers: int) -> AsyncIterator[Case]:
    """A partial run of two calls, in this process or over so many workers."""
    with acts.Graph().as_default() as graph, contextlib.ExitStack() as devices:
        x, y = acts.placeholder(acts.float32, []), acts.placeholder(acts.float32, [])
        first = x + 1.0
        if workers:
            devices.enter_context(acts.device(f"/job:worker/task:{workers - 1}"))
        second = first * y
    async with session_of_workers(workers, graph) as session:

        async def step() -> Any:
            handle = await session.partial_run_setup([first, second], [x, y])
            before = await session.partial_run(handle, first, {x: 1.0})
            return before, await session.partial_run(handle, second, {y: 3.0})

        yield Case(step, (2.0, 6.0))


@asynccontextmanager
async def reads(workers: int, *, reduced: bool) -> AsyncIterator[Case]:
    """A slice of a variable of 4 KB of each worker, or of the sum of all."""
    with acts.Graph().as_default() as graph:
        group = acts.collective.Group(workers)
        fetches = []
        for index in range(workers):
            with acts.device(f"/job:worker/task:{index}"):
                tensor = acts.Variable(np.ones(ELEMENTS, np.float32)).value()
                if reduced:
                    tensor = acts.collective.all_reduce(tensor, group)
                fetches.append(tensor[::64])
        initialize = acts.global_variables_initializer()
    async with session_of_workers(workers, graph) as session:
        await session.run(initialize)
        value = float(workers) if reduced else 1.0
        yield Case(lambda: session.run(fetches), [[value] * (ELEMENTS // 64)] * workers)


@asynccontextmanager
async def session_of_workers(
    count: int, graph: acts.Graph, *, over_link: bool = False
) -> AsyncIterator[acts.AsyncSession]:
    """A session over so many workers in this process; one without a master for none.

    Their master is called directly, or over a link as one of another process is.
    """
    async with contextlib.AsyncExitStack() as stack:
        target = ""
        if count:
            folder = stack.enter_context(tempfile.TemporaryDirectory())
            addresses = [f"unix://{folder}/{index}" for index in range(count)]
            spec = acts.ClusterSpec({"worker": addresses})
            servers = [acts.Server(spec, "worker", index) for index in range(count)]
            for server in servers:
                await stack.enter_async_context(server)
            target = servers[0].target
        rpc = RPCOptions(use_rpc_for_inprocess_master=over_link)
        config = ConfigProto(rpc_options=rpc)
        yield await stack.enter_async_context(acts.AsyncSession(target, graph, config))


SCENARIOS: dict[str, Callable[[], AbstractAsyncContextManager[Case]]] = {
    "local": local,
    "suspending": suspending,
    "two-workers": two_workers,
    "link": partial(hops, 0),
    "link-two-workers": partial(two_workers, over_link=True),
    "link-20-hops": partial(hops, 20),
    "partial-local": partial(partial_run, 0),
    "partial-two-workers": partial(partial_run, 2),
    "reads-two-workers": partial(reads, 2, reduced=False),
    "reduce-4kb-2": partial(reads, 2, reduced=True),
    "reads-four-workers": partial(reads, 4, reduced=False),
    "reduce-4kb-4": partial(reads, 4, reduced=True),
    "nothing": nothing,
}
if find_spec("torch"):
    SCENARIOS |= {"local-torch": partial(local, "TORCH_CPU"), "nothing-torch": partial(nothing, "TORCH_CPU")}


async def counts(case: Case, steps: int) -> Counts:
    """Return what a step takes, after some that are not counted and whose answers are checked."""
    step = case.run
    for _ in range(WARM_UP):
        np.testing.assert_array_equal(await step(), case.answer)
    seconds = []
    for _ in range(ROUNDS):
        begin = time.process_time()
        for _ in range(steps):
            await step()
        seconds.append((time.process_time() - begin) / steps)
    calls: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _: object) -> None:
        calls[frame.f_code.co_filename if event == "call" else event] += 1

    sys.setprofile(count)
    try:
        for _ in range(steps):
            await step()
    finally:
        sys.setprofile(None)
    own: Counter[str] = Counter()
    for name, number in calls.items():
        folder = _folder(name)
        if folder:
            own[folder] += number
    return Counts(
        {folder: number / steps for folder, number in own.most_common()},
        calls["c_call"] / steps,
        statistics.median(seconds),
    )


def _folder(name: str) -> str:
    """Return the folder of a file of ours, in two levels; "" for what is not ours."""
    if name.startswith("<"):
        return "generated"
    path = name.removeprefix(ROOT)
    if not path.startswith(("actorsession/", "transports/")):
        return ""
    return "/".join(path.split("/")[:-1][:3])


async def main() -> None:
    """Print a line for each kind of step."""
    parser = argparse.ArgumentParser(description="count what a step calls, by kind of step")
    parser.add_argument("scenarios", nargs="*", metavar="SCENARIO", help=", ".join(SCENARIOS))
    parser.add_argument("--steps", type=int, default=50, help="steps that are counted")
    parser.add_argument("--rooms", action="store_true", help="list the calls by folder")
    options = parser.parse_args()
    unknown = set(options.scenarios) - set(SCENARIOS)
    if unknown or options.steps < 1:
        parser.error(
            f"no scenario {', '.join(sorted(unknown))}; there are {', '.join(SCENARIOS)}"
            if unknown
            else f"--steps takes a number of 1 or more, got {options.steps}"
        )
    print(f"{'step':<22}{'own calls':>10}{'C calls':>10}{'processor us':>14}")
    for name in options.scenarios or SCENARIOS:
        async with SCENARIOS[name]() as case:
            found = await counts(case, options.steps)
        total = sum(found.own.values())
        print(f"{name:<22}{total:>10.0f}{found.builtin:>10.0f}{found.seconds * 1e6:>14.1f}")
        for folder, number in found.own.items() if options.rooms else ():
            print(f"  {folder:<40}{number:>8.1f}")


if __name__ == "__main__":
    run(main())
