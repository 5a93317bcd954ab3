"""The fused updates of optimisers beyond their formulas: shared values, threads, and what is refused."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from actorsession import Tensor, TensorShape, as_dtype, constant, float32, int32
from actorsession.extend import TensorSpec
from actorsession.graph.shape import unknown_shape
from actorsession.ops.blas import BLOCK_BYTES
from tests.nodes import make, make_one
from tests.ops.holders import InPlace, Shared, arrays, kernel
from tests.ops.interpreter import source

# More than two blocks of float32 in each op, and no whole number of them.
MANY = BLOCK_BYTES // 8 + 1001


def adam_rates(step: int, dtype: Any = "float32") -> list[Any]:
    values = (0.9**step, 0.999**step, 0.1, 0.9, 0.999, 1e-3)
    return [as_dtype(dtype).np_dtype.type(x) for x in values]


# -- against the formulas ------------------------------------------------------------------------


def test_complex_variables_descend_too() -> None:
    cell = InPlace(np.array([1 + 2j], np.complex64))
    kernel("ResourceApplyGradientDescent")(cell, np.complex64(0.5), np.array([2j], np.complex64))
    np.testing.assert_array_equal(cell.value, [1 + 1j])


# -- memory --------------------------------------------------------------------------------------


def test_a_gradient_is_only_read() -> None:
    var, grad = arrays((MANY,), float32, 2)
    before = grad.copy()
    grad.flags.writeable = False
    kernel("ResourceApplyGradientDescent")(InPlace(var), np.float32(0.1), grad)
    np.testing.assert_array_equal(grad, before)


def test_a_variable_may_be_its_own_gradient() -> None:
    """As in weight decay: the gradient is then a reading, which the holder knows to be shared."""
    var = arrays((MANY,), float32, 1)[0]
    cell = Shared(var)
    kernel("ResourceApplyGradientDescent")(cell, np.float32(0.5), var)
    np.testing.assert_array_equal(cell.value, var * np.float32(0.5))


# -- two steps at once ---------------------------------------------------------------------------


def test_steps_in_several_threads_do_not_disturb_each_other() -> None:
    """Gradients of equal elements keep all elements equal, unless scratch or slots get mixed up.

    1. Three threads run one Adam node on one variable, each with a gradient of its own.
    2. Three more run one of another variable, in the same process-wide scratch if it were shared.
    3. Each variable ends with equal elements in itself and its slots.
    """
    run = kernel("ResourceApplyAdam")
    rates = adam_rates(1)
    cells = [[InPlace(np.ones(MANY, np.float32)) for _ in range(3)] for _ in range(2)]
    start = threading.Barrier(6)

    def work(which: int, slope: float) -> None:
        grad = np.full(MANY, slope, np.float32)
        start.wait(10)
        for _ in range(10):
            run(*cells[which], *rates, grad)

    threads = [threading.Thread(target=work, args=(i % 2, i + 1.0)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    for cell in (*cells[0], *cells[1]):
        assert np.unique(cell.value).size == 1
        assert cell.value[0] != 1.0


# -- what does not fit ---------------------------------------------------------------------------


def _handle(dtype: Any, shape: Any) -> Tensor:
    attrs = {"dtype": as_dtype(dtype), "shape": TensorShape(shape)}
    return make_one("VarHandleOp", (), attrs)


def _descend(dtype: Any, shape: Any, alpha: Tensor, delta: Tensor) -> None:
    attrs = {"dtype": as_dtype(dtype), "shape": TensorShape(shape)}
    make("ResourceApplyGradientDescent", [_handle(dtype, shape), alpha, delta], attrs)


def test_a_gradient_of_impossible_shape_is_refused_while_building() -> None:
    with pytest.raises(ValueError, match=r"has shape \(2,\), input 2 has \(3,\)"):
        _descend(float32, [2], constant(1.0), constant([1.0, 2.0, 3.0]))


def test_a_gradient_of_another_dtype_is_refused_while_building() -> None:
    with pytest.raises(TypeError, match="takes inputs of one dtype; got resource, float32, float64"):
        _descend(float32, [1], constant(1.0), constant([1.0], "float64"))


def test_a_rate_of_another_dtype_is_refused_while_building() -> None:
    with pytest.raises(TypeError, match="takes floating types, complex types as alpha; got int32"):
        _descend(float32, [1], constant(1, int32), constant([1.0]))


def test_a_rate_that_is_no_scalar_is_refused_while_building() -> None:
    with pytest.raises(ValueError, match=r"input 1 is a scalar, got shape \(2,\)"):
        _descend(float32, [2], constant([1.0, 2.0]), constant([1.0, 2.0]))


def test_an_integer_variable_is_refused_while_building() -> None:
    with pytest.raises(TypeError, match="takes floating types, complex types as alpha; got int32"):
        _descend(int32, [1], constant(1, int32), constant([1], int32))


def test_a_slot_that_is_no_handle_is_refused_while_building() -> None:
    attrs = {"dtype": float32, "shape": TensorShape([1])}
    one = constant(1.0)
    with pytest.raises(TypeError, match="handle as input 1, got a float32 tensor"):
        make("ResourceApplyMomentum", [_handle(float32, [1]), one, one, constant([1.0]), one], attrs)


def test_unknown_shapes_are_accepted() -> None:
    delta = source(float32)
    assert delta.spec == TensorSpec(float32, unknown_shape)
    _descend(float32, None, source(float32), delta)
