"""The soak: thousands of steps while workers are killed, stopped and started again at random.

A master, a ps and two workers in processes of their own. Several clients run steps at once, most of them
with values that cross workers, and some with state: a counter on each worker. Meanwhile an adversary kills,
stops and restarts tasks at random, the master too. What has to hold: every run ends, with the right value or
with one typed error; a counter never counts what was not acknowledged, nor forgets what was, while its worker
lives; at the end nothing pending remains on any task, and memory is flat.

Run by ``scripts/soak``, and for some seconds by the tests: ``python -m tests.cluster.soak --help``. The same
seed chooses the same faults, though not at the same moments of the steps. The functions of ``stress`` come after
it, each for as long as it took to find what broke under it.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import secrets
import signal
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from actorsession import AsyncSession, Graph, LocalCluster, ops
from actorsession.cluster import ServerStatistics, read_statistics
from actorsession.errors import AbortedError, DeadlineExceededError, FailedPreconditionError, OpError, UnavailableError
from tests.cluster.stress import STRESS_TESTS
from tests.loops import run_to_end

CLIENTS = 4
WORKERS = (1, 2)
MASTER = ("worker", 0)
# What a fault may end a run with; anything else is a mistake of ours.
EXPECTED = (UnavailableError, AbortedError, DeadlineExceededError)
# Seconds that a run may take when nothing is wrong with it but a stopped task and a lease.
LIMIT = 60.0
# Bytes by which the memory of a process may grow from the first third of the soak to its end.
GROWTH = 48 * 2**20
# Seconds by when nothing may be left: values for a step whose master died before it began everywhere are
# kept for a minute.
SETTLE = 75.0
# Seconds between looks at the memory; a process is judged by thirty of them or more.
LOOK, LOOKS = 0.1, 30
_PAGE = os.sysconf("SC_PAGE_SIZE")


def resident(pid: int) -> int:
    """Bytes of memory that a process has resident; 0 if it is gone."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]) * _PAGE
    except OSError:
        return 0


@dataclass
class Tally:
    """What was seen.

    Attributes:
        right: runs that ended with the right value.
        errors: runs that ended with an error, by its class.
        wrong: what must never be, in words.
        faults: what the adversary did, by kind.
        reattached: how often sessions went on after a restart.
        slowest: seconds of the longest run.
        memory: samples of resident bytes, by process.
    """

    right: int = 0
    errors: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    faults: Counter[str] = field(default_factory=Counter)
    reattached: int = 0
    slowest: float = 0.0
    memory: dict[str, list[tuple[float, int]]] = field(default_factory=dict)

    @property
    def runs(self) -> int:
        """All runs that have ended."""
        return self.right + self.errors.total()


class Model:
    """The graph: a value that crosses all tasks, one that stays at home, and a counter on each worker."""

    def __init__(self) -> None:
        self.graph = Graph()
        with self.graph.as_default():
            self.x = ops.placeholder("float32", [None], name="x")
            with self.graph.device("/job:ps/task:0"):
                value = self.x * 2.0
            for index in WORKERS:
                with self.graph.device(f"/job:worker/task:{index}"):
                    value = value + float(index)
            with self.graph.device("/job:worker/task:0"):
                self.across = value * 10.0
                self.home = self.x - 1.0

    def expected(self, x: Any, *, across: bool) -> Any:
        """The value of ``across`` or ``home`` for an input."""
        return (x * 2.0 + float(sum(WORKERS))) * 10.0 if across else x - 1.0


class Counting:
    """A counter on one worker, which belongs to one client. A run that fails may or may not have counted; after a
    restart the counter begins anew."""

    def __init__(self, model: Model, client: int, index: int) -> None:
        with model.graph.as_default(), model.graph.device(f"/job:worker/task:{index}"):
            self.variable = ops.Variable(np.float64(0), name=f"counter_{client}_{index}")
            self.add = self.variable.assign_add(np.float64(1))
        self.known = False
        self.least = self.most = 0

    def began(self) -> None:
        """The variable is 0 now."""
        self.known, self.least, self.most = True, 0, 0

    def failed(self) -> None:
        """A run that adds one has failed: it may have counted."""
        self.most += 1

    def check(self, seen: float) -> str | None:
        """Looks at the value after one more; what is wrong with it, if anything is."""
        least, most = self.least + 1, self.most + 1
        self.least = self.most = int(seen)
        if least <= seen <= most:
            return None
        return f"{self.variable.name} is {seen}, and must be from {least} to {most}"


