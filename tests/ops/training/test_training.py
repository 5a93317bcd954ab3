"""The fused updates of optimisers, against their formulas in numpy."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import as_dtype, float32, int32
from actorsession.graph.graph import Graph
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops.blas import BLOCK_BYTES
from actorsession.ops.build import constant, make, make_one
from tests.ops.holders import InPlace, Shared, arrays, close, double, kernel
from tests.ops.interpreter import source
from tests.rows import for_each

# More than two blocks of float32 in each op, and no whole number of them.
MANY = BLOCK_BYTES // 8 + 1001


def gradient_descent(var: Any, lr: float, grad: Any) -> Any:
    return var - lr * grad


def momentum(*given: Any) -> Any:
    var, acc, lr, grad, mom, nesterov = given
    acc = mom * acc + grad
    return var - lr * (grad + mom * acc if nesterov else acc), acc


def adam(*given: Any) -> Any:
    var, m, v, rates, grad, nesterov = given
    power1, power2, lr, b1, b2, eps = rates
    m = b1 * m + (1 - b1) * grad
    v = b2 * v + (1 - b2) * grad**2
    ahead = b1 * m + (1 - b1) * grad if nesterov else m
    return var - lr * np.sqrt(1 - power2) / (1 - power1) * ahead / (np.sqrt(v) + eps), m, v


def adam_rates(step: int, dtype: Any = "float32") -> list[Any]:
    values = (0.9**step, 0.999**step, 0.1, 0.9, 0.999, 1e-3)
    return [as_dtype(dtype).np_dtype.type(x) for x in values]


SHAPES = [(), (1,), (0,), (3, 4), (MANY,)]
HOLDERS = for_each("holder", [InPlace, Shared])
DTYPES = for_each("dtype", ["float32", "float64", "float16", "bfloat16"])


# -- against the formulas ------------------------------------------------------------------------


@HOLDERS
@DTYPES
@for_each("shape", SHAPES, ids=str)
def test_gradient_descent_follows_its_formula(shape: Any, dtype: str, holder: Any) -> None:
    var, grad = arrays(shape, dtype, 2)
    expected = gradient_descent(*double(var, 0.1, grad))
    cell, scalar = holder(var if shape else var[()]), as_dtype(dtype).np_dtype.type
    kernel("ResourceApplyGradientDescent")(cell, scalar(0.1), grad)
    close(cell.value, expected, dtype)


@HOLDERS
@DTYPES
@for_each("nesterov", [False, True])
@for_each("shape", SHAPES, ids=str)
def test_momentum_follows_its_formula(shape: Any, nesterov: bool, dtype: str, holder: Any) -> None:
    var, acc, grad = arrays(shape, dtype, 3)
    expected = momentum(*double(var, acc, 0.1, grad, 0.9), nesterov)
    cells = [holder(x if shape else x[()]) for x in (var, acc)]
    scalar = as_dtype(dtype).np_dtype.type
    run = kernel("ResourceApplyMomentum", use_nesterov=nesterov)
    run(*cells, scalar(0.1), grad, scalar(0.9))
    for cell, value in zip(cells, expected, strict=True):
        close(cell.value, value, dtype)


@HOLDERS
@DTYPES
@for_each("nesterov", [False, True])
@for_each("shape", SHAPES, ids=str)
def test_adam_follows_its_formula(shape: Any, nesterov: bool, dtype: str, holder: Any) -> None:
    var, m, v, grad = arrays(shape, dtype, 4)
    # bfloat16 has no number between 0.996 and 1: the oracle starts from the rates as they are.
    rates = adam_rates(3, dtype)
    expected = adam(*double(var, m, v), double(*rates), np.asarray(grad, float), nesterov)
    cells = [holder(x if shape else x[()]) for x in (var, m, v)]
    kernel("ResourceApplyAdam", use_nesterov=nesterov)(*cells, *rates, grad)
    for cell, value in zip(cells, expected, strict=True):
        close(cell.value, value, dtype)


@HOLDERS
@for_each("nesterov", [False, True])
def test_sparse_momentum_changes_only_the_rows_that_were_looked_up(
    nesterov: bool, holder: Any
) -> None:
    var, acc = arrays((5, 2), float32, 2)
    rows = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    grad = np.zeros((5, 2))
    np.add.at(grad, [3, 1, 3], rows)
    new_var, new_acc = momentum(*double(var, acc, 0.1), grad, 0.9, nesterov)
    expected_var, expected_acc = double(var, acc)
    expected_var[[1, 3]], expected_acc[[1, 3]] = new_var[[1, 3]], new_acc[[1, 3]]
    cells = [holder(var), holder(acc)]
    run = kernel("ResourceSparseApplyMomentum", use_nesterov=nesterov)
    run(*cells, np.float32(0.1), rows, np.array([3, 1, 3]), np.float32(0.9))
    close(cells[0].value, expected_var, "float32")
    close(cells[1].value, expected_acc, "float32")


def test_complex_variables_descend_too() -> None:
    cell = InPlace(np.array([1 + 2j], np.complex64))
    kernel("ResourceApplyGradientDescent")(cell, np.complex64(0.5), np.array([2j], np.complex64))
    np.testing.assert_array_equal(cell.value, [1 + 1j])


# -- memory --------------------------------------------------------------------------------------


def test_adam_writes_in_place_when_nobody_else_has_the_values() -> None:
    values = arrays((MANY,), float32, 3)
    cells = [InPlace(x) for x in values]
    kernel("ResourceApplyAdam")(*cells, *adam_rates(1), np.ones(MANY, np.float32))
    assert all(cell.value is x for cell, x in zip(cells, values, strict=True))


@HOLDERS
@for_each("view", [lambda x: x.T, lambda x: x[:, ::2]], ids=["turned", "stepped"])
def test_a_value_that_is_not_contiguous_is_updated_right(view: Any, holder: Any) -> None:
    """An initial value may be a transposed view; so may a gradient."""
    var, m, v, grad = (view(x) for x in arrays((400, 300), float32, 4))
    expected = adam(*double(var, m, v), double(*adam_rates(1)), np.asarray(grad, float), False)
    cells = [holder(x) for x in (var, m, v)]
    kernel("ResourceApplyAdam")(*cells, *adam_rates(1), grad)
    for cell, value in zip(cells, expected, strict=True):
        close(cell.value, value, "float32")


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


@pytest.fixture
def graph() -> Iterator[Graph]:
    with Graph().as_default() as graph:
        yield graph


def _handle(dtype: Any, shape: Any) -> Tensor:
    attrs = {"dtype": as_dtype(dtype), "shape": TensorShape(shape)}
    return make_one("VarHandleOp", (), attrs)


def _descend(dtype: Any, shape: Any, alpha: Tensor, delta: Tensor) -> None:
    attrs = {"dtype": as_dtype(dtype), "shape": TensorShape(shape)}
    make("ResourceApplyGradientDescent", [_handle(dtype, shape), alpha, delta], attrs)


@pytest.mark.usefixtures("graph")
def test_a_gradient_of_impossible_shape_is_refused_while_building() -> None:
    with pytest.raises(ValueError, match=r"has shape \(2,\), input 2 has \(3,\)"):
        _descend(float32, [2], constant(1.0), constant([1.0, 2.0, 3.0]))


@pytest.mark.usefixtures("graph")
def test_a_gradient_of_another_dtype_is_refused_while_building() -> None:
    with pytest.raises(
        TypeError, match="takes inputs of one dtype; got resource, float32, float64"
    ):
        _descend(float32, [1], constant(1.0), constant([1.0], "float64"))


@pytest.mark.usefixtures("graph")
def test_a_rate_of_another_dtype_is_refused_while_building() -> None:
    with pytest.raises(TypeError, match="takes floating types, complex types as alpha; got int32"):
        _descend(float32, [1], constant(1, int32), constant([1.0]))


@pytest.mark.usefixtures("graph")
def test_a_rate_that_is_no_scalar_is_refused_while_building() -> None:
    with pytest.raises(ValueError, match=r"input 1 is a scalar, got shape \(2,\)"):
        _descend(float32, [2], constant([1.0, 2.0]), constant([1.0, 2.0]))


@pytest.mark.usefixtures("graph")
def test_an_integer_variable_is_refused_while_building() -> None:
    with pytest.raises(TypeError, match="takes floating types, complex types as alpha; got int32"):
        _descend(int32, [1], constant(1, int32), constant([1], int32))


@pytest.mark.usefixtures("graph")
def test_a_slot_that_is_no_handle_is_refused_while_building() -> None:
    attrs = {"dtype": float32, "shape": TensorShape([1])}
    one = constant(1.0)
    with pytest.raises(TypeError, match="handle as input 1, got a float32 tensor"):
        make(
            "ResourceApplyMomentum", [_handle(float32, [1]), one, one, constant([1.0]), one], attrs
        )


def test_a_gradient_whose_shape_turns_out_wrong_changes_nothing() -> None:
    cells = [InPlace(np.ones((2, 3), np.float32)) for _ in range(3)]
    with pytest.raises(InvalidArgumentError, match=r"has shape \[2, 3\], the update \[3\]"):
        kernel("ResourceApplyAdam")(*cells, *adam_rates(1), np.ones(3, np.float32))
    for cell in cells:
        np.testing.assert_array_equal(cell.value, np.ones((2, 3)))


@pytest.mark.usefixtures("graph")
def test_unknown_shapes_are_accepted() -> None:
    delta = source(float32)
    assert delta.spec == TensorSpec(float32, unknown_shape)
    _descend(float32, None, source(float32), delta)
