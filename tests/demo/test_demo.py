"""The demo as its users start it: a process of its own, from the first line to the last, or to Ctrl-C."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import pty
import re
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, cast

import pytest

from actorsession import cli
from actorsession.demo.interrupt import GOODBYE

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[2]

# No test waits longer for anything.
PATIENCE_SECONDS = 100.0

# Enough to learn the digits, with something to spare.
STEPS = "300"

needs_proc = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="looks at processes through /proc")


def command(*options: str | Path) -> list[str]:
    return [sys.executable, "-m", "actorsession", "demo", *map(str, options)]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100"}


def run_demo(*options: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*options),
        cwd="/",
        env=environment(),
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )


# -- a whole run -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "a new folder"


@pytest.fixture(scope="module")
def whole_run(output: Path) -> subprocess.CompletedProcess[str]:
    """A run of everything, shortened."""
    return run_demo("--steps", STEPS, "--workers", "2", "--output", output)


@pytest.fixture
def trace(whole_run: subprocess.CompletedProcess[str], output: Path) -> list[dict[str, Any]]:
    events: list[dict[str, Any]] = json.loads((output / "trace.json").read_text())["traceEvents"]
    return events


def table_row(run: subprocess.CompletedProcess[str], where: str) -> dict[str, float]:
    """The numbers of one line of the table, by heading."""
    lines = run.stdout.splitlines()
    heading = next(line for line in lines if "steps/s" in line)
    (row,) = (line for line in lines if re.match(rf"{re.escape(where)} +\d", line))
    numbers = row.removeprefix(where).replace(",", "").split()
    return dict(zip(heading.split(), map(float, numbers), strict=True))


def test_a_run_ends_well_and_says_nothing_on_stderr(whole_run: subprocess.CompletedProcess[str], output: Path) -> None:
    assert (whole_run.returncode, whole_run.stderr) == (0, "")
    # Both models recognise the digits that were held out.
    for where in ("one process", "1 ps + 2 workers"):
        row = table_row(whole_run, where)
        assert row["accuracy"] >= 0.95
        assert row["steps"] == int(STEPS)
        assert row["steps/s"] > 0
    # The learning curves are a png.
    picture = (output / "learning.png").read_bytes()
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert picture.endswith(b"IEND\xaeB`\x82")
    # Nothing else is written.
    assert sorted(path.name for path in output.iterdir()) == ["learning.png", "trace.json"]


def test_the_table_says_what_a_step_moved(whole_run: subprocess.CompletedProcess[str]) -> None:
    local = table_row(whole_run, "one process")
    assert (local["bytes/step"], local["messages/step"]) == (0, 0)
    row = table_row(whole_run, "1 ps + 2 workers")
    # 4,810 parameters out to the worker and their gradients back, and a batch of 64 images from the
    # client: float32 each. The rest is names and framing.
    least = 4 * (2 * (64 * 64 + 64 + 64 * 10 + 10) + 64 * 64)
    assert least < row["bytes/step"] < 1.2 * least
    # The client calls the master and the master the server, and both answer; the server sends the
    # variables together, and the worker the gradients. Constants may go before them.
    assert 4 + 2 <= row["messages/step"] <= 4 + 3


def test_progress_is_told_in_a_few_lines_when_nobody_watches(whole_run: subprocess.CompletedProcess[str]) -> None:
    told = [line for line in whole_run.stdout.splitlines() if f" of {STEPS}" in line]
    assert told[0] == f"  one process: step 0 of {STEPS}"
    assert told[5] == f"  1 ps + 2 workers: step 0 of {STEPS}"
    assert re.fullmatch(rf"  1 ps \+ 2 workers: step {STEPS} of {STEPS}, accuracy 0\.\d{{3}}", told[-1])
    assert len(told) == 10


def test_every_send_of_the_traced_step_meets_its_receive_in_another_process(trace: list[dict[str, Any]]) -> None:
    sent = {e["id"]: e for e in trace if e["ph"] == "s"}
    received = {e["id"]: e for e in trace if e["ph"] == "f"}
    assert Counter(e["ph"] for e in trace if e["ph"] in "sf") == {"s": len(sent), "f": len(sent)}
    assert sent.keys() == received.keys()
    assert all(sent[i]["pid"] != received[i]["pid"] for i in sent)
    assert all(sent[i]["ts"] < received[i]["ts"] for i in sent)
    # All of them: the spans of sending and receiving nodes are as many.
    spans = Counter(e["cat"] for e in trace if e["ph"] == "X")
    assert spans["_Send"] == spans["_Recv"] == len(sent) > 0


def test_the_traced_step_went_over_the_server_and_a_worker(trace: list[dict[str, Any]]) -> None:
    named = {e["args"]["name"] for e in trace if e["name"] == "process_name"}
    tasks = {name.partition(" (")[0]: name for name in named}  # behind it stands how far its clock may be wrong
    shown = {"ps/0", "worker/0", "client", "links", "critical path"}
    assert set(tasks) == shown
    # Spans of the traced step do not overlap on their track.
    tracks = defaultdict(list)
    for event in trace:
        if event["ph"] == "X":
            start = round(event["ts"] * 1000)
            tracks[event["pid"], event["tid"]].append((start, start + round(event["dur"] * 1000)))
    assert all(a[1] <= b[0] for track in tracks.values() for a, b in pairwise(sorted(track)))
    # Variables are on the server and gradients are made by the worker.
    pids = {e["args"]["name"]: e["pid"] for e in trace if e["name"] == "process_name"}
    where = {e["cat"]: e["pid"] for e in trace if e["ph"] == "X"}
    assert where["ResourceApplyGradientDescent"] == pids[tasks["ps/0"]]
    assert where["ReluGrad"] == pids[tasks["worker/0"]]


# -- options ---------------------------------------------------------------------------------------


def test_local_only_starts_no_cluster_and_has_no_trace(tmp_path: Path) -> None:
    run = run_demo("--local-only", "--no-progress", "--steps", STEPS, "--output", tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    assert table_row(run, "one process")["accuracy"] >= 0.95
    assert f" of {STEPS}" not in run.stdout
    assert sorted(path.name for path in tmp_path.iterdir()) == ["learning.png"]


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
@pytest.mark.parametrize(("strategy", "where"), [("ps", "1 ps + 1 worker"), ("allreduce", "1 worker, all-reduce")])
def test_a_convolutional_network_learns_on_another_device_in_one_process_and_on_a_cluster(
    strategy: str, where: str, tmp_path: Path
) -> None:
    options = ["--network", "convolutional", "--device", "torch-cpu", "--strategy", strategy, "--workers", "1"]
    run = run_demo(*options, "--no-progress", "--steps", STEPS, "--output", tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    for place in ("one process", where):
        assert table_row(run, place)["accuracy"] >= 0.95
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    tracks = {(e["pid"], e["tid"]): e["args"]["name"] for e in events if e["name"] == "thread_name"}
    nodes = [e for e in events if e["ph"] == "X" and e["cat"] in ("Conv2D", "ResourceApplyGradientDescent")]
    assert len(nodes) == 2 + 6
    assert {tracks[e["pid"], e["tid"]] for e in nodes} == {"TORCH_CPU:0"}


@pytest.mark.skipif(importlib.util.find_spec("torch") is not None, reason="torch is installed")
def test_a_device_that_is_not_installed_is_named_with_its_extra(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    status, _, err = called(capsys, "--device", "torch-cpu", "--steps", "1", "--output", str(tmp_path))
    assert status == 1
    assert "pip install 'actorsession[torch]'" in err


def test_a_terminal_sees_a_bar_and_gets_its_cursor_back_though_the_model_is_not_good_enough(tmp_path: Path) -> None:
    pytest.importorskip("rich")
    ours, theirs = pty.openpty()
    with open(ours, "rb", buffering=0) as screen:
        process = subprocess.Popen(
            command("--local-only", "--steps", "1", "--output", tmp_path),
            env={**environment(), "TERM": "xterm"},
            stdout=theirs,
            stderr=subprocess.PIPE,
            text=True,
        )
        os.close(theirs)
        shown = b"".join(pieces_until_closed(screen))
        _, complaints = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 1
    assert re.fullmatch(
        r"actorsession demo: one process: accuracy 0\.\d{3} on the held-out images after 1 steps; "
        r"at least 0\.95 was expected\n",
        complaints,
    )
    assert "━━━".encode() in shown
    assert shown.rindex(b"\x1b[?25h") > shown.rindex(b"\x1b[?25l")


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        (["--steps", "0"], "--steps: expected a positive integer, got '0'"),
        (["--steps", "many"], "--steps: expected a positive integer"),
        (["--workers", "-1"], "--workers: expected a positive integer"),
        (["--data", "/no/such/file"], "--data: cannot read the digits file '/no/such/file'"),
        (["--data", __file__], "test_demo.py is not a digits file"),
        (["--output", __file__], "test_demo.py: File exists"),
        (["--network", "deep"], "--network: invalid choice: 'deep' (choose from "),
        (["--device", "gpu"], "--device: invalid choice: 'gpu' (choose from "),
        (["--on", "the moon"], "--on: invalid choice: 'the moon' (choose from "),
        (["--surprise"], "there is no option --surprise; see actorsession demo --help"),
    ],
    ids=lambda value: " ".join(value[:1]) if isinstance(value, list) else "",
)
def test_impossible_options_are_refused(options: list[str], complaint: str, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = called(capsys, *options)
    assert (status, out) == (2, "")
    assert complaint in err
    assert "Traceback" not in err


def test_an_engine_that_is_not_installed_is_named_with_its_extra(
    uninstall: Callable[[str], None], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    uninstall("ray")
    options = ["--on", "ray", "--steps", "1", "--output", str(tmp_path)]
    status, _, err = called(capsys, *options)
    assert status == 1
    assert err == "actorsession demo: a RayCluster needs Ray: pip install 'actorsession[ray]'\n"


def test_help_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = called(capsys, "--help")
    assert status == 0
    options = "data device local-only network no-progress on output steps strategy workers"
    for option in options.split():
        assert f"--{option} " in out


def called(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str, str]:
    """Exit status, output and errors of a demo that never begins, in this process."""
    try:
        status = cli.main(["demo", *options])
    except SystemExit as ended:
        status = cast("int", ended.code)
    return status, *capsys.readouterr()


def pieces_until_closed(screen: Any) -> Iterator[bytes]:
    with contextlib.suppress(OSError):  # how Linux says that the other end of a terminal is closed
        while piece := screen.read(65536):
            yield piece


# -- Ctrl-C ----------------------------------------------------------------------------------------


class Started:
    """A demo under way, with a mark by which all its processes can be found.

    SIGINT is ignored until the demo asks for it, as ``scripts/demo`` does: an interpreter that is just
    starting would answer with a traceback.
    """

    def __init__(self, output: Path, *options: str) -> None:
        self._mark = f"demo-{uuid.uuid4().hex}"
        self.process = subprocess.Popen(
            ["sh", "-c", 'trap "" INT; exec "$@"', "sh", *command("--output", output, *options)],
            env=environment() | {"MARK_OF_THE_TEST": self._mark},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self._said = ""

    def wait_for_handler(self) -> None:
        """Waits until the demo has asked for SIGINT; another process can only be polled.

        It has to be Python's process by then: while the shell is being loaded its handlers are still ours.
        """
        folder = Path(f"/proc/{self.process.pid}")
        give_up = time.monotonic() + PATIENCE_SECONDS
        while time.monotonic() < give_up:
            program = (folder / "cmdline").read_text().split("\0")[0]
            (caught,) = re.findall(r"^SigCgt:\s*(\w+)", (folder / "status").read_text(), re.MULTILINE)
            if program == sys.executable and int(caught, 16) >> (signal.SIGINT - 1) & 1:
                return
            time.sleep(0.001)
        raise AssertionError("the demo never asked for SIGINT")

    def wait_for_line(self, text: str) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self._said += line
            if text in line:
                return
        raise AssertionError(f"the demo ended without saying {text!r}: {self._said}")

    def interrupt(self) -> None:
        """What Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)

    def wait_for_end(self) -> tuple[str, str]:
        said, complaints = self.process.communicate(timeout=PATIENCE_SECONDS)
        return self._said + said, complaints

    def processes(self) -> list[int]:
        return [pid for pid in map(_number, Path("/proc").iterdir()) if pid and self._owns(pid)]

    def _owns(self, pid: int) -> bool:
        try:
            return self._mark.encode() in Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            return False  # gone, or somebody else's

    def kill(self) -> None:
        for pid in self.processes():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.communicate()


