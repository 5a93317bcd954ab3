"""Collectives by a library that a device type brings: which take part in it, and what ends its groups.

The library of these tests has its members meet in this process; the devices have arrays of their own.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession.config import Experimental
from actorsession.errors import (
    AbortedError,
    CancelledError,
    DeadlineExceededError,
    InvalidArgumentError,
    ResourceExhaustedError,
)
from actorsession.extend import Collective, register_device_factory
from actorsession.ops import raw
from tests.actors.kit import eventually
from tests.cluster.kit import LONG_LEASE, in_process
from tests.rows import for_each
from tests.runtime.own_arrays import Box, Boxes
from transports.host import Host, Processes, on_host

MEMBERS = 3
LARGE = 300_000  # numbers: more than goes by the rendezvous
PATIENCE = 20.0
TAKEN = frozenset({"Identity", "NoOp", *[name for name in dir(raw) if name.startswith("Collective")]})
SUM: dict[str, Any] = {"merge_op": "Add", "final_op": "Id"}
X = np.random.default_rng(3).normal(size=LARGE).astype("f4")


class Meeting:
    """A place where members meet; it is over when one of them leaves."""

    def __init__(self) -> None:
        self.barrier = threading.Barrier(MEMBERS, timeout=PATIENCE)
        self.values: dict[int, Any] = {}


class End:
    """A member's end."""

    def __init__(self, library: Library, meeting: Meeting, rank: int) -> None:
        self.library, self.meeting, self.rank = library, meeting, rank
        meeting.barrier.wait()

    def exchange(self, collective: Collective, value: Any, shape: Sequence[int], dtype: acts.DType, source: int) -> Any:
        assert value is None or type(value) is Box  # nothing goes by the host
        self.library.began(collective, self.rank)
        self.meeting.values[self.rank] = value
        self.meeting.barrier.wait()
        values = [self.meeting.values[rank] for rank in range(MEMBERS)]
        self.meeting.barrier.wait()
        result = np.asarray(reference(collective, [None if v is None else v.array for v in values], source, self.rank))
        if collective.final == "Div":
            result = result / MEMBERS
        return Box(result.astype("f4"))

    def __del__(self) -> None:
        self.meeting.barrier.abort()


def reference(c: Collective, values: list[Any], source: int, rank: int) -> Any:
    if c.kind == "broadcast":
        return values[source]
    if c.kind == "gather":
        return np.concatenate(values)
    if c.kind == "all-to-all":
        return np.concatenate([np.split(value, MEMBERS)[rank] for value in values])
    total = np.sum(values, 0)
    return total if c.kind == "reduce" else np.split(total, MEMBERS)[rank]


class Library:
    """A ``DeviceGroups`` whose members are in this process."""

    def __init__(self) -> None:
        self.meetings: dict[str, Meeting] = {}
        self.log: list[tuple[Collective, int]] = []
        self.fails: Callable[[Collective, int], bool] = lambda collective, rank: False

    def forget(self) -> None:
        self.meetings.clear()
        self.log.clear()

    def takes(self, collective: Collective, dtype: acts.DType) -> bool:
        return dtype == "float32" and collective.merge in ("", "Add")

    def begin(self, host: str) -> tuple[str, Any]:
        address = f"{host}/{len(self.meetings)}"
        self.meetings[address] = Meeting()
        return address, None

    def join(self, address: str, device: str, rank: int, size: int, host: str) -> End:
        assert device.endswith((f"BOX:{rank}", f"task:{rank}/device:BOX:0"))
        assert size == MEMBERS
        return End(self, self.meetings[address], rank)

    def began(self, collective: Collective, rank: int) -> None:
        self.log.append((collective, rank))
        if self.fails(collective, rank):
            raise OSError("the cable is out")


@pytest.fixture
def library(registrations: None) -> Library:
    library = Library()

    class Several(Boxes):
        kernels = replace(Boxes.kernels, groups={"cable": library, "nccl": library}, transparent=TAKEN)

    register_device_factory("BOX", Several())
    return library


