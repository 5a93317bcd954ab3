"""Tasks that are started again because their processes have died, and the sessions that go on with them."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, LocalCluster, Session, errors, ops
from actorsession.cluster import TaskEnd
from actorsession.cluster.launch import restart_limit
from actorsession.cluster.launch.worker_process import WorkerProcess
from actorsession.config import ConfigProto
from tests.cluster.kit import PATIENCE, PS0, W0, W1, eventually, long_product, on, soon, until_all
from tests.cluster.process_cluster import FACES, ProcessCluster, process_cluster
from tests.conftest import _HELD_BEFORE
from tests.loops import cancelled

pytestmark = pytest.mark.process

# More deaths than the tests of this file bring about.
OFTEN = 1000


def wait_until(condition: Callable[[], Any]) -> None:
    """Wait for what happens on the loop of a cluster that another thread has."""
    limit = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < limit, "it does not happen"
        time.sleep(0.005)


def kill(held: ProcessCluster, job: str, index: int = 0) -> WorkerProcess:
    """Kill the process of a task, and wait until the other tasks and this program have seen it end."""
    process = held.cluster.process(job, index)
    process.send_signal(signal.SIGKILL)
    held.do(process.wait_ended())
    held.do(until_gone(held, process))
    return process


async def until_gone(held: ProcessCluster, process: WorkerProcess) -> None:
    """Wait until no other task has a connection to a process."""
    others = [p.address for p in held.cluster.processes.values() if p is not process and p.alive]
    await until_all(others, lambda seen: all(k.peer != process.task for k in seen.peers))


@pytest.fixture(scope="module")
def own_processes() -> Iterator[ProcessCluster]:
    with process_cluster({"ps": 1, "worker": 2}, restart=OFTEN) as held:
        yield held


@pytest.fixture
def held(request: pytest.FixtureRequest, own_processes: ProcessCluster) -> Iterator[ProcessCluster]:
    """One ps and two workers that are started again; afterwards all are there and have nothing."""
    yield own_processes
    wait_until(lambda: all(p.alive for p in own_processes.cluster.processes.values()))
    for process in own_processes.cluster.processes.values():
        own_processes.do(AsyncSession.reset(process.address))
    own_processes.until_empty()
    # Those that were started again belong to the cluster, and are not what this test has left.
    before = request.node.stash[_HELD_BEFORE]
    request.node.stash[_HELD_BEFORE] = before.along_with(own_processes.holdings())


# -- workers ---------------------------------------------------------------------------------------
def test_a_session_uses_a_worker_that_died_between_steps_without_an_error(held: ProcessCluster, graph: Graph) -> None:
    """The step waits for the new process, at the same address, and has begun nothing before."""
    x = ops.placeholder("float32", [3])
    here = on(W0, lambda: x + 1.0)
    there = on(W1, lambda: here * 2.0)
    values = np.arange(3, dtype=np.float32)
    for face in FACES:
        session = held.session(face, held.target("worker"), graph=graph)
        np.testing.assert_array_equal(session.run(there, {x: values}), (values + 1) * 2)
        before = held.cluster.restarts[W1]
        former = kill(held, "worker", 1)
        np.testing.assert_array_equal(session.run(there, {x: values}), (values + 1) * 2)
        now = held.cluster.process("worker", 1)
        assert now.pid != former.pid
        assert now.address == former.address
        assert held.cluster.restarts == {**held.cluster.restarts, W1: before + 1}
        session.close()


def test_a_step_during_which_a_worker_dies_says_how_and_the_next_one_runs(held: ProcessCluster, graph: Graph) -> None:
    x = ops.placeholder("float32", [None, None])
    product = on(W1, lambda: long_product(x))
    y = on(W0, lambda: product + 0.0)
    for face in FACES:
        session = held.session(face, held.target("worker"), graph=graph)
        process = held.cluster.process("worker", 1)
        with ThreadPoolExecutor(1) as thread:
            large = np.ones((700, 700), np.float32)
            running = thread.submit(session.run, y, {x: large})
            held.do(until_all([process.address], lambda seen: seen.steps > 0))
            process.send_signal(signal.SIGKILL)
            with pytest.raises(errors.UnavailableError) as info:
                running.result(PATIENCE)
        assert info.value.task == W1
        assert f"{W1} (pid {process.pid}) was killed by SIGKILL; it " in info.value.message
        small = np.eye(2, dtype=np.float32)
        np.testing.assert_allclose(session.run(y, {x: small}), small * 0.0, atol=1e-6)
        session.close()


def test_what_a_ps_without_snapshots_lost_is_an_error_until_restored(held: ProcessCluster, graph: Graph) -> None:
    w = on(PS0, lambda: ops.Variable([1.0, 2.0], name="w"))
    add = on(W1, lambda: w.assign_add([1.0, 1.0]))
    for face in FACES:
        session = held.session(face, held.target("worker"), graph=graph)
        session.run(w.initializer)
        np.testing.assert_array_equal(session.run(add), [2.0, 3.0])
        kill(held, "ps")
        for _ in range(2):
            with pytest.raises(errors.WorkerRestartedError, match="Variables lost: w"):
                session.run(add)
        assert session.reattach(restore=w.initializer).lost == ("w",)
        np.testing.assert_array_equal(session.run(add), [2.0, 3.0])
        session.close()


def test_a_step_waits_no_longer_than_its_limit(held: ProcessCluster, graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    y = on(W1, lambda: x + 1.0)
    session = held.session("sync", held.target("worker"), graph=graph)
    assert session.run(y, {x: 1.0}) == 2.0
    process = held.cluster.process("worker", 1)
    with held.nothing_started():
        process.send_signal(signal.SIGKILL)
        asyncio.run(until_gone(held, process))
        with pytest.raises((errors.UnavailableError, errors.DeadlineExceededError)):
            session.run(y, {x: 1.0}, timeout=0.05)
    assert session.run(y, {x: 1.0}) == 2.0
    session.close()


# -- masters ---------------------------------------------------------------------------------------
def test_a_ps_that_died_with_the_master_is_not_used_as_if_it_had_not(held: ProcessCluster, graph: Graph) -> None:
    v = on(PS0, lambda: ops.Variable(5.0, name="v"))
    session = held.session("sync", held.target("worker"), graph=graph)
    session.run(v.initializer)
    for job in ("ps", "worker"):
        held.cluster.process(job).send_signal(signal.SIGKILL)
    wait_until(lambda: session.session._session.connection.lost_master)
    with pytest.raises(errors.WorkerRestartedError, match=f"has lost what it kept on {PS0}"):
        session.run(v)
    assert session.reattach(restore=v.initializer).lost == ("v",)
    assert session.run(v) == 5.0
    session.close()


def test_state_of_the_session_alone_ends_with_its_master(held: ProcessCluster, graph: Graph) -> None:
    v = on(PS0, lambda: ops.Variable(5.0, name="v"))
    config = ConfigProto(isolate_session_state=True)
    session = held.session("sync", held.target("worker"), graph=graph, config=config)
    session.run(v.initializer)
    kill(held, "worker", 0)
    with pytest.raises(errors.WorkerRestartedError, match=f"has lost what it kept on {PS0}"):
        session.run(v)
    assert session.reattach(restore=v.initializer).lost == ("v",)
    assert session.run(v) == 5.0
    session.close()


# -- what is not started again, and what is given up -------------------------------------------------


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_process_that_was_asked_to_end_is_not_started_again(number: int) -> None:
    ended = asyncio.Event()
    ends: list[TaskEnd] = []

    def on_end(end: TaskEnd) -> None:
        ends.append(end)
        ended.set()

    async with LocalCluster({"worker": 2}, restart=3, on_end=on_end) as cluster:
        process = cluster.process("worker", 1)
        os.kill(process.pid, number)
        await soon(ended.wait())
        assert ends == [TaskEnd(W1, f"{W1} has ended: exit code 0", clean=True, restarts=False)]
        assert cluster.restarts == {W0: 0, W1: 0}
        assert cluster.process("worker", 1) is process


# -- sessions that wait ------------------------------------------------------------------------------


@pytest.fixture
def endless_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """A restart pauses for as long as the test lasts."""
    for name, seconds in {"_FIRST_PAUSE": 10 * PATIENCE, "WINDOW": 100 * PATIENCE}.items():
        monkeypatch.setattr(restart_limit, name, seconds)


async def cancelled_while_it_hangs_up(session: Any, run: Coroutine[Any, Any, Any], monkeypatch: Any) -> None:
    """Cancels a run that goes on after a loss, at the moment at which the lost connection is closed."""
    master, closed, never = session._session.connection.master, asyncio.Event(), asyncio.Event()
    hang_up = master.hang_up

    async def held(grace: float) -> None:
        await hang_up(grace)
        closed.set()
        await never.wait()

    with monkeypatch.context() as patch:
        patch.setattr(master, "hang_up", held)
        running = asyncio.create_task(run)
        await soon(closed.wait())
        await cancelled(running)


async def test_a_session_that_is_closed_while_it_waits_for_its_master_ends_its_runs(
    graph: Graph, endless_pauses: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = ops.placeholder("float32", [])
    y = x + 1.0
    async with LocalCluster({"worker": 1}, restart=1) as cluster:
        session: Any = AsyncSession(cluster.target("worker"), graph=graph)
        assert await soon(session.run(y, {x: 1.0})) == 2.0
        os.kill(cluster.process("worker").pid, signal.SIGKILL)
        await eventually(lambda: session._session.connection.lost_master)
        await cancelled_while_it_hangs_up(session, session.run(y, {x: 1.0}), monkeypatch)
        waiting = [asyncio.create_task(session.run(y, {x: 1.0})) for _ in range(3)]
        await eventually(lambda: session._session.connection.recovery._resuming.locked())
        waiting[0].cancel()
        with pytest.raises(asyncio.CancelledError):
            await soon(waiting[0])
        with pytest.raises(errors.DeadlineExceededError, match="to be started again"):
            await soon(session.run(y, {x: 1.0}, timeout=0.05))
        await soon(session.close())
        for run in waiting[1:]:
            with pytest.raises(errors.CancelledError, match="closed"):
                await soon(run)


# -- programs without a loop -------------------------------------------------------------------------
def test_a_plain_with_starts_tasks_again_too() -> None:
    with Graph().as_default() as graph, graph.device(W1):
        x = ops.placeholder("float32", [])
        y = x + 1.0
    cluster = LocalCluster({"worker": 2}, restart=1)
    with cluster, Session(cluster.target("worker"), graph=graph) as session:
        assert session.run(y, {x: 1.0}) == 2.0
        os.kill(cluster.process("worker", 1).pid, signal.SIGKILL)
        wait_until(lambda: cluster.restarts[W1])
        assert session.run(y, {x: 1.0}) == 2.0
    assert not any(p.alive for p in cluster.processes.values())