def _number(folder: Path) -> int:
    return int(folder.name) if folder.name.isdigit() else 0


def under_way(folder: Path, steps: int, workers: int) -> Iterator[Started]:
    """A demo that does not end by itself: where its picture goes is a pipe that nobody reads."""
    os.mkfifo(folder / "learning.png")
    started = Started(folder, "--steps", str(steps), "--workers", str(workers))
    yield started
    started.kill()


@pytest.fixture
def demo(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Started]:
    """A demo under way, which tells of every fiftieth step and does not end by itself.

    A parameter says how many workers it has besides its server.
    """
    yield from under_way(tmp_path, 200, request.param)


@pytest.fixture
def long_demo(tmp_path: Path) -> Iterator[Started]:
    """The same with so many steps that most are still to come when the first quarter is told."""
    yield from under_way(tmp_path, 1000, 2)


@needs_proc
@pytest.mark.parametrize(
    ("demo", "line"),
    [
        pytest.param(1, None, id="while it imports"),
        pytest.param(1, "one process: step 0 of", id="in one process"),
        pytest.param(1, "1 worker: step 0 of", id="while the cluster starts"),
        pytest.param(2, "workers: step 5", id="in the middle of training"),
        pytest.param(1, "Trace of one step", id="while it draws"),
    ],
    indirect=["demo"],
)
def test_ctrl_c_ends_it_at_once_and_leaves_nothing_running(demo: Started, line: str | None) -> None:
    if line is None:
        demo.wait_for_handler()
    else:
        demo.wait_for_line(line)
    demo.interrupt()
    said, complaints = demo.wait_for_end()  # which would not come by itself
    assert (demo.process.returncode, complaints) == (0, "")
    assert said.endswith(f"{GOODBYE}\n")
    assert said.count(GOODBYE) == 1
    assert demo.processes() == []


@needs_proc
@pytest.mark.parametrize("demo", [pytest.param(1, id="one worker")], indirect=True)
def test_ctrl_c_twice_is_no_worse_than_once(demo: Started) -> None:
    demo.wait_for_line("1 worker: step 5")
    demo.interrupt()
    demo.interrupt()
    said, complaints = demo.wait_for_end()
    assert (demo.process.returncode, complaints) == (0, "")
    assert said.count(GOODBYE) == 1
    assert demo.processes() == []


@needs_proc
def test_a_worker_that_dies_is_named_and_the_others_are_ended(long_demo: Started) -> None:
    long_demo.wait_for_line("workers: step 2")
    server = next(pid for pid in long_demo.processes() if b"--job\0ps\0" in Path(f"/proc/{pid}/cmdline").read_bytes())
    os.kill(server, signal.SIGKILL)
    _, complaints = long_demo.wait_for_end()
    assert long_demo.process.returncode == 1
    assert re.fullmatch(r"actorsession demo: .*/job:ps/replica:0/task:0.*\n", complaints)
    assert long_demo.processes() == []
