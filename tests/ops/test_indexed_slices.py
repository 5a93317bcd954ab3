"""Slices of a tensor as gradients: what is known of them, sums, and the dense form."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession import Graph, IndexedSlices, constant, float32, int32, int64, shape
from actorsession.ops.indexed_slices import add_slices, to_dense
from tests.ops.interpreter import source
from tests.ops.uses import each_use, equals, gives


def slices(values: object, indices: object, dense_shape: object = None, dtype: object = int32) -> IndexedSlices:
    whole = None if dense_shape is None else constant(dense_shape)
    return IndexedSlices(constant(values), constant(indices, dtype), whole)


def test_slices_tell_what_their_parts_tell(graph: Graph) -> None:
    found = slices([[1.0, 2.0]], [3], [5, 2])
    assert found.dtype is float32
    assert found.shape == [5, 2]
    assert found.graph is graph
    assert found.name == found.values.name
    assert found.op is found.values.op
    assert (found.device, found.consumers()) == ("", [])
    assert [to_dense(found).op] == found.consumers()
    assert "shape=(5, 2) dtype=float32" in repr(found)


def _of_part() -> IndexedSlices:
    return IndexedSlices(source(float32, None), constant([1]), shape(source(float32, [None, 2])))


def _of_two_graphs() -> IndexedSlices:
    with Graph().as_default():
        indices = constant([1])
    return IndexedSlices(constant([1.0]), indices)


def _open(x: Any) -> Any:
    return to_dense(IndexedSlices(constant([[1.0, 2.0]]), constant([1]), shape(x)))


def _sum(parts: list[IndexedSlices]) -> list[Any]:
    total = add_slices(parts)
    return [total.values, total.indices]


USES = [
    equals(lambda: slices([[1.0, 2.0]], [3]).shape.sizes, (None, 2)),
    equals(lambda: _of_part().shape.sizes, (None, 2)),
    (_of_two_graphs, ValueError, "different graphs"),
    gives(lambda: to_dense(slices([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [2, 0, 2], [3, 2])), [[3, 4], [0, 0], [6, 8]]),
    equals(lambda: to_dense(slices([[1.0, 2.0]], [2], [3, 2])).shape, [3, 2]),
    gives(_open, [[0, 0], [1, 2], [0, 0]], np.zeros((3, 2), np.float32)),
    equals(lambda: _open(source(float32, [None, 2])).shape.sizes, (None, 2)),
    equals(lambda: [to_dense(x) is x for x in [constant([1.0])]], [True]),
    (lambda: to_dense(slices([[1.0]], [0])), ValueError, "no dense_shape"),
    gives(lambda: _sum([slices([[1.0]], [0]), slices([[2.0], [3.0]], [1, 0], [4, 1])]), [[[1], [2], [3]], [0, 1, 0]]),
    equals(lambda: add_slices([slices([[1.0]], [0]), slices([[2.0]], [1], [4, 1])]).shape, [4, 1]),
    equals(lambda: [add_slices([only]) is only for only in [slices([[1.0]], [0])]], [True]),
    gives(lambda: _sum([slices([[1.0]], [0]), slices([[2.0]], [1], dtype=int64)])[1], np.array([0, 1])),
    # Slices are no element of a graph, but can be operands.
    equals(lambda: hasattr(slices([[1.0]], [1]), "_as_graph_element"), False),
    gives(lambda: slices([[1.0]], [1], [2, 1])._operand(), [[0], [1]]),
]


test_slices_do_what_their_rows_say = each_use(USES)
