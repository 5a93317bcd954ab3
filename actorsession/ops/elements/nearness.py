"""Rounding and closeness: the nearest integer, the next float, and approximate equality."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Kernel, KernelContext
from actorsession.ops import raw
from actorsession.ops.broadcasting import summed
from actorsession.ops.rows import broadcasts, op, same

__all__ = ["approximate_equal", "nextafter", "rint"]


def rint(x: Any, name: str | None = None) -> Tensor:
    """Return the nearest integer of each element as floating-point number, halves to the even one."""
    return raw.Rint(x, name=name)


def nextafter(x1: Any, x2: Any, name: str | None = None) -> Tensor:
    """Return the next number of its type after ``x1`` in the direction of ``x2``, with broadcasting."""
    return raw.NextAfter(x1, x2, name=name)


def approximate_equal(x: Any, y: Any, tolerance: float = 1e-5, name: str | None = None) -> Tensor:
    """Return whether ``|x - y| < tolerance``, element by element without broadcasting."""
    return raw.ApproximateEqual(x, y, tolerance=float(tolerance), name=name)


def _approximate(xp: Any, ctx: KernelContext) -> Kernel:
    tolerance, unsigned = ctx.attrs["tolerance"], ctx.inputs[0].dtype.kind == "u"

    def approximate_equal(x: Any, y: Any) -> Any:
        if x.shape != y.shape:
            raise InvalidArgumentError(
                f"ApproximateEqual takes inputs of one shape; got {list(x.shape)}, {list(y.shape)}"
            )
        apart = xp.maximum(x, y) - xp.minimum(x, y) if unsigned else xp.abs(x - y)
        return apart < tolerance

    return approximate_equal


op("Rint", same, "round", NOT_DIFFERENTIABLE, kernel=lambda ctx: np.rint, into=np.rint)
_next_back = summed(lambda x1, x2, z, grad: (grad, raw.ZerosLike(grad)))
op("NextAfter", broadcasts, "nextafter", _next_back)
op("ApproximateEqual", same, sentence=_approximate, grad=NOT_DIFFERENTIABLE)
