"""Sessions beside tasks that are absent: killed, stopped or not started yet; and tasks that come back."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from actorsession import AsyncSession, ClusterSpec, Graph, Server, ServerSettings, Session, Tensor, errors, ops
from actorsession.actors import Deadline
from actorsession.cluster.master import device_discovery as device_finder
from actorsession.cluster.master import membership, session_members
from actorsession.cluster.master.absent_tasks import AbsentTasks
from actorsession.cluster.master.device_discovery import FoundTask
from actorsession.cluster.master.env import Changes, MasterEnv
from actorsession.cluster.master.membership import Membership
from actorsession.cluster.master.session_cluster import SessionCluster
from actorsession.cluster.master.session_graph import SessionGraph
from actorsession.cluster.master.session_members import SessionMembers
from actorsession.config import ConfigProto, RunOptions
from actorsession.messages import Done
from actorsession.messages.worker import CreateWorkerSession, DeleteWorkerSession, GetStatus, UpdateWorkerSession
from actorsession.metrics import SessionTally
from actorsession.runtime import planning
from actorsession.testing import SimulatedCluster
from tests.cluster.fakes import FakeWorker, FakeWorkerCache
from tests.cluster.kit import PATIENCE, PS0, W0, W1, W2, crashed, eventually, is_empty, on, simulated, soon, until
from tests.cluster.test_device_discovery import status
from tests.ports import held_ports
from tests.session.large_kit import large

# What a step may take that needs a task which does not come.
SHORT = RunOptions(timeout_in_ms=600)


def doubled(task: str, x: Tensor) -> Tensor:
    return on(task, lambda: x * 2.0)


@pytest.fixture
def grace(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
    """Return a function that sets how many seconds a silent task is waited for."""

    def set_grace(seconds: float) -> None:
        for module in (device_finder, membership, session_members):
            monkeypatch.setattr(module, "GRACE", seconds)

    return set_grace


@pytest.fixture
def endless_grace(grace: Callable[[float], None]) -> None:
    """A silent task is waited for so long that a test notices whoever does it."""
    grace(10 * PATIENCE)


# -- in a simulation -----------------------------------------------------------------------------------
@simulated()
async def test_a_new_session_works_beside_a_killed_task_and_uses_it_later(
    cluster: SimulatedCluster, graph: Graph
) -> None:
    """1. One of three tasks is killed. 2. A new session runs on the others. 3. Only a step placed there asks
    for it, and says what was tried. 4. The task comes back, and the same session runs there."""
    x = ops.placeholder("float32", [])
    others, there = doubled(W0, doubled(PS0, x)), doubled(W1, x)
    killed = await crashed(cluster, "worker", 1)
    async with cluster.session(graph) as session:
        assert await session.run(others, {x: 1.0}) == 4.0
        with pytest.raises(errors.DeadlineExceededError) as info:
            await session.run([others, there], {x: 1.0}, SHORT)
        said = info.value.message
        assert f"1 of 3 tasks did not answer in time: {W1} at {killed.address} (" in said
        assert "attempts, last: cannot reach" in said
        assert "ECONNREFUSED" in said
        assert info.value.task == W1
        assert await session.run(others, {x: 2.0}) == 8.0
        await cluster.restart("worker", 1)
        assert await session.run([others, there], {x: 3.0}) == [12.0, 6.0]
    await until(cluster, is_empty, *cluster.processes)


@simulated()
async def test_a_new_session_works_beside_a_stopped_task_and_uses_it_later(
    cluster: SimulatedCluster, graph: Graph
) -> None:
    x = ops.placeholder("float32", [])
    others, there = doubled(W0, doubled(PS0, x)), doubled(W1, x)
    stopped = cluster.task("worker", 1)
    stopped.stall()
    async with cluster.session(graph) as session:
        assert await session.run(others, {x: 1.0}) == 4.0
        with pytest.raises(errors.DeadlineExceededError, match=f"1 of 3 tasks .*{W1} at {stopped.address}"):
            await session.run(there, {x: 1.0}, SHORT)
        stopped.go_on()
        assert await session.run([others, there], {x: 3.0}) == [12.0, 6.0]
    await until(cluster, is_empty, *cluster.processes)


@simulated()
async def test_a_restarted_task_is_used_again_where_the_session_lost_nothing(
    cluster: SimulatedCluster, graph: Graph
) -> None:
    """Twice, and with plans that it had registered there. What others have on that task is lost all the same,
    which their sessions are told."""
    x = ops.placeholder("float32", [])
    total = on(PS0, lambda: ops.Variable(0.0))
    gradient = on(W1, lambda: ops.random_uniform([]) * 0.0 + x * 2.0)
    step = total.assign_add(gradient)
    with Graph().as_default():
        there = on(W1, lambda: ops.Variable(1.0, name="there"))
    async with cluster.session(graph) as session, cluster.session(there.graph) as other:
        await session.run(total.initializer)
        assert await session.run(step, {x: 1.0}) == 2.0
        await other.run(there.initializer)
        for expected in (4.0, 6.0):
            await crashed(cluster, "worker", 1)
            await cluster.restart("worker", 1)
            assert await session.run(step, {x: 1.0}) == expected
        with pytest.raises(errors.WorkerRestartedError, match="Variables lost: there"):
            await other.run(there)
    await until(cluster, is_empty, *cluster.processes)


@simulated()
async def test_reattach_waits_for_the_tasks_that_the_graph_uses_and_for_no_other(
    cluster: SimulatedCluster, graph: Graph
) -> None:
    v = on(PS0, lambda: ops.Variable(1.0, name="v"))
    async with cluster.session(graph) as session:
        await session.run(v.initializer)
        await crashed(cluster, "worker", 1)
        await cluster.restart("ps")
        with pytest.raises(errors.WorkerRestartedError, match="Variables lost: v"):
            await session.run(v)
        found = await session.reattach(restore=v.initializer)
        assert (found.restarted, found.lost) == ((PS0,), ("v",))
        assert await session.run(v) == 1.0
        await cluster.restart("worker", 1)
    await until(cluster, is_empty, *cluster.processes)


@simulated()
async def test_steps_go_on_while_reattach_waits_though_the_cluster_changes(
    cluster: SimulatedCluster, graph: Graph
) -> None:
    """1. A task that the graph uses is killed, and ``reattach`` waits for it. 2. Another one joins, which a step
    follows that needs neither. 3. The killed one comes back: ``reattach`` has both."""
    v, three = on(W1, lambda: ops.Variable(1.0, name="v")), on(W0, lambda: ops.constant(1.0) + 2.0)
    async with cluster.session(graph) as session:
        await session.run(v.initializer)
        await crashed(cluster, "worker", 1)
        reattaching = asyncio.create_task(session.reattach(restore=v.initializer))
        await asyncio.sleep(1.0)
        await cluster.add("worker")
        start = cluster.loop.now
        assert await session.run(three) == 3.0
        assert cluster.loop.now - start < 1.0
        assert not reattaching.done()
        await cluster.restart("worker", 1)
        assert (await reattaching).lost == ("v",)
        assert [device.incarnation != 0 for device in await session.list_devices()] == [True] * 4
        assert await session.run(v) == 1.0
    await until(cluster, is_empty, *cluster.processes)


@simulated()
async def test_a_program_waits_for_a_killed_task_until_it_answers(cluster: SimulatedCluster, graph: Graph) -> None:
    """1. All tasks answer. 2. One is killed: with a count the others are enough, without one it is named at
    the limit. 3. It is started again while the call waits."""
    ops.constant(1.0)
    async with cluster.session(graph) as session:
        assert await session.wait_for("/job:worker", timeout=PATIENCE) == [W0, W1]
        killed = await crashed(cluster, "worker", 1)
        assert await session.wait_for("/job:worker", 1, timeout=PATIENCE) == [W0]
        with pytest.raises(errors.DeadlineExceededError) as info:
            await session.wait_for("/job:worker", timeout=0.3)
        said = info.value.message
        assert (
            f"1 of 2 tasks of /job:worker answer in time: {W0}. Without an answer: {W1} at {killed.address} (" in said
        )
        assert info.value.task == W1
        waiting = asyncio.create_task(session.wait_for("/job:worker", 2, timeout=PATIENCE))
        await cluster.restart("worker", 1)
        assert await waiting == [W0, W1]
    await until(cluster, is_empty, *cluster.processes)


# -- in this process -----------------------------------------------------------------------------------
@asynccontextmanager
async def beside_nobody(graph: Graph, **config: Any) -> AsyncIterator[tuple[AsyncSession, ClusterSpec]]:
    """A session of worker 0, at whose side nobody is yet; and its cluster of three."""
    with held_ports(3) as ports:
        spec = ClusterSpec({"worker": [f"127.0.0.1:{port}" for port in ports]})
        async with Server(spec, "worker", 0) as first:
            settings = ConfigProto(**config)
            async with AsyncSession(first.target, graph=graph, config=settings) as session:
                yield session, spec


@pytest.mark.usefixtures("endless_grace")
async def test_nobody_waits_for_a_task_that_refuses_connections(way: str, graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    async with beside_nobody(graph) as (session, _):
        assert await soon(session.run(doubled(W0, x), {x: 1.0})) == 2.0
        assert await soon(session.run(doubled(W0, x), {x: 2.0})) == 4.0  # a longer graph
        assert len(await soon(session.list_devices())) == 3


async def test_devices_of_absent_tasks_are_listed_as_far_as_they_are_known(graph: Graph) -> None:
    """The description says that a task has a CPU; the task says which life of it that is, and what else."""
    async with beside_nobody(graph) as (session, spec):
        listed = {d.name: d.incarnation for d in await soon(session.list_devices())}
        assert list(listed) == [f"{task}/device:CPU:0" for task in (W0, W1, W2)]
        assert [incarnation != 0 for incarnation in listed.values()] == [True, False, False]
        async with Server(spec, "worker", 1, settings=ServerSettings(config=ConfigProto(device_count={"CPU": 2}))):
            listed = {d.name: d.incarnation for d in await soon(session.list_devices())}
        assert [name for name in listed if name.startswith(W1)] == [f"{W1}/device:CPU:0", f"{W1}/device:CPU:1"]
        assert 0 not in {listed[f"{W1}/device:CPU:{number}"] for number in range(2)}


@pytest.mark.parametrize("begun", [False, True], ids=["the first graph", "a graph that grew"])
async def test_a_device_that_only_its_task_knows_of_is_waited_for(graph: Graph, begun: bool) -> None:
    x = ops.placeholder("float32", [])
    async with beside_nobody(graph) as (session, spec):
        if begun:
            await soon(session.run(doubled(W0, x), {x: 1.0}))
        y = on(f"{W1}/device:CPU:1", lambda: x + 1.0)
        running = asyncio.create_task(session.run(y, {x: 1.0}))
        async with Server(spec, "worker", 1, settings=ServerSettings(config=ConfigProto(device_count={"CPU": 2}))):
            assert await soon(running) == 2.0


async def test_a_device_that_its_task_does_not_tell_of_is_an_error_that_says_who_is_missing(graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    async with beside_nobody(graph, operation_timeout_in_ms=1000) as (session, _):
        y = on(f"{W1}/device:CPU:1", lambda: x + 1.0)
        with pytest.raises(errors.InvalidArgumentError, match="does not exist here") as info:
            await soon(session.run(y, {x: 1.0}))
        assert f"In the cluster, but without an answer: {W1} at tcp://" in info.value.message


async def test_placing_does_not_depend_on_who_is_there(graph: Graph) -> None:
    """What asks for any task of a job goes to the first, where a session that begins later finds it."""
    x = ops.placeholder("float32", [])
    with held_ports(3) as ports:
        address = [f"127.0.0.1:{port}" for port in ports]
        spec = ClusterSpec({"ps": address[:2], "worker": address[2:]})
        v = on("/job:ps", lambda: ops.Variable(1.0))
        async with (
            Server(spec, "worker", 0) as first,
            Server(spec, "ps", 1),
            AsyncSession(first.target, graph=graph) as session,
        ):
            assert await soon(session.run(x + 1.0, {x: 1.0})) == 2.0
            with pytest.raises(errors.DeadlineExceededError, match=f"1 of 3 tasks .*: {PS0} at "):
                await soon(session.run(v.initializer, options=SHORT))
            async with Server(spec, "ps", 0):
                await soon(session.run(v.initializer))


async def test_steps_that_wait_for_a_task_are_told_apart_by_their_own_limits(graph: Graph) -> None:
    """1. Two steps wait for a task. 2. One gives up. 3. The task comes, and the other ends well."""
    x = ops.placeholder("float32", [])
    there = doubled(W1, x)
    async with beside_nobody(graph) as (session, spec):
        patient = asyncio.create_task(session.run(there, {x: 2.0}))
        with pytest.raises(errors.DeadlineExceededError):
            await soon(session.run(there, {x: 1.0}, SHORT))
        assert not patient.done()
        async with Server(spec, "worker", 1):
            assert await soon(patient) == 4.0


@pytest.mark.parametrize("begun", [False, True], ids=["the first graph", "a graph that grew"])
async def test_large_graphs_are_planned_anew_for_devices_that_tasks_turn_out_to_have(graph: Graph, begun: bool) -> None:
    """1. A large graph asks for an absent task. 2. It waits for the task within the limit of whoever asks. 3.
    The task comes, maybe while the graph is planned, and takes part in what is planned from then on."""
    x = ops.placeholder("float32", [])
    ones = float(planning.LARGE)
    async with beside_nobody(graph) as (session, spec):
        if begun:
            assert await soon(session.run(large(x), {x: 1.0})) == 1.0 + ones
        there = on(W1, lambda: large(x))
        # Long enough for the planning before, on a busy machine too.
        options = RunOptions(timeout_in_ms=5000)
        with pytest.raises(errors.DeadlineExceededError, match=f"1 of 3 tasks .*{W1} at "):
            await soon(session.run(there, {x: 1.0}, options))
        waiting = [asyncio.create_task(session.run(there, {x: float(k)})) for k in range(3)]
        setting_up = asyncio.create_task(session.partial_run_setup([there], [x]))
        async with Server(spec, "worker", 1, settings=ServerSettings(config=ConfigProto(device_count={"CPU": 2}))):
            assert await soon(asyncio.gather(*waiting)) == [k + ones for k in range(3)]
            assert await soon(session.partial_run(await setting_up, there, {x: 1.0})) == 1.0 + ones
            other = on(f"{W1}/device:CPU:1", lambda: large(there))
            assert await soon(session.run(other, {x: 1.0})) == 1.0 + 2 * ones
            await soon(session.warm_up(other, [x]))


async def test_a_partial_run_waits_for_its_tasks_too(graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    there = doubled(W1, x)
    async with beside_nobody(graph) as (session, spec):
        setting_up = asyncio.create_task(session.partial_run_setup([there], [x]))
        async with Server(spec, "worker", 1):
            handle = await soon(setting_up)
            assert await soon(session.partial_run(handle, there, {x: 3.0})) == 6.0


async def test_a_step_that_waits_for_a_task_says_so(graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    there = doubled(W1, x)
    async with beside_nobody(graph) as (session, spec):
        running = asyncio.create_task(session.run(there, {x: 2.0}))
        async with asyncio.timeout(PATIENCE):
            while W1 not in str(await session.why()):  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        async with Server(spec, "worker", 1):
            assert await soon(running) == 4.0


async def test_a_session_that_waits_for_a_task_can_be_closed(graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    there = doubled(W1, x)
    async with beside_nobody(graph) as (session, _):
        await soon(session.run(doubled(W0, x), {x: 1.0}))
        running = asyncio.create_task(session.run(there, {x: 2.0}))
        await asyncio.sleep(0)
        await soon(session.close())
        with pytest.raises(errors.OpError):
            await soon(running)


STATE: Mapping[str, Callable[[], Any]] = {
    "a queue": lambda: ops.FIFOQueue(3, "float32", shapes=[]).enqueue(1.0),
    "numbers from a seed": lambda: ops.random_uniform([], seed=1),
    "a variable": lambda: ops.Variable(1.0).initializer,
}


@pytest.mark.parametrize("what", STATE)
async def test_a_restart_is_told_where_something_was_lost(what: str, graph: Graph) -> None:
    there = on(W1, lambda: STATE[what]())
    other = on(W0, lambda: ops.constant(1.0) + 1.0)
    async with beside_nobody(graph) as (session, spec):
        async with Server(spec, "worker", 1):
            await soon(session.run(there))
        async with Server(spec, "worker", 1):
            for _ in range(2):
                with pytest.raises(errors.WorkerRestartedError, match=f"{W1} has restarted"):
                    await soon(session.run(there))
            assert await soon(session.run(other)) == 2.0
            assert (await soon(session.reattach())).restarted == (W1,)
            await soon(session.run(there))


@pytest.mark.parametrize("isolated", [False, True])
async def test_a_restart_is_not_told_where_nothing_was_lost(graph: Graph, isolated: bool) -> None:
    x = ops.placeholder("float32", [])
    steps = on(W0, lambda: ops.Variable(0.0))
    with on(W1):
        there = ops.Print(x * 2.0, [x], first_n=0) + 0.0 * ops.random_uniform([])
        inside = ops.while_loop(lambda i: i < 3.0, lambda i: i + 1.0, [there])
    step = steps.assign_add(inside)
    async with beside_nobody(graph, isolate_session_state=isolated) as (session, spec):
        await soon(session.run(steps.initializer))
        for expected in (4.0, 8.0, 12.0):
            async with Server(spec, "worker", 1):
                assert await soon(session.run(step, {x: 2.0})) == expected


async def test_what_a_step_did_elsewhere_is_not_done_twice_when_its_task_has_restarted(graph: Graph) -> None:
    """The part that the restarted task has is registered before any part is run."""
    x = ops.placeholder("float32", [])
    with on(W0):
        count = ops.Variable(0.0)
        add = count.assign_add(1.0)
    there = doubled(W1, x)
    async with beside_nobody(graph) as (session, spec):
        await soon(session.run(count.initializer))
        for expected in (1.0, 2.0, 3.0):
            async with Server(spec, "worker", 1):
                assert await soon(session.run([add, there], {x: 1.0})) == [expected, 2.0]


# -- the members alone ---------------------------------------------------------------------------------
class Fakes:
    """Three workers that are not there, and the members of a session whose master is at the first of them."""

    def __init__(self, **config: Any) -> None:
        self.workers = {task: FakeWorker(task) for task in (W0, W1, W2)}
        for task, worker in self.workers.items():
            worker.answers[GetStatus] = status(task)
        self.addresses = {task: f"tcp://h:{number}" for number, task in enumerate(self.workers)}
        self.address = "tcp://h:0"
        self.version = 0
        self.given_up: frozenset[str] = frozenset()
        cache = FakeWorkerCache(self.workers)
        self.lapses = cache.watchers
        cluster = SessionCluster("s", ConfigProto(**config), MasterEnv(W0, 1, self, cache), self.address)
        self.members = SessionMembers(cluster, self)
        self.membership = Membership(cluster, self.members)

    def forget_task(self, task: str) -> None: ...

    def use_devices(self) -> None: ...

    def take(self, changes: Changes) -> None: ...

    def tasks(self) -> dict[str, str]:
        return self.addresses

    async def join(self) -> None:
        await soon(self.membership.join(Deadline.after(PATIENCE)))


@pytest.fixture
def short_grace(grace: Callable[[float], None]) -> None:
    grace(0.05)


def names(found: SessionMembers) -> list[str]:
    return [device.name.partition("/device")[0] for device in found.devices.devices]


@pytest.mark.usefixtures("short_grace")
@pytest.mark.parametrize("kind", [GetStatus, CreateWorkerSession], ids=["asked", "begun"])
async def test_a_session_begins_without_a_task_that_falls_silent(kind: type[Any]) -> None:
    fakes = Fakes()
    silent = fakes.workers[W1].hold(kind)
    await fakes.join()
    assert list(fakes.membership.missing) == [W1]
    assert sorted(fakes.members.workers) == [W0, W2]
    assert names(fakes.members) == [W0, W1, W2]
    fakes.workers[W1].answers.pop(kind)
    fakes.workers[W1].answers[GetStatus] = status(W1)
    assert await soon(fakes.membership.bring_in([W0, W1], Deadline.after(PATIENCE)))
    assert not fakes.membership.missing
    # It may have begun the session before it fell silent.
    asked = [type(m) for m in fakes.workers[W1].asked]
    assert asked[-2:] == [DeleteWorkerSession, CreateWorkerSession]
    silent.cancel()
    await soon(fakes.membership.leave())


async def test_a_session_does_not_begin_where_a_worker_refuses_it() -> None:
    fakes = Fakes()
    fakes.workers[W1].answers[CreateWorkerSession] = errors.InvalidArgumentError("not this one")
    with pytest.raises(errors.InvalidArgumentError, match="not this one"):
        await fakes.join()
    assert all(len(w.of(DeleteWorkerSession)) == 1 for w in fakes.workers.values())
    await soon(fakes.membership.leave())


async def test_a_session_that_is_to_wait_for_all_tasks_does() -> None:
    fakes = Fakes(wait_for_all_tasks=True)
    fakes.workers[W1].answers[GetStatus] = errors.UnavailableError("refused")
    with pytest.raises(errors.DeadlineExceededError, match=r"1 of 3 tasks did not answer in time: .*refused"):
        await soon(fakes.membership.join(Deadline.after(0.3)))
    assert not any(worker.of(CreateWorkerSession) for worker in fakes.workers.values())
    await soon(fakes.membership.leave())


@pytest.mark.usefixtures("short_grace")
async def test_a_member_that_is_silent_does_not_hold_up_others_that_change() -> None:
    """1. A session has three members. 2. One falls silent. 3. Another moves, which all are told."""
    fakes = Fakes()
    await fakes.join()
    silent = asyncio.get_running_loop().create_future()
    worker = fakes.workers[W1]
    worker.answers.update(dict.fromkeys([UpdateWorkerSession, GetStatus], silent))
    fakes.addresses[W2], fakes.version = "tcp://elsewhere:2", 1
    assert not await soon(fakes.membership.follow(Deadline.after(PATIENCE)))
    told = [w.of(UpdateWorkerSession)[0].peers for w in fakes.workers.values()]
    assert told == [{W2: "tcp://elsewhere:2"}] * 3
    silent.cancel()
    await soon(fakes.membership.leave())


async def test_members_are_told_where_a_task_is_that_has_joined_and_does_not_answer_yet() -> None:
    """So that values can go there when it does."""
    fakes = Fakes()
    where = fakes.addresses.pop(W2)
    await fakes.join()
    fakes.addresses[W2], fakes.version = where, 1
    fakes.workers[W2].answers[GetStatus] = errors.UnavailableError("refused")
    assert not await soon(fakes.membership.follow(Deadline.after(PATIENCE)))
    assert [m.peers for m in fakes.workers[W1].of(UpdateWorkerSession)] == [{W2: where}]
    assert names(fakes.members) == [W0, W1, W2]
    fakes.workers[W2].answers[GetStatus] = status(W2)
    assert await soon(fakes.membership.bring_in([W2], Deadline.after(PATIENCE)))
    assert fakes.workers[W2].of(CreateWorkerSession)[0].peers == fakes.addresses
    assert len(fakes.workers[W1].of(UpdateWorkerSession)) == 1
    await soon(fakes.membership.leave())


async def test_absent_tasks_are_waited_for_in_the_order_of_the_nodes_that_need_them() -> None:
    """In any other order, such as that of a set, two runs of one program would ask them in different orders."""
    fakes = Fakes()
    for task in (W1, W2):
        fakes.workers[task].answers[GetStatus] = errors.UnavailableError("refused")
    await fakes.join()
    of_session = SessionGraph(fakes.membership, planning.Planning(), SessionTally("master"))
    for order in ([W1, W2], [W2, W1]):
        graph = Graph()
        with graph.as_default():
            for task in [*order, W0]:
                on(f"{task}/device:CPU:1", lambda: ops.constant(1.0))
        assert list(of_session.unknown(graph.as_graph_def())) == order
    await soon(fakes.membership.leave())


async def without_w1() -> Fakes:
    """Members of a session that worker 1 has not answered yet."""
    fakes = Fakes()
    fakes.workers[W1].answers[GetStatus] = errors.UnavailableError("refused")
    await fakes.join()
    assert list(fakes.membership.missing) == [W1]
    fakes.workers[W1].answers[GetStatus] = status(W1)
    return fakes


async def test_a_task_that_is_found_by_two_at_once_begins_the_session_once() -> None:
    """1. A step waits for a task, which is about to begin the session. 2. The cluster changes, and the
    session asks the task, too. 3. The task says that the session is open."""
    fakes = await without_w1()
    opened = fakes.workers[W1].hold(CreateWorkerSession)
    waiting = asyncio.create_task(fakes.membership.bring_in([W1], Deadline.after(PATIENCE)))
    await fakes.workers[W1].until_asked(CreateWorkerSession)
    fakes.version = 1
    following = asyncio.create_task(fakes.membership.follow(Deadline.after(PATIENCE)))
    await fakes.workers[W1].until_asked(GetStatus, 3)
    opened.set_result(Done())
    assert await soon(waiting)
    await soon(following)
    assert len(fakes.workers[W1].of(CreateWorkerSession)) == 1
    assert not fakes.membership.missing
    await soon(fakes.membership.leave())


async def test_a_task_that_was_asked_in_vain_meanwhile_drops_the_session_before_it_begins_it() -> None:
    """1. The cluster changes, and the session is to begin at a task, but a step has the lock. 2. The step asks it,
    which does not answer in time: nobody knows whether it has begun the session."""
    fakes = await without_w1()
    worker = fakes.workers[W1]
    async with fakes.members.opening[W1]:
        fakes.version = 1
        following = asyncio.create_task(fakes.membership.follow(Deadline.after(PATIENCE)))
        await eventually(lambda: "waiters:1" in repr(fakes.members.opening[W1]))
        opened = worker.hold(CreateWorkerSession)
        with pytest.raises(errors.DeadlineExceededError):
            await fakes.members.open_again(FoundTask(W1, status(W1)), fakes.addresses[W1], Deadline.after(0.01))
        worker.answers.pop(CreateWorkerSession)
    assert (await soon(following)).added == (W1,)
    asked = [type(message) for message in worker.asked if not isinstance(message, GetStatus | UpdateWorkerSession)]
    assert asked == [DeleteWorkerSession, CreateWorkerSession] * 2
    opened.cancel()
    await soon(fakes.membership.leave())


async def begin_two_anew(fakes: Fakes, how: str) -> None:
    """Let a session have two tasks at which it has to be begun."""
    if how == "absent":
        for task in (W1, W2):
            fakes.workers[task].answers[GetStatus] = errors.UnavailableError("refused")
    await fakes.join()
    for task in (W1, W2):
        fakes.workers[task].answers[GetStatus] = replace(status(task), incarnation=8 if how == "restarted" else 7)
        if how == "lapsed":
            fakes.lapses[task]()


@pytest.mark.parametrize("how", ["absent", "restarted", "lapsed"])
async def test_a_task_that_has_begun_the_session_is_used_while_another_one_is_waited_for(how: str) -> None:
    """1. ``reattach`` begins the session at two tasks, of which one answers. 2. A step needs that one, and goes on with
    what was begun: it would be lost to other steps if it were begun once more."""
    fakes = Fakes()
    await begin_two_anew(fakes, how)
    before = len(fakes.workers[W1].of(CreateWorkerSession))
    opened = fakes.workers[W2].hold(CreateWorkerSession)
    reattaching = asyncio.create_task(fakes.membership.reattach([W1, W2], Deadline.after(PATIENCE)))
    for task in (W1, W2):
        await fakes.workers[task].until_asked(CreateWorkerSession, before + 1)
    needs: dict[str, Callable[[Deadline], Coroutine[Any, Any, object]]] = {
        "absent": lambda deadline: fakes.membership.bring_in([W1], deadline),
        "restarted": lambda deadline: fakes.membership.rejoin(W1, deadline),
        "lapsed": lambda deadline: fakes.members.renew(W1, deadline),
    }
    _ = await soon(needs[how](Deadline.after(PATIENCE)))
    assert W1 in fakes.members.threads
    assert not reattaching.done()
    opened.set_result(Done())
    changes = await soon(reattaching)
    assert W2 in {"absent": changes.added, "restarted": changes.restarted, "lapsed": [W2]}[how]
    assert len(fakes.workers[W1].of(CreateWorkerSession)) == before + 1
    assert fakes.members.threads.keys() == {W0, W1, W2}
    await soon(fakes.membership.leave())


@pytest.mark.parametrize(
    ("phase", "says"),
    [
        (GetStatus, "2 attempts, last: "),
        (CreateWorkerSession, "to answer"),
        ("opening", "another attempt to open the session at"),
    ],
    ids=["asked", "begun", "being begun"],
)
@simulated()
async def test_reattach_names_all_tasks_that_do_not_answer_before_its_client_gives_up(
    cluster: SimulatedCluster, phase: Any, says: str
) -> None:
    """1. Two tasks have restarted, and are silent when they are asked, or are to begin the session, or while a step
    has it begun there. 2. The client is told before its limit, though they do not drop the session in time either."""
    fakes, deadline = Fakes(), Deadline.after(10.0)
    await begin_two_anew(fakes, "restarted")
    async with AsyncExitStack() as held:
        for task in (W1, W2):
            if phase == "opening":
                await held.enter_async_context(fakes.members.opening[task])
            else:
                held.callback(fakes.workers[task].hold(phase).set_result, Done())
        for kind in (DeleteWorkerSession, UpdateWorkerSession):
            held.callback(fakes.workers[W1].hold(kind).set_result, Done())
        with pytest.raises(errors.DeadlineExceededError) as info:
            await fakes.membership.reattach([W1, W2], deadline)
        assert not deadline.expired
    assert re.fullmatch(
        rf"2 of 3 tasks did not answer in time: {W1} at tcp://h:1 \(.*{says}.*\); {W2} at tcp://h:2 \(.*{says}.*\)",
        info.value.message,
    )
    await fakes.membership.leave()


@pytest.mark.parametrize("how", ["follows", "looks"])
@simulated()
async def test_a_task_at_which_a_step_begins_the_session_holds_up_nobody_who_does_not_need_it(
    cluster: SimulatedCluster, how: str
) -> None:
    """1. A task that was absent answers, and falls silent while a step has the session begun there. 2. The cluster
    changes, which the next step follows; or the client looks who is there."""
    fakes = await without_w1()
    async with fakes.members.opening[W1]:
        fakes.version, start = 1, cluster.loop.now
        await (
            fakes.membership.follow(Deadline.after(30.0))
            if how == "follows"
            else fakes.membership.retry_absent(Deadline.after(30.0))
        )
        assert cluster.loop.now - start < device_finder.GRACE + 0.1
        assert list(fakes.membership.missing) == [W1]
    assert await fakes.membership.bring_in([W1], Deadline.after(30.0))
    await fakes.membership.leave()


@pytest.mark.parametrize("call", ["renew", "rejoin"])
@simulated()
async def test_a_step_waits_for_others_who_begin_the_session_no_longer_than_its_limit(
    cluster: SimulatedCluster, call: str
) -> None:
    fakes = Fakes()
    await fakes.join()
    fakes.lapses[W1]()
    waits = {"renew": fakes.members.renew, "rejoin": fakes.membership.rejoin}[call]
    async with fakes.members.opening[W1]:
        with pytest.raises(errors.DeadlineExceededError, match=f"another attempt to open the session at {W1} to end"):
            await asyncio.wait_for(waits(W1, Deadline.after(0.5)), 1.0)
    await waits(W1, Deadline.after(0.5))
    assert W1 in fakes.members.threads
    await fakes.membership.leave()


@pytest.mark.parametrize(
    ("kind", "left"), [(UpdateWorkerSession, W1), (DeleteWorkerSession, W2)], ids=["stays", "left"]
)
@simulated()
async def test_reattach_leaves_time_to_tell_its_client_beside_a_task_that_does_not_read(
    cluster: SimulatedCluster, kind: type[Any], left: str
) -> None:
    """1. A task answers in the last moment. 2. Another one does not take the news that one has left, or it has left
    itself and does not drop the session."""
    fakes, deadline = Fakes(), Deadline.after(10.0)
    await fakes.join()
    del fakes.addresses[left]
    fakes.version = 1
    asked, told = fakes.workers[W0].hold(GetStatus), fakes.workers[W2].hold(kind)
    asyncio.get_running_loop().call_later(8.9, asked.set_result, status(W0))
    assert (await fakes.membership.reattach([W0], deadline)).removed == (left,)
    assert not deadline.expired
    told.set_result(Done())
    await fakes.membership.leave()


async def test_reattach_does_not_bring_back_who_has_left_while_it_waited() -> None:
    """1. ``reattach`` waits for a task. 2. Another one, which has answered it, leaves, and a step follows. 3. The first
    one answers."""
    fakes = Fakes()
    await fakes.join()
    asked = fakes.workers[W1].hold(GetStatus)
    reattaching = asyncio.create_task(fakes.membership.reattach([W1], Deadline.after(PATIENCE)))
    await fakes.workers[W1].until_asked(GetStatus, 2)
    del fakes.addresses[W2]
    fakes.version = 1
    assert (await soon(fakes.membership.follow(Deadline.after(PATIENCE)))).removed == (W2,)
    asked.set_result(status(W1))
    assert not (await soon(reattaching)).added
    assert fakes.members.by_task.keys() == {W0, W1}
    assert not fakes.membership.changed
    await soon(fakes.membership.leave())


async def test_a_session_that_nobody_waited_for_to_the_end_is_dropped_with_the_others() -> None:
    """1. A step waits for a task, which is about to begin the session. 2. The step gives up. 3. The session
    is closed: the task may have begun it."""
    fakes = await without_w1()
    opened = fakes.workers[W1].hold(CreateWorkerSession)
    waiting = asyncio.create_task(fakes.membership.bring_in([W1], Deadline.after(PATIENCE)))
    await fakes.workers[W1].until_asked(CreateWorkerSession)
    waiting.cancel()
    await asyncio.wait([waiting])
    await soon(fakes.membership.leave())
    assert type(fakes.workers[W1].asked[-1]) is DeleteWorkerSession
    opened.cancel()


# -- the search ----------------------------------------------------------------------------------------
class Sought:
    """A task that is searched for, and what was taken in."""

    def __init__(self) -> None:
        self.worker = FakeWorker(W1)
        self.worker.answers[GetStatus] = errors.UnavailableError("refused")
        self.taken: list[FoundTask] = []
        self.errors: list[errors.OpError] = []
        self.addresses = {W1: "tcp://h:1"}
        cluster: Any = SimpleNamespace(
            handle="s", links=FakeWorkerCache({W1: self.worker}), wanted=lambda: self.addresses
        )
        self.absent = AbsentTasks(cluster, self.take)
        self.absent.reasons[W1] = "not yet"

    async def take(self, found: FoundTask) -> None:
        if self.errors:
            raise self.errors.pop()
        self.taken.append(found)

    def wait(self, seconds: float = PATIENCE) -> Coroutine[Any, Any, None]:
        return self.absent.wait_for([W1], Deadline.after(seconds))


async def test_all_who_wait_for_a_task_share_one_search() -> None:
    sought = Sought()
    waiting = [asyncio.create_task(sought.wait()) for _ in range(50)]
    await sought.worker.until_asked(GetStatus, 3)
    assert len(sought.worker.asked) < 10
    sought.worker.answers[GetStatus] = status(W1)
    await soon(asyncio.gather(*waiting))
    assert [found.task for found in sought.taken] == [W1]
    await sought.absent.aclose()


async def test_a_search_ends_when_nobody_waits_any_more() -> None:
    sought = Sought()
    with pytest.raises(errors.DeadlineExceededError, match=r"1 of 1 tasks .*tcp://h:1 \(\d+ attempts?, last: ref"):
        await soon(sought.wait(0.3))
    await eventually(lambda: not len(sought.absent._children))
    assert "last: refused" in sought.absent.reasons[W1]
    await sought.absent.aclose()


async def test_a_search_goes_on_where_what_it_has_found_is_lost_again() -> None:
    sought = Sought()
    sought.worker.answers[GetStatus] = status(W1)
    sought.errors.append(errors.UnavailableError("lost again"))
    await soon(sought.wait())
    assert (len(sought.taken), len(sought.worker.asked)) == (1, 2)
    await sought.absent.aclose()


async def test_a_task_that_refuses_ends_the_search_with_its_error() -> None:
    sought = Sought()
    sought.worker.answers[GetStatus] = status(W1)
    sought.errors.append(errors.InvalidArgumentError("not this one"))
    with pytest.raises(errors.InvalidArgumentError, match="not this one"):
        await soon(sought.wait())
    await sought.absent.aclose()


async def test_a_task_that_has_left_is_not_waited_for() -> None:
    sought = Sought()
    sought.worker.answers[GetStatus] = status(W1)
    sought.addresses.clear()
    with pytest.raises(errors.OpError, match="has left the cluster"):
        await soon(sought.wait())
    await sought.absent.aclose()


# -- waiting for tasks --------------------------------------------------------------------------------
@simulated()
async def test_a_task_that_takes_most_of_the_limit_to_answer_counts(cluster: SimulatedCluster, graph: Graph) -> None:
    ops.constant(1.0)
    async with cluster.session(graph) as session:
        cluster.network.slow("worker-0", "worker-1", 0.35)
        assert await session.wait_for("/job:worker", timeout=1.0) == [W0, W1]


async def test_a_synchronous_program_waits_for_tasks_until_they_answer(graph: Graph) -> None:
    ops.constant(1.0)
    async with beside_nobody(graph) as (other, spec):
        session = Session(other.target, graph=graph)

        def wait(count: int | None = None, timeout: float = PATIENCE) -> Coroutine[Any, Any, list[str]]:
            return asyncio.to_thread(session.wait_for, "/job:worker", count, timeout=timeout)

        assert await wait(1) == [W0]
        with pytest.raises(errors.DeadlineExceededError, match=f"1 of 3 tasks .*: {W0}. Without .*: {W1} at ") as info:
            await wait(timeout=0.3)
        assert info.value.task == W1
        waiting = asyncio.create_task(wait(2))
        async with Server(spec, "worker", 1):
            assert await soon(waiting) == [W0, W1]
        await asyncio.to_thread(session.close)


async def test_a_wait_for_tasks_ends_with_an_error_that_says_what_there_is(way: str, graph: Graph) -> None:
    ops.constant(1.0)
    async with beside_nobody(graph) as (session, spec):
        with pytest.raises(errors.DeadlineExceededError) as info:
            await soon(session.wait_for("/job:worker/task:2", timeout=0.05))
        said = info.value.message
        assert said.startswith("0 of 1 tasks of /job:worker/task:2 answer in time: none. Without an answer: ")
        assert f"{W2} at tcp://{spec.task_address('worker', 2)} (1 attempt, last: cannot reach" in said
        with pytest.raises(errors.DeadlineExceededError, match=r"1 of 2 tasks.*: the cluster has no others"):
            await soon(session.wait_for("/job:worker/task:0", 2, timeout=0.05))
        with pytest.raises(errors.InvalidArgumentError, match="the session uses no task '/job:ps'; give a"):
            await soon(session.wait_for("/job:ps"))
        with pytest.raises(errors.InvalidArgumentError, match="invalid device filter"):
            await soon(session.wait_for("worker 7"))


@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        ({"tasks": 7}, TypeError, "tasks is a partial device name such as '/job:worker', got 7"),
        ({"count": "2"}, TypeError, "count is an integer or None, got '2'"),
        ({"count": 0}, ValueError, "count is at least 1, got 0"),
        ({"timeout": 0.0}, ValueError, "timeout is a positive number of seconds, got 0.0"),
    ],
)
def test_a_wait_for_tasks_checks_its_arguments(
    graph: Graph, arguments: dict[str, Any], error: type[Exception], says: str
) -> None:
    with Session(graph=graph) as session, pytest.raises(error, match=says):
        session.wait_for(**{"tasks": "/job:localhost", **arguments})


def test_a_session_in_this_process_has_one_task_which_answers(graph: Graph) -> None:
    with Session(graph=graph) as session:
        assert session.wait_for("/job:localhost") == ["/job:localhost/replica:0/task:0"]
        for tasks, count in (("/job:worker", None), ("/job:localhost", 2)):
            with pytest.raises(errors.InvalidArgumentError, match="in this process has one task"):
                session.wait_for(tasks, count)
