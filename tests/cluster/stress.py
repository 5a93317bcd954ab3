"""Stress tests: what clusters broke under once, again and again for as long as one likes, with real processes.

Each is a function of seconds and a seed that returns what it did and what was wrong. ``scripts/soak`` runs
all of them after the soak itself, the tests each for a moment.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import random
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from actorsession import AsyncSession, Graph, LocalCluster, int32, ops
from actorsession.cluster import read_statistics
from actorsession.config import RunOptions
from actorsession.errors import AbortedError, DeadlineExceededError, OpError, UnavailableError
from tests.bit_errors import FORMATS, flipped
from tests.cluster.gil_worker import hold
from tests.cluster.test_kernels import holding_worker
from tests.crash_points import SCENARIOS, run_scenario
from tests.fuzz.readers import READERS, spoil_arguments, spoil_files
from tests.transports.test_users import DIAL, nobody, said

__all__ = ["STRESS_TESTS", "StressReport"]

# Seconds by when nothing may be left of a step.
_SETTLE = 30.0
# Files of one reader before the next has its turn.
_SPOILT_AT_ONCE = 20


@dataclass
class StressReport:
    """What a stress test did.

    Attributes:
        done: how often, by what was done.
        wrong: what must never be, in words.
    """

    done: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def count(self, what: str, by: int = 1) -> None:
        """Counts something that was done."""
        self.done[what] = self.done.get(what, 0) + by


async def _until_idle(cluster: LocalCluster) -> list[str]:
    """What is left of steps, in words, when it should be nothing."""
    limit = time.monotonic() + _SETTLE
    for process in cluster.processes.values():
        while not (seen := await read_statistics(process.address)).idle:
            if time.monotonic() > limit:
                return [f"{process.task} has something left: {seen}"]
            await asyncio.sleep(0.01)
    return []


# -- elements of queues ----------------------------------------------------------------------------
async def cancelled_dequeues(seconds: float, seed: int) -> StressReport:
    """Consumers end by limits, timeouts and cancelling, at any moment; each element comes out once."""
    seen, choice = StressReport(), random.Random(seed)
    with Graph().as_default() as graph:
        with graph.device("/job:ps/task:0"):
            queue = ops.FIFOQueue(100_000, int32, shapes=[], shared_name="stress")
            x = ops.placeholder(int32, [])
            put, near, size = queue.enqueue(x), queue.dequeue(), queue.size()
            many = queue.dequeue_many(2)
        with graph.device("/job:worker/task:1"):
            far = near + 0
    numbers = itertools.count()
    out: list[int] = []

    async def consume(session: AsyncSession, until: float) -> None:
        while time.monotonic() < until:
            take = choice.choice([near, far, many])
            how, soon = choice.choice(["limit", "timeout", "cancel"]), choice.uniform(0.001, 0.02)
            options = RunOptions(timeout_in_ms=max(1, int(soon * 1000))) if how == "limit" else None
            step = asyncio.ensure_future(session.run(take, options=options))
            if how != "limit":
                await asyncio.wait([step], timeout=soon)
                step.cancel()
            await asyncio.wait([step])
            if step.cancelled() or isinstance(step.exception(), DeadlineExceededError):
                seen.count(f"ended early by {how}")
                continue
            out.extend(int(v) for v in np.atleast_1d(step.result()))
            seen.count("served")

    async def produce(session: AsyncSession, until: float) -> None:
        while time.monotonic() < until:
            await session.run(put, {x: next(numbers)})
            await asyncio.sleep(choice.uniform(0, 0.004))

    async with LocalCluster({"ps": 1, "worker": 2}) as cluster:
        sessions = [AsyncSession(cluster.target("worker", i), graph=graph) for i in (0, 0, 1)]
        async with contextlib.AsyncExitStack() as stack:
            for session in sessions:
                await stack.enter_async_context(session)
            await asyncio.gather(*[session.run(size) for session in sessions])
            until = time.monotonic() + seconds
            async with asyncio.TaskGroup() as group:
                _ = group.create_task(produce(sessions[0], until))
                for session in [*sessions] * 3:
                    _ = group.create_task(consume(session, until))
            seen.wrong += await _until_idle(cluster)
            while await sessions[0].run(size):
                out.append(int(await sessions[0].run(near)))
    count = next(numbers)
    lost, twice = sorted(set(range(count)) - set(out)), len(out) - len(set(out))
    if lost or twice:
        seen.wrong.append(f"of {count} elements {len(lost)} were lost and {twice} came twice")
    return seen


# -- processes that stop ---------------------------------------------------------------------------
async def orderly_stops(seconds: float, seed: int) -> StressReport:
    """A task with snapshots is stopped in order in the middle of steps; what was acknowledged stays."""
    seen, choice = StressReport(), random.Random(seed)
    with Graph().as_default() as graph, graph.device("/job:ps/task:0"):
        counter = ops.Variable(np.float64(0), name="counter")
        add = counter.assign_add(np.float64(1))
    least = most = 0
    with tempfile.TemporaryDirectory() as folder:
        every = choice.choice([0.05, 60.0])
        jobs = {"ps": 1, "worker": 1}
        async with LocalCluster(jobs, snapshot_dir=folder, snapshot_every=every) as cluster:
            async with AsyncSession(cluster.target("worker"), graph=graph) as session:
                await session.run(counter.initializer)
                until = time.monotonic() + seconds
                while time.monotonic() < until or not seen.done:
                    stopping = asyncio.ensure_future(_stop(cluster, choice.uniform(0, 0.2)))
                    while not stopping.done():
                        most += 1
                        try:
                            least = most = int(await session.run(add))
                            seen.count("steps acknowledged")
                        except (UnavailableError, AbortedError):
                            break
                    await stopping
                    await cluster.restart("ps")
                    seen.count("orderly stops")
                    await session.reattach()
                    try:
                        found = int(await session.run(counter.read_value()))
                    except OpError as error:
                        seen.wrong.append(f"the counter did not come back: {error}")
                        break
                    if not least <= found <= most:
                        seen.wrong.append(f"the counter is {found}, not from {least} to {most}")
                    least = most = found
    return seen


async def _stop(cluster: LocalCluster, after: float) -> None:
    await asyncio.sleep(after)
    process = cluster.process("ps")
    process.send_signal(signal.SIGTERM)
    await process.wait_ended()


# -- files -----------------------------------------------------------------------------------------
async def crash_points(seconds: float, seed: int) -> StressReport:
    """Whatever writes files is killed at each of its calls; nothing is lost, and nothing left behind."""
    seen, names = StressReport(), list(SCENARIOS)
    random.Random(seed).shuffle(names)
    until = time.monotonic() + seconds
    for name in itertools.cycle(names):
        report = await asyncio.to_thread(run_scenario, name)
        seen.count("crash points", report.points)
        seen.wrong += [f"{name}: {fault}" for fault in report.faults]
        if time.monotonic() >= until:
            return seen
    raise AssertionError("there are no scenarios")


async def flipped_bits(seconds: float, seed: int) -> StressReport:
    """Whatever is written is read again with a bit changed; it is an error, and never a value."""
    seen, choice = StressReport(), random.Random(seed)
    until = time.monotonic() + seconds
    for name in itertools.cycle(FORMATS):
        report = await asyncio.to_thread(flipped, name, first=choice.randrange(1 << 20))
        seen.count("flipped bits", report.flips)
        seen.wrong += [f"{name}: {fault}" for fault in report.faults]
        if time.monotonic() >= until:
            return seen
    raise AssertionError("there are no formats")


# -- other users -----------------------------------------------------------------------------------
async def another_user(seconds: float, seed: int) -> StressReport:
    """A process of another user dials a server on loopback and its socket files; it never gets in."""
    seen, choice = StressReport(), random.Random(seed)
    if os.geteuid():
        seen.count("skipped: takes root")
        return seen
    with Graph().as_default() as graph:
        y = ops.constant(1.0) + 1.0
    jobs = {"worker": 1}
    async with LocalCluster(jobs, protocol="tcp") as open_port, LocalCluster(jobs) as hidden:
        targets = [open_port.target("worker"), hidden.target("worker")]
        until = time.monotonic() + seconds
        while time.monotonic() < until or not seen.done:
            target = choice.choice(targets)
            with nobody(DIAL, target) as process:
                told = await said(process)
            seen.count("refused" if told != "in" else "let in")
            if told == "in":
                seen.wrong.append(f"another user got in at {target}")
            async with AsyncSession(target, graph=graph) as session:
                if await session.run(y) != 2.0:
                    seen.wrong.append("the own user is not served")
    return seen


# -- kernels that never end ------------------------------------------------------------------------
async def endless_kernels(seconds: float, seed: int) -> StressReport:
    """Kernels outlive the limits of their steps; others are served, and SIGTERM ends the process."""
    seen, choice = StressReport(), random.Random(seed)
    until = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder, Graph().as_default() as graph:
        while time.monotonic() < until or not seen.done:
            # With the interpreter lock, so that nothing else runs there.
            stuck = choice.random() < 0.5
            begun = Path(folder, f"begun-{seen.done}")
            held = hold(ops.constant(1.0), 3600.0 if stuck else 0.2, marker=begun, asleep=True)
            quick = ops.constant(1.0) + 1.0
            with holding_worker() as (process, target):
                async with AsyncSession(target, graph=graph) as session:
                    async with asyncio.timeout(_SETTLE):
                        step = await _overdue(session, held, begun)
                    if not stuck:
                        async with asyncio.timeout(_SETTLE):
                            if await session.run(quick) != 2.0:
                                seen.wrong.append("a step beside an overdue kernel went wrong")
                        seen.count("steps beside an overdue kernel")
                    process.send_signal(signal.SIGTERM)
                    await asyncio.wait([step])
                    seen.count("steps ended by " + type(step.exception()).__name__)
                try:
                    await asyncio.to_thread(process.wait, _SETTLE)
                    seen.count("processes ended by SIGTERM")
                except subprocess.TimeoutExpired:
                    seen.wrong.append("a process outlived its grace")
    return seen


async def _overdue(session: AsyncSession, held: Any, begun: Path) -> asyncio.Future[Any]:
    """A step whose kernel outlives its limit; on a busy machine one may be over before its kernel begins."""
    limit = 50
    while True:
        step = asyncio.ensure_future(session.run(held, options=RunOptions(timeout_in_ms=limit)))
        while not (begun.exists() or step.done()):  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        if begun.exists():
            return step
        step.exception()  # nobody else asks for it
        limit *= 2


async def spoilt_files(seconds: float, seed: int) -> StressReport:
    """Files, variables and words of others are spoilt and read, by all readers and commands in turn."""
    seen, until = StressReport(), time.monotonic() + seconds
    for turn in itertools.count(seed):
        seen.wrong += await asyncio.to_thread(spoil_arguments, turn)
        for name in READERS:
            with tempfile.TemporaryDirectory() as folder:
                wrong = await asyncio.to_thread(spoil_files, name, Path(folder), turn, _SPOILT_AT_ONCE, until)
            seen.wrong += wrong
            seen.count("rounds of spoilt files")
            if time.monotonic() > until:
                return seen
    raise AssertionError("the numbers have come to an end")


STRESS_TESTS: dict[str, Callable[[float, int], Coroutine[Any, Any, StressReport]]] = {
    "cancelled dequeues": cancelled_dequeues,
    "orderly stops": orderly_stops,
    "crash points of writers": crash_points,
    "flipped bits": flipped_bits,
    "another user": another_user,
    "kernels that never end": endless_kernels,
    "spoilt files": spoilt_files,
}
