"""Links that are lost between living tasks: what becomes of sessions, and of values on their way."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, ServerSettings, ops
from actorsession.actors import CallContext, Deadline, Ref
from actorsession.cluster.worker.stalled_sends import MissingTensorProbe
from actorsession.cluster.worker.worker_rendezvous import RendezvousTable
from actorsession.config import ConfigProto
from actorsession.errors import OpError, UnavailableError, WorkerRestartedError
from actorsession.messages import CloseSession
from actorsession.messages.worker import AskOwed, AskWhy, ValuesLost
from actorsession.plan.rendezvous_key import build_key
from actorsession.testing import SimulatedCluster
from tests.cluster.fakes import FakeWorkerCache
from tests.cluster.kit import PS0, W0, W1, W2, Gate, InProcess, in_process, lose_pushes, on, simulated, soon, until
from transports.host import on_host


async def lose_link(cluster: InProcess, one: str = W0, other: str = W1) -> None:
    """Drops the connection between two workers, as a network does that was cut."""
    here = cluster.server(one)._cache.links.in_use.get(other)
    there = cluster.server(other)._cache.links.in_use.get(one)
    assert here is not None
    assert there is not None
    here._connection.abort()
    await soon(here.wait_closed())
    await soon(there.wait_closed())


def variable_on_w1() -> tuple[Any, Any]:
    v = on(W1, lambda: ops.Variable(5.0, name="v"))
    with on(W0):
        return v, v + 1.0


async def test_a_session_is_opened_again_at_a_worker_whose_link_was_lost(way: str, graph: Graph) -> None:
    v, end = variable_on_w1()
    async with in_process({"worker": 2}) as cluster:
        async with AsyncSession(cluster.target(), graph=graph) as session:
            await soon(session.run(v.initializer))
            for _ in range(3):
                assert await soon(session.run(end)) == 6.0
                await lose_link(cluster)
            assert await soon(session.run([end, v])) == [6.0, 5.0]
            assert cluster.server(W1).statistics().worker_sessions == 1
        assert cluster.server(W1).statistics().worker_sessions == 0


async def test_many_steps_at_once_open_it_again_once(graph: Graph) -> None:
    v, end = variable_on_w1()
    async with in_process({"worker": 2}) as cluster, AsyncSession(cluster.target(), graph=graph) as session:
        await soon(session.run(v.initializer))
        await lose_link(cluster)
        found = await soon(asyncio.gather(*[session.run(end) for _ in range(20)]))
        assert found == [6.0] * 20
        assert cluster.server(W1).statistics().worker_sessions == 1


async def test_reattach_opens_it_again_too_and_nothing_was_lost(graph: Graph) -> None:
    v, end = variable_on_w1()
    async with in_process({"worker": 2}) as cluster, AsyncSession(cluster.target(), graph=graph) as session:
        await soon(session.run(v.initializer))
        await lose_link(cluster)
        found = await soon(session.reattach())
        assert (found.added, found.removed, found.restarted, found.lost) == ((), (), (), ())
        assert await soon(session.run(end)) == 6.0


async def test_what_a_session_had_for_itself_is_lost_with_the_link_and_said_so(graph: Graph) -> None:
    v, end = variable_on_w1()
    config = ConfigProto(isolate_session_state=True)
    async with in_process({"worker": 2}) as cluster:
        async with AsyncSession(cluster.target(), graph=graph, config=config) as session:
            await soon(session.run(v.initializer))
            await lose_link(cluster)
            for _ in range(2):
                with pytest.raises(WorkerRestartedError, match="went with it") as info:
                    await soon(session.run(end))
                assert info.value.task == W1
                assert "Variables lost: v" in info.value.message
            found = await soon(session.reattach(restore=v.initializer))
            assert (found.restarted, found.lost, found.restored) == ((W1,), ("v",), ())
            assert await soon(session.run(end)) == 6.0


async def test_sessions_that_have_ended_leave_nothing_at_links_that_live_on(graph: Graph) -> None:
    _, end = variable_on_w1()
    async with in_process({"worker": 2}) as cluster:
        seen = []
        for _ in range(4):
            async with AsyncSession(cluster.target(), graph=graph) as session:
                with pytest.raises(OpError):
                    await soon(session.run(end))
            links = [cluster.server(a)._cache.links.in_use.get(b) for a, b in [(W0, W1), (W1, W0)]]
            seen.append([len(link._end._watchers) for link in links if link is not None])
        assert seen[1:] == [seen[0]] * 3


async def test_a_step_that_waits_outlives_a_link_that_had_nothing_of_it(graph: Graph) -> None:
    """Worker 2 waits for worker 1, which is at work; their link is reset, and the value takes another."""
    x = ops.placeholder("float32", [])
    gate = Gate("held while the link is lost")
    with on(W1):
        near = x + 1.0
        held = gate(x)
    with on(W2):
        first, end = near + 1.0, held + 1.0
    async with in_process({"worker": 3}) as cluster, AsyncSession(cluster.target(W0), graph=graph) as session:
        assert await soon(session.run(first, {x: 1.0})) == 3.0
        run = asyncio.create_task(session.run(end, {x: 1.0}))
        await soon(gate.wait_entered())
        await lose_link(cluster, W1, W2)
        gate.open()
        assert await soon(run) == 2.0
        await cluster.until_idle()


async def test_a_value_lost_on_a_link_of_a_session_with_its_own_cluster_ends_its_step(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1. Worker 1 loses what it pushes. 2. The other worker asks for the value, and worker 1 answers, over
    the links of the session, by the names that it brought along. 3. The session goes on."""
    x = ops.placeholder("float32", [])
    there = on(W2, lambda: x + 1.0)
    end = on(PS0, lambda: there + 1.0)
    async with in_process({"worker": 2}) as cluster:
        jobs = {"ps": [cluster.target(W0)], "worker": {2: cluster.target(W1)}}
        config = ConfigProto(cluster_def=jobs)
        async with AsyncSession(cluster.target(W0), graph=graph, config=config) as session:
            (links,) = cluster.server(W1)._cache._of_sessions.values()
            with monkeypatch.context() as patch:
                lose_pushes(links, patch)
                with pytest.raises(UnavailableError, match="were lost on their way") as info:
                    await soon(session.run(end, {x: 1.0}))
                assert info.value.task == W2
            assert await soon(session.run(end, {x: 1.0})) == 3.0
            await cluster.until_idle()


