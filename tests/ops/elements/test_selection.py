from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from actorsession.errors import InvalidArgumentError
from actorsession.graph import Graph
from actorsession.graph.dtypes import as_dtype, bool_, float32, float64, int32, string
from actorsession.graph.shape import TensorShape
from actorsession.ops.build import constant, make_one
from actorsession.ops.elements.selection import where, where_v2
from tests.ops.interpreter import check_gradient, evaluate, source
from tests.rows import for_each

NUMBERS = [
    "float16", "bfloat16", "float32", "float64", "int8", "int32", "uint16", "bool", "complex64",
    "complex128",
]  # fmt: skip


@pytest.fixture(autouse=True)
def graph() -> Iterator[Graph]:
    with Graph().as_default() as graph:
        yield graph


def mask(shape: tuple[int, ...]) -> Any:
    return np.asarray(np.random.default_rng(0).random(shape) < 0.5)


@for_each("dtype", NUMBERS)
@for_each(
    "c, x, y",
    [
        ((), (), ()),
        ((4,), (4,), (4,)),
        ((3, 4), (4,), ()),
        ((4,), (3, 4), (3, 1)),
        ((), (2, 2), (2, 2)),
        ((0,), (0,), ()),
        # Large enough to be chosen by masks: equal shapes, and a scalar on either side.
        ((60, 40), (60, 40), (60, 40)),
        ((2400,), (), (2400,)),
        ((2400,), (2400,), ()),
        ((2400,), (2, 2400), (2400,)),
    ],
    ids=str,
)
def test_where_v2_broadcasts_as_numpy_does(dtype: str, c: Any, x: Any, y: Any) -> None:
    np_dtype = as_dtype(dtype).np_dtype
    chooser = mask(c)
    left, right = np.full(x, 1).astype(np_dtype), np.full(y, 0).astype(np_dtype)
    left.reshape(-1)[::3] = 0
    right.reshape(-1)[::2] = 3
    [found] = evaluate([where_v2(constant(chooser), constant(left), constant(right))])
    expected = np.where(chooser, left, right)
    assert found.dtype == np_dtype
    np.testing.assert_array_equal(found, expected)


def test_a_large_choice_keeps_nan_and_negative_zero_bit_by_bit() -> None:
    chooser = mask((5000,))
    left, right = np.full(5000, np.nan, np.float32), np.full(5000, -0.0, np.float32)
    [found] = evaluate([where_v2(constant(chooser), constant(left), constant(right))])
    expected = np.where(chooser, left, right)
    np.testing.assert_array_equal(found.view(np.int32), expected.view(np.int32))


def test_strings_are_chosen_too() -> None:
    c, word = constant([True, False]), source(string, ())
    [found, one] = evaluate(
        [where_v2(c, constant(["a", "b"]), word), where_v2(constant(False), constant("a"), word)],
        {word: b"z\0"},
    )
    assert found.tolist() == [b"a", b"z\0"]
    assert np.asarray(one, object).tolist() == b"z\0"


def test_a_vector_chooses_whole_rows_as_in_tensorflow_1() -> None:
    x, y = np.arange(6.0).reshape(2, 3), -np.arange(6.0).reshape(2, 3)
    result = where([True, False], constant(x), constant(y))
    assert result.op.type == "Select"
    np.testing.assert_array_equal(evaluate([result])[0], [x[0], y[1]])


def test_a_vector_chooses_rows_also_of_a_square_matrix() -> None:
    x, y = np.arange(4.0).reshape(2, 2), -np.arange(4.0).reshape(2, 2)
    both = [choose([True, False], constant(x), constant(y)) for choose in (where, where_v2)]
    [rows, columns] = evaluate(both)
    np.testing.assert_array_equal(rows, [x[0], y[1]])
    np.testing.assert_array_equal(columns, np.where([True, False], x, y))


@for_each(
    "c, x, y, result",
    [
        ([None], [None, 3], [None, 3], [None, 3]),
        ([None], None, None, None),
        (None, [2, None], [None, 3], [2, 3]),
        ([None], [None], [None], [None]),
        ([2, None], [None, 3], [None, 3], [2, 3]),
        ((), [2, 3], None, [2, 3]),
    ],
    ids=str,
)
def test_where_chooses_between_tensors_of_one_shape(c: Any, x: Any, y: Any, result: Any) -> None:
    made = where(source(bool_, c), source(float32, x), source(float32, y))
    assert (made.op.type, made.shape) == ("Select", TensorShape(result))


