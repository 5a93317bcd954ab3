from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from actorsession import math, ops
from actorsession.errors import InvalidArgumentError
from tests.ops.interpreter import evaluate


@pytest.mark.parametrize(("dtype", "wide"), [("int8", "float32"), ("int32", "float64")])
def test_integers_are_divided_as_floats(dtype: str, wide: str) -> None:
    x, y = (ops.cast(ops.constant(v), dtype) for v in ([1, 3], [0, 2]))
    [found] = evaluate([ops.div_no_nan(x, y)])
    assert (found.dtype, found.tolist()) == (np.dtype(wide), [0, 1.5])


def test_a_plain_number_takes_the_dtype_of_the_tensor_beside_it() -> None:
    x = ops.constant(np.array([0.0, 4.0]))
    made = [ops.div_no_nan(1, x), ops.div_no_nan(x, 2), math.reciprocal_no_nan(x)]
    assert {t.dtype.name for t in made} == {"float64"}
    assert [v.tolist() for v in evaluate(made)] == [[0, 0.25], [0, 2], [0, 0.25]]
    assert math.divide_no_nan is ops.div_no_nan


@pytest.mark.parametrize(("x", "y"), [([1], [1.0]), ([True], [True]), (["a"], ["b"])])
def test_other_operands_are_refused(x: Any, y: Any) -> None:
    with pytest.raises(TypeError):
        ops.div_no_nan(ops.constant(x), ops.constant(y))


def test_a_known_divisor_that_is_0_is_found_in_the_step() -> None:
    for op in (ops.truncatediv, ops.truncatemod):
        with pytest.raises(InvalidArgumentError, match="by zero"):
            evaluate([op(ops.constant([1]), 0)])


@pytest.mark.parametrize("name", ["xdivy", "xlog1py"])
def test_these_stand_in_a_scope_as_in_tensorflow(name: str) -> None:
    function = getattr(math, name)
    x = ops.placeholder("float32", [2])
    assert function(x, x).op.name == f"{name}/{name.capitalize()}"
    assert function(x, x, name="own").op.name == f"own/{name.capitalize()}"


def test_floor_div_and_floordiv_differ_in_their_names_only() -> None:
    x = ops.placeholder("float32", [2])
    names = [ops.floor_div(x, x).op.name, ops.floordiv(x, x).op.name, (x // x).op.name]
    # Names that differ in their case alone are told apart.
    assert names == ["FloorDiv", "floordiv_1", "floordiv_2"]
