"""What a step has taken whose caller does not get it: an element is handed out, or is there again.

A step can end early at any moment: before it is served, when its values are there and its caller has not
resumed yet, or in the middle, while it waits for something else. TensorFlow loses what was taken by then.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from actorsession import AsyncSession, Graph, Session, float32, int32, int64, lookup, ops, opsets, string
from actorsession.config import RunOptions
from actorsession.errors import DeadlineExceededError, InvalidArgumentError
from actorsession.ops.queues.batches import join_one
from actorsession.ops.queues.state import FifoElements, QueueState
from actorsession.runtime import interruptible as thread_waits
from actorsession.runtime.engine.step import Step
from tests.cluster.kit import eventually, soon
from tests.ops.queues.kit import held, started, waiting
from tests.rows import refused, refused_later
from tests.session.inner import direct_session

# A step that is older than none, so that gradients count however often some were taken.
_NEW = 10**6


class Source(NamedTuple):
    """Something that steps put into and take from.

    Attributes:
        put: puts one thing in.
        take: takes one out.
        size: how many are there.
    """

    put: Any
    take: Any
    size: Any


def _queue(queue: Any, values: Any = 1, many: int | None = None, up_to: bool = False) -> Source:
    put = queue.enqueue(values) if many is None else queue.enqueue_many([list(range(many))])
    take = queue.dequeue() if many is None else queue.dequeue_many(many)
    return Source(put, queue.dequeue_up_to(1) if up_to else take, queue.size())


def _gradients(total: Any, *given: Any) -> Source:
    return Source(total.apply_grad(*given, local_step=_NEW), total.take_grad(1), total.num_accumulated())


def _area() -> Source:
    area = opsets.StagingArea([int32])
    return Source(area.put(1), area.get(), area.size())


def _map(by_key: bool) -> Source:
    area = opsets.MapStagingArea([int32], shapes=[[]])
    take = area.get(3)[1] if by_key else area.get()
    return Source(area.put(3, [1], [0]), take, area.size())


def _barrier() -> Source:
    barrier = opsets.Barrier((float32,), shapes=((),))
    return Source(barrier.insert_many(0, ["k"], [1.0]), barrier.take_many(1), barrier.ready_size())


def _fifo() -> Any:
    return ops.FIFOQueue(9, int32, shapes=[])


SOURCES: dict[str, Callable[[], Source]] = {
    "fifo": lambda: _queue(_fifo()),
    "fifo, many": lambda: _queue(_fifo(), many=3),
    "fifo, up to": lambda: _queue(_fifo(), up_to=True),
    "padding": lambda: _queue(ops.PaddingFIFOQueue(9, int32, shapes=[[]])),
    "shuffled": lambda: _queue(ops.RandomShuffleQueue(9, 0, int32, shapes=[])),
    "priority": lambda: _queue(ops.PriorityQueue(9, [string], [()]), [ops.constant(1, int64), "x"]),
    "accumulator": lambda: _gradients(opsets.ConditionalAccumulator(float32, shape=[2]), [1.0, 2.0]),
    "sparse accumulator": lambda: _gradients(
        opsets.SparseConditionalAccumulator(float32, shape=[4, 2]), [1], [[1.0, 2.0]]
    ),
    "staging area": _area,
    "map staging area": lambda: _map(True),
    "map staging area, any": lambda: _map(False),
    "barrier": _barrier,
}


@pytest.fixture(params=list(SOURCES))
def source(request: pytest.FixtureRequest, graph: Graph) -> Source:
    return SOURCES[request.param]()


def expire(step: Step) -> None:
    """Ends the limit of a step, as the timer of the loop would."""
    step.abort(DeadlineExceededError("its limit is over"))


async def turns(count: int) -> None:
    """Lets the loop go round so often."""
    for _ in range(count):
        await asyncio.sleep(0)


async def nothing_left(session: AsyncSession) -> None:
    """Waits until no step is under way, and none holds a place."""
    await eventually(lambda: not (seen := direct_session(session).statistics()).steps and not seen.pending)
    assert direct_session(session)._steps.inflight.statistics().in_flight == 0


# -- the end comes when the values are there -------------------------------------------------------


async def test_what_was_served_is_there_again_if_its_caller_is_cancelled(session: AsyncSession, source: Source) -> None:
    take = await held(session, source.take)
    await session.run(source.put)
    size = await session.run(source.size)
    take.cancel()
    await asyncio.wait([take])
    if not take.cancelled():  # its value had reached the caller before
        await session.run(source.put)
        size = await session.run(source.size)
    assert await session.run(source.size) > 0 or size == 0
    assert await soon(session.run(source.take)) is not None
    assert await session.run(source.size) == 0
    await nothing_left(session)


@pytest.mark.parametrize("how", ["cancel", "timeout", "limit"])
async def test_at_every_turn_of_the_loop_an_element_is_handed_out_or_is_there(
    session: AsyncSession, source: Source, how: str
) -> None:
    await session.run(source.put)
    whole = int(await session.run(source.size))
    await session.run(source.take)  # both plans are there, and the rest is the same each time
    outcomes = set()
    scopes: list[asyncio.Timeout] = []

    async def taking() -> Any:
        async with asyncio.timeout(None) as scope:
            scopes.append(scope)
            return await session.run(source.take)

    for turn in itertools.count():
        take = asyncio.ensure_future(taking())
        await waiting(session)
        (step,) = direct_session(session)._steps.now()
        put = started(session, source.put)
        await turns(turn)
        in_time = not take.done()
        if how == "cancel":
            take.cancel()
        elif in_time and how == "timeout":
            scopes[-1].reschedule(0)
        elif in_time:
            expire(step)
        await asyncio.wait([take, put])
        handed_out = not take.cancelled() and take.exception() is None
        left = int(await session.run(source.size))
        assert left == (0 if handed_out else whole), f"at turn {turn}"
        outcomes.add(handed_out)
        if left:
            await soon(session.run(source.take))
        if not in_time:
            break
    assert outcomes == {True, False}
    await nothing_left(session)


async def test_a_step_that_was_served_wins_over_its_limit(session: AsyncSession, source: Source) -> None:
    take = await held(session, source.take, options=RunOptions(timeout_in_ms=60_000))
    (step,) = direct_session(session)._steps.now()
    step.on_done(lambda: expire(step))  # before the caller resumes
    await session.run(source.put)
    assert await soon(take) is not None
    assert await session.run(source.size) == 0


async def test_a_table_has_again_what_a_step_has_removed_that_ends_early(session: AsyncSession, graph: Graph) -> None:
    table = lookup.MutableHashTable(int64, int64, -1)
    empty = ops.FIFOQueue(1, int32, shapes=[])
    keys = ops.constant([3], int64)
    await session.run(table.insert(keys, ops.constant([30], int64)))
    found = table.lookup(keys)
    with graph.control_dependencies([found]):
        popped = table.remove(keys)
    pop = await held(session, [found, popped, empty.dequeue()])
    assert await session.run(table.size()) == 0
    pop.cancel()
    await asyncio.wait([pop])
    assert (await session.run(found), (await session.run([found, popped]))[0]) == ([30], [30])
    assert await session.run(table.size()) == 0


# -- the end comes in the middle -------------------------------------------------------------------


async def test_what_was_taken_is_there_again_if_the_step_waits_for_more(session: AsyncSession, source: Source) -> None:
    empty = ops.FIFOQueue(1, int32, shapes=[])
    await session.run(source.put)
    size = await session.run(source.size)
    both = await held(session, [source.take, empty.dequeue()])
    assert await session.run(source.size) == 0
    both.cancel()
    await asyncio.wait([both])
    assert await session.run(source.size) == size
    await nothing_left(session)


async def test_an_element_that_the_step_has_put_elsewhere_is_not_there_twice(session: AsyncSession) -> None:
    one, two, empty = (ops.FIFOQueue(9, int32, shapes=[]) for _ in range(3))
    await session.run(one.enqueue_many([[5, 6]]))
    moved = two.enqueue(one.dequeue())
    seen = one.dequeue()
    step = await held(session, [moved, seen, empty.dequeue()])
    step.cancel()
    await asyncio.wait([step])
    assert await session.run([one.size(), two.size()]) == [1, 1]
    left = await session.run([one.dequeue(), two.dequeue()])
    assert sorted(left) == [5, 6]


async def test_an_element_that_was_to_be_put_elsewhere_and_was_not_is_there_again(session: AsyncSession) -> None:
    one, full = (ops.FIFOQueue(1, int32, shapes=[]) for _ in range(2))
    await session.run([one.enqueue(5), full.enqueue(1)])
    step = await held(session, full.enqueue(one.dequeue()))
    step.cancel()
    await asyncio.wait([step])
    assert (await session.run([one.size(), full.size()]), await soon(session.run(one.dequeue()))) == ([1, 1], 5)


async def test_what_a_loop_has_taken_is_there_again_as_it_was(session: AsyncSession) -> None:
    """Of its body the values are overwritten in place, but not those that may go back."""
    queue = ops.FIFOQueue(9, float32, shapes=[[3]])
    await session.run(queue.enqueue_many([np.arange(6, dtype=np.float32).reshape(2, 3)]))
    total = ops.while_loop(
        lambda i, s: ops.less(i, 3),
        lambda i, s: (i + 1, s + ops.square(queue.dequeue() * 2.0 + 1.0)),
        [ops.constant(0), ops.constant([0.0, 0.0, 0.0])],
    )
    loop = started(session, total[1])
    await eventually(lambda: bool(session.statistics().steps))
    async with asyncio.timeout(20):
        while await session.run(queue.size()):  # noqa: ASYNC110
            await asyncio.sleep(0.001)
    loop.cancel()
    await asyncio.wait([loop])
    assert await session.run(queue.size()) == 2
    found = await session.run(queue.dequeue_many(2))
    assert found.tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]


async def test_an_element_that_cannot_be_worked_on_is_gone_as_in_tensorflow(session: AsyncSession) -> None:
    """Else it would come again for ever."""
    queue = ops.FIFOQueue(9, float32, shapes=[])
    await session.run(queue.enqueue_many([[np.nan, 1.0]]))
    checked = ops.check_numerics(queue.dequeue(), "no number")
    await refused_later(session.run(checked), InvalidArgumentError, "no number")
    assert await session.run(checked) == 1.0


async def test_elements_that_cannot_be_joined_stay(session: AsyncSession) -> None:
    queue = ops.PaddingFIFOQueue(9, float32, shapes=[[None]])
    await session.run(queue.enqueue([ops.constant([1.0])]))
    odd = QueueState("q", -1, FifoElements())
    odd.enqueue([(1,), (2,)])

    def refuse(elements: Sequence[Any]) -> Any:
        raise InvalidArgumentError("different ranks")

    refused(lambda: odd.dequeue(2, refuse).result(0), InvalidArgumentError, "different ranks")
    assert odd.size == 2


async def test_a_container_that_was_cleared_stays_empty(session: AsyncSession) -> None:
    queue, empty = (ops.FIFOQueue(9, int32, shapes=[], shared_name=n) for n in ("a", "b"))
    await session.run(queue.enqueue(1))
    both = await held(session, [queue.dequeue(), empty.size() + 0, empty.dequeue()])
    direct_session(session).reset_containers(())
    await asyncio.wait([both])
    assert await session.run(queue.size()) == 0


# -- partial runs and threads ----------------------------------------------------------------------


async def test_a_call_of_a_partial_run_that_is_cancelled_leaves_its_element(session: AsyncSession) -> None:
    """What calls before it handed out is their callers' for good."""
    one, two = (ops.FIFOQueue(9, int32, shapes=[]) for _ in range(2))
    first, second = one.dequeue(), two.dequeue()
    await session.run([one.enqueue(1), two.enqueue(2)])
    handle = await session.partial_run_setup([first, second], [])
    assert await session.partial_run(handle, first) == 1
    call = asyncio.ensure_future(session.partial_run(handle, second))
    await turns(1)
    call.cancel()
    await asyncio.wait([call])
    if call.cancelled():
        assert await session.run([one.size(), two.size()]) == [0, 1]
    else:
        assert await session.run([one.size(), two.size()]) == [0, 0]


