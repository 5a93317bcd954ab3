"""What stays open takes little: sessions and plans, counted in the bytes that Python has allocated."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from actorsession import AsyncSession, Graph, LocalCluster, Server, ServerSettings, ops
from actorsession.cluster.launch.memory_usage import MemoryUsage
from actorsession.config import ConfigProto
from actorsession.errors import AbortedError, InvalidArgumentError
from tests.cluster.kit import W1, Gate, InProcess, eventually, in_process, on, reach_over_links, soon

# What is counted, and before that made once, so that what all share is there.
COUNT, SHARED = 10, 2


@pytest.fixture
async def cluster(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[InProcess]:
    reach_over_links(monkeypatch)
    # Without the rows of the last steps, which are the server's and bounded.
    async with in_process({"worker": 1}, kept_steps=0) as made:
        yield made


async def bytes_of_each(make: Callable[[], Awaitable[Any]]) -> float:
    """The bytes that are allocated for each of some objects, while all of them stay."""
    for _ in range(SHARED):
        await make()
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(COUNT):
            await make()
        gc.collect()
        return tracemalloc.get_traced_memory()[0] / COUNT
    finally:
        tracemalloc.stop()


async def bytes_of_session(target: str, *, runs: bool = True) -> float:
    """The bytes of an open session of a graph of four nodes, which has run or not."""
    with Graph().as_default() as graph:
        x = ops.placeholder("float32", [])
        more = x * 0.5 + 1.0
    async with AsyncExitStack() as opened:

        async def open_one() -> None:
            session = await opened.enter_async_context(AsyncSession(target, graph=graph))
            if runs:
                assert await session.run(more, {x: 3.0}) == 2.5

        return await bytes_of_each(open_one)


async def test_a_session_in_this_process_takes_little() -> None:
    assert await bytes_of_session("") < 64 * 1024


async def test_a_session_over_a_connection_takes_little_at_client_and_server_together(cluster: InProcess) -> None:
    """With a buffer of its own for small frames, each of the two ends had 256 KiB more."""
    target = cluster.servers[0].target
    assert await bytes_of_session(target, runs=False) < 64 * 1024
    assert await bytes_of_session(target) < 80 * 1024


async def test_a_plan_takes_what_its_own_nodes_take_however_large_the_graph_is() -> None:
    with Graph().as_default() as graph:
        x = ops.placeholder("float32", [])
        nodes = [x * float(k) for k in range(200)]
    plans = iter(combinations(nodes, 3))
    async with AsyncSession(graph=graph) as session:

        async def run_one() -> None:
            await session.run(next(plans), {x: 2.0})

        assert await bytes_of_each(run_one) < 32 * 1024


# Longer than a loop stands still between the creation of a session and its first use.
LIMIT = 0.5


async def test_an_idle_session_is_closed_everywhere_and_can_be_attached_anew(way: str, graph: Graph) -> None:
    """The next call says so; ``reattach`` goes on, and variables are still where they were."""
    with on(W1):
        v = ops.Variable(1.0)
        add = v.assign_add(1.0)
    async with in_process(session_gc_seconds=LIMIT) as cluster:
        session = AsyncSession(cluster.target(), graph=graph)
        await soon(session.run(v.initializer))
        await eventually(lambda: not any(s.sessions or s.worker_sessions for s in cluster.statistics().values()))
        with pytest.raises(AbortedError, match=r"was idle for 0\.5 s, the limit of the server"):
            await soon(session.run(add))
        found = await soon(session.reattach())
        assert (found.restarted, found.lost) == ((), ())
        assert await soon(session.run(add)) == 2.0
        await session.close()


async def test_a_session_with_a_step_under_way_is_not_idle(graph: Graph) -> None:
    """A step that is held for longer than it takes to collect a session that is idle."""
    x = ops.placeholder("float32", [])
    gate = Gate("held beyond the idle limit")
    held = gate(x)
    async with in_process(config=ConfigProto(inter_op_parallelism_threads=2), session_gc_seconds=LIMIT) as cluster:
        async with AsyncSession(cluster.target(), graph=graph) as session:
            run = asyncio.create_task(session.run(held, {x: 1.0}))
            await soon(gate.wait_entered())
            for _ in range(2):
                other = AsyncSession(cluster.target(), graph=graph)
                await soon(other.list_devices())
                # It came later and was collected: by then this one would have been, too.
                await eventually(lambda: cluster.servers[0].statistics().sessions == 1)
                await other.close()
            gate.open()
            assert await soon(run) == 1.0


async def test_a_session_with_an_open_partial_run_is_not_idle(graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    y = x + 1.0
    async with in_process(session_gc_seconds=LIMIT) as cluster, AsyncSession(cluster.target(), graph=graph) as session:
        handle = await soon(session.partial_run_setup([y], [x]))
        other = AsyncSession(cluster.target(), graph=graph)
        await soon(other.list_devices())
        await eventually(lambda: cluster.servers[0].statistics().sessions == 1)
        assert await soon(session.partial_run(handle, y, {x: 1.0})) == 2.0
        await other.close()


@pytest.mark.parametrize("seconds", [-1.0, -0.001])
def test_a_negative_limit_is_refused(seconds: float) -> None:
    with pytest.raises(InvalidArgumentError, match="session_gc_seconds is 0 or more"):
        Server({"worker": ["127.0.0.1:0"]}, "worker", settings=ServerSettings(session_gc_seconds=seconds))


class Kernel:
    """What a kernel shows of one process, in a folder."""

    def __init__(self, folder: Path, group: str, counter: str) -> None:
        self.proc, self.cgroups = folder / "proc", folder / "cgroup"
        (self.proc / "9").mkdir(parents=True)
        (self.proc / "9" / "cgroup").write_text(f"{group}\n")
        self.counter = self.cgroups / counter
        self.counter.parent.mkdir(parents=True)
        self.kills(3)
        self.holds(2048)

    def kills(self, number: int) -> None:
        self.counter.write_text(f"low 0\nmax 11\noom 4\noom_kill {number}\noom_group_kill 0\n")

    def holds(self, kilobytes: int) -> None:
        status = f"Name:\tpython\nVmPeak:\t 9999 kB\nVmHWM:\t {kilobytes} kB\nVmRSS:\t 1 kB\n"
        (self.proc / "9" / "status").write_text(status)

    def watch(self) -> MemoryUsage:
        return MemoryUsage(9, self.proc, self.cgroups)


GROUPS = {
    "version 2": ("0::/user/job", "user/job/memory.events"),
    "version 2 in a container": ("0::/only/the/host/knows", "memory.events"),
    "version 2 beside 1": ("0::/job", "unified/job/memory.events"),
    "version 1": ("4:cpu,memory:/job", "memory/job/memory.oom_control"),
}


@pytest.mark.parametrize(("group", "counter"), GROUPS.values(), ids=GROUPS)
def test_kills_since_the_start_are_counted(tmp_path: Path, group: str, counter: str) -> None:
    kernel = Kernel(tmp_path, group, counter)
    watch = kernel.watch()
    assert watch.kills == 0
    kernel.kills(5)
    assert watch.kills == 2


def test_the_highest_peak_stays_after_the_end(tmp_path: Path) -> None:
    kernel = Kernel(tmp_path, *GROUPS["version 2"])
    watch = kernel.watch()
    assert watch.peak == 0
    watch.look()
    kernel.holds(512)  # another process has the number by now
    watch.look()
    (kernel.proc / "9" / "status").unlink()
    watch.look()
    assert watch.peak == 2048 * 1024


def test_a_kernel_that_tells_nothing_is_no_error(tmp_path: Path) -> None:
    watch = MemoryUsage(9, tmp_path, tmp_path)
    watch.look()
    assert (watch.peak, watch.kills) == (0, 0)


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
def test_the_peak_of_a_real_process_is_seen() -> None:
    watch = MemoryUsage(os.getpid())
    watch.look()
    assert watch.peak > 2**20


@pytest.mark.process
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")
async def test_a_process_that_somebody_kills_tells_signal_and_memory(tmp_path: Path) -> None:
    """By a signal of others than the cluster: then the cgroup decides whether it was for lack of memory."""
    async with LocalCluster({"worker": 1}) as cluster:
        process = cluster.process("worker")
        await eventually(lambda: process.peak_memory > 2**20)
        kernel = Kernel(tmp_path, *GROUPS["version 2"])
        assert process._memory is not None
        process._memory._counter, process._memory._before = kernel.counter, 3
        kernel.kills(4)
        os.kill(process.pid, signal.SIGKILL)
        assert await soon(process.wait_ended()) == process.exit_code == -signal.SIGKILL
        assert process.killed_for_memory
        how = process.fate.splitlines()[0]
        assert how.startswith("killed by SIGKILL, by the kernel for lack of memory (OOM kill); it held ")
        assert how.endswith("MiB at most")
        kernel.kills(3)
        assert process.fate.startswith("killed by SIGKILL; it held ")
