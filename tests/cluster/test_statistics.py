"""The counters of a server: process, sessions, and what is taken from other versions and strangers."""

from __future__ import annotations

import asyncio
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession
import actorsession as acts
from actorsession import AsyncSession, Graph, Server, ServerSettings, errors, ops
from actorsession.actors import CallContext, Deadline, registry
from actorsession.cluster import OpenSession, ServerStatistics, VariableSize, read_cluster, read_statistics, stop_server
from actorsession.cluster.master.creations import Creations
from actorsession.cluster.server.control import Control, is_near
from actorsession.cluster.server.process_memory import ProcessMemory, process_memory
from actorsession.cluster.worker.rpc_log import RpcEvent, RpcLog
from actorsession.config import ConfigProto, SessionMetadata
from actorsession.messages import Done
from actorsession.messages.server import GetCluster, KeepServer, StopServer
from actorsession.messages.worker import WORKER, LoggingReply, LoggingRequest
from actorsession.metrics import HistogramCounts
from actorsession.rpc.security import TOKEN_VARIABLE
from actorsession.testing import SimulatedCluster
from tests.cluster.kit import W0, W1, Gate, InProcess, eventually, in_process, on, silent_address, soon
from tests.rows import for_each

ONE = {"worker": ["127.0.0.1:0"]}
SIZE = VariableSize(name="v", device=f"{W0}/device:CPU:0", container="localhost", nbytes=15)
SEEN = ServerStatistics(
    task=W0, sessions=1, worker_sessions=2, graphs=3, steps=4, rendezvous=5, runs=6, pushes=7,
    links=(), pid=8, version="1.2.3", uptime=9.5, memory=10, peak_memory=11, snapshot_every=60.0,
    snapshot_age=12.5, open_sessions=(OpenSession(session_handle="h", name="n", client="c", runs=13),),
    master_steps=HistogramCounts((1, 2), 14.5, (1.0,)), largest_variables=(SIZE,),
)  # fmt: skip


async def test_a_server_says_which_process_it_is() -> None:
    async with Server(ONE) as server:
        seen = await read_statistics(server.target)
        assert (seen.pid, seen.version) == (os.getpid(), actorsession.__version__)
        assert 0 < seen.memory <= seen.peak_memory
        later = await read_statistics(server.target)
        assert 0 < seen.uptime < later.uptime
        assert (seen.snapshot_every, seen.snapshot_age, seen.snapshot_overdue) == (0.0, 0.0, False)


@pytest.mark.usefixtures("over_links")
async def test_a_server_names_its_sessions_their_clients_and_their_steps(cluster: InProcess, graph: Graph) -> None:
    gate = Gate("counted")
    x = ops.placeholder("float32", [])
    end = on(W0, lambda: gate(x))
    named = ConfigProto(
        experimental=acts.config.Experimental(session_metadata=SessionMetadata(name="training", version=1))
    )
    async with (
        AsyncSession(cluster.target(), graph=graph, config=named) as session,
        AsyncSession(cluster.target(), graph=Graph()) as other,
    ):
        gate.open()
        for number in range(3):
            await session.run(end, {x: float(number)})
        await other.list_devices()
        seen = await read_statistics(cluster.target())
        first, second = seen.open_sessions
        assert (first.name, first.steps, first.waiting, first.runs) == ("training", 0, 0, 3)
        assert (second.name, second.steps, second.waiting, second.runs) == ("", 0, 0, 0)
        assert first.session_handle != second.session_handle
        clients = {link.address for link in seen.links if link.peer == "client"}
        assert {first.client, second.client} <= clients
    await eventually(lambda: not cluster.server(W0).statistics().open_sessions)


async def test_the_age_of_a_snapshot_begins_anew_when_nothing_had_to_be_written(tmp_path: Path) -> None:
    async with Server(ONE, settings=ServerSettings(snapshot_dir=tmp_path, snapshot_every=0.05)) as server:
        ages = [0.0]

        def fell() -> bool:
            ages.append(server.statistics().snapshot_age)
            return ages[-1] < ages[-2]

        for _ in range(3):
            await eventually(fell)
        assert server.statistics().snapshot_every == 0.05
        assert len(list(tmp_path.glob("*.snapshot"))) == 1  # nothing has changed since the first


