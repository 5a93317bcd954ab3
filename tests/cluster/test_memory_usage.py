"""How a child process has ended: its peak memory, and kills for lack of memory."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from actorsession import LocalCluster
from actorsession.cluster.launch.memory_usage import MemoryUsage
from tests.cluster.kit import eventually, soon


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
