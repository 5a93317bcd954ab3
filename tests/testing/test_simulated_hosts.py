"""A simulated cluster asks nothing of the real machine, as a profiler sees that is told of each call of C."""

from __future__ import annotations

import _thread
import contextlib
import os
import random
import socket
import sys
import time
from collections import Counter
from collections.abc import Iterator
from types import FrameType
from typing import Any

import numpy as np
import numpy.random
import pytest

import actorsession as acts
from actorsession import errors
from actorsession.testing import SimulatedCluster

# Read by code of others as well, such as the records of a log; what else the machine gives shows who asks.
_CLOCKS = {
    time.time, time.time_ns, time.monotonic, time.monotonic_ns, time.perf_counter, time.perf_counter_ns,
    time.process_time, os.getpid, open, os.open,
}  # fmt: skip
_MACHINE = {os.urandom, os.fork, time.sleep, _thread.start_new_thread, socket.socket.bind, socket.socket.connect}
# Dialling makes sure that descriptors 0 to 2 are open, which a cluster in a simulation shares with the program.
_EXEMPT = {"actorsession.standard_streams"}


def of(function: Any) -> Any:
    """What tells a function of C, or a method of any object."""
    return getattr(function, "__qualname__", ""), getattr(function, "__module__", None)


@contextlib.contextmanager
def asked_of_the_machine() -> Iterator[Counter[str]]:
    """Counts calls of the machine by function and place."""
    clocks, machine = {of(each) for each in _CLOCKS}, {of(each) for each in _MACHINE}
    found: Counter[str] = Counter()

    def look(frame: FrameType, event: str, function: Any) -> None:
        where = frame.f_globals.get("__name__", "")
        if event == "c_call" and where not in _EXEMPT:
            name = of(function)
            if name in machine or (name in clocks and where.startswith(("actorsession", "transports"))):
                found[f"{name[0]} in {where}.{frame.f_code.co_name}"] += 1

    sys.setprofile(look)
    try:
        yield found
    finally:
        sys.setprofile(None)


async def _does_everything(cluster: SimulatedCluster) -> None:
    """Steps, traced and partial ones, random numbers, queues, sums of all tasks, a crash, snapshots."""
    graph = acts.Graph()
    with graph.as_default():
        x = acts.placeholder("float32", [2], name="x")
        y = acts.placeholder("float32", [2], name="y")
        with acts.device("/job:ps/task:0"):
            total = acts.Variable([0.0, 0.0], name="total")
            queue = acts.FIFOQueue(4, ["float32"], [[2]], shared_name="queue")
            put, taken = queue.enqueue(x), queue.dequeue()
            noise = acts.random_uniform([2])
        with acts.device("/job:worker/task:0"):
            doubled = x * 2.0
        with acts.device("/job:worker/task:1"):
            tripled = doubled * y
            loop = acts.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v + doubled), (0, x))[1]
        group = acts.collective.Group(2)
        sums = []
        for task in (0, 1):
            with acts.device(f"/job:worker/task:{task}"):
                sums.append(acts.collective.all_reduce(x + float(task), group))
        add = total.assign_add(tripled)
        init = acts.global_variables_initializer()
    ones = np.ones(2, np.float32)
    feed = {x: ones, y: 2 * ones}
    async with cluster, cluster.session(graph) as session:
        await session.run(init)
        for _ in range(5):
            await session.run([add, loop], feed)
        metadata = acts.RunMetadata()
        options = acts.RunOptions(trace_level=acts.RunOptions.FULL_TRACE)
        np.testing.assert_array_equal(await session.run(sums, feed, options, metadata), [3 * ones] * 2)
        assert metadata.step_stats is not None
        await session.run(put, feed)
        np.testing.assert_array_equal(await session.run(taken), ones)
        assert np.ptp(await session.run(noise)) > 0
        handle = await session.partial_run_setup([doubled, tripled], [x, y])
        np.testing.assert_array_equal(await session.partial_run(handle, doubled, {x: ones}), 2 * ones)
        np.testing.assert_array_equal(await session.partial_run(handle, tripled, {y: ones}), 2 * ones)
        assert (await session.why()).steps == ()
        cluster.process("worker", 1).crash()
        with pytest.raises(errors.UnavailableError):
            await session.run(tripled, feed)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_simulated_cluster_asks_nothing_of_the_machine(seed: int) -> None:
    cluster = SimulatedCluster(seed, snapshot_every=0.01)
    state = random.getstate()
    with asked_of_the_machine() as asked:
        cluster.run(_does_everything)
    assert asked == {}
    assert random.getstate() == state


def test_what_is_asked_of_the_machine_is_seen() -> None:
    with asked_of_the_machine() as asked:
        socket.socket().close()
        random.SystemRandom().random()
        time.sleep(0)
        list(acts.Session.__mro__)
    assert set(asked) == {
        "urandom in random.random",
        "sleep in tests.testing.test_simulated_hosts.test_what_is_asked_of_the_machine_is_seen",
    }
