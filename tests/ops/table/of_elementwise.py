"""Rows of functions of one tensor, element by element, and of the ops that compute their gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

from actorsession import nn, ops
from tests.ops.table.row import Row
from tests.ops.table.values import EMPTY

ANY = np.array([-2.5, -1.0, -0.5, 0.0, 0.5, 1.5, np.nan, np.inf, -np.inf], np.float32)
WHOLE = np.array([[-3, 0, 1], [2, -128, 127]], np.int8)
UNSIGNED = np.array([0, 1, 200], np.uint8)
COMPLEX = np.array([1 + 2j, -1.5 + 0.5j, 0.5j, -2], np.complex64)
HALF = np.array([-2.5, -0.5, 0.0, 0.25, 3.0], np.float16)
BRAIN = np.array([-2.5, -0.5, 0.0, 0.25, 3.0], ml_dtypes.bfloat16)
POSITIVE = np.array([0.0, 0.25, 1.0, 3.0, np.nan, np.inf, -1.0], np.float32)
DOUBLE = np.array([[-1.25, 0.75], [2.0, -0.1]])
SMOOTH = np.array([[-2.5, -0.7], [0.4, 1.3]])
ABOVE = np.array([[0.3, 0.7], [1.4, 2.3]])


def _of_one(
    name: str,
    numpy: Callable[..., Any],
    arrays: list[Any],
    smooth: Any = SMOOTH,
    *,
    build: Callable[..., Any] | None = None,
    rtol: float = 1e-5,
) -> Row:
    """The row of a function of one tensor: the arrays, a scalar of the first, and no number."""
    return Row(name, build or {}, numpy).on(
        [*arrays, arrays[0].reshape(-1)[-1], np.float32(np.nan)],
        [] if smooth is None else [smooth, np.float64(0.6)],
        rtol=rtol,
    )


def _low(op: str, numpy: Callable[..., Any]) -> Row:
    """The row of the same op for 16-bit floats, whose results are rounded once or twice."""
    return Row(f"{op}-low", {}, lambda x: numpy(x.astype(np.float32)).astype(x.dtype)).on(
        [HALF, BRAIN, HALF[1], BRAIN[1], BRAIN[:0]], [np.array([0.3])], rtol=0.02
    )


def _softplus(x: Any) -> Any:
    return np.logaddexp(x, x.dtype.type(0))


def _sigmoid(x: Any) -> Any:
    return (1 / (1 + np.exp(-x))).astype(x.dtype)


def _elu(x: Any) -> Any:
    return np.where(x < 0, np.expm1(x), x).astype(x.dtype)


FLOATS = [ANY, EMPTY, DOUBLE]
FIELDS = [*FLOATS, COMPLEX]

NUMPYS = "Exp Expm1 Log Log1p Sin Cos Tan Tanh Sqrt Square Abs Sign Reciprocal"  # numpy's under the same names
FUNCTIONS = [
    *(
        _of_one(name.capitalize(), getattr(np, name), FIELDS, build=getattr(ops, name))
        for name in ("exp", "expm1", "sin", "cos", "tan", "reciprocal")
    ),
    *(
        _of_one(
            name.capitalize(), getattr(np, name), [POSITIVE, EMPTY, DOUBLE, COMPLEX], ABOVE, build=getattr(ops, name)
        )
        for name in ("log", "log1p", "sqrt")
    ),
    _of_one("Tanh", np.tanh, FIELDS, build=nn.tanh),
    _of_one("Sigmoid", _sigmoid, FIELDS, build=nn.sigmoid),
    _of_one("Softplus", _softplus, FLOATS, build=nn.softplus),
    _of_one("Elu", _elu, FLOATS, build=nn.elu),
    _of_one("Rsqrt", lambda x: np.reciprocal(np.sqrt(x)), [POSITIVE, EMPTY, DOUBLE, COMPLEX], ABOVE, build=ops.rsqrt),
    _of_one("Inv", np.reciprocal, FIELDS),
    _of_one("Square", np.square, [*FIELDS, WHOLE, UNSIGNED], build=ops.square),
    _of_one("Neg", np.negative, [*FIELDS, WHOLE], build=ops.negative, rtol=0),
    _of_one("Abs", np.abs, [*FLOATS, WHOLE], build=ops.abs, rtol=0),
    _of_one("Sign", np.sign, [*FLOATS, WHOLE, COMPLEX], build=ops.sign),
    _of_one(
        "Relu",
        lambda x: np.maximum(x, x.dtype.type(0)),
        [*FLOATS, WHOLE, UNSIGNED, np.linspace(-1, 1, 9001, dtype=np.float32)],
        build=nn.relu,
        rtol=0,
    ),
    _of_one(
        "Relu6",
        lambda x: np.clip(x, x.dtype.type(0), x.dtype.type(6)),
        [*FLOATS, np.array([-1, 5, 6, 7, 100], np.int32), np.linspace(-9, 9, 9001)],
        build=nn.relu6,
        rtol=0,
    ),
]
LOW = [
    *(_low(op, getattr(np, op.lower())) for op in NUMPYS.split()),
    _low("Sigmoid", _sigmoid),
    _low("Softplus", _softplus),
    _low("Elu", _elu),
    _low("Relu", lambda x: np.maximum(x, 0)),
    _low("Neg", np.negative),
    _low("Rsqrt", lambda x: 1 / np.sqrt(x)),
]
STEP_FUNCTIONS = [
    _of_one("Floor", np.floor, [*FLOATS, HALF, BRAIN], None, build=ops.floor, rtol=0),
    _of_one("Ceil", np.ceil, [*FLOATS, HALF, BRAIN], None, build=ops.ceil, rtol=0),
    _of_one("Round", np.rint, [*FLOATS, HALF, BRAIN], None, build=ops.round, rtol=0),
    _of_one("Round-integers", lambda x: x, [WHOLE.astype(np.int32)], None, rtol=0),
    _of_one("OnesLike", np.ones_like, [ANY, EMPTY, WHOLE, COMPLEX, ANY > 0], None),
    _of_one("ZerosLike", np.zeros_like, [ANY, EMPTY, WHOLE, COMPLEX, ANY > 0], None),
]


# -- gradients as ops ------------------------------------------------------------------------------

# What the forward op gave, and what flows in: nothing, much, and NaN.
RESULT = np.array([[0.5, -0.25], [1.5, 0.75]])
INCOMING = np.array([[2.0, -1.0], [0.5, 3.0]])
EDGES = np.array([-1.0, 0.0, 0.5, 0.0, 6.0, 7.0, np.nan, np.inf], np.float32)
FLOWS = np.array([2.0, 1.0, -3.0, 0.0, 5.0, 1.0, 4.0, 0.0], np.float32)
SHAPES = [(RESULT, INCOMING), (EMPTY, EMPTY), (np.float32(0.5), np.float32(-2.0))]
NARROW = [(HALF[:3], HALF[2:]), (BRAIN[1:4:2], BRAIN[3:])]


def _of_result(op: str, numpy: Callable[..., Any], extra: list[Any], smooth: Any = RESULT) -> Row:
    """The row of a gradient op: of two tensors of one shape."""
    return Row(op, {}, numpy).on([*SHAPES, *extra], [(smooth, INCOMING), (np.float64(0.3), np.float64(2.0))], rtol=1e-5)


def _sqrt_grad(y: Any, dy: Any) -> Any:
    return np.where(dy == 0, y.dtype.type(0), dy * y.dtype.type(0.5) / np.conjugate(y))


def _cubed(y: Any, dy: Any) -> Any:
    return np.where(dy == 0, 0, dy * y.dtype.type(-0.5) * np.conjugate(y) ** 3)


def _slope_of_inverse(y: Any, dy: Any) -> Any:
    return np.where(dy == 0, 0, -dy * np.conjugate(y) ** 2)


def _between(x: Any, low: float, high: float) -> Any:
    return (x > low) & (x < high)


def _elu_grad(dy: Any, y: Any) -> Any:
    return np.where(y < 0, dy * (y + y.dtype.type(1)), dy)


CURVED = [(COMPLEX, COMPLEX[::-1].copy())]
GRADIENTS = [
    _of_result("TanhGrad", lambda y, dy: dy * (1 - y * y), [(EDGES, FLOWS), *CURVED]),
    _of_result("SigmoidGrad", lambda y, dy: dy * y * (1 - y), [(EDGES, FLOWS), *CURVED]),
    _of_result("SqrtGrad", _sqrt_grad, [(EDGES, FLOWS), *CURVED]),
    _of_result("RsqrtGrad", _cubed, [(EDGES, FLOWS), *CURVED]),
    _of_result("ReciprocalGrad", _slope_of_inverse, [(EDGES, FLOWS), *CURVED]),
    _of_result("InvGrad", _slope_of_inverse, [(EDGES, FLOWS), *CURVED]),
    _of_result("ReluGrad", lambda dy, x: dy * (x > 0), [(FLOWS, EDGES), (WHOLE, WHOLE), *NARROW]),
    _of_result("Relu6Grad", lambda dy, x: dy * _between(x, 0, 6), [(FLOWS, EDGES), (UNSIGNED, UNSIGNED), *NARROW]),
    _of_result("EluGrad", _elu_grad, [(FLOWS, EDGES), (HALF, HALF)]),
    _of_result("SoftplusGrad", lambda dy, x: dy / (1 + np.exp(-x)), [(FLOWS, EDGES)]),
]


def _conjugated(x: Any) -> Any:
    """The conjugate, of a real tensor by way of complex numbers: so its gradient can be checked."""
    if x.dtype.is_complex:
        return ops.conj(x)
    return ops.cast(ops.conj(ops.cast(x, "complex128") * (1 + 2j)), "float64")


CONJUGATE = Row("Conj", _conjugated, np.conjugate).on(
    [COMPLEX, COMPLEX[:0], COMPLEX[0], COMPLEX.astype(np.complex128)], [SMOOTH]
)
