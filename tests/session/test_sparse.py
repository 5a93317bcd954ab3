"""Sparse tensors and slices as fetches and feed keys."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import IndexedSlices, SparseTensor, ops, opsets
from actorsession.errors import InvalidArgumentError
from tests.rows import for_each

FED = ([[1, 1]], [2.0], [2, 3])


def _same(found: Any, expected: Any) -> None:
    assert type(found) is type(expected)
    for got, want in zip(found, expected, strict=True):
        np.testing.assert_array_equal(got, want)


async def test_a_sparse_tensor_gives_a_sparse_tensor_value(session: Any) -> None:
    sparse = SparseTensor([[0, 0], [1, 2]], [1.0, 2.0], [2, 3])
    found = await session.run(sparse)
    _same(found, acts.sparse.SparseTensorValue([[0, 0], [1, 2]], [1, 2], [2, 3]))
    assert [part.dtype.name for part in found] == ["int64", "float32", "int64"]
    assert all(part.flags.writeable for part in found)
    nested = await session.run({"s": [sparse, sparse.values]})
    _same(nested["s"][0], found)


async def test_a_value_whose_parts_are_tensors_is_an_ordinary_named_tuple(session: Any) -> None:
    x = ops.constant([1.0])
    _same(await session.run(acts.sparse.SparseTensorValue(x, x, x)), acts.sparse.SparseTensorValue([1], [1], [1]))


async def test_slices_give_their_value_and_no_shape_when_they_have_none(session: Any) -> None:
    rows, indices = ops.constant([[1.0, 2.0]]), ops.constant([0])
    found = await session.run(IndexedSlices(rows, indices))
    assert found.dense_shape is None
    _same(found[:2], ([[1, 2]], [0]))
    assert type(found) is acts.sparse.IndexedSlicesValue
    whole = IndexedSlices(rows, indices, ops.constant([4, 2]))
    found = await session.run(whole)
    assert type(found) is acts.sparse.IndexedSlicesValue
    _same(tuple(found), ([[1, 2]], [0], [4, 2]))


@for_each("value", [FED, list(FED), acts.sparse.SparseTensorValue(*FED)], ids=["tuple", "list", "value"])
async def test_a_sparse_placeholder_is_fed_a_tuple_or_a_value(session: Any, value: Any) -> None:
    sparse = opsets.sparse_placeholder("float32", name="sp")
    _same(await session.run(sparse, {sparse: value}), acts.sparse.SparseTensorValue(*FED))
    dense = opsets.sparse_tensor_to_dense(sparse)
    expected = [[0, 0, 0], [0, 2, 0]]
    np.testing.assert_array_equal(await session.run(dense, {sparse: value}), expected)


async def test_the_parts_of_a_sparse_placeholder_are_fed_one_by_one_too(session: Any) -> None:
    sparse = opsets.sparse_placeholder("float32", name="sp")
    dense = opsets.sparse_tensor_to_dense(sparse)
    feeds = {sparse.indices: FED[0], sparse.values: FED[1], "sp/shape:0": FED[2]}
    np.testing.assert_array_equal(await session.run(dense, feeds), [[0, 0, 0], [0, 2, 0]])


async def test_a_sparse_key_may_stand_in_a_tuple(session: Any) -> None:
    sparse, x = opsets.sparse_placeholder("float32"), ops.placeholder("float32", [])
    dense = opsets.sparse_tensor_to_dense(sparse) * x
    found = await session.run(dense, {(sparse, x): (FED, 3)})
    np.testing.assert_array_equal(found, [[0, 0, 0], [0, 6, 0]])


async def test_a_sparse_placeholder_with_a_shape_has_it_unless_it_is_fed(session: Any) -> None:
    sparse = opsets.sparse_placeholder("float32", [2, 3])
    parts = {sparse.indices: [[0, 0]], sparse.values: [1.0]}
    _same(await session.run(sparse, parts), acts.sparse.SparseTensorValue([[0, 0]], [1], [2, 3]))
    other = acts.sparse.SparseTensorValue([[1, 1]], [2.0], [9, 9])
    _same(await session.run(sparse, {sparse: other}), other)


async def test_parts_that_are_not_fed_are_needed(session: Any) -> None:
    sparse = opsets.sparse_placeholder("float32", name="sp")
    with pytest.raises(InvalidArgumentError, match="'sp/shape'"):
        await session.run(sparse, {sparse: FED[:2]})
    with pytest.raises(InvalidArgumentError, match="must feed"):
        await session.run(sparse)


@for_each("value", [None, 5, 1.5])
async def test_a_value_without_parts_is_refused(session: Any, value: Any) -> None:
    sparse = opsets.sparse_placeholder("float32")
    with pytest.raises(TypeError, match="a tuple of 3 arrays"):
        await session.run(sparse, {sparse: value})


async def test_a_sparse_tensor_is_no_value(session: Any) -> None:
    sparse = opsets.sparse_placeholder("float32")
    with pytest.raises(TypeError):
        await session.run(sparse, {sparse: SparseTensor([[0, 0]], [1.0], [2, 3])})


async def test_the_parts_of_a_sparse_feed_have_shapes_that_are_checked(session: Any) -> None:
    sparse = opsets.sparse_placeholder("float32", [2, 3])
    with pytest.raises(ValueError, match="shape"):
        await session.run(sparse, {sparse: ([[1, 1, 1]], [2.0], [2, 3])})


async def test_a_sparse_tensor_with_a_constant_shape_cannot_be_fed(session: Any) -> None:
    sparse = SparseTensor([[0, 0]], [1.0], [2, 3])
    with pytest.raises(ValueError, match="dense_shape:0 may not be fed"):
        await session.run(sparse, {sparse: FED})


async def test_slices_are_fed_a_tuple_or_a_value(session: Any) -> None:
    slices = IndexedSlices(ops.constant([[1.0, 2.0]]), ops.constant([0]))
    whole = IndexedSlices(slices.values, slices.indices, ops.constant([4, 2]))
    fed = acts.sparse.IndexedSlicesValue(np.array([[3, 4]]), np.array([1]), np.array([5, 2]))
    for key in (slices, whole):
        found = await session.run(key, {key: fed})
        _same(found[:2], fed[:2])
    _same(await session.run(whole, {whole: fed}), fed)
    left_out = await session.run(whole, {whole: fed[:2]})
    np.testing.assert_array_equal(left_out.dense_shape, [4, 2])


async def test_sparse_fetches_are_remembered_like_others(make_session: Any) -> None:
    face = make_session()
    sparse = SparseTensor([[0, 0]], [1.0], [2, 3])
    slices = IndexedSlices(sparse.values, sparse.indices)
    for _ in range(3):
        await face.run({"a": sparse, "b": [slices]})
    assert len(face.session._requests) == 1
