"""The counters of a process: what they count, for which kind of session, and that they never decrease."""

from __future__ import annotations

import asyncio
import bisect
import gc
import inspect
import itertools
import os
import threading
from dataclasses import FrozenInstanceError, fields
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import AsyncSession, ConfigProto, Graph, GraphOptions, Session, metrics, ops
from actorsession.errors import InvalidArgumentError
from actorsession.metrics import (
    BOUNDS,
    Histogram,
    HistogramCounts,
    LinkMetrics,
    ProcessMetrics,
    SessionMetrics,
    session_tally,
)
from tests.cluster.kit import W0, W1, in_process, on, reach_over_links, soon
from transports.host import SYSTEM, current_host

X = np.ones(4, np.float32)


@pytest.fixture(autouse=True)
def _own_registry() -> None:
    """Counts from 0, whatever other tests have left to the collector."""
    SYSTEM._own.pop(metrics.ProcessTally, None)


def two_tasks() -> tuple[Any, Any]:
    x = ops.placeholder("float32", [4], name="x")
    with on(W1):
        there = ops.multiply(x, 2.0, name="there")
    with on(W0):
        return x, ops.add(there, 1.0, name="end")


class Owner:
    """What a tally belongs to."""


# -- the value -------------------------------------------------------------------------------------


def test_the_names_are_those_that_dashboards_refer_to() -> None:
    sessions = {"sessions_created": 0, "runs": 0, "partial_runs": 0, "plans": 0, "plan_seconds": 0.0}
    assert acts.debugging.process_metrics().to_wire() == {
        **dict.fromkeys(("direct", "remote", "master", "worker"), sessions),
        "links": {"links_opened": 0, "messages_sent": 0, "messages_received": 0, "bytes_sent": 0, "bytes_received": 0},
    }


def test_every_counter_is_described() -> None:
    for kind in (ProcessMetrics, SessionMetrics, LinkMetrics):
        for field in fields(kind):
            assert f"\n    {field.name}: " in inspect.cleandoc(kind.__doc__ or "")


def test_the_value_is_frozen_and_does_not_follow_the_counters() -> None:
    owner = Owner()
    before = acts.debugging.process_metrics()
    session_tally("direct", owner).runs = 5
    assert (before.direct.runs, acts.debugging.process_metrics().direct.runs) == (0, 5)
    with pytest.raises(FrozenInstanceError):
        before.direct.runs = 1  # type: ignore[misc]


# -- histograms ------------------------------------------------------------------------------------


def observed(*seconds: float) -> HistogramCounts:
    histogram = Histogram()
    for one in seconds:
        histogram.observe(one)
    return histogram.snapshot()


def test_a_time_is_counted_below_the_next_bound_and_a_bound_belongs_to_its_own_bucket() -> None:
    seen = observed(0.0, 0.0015, BOUNDS[3], 3600.0)
    assert [place for place, count in enumerate(seen.counts) if count] == [0, 3, BOUNDS.index(0.002), len(BOUNDS)]
    assert (seen.total, seen.sum) == (4, 3600.0 + 0.0015 + BOUNDS[3])
    assert seen.mean == seen.sum / 4


def test_the_bounds_ascend_from_microseconds_to_minutes_by_factors_of_at_most_two_and_a_half() -> None:
    assert (BOUNDS[0], BOUNDS[-1]) == (5e-6, 100.0)
    assert all(1.9 < high / low < 2.6 for low, high in itertools.pairwise(BOUNDS))


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 0.9, 0.99, 1.0])
def test_a_quantile_lies_in_the_bucket_of_the_true_one(share: float) -> None:
    seconds = np.random.default_rng(1).lognormal(-6.0, 1.5, 1001)
    true = float(np.quantile(seconds, share))
    place = bisect.bisect_left(BOUNDS, true)
    found = observed(*seconds).quantile(share)
    assert (0.0, *BOUNDS)[place] <= found <= BOUNDS[place]


def test_quantiles_of_nothing_are_0_and_those_beyond_all_bounds_are_the_last_bound() -> None:
    assert (HistogramCounts().quantile(0.5), HistogramCounts().mean) == (0.0, 0.0)
    assert observed(1000.0, 2000.0).quantile(0.5) == 100.0


