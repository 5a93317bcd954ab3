"""Inverse circular functions, and hyperbolic functions with their inverses, element by element.

``sin``, ``cos`` and ``tan`` are in ``elementwise``, ``tanh`` is in ``neural.activations``. Complex arguments
are conjugated in gradients, as in TensorFlow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Gradient
from actorsession.ops import raw
from actorsession.ops.broadcasting import summed
from actorsession.ops.elements.elementwise import conj, reciprocal, sqrt, square
from actorsession.ops.rows import broadcasts, op, same

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
    """Return the angle of the point (``x``, ``y``), in [-pi, pi], with broadcasting."""
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


def _conjugated(back: Callable[[Tensor, Tensor, Tensor], Tensor]) -> Gradient:
    """Return the gradient that is a function of the conjugated argument and result and the gradient."""

    def gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
        return [back(conj(op.inputs[0]), conj(op.outputs[0]), grad)]

    return gradient


def _atan2_back(y: Tensor, x: Tensor, z: Tensor, grad: Tensor) -> tuple[Tensor, Tensor]:
    share = grad / (square(y) + square(x))
    return x * share, -y * share


op("Acos", same, "acos", _conjugated(lambda x, y, grad: -grad * reciprocal(sqrt(1 - square(x)))))
op("Asin", same, "asin", _conjugated(lambda x, y, grad: grad * reciprocal(sqrt(1 - square(x)))))
op("Atan", same, "atan", _conjugated(lambda x, y, grad: grad * reciprocal(1 + square(x))))
op("Atan2", broadcasts, "atan2", summed(_atan2_back))
op("Sinh", same, "sinh", _conjugated(lambda x, y, grad: grad * cosh(x)))
op("Cosh", same, "cosh", _conjugated(lambda x, y, grad: grad * sinh(x)))
# From the result: the root of x * x + 1 would overflow for large arguments.
op("Asinh", same, "asinh", _conjugated(lambda x, y, grad: grad / cosh(y)))
op("Acosh", same, "acosh", _conjugated(lambda x, y, grad: grad / sinh(y)))
op("Atanh", same, "atanh", _conjugated(lambda x, y, grad: grad * reciprocal(1 - square(x))))