class Client:
    """Runs steps in one session, and goes on after every error."""

    def __init__(self, soak: Soak, number: int) -> None:
        self._soak = soak
        self._tally = soak.tally
        self._random = random.Random(f"{soak.seed} client {number}")
        self._model = Model()
        self._counters = [Counting(self._model, number, index) for index in WORKERS]

    async def run(self) -> None:
        """Runs until the soak is over."""
        async with AsyncSession(self._soak.target, graph=self._model.graph) as session:
            while not self._soak.over:
                await self._soak.paced()
                start = time.monotonic()
                try:
                    async with asyncio.timeout(LIMIT):
                        await self._step(session)
                    self._tally.right += 1
                except EXPECTED as error:
                    self._tally.errors[type(error).__name__] += 1
                    await self._recover(session, error)
                except TimeoutError:
                    self._tally.wrong.append(f"a run did not end within {LIMIT:g} s")
                except OpError as error:
                    self._tally.wrong.append(f"{type(error).__name__}: {error}")
                self._tally.slowest = max(self._tally.slowest, time.monotonic() - start)

    async def _step(self, session: AsyncSession) -> None:
        kind = self._random.random()
        if kind < 0.6:
            await self._value(session, across=kind < 0.5)
        else:
            await self._count(session, self._random.choice(self._counters))

    async def _value(self, session: AsyncSession, *, across: bool) -> None:
        size = self._random.choice([1, 100, 100_000])
        x = np.full([size], self._random.randrange(1000), np.float32)
        fetch = self._model.across if across else self._model.home
        seen = await session.run(fetch, {self._model.x: x})
        if not np.array_equal(seen, self._model.expected(x, across=across)):
            self._tally.wrong.append(f"{fetch.name} of {x[:3]}... is {seen[:3]}...")

    async def _count(self, session: AsyncSession, counter: Counting) -> None:
        if not counter.known:
            await session.run(counter.variable.initializer)
            counter.began()
            return
        try:
            seen = float(await session.run(counter.add))
        except FailedPreconditionError as error:
            # The worker has another life than when the counter began, which reattach has said.
            self._tally.wrong.append(f"a counter that should be there: {error}")
            counter.known = False
            return
        except EXPECTED:
            counter.failed()
            raise
        wrong = counter.check(seen)
        if wrong is not None:
            self._tally.wrong.append(wrong)

    async def _recover(self, session: AsyncSession, error: OpError) -> None:
        if isinstance(error, DeadlineExceededError):
            return
        try:
            found = await session.reattach()
        except EXPECTED:
            return
        self._tally.reattached += 1
        # Counters of a worker that has restarted are gone; after the loss of a master that is not told.
        for counter in self._counters:
            task = counter.variable.device.rpartition("/device")[0] or counter.variable.device
            if any(same_task(task, restarted) for restarted in found.restarted):
                counter.known = False
        if self._soak.master_was_lost(self):
            for counter in self._counters:
                counter.known = False


def same_task(device: str, task: str) -> bool:
    """Whether a partial device name means a task."""
    job, index = (part.rpartition(":")[2] for part in device.strip("/").split("/")[:2])
    return task == f"/job:{job}/replica:0/task:{index}"