def test_counts_are_added_and_the_earlier_ones_of_a_histogram_subtracted() -> None:
    histogram = Histogram()
    histogram.observe(0.5)
    before = histogram.snapshot()
    histogram.add(observed(0.25, 8.0))
    assert histogram.snapshot() == before + observed(0.25, 8.0) == observed(0.5, 0.25, 8.0)
    assert (histogram.snapshot() - before).counts == observed(0.25, 8.0).counts
    assert before == observed(0.5), "a snapshot does not follow"


def test_counts_of_other_bounds_are_not_mixed() -> None:
    with pytest.raises(ValueError, match="other bounds"):
        observed(1.0) + HistogramCounts((0, 1), 1.0, (2.0,))
    with pytest.raises(ValueError, match="2 bounds have one count more, got 2"):
        HistogramCounts((0, 1), 1.0, (2.0, 3.0))


def test_a_histogram_is_read_back_from_its_wire_form_also_with_other_bounds_and_more_fields() -> None:
    seen = observed(0.5, 3.0)
    assert HistogramCounts.from_wire(seen.to_wire()) == seen
    assert HistogramCounts.from_wire({"counts": [1, 2], "sum": 3, "bounds": [1.0], "later": 0}).total == 3


@pytest.mark.parametrize(
    "value",
    [
        None,
        [],
        {},
        {"counts": [1], "sum": 1.0, "bounds": [1.0]},
        {"counts": [1, "2"], "sum": 1.0, "bounds": [1.0]},
        {"counts": [1, 2], "sum": "1", "bounds": [1.0]},
        {"counts": [1, 2, 3], "sum": 1.0, "bounds": [2.0, 1.0]},
    ],
)
def test_another_form_is_no_histogram(value: object) -> None:
    with pytest.raises(TypeError, match="histogram"):
        HistogramCounts.from_wire(value)


# -- direct sessions -------------------------------------------------------------------------------


def test_a_session_in_this_process_counts_its_runs_and_plans(graph: Graph) -> None:
    x = ops.placeholder("float32", [4])
    y, z = x + 1.0, x * 2.0
    with Session(graph=graph) as session:
        call = session.make_callable(y, [x])
        for _ in range(3):
            session.run(y, {x: X})
            session.run([z], {x: X})
            call(X)
        seen = acts.debugging.process_metrics().direct
        assert (seen.sessions_created, seen.runs, seen.plans, seen.partial_runs) == (1, 9, 2, 0)
        assert seen.plan_seconds > 0
        assert acts.debugging.process_metrics().direct == seen, "reading counts nothing"


async def test_steps_of_an_event_loop_and_partial_runs_are_counted(graph: Graph) -> None:
    a, b = ops.placeholder("float32", []), ops.placeholder("float32", [])
    first, second = a + 1.0, a + b
    queue = ops.FIFOQueue(2, "float32", shapes=[[]])
    enqueue, dequeue = queue.enqueue(a), queue.dequeue()
    async with AsyncSession(graph=graph) as session:
        await session.run(enqueue, {a: 1.0})
        assert await session.run(dequeue) == 1.0
        handle = await session.partial_run_setup([first, second], [a, b])
        assert await session.partial_run(handle, first, {a: 1.0}) == 2.0
        assert await session.partial_run(handle, second, {b: 2.0}) == 3.0
    seen = acts.debugging.process_metrics().direct
    assert (seen.sessions_created, seen.runs, seen.partial_runs, seen.plans) == (1, 2, 1, 3)


def test_a_run_that_cannot_be_planned_is_no_plan_and_no_run(graph: Graph) -> None:
    x = ops.placeholder("float32", [4])
    with Session(graph=graph) as session, pytest.raises(InvalidArgumentError):
        session.run(x + 1.0)
    seen = acts.debugging.process_metrics().direct
    assert (seen.runs, seen.plans, seen.plan_seconds) == (0, 0, 0.0)


def test_a_session_that_measures_counts_as_well(graph: Graph) -> None:
    y = ops.constant(1.0) + 1.0
    config = ConfigProto(graph_options=GraphOptions(build_cost_model=1, timeline_step=1))
    with Session(graph=graph, config=config) as session:
        session.run(y)
    seen = acts.debugging.process_metrics().direct
    assert (seen.sessions_created, seen.runs, seen.plans) == (1, 1, 1)


def test_what_sessions_have_counted_stays_when_they_are_collected(graph: Graph) -> None:
    y = ops.constant(1.0) + 1.0
    for number in range(1, 4):
        session = Session(graph=graph)
        session.run(y)
        session.close()
        del session
        gc.collect()
        seen = acts.debugging.process_metrics().direct
        assert (seen.sessions_created, seen.runs, seen.plans) == (number, number, number)


