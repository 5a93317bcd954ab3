"""The first run of a plan: it stands behind nobody's kernels, and runs on the loop if its feeds are small."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, ConfigProto, Graph, Session, Tensor, ops
from actorsession.errors import CancelledError, InvalidArgumentError
from actorsession.runtime import kept_feeds as feeds_module
from tests.cluster.kit import Gate, eventually, soon
from tests.loops import cancelled
from tests.rows import for_each
from tests.session.large_kit import held_pass, large
from tests.session.probe import Probe

ONE_THREAD = ConfigProto(inter_op_parallelism_threads=1, use_per_session_threads=True)


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate("first runs")
    yield made
    made.open()


def layers(x: Tensor, count: int = 12) -> Tensor:
    for _ in range(count):
        x = ops.tanh(x)
    return x


async def fill_pool(session: AsyncSession, gate: Gate, fetch: Tensor, runs: int) -> list[Any]:
    """Steps of one plan: one in the pool's thread, and others behind it."""
    before = session.statistics().offloaded
    made = [asyncio.ensure_future(session.run(fetch)) for _ in range(runs)]
    await eventually(lambda: session.statistics().offloaded == before + runs)
    await eventually(lambda: gate.entered == 1)
    return made


async def test_the_first_run_of_another_plan_goes_before_the_runs_that_wait(graph: Graph, gate: Gate) -> None:
    before: list[int] = []
    dear = Probe("first dear", work=lambda: before.append(gate.entered))
    slow, first = gate(ops.constant(1.0)), dear(ops.constant(2.0))
    async with AsyncSession(graph=graph, config=ONE_THREAD) as session:
        waiting = await fill_pool(session, gate, slow, 50)
        other = asyncio.ensure_future(session.run(first))
        await eventually(lambda: session.statistics().offloaded == 51)
        gate.open()
        assert await soon(other) == 2.0
        assert before[0] <= 4  # of the 50: every other work that begins is a first run
        assert await soon(asyncio.gather(*waiting)) == [1.0] * 50


async def test_a_plan_of_unknown_shapes_runs_on_the_loop_at_once_if_its_feeds_are_small(graph: Graph) -> None:
    x = ops.placeholder("float32", [None])
    y = layers(x)
    async with AsyncSession(graph=graph, config=ONE_THREAD) as session:
        got = await soon(session.run(y, {x: np.zeros(3, np.float32)}))
        np.testing.assert_array_equal(got, np.zeros(3))
        assert session.statistics().offloaded == 0


async def test_and_goes_to_the_pool_if_they_are_large(graph: Graph) -> None:
    x = ops.placeholder("float32", [None])
    y = layers(x)
    async with AsyncSession(graph=graph, config=ONE_THREAD) as session:
        await soon(session.run(y, {x: np.zeros(1 << 20, np.float32)}))
        assert session.statistics().offloaded == 1


async def test_segments_of_a_step_are_estimated_with_what_has_arrived(graph: Graph) -> None:
    x = ops.placeholder("float32", [None])
    with graph.device("/cpu:1"):
        y = layers(x)
    with graph.device("/cpu:0"):
        z = layers(y)
    config = ConfigProto(device_count={"CPU": 2})
    async with AsyncSession(graph=graph, config=config) as session:
        await soon(session.run(z, {x: np.zeros(3, np.float32)}))
        assert session.statistics().offloaded == 0


# -- large feeds -----------------------------------------------------------------------------------
# Bytes above which a feed is copied in a thread.
LARGE = 1 << 20


class Copies:
    """The copies of large feeds.

    Attributes:
        threads: the names of the threads that have begun one.
        go: whether they go on.
    """

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.threads, self.go = list[str](), threading.Event()
        self.go.set()
        self._copy = feeds_module.kept_feed
        monkeypatch.setattr(feeds_module, "kept_feed", self)

    def __call__(self, value: Any) -> Any:
        if isinstance(value, np.ndarray) and value.nbytes > LARGE:
            self.threads.append(threading.current_thread().name)
            assert self.go.wait(20)
        return self._copy(value)


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch) -> Copies:
    return Copies(monkeypatch)