class Soak:
    """One soak.

    Args:
        seconds: how long faults go on.
        steps: how many runs there are to be at least.
        seed: of all choices.
    """

    def __init__(self, seconds: float, steps: int, seed: int) -> None:
        self.seconds = seconds
        self.steps = steps
        self.seed = seed
        self.tally = Tally()
        self.over = False
        self._random = random.Random(f"{seed} adversary")
        self._cluster = LocalCluster({"ps": 1, "worker": 1 + len(WORKERS)})
        self._begun = 0.0
        self._lives = 0
        self._seen: dict[int, int] = {}

    @property
    def target(self) -> str:
        """Where the sessions are opened."""
        return self._cluster.target(*MASTER)

    def master_was_lost(self, client: Client) -> bool:
        """Whether the master has restarted since this client last asked."""
        before = self._seen.get(id(client), 0)
        self._seen[id(client)] = self._lives
        return before != self._lives

    async def paced(self) -> None:
        """Lets others have a turn, and slows the steps so that they last as long as the faults."""
        left = self.seconds - (time.monotonic() - self._begun)
        missing = self.steps - self.tally.runs
        if left > 0:
            await asyncio.sleep(min(0.5, CLIENTS * left / max(missing, 1) / 2))
        elif missing <= 0:
            self.over = True

    async def run(self) -> Tally:
        """Runs it to its end, and looks at what is left."""
        async with self._cluster:
            self._begun = time.monotonic()
            clients = [Client(self, number) for number in range(CLIENTS)]
            async with asyncio.TaskGroup() as group:
                watch = group.create_task(self._watch_memory())
                _ = group.create_task(self._adversary())  # ends by itself, when its last fault is over
                async with asyncio.TaskGroup() as inner:
                    for client in clients:
                        inner.create_task(client.run())
                watch.cancel()
            await self._look_at_what_is_left()
        self._look_at_memory()
        return self.tally

    # -- faults --------------------------------------------------------------------------------

    async def _adversary(self) -> None:
        while time.monotonic() - self._begun < self.seconds:
            await asyncio.sleep(self._random.uniform(0.3, 1.5))
            job, index = self._random.choice([("ps", 0), *[("worker", i) for i in WORKERS]])
            kind = self._random.choice(["killed", "stopped", "stopped for longer than a lease"])
            if self._random.random() < 0.05:
                (job, index), kind = MASTER, "master killed"
            elif kind.endswith("lease") and self._random.random() < 0.5:
                kind = "stopped"
            self.tally.faults[kind] += 1
            await self._fault(kind, job, index)

    async def _fault(self, kind: str, job: str, index: int) -> None:
        process = self._cluster.process(job, index)
        if "killed" in kind:
            process.send_signal(signal.SIGKILL)
            await process.wait_ended()
            await asyncio.sleep(self._random.uniform(0.0, 1.0))
            if (job, index) == MASTER:
                self._lives += 1
            await self._cluster.restart(job, index)
            return
        process.send_signal(signal.SIGSTOP)
        longer = kind != "stopped"
        await asyncio.sleep(self._random.uniform(6.0, 8.0) if longer else self._random.random())
        process.send_signal(signal.SIGCONT)

    # -- what is left --------------------------------------------------------------------------

    async def _look_at_what_is_left(self) -> None:
        limit = time.monotonic() + SETTLE
        for process in self._cluster.processes.values():
            while not _is_empty(seen := await read_statistics(process.address)):
                if time.monotonic() > limit:
                    self.tally.wrong.append(f"{process.task} has something left: {seen}")
                    break
                await asyncio.sleep(0.05)

    # -- memory --------------------------------------------------------------------------------

    async def _watch_memory(self) -> None:
        while True:
            self._note_memory("client", os.getpid())
            for process in list(self._cluster.processes.values()):
                if process.alive:
                    self._note_memory(f"{process.task} (process {process.pid})", process.pid)
            await asyncio.sleep(LOOK)

    def _note_memory(self, name: str, pid: int) -> None:
        found = resident(pid)
        if found:
            samples = self.tally.memory.setdefault(name, [])
            samples.append((time.monotonic() - self._begun, found))

    def _look_at_memory(self) -> None:
        """Compares the last third of each process's life with its middle; the first warms caches up."""
        for name, samples in self.tally.memory.items():
            third = len(samples) // 3
            if len(samples) < LOOKS:
                continue
            middle = max(size for _, size in samples[third : 2 * third])
            end = sorted(size for _, size in samples[2 * third :])[third // 2]
            if end > middle + GROWTH:
                self.tally.wrong.append(f"the memory of {name} grew from {middle >> 20} to {end >> 20} MiB")


def _is_empty(seen: ServerStatistics) -> bool:
    return seen.idle and not (seen.sessions or seen.worker_sessions or seen.graphs)


def report(soak: Soak, took: float) -> list[str]:
    """What was seen, in lines."""
    tally = soak.tally
    lines = [
        f"{tally.runs} runs in {took:.1f} s: {tally.right} with the right value, "
        + (", ".join(f"{n} {name}" for name, n in tally.errors.most_common()) or "no error"),
        "faults: " + (", ".join(f"{n} {kind}" for kind, n in tally.faults.most_common()) or "none"),
        f"sessions went on {tally.reattached} times; the longest run took {tally.slowest:.2f} s",
    ]
    for name, samples in tally.memory.items():
        if len(samples) >= 10:
            sizes = [size >> 20 for _, size in samples]
            lines.append(f"memory of {name}: first {sizes[0]}, most {max(sizes)}, last {sizes[-1]} MiB")
    lines += [f"WRONG: {words}" for words in tally.wrong]
    return lines


def say(text: str) -> None:
    """Writes lines to standard output, at once."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(prog="soak", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="default %(default)g")
    parser.add_argument("--stress", type=float, default=30.0, help="seconds for each stress test (default %(default)g)")
    parser.add_argument("--steps", type=int, default=5000, help="at least (default %(default)s)")
    parser.add_argument("--seed", type=int, help="of an earlier soak; by default another one each time")
    options = parser.parse_args()
    seed = options.seed if options.seed is not None else secrets.randbits(32)
    say(f"soak: seed {seed}, {options.seconds:g} s, at least {options.steps} runs")
    soak = Soak(options.seconds, options.steps, seed)
    start = time.monotonic()
    run_to_end(soak.run())
    say("\n".join(report(soak, time.monotonic() - start)))
    wrong = bool(soak.tally.wrong)
    for name, test in STRESS_TESTS.items() if options.stress else ():
        seen = run_to_end(test(options.stress, seed))
        did = ", ".join(f"{n} {what}" for what, n in sorted(seen.done.items()))
        say("\n".join([f"{name}: {did}", *[f"WRONG: {words}" for words in seen.wrong]]))
        wrong |= bool(seen.wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
