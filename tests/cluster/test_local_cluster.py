"""Clusters of processes on this machine: how they start, what they are told, how they end."""

from __future__ import annotations

import asyncio
import json
import os
import platform
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from queue import Queue
from typing import Any

import pytest

from actorsession import AsyncSession, Graph, LocalCluster, Session, errors, ops
from actorsession.cluster import TaskEnd
from actorsession.cluster.launch.socket_folder import SocketFolder
from actorsession.cluster.launch.worker_process import WorkerProcess
from actorsession.config import ConfigProto
from actorsession.rpc.exit_reports import LAST_LINES
from actorsession.session.targets import master_addresses
from tests.cluster.kit import PATIENCE, PS0, W0, W1, chain, eventually, is_idle, on, soon, until_all
from tests.cluster.script import is_running, script
from tests.loops import cancelled
from tests.rows import few_of

pytestmark = pytest.mark.process


# -- one cluster for all ---------------------------------------------------------------------------
async def test_every_task_is_a_process_with_an_address_of_its_own(processes: LocalCluster) -> None:
    assert sorted(processes.processes) == [PS0, W0, W1]
    assert len({p.pid for p in processes.processes.values()}) == 3
    assert processes.spec.jobs == ["ps", "worker"]
    assert processes.spec.num_tasks("worker") == 2
    assert processes.spec.task_address("worker", 1) == processes.target("worker", 1)
    assert repr(processes) == "<LocalCluster {'ps': 1, 'worker': 2}, 3 of 3 processes alive>"


async def test_a_cluster_says_of_each_task_where_it_is_and_what_it_wrote(processes: LocalCluster) -> None:
    status = processes.status()
    assert sorted(status) == [PS0, W0, W1]
    assert status[W1].address == processes.target("worker", 1)
    assert {(s.node, s.alive, s.restarts, s.fate) for s in status.values()} == {(platform.node(), True, 0, "it runs")}
    assert list(await processes.logs("ps")) == list(processes.process("ps")._lines())


async def test_an_unknown_task_is_named_with_those_that_exist(processes: LocalCluster) -> None:
    with pytest.raises(ValueError, match=r"no task 7 in job 'worker'; there are .*task:1"):
        processes.target("worker", 7)


async def test_a_step_runs_over_all_processes(processes: LocalCluster, graph: Graph) -> None:
    await AsyncSession.reset(processes.target("worker"))  # other tests have a v there, too
    v = on(PS0, lambda: ops.Variable(1.0, name="v"))
    a = ops.placeholder("float32", [])
    x = on(W0, lambda: v * a)
    y = on(W1, lambda: x + v)
    update = on(PS0, lambda: v.assign_add(y))
    async with AsyncSession(processes.target("worker", 0), graph=graph) as session:
        await session.run(v.initializer)
        expected = 1.0
        for value in (2.0, 3.0):
            expected += expected * value + expected
            assert await soon(session.run(update, {a: value})) == expected
        assert [d.task for d in await session.list_devices()] == [W0, PS0, W1]
    await until_all(processes.spec.tasks().values(), is_idle)


async def test_runs_given_up_at_any_moment_leave_nothing_at_any_process(processes: LocalCluster, graph: Graph) -> None:
    a = ops.placeholder("float32", [])
    end = chain(a, 9, (W0, W1, PS0))
    async with AsyncSession(processes.target("worker", 0), graph=graph) as session:
        await session.run(end, {a: 0.0})
        times = []
        for _ in range(20):
            start = time.perf_counter()
            await session.run(end, {a: 0.0})
            times.append(time.perf_counter() - start)
        least = min(times)  # of others, such as the first by a program, most runs would need a small part
        given_up = 0
        for number in range(500):  # on either loop, and so a thousand
            try:
                async with asyncio.timeout(least * (number % 60) / 40):
                    assert await session.run(end, {a: 1.0}) == 10.0
            except TimeoutError:
                given_up += 1
        assert given_up > 100
        assert await session.run(end, {a: 2.0}) == 11.0
        await until_all(processes.spec.tasks().values(), is_idle)


