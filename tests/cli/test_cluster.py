"""``cluster``: processes that live as long as the command does."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from actorsession import Graph, Session, ops
from tests.cli.kit import asked, called, rest, serving
from tests.cluster.exit_on_import import ExitOnImport
from tests.cluster.kit import PATIENCE, PS0, W0, W1, chain
from tests.cluster.script import command, environment, is_running, running
from tests.cluster.test_local_cluster import wait_for_end

pytestmark = pytest.mark.process


def pids(said: Any) -> list[int]:
    return [task["pid"] for task in said["tasks"].values()]


def children(process: subprocess.Popen[str]) -> list[int]:
    """The processes that the main thread of a process has started and that it has not seen end."""
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return [int(pid) for pid in listed.split()]


def error_line(process: subprocess.Popen[str]) -> str:
    """The next line that a process writes to standard error."""
    assert process.stderr is not None
    return process.stderr.readline()


def wait_until_answers(address: str) -> None:
    """Wait until a task serves at an address."""
    limit = time.monotonic() + PATIENCE
    while called("status", address)[0] != 0:
        assert time.monotonic() < limit, f"nothing answers at {address}"


def workers_of(said: Any, task: str) -> list[int]:
    """The processes of a task of job "worker" of a cluster that run, with their guards."""
    folder, number = os.path.dirname(said["tasks"][W0]["address"]), task.rpartition(":")[2]
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            words = file.read_text().replace("\0", " ")
            if folder in words and f" --task {number} " in words:
                found.append(int(file.parent.name))
    return [pid for pid in found if is_running(pid)]


def test_a_cluster_lives_until_ctrl_c_and_ends_in_silence() -> None:
    graph = Graph()
    with graph.as_default():
        a = ops.placeholder("float32", [])
        end = chain(a, 6, (W0, PS0, W1))
    with serving("cluster", "--jobs", "ps=1,worker=2") as (process, said):
        assert list(said["tasks"]) == [PS0, W0, W1]
        with Session(said["tasks"][W0]["address"], graph=graph) as session:
            assert session.run(end, {a: 1.0}) == 7.0
        assert all(map(is_running, pids(said)))
        process.send_signal(signal.SIGINT)
        assert rest(process) == (0, "", "")
        assert not any(map(is_running, pids(said)))


def test_without_json_it_prints_a_line_for_each_task_and_ends_at_sigterm_too() -> None:
    with running(command("cluster", "--jobs", "worker=2")) as process:
        assert process.stdout is not None
        lines = [process.stdout.readline() for _ in range(3)]
        assert lines[0].startswith(f"{W0} serves at unix:///")
        assert lines[1].startswith(f"{W1} serves at unix:///")
        assert lines[2] == "the cluster is up; Ctrl-C ends it\n"
        workers = children(process)
        assert sum(map(is_running, workers)) >= 2
        process.send_signal(signal.SIGTERM)
        assert rest(process) == (0, "", "")
        assert not any(map(is_running, workers))


def test_the_processes_die_with_a_command_that_is_killed() -> None:
    with serving("cluster", "--jobs", "worker=2") as (process, said):
        process.kill()
        process.wait(PATIENCE)
        wait_for_end(pids(said), 2.0)


def test_a_signal_while_it_starts_leaves_no_process() -> None:
    with running(command("cluster", "--jobs", "worker=2")) as process:
        while not (found := children(process)):
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        code, out, err = rest(process)
        assert code in (0, -signal.SIGTERM), (out, err)
        wait_for_end(found, 2.0)


def test_a_process_that_dies_is_reported_and_the_others_go_on() -> None:
    with serving("cluster", "--jobs", "worker=2") as (process, said):
        os.kill(said["tasks"][W1]["pid"], signal.SIGKILL)
        assert process.stderr is not None
        assert process.stderr.readline().startswith(f"actorsession cluster: {W1} has ended: killed by SIGKILL")
        assert asked("status", said["tasks"][W0]["address"])["tasks"][W0]["steps"] == 0
        os.kill(said["tasks"][W0]["pid"], signal.SIGKILL)
        code, out, err = rest(process)
        assert (code, out) == (1, "")
        assert f"{W0} has ended" in err


def test_a_task_that_dies_is_started_again_and_each_restart_is_a_line() -> None:
    with serving("cluster", "--jobs", "worker=2", "--restart", "3") as (process, said):
        former, address = said["tasks"][W1]["pid"], said["tasks"][W1]["address"]
        os.kill(former, signal.SIGKILL)
        line = error_line(process)
        assert line.startswith(
            f"actorsession cluster: {W1} has ended: killed by SIGKILL; it is started again "
            "(1 of 3 times in 60 s); it held "
        )
        wait_until_answers(address)
        assert asked("status", address)["tasks"][W1]["pid"] != former
        process.send_signal(signal.SIGINT)
        assert rest(process) == (0, "", "")


@pytest.fixture
def exit_on_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ExitOnImport:
    """A module that all processes of a command can import."""
    path = os.pathsep.join([environment()["PYTHONPATH"], str(tmp_path)])
    monkeypatch.setattr("tests.cli.kit.environment", lambda **more: environment(PYTHONPATH=path))
    return ExitOnImport(tmp_path)


def test_a_task_that_dies_at_every_start_is_given_up_and_the_command_fails(exit_on_import: ExitOnImport) -> None:
    words = ["cluster", "--jobs", "worker=1", "--restart", "1", "--import", exit_on_import.name]
    with serving(*words) as (process, said):
        exit_on_import.begin()
        os.kill(said["tasks"][W0]["pid"], signal.SIGKILL)
        code, out, err = rest(process)
    assert (code, out) == (1, "")
    first, second = err.splitlines()
    assert "killed by SIGKILL; it is started again (1 of 1 times in 60 s)" in first
    reason = "could not be started: the process did not come up: exit code 3; "
    assert second.startswith(f"actorsession cluster: {W0} {reason}")
    assert second.endswith("it was started again once in 60 s, the limit")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_signal_in_the_middle_of_a_restart_leaves_no_process(exit_on_import: ExitOnImport, number: int) -> None:
    """The third attempt comes after a pause of 1.6 s; at SIGKILL it has just begun."""
    words = ["cluster", "--jobs", "worker=2", "--restart", "9", "--import", exit_on_import.name]
    with serving(*words) as (process, said):
        exit_on_import.begin()
        os.kill(said["tasks"][W1]["pid"], signal.SIGKILL)
        for times in (1, 2, 3):
            assert f"started again ({times} of 9 times in 60 s)" in error_line(process)
        if number == signal.SIGKILL:
            exit_on_import.end()
            while not workers_of(said, W1):
                assert process.poll() is None
        left = workers_of(said, W0) + workers_of(said, W1)
        process.send_signal(number)
        process.wait(PATIENCE)
        wait_for_end(left, PATIENCE)
        assert workers_of(said, W0) == workers_of(said, W1) == []
        if number != signal.SIGKILL:
            assert rest(process) == (0, "", "")


def test_a_cluster_whose_tasks_were_all_stopped_is_done() -> None:
    with serving("cluster", "--jobs", "worker=2") as (process, said):
        assert sorted(asked("stop", said["tasks"][W0]["address"], "--all")["ended"]) == [W0, W1]
        assert rest(process) == (0, "", "")


def test_a_cluster_that_does_not_come_up_says_why_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "msgpack.py").write_text("raise ImportError('this msgpack is broken')\n")
    # The command itself has imported the good one by then: only its children see the path.
    code = (
        "import sys, os, msgpack; from actorsession import cli;"
        f"os.environ['PYTHONPATH'] = {str(tmp_path)!r} + os.pathsep + os.environ['PYTHONPATH'];"
        "sys.exit(cli.main(['cluster', '--jobs', 'worker=1']))"
    )
    with running([sys.executable, "-c", code]) as process:
        status, out, err = rest(process)
    assert (status, out) == (1, "")
    assert err.startswith("actorsession cluster: the process did not come up: exit code 1; ")
    assert "actorsession worker: this msgpack is broken; actorsession doctor shows" in err
    assert err.endswith(f"[task {W0}]\n")
    assert err.count("\n") == 1
