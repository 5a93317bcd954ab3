"""Collectives whose members are in steps of several sessions, each of which has a graph of its own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import errors
from actorsession.actors import Actor, CallContext, Children, LocalRef, handles
from actorsession.cluster.worker.collective_groups import LedGroups, TaskGroups, complete_group, shared_scope
from actorsession.cluster.worker.worker_rendezvous import RendezvousTable
from actorsession.messages.worker import CompleteGroup, EndGroup, GroupCompleted
from actorsession.runtime.collective.groups import GroupTable, Member
from actorsession.testing import SimulatedCluster
from tests.cluster.fakes import FakeWorkerCache
from tests.cluster.kit import (
    LONG_LEASE,
    W0,
    W1,
    W2,
    eventually,
    in_process,
    is_idle,
    simulated,
    soon,
    until,
    until_root,
)

MEETS = acts.RunOptions(experimental=acts.RunOptions.Experimental(collective_graph_key=7))

# Builds the graph of one member: a value that it feeds, and what it fetches.
Build = Callable[[acts.Tensor, acts.collective.Group, int], Any]


class Replica:
    """A session on one task with a graph of its own, in which it is one member of a group."""

    def __init__(self, target: str, device: str, number: int, size: int, build: Build, **config: Any) -> None:
        self.graph = acts.Graph()
        with self.graph.as_default(), acts.device(device):
            self.x = acts.placeholder("float32", None, name="x")
            self.fetched = build(self.x, acts.collective.Group(size), number)
        experimental = acts.config.Experimental(**config)
        settings = acts.ConfigProto(experimental=experimental)
        self.session = acts.AsyncSession(target, graph=self.graph, config=settings)

    async def run(self, x: Any, timeout_in_ms: int = 0) -> Any:
        options = acts.RunOptions(timeout_in_ms=timeout_in_ms, experimental=MEETS.experimental)
        return await self.session.run(self.fetched, {self.x: x}, options=options)


@asynccontextmanager
async def replicas(
    targets: Sequence[str], devices: Sequence[str], build: Build, **config: Any
) -> AsyncIterator[list[Replica]]:
    async with AsyncExitStack() as stack:
        made = [
            Replica(target, device, i, len(devices), build, **config)
            for i, (target, device) in enumerate(zip(targets, devices, strict=True))
        ]
        for replica in made:
            await stack.enter_async_context(replica.session)
        yield made


def total(x: acts.Tensor, group: acts.collective.Group, number: int) -> acts.Tensor:
    return acts.collective.all_reduce(x, group)


def patient(jobs: dict[str, int] | None = None, **options: Any) -> Any:
    """A cluster in this process that takes nobody for lost because of silence."""
    return in_process(jobs, lease=LONG_LEASE, **options)


@asynccontextmanager
async def meeting(build: Build = total, tasks: Sequence[str] = (W0, W1)) -> AsyncIterator[tuple[Any, list[Replica]]]:
    """A cluster and the members on its tasks, of whom nothing is left at the end."""
    async with patient({"worker": len(tasks)}) as cluster:
        async with replicas([cluster.target(task) for task in tasks], tasks, build) as members:
            yield cluster, members
        await cluster.until_idle()


async def both(first: Any, second: Any) -> list[Any]:
    """What two runs return or raise."""
    found: list[Any] = await soon(asyncio.gather(first, second, return_exceptions=True))
    return found


@pytest.mark.parametrize("elements", [3, 700_000])
async def test_the_steps_of_three_sessions_meet_in_order(elements: int) -> None:
    def build(x: acts.Tensor, group: acts.collective.Group, number: int) -> Any:
        y = x * float(number + 1)
        return (
            acts.collective.all_reduce(y, group, "mean"),
            acts.collective.all_gather(y[:2], group),
            acts.collective.broadcast(y, group, sends=number == 1),
        )

    x = np.random.default_rng(3).normal(size=elements).astype(np.float32)
    async with meeting(build, (W0, W1, W2)) as (_, members):
        for step in range(1, 4):
            found = await soon(asyncio.gather(*[m.run(x * step) for m in members]))
            for mean, gathered, told in found:
                np.testing.assert_allclose(mean, 2 * x * step, rtol=1e-5)
                expected = np.concatenate([x[:2] * step * k for k in (1.0, 2.0, 3.0)])
                np.testing.assert_allclose(gathered, expected, rtol=1e-5)
                np.testing.assert_allclose(told, 2 * x * step, rtol=1e-5)


async def test_a_session_may_be_steps_ahead_and_still_meets_the_steps_of_its_number() -> None:
    async with meeting() as (_, (one, other)):

        async def steps(member: Replica, scale: float) -> list[Any]:
            return [await member.run(scale * k) for k in range(20)]

        found = await soon(asyncio.gather(steps(one, 1.0), steps(other, 10.0)))
        assert found == [[11.0 * k for k in range(20)]] * 2


async def test_a_sender_waits_until_all_have_received() -> None:
    """So it cannot fill the memory of the receivers with the broadcasts of many steps."""

    def build(x: acts.Tensor, group: acts.collective.Group, number: int) -> Any:
        return acts.collective.broadcast(x, group, sends=number == 0)

    async with meeting(build) as (_, (sender, receiver)):
        await soon(asyncio.gather(sender.run(1.0), receiver.run(0.0)))
        with pytest.raises(errors.DeadlineExceededError):
            await soon(sender.run(2.0, timeout_in_ms=100))


async def test_members_are_several_devices_of_a_task_in_several_sessions() -> None:
    devices = [f"{task}/cpu:{i}" for task in (W0, W1) for i in range(2)]
    config = acts.ConfigProto(device_count={"CPU": 2})
    async with patient(config=config) as cluster:
        targets = [cluster.target(device[: len(W0)]) for device in devices]
        async with replicas(targets, devices, total) as members:
            for _ in range(2):
                runs = [m.run(float(10**i)) for i, m in enumerate(members)]
                assert await soon(asyncio.gather(*runs)) == [1111.0] * 4


async def test_sessions_that_see_only_their_own_task_meet_through_a_leader_elsewhere() -> None:
    async with patient({"ps": 1, "worker": 2}) as cluster, AsyncExitStack() as stack:
        members = []
        for i, task in enumerate([W0, W1]):
            graph = acts.Graph()
            with graph.as_default(), acts.device(task):
                x = acts.placeholder("float32", [])
                y = acts.collective.all_reduce(x, acts.collective.Group(2))
            config = acts.ConfigProto(
                device_filters=[f"/job:worker/task:{i}"],
                experimental=acts.config.Experimental(collective_group_leader="/job:ps/task:0"),
            )
            session = acts.AsyncSession(cluster.target(task), graph=graph, config=config)
            members.append((await stack.enter_async_context(session), x, y))
        runs = [session.run(y, {x: 2.0}, options=MEETS) for session, x, y in members]
        assert await soon(asyncio.gather(*runs)) == [4.0, 4.0]


async def test_a_leader_that_is_no_task_of_the_cluster_is_refused_by_name() -> None:
    async with patient() as cluster:
        async with replicas([cluster.target()], [W0], total, collective_group_leader="/job:chief/task:0") as (member,):
            with pytest.raises(errors.InvalidArgumentError, match=r"/job:chief/task:0.*worker.*task:1"):
                await soon(member.run(1.0))
        async with replicas([cluster.target()], [W0], total, collective_group_leader="the first") as (member,):
            with pytest.raises(errors.InvalidArgumentError, match="collective_group_leader: malformed"):
                await soon(member.run(1.0))


async def test_without_the_key_a_step_has_to_run_all_members() -> None:
    async with patient() as cluster, replicas([cluster.target()], [W0], total) as (member,):
        await soon(member.run(1.0))  # alone in its group
        graph = member.graph
        with graph.as_default(), acts.device(W0):
            half = acts.collective.all_reduce(member.x, acts.collective.Group(2))
        with pytest.raises(errors.InvalidArgumentError, match="collective_graph_key"):
            await soon(member.session.run(half, {member.x: 1.0}))


async def test_why_names_the_member_of_another_session_that_has_not_come() -> None:
    async with meeting() as (_, (one, other)):
        assert await both(one.run(1.0), other.run(2.0)) == [3.0, 3.0]
        waiting = asyncio.create_task(one.run(4.0))
        why = await until_root(one.session, "collective")
        expected = f"{W0}/device:CPU:0 waits in instance 1 of group 1 for {W1}/device:CPU:0"
        assert expected in str(why).splitlines()[0]
        assert await both(waiting, other.run(5.0)) == [9.0, 9.0]


# -- members that fail -----------------------------------------------------------------------------
def checked(x: acts.Tensor, group: acts.collective.Group, number: int) -> Any:
    """Two sums, with something between them that fails for a negative value."""
    first = acts.collective.all_reduce(acts.abs(x), group)
    with acts.control_dependencies([first]):
        check = acts.debugging.assert_non_negative(x, message="a negative gradient")
    with acts.control_dependencies([check]):
        y = acts.identity(first)
    return acts.collective.all_reduce(y, group)


async def test_a_step_that_fails_between_two_collectives_fails_those_it_meets_and_all_go_on() -> None:
    async with meeting(checked) as (_, (one, other)):
        assert await both(one.run(1.0), other.run(2.0)) == [6.0, 6.0]
        own, told = await both(one.run(-1.0), other.run(2.0))
        assert isinstance(own, errors.InvalidArgumentError)
        assert isinstance(told, errors.OpError)
        for words in (W0, "group 1", "a negative gradient"):
            assert words in told.message
        assert await both(one.run(3.0), other.run(4.0)) == [14.0, 14.0]


async def test_a_step_fails_in_its_next_collective_if_its_group_has_ended_in_the_meantime() -> None:
    """Its group must not be formed anew in the middle of a step: the member that has failed never comes."""

    def build(x: acts.Tensor, group: acts.collective.Group, number: int) -> Any:
        if number == 0:
            return checked(x, group, number)
        first = acts.collective.all_reduce(acts.abs(x), group)
        between = acts.FIFOQueue(1, ["float32"], [[]], name="between")
        between.enqueue(0.0, name="go_on")
        with acts.control_dependencies([first]):
            waited = between.dequeue()
        return acts.collective.all_reduce(first + waited, group)

    async with meeting(build) as (cluster, (one, other)):
        waiting = asyncio.create_task(other.run(2.0))
        with pytest.raises(errors.InvalidArgumentError, match="a negative gradient"):
            await soon(one.run(-1.0))
        worker: Any = cluster.server(W1).actors.worker
        await eventually(lambda: len(worker._env.groups) == 0)
        await other.session.run("go_on")
        with pytest.raises(errors.OpError, match=f"{W0}.*group 1.*a negative gradient"):
            await soon(waiting)


async def test_a_step_that_fails_before_its_first_collective_may_be_run_again() -> None:
    def build(x: acts.Tensor, group: acts.collective.Group, number: int) -> Any:
        check = acts.debugging.assert_non_negative(x, message="a negative gradient")
        with acts.control_dependencies([check]):
            return acts.collective.all_reduce(acts.identity(x), group)

    async with meeting(build) as (_, (one, other)):
        assert await both(one.run(1.0), other.run(2.0)) == [3.0, 3.0]
        waiting = asyncio.create_task(other.run(5.0))
        with pytest.raises(errors.InvalidArgumentError, match="a negative gradient"):
            await soon(one.run(-1.0))
        assert await both(one.run(4.0), waiting) == [9.0, 9.0]


async def test_members_that_do_not_agree_are_named_at_all_members() -> None:
    async with meeting() as (_, (one, other)):
        found = await both(one.run(np.zeros(2)), other.run(np.zeros(3)))
        for error in found:
            assert isinstance(error, errors.InvalidArgumentError)
            for words in (W0, W1, "float32 [2]", "float32 [3]"):
                assert words in error.message
        assert await both(one.run(3.0), other.run(4.0)) == [7.0, 7.0]


async def test_the_limit_of_one_member_ends_the_instance_at_those_that_have_come() -> None:
    async with meeting(total, (W0, W1, W2)) as (_, members):
        runs = [m.run(1.0) for m in members]
        assert await soon(asyncio.gather(*runs)) == [3.0] * 3
        late, waits = await both(members[0].run(1.0, timeout_in_ms=200), members[1].run(1.0))
        assert isinstance(late, errors.DeadlineExceededError)
        assert isinstance(waits, errors.AbortedError)
        assert f"{W0}/device:CPU:0 in instance 1 of group 1 has left" in waits.message
        assert f"{W0}/device:CPU:0 waits in instance 1 of group 1 for" in late.message
        runs = [m.run(2.0) for m in members]
        assert await soon(asyncio.gather(*runs)) == [6.0] * 3


async def test_the_end_of_a_session_ends_what_the_others_wait_for() -> None:
    async with meeting() as (cluster, (one, other)):
        await both(one.run(1.0), other.run(2.0))
        waiting = asyncio.create_task(other.run(5.0))
        server = cluster.server(W1)
        await eventually(lambda: server.statistics().steps > 0)
        await one.session.close()
        with pytest.raises(errors.AbortedError, match="was closed"):
            await soon(waiting)


async def test_a_group_of_the_same_key_may_have_other_members_in_later_sessions() -> None:
    async with patient({"worker": 3}) as cluster:
        for tasks in ([W0, W1], [W1, W2], [W2, W0, W1]):
            targets = [cluster.target(task) for task in tasks]
            async with replicas(targets, tasks, total) as members:
                runs = [m.run(1.0) for m in members]
                assert await soon(asyncio.gather(*runs)) == [float(len(tasks))] * len(tasks)
        await cluster.until_idle()


# -- members that are lost, in a simulation ----------------------------------------------------------
def slow(x: acts.Tensor, group: acts.collective.Group, number: int) -> Any:
    """The second member comes when ``come`` is run."""
    if number == 1:
        queue = acts.FIFOQueue(1, "float32", [[]])
        queue.enqueue(0.0, name="come")
        x += queue.dequeue()
    return acts.collective.all_reduce(x, group)


@asynccontextmanager
async def waiting_for_the_other(
    cluster: SimulatedCluster,
) -> AsyncIterator[tuple[Replica, Sequence[asyncio.Task[Any]]]]:
    """The member that comes late, and the runs of both in a step for which it has not come."""
    targets = [cluster.target("worker", i) for i in range(2)]
    async with replicas(targets, [W0, W1], slow) as (one, other):
        await other.session.run("come")
        assert await both(one.run(1.0), other.run(1.0)) == [2.0, 2.0]
        runs = [asyncio.create_task(member.run(2.0)) for member in (one, other)]
        await until(cluster, lambda seen: seen.steps == 1, W0, W1)
        yield other, runs


@simulated({"worker": 2})
async def test_a_member_that_is_killed_is_named_to_the_others_and_meets_them_when_it_is_back(
    cluster: SimulatedCluster,
) -> None:
    async with waiting_for_the_other(cluster) as (_, runs):
        cluster.task("worker", 1).crash()
        told, own = await both(*runs)
        assert isinstance(told, errors.UnavailableError)
        assert told.task == W1
        assert isinstance(own, errors.OpError)
    await cluster.restart("worker", 1)
    await _meet(cluster)
    await until(cluster, is_idle, W0, W1)


@simulated({"worker": 2})
async def test_a_member_that_is_stopped_is_named_when_its_lease_is_over(cluster: SimulatedCluster) -> None:
    async with waiting_for_the_other(cluster) as (other, runs):
        cluster.task("worker", 1).stall()
        with pytest.raises(errors.UnavailableError, match=W1):
            await runs[0]
        cluster.task("worker", 1).go_on()
        # Who comes late waits for another, if nobody has given up the link to it meanwhile; its session ends the run.
        with contextlib.suppress(errors.OpError):
            await other.session.run("come")
        await asyncio.gather(runs[1], return_exceptions=True)
    await _meet(cluster)


@simulated({"worker": 3}, seeds=5)
async def test_a_session_that_closes_after_its_last_step_takes_nothing_from_the_others(
    cluster: SimulatedCluster,
) -> None:
    """What it has sent to one member, that member may still have to pass on to a third one."""
    value = np.full(300_000, 2.0, np.float32)
    tasks = [W0, W1, W2]
    targets = [cluster.target("worker", index) for index in range(3)]
    for _ in range(6):
        async with replicas(targets, tasks, total) as members:

            async def last_step(member: Replica) -> Any:
                found = await member.run(value)
                await member.session.close()
                return found

            for found in await asyncio.gather(*map(last_step, members)):
                np.testing.assert_array_equal(found, 3.0 * value)


async def _meet(cluster: SimulatedCluster) -> None:
    """New sessions of the workers meet."""
    targets = [cluster.target("worker", i) for i in range(2)]
    async with replicas(targets, [W0, W1], total) as members:
        assert await asyncio.gather(*[m.run(2.0) for m in members]) == [4.0, 4.0]


def test_an_end_of_a_group_that_is_malformed_changes_nothing() -> None:
    groups = TaskGroups(RendezvousTable(W0, FakeWorkerCache()))
    joined: list[Any] = []
    table: Any = groups.led(shared_scope(7))
    member = Member(f"{W0}/device:CPU:0", 1)
    table.join(1, 1, member, joined.append)
    number = joined[0].number
    with pytest.raises(errors.ProtocolError):
        groups.end(EndGroup(scope=shared_scope(7), group=1, step_id=number, error=["?"]))
    table.join(1, 1, member, joined.append)
    assert joined[1].number == number
    error = errors.error_to_wire(errors.AbortedError("left"))
    groups.end(EndGroup(scope=shared_scope(7), group=1, step_id=number, error=error))
    table.join(1, 1, member, joined.append)
    assert joined[2].number != number


class Here:
    """The groups of a task, one of two members of a group whose leader is the other one."""

    number = 5

    def __init__(self) -> None:
        self.table = RendezvousTable(W0, FakeWorkerCache())
        self.groups, self.requests = TaskGroups(self.table), Children("requests")
        self.workers = FakeWorkerCache()
        self.members = [Member(f"{task}/device:CPU:0", 1) for task in (W0, W1)]
        self.workers.worker(W1).answers[CompleteGroup] = GroupCompleted(
            devices=[m.device for m in self.members],
            number=self.number,
            incarnations=[m.incarnation for m in self.members],
            hosts=["", ""],
        )
        self._resolver = self.groups.resolver(shared_scope(7), W1, "session", self.workers, None, self.requests)

    async def join(self) -> Any:
        """Returns what the members of the group share."""
        joined = asyncio.Future[Any]()
        self._resolver.join(1, 2, self.members[0], joined.set_result)
        return (await soon(joined)).shared

    def end(self, words: str, left: list[Any]) -> None:
        error = errors.error_to_wire(errors.AbortedError(words))
        self.groups.end(EndGroup(scope=shared_scope(7), group=1, step_id=self.number, error=error, left=left))

    async def stop(self) -> None:
        await self.requests.stop()


async def test_a_step_that_fails_because_its_group_has_ended_ends_nothing_again() -> None:
    """Its error is a consequence, and those that come later hear of the cause."""
    here = Here()
    shared = await here.join()
    here.end("the other member has failed", [])
    shared.abandon("the member here", errors.AbortedError("its group has ended"))
    assert here.workers.told == []
    with pytest.raises(errors.AbortedError, match="the other member has failed"):
        here.table.begin(5)
    await here.stop()


OTHER = f"{W1}/device:CPU:0"


async def test_a_member_that_leaves_lets_an_execution_end_in_which_it_took_part() -> None:
    here = Here()
    shared = await here.join()
    assert shared.begin(3, here.members[0].device) == 0
    here.end("closed", [[3, OTHER, 1]])
    assert not shared.ended
    assert shared.is_over  # the next execution forms the group anew
    shared.finish(3, here.members[0].device)
    assert shared.ended
    with pytest.raises(errors.AbortedError, match="closed"):
        here.table.begin(5)
    await here.stop()


async def test_a_session_that_closes_lets_another_one_of_its_task_end_its_execution() -> None:
    here = Here()
    shared = await here.join()
    own, other = here.members[0].device, f"{W0}/device:CPU:1"
    for device in (own, other):
        shared.begin(3, device)
    shared.finish(3, own)
    here.groups.leave("session")
    assert not shared.ended
    ((task, message),) = here.workers.told
    assert isinstance(message, EndGroup)
    assert (task, sorted(message.left)) == (W1, [[3, own, 1], [3, other, 1]])
    shared.finish(3, other)
    assert shared.ended
    await here.stop()


async def test_a_failure_while_a_member_leaves_is_told_to_the_others() -> None:
    here = Here()
    shared = await here.join()
    shared.begin(3, here.members[0].device)
    here.end("closed", [[3, OTHER, 1]])
    shared.abandon("the member here", errors.AbortedError("its step was cancelled"))
    assert [task for task, _ in here.workers.told] == [W1]
    assert shared.ended
    shared.finish(3, here.members[0].device)
    await here.stop()


@pytest.mark.parametrize("left", [[], [[3, OTHER, 1]], [[4, OTHER, 9]]])
async def test_a_member_that_leaves_ends_an_execution_that_needs_it(left: list[Any]) -> None:
    here = Here()
    shared = await here.join()
    device = here.members[0].device
    shared.begin(3, device)
    shared.finish(3, device)
    assert shared.begin(3, device) == 1
    here.end("closed", left)
    assert shared.ended
    await here.stop()


async def test_a_member_that_leaves_when_nothing_is_under_way_ends_the_group() -> None:
    here = Here()
    shared = await here.join()
    here.end("closed", [[3, OTHER, 1]])
    assert shared.ended
    await here.stop()


@pytest.mark.parametrize("left", [["?"], [[1, 2, 3]], [[1, OTHER]], [[1.0, OTHER, 1]]])
async def test_a_list_of_executions_that_is_malformed_changes_nothing(left: list[Any]) -> None:
    here = Here()
    shared = await here.join()
    with pytest.raises(errors.ProtocolError, match="an execution is an instance"):
        here.end("closed", left)
    assert not shared.is_over
    await here.stop()


async def test_a_leader_is_asked_once_for_the_group_after_one_that_has_ended() -> None:
    members = [Member(f"{W0}/device:CPU:{i}", 1) for i in range(2)]
    leader, requests, ended = Leader(held=""), Children("requests"), set[int]()
    groups = LedGroups(
        "graph", lambda: LocalRef(leader), requests, lambda group: None if group.number in ended else group
    )

    async def formed() -> int:
        answers = [asyncio.Future[Any]() for _ in members]
        for member, answer in zip(members, answers, strict=True):
            groups.join(1, 2, member, answer.set_result)
        (number,) = {(await soon(answer)).number for answer in answers}
        return int(number)

    try:
        ended.add(await formed())
        assert await formed() not in ended
        assert len(leader.asked) == 4
    finally:
        await requests.stop()
        await leader.stop()


class Leader(Actor):
    """A group leader whose answers to one device are held back."""

    def __init__(self, held: str) -> None:
        super().__init__("leader")
        self.table = GroupTable()
        self.held = held
        self.asked: list[str] = []

    @handles(CompleteGroup)
    async def on_complete_group(self, message: CompleteGroup, call: CallContext) -> Any:
        self.asked.append(message.device)
        answer = await complete_group(self.table, message)
        if message.device == self.held:
            await asyncio.Event().wait()
        return answer


async def test_the_answer_to_one_member_answers_all_members_of_the_graph_at_the_task() -> None:
    """Otherwise one could join the next group in a step of which another has used the one that has ended."""
    one, other = (Member(f"{W0}/device:CPU:{i}", 1) for i in range(2))
    leader, requests = Leader(held=other.device), Children("requests")
    groups = LedGroups("graph", lambda: LocalRef(leader), requests)
    try:
        first, second = asyncio.Future[Any](), asyncio.Future[Any]()
        groups.join(1, 2, other, first.set_result)
        groups.join(1, 2, one, second.set_result)
        group = await soon(first)
        assert await soon(second) is group
        assert group.members == (one, other)
        again: list[Any] = []
        groups.join(1, 2, other, again.append)
        assert again == [group]
        assert sorted(leader.asked) == [one.device, other.device]
        # It answers no request for a group of another size.
        groups.join(1, 1, other, again.append)
        await eventually(lambda: len(leader.asked) == 3)
    finally:
        await requests.stop()
        await leader.stop()
