"""Kernels that scipy computes: functions that neither numpy nor Python's ``math`` has.

scipy is an optional extra. It is imported when a plan is bound that needs it, never with the package. An op
that cannot run without scipy fails when its node is built: its shape function calls ``require_scipy``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.extras import is_installed, require
from actorsession.graph.node import TensorSpec
from actorsession.graph.registry import InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops.rows import Shapes
from actorsession.ops.shape_operands import elements

__all__ = [
    "by_scipy", "cost_of_each", "in_own_dtype", "require_scipy", "scipy_function", "scipy_kernel",
]  # fmt: skip


def require_scipy(op: str) -> None:
    """Check that scipy is installed.

    Raises:
        ImportError: if it is not; the error names the extra.
    """
    require("scipy", "scipy", f"{op} is computed by scipy")


def by_scipy(shapes: Shapes) -> Shapes:
    """Return a shape rule that also checks that scipy is installed; see ``require_scipy``."""

    def checked(ctx: InferContext) -> Sequence[TensorShape]:
        require_scipy(ctx.op)
        return shapes(ctx)

    return checked


def scipy_function(name: str) -> Kernel | None:
    """Return a function of ``scipy.special``, or ``None`` without scipy."""
    if not is_installed("scipy"):
        return None
    import scipy.special

    found: Kernel = getattr(scipy.special, name)
    return found


def scipy_kernel(name: str) -> Callable[[KernelContext], Kernel]:
    """Return the kernel factory of an op that is a function of ``scipy.special``, element by element.

    Without scipy, it raises an ImportError.
    """

    def kernel(ctx: KernelContext) -> Kernel:
        require_scipy(ctx.op)
        function = scipy_function(name)
        assert function is not None
        return in_own_dtype(ctx, function)

    return kernel


def cost_of_each(microseconds: float) -> Callable[..., float]:
    """Return a cost estimate by the number of elements, for functions far more expensive than a sum."""

    def cost(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> float:
        return microseconds * elements(outputs[0])

    return cost


def in_own_dtype(ctx: KernelContext, function: Kernel) -> Kernel:
    """Return a function of float32 or float64 as a kernel for the floating dtype of the node.

    16-bit floats are computed in float32 and rounded once.
    """
    dtype = ctx.inputs[0].dtype.np_dtype
    if dtype.itemsize == 2:
        return lambda *values: function(*[v.astype(np.float32) for v in values]).astype(dtype)

    def kernel(*values: Any) -> Any:
        return function(*values).astype(dtype, copy=False)

    return kernel
