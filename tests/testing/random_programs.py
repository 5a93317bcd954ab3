"""Programs of tasks, queues, timers and pools that are drawn from a seed, and their traces."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from random import Random
from typing import Any

from actorsession.testing import SimulatedHost, SimulatedLoop
from transports.host import current_host, on_host

# Seconds for all that a program waits for to happen, or not.
LONG = 100.0


class Program:
    """What the tasks of a program share: queues, a lock and a condition, on whichever host they run."""

    def __init__(self, loop: SimulatedLoop) -> None:
        self.loop = loop
        self.random = loop.random("program")
        self.queues: list[asyncio.Queue[str]] = [asyncio.Queue(size) for size in (0, 1, 3)]
        self.locks = [asyncio.Lock() for _ in range(2)]
        self.changed = asyncio.Condition()
        self.hosts: list[SimulatedHost] = []

    def spawn(self, depth: int) -> asyncio.Task[None]:
        host = self.random.choice(self.hosts)
        with on_host(host):
            return self.loop.create_task(self.act(Random(self.random.random()), depth))

    async def act(self, random: Random, depth: int) -> None:
        for _ in range(random.randrange(1, 6)):
            try:
                async with asyncio.timeout(random.expovariate(0.2)):
                    name, do = random.choice(ACTS)
                    said = await do(self, random, depth)
            except (TimeoutError, ExceptionGroup, ValueError) as error:
                said = type(error).__name__
            self.loop.note(f"{current_host()!r} {name} {said} {asyncio.get_running_loop().time()!r}")

    async def sleep(self, random: Random, depth: int) -> Any:
        return await asyncio.sleep(random.choice([0, 0.001, 1, random.random()]), "slept")

    async def put(self, random: Random, depth: int) -> Any:
        return await random.choice(self.queues).put(current_host().entropy.token_hex(2))

    async def take(self, random: Random, depth: int) -> Any:
        return await random.choice(self.queues).get()

    async def lock(self, random: Random, depth: int) -> Any:
        async with random.choice(self.locks):
            await asyncio.sleep(random.random())

    async def change(self, random: Random, depth: int) -> Any:
        async with self.changed:
            if random.random() < 0.5:
                self.changed.notify(2)
            else:
                await self.changed.wait()

    async def thread(self, random: Random, depth: int) -> Any:
        return await asyncio.to_thread(current_host().clock.monotonic)

    async def pool(self, random: Random, depth: int) -> Any:
        workers = current_host().processes.workers(2, "pool")
        loop = asyncio.get_running_loop()
        works = [loop.run_in_executor(workers, current_host().clock.perf_counter) for _ in range(4)]
        return [await work for work in works]

    async def group(self, random: Random, depth: int) -> Any:
        """A group one of whose children may fail, so that the others are cancelled: asyncio keeps them in a set."""
        async with asyncio.TaskGroup() as group:
            for number in range(random.randrange(8)):
                _ = group.create_task(self.child(number, random.random()))
            if random.random() < 0.5:
                raise ValueError

    async def child(self, number: int, seconds: float) -> None:
        try:
            await asyncio.sleep(seconds)
        finally:
            self.loop.note(f"child {number}")

    async def wait(self, random: Random, depth: int) -> Any:
        if depth:
            children = [self.spawn(depth - 1) for _ in range(3)]
            done, _ = await asyncio.wait(children, return_when=random.choice(["FIRST_COMPLETED", "ALL_COMPLETED"]))
            return [task.get_name() for task in done]  # in the order of a set
        return None

    async def fault(self, random: Random, depth: int) -> Any:
        host = random.choice(self.hosts)
        what = random.choice(["crash", "stall", "go_on", "drift", "jump", "restart"])
        if what == "drift":
            host.drift(random.choice([0.9, 1.0, 1.1]))
        elif what == "jump":
            host.clock.jump(random.uniform(-9, 9))
        elif what == "restart":
            self.hosts[self.hosts.index(host)] = host.restart()
        else:
            getattr(host, what)()
        return what


ACTS: list[tuple[str, Callable[[Program, Random, int], Coroutine[Any, Any, Any]]]] = [
    (act.__name__, act)
    for act in [
        Program.sleep,
        Program.put,
        Program.take,
        Program.lock,
        Program.change,
        Program.thread,
        Program.pool,
        Program.group,
        Program.wait,
        Program.fault,
    ]
]


def trace_of(seed: int) -> list[str]:
    """Return the trace of the program of a seed, with a line for each callback."""
    loop = SimulatedLoop(seed, shuffle=seed % 3 == 0, trace_callbacks=True)

    async def main() -> None:
        program = Program(loop)
        program.hosts += [SimulatedHost(loop, f"host{number}") for number in range(3)]
        tasks = [program.spawn(2) for _ in range(6)]
        await asyncio.wait(tasks, timeout=LONG)

    loop.run(main())
    return [*loop.trace, loop.digest()]
