"""Loops in sessions: however a step is given up, an endless loop ends between two nodes, on either face.

Each way is tried on a loop that the session has never run and on one that it has measured to be short:
its next run may be endless, and must not keep an event loop from ending it.
"""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

import actorsession as acts
from actorsession import ops
from actorsession.config import OptLevel
from actorsession.errors import CancelledError, DeadlineExceededError, InvalidArgumentError
from tests.loops import cancelled
from tests.session.session_adapters import AsyncAdapter, LocalAdapter, SyncAdapter

Make = Callable[..., Any]
FOR_EVER = -1


class Counting:
    """A loop that counts to a number that is fed, and never meets a negative one."""

    def __init__(self) -> None:
        self.n = ops.placeholder("int32", [], name="n")
        self.end = ops.while_loop(lambda i: ops.not_equal(i, self.n), lambda i: (i + 1) % 100, [0])

    async def measure(self, face: Any) -> None:
        """Shows a session that the loop is short."""
        for _ in range(5):
            assert await face.run(self.end, {self.n: 3}) == 3


async def started(session: acts.AsyncSession) -> None:
    """Waits until a step runs in a session."""
    while not session.statistics().steps:  # noqa: ASYNC110 - a counter has no event
        await asyncio.sleep(0)


@pytest.fixture
def loop(graph: acts.Graph) -> Counting:
    return Counting()


MEASURED = pytest.mark.parametrize("measured", [False, True], ids=["new", "measured"])


async def run_with_limit(face: Any, loop: Counting) -> None:
    with pytest.raises(DeadlineExceededError):
        await face.run(loop.end, {loop.n: FOR_EVER}, acts.RunOptions(timeout_in_ms=40))


async def run_within_that_of_the_session(face: Any, loop: Counting) -> None:
    with pytest.raises(DeadlineExceededError):
        await face.run(loop.end, {loop.n: FOR_EVER})


async def run_within_a_timeout(face: Any, loop: Counting) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.04):
            await face.session.run(loop.end, {loop.n: FOR_EVER})


async def cancel(face: Any, loop: Counting) -> None:
    run = asyncio.create_task(face.session.run(loop.end, {loop.n: FOR_EVER}))
    await started(face.session)
    await cancelled(run)


async def close(face: Any, loop: Counting) -> None:
    run = asyncio.create_task(face.run(loop.end, {loop.n: FOR_EVER}))
    await started(face.session)
    await face.close()
    with pytest.raises(CancelledError, match="closed"):
        await run


# What gives a run up, in which faces, and the settings of its session.
GIVING_UP: list[tuple[Callable[[Any, Counting], Any], type[LocalAdapter], acts.ConfigProto | None]] = [
    (run_with_limit, AsyncAdapter, None),
    (run_with_limit, SyncAdapter, None),
    (run_within_that_of_the_session, AsyncAdapter, acts.ConfigProto(operation_timeout_in_ms=200)),
    (run_within_that_of_the_session, SyncAdapter, acts.ConfigProto(operation_timeout_in_ms=200)),
    (run_within_a_timeout, AsyncAdapter, None),
    (cancel, AsyncAdapter, None),
    (close, AsyncAdapter, None),
]


@MEASURED
@pytest.mark.parametrize(("give_up", "kind", "config"), GIVING_UP, ids=lambda v: getattr(v, "__name__", ""))
async def test_whatever_gives_a_run_up_ends_its_endless_loop(
    give_up: Callable[[Any, Counting], Any], kind: Any, config: acts.ConfigProto | None, loop: Counting, measured: bool
) -> None:
    face = kind(acts.get_default_graph(), config)
    if measured:
        await loop.measure(face)
    await give_up(face, loop)
    if give_up is not close:
        assert await face.run(loop.end, {loop.n: 7}) == 7
        assert face.session.statistics().steps == 0
        await face.close()


@MEASURED
@pytest.mark.parametrize("limit", [None, 60_000], ids=["without limit", "with a limit"])
@pytest.mark.usefixtures("no_garbage")
def test_ctrl_c_ends_an_endless_loop_of_the_synchronous_face(loop: Counting, measured: bool, limit: int | None) -> None:
    """1. A loop without end runs in the main thread, or with a limit on the session's own loop.
    2. SIGINT comes. 3. The run ends with KeyboardInterrupt soon. 4. The next run is right."""
    options = None if limit is None else acts.RunOptions(timeout_in_ms=limit)
    with acts.Session() as session:
        if measured:
            assert [session.run(loop.end, {loop.n: 3}, options) for _ in range(5)] == [3] * 5
        # As the terminal does: a signal of the process wakes the main thread out of any wait.
        timer = threading.Timer(0.05, os.kill, [os.getpid(), signal.SIGINT])

        def interrupted() -> None:
            timer.start()  # whose signal may come before the run has begun
            session.run(loop.end, {loop.n: FOR_EVER}, options)

        with pytest.raises(KeyboardInterrupt):
            interrupted()
        timer.join()
        assert session.run(loop.end, {loop.n: 7}, options) == 7
        assert session.statistics().steps == 0


