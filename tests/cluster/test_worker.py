"""The worker actor: sessions of masters, graphs, steps, and what peers may not do to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, Operation, Tensor, errors, messages, ops
from actorsession.actors import CallContext, Deadline, LocalRef
from actorsession.cluster.worker.worker import Worker
from actorsession.cluster.worker.worker_session import BindPart
from actorsession.extend import DeviceSet, Partition, RunSignature
from actorsession.messages.step_frames import RUN_GRAPH, WireValues
from actorsession.messages.worker import AskOwed, UpdateWorkerSession
from actorsession.plan.partition import partition
from actorsession.plan.place import Placer
from actorsession.plan.prune import GraphView, prune
from actorsession.plan.rendezvous_key import build_key
from actorsession.runtime.devices import make_devices
from actorsession.runtime.kernel_pool import KernelPool
from actorsession.runtime.wait_graph import MasterWaits
from tests.cluster.fakes import FakeWorkerCache, Outcome, joined_steps
from tests.cluster.kit import W0, W1, Gate, eventually, on, soon
from tests.loops import cancelled

HERE, THERE = f"{W0}/device:CPU:0", f"{W1}/device:CPU:0"


class FakeServer:
    """The server of a worker that is by itself."""

    task, incarnation = W0, 77
    restored: dict[str, Any] | None = None
    group_host = ""

    def counters(self) -> dict[str, Any]:
        return {"counted": 1}

    def learn_tasks(self, tasks: Mapping[str, str], given_up: Sequence[str]) -> None:
        raise NotImplementedError

    def master_waits(self, most: int) -> list[MasterWaits]:
        return []


class Bench:
    """A worker by itself: what it pushes is kept, and graphs are planned for it."""

    def __init__(self) -> None:
        self.pool = KernelPool(4)
        self.devices = make_devices(W0, {})
        self.others = make_devices(W1, {})
        self.workers = FakeWorkerCache()
        self.pushed = self.workers.pushed
        self.worker = Worker(FakeServer(), self.devices, self.workers, self.pool)
        self.ref: LocalRef = self.worker.ref
        # The step frames of the link to the master, at its end and at that of the worker.
        self.master, self.steps = joined_steps(W0, W1)
        self.programs: dict[str, int] = {}

    async def ask(self, message: Any) -> Any:
        return await soon(self.ref.ask(message, Deadline.after(30)))

    async def create(self, handle: str = "s", master: str = W1, life: int = 1, **more: Any) -> Any:
        return await self.ask(
            messages.CreateWorkerSession(
                session_handle=handle,
                master_task=master,
                master_incarnation=life,
                **{"isolate_session_state": False, "peers": {}, "task": "", **more},
            )
        )

    def part(
        self, graph: Graph, fetches: Sequence[Tensor], feeds: Sequence[Tensor], targets: Sequence[Operation]
    ) -> list[Partition]:
        """This worker's partitions of a plan over W0 and W1."""
        devices = DeviceSet([d.attributes for d in (*self.devices, *self.others)])
        nodes = [op.plain for op in graph.get_operations()]
        placer = Placer(devices)
        placer.place(nodes)
        wanted = prune(
            GraphView(nodes),
            RunSignature(tuple(t.name for t in feeds), tuple(t.name for t in fetches), tuple(o.name for o in targets)),
        )
        placed = placer.placed
        device_of = {n: placed[n].device if n in placed else HERE for n in wanted.nodes}
        parts = partition(wanted, device_of, devices)
        return [p for p in parts if p.task == W0]

    async def register(
        self,
        graph: Graph,
        fetches: Sequence[Tensor],
        feeds: Sequence[Tensor] = (),
        *,
        targets: Sequence[Operation] = (),
        session: str = "s",
    ) -> str:
        parts = self.part(graph, fetches, feeds, targets)
        message = messages.RegisterGraph(session_handle=session, partitions=[p.to_wire() for p in parts])
        found = self.ref.submit(message, CallContext(None, W1, "tcp://h:1", None, self.steps.served))
        registered = await soon(found) if isinstance(found, asyncio.Future) else found
        self.programs[registered.graph_handle] = registered.program
        return str(registered.graph_handle)

    async def run(self, handle: str, *feeds: Any, step_id: int = 1) -> Any:
        """Runs a graph as a master at another task; returns its values, or that its program is gone."""
        outcome = Outcome()
        program, values = self.programs[handle], WireValues.of(feeds)
        self.master.request(RUN_GRAPH, step_id, program, None, None, values, outcome)
        try:
            return await soon(outcome.ended)
        except asyncio.CancelledError:
            self.master.cancel(step_id)
            raise

    async def receiver(self, graph: Graph) -> str:
        """Registers a graph that adds 1 to ``b``, which comes from worker 1."""
        await self.create()
        a = ops.placeholder("float32", [])
        b = on(W1, lambda: ops.identity(a, name="b"))
        with on(W0):
            return await self.register(graph, [b + 1.0], [a])

    async def waiting(self, handle: str) -> asyncio.Task[Any]:
        """Runs a graph, until it waits for a value from worker 1."""
        run = asyncio.create_task(self.run(handle))
        await eventually(lambda: self.pending() == (1, 1))
        return run

    def push(self, edge: str, value: Any, step_id: int = 1) -> None:
        """What W1 would push."""
        key = build_key(THERE, self.others[0].attributes.incarnation, HERE, edge)
        self.worker.take_push(W1, step_id, [key], [value], [False])

    async def sender(self, graph: Graph) -> str:
        """Registers a graph that sends three times what it is fed to worker 1."""
        await self.create()
        a = ops.placeholder("float32", [])
        b = on(W0, lambda: a * 3.0)
        c = on(W1, lambda: b + 1.0)
        return await self.register(graph, [c], [a])

    def pending(self) -> tuple[int, int]:
        found = self.worker.counts()
        return found.steps, found.rendezvous


