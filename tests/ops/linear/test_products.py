from __future__ import annotations

import pytest

from actorsession import math, ops
from tests.ops.interpreter import evaluate


def test_tensors_are_accumulated_if_shape_and_dtype_are_as_said() -> None:
    x = ops.constant([1.0, 2.0])
    made = ops.accumulate_n([x, x, x], shape=[2], tensor_dtype="float32")
    assert made.op.type == "AddN"
    assert evaluate([made])[0].tolist() == [3.0, 6.0]
    assert ops.accumulate_n([x]) is x
    assert ops.accumulate_n([x], name="same").op.name == "same"


def test_tensors_that_do_not_fit_are_not_accumulated() -> None:
    x = ops.constant([1.0, 2.0])
    with pytest.raises(ValueError, match="one or more"):
        ops.accumulate_n([])
    with pytest.raises(ValueError, match="not compatible"):
        ops.accumulate_n([x], shape=[3])
    with pytest.raises(ValueError, match="one dtype"):
        ops.accumulate_n([x, ops.constant([1, 2])])
    with pytest.raises(TypeError, match="float64"):
        ops.accumulate_n([x, x], tensor_dtype="float64")


def test_a_scalar_multiplies_tensors_and_slices() -> None:
    x = ops.constant([1.0, 2.0])
    slices = ops.scalar_mul(2, ops.IndexedSlices(x, ops.constant([0, 1])))
    assert isinstance(slices, ops.IndexedSlices)
    found = evaluate([ops.scalar_mul(3, x), slices.values])
    assert [v.tolist() for v in found] == [[3.0, 6.0], [2.0, 4.0]]
    with pytest.raises(ValueError, match="scalar"):
        ops.scalar_mul([2.0], x)


def test_polynomials_are_evaluated_from_the_highest_power() -> None:
    x = ops.constant([2.0, -1.0])
    made = [math.polyval([1.0, ops.constant(2.0), 3.0], x), math.polyval([], x)]
    assert [v.tolist() for v in evaluate(made)] == [[11.0, 2.0], [0.0, 0.0]]
    with pytest.raises(ValueError, match="list"):
        math.polyval((1.0,), x)  # type: ignore[arg-type]