# -- starting and ending ---------------------------------------------------------------------------
def test_a_cluster_has_at_least_one_task() -> None:
    for jobs in ({}, {"worker": 0}, {"worker": -1, "ps": 3}):
        with pytest.raises(ValueError, match="at least one task"):
            LocalCluster(jobs)


@pytest.mark.parametrize("protocol", ["grpc", ""])
def test_a_cluster_of_this_machine_speaks_what_it_can(protocol: str) -> None:
    with pytest.raises(ValueError, match="unix, tcp or tls"):
        LocalCluster({"worker": 1}, protocol=protocol)


DIAL = """
import os, socket, sys
os.setgroups([]); os.setgid(65534); os.setuid(65534)
try:
    socket.socket(socket.AF_UNIX).connect(sys.argv[1])
    print("in")
except OSError as error:
    print(error)
"""


async def test_processes_meet_in_a_folder_that_nobody_else_can_enter() -> None:
    async with LocalCluster({"worker": 2}) as cluster:
        paths = [Path(p.address.removeprefix("unix://")) for p in cluster.processes.values()]
        folder = paths[0].parent
        assert [path.parent for path in paths] == [folder, folder]
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert [path.name for path in paths] == ["worker-0", "worker-1"]
        if os.geteuid() == 0:  # who alone can be another user as well
            told = subprocess.run(
                [sys.executable, "-c", DIAL, str(paths[0])], capture_output=True, text=True, check=True
            )
            assert "Permission denied" in told.stdout
        cluster.process("worker", 1).send_signal(signal.SIGKILL)  # which leaves its socket there
        await cluster.process("worker", 1).wait_ended()
        await cluster.restart("worker", 1)
        assert cluster.target("worker", 1) == f"unix://{paths[1]}"
    assert not folder.exists()


def test_a_place_for_sockets_is_found_where_names_are_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    long = tmp_path / ("x" * 100)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    made = SocketFolder()
    try:
        assert os.path.dirname(made.path) == "/tmp"
        taken = Path(made.address("worker-0").removeprefix("unix://"))
        taken.touch()
        for name in ("worker-0", "worker_" * 30 + "-0"):
            address = made.address(name)
            assert len(address.removeprefix("unix://")) <= 103
            assert address != f"unix://{taken}"
    finally:
        made.remove()
    assert not os.path.exists(made.path)


@pytest.mark.parametrize("name", ["line\nbreak", "\udcff"])
def test_sockets_are_in_no_folder_whose_name_an_address_cannot_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / name).mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / name))
    made = SocketFolder()
    assert os.path.dirname(made.path) == "/tmp"
    made.remove()


