"""The trace of a step over processes: one clock, and what took the time told apart."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import AsyncSession, Graph, Tensor, ops
from actorsession.actors import Deadline
from actorsession.cluster import update_cluster
from actorsession.config import FrameStats, NodeStats, PhaseStats, RunMetadata, RunOptions, StepStats
from actorsession.observe import CriticalPath, chrome_trace, critical_path
from actorsession.testing.faults import Proxy, Way
from tests.cluster.kit import PATIENCE, W0, W1, InProcess, eventually, in_process, on, soon, until_root
from tests.cluster.script import running
from tests.cluster.shifted_worker import slow
from tests.cluster.test_child import line_of
from tests.cluster.test_overload import MIB, with_proxy
from tests.loops import run_to_end
from tests.ports import held_ports
from transports.shm.lane import SHARED_VARIABLE

FULL = RunOptions(trace_level=RunOptions.FULL_TRACE)
# Seconds by which the clock of W1 is wrong, that its op takes, and that the link to it takes each way.
SHIFT, SLOW, DELAY = 3600.0, 0.2, 0.05
X = np.ones(100_000, np.float32)


def there_and_back() -> tuple[Tensor, Tensor]:
    """A large tensor that crosses to W1, where an op takes its time, and back."""
    x = ops.placeholder("float32", [None], name="x")
    a = on(W0, lambda: ops.tanh(x, name="a"))
    b = on(W1, lambda: slow(a, SLOW, "b"))
    return x, on(W0, lambda: ops.exp(b, name="c"))


def node(stats: StepStats, name: str) -> NodeStats:
    (one,) = [n for n in stats.nodes if n.node == name]
    return one


def frame(stats: StepStats, kind: str, source: str, target: str) -> FrameStats:
    (one,) = [f for f in stats.frames if (f.kind, f.source, f.target) == (kind, source, target)]
    return one


def phase(stats: StepStats, kind: str, task: str) -> PhaseStats:
    (one,) = [p for p in stats.phases if (p.kind, p.task) == (kind, task)]
    return one


# -- processes -------------------------------------------------------------------------------------
@dataclass
class Traced:
    """Two runs of one step, seen by a client: over a quick link and over a long one."""

    quick: StepStats
    long: StepStats
    asked: float
    answered: float


@contextmanager
def workers() -> Iterator[list[str]]:
    """Two worker processes, of which the second has a clock that is wrong; their addresses."""

    def command(index: int, ports: list[int]) -> list[str]:
        spec = json.dumps({"worker": [f"127.0.0.1:{port}" for port in ports]})
        words = ["worker", "--job", "worker", "--task", str(index), "--cluster", spec]
        return [sys.executable, "-m", "tests.cluster.shifted_worker", str(index * SHIFT), *words]

    with held_ports(2) as ports, running(command(0, ports)) as first, running(command(1, ports)) as second:
        yield [line_of(process).split()[3].rstrip(";") for process in (first, second)]


async def play(addresses: list[str]) -> Traced:
    with Graph().as_default() as graph:
        x, end = there_and_back()
    async with Proxy(addresses[1]) as proxy:
        told = {W0: addresses[0], W1: proxy.address}
        await update_cluster(addresses[0], told, deadline=Deadline.after(PATIENCE))
        async with AsyncSession(addresses[0], graph) as session:
            kept: list[StepStats] = []
            await soon(session.run(end, {x: X}))
            asked = time.time()
            for delay in (0.0, DELAY):
                proxy.delay(delay)
                metadata = RunMetadata()
                await soon(session.run(end, {x: X}, options=FULL, run_metadata=metadata))
                assert metadata.step_stats is not None
                kept.append(metadata.step_stats)
            quick, long = kept
            return Traced(quick, long, asked, time.time())


@pytest.fixture(scope="module")
def traced() -> Iterator[Traced]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(SHARED_VARIABLE, "0")  # arrays take the network that is slow
        with workers() as addresses:
            yield run_to_end(play(addresses))


@pytest.mark.process
def test_times_of_a_task_whose_clock_is_wrong_are_those_of_the_client(traced: Traced) -> None:
    for stats in (traced.quick, traced.long):
        clocks = {clock.task: clock for clock in stats.clocks}
        assert clocks.keys() == {W0, W1}
        assert abs(clocks[W1].offset + SHIFT) <= clocks[W1].error < PATIENCE
        assert abs(clocks[W0].offset) <= clocks[W0].error < PATIENCE
        slack = clocks[W1].error
        times = [t for n in stats.nodes for t in (n.start, n.end)] + [t.time for t in stats.transfers]
        times += [t for f in stats.frames for t in (f.sent, f.arrived)]
        times += [t for p in stats.phases for t in (p.began, p.ended)]
        times += [n.detail.all_start_nanos / 1e9 for n in stats.nodes if n.detail is not None]
        assert traced.asked - slack <= min(times) <= max(times) <= traced.answered + slack
        a, b, c = (node(stats, name) for name in "abc")
        assert a.end <= b.start + slack
        assert b.end <= c.start + slack
        assert b.end - b.start >= SLOW


@pytest.mark.process
def test_the_frames_of_a_step_are_logged_with_their_sizes_and_without_values(traced: Traced) -> None:
    stats = traced.quick
    client = frame(stats, "RunStep", "client", W0)
    assert client.nbytes > X.nbytes
    there, back = frame(stats, "push", W0, W1), frame(stats, "push", W1, W0)
    assert all(X.nbytes < f.nbytes < X.nbytes + 1000 for f in (there, back))
    (sent,) = {t.key for t in stats.transfers if t.device == node(stats, "a").device and t.kind == "send"}
    assert there.keys == (sent,)
    assert 0 < frame(stats, "RunGraph", W0, W1).nbytes < 1000
    assert frame(stats, "done", W0, "client").nbytes > X.nbytes
    assert frame(stats, "done", W1, W0).nbytes > 100
    assert len(stats.frames) == 6


@pytest.mark.process
def test_the_way_over_a_long_link_is_wire_time_in_both_directions(traced: Traced) -> None:
    def took(stats: StepStats) -> float:
        """Both ways together: what the clocks are apart does not count."""
        ways = [frame(stats, "push", *ends) for ends in ((W0, W1), (W1, W0))]
        return sum(f.arrived - f.sent for f in ways)

    assert took(traced.long) >= 2 * DELAY
    path = critical_path(traced.long)
    assert path.kinds["wire"] >= DELAY
    assert {row.where for row in path.rows if row.kind == "wire" and row.seconds >= DELAY / 10} >= {
        "/job:worker/task:0 > /job:worker/task:1"
    }


@pytest.mark.process
def test_the_critical_path_leads_through_the_slow_op_and_both_crossings(traced: Traced) -> None:
    for stats in (traced.quick, traced.long):
        path = critical_path(stats)
        whole(path, stats)
        slowest = max((row for row in path.rows if row.kind == "work"), key=lambda row: row.seconds)
        assert (slowest.node, slowest.what) == ("b", "b (TestSlow)")
        assert slowest.seconds >= SLOW
        nodes = [row.node for row in path.rows if row.node]
        # Whether the step ends with c, or with the answer of W1, which has the statistics, is a race.
        assert [name for name in nodes if name in "ab"] == ["a", "b"]
        assert "b (TestSlow)" in str(path)
        assert f"{100 * path.share(slowest):.1f} %" in str(path)


@pytest.mark.process
def test_the_trace_has_the_errors_of_clocks_an_arrow_per_transfer_and_lanes_of_links(traced: Traced) -> None:
    trace = chrome_trace(traced.long)
    json.dumps(trace, allow_nan=False)
    events = trace["traceEvents"]
    clocks = trace["otherData"]["clocks"]
    assert abs(clocks[W1]["offset"] + SHIFT) <= clocks[W1]["error"]
    names = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert [n.partition(" (±")[0] for n in names.values()] == [
        *("worker/0", "worker/1", "client", "links", "critical path")
    ]
    assert all(" (±" in name for name in names.values() if name.startswith("worker"))
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    assert len(starts) == len(ends) == 2
    for number, start in starts.items():
        assert start["args"] == ends[number]["args"]
        assert start["args"]["bytes"] == X.nbytes
        assert start["ts"] <= ends[number]["ts"] + 1e6 * clocks[W1]["error"]
    spans = [e for e in events if e["ph"] == "X"]
    assert {e["args"]["name"] for e in spans if e["args"].get("critical")} >= {"a", "b"}
    by_process: dict[str, set[str]] = {}
    for span in spans:
        by_process.setdefault(names[span["pid"]].partition(" (±")[0], set()).add(span["name"])
    assert by_process["links"] == {"RunStep", "RunGraph", "push", "done"}
    assert "wait for b:0" in by_process["worker/0"]
    assert "work: b (TestSlow)" in by_process["critical path"]


# -- one process -----------------------------------------------------------------------------------
def whole(path: CriticalPath, stats: StepStats) -> None:
    """It begins and ends with the step, and has neither gaps nor overlaps."""
    ends = [path.began, *(row.ended for row in path.rows)]
    assert [row.began for row in path.rows] == ends[:-1]
    assert ends[-1] == path.ended
    outermost = next(p for kind in ("run", "step") for p in stats.phases if p.kind == kind)
    assert (path.began, path.ended) == (outermost.began, outermost.ended)
    assert {row.kind for row in path.rows} <= {"work", "wire", "wait", "queue"}


@asynccontextmanager
async def session_of(graph: Graph, **options: Any) -> AsyncIterator[AsyncSession]:
    async with in_process(**options) as cluster, AsyncSession(cluster.target(), graph) as session:
        yield session
        await session.close()
        await cluster.until_idle()


async def run_traced(session: AsyncSession, fetch: Any, feeds: Any = None) -> StepStats:
    metadata = RunMetadata()
    await soon(session.run(fetch, feeds, options=FULL, run_metadata=metadata))
    assert metadata.step_stats is not None
    return metadata.step_stats


async def test_a_node_that_waits_for_a_queue_has_waited_and_not_worked(graph: Graph) -> None:
    with on(W1):
        queue = acts.FIFOQueue(1, ["float32"], [[]], shared_name="q")
        taken = ops.add(queue.dequeue(name="taken"), 1.0, name="next")
    put = queue.enqueue(1.0)
    async with session_of(graph) as session:
        run = asyncio.ensure_future(run_traced(session, taken))
        await until_root(session, "suspended")
        begun = time.time()
        await soon(session.run(put))
        stats = await run
    waited = [n for n in stats.nodes if n.waited]
    assert [n.op for n in waited] == ["QueueDequeueV2"]
    assert waited[0].end >= begun - 0.01
    path = critical_path(stats)
    whole(path, stats)
    (row,) = [row for row in path.rows if row.kind == "wait" and row.node]
    assert row.node == waited[0].node
    spans = {e["name"]: e for e in chrome_trace(stats)["traceEvents"] if e["ph"] == "X"}
    assert spans[waited[0].node]["args"]["critical"] is True


async def test_a_plain_step_sends_no_times_and_a_traced_one_does_not_change_the_next(graph: Graph) -> None:
    x, end = there_and_back_quickly()
    async with session_of(graph) as session:
        for _ in range(2):
            assert await soon(session.run(end, {x: 1.0})) == pytest.approx(np.exp(np.tanh(1.0)) * 2)
            stats = await run_traced(session, end, {x: 1.0})
            assert sorted(f.kind for f in stats.frames) == ["RunGraph", "done", "push", "push"]
            whole(critical_path(stats), stats)


async def test_a_part_that_is_held_for_a_link_has_waited_for_it(graph: Graph) -> None:
    """1. Nothing passes from W0 to W1, and steps push arrays there until the next ones are held. 2. So is a traced one
    behind them. 3. The link is there again: all of them end, and the traced one has waited for the link."""
    x = ops.placeholder("float32", [])
    y = on(W1, lambda: ops.reduce_max(on(W0, lambda: ops.fill([2 * MIB], x))))
    async with in_process() as cluster, Proxy(cluster.target(W1)) as proxy:
        with_proxy(cluster, proxy)
        async with AsyncSession(cluster.target(), graph=graph) as session:
            await run_traced(session, y, {x: 7.0})
            proxy.hold(Way.THERE)
            runs = []
            while not cluster.server(W0).statistics().held:
                ended = cluster.server(W0).statistics().runs
                runs.append(asyncio.create_task(session.run(y, {x: 1.0})))
                await eventually(lambda n=ended: sum(runs_and_held(cluster)) > n)  # type: ignore[misc]
            traced = asyncio.create_task(run_traced(session, y, {x: 2.0}))
            await eventually(lambda: runs_and_held(cluster)[1] > 1)
            proxy.heal()
            stats = await soon(traced)
            await soon(asyncio.gather(*runs))
            await cluster.until_idle()
    held = phase(stats, "backpressure", W0)
    assert held.what == W1
    assert phase(stats, "part", W0).began == held.began < held.ended
    whole(critical_path(stats), stats)


def runs_and_held(cluster: InProcess) -> tuple[int, int]:
    seen = cluster.server(W0).statistics()
    return seen.runs, seen.held


async def test_a_local_step_that_waits_for_its_turn_says_so(graph: Graph) -> None:
    queue = acts.FIFOQueue(1, ["float32"], [[]])
    taken, put, other = queue.dequeue(), queue.enqueue(1.0), acts.FIFOQueue(1, ["float32"], [[]])
    second = other.dequeue(name="second")
    async with AsyncSession(graph=graph, config=acts.ConfigProto(max_inflight_steps=1)) as session:
        await soon(session.run(other.enqueue(2.0)))
        waits = asyncio.create_task(session.run(taken))
        await eventually(lambda: session.statistics().steps == 1)
        traced = asyncio.create_task(run_traced(session, second))
        await eventually(lambda: session.statistics().waiting == 1)
        waits.cancel()
        stats = await soon(traced)
        await asyncio.gather(waits, return_exceptions=True)
        await soon(session.run(put))
    (waited, step) = stats.phases
    assert (waited.kind, step.kind) == ("admission", "step")
    assert step.began == waited.began < waited.ended < step.ended
    path = critical_path(stats)
    whole(path, stats)
    assert ("wait", waited.began, waited.ended) in [(row.kind, row.began, row.ended) for row in path.rows]


def there_and_back_quickly() -> tuple[Tensor, Tensor]:
    x = ops.placeholder("float32", [], name="x")
    a = on(W0, lambda: ops.tanh(x, name="a"))
    b = on(W1, lambda: ops.exp(a, name="b"))
    return x, on(W0, lambda: ops.multiply(b, 2.0, name="c"))
