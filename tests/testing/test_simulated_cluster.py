"""Clusters in a simulation: real servers and sessions, and what they do when tasks, machines and ways fail."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import errors
from actorsession.actors import Children
from actorsession.testing import Fault, Schedule, SimulatedCluster, on_host
from tests.actors.kit import eventually

_ONES = np.ones(4, np.float32)


class _Sums:
    """A graph over all tasks: a variable on ps 0 to which ``2 * x + 1`` is added, computed on both workers."""

    def __init__(self) -> None:
        self.graph = acts.Graph()
        with self.graph.as_default():
            with acts.device("/job:ps/task:0"):
                self.sums = acts.Variable(np.zeros(4, np.float32), name="sums")
            self.x = acts.placeholder(np.float32, [4], name="x")
            with acts.device("/job:worker/task:0"):
                doubled = self.x * 2.0
            with acts.device("/job:worker/task:1"):
                more = doubled + 1.0
            self.computed = more
            self.add = self.sums.assign_add(more)
            self.init = acts.global_variables_initializer()


def _steps(seed: int, count: int, **options: Any) -> SimulatedCluster:
    """Return a cluster on which a session has run steps whose sums were checked."""
    cluster = SimulatedCluster(seed, **options)

    async def main(cluster: SimulatedCluster) -> None:
        sums = _Sums()
        async with cluster, cluster.session(sums.graph) as session:
            await session.run(sums.init)
            for step in range(1, count + 1):
                np.testing.assert_array_equal(await session.run(sums.add, {sums.x: _ONES}), 3.0 * step * _ONES)

    cluster.run(main)
    return cluster


def _run(
    main: Callable[[SimulatedCluster], Coroutine[Any, Any, None]], seed: int = 1, **options: Any
) -> SimulatedCluster:
    cluster = SimulatedCluster(seed, **options)
    cluster.run(main)
    return cluster


def test_steps_over_three_tasks_give_the_sums_of_numpy() -> None:
    cluster = _steps(1, 200)
    # A step is a handful of frames: more callbacks for one mean that a step has become dear.
    assert cluster.loop.callbacks < 200 * 25


def test_the_same_seed_gives_the_same_run_and_another_one_another() -> None:
    first, again, other = _steps(1, 10), _steps(1, 10), _steps(2, 10)
    assert first.loop.trace == again.loop.trace
    assert first.loop.digest() == again.loop.digest()
    assert first.loop.trace != other.loop.trace


@pytest.mark.parametrize("seed", range(5))
def test_callbacks_of_a_process_may_run_in_any_order(seed: int) -> None:
    _steps(seed, 20, shuffle=True)


def test_the_error_of_a_step_names_the_task_that_crashed_and_how_it_ended() -> None:
    async def main(cluster: SimulatedCluster) -> None:
        sums = _Sums()
        async with cluster, cluster.session(sums.graph) as session:
            await session.run(sums.init)
            cluster.task("worker", 1).crash()
            with pytest.raises(errors.UnavailableError, match=r"/job:worker/replica:0/task:1 .*killed by SIGKILL"):
                await session.run(sums.add, {sums.x: _ONES})

    _run(main)


def test_the_error_of_a_step_says_of_a_machine_that_is_gone_what_its_cluster_knows() -> None:
    """Its message named the task twice: "was killed by SIGKILL: it: nothing came from it"."""

    async def main(cluster: SimulatedCluster) -> None:
        sums = _Sums()
        async with cluster, cluster.session(sums.graph) as session:
            await session.run(sums.init)
            cluster.task("worker", 1).power_off()
            with pytest.raises(errors.UnavailableError) as info:
                await session.run(sums.add, {sums.x: _ONES})
            task = "/job:worker/replica:0/task:1"
            assert info.value.message.startswith(
                f"{task} (on worker-1) was killed by SIGKILL: nothing came from it for 5 s; the connection to it at "
            )

    _run(main)


@pytest.mark.parametrize("after", range(1, 40, 3))
def test_a_session_begins_although_its_master_is_lost_in_the_middle_of_the_handshake(after: int) -> None:
    """With seed 3, after 10 and 16: the hello of the client was lost, and it waited its whole limit for the answer."""

    async def main(cluster: SimulatedCluster) -> None:
        sums = _Sums()
        async with cluster:
            before = cluster.loop.now
            cluster.begin(Schedule((Fault(kind="crash", whom="worker-0", after=after),)))
            async with cluster.session(sums.graph) as session:
                np.testing.assert_array_equal(await session.run(sums.computed, {sums.x: _ONES}), 3.0 * _ONES)
            assert cluster.loop.now - before < 10.0

    _run(main, 3, restart=3)


def test_a_step_waits_for_a_task_that_is_started_again() -> None:
    async def main(cluster: SimulatedCluster) -> None:
        sums = _Sums()
        async with cluster, cluster.session(sums.graph) as session:
            await session.run(sums.init)
            first = cluster.task("worker", 1)
            first.crash()
            await first.wait_ended()
            np.testing.assert_array_equal(await session.run(sums.computed, {sums.x: _ONES}), 3.0 * _ONES)
            assert cluster.task("worker", 1) is not first
            assert cluster.restarts["/job:worker/replica:0/task:1"] == 1

    _run(main, restart=3)


def test_a_task_that_stalls_is_given_up_after_its_lease_and_serves_again() -> None:
    async def main(cluster: SimulatedCluster) -> None:
        sums = _Sums()
        async with cluster, cluster.session(sums.graph) as session:
            await session.run(sums.init)
            before = cluster.loop.now
            cluster.task("worker", 1).stall()
            with pytest.raises(errors.UnavailableError, match="task:1: nothing came from it for 5 s"):
                await session.run(sums.add, {sums.x: _ONES})
            assert 5.0 < cluster.loop.now - before < 10.0
            cluster.task("worker", 1).go_on()
            np.testing.assert_array_equal(await session.run(sums.add, {sums.x: _ONES}), 3.0 * _ONES)

    _run(main)


def test_tasks_join_and_leave() -> None:
    async def main(cluster: SimulatedCluster) -> None:
        async with cluster:
            _ = await cluster.add("worker")
            with acts.Graph().as_default() as graph, acts.device("/job:worker/task:2"):
                six = acts.constant(3.0) * 2.0
            async with cluster.session(graph) as session:
                assert await session.run(six) == 6.0
            await cluster.remove("worker", 2)
            await cluster.scale("worker", 1)
            assert cluster.spec.as_dict() == {"ps": ["tcp://ps-0:2222"], "worker": ["tcp://worker-0:2222"]}

    _run(main)


def test_servers_may_ask_a_resolver_for_tasks_of_which_nobody_tells_them() -> None:
    async def main(cluster: SimulatedCluster) -> None:
        async with cluster:
            for task in ("worker-0", "worker-1", "ps-0"):
                cluster.network.part("client", task)
            with pytest.raises(errors.UnavailableError, match="could not be told of the change"):
                await cluster.add("worker")
            cluster.network.heal()
            with acts.Graph().as_default() as graph, acts.device("/job:worker/task:2"):
                six = acts.constant(3.0) * 2.0
            async with cluster.session(graph) as session:
                assert await session.run(six) == 6.0

    _run(main, resolves=True)


@pytest.mark.parametrize("end", ["crash", "power_off", "terminate"])
def test_a_task_that_was_lost_has_the_variables_of_its_snapshot(end: str) -> None:
    async def main(cluster: SimulatedCluster) -> None:
        sums = _Sums()
        async with cluster, cluster.session(sums.graph) as session:
            await session.run(sums.init)
            await session.run(sums.add, {sums.x: _ONES})
            await asyncio.sleep(3.0)  # of virtual time
            lost = cluster.task("ps")
            getattr(lost, end)()
            await lost.wait_ended()
            _ = await cluster.restart("ps")
            with pytest.raises(errors.OpError, match="/job:ps/replica:0/task:0"):  # the master may not know yet
                await session.run(sums.add, {sums.x: _ONES})
            with pytest.raises(errors.WorkerRestartedError, match="back from the snapshot after 2 steps: sums"):
                await session.run(sums.add, {sums.x: _ONES})
            await session.reattach()
            np.testing.assert_array_equal(await session.run(sums.add, {sums.x: _ONES}), 6.0 * _ONES)

    _run(main, snapshot_every=1.0)


def test_the_end_of_a_cluster_says_what_a_task_could_not_write() -> None:
    async def main(cluster: SimulatedCluster) -> None:
        sums = _Sums()
        await cluster.start()
        async with cluster.session(sums.graph) as session:
            await session.run(sums.init)
            await session.run(sums.add, {sums.x: _ONES})
        cluster.task("ps").disk.fail()
        with pytest.raises(errors.DataLossError, match=r"/job:ps/replica:0/task:0: .*sums"):
            await cluster.remove("ps")
        await cluster.stop()

    _run(main, snapshot_every=60.0)


@pytest.mark.parametrize("faults", ["3 tear ps-0 by {}", "3 rot ps-0\n3.1 power ps-0"])
@pytest.mark.parametrize("calls", range(1, 22, 4))
def test_a_snapshot_that_was_torn_or_rots_is_never_restored(faults: str, calls: int) -> None:
    async def main(cluster: SimulatedCluster) -> None:
        sums = _Sums()
        async with cluster, cluster.session(sums.graph) as session:
            await session.run(sums.init)
            cluster.begin(Schedule.parse(faults.format(calls)))
            lost = cluster.task("ps")
            acknowledged = [0.0]
            with contextlib.suppress(errors.OpError):
                while lost.alive:
                    acknowledged.append(float((await session.run(sums.add, {sums.x: _ONES}))[0]))
                    await asyncio.sleep(0.3)  # of virtual time
            cluster.heal()
            if not lost.has_ended:
                lost.power_off()
            await lost.wait_ended()
            _ = await cluster.restart("ps")
            async with cluster.session(sums.graph) as after:
                value = await after.run(sums.sums)
            assert (value == value[0]).all()
            assert value[0] in acknowledged[-10:]

    _run(main, calls, snapshot_every=1.0)


def test_clients_may_have_hosts_of_their_own() -> None:
    async def main(cluster: SimulatedCluster) -> None:
        sums = _Sums()

        async def client() -> None:
            async with cluster.session(sums.graph, "ps") as session:
                np.testing.assert_array_equal(await session.run(sums.computed, {sums.x: _ONES}), 3.0 * _ONES)

        async with cluster, asyncio.TaskGroup() as group:
            for name in ("laptop", "notebook"):
                with on_host(cluster.client_host(name)):
                    _ = group.create_task(client())

    cluster = _run(main)
    assert any(" net laptop > ps-0:2222 SYN" in line for line in cluster.loop.trace)


def test_a_client_with_a_host_of_its_own_can_be_killed_and_its_session_ends_at_its_master() -> None:
    async def main(cluster: SimulatedCluster) -> None:
        sums = _Sums()
        async with cluster:
            laptop = cluster.client_host("laptop")
            with on_host(laptop):
                session = cluster.session(sums.graph)
                process = Children("laptop")
                _ = await process.start(session.run(sums.computed, {sums.x: _ONES}), name="laptop", awaited=True)
            assert (await cluster.statistics())["/job:worker/replica:0/task:0"].sessions == 1
            cluster.begin(Schedule.parse("0 kill laptop\n0 kill client\n0 kill nobody"))
            await asyncio.sleep(30.0)  # of virtual time
            assert laptop.is_dead
            assert not cluster.client.is_dead
            assert {one.sessions for one in (await cluster.statistics()).values()} == {0}
            again = cluster.client_host("laptop")
            assert (again is cluster.client_host("laptop"), again.incarnation) == (True, 1)

    _run(main)


def test_the_lock_of_a_client_that_is_killed_is_given_back() -> None:
    async def main(cluster: SimulatedCluster) -> None:
        with acts.Graph().as_default() as graph, acts.device("/job:ps/task:0"):
            section = acts.queue.CriticalSection(shared_name="section")
            nothing = acts.queue.FIFOQueue(1, np.float32, shapes=[[]], shared_name="nothing")
            held, free = section.execute(nothing.dequeue), section.execute(lambda: acts.constant(3.0) * 2.0)
        async with cluster:
            with on_host(cluster.client_host("laptop")):
                holder, process = cluster.session(graph), Children("laptop")
                _ = process.start(holder.run(held), name="laptop")
            async with cluster.session(graph, index=1) as session:
                await asyncio.sleep(1.0)  # of virtual time
                with pytest.raises(errors.DeadlineExceededError):
                    await session.run(free, timeout=0.5)
                cluster.kill_client("laptop")
                assert await session.run(free) == 6.0

    _run(main)


def test_what_a_schedule_has_broken_is_healed_by_a_recovery() -> None:
    schedule = Schedule.parse(
        """
        0 crash worker-0
        0 end worker-1
        0.001 stall ps-0
        0.01 part client ps-0 for 1000
        0.02 leave worker-1
        """
    )

    async def main(cluster: SimulatedCluster) -> None:
        sums = _Sums()
        async with cluster:
            cluster.begin(schedule)
            await cluster.process_on("worker-0").wait_ended()
            await cluster.recover()
            async with cluster.session(sums.graph) as session:
                np.testing.assert_array_equal(await session.run(sums.computed, {sums.x: _ONES}), 3.0 * _ONES)

    cluster = _run(main)
    assert any("fault 0 crash worker-0" in line for line in cluster.loop.trace)


@pytest.mark.parametrize("kind", ["crash", "power"])
def test_a_task_may_be_lost_while_it_is_started_again(kind: str) -> None:
    async def main(cluster: SimulatedCluster) -> None:
        async with cluster:
            before = cluster.task("worker", 1)
            before.crash()
            await before.wait_ended()
            restarting = asyncio.create_task(cluster.restart("worker", 1))
            await eventually(lambda: cluster.process_on("worker-1") is not before)
            cluster.strike(Fault(kind=kind, whom="worker-1"))
            with pytest.raises(errors.UnavailableError, match="killed by SIGKILL"):
                await restarting
            await cluster.recover()
            assert cluster.process_on("worker-1") is cluster.task("worker", 1)

    _run(main)


@pytest.mark.parametrize("after", [1, 7, 30, 100])
def test_a_task_may_crash_at_any_await(after: int) -> None:
    async def main(cluster: SimulatedCluster) -> None:
        sums = _Sums()
        async with cluster, cluster.session(sums.graph) as session:
            await session.run(sums.init)
            await session.run(sums.add, {sums.x: _ONES})
            cluster.begin(Schedule((Fault(kind="crash", whom="worker-1", after=after),)))
            runs = [session.run(sums.add, {sums.x: _ONES}) for _ in range(30)]
            with pytest.raises(errors.UnavailableError, match="/job:worker/replica:0/task:1"):
                await asyncio.gather(*runs)

    _run(main)
