"""What tells tensors from other values, the numbers of errors, and rooms with later names."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import actorsession as acts
import actorsession.compat.v1 as tf
from tests.rows import for_each

pytestmark = pytest.mark.usefixtures("graph")


def kinds() -> dict[str, Any]:
    values = tf.constant([1.0])
    return {
        "tensor": values,
        "variable": tf.Variable([1.0], name="v"),
        "text": tf.constant("a"),
        "truth": tf.constant(True),
        "sparse": tf.SparseTensor([[0]], values, [2]),
        "rows": tf.IndexedSlices(values, tf.constant([0])),
        "array": np.ones(1),
        "number": 1.0,
    }


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        (tf.is_tensor, {"tensor", "variable", "text", "truth", "sparse", "rows"}),
        (tf.is_symbolic_tensor, {"tensor", "text", "truth", "sparse", "rows"}),
        (tf.is_numeric_tensor, {"tensor", "variable", "sparse", "rows"}),
    ],
    ids=["is_tensor", "is_symbolic_tensor", "is_numeric_tensor"],
)
def test_tensors_are_told_from_other_values(question: Any, wanted: set[str]) -> None:
    assert {name for name, value in kinds().items() if question(value)} == wanted


def test_rows_and_sparse_tensors_stay_what_they_are() -> None:
    rows, sparse = kinds()["rows"], kinds()["sparse"]
    assert tf.convert_to_tensor_or_indexed_slices(rows, tf.float32) is rows
    assert tf.convert_to_tensor_or_sparse_tensor(sparse, tf.float32) is sparse
    for convert in (tf.convert_to_tensor_or_indexed_slices, tf.convert_to_tensor_or_sparse_tensor):
        made = convert(3, tf.float64, "three")
        assert (made.dtype, made.op.name.rstrip("_1")) == (tf.float64, "three")
        with pytest.raises(ValueError, match="None"):
            convert(None)
    fed: Any = tf.convert_to_tensor_or_sparse_tensor(tf.SparseTensorValue([[1]], [5.0], [2]))
    with tf.Session() as sess:
        assert sess.run(tf.sparse_tensor_to_dense(fed)).tolist() == [0.0, 5.0]
    with pytest.raises(ValueError, match=r"int32.*float32"):
        tf.convert_to_tensor_or_indexed_slices(rows, tf.int32)
    with pytest.raises(RuntimeError, match=r"int32.*float32"):
        tf.convert_to_tensor_or_sparse_tensor(sparse, tf.int32)


@for_each("name", ["tensor", "sparse", "array", "number"])
def test_one_value_is_not_several(name: str) -> None:
    tf.assert_proper_iterable([1, 2])
    with pytest.raises(TypeError, match="expected several values"):
        tf.assert_proper_iterable(kinds()[name])
    with pytest.raises(TypeError, match="got one: str"):
        tf.assert_proper_iterable("ab")


def test_further_names_are_there(graph: Any) -> None:
    x = tf.placeholder(tf.float32, [None, 3])
    assert x[:, tf.newaxis].shape.as_list() == [None, 1, 3]
    # A container is named and an old scope too.
    with tf.container("box"), tf.op_scope([tf.constant(1)], None, "scope"):
        v = tf.Variable(1.0, name="v")
    assert (v.op.name, v.op.get_attr("container")) == ("scope/v", b"box")
    # A name that nobody has is an attribute error.
    with pytest.raises(AttributeError, match="'no_such_name'"):
        _ = tf.no_such_name  # type: ignore[attr-defined]
    # Queue runners are found in their former module too.
    for name in tf.train.queue_runner.__all__:
        assert getattr(tf.train.queue_runner, name) is getattr(tf.train, name)
    # Programs are told which version they have to do with. Some choose names by it: 1.x, later than 1.4.
    assert tf.__version__ == tf.VERSION
    major, minor, _ = map(int, tf.VERSION.split("."))
    assert (major, minor) == (1, 15)
    # Tensors have one floating type.
    x, y = tf.constant(1.0, tf.float64), tf.constant(1.0)
    assert tf.assert_same_float_dtype([x, None], tf.float64) == tf.float64
    assert tf.assert_same_float_dtype() == tf.float32
    with pytest.raises(ValueError, match=r"float64.*float32"):
        tf.assert_same_float_dtype([x, y])
    with pytest.raises(ValueError, match="int32"):
        tf.assert_same_float_dtype([tf.constant(1)])


def test_each_code_has_its_class_and_each_class_its_code() -> None:
    assert (tf.errors.OK, tf.errors.CANCELLED, tf.errors.UNAUTHENTICATED) == (0, 1, 16)
    for code in range(1, 17):
        kind = tf.errors.exception_type_from_error_code(code)
        assert (kind.error_code, tf.errors.error_code_from_exception_type(kind)) == (code, code)
    assert tf.errors.exception_type_from_error_code(5) is acts.errors.NotFoundError
    assert tf.errors.error_code_from_exception_type(acts.errors.WorkerRestartedError) == 10
    foreign: Any = KeyError
    assert tf.errors.error_code_from_exception_type(foreign) == tf.errors.UNKNOWN
    assert tf.errors.AbortedError is acts.errors.AbortedError
    with pytest.raises(KeyError):
        tf.errors.exception_type_from_error_code(99)


@pytest.mark.parametrize("room", ["debugging", "dtypes", "queue"])
def test_rooms_hold_what_tf_has_itself(room: str) -> None:
    held = getattr(tf, room)
    assert [name for name in held.__all__ if not hasattr(held, name)] == []
    other = {"assert_all_finite": tf.verify_tensor_all_finite}
    for name in held.__all__:
        assert getattr(held, name) is other.get(name, getattr(tf, name, None)), name


@for_each("name", ["qint8", "quint8", "qint16", "quint16", "qint32"])
def test_quantised_tensors_are_fed_and_fetched_as_integers(name: str) -> None:
    dtype, integers = getattr(tf, name), np.dtype(name.removeprefix("q"))
    x = tf.placeholder(name, [None])
    assert dtype.is_quantized
    assert not dtype.is_integer
    assert dtype.size == integers.itemsize
    assert dtype.as_numpy_dtype == np.dtype([(name, integers)])
    with tf.Session() as sess:
        given = np.array([1, 2, 100], integers)
        found = sess.run([x, tf.cast(x, tf.float32), tf.bitcast(x, integers)], {x: given})
    assert [each.dtype for each in found] == [integers, np.dtype("float32"), integers]
    assert all(each.tolist() == [1, 2, 100] for each in found)
    with pytest.raises(TypeError, match=f"{name} not in list of allowed values"):
        _ = x + x
    with pytest.raises(TypeError, match="least and greatest"):
        _ = dtype.min
