"""``cluster``, ``worker`` and ``master`` as processes: who they are told to be, and how they end."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from actorsession import Graph, Session, ops
from actorsession.cluster import stop_server
from actorsession.cluster.launch.child import _port_file
from actorsession.rpc.security import TOKEN_VARIABLE
from tests.cli.kit import asked, called, ends_in_silence, rest, serving
from tests.cluster.exit_on_import import ExitOnImport
from tests.cluster.kit import PATIENCE, PS0, W0, W1, chain, soon
from tests.cluster.script import command, environment, is_running, running
from tests.cluster.test_local_cluster import wait_for_end
from tests.ports import HoldPorts
from tests.rows import few_of

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


def test_a_death_is_one_line_also_where_the_log_has_it() -> None:
    with serving("cluster", "--jobs", "worker=1", "--restart", "3", ACTORSESSION_LOG="info") as (process, said):
        os.kill(said["tasks"][W0]["pid"], signal.SIGKILL)
        first = error_line(process)
        wait_until_answers(said["tasks"][W0]["address"])
        process.send_signal(signal.SIGINT)
        code, _, more = rest(process)
    assert code == 0
    assert [line for line in (first + more).splitlines() if "killed by SIGKILL; it is started again" in line] == [
        first.rstrip("\n")
    ]


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


@pytest.mark.parametrize("number", few_of([signal.SIGTERM, signal.SIGINT, signal.SIGKILL], 2))
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


ONE = json.dumps({"worker": ["127.0.0.1:0"]})


MASTER = "/job:master/replica:0/task:0"


def test_a_worker_says_who_it_is_and_where_as_json_and_in_a_file_and_holds_its_port(tmp_path: Path) -> None:
    path = tmp_path / "address"
    with serving("worker", "--cluster", ONE, "--port-file", str(path)) as (process, said):
        assert said == {"task": W0, "role": "worker", "address": said["address"], "pid": process.pid}
        assert said["address"].startswith("tcp://127.0.0.1:")
        assert path.read_text() == said["address"] + "\n"
        assert asked("status", path.read_text().strip())["tasks"][W0]["sessions"] == 0

        code, out, err = called("worker", "--cluster", json.dumps({"worker": [said["address"]]}))
        assert (code, out) == (1, "")
        assert err.startswith(f"actorsession worker: {W0} cannot listen at {said['address']}: ")
        assert "in use" in err
        assert err.count("\n") == 1

        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        ends_in_silence(process, signal.SIGINT)
    assert list(tmp_path.iterdir()) == []


def test_a_server_leaves_the_port_file_of_its_successor(tmp_path: Path) -> None:
    """And writes its own over what somebody has put there, without waiting for a reader."""
    path = tmp_path / "address"
    os.mkfifo(path)
    with _port_file(str(path), "tcp://127.0.0.1:1"):
        assert path.read_text() == "tcp://127.0.0.1:1\n"
        with _port_file(str(path), "tcp://127.0.0.1:2"):
            pass
        assert not path.exists()
    with _port_file(str(path), "tcp://127.0.0.1:1"):
        path.write_text("tcp://127.0.0.1:12\n")
    assert path.read_text() == "tcp://127.0.0.1:12\n"


def test_tf_config_says_cluster_and_task(hold_ports: HoldPorts) -> None:
    (port,) = hold_ports(1)
    config = json.dumps(
        {
            "cluster": {"ps": ["127.0.0.1:1"], "worker": ["127.0.0.1:1", f"127.0.0.1:{port}"]},
            "task": {"type": "worker", "index": 1},
        }
    )
    with serving("worker", TF_CONFIG=config) as (process, said):
        assert (said["task"], said["address"]) == (W1, f"tcp://127.0.0.1:{port}")
        ends_in_silence(process)


def test_a_file_that_a_variable_names_says_the_cluster_and_options_say_the_task(tmp_path: Path) -> None:
    path = tmp_path / "cluster.toml"
    path.write_text('cluster_id = "ours"\n[cluster]\nps = ["127.0.0.1:0"]\nworker = ["h:1"]\n')
    with serving("worker", "--job", "ps", ACTORSESSION_CONFIG=str(path)) as (process, said):
        assert said["task"] == PS0
        ends_in_silence(process)


def test_a_worker_follows_a_file_that_changes(tmp_path: Path, graph: Graph, hold_ports: HoldPorts) -> None:
    """The second worker ends, comes back at another port, and the file says so."""
    ports = hold_ports(3)
    path = tmp_path / "cluster.json"
    a = ops.placeholder("float32", [])
    end = chain(a, 4)

    def write(second: int) -> None:
        addresses = [f"127.0.0.1:{ports[0]}", f"127.0.0.1:{ports[second]}"]
        new = tmp_path / "new"
        new.write_text(json.dumps({"cluster": {"worker": addresses}}))
        os.replace(new, path)

    write(1)
    words = ["worker", "--config", str(path), "--job", "worker", "--task"]
    with serving(*words, "0") as (_, first):
        for number, second in enumerate((1, 2)):
            write(second)
            with serving(*words, "1") as (process, said):
                assert said["address"].endswith(f":{ports[second]}")
                with Session(first["address"], graph=graph) as session:
                    assert session.run(end, {a: float(number)}) == number + 4.0
                ends_in_silence(process)


async def test_a_worker_that_is_asked_to_stop_ends_like_one_that_got_a_signal() -> None:
    with serving("worker", "--cluster", ONE) as (process, said):
        assert await soon(stop_server(said["address"])) == W0
        assert rest(process) == (0, "", "")


def test_a_master_beside_a_cluster_runs_steps_that_cross_it(graph: Graph, hold_ports: HoldPorts) -> None:
    """The workers have never heard of the master's task, and push tensors to it nevertheless."""
    words = ["--cluster", json.dumps({"worker": [f"127.0.0.1:{port}" for port in hold_ports(2)]})]
    a = ops.placeholder("float32", [])
    end = chain(a, 6, (W0, MASTER, W1))
    with (
        serving("worker", "--task", "0", *words) as (first, _),
        serving("worker", "--task", "1", *words) as (second, _),
        serving("master", *words) as (master, said),
    ):
        assert (said["task"], said["role"]) == (MASTER, "master")
        with Session(said["address"], graph=graph) as session:
            assert session.list_devices()[0].task == MASTER
            assert session.run(end, {a: 1.0}) == 7.0
        for process in (master, first, second):
            ends_in_silence(process)


