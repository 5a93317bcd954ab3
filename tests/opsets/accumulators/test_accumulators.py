"""Accumulators: gradients wait until there are enough of them, and those of old steps do not count."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, IndexedSlices, float32, ops, opsets
from actorsession.errors import InvalidArgumentError
from actorsession.opsets.accumulators.state import AccumulatorState, DenseSum
from tests.cluster.kit import eventually, soon
from tests.rows import for_each, refused, refused_later


@for_each("reduction, wanted", [("MEAN", [2.0, 3.0]), ("SUM", [4.0, 6.0])])
async def test_enough_gradients_are_taken_together(session: AsyncSession, reduction: str, wanted: list[float]) -> None:
    total = opsets.ConditionalAccumulator(float32, shape=[2], reduction_type=reduction)
    g = ops.placeholder("float32", [2])
    add, take = total.apply_grad(g), total.take_grad(2)
    taking = asyncio.ensure_future(session.run(take))
    await session.run(add, {g: [1.0, 2.0]})
    assert not taking.done()
    assert await session.run(total.num_accumulated()) == 1
    await session.run(add, {g: [3.0, 4.0]})
    np.testing.assert_array_equal(await soon(taking), wanted)
    assert await session.run(total.num_accumulated()) == 0


async def test_a_gradient_of_an_old_step_does_not_count(session: AsyncSession) -> None:
    total = opsets.ConditionalAccumulator(float32, shape=[])
    step, wanted = ops.placeholder("int64", []), ops.placeholder("int32", [])
    add, take, count = total.apply_grad(1.0, step), total.take_grad(wanted), total.num_accumulated()
    await session.run(add, {step: 0})
    assert await session.run(take, {wanted: 1}) == 1.0
    await session.run(add, {step: 0})
    assert await session.run(count) == 0
    await session.run(add, {step: 1})
    assert await session.run(count) == 1
    await session.run(total.set_global_step(5))
    await session.run(total.set_global_step(2))  # earlier than now: left alone
    await session.run(add, {step: 4})
    assert await session.run(count) == 1


async def test_a_step_that_ends_early_takes_nothing(session: AsyncSession) -> None:
    total = opsets.ConditionalAccumulator(float32, shape=[])
    add, take = total.apply_grad(1.0), total.take_grad(2)
    await session.run(add)
    taking = asyncio.ensure_future(session.run(take))
    await eventually(lambda: session.statistics().steps == 1)
    taking.cancel()
    await asyncio.wait([taking])
    await session.run(add)
    assert (await session.run(total.num_accumulated()), await soon(session.run(take))) == (2, 1.0)


def test_gradients_that_go_back_make_their_step_current_again() -> None:
    """But never one before the step that the program has set."""
    state = AccumulatorState("total", DenseSum(), mean=False)
    state.apply(np.ones(2), step=0)
    taken = state.take(1, lambda total: total)
    state.apply(np.ones(2), step=0)
    assert state.count == 0, "a gradient of step 0 is old once those of step 0 were taken"
    taken.put_back()
    state.apply(np.ones(2), step=0)
    assert state.count == 2
    taken = state.take(2, lambda total: total)
    state.set_step(1)
    taken.put_back()
    state.apply(np.ones(2), step=0)
    assert state.count == 2


def test_what_was_handed_out_may_be_overwritten_before_it_goes_back() -> None:
    state = AccumulatorState("total", DenseSum(), mean=False)
    state.apply(np.ones(2), step=0)
    taken = state.take(1, lambda total: total)
    taken.result()[:] = 7
    taken.put_back()
    assert state.take(1, lambda total: total).result().tolist() == [1, 1]


async def test_the_mean_of_a_row_is_over_gradients_and_not_over_how_often_they_have_it(session: AsyncSession) -> None:
    total = opsets.SparseConditionalAccumulator(float32, shape=[4, 1])
    await session.run(total.apply_grad([2, 2, 1], [[1.0], [2.0], [8.0]]))
    await session.run(total.apply_grad([2], [[5.0]]))
    indices, rows, _ = await session.run(total.take_grad(2))
    assert indices.tolist() == [1, 2]
    np.testing.assert_array_equal(rows, [[8.0], [4.0]])


async def test_rows_are_added_up_where_they_belong(session: AsyncSession) -> None:
    """The mean of a row is over the gradients that have it."""
    total = opsets.SparseConditionalAccumulator(float32, shape=[4, 2])
    await session.run(total.apply_grad([0, 2], [[1.0, 1.0], [2.0, 2.0]], [4, 2]))
    await session.run(total.apply_grad([2, 3], [[3.0, 3.0], [5.0, 5.0]]))
    indices, rows, shape = await session.run(total.take_grad(2))
    assert indices.tolist() == [0, 2, 3]
    np.testing.assert_array_equal(rows, [[1.0, 1.0], [2.5, 2.5], [5.0, 5.0]])
    assert shape.tolist() == [4, 2]


async def test_the_shape_of_a_sparse_accumulator_is_that_of_its_first_axes(session: AsyncSession) -> None:
    total = opsets.SparseConditionalAccumulator(float32, shape=())
    await session.run(total.apply_grad([0, 2], [[1.0, 0.0], [0.0, 2.0]]))
    with pytest.raises(InvalidArgumentError, match="expected values dim 1 to be 2, got 3"):
        await session.run(total.apply_grad([0], [[1.0, 1.0, 1.0]]))
    with pytest.raises(InvalidArgumentError, match="expected values rank 2, got 3"):
        await session.run(total.apply_grad([0], [[[1.0, 1.0]]]))
    _, rows, shape = await session.run(total.take_grad(1))
    assert (rows.tolist(), shape.tolist()) == ([[1.0, 0.0], [0.0, 2.0]], [-1, 2])
    step = total.set_global_step(ops.constant(3, "int32"))
    await session.run(step)


async def test_gradients_of_gathers_go_in_and_come_out(session: AsyncSession) -> None:
    total = opsets.SparseConditionalAccumulator(float32, shape=[4, 1], reduction_type="SUM")
    v = ops.Variable(np.ones([4, 1], np.float32))
    (gradient,) = ops.gradients(ops.gather(v, [1, 1, 3]) * 2.0, [v])
    assert isinstance(gradient, IndexedSlices)
    await session.run(v.initializer)
    await session.run(total.apply_indexed_slices_grad(gradient))
    found = await session.run(total.take_indexed_slices_grad(1))
    assert found.indices.tolist() == [1, 3]
    np.testing.assert_array_equal(found.values, [[4.0], [2.0]])


async def test_a_sparse_gradient_that_does_not_fit_is_refused(session: AsyncSession) -> None:
    total = opsets.SparseConditionalAccumulator(float32, shape=[4, 2])
    refused: list[tuple[tuple[Any, ...], str]] = [
        (([7], [[3.0, 3.0]]), "index of slice 0 exceeded limits of shape; index is 7 exceeded 4"),
        (([1], [[3.0]]), "expected values dim 1 to be 2, got 1"),
        (([1], [[3.0, 1.0]], [5, 2]), "expected shape dim 0 to be 4, got 5"),
        (([1, 2], [[3.0, 1.0]]), "Expected 2 non-empty input values, got 1"),
        (([[1]], [[3.0, 1.0]]), "Input indices should be vector"),
        (([1], 3.0), "Values cannot be 0-dimensional"),
        (([1], [3.0]), "expected values rank at least 2, got 1"),
        (([1], [[3.0, 1.0]], [4]), "expected shape rank at least 2, got 1"),
    ]
    applied = [(total.apply_grad(*arguments), words) for arguments, words in refused]
    count = total.num_accumulated()
    for apply, words in applied:
        await refused_later(session.run(apply), InvalidArgumentError, words)
        assert await session.run(count) == 0


async def test_a_gradient_that_does_not_fit_is_refused(session: AsyncSession) -> None:
    total = opsets.ConditionalAccumulator(float32, shape=[2])
    refused(lambda: total.apply_grad([1.0, 2.0, 3.0]), ValueError, "incompatible")
    refused(lambda: total.apply_grad(ops.constant([1.0, 2.0], "float64")), TypeError, "float32")
    x = ops.placeholder("float32")
    with pytest.raises(InvalidArgumentError, match=r"takes gradients of shape \(2,\), got \[1\]"):
        await session.run(total.apply_grad(x), {x: [1.0]})
    await refused_later(session.run(total.take_grad(0)), InvalidArgumentError, "num_required is at least 1")
    refused(lambda: opsets.ConditionalAccumulator(float32, reduction_type="MOST"), ValueError, "reduction_type")


async def test_shapes_that_are_not_known_must_agree(session: AsyncSession) -> None:
    dense, sparse = (opsets.ConditionalAccumulator(float32), opsets.SparseConditionalAccumulator(float32))
    await session.run([dense.apply_grad([1.0]), sparse.apply_grad([0], [[1.0]])])
    await refused_later(session.run(dense.apply_grad([1.0, 2.0])), InvalidArgumentError, "so far have shape")
    await refused_later(session.run(sparse.apply_grad([1], [[1.0, 2.0]])), InvalidArgumentError, "so far have shape")
    assert (await session.run(sparse.take_grad(1)))[2].tolist() == [-1, 1]
