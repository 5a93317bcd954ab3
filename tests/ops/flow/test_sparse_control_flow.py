"""Sparse tensors as variables of loops and results of branches."""

from __future__ import annotations

from typing import Any

import pytest

import actorsession as acts
from actorsession import ops, opsets


def run(fetches: Any, feeds: Any = None) -> Any:
    with acts.Session() as session:
        return session.run(fetches, feeds)


def diagonal(*values: float) -> Any:
    """A square matrix of which only the diagonal is there."""
    n = len(values)
    return opsets.SparseTensor([[i, i] for i in range(n)], list(values), [n, n])


def entries(value: Any) -> dict[Any, float]:
    """The entries of a fetched sparse tensor by their coordinates."""
    places = [tuple(place) for place in value.indices.tolist()]
    return dict(zip(places, value.values.tolist(), strict=True))


def test_a_loop_carries_a_sparse_tensor() -> None:
    count, found = ops.while_loop(
        lambda i, s: i < 3,
        lambda i, s: (i + 1, opsets.SparseTensor(s.indices, s.values * 2.0, s.dense_shape)),
        (0, diagonal(1.0, 2.0)),
    )
    assert isinstance(found, opsets.SparseTensor)
    assert found.shape.rank == 2
    last, value = run([count, found])
    assert (last, entries(value), value.dense_shape.tolist()) == (3, {(0, 0): 8.0, (1, 1): 16.0}, [2, 2])


def test_it_may_gain_entries_in_a_loop_without_an_invariant() -> None:
    def grow(i: Any, s: Any) -> Any:
        place = ops.cast(ops.reshape(ops.stack([i, 0]), [1, 2]), "int64")
        indices = ops.concat([s.indices, place], 0)
        values = ops.concat([s.values, [ops.cast(i, "float32")]], 0)
        return i + 1, opsets.SparseTensor(indices, values, s.dense_shape)

    for said in (None, (acts.TensorShape([]), acts.TensorShape([None, None]))):
        start = opsets.SparseTensor([[0, 1]], [5.0], [9, 2])
        _, found = ops.while_loop(lambda i, s: i < 3, grow, (1, start), shape_invariants=said)
        assert entries(run(found)) == {(0, 1): 5.0, (1, 0): 1.0, (2, 0): 2.0}


def test_a_branch_gives_a_sparse_tensor() -> None:
    which = ops.placeholder("bool", [])
    found = ops.cond(
        which, lambda: {"s": diagonal(1.0, 2.0)}, lambda: {"s": opsets.SparseTensor([[0, 1]], [7.0], [2, 2])}
    )["s"]
    assert entries(run(found, {which: True})) == {(0, 0): 1.0, (1, 1): 2.0}
    assert entries(run(found, {which: False})) == {(0, 1): 7.0}


def test_gradients_go_through_its_entries() -> None:
    x = ops.constant([1.0, 2.0])
    start = opsets.SparseTensor([[0, 0], [1, 1]], x, [2, 2])
    _, found = ops.while_loop(
        lambda i, s: i < 2,
        lambda i, s: (i + 1, opsets.SparseTensor(s.indices, s.values * x, s.dense_shape)),
        (0, start),
    )
    assert run(ops.gradients(found.values, x)[0]).tolist() == [3.0, 12.0]  # of x ** 3


def test_it_is_no_dense_tensor() -> None:
    with pytest.raises(ValueError, match="different structures"):
        ops.cond(ops.constant(True), lambda: diagonal(1.0), lambda: ops.constant([[1.0]]))
    with pytest.raises(TypeError, match=r"map_fn: elems must be tensors, got <SparseTensor"):
        ops.map_fn(lambda row: row, diagonal(1.0, 2.0))
    with pytest.raises(TypeError, match=r"foldl: elems must be tensors"):
        ops.foldl(lambda a, row: a, [{"a": diagonal(1.0, 2.0)}], initializer=0.0)
