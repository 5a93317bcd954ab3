"""What ``conftest.py`` promises, tried on a test file that breaks every rule."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from tests.conftest import LOOP_FACTORIES

ROOT = Path(__file__).resolve().parent.parent

OFFENDER = """
import asyncio, socket, subprocess, sys, threading, time
import hypothesis, hypothesis.strategies as st
import pytest
from tests.leaks import leaks

KEPT = []
leaks.PATIENCE_SECONDS = 1.0  # three tests of this file use all of it

async def test_tidy():
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
    assert await reader.read() == b""
    writer.close()
    await writer.wait_closed()
    server.close()
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", "")
    assert await child.wait() == 0

async def test_child():
    KEPT.append(asyncio.create_task(asyncio.Event().wait(), name="forgotten"))

@pytest.fixture
async def owned():
    child = asyncio.create_task(asyncio.Event().wait())
    yield
    child.cancel()
    await asyncio.wait([child])

async def test_child_of_a_fixture(owned):
    pass

def test_socket():
    KEPT.append(socket.socket())

def test_thread():
    KEPT.append(threading.Event())
    threading.Thread(target=KEPT[-1].wait, name="astray").start()

def test_release_the_thread():
    KEPT[-1].set()

def test_process():
    KEPT.append(subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE))

def test_warning():
    import warnings
    warnings.warn("out of date", DeprecationWarning)

async def test_wrong_thread():
    await asyncio.to_thread(asyncio.get_running_loop().call_soon, int)

async def test_never_awaited():
    asyncio.sleep(0)

@pytest.mark.timeout(0.25)
async def test_hang():
    await asyncio.Event().wait()

@pytest.mark.timeout(0.25)
async def test_spin():
    while True:
        await asyncio.sleep(0)

@pytest.mark.timeout(0.5)
@hypothesis.given(st.lists(st.integers(), min_size=5))
def test_examples(numbers):
    end = time.monotonic() + 60
    while sum(numbers) and time.monotonic() < end:
        pass

def test_nodes_in_the_default_graph():
    import actorsession as acts
    acts.constant(1.0)

def test_after_all_that():
    import actorsession as acts
    assert not acts.get_default_graph().get_operations()
"""


def report_of(
    folder: Path, code: str, *, shell: str = "exec ", options: Sequence[str] = (), timeout: float = 250.0
) -> str:
    """What pytest says of a test file that runs under our conftest and our options.

    Args:
        folder: an empty folder.
        code: the test file.
        shell: how a shell starts pytest.
        options: more of them.
        timeout: seconds that it may take.
    """
    (folder / "test_offender.py").write_text(code)
    ours = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder), "-rA", "--all"]
    plugins = ["-p", "tests.conftest", "-p", "no:cacheprovider", "-p", "no:xdist"]
    words = [sys.executable, "-m", "pytest", *ours, *options, *plugins, str(folder)]
    run = subprocess.run(
        ["sh", "-c", f'{shell} "$@"', "sh", *words],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "200", "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    return run.stdout + run.stderr


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The report on the offender; it takes a while, so that all tests here share it.

    An exception of a signal's handler that Python raises within a finaliser is lost: a test that never ends goes on
    then, and the offender is run again.
    """
    for _ in range(2):
        with contextlib.suppress(subprocess.TimeoutExpired):
            return report_of(tmp_path_factory.mktemp("offender"), OFFENDER, timeout=80.0)
    return report_of(tmp_path_factory.mktemp("offender"), OFFENDER, timeout=80.0)


def outcome(report: str, test: str) -> set[str]:
    """PASSED, FAILED, ERROR: what the summary says of one test, in words."""
    return set(re.findall(rf"^(PASSED|FAILED|ERROR) \S*::{re.escape(test)}(?= |$)", report, re.M))


@pytest.mark.process
@pytest.mark.slow
@pytest.mark.timeout(300)
class TestOffender:
    """One run of pytest, read by many tests."""

    @pytest.mark.parametrize("loop", LOOP_FACTORIES)
    @pytest.mark.parametrize("test", ["test_tidy", "test_child_of_a_fixture"])
    def test_a_test_that_cleans_up_passes_on_each_loop(self, report: str, test: str, loop: str) -> None:
        assert outcome(report, f"{test}[{loop}]") == {"PASSED"}, report

    @pytest.mark.parametrize("loop", LOOP_FACTORIES)
    def test_a_child_left_pending_is_an_error_that_names_it(self, report: str, loop: str) -> None:
        assert outcome(report, f"test_child[{loop}]") == {"PASSED", "ERROR"}, report
        assert report.count("<Task pending name='forgotten'") >= len(LOOP_FACTORIES)

    @pytest.mark.parametrize(
        ("test", "said"),
        [
            ("test_socket", r"descriptor \d+ -> socket:"),
            ("test_thread", "thread astray"),
            ("test_process", rf"child process \d+: {re.escape(sys.executable)} -c"),
        ],
    )
    def test_a_leak_is_an_error_that_says_what_was_left(self, report: str, test: str, said: str) -> None:
        assert outcome(report, test) == {"PASSED", "ERROR"}, report
        assert re.search(said, report), report

    def test_a_warning_is_a_failure(self, report: str) -> None:
        assert outcome(report, "test_warning") == {"FAILED"}, report

    @pytest.mark.parametrize("loop", LOOP_FACTORIES)
    def test_a_coroutine_that_is_never_awaited_is_a_failure(self, report: str, loop: str) -> None:
        assert outcome(report, f"test_never_awaited[{loop}]") == {"FAILED"}, report
        assert "Coroutine created at (most recent call last)" in report

    def test_the_stock_loop_refuses_a_call_from_another_thread(self, report: str) -> None:
        assert outcome(report, "test_wrong_thread[asyncio]") == {"FAILED"}, report
        assert "Non-thread-safe operation" in report

    @pytest.mark.parametrize("loop", LOOP_FACTORIES)
    @pytest.mark.parametrize("test", ["test_hang", "test_spin"])
    def test_a_test_that_never_ends_fails_with_its_timeout(self, report: str, test: str, loop: str) -> None:
        assert "FAILED" in outcome(report, f"{test}[{loop}]"), report
        # pytest-timeout 2.3 writes no parentheses and not its own name.
        assert re.search(r"Failed: Timeout \(?>0\.25s\b", report), report

    def test_examples_that_never_end_are_not_made_smaller(self, report: str) -> None:
        """Each attempt would take as long, and none of them has a timeout any more."""
        assert outcome(report, "test_examples") == {"FAILED"}, report
        assert re.search(r"tests\.conftest\.Overdue: Timeout \(?>0\.5s\b", report), report
        assert "Falsifying example" not in report

    def test_one_bad_test_does_not_disturb_the_next(self, report: str) -> None:
        assert outcome(report, "test_after_all_that") == {"PASSED"}, report


