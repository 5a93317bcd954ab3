"""The error function, its complement and their inverses: integrals of the Gaussian.

``erf`` and ``erfc`` do not need scipy, but are ten times faster with it; the inverses need it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import InferContext, Kernel, KernelContext, OpDef, register
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor, make_one
from actorsession.ops.elements.elementwise import exp, square
from actorsession.ops.operands import infer_like
from actorsession.ops.scipy_kernels import (
    cost_of_each,
    in_own_dtype,
    require_scipy,
    scipy_function,
    scipy_kernel,
)

__all__ = ["erf", "erfc", "erfcinv", "erfinv", "ndtri"]


def erf(x: Any, name: str | None = None) -> Tensor:
    """Return the error function, element by element."""
    return raw.Erf(x, name=name)


def erfc(x: Any, name: str | None = None) -> Tensor:
    """Return ``1 - erf(x)``, exact also for large ``x``."""
    return raw.Erfc(x, name=name)


def erfinv(x: Any, name: str | None = None) -> Tensor:
    """Return the number whose error function is ``x``; NaN outside [-1, 1].

    Raises:
        ImportError: without scipy.
    """
    return _scoped("Erfinv", x, name or "erfinv")


def erfcinv(x: Any, name: str | None = None) -> Tensor:
    """Return the number whose ``erfc`` is ``x``; NaN outside [0, 2].

    Raises:
        ImportError: without scipy.
    """
    value = convert_to_tensor(x)
    with value.graph.name_scope(name or "erfcinv"):
        return -ndtri(0.5 * value) * math.sqrt(0.5)


def ndtri(x: Any, name: str | None = None) -> Tensor:
    """Return the quantile of the standard normal distribution for the probability ``x``.

    Raises:
        ImportError: without scipy.
    """
    return _scoped("Ndtri", x, name or "ndtri")


def _scoped(op_type: str, x: Any, name: str) -> Tensor:
    value = convert_to_tensor(x)
    with value.graph.name_scope(name):
        return make_one(op_type, [value])


def _by_math(function: Callable[[float], float]) -> Kernel:
    """Return a function of Python's ``math`` as a kernel for arrays and scalars."""
    each = np.vectorize(function, otypes=[np.float64])
    return lambda x: each(x)[()]


def _kernel(name: str, function: Callable[[float], float]) -> Callable[[KernelContext], Kernel]:
    return lambda ctx: in_own_dtype(ctx, scipy_function(name) or _by_math(function))


def _infer_inverse(ctx: InferContext) -> Sequence[TensorSpec]:
    require_scipy(ctx.op)
    return infer_like("f")(ctx)


def _bell(factor: float, exponent: float) -> Callable[[Tensor, Tensor], Tensor]:
    """Return the gradient of an integral of the Gaussian, or of its inverse by its result."""
    return lambda x, grad: grad * factor * exp(exponent * square(x))


def _of_argument(back: Callable[[Tensor, Tensor], Tensor]) -> Any:
    def gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
        return [back(op.inputs[0], grad)]

    return gradient


def _of_result(back: Callable[[Tensor, Tensor], Tensor]) -> Any:
    def gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
        return [back(op.outputs[0], grad)]

    return gradient


# 0.01 us with scipy, 0.15 with math.
_COST = cost_of_each(0.02)

register(
    OpDef(
        name="Erf",
        infer=infer_like("f"),
        kernel=_kernel("erf", math.erf),
        gradient=_of_argument(_bell(2 / math.sqrt(math.pi), -1.0)),
        cost=_COST,
    )
)
register(
    OpDef(
        name="Erfc",
        infer=infer_like("f"),
        kernel=_kernel("erfc", math.erfc),
        gradient=_of_argument(_bell(-2 / math.sqrt(math.pi), -1.0)),
        cost=_COST,
    )
)
register(
    OpDef(
        name="Erfinv",
        infer=_infer_inverse,
        kernel=lambda ctx: scipy_kernel(ctx, "erfinv"),
        gradient=_of_result(_bell(math.sqrt(math.pi) / 2, 1.0)),
        cost=_COST,
    )
)
register(
    OpDef(
        name="Ndtri",
        infer=_infer_inverse,
        kernel=lambda ctx: scipy_kernel(ctx, "ndtri"),
        gradient=_of_result(_bell(math.sqrt(2 * math.pi), 0.5)),
        cost=_COST,
    )
)
