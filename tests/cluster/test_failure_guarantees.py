"""The README's promises on real processes: tasks that die or are missing, runs that are given up."""

from __future__ import annotations

import asyncio
import concurrent.futures
import os
import signal
import socket
import threading
import time
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession.config import CONNECT_TIMEOUT
from actorsession.errors import DeadlineExceededError, InvalidArgumentError, OpError, UnavailableError
from tests.cluster.kit import is_idle, soon, until_all
from tests.cluster.process_cluster import ProcessCluster
from tests.cluster.slow_graph import LARGE, LONG, WORKER_1, begin_long, eventually, slow_graph
from tests.loops import run_to_end

pytestmark = pytest.mark.process


@pytest.fixture
def cluster(mortal: ProcessCluster) -> acts.LocalCluster:
    """For tests that kill a process; the others share theirs. No lease tells that a task is gone."""
    return mortal.cluster


async def nothing_pending(cluster: acts.LocalCluster) -> bool:
    counted = await cluster.statistics()
    return all(s.steps == 0 and s.rendezvous == 0 for s in counted.values())


async def test_a_task_killed_in_mid_step_fails_the_step_at_once_by_name(cluster: acts.LocalCluster) -> None:
    slow = slow_graph(LONG)
    async with acts.AsyncSession(cluster.target("worker", 0), graph=slow.graph) as session:
        await session.run(slow.init)
        run = await begin_long(session, slow)
        cluster.process("worker", 1).send_signal(signal.SIGKILL)
        with pytest.raises(UnavailableError) as caught:
            await soon(run)
        assert caught.value.task == WORKER_1
        # What does not need the dead task goes on, and what does says so again.
        assert await session.run(slow.here, {slow.x: 4}) == 8
        with pytest.raises(UnavailableError, match="worker/replica:0/task:1"):
            await session.run(slow.across, {slow.x: 1})


async def test_a_step_that_needs_a_task_that_is_missing_names_it_and_no_other_step_does(
    cluster: acts.LocalCluster,
) -> None:
    """Also in a session that is created when the task is missing already."""
    cluster.process("worker", 1).send_signal(signal.SIGKILL)
    slow = slow_graph()
    config = acts.ConfigProto(operation_timeout_in_ms=4000)
    async with acts.AsyncSession(cluster.target("worker", 0), graph=slow.graph, config=config) as session:
        await session.run(slow.init)
        assert await session.run(slow.here, {slow.x: 4}) == 8
        began = time.monotonic()
        with pytest.raises(DeadlineExceededError, match=WORKER_1) as caught:
            await session.run(slow.across, {slow.x: 1})
    # The limit of the session counted, and not the default of 30 s.
    assert time.monotonic() - began < CONNECT_TIMEOUT / 2
    assert cluster.process("worker", 1).address in str(caught.value)
    assert "attempts" in str(caught.value)
    assert "task:0" not in str(caught.value).replace(WORKER_1, "")


async def test_a_master_that_does_not_exist_is_named_with_attempts_and_reason() -> None:
    config = acts.ConfigProto(operation_timeout_in_ms=400)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # ours, so nobody else listens there, and neither do we
        target = f"tcp://127.0.0.1:{silent.getsockname()[1]}"
        session = acts.AsyncSession(target, graph=slow_graph().graph, config=config)
        with pytest.raises(UnavailableError, match=rf"{target} after \d+ attempts?\b.*ECONNREFUSED"):
            await session.run("here:0", {"x:0": 1})
        await session.close()


@pytest.mark.usefixtures("patient_clients")
@pytest.mark.parametrize("how", ["cancel", "timeout", "limit"])
async def test_a_run_given_up_leaves_the_session_usable_and_nothing_pending(
    processes: acts.LocalCluster, how: str
) -> None:
    slow = slow_graph(LONG)
    async with acts.AsyncSession(processes.target("worker", 0), graph=slow.graph) as session:
        await session.run(slow.init)
        if how == "cancel":
            run = await begin_long(session, slow)
            run.cancel()
            with pytest.raises(asyncio.CancelledError):
                await run
        elif how == "timeout":
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.3):
                    await session.run(slow.long, {slow.big: LARGE})
        else:
            limited = acts.RunOptions(timeout_in_ms=300)
            with pytest.raises(DeadlineExceededError, match="worker/replica:0/task:1"):
                await session.run(slow.long, {slow.big: LARGE}, limited)
        assert await session.run(slow.across, {slow.x: 1}) == 36
        await eventually(lambda: nothing_pending(processes), "no step and no rendezvous anywhere")