@for_each(
    "c, x, y",
    [([2, 3], [2, 3], ()), ([2, 3], (), ()), ([3], [2, 3], [2, 3]), ([2, 1], [2, 3], [2, 3])],
    ids=str,
)
def test_where_does_not_broadcast_and_where_v2_does(c: Any, x: Any, y: Any) -> None:
    operands = source(bool_, c), source(float32, x), source(float32, y)
    with pytest.raises(ValueError, match=r"x and y of one shape .* where_v2 broadcasts"):
        where(*operands)
    made = where_v2(*operands)
    assert made.op.type == "SelectV2"
    assert made.shape == [2, 3]


@pytest.mark.parametrize("c", [(2, 3), (2,), ()], ids=str)
def test_unknown_shapes_are_resolved_by_the_step(c: Any) -> None:
    chooser, x = mask(c), np.arange(6.0).reshape(2, 3)
    condition, left, right = source(bool_), source(float64), source(float64)
    feeds = {condition: chooser, left: x, right: -x}
    [found] = evaluate([where(condition, left, right)], feeds)
    rows = chooser[:, None] if c == (2,) else chooser
    np.testing.assert_array_equal(found, np.where(rows, x, -x))


@pytest.mark.parametrize(
    ("c", "x", "y"), [((3,), (2, 3), (2, 3)), ((2,), (2, 3), (3,)), ((2, 1), (2, 3), (2, 3))]
)
def test_select_does_not_broadcast(c: Any, x: Any, y: Any) -> None:
    condition, left, right = source(bool_), source(float64), source(float64)
    feeds = {condition: mask(c), left: np.zeros(x), right: np.zeros(y)}
    with pytest.raises(InvalidArgumentError, match="x and y of one shape"):
        evaluate([make_one("Select", [condition, left, right])], feeds)
    known = [source(bool_, c), source(float64, x), source(float64, y)]
    with pytest.raises(ValueError, match="x and y of one shape"):
        make_one("Select", known)


@for_each(
    "c, x, y",
    [((), (), ()), ((3,), (3,), (3,)), ((2, 3), (3,), ()), ((3,), (2, 3), (2, 1))],
    ids=str,
)
def test_the_gradient_of_a_broadcast_choice_is_summed_back(c: Any, x: Any, y: Any) -> None:
    chooser = mask(c)
    check_gradient(where_v2, chooser, np.ones(x), np.full(y, 2.0))


def test_the_gradient_of_a_choice_of_rows() -> None:
    check_gradient(where, np.array([True, False]), np.ones((2, 3)), np.zeros((2, 3)))


def test_a_plain_branch_takes_the_dtype_of_the_other() -> None:
    result = where_v2([True, False], constant(np.float64(1)), 2)
    assert result.dtype is float64
    np.testing.assert_array_equal(evaluate([result])[0], [1, 2])


def test_a_condition_that_is_no_bool_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="bool"):
        where(source(int32, ()), constant(1), constant(2))
    with pytest.raises(TypeError, match="condition of SelectV2 is bool; got int32"):
        make_one("SelectV2", [source(int32, ()), constant(1), constant(2)])


def test_branches_of_two_dtypes_are_a_type_error() -> None:
    with pytest.raises(TypeError, match="float32 is wanted"):
        where(True, constant(1.0), constant(2))


def test_one_branch_alone_is_an_error() -> None:
    with pytest.raises(ValueError, match="both x and y"):
        where(True, constant(1.0))


@for_each("shape", [(), (3,), (2, 3), (0, 2)], ids=str)
@for_each("value", [True, 2.5, 1j], ids=str)
def test_where_alone_lists_the_indices_of_what_is_true(shape: Any, value: Any) -> None:
    given = np.where(mask(shape), value, 0).astype(np.asarray(value).dtype)
    x = make_one("Where", [constant(given)]) if value is not True else where(constant(given))
    [found] = evaluate([x])
    assert x.shape == [None, len(shape)]
    np.testing.assert_array_equal(found, np.argwhere(given).astype(np.int64), strict=True)


def test_one_of_two_single_strings_is_selected() -> None:
    chosen = [where(constant(which), constant(b"one"), constant(b"two")) for which in (True, False)]
    assert [np.asarray(found).item() for found in evaluate(chosen)] == [b"one", b"two"]