@pytest.fixture
async def bench() -> AsyncIterator[Bench]:
    made = Bench()
    yield made
    await made.worker.aclose(errors.UnavailableError("the test is over"))
    made.pool.shutdown()


# -- sessions --------------------------------------------------------------------------------------
async def test_a_worker_says_who_it_is(bench: Bench) -> None:
    status = await bench.ask(messages.GetStatus())
    assert (status.task, status.incarnation, status.statistics) == (W0, 77, {"counted": 1})
    assert status.devices == [bench.devices[0].attributes.to_wire()]


async def test_a_session_needs_a_handle_of_its_own(bench: Bench) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="empty"):
        await bench.create("")
    await bench.create("s")
    with pytest.raises(errors.InvalidArgumentError, match="'s' exists already"):
        await bench.create("s")


async def test_the_addresses_of_peers_are_learnt_from_the_master(bench: Bench) -> None:
    await bench.create(peers={W1: "tcp://h:1"})
    assert bench.workers.addresses == {W1: "tcp://h:1"}


async def test_an_unknown_session_is_aborted_for_graphs_and_steps_and_fine_for_releases(bench: Bench) -> None:
    for message in (BindPart("s", "g"), messages.RegisterGraph(session_handle="s", partitions=[])):
        with pytest.raises(errors.AbortedError, match=f"'s' is not found on {W0}") as info:
            await bench.ask(message)
        assert info.value.task == W0
    assert await bench.ask(messages.DeregisterGraph(session_handle="s", graph_handle="g")) == messages.Done()
    assert await bench.ask(messages.DeleteWorkerSession(session_handle="s")) == messages.Done()


async def test_a_master_that_restarted_finds_its_earlier_sessions_gone(bench: Bench) -> None:
    await bench.create("old", W1, life=1)
    await bench.create("also old", W1, life=1)
    await bench.create("another master's", W0, life=1)
    assert bench.worker.counts().sessions == 3
    await bench.create("new", W1, life=2)
    assert bench.worker.counts().sessions == 2
    with pytest.raises(errors.AbortedError):
        await bench.ask(BindPart("old", "g"))
    await bench.create("newer", W1, life=2)
    assert bench.worker.counts().sessions == 3


