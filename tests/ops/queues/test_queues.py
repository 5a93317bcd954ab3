"""Queues: what goes in comes out, in the order that the queue says; who waits holds no thread."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import hypothesis
import hypothesis.strategies as st
import numpy as np
import pytest

from actorsession import AsyncSession, Graph, Session, TensorShape, float32, int32, int64, ops, string
from actorsession.config import RunOptions
from actorsession.errors import CancelledError, DeadlineExceededError, InvalidArgumentError, OutOfRangeError
from actorsession.ops.queues.batches import join_one
from actorsession.ops.queues.state import FifoElements, PriorityElements, QueueState
from tests.cluster.kit import W1, eventually, in_process, on, soon
from tests.loops import run_to_end
from tests.ops.queues.kit import ONE_THREAD, held, started, waiting
from tests.rows import for_each, refused, refused_later

# -- order -----------------------------------------------------------------------------------------


async def test_an_element_of_many_components_is_a_copy_of_what_went_in(session: AsyncSession) -> None:
    """Nobody who writes to what came out changes what goes in the next time."""
    count = 80
    queue = ops.FIFOQueue(10, [float32] * count, shapes=[[2]] * count)
    put, take = queue.enqueue([ops.constant([1.0, 2.0]) for _ in range(count)]), queue.dequeue()
    for _ in range(2):
        await session.run(put)
        for component in await session.run(take):
            np.testing.assert_array_equal(component, [1.0, 2.0])
            component[:] = 0.0
    assert {part.shape for part in await session.run(queue.dequeue_many(0))} == {(0, 2)}


async def test_the_lowest_priority_number_comes_first_and_of_equals_the_oldest(session: AsyncSession) -> None:
    queue = ops.PriorityQueue(10, [string], shapes=[[]])
    assert queue.dtypes == [int64, string]
    await session.run(queue.enqueue_many([[3, 1, 2, 1], ["c", "a1", "b", "a2"]]))
    numbers, words = await session.run(queue.dequeue_many(4))
    assert (numbers.tolist(), words.tolist()) == ([1, 1, 2, 3], [b"a1", b"a2", b"b", b"c"])


async def test_elements_that_were_shuffled_are_all_there_and_in_another_order(session: AsyncSession) -> None:
    queue = ops.RandomShuffleQueue(200, 0, int32, shapes=[], seed=7)
    await session.run(queue.enqueue_many([list(range(100))]))
    found = (await session.run(queue.dequeue_many(100))).tolist()
    assert sorted(found) == list(range(100))
    assert found != list(range(100))


async def test_a_shuffling_queue_keeps_elements_back_until_it_is_closed(session: AsyncSession) -> None:
    queue = ops.RandomShuffleQueue(10, 2, int32, shapes=[])
    await session.run(queue.enqueue_many([[1, 2, 3]]))
    take = queue.dequeue()
    first = await session.run(take)
    second = await held(session, take)
    await session.run(queue.close())
    assert sorted([first, await soon(second), await session.run(take)]) == [1, 2, 3]


# -- waiting ---------------------------------------------------------------------------------------


async def test_taking_waits_for_an_element_and_others_run_meanwhile(session: AsyncSession) -> None:
    queue = ops.FIFOQueue(10, float32, shapes=[])
    x = ops.placeholder("float32", [])
    take, put = queue.dequeue() * 2.0, queue.enqueue(x)
    taken = [started(session, take) for _ in range(20)]
    await waiting(session, 20)
    for i in range(20):
        await session.run(put, {x: i})
    assert sorted(await soon(asyncio.gather(*taken))) == [2.0 * i for i in range(20)]


async def test_putting_waits_for_room(session: AsyncSession) -> None:
    queue = ops.FIFOQueue(2, int32, shapes=[])
    put = await held(session, queue.enqueue_many([[1, 2, 3, 4, 5]]))
    assert (await session.run(queue.size()), (await session.run(queue.dequeue_many(3))).tolist()) == (2, [1, 2, 3])
    await soon(put)
    assert (await session.run(queue.dequeue_many(2))).tolist() == [4, 5]


async def test_more_may_be_taken_at_once_than_the_queue_holds(session: AsyncSession) -> None:
    queue = ops.FIFOQueue(2, int32, shapes=[])
    take = started(session, queue.dequeue_many(5))
    await soon(session.run(queue.enqueue_many([[1, 2, 3, 4, 5]])))
    assert (await soon(take)).tolist() == [1, 2, 3, 4, 5]


async def test_one_step_may_put_in_what_it_takes_out(session: AsyncSession) -> None:
    queue = ops.FIFOQueue(1, int32, shapes=[])
    assert await soon(session.run([queue.dequeue(), queue.enqueue(3)])) == [3, None]


def test_a_synchronous_session_waits_for_what_another_thread_puts_in(graph: Graph) -> None:
    queue = ops.FIFOQueue(10, int32, shapes=[])
    take, put = queue.dequeue(), queue.enqueue(5)
    with Session(graph=graph, config=ONE_THREAD) as session:

        def put_in() -> None:
            run_to_end(waiting(session))
            session.run(put)

        thread = threading.Thread(target=put_in)
        thread.start()
        assert session.run(take) == 5
        thread.join()


# -- the end ---------------------------------------------------------------------------------------


async def test_a_closed_queue_gives_what_it_has_and_takes_nothing(session: AsyncSession) -> None:
    queue = ops.FIFOQueue(10, int32, shapes=[], name="q")
    await session.run(queue.enqueue_many([[1, 2, 3]]))
    assert not await session.run(queue.is_closed())
    await session.run(queue.close())
    assert await session.run(queue.is_closed())
    await refused_later(session.run(queue.enqueue(4)), CancelledError, "FIFOQueue 'q' is closed")
    await refused_later(session.run(queue.dequeue_many(4)), OutOfRangeError, r"requested 4, current size 3")
    assert (await session.run(queue.dequeue_up_to(5))).tolist() == [1, 2, 3]
    for take in (queue.dequeue(), queue.dequeue_up_to(5)):
        await refused_later(session.run(take), OutOfRangeError, "closed and has insufficient elements")
    await refused_later(session.run(queue.close()), CancelledError, "already closed")
    await session.run(queue.close(cancel_pending_enqueues=True))


async def test_who_waits_to_put_in_still_does_when_the_queue_is_closed(session: AsyncSession) -> None:
    queue = ops.FIFOQueue(1, int32, shapes=[])
    put = await held(session, queue.enqueue_many([[1, 2]]))
    await session.run(queue.close())
    assert (await soon(session.run(queue.dequeue_many(2)))).tolist() == [1, 2]
    await soon(put)


async def test_who_waits_to_put_in_gives_up_if_asked_to(session: AsyncSession) -> None:
    queue = ops.FIFOQueue(1, int32, shapes=[])
    put = await held(session, queue.enqueue_many([[1, 2]]))
    await session.run(queue.close(cancel_pending_enqueues=True))
    await refused_later(soon(put), CancelledError, "Enqueue operation was cancelled")
    assert await session.run(queue.dequeue()) == 1


async def test_who_waits_to_take_out_hears_of_the_end(session: AsyncSession) -> None:
    queue = ops.FIFOQueue(10, int32, shapes=[])
    taken = [started(session, queue.dequeue()) for _ in range(3)]
    await waiting(session, 3)
    await session.run(queue.close())
    for take in taken:
        await refused_later(soon(take), OutOfRangeError)


@pytest.mark.parametrize("how", ["cancel", "limit"])
async def test_a_step_that_ends_early_takes_nothing(session: AsyncSession, how: str) -> None:
    """Not even what a dequeue_many had taken already, which TensorFlow loses at a timeout."""
    queue = ops.FIFOQueue(10, int32, shapes=[])
    await session.run(queue.enqueue_many([[1, 2]]))
    options = RunOptions(timeout_in_ms=100) if how == "limit" else None
    take = await held(session, queue.dequeue_many(3), options=options)
    if how == "cancel":
        take.cancel()
    await refused_later(soon(take), asyncio.CancelledError if how == "cancel" else DeadlineExceededError)
    await session.run(queue.enqueue(3))
    assert (await session.run(queue.dequeue_many(3))).tolist() == [1, 2, 3]


async def test_a_step_that_ends_early_puts_nothing_more_in(session: AsyncSession) -> None:
    queue = ops.FIFOQueue(1, int32, shapes=[])
    put = await held(session, queue.enqueue_many([[1, 2]]))
    put.cancel()
    await asyncio.wait([put])
    assert (await session.run(queue.dequeue()), await session.run(queue.size())) == (1, 0)


async def test_closing_the_session_ends_who_waits(graph: Graph) -> None:
    queue = ops.FIFOQueue(1, int32, shapes=[])
    session = AsyncSession(graph=graph)
    take = await held(session, queue.dequeue())
    await session.close()
    await refused_later(soon(take), CancelledError)


# -- sharing ---------------------------------------------------------------------------------------


async def test_a_shared_name_is_one_queue_and_an_unnamed_one_is_its_sessions_own(graph: Graph) -> None:
    one = ops.FIFOQueue(10, int32, shapes=[], shared_name="common")
    same = ops.FIFOQueue(10, int32, shapes=[], shared_name="common")
    own = ops.FIFOQueue(10, int32, shapes=[])
    async with (
        in_process() as cluster,
        AsyncSession(cluster.target(), graph) as first,
        AsyncSession(cluster.target(), graph) as second,
    ):
        await first.run([one.enqueue(1), own.enqueue(2)])
        assert (await second.run([same.size(), own.size()]), await soon(second.run(same.dequeue()))) == ([1, 0], 1)


@pytest.mark.parametrize(
    "other",
    [
        lambda: ops.FIFOQueue(4, int32, shapes=[], shared_name="common"),
        lambda: ops.FIFOQueue(3, float32, shapes=[], shared_name="common"),
        lambda: ops.RandomShuffleQueue(3, 1, int32, shapes=[], shared_name="common"),
    ],
    ids=["capacity", "dtype", "kind"],
)
async def test_a_shared_name_that_is_another_queue_is_refused(session: AsyncSession, other: Any) -> None:
    await session.run(ops.FIFOQueue(3, int32, shapes=[], shared_name="common").enqueue(1))
    await refused_later(session.run(other().size()), InvalidArgumentError, "exists in container")


async def test_steps_of_several_tasks_meet_at_a_queue(graph: Graph) -> None:
    with on(W1):
        queue = ops.FIFOQueue(10, float32, shapes=[], shared_name="there")
        put, take = queue.enqueue(4.0), queue.dequeue() * 2.0
    async with in_process() as cluster, AsyncSession(cluster.target(), graph) as session:
        taking = started(session, take)
        await soon(session.run(put))
        assert await soon(taking) == 8.0
        late = started(session, take)
        await eventually(lambda: cluster.server(W1).statistics().steps == 1)
        late.cancel()
        await asyncio.wait([late])
        await cluster.until_idle()
        await soon(session.run(put))
        assert await session.run(queue.size()) == 1


async def test_a_queue_is_chosen_in_each_step(session: AsyncSession) -> None:
    queues = [ops.FIFOQueue(3, int32, shapes=[[]]) for _ in range(2)]
    which = ops.placeholder("int32", [])
    chosen = ops.QueueBase.from_list(which, queues)
    put = chosen.enqueue(which)
    for i in (0, 1, 1):
        await session.run(put, {which: i})
    assert await session.run([q.size() for q in queues]) == [1, 2]
    await refused_later(session.run(chosen.size(), {which: 2}), InvalidArgumentError, r"index 2 is not in \[0, 2\)")


def test_queues_to_choose_from_have_elements_of_one_kind() -> None:
    queue = ops.FIFOQueue(3, int32, names=["a"])
    for others in ([], [3], [ops.FIFOQueue(3, float32)], [ops.FIFOQueue(3, int32, names=["b"])]):
        with pytest.raises(TypeError, match=r"list of queues expected|do not have matching"):
            ops.QueueBase.from_list(0, [queue, *others] if others else [])


# -- what is refused, and names --------------------------------------------------------------------


def test_nodes_are_called_as_in_tensorflow() -> None:
    queue = ops.FIFOQueue(3, [float32, int32], shapes=[[], [2]], name="q")
    put = queue.enqueue([1.0, [1, 2]])
    many = queue.dequeue_many(2)
    assert [t.name for t in put.inputs] == ["q:0", "q_enqueue/component_0:0", "q_enqueue/component_1:0"]
    assert isinstance(many, list)
    assert (many[0].name, many[0].shape) == ("q_DequeueMany:0", TensorShape([2]))
    assert queue.dequeue_up_to(2)[0].shape.as_list() == [None]
    assert [queue.close().name, queue.size().name, queue.is_closed().name] == ["q_Close", "q_Size:0", "q_Is_Closed:0"]


async def test_components_may_have_names(session: AsyncSession) -> None:
    queue = ops.FIFOQueue(3, [float32, int32], names=["a", "b"])
    await session.run(queue.enqueue({"b": 1, "a": 2.0}))
    assert await session.run(queue.dequeue()) == {"a": 2.0, "b": 1}
    refused(lambda: queue.enqueue([1.0, 2]), ValueError, "You must enqueue a dictionary")
    refused(lambda: queue.enqueue({"a": 1.0, "c": 2}), ValueError, "do not match names of Queue")
    with pytest.raises(ValueError, match="must have names to enqueue a dictionary"):
        ops.FIFOQueue(3, float32).enqueue({"a": 1.0})


@pytest.mark.parametrize(
    ("values", "error", "words"),
    [
        ([1.0], ValueError, "2 components, got a list of 1"),
        ([1.0, [1.0, 2.0]], TypeError, "int32"),
        ([1.0, [1]], ValueError, "component 1 has shape"),
    ],
    ids=["count", "dtype", "shape"],
)
def test_what_is_no_element_is_refused_where_it_is_built(values: Any, error: type[Exception], words: str) -> None:
    queue = ops.FIFOQueue(3, [float32, int32], shapes=[[], [2]])
    refused(lambda: queue.enqueue(values), error, words)


def test_as_many_rows_of_each_component_are_put_in() -> None:
    queue = ops.FIFOQueue(3, [float32, int32], shapes=[[], [2]])
    with pytest.raises(ValueError, match=r"a row for each element, got \[2, 1\] rows"):
        queue.enqueue_many([[1.0, 2.0], [[1, 2]]])


async def test_what_is_no_element_is_refused_when_it_is_known(session: AsyncSession) -> None:
    queue = ops.FIFOQueue(3, [float32, int32], shapes=[[], [2]])
    x, y = ops.placeholder("float32"), ops.placeholder("int32")
    with pytest.raises(InvalidArgumentError, match=r"component 0. Expected \[\], got \[2\]"):
        await session.run(queue.enqueue([x, y]), {x: [1.0, 2.0], y: [1, 2]})
    with pytest.raises(InvalidArgumentError, match="same size in the 0th dimension"):
        await session.run(queue.enqueue_many([x, y]), {x: [1.0], y: [[1, 2], [3, 4]]})
    assert await session.run(queue.size()) == 0


async def test_several_as_one_need_known_shapes(session: AsyncSession) -> None:
    queue = ops.FIFOQueue(3, float32)
    await refused_later(session.run(queue.dequeue_many(2)), InvalidArgumentError, "components to have specified shapes")


@for_each(
    "make, words",
    [
        (lambda: ops.FIFOQueue(3, [float32], shapes=[[], []]), "same length as dtypes"),
        (lambda: ops.FIFOQueue(3, [float32], names=["a", "b"]), "same length as dtypes"),
        (lambda: ops.FIFOQueue(3, []), "at least one component"),
        (lambda: ops.FIFOQueue(3, [float32], shapes=[[None]]), "fully defined"),
        (lambda: ops.RandomShuffleQueue(3, 1, [float32], shapes=[[None]]), "fully defined"),
        (lambda: ops.PriorityQueue(3, [float32], shapes=[[None]]), "fully defined"),
        (lambda: ops.PaddingFIFOQueue(3, [float32], shapes=None), "must be provided"),
        (lambda: ops.PaddingFIFOQueue(3, float32, shapes=TensorShape(None)), "must have a defined rank"),
    ],
    ids=["shapes", "names", "none", "open", "open shuffled", "open by priority", "padding", "padding of rank"],
)
def test_a_queue_that_makes_no_sense_leaves_no_node(graph: Graph, make: Any, words: str) -> None:
    refused(lambda: make(), ValueError, words)
    assert graph.get_operations() == []


# -- the state, against a model ----------------------------------------------------------------------


@hypothesis.given(
    st.lists(
        st.one_of(
            st.tuples(st.just("put"), st.integers(1, 4)),
            st.tuples(st.just("take"), st.integers(0, 4)),
            st.tuples(st.just("cancel"), st.integers(0, 30)),
        ),
        max_size=40,
    ),
    st.integers(1, 5),
)
def test_nothing_is_lost_doubled_or_moved_whatever_is_cancelled(calls: list[tuple[str, int]], capacity: int) -> None:
    queue = QueueState("q", capacity, FifoElements())
    numbers = iter(range(1000))
    puts: list[tuple[list[int], Any]] = []
    takes: list[Any] = []
    for what, n in calls:
        if what == "put":
            values = [next(numbers) for _ in range(n)]
            puts.append((values, queue.enqueue([(v,) for v in values])))
        elif what == "take":
            takes.append(queue.dequeue(n, list))
        else:
            futures = [*[f for _, f in puts], *takes]
            if futures:
                futures[n % len(futures)].cancel()
    done = [v for values, f in puts if not f.cancelled() for v in values]
    partly = {v for values, f in puts if f.cancelled() for v in values}
    queue.close(cancel_pending=False)
    out = [e[0] for f in takes if not f.cancelled() and f.exception() is None for e in f.result()]
    while True:
        rest = queue.dequeue(1, join_one)
        if rest.exception(1) is not None:
            break
        out.append(rest.result())
    assert ([v for v in out if v not in partly], len(set(out))) == (done, len(out))


def test_what_goes_back_to_a_priority_queue_comes_out_first_again() -> None:
    elements = PriorityElements()
    for number, word in ((2, "x"), (1, "a"), (1, "b")):
        elements.add((number, word))
    taken = [elements.take() for _ in range(2)]
    elements.add((1, "c"))
    elements.put_back(taken)
    assert [elements.take()[-1][1] for _ in range(4)] == ["a", "b", "c", "x"]


# -- the handle alone ------------------------------------------------------------------------------


@for_each(
    "other, said",
    [
        (lambda: ops.FIFOQueue(3, int32, shared_name="q"), "capacity 3"),
        (lambda: ops.FIFOQueue(4, [int32, int32], shared_name="q"), r"\[int32, int32\]"),
        (lambda: ops.FIFOQueue(4, int32, [[1, 2]], shared_name="q"), r"component shapes \[\(1, 2\)\]"),
        (lambda: ops.RandomShuffleQueue(4, 1, int32, shared_name="q"), "a RandomShuffleQueue of"),
        (lambda: ops.PaddingFIFOQueue(4, int32, [[None]], shared_name="q"), "a PaddingFIFOQueue of"),
    ],
)
async def test_running_the_handle_of_a_queue_makes_and_checks_it(session: AsyncSession, other: Any, said: str) -> None:
    handle = ops.FIFOQueue(4, int32, shared_name="q").queue_ref.op
    for _ in range(2):
        assert await session.run(handle) is None
    wrong = other().queue_ref.op
    with pytest.raises(InvalidArgumentError, match=f"was asked for as .*{said}") as error:
        await session.run(wrong)
    assert error.value.op is wrong
    assert await session.run(handle) is None


async def test_nodes_of_one_random_queue_have_the_same_seeds(session: AsyncSession) -> None:
    def made(seed: int | None, name: str = "q") -> Any:
        return ops.RandomShuffleQueue(4, 1, int32, shared_name=name, seed=seed).queue_ref.op

    await session.run(made(12))
    await session.run(made(12))
    await refused_later(session.run(made(21)), InvalidArgumentError, r"random seeds \(\d+, 21\)")
    ops.set_random_seed(5)
    # Without a seed of their own, those of the graph and of the name count, not the place in the graph.
    await session.run(made(None, "by name"))
    await session.run(made(None, "by name"))


async def test_a_negative_number_of_elements_is_refused_when_it_is_known(session: AsyncSession) -> None:
    queue, n = ops.FIFOQueue(4, int32, []), ops.placeholder("int32", [])
    for take, what in ((queue.dequeue_many, "DequeueMany"), (queue.dequeue_up_to, "DequeueUpTo")):
        with pytest.raises(InvalidArgumentError, match=rf"^{what}Op requested -1 < 0 elements"):
            await session.run(take(n), {n: -1})
    refused(lambda: queue.dequeue_many(-1), ValueError, "n is at least 0, got -1")
