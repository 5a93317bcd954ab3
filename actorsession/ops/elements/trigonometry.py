"""Inverse circular functions, and hyperbolic functions with their inverses, element by element.

The file has the shape function, kernel, gradient and public function of each op; ``sin``, ``cos`` and ``tan``
are in ``elementwise``, ``tanh`` is in ``neural.activations``. Gradients are written with operators on
tensors; complex arguments are conjugated in them, as in TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Kernel, OpDef, register
from actorsession.ops import raw
from actorsession.ops.broadcasting import summed
from actorsession.ops.elements.elementwise import conj, reciprocal, sqrt, square
from actorsession.ops.operands import infer_like, register_binary, writes

__all__ = ["acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cosh", "sinh"]


def acos(x: Any, name: str | None = None) -> Tensor:
    """Return the angle in [0, pi] whose cosine is ``x``; NaN outside [-1, 1]."""
    return raw.Acos(x, name=name)


def asin(x: Any, name: str | None = None) -> Tensor:
    """Return the angle in [-pi/2, pi/2] whose sine is ``x``; NaN outside [-1, 1]."""
    return raw.Asin(x, name=name)


def atan(x: Any, name: str | None = None) -> Tensor:
    """Return the angle in [-pi/2, pi/2] whose tangent is ``x``."""
    return raw.Atan(x, name=name)


def atan2(y: Any, x: Any, name: str | None = None) -> Tensor:
    """Return the angle of the point (``x``, ``y``), in [-pi, pi], with broadcasting.

    Args:
        y: second coordinate, a real floating type.
        x: first coordinate, the same dtype.
        name: wanted name.
    """
    return raw.Atan2(y, x, name=name)


def sinh(x: Any, name: str | None = None) -> Tensor:
    """Return the hyperbolic sine, element by element."""
    return raw.Sinh(x, name=name)


def cosh(x: Any, name: str | None = None) -> Tensor:
    """Return the hyperbolic cosine, element by element."""
    return raw.Cosh(x, name=name)


def asinh(x: Any, name: str | None = None) -> Tensor:
    """Return the inverse hyperbolic sine, element by element."""
    return raw.Asinh(x, name=name)


def acosh(x: Any, name: str | None = None) -> Tensor:
    """Return the inverse hyperbolic cosine, element by element; NaN below 1."""
    return raw.Acosh(x, name=name)


def atanh(x: Any, name: str | None = None) -> Tensor:
    """Return the inverse hyperbolic tangent, element by element; NaN outside [-1, 1]."""
    return raw.Atanh(x, name=name)


def _register(
    name: str, function: Kernel, back: Callable[[Tensor, Tensor, Tensor], Tensor]
) -> None:
    """Register an op; ``back`` is a function of conjugated argument, conjugated result and gradient."""

    def gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
        return [back(conj(op.inputs[0]), conj(op.outputs[0]), grad)]

    register(
        OpDef(
            name=name,
            infer=infer_like("fc"),
            kernel=lambda ctx: function,
            gradient=gradient,
            into=writes(function),
        )
    )


_register("Acos", np.arccos, lambda x, y, grad: -grad / sqrt(1 - square(x)))
_register("Asin", np.arcsin, lambda x, y, grad: grad / sqrt(1 - square(x)))
_register("Atan", np.arctan, lambda x, y, grad: grad / (1 + square(x)))
_register("Sinh", np.sinh, lambda x, y, grad: grad * cosh(x))
_register("Cosh", np.cosh, lambda x, y, grad: grad * sinh(x))
# From the result: the root of x * x + 1 would overflow for large arguments.
_register("Asinh", np.arcsinh, lambda x, y, grad: grad / cosh(y))
_register("Acosh", np.arccosh, lambda x, y, grad: grad / sinh(y))
_register("Atanh", np.arctanh, lambda x, y, grad: grad * reciprocal(1 - square(x)))


def _atan2_back(y: Tensor, x: Tensor, z: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
    share = grad / (square(y) + square(x))
    return x * share, -y * share


register_binary("Atan2", "f", lambda ctx: np.arctan2, summed(_atan2_back), into=np.arctan2)