def megabytes(count: int) -> Any:
    return np.arange(count << 18, dtype=np.float32)


async def test_large_feeds_are_copied_beside_kernels_not_on_the_loop(graph: Graph, gate: Gate, copies: Copies) -> None:
    """They wait for no kernel either: the pool is full."""
    x = ops.placeholder("float32", [None])
    probe = Probe("large feed", work=lambda: None)
    slow, y = gate(ops.constant(1.0)), probe(x)[0]
    async with AsyncSession(graph=graph, config=ONE_THREAD) as session:
        waiting = await fill_pool(session, gate, slow, 20)
        fed = asyncio.ensure_future(session.run(y, {x: megabytes(4)}))
        await eventually(lambda: bool(copies.threads))
        assert all("blocked" in name for name in copies.threads)
        gate.open()
        assert await soon(fed) == 0.0
        await soon(asyncio.gather(*waiting))


async def test_what_nobody_can_change_is_not_copied(graph: Graph, copies: Copies) -> None:
    x = ops.placeholder("float32", [None])
    y = Probe("read-only feed", work=lambda: None)(x)[0]
    fed = megabytes(4)
    fed.flags.writeable = False
    async with AsyncSession(graph=graph, config=ONE_THREAD) as session:
        await soon(session.run(y, {x: fed}))
    assert copies.threads == ["MainThread"]  # which has looked, and given it as it is


async def test_a_run_that_is_cancelled_while_its_feeds_are_copied_leaves_no_step(graph: Graph, copies: Copies) -> None:
    copies.go.clear()
    x = ops.placeholder("float32", [None])
    y = Probe("cancelled feed")(x)[0]
    async with AsyncSession(graph=graph, config=ONE_THREAD) as session:
        run = asyncio.ensure_future(session.run(y, {x: megabytes(2)}))
        await eventually(lambda: bool(copies.threads))
        await cancelled(run)
        copies.go.set()
        assert session.statistics().steps == 0
        assert await soon(session.run(y, {x: np.zeros(3, np.float32)})) == 0.0


async def test_closing_the_session_while_feeds_are_copied_ends_the_run(graph: Graph, copies: Copies) -> None:
    copies.go.clear()
    x = ops.placeholder("float32", [None])
    y = Probe("closed feed")(x)[0]
    session = AsyncSession(graph=graph, config=ONE_THREAD)
    run = asyncio.ensure_future(session.run(y, {x: megabytes(2)}))
    await eventually(lambda: bool(copies.threads))
    await session.close()
    copies.go.set()
    with pytest.raises(CancelledError, match="closed"):
        await soon(run)