@pytest.mark.parametrize(
    ("every", "age", "overdue"), [(60.0, 61.0, False), (60.0, 129.0, False), (60.0, 131.0, True), (0.0, 1000.0, False)]
)
def test_a_snapshot_is_overdue_after_two_intervals_and_some_seconds(every: float, age: float, overdue: bool) -> None:
    assert replace(SEEN, snapshot_every=every, snapshot_age=age).snapshot_overdue is overdue


# -- what happens here, and how long it takes ------------------------------------------------------


@pytest.mark.usefixtures("over_links")
async def test_a_server_counts_the_times_of_steps_as_master_and_as_worker(cluster: InProcess, graph: Graph) -> None:
    x = ops.placeholder("float32", [3])
    there = on(W1, lambda: x * 2.0)
    end = on(W0, lambda: there + 1.0)
    async with AsyncSession(cluster.target(), graph=graph) as session:
        for _ in range(5):
            await soon(session.run(end, {x: np.ones(3, np.float32)}))
        own = session.statistics()
    first, second = await read_statistics(cluster.target()), await read_statistics(cluster.target(W1))
    assert (first.master_steps.total, first.worker_steps.total) == (5, 5)
    assert (second.master_steps.total, second.worker_steps.total) == (0, 5)
    assert own.run_seconds.total == own.runs == 5
    assert second.worker_steps.sum < first.master_steps.sum < own.run_seconds.sum
    assert 0 < first.master_steps.quantile(0.5) <= 2 * first.master_steps.sum
    assert first.cpu_seconds > 0


