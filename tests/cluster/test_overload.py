"""More work than there is room for: who waits, who does not, and what is held meanwhile."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, LocalCluster, Server, ServerSettings, Tensor, ops
from actorsession.actors import Children
from actorsession.cluster.worker.backpressure import StepGate
from actorsession.config import ConfigProto, RunOptions
from actorsession.errors import CancelledError, DeadlineExceededError, InvalidArgumentError
from actorsession.testing.faults import Proxy, Way
from tests.cluster.fakes import FakeWorkerCache
from tests.cluster.kit import W0, W1, Gate, InProcess, eventually, in_process, on, reach_over_links, soon
from tests.loops import run_to_end
from transports.shm.lane import SHARED_VARIABLE

MIB = 2**20


def rss(pid: int | str = "self") -> int:
    """Bytes of memory that a process has: buffers of sockets and arrays are none that Python counts."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * 4096


class Peak:
    """The most memory that a process has while a block runs, beyond what it had before."""

    def __init__(self, pid: int | str = "self") -> None:
        self._pid = pid
        self._before = rss(pid)
        self.growth = 0

    async def __aenter__(self) -> Peak:
        self._looking = asyncio.create_task(self._look())
        return self

    async def __aexit__(self, *exc: object) -> None:
        self._looking.cancel()

    async def _look(self) -> None:
        while True:
            self.growth = max(self.growth, rss(self._pid) - self._before)
            await asyncio.sleep(0.01)


# -- thousands of runs at once ---------------------------------------------------------------------
@pytest.fixture
def runs_at_once(whole: bool) -> int:
    return 3_000 if whole else 1_000


