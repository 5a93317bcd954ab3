"""The executor of a device: what it has loaded, what is under way, what it counts, and its end."""

from __future__ import annotations

import asyncio
import gc
import threading
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, Session, ops
from actorsession.errors import AbortedError, CancelledError
from actorsession.ops.flow import dataflow
from actorsession.runtime.engine.dataflow_engine import DataflowEngine
from actorsession.runtime.engine.executor import Executor, RunPartition
from actorsession.runtime.engine.executor_statistics import statistics_by_device
from actorsession.runtime.engine.segment_engine import SegmentEngine
from actorsession.runtime.engine.step import Step
from actorsession.runtime.rendezvous import Rendezvous
from tests.runtime.kit import Loaded, turns_until


def dequeuing(graph: Graph) -> Loaded:
    """A plan that waits for an element of an empty queue."""
    queue = ops.FIFOQueue(1, "float32", shapes=[])
    element = queue.dequeue()
    return Loaded(graph, [element + 1.0])


def step_of(loaded: Loaded) -> Step:
    parts = len(loaded.graph.parts)
    return Step(1, Rendezvous(), loaded.fetches, partitions=parts, loop=asyncio.get_running_loop())


def executor_of(loaded: Loaded) -> Executor:
    executor, *_ = loaded.executors.values()
    return executor


def test_the_engine_of_a_partition_is_chosen_when_it_is_loaded(graph: Graph) -> None:
    x, taken = ops.placeholder("float32", []), ops.placeholder("bool", [])
    sides = dataflow.switch(x, taken)
    merged = dataflow.merge([sides.output_false + 1.0, sides.output_true])[0]
    for fetch, kind in ((x + 1.0, SegmentEngine), (merged, DataflowEngine)):
        loaded = Loaded(graph, [fetch], [x, taken])
        step = Step(1, Rendezvous(), 1)
        (part,) = loaded.graph.parts
        assert isinstance(part.new_engine(step, [np.float32(1), np.bool_(True)]), kind)


def test_it_knows_the_partitions_of_the_plans_that_exist(graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    loaded = Loaded(graph, [x + 1.0], [x])
    executor = executor_of(loaded)
    assert executor.executor_statistics().loaded == 1
    del loaded.graph
    gc.collect()
    assert executor.executor_statistics().loaded == 0


async def test_a_partition_is_under_way_until_its_step_is_done(graph: Graph) -> None:
    loaded = dequeuing(graph)
    executor, step = executor_of(loaded), step_of(loaded)
    step.begin(loaded.graph.parts, [])
    seen = executor.executor_statistics()
    assert (seen.begun, seen.running) == (1, 1)
    step.fail(CancelledError("enough"))
    seen = executor.executor_statistics()
    assert (seen.begun, seen.running) == (1, 0)
    assert step.engines == []


async def test_stopping_fails_what_is_under_way_and_says_which_device(graph: Graph) -> None:
    loaded = dequeuing(graph)
    executor, step = executor_of(loaded), step_of(loaded)
    step.begin(loaded.graph.parts, [])
    await executor.stop("the device is gone")
    await step.wait()
    with pytest.raises(AbortedError, match=r"executor of .*CPU:0 was stopped: the device is gone"):
        step.result()
    assert executor.executor_statistics().running == 0


async def test_a_stopped_executor_begins_nothing(graph: Graph) -> None:
    loaded = dequeuing(graph)
    executor_of(loaded).close(CancelledError("closed"))
    step = step_of(loaded)
    step.begin(loaded.graph.parts, [])
    with pytest.raises(CancelledError, match="closed"):
        step.result()
    assert executor_of(loaded).executor_statistics().begun == 0


async def test_a_step_that_was_cancelled_before_keeps_its_own_error(graph: Graph) -> None:
    loaded = dequeuing(graph)
    executor, step = executor_of(loaded), step_of(loaded)
    step.begin(loaded.graph.parts, [])
    step.cancel(CancelledError("by its caller"))
    executor.close(AbortedError("the executor"))
    await step.wait()
    with pytest.raises(CancelledError, match="by its caller"):
        step.result()


async def test_another_thread_may_tell_it_to_run_a_partition(graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    loaded = Loaded(graph, [x + 1.0], [x])
    executor, step = executor_of(loaded), step_of(loaded)
    executor.ref.is_here()  # from here on it belongs to this loop
    (part,) = loaded.graph.parts
    threads: list[Any] = []
    step.on_done(lambda: threads.append(threading.current_thread()))
    message = RunPartition(part, step, [np.float32(1)])
    await asyncio.to_thread(executor.ref.tell, message)
    await turns_until(lambda: step.done)
    assert step.result() == [2.0]
    assert threads == [threading.current_thread()]


async def test_a_session_counts_by_device(graph: Graph) -> None:
    queue = ops.FIFOQueue(1, "float32", shapes=[])
    x = ops.placeholder("float32", [])
    put, take = queue.enqueue(x), queue.dequeue() + 1.0
    async with AsyncSession(graph=graph) as session:
        await session.run(put, {x: 1.0})
        assert await session.run(take) == 2.0
        *_, seen = session.statistics().devices
        assert seen.device.endswith("CPU:0")
        assert (seen.loaded, seen.begun, seen.running) == (2, 2, 0)
        assert seen.runs == 3  # the dequeue ends a segment
        assert seen.seconds > 0


def test_a_plan_that_is_one_call_is_measured_and_begins_no_partition(graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    with Session(graph=graph) as session:
        session.run(x + 1.0, {x: 1.0})
        *_, seen = session.statistics().devices
        assert (seen.begun, seen.runs) == (0, 1)
        assert seen.seconds > 0


def test_the_counters_of_several_executors_of_a_device_are_added(graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    plans = [Loaded(graph, [x + 1.0], [x]) for _ in range(2)]
    (seen,) = statistics_by_device([executor_of(plan) for plan in plans])
    assert seen.loaded == 2
