"""Kernels that scipy computes where it is installed: functions that numpy does not have.

scipy is an optional extra, which is several times as fast as the same functions in numpy. It is imported when
a plan is bound that has one, never with the package.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.extras import is_installed
from actorsession.graph.node import TensorSpec
from actorsession.graph.registry import Kernel, KernelContext
from actorsession.ops.shape_operands import elements

__all__ = ["cost_of_each", "in_own_dtype", "scipy_function", "scipy_kernel"]


def scipy_function(name: str) -> Kernel | None:
    """Return a function of ``scipy.special``, or ``None`` without scipy."""
    if not is_installed("scipy"):
        return None
    import scipy.special

    function: Kernel = getattr(scipy.special, name)
    return function


def scipy_kernel(name: str, own: Kernel) -> Callable[[KernelContext], Kernel]:
    """Return the kernel factory of an op that is a function of ``scipy.special``, element by element.

    Args:
        name: the function's name.
        own: the same function in numpy, for where scipy is not installed.
    """
    return lambda ctx: in_own_dtype(ctx, scipy_function(name) or own)


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
