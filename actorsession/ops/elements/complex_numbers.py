"""Complex numbers: construction from real numbers, their parts, angle and absolute value.

Owns ``Complex``, ``Real``, ``Imag``, ``Angle`` and ``ComplexAbs``; ``abs`` itself is in ``elementwise`` and
builds the latter for complex numbers. Real numbers are accepted as complex ones without imaginary part, as in
TensorFlow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.graph.dtypes import DType, as_dtype, complex64, complex128, float32, float64
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Gradient, InferContext, Kernel, OpDef, register
from actorsession.ops import raw
from actorsession.ops.broadcasting import sum_to_operands
from actorsession.ops.build import convert_to_tensor, graph_of, make_one
from actorsession.ops.elements.comparison import less
from actorsession.ops.elements.elementwise import reciprocal
from actorsession.ops.elements.quotients import div_no_nan
from actorsession.ops.elements.selection import where_v2
from actorsession.ops.operands import broadcast, check_dtype, scalar_like

__all__ = ["angle", "complex", "imag", "real"]

_COMPLEX = {float32: complex64, float64: complex128}
_REAL = {wide: narrow for narrow, wide in _COMPLEX.items()}


def complex(real: Any, imag: Any, name: str | None = None) -> Tensor:
    """Return complex numbers made of their parts, with broadcasting.

    Args:
        real: real parts, float32 or float64.
        imag: imaginary parts, the same dtype.
        name: wanted name.

    Raises:
        TypeError: for another dtype, or two.
    """
    graph = graph_of(real, imag)
    first = convert_to_tensor(real, name="real", graph=graph)
    second = convert_to_tensor(imag, name="imag", graph=graph)
    if first.dtype is not second.dtype or first.dtype not in _COMPLEX:
        raise TypeError(
            "complex numbers are made of two parts of float32 or two of float64; got "
            f"{first.dtype.name} and {second.dtype.name}"
        )
    return raw.Complex(first, second, Tout=_COMPLEX[first.dtype], name=name)


def real(input: Any, name: str | None = None) -> Tensor:
    """Return the real part; a tensor of real numbers is returned unchanged.

    Raises:
        TypeError: if the tensor is not numeric.
    """
    value = convert_to_tensor(input)
    if value.dtype.is_complex:
        return _part("Real", value, name)
    if not value.dtype.is_numeric:
        raise TypeError(f"real takes numbers; got {value.dtype.name}")
    return value


def imag(input: Any, name: str | None = None) -> Tensor:
    """Return the imaginary part, which is 0 for real numbers."""
    value = convert_to_tensor(input)
    return _part("Imag", value, name) if value.dtype.is_complex else _zeros(value)


def angle(input: Any, name: str | None = None) -> Tensor:
    """Return the angle of each number in the complex plane, in [-pi, pi].

    Args:
        input: complex or real floating numbers; negative real numbers have the angle pi.
        name: wanted name.
    """
    value = convert_to_tensor(input)
    if value.dtype.is_complex:
        return _part("Angle", value, name)
    with value.graph.name_scope(name or "Angle"):
        zero, half_turn = scalar_like(0, value), scalar_like(np.pi, value)
        return where_v2(less(value, zero), half_turn, zero)


def _part(op_type: str, value: Tensor, name: str | None = None) -> Tensor:
    return make_one(op_type, [value], {"Tout": _REAL[value.dtype]}, name)


def _zeros(value: Tensor) -> Tensor:
    return raw.ZerosLike(value)


# -- static types --------------------------------------------------------------------------------


def _infer_complex(ctx: InferContext) -> list[TensorSpec]:
    return [TensorSpec(_checked(ctx, "f", _COMPLEX), broadcast(ctx))]


def _infer_part(ctx: InferContext) -> list[TensorSpec]:
    return [TensorSpec(_checked(ctx, "c", _REAL), ctx.inputs[0].shape)]


def _checked(ctx: InferContext, kinds: str, made_of: dict[DType, DType]) -> DType:
    """Check the dtypes, and return the dtype of the result, which the attribute ``Tout`` repeats."""
    found, wanted = check_dtype(ctx, kinds), as_dtype(ctx.attrs["Tout"])
    if made_of.get(found) is not wanted:
        raise TypeError(f"{ctx.op} cannot make {wanted.name} of {found.name}")
    return wanted


# -- kernels and gradients -----------------------------------------------------------------------


def _joined(first: Any, second: Any) -> Any:
    # Not first + 1j * second, which would turn an infinite part into NaN.
    shape = np.broadcast_shapes(first.shape, second.shape)
    out = np.empty(shape, np.complex64 if first.dtype == np.float32 else np.complex128)
    out.real, out.imag = first, second
    return out


def _complex_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    return sum_to_operands(op.inputs[0], op.inputs[1], real(grad), imag(grad))


def _real_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    return [complex(grad, scalar_like(0, grad))]


def _imag_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    return [complex(scalar_like(0, grad), grad)]


def _angle_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    x = op.inputs[0]
    turned = reciprocal(complex(imag(x), real(x)))
    return [-complex(grad, scalar_like(0, grad)) * turned]


def _abs_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    zero = scalar_like(0, grad)
    return [div_no_nan(complex(grad, zero) * op.inputs[0], complex(op.outputs[0], zero))]


def _register(name: str, infer: Any, function: Kernel, gradient: Gradient) -> None:
    register(
        OpDef(
            name=name,
            infer=infer,
            kernel=lambda ctx: function,
            gradient=gradient,
        )
    )


_register("Complex", _infer_complex, _joined, _complex_gradient)
_register("Real", _infer_part, lambda x: x.real.copy(), _real_gradient)
_register("Imag", _infer_part, lambda x: x.imag.copy(), _imag_gradient)
_register("Angle", _infer_part, lambda x: np.arctan2(x.imag, x.real), _angle_gradient)
_register("ComplexAbs", _infer_part, np.abs, _abs_gradient)