async def test_the_event_loop_turns_while_a_loop_that_was_short_runs_long(loop: Counting) -> None:
    """1. A session has measured a loop to be short. 2. It runs one that does not end.
    3. Other children and other steps go on meanwhile."""
    beside = ops.constant(1.0) + 1.0
    async with acts.AsyncSession() as session:
        await loop.measure(session)
        run = asyncio.create_task(session.run(loop.end, {loop.n: FOR_EVER}))
        for _ in range(50):
            assert await session.run(beside) == 2.0
            await asyncio.sleep(0)
        assert not run.done()
        await cancelled(run)


async def test_a_short_loop_of_constants_is_run_on_the_event_loop_once_measured(graph: acts.Graph) -> None:
    short = ops.while_loop(lambda i: i < 3, lambda i: i + 1, [0])
    async with acts.AsyncSession() as session:
        for _ in range(20):  # on a busy machine, some of them look long
            assert await session.run(short) == 3
        assert 1 <= session.statistics().offloaded < 20


# -- loops in all the ways of running --------------------------------------------------------------
async def test_a_callable_runs_a_loop_and_can_be_given_up_in_it(loop: Counting, make_session: Make) -> None:
    face = make_session()
    call = face.callable(loop.end, [loop.n], accept_options=True)
    for _ in range(5):
        assert await call(3) == 3
    with pytest.raises(DeadlineExceededError):
        await call(FOR_EVER, options=acts.RunOptions(timeout_in_ms=40))
    assert await call(7) == 7


async def test_a_partial_run_goes_through_loops_call_by_call(graph: acts.Graph, make_session: Make) -> None:
    face = make_session()
    a, b = ops.placeholder("int32", []), ops.placeholder("int32", [])
    first = ops.while_loop(lambda i: i < a, lambda i: i + 1, [0])
    second = ops.while_loop(lambda i, t: i < b, lambda i, t: (i + 1, t + first), [0, 0])[1]
    handle = await face.partial_run_setup([first, second], [a, b])
    with pytest.raises(InvalidArgumentError, match="can't be computed"):
        await face.partial_run(handle, second, {b: 4})
    assert await face.partial_run(handle, first, {a: 5}) == 5
    assert await face.partial_run(handle, second, {b: 4}) == 20


async def test_python_code_in_a_body_may_run_a_session_with_one_thread(graph: acts.Graph, make_session: Make) -> None:
    x = ops.placeholder("float32", [])
    doubled = ops.while_loop(lambda i, t: i < 3, lambda i, t: (i + 1, t * 2.0), [0, x])[1]

    def body(i: Any, t: Any) -> Any:
        found: Any = ops.py_func(lambda v: inner.run(doubled, {x: v}), [t], "float32")
        found.set_shape([])
        return i + 1, found

    outer = ops.while_loop(lambda i, t: i < 4, body, [0, 1.0])[1]
    face = make_session(acts.ConfigProto(inter_op_parallelism_threads=1))
    with acts.Session(graph=graph) as inner:
        assert await face.run(outer) == 8.0**4


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("level", [OptLevel.L0, OptLevel.L1])
async def test_equal_loops_and_branches_with_effects_each_have_theirs(make_session: Make, level: OptLevel) -> None:
    """The optimiser merges equal nodes; two loops that draw or count are no equal nodes."""
    v = ops.Variable(0)
    p = ops.placeholder("bool", [])

    def counting() -> Any:
        return ops.while_loop(lambda i, c: i < 3, lambda i, c: (i + 1, v.assign_add(1)), [0, 0])[1]

    def branching() -> Any:
        return ops.cond(p, lambda: v.assign_add(10), lambda: v.assign_add(100))

    options = acts.OptimizerOptions(opt_level=level)
    face = make_session(acts.ConfigProto(graph_options=acts.GraphOptions(optimizer_options=options)))
    fetches = [counting(), counting(), branching(), branching()]
    await face.run(v.initializer)
    await face.run(fetches, {p: True})
    assert await face.run(v) == 26
    await face.run(fetches, {p: False})
    assert await face.run(v) == 26 + 206


@pytest.mark.parametrize("level", [OptLevel.L0, OptLevel.L1])
async def test_what_is_folded_outside_is_the_same_inside(
    graph: acts.Graph, make_session: Make, level: OptLevel
) -> None:
    two = ops.constant(1) + ops.constant(1)
    three = ops.identity(two + 1)
    with graph.control_dependencies([three]):
        loop = ops.while_loop(lambda i, t: i < three, lambda i, t: (i + 1, t + two), [0, two])
    branch = ops.cond(three > two, lambda: loop[1] * three, lambda: two)
    options = acts.OptimizerOptions(opt_level=level)
    face = make_session(acts.ConfigProto(graph_options=acts.GraphOptions(optimizer_options=options)))
    assert await face.run([*loop, branch]) == [3, 8, 24]
    assert await face.run([*loop, branch], {two: 5}) == [3 + 3, 5 + 6 * 5, 35 * 6]