@pytest.fixture(autouse=True)
def graph() -> Iterator[acts.Graph]:
    with acts.Graph().as_default() as opened:
        yield opened


def on_each(build: Callable[[int], Any]) -> list[Any]:
    nodes = []
    for i in range(MEMBERS):
        with acts.device(f"/device:BOX:{i}"):
            nodes.append(build(i))
    return nodes


def keys(instance: int = 1, group: int = 1) -> tuple[int, int, int]:
    return MEMBERS, group, instance


def summed(x: Any, instance: int = 1, hint: str = "cable", **more: Any) -> list[Any]:
    attrs: dict[str, Any] = {**SUM, "communication_hint": hint, **more}
    return on_each(lambda i: raw.CollectiveReduceV2(x * float(i + 1), *keys(instance), [], **attrs))


def session(**more: Any) -> acts.Session:
    return acts.Session(config=acts.ConfigProto(device_count={"BOX": MEMBERS}, **more))


def threads() -> list[str]:
    return [each.name for each in threading.enumerate() if "collectives" in each.name]


KINDS: dict[str, tuple[Callable[[int, Any], Any], Callable[[int], Any]]] = {
    "sum": (
        lambda i, x: raw.CollectiveReduceV2(x * float(i + 1), *keys(), [], **SUM, communication_hint="cable"),
        lambda i: X * 6,
    ),
    "mean": (
        lambda i, x: raw.CollectiveReduceV2(
            x * float(i + 1), *keys(), [], merge_op="Add", final_op="Div", communication_hint="CABLE"
        ),
        lambda i: X * 2,
    ),
    "gather": (
        lambda i, x: raw.CollectiveGatherV2(x * float(i + 1), *keys(), [], communication_hint="cable"),
        lambda i: np.concatenate([X, X * 2, X * 3]),
    ),
    "reduce-scatter": (
        lambda i, x: raw.CollectiveReduceScatterV2(x * float(i + 1), *keys(), [], **SUM, communication_hint="cable"),
        lambda i: np.split(X * 6, 3)[i],
    ),
    "all-to-all": (
        lambda i, x: raw.CollectiveAllToAllV2(x * float(i + 1), *keys(), [], communication_hint="cable"),
        lambda i: np.concatenate([np.split(X * (j + 1), 3)[i] for j in range(3)]),
    ),
    "broadcast": (
        lambda i, x: (
            raw.CollectiveBcastSendV2(x * 2.0, *keys(), communication_hint="cable")
            if i == 1
            else raw.CollectiveBcastRecvV2(*keys(), list(X.shape), T="float32", communication_hint="cable")
        ),
        lambda i: X * 2,
    ),
}


@for_each("kind", list(KINDS))
def test_large_values_go_through_the_library_in_every_step(library: Library, kind: str) -> None:
    build, expected = KINDS[kind]
    library.forget()
    x = acts.placeholder("float32", X.shape)
    nodes = on_each(lambda i: build(i, x))
    with session() as opened:
        for _ in range(3):
            for i, value in enumerate(opened.run(nodes, {x: X})):
                np.testing.assert_allclose(value, expected(i), rtol=1e-6)
    assert len(library.log) == 3 * MEMBERS
    assert len(library.meetings) == 1