@for_each("kind", ["another dtype", "strings"])
async def test_large_feeds_are_converted_in_a_thread_too(graph: Graph, kind: str) -> None:
    threads: list[str] = []

    class Noted(str):
        """Text that notes who encodes it."""

        def encode(self, *args: Any) -> bytes:
            threads.append(threading.current_thread().name)
            return str.encode(self, *args)

    if kind == "strings":
        x = ops.placeholder("string", [None])
        fed: Any = np.full(LARGE // 8 + 1, "a", object)
        fed[0] = Noted("first")
        wanted: Any = b"first"
    else:
        x, fed, wanted = ops.placeholder("float32", [None]), np.arange(LARGE, dtype=np.float64), 0.0
    async with AsyncSession(graph=graph, config=ONE_THREAD) as session:
        assert await soon(session.run(x[0], {x: fed})) == wanted
    assert all("blocked" in name for name in threads)


async def test_a_partial_run_takes_large_feeds(graph: Graph, copies: Copies) -> None:
    x = ops.placeholder("float32", [None])
    y = Probe("partial feed", work=lambda: None)(x)
    async with AsyncSession(graph=graph, config=ONE_THREAD) as session:
        handle = await session.partial_run_setup([y], [x])
        fed = megabytes(2)
        np.testing.assert_array_equal(await soon(session.partial_run(handle, y, {x: fed})), fed)
    assert any("blocked" in name for name in copies.threads)


def plans(face: Any) -> tuple[int, int]:
    """Plans kept, and look-ups that found none."""
    cache = face.session.statistics().cache
    return cache.plans, cache.misses


async def test_the_first_run_afterwards_plans_nothing(session: Any, log_of: Any) -> None:
    x, z = log_of
    await session.warm_up(z, [x])
    assert plans(session) == (1, 1)
    np.testing.assert_array_equal(await session.run(z, {x: [0.0]}), [0.0])
    assert plans(session) == (1, 1)


@for_each(
    "feeds",
    [["b:0", "a:0"], {"a:0": None, "b:0": "no value"}, ("a:0", ["b:0"])],
    ids=["in another order", "as a feed dict", "nested"],
)
async def test_feeds_are_keys_in_any_form_and_order(session: Any, feeds: Any) -> None:
    a, b = (ops.placeholder("float32", [], name=name) for name in "ab")
    await session.warm_up([a + b, a - b], feeds)
    before = plans(session)
    assert await session.run([a + b, a - b], {a: 3.0, b: 1.0}) == [4.0, 2.0]
    assert plans(session)[0] == before[0] + 1  # other nodes, for these were made just now
    total, difference = a * b, a / b
    await session.warm_up({"x": total, "y": difference}, feeds)
    before = plans(session)
    assert await session.run([difference, total], {b: 1.0, a: 3.0}) == [3.0, 3.0]
    assert plans(session) == before


async def test_no_state_changes_and_no_kernel_runs(session: Any) -> None:
    called: list[Any] = []

    def see() -> Any:
        called.append(1)
        return np.float32(1.0)

    v = ops.Variable(1.0)
    update = v.assign_add(1.0)
    seen = ops.py_func(see, [], "float32")
    initialise = ops.global_variables_initializer()
    for fetches in (initialise, [update, seen]):
        assert await session.warm_up(fetches) is None
    assert session.session.statistics().variables == 0
    assert not called
    await session.run(initialise)
    await session.warm_up([update, v])
    assert await session.run(v) == 1.0
    assert await session.run(update) == 2.0


async def test_a_callable_finds_the_plan_too(session: Any, log_of: Any) -> None:
    x, z = log_of
    await session.warm_up(z, [x])
    before = plans(session)[0]
    await session.callable(z, [x])(np.zeros(2, np.float32))
    assert plans(session)[0] == before


async def test_a_partial_run_finds_its_plan(session: Any, stages: Any) -> None:
    x = ops.placeholder("float32", [], name="half")
    y = x * 2.0
    await session.warm_up([y], [x], partial=True)
    made = len(session.session._session.partial_runs._plans.plans())
    assert made == 1
    assert session.counts() == (0, 0, 0)
    handle = await session.partial_run_setup([y], [x])
    assert await session.partial_run(handle, y, {x: 2.0}) == 4.0
    assert len(session.session._session.partial_runs._plans.plans()) == made


async def test_what_the_run_would_refuse_is_refused(session: Any, log_of: Any) -> None:
    x, z = log_of
    with pytest.raises(InvalidArgumentError, match="feed a value for placeholder"):
        await session.warm_up(z)
    with pytest.raises(TypeError, match="Cannot interpret feed_dict key as Tensor"):
        await session.warm_up(z, ["nothing:0"])
    with pytest.raises(ValueError, match="nothing"):
        await session.warm_up("nothing:0", [x])
    await session.warm_up(x, [x])  # there is nothing to plan
    await session.close()
    with pytest.raises(RuntimeError, match="closed Session"):
        await session.warm_up(z, [x])


async def test_a_large_graph_is_warmed_up_while_the_loop_goes_on(graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    y = large(x)
    with held_pass() as held:
        async with AsyncSession(graph=graph) as session:
            warm = asyncio.ensure_future(session.warm_up(y, [x]))
            await eventually(lambda: held.entered == 1)
            held.go.set()
            await soon(warm)
            await soon(session.run(y, {x: 1.0}))
            assert held.entered == 1


async def test_a_synchronous_session_refuses_it_inside_a_running_loop(graph: Graph) -> None:
    with Session(graph=graph) as session, pytest.raises(RuntimeError, match="AsyncSession"):
        session.warm_up(ops.constant(1.0))