PLACED = """
import actorsession as acts
from tests.default_device import BESIDE, HERE, HOME, TYPE

def test_placed():
    with acts.Session() as session:
        x = acts.constant(1.0, name="x") + 1.0
        assert session.run(x) == 2.0
        assert session.placement()["x"].device == HERE
    assert (TYPE, HOME, BESIDE) == ("TORCH_CPU", "TORCH_CPU:0", ["TORCH_CPU:0"])
"""


TAKES_SIGNALS = """
import signal, subprocess, sys
import pytest

IGNORED = "import signal; print([s for s in signal.Signals if signal.getsignal(s) is signal.SIG_IGN])"

@pytest.fixture(scope="module")
def of_a_child():
    return subprocess.run([sys.executable, "-c", IGNORED], capture_output=True, text=True).stdout

def test_here():
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)

@pytest.mark.parametrize("name", ["SIGINT", "SIGQUIT", "SIGHUP"])
def test_in_children(of_a_child, name):
    assert "SIGPIPE" in of_a_child
    assert name not in of_a_child
"""


@pytest.mark.process
def test_ctrl_c_reaches_tests_and_their_children_where_the_shell_has_them_ignored(tmp_path: Path) -> None:
    """As with ``nohup scripts/test &``, which has SIGINT, SIGQUIT and SIGHUP ignored."""
    in_background = "trap '' INT QUIT HUP; exec "
    report = report_of(tmp_path, TAKES_SIGNALS, shell=in_background)
    assert "4 passed" in report, report


@pytest.mark.process
def test_sessions_prefer_the_device_type_that_is_given(tmp_path: Path) -> None:
    assert "--device MOON: no device type 'MOON' here" in report_of(tmp_path, "", options=["--device", "MOON"])
    pytest.importorskip("torch", reason="torch is not installed")
    assert "1 passed" in report_of(tmp_path, PLACED, options=["--device", "TORCH_CPU"])


COLLECTS = """
import contextlib, io, json, sys
import pytest

found = []
for words in json.loads(sys.argv[1]):
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        pytest.main(words)
    found.append(sorted(line for line in said.getvalue().splitlines() if "::" in line))
print(json.dumps(found))
"""

NAMED = ("test_wheel.py", "engines", "engines/test_one.py")


@pytest.fixture(scope="module")
def collected(tmp_path_factory: pytest.TempPathFactory) -> Mapping[tuple[str, ...], list[str]]:
    """The tests that pytest finds in a suite that stands for ours, by the words of its command line.

    The suite has a test of the wheel, of engines, of links and of graphs.
    """
    folder = tmp_path_factory.mktemp("suite")
    (folder / "here.py").write_text(
        "import pathlib, tests.conftest\ntests.conftest._HERE = pathlib.Path(__file__).parent\n"
    )
    for name in ("test_wheel.py", "engines/test_one.py", "rpc/test_link.py", "graph/test_graph.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("async def test_a(): pass\n")
    (folder / "graph/test_more.py").write_text("import pytest\n@pytest.mark.whole\nasync def test_a(): pass\n")
    options = ["-c", str(ROOT / "pyproject.toml"), "--rootdir", str(folder), "-p", "tests.conftest", "-p", "here"]
    quiet = ["--collect-only", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"]
    chosen = [("--all", "."), (".",), *((name,) for name in NAMED)]
    run = subprocess.run(
        [sys.executable, "-c", COLLECTS, json.dumps([[*options, *quiet, *words] for words in chosen])],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": f"{ROOT}:{folder}", "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        timeout=100,
        check=True,
    )
    return dict(zip(chosen, json.loads(run.stdout), strict=True))


def test_what_is_built_of_the_packages_is_tested_when_everything_is_asked_for(
    collected: Mapping[tuple[str, ...], list[str]],
) -> None:
    loops = sorted(LOOP_FACTORIES)
    files = ["engines/test_one.py", "graph/test_graph.py", "graph/test_more.py", "rpc/test_link.py", "test_wheel.py"]
    assert collected["--all", "."] == [f"{file}::test_a[{loop}]" for file in files for loop in loops]
    some = collected[(".",)]
    assert {test.partition("::")[0] for test in some} == {"graph/test_graph.py", "rpc/test_link.py"}
    assert len(some) == 1 + len(loops)  # loops are the subject of those of rpc


@pytest.mark.parametrize("named", NAMED)
def test_what_is_named_on_the_command_line_is_tested(
    collected: Mapping[tuple[str, ...], list[str]], named: str
) -> None:
    (found,) = collected[(named,)]
    assert found.startswith(named)