async def test_a_server_counts_the_plans_of_sessions_that_have_ended_too(cluster: InProcess, graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    one, other = on(W0, lambda: x + 1.0), on(W0, lambda: x * 2.0)
    for sessions in (1, 2):
        async with AsyncSession(cluster.target(), graph=graph) as session:
            for _ in range(3):
                await soon(session.run(one, {x: 1.0}))
                await soon(session.run(other, {x: 1.0}))
            assert cluster.server(W0).statistics().cached_plans == 2
        seen = cluster.server(W0).statistics()
        assert (seen.cached_plans, seen.plan_hits, seen.plan_misses) == (0, 4 * sessions, 2 * sessions)


async def test_a_server_tells_its_variables_and_which_are_the_largest(cluster: InProcess, graph: Graph) -> None:
    with on(W0):
        variables = [ops.Variable(np.ones(size, np.float32), name=f"v{size}") for size in range(1, 13)]
        ops.Variable(np.ones(100, np.float32), name="never")
    async with AsyncSession(cluster.target(), graph=graph) as session:
        await soon(session.run([one.initializer for one in variables]))
        seen = await read_statistics(cluster.target())
    assert (seen.variables, seen.variable_bytes) == (12, 4 * sum(range(1, 13)))
    assert [(one.name, one.nbytes) for one in seen.largest_variables] == [(f"v{n}", 4 * n) for n in range(12, 2, -1)]
    assert {one.device for one in seen.largest_variables} == {f"{W0}/device:CPU:0"}


async def test_a_server_tells_the_sizes_of_queues_and_counts_errors_by_class(cluster: InProcess, graph: Graph) -> None:
    with on(W0):
        shared = ops.FIFOQueue(3, "float32", [[]], shared_name="inputs")
        own = ops.FIFOQueue(-1, "float32", [[]], name="own")
        put, put_own, taken = shared.enqueue(1.0), own.enqueue(2.0), own.dequeue()
    x = ops.placeholder("float32", [None])
    end = on(W0, lambda: ops.reshape(x, [2]))
    async with AsyncSession(cluster.target(), graph=graph) as session:
        await soon(session.run([put, put_own]))
        await soon(session.run(put))
        assert await soon(session.run(taken)) == 2.0
        waiting = asyncio.create_task(session.run(taken))
        await eventually(lambda: any(queue.waiting_dequeues for queue in cluster.server(W0).statistics().queues))
        with pytest.raises(errors.InvalidArgumentError):
            await soon(session.run(end, {x: [1.0, 2.0, 3.0]}))
        seen = await read_statistics(cluster.target())
        await soon(session.run(put_own))
        await soon(waiting)
    queues = {queue.name: queue for queue in seen.queues}
    assert (queues["inputs"].size, queues["inputs"].capacity, queues["inputs"].waiting_dequeues) == (2, 3, 0)
    assert (queues["own"].size, queues["own"].capacity, queues["own"].waiting_dequeues) == (0, -1, 1)
    assert seen.errors == {"InvalidArgumentError": 1}
    text = seen.prometheus()
    assert f'actorsession_server_errors_total{{task="{W0}",class="InvalidArgumentError"}} 1\n' in text
    place = f'task="{W0}",device="{W0}/device:CPU:0",container="localhost",queue="inputs"'
    assert f"actorsession_queue_elements{{{place}}} 2\n" in text


async def test_a_server_tells_what_waits_in_a_rendezvous_and_in_the_kernel_pool(cluster: InProcess) -> None:
    gate = Gate("counted waits")
    x = ops.placeholder("float32", [])
    there = on(W1, lambda: gate(x))
    end = on(W0, lambda: there + 1.0)
    async with AsyncSession(cluster.target()) as session:
        running = asyncio.create_task(session.run(end, {x: 1.0}))
        await gate.wait_entered()
        await eventually(lambda: cluster.server(W0).statistics().pending == 1)
        assert cluster.server(W1).statistics().pool_busy == 1
        gate.open()
        assert await soon(running) == 2.0
    assert cluster.server(W0).statistics().pending == 0


# -- over the wire ---------------------------------------------------------------------------------
def test_an_earlier_version_that_lacks_fields_is_understood() -> None:
    wire = SEEN.to_wire()
    for name in ("pid", "version", "uptime", "memory", "snapshot_age", "open_sessions"):
        del wire[name]
    seen = ServerStatistics.from_wire(wire)
    assert (seen.pid, seen.version, seen.uptime, seen.open_sessions) == (0, "", 0.0, ())
    assert seen.runs == SEEN.runs


def test_fields_that_a_later_version_has_are_left_out() -> None:
    wire = SEEN.to_wire()
    wire["temperature"] = 36.6
    wire["open_sessions"][0]["colour"] = ["red"]
    assert ServerStatistics.from_wire(wire) == SEEN


@for_each(
    "change",
    [
        {"task": 5},
        {"runs": "many"},
        {"uptime": None},
        {"version": b"1"},
        {"links": 5},
        {"links": [5]},
        {"links": [{}]},
        {"links": [{"peer": "x"}]},
        {"devices": [{"device": 7}]},
        {"open_sessions": [{"session_handle": None}]},
        {"open_sessions": {"session_handle": "h"}},
        {"largest_variables": [{"name": "v"}]},
        {"master_steps": {"counts": [1]}},
        {"errors": {"InternalError": "many"}},
        {"errors": ["InternalError"]},
        {"queues": [{"name": 5}]},
    ],
)
def test_a_stranger_s_values_of_other_types_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(errors.ProtocolError, match="not the statistics of a server"):
        ServerStatistics.from_wire({**SEEN.to_wire(), **change})


@pytest.mark.parametrize("value", [{}, [], None, {"task": W0}])
def test_what_is_no_statistics_at_all_is_refused(value: Any) -> None:
    with pytest.raises(errors.ProtocolError, match="not the statistics of a server"):
        ServerStatistics.from_wire(value)


# -- memory ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("VmHWM:\t  300 kB\nVmRSS:\t  200 kB\n", ProcessMemory(200 * 1024, 300 * 1024)),
        ("VmRSS:\t  200 kB\n", ProcessMemory(200 * 1024, 0)),
        ("VmRSS: much\nVmHWM:\nnonsense", ProcessMemory()),
        ("", ProcessMemory()),
    ],
)
def test_memory_that_the_system_does_not_tell_is_0(text: str, found: ProcessMemory, tmp_path: Path) -> None:
    path = tmp_path / "status"
    path.write_text(text)
    assert process_memory(path) == found
    assert process_memory(tmp_path / "none") == ProcessMemory()