async def test_a_session_whose_master_is_gone_is_dropped_with_its_steps(bench: Bench, graph: Graph) -> None:
    gone: list[Any] = []

    def watch(callback: Any) -> Any:
        gone.append(callback)
        return lambda: None

    message = messages.CreateWorkerSession(
        session_handle="s", master_task=W1, master_incarnation=1, isolate_session_state=False, peers={}, task=""
    )
    await bench.ref.submit(message, CallContext(None, W1, "tcp://h:1", watch))
    a = ops.placeholder("float32", [])
    b = on(W1, lambda: ops.identity(a))
    c = on(W0, lambda: b + 1.0)
    handle = await bench.register(graph, [c], [a])
    run = asyncio.create_task(bench.run(handle))
    await eventually(lambda: bench.worker.counts().steps == 1)
    for callback in gone:
        callback()
    with pytest.raises(errors.AbortedError, match="master of the session is gone"):
        await run
    await eventually(lambda: bench.worker.counts().sessions == 0)
    assert bench.pending() == (0, 0)


# -- graphs and steps ------------------------------------------------------------------------------
async def test_a_registered_graph_runs_until_it_is_deregistered(bench: Bench, graph: Graph) -> None:
    await bench.create()
    a = ops.placeholder("float32", [])
    with on(W0):
        handle = await bench.register(graph, [a * 3.0], [a])
    for step_id in (1, 2):
        assert await bench.run(handle, np.float32(2), step_id=step_id) == [6.0]
    await bench.ask(messages.DeregisterGraph(session_handle="s", graph_handle=handle))
    assert await bench.run(handle, np.float32(2)) == "gone"
    with pytest.raises(errors.AbortedError, match=f"{handle!r} is not registered"):
        await bench.ask(BindPart("s", handle))
    assert bench.worker.counts().runs == 2


async def test_a_step_with_another_number_of_feeds_is_refused_and_harms_nobody(bench: Bench, graph: Graph) -> None:
    await bench.create()
    a, b = ops.placeholder("float32", []), ops.placeholder("float32", [])
    with on(W0):
        handle = await bench.register(graph, [a * b], [a, b])
    for feeds in ([], [1.0], [1.0, 2.0, 3.0]):
        with pytest.raises(errors.InvalidArgumentError, match=f"is fed 2 values, got {len(feeds)}"):
            await bench.run(handle, *feeds)
    assert await bench.run(handle, np.float32(2), np.float32(3)) == [6.0]


async def test_what_another_task_needs_is_pushed_there(bench: Bench, graph: Graph) -> None:
    handle = await bench.sender(graph)
    assert await bench.run(handle, np.float32(2)) == []
    ((task, message),) = bench.pushed
    assert (task, message.step_id, message.values) == (W1, 1, [6.0])
    assert bench.pending() == (0, 0)


@pytest.mark.parametrize("push_first", [True, False])
async def test_a_value_may_come_before_the_step_or_after_it(bench: Bench, graph: Graph, push_first: bool) -> None:
    handle = await bench.receiver(graph)
    if push_first:
        bench.push("edge_0_b:0", np.float32(4))
        assert bench.pending() == (0, 1)
        run = asyncio.create_task(bench.run(handle))
    else:
        run = await bench.waiting(handle)
        bench.push("edge_0_b:0", np.float32(4))
    assert await soon(run) == [5.0]
    assert bench.pending() == (0, 0)
    bench.push("edge_0_b:0", np.float32(4))  # a late one
    assert bench.pending() == (0, 0)


async def test_a_step_that_is_cancelled_leaves_nothing(bench: Bench, graph: Graph) -> None:
    run = await bench.waiting(await bench.receiver(graph))
    await cancelled(run)
    await eventually(lambda: bench.pending() == (0, 0))


