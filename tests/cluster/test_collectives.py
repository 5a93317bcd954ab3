"""Collectives over several tasks: their values, who sends them, and members that fail or never come."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession.actors import Deadline
from actorsession.cluster import read_statistics
from actorsession.cluster.server.process_memory import process_memory
from actorsession.errors import DeadlineExceededError, InvalidArgumentError, UnavailableError
from actorsession.ops import raw
from actorsession.runtime.collective import algorithms
from actorsession.runtime.collective.algorithms import CHUNK_BYTES
from actorsession.testing import SimulatedCluster
from tests.cluster.kit import (
    LONG_LEASE,
    PATIENCE,
    PS0,
    W0,
    W1,
    W2,
    in_process,
    is_idle,
    patient_cluster,
    simulated,
    soon,
    until,
    until_root,
)
from tests.loops import cancelled


@pytest.fixture(autouse=True)
def graph() -> Iterator[acts.Graph]:
    with acts.Graph().as_default() as made:
        yield made


def patient(jobs: dict[str, int] | None = None, **options: Any) -> Any:
    """A cluster in this process that takes nobody for lost because of silence."""
    return in_process(jobs, lease=LONG_LEASE, **options)


def on_each(devices: Sequence[str], build: Callable[[int], Any]) -> list[Any]:
    made = []
    for i, device in enumerate(devices):
        with acts.device(device):
            made.append(build(i))
    return made


def session(cluster: Any, **more: Any) -> acts.AsyncSession:
    return acts.AsyncSession(cluster.target(), graph=acts.get_default_graph(), **more)


async def traffic(address: str) -> int:
    """The bytes that a task has sent and received."""
    seen = await read_statistics(address, deadline=Deadline.after(PATIENCE))
    return sum(link.bytes_sent + link.bytes_received for link in seen.links)


@pytest.mark.parametrize("elements", [3, 700_000])
async def test_members_on_three_tasks_get_what_numpy_gets(elements: int) -> None:
    group, x = acts.collective.Group(3), acts.placeholder("float32", [None])
    tasks = [W0, W1, W2]
    sums = on_each(tasks, lambda i: acts.collective.all_reduce(x * float(i + 1), group))
    joined = on_each(tasks, lambda i: acts.collective.all_gather(x[:2] * float(i + 1), group))
    parts = on_each(tasks, lambda i: acts.collective.reduce_scatter(acts.tile(x, [3]), group, "mean"))
    told = on_each(tasks, lambda i: acts.collective.broadcast(x * float(i), group, sends=i == 2))
    value = np.random.default_rng(2).normal(size=elements).astype(np.float32)
    async with patient({"worker": 3}) as cluster, session(cluster) as made:
        for _ in range(2):
            found = await soon(made.run([sums, joined, parts, told], {x: value}))
            for i in range(3):
                np.testing.assert_allclose(found[0][i], 6 * value, rtol=1e-5)
                expected = np.concatenate([value[:2], 2 * value[:2], 3 * value[:2]])
                np.testing.assert_allclose(found[1][i], expected, rtol=1e-6)
                np.testing.assert_allclose(found[2][i], value, rtol=1e-5)
                np.testing.assert_allclose(found[3][i], 2 * value, rtol=1e-6)
        await cluster.until_idle()


async def test_members_are_several_devices_of_several_tasks() -> None:
    devices = [f"{task}/cpu:{i}" for task in (W0, W1) for i in range(2)]
    group = acts.collective.Group(4)
    found = on_each(devices, lambda i: acts.collective.all_gather(acts.random.uniform([1]) * 0.0 + i, group))
    async with (
        patient({"worker": 2}, config=acts.ConfigProto(device_count={"CPU": 2})) as cluster,
        session(cluster) as made,
    ):
        for value in await soon(made.run(found)):
            np.testing.assert_array_equal(value, [0, 1, 2, 3])


async def test_a_loop_on_each_task_meets_once_an_iteration() -> None:
    group = acts.collective.Group(2)

    def build(i: int) -> Any:
        keys = group.next_keys(f"worker {i}")

        def body(n: Any, total: Any) -> Any:
            size, key, instance = keys
            met = raw.CollectiveReduceV2(total + float(i), size, key, instance, [], merge_op="Add", final_op="Id")
            return n + 1, met

        return acts.while_loop(lambda n, total: n < 5, body, [0, acts.constant(0.0)])[1]

    totals = on_each([W0, W1], build)
    wanted = 0.0
    for _ in range(5):
        wanted = 2 * wanted + 1
    async with patient() as cluster, session(cluster) as made:
        assert await soon(made.run(totals)) == [wanted] * 2


async def test_steps_at_once_do_not_meet() -> None:
    group, x = acts.collective.Group(2), acts.placeholder("float32", [])
    totals = on_each([W0, W1], lambda i: acts.collective.all_reduce(x + float(i), group))
    async with patient() as cluster, session(cluster) as made:
        found = await soon(asyncio.gather(*[made.run(totals, {x: float(k)}) for k in range(30)]))
    assert found == [[2.0 * k + 1] * 2 for k in range(30)]


async def test_members_that_do_not_agree_fail_the_step_and_the_session_lives() -> None:
    group = acts.collective.Group(2)
    wrong = on_each([W0, W1], lambda i: acts.collective.all_reduce(acts.random.uniform([2 + i]), group))
    right = on_each([W0, W1], lambda i: acts.collective.all_reduce(1.0, group))
    async with patient() as cluster, session(cluster) as made:
        with pytest.raises(InvalidArgumentError) as info:
            await soon(made.run(wrong))
        for words in (W0, W1, "instance 1 of group 1", "float32 [2]", "float32 [3]"):
            assert words in info.value.message
        assert await soon(made.run(right)) == [2.0, 2.0]
        await cluster.until_idle()


async def test_a_step_without_a_member_is_refused_at_once() -> None:
    group = acts.collective.Group(2)
    made = on_each([W0, W1], lambda i: acts.collective.all_reduce(1.0, group))
    async with patient() as cluster, session(cluster) as opened:
        with pytest.raises(InvalidArgumentError, match="2 members, and the step runs 1 of them"):
            await soon(opened.run(made[0]))


async def test_a_member_that_never_comes_ends_the_step_at_its_limit() -> None:
    group, queue = acts.collective.Group(2), acts.FIFOQueue(1, ["float32"], [[]], shared_name="q")

    def build(i: int) -> Any:
        return acts.collective.all_reduce(queue.dequeue() if i else acts.constant(1.0), group)

    totals = on_each([W0, W1], build)
    put = queue.enqueue(5.0)
    async with patient() as cluster, session(cluster) as made:
        with pytest.raises(DeadlineExceededError, match="waits in instance 1 of group 1 for its"):
            await soon(made.run(totals, options=acts.RunOptions(timeout_in_ms=200)))
        await cluster.until_idle()
        await soon(made.run(put))
        assert await soon(made.run(totals)) == [6.0, 6.0]
        waits = f"{W0}/device:CPU:0 waits in instance 1 of group 1 for {W1}/device:CPU:0"
        with pytest.raises(DeadlineExceededError, match=waits):
            await soon(made.run(totals, options=acts.RunOptions(timeout_in_ms=200)))


# -- why a step hangs ----------------------------------------------------------------------------
async def test_why_names_two_collectives_in_two_orders_that_wait_for_each_other() -> None:
    def reduced(instance: int, after: Sequence[Any]) -> Any:
        with acts.control_dependencies(after):
            x = acts.random.uniform([])
        return raw.CollectiveReduceV2(x, 2, 1, instance, [], merge_op="Add", final_op="Id")

    def build(i: int) -> Any:
        first = reduced(2 if i else 1, [])
        return first, reduced(1 if i else 2, [first])

    met = on_each([W0, W1], build)
    async with patient() as cluster, session(cluster) as made:
        run = asyncio.create_task(made.run(met))
        why = await until_root(made, "circle")
        text = str(why).splitlines()[0]
        assert f"{W0}/device:CPU:0 waits in instance 1 of group 1 for {W1}/device:CPU:0" in text
        assert f"{W1}/device:CPU:0 waits in instance 2 of group 1 for {W0}/device:CPU:0" in text
        await cancelled(run)
        await cluster.until_idle()


async def test_why_says_what_the_member_that_has_not_come_waits_for() -> None:
    group, queue = acts.collective.Group(2), acts.FIFOQueue(1, ["float32"], [[]], shared_name="q")

    def build(i: int) -> Any:
        value = queue.dequeue(name="late") if i else acts.constant(1.0)
        return acts.collective.all_reduce(value, group)

    totals = on_each([W0, W1], build)
    async with patient() as cluster, session(cluster) as made:
        run = asyncio.create_task(made.run(totals))
        why = await until_root(made, "suspended")
        assert why.root is not None
        assert why.root.node == "late"
        kinds = {cause.kind for step in why.steps for cause in step.causes}
        assert kinds == {"suspended", "collective"}
        assert f"{W0}/device:CPU:0 waits in instance 1 of group 1 for its group" in str(why)
        await cancelled(run)


@simulated()
async def test_a_member_that_is_killed_fails_the_step_and_meets_again_when_it_is_back(
    cluster: SimulatedCluster,
) -> None:
    group, x = acts.collective.Group(2), acts.placeholder("float32", [None, None])
    with acts.device(PS0):
        late = acts.FIFOQueue(1, "float32", [[]]).dequeue()
    totals = on_each([W0, W1], lambda i: acts.collective.all_reduce(x + late if i else x * 1.0, group))
    short = on_each([W0, W1], lambda i: acts.collective.all_reduce(x + float(i), group))
    async with cluster.session() as made:
        large = np.full([800, 800], 0.01, np.float32)
        run = asyncio.create_task(made.run(totals, {x: large}))
        await until(cluster, lambda seen: seen.steps == 1, W0, W1)
        cluster.task("worker", 1).crash()
        with pytest.raises(UnavailableError) as info:
            await run
        assert info.value.task == W1
        await cluster.restart("worker", 1)
        await made.reattach()
        for value in await made.run(short, {x: large}):
            np.testing.assert_allclose(value, 2 * large + 1, rtol=1e-6)
        await until(cluster, is_idle, W0)


# -- with real processes -------------------------------------------------------------------------
@pytest.mark.process
async def test_large_values_pass_from_worker_to_worker_and_not_by_the_master(processes: acts.LocalCluster) -> None:
    group, n = acts.collective.Group(2), acts.placeholder("int32", [])

    def build(i: int) -> Any:
        total = acts.collective.all_reduce(acts.fill(acts.reshape(n, [1]), float(i + 1)), group)
        return acts.reduce_min(total), acts.reduce_max(total)

    found = on_each([W1, PS0], build)
    async with acts.AsyncSession(processes.target("worker", 0), graph=acts.get_default_graph()) as s:
        await soon(s.run(found, {n: 10}))
        before = await traffic(processes.target("worker", 0))
        assert await soon(s.run(found, {n: 3_000_000})) == [(3.0, 3.0)] * 2
        after = await traffic(processes.target("worker", 0))
        assert after - before < 1_000_000  # of 24 MB of values


# Bytes of a result, more than all chunks that may be under way: a copy of it would be seen.
RESULT = 64 * 2**20


def filled(n: acts.Tensor, group: acts.collective.Group) -> list[Any]:
    """On each of two workers the sum of n times 1 and n times 2, as a target that nobody fetches."""
    return on_each(
        [W0, W1], lambda i: acts.collective.all_reduce(acts.fill(acts.reshape(n, [1]), float(i + 1)), group).op
    )


@pytest.mark.process
@pytest.mark.skipif(sys.platform != "linux", reason="/proc is needed")
async def test_a_ring_takes_the_memory_of_its_result_and_of_some_chunks() -> None:
    """What a value is made of is not copied, and of what goes round there is a window of chunks. A chunk that is on its
    way is seen in both arenas, in that of its sender and in that of its receiver."""
    n = acts.placeholder("int32", [])
    targets = filled(n, acts.collective.Group(2))
    async with (
        patient_cluster({"worker": 2}) as cluster,
        acts.AsyncSession(cluster.target("worker", 0), graph=acts.get_default_graph()) as made,
    ):
        await soon(made.run(targets, {n: 10}))
        pids = [cluster.process("worker", i).pid for i in range(2)]
        status = [Path(f"/proc/{pid}/status") for pid in pids]
        before = [process_memory(path).resident for path in status]
        await soon(made.run(targets, {n: RESULT // 4}))
        for path, had in zip(status, before, strict=True):
            more = process_memory(path).peak - had
            assert 2 * RESULT <= more <= 2 * RESULT + 12 * CHUNK_BYTES


async def test_chunks_are_merged_where_they_lie_in_shared_memory(over_links: None, monkeypatch: Any) -> None:
    found: list[str] = []
    add = algorithms._MERGES["Add"]

    def merged(chunk: Any, mine: Any, out: Any) -> Any:
        found.append(mapped_file(chunk))
        return add(chunk, mine, out=out)

    monkeypatch.setitem(algorithms._MERGES, "Add", merged)
    n = acts.placeholder("int32", [])
    targets = filled(n, acts.collective.Group(2))
    async with patient() as cluster, session(cluster) as made:
        # The tasks offer each other their memory with the first large values.
        await soon(made.run(targets, {n: 3_000_000}))
        found.clear()
        await soon(made.run(targets, {n: 3_000_000}))
    assert len(found) == 2 * 2
    for name in found:
        assert name.startswith("/memfd:actorsession")


def mapped_file(array: Any) -> str:
    """The name of the file that the memory of an array is mapped from; "" for none."""
    at = array.__array_interface__["data"][0]
    for line in Path("/proc/self/maps").read_text().splitlines():
        start, _, end = line.split()[0].partition("-")
        if int(start, 16) <= at < int(end, 16):
            return " ".join(line.split()[5:])
    return ""