async def test_the_error_of_a_remote_kernel_names_node_device_task_and_line(processes: acts.LocalCluster) -> None:
    graph = acts.Graph()
    with graph.as_default(), acts.device("/job:worker/task:1"):
        divisor = acts.placeholder(acts.int32, [], name="divisor")
        quotient = acts.math.floordiv(acts.constant(7), divisor, name="quotient")
        with acts.device("/job:worker/task:0"):
            after = quotient + 1
    async with acts.AsyncSession(processes.target("worker", 0), graph=graph) as session:
        with pytest.raises(InvalidArgumentError, match="division by zero") as caught:
            await session.run(after, {divisor: 0})
        error = caught.value
        assert (error.node, error.task) == ("quotient", WORKER_1)
        assert error.device == f"{WORKER_1}/device:CPU:0"
        assert "test_failure_guarantees.py" in str(error.source)
        assert await session.run(after, {divisor: 2}) == 4


async def test_variables_belong_to_the_task_and_outlive_sessions(processes: acts.LocalCluster) -> None:
    slow = slow_graph()
    async with acts.AsyncSession(processes.target("worker", 0), graph=slow.graph) as first:
        await first.run(slow.init)
        await first.run(slow.marker.assign(7.0))
    async with acts.AsyncSession(processes.target("worker", 1), graph=slow.graph) as second:
        assert await second.run(slow.marker) == 7
    isolated = acts.ConfigProto(isolate_session_state=True)
    async with acts.AsyncSession(processes.target("worker", 0), graph=slow.graph, config=isolated) as private:
        with pytest.raises(OpError, match="marker"):
            await private.run(slow.marker)


async def test_sessions_of_two_masters_train_the_same_variable_at_once(processes: acts.LocalCluster) -> None:
    async def replica(index: int, steps: int) -> None:
        graph = acts.Graph()
        with graph.as_default():
            with acts.device("/job:ps/task:0"):
                total = acts.Variable(np.zeros(3, np.float32), name="total")
            with acts.device(f"/job:worker/task:{index}"):
                update = total.assign_add([1.0, 2.0, 3.0])
        async with acts.AsyncSession(processes.target("worker", index), graph=graph) as session:
            if index == 0:
                await session.run(total.initializer)
                ready.set()
            await ready.wait()
            for _ in range(steps):
                await session.run(update.op)
            if index == 0:
                done.append(session)

    ready = asyncio.Event()
    done: list[Any] = []
    async with asyncio.TaskGroup() as group:
        group.create_task(replica(0, 50))
        group.create_task(replica(1, 50))
    graph = acts.Graph()
    with graph.as_default(), acts.device("/job:ps/task:0"):
        total = acts.Variable(np.zeros(3, np.float32), name="total")
    async with acts.AsyncSession(processes.target("ps", 0), graph=graph) as session:
        np.testing.assert_array_equal(await session.run(total), [100, 200, 300])


async def test_closing_with_a_dead_task_is_bounded_and_may_be_repeated(cluster: acts.LocalCluster) -> None:
    slow = slow_graph()
    session = acts.AsyncSession(cluster.target("worker", 0), graph=slow.graph)
    await session.run(slow.init)
    cluster.process("worker", 1).send_signal(signal.SIGKILL)
    await soon(session.close())
    await soon(session.close())


async def test_a_synchronous_session_runs_on_a_cluster_from_many_threads(processes: acts.LocalCluster) -> None:
    slow = slow_graph()

    def program() -> list[float]:
        with acts.Session(processes.target("worker", 0), graph=slow.graph) as session:
            session.run(slow.init)
            with concurrent.futures.ThreadPoolExecutor(4) as threads:
                return list(threads.map(lambda i: float(session.run(slow.across, {slow.x: i})), range(20)))

    assert await asyncio.to_thread(program) == [3.0 * (10 + 2 * i) for i in range(20)]


@pytest.mark.usefixtures("no_garbage")
def test_ctrl_c_ends_a_blocked_run_at_once_and_the_next_run_works(processes: acts.LocalCluster) -> None:
    """What the run waits for never comes, so nothing but Ctrl-C can end it."""
    address = processes.target("worker", 1)

    def press() -> None:
        run_to_end(until_all([address], lambda seen: seen.steps == 1))
        os.kill(os.getpid(), signal.SIGINT)

    def interrupted() -> None:
        thread.start()
        session.run(element)

    slow = slow_graph()
    with slow.graph.as_default(), acts.device("/job:worker/task:1"):
        element = acts.FIFOQueue(1, acts.float32, [[]]).dequeue() + 1.0
    run_to_end(until_all([address], is_idle))
    thread = threading.Thread(target=press)
    with acts.Session(processes.target("worker", 0), graph=slow.graph) as session:
        session.run(slow.init)
        with pytest.raises(KeyboardInterrupt):
            interrupted()
        thread.join()
        run_to_end(until_all([address], is_idle))
        assert session.run(slow.across, {slow.x: 1}) == 36
