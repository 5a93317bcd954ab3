"""Client graphs of a session: registered once, shared by all who run them, released by the last."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any
from unittest.mock import AsyncMock

import pytest

import actorsession as acts
from actorsession import Graph, Tensor, ops
from actorsession.actors import Children, Deadline
from actorsession.cluster.master.client_graph import ClientGraph, TaskPart, split_by_task
from actorsession.cluster.master.client_graphs import ClientGraphs
from actorsession.cluster.master.step_observer import StepObserver
from actorsession.config import ConfigProto
from actorsession.errors import DeadlineExceededError, InvalidArgumentError, ResourceExhaustedError, UnavailableError
from actorsession.extend import DeviceSet, RunSignature
from actorsession.messages import DeregisterGraph, GraphRegistered, RegisterGraph
from actorsession.plan.partition import partition
from actorsession.plan.place import Placer
from actorsession.plan.prune import ARG, GraphView, prune
from actorsession.runtime import planning
from actorsession.runtime.planning import Planning
from tests.cluster.fakes import FakeWorker
from tests.cluster.kit import W0, W1, eventually, on, soon
from tests.loops import cancelled


def in_a_minute() -> Deadline:
    """A minute from now, not from when the tests were collected."""
    return Deadline.after(60.0)


def signature(*fetches: str) -> RunSignature:
    return RunSignature(fetches=fetches)


class Session:
    """Client graphs over two workers that are not there."""

    def __init__(self, limit: int, size: int = 0) -> None:
        self.workers = {W0: FakeWorker("w0"), W1: FakeWorker("w1")}
        self.children = Children("a session")
        self.built: list[RunSignature] = []
        self.size = size
        config = ConfigProto(plan_cache_size=limit)
        membership: Any = SimpleNamespace(
            cluster=SimpleNamespace(handle="s", config=config),
            members=SimpleNamespace(workers=self.workers, renew=AsyncMock()),
            bring_in=AsyncMock(return_value=False),
        )
        observer = StepObserver("s", config, None)
        graph: Any = self
        self.graphs = ClientGraphs(graph, membership, Planning(), self.children, observer)

    def build(self, wanted: RunSignature) -> ClientGraph:
        if "bad:0" in wanted.fetches:
            raise InvalidArgumentError("no such fetch")
        self.built.append(wanted)
        return ClientGraph(wanted, [TaskPart(task, [], (), ()) for task in self.workers])

    def registered(self) -> int:
        return sum(len(w.of(RegisterGraph)) for w in self.workers.values())

    def deregistered(self) -> list[str]:
        return sorted(m.graph_handle for w in self.workers.values() for m in w.of(DeregisterGraph))


@asynccontextmanager
async def session(limit: int = 10, size: int = 0) -> AsyncIterator[Session]:
    made = Session(limit, size)
    try:
        yield made
    finally:
        await made.children.stop()


async def test_a_graph_is_registered_once_with_every_worker_that_owns_a_part() -> None:
    async with session() as s:
        assert s.graphs.ready(signature("x")) is None
        graph = await s.graphs.acquire(signature("x"), in_a_minute())
        s.graphs.release(graph)
        assert s.graphs.ready(signature("x")) is graph
        assert await s.graphs.acquire(signature("x"), in_a_minute()) is graph
        assert s.registered() == 2
        assert [part.graph_handle for part in graph.parts] == ["w0-0", "w1-0"]


async def test_the_order_of_names_makes_no_other_graph() -> None:
    async with session() as s:
        graph = await s.graphs.acquire(signature("x", "y"), in_a_minute())
        assert await s.graphs.acquire(signature("y", "x"), in_a_minute()) is graph


async def test_concurrent_first_runs_share_one_registration() -> None:
    async with session() as s:
        answer = s.workers[W1].hold(RegisterGraph)
        runs = [asyncio.create_task(s.graphs.acquire(signature("x"), in_a_minute())) for _ in range(20)]
        await s.workers[W1].until_asked(RegisterGraph)
        assert s.graphs.ready(signature("x")) is None
        answer.set_result(GraphRegistered(graph_handle="h"))
        found = await soon(asyncio.gather(*runs))
        assert len(set(map(id, found))) == 1
        assert s.built == [signature("x")]
        assert s.registered() == 2


async def test_a_registration_that_fails_fails_everyone_who_waits_and_the_next_run_tries_anew() -> None:
    async with session() as s:
        answer = s.workers[W1].hold(RegisterGraph)
        runs = [asyncio.create_task(s.graphs.acquire(signature("x"), in_a_minute())) for _ in range(3)]
        await s.workers[W1].until_asked(RegisterGraph)
        answer.set_result(UnavailableError("gone"))
        for run in runs:
            with pytest.raises(UnavailableError, match="gone") as info:
                await soon(run)
            assert info.value.task == W1
        del s.workers[W1].answers[RegisterGraph]
        await s.graphs.acquire(signature("x"), in_a_minute())
        assert len(s.built) == 2


async def test_what_was_registered_before_another_worker_refused_is_released() -> None:
    async with session() as s:
        s.workers[W1].answers[RegisterGraph] = ResourceExhaustedError("full")
        with pytest.raises(ResourceExhaustedError):
            await s.graphs.acquire(signature("x"), in_a_minute())
        assert s.deregistered() == ["w0-0"]


async def test_a_signature_that_does_not_fit_the_graph_registers_nothing() -> None:
    async with session() as s:
        with pytest.raises(InvalidArgumentError, match="no such fetch"):
            await s.graphs.acquire(signature("bad:0"), in_a_minute())
        assert s.registered() == 0


async def test_cancelling_the_run_that_began_a_registration_harms_no_other_run() -> None:
    async with session() as s:
        answer = s.workers[W0].hold(RegisterGraph)
        first = asyncio.create_task(s.graphs.acquire(signature("x"), in_a_minute()))
        await s.workers[W0].until_asked(RegisterGraph)
        second = asyncio.create_task(s.graphs.acquire(signature("x"), in_a_minute()))
        await cancelled(first)
        answer.set_result(GraphRegistered(graph_handle="h"))
        graph = await soon(second)
        assert graph.registered
        assert graph.users == 1
        assert s.registered() == 2


async def test_a_run_that_cannot_wait_longer_leaves_the_registration_to_others() -> None:
    async with session() as s:
        answer = s.workers[W0].hold(RegisterGraph)
        with pytest.raises(DeadlineExceededError, match=r"the registration of ->x/ at .*task:0"):
            await s.graphs.acquire(signature("x"), Deadline.after(0.01))
        answer.set_result(GraphRegistered(graph_handle="h"))
        await s.graphs.acquire(signature("x"), in_a_minute())
        assert s.built == [signature("x")]


async def test_a_graph_that_falls_out_of_the_cache_is_deregistered_everywhere() -> None:
    async with session(limit=1) as s:
        s.graphs.release(await s.graphs.acquire(signature("x"), in_a_minute()))
        s.graphs.release(await s.graphs.acquire(signature("y"), in_a_minute()))
        await eventually(lambda: s.deregistered() == ["w0-0", "w1-0"])
        assert s.graphs.ready(signature("x")) is None
        assert s.graphs.ready(signature("y")) is not None


async def test_a_graph_that_is_in_use_is_deregistered_by_its_last_user() -> None:
    async with session(limit=1) as s:
        graph = await s.graphs.acquire(signature("x"), in_a_minute())
        s.graphs.hold(graph)
        s.graphs.release(await s.graphs.acquire(signature("y"), in_a_minute()))
        s.graphs.release(graph)
        assert s.deregistered() == []
        s.graphs.release(graph)
        await eventually(lambda: s.deregistered() == ["w0-0", "w1-0"])


async def test_a_graph_that_was_evicted_and_abandoned_before_its_registration_is_released() -> None:
    """1. A run begins the registration of x. 2. Another one evicts x. 3. The first is cancelled.
    4. The registration ends: nobody wants it any more."""
    async with session(limit=1) as s:
        answer = s.workers[W1].hold(RegisterGraph)
        run = asyncio.create_task(s.graphs.acquire(signature("x"), in_a_minute()))
        await s.workers[W1].until_asked(RegisterGraph)
        del s.workers[W1].answers[RegisterGraph]
        await s.graphs.acquire(signature("y"), in_a_minute())
        await cancelled(run)
        assert s.deregistered() == []
        answer.set_result(GraphRegistered(graph_handle="late"))
        await eventually(lambda: s.deregistered() == ["late", "w0-0"])


async def test_a_worker_that_does_not_answer_a_release_is_left_to_itself() -> None:
    async with session(limit=1) as s:
        s.graphs.release(await s.graphs.acquire(signature("x"), in_a_minute()))
        s.workers[W0].answers[DeregisterGraph] = UnavailableError("gone")
        s.graphs.release(await s.graphs.acquire(signature("y"), in_a_minute()))
        await s.workers[W1].until_asked(DeregisterGraph)
        await eventually(lambda: len(s.children) == 0)


async def test_a_run_that_comes_as_the_planning_of_a_large_graph_ends_gets_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """1. A large graph was planned, and its future has the result. 2. Before those who wait hear of it, and the graph
    is kept, another run asks for it. 3. It waits for nothing, and must let the loop go on for the graph to be kept."""
    late: list[asyncio.Future[ClientGraph]] = []
    settle = planning._Job.settle
    async with session(size=planning.LARGE + 1) as s:

        def spy(job: planning._Job, *args: Any) -> None:
            late.append(asyncio.ensure_future(s.graphs.acquire(signature("x"), in_a_minute())))
            settle(job, *args)

        monkeypatch.setattr(planning._Job, "settle", spy)
        graph = await soon(s.graphs.acquire(signature("x"), in_a_minute()))
        assert await soon(late[0]) is graph
        assert s.built == [signature("x")]
        assert s.registered() == 2


DEVICES = DeviceSet(
    [
        acts.plugins.DeviceAttributes(name=f"{task}/device:CPU:{number}", device_type="CPU", incarnation=7)
        for task in (W0, W1)
        for number in (0, 1)
    ]
)


def split(graph: Graph, feeds: list[Tensor], fetches: list[Tensor]) -> ClientGraph:
    nodes = [op.plain for op in graph.get_operations()]
    placer = Placer(DEVICES)
    placer.place(nodes)
    signature = RunSignature(tuple(t.name for t in feeds), tuple(t.name for t in fetches))
    wanted = prune(GraphView(nodes), signature)
    placed = placer.placed
    client = DEVICES.client_device
    device_of = {n: placed[n].device if n in placed else client for n in wanted.nodes}
    return split_by_task(signature, partition(wanted, device_of, DEVICES), W0)


def test_each_task_gets_its_own_feeds_and_fetches(graph: Graph) -> None:
    a, b, c = (ops.placeholder("float32", [], name=name) for name in "abc")
    x = on(W0, lambda: a + c)
    with on(W1):
        y = b * c
        z = y - b
    made = split(graph, [a, b, c], [z, x, y])
    here, there = made.parts
    assert [part.task for part in made.parts] == [W0, W1]
    assert made.here == 0
    # positions in the signature's feeds (a, b, c) and fetches (z, x, y)
    assert (here.feeds, here.fetches) == ((0, 2), (1,))
    assert (there.feeds, there.fetches) == ((1, 2), (0, 2))
    indices = {n.name: n.attrs["index"] for p in there.partitions for n in p.nodes if n.op == ARG}
    assert sorted(indices.values()) == [0, 1]
    assert [f for p in there.partitions for f in p.fetches] == [(0, "sub", 0), (1, "mul", 0)]


def test_the_devices_of_one_task_stay_together(graph: Graph) -> None:
    a = ops.placeholder("float32", [], name="a")
    with graph.device(f"{W1}/device:CPU:0"):
        x = a + 1.0
    with graph.device(f"{W1}/device:CPU:1"):
        y = x + a
    made = split(graph, [a], [x, y])
    (part,) = made.parts
    assert part.task == W1
    assert made.here is None
    assert [p.device for p in part.partitions] == [f"{W1}/device:CPU:{i}" for i in (0, 1)]
    assert part.feeds == (0,)
    assert part.fetches == (0, 1)


def test_a_graph_is_registered_only_once_its_registration_has_ended_well(graph: Graph) -> None:
    a = ops.placeholder("float32", [], name="a")
    assert not split(graph, [a], [a + 1.0]).registered
