from __future__ import annotations

import numpy as np
import pytest

from actorsession import ops
from tests.ops.interpreter import evaluate, source
from tests.rows import for_each


def test_plain_numbers_make_one_op_and_tensors_are_differentiated_by() -> None:
    assert ops.linspace(1.0, 10.0, 4).op.type == "LinSpace"
    assert ops.lin_space is ops.linspace
    start, stop = ops.constant(1.0), ops.constant(10.0)
    made = ops.linspace(start, stop, 4)
    found, by_start, by_stop = evaluate([made, *ops.gradients(made, [start, stop])])
    np.testing.assert_allclose(found, [1, 4, 7, 10], 1e-6)
    np.testing.assert_allclose([by_start, by_stop], [2, 2], 1e-6)


@for_each("axis", [0, 1, 2, -1, -2, -3])
@for_each("known", [True, False], ids=["known", "hidden"])
def test_ends_of_any_shape_broadcast(axis: int, known: bool) -> None:
    first, last = np.array([1.0, 2.0]), np.array([[10.0], [3.0]])
    a = source("float64", [2] if known else None)
    b = source("float64", [2, 1] if known else None)
    made = ops.linspace(a, b, 5, axis=axis)
    wanted = np.linspace(first, last, 5, axis=axis)
    assert made.shape.is_compatible_with(wanted.shape)
    assert made.shape.is_fully_defined() is known
    np.testing.assert_allclose(evaluate([made], {a: first, b: last})[0], wanted)


def test_integers_become_float64() -> None:
    [found] = evaluate([ops.linspace(1, 10, 4)])
    assert found.dtype == np.float64
    assert found.tolist() == [1.0, 4.0, 7.0, 10.0]


def test_the_last_one_is_exact() -> None:
    [found] = evaluate([ops.linspace(ops.constant(0.1), 0.7, 11)])
    assert found[-1] == np.float32(0.7)


def test_a_negative_number_is_refused() -> None:
    with pytest.raises(ValueError, match="num=-1"):
        ops.linspace(1.0, 2.0, -1)
