"""Descriptions of types of values: what they accept, what they have in common, how they print."""

from __future__ import annotations

from typing import Any

import pytest

import actorsession.compat.v1 as tf


@pytest.mark.parametrize(
    ("given", "fits"),
    [
        (lambda: tf.TensorSpec([2, 3]), True),
        (lambda: tf.TensorSpec(None), True),
        (lambda: tf.zeros([5, 3]), True),
        (lambda: tf.placeholder(tf.float32), True),
        (lambda: tf.TensorSpec([2, 3], tf.int32), False),
        (lambda: tf.TensorSpec([2, 4]), False),
        (lambda: [1.0, 2.0, 3.0], False),
        (lambda: tf.SparseTensorSpec([None, 3]), False),
    ],
)
def test_a_description_of_a_tensor_accepts_what_may_be_one(given: Any, fits: bool) -> None:
    with tf.Graph().as_default():
        assert tf.TensorSpec([None, 3], tf.float32, "a").is_compatible_with(given()) is fits


def test_descriptions_of_tensors_are_made_of_tensors_and_of_each_other() -> None:
    with tf.Graph().as_default():
        made: Any = tf.TensorSpec.from_tensor(tf.zeros([2], name="z"))
        assert (made.shape, made.dtype, made.name) == ([2], tf.float32, "z")
        assert made.value_type is tf.Tensor
        assert tf.TensorSpec.from_tensor(tf.zeros([2]), "q").name == "q"
        with pytest.raises(ValueError, match=r"should be a tf\.Tensor"):
            tf.TensorSpec.from_tensor(1)
    assert tf.TensorSpec.from_spec(made) == made
    assert tf.TensorSpec.from_spec(made, "r").name == "r"
    assert repr(tf.TensorSpec([None], "int64", name="a")).endswith("name='a')")


def test_equal_descriptions_have_equal_parts() -> None:
    assert tf.TensorSpec([1, None], tf.float32, "x") == tf.TensorSpec((1, None), "float32", "x")
    assert tf.TensorSpec([1]) != tf.TensorSpec([1], name="x")
    assert tf.TensorSpec(None) == tf.TensorSpec(None)
    assert {tf.SparseTensorSpec([2]): 1}[tf.SparseTensorSpec([2])] == 1
    assert tf.SparseTensorSpec([2, None]) != tf.SparseTensorSpec([2])
    assert tf.IndexedSlicesSpec([2, 3]) == tf.IndexedSlicesSpec([2, 3])
    assert tf.TensorSpec([2]) != tf.SparseTensorSpec([2])
    assert isinstance(tf.TensorSpec([2]), tf.TypeSpec)
    one, other = tf.TensorSpec([2, 3]), tf.TensorSpec([2, 4])
    assert one.most_specific_compatible_type(other) == tf.TensorSpec([2, None])
    assert tf.SparseTensorSpec([2]).most_specific_compatible_type(tf.SparseTensorSpec([3])) == tf.SparseTensorSpec(
        [None]
    )
    for wrong in (tf.TensorSpec([2, 3], tf.int32), tf.TensorSpec([2, 3], name="a"), tf.SparseTensorSpec()):
        with pytest.raises(ValueError, match="No TypeSpec is compatible with both"):
            one.most_specific_compatible_type(wrong)
    with tf.Graph().as_default():
        slices = tf.IndexedSlices(tf.zeros([2, 3]), tf.constant([0, 1]))
        assert tf.IndexedSlicesSpec([None, 3], indices_dtype=tf.int32).is_compatible_with(slices)
        assert not tf.IndexedSlicesSpec().is_compatible_with(slices)
    assert tf.IndexedSlicesSpec().value_type is tf.IndexedSlices


def test_descriptions_of_sparse_tensors() -> None:
    with tf.Graph().as_default():
        sparse = tf.SparseTensor([[0, 0]], [1.0], [2, 2])
        assert tf.SparseTensorSpec.from_value(sparse) == tf.SparseTensorSpec([2, 2])
        assert tf.SparseTensorSpec([2, None]).is_compatible_with(sparse)
        assert not tf.SparseTensorSpec([3, None]).is_compatible_with(sparse)
    value = tf.SparseTensorValue([[0, 0]], [1.0], [2, 2])
    assert tf.SparseTensorSpec.from_value(value) == tf.SparseTensorSpec([2, 2])
    assert not tf.SparseTensorSpec([2]).is_compatible_with(3)
    assert tf.SparseTensorSpec([2], tf.int32).value_type is tf.SparseTensor
    with pytest.raises(TypeError, match="expected a SparseTensor"):
        tf.SparseTensorSpec.from_value(1)


def test_the_structure_of_a_dataset_consists_of_descriptions() -> None:
    with tf.Graph().as_default():
        sparse = tf.SparseTensor([[0, 0], [1, 1]], [1.0, 2.0], [2, 3])
        dataset = tf.data.Dataset.from_tensor_slices({"a": [1.0, 2.0], "b": (sparse, [1, 2])})
        assert tf.data.experimental.get_structure(dataset) == {
            "a": tf.TensorSpec([]),
            "b": (tf.SparseTensorSpec([3]), tf.TensorSpec([], tf.int32)),
        }
