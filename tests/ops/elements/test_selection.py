from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import bool_, constant, float32, float64, int32, where
from actorsession.ops.elements.selection import where_v2
from tests.nodes import make_one
from tests.ops.interpreter import evaluate, source
from tests.rows import for_each


def mask(shape: tuple[int, ...]) -> Any:
    return np.asarray(np.random.default_rng(0).random(shape) < 0.5)


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


@for_each("c, x, y", [([2, 3], [2, 3], ()), ([2, 3], (), ()), ([3], [2, 3], [2, 3]), ([2, 1], [2, 3], [2, 3])], ids=str)
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


def test_one_of_two_single_strings_is_selected() -> None:
    chosen = [where(constant(which), constant(b"one"), constant(b"two")) for which in (True, False)]
    assert [np.asarray(found).item() for found in evaluate(chosen)] == [b"one", b"two"]