def test_runs_in_many_threads_are_all_counted(graph: Graph) -> None:
    x = ops.placeholder("float32", [4])
    y = x + 1.0
    with Session(graph=graph) as session:
        session.run(y, {x: X})

        def work() -> None:
            for _ in range(200):
                session.run(y, {x: X})

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        session.run(y, {x: X})
    assert acts.debugging.process_metrics().direct.runs == 802


def test_no_counter_decreases_when_threads_store_their_numbers_in_another_order() -> None:
    """1. A thread takes number 5. 2. Another takes 6 and stores it. 3. The first stores 5."""
    owner = Owner()
    tally = session_tally("direct", owner)
    tally.runs = 6
    assert acts.debugging.process_metrics().direct.runs == 6
    tally.runs = 5
    assert acts.debugging.process_metrics().direct.runs == 6


def test_sessions_that_nobody_reads_leave_no_tallies_behind() -> None:
    for _ in range(100):
        session_tally("direct", Owner()).runs = 2
    assert len(current_host().own(metrics.ProcessTally)._tallies) <= 2
    assert acts.debugging.process_metrics().direct.runs == 200


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_forked_child_counts_from_zero() -> None:
    owner = Owner()
    session_tally("direct", owner).runs = 5
    pid = os.fork()
    if not pid:
        found = acts.debugging.process_metrics()
        os._exit(0 if found == ProcessMetrics() else 1)
    assert os.waitpid(pid, 0)[1] == 0
    assert acts.debugging.process_metrics().direct.runs == 5


# -- sessions of a master --------------------------------------------------------------------------


async def test_client_master_and_workers_count_a_remote_session_each(graph: Graph) -> None:
    """The servers are in this process and on its loop, so nothing leaves it but between the two tasks."""
    x, end = two_tasks()
    async with in_process() as cluster:
        async with AsyncSession(cluster.target(), graph) as session:
            for _ in range(3):
                await soon(session.run(end, {x: X}))
            handle = await soon(session.partial_run_setup([end], [x]))
            await soon(session.partial_run(handle, end, {x: X}))
            seen = acts.debugging.process_metrics()
        kinds = {"remote": seen.remote, "master": seen.master, "worker": seen.worker}
        found = {kind: (m.sessions_created, m.runs, m.partial_runs, m.plans) for kind, m in kinds.items()}
        assert found == {"remote": (1, 3, 1, 0), "master": (1, 3, 1, 2), "worker": (2, 8, 0, 4)}
        assert seen.direct == SessionMetrics()
        assert min(seen.master.plan_seconds, seen.worker.plan_seconds) > 0
        assert seen.links.links_opened >= 2
        assert seen.links.bytes_sent > 3 * X.nbytes


async def test_the_bytes_of_links_are_counted_and_stay_when_links_end(
    graph: Graph, monkeypatch: pytest.MonkeyPatch
) -> None:
    reach_over_links(monkeypatch)
    large = np.zeros(250_000, np.float32)
    x = ops.placeholder("float32", [None])
    y = ops.identity(x)
    async with in_process({"worker": 1}) as cluster:
        async with AsyncSession(cluster.target(), graph) as session:
            before = acts.debugging.process_metrics().links
            await soon(session.run(y, {x: large}))
            after = acts.debugging.process_metrics().links
        # Both ends are in this process: the array goes to the master and back.
        assert after.bytes_sent - before.bytes_sent > 2 * large.nbytes
        assert after.bytes_received - before.bytes_received > 2 * large.nbytes
        assert after.messages_sent - before.messages_sent >= 2
    ended = acts.debugging.process_metrics().links
    assert ended.links_opened == after.links_opened
    assert ended.bytes_sent >= after.bytes_sent
    assert ended.bytes_received >= after.bytes_received


async def test_the_metrics_may_be_read_in_any_thread_while_sessions_come_and_go(graph: Graph) -> None:
    y = ops.constant(1.0) + 1.0
    done = threading.Event()
    seen: list[int] = []

    def read() -> None:
        while not done.is_set():
            seen.append(acts.debugging.process_metrics().direct.runs)

    reader = asyncio.create_task(asyncio.to_thread(read))
    for _ in range(50):
        async with AsyncSession(graph=graph) as session:
            await session.run(y)
    done.set()
    await soon(reader)
    assert seen == sorted(seen)
    assert acts.debugging.process_metrics().direct.runs == 50