@simulated(restart=1)
async def test_a_task_that_the_master_cannot_reach_is_not_said_to_have_restarted(
    cluster: SimulatedCluster, graph: Graph
) -> None:
    """1. The master has lost its link to ps 0, where the variable is. 2. The client's link to the master is cut, and
    the session goes on at the same process. 3. Nobody knows yet what ps 0 has kept; when it answers, all of it."""
    v = on(PS0, lambda: ops.Variable(5.0, name="v"))
    async with cluster.session(graph) as session:
        await session.run(v.initializer)
        await session.run(v.assign_add(1.0))
        master = session.target.removeprefix("tcp://").partition(":")[0]
        for other in ("worker-0", "worker-1"):
            cluster.network.part("ps-0", other)
        await asyncio.sleep(20)
        cluster.network.cut("client", master)
        await asyncio.sleep(1)
        with pytest.raises(UnavailableError, match="not known whether the session has kept its state") as info:
            await session.run(v)
        assert info.value.task == PS0
        cluster.network.heal()
        await asyncio.sleep(10)
        assert await session.run(v) == 6.0


def test_a_task_that_stood_still_hears_why_its_links_were_given_up() -> None:
    """1. The master stands still while a step waits at another task, which gives their link up. 2. When the master goes
    on, the error of the step names who stood still, and not only who has closed the link."""

    async def main(cluster: SimulatedCluster) -> None:
        with Graph().as_default() as graph, on(PS0):
            take = ops.FIFOQueue(1, "float32", shapes=[[]]).dequeue()
        async with cluster, cluster.session(graph, "worker") as session:
            waiting = asyncio.create_task(session.run(take))
            await asyncio.sleep(1)
            cluster.task("worker").stall()
            await asyncio.sleep(4.5)
            cluster.task("worker").go_on()
            with pytest.raises(
                UnavailableError, match=f"{W0}: nothing came from it for .*: the connection to {PS0}"
            ) as info:
                await waiting
            assert info.value.task == PS0

    for seed in range(3):
        SimulatedCluster(seed, {"ps": 1, "worker": 1}, settings=ServerSettings(lease=2.0, beat=0.5)).run(main)


# -- values that are owed --------------------------------------------------------------------------
INCARNATION = 7
STEP = 1


def key(edge: str = "e", incarnation: int = INCARNATION) -> str:
    return build_key(f"{W1}/device:CPU:0", incarnation, f"{W0}/device:CPU:0", edge)


class Owing:
    """One side, with a step that may wait for a value of worker 1."""

    def __init__(self) -> None:
        self.peers = FakeWorkerCache()
        self.table = RendezvousTable(W0, FakeWorkerCache())
        self.given_up: list[tuple[int, OpError]] = []
        self.owed = MissingTensorProbe(self.table, [INCARNATION], self.peers, lambda *step: self.given_up.append(step))

    def wait(self) -> None:
        self.table.begin(STEP).recv_async(key(), lambda outcome: None)


def test_word_that_a_value_is_lost_ends_the_step_that_waits_for_it() -> None:
    side = Owing()
    side.wait()
    side.owed.values_lost(ValuesLost(step_id=STEP, task=W1))
    ((step, error),) = side.given_up
    assert (step, error.task) == (STEP, W1)
    assert "were lost on their way" in error.message


def test_word_that_comes_behind_the_value_or_of_another_step_changes_nothing() -> None:
    side = Owing()
    side.wait()
    side.table.push(STEP, [key()], [np.float32(1)], [False])
    side.owed.values_lost(ValuesLost(step_id=STEP, task=W1))
    side.owed.values_lost(ValuesLost(step_id=STEP + 1, task=W1))
    assert side.given_up == []


