"""``worker`` and ``master``: who they are told to be, by options, a file and the environment."""

from __future__ import annotations

import json
import os
import signal
import stat
from pathlib import Path

import pytest

from actorsession import Graph, Session, ops
from actorsession.cluster import stop_server
from actorsession.cluster.launch.child import _port_file
from actorsession.rpc.security import TOKEN_VARIABLE
from tests.cli.kit import asked, called, ends_in_silence, rest, serving
from tests.cluster.kit import PS0, W0, W1, chain, soon
from tests.cluster.script import is_running
from tests.ports import HoldPorts

pytestmark = pytest.mark.process

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
