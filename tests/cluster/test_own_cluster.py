"""Sessions that bring their own cluster along: names, devices, state and who may be the target."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, ClusterSpec, Graph, LocalCluster, Server, ServerSettings, Session, ops
from actorsession.cluster import read_statistics
from actorsession.config import ConfigProto, Experimental
from actorsession.errors import DeadlineExceededError, InvalidArgumentError, NotFoundError, WorkerRestartedError
from tests.cluster.kit import PS0, W0, W1, InProcess, eventually, on, soon, until_all
from tests.leaks import take_holdings

TRAINER = "/job:trainer/replica:0/task:0"


def swapped(cluster: InProcess) -> ConfigProto:
    """The two workers of a cluster, under other names."""
    spec = {"trainer": [cluster.target(W0)], "ps": [cluster.target(W1)]}
    return ConfigProto(cluster_def=spec)


def counter(task: str) -> tuple[Any, Any]:
    with on(task):
        v = ops.Variable(0.0, name="count")
        return v.initializer, v.assign_add(1.0)


@pytest.mark.usefixtures("way")
async def test_devices_have_the_names_of_the_cluster_that_the_session_brings(cluster: InProcess, graph: Graph) -> None:
    async with AsyncSession(cluster.target(), graph=graph, config=swapped(cluster)) as session:
        names = [d.name for d in await session.list_devices()]
    assert names == [f"{TRAINER}/device:CPU:0", f"{PS0}/device:CPU:0"]


async def test_values_go_between_its_tasks_in_both_directions(cluster: InProcess, way: str, graph: Graph) -> None:
    x = ops.placeholder("float32", [3])
    a = on(PS0, lambda: x * 2.0)
    b = on(TRAINER, lambda: a + 1.0)
    c = on(PS0, lambda: b * b)
    feed = np.arange(3, dtype=np.float32)
    async with AsyncSession(cluster.target(), graph=graph, config=swapped(cluster)) as session:
        found = await soon(session.run([c, b], {x: feed}))
    np.testing.assert_array_equal(found[0], (feed * 2 + 1) ** 2)
    np.testing.assert_array_equal(found[1], feed * 2 + 1)
    await cluster.until_idle()


async def test_its_state_is_its_own_and_ends_with_it(cluster: InProcess, graph: Graph) -> None:
    """Two such sessions, and one of the servers' own cluster, count for themselves."""
    initializer, add = counter(PS0)
    with Graph().as_default() as plain:
        plain_initializer, plain_add = counter(W1)
    async with AsyncSession(cluster.target(), graph=plain) as other:
        await soon(other.run(plain_initializer))
        for _ in range(2):
            async with AsyncSession(cluster.target(), graph=graph, config=swapped(cluster)) as session:
                await soon(session.run(initializer))
                assert await soon(session.run(add)) == 1.0
                assert await soon(session.run(add)) == 2.0
        assert await soon(other.run(plain_add)) == 1.0
    assert all(not s.worker_sessions for s in cluster.statistics().values())


async def test_names_of_the_servers_own_cluster_are_unknown_in_it(cluster: InProcess, graph: Graph) -> None:
    y = on(W1, lambda: ops.constant(1.0) + 1.0)
    session = AsyncSession(cluster.target(), graph=graph, config=swapped(cluster))
    with pytest.raises(InvalidArgumentError, match=f"the devices are: {PS0}/device:CPU:0, {TRAINER}"):
        await soon(session.run(y))
    await session.close()


async def test_two_sessions_may_use_one_name_for_different_tasks(cluster: InProcess, graph: Graph) -> None:
    first = ConfigProto(cluster_def={"trainer": [cluster.target(W0), cluster.target(W1)]})
    second = ConfigProto(cluster_def={"trainer": [cluster.target(W1), cluster.target(W0)]})
    x = ops.placeholder("float32", [])
    a = on(TRAINER, lambda: x + 1.0)
    b = on(TRAINER[:-1] + "1", lambda: a * 2.0)
    async with (
        AsyncSession(cluster.target(W0), graph=graph, config=first) as one,
        AsyncSession(cluster.target(W0), graph=graph, config=second) as other,
    ):
        for session in (one, other):
            assert await soon(session.run([a, b], {x: 1.0})) == [2.0, 4.0]
        tasks = [[d.name for d in await s.list_devices()] for s in (one, other)]
    # The client device is the target's: task 0 in one session, task 1 in the other.
    assert [names[0].partition("/device")[0] for names in tasks] == [TRAINER, TRAINER[:-1] + "1"]


