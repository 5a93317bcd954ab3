"""What processes that are started together are told about OpenBLAS, which is read before they run."""

from __future__ import annotations

from pathlib import Path

import pytest

from actorsession.cluster import LocalCluster
from actorsession.cluster.launch.blas_environment import thread_count
from actorsession.runtime.kernel_pool import processors

CHOICES = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")


@pytest.fixture
def nothing_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CHOICES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("processes", "cores", "each"), [(2, 8, 4), (3, 8, 2), (3, 2, 1), (16, 4, 1), (1, 8, None)]
)
def test_processes_share_the_cores_out_and_have_at_least_one_each(
    nothing_chosen: None, processes: int, cores: int, each: int | None
) -> None:
    assert thread_count(processes, cores) == each


@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_of_the_environment_is_kept(
    nothing_chosen: None, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "7")
    assert thread_count(2, 8) is None


@pytest.mark.process
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="no /proc to look into")
async def test_the_processes_of_a_cluster_are_told_their_share(nothing_chosen: None) -> None:
    async with LocalCluster({"worker": 2}) as cluster:
        told = [_environment(process.pid) for process in cluster.processes.values()]
    share = max(1, processors() // 2)
    assert [env["OPENBLAS_NUM_THREADS"] for env in told] == [str(share)] * 2


def _environment(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/environ").read_text(encoding="utf-8").split("\0")
    return dict(line.split("=", 1) for line in lines if "=" in line)
