"""Partial runs over a master.

The specification of local sessions is run again, as it is, in both faces and by three ways: a master in this
process called directly, the same over the wire, and three worker processes with the graph's nodes spread over
them. What only a cluster can show follows.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Iterator
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, LocalCluster, Tensor, ops
from actorsession.config import ConfigProto, RPCOptions
from actorsession.errors import CancelledError, DeadlineExceededError, InvalidArgumentError, UnavailableError
from actorsession.testing import SimulatedCluster, StillClock
from tests.cluster.kit import PS0, W0, W1, Gate, InProcess, eventually, is_idle, on, simulated, soon, until
from tests.cluster.master_access import Way, made_ways
from tests.cluster.remote_adapters import FACES, fixtures_of, specified
from tests.loops import cancelled
from tests.rows import few_of
from tests.session import test_partial_runs
from tests.session.inner import link_statistics, remote_session
from tests.session.partial_kit import Stages

# Both faces by both kinds of way, and no more: each is a hundred and fifty tests.
KINDS = [
    ("inproc", "AsyncSession"),
    ("wire", "Session"),
    *(pytest.param(("processes", face), marks=pytest.mark.whole) for face in FACES),
]


@pytest.fixture(params=KINDS, ids="-".join)
async def way_and_face(request: Any, processes: LocalCluster) -> AsyncIterator[tuple[Way, Any]]:
    name, face = request.param
    async for made in made_ways(name, processes):
        yield made, FACES[face]


# -- the specification -----------------------------------------------------------------------------
# What sessions of one process have and others do not, or what is shown in another way below.
LOCAL = {
    "looks into the runs of a local session": [
        "test_the_limit_counts_for_each_call_and_not_for_the_time_between",
        "test_a_run_that_nobody_continues_is_collected_after_its_idle_limit",
        "test_the_default_idle_limit_is_ten_minutes",
        "test_closing_the_session_collects_its_runs_with_their_rendezvous",
        "test_ordinary_and_partial_plans_are_kept_apart",
        "test_a_kind_of_session_without_partial_runs_says_so",
        "test_its_rendezvous_is_emptied",
        "test_what_it_was_fed_is_let_go",
    ],
    "has devices or pools of its own": [
        "test_several_devices_each_get_the_feeds_they_read",
        "test_loops_and_functions_on_many_devices_run_as_their_feeds_come",
        "test_without_a_kernel_pool_everything_runs_in_the_loops_own_thread",
        "test_tensor_handles_are_fetched_and_fed_as_in_a_run",
    ],
    "is told at once what another task finds out later": [
        "test_an_error_of_an_operation_that_nobody_fetches_is_told_too"
    ],
    "closes local sessions": ["test_reset_gives_partial_runs_up"],
    "has a limit in time that ends before a cluster has answered": [
        "test_a_limit_in_time_ends_the_run_alone_with_deadline_exceeded",
        "test_a_limit_gives_it_up_and_takes_nothing",
    ],
}


SPECIFIED = specified(test_partial_runs, LOCAL)
globals().update(SPECIFIED | fixtures_of(test_partial_runs))


def test_the_specification_is_run_again() -> None:
    assert len(SPECIFIED) >= 40


# -- over tasks ------------------------------------------------------------------------------------
class Pipe:
    """``there`` on worker 1 needs ``a``; ``back`` on worker 0 needs ``there`` and ``b``."""

    def __init__(self) -> None:
        self.a, self.b = (ops.placeholder("float32", [], name=name) for name in "ab")
        self.there = on(W1, lambda: ops.multiply(self.a, 2.0, name="there"))
        self.back = on(W0, lambda: ops.add(self.there, self.b, name="back"))
        self.fetches, self.feeds = [self.there, self.back], [self.a, self.b]


@pytest.fixture
def plain_graph() -> Iterator[Graph]:
    with Graph().as_default() as made:
        yield made


@pytest.fixture
def pipe(plain_graph: Graph) -> Pipe:
    return Pipe()


def wire_config(**settings: Any) -> ConfigProto:
    return ConfigProto(rpc_options=RPCOptions(use_rpc_for_inprocess_master=True), **settings)


def master_runs(cluster: InProcess) -> Any:
    """The partial runs of the only session at the master."""
    master: Any = cluster.server(W0).actors.master
    (session,) = master._sessions.values()
    return session.steps.partials


async def test_parts_are_begun_at_setup_with_nothing_fed_and_no_limit_in_time(
    cluster: InProcess, pipe: Pipe, plain_graph: Graph
) -> None:
    def runs() -> list[int]:
        return [seen.runs for seen in cluster.statistics().values()]

    async with AsyncSession(cluster.target(), graph=plain_graph, config=wire_config()) as session:
        handle = await session.partial_run_setup(pipe.fetches, pipe.feeds)
        await eventually(lambda: runs() == [1, 1])
        assert await session.partial_run(handle, pipe.fetches, {pipe.a: 1, pipe.b: 2}) == [2, 4]
        assert runs() == [1, 1]


@pytest.mark.parametrize("task", [W0, W1])
async def test_a_run_that_needs_no_feed_ends_or_fails_at_setup_and_its_first_call_is_told(
    task: str, cluster: InProcess, plain_graph: Graph
) -> None:
    """The first run of a plan registers it; those after it are begun in the call that sets them up."""
    with on(task):
        v = ops.Variable(np.int32(0), name="v")
        good, bad = v + 6, ops.floordiv(7, v, name="bad")
    async with AsyncSession(cluster.target(), graph=plain_graph) as session:
        await session.run(v.initializer)
        for _ in range(3):
            handle = await session.partial_run_setup(good)
            assert await session.partial_run(handle, good) == 6
            handle = await session.partial_run_setup(bad)
            with pytest.raises(InvalidArgumentError, match="division by zero") as info:
                await session.partial_run(handle, bad)
            assert (info.value.node, info.value.task) == ("bad", task)
        await cluster.until_idle()


async def test_the_feeds_of_a_call_go_to_a_task_in_one_message(cluster: InProcess, plain_graph: Graph) -> None:
    fed = [ops.placeholder("float32", [], name=name) for name in "abc"]
    total = on(W1, lambda: ops.add_n([f * 1.0 for f in fed]))
    async with AsyncSession(cluster.target(), graph=plain_graph) as session:
        handle = await session.partial_run_setup(total, fed)
        before = cluster.server(W0).statistics().pushes
        assert await session.partial_run(handle, [], {fed[0]: 1, fed[1]: 2}) == []
        assert cluster.server(W0).statistics().pushes == before + 1
        assert await session.partial_run(handle, total, {fed[2]: 3}) == 6
        assert cluster.server(W0).statistics().pushes == before + 2


async def test_a_setup_and_a_call_cost_one_message_each_and_the_wire_can_be_forced(
    cluster: InProcess, pipe: Pipe, plain_graph: Graph
) -> None:
    async with AsyncSession(cluster.target(), graph=plain_graph, config=wire_config()) as session:
        await session.list_devices()
        sent = link_statistics(session).calls_sent
        handle = await session.partial_run_setup(pipe.fetches, pipe.feeds)
        assert link_statistics(session).calls_sent == sent + 1
        await session.partial_run(handle, pipe.there, {pipe.a: 1})
        await session.partial_run(handle, pipe.back, {pipe.b: 1})
        assert link_statistics(session).calls_sent == sent + 3
    async with AsyncSession(cluster.target(), graph=plain_graph) as session:
        handle = await session.partial_run_setup(pipe.fetches, pipe.feeds)
        assert await session.partial_run(handle, pipe.fetches, {pipe.a: 1, pipe.b: 1}) == [2, 3]
        assert session.statistics().link is None


async def test_an_error_of_an_operation_that_nobody_fetches_is_told_by_a_later_call(
    session: Any, graph: Graph, stages: Stages
) -> None:
    divisor = ops.placeholder("int32", [], name="divisor")
    with graph.device(W1):
        quotient = ops.floordiv(ops.constant(6), divisor, name="quotient")
    handle = await session.partial_run_setup([quotient.op, *stages.fetches], [divisor, *stages.feeds])
    assert await session.partial_run(handle, [], {divisor: 0}) == []
    with pytest.raises(InvalidArgumentError, match="division by zero") as caught:
        # At the latest by the one that completes the run, which waits for all of its parts.
        await session.partial_run(handle, stages.fetches, {"a:0": 1, "b:0": 1, "c:0": 1})
    assert (caught.value.node, caught.value.task) == ("quotient", W1)
    with pytest.raises(InvalidArgumentError, match="No partial run"):
        await session.partial_run(handle, stages.second, {stages.c: 1})


async def test_loops_and_branches_run_as_their_feeds_come(session: Any, graph: Graph, stages: Stages) -> None:
    turns = ops.placeholder("int32", [])
    with graph.device(W1):
        _, looped = ops.while_loop(
            lambda i, v: i < turns, lambda i, v: (i + 1, v * 2.0), [ops.constant(0), stages.first]
        )
    with graph.device(PS0):
        chosen = ops.cond(looped > stages.c, lambda: looped, lambda: stages.c)
    handle = await session.partial_run_setup([stages.first, looped, chosen], [*stages.feeds, turns])
    assert await session.partial_run(handle, stages.first, {stages.a: 1, stages.b: 2}) == 3
    with pytest.raises(InvalidArgumentError, match="can't be computed"):
        await session.partial_run(handle, looped)
    assert await session.partial_run(handle, looped, {turns: 3}) == 24
    assert await session.partial_run(handle, chosen, {stages.c: 90}) == 90


async def test_many_runs_of_many_children_are_open_at_once(session: Any, stages: Stages) -> None:
    async def child(i: int) -> None:
        handle = await session.partial_run_setup(stages.fetches, stages.feeds)
        first = await session.partial_run(handle, stages.first, {stages.a: i, stages.b: 1})
        assert await session.partial_run(handle, stages.second, {stages.c: first}) == (i + 1) ** 2

    async with asyncio.TaskGroup() as group:
        for i in range(40):
            group.create_task(child(i))
    assert session.way.open_partial_runs() == 0


async def test_partial_graphs_are_kept_apart_and_released_when_they_fall_out(
    cluster: InProcess, pipe: Pipe, plain_graph: Graph
) -> None:
    """1. An ordinary and a partial run of one signature: two graphs on each task. 2. Another partial run
    takes the place of the first in a cache of one. 3. The first is released once its run is over."""
    config = ConfigProto(plan_cache_size=1)

    def registered() -> list[int]:
        return [s.graphs for s in cluster.statistics().values()]

    async with AsyncSession(cluster.target(), graph=plain_graph, config=config) as session:
        given = {pipe.a: 1, pipe.b: 2}
        assert await session.run(pipe.fetches, given) == [2, 4]
        first = await session.partial_run_setup(pipe.fetches, pipe.feeds)
        assert registered() == [2, 2]
        other = await session.partial_run_setup(pipe.there, [pipe.a])
        assert registered() == [2, 3]
        assert await session.partial_run(first, pipe.fetches, given) == [2, 4]
        await eventually(lambda: registered() == [1, 2])
        assert await session.partial_run(other, pipe.there, {pipe.a: 3}) == 6


@pytest.mark.parametrize("seed", few_of(range(8), 4))
async def test_random_graphs_in_random_stages_give_what_one_run_gives(
    cluster: InProcess, plain_graph: Graph, seed: int
) -> None:
    """Each value's task and inputs are drawn, and in which call each feed is given; a fetch is taken in a
    random call after its last feed."""
    draw = random.Random(seed)
    feeds = [ops.placeholder("float32", [], name=f"feed{i}") for i in range(4)]
    needs: list[tuple[Tensor, set[int]]] = [(feed, {i}) for i, feed in enumerate(feeds)]
    for i in range(20):
        (x, of_x), (y, of_y) = draw.choice(needs), draw.choice(needs)
        with on(draw.choice([W0, W1])):
            needs.append((ops.add(x * 0.5, y, name=f"value{i}"), of_x | of_y))
    given = {feed: float(i + 1) for i, feed in enumerate(feeds)}
    stage_of = {i: draw.randrange(4) for i in range(len(feeds))}
    stages: list[list[Tensor]] = [[] for _ in range(6)]
    fetched = draw.sample(needs[len(feeds) :], 8)
    for value, of in fetched:
        stages[draw.randrange(max(stage_of[i] for i in of), 6)].append(value)
    async with AsyncSession(cluster.target(), graph=plain_graph, config=wire_config()) as session:
        expected = await session.run({v.name: v for v, _ in fetched}, given)
        for _ in range(2):
            handle = await session.partial_run_setup([v for v, _ in fetched], feeds)
            got = {}
            for number, wanted in enumerate(stages):
                fed = {feeds[i]: given[feeds[i]] for i, at in stage_of.items() if at == number}
                got.update(await session.partial_run(handle, {v.name: v for v in wanted}, fed))
            assert got == expected
            assert len(master_runs(cluster)) == 0
    await cluster.until_idle()


# -- waiting ---------------------------------------------------------------------------------------
class Held:
    """A way on worker 1 that a test holds, and a free one."""

    def __init__(self, name: str) -> None:
        self.gate = Gate(name)
        self.a, self.b = (ops.placeholder("float32", [], name=n) for n in "ab")
        with on(W1):
            self.held: Tensor = self.gate(self.a) + 1.0
        self.free = on(W0, lambda: self.b + 1.0)
        self.fetches, self.feeds = [self.held, self.free], [self.a, self.b]


@pytest.fixture
def held(request: Any, plain_graph: Graph) -> Iterator[Held]:
    made = Held(request.node.name)
    yield made
    made.gate.open()


@pytest.mark.parametrize("config", [ConfigProto(), wire_config()], ids=["direct", "wire"])
async def test_several_calls_of_a_run_wait_at_once(
    cluster: InProcess, held: Held, plain_graph: Graph, config: ConfigProto
) -> None:
    async with AsyncSession(cluster.target(), graph=plain_graph, config=config) as session:
        handle = await session.partial_run_setup(held.fetches, held.feeds)
        waiting = asyncio.create_task(session.partial_run(handle, held.held, {held.a: 1}))
        await held.gate.wait_entered()
        last = asyncio.create_task(session.partial_run(handle, held.free, {held.b: 1}))
        await asyncio.sleep(0)
        held.gate.open()
        assert await soon(asyncio.gather(waiting, last)) == [2, 2]
    await cluster.until_idle()


@pytest.mark.parametrize("config", [ConfigProto(), wire_config()], ids=["direct", "wire"])
async def test_cancelling_a_call_gives_up_that_run_only(
    cluster: InProcess, held: Held, plain_graph: Graph, config: ConfigProto
) -> None:
    async with AsyncSession(cluster.target(), graph=plain_graph, config=config) as session:
        other = await session.partial_run_setup(held.free, held.b)
        handle = await session.partial_run_setup(held.fetches, held.feeds)
        call = asyncio.create_task(session.partial_run(handle, held.held, {held.a: 1}))
        await held.gate.wait_entered()
        await cancelled(call)
        with pytest.raises(InvalidArgumentError, match="No partial run"):
            await session.partial_run(handle, held.free, {held.b: 1})
        assert len(master_runs(cluster)) == 1
        assert await session.partial_run(other, held.free, {held.b: 1}) == 2
        held.gate.open()
    await cluster.until_idle()


@pytest.mark.usefixtures("patient_clients")
async def test_a_limit_in_time_ends_the_run_and_names_the_tasks_that_have_not_ended(
    cluster: InProcess, held: Held, plain_graph: Graph
) -> None:
    config = ConfigProto(operation_timeout_in_ms=1000)
    async with AsyncSession(cluster.target(), graph=plain_graph, config=config) as session:
        handle = await session.partial_run_setup(held.fetches, held.feeds)
        with pytest.raises(DeadlineExceededError, match=f"parts that have not ended: {W1}$"):
            await session.partial_run(handle, [held.free, held.held], {held.a: 1, held.b: 1})
        with pytest.raises(InvalidArgumentError, match="No partial run"):
            await session.partial_run(handle, held.free, {held.b: 1})
        assert await session.run(held.free, {held.b: 1}) == 2
        held.gate.open()
    await cluster.until_idle()


async def test_a_dropped_run_does_not_wait_for_its_kernels(cluster: InProcess, held: Held, plain_graph: Graph) -> None:
    async with AsyncSession(cluster.target(), graph=plain_graph) as session:
        async with session.partial(held.fetches, held.feeds) as p:
            call = asyncio.create_task(p.run(held.held, {held.a: 1}))
            await held.gate.wait_entered()
        with pytest.raises(CancelledError, match=r"block .* was left"):
            await soon(call)
        assert len(master_runs(cluster)) == 0
        held.gate.open()
    await cluster.until_idle()


# -- the end of runs -------------------------------------------------------------------------------
@pytest.mark.parametrize("config", [ConfigProto(), wire_config()], ids=["direct", "wire"])
async def test_closing_ends_what_waits_with_cancelled_and_leaves_nothing(
    cluster: InProcess, held: Held, plain_graph: Graph, config: ConfigProto
) -> None:
    session = AsyncSession(cluster.target(), graph=plain_graph, config=config)
    await session.partial_run_setup(held.free, held.b)
    handle = await session.partial_run_setup(held.fetches, held.feeds)
    call = asyncio.create_task(session.partial_run(handle, held.held, {held.a: 1}))
    await held.gate.wait_entered()
    await soon(session.close())
    with pytest.raises(CancelledError, match="closed"):
        await call
    with pytest.raises(RuntimeError, match="closed Session"):
        await session.partial_run(handle, held.free, {held.b: 1})
    held.gate.open()
    await cluster.until_idle()


async def test_a_run_that_nobody_continues_is_collected_after_its_idle_limit(
    cluster: InProcess, pipe: Pipe, plain_graph: Graph
) -> None:
    config = ConfigProto(partial_run_idle_limit_in_ms=5000)
    async with AsyncSession(cluster.target(), graph=plain_graph, config=config) as session:
        await session.list_devices()
        runs, clock = master_runs(cluster), StillClock()
        runs.clock = clock
        old = await session.partial_run_setup(pipe.fetches, pipe.feeds)
        used = await session.partial_run_setup(pipe.fetches, pipe.feeds)
        clock.advance(4.0)
        await session.partial_run(used, [], {pipe.a: 1})
        with pytest.raises(InvalidArgumentError):  # a wrong call is no use of it
            await session.partial_run(old, pipe.there)
        clock.advance(1.0)
        runs._timer.cancel()
        runs._on_timer()  # as the loop would
        assert len(runs) == 1
        with pytest.raises(InvalidArgumentError, match="given up"):
            await session.partial_run(old, [], {pipe.a: 1})
        clock.advance(4.0)
        runs.collect()
        assert len(runs) == 0
        assert runs._timer is None
        await cluster.until_idle()


@pytest.mark.parametrize("config", [ConfigProto(), wire_config()], ids=["direct", "wire"])
async def test_a_client_counts_its_open_runs_as_the_master_does_whatever_ends_them(
    cluster: InProcess, pipe: Pipe, plain_graph: Graph, config: ConfigProto
) -> None:
    """One is complete, refuses a call, is dropped, fails at a node, or is unknown by now; then the close."""
    failing = on(W1, lambda: ops.gather(ops.constant([1.0]), ops.cast(pipe.a, "int32")))
    async with AsyncSession(cluster.target(), graph=plain_graph, config=config) as session:

        def counts() -> tuple[int, int, int]:
            (seen,) = cluster.server(W0).statistics().open_sessions
            return session.statistics().partial_runs, len(master_runs(cluster)), seen.partial_runs

        complete, refused, unknown = [await session.partial_run_setup(pipe.fetches, pipe.feeds) for _ in range(3)]
        assert counts() == (3, 3, 3)
        assert await session.partial_run(complete, pipe.there, {pipe.a: 1}) == 2.0
        assert await session.partial_run(complete, pipe.back, {pipe.b: 1}) == 3.0
        assert counts() == (2, 2, 2)
        with pytest.raises(InvalidArgumentError, match="needs"):
            await session.partial_run(refused, pipe.back)
        assert counts() == (2, 2, 2)
        master_runs(cluster).abort(unknown, CancelledError("idle"))
        with pytest.raises(InvalidArgumentError, match="given up"):
            await session.partial_run(unknown, pipe.there, {pipe.a: 1})
        async with session.partial([failing], [pipe.a]) as dropped:
            assert counts() == (2, 2, 2)
            with pytest.raises(InvalidArgumentError) as caught:
                await dropped.run(failing, {pipe.a: 7})
            assert caught.value.node is not None
            assert counts() == (1, 1, 1)
        async with session.partial(pipe.fetches, pipe.feeds):
            assert counts() == (2, 2, 2)
        assert counts() == (1, 1, 1)
    assert session.statistics().partial_runs == 0


async def test_a_hang_report_counts_calls_of_a_partial_run(cluster: InProcess, held: Held, plain_graph: Graph) -> None:
    async with AsyncSession(cluster.target(), graph=plain_graph) as session:
        handle = await session.partial_run_setup(held.fetches, held.feeds)
        assert await session.partial_run(handle, held.free, {held.b: 1}) == 2.0
        waiting = asyncio.create_task(session.partial_run(handle, held.held, {held.a: 1}))
        await soon(held.gate.wait_entered())
        why = await soon(session.why())
        run = why.steps[0].partial
        held.gate.open()
        assert await soon(waiting) == 2.0
    assert run is not None
    assert (run.calls, run.waiting) == (2, 1)
    assert "calls: 2, waiting: 1" in str(why)


async def test_the_loss_of_the_client_ends_its_runs(cluster: InProcess, pipe: Pipe, plain_graph: Graph) -> None:
    session = AsyncSession(cluster.target(), graph=plain_graph, config=wire_config())
    handle = await session.partial_run_setup(pipe.fetches, pipe.feeds)
    await session.partial_run(handle, [], {pipe.a: 1})
    assert not cluster.server(W1).statistics().idle or not cluster.server(W0).statistics().idle
    link: Any = remote_session(session).connection.master.link
    await link.aclose()
    await eventually(lambda: cluster.server(W0).statistics().sessions == 0)
    await cluster.until_idle()
    await session.close()


@simulated()
async def test_a_killed_worker_ends_the_runs_with_a_part_there(
    cluster: SimulatedCluster, pipe: Pipe, plain_graph: Graph
) -> None:
    near = on(W0, lambda: pipe.b * 3.0)
    async with cluster.session(plain_graph) as session:
        idle = await session.partial_run_setup(pipe.fetches, pipe.feeds)
        untouched = await session.partial_run_setup(near, pipe.b)
        cluster.task("worker", 1).crash()
        with pytest.raises(UnavailableError, match=W1):
            await session.partial_run(idle, pipe.there, {pipe.a: 1})
        assert await session.partial_run(untouched, near, {pipe.b: 1}) == 3
        await until(cluster, lambda seen: not (seen.steps or seen.rendezvous), W0)


@simulated()
async def test_a_killed_master_ends_its_runs_everywhere(
    cluster: SimulatedCluster, pipe: Pipe, plain_graph: Graph
) -> None:
    async with cluster.session(plain_graph) as session:
        handle = await session.partial_run_setup(pipe.fetches, pipe.feeds)
        await until(cluster, lambda seen: seen.steps == 1, W1)
        cluster.task("worker").crash()
        with pytest.raises(UnavailableError, match=W0):
            await session.partial_run(handle, pipe.fetches, {pipe.a: 1, pipe.b: 1})
        await until(cluster, is_idle, W1)
