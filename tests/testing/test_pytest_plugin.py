"""The fixtures of the plug-in for pytest, in a project that has nothing else of this one."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = [pytest.mark.process, pytest.mark.timeout(300)]

TESTS = """
import asyncio
import threading

import pytest

import actorsession as acts

KEPT = []

def test_graph_is_the_default_one(graph):
    assert acts.get_default_graph() is graph

def test_sync_session(sync_session):
    assert sync_session.run(acts.constant(1) + 1) == 2

async def test_session(session, no_leaks):
    assert await session.run(acts.constant(1) + 1) == 2

@pytest.mark.local_cluster({"ps": 1})
def test_local_cluster(local_cluster, graph):
    with acts.device("/job:ps/task:0"), acts.Session(local_cluster.target("ps")) as session:
        assert session.run(acts.constant(1) + 1) == 2

async def test_two_workers(local_cluster, session):
    assert list(local_cluster.status()) == [f"/job:worker/replica:0/task:{n}" for n in (0, 1)]

def test_simulated_cluster(simulated_cluster, graph):
    two = acts.constant(1) + 1

    async def main(cluster):
        async with cluster, cluster.session() as session:
            return await session.run(two)

    assert simulated_cluster(3).run(main) == 2

def test_thread_is_left(no_leaks):
    KEPT.append(threading.Event())
    threading.Thread(target=KEPT[0].wait, name="astray").start()

def test_thread_ends():
    KEPT[0].set()

async def test_task_is_left(no_leaks):
    KEPT.append(asyncio.create_task(asyncio.Event().wait(), name="forgotten"))

def test_fails_with_a_seed(simulated_cluster):
    simulated_cluster(jobs={"worker": 1})
    assert False

class TestOwn:
    @pytest.fixture
    def graph(self):
        return "our own"

    def test_override(self, graph):
        assert graph == "our own"
"""


def pytest_of(folder: Path, *words: str, before: str = "pass") -> str:
    """What pytest says of the tests in a folder; the plug-in comes by its name, as by its entry point."""
    program = f"import sys, pytest; {before}; sys.exit(pytest.main(sys.argv[1:]))"
    options = ("-p", "actorsession_pytest", "-p", "no:cacheprovider", "-rA", *words)
    done = subprocess.run(
        [sys.executable, "-c", program, *options],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        timeout=280,
    )
    return done.stdout + done.stderr


def test_fixtures_do_what_they_say_in_a_project_of_users(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\nasyncio_mode = auto\naddopts = --strict-markers\n")
    (tmp_path / "test_it.py").write_text(TESTS)
    said = pytest_of(tmp_path, "--simulation-seed", "7")
    outcomes = dict(re.findall(r"^(?:PASSED|FAILED|ERROR) test_it.py::(\S+)() ?", said, re.M))
    assert len(outcomes) == len(re.findall(r"def test_", TESTS))
    failed = sorted(re.findall(r"^(FAILED|ERROR) test_it.py::(\S+)", said, re.M))
    assert failed == [
        ("ERROR", "test_task_is_left"),
        ("ERROR", "test_thread_is_left"),
        ("FAILED", "test_fails_with_a_seed"),
    ], said
    assert "the test left 1 things behind:\n  thread astray" in said
    assert "the test left 1 tasks pending:\n  <Task pending name='forgotten'" in said
    assert "seed 7; the same run: pytest --simulation-seed 7 'test_it.py::test_fails_with_a_seed'" in said


def test_without_pytest_asyncio_its_fixture_names_the_extra(tmp_path: Path) -> None:
    (tmp_path / "test_it.py").write_text("def test_session(session):\n    pass\n")
    missing = (
        "import importlib.util as u; f = u.find_spec; u.find_spec = lambda n, p=None: f(n, p) if n[0] != 'p' else p"
    )
    said = pytest_of(tmp_path, "-p", "no:asyncio", before=missing)
    assert "pip install 'actorsession[testing]'" in said


def test_the_plug_in_imports_nothing_and_has_no_assert_of_the_library_rewritten(tmp_path: Path) -> None:
    (tmp_path / "marks.py").write_text(
        "def pytest_addoption(pluginmanager):\n    pluginmanager.rewrite_hook.mark_rewrite('actorsession')\n"
    )
    (tmp_path / "test_it.py").write_text(
        "import sys\n\n"
        "def test_lightness():\n    assert not {'actorsession', 'numpy'} & set(sys.modules)\n\n"
        "def test_loader():\n    import actorsession\n"
        "    assert type(actorsession.__loader__).__name__ == 'SourceFileLoader'\n"
    )
    said = pytest_of(tmp_path, before="sys.path.insert(0, ''); sys.argv[1:1] = ['-p', 'marks']")
    assert "2 passed" in said, said