def test_the_target_of_a_cluster_in_a_folder_with_a_comma_is_a_target(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(prefix="a, b-", dir="/tmp") as folder:
        monkeypatch.setattr(tempfile, "tempdir", folder)
        made = SocketFolder()
        address = made.address("worker-0")
        assert address.startswith(f"unix://{folder}/")
        assert master_addresses(f"{address},tcp://h:1") == (address, "tcp://h:1")
        made.remove()


def test_without_a_temporary_folder_a_cluster_has_no_place_for_its_sockets(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> str:
        raise FileNotFoundError(2, "No usable temporary directory found in ['/tmp']")

    monkeypatch.setattr(tempfile, "gettempdir", refuse)
    monkeypatch.setattr(tempfile, "mkdtemp", refuse)
    with pytest.raises(errors.ResourceExhaustedError, match=r"no place for its sockets: .*No usable temp"):
        SocketFolder()


def test_a_process_that_was_forked_leaves_the_folder_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    made = SocketFolder()
    monkeypatch.setattr(os, "getpid", lambda: -1)  # as in a fork, whose finalizers run at its end too
    made.remove()
    os.rmdir(made.path)  # FileNotFoundError if it was removed


async def test_a_cluster_starts_and_ends_and_ends_again() -> None:
    cluster = LocalCluster({"worker": 1}, devices=2, protocol="tcp")
    async with cluster:
        assert cluster.target("worker").startswith("tcp://127.0.0.1:")
        pid = cluster.process("worker").pid
        assert is_running(pid)
        async with AsyncSession(cluster.target("worker"), graph=Graph()) as session:
            assert len(await session.list_devices()) == 2
    assert not is_running(pid)
    assert not cluster.process("worker").alive
    assert cluster.process("worker").fate == "exit code 0"
    await cluster.stop()


def test_a_process_that_was_not_started_has_no_id() -> None:
    with pytest.raises(errors.FailedPreconditionError, match=f"{W0} was not started"):
        _ = WorkerProcess("worker", 0).pid


async def test_a_process_that_does_not_come_up_is_reported_with_its_last_lines() -> None:
    with pytest.raises(errors.UnavailableError, match="did not come up: exit code 2") as info:
        await LocalCluster({"no job": 1}).start()
    assert "; its last lines:" in info.value.message
    assert "a job name is a letter" in info.value.message
    assert info.value.task == "/job:no job/replica:0/task:0"


async def test_a_process_that_does_not_end_by_itself_is_killed() -> None:
    async with LocalCluster({"worker": 1}) as cluster:
        process = cluster.process("worker")
        process.send_signal(signal.SIGSTOP)
        await soon(cluster.stop(grace=0.1))
        assert process.fate.startswith("killed by SIGKILL, by the program ")


async def test_the_error_of_a_step_says_how_the_process_it_lost_ended(graph: Graph) -> None:
    """In both faces, of a worker and of the master, and when nobody is there any more."""
    a = ops.placeholder("float32", [])
    end = chain(a, 3)
    config = ConfigProto(operation_timeout_in_ms=500)
    async with LocalCluster({"worker": 2}) as cluster:
        session = AsyncSession(cluster.target("worker"), graph=graph)
        other = Session(cluster.target("worker"), graph=graph)
        assert await session.run(end, {a: 1.0}) == 4.0
        assert await asyncio.to_thread(other.run, end, {a: 1.0}) == 4.0
        for index in (1, 0):
            process = cluster.process("worker", index)
            process.send_signal(signal.SIGKILL)
            for run in (session.run(end, {a: 1.0}), asyncio.to_thread(other.run, end, {a: 1.0})):
                with pytest.raises(errors.UnavailableError) as info:
                    await soon(run)
                first, _, rest = info.value.message.partition(LAST_LINES)[0].partition("; ")
                assert first == f"{process.task} (pid {process.pid}) was killed by SIGKILL"
                assert rest.startswith("it held ")
                for again in (process.task, "SIGKILL", "RunGraph", " link "):
                    assert again not in rest
        late = AsyncSession(cluster.target("worker"), graph=graph, config=config)
        with pytest.raises(errors.UnavailableError, match=r"was killed by SIGKILL.*: no master answers"):
            await late.list_devices()
        for open_still in (session, late):
            await open_still.close()
        await asyncio.to_thread(other.close)


# -- programs without a loop -----------------------------------------------------------------------
def test_a_plain_with_starts_restarts_and_ends_the_processes_for_a_program_that_blocks(graph: Graph) -> None:
    """1. A worker that holds nothing is killed between steps. 2. It is restarted by hand, then killed, and has lost a
    variable. 3. What is asked to end is not started again."""
    x = ops.placeholder("float32", [])
    y = on(W1, lambda: x + 1.0)
    ends: Queue[TaskEnd] = Queue()
    cluster = LocalCluster({"worker": 2}, restart=3, on_end=ends.put)

    def ended(index: int, number: signal.Signals) -> TaskEnd:
        cluster.process("worker", index).send_signal(number)
        return ends.get(timeout=PATIENCE)

    with cluster, Session(cluster.target("worker"), graph=graph) as session:
        assert session.run(y, {x: 1.0}) == 2.0
        assert ended(1, signal.SIGKILL).restarts
        cluster.do(eventually(lambda: cluster.restarts[W1] == 1))
        assert session.run(y, {x: 1.0}) == 2.0
        v = on(W1, lambda: ops.Variable(1.0, name="v"))
        more = v.assign_add(1.0)
        session.run(v.initializer)
        assert session.run(more) == 2.0
        former = cluster.process("worker", 1).pid
        assert cluster.do(cluster.restart("worker", 1)).pid != former
        with pytest.raises(errors.WorkerRestartedError, match="Variables lost: v"):
            session.run(more)
        session.reattach(restore=v.initializer)
        assert session.run(more) == 2.0
        before = cluster.restarts[W1]
        assert ended(1, signal.SIGKILL).restarts
        cluster.do(eventually(lambda: cluster.restarts[W1] == before + 1))
        with pytest.raises(errors.WorkerRestartedError, match="Variables lost: v"):
            session.run(more)
        assert session.reattach(restore=lambda session: session.run(v.initializer)).lost == ("v",)
        assert session.run(more) == 2.0
        processes = [cluster.process("worker", index) for index in (1, 0)]
        for process, number in zip(processes, [signal.SIGTERM, signal.SIGINT], strict=True):
            clean = TaskEnd(process.task, f"{process.task} has ended: exit code 0", clean=True, restarts=False)
            assert ended(process.index, number) == clean
            assert cluster.restarts == {W0: 0, W1: before + 1}
            assert cluster.processes[process.task] is process
    assert [process.alive for process in processes] == [False, False]
    with pytest.raises(errors.FailedPreconditionError, match="await the call itself"):
        cluster.do(cluster.statistics())


def test_after_the_stop_of_its_cluster_a_session_says_at_once_what_happened_and_goes_on_saying_it() -> None:
    with Graph().as_default() as graph:
        v = ops.Variable(1.0)
    with LocalCluster({"worker": 2}) as cluster:
        session, other = [Session(cluster.target("worker", k), graph=graph) for k in range(2)]
        session.run(v.initializer)
        other.run(v.initializer)
        cluster.do(cluster.remove("worker", 1))
        with pytest.raises(errors.UnavailableError, match="task:1 was removed from its cluster by process"):
            other.reattach()
    stopped = "its cluster was stopped in order by process"
    for call, words in (
        (lambda: session.run(v), "was stopped in order"),
        (session.reattach, stopped),
        (lambda: session.run(v), stopped),
        (session.reattach, stopped),
    ):
        with pytest.raises(errors.UnavailableError, match=words) as info:
            call()
        assert "attempt" not in info.value.message or "after 1 attempt;" in info.value.message
    assert "may be tried again" not in info.value.message
    for ended in (session, other):
        ended.close()


@pytest.mark.process
def test_a_plain_with_leaves_nothing_if_a_process_does_not_come_up() -> None:
    cluster = LocalCluster({"worker": 1}, imports=["no_such_module"])
    with pytest.raises(errors.UnavailableError, match="no_such_module"), cluster:
        pass
    with pytest.raises(errors.FailedPreconditionError, match="plain `with`"):
        cluster.do(cluster.statistics())


async def test_close_is_awaited_in_a_coroutine_in_every_state() -> None:
    cluster = LocalCluster({"worker": 1})
    await cluster.close()  # before the start
    starting = asyncio.ensure_future(cluster.start())
    await eventually(lambda: W0 in cluster.processes)
    await cluster.close()
    with pytest.raises(errors.FailedPreconditionError, match="was stopped while it was being started"):
        await starting
    await cluster.close()
    async with LocalCluster({"worker": 1}) as cluster:
        pid = cluster.process("worker").pid
        await cluster.close()
        assert not is_running(pid)


async def test_in_a_coroutine_a_plain_with_says_what_to_write() -> None:
    with pytest.raises(RuntimeError, match="async with"), LocalCluster({"worker": 1}):
        pass


# -- parents ---------------------------------------------------------------------------------------
PARENT = """
    import asyncio, json, os, sys, time
    import actorsession as acts

    async def main():
        async with acts.LocalCluster({"worker": 2}) as cluster:
            print(json.dumps([p.pid for p in cluster.processes.values()]), flush=True)
            %s
            sys.stdin.read()

    asyncio.run(main())
    print("the end", flush=True)
"""


def pids(process: Any) -> list[int]:
    line = process.stdout.readline()
    assert line, process.stderr.read()
    return list(json.loads(line))


def wait_for_end(workers: list[int], seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while any(map(is_running, workers)) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not any(map(is_running, workers))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_workers_die_with_their_parent_however_it_dies(tmp_path: Path, number: int) -> None:
    with script(tmp_path, PARENT % 'print(cluster.target("worker"), flush=True)') as process:
        workers = pids(process)
        assert process.stdout is not None
        folder = Path(process.stdout.readline().strip().removeprefix("unix://")).parent
        assert all(map(is_running, workers))
        assert folder.exists()
        process.send_signal(number)
        process.wait(10)
        wait_for_end(workers, 2.0)
        assert not folder.exists()


def test_workers_of_a_killed_parent_that_has_forked_die_too(tmp_path: Path) -> None:
    """The forked process holds the pipes to the workers open beyond the parent's death."""
    fork = """
            child = os.fork()
            if not child:
                time.sleep(60)
                os._exit(0)
            print(child, flush=True)
    """
    one = PARENT.replace('"worker": 2', '"worker": 1')
    with script(tmp_path, one % fork.strip()) as process:
        workers = pids(process)
        child = int(process.stdout.readline())  # type: ignore[union-attr]
        try:
            process.kill()
            process.wait(10)
            wait_for_end(workers, 5.0)
            assert is_running(child)
        finally:
            os.kill(child, signal.SIGKILL)


def test_ctrl_c_ends_a_program_and_its_workers(tmp_path: Path) -> None:
    with script(tmp_path, PARENT % "await asyncio.Event().wait()") as process:
        workers = pids(process)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    assert process.returncode != 0
    assert "KeyboardInterrupt" in err
    assert "Exception ignored" not in err
    assert "never retrieved" not in err
    wait_for_end(workers, 2.0)


# -- forks -----------------------------------------------------------------------------------------
# A child that does all that may be done with a cluster, and leaves the block by an exception.
TOUCHES = """
    import warnings

    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)  # of forks, from 3.12 on
    import asyncio, multiprocessing, os, signal, sys, time
    import actorsession as acts

    def ignore(result):
        pass

    def touch(cluster, session):
        signal.alarm(60)
        process = cluster.process("worker")
        calls = [
            lambda: ignore(cluster.close()), cluster.kill_now, process.kill_now,
            lambda: cluster.__exit__(None, None, None),
            lambda: process.send_signal(signal.SIGKILL), cluster.__enter__,
            lambda: cluster.do(cluster.restart("worker")), session.close,
        ]
        said = []
        for call in calls:
            try:
                said.append(call() is None)
            except RuntimeError as error:
                said.append("it belongs to the parent process" in str(error))
        assert all(said), said

    def status_of(child):
        end = time.monotonic() + 60
        while time.monotonic() < end:
            done, status = os.waitpid(child, os.WNOHANG)
            if done:
                return status
            time.sleep(0.01)
        os.kill(child, signal.SIGKILL)
        return "the child hung"

    x = acts.constant(1.0) + 1.0

    def plain():
        with acts.LocalCluster({"worker": 1}) as cluster:
            session = acts.Session(cluster.target("worker"))
            session.run(x)
            child = os.fork()
            if not child:
                touch(cluster, session)
                sys.exit(7)
            print("left", status_of(child) >> 8)
            made = multiprocessing.get_context("fork").Process(target=touch, args=(cluster, session))
            made.start()
            made.join(60)
            print("made", made.exitcode)
            print("step", session.run(x), cluster.status()[cluster.process("worker").task].fate)
            cluster.do(cluster.restart("worker"))
            session.close()

    async def leave():
        async with acts.LocalCluster({"worker": 1}) as cluster:
            async with acts.AsyncSession(cluster.target("worker")) as session:
                await session.run(x)
                child = os.fork()
                if not child:
                    signal.alarm(60)
                    sys.exit(7)
                print("left", await asyncio.to_thread(status_of, child) >> 8)
                print("step", await session.run(x), await session.run(x))
                print(cluster.status()[cluster.process("worker").task].fate)
                await cluster.restart("worker")
"""


def said_by(tmp_path: Path, ending: str) -> str:
    with script(tmp_path, TOUCHES + ending) as process:
        out, err = process.communicate(timeout=180)
    assert (process.returncode, err) == (0, "")
    return str(out)


def test_a_forked_child_has_no_effect_on_the_cluster_of_its_parent(tmp_path: Path) -> None:
    assert said_by(tmp_path, "\n    plain()") == "left 7\nmade 0\nstep 2.0 it runs\n"


@pytest.mark.parametrize("run", few_of(["acts.train", "asyncio"], 2), ids=["ours", "stock"])
def test_a_forked_child_leaves_coroutines_without_effect_on_its_parent(tmp_path: Path, run: str) -> None:
    """The child unwinds the parent's coroutines and runs its loop once more, to cancel what is left."""
    if run != "asyncio":
        run = "__import__('actorsession.actors.loops').actors.loops"
    assert said_by(tmp_path, f"\n    {run}.run(leave())") == "left 7\nstep 2.0 2.0\nit runs\n"


# -- life cycles -----------------------------------------------------------------------------------
async def test_a_cluster_is_started_once_and_its_processes_stay_its_own() -> None:
    cluster = LocalCluster({"worker": 1})
    with pytest.raises(errors.FailedPreconditionError, match="the cluster was not started"):
        await cluster.restart("worker")
    starting = asyncio.create_task(cluster.start())
    await asyncio.sleep(0)
    for call in (cluster.start(), cluster.__aenter__(), cluster.add("worker")):
        with pytest.raises(errors.FailedPreconditionError, match="the cluster is being started"):
            await call
    await starting
    pid = cluster.process("worker").pid
    for call in (cluster.start(), cluster.__aenter__()):
        with pytest.raises(errors.FailedPreconditionError, match="the cluster was started already"):
            await call
    assert cluster.process("worker").pid == pid
    await asyncio.gather(cluster.stop(), cluster.stop())
    assert not is_running(pid)
    for call in (cluster.start(), cluster.__aenter__(), cluster.scale("worker", 2)):
        with pytest.raises(errors.FailedPreconditionError, match=r"the cluster was stopped.*make another one"):
            await call
    await cluster.stop()


async def test_a_stop_that_is_cancelled_leaves_neither_process_nor_folder() -> None:
    async with LocalCluster({"worker": 2}) as cluster:
        folder = Path(cluster.target("worker").removeprefix("unix://")).parent
        pids = [process.pid for process in cluster.processes.values()]
        for pid in pids:
            os.kill(pid, signal.SIGSTOP)
        stopping = asyncio.create_task(cluster.stop(grace=600.0))
        await asyncio.sleep(0)
        await cancelled(stopping)
        assert not folder.exists()
        assert not any(map(is_running, pids))


def test_a_plain_with_is_entered_once() -> None:
    cluster = LocalCluster({"worker": 1})
    _ = cluster.close()
    with cluster:
        pid = cluster.process("worker").pid
        with pytest.raises(errors.FailedPreconditionError, match="started already"):
            cluster.do(cluster.start())
        with pytest.raises(RuntimeError, match="belongs to the event loop"):
            cluster.__enter__()
        assert cluster.process("worker").pid == pid
    assert not is_running(pid)
    with pytest.raises(errors.FailedPreconditionError, match="was stopped"), cluster:
        pass
    _ = cluster.close()
