"""The threads of BLAS: which library, one number for the process, what was before, shares of processes."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from actorsession import LocalCluster
from actorsession.ops.blas_threads import (
    blas_threads,
    hold_blas_threads,
    loaded_libraries,
    mkl_is_slow,
    share_blas_threads,
    thread_count,
)
from tests.rows import for_each
from transports.host import SYSTEM

pytestmark = pytest.mark.skipif(not loaded_libraries(), reason="numpy's BLAS is no OpenBLAS here")


@pytest.fixture(autouse=True)
def four_threads() -> Iterator[None]:
    """A number that no test asks for, so that going back to it can be seen."""
    (library, *_) = loaded_libraries()
    before = library.get()
    library.set(4)
    yield
    library.set(before)


def test_the_library_that_numpy_has_loaded_is_found_by_the_process_itself() -> None:
    (library, *_) = loaded_libraries()
    assert "openblas" in library.path
    assert library.get() == 4


@for_each(
    "vendor, flags, slow",
    [
        ("AuthenticAMD", "avx512f avx512cd avx512dq avx512bw avx512vl", True),
        ("AuthenticAMD", "avx2", False),
        ("GenuineIntel", "avx512f avx512cd avx512dq avx512bw avx512vl", False),
    ],
)
def test_mkl_leaves_registers_unused_on_processors_that_are_not_intel_s(vendor: str, flags: str, slow: bool) -> None:
    assert mkl_is_slow(f"processor\t: 0\nvendor_id\t: {vendor}\nflags\t\t: fpu {flags}\n") is slow


# What sessions hold and servers share, and is let go again, each with the number that counts after it.
HISTORIES: dict[str, list[tuple[str, int, int]]] = {
    "a number counts while somebody holds it": [("hold", 1, 1), ("let go", 0, 4)],
    "the last holder brings the old number back": [("hold", 2, 2), ("hold", 2, 2), ("let go", 0, 2), ("let go", 1, 4)],
    "another counts once the first is let go": [("hold", 1, 1), ("let go", 0, 4), ("hold", 3, 3), ("let go", 1, 4)],
    "the least share counts": [("share", 3, 3), ("share", 2, 2), ("let go", 1, 3), ("let go", 0, 4)],
    "what a session asks for counts before any share": [
        *(("share", 1, 1), ("hold", 3, 3), ("share", 2, 3)),
        *(("let go", 1, 1), ("let go", 0, 2), ("let go", 2, 4)),
    ],
}


@for_each("history", HISTORIES)
def test_numbers_count_in_their_order(history: str) -> None:
    kept: list[object] = []
    for event, number, counts in HISTORIES[history]:
        if event == "let go":
            kept[number] = None
        else:
            kept.append((hold_blas_threads if event == "hold" else share_blas_threads)(number))
            assert kept[-1] is not None
        assert blas_threads() == counts, (event, number)


def test_holders_of_one_number_have_one_hold() -> None:
    assert hold_blas_threads(2) is hold_blas_threads(2)


def test_another_number_is_logged_once_and_has_no_effect(caplog: pytest.LogCaptureFixture) -> None:
    held = hold_blas_threads(1)
    with caplog.at_level(logging.WARNING, "actorsession.runtime"):
        others = [hold_blas_threads(3) for _ in range(3)]
    assert blas_threads() == 1
    (record,) = caplog.records
    assert "intra_op_parallelism_threads=3 has no effect" in record.message
    assert "asked for 1" in record.message
    del held, others


def test_an_unknown_library_is_said_to_be_one(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("actorsession.ops.blas_threads._loaded_files", list)
    with caplog.at_level(logging.WARNING, "actorsession.runtime"):
        assert hold_blas_threads(2) is None
    assert "no OpenBLAS is loaded" in caplog.text
    assert blas_threads() is None


def test_a_file_that_is_no_openblas_is_passed_over() -> None:
    assert loaded_libraries(["/nowhere/libopenblas.so", "libc.so.6"]) == []


# -- the environment of processes that are started -------------------------------------------------

CHOICES = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")


@pytest.fixture
def nothing_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in CHOICES:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(("processes", "cores", "each"), [(2, 8, 4), (3, 8, 2), (3, 2, 1), (16, 4, 1), (1, 8, None)])
def test_processes_share_the_cores_out(nothing_chosen: None, processes: int, cores: int, each: int | None) -> None:
    assert thread_count(processes, cores) == each


@pytest.mark.parametrize("name", CHOICES)
def test_a_choice_of_the_environment_is_kept(nothing_chosen: None, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "7")
    assert thread_count(2, 8) is None


@pytest.mark.process
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="no /proc to look into")
async def test_the_processes_of_a_cluster_are_told_their_share(nothing_chosen: None) -> None:
    async with LocalCluster({"worker": 2}) as cluster:
        told = [_environment(process.pid) for process in cluster.processes.values()]
    share = max(1, SYSTEM.processes.processors() // 2)
    assert [env["OPENBLAS_NUM_THREADS"] for env in told] == [str(share)] * 2


def _environment(pid: int) -> dict[str, str]:
    lines = Path(f"/proc/{pid}/environ").read_text(encoding="utf-8").split("\0")
    return dict(line.split("=", 1) for line in lines if "=" in line)