async def test_a_server_says_which_cluster_it_is_part_of() -> None:
    async with in_process(cluster_id="ours") as cluster:
        view = await read_cluster(cluster.target(W1))
        assert (view.cluster_id, view.task) == ("ours", W1)
        assert view.tasks == {W0: cluster.target(W0), W1: cluster.target(W1)}


async def test_an_address_may_lack_its_scheme_as_in_a_cluster(cluster: InProcess) -> None:
    bare = cluster.target(W1).removeprefix("tcp://")
    assert (await read_statistics(bare)).task == W1
    assert (await read_cluster(bare)).task == W1


async def test_a_server_answers_while_a_step_is_busy(session: AsyncSession, cluster: InProcess) -> None:
    gate = Gate("an inquiry")
    a = ops.placeholder("float32", [])
    end = on(W0, lambda: gate(a))
    running = asyncio.create_task(session.run(end, {a: 1.0}))
    await gate.wait_entered()
    assert (await soon(read_statistics(cluster.target()))).steps == 1
    assert (await soon(read_cluster(cluster.target()))).task == W0
    gate.open()
    assert await running == 1.0


async def test_a_server_ends_when_it_is_asked_to_and_says_which_it_was(graph: Graph) -> None:
    async with in_process({"worker": 1}) as cluster:
        server, target = cluster.servers[0], cluster.target()
        async with AsyncSession(target, graph=graph) as session:
            await session.list_devices()
            assert await soon(stop_server(target, reason="a test")) == W0
            await soon(server.serve_forever())
        with pytest.raises(errors.UnavailableError):
            await read_statistics(target)
        assert registry.lookup(target) is None


async def test_being_asked_to_end_and_stopped_at_the_same_time_is_fine() -> None:
    server = Server(ONE)
    await server.start()
    asking = asyncio.create_task(stop_server(server.target))
    await soon(server.serve_forever())  # it has begun to end
    await soon(server.stop())
    assert await soon(asking) == W0


async def test_the_end_of_nobody_is_unavailable() -> None:
    with pytest.raises(errors.UnavailableError, match=r"no end of tcp://127\.0\.0\.1:1"):
        await stop_server("127.0.0.1:1")


@pytest.mark.parametrize("ask", [read_statistics, read_cluster, stop_server])
async def test_every_question_has_a_deadline(ask: Any) -> None:
    with silent_address() as address, pytest.raises(errors.UnavailableError, match="no answer within"):
        await soon(ask(address, deadline=Deadline.after(0.1)))
    with pytest.raises(errors.DeadlineExceededError, match="the deadline is over"):
        await ask("tcp://127.0.0.1:1", deadline=Deadline.after(0.0))


async def test_a_token_is_asked_for_before_a_server_ends(monkeypatch: Any) -> None:
    async with in_process({"worker": 1}, token="secret") as cluster:
        target = cluster.target()
        for ask in (stop_server, read_cluster):
            with pytest.raises(errors.UnavailableError, match="token"):
                await ask(target)
        monkeypatch.setenv(TOKEN_VARIABLE, "wrong")
        with pytest.raises(errors.UnavailableError, match="token"):
            await stop_server(target)
        assert (await read_cluster(target, token="secret")).task == W0
        assert await stop_server(target, token="secret") == W0