async def test_a_clean_up_that_comes_before_the_step_keeps_it_from_beginning(bench: Bench, graph: Graph) -> None:
    handle = await bench.receiver(graph)
    assert await bench.ask(messages.CleanupGraph(step_id=1, error=None)) == messages.Done()
    with pytest.raises(errors.CancelledError, match="over"):
        await bench.run(handle)
    assert bench.pending() == (0, 0)


async def test_closing_a_session_cancels_its_steps_and_no_others(bench: Bench, graph: Graph) -> None:
    a = ops.placeholder("float32", [])
    b = on(W1, lambda: ops.identity(a, name="b"))
    c = on(W0, lambda: b + 1.0)
    runs = {}
    for step_id, session in enumerate(("one", "two"), start=1):
        await bench.create(session)
        handle = await bench.register(graph, [c], [a], session=session)
        runs[session] = asyncio.create_task(bench.run(handle, step_id=step_id))
    await eventually(lambda: bench.worker.counts().steps == 2)
    await bench.ask(messages.DeleteWorkerSession(session_handle="one"))
    with pytest.raises(errors.CancelledError, match=r"Session has been closed\."):
        await soon(runs["one"])
    bench.push("edge_0_b:0", np.float32(1), step_id=2)
    assert await soon(runs["two"]) == [2.0]
    assert bench.worker.counts().graphs == 1


async def test_closing_a_session_puts_back_what_its_steps_took_unconfirmed(bench: Bench, graph: Graph) -> None:
    """1. A step has taken one of two elements, and its master does not say what became of it. 2. Its session
    is closed. 3. Another one finds both."""
    with on(W0):
        queue = ops.FIFOQueue(2, "float32", shapes=[[]], shared_name="kept")
        put, taken, size = queue.enqueue_many([[1.0, 2.0]]), queue.dequeue(), queue.size()
    for session in ("one", "two"):
        await bench.create(session)
    filled = await bench.register(graph, [], targets=[put], session="one")
    assert await bench.run(filled) == []
    assert await bench.run(await bench.register(graph, [taken], session="one"), step_id=2) == [1.0]
    counted = await bench.register(graph, [size], session="two")
    assert await bench.run(counted, step_id=3) == [1]
    await bench.ask(messages.DeleteWorkerSession(session_handle="one"))
    assert await bench.run(counted, step_id=4) == [2]


async def test_a_step_in_the_kernel_pool_counts_until_its_kernel_is_back(bench: Bench, graph: Graph) -> None:
    await bench.create()
    gate = Gate("in the pool of a worker")
    a = ops.placeholder("float32", [])
    with on(W0):
        handle = await bench.register(graph, [gate(a)], [a])
    run = asyncio.create_task(bench.run(handle, np.float32(1)))
    await gate.wait_entered()
    run.cancel()
    await asyncio.gather(run, return_exceptions=True)
    assert bench.worker.counts().steps == 1
    gate.open()
    await eventually(lambda: bench.pending() == (0, 0))


async def test_a_plan_made_for_an_earlier_life_of_the_worker_is_refused(bench: Bench, graph: Graph) -> None:
    before, bench.devices = bench.devices, make_devices(W0, {})
    assert before[0].name == bench.devices[0].name
    with pytest.raises(errors.AbortedError, match="the worker has probably restarted"):
        await bench.sender(graph)


