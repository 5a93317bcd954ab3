"""Arrays of a device go to a device of another process of the host as tickets, by which that copies them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, RunMetadata, RunOptions, ops
from actorsession.errors import InvalidArgumentError, UnavailableError
from tests.cluster.kit import LONG_LEASE, PATIENCE, W0, W1, eventually, on, soon
from tests.cluster.lending_worker import COUNTED, FOLDER, REFUSED_TO_LEND, STUCK, TAKE_FAILS, UNREADABLE, counts
from tests.cluster.script import environment, running
from tests.cluster.test_child import line_of
from tests.loops import run_to_end
from tests.ops.raw_control import raw_cond, raw_while
from tests.ports import held_ports

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="arenas of processes are opened by /proc"),
]

S0, S1 = f"{W0}/device:SHELF:0", f"{W1}/device:SHELF:0"
LARGE, SMALL = [256, 256], [4]


class Workers:
    """Two worker processes with shelves.

    Attributes:
        processes: they.
        target: the first, at which sessions are opened.
        folder: where a file is a fault, by its name.
    """

    def __init__(self, processes: list[subprocess.Popen[str]], target: str, folder: Path) -> None:
        self.processes, self.target, self.folder = processes, target, folder

    @contextmanager
    def fault(self, name: str) -> Iterator[None]:
        (self.folder / name).touch()
        try:
            yield
        finally:
            (self.folder / name).unlink()


@contextmanager
def worker_pair(folder: Path, lease: float = LONG_LEASE, **more: str) -> Iterator[Workers]:
    folder.mkdir(exist_ok=True)

    def command(index: int, ports: list[int]) -> list[str]:
        spec = json.dumps({"worker": [f"127.0.0.1:{port}" for port in ports]})
        start = [sys.executable, "-m", "tests.cluster.lending_worker", "worker", "--job", "worker"]
        leases = ["--lease", str(lease), "--beat", str(lease / 4)]
        return [*start, "--task", str(index), "--cluster", spec, "--devices", "CPU=1,SHELF=1", *leases]

    env = environment(**{FOLDER: str(folder)}, **more)
    with (
        held_ports(2) as ports,
        running(command(0, ports), env=env) as first,
        running(command(1, ports), env=env) as second,
    ):
        addresses = [line_of(process).split()[3].rstrip(";") for process in (first, second)]
        yield Workers([first, second], addresses[0], folder)


@pytest.fixture(scope="module")
def workers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workers]:
    """A pair for the tests that leave it alive."""
    with worker_pair(tmp_path_factory.mktemp("shelves")) as made:
        yield made


class Journey:
    """A session, and a program in which a value goes from a shelf of the first worker to one of the second."""

    def __init__(self, session: AsyncSession, x: Any, z: Any, tick: Any, counted: list[Any]) -> None:
        self.session, self.x, self.z, self.tick, self._counted = session, x, z, tick, counted

    async def run(self, value: Any, **more: Any) -> Any:
        return await soon(self.session.run(self.z, {self.x: value}, **more))

    async def counts(self, *tasks: int) -> list[Counter[str]]:
        """The counters of both processes, or of some tasks."""
        got = await soon(self.session.run([self._counted[task] for task in tasks or (0, 1)], {self.tick: 0.0}))
        return [Counter(dict(zip(COUNTED, map(int, row), strict=True))) for row in got]

    async def until(self, condition: Callable[[Counter[str]], bool]) -> Counter[str]:
        """Wait until the counters of the first process meet a condition, and return them."""
        async with asyncio.timeout(PATIENCE):
            while True:
                (counted,) = await self.counts(0)
                if condition(counted):
                    return counted
                await asyncio.sleep(0.005)

    async def until_lending(self, value: Any) -> None:
        """Run steps until arrays are lent: what is sent before both ends have found the memory goes by the host."""
        (start,) = await self.counts(0)
        async with asyncio.timeout(PATIENCE):
            while True:
                await self.run(value)
                (counted,) = await self.counts(0)
                if counted["lent"] > start["lent"]:
                    return

    async def until_returned(self) -> None:
        """Wait until nothing is lent any more."""
        await self.until(lambda counted: counted["lent"] == counted["ended"])


def changed(before: Counter[str], after: Counter[str]) -> dict[str, int]:
    """What was counted between two moments, without the ends of loans, which come later."""
    return {name: after[name] - before[name] for name in COUNTED if name != "ended" and after[name] != before[name]}


def there(y: Any) -> Any:
    with on(S1):
        return ops.multiply(y, 2.0, name="z")


@asynccontextmanager
async def journey(workers: Workers, build: Callable[[Any], Any] = there, size: Any = None) -> AsyncIterator[Journey]:
    with Graph().as_default() as graph:
        tick = ops.placeholder("float32", [])
        with on(S0):
            x = ops.placeholder("float32", size)
            y = ops.add(x, 1.0, name="y")
        z = build(y)
        counted = [on(f"{task}/device:CPU:0", lambda: counts(tick)) for task in (W0, W1)]
    async with AsyncSession(workers.target, graph=graph) as session:
        yield Journey(session, x, z, tick, counted)


def values(size: Any) -> Any:
    return np.arange(np.prod(size), dtype="f4").reshape(size)


# -- by ticket, or by the host ---------------------------------------------------------------------
@pytest.mark.parametrize("known", [True, False], ids=["static shape", "any shape"])
def test_an_array_goes_to_another_process_by_a_ticket_and_not_by_the_host(workers: Workers, known: bool) -> None:
    async def main() -> None:
        x = values(LARGE)
        async with journey(workers, size=LARGE if known else None) as program:
            await program.until_lending(x)
            before = await program.counts()
            np.testing.assert_array_equal(await program.run(x), (x + 1.0) * 2.0)
            after = await program.counts()
            # The feed comes from the host there, and the fetch goes to it here.
            assert changed(before[0], after[0]) == {"came": 1, "lent": 1}
            assert changed(before[1], after[1]) == {"taken": 1, "went": 1}
            await program.until_returned()

    run_to_end(main())


@pytest.mark.parametrize(
    ("fault", "size"),
    [(None, SMALL), (REFUSED_TO_LEND, LARGE), (UNREADABLE, LARGE)],
    ids=["small", "not lent", "unreadable"],
)
def test_what_is_small_or_cannot_be_lent_or_read_goes_by_the_host(
    tmp_path: Path, workers: Workers, fault: str | None, size: Any
) -> None:
    async def main(pair: Workers) -> None:
        async with journey(pair) as program:
            await program.until_lending(values(LARGE))
            await program.until_returned()
            x = values(size)
            with pair.fault(fault or "none"):
                if fault == UNREADABLE:  # is found out once for two devices
                    np.testing.assert_array_equal(await program.run(x), (x + 1.0) * 2.0)
                before = await program.counts()
                np.testing.assert_array_equal(await program.run(x), (x + 1.0) * 2.0)
                after = await program.counts()
            assert [*changed(before[0], after[0])] == ["came", "went"]
            assert [*changed(before[1], after[1])] == ["came", "went"]
            await program.until_returned()

    if fault == UNREADABLE:  # its link lends nothing any more
        with worker_pair(tmp_path / "shelves") as pair:
            run_to_end(main(pair))
    else:
        run_to_end(main(workers))


def test_without_shared_memory_values_go_by_the_host(tmp_path: Path) -> None:
    async def main(pair: Workers) -> None:
        x = values(LARGE)
        async with journey(pair) as program:
            for _ in range(3):
                np.testing.assert_array_equal(await program.run(x), (x + 1.0) * 2.0)
            assert (await program.counts())[0]["lent"] == 0

    with worker_pair(tmp_path / "shelves", ACTORSESSION_SHARED_MEMORY="0") as pair:
        run_to_end(main(pair))


def test_a_device_of_another_family_gets_arrays_of_the_host(workers: Workers) -> None:
    def elsewhere(y: Any) -> Any:
        with on(f"{W1}/device:CPU:0"):
            return y * 2.0

    async def main() -> None:
        x = values(LARGE)
        async with journey(workers, elsewhere) as program:
            await program.run(x)  # makes constants of the plan
            (before,) = await program.counts(0)
            for _ in range(3):
                np.testing.assert_array_equal(await program.run(x), (x + 1.0) * 2.0)
            (after,) = await program.counts(0)
            assert changed(before, after) == {"came": 3, "went": 3}

    run_to_end(main())


# -- control flow ----------------------------------------------------------------------------------
def branch(y: Any) -> Any:
    """One of two branches on the second worker, by the sum of the value; the value is dead in the other."""
    with on(f"{W0}/device:CPU:0"):
        chosen = ops.reduce_sum(y) > 0.0
    with on(S0):
        (z,) = raw_cond(chosen, lambda v: [on(S1, lambda: v[0] * 2.0)], lambda v: [on(S1, lambda: v[0] * -1.0)], [y])
    return z


def loop(y: Any) -> Any:
    """A loop of three rounds whose value goes to the second worker and back in each."""

    def body(v: Any, _: Any) -> list[Any]:
        doubled = on(S1, lambda: v[1] * 2.0)
        return [v[0] + 1, on(S0, lambda: doubled + 1.0)]

    with on(S0):
        start = [ops.constant(0), y]
        return raw_while(lambda v, _: v[0] < 3, body, start)[1]


@pytest.mark.parametrize(
    ("build", "expected"),
    [(branch, lambda y: np.where(y.sum() > 0.0, 2.0 * y, -y)), (loop, lambda y: 8.0 * y + 7.0)],
    ids=["branch", "loop"],
)
def test_dead_values_and_rounds_of_a_loop_go_between_two_processes(workers: Workers, build: Any, expected: Any) -> None:
    async def main() -> None:
        async with journey(workers, build) as program:
            await program.until_lending(values(LARGE))
            for x in (values(LARGE), -values(LARGE) - 2.0):
                np.testing.assert_array_equal(await program.run(x), expected(x + 1.0).astype("f4"))
            await program.until_returned()

    run_to_end(main())


def test_a_traced_step_counts_the_bytes_of_what_is_lent(workers: Workers) -> None:
    async def main() -> None:
        x = values(LARGE)
        async with journey(workers) as program:
            await program.until_lending(x)
            seen = RunMetadata()
            await program.run(x, options=RunOptions(trace_level=RunOptions.FULL_TRACE), run_metadata=seen)
            stats: Any = seen.step_stats
            moved = {(t.kind, t.device, t.nbytes) for t in stats.transfers if t.key.split(";")[2] == S1}
            assert moved == {("send", S0, x.nbytes), ("recv", S1, x.nbytes)}
            await program.until_returned()

    run_to_end(main())


# -- what goes wrong -------------------------------------------------------------------------------
def test_a_copy_that_fails_ends_the_step_and_the_session_lives(workers: Workers) -> None:
    async def main() -> None:
        x = values(LARGE)
        async with journey(workers) as program:
            await program.until_lending(x)
            words = rf"the value of y:0 cannot be taken from {S0}: ValueError: the shelf is locked"
            with workers.fault(TAKE_FAILS), pytest.raises(InvalidArgumentError, match=words) as raised:
                await program.run(x)
            assert (raised.value.node, raised.value.device, raised.value.task) == ("y", S1, W1)
            np.testing.assert_array_equal(await program.run(x), (x + 1.0) * 2.0)
            await program.until_returned()

    run_to_end(main())


@pytest.mark.parametrize("stands_still", [False, True], ids=["killed", "stopped, then killed"])
def test_what_is_lent_is_kept_until_the_process_that_may_read_it_has_ended(tmp_path: Path, stands_still: bool) -> None:
    """1. The second worker is about to copy a value. 2. Perhaps it is stopped, and its links are given up: it could go
    on and copy the value yet, so that is kept. 3. It is killed. 4. The first worker releases the array."""

    async def main(pair: Workers) -> None:
        x = values(LARGE)
        async with journey(pair) as program:
            await program.until_lending(x)
            await program.until_returned()
            with pair.fault(STUCK):
                step = asyncio.ensure_future(program.run(x))
                await eventually((pair.folder / "taking").exists)
                pid = pair.processes[1].pid
                os.kill(pid, signal.SIGSTOP if stands_still else signal.SIGKILL)
                with pytest.raises(UnavailableError):
                    await step
                if stands_still:
                    (counted,) = await program.counts(0)
                    assert counted["lent"] == counted["ended"] + 1
                    os.kill(pid, signal.SIGKILL)
            await program.until_returned()

    with worker_pair(tmp_path / "shelves", 0.4 if stands_still else LONG_LEASE) as pair:
        run_to_end(main(pair))
