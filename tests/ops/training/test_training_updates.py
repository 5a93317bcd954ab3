"""The updates with rates for each element, and the proximal ones, against their formulas in numpy."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pytest

from actorsession import as_dtype, float32
from actorsession.errors import InvalidArgumentError
from actorsession.extend import NOT_DIFFERENTIABLE, registered_ops
from actorsession.graph.registry import lookup
from actorsession.ops.blas import BLOCK_BYTES
from tests.ops.holders import InPlace, Shared, arrays, close, double, kernel
from tests.rows import for_each

MANY = BLOCK_BYTES // 8 + 1001


# -- the formulas, once more ---------------------------------------------------------------------


def adagrad(var: Any, accum: Any, lr: Any, g: Any) -> Any:
    accum = accum + g**2
    return var - lr * g * accum**-0.5, accum


def adagrad_da(var: Any, s: Any, q: Any, g: Any, lr: Any, l1: Any, l2: Any, step: Any) -> Any:
    s, q = s + g, q + g**2
    within = np.clip(s, -l1 * step, l1 * step)
    return lr * (within - s) / (l2 * step * lr + np.sqrt(q)), s, q


def adadelta(var: Any, accum: Any, updates: Any, lr: Any, rho: Any, eps: Any, g: Any) -> Any:
    accum = rho * accum + (1 - rho) * g**2
    update = g * np.sqrt((updates + eps) / (accum + eps))
    return var - lr * update, accum, rho * updates + (1 - rho) * update**2


def rms_prop(var: Any, ms: Any, mom: Any, lr: Any, rho: Any, mu: Any, eps: Any, g: Any) -> Any:
    ms = rho * ms + (1 - rho) * g**2
    mom = mu * mom + lr * g / np.sqrt(ms + eps)
    return var - mom, ms, mom


def centered(*given: Any) -> Any:
    var, mg, ms, mom, lr, rho, mu, eps, g = given
    ms, mg = rho * ms + (1 - rho) * g**2, rho * mg + (1 - rho) * g
    mom = mu * mom + lr * g / np.sqrt(ms - mg**2 + eps)
    return var - mom, mg, ms, mom


def ftrl(var: Any, n: Any, z: Any, g: Any, lr: Any, l1: Any, l2: Any, power: Any) -> Any:
    return ftrl_v2(var, n, z, g, lr, l1, l2, 0.0, power)


def ftrl_v2(*given: Any) -> Any:
    var, n, z, g, lr, l1, l2, shrinkage, power = given
    grown = n + g**2
    z = z + g + 2 * shrinkage * var - (grown**-power - n**-power) / lr * var
    best = (np.clip(z, -l1, l1) - z) / (grown**-power / lr + 2 * l2)
    return best, grown, z


def proximal(var: Any, lr: Any, l1: Any, l2: Any, g: Any) -> Any:
    moved = var - lr * g
    return ((moved - np.clip(moved, -lr * l1, lr * l1)) / (1 + lr * l2),)


def proximal_adagrad(var: Any, accum: Any, lr: Any, l1: Any, l2: Any, g: Any) -> Any:
    accum = accum + g**2
    return *proximal(var, lr / np.sqrt(accum), l1, l2, g), accum


def descent(var: Any, lr: Any, g: Any) -> Any:
    return (var - lr * g,)


def momentum(var: Any, acc: Any, lr: Any, g: Any, mu: Any, nesterov: bool = False) -> Any:
    acc = mu * acc + g
    return var - lr * (g + mu * acc if nesterov else acc), acc


def keras_momentum(var: Any, acc: Any, lr: Any, g: Any, mu: Any, nesterov: bool = False) -> Any:
    acc = mu * acc - lr * g
    return var + (mu * acc - lr * g if nesterov else acc), acc


def adam(*given: Any, nesterov: bool = False) -> Any:
    var, m, v, power1, power2, lr, b1, b2, eps, g = given
    m, v = b1 * m + (1 - b1) * g, b2 * v + (1 - b2) * g**2
    ahead = b1 * m + (1 - b1) * g if nesterov else m
    return var - lr * np.sqrt(1 - power2) / (1 - power1) * ahead / (np.sqrt(v) + eps), m, v


ADAM = ["s", "s", 0.729, 0.997, 0.1, 0.9, 0.999, 1e-3, "g"]
# Per op: its formula, its inputs (slots and gradient by letter, rates by value).
CASES: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "Adagrad": (adagrad, ["s", 0.25, "g"]),
    "AdagradDA": (adagrad_da, ["s", "s", "g", 0.25, 0.0, 0.125, 3]),
    "Adadelta": (adadelta, ["s", "s", 0.25, 0.75, 0.0625, "g"]),
    "RMSProp": (rms_prop, ["s", "s", 0.25, 0.75, 0.5, 0.0625, "g"]),
    "CenteredRMSProp": (centered, ["s", "s", "s", 0.25, 0.75, 0.5, 8.0, "g"]),
    "Ftrl": (ftrl, ["s", "s", "g", 0.25, 0.125, 0.5, -0.5]),
    "FtrlV2": (ftrl_v2, ["s", "s", "g", 0.25, 0.125, 0.5, 0.25, -0.25]),
    "ProximalGradientDescent": (proximal, [0.25, 0.5, 0.125, "g"]),
    "ProximalAdagrad": (proximal_adagrad, ["s", 0.25, 0.5, 0.125, "g"]),
    "GradientDescent": (descent, [0.1, "g"]),
    "Momentum": (momentum, ["s", 0.1, "g", 0.9]),
    "Momentum use_nesterov": (partial(momentum, nesterov=True), ["s", 0.1, "g", 0.9]),
    "KerasMomentum": (keras_momentum, ["s", 0.1, "g", 0.9]),
    "KerasMomentum use_nesterov": (partial(keras_momentum, nesterov=True), ["s", 0.1, "g", 0.9]),
    "Adam": (adam, ADAM),
    "Adam use_nesterov": (partial(adam, nesterov=True), ADAM),
}
EVERY = for_each("op", CASES)
SPARSE = for_each("op", [op for op in CASES if f"ResourceSparseApply{op.split()[0]}" in registered_ops()])
HOLDERS = for_each("holder", [InPlace, Shared])


def kernel_of(prefix: str, op: str) -> Any:
    op_type, *flags = op.split()
    return kernel(prefix + op_type, **dict.fromkeys(flags, True))


def given(op: str, dtype: str, shape: Sequence[int], view: Any = None) -> tuple[list[Any], Any]:
    """The variable and inputs of a case, and what comes of them (in float64): variable, slots."""
    formula, pattern = CASES[op]
    drawn = iter(arrays(shape, dtype, len(pattern) + 1))

    def take() -> Any:
        return view(next(drawn)) if view else next(drawn)

    scalar: Any = as_dtype(dtype).np_dtype.type
    values = [take()]
    for item in pattern:
        if isinstance(item, int):
            values.append(np.int64(item))
        else:
            values.append(take() if isinstance(item, str) else scalar(item))
    return values, formula(*double(*values))


def held(op: str, values: list[Any], holder: Any) -> tuple[list[Any], list[Any]]:
    """The same with the variable and the slots in holders, and these holders."""
    pattern = ["s", *CASES[op][1]]
    out = [holder(v if np.ndim(v) else v[()]) if p == "s" else v for p, v in zip(pattern, values, strict=True)]
    return out, [v for v in out if isinstance(v, InPlace)]


@EVERY
@HOLDERS
@for_each("dtype", ["float32", "float64", "float16", "bfloat16"])
@for_each("shape", [(), (1,), (0,), (3, 4), (MANY,)], ids=str)
def test_dense_updates_follow_their_formula(op: str, shape: Any, dtype: str, holder: Any) -> None:
    values, wanted = given(op, dtype, shape)
    inputs, cells = held(op, values, holder)
    kernel_of("ResourceApply", op)(*inputs)
    for cell, value in zip(cells, wanted, strict=True):
        close(cell.value, value, dtype)


@SPARSE
@HOLDERS
@for_each("many", [False, True])
def test_sparse_updates_change_the_rows_of_the_indices_only(op: str, holder: Any, many: bool) -> None:
    """Rows with one index are added up first."""
    shape = (MANY // 1000, 1000) if many else (5, 2)
    values, _ = given(op, "float32", shape)
    place = CASES[op][1].index("g") + 1
    rows = arrays((3, shape[1]), float32, 1, seed=3)[0]
    whole = np.zeros(shape)
    np.add.at(whole, [3, 1, 3], rows)
    values[place] = whole
    wanted = CASES[op][0](*double(*values))
    inputs, cells = held(op, values, holder)
    before = [cell.value.copy() for cell in cells]
    kernel_of("ResourceSparseApply", op)(*inputs[:place], rows, np.array([3, 1, 3]), *inputs[place + 1 :])
    for cell, value, old in zip(cells, wanted, before, strict=True):
        expected = old.astype(float)
        expected[[1, 3]] = value[[1, 3]]
        close(cell.value, expected, "float32")
        np.testing.assert_array_equal(cell.value[[0, 2, 4]], old[[0, 2, 4]])


@EVERY
@HOLDERS
@for_each("view", [lambda x: x.T, lambda x: x[:, ::2]], ids=["turned", "stepped"])
def test_values_that_are_not_contiguous_are_updated_right(op: str, holder: Any, view: Any) -> None:
    """An initial value may be a transposed view; so may a gradient."""
    values, wanted = given(op, "float32", (400, 300), view=view)
    inputs, cells = held(op, values, holder)
    kernel_of("ResourceApply", op)(*inputs)
    for cell, value in zip(cells, wanted, strict=True):
        close(cell.value, value, "float32")


def without_change(op: str, shape: Any, prefix: str, arrange: Any, match: str = "") -> None:
    """Run an update with other inputs, which leaves all values as they were, and is refused if there are words."""
    values, _ = given(op, "float32", shape)
    place = CASES[op][1].index("g") + 1
    inputs, cells = held(op, values, InPlace)
    before = [cell.value.copy() for cell in cells]
    refused = pytest.raises(InvalidArgumentError, match=match) if match else contextlib.nullcontext()
    with refused:
        kernel_of(prefix, op)(*inputs[:place], *arrange, *inputs[place + 1 :])
    for cell, old in zip(cells, before, strict=True):
        np.testing.assert_array_equal(cell.value, old)


@EVERY
def test_a_gradient_of_another_shape_changes_nothing(op: str) -> None:
    wrong = [np.ones(3, np.float32)]
    without_change(op, (2, 3), "ResourceApply", wrong, r"has shape \[2, 3\], the update \[3\]")


@SPARSE
def test_no_indices_and_one_outside_the_variable_change_nothing(op: str) -> None:
    without_change(op, (5, 2), "ResourceSparseApply", [np.zeros((0, 2), np.float32), np.zeros(0, np.int64)])
    outside = [np.ones((2, 2), np.float32), np.array([0, 5])]
    without_change(op, (5, 2), "ResourceSparseApply", outside, r"indices\[1\] = 5 is not in \[0, 5\)")


@EVERY
def test_dense_updates_write_in_place_when_nobody_else_has_the_values(op: str) -> None:
    values, _ = given(op, "float32", (MANY,))
    inputs, cells = held(op, values, InPlace)
    before = [cell.value for cell in cells]
    kernel_of("ResourceApply", op)(*inputs)
    assert all(cell.value is old for cell, old in zip(cells, before, strict=True))


# -- attributes and edges ------------------------------------------------------------------------


def test_adagrad_may_leave_its_squares_as_they_are() -> None:
    var, accum = InPlace(np.ones(2)), InPlace(np.array([4.0, 16.0]))
    run = kernel("ResourceApplyAdagrad", update_slots=False)
    run(var, accum, np.float64(0.5), np.array([1.0, 2.0]))
    assert (var.value.tolist(), accum.value.tolist()) == ([0.75, 0.75], [4.0, 16.0])


def test_dual_averaging_makes_values_within_l1_zero() -> None:
    cells = [InPlace(np.array([5.0, 5.0])), InPlace(np.zeros(2)), InPlace(np.full(2, 0.5))]
    rates = [np.float64(x) for x in (0.25, 0.5, 0.0)]
    kernel("ResourceApplyAdagradDA")(*cells, np.array([1.0, -3.0]), *rates, np.int64(2))
    np.testing.assert_allclose(cells[0].value, [0.0, 0.25 * 2 / np.sqrt(9.5)])


@pytest.mark.parametrize(
    ("op", "rates", "wanted"),
    [
        ("Ftrl", (0.1, 0.3, 0.2, -0.5), [0.30933778388283883, 1.4099464445817238, 0.0]),
        ("FtrlV2", (0.1, 0.3, 0.2, 0.4, -0.25), [0.05786149747578153, 0.7833230004825585, 0.3486395357875152]),
    ],
)
def test_ftrl_may_keep_its_linear_part_times_the_rate(op: str, rates: Any, wanted: Any) -> None:
    """TensorFlow's numbers; without a regularisation by l1 the attribute changes no value."""
    start = (np.array([1.0, 2.0, -3.0]), np.full(3, 0.1), np.zeros(3))
    cells = [InPlace(x.copy()) for x in start]
    run = kernel(f"ResourceApply{op}", multiply_linear_by_lr=True)
    run(*cells, np.array([0.5, -1.0, 0.0]), *map(np.float64, rates))
    np.testing.assert_allclose(cells[0].value, wanted, rtol=1e-12)


def test_a_slope_that_is_no_number_makes_a_value_of_ftrl_zero() -> None:
    """As in TensorFlow: only a linear part above l1 moves a value away from 0."""
    cells = [InPlace(x) for x in (np.ones(1), np.ones(1), np.zeros(1))]
    rates = map(np.float64, (0.1, 0.0, 0.0, -0.5))
    kernel("ResourceApplyFtrl")(*cells, np.array([np.nan]), *rates)
    assert cells[0].value.tolist() == [0.0]
    assert np.isnan(cells[2].value).all()


# -- what does not fit ---------------------------------------------------------------------------


def test_a_rate_that_turns_out_to_be_no_scalar_is_refused() -> None:
    cells = [InPlace(np.ones(2)), InPlace(np.ones(2))]
    with pytest.raises(InvalidArgumentError, match=r"lr is a scalar, got a value of shape \[2\]"):
        kernel("ResourceApplyAdagrad")(*cells, np.ones(2), np.ones(2))


@EVERY
def test_nothing_flows_back_through_an_update(op: str) -> None:
    types = [f"Resource{how}{op.split()[0]}" for how in ("Apply", "SparseApply")]
    assert {lookup(t).gradient for t in types if t in registered_ops()} == {NOT_DIFFERENTIABLE}
