"""Worker processes as people start them by hand: fixed ports, JSON, signals, silence."""

from __future__ import annotations

import json
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, Session, ops
from actorsession.cluster.launch.worker_process import LAST_WORD
from actorsession.errors import UnauthenticatedError
from actorsession.rpc.security import TOKEN_VARIABLE
from tests.cluster.kit import PATIENCE, W0, W1, chain, on
from tests.cluster.script import command, environment, running
from tests.ports import HoldPorts

pytestmark = pytest.mark.process

ONE = json.dumps({"worker": ["127.0.0.1:0"]})


def line_of(process: subprocess.Popen[str]) -> str:
    """The next line that a process prints."""
    assert process.stdout is not None
    readable, _, _ = select.select([process.stdout], [], [], PATIENCE)
    assert readable, "the process prints nothing"
    return process.stdout.readline()


@contextmanager
def worker(index: int, cluster: str, *more: str, **options: Any) -> Iterator[tuple[Any, str]]:
    """A worker that serves, and where."""
    words = command("worker", "--job", "worker", "--task", str(index), "--cluster", cluster, *more)
    with running(words, **options) as process:
        line = line_of(process)
        task = f"/job:worker/replica:0/task:{index}"
        assert line.startswith(f"{task} serves at tcp://127.0.0.1:"), line
        assert line.endswith("; Ctrl-C ends it\n")
        yield process, line.split()[3].rstrip(";")


def ends_in_silence(process: subprocess.Popen[str], number: int) -> None:
    process.send_signal(number)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (0, "", "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_a_worker_with_code_0_and_nothing_on_stderr(number: int) -> None:
    with worker(0, ONE) as (process, _):
        ends_in_silence(process, number)


def test_two_workers_started_by_hand_run_a_step_and_end_in_silence(graph: Graph, hold_ports: HoldPorts) -> None:
    addresses = [f"127.0.0.1:{port}" for port in hold_ports(2)]
    cluster = json.dumps({"worker": addresses})
    a = ops.placeholder("float32", [3])
    end = chain(a, 4)
    with worker(0, cluster) as (first, target), worker(1, cluster) as (second, other):
        assert [target, other] == [f"tcp://{address}" for address in addresses]
        for where in (target, other):
            with Session(where, graph=graph) as session:
                np.testing.assert_array_equal(session.run(end, {a: [1, 2, 3]}), [5, 6, 7])
        session = Session(target, graph=graph)
        session.run(end, {a: [1, 2, 3]})
        for process in (second, first):  # with a session that is still open
            ends_in_silence(process, signal.SIGTERM)
        session.close()


def test_a_sparse_job_comes_with_numbers_as_strings(graph: Graph, hold_ports: HoldPorts) -> None:
    cluster = json.dumps({"worker": {"1": f"127.0.0.1:{hold_ports(1)[0]}"}})
    with worker(1, cluster, "--devices", "2") as (_, target), Session(target, graph=graph) as session:
        assert [d.name for d in session.list_devices()] == [f"{W1}/device:CPU:{i}" for i in range(2)]


def test_a_worker_of_a_cluster_with_an_id_serves_clients_that_have_none(graph: Graph) -> None:
    with worker(0, ONE, "--cluster-id", "mine") as (_, target), Session(target, graph=graph) as session:
        assert session.run(ops.constant(2.0) * 3.0) == 6.0


def test_a_worker_takes_its_token_from_the_environment(graph: Graph, monkeypatch: Any) -> None:
    options = {"env": environment(**{TOKEN_VARIABLE: "secret"})}
    a = ops.placeholder("float32", [])
    end = on(W0, lambda: a + 1.0)
    with worker(0, ONE, **options) as (_, target):
        with Session(target, graph=graph) as session, pytest.raises(UnauthenticatedError):
            session.run(end, {a: 1.0})
        monkeypatch.setenv(TOKEN_VARIABLE, "secret")
        with Session(target, graph=graph) as session:
            assert session.run(end, {a: 1.0}) == 2.0


# -- as the child of a local cluster ---------------------------------------------------------------
@contextmanager
def child(cluster: str = ONE) -> Iterator[Any]:
    with running(command("worker", "--job", "worker", "--cluster", cluster, "--announce")) as process:
        yield process


def test_a_child_announces_its_address_learns_the_cluster_and_ends_with_its_input() -> None:
    with child() as process:
        said = json.loads(line_of(process))
        assert said["pid"] == process.pid
        process.stdin.write(json.dumps({"worker": [said["address"]]}) + "\n")
        process.stdin.flush()
        assert json.loads(line_of(process)) == {"ready": True}
        out, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, out, err) == (0, "", "")


def test_a_child_whose_parent_says_nothing_ends_too() -> None:
    with child() as process:
        line_of(process)
        out, err = process.communicate(timeout=PATIENCE)
        assert (process.returncode, out, err) == (0, "", "")


@pytest.mark.parametrize("dismissed", [False, True])
def test_a_child_removes_the_folder_of_its_socket_if_its_parent_has_died(dismissed: bool, tmp_path: Path) -> None:
    """A parent that has closed the pipe without a word has died, though we may not be orphans yet."""
    folder = tmp_path / "sockets"
    folder.mkdir(0o700)
    cluster = json.dumps({"worker": [f"unix://{folder}/worker"]})
    with child(cluster) as process:
        line_of(process)
        process.stdin.write(cluster + "\n")
        process.stdin.flush()
        line_of(process)
        _ = process.communicate(LAST_WORD.decode() if dismissed else "", timeout=PATIENCE)
        assert process.returncode == 0
    assert folder.exists() == dismissed


def test_a_child_that_is_told_nonsense_says_so_and_ends() -> None:
    with child() as process:
        line_of(process)
        process.stdin.write("nonsense\n")
        process.stdin.flush()
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode != 0
        assert "nonsense" in err
        assert "Traceback" not in err


GUARDED = """
import os, signal, sys
from actorsession.cluster.launch.process_guard import ProcessGuard

guard = ProcessGuard(0.0, with_parent=False)  # it kills as soon as it is told of a signal
signal.signal(signal.SIGTERM, lambda *_: None)
with guard.watching([signal.SIGTERM]):
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.write(writer, b"x")
        signal.alarm(60)
        signal.pause()
        os._exit(0)
    os.read(reader, 1)
    os.kill(child, signal.SIGTERM)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM
    if sys.argv[1:]:
        os.kill(os.getpid(), signal.SIGTERM)
    os.close(guard._pipe)
    os.waitpid(guard._pid, 0)  # it has read what there was
    print("alive", flush=True)
    os._exit(0)
"""


@pytest.mark.parametrize(("words", "code"), [([], 0), (["own"], -signal.SIGKILL)], ids=["child", "own"])
def test_a_guard_kills_for_signals_of_its_process_and_not_of_a_forked_child(words: list[str], code: int) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", GUARDED, *words], capture_output=True, timeout=60, check=False, env=environment()
    )
    assert (ran.returncode, ran.stdout) == (code, b"" if code else b"alive\n"), ran.stderr
