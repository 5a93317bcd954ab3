"""Complex numbers: construction from real numbers, their parts, angle and absolute value.

``abs`` is in ``elementwise`` and builds ``ComplexAbs`` for complex numbers. Real numbers are accepted as
complex ones without imaginary part, as in TensorFlow.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from actorsession.graph.dtypes import DType, as_dtype, complex64, complex128, float32, float64
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import InferContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.broadcasting import summed
from actorsession.ops.build import convert_to_tensor, graph_of
from actorsession.ops.elements.comparison import less
from actorsession.ops.elements.elementwise import reciprocal
from actorsession.ops.elements.quotients import div_no_nan
from actorsession.ops.elements.selection import where_v2
from actorsession.ops.operands import scalar_like
from actorsession.ops.rows import Shapes, broadcasts, op, same

__all__ = ["angle", "complex", "imag", "real"]

_COMPLEX = {float32: complex64, float64: complex128}
_REAL = {wide: narrow for narrow, wide in _COMPLEX.items()}


def complex(real: Any, imag: Any, name: str | None = None) -> Tensor:
    """Return complex numbers made of their parts, both float32 or both float64, with broadcasting."""
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
    """Return the real part; a tensor of real numbers is returned unchanged."""
    value = convert_to_tensor(input)
    if value.dtype.is_complex:
        return raw.Real(value, Tout=_REAL[value.dtype], name=name)
    if not value.dtype.is_numeric:
        raise TypeError(f"real takes numbers; got {value.dtype.name}")
    return value


def imag(input: Any, name: str | None = None) -> Tensor:
    """Return the imaginary part, which is 0 for real numbers."""
    value = convert_to_tensor(input)
    if value.dtype.is_complex:
        return raw.Imag(value, Tout=_REAL[value.dtype], name=name)
    return raw.ZerosLike(value)


def angle(input: Any, name: str | None = None) -> Tensor:
    """Return the angle of each number in the complex plane, in [-pi, pi]; pi for negative real numbers."""
    value = convert_to_tensor(input)
    if value.dtype.is_complex:
        return raw.Angle(value, Tout=_REAL[value.dtype], name=name)
    with value.graph.name_scope(name or "Angle"):
        zero, half_turn = scalar_like(0, value), scalar_like(np.pi, value)
        return where_v2(less(value, zero), half_turn, zero)


# -- shape rules ---------------------------------------------------------------------------------


def _typed_by(made_of: Mapping[DType, DType], shapes: Shapes) -> Shapes:
    """Return a shape rule that also checks the attribute ``Tout``, which repeats what the inputs say."""

    def checked(ctx: InferContext) -> Sequence[TensorShape]:
        source, target = ctx.inputs[0].dtype, as_dtype(ctx.attrs["Tout"])
        if made_of.get(source) is not target:
            raise TypeError(f"{ctx.op} cannot make {target.name} of {source.name}")
        return shapes(ctx)

    return checked


# -- kernels and gradients -----------------------------------------------------------------------


def _joined(first: Any, second: Any) -> Any:
    # Not first + 1j * second, which would turn an infinite part into NaN.
    shape = np.broadcast_shapes(first.shape, second.shape)
    out = np.empty(shape, np.complex64 if first.dtype == np.float32 else np.complex128)
    out.real, out.imag = first, second
    return out


def _angle_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    x = op.inputs[0]
    turned = reciprocal(complex(imag(x), real(x)))
    return [-complex(grad, scalar_like(0, grad)) * turned]


def _abs_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    zero = scalar_like(0, grad)
    return [div_no_nan(complex(grad, zero) * op.inputs[0], complex(op.outputs[0], zero))]


_part = _typed_by(_REAL, same)
_complex_gradient = summed(lambda x, y, z, grad: (real(grad), imag(grad)))
op("Complex", _typed_by(_COMPLEX, broadcasts), _joined, _complex_gradient)
op("Real", _part, lambda x: x.real.copy(), lambda op, g: [complex(g, scalar_like(0, g))])
op("Imag", _part, lambda x: x.imag.copy(), lambda op, g: [complex(scalar_like(0, g), g)])
op("Angle", _part, sentence=lambda xp, ctx: lambda x: xp.atan2(x.imag, x.real), grad=_angle_gradient)
op("ComplexAbs", _part, operator.abs, _abs_gradient)