async def test_a_server_does_not_have_the_name_that_it_was_started_with(cluster: InProcess, graph: Graph) -> None:
    both = [cluster.target(W0), cluster.target(W1)]
    end = ops.constant(1.0) + 1.0
    refused = AsyncSession(cluster.target(W0), graph=graph, config=ConfigProto(cluster_def={"worker": both}))
    with pytest.raises(InvalidArgumentError, match=f"when the server booted: {W0}"):
        await soon(refused.run(end))
    await refused.close()
    # The other's own name, and another number, are no such name.
    turned = ConfigProto(cluster_def={"worker": both[::-1]})
    async with AsyncSession(cluster.target(W0), graph=graph, config=turned) as session:
        assert await soon(session.run(end)) == 2.0


async def test_servers_that_know_of_no_cluster_can_be_joined_to_one(graph: Graph) -> None:
    """Each was started alone, all by the same name."""
    alone = {"worker": ["127.0.0.1:0"]}
    v = on(PS0, lambda: ops.Variable([1.0, 2.0]))
    y = on(TRAINER, lambda: v.read_value() + 1.0)
    async with Server(alone, "worker") as one, Server(alone, "worker") as other:
        spec = ClusterSpec({"trainer": [one.target], "ps": [other.target]})
        async with AsyncSession(one.target, graph=graph, config=ConfigProto(cluster_def=spec)) as session:
            await soon(session.run(v.initializer))
            np.testing.assert_array_equal(await soon(session.run(y)), [2.0, 3.0])


@pytest.mark.process
async def test_processes_can_be_driven_by_a_master_in_the_clients_own(processes: LocalCluster, graph: Graph) -> None:
    """The client starts a server of its own as the master; no worker was ever told of it."""
    with on(PS0):
        v = ops.Variable(1.0)
        add = v.assign_add(1.0)
    master = Server({"chief": ["127.0.0.1:0"]}, "chief", settings=ServerSettings(cluster_id=processes.cluster_id))
    async with master:
        tasks = {**processes.spec.tasks(), "/job:driver/replica:0/task:0": master.target}
        config = ConfigProto(cluster_def=ClusterSpec.of_tasks(tasks))
        async with AsyncSession(master.target, graph=graph, config=config) as session:
            assert session.statistics().link is None
            await soon(session.run(v.initializer))
            assert await soon(session.run(add)) == 2.0


TARGET = "tcp://127.0.0.1:2222"


@pytest.mark.parametrize(
    ("jobs", "said"),
    [
        ({}, "is 0 of them: no task"),
        ({"worker": ["127.0.0.1:1"]}, f"is 0 of them: {W0} at tcp://127.0.0.1:1"),
        ({"worker": [None, None]}, "is 2 of them"),
    ],
)
async def test_the_target_is_exactly_one_task_of_it(
    jobs: dict[str, list[str | None]], said: str, cluster: InProcess, graph: Graph
) -> None:
    filled = {job: [a or cluster.target() for a in tasks] for job, tasks in jobs.items()}
    session = AsyncSession(cluster.target(), graph=graph, config=ConfigProto(cluster_def=filled))
    with pytest.raises(InvalidArgumentError, match="is exactly one task of it") as info:
        await soon(session.list_devices())
    assert said in info.value.message
    assert all(not s.sessions for s in cluster.statistics().values())


@pytest.mark.parametrize("kind", [AsyncSession, Session])
def test_a_local_session_has_no_cluster(kind: Any, graph: Graph) -> None:
    with pytest.raises(InvalidArgumentError, match="cluster_def is for remote sessions"):
        kind(graph=graph, config=ConfigProto(cluster_def={"worker": ["h:1"]}))


@pytest.mark.parametrize("given", [7, ["h:1"], {"worker": 7}, "worker"])
def test_what_is_no_cluster_is_refused(given: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="cluster_def must be a ClusterSpec"):
        ConfigProto(cluster_def=given)


@pytest.mark.parametrize(
    "given",
    [
        {"ps": ["h:1"], "worker": {3: "h:2"}},
        ClusterSpec({"ps": ["h:1"], "worker": {3: "h:2"}}),
        ClusterSpec({"ps": ["h:1"], "worker": {3: "h:2"}}).as_cluster_def(),
    ],
)
def test_a_cluster_may_be_given_in_any_form_and_travels(given: Any) -> None:
    config = ConfigProto(cluster_def=given)
    assert ConfigProto.from_wire(config.to_wire()) == config
    assert ClusterSpec(config.cluster_def) == ClusterSpec({"ps": ["h:1"], "worker": {3: "h:2"}})