# -- who may end a server --------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("address", "near"),
    [
        ("local", True),
        ("tcp://127.0.0.1:7", True),
        ("tcp://127.8.9.1:7", True),
        ("tcp://[::1]:7", True),
        ("tcp://[::ffff:127.0.0.1]:7", True),
        ("unix:///run/w", True),
        ("inproc://w", True),
        ("tls://10.0.0.1:7", True),
        ("tcp://10.0.0.1:7", False),
        ("tcp://[fe80::1%eth0]:7", False),
        ("tcp://localhost.evil.example:7", False),
    ],
)
def test_near_is_this_machine_or_a_certificate(address: str, near: bool) -> None:
    assert is_near(address) is near


class Controlled:
    """A control, and whether it has had its server stopped."""

    def __init__(self, *, trusted: bool) -> None:
        self.stopped = 0
        self.kept: list[float] = []
        self.control = Control(W0, "ours", lambda: {W0: "tcp://h:1"}, self.stop, self.kept.append, trusted=trusted)

    def stop(self, why: str) -> None:
        self.stopped += 1

    def ask(self, message: Any, address: str) -> Any:
        return self.control.submit(message, CallContext(peer="client", address=address))


def test_a_stranger_without_token_or_certificate_ends_nothing() -> None:
    server = Controlled(trusted=False)
    for request in (StopServer(reason=""), KeepServer(seconds=1.0)):
        with pytest.raises(
            errors.PermissionDeniedError, match=r"a caller at tcp://10\.0\.0\.1:7 must not stop"
        ) as info:
            server.ask(request, "tcp://10.0.0.1:7")
        assert (server.stopped, server.kept, info.value.task) == (0, [], W0)
    assert server.ask(GetCluster(), "tcp://10.0.0.1:7").cluster_id == "ours"


@pytest.mark.parametrize(("trusted", "address"), [(True, "tcp://10.0.0.1:7"), (False, "tcp://127.0.0.1:7")])
def test_those_who_may_run_graphs_may_end_a_server(trusted: bool, address: str) -> None:
    server = Controlled(trusted=trusted)
    assert server.ask(KeepServer(seconds=2.5), address) == Done()
    assert server.ask(StopServer(reason=""), address) == Done()
    assert (server.stopped, server.kept) == (1, [2.5])


def test_what_is_told_and_not_asked_is_refused() -> None:
    server = Controlled(trusted=True)
    with pytest.raises(errors.UnimplementedError):
        server.control.deliver(StopServer(reason=""))
    assert server.stopped == 0


async def logging(cluster: InProcess, task: str, **asked: Any) -> LoggingReply:
    """What a worker answers to a request about its log."""
    request = LoggingRequest(**{"enable": None, "clear": False, "fetch": True, "steps": [], **asked})
    worker = cluster.server(task)._serves[WORKER]
    answer: LoggingReply = await worker.ask(request, Deadline.after(10))
    return answer


def events(reply: LoggingReply) -> list[RpcEvent]:
    return [RpcEvent.from_wire(event) for event in reply.events]


async def test_a_worker_logs_what_comes_and_goes_for_each_step_while_asked_to(cluster: InProcess, graph: Graph) -> None:
    """1. Off: nothing. 2. On: each run is seen at both ends of its push. 3. Cleared: nothing again."""
    x = ops.placeholder("float32", [3])
    a = on(W0, lambda: x * 2.0)
    b = on(W1, lambda: a + 1.0)
    feeds = {x: np.ones(3, np.float32)}
    async with AsyncSession(cluster.target(), graph=graph) as session:
        await soon(session.run(b, feeds))
        assert (await logging(cluster, W0)).events == []
        for task in (W0, W1):
            assert (await logging(cluster, task, enable=True)).enabled
        for _ in range(2):
            await soon(session.run(b, feeds))
        sent, received = [events(await logging(cluster, task)) for task in (W0, W1)]
        one_step = [sent[0].step_id]
        only = events(await logging(cluster, W0, steps=one_step, clear=True))
        cleared = await logging(cluster, W0)
        after = await logging(cluster, W0, enable=False)
    assert [(e.what, e.outgoing) for e in sent] == [("RunGraph", False), ("PushTensors", True)] * 2
    assert {(e.what, e.outgoing) for e in received} == {("RunGraph", False), ("PushTensors", False)}
    pushed = [e for e in sent if e.outgoing]
    assert [(e.peer, e.tensors, e.nbytes) for e in pushed] == [(W1, 1, 12)] * 2
    assert [e.peer for e in received if e.what == "PushTensors"] == [W0, W0]
    assert {e.step_id for e in sent} == {e.step_id for e in received}
    assert [e.step_id for e in only] == one_step * 2
    assert cleared == LoggingReply(enabled=True, events=[])
    assert after == LoggingReply(enabled=False, events=[])


