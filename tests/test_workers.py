"""Tests on several processes end as they would on one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.workers import longest_first

ROOT = Path(__file__).resolve().parent.parent

pytestmark = pytest.mark.process

OUTCOMES = """
import os, warnings
import pytest

@pytest.fixture(scope="module")
def of_module():
    yield os.getpid()
    open(f"{__name__}.ended", "x").close()

@pytest.fixture(scope="session")
def of_worker():
    yield
    open(f"{os.getpid()}.ended", "x").close()

@pytest.mark.parametrize("number", range(3))
def test_shares(number, of_module, of_worker):
    assert of_module == os.getpid() != int(os.environ["FIRST"])

def test_prints_and_fails():
    print("printed by", __name__)
    assert 1 == 2

@pytest.mark.skip(reason="for a reason")
def test_skipped():
    pass

@pytest.mark.xfail(strict=True)
def test_fails_as_expected():
    assert False

@pytest.mark.filterwarnings("default")
def test_warns():
    warnings.warn("out of date", DeprecationWarning)
"""

DIES = """
import os, signal
import pytest

@pytest.mark.slow
def test_dies():
    os.kill(os.getpid(), signal.SIGKILL)
"""

INTERRUPTS = """
import os, signal
import pytest

@pytest.fixture(scope="module")
def held():
    yield
    open("released", "x").close()

def test_waits(held):
    os.kill(int(os.environ["FIRST"]), signal.SIGINT)
    signal.raise_signal(signal.SIGINT)

def test_comes_too_late():
    open("late", "x").close()
"""


def run_on_workers(folder: Path, *words: str, **files: str) -> subprocess.CompletedProcess[str]:
    """What pytest says of test files that two workers run under our conftest and our options."""
    for name, code in files.items():
        (folder / f"test_{name}.py").write_text(code)
    options = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder), "--workers", "2", *words]
    plugins = ["-p", "tests.conftest", "-p", "no:cacheprovider", "-p", "no:xdist"]
    return subprocess.run(
        ["sh", "-c", 'export FIRST=$$; exec "$@"', "sh", sys.executable, "-m", "pytest", *options, *plugins, "."],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "200", "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


def test_reports_are_those_of_one_process(tmp_path: Path) -> None:
    done = run_on_workers(tmp_path, "--junitxml", "said.xml", one=OUTCOMES, two=OUTCOMES)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "2 failed, 8 passed, 2 skipped, 2 xfailed, 2 warnings" in done.stdout
    assert len(re.findall(r"^printed by test_(?:one|two)$", done.stdout, re.M)) == 2
    assert len(re.findall(r"^SKIPPED \[1\] test_(?:one|two)\.py:\d+: for a reason$", done.stdout, re.M)) == 2
    assert "DeprecationWarning: out of date" in done.stdout
    assert len(list(tmp_path.glob("test_*.ended"))) == 2
    assert 1 <= len(list(tmp_path.glob("[0-9]*.ended"))) <= 2
    assert (tmp_path / "said.xml").read_text().count("<testcase ") == 14


def test_a_worker_that_dies_fails_the_test_that_it_ran(tmp_path: Path) -> None:
    done = run_on_workers(tmp_path, dies=DIES)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "a worker ended with status -9 while it ran this test" in done.stdout
    assert re.search(r"^FAILED test_dies\.py::test_dies", done.stdout, re.M)


def test_the_run_ends_after_as_many_failures_as_are_allowed(tmp_path: Path) -> None:
    failing = "def test_fails(): raise OSError\n" + "def test_passes(): pass\n"
    done = run_on_workers(tmp_path, "--maxfail", "1", **{f"file_{number}": failing for number in range(40)})
    assert done.returncode == 1, done.stdout + done.stderr
    assert "stopping after 1 failures" in done.stdout
    assert "1 failed" in done.stdout


def test_ctrl_c_releases_what_tests_hold_and_ends_the_run(tmp_path: Path) -> None:
    done = run_on_workers(tmp_path, interrupts=INTERRUPTS)
    assert done.returncode == 2, done.stdout + done.stderr
    assert "KeyboardInterrupt" in done.stdout
    assert (tmp_path / "released").exists()
    assert not (tmp_path / "late").exists()


class _Item:
    def __init__(self, path: str, *marks: str) -> None:
        self.path, self.marks = path, marks

    def get_closest_marker(self, name: str) -> str | None:
        return name if name in self.marks else None


def test_files_that_are_likely_to_take_longest_come_first() -> None:
    items: list[Any] = [_Item("a"), _Item("b", "process"), _Item("a"), _Item("c", "slow"), _Item("b")]
    assert [[str(item.path) for item in file] for file in longest_first(items)] == [["c"], ["b", "b"], ["a", "a"]]