@for_each(
    "hint, dtype, size, merge",
    [
        ("auto", "float32", LARGE, "Add"),
        ("ring", "float32", LARGE, "Add"),
        ("gloo", "float32", LARGE, "Add"),  # which these devices have not: a hint is no demand, as in TensorFlow
        ("cable", "float32", 1000, "Add"),
        ("cable", "float64", LARGE, "Add"),
        ("cable", "int32", LARGE, "Add"),
        ("cable", "float32", LARGE, "Max"),
    ],
)
def test_all_else_goes_by_the_rendezvous(library: Library, hint: str, dtype: str, size: int, merge: str) -> None:
    value = np.arange(size).astype(dtype)
    x = acts.placeholder(dtype, [None])
    attrs: dict[str, Any] = {"merge_op": merge, "final_op": "Id", "communication_hint": hint}
    nodes = on_each(lambda i: raw.CollectiveReduceV2(x, *keys(), [], **attrs))
    with session() as opened:
        for result in opened.run(nodes, {x: value}):
            np.testing.assert_array_equal(result, value * (3 if merge == "Add" else 1))
    assert not library.log


def test_members_of_which_one_has_no_such_library_go_by_the_rendezvous(library: Library) -> None:
    x = acts.placeholder("float32", [None])
    nodes = []
    for place in ("BOX:0", "BOX:1", "CPU:0"):
        with acts.device(f"/device:{place}"):
            nodes.append(raw.CollectiveReduceV2(x, *keys(), [], **SUM, communication_hint="cable"))
    with session() as opened:
        for result in opened.run(nodes, {x: X}):
            np.testing.assert_allclose(result, X * 3, rtol=1e-6)
    assert not library.log


def test_a_setting_asks_for_nccl_where_nodes_leave_the_choice(library: Library) -> None:
    x = acts.placeholder("float32", [None])
    free, ring = summed(x, 1, "auto"), summed(x, 2, "ring")
    for asks in (False, True):
        with session(experimental=Experimental(collective_nccl=asks)) as opened:
            for value in opened.run([*free, *ring], {x: X}):
                np.testing.assert_allclose(value, X * 6, rtol=1e-6)
        assert [c.instance for c, _ in library.log] == [1] * MEMBERS * asks