def test_thousands_of_runs_at_once_hold_the_feeds_of_a_few(graph: Graph, runs_at_once: int) -> None:
    """Each run that is under way keeps a copy of what it is fed: 256 MB of a thousand, were all of them."""
    gate = Gate("thousands")
    x = ops.placeholder("float32", [None])
    y = ops.reduce_sum(gate(x))
    config = ConfigProto(max_inflight_steps=100, max_inflight_bytes=8 * MIB)
    feed = np.ones(MIB // 16, np.float32)  # 256 KiB

    async def main() -> None:
        async with AsyncSession(graph=graph, config=config) as session, Peak() as peak:
            runs = [asyncio.create_task(session.run(y, {x: feed})) for _ in range(runs_at_once)]
            await eventually(lambda: session._session.statistics().waiting == runs_at_once - 32)
            assert session._session.statistics().steps == 32
            gate.open()
            async with asyncio.timeout(120):
                assert set(map(float, await asyncio.gather(*runs))) == {MIB / 16}
            assert session._session.statistics().waiting == 0
        # A run that waits costs its child and its future, some 8 KB; ten times the feeds are generous.
        assert peak.growth < runs_at_once * 16 * 1024 + 10 * 8 * MIB

    run_to_end(main())


@pytest.mark.process
def test_thousands_of_runs_at_once_over_a_process_hold_the_feeds_of_a_few(graph: Graph, runs_at_once: int) -> None:
    x = ops.placeholder("float32", [None])
    y = on(W0, lambda: ops.reduce_sum(x))
    config = ConfigProto(max_inflight_bytes=4 * MIB)
    feed = np.ones(MIB // 32, np.float32)  # 128 KiB, and 128 MB of a thousand

    async def main() -> None:
        async with LocalCluster({"worker": 1}) as cluster:
            target = cluster.target("worker", 0)
            pid = cluster.process("worker", 0).pid
            async with AsyncSession(target, graph=graph, config=config) as session:
                await session.run(y, {x: feed})
                async with Peak() as here, Peak(pid) as there, asyncio.timeout(120):
                    runs = [session.run(y, {x: feed}) for _ in range(runs_at_once)]
                    assert set(map(float, await asyncio.gather(*runs))) == {MIB / 32}
            assert here.growth < runs_at_once * 16 * 1024 + 10 * 4 * MIB
            assert there.growth < 10 * 4 * MIB

    run_to_end(main())


# -- runs that wait for their turn -----------------------------------------------------------------
class Narrow:
    """A session with room for one step, and a gate in it."""

    def __init__(self, session: AsyncSession, gate: Gate, x: Tensor, y: Tensor) -> None:
        self.session, self.gate, self.x, self.y = session, gate, x, y

    def begin(self, value: float, **options: Any) -> asyncio.Task[Any]:
        given = RunOptions(**options) if options else None
        return asyncio.create_task(self.session.run(self.y, {self.x: value}, given))

    @property
    def waiting(self) -> int:
        waiting: int = self.session._session.statistics().waiting
        return waiting


@asynccontextmanager
async def narrow(kind: str, graph: Graph) -> AsyncIterator[Narrow]:
    gate = Gate("narrow")
    x = ops.placeholder("float32", [])
    y = gate(x) + 1.0
    config = ConfigProto(max_inflight_steps=1)
    if kind == "direct":
        async with AsyncSession(graph=graph, config=config) as session:
            yield Narrow(session, gate, x, y)
        return
    async with (
        in_process({"worker": 1}) as cluster,
        AsyncSession(cluster.target(), graph=graph, config=config) as session,
    ):
        yield Narrow(session, gate, x, y)


each_kind = pytest.mark.parametrize("kind", ["direct", "remote"])


@each_kind
async def test_runs_over_the_limit_wait_for_their_turn(kind: str, graph: Graph) -> None:
    async with narrow(kind, graph) as scene:
        runs = [scene.begin(float(number)) for number in range(20)]
        await scene.gate.wait_entered()
        await eventually(lambda: scene.waiting == 19)
        assert scene.gate.entered == 1
        scene.gate.open()
        assert await soon(asyncio.gather(*runs)) == [number + 1.0 for number in range(20)]
        assert scene.waiting == 0


@each_kind
async def test_a_run_that_waits_leaves_the_queue_when_it_is_cancelled(kind: str, graph: Graph) -> None:
    async with narrow(kind, graph) as scene:
        first = scene.begin(0.0)
        await scene.gate.wait_entered()
        second, third = scene.begin(1.0), scene.begin(2.0)
        await eventually(lambda: scene.waiting == 2)
        second.cancel()
        await eventually(lambda: scene.waiting == 1)
        scene.gate.open()
        assert await soon(asyncio.gather(first, third)) == [1.0, 3.0]
        assert second.cancelled()
        assert scene.gate.entered == 2


@each_kind
async def test_a_limit_in_time_counts_while_a_run_waits(kind: str, graph: Graph) -> None:
    async with narrow(kind, graph) as scene:
        first = scene.begin(1.0)
        await scene.gate.wait_entered()
        with pytest.raises(DeadlineExceededError, match="its turn: 1 steps are in flight"):
            await soon(scene.begin(2.0, timeout_in_ms=50))
        assert scene.waiting == 0
        scene.gate.open()
        assert await soon(first) == 2.0
        assert scene.gate.entered == 1


@each_kind
async def test_closing_releases_all_who_wait(kind: str, graph: Graph) -> None:
    async with narrow(kind, graph) as scene:
        first = scene.begin(0.0)
        await scene.gate.wait_entered()
        waiting = [scene.begin(float(number)) for number in range(4)]
        await eventually(lambda: scene.waiting == 4)
        closing = asyncio.create_task(scene.session.close())
        for run in waiting:
            with pytest.raises(CancelledError, match="closed"):
                await soon(run)
        scene.gate.open()
        with pytest.raises(CancelledError):
            await soon(first)
        await soon(closing)
        assert scene.gate.entered == 1


@pytest.mark.parametrize("options", [{"max_inflight_steps": 0}, {"max_inflight_bytes": 0}, {"max_inflight_steps": -1}])
def test_a_limit_of_nothing_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidArgumentError, match=next(iter(options))):
        ConfigProto(**options)


def test_a_server_without_room_for_a_step_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="max_inflight_steps is 1 or more, got 0"):
        Server({"worker": ["127.0.0.1:0"]}, settings=ServerSettings(max_inflight_steps=0))


# -- slow consumers --------------------------------------------------------------------------------
def with_proxy(cluster: InProcess, proxy: Proxy, task: str = W1) -> None:
    """Has the first server reach a task by a proxy from now on."""
    cluster.servers[0].learn_peers({"worker": [cluster.target(W0), proxy.address]})