async def test_a_task_of_it_that_restarts_is_told_and_attached_anew(graph: Graph) -> None:
    alone = {"worker": ["127.0.0.1:0"]}
    v = on(PS0, lambda: ops.Variable(3.0, name="v"))
    async with Server(alone, "worker") as one:
        other = Server(alone, "worker")
        await other.start()
        spec = ClusterSpec({"trainer": [one.target], "ps": [other.target]})
        config = ConfigProto(cluster_def=spec)
        async with AsyncSession(one.target, graph=graph, config=config) as session:
            await soon(session.run(v.initializer))
            address = other.target.partition("://")[2]
            await other.stop()
            async with Server({"worker": [address]}, "worker"):
                with pytest.raises(WorkerRestartedError, match="Variables lost: v") as info:
                    await soon(session.run(v.read_value()))
                assert info.value.task == PS0
                found = await soon(session.reattach(v.initializer))
                assert (found.restarted, found.lost) == ((PS0,), ("v",))
                assert await soon(session.run(v.read_value())) == 3.0


# -- links -----------------------------------------------------------------------------------------
def there_and_back(task: str) -> tuple[Any, Any]:
    """A step that sends to a task and from there back to the trainer."""
    x = ops.placeholder("float32", [])
    y = on(task, lambda: x * 2.0)
    with on(TRAINER):
        return y + 1.0, x


def links(cluster: InProcess) -> int:
    return sum(len(seen.links) for seen in cluster.statistics().values())


@pytest.mark.usefixtures("over_links")
async def test_twenty_sessions_with_another_name_for_a_task_each_leave_no_link_and_no_file(cluster: InProcess) -> None:
    """1. A session of the servers' own cluster uses the link that stays. 2. Each session has links of its
    own while it is open. 3. After it there are as many links and open files as before."""
    async with AsyncSession(cluster.target(), graph=Graph()) as plain:
        await plain.list_devices()
        before, links_before = take_holdings(), links(cluster)
        for number in range(20):
            jobs = {"trainer": [cluster.target(W0)], f"ps{number}": [cluster.target(W1)]}
            with Graph().as_default() as graph:
                y, x = there_and_back(f"/job:ps{number}/task:0")
            config = ConfigProto(cluster_def=jobs)
            async with AsyncSession(cluster.target(), graph=graph, config=config) as session:
                assert await soon(session.run(y, {x: 1.0})) == 3.0
                assert links(cluster) > links_before
            await eventually(lambda: links(cluster) == links_before)
        await eventually(lambda: not take_holdings().beyond(before).describe())


@pytest.mark.process
async def test_processes_keep_no_link_of_a_session_that_is_over(processes: LocalCluster) -> None:
    targets = [processes.target("worker", index) for index in range(2)]
    # Links that are there already, and that of whoever asks.
    links = [len((await read_statistics(target)).links) for target in targets]
    for number in range(5):
        jobs = {"trainer": [targets[0]], f"ps{number}": [targets[1]]}
        with Graph().as_default() as graph:
            y, x = there_and_back(f"/job:ps{number}/task:0")
        config = ConfigProto(cluster_def=jobs)
        async with AsyncSession(targets[0], graph=graph, config=config) as session:
            assert await soon(session.run(y, {x: 1.0})) == 3.0
    for target, before in zip(targets, links, strict=True):
        await until_all([target], lambda seen, most=before: len(seen.links) <= most)  # type: ignore[misc]


async def test_the_end_of_such_a_session_leaves_links_of_others_alone(cluster: InProcess, graph: Graph) -> None:
    """Even where its tasks have names of the servers' own cluster, those of others: the private state of a
    session would be lost with its link."""
    v = on(W1, lambda: ops.Variable(5.0, name="v"))
    isolated = ConfigProto(isolate_session_state=True)
    turned = [cluster.target(W1), cluster.target(W0)]
    same = ConfigProto(cluster_def={"worker": turned})
    async with AsyncSession(cluster.target(), graph=graph, config=isolated) as private:
        await soon(private.run(v.initializer))
        for target in (W0, W1):
            async with AsyncSession(cluster.target(target), graph=graph, config=same) as session:
                await soon(session.run(v.initializer))
        assert await soon(private.run(v.read_value())) == 5.0


async def test_a_session_that_cannot_be_opened_leaves_no_link(cluster: InProcess, graph: Graph) -> None:
    links_before = links(cluster)
    jobs = {"trainer": [cluster.target()], "ps": [cluster.target(W1), "tcp://127.0.0.1:1"]}
    config = ConfigProto(cluster_def=jobs, wait_for_all_tasks=True, operation_timeout_in_ms=500)
    session = AsyncSession(cluster.target(), graph=graph, config=config)
    with pytest.raises(DeadlineExceededError, match="1 of 3 tasks did not answer"):
        await soon(session.list_devices())
    await session.close()
    await eventually(lambda: links(cluster) == links_before)


# -- shared state ----------------------------------------------------------------------------------
SHARED = Experimental(share_session_state_in_clusterspec_propagation=True)


