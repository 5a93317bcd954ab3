"""Barriers: components come one by one, elements go once they are complete, who waits holds no thread."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, Session, float32, int32, ops, opsets, string
from actorsession.errors import CancelledError, InvalidArgumentError, OutOfRangeError
from tests.cluster.kit import soon
from tests.ops.queues.kit import held
from tests.rows import for_each, refused_later, refusing

FIRST = -(2**63)


async def begun(session: AsyncSession, ready: int, incomplete: int, *, closed: bool = False) -> opsets.Barrier:
    """A barrier of two numbers with so many elements ``k0``, ``k1``, ..."""
    barrier = opsets.Barrier((float32, float32), shapes=((), ()))
    keys = [f"k{i}" for i in range(ready + incomplete)]
    if keys:
        await session.run(barrier.insert_many(0, keys, np.arange(len(keys), dtype=np.float32)))
    if ready:
        await session.run(barrier.insert_many(1, keys[:ready], [7.0] * ready))
    if closed:
        await session.run(barrier.close())
    return barrier


async def sizes(session: AsyncSession, barrier: opsets.Barrier) -> list[int]:
    return [int(n) for n in await session.run([barrier.ready_size(), barrier.incomplete_size()])]


# -- elements --------------------------------------------------------------------------------------


async def test_elements_come_out_in_the_order_in_which_their_keys_came(session: AsyncSession) -> None:
    barrier = opsets.Barrier((string, int32), shapes=((), ()))
    for component, keys, values in (
        (0, ["k1", "k2"], ["a", "b"]),
        (1, ["k1"], [1]),
        (0, ["k3"], ["c"]),
        (1, ["k3"], [3]),
        (1, ["k2"], [2]),
    ):
        await session.run(barrier.insert_many(component, keys, values))
    assert await sizes(session, barrier) == [3, 0]
    taken = barrier.take_many(2)
    found = await session.run(taken)
    assert (found.indices.tolist(), found.keys.tolist()) == ([FIRST, FIRST], [b"k1", b"k2"])
    assert [v.tolist() for v in found.values] == [[b"a", b"b"], [1, 2]]
    found = await session.run(barrier.take_many(1))
    assert (found.indices.tolist(), found.keys.tolist()) == ([FIRST + 1], [b"k3"])


async def test_a_key_may_come_again_once_its_element_is_complete(session: AsyncSession) -> None:
    barrier = await begun(session, 1, 0)
    await session.run(barrier.insert_many(0, ["k0"], [5.0]))
    assert await sizes(session, barrier) == [1, 1]


async def test_static_shapes_are_those_of_the_barrier(graph: Graph) -> None:
    barrier = opsets.Barrier((float32, float32), shapes=((), (2,)))
    assert (barrier.name, barrier.barrier_ref.op.type) == ("barrier", "Barrier")
    taken = barrier.take_many(3)
    assert taken.indices.op.name == "barrier_BarrierTakeMany"
    assert [t.shape.as_list() for t in (*taken[:2], *taken.values)] == [[3], [3], [3], [3, 2]]
    small = barrier.take_many(3, allow_small_batch=True)
    assert small.values[1].shape.as_list() == [None, 2]
    single = opsets.Barrier(float32).take_many(2)
    assert (len(single.values), single.values[0].shape.rank) == (1, None)
    assert [value.shape.rank for value in opsets.Barrier((float32, string)).take_many(1)[2]] == [None, None]


async def test_values_without_a_known_shape_have_that_of_the_first(session: AsyncSession) -> None:
    barrier = opsets.Barrier(float32)
    await session.run(barrier.insert_many(0, ["a", "b"], [[1.0, 2.0], [3.0, 4.0]]))
    with pytest.raises(InvalidArgumentError, match=r"has shape \(2,\), got values of shape \[1\]"):
        await session.run(barrier.insert_many(0, ["c"], [[1.0]]))
    found = await session.run(barrier.take_many(2))
    assert found.values[0].tolist() == [[1.0, 2.0], [3.0, 4.0]]


# -- what does not fit -----------------------------------------------------------------------------


@for_each("keys", [["q", "k0", "r"], ["new", "new"]], ids=["begun", "twice"])
async def test_an_insertion_that_repeats_a_component_changes_nothing(session: AsyncSession, keys: list[str]) -> None:
    barrier = await begun(session, 0, 1)
    with pytest.raises(InvalidArgumentError, match="already has a value for component 0"):
        await session.run(barrier.insert_many(0, keys, [1.0] * len(keys)))
    assert await sizes(session, barrier) == [0, 1]


@for_each(
    "component, keys, values, words",
    [
        (5, ["a"], [1.0], "there is no component 5"),
        (-1, ["a"], [1.0], "there is no component -1"),
        (0, ["a"], [1], "component 0 is float32"),
        (0, ["a"], [[1.0]], r"has shape \(\), got values of shape \[1\]"),
    ],
    ids=["above", "below", "dtype", "shape"],
)
async def test_values_that_do_not_fit_are_refused(
    session: AsyncSession, component: int, keys: Any, values: Any, words: str
) -> None:
    barrier = await begun(session, 0, 0)
    await refused_later(session.run(barrier.insert_many(component, keys, values)), InvalidArgumentError, words)


async def test_shapes_that_are_wrong_at_run_time_are_refused_then(session: AsyncSession) -> None:
    barrier = opsets.Barrier(float32)
    keys, values = ops.placeholder(string), ops.placeholder(float32)
    insert = barrier.insert_many(0, keys, values)
    for k, v in (("a", 1.0), ("a", [1.0]), (["a", "b"], [1.0]), ([["a"]], [1.0])):
        with pytest.raises(InvalidArgumentError, match="a vector of keys and a row of values"):
            await session.run(insert, {keys: k, values: v})
    with pytest.raises(InvalidArgumentError, match="Tensors with no elements are not supported"):
        await session.run(insert, {keys: ["a"], values: np.zeros([1, 0])})
    await session.run(insert, {keys: [], values: []})
    assert await sizes(session, barrier) == [0, 0]


def _barrier(*types: Any, **given: Any) -> opsets.Barrier:
    return opsets.Barrier(types or (float32,), **(given or {"shapes": ((),)}))


test_what_is_wrong_when_it_is_built_is_refused_by_that_line = refusing(
    (lambda: _barrier().insert_many(0, [["a"]], [1.0]), ValueError, "takes a vector as keys"),
    (lambda: _barrier().insert_many(0, ["a", "b"], [1.0]), ValueError, "a row for each key"),
    (lambda: _barrier().insert_many(0, [1], [1.0]), TypeError, "takes string as keys; got int32"),
    (lambda: _barrier().take_many(1, timeout=cast("Any", 10)), TypeError, "knows no timeout"),
    (lambda: _barrier().take_many(-1), ValueError, "num_elements is at least 0"),
    (lambda: _barrier(shapes=((0,),)), ValueError, "Empty tensors are not supported"),
    (lambda: _barrier(float32, float32, shapes=((),)), ValueError, "a shape for each of its 2 types"),
)


# -- waiting ---------------------------------------------------------------------------------------


async def test_taking_waits_until_enough_are_complete(session: AsyncSession) -> None:
    barrier = await begun(session, 1, 2)
    taking = await held(session, barrier.take_many(2))
    assert await sizes(session, barrier) == [1, 2]
    await session.run(barrier.insert_many(1, ["k2"], [9.0]))
    found = await soon(taking)
    assert (found.keys.tolist(), [v.tolist() for v in found.values]) == ([b"k0", b"k2"], [[0.0, 2.0], [7.0, 9.0]])


async def test_a_step_that_ends_early_takes_nothing_and_lets_others_through(session: AsyncSession) -> None:
    barrier = await begun(session, 1, 0)
    first = await held(session, barrier.take_many(5))
    second = await held(session, barrier.take_many(1), count=2)
    first.cancel()
    await asyncio.wait([first])
    assert (await soon(second)).keys.tolist() == [b"k0"]


def test_a_barrier_with_a_shared_name_is_that_of_the_device(graph: Graph) -> None:
    one, other = [opsets.Barrier(float32, shapes=(), shared_name="b") for _ in range(2)]
    apart = opsets.Barrier(float32, shapes=())
    with Session(graph=graph) as session:
        session.run(one.insert_many(0, ["a"], [1.0]))
        assert session.run([other.ready_size(), apart.ready_size()]) == [1, 0]
        with pytest.raises(InvalidArgumentError, match="exists in container"):
            session.run(opsets.Barrier(int32, shapes=(), shared_name="b").ready_size())


# -- closing ---------------------------------------------------------------------------------------


async def test_a_closed_barrier_takes_no_new_keys(session: AsyncSession) -> None:
    barrier = await begun(session, 0, 1, closed=True)
    await refused_later(session.run(barrier.insert_many(0, ["new"], [1.0])), CancelledError, "a brand new key: new")
    await refused_later(session.run(barrier.close()), CancelledError, "already closed")
    await session.run(barrier.insert_many(1, ["k0"], [1.0]))
    assert await sizes(session, barrier) == [1, 0]
    await refused_later(session.run(barrier.insert_many(1, ["k0"], [1.0])), CancelledError, "is closed")


async def test_a_barrier_that_is_closed_for_good_drops_what_is_begun(session: AsyncSession) -> None:
    barrier = await begun(session, 1, 2, closed=True)
    await session.run(barrier.close(cancel_pending_enqueues=True))
    assert await sizes(session, barrier) == [1, 0]
    with pytest.raises(CancelledError, match="Pending enqueues cancelled: True"):
        await session.run(barrier.insert_many(1, ["k1"], [1.0]))
    await refused_later(session.run(barrier.close(cancel_pending_enqueues=True)), CancelledError, "already closed")


@pytest.mark.parametrize(
    ("ready", "incomplete", "wanted", "small", "words"),
    [
        (0, 0, 0, False, "requested 0, total size 0"),
        (0, 1, 2, False, "requested 2, total size 1"),
        (1, 1, 3, False, "requested 3, total size 2"),
        (0, 1, 3, True, "total size 0"),
    ],
    ids=["none", "begun", "both", "small"],
)
async def test_a_closed_barrier_says_that_there_will_not_be_enough(
    session: AsyncSession, ready: int, incomplete: int, wanted: int, small: bool, words: str
) -> None:
    barrier = await begun(session, ready, incomplete, closed=True)
    await refused_later(session.run(barrier.take_many(wanted, allow_small_batch=small)), OutOfRangeError, words)


async def test_a_closed_barrier_gives_what_it_has(session: AsyncSession) -> None:
    barrier = await begun(session, 3, 1, closed=True)
    assert (await session.run(barrier.take_many(1))).keys.tolist() == [b"k0"]
    found = await session.run(barrier.take_many(5, allow_small_batch=True))
    assert found.keys.tolist() == [b"k1", b"k2"]
    taking = await held(session, barrier.take_many(1))
    await session.run(barrier.insert_many(1, ["k3"], [1.0]))
    assert (await soon(taking)).keys.tolist() == [b"k3"]


async def test_who_waits_when_the_last_element_is_complete_gets_what_is_left(session: AsyncSession) -> None:
    """TensorFlow lets both wait for ever."""
    barrier = await begun(session, 1, 1)
    small = await held(session, barrier.take_many(5, allow_small_batch=True))
    whole = await held(session, barrier.take_many(1), count=2)
    await session.run(barrier.close())
    await session.run(barrier.insert_many(1, ["k1"], [1.0]))
    assert (await soon(small)).keys.tolist() == [b"k0", b"k1"]
    await refused_later(soon(whole), OutOfRangeError, "requested 1, total size 0")


async def test_closing_for_good_ends_those_who_wait_for_too_many(session: AsyncSession) -> None:
    barrier = await begun(session, 1, 1)
    taking = await held(session, barrier.take_many(2))
    await session.run(barrier.close(cancel_pending_enqueues=True))
    await refused_later(soon(taking), OutOfRangeError, "requested 2, total size 1")
    assert await sizes(session, barrier) == [1, 0]