def test_members_may_begin_instances_in_any_order(library: Library) -> None:
    """The second of one member follows from its first, and the other way round at the next."""
    x = acts.placeholder("float32", [None])
    attrs: dict[str, Any] = {**SUM, "communication_hint": "cable"}
    many = [summed(x * float(k), k) for k in range(10, 20)]
    first: dict[int, Any] = {}
    second: dict[int, Any] = {}

    def build(i: int) -> Any:
        order = ((first, 1), (second, 2)) if i % 2 else ((second, 2), (first, 1))
        for into, instance in order:
            into[i] = raw.CollectiveReduceV2(x, *keys(instance), [], **attrs)
        return into[i]

    on_each(build)
    nodes = [*first.values(), *second.values(), *[node for each in many for node in each]]
    with session() as opened:
        for _ in range(5):
            values = opened.run(nodes, {x: X})
            for value in values[: 2 * MEMBERS]:
                np.testing.assert_allclose(value, X * 3, rtol=1e-6)
            for k, value in enumerate(values[2 * MEMBERS :]):
                np.testing.assert_allclose(value, X * 6 * (10 + k // MEMBERS), rtol=1e-5)
    assert len(library.meetings) == 1


async def test_steps_at_once_share_the_group(library: Library) -> None:
    x = acts.placeholder("float32", [None])
    nodes = summed(x)
    config = acts.ConfigProto(device_count={"BOX": MEMBERS})
    async with acts.AsyncSession(config=config) as opened:
        steps = [opened.run(nodes, {x: X * float(k)}) for k in range(8)]
        for k, values in enumerate(await asyncio.gather(*steps)):
            np.testing.assert_allclose(values[0], X * 6 * float(k), rtol=1e-5)
    assert len(library.meetings) == 1


@for_each("rank", range(MEMBERS))
def test_a_failure_of_the_library_ends_the_step_and_the_next_makes_a_new_group(library: Library, rank: int) -> None:
    x = acts.placeholder("float32", [None])
    nodes = summed(x)
    library.forget()
    with session() as opened:
        opened.run(nodes, {x: X})
        library.fails = lambda collective, who: who == rank
        with pytest.raises(AbortedError, match="instance 1 of group 1: the exchange by cable has ended"):
            opened.run(nodes, {x: X})
        library.fails = lambda collective, who: False
        for _ in range(2):
            np.testing.assert_allclose(opened.run(nodes, {x: X})[0], X * 6, rtol=1e-6)
    assert len(library.meetings) == 2


async def test_a_step_that_is_cancelled_in_the_library_leaves_the_others_a_new_group(library: Library) -> None:
    x = acts.placeholder("float32", [None])
    nodes = summed(x)
    inside, may_go = threading.Event(), threading.Event()

    def holds(collective: Collective, rank: int) -> bool:
        if rank == 2:
            inside.set()
            assert may_go.wait(PATIENCE)
        return False

    async with acts.AsyncSession(config=acts.ConfigProto(device_count={"BOX": MEMBERS})) as opened:
        library.fails = holds
        step = asyncio.create_task(opened.run(nodes, {x: X}))
        await eventually(inside.is_set)
        step.cancel()
        with pytest.raises(asyncio.CancelledError):
            await step
        library.fails = lambda collective, rank: False
        may_go.set()
        for _ in range(2):
            np.testing.assert_allclose((await opened.run(nodes, {x: X}))[0], X * 6, rtol=1e-6)
    assert len(library.meetings) == 2


async def test_a_limit_that_ends_in_the_library_names_whom_a_member_waits_for(library: Library) -> None:
    x = acts.placeholder("float32", [None])
    limited, nodes = summed(x, 1, timeout_seconds=1.0), summed(x, 2)
    may_go = threading.Event()
    library.fails = lambda collective, rank: rank == 2 and collective.instance == 1 and not may_go.wait(PATIENCE)
    async with acts.AsyncSession(config=acts.ConfigProto(device_count={"BOX": MEMBERS})) as opened:
        with pytest.raises(DeadlineExceededError, match=r"took longer than its 1 s; it waits for /job:.*BOX:\d, /job"):
            await opened.run(limited, {x: X})
        may_go.set()
        np.testing.assert_allclose((await opened.run(nodes, {x: X}))[0], X * 6, rtol=1e-6)


async def test_where_there_can_be_no_thread_the_step_says_so_and_the_next_one_goes_on(library: Library) -> None:
    class Full(Processes):
        def start_thread(self, work: Any, name: str) -> Any:
            raise RuntimeError("can't start new thread")

    x = acts.placeholder("float32", [None])
    nodes = summed(x)
    # Kernels run in the thread of the test, so that what they begin has its host.
    here = acts.ConfigProto(device_count={"BOX": MEMBERS}, inter_op_parallelism_threads=-1)
    async with acts.AsyncSession(config=here) as opened:
        with on_host(Host(processes=Full())), pytest.raises(ResourceExhaustedError, match="can't start new thread"):
            await opened.run(nodes, {x: X})
        np.testing.assert_allclose((await opened.run(nodes, {x: X}))[0], X * 6, rtol=1e-6)


@for_each("others", ["auto", "cable"])
def test_members_that_do_not_agree_name_each_other(library: Library, others: str) -> None:
    def build(i: int) -> Any:
        value = np.ones(LARGE + (i == 2 and others == "cable"), "f4")
        hint = "cable" if i == 2 else others
        return raw.CollectiveReduceV2(value, *keys(), [], **SUM, communication_hint=hint)

    nodes, good = on_each(build), summed(acts.constant(X), 2)
    with session() as opened:
        with pytest.raises(InvalidArgumentError, match=r"BOX:\d has a reduce .*BOX:\d has a reduce"):
            opened.run(nodes)
        np.testing.assert_allclose(opened.run(good)[0], X * 6, rtol=1e-6)


def test_a_broadcast_has_one_sender(library: Library) -> None:
    x = acts.placeholder("float32", [None])
    nodes = on_each(lambda i: raw.CollectiveBcastSendV2(x, *keys(), communication_hint="cable"))
    with session() as opened, pytest.raises(InvalidArgumentError, match="one member of a broadcast sends, not 3"):
        opened.run(nodes, {x: X})


async def test_a_session_that_is_closed_leaves_its_groups(library: Library) -> None:
    x = acts.placeholder("float32", [None])
    nodes = summed(x)
    config = acts.ConfigProto(device_count={"BOX": MEMBERS})
    async with acts.AsyncSession(config=config) as opened:
        await opened.run(nodes, {x: X})
        assert len(threads()) == MEMBERS
    await eventually(lambda: not threads())
    inside, may_go = threading.Event(), threading.Event()

    def holds(collective: Collective, rank: int) -> bool:
        inside.set()
        return not may_go.wait(PATIENCE)

    library.fails = holds
    async with acts.AsyncSession(config=config) as other:
        step = asyncio.create_task(other.run(nodes, {x: X}))
        await eventually(inside.is_set)
    with pytest.raises(CancelledError):
        await step
    may_go.set()
    await eventually(lambda: not threads())


async def test_steps_of_several_sessions_meet_in_the_library(library: Library) -> None:
    """Each on a task of its own; one that leaves has the others make a new group."""
    settings = acts.ConfigProto(device_count={"BOX": 1})
    options = acts.RunOptions(experimental=acts.RunOptions.Experimental(collective_graph_key=7))
    async with (
        in_process({"worker": MEMBERS}, config=settings, lease=LONG_LEASE) as cluster,
        contextlib.AsyncExitStack() as stack,
    ):

        async def member(number: int) -> Callable[[float], Any]:
            with acts.Graph().as_default() as graph, acts.device(f"/job:worker/task:{number}/device:BOX:0"):
                x = acts.placeholder("float32", [None])
                total = acts.collective.all_reduce(x, acts.collective.Group(MEMBERS, communication_hint="cable"))
            opened = acts.AsyncSession(cluster.target(f"/job:worker/replica:0/task:{number}"), graph=graph)
            await stack.enter_async_context(opened)
            return lambda factor: opened.run(total, {x: X * factor}, options=options)

        members = [await member(number) for number in range(MEMBERS)]
        for step in range(1, 4):
            for total in await asyncio.gather(*[run(float(step)) for run in members]):
                np.testing.assert_allclose(total, X * 3 * step, rtol=1e-6)
        assert len(library.log) == 3 * MEMBERS
        assert len(library.meetings) == 1
        library.fails = lambda collective, rank: rank == 1
        outcomes = await asyncio.gather(*[run(1.0) for run in members], return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [AbortedError] * MEMBERS
        library.fails = lambda collective, rank: False
        for total in await asyncio.gather(*[run(2.0) for run in members]):
            np.testing.assert_allclose(total, X * 6, rtol=1e-6)
        assert len(library.meetings) == 2


async def test_a_session_of_a_cluster_leaves_its_groups_without_the_collector(library: Library) -> None:
    x = acts.placeholder("float32", [None])
    attrs: dict[str, Any] = {**SUM, "communication_hint": "cable"}
    nodes = []
    for i in range(MEMBERS):
        with acts.device(f"/job:worker/task:{i}/device:BOX:0"):
            nodes.append(raw.CollectiveReduceV2(x, *keys(), [], **attrs))
    settings = acts.ConfigProto(device_count={"BOX": 1})
    async with in_process({"worker": MEMBERS}, config=settings, lease=LONG_LEASE) as cluster:
        gc.disable()
        try:
            for _ in range(2):
                library.forget()
                async with acts.AsyncSession(cluster.target()) as opened:
                    for _ in range(2):
                        np.testing.assert_allclose((await opened.run(nodes, {x: X}))[2], X * 3, rtol=1e-6)
                    assert len(threads()) == MEMBERS
                await eventually(lambda: not threads())
                assert len(library.meetings) == 1
        finally:
            gc.enable()