def test_the_log_is_bounded() -> None:
    log = RpcLog(kept=3)
    for step in range(5):
        log.note(step, "RunGraph", "peer", [])
    assert [e.step_id for e in log.events()] == [2, 3, 4]
    assert [e.step_id for e in log.events([4, 99])] == [4]
    log.clear()
    assert len(log) == 0


@pytest.mark.parametrize("wire", [None, [], [1, 2, "RunGraph", 0, "peer", 1, 1], [1] * 7])
def test_an_event_in_another_form_is_a_protocol_error(wire: Any) -> None:
    with pytest.raises(errors.ProtocolError, match="an RPC event is"):
        RpcEvent.from_wire(wire)


class Maker:
    """Makes numbers, each once a test lets it."""

    def __init__(self) -> None:
        self.made = 0
        self.existing: set[int] = set()
        self.held: asyncio.Event | None = None
        self.creations = Creations(lambda number: number in self.existing)

    async def create(self) -> int:
        self.made += 1
        number = self.made
        if self.held is not None:
            await self.held.wait()
        self.existing.add(number)
        return number

    async def once(self, request_id: str, seconds: float = 20.0) -> Any:
        return await self.creations.once(request_id, self.create, Deadline.after(seconds))


async def test_a_creation_is_made_once_per_request() -> None:
    maker = Maker()
    assert [await maker.once(name) for name in ("a", "b", "a", "b")] == [1, 2, 1, 2]
    assert [await maker.once("") for _ in range(2)] == [3, 4]


async def test_a_repeat_waits_for_the_first_but_not_for_ever() -> None:
    maker = Maker()
    maker.held = asyncio.Event()
    first, second = asyncio.create_task(maker.once("a")), asyncio.create_task(maker.once("a"))
    await asyncio.sleep(0)
    with pytest.raises(errors.DeadlineExceededError, match="the first try of 'a'"):
        await maker.once("a", 0.02)
    maker.held.set()
    assert await soon(asyncio.gather(first, second)) == [1, 1]


async def test_a_repeat_of_a_creation_that_was_given_up_makes_it_anew() -> None:
    maker = Maker()
    maker.held = asyncio.Event()
    first = asyncio.create_task(maker.once("a"))
    await asyncio.sleep(0)
    second = asyncio.create_task(maker.once("a"))
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.gather(first, return_exceptions=True)
    maker.held.set()
    assert await soon(second) == 2


async def test_a_repeat_after_the_end_of_what_was_made_makes_it_anew() -> None:
    maker = Maker()
    assert await maker.once("a") == 1
    maker.existing.clear()
    assert await maker.once("a") == 2
    assert await maker.once("a") == 2


async def test_only_the_latest_creations_are_remembered() -> None:
    maker = Maker()
    maker.creations = Creations(lambda number: True, kept=2)
    assert [await maker.once(name) for name in ("a", "b", "c")] == [1, 2, 3]
    assert await maker.once("c") == 3
    assert await maker.once("a") == 4


def test_a_task_of_a_simulation_reports_nothing_of_the_process_that_simulates_it() -> None:
    async def program(cluster: SimulatedCluster) -> None:
        async with cluster:
            (counters,) = (await cluster.statistics()).values()
        assert (counters.memory, counters.peak_memory) == (0, 0)
        assert 0 < counters.uptime < 60
        assert counters.pid != os.getpid()

    SimulatedCluster(1, {"ps": 1}).run(program)