async def test_a_partial_run_that_is_dropped_leaves_what_nobody_fetched(session: AsyncSession) -> None:
    one, two = (ops.FIFOQueue(9, int32, shapes=[]) for _ in range(2))
    first, second = one.dequeue(), two.dequeue()
    await session.run([one.enqueue(1), two.enqueue(2)])
    async with session.partial([first, second], []) as run:
        assert await run.run(first) == 1
    assert await session.run([one.size(), two.size()]) == [0, 1]


async def test_a_partial_run_dropped_while_it_waits_leaves_its_callers_what_they_have(session: AsyncSession) -> None:
    """Its step is cancelled, and not over, when what it has handed out is not put back."""
    one, two = (ops.FIFOQueue(9, int32, shapes=[]) for _ in range(2))
    first, second = one.dequeue(), two.dequeue()
    await session.run(one.enqueue(1))
    async with session.partial([first, second], []) as run:
        assert await run.run(first) == 1
    await session.run(two.enqueue(2))
    assert await session.run([one.size(), two.size()]) == [0, 1]


def test_an_interrupt_when_values_are_there_leaves_the_element(graph: Graph, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = ops.FIFOQueue(9, int32, shapes=[])
    put, take, size = queue.enqueue(1), queue.dequeue(), queue.size()
    with Session(graph=graph) as session:
        session.run(put)
        result_of = thread_waits.result_of

        def interrupted(future: Any) -> Any:
            result_of(future)
            raise KeyboardInterrupt

        with monkeypatch.context() as patch:
            patch.setattr("actorsession.runtime.loop_thread.result_of", interrupted)
            refused(lambda: session.run(take), KeyboardInterrupt)
        assert (session.run(size), session.run(take)) == (1, 1)


# -- many ------------------------------------------------------------------------------------------


async def test_consumers_with_short_limits_lose_nothing(session: AsyncSession) -> None:
    queue = ops.FIFOQueue(100, int32, shapes=[])
    x = ops.placeholder(int32, [])
    put, take = queue.enqueue(x), queue.dequeue()
    out: list[int] = []
    limits = itertools.cycle(range(1, 8))

    async def consume() -> None:
        for _ in range(40):
            options = RunOptions(timeout_in_ms=next(limits))
            with contextlib.suppress(DeadlineExceededError):
                out.append(int(await session.run(take, options=options)))

    async def cancelled_now_and_then() -> None:
        for _ in range(100):
            step = started(session, take)
            await turns(next(limits))
            step.cancel()
            await asyncio.wait([step])
            if not step.cancelled():
                out.append(int(step.result()))

    async with asyncio.timeout(50), asyncio.TaskGroup() as group:
        for work in (consume, consume, consume, cancelled_now_and_then):
            _ = group.create_task(work())
        for i in range(100):
            await session.run(put, {x: i})
            await turns(i % 3)
    size = queue.size()
    while await session.run(size):
        out.append(int(await session.run(take)))
    assert sorted(out) == list(range(100))
    await nothing_left(session)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=30), st.integers(1, 4))
def test_what_goes_back_comes_out_in_its_old_order(chosen: list[int], capacity: int) -> None:
    queue = QueueState("q", capacity, FifoElements())
    put = [queue.enqueue([(i,)]) for i in range(10)]
    taken: list[Any] = []
    for n in chosen:
        if n and queue.size:
            taken.append(queue.dequeue(1, join_one))
        elif taken:
            taken.pop(n % len(taken)).put_back()
    kept = {t.result(0) for t in taken}
    rest = []
    while queue.size:
        rest.append(queue.dequeue(1, join_one).result(0))
    assert rest == [i for i in range(10) if i not in kept and put[i].done()]