@pytest.mark.parametrize("how", ["steps", "bytes"])
async def test_a_slow_kernel_of_a_consumer_holds_its_producer_back_and_not_the_beats(
    how: str, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1. W0 makes an array for each step, which a gate on W1 holds for longer than a lease. 2. No more steps are begun
    on W0 than may be under way; the others wait with the client. 3. The links live, and all values are right."""
    reach_over_links(monkeypatch)
    gate = Gate("consumer")
    x = ops.placeholder("float32", [])
    with on(W0):
        array = ops.fill([MIB // 4], x)  # 1 MiB, and small when it is fed
    y = on(W1, lambda: ops.reduce_max(gate(array)))
    limits: dict[str, dict[str, Any]] = {"steps": {"max_inflight_steps": 4}, "bytes": {"max_inflight_bytes": 4 * MIB}}
    config = ConfigProto(**limits[how])
    async with (
        in_process(beat=0.1, lease=0.6) as cluster,
        AsyncSession(cluster.target(), graph=graph, config=config) as session,
    ):

        def frames_sent() -> int:
            return sum(link.frames_sent for link in cluster.server(W1).statistics().links)

        # What a step weighs is known from here, and that the gate takes time: a beat passes.
        first = asyncio.create_task(session.run(y, {x: 7.0}))
        await gate.wait_entered()
        beats = frames_sent()
        await eventually(lambda: frames_sent() > beats + 1)
        gate.open()
        assert await soon(first) == 7.0
        gate.close()
        before = cluster.server(W0).statistics().runs
        runs = [asyncio.create_task(session.run(y, {x: float(n)})) for n in range(30)]
        await eventually(lambda: cluster.server(W1).statistics().steps == 4)
        beats = frames_sent()
        # Those of two leases and more go out while nothing else does.
        await eventually(lambda: frames_sent() > beats + 15)
        assert cluster.server(W0).statistics().runs == before + 4
        client = session._session.statistics().waiting
        assert client + cluster.server(W0).statistics().waiting == 26
        gate.open()
        assert await soon(asyncio.gather(*runs)) == [float(n) for n in range(30)]
        await cluster.until_idle()


async def test_a_link_that_is_read_slowly_holds_back_the_steps_that_send_over_it(graph: Graph) -> None:
    """1. Nothing passes from W0 to W1; steps on W0 send arrays there until 64 MiB wait. 2. The next steps are held, and
    are seen to be; those that do not send there run. 3. One that is held is given up, and leaves; when the link is
    there again, the others go on."""
    x = ops.placeholder("float32", [])
    with on(W0):
        array, alone = ops.fill([2 * MIB], x), x + 1.0  # 8 MiB
    y = on(W1, lambda: ops.reduce_max(array))
    async with in_process() as cluster, Proxy(cluster.target(W1)) as proxy:
        with_proxy(cluster, proxy)
        async with AsyncSession(cluster.target(), graph=graph) as session:
            assert await session.run(y, {x: 7.0}) == 7.0
            before = cluster.server(W0).statistics().runs
            proxy.hold(Way.THERE)
            runs = []
            for n in range(30):
                runs.append(asyncio.create_task(session.run(y, {x: float(n)})))
                # Its part on W0 is held, or has ended with a push.
                await eventually(lambda n=n: _begun_or_held(cluster) == before + n + 1)  # type: ignore[misc]
                await eventually(lambda: cluster.server(W0).statistics().steps == 0)
            assert cluster.server(W0).statistics().held > 10
            (link,) = cluster.server(W0).statistics().peers
            assert link.send_buffer < 100 * MIB
            assert await soon(session.run(alone, {x: 1.0})) == 2.0
            assert _begun_or_held(cluster) == before + 31
            runs[-1].cancel()
            await eventually(lambda: _begun_or_held(cluster) == before + 30)
            proxy.heal()
            assert await soon(asyncio.gather(*runs[:-1])) == [float(n) for n in range(29)]
            await cluster.until_idle()


class Congested(FakeWorkerCache):
    """Links over which nothing may be sent until they are free."""

    def __init__(self) -> None:
        super().__init__()
        self.free = {task: asyncio.Event() for task in (W0, W1)}

    def is_backlogged(self, task: str) -> bool:
        return not self.free[task].is_set()

    async def wait_for_capacity(self, task: str) -> None:
        await self.free[task].wait()


async def test_a_step_that_is_held_for_a_second_link_has_been_held_since_the_first() -> None:
    """A report on what hangs says how long it has waited in all."""
    workers, children = Congested(), Children("held steps")

    def begin() -> None:
        link = gate.blocked([W1, W0])
        if link is None:
            ended.set()
        else:
            gate.hold(link, 1, begin, ended.set)  # type: ignore[arg-type]

    def held() -> list[tuple[str, float]]:
        return [(step.link, step.since) for step in gate.steps.values()]

    gate, ended = StepGate(workers, children), asyncio.Event()
    before = time.monotonic()
    gate.hold(W1, 1, begin, ended.set)  # type: ignore[arg-type]
    ((link, began),) = held()
    assert link == W1
    assert before <= began <= time.monotonic()
    workers.free[W1].set()
    await eventually(lambda: held() == [(W0, began)])
    workers.free[W0].set()
    await soon(ended.wait())
    await children.stop()


async def test_no_step_overtakes_those_that_are_held_for_its_link() -> None:
    workers, children, begun = Congested(), Children("held steps"), list[int]()

    gate = StepGate(workers, children)
    for step_id in (3, 1, 2):
        gate.hold(W1, step_id, partial(begun.append, step_id), print)
    await asyncio.sleep(0)
    assert (gate.blocked([W1]), gate.blocked([W0])) == (W1, W0)
    for link in workers.free.values():
        link.set()
    assert (gate.blocked([W1]), gate.blocked([W0])) == (W1, None)
    await eventually(lambda: gate.blocked([W1]) is None)
    assert begun == [3, 1, 2]
    await children.stop()


async def test_a_large_array_on_a_slow_link_holds_up_neither_beats_nor_the_end_of_a_step(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """1. A step waits on W1; another pushes 24 MiB from W0 to W1, which takes many leases. 2. The first is cancelled:
    W1 hears of it while most of the array is still to come. 3. The array arrives whole, over the link on which it was
    sent."""
    monkeypatch.setenv(SHARED_VARIABLE, "0")  # as if it were another machine
    gate = Gate("slow link")
    x = ops.placeholder("float32", [])
    array = on(W0, lambda: ops.fill([6 * MIB], x))
    with on(W1):
        y, held = ops.reduce_max(array), gate(x)
    async with in_process(beat=0.1, lease=0.5) as cluster, Proxy(cluster.target(W1)) as proxy:
        with_proxy(cluster, proxy)
        async with AsyncSession(cluster.target(), graph=graph) as session:
            proxy.slow(100 * MIB)  # as fast as it can with a pause for each few bytes
            waits = asyncio.create_task(session.run(held, {x: 0.0}))
            await gate.wait_entered()
            large = asyncio.create_task(session.run(y, {x: 3.0}))
            await eventually(lambda: _to_send(cluster) > 16 * MIB)
            waits.cancel()
            await eventually(lambda: cluster.server(W1).statistics().rendezvous <= 1)
            assert _to_send(cluster) > 4 * MIB
            gate.open()
            assert await soon(large) == 3.0
            assert proxy.connections == 1
            await cluster.until_idle()


def _begun_or_held(cluster: InProcess) -> int:
    seen = cluster.server(W0).statistics()
    return seen.runs + seen.held


def _to_send(cluster: InProcess) -> int:
    return sum(link.send_buffer for link in cluster.server(W0).statistics().peers)


# -- many clients ----------------------------------------------------------------------------------
@pytest.mark.parametrize("narrow_by", ["threads", "steps"])
async def test_a_client_that_floods_a_server_takes_turns_with_another(
    narrow_by: str, graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With one thread, or room for one step: what the other asks for waits for one or two of the flood. 1. A hundred
    runs of one client; the first is held in its kernel, the others wait. 2. The other client asks for one. 3. The first
    goes on, and the other's kernel is held: now it has its turn."""
    reach_over_links(monkeypatch)
    flood_gate, other_gate = Gate(f"flood by {narrow_by}"), Gate(f"other by {narrow_by}")
    x = ops.placeholder("float32", [])
    floods, asked = flood_gate(x) + 0.0, other_gate(x) + 1.0
    threads = ConfigProto(inter_op_parallelism_threads=1 if narrow_by == "threads" else 4)
    steps: dict[str, Any] = {"max_inflight_steps": 1} if narrow_by == "steps" else {}
    async with (
        in_process({"worker": 1}, config=threads, **steps) as cluster,
        AsyncSession(cluster.target(), graph=graph) as flooding,
        AsyncSession(cluster.target(), graph=graph) as other,
    ):
        server = cluster.servers[0]
        flood = [asyncio.create_task(flooding.run(floods, {x: 1.0})) for _ in range(100)]
        await flood_gate.wait_entered()
        before: list[int] = []  # it may have a thread of its own, so that the flood goes on beside it
        other_gate.on_entered = lambda: before.append(flood_gate.entered)
        asking = asyncio.create_task(other.run(asked, {x: 1.0}))
        await eventually(lambda: (s := server.statistics()).waiting + s.steps == 101)
        flood_gate.open()
        await other_gate.wait_entered()
        assert before[0] <= 2
        other_gate.open()
        assert await soon(asking) == 2.0
        assert await soon(asyncio.gather(*flood)) == [1.0] * 100