@asynccontextmanager
async def three_alone() -> AsyncIterator[tuple[Server, Server, Server]]:
    """Servers that know of no cluster: a parameter server and two workers."""
    alone = {"worker": ["127.0.0.1:0"]}
    servers = [Server(alone, "worker") for _ in range(3)]
    async with servers[0], servers[1], servers[2]:
        yield servers[0], servers[1], servers[2]


def of_worker(ps: Server, workers: list[Server], **more: Any) -> ConfigProto:
    jobs = {"ps": [ps.target], "trainer": [server.target for server in workers]}
    return ConfigProto(cluster_def=jobs, **more)


async def test_several_masters_that_bring_a_cluster_along_may_share_the_state_of_its_tasks(graph: Graph) -> None:
    """Between-graph replication: each worker's session updates the variables of one parameter server, which
    outlive both."""
    initializer, add = counter(PS0)
    async with three_alone() as (ps, *workers):
        config = of_worker(ps, workers, experimental=SHARED)
        sessions = [AsyncSession(w.target, graph=graph, config=config) for w in workers]
        async with sessions[0] as one, sessions[1] as other:
            await soon(one.run(initializer))
            assert await soon(one.run(add)) == 1.0
            assert await soon(other.run(add)) == 2.0
        async with AsyncSession(workers[0].target, graph=graph, config=config) as later:
            assert await soon(later.run(add)) == 3.0
        alone = of_worker(ps, workers)
        async with AsyncSession(workers[0].target, graph=graph, config=alone) as private:
            with pytest.raises(NotFoundError, match="'count' is changed before it has a value"):
                await soon(private.run(add))


async def test_tasks_may_have_another_name_for_each_session_that_shares_their_state(graph: Graph) -> None:
    """One of them may be a session of the server's own cluster."""
    initializer, add = counter(PS0)
    with Graph().as_default() as own:
        _, add_there = counter(W0)
    async with three_alone() as (ps, *workers):
        config = of_worker(ps, workers, experimental=SHARED)
        async with (
            AsyncSession(workers[0].target, graph=graph, config=config) as session,
            AsyncSession(ps.target, graph=own) as plain,
        ):
            await soon(session.run(initializer))
            assert await soon(session.run(add)) == 1.0
            assert await soon(plain.run(add_there)) == 2.0


async def test_two_clients_may_have_one_name_for_their_masters(graph: Graph) -> None:
    """Neither is taken for another life of the other."""
    initializer, add = counter(PS0)
    async with three_alone() as (ps, *workers):
        configs = [ConfigProto(cluster_def={"trainer": [w.target], "ps": [ps.target]}) for w in workers]
        async with (
            AsyncSession(workers[0].target, graph=graph, config=configs[0]) as one,
            AsyncSession(workers[1].target, graph=graph, config=configs[1]) as other,
        ):
            for session in (one, other):
                await soon(session.run(initializer))
            for session in (one, other):
                assert await soon(session.run(add)) == 1.0


async def test_sharing_its_state_outweighs_isolating_it(cluster: InProcess, graph: Graph) -> None:
    """As in TensorFlow, with and without a cluster of the session's own."""
    initializer, add = counter(W1)
    both = ConfigProto(isolate_session_state=True, experimental=SHARED)
    async with (
        AsyncSession(cluster.target(), graph=graph) as plain,
        AsyncSession(cluster.target(), graph=graph, config=both) as session,
    ):
        await soon(plain.run(initializer))
        assert await soon(session.run(add)) == 1.0
        assert await soon(plain.run(add)) == 2.0


async def test_shared_state_is_there_after_the_link_was_lost(graph: Graph) -> None:
    """The state is that of the task, so the session goes on by itself."""
    initializer, add = counter(PS0)
    async with three_alone() as (ps, *workers):
        config = of_worker(ps, workers, experimental=SHARED)
        async with AsyncSession(workers[0].target, graph=graph, config=config) as session:
            await soon(session.run(initializer))
            for link in list(ps._cache._open):
                link._connection.abort()
                await soon(link.wait_closed())
            assert await soon(session.run(add)) == 1.0


@pytest.mark.process
async def test_processes_with_a_master_each_share_a_parameter_server(processes: LocalCluster, graph: Graph) -> None:
    initializer, add = counter(PS0)
    targets = [processes.target("worker", index) for index in range(2)]
    jobs = {"ps": [processes.target("ps", 0)], "trainer": targets}
    config = ConfigProto(cluster_def=jobs, experimental=SHARED)
    sessions = [AsyncSession(target, graph=graph, config=config) for target in targets]
    async with sessions[0] as one, sessions[1] as other:
        await soon(one.run(initializer))
        await soon(asyncio.gather(*[s.run(add) for s in (one, other) for _ in range(20)]))
        assert await soon(other.run(add)) == 41.0