def test_word_of_one_value_ends_a_step_that_waits_for_it_and_none_that_waits_for_another() -> None:
    side = Owing()
    side.wait()
    side.owed.values_lost(ValuesLost(step_id=STEP, task=W1, key=key("another")))
    assert side.given_up == []
    side.owed.values_lost(ValuesLost(step_id=STEP, task=W1, key=key()))
    assert [step for step, _ in side.given_up] == [STEP]


def test_a_task_says_which_value_it_has_pushed_once_for_a_step() -> None:
    side = Owing()
    rendezvous = side.table.begin(STEP)
    back = [build_key(f"{W0}/device:CPU:0", INCARNATION, f"{W1}/device:CPU:0", edge) for edge in "abc"]
    for text in back[1:]:
        rendezvous.send(text, np.float32(1))
        rendezvous.flush()
    side.owed.answer(AskOwed(steps=[STEP] * 3, keys=back, reply_to=W1, session_handle=""), side.peers)
    assert side.peers.told == [(W1, ValuesLost(step_id=STEP, task=W0, key=back[1]))]


@simulated()
@pytest.mark.parametrize("silent", [False, True], ids=["reset", "silent"])
async def test_a_step_ends_although_each_of_two_tasks_waits_for_a_value_of_the_other(
    cluster: SimulatedCluster, graph: Graph, silent: bool
) -> None:
    """1. ps 0 has pushed a value to worker 1, and waits for what that makes of it. 2. Their link is cut, and the value
    is lost; the master has links to both. 3. Neither part is ever over, and the step ends in seconds all the same."""
    x = ops.placeholder("float32", [])
    there = on(PS0, lambda: x * 2.0)
    back = on(W1, lambda: there + 1.0)
    end = on(PS0, lambda: back * 3.0)
    async with cluster.session(graph) as session:
        assert await session.run(end, {x: 1.0}) == 9.0
        cluster.network.slow("ps-0", "worker-1", 1.0)
        run = asyncio.create_task(session.run(end, {x: 1.0}))
        await asyncio.sleep(0.5)
        cluster.network.cut("ps-0", "worker-1", silent=silent)
        cluster.network.heal()
        begin = cluster.loop.now
        with pytest.raises(UnavailableError, match="were lost on their way"):
            await run
        assert cluster.loop.now - begin < 10
        assert await session.run(end, {x: 1.0}) == 9.0


@pytest.mark.parametrize(
    ("over", "incarnation", "lost"),
    [(False, INCARNATION, False), (True, INCARNATION, True), (False, INCARNATION + 1, True)],
)
def test_a_task_says_so_if_its_part_is_over_or_of_an_earlier_life(over: bool, incarnation: int, lost: bool) -> None:
    side = Owing()
    side.table.begin(STEP)
    if over:
        side.table.end(STEP)
    text = key(incarnation=incarnation)
    message = AskOwed(steps=[STEP], keys=[text], reply_to=W0, session_handle="")
    side.owed.answer(message, side.peers)
    expected = [(W0, ValuesLost(step_id=STEP, task=W1))] if lost else []
    assert side.peers.told == expected


# -- what must arrive however long it takes --------------------------------------------------------
LONG = "x" * 2**13


def asked_much(ref: Ref, message: Any) -> list[asyncio.Future[Any]]:
    """More than a link writes before further asks have to wait."""
    return [ref.submit(message, CallContext(Deadline.never())) for _ in range(1000)]


@simulated({"worker": 2})
async def test_a_session_is_dropped_at_a_worker_that_reads_nothing_while_it_is_closed(
    cluster: SimulatedCluster, graph: Graph
) -> None:
    """1. The worker stands still, and much is asked of it: asks wait until it reads on. 2. The session is closed, which
    waits for the worker no longer than 2 s. 3. The worker goes on, over the same link: the request still arrives."""
    session = cluster.session(graph)
    assert await session.run(on(W1, lambda: ops.constant(1.0) + 1.0)) == 2.0
    master, worker = (cluster.task("worker", index) for index in range(2))
    assert master.host is not None
    assert master.server is not None
    assert worker.server is not None
    worker.stall()
    with on_host(master.host):
        asks = asked_much(master.server._cache.worker(W1), AskWhy(session_handle=LONG, most=1, steps=[], keys=[]))
    await session.close()
    assert worker.server.statistics().worker_sessions == 1
    worker.go_on()
    await asyncio.gather(*asks)
    await until(cluster, lambda seen: not seen.worker_sessions, W1)


@simulated({"worker": 1})
async def test_a_partial_run_is_dropped_at_a_master_that_reads_nothing_while_it_is_given_up(
    cluster: SimulatedCluster, graph: Graph
) -> None:
    fed = ops.placeholder("float32", [])
    master = cluster.task("worker")
    async with cluster.session(graph) as session:
        async with session.partial([fed + 1.0], [fed]):
            master.stall()
            remote: Any = session._session
            asks = asked_much(remote.connection.master._ref, CloseSession(session_handle=LONG))
        assert master.server is not None
        assert [seen.partial_runs for seen in master.server.statistics().open_sessions] == [1]
        master.go_on()
        await asyncio.gather(*asks)
        await until(cluster, lambda seen: not any(one.partial_runs for one in seen.open_sessions), W0)
