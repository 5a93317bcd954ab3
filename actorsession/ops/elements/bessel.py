"""Modified Bessel functions of the first kind, plain and scaled; they need scipy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import InferContext, OpDef, register
from actorsession.ops.build import convert_to_tensor, make_one
from actorsession.ops.elements.comparison import equal
from actorsession.ops.elements.elementwise import reciprocal, sign
from actorsession.ops.elements.selection import where_v2
from actorsession.ops.operands import infer_like, scalar_like
from actorsession.ops.scipy_kernels import cost_of_each, require_scipy, scipy_kernel

__all__ = ["bessel_i0", "bessel_i0e", "bessel_i1", "bessel_i1e"]


def bessel_i0(x: Any, name: str | None = None) -> Tensor:
    """Return the modified Bessel function of the first kind and order 0, element by element.

    Raises:
        ImportError: without scipy.
    """
    return _scoped("BesselI0", x, name or "bessel_i0")


def bessel_i1(x: Any, name: str | None = None) -> Tensor:
    """Return the modified Bessel function of the first kind and order 1, element by element.

    Raises:
        ImportError: without scipy.
    """
    return _scoped("BesselI1", x, name or "bessel_i1")


def bessel_i0e(x: Any, name: str | None = None) -> Tensor:
    """Return ``exp(-|x|) * bessel_i0(x)`` without overflow.

    Raises:
        ImportError: without scipy.
    """
    return _scoped("BesselI0e", x, name or "bessel_i0e")


def bessel_i1e(x: Any, name: str | None = None) -> Tensor:
    """Return ``exp(-|x|) * bessel_i1(x)`` without overflow.

    Raises:
        ImportError: without scipy.
    """
    return _scoped("BesselI1e", x, name or "bessel_i1e")


def _scoped(op_type: str, x: Any, name: str) -> Tensor:
    value = convert_to_tensor(x)
    with value.graph.name_scope(name):
        return make_one(op_type, [value])


def _infer(ctx: InferContext) -> Sequence[TensorSpec]:
    require_scipy(ctx.op)
    return infer_like("f")(ctx)


def _at_zero(x: Tensor, value: float, elsewhere: Callable[[Tensor], Tensor]) -> Tensor:
    """Return a derivative that contains a quotient with a limit at 0."""
    zero = equal(x, scalar_like(0, x))
    # Masked twice, so that the derivative of the branch that is not selected is finite too.
    safe = where_v2(zero, scalar_like(1, x), x)
    return where_v2(zero, scalar_like(value, x), elsewhere(safe))


def _i1_slope(x: Tensor, y: Tensor) -> Tensor:
    return _at_zero(x, 1.0, lambda safe: bessel_i0(x) - y / safe)


def _i1e_slope(x: Tensor, y: Tensor) -> Tensor:
    return _at_zero(x, 0.5, lambda safe: bessel_i0e(x) - y * (sign(x) + reciprocal(safe)))


def _register(name: str, function: str, slope: Callable[[Tensor, Tensor], Tensor]) -> None:
    def gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
        return [grad * slope(op.inputs[0], op.outputs[0])]

    register(
        OpDef(
            name=name,
            infer=_infer,
            kernel=lambda ctx: scipy_kernel(ctx, function),
            gradient=gradient,
            cost=cost_of_each(0.05),
        )
    )


_register("BesselI0", "i0", lambda x, y: bessel_i1(x))
_register("BesselI0e", "i0e", lambda x, y: bessel_i1e(x) - sign(x) * y)
_register("BesselI1", "i1", _i1_slope)
_register("BesselI1e", "i1e", _i1e_slope)