async def test_a_worker_that_knows_its_session_devices_refuses_exchange_with_others(bench: Bench, graph: Graph) -> None:
    """1. Knowing none but its own it cannot tell. 2. Knowing all it accepts them. 3. Once one is gone it
    refuses what sends there, or waits for a value from there."""
    await bench.create()
    a = ops.placeholder("float32", [])
    b = on(W0, lambda: a * 3.0)
    c = on(W1, lambda: ops.identity(a))
    d = on(W0, lambda: c + 1.0)
    e = on(W1, lambda: b + 1.0)
    ours, theirs = (device.attributes.to_wire() for device in (*bench.devices, *bench.others))
    for known in ([], [ours, theirs], []):
        await bench.ask(devices_are(known))
        await bench.register(graph, [d, e], [a])
    await bench.ask(devices_are([ours]))
    for fetch in (d, e):
        with pytest.raises(errors.InvalidArgumentError, match=f"{THERE}, which is none of .*: {HERE}"):
            await bench.register(graph, [fetch], [a])
    with pytest.raises(errors.ProtocolError, match="device attributes are"):
        await bench.ask(devices_are([["nonsense"]]))


def devices_are(devices: list[Any]) -> UpdateWorkerSession:
    return UpdateWorkerSession(session_handle="s", peers={}, removed=[], cluster_device_attributes=devices)


async def test_values_owed_to_a_session_that_is_gone_are_answered_with_an_error(bench: Bench) -> None:
    """Its links, over which the answer would go, have ended."""
    key = build_key(HERE, bench.devices[0].attributes.incarnation, THERE, "e")
    with pytest.raises(errors.AbortedError, match="'gone' is not found"):
        await bench.ask(AskOwed(steps=[1], keys=[key], reply_to=W1, session_handle="gone"))


async def test_clearing_containers_leaves_variables_uninitialised(bench: Bench, graph: Graph) -> None:
    await bench.create()
    with on(W0):
        v = ops.Variable(1.0, name="v")
        read = ops.identity(v)
    init = await bench.register(graph, [], targets=[v.initializer])
    handle = await bench.register(graph, [read])
    await bench.run(init)
    assert await bench.run(handle) == [1.0]
    await bench.ask(messages.CleanupAll(containers=[]))
    with pytest.raises(errors.FailedPreconditionError):
        await bench.run(handle)


# -- what peers may not do to it -------------------------------------------------------------------
LOST = messages.CleanupGraph(step_id=1, error=errors.error_to_wire(errors.UnavailableError("lost", task=W1)))
WHAT_ENDS_A_STEP: dict[str, tuple[Callable[[Bench], object], type[errors.OpError], str]] = {
    "a clean-up with its error": (lambda bench: bench.ref.tell(LOST), errors.UnavailableError, "lost"),
    "a clean-up whose error makes no sense": (
        lambda bench: bench.ref.tell(messages.CleanupGraph(step_id=1, error=["nonsense"])),
        errors.ProtocolError,
        "nonsense",
    ),
    "a push that makes no sense": (
        lambda bench: bench.worker.take_push(W1, 1, ["nonsense"], [1], [False]),
        errors.InvalidArgumentError,
        "invalid rendezvous key 'nonsense'",
    ),
}


@pytest.mark.parametrize("what", WHAT_ENDS_A_STEP)
async def test_what_a_peer_says_fails_its_step_and_not_the_worker(bench: Bench, graph: Graph, what: str) -> None:
    says, error, words = WHAT_ENDS_A_STEP[what]
    run = await bench.waiting(await bench.receiver(graph))
    says(bench)
    with pytest.raises(error, match=words):
        await soon(run)
    assert bench.pending() == (0, 0)
    assert (await bench.ask(messages.GetStatus())).task == W0


async def test_what_must_be_asked_cannot_be_told(bench: Bench) -> None:
    for message in (messages.GetStatus(), messages.DeleteWorkerSession(session_handle="s")):
        with pytest.raises(errors.UnimplementedError):
            bench.ref.tell(message)
    assert (await bench.ask(messages.GetStatus())).task == W0


async def test_partitions_that_make_no_sense_are_refused(bench: Bench) -> None:
    await bench.create()
    for partitions in ([5], [["/job:x", []]], [[f"{W0}/device:CPU:0", [["n"]], []]]):
        with pytest.raises(errors.ProtocolError):
            await bench.ask(messages.RegisterGraph(session_handle="s", partitions=partitions))
    assert bench.worker.counts().graphs == 0