def test_a_master_that_is_a_task_listens_there_with_devices_as_said(graph: Graph, hold_ports: HoldPorts) -> None:
    (port,) = hold_ports(1)
    cluster = json.dumps({"worker": [f"127.0.0.1:{port}"], "ps": ["127.0.0.1:1"]})
    words = ["--cluster", cluster, "--job", "worker", "--devices", "3"]
    with serving("master", *words) as (process, said):
        assert said["address"] == f"tcp://127.0.0.1:{port}"
        assert (said["task"], said["role"]) == (W0, "master")
        with Session(said["address"], graph=graph) as session:
            assert sum(device.task == W0 for device in session.list_devices()) == 3
        assert is_running(process.pid)
        process.send_signal(signal.SIGTERM)
        code, out, err = rest(process)
        assert (code, out) == (0, "")
        (line,) = err.splitlines()
        assert f"begins without {PS0}" in line


def test_a_master_listens_beyond_loopback_with_a_token_only() -> None:
    words = ["master", "--cluster", ONE, "--listen", "0.0.0.0:0"]
    code, _, err = called(*words)
    assert code == 2
    assert "no token" in err
    with serving(*words, **{TOKEN_VARIABLE: "sixteen or more."}) as (process, said):
        assert said["address"].startswith("tcp://0.0.0.0:")
        ends_in_silence(process)
