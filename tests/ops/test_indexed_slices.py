"""Slices of a tensor as gradients: what is known of them, sums, and the dense form."""

from __future__ import annotations

import numpy as np
import pytest

from actorsession import Graph, IndexedSlices, constant, float32, int32, int64, shape
from actorsession.ops.indexed_slices import add_slices, to_dense
from tests.ops.interpreter import evaluate, source


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
    assert found.device == ""
    assert found.consumers() == []
    assert [to_dense(found).op] == found.consumers()
    assert "shape=(5, 2) dtype=float32" in repr(found)


def test_without_dense_shape_the_number_of_rows_is_open() -> None:
    assert slices([[1.0, 2.0]], [3]).shape.sizes == (None, 2)


def test_of_a_dense_shape_known_in_part_the_known_part_counts() -> None:
    whole = shape(source(float32, [None, 2]))
    found = IndexedSlices(source(float32, None), constant([1]), whole)
    assert found.shape.sizes == (None, 2)


def test_parts_belong_to_one_graph() -> None:
    with Graph().as_default():
        indices = constant([1])
    with pytest.raises(ValueError, match="different graphs"):
        IndexedSlices(constant([1.0]), indices)


def test_the_dense_form_adds_up_rows_with_one_index() -> None:
    dense = to_dense(slices([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], [2, 0, 2], [3, 2]))
    assert dense.shape == [3, 2]
    assert evaluate([dense])[0].tolist() == [[3, 4], [0, 0], [6, 8]]


def test_the_number_of_rows_may_be_known_only_when_it_runs() -> None:
    whole = source(float32, [None, 2])
    found = IndexedSlices(constant([[1.0, 2.0]]), constant([1]), shape(whole))
    dense = to_dense(found)
    assert dense.shape.sizes == (None, 2)
    assert evaluate([dense], {whole: np.zeros((3, 2))})[0].tolist() == [[0, 0], [1, 2], [0, 0]]


def test_a_tensor_is_its_own_dense_form() -> None:
    tensor = constant([1.0])
    assert to_dense(tensor) is tensor


def test_without_dense_shape_there_is_no_dense_form() -> None:
    with pytest.raises(ValueError, match="no dense_shape"):
        to_dense(slices([[1.0]], [0]))


def test_sums_put_rows_behind_each_other() -> None:
    total = add_slices([slices([[1.0]], [0]), slices([[2.0], [3.0]], [1, 0], [4, 1])])
    values, indices = evaluate([total.values, total.indices])
    assert values.tolist() == [[1], [2], [3]]
    assert indices.tolist() == [0, 1, 0]
    assert total.shape == [4, 1]


def test_the_sum_of_one_is_itself() -> None:
    only = slices([[1.0]], [0])
    assert add_slices([only]) is only


def test_indices_of_different_integer_types_are_summed_in_the_wider_one() -> None:
    total = add_slices([slices([[1.0]], [0]), slices([[2.0]], [1], dtype=int64)])
    assert total.indices.dtype is int64
    assert evaluate([total.indices])[0].tolist() == [0, 1]


def test_slices_are_no_element_of_a_graph_but_can_be_operands() -> None:
    found = slices([[1.0]], [1], [2, 1])
    assert not hasattr(found, "_as_graph_element")
    assert evaluate([found._operand()])[0].tolist() == [[0], [1]]
