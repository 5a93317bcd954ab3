"""The fused updates of optimisers beyond their formulas: shared values, threads, and what is refused."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np

from actorsession import Tensor, TensorShape, as_dtype, constant, float32, int32, int64
from actorsession.extend import TensorSpec
from actorsession.graph.shape import unknown_shape
from actorsession.ops.blas import BLOCK_BYTES
from tests.nodes import make, make_one
from tests.ops.holders import InPlace, Shared, arrays, kernel
from tests.ops.interpreter import source
from tests.rows import refusing

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


def _handle(dtype: Any = float32, shape: Any = (1,)) -> Tensor:
    return make_one("VarHandleOp", (), {"dtype": as_dtype(dtype), "shape": TensorShape(shape)})


def _descend(shape: Any, alpha: Tensor, delta: Tensor, dtype: Any = float32) -> None:
    attrs = {"dtype": as_dtype(dtype), "shape": TensorShape(shape)}
    make("ResourceApplyGradientDescent", [_handle(dtype, shape), alpha, delta], attrs)


def _dual(step: Tensor, grad: Tensor) -> None:
    slots = [_handle(shape=[2]) for _ in range(3)]
    inputs = [*slots, grad, *[constant(1.0)] * 3, step]
    make("ResourceApplyAdagradDA", inputs, {"dtype": float32, "shape": TensorShape([2])})


def _slotless() -> None:
    one = constant(1.0)
    make("ResourceApplyMomentum", [_handle(), one, one, constant([1.0]), one], {"dtype": float32, "shape": [1]})


RATE = "takes floating types, complex types as alpha; got int32"
test_what_can_never_fit_is_refused_by_the_line_that_builds = refusing(
    (lambda: _descend([2], constant(1.0), constant([1.0] * 3)), ValueError, r"shape \(2,\), input 2 has \(3,\)"),
    (
        lambda: _descend([1], constant(1.0), constant([1.0], "float64")),
        TypeError,
        "takes inputs of one dtype; got resource, float32, float64",
    ),
    (lambda: _descend([1], constant(1, int32), constant([1.0])), TypeError, RATE),
    (lambda: _descend([1], constant(1, int32), constant([1], int32), int32), TypeError, RATE),
    (lambda: _descend([2], constant([1.0] * 2), constant([1.0] * 2)), ValueError, r"1 is a scalar, got shape \(2,\)"),
    (_slotless, TypeError, "handle as input 1, got a float32 tensor"),
    (lambda: _dual(constant(1.0), constant([1.0] * 2)), TypeError, "the global step is int64, got float32"),
    (lambda: _dual(constant([1], int64), constant([1.0] * 2)), ValueError, r"is a scalar, got shape \(1,\)"),
    (lambda: _dual(constant(1, int64), constant([1.0] * 3)), ValueError, r"shape \(2,\), input 3 has \(3,\)"),
    (lambda: _dual(constant(1, int64), constant([1.0] * 2, "float64")), TypeError, "takes inputs of one dtype"),
)


def test_unknown_shapes_are_accepted() -> None:
    delta = source(float32)
    assert delta.spec == TensorSpec(float32, unknown_shape)
    _descend(None, source(float32), delta)
    _dual(constant(1, int64), constant([1.0, 1.0]))
