"""Transposed matrices: ``matrix_transpose``, and the op that conjugates as well.

Owns ``ConjugateTranspose``, which ``transpose`` builds for complex tensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Kernel, KernelContext, lookup
from actorsession.ops.arrays.dimensions import rank
from actorsession.ops.arrays.fills import range_
from actorsession.ops.arrays.joining import concat, stack
from actorsession.ops.arrays.layout import transpose
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.elements.elementwise import conj
from actorsession.ops.rows import op

__all__ = ["matrix_transpose"]


# -- ConjugateTranspose ----------------------------------------------------------------------------


def matrix_transpose(a: Any, name: str = "matrix_transpose", conjugate: bool = False) -> Tensor:
    """Return matrices with rows and columns exchanged.

    Args:
        a: matrices, in the last two axes.
        conjugate: whether complex entries are conjugated as well.

    Raises:
        ValueError: for a rank below 2.
    """
    value = convert_to_tensor(a)
    with value.graph.name_scope(name):
        dims = value.shape.rank
        if dims is None:
            count = rank(value)
            perm: Any = concat([range_(count - 2), stack([count - 1, count - 2])], 0)
        elif dims < 2:
            raise ValueError(f"matrix_transpose takes matrices, got shape {value.shape}")
        else:
            perm = [*range(dims - 2), dims - 1, dims - 2]
        return transpose(value, perm, conjugate=conjugate)


_TRANSPOSE = lookup("Transpose")


def _conjugate_kernel(ctx: KernelContext) -> Kernel:
    turned = _TRANSPOSE.kernel(ctx)
    return lambda x, perm: np.conjugate(turned(x, perm))


def _conjugate_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    assert _TRANSPOSE.gradient is not None
    turned, _ = _TRANSPOSE.gradient(op, grad)
    return [None if turned is None else conj(turned), None]


op(
    "ConjugateTranspose",
    lambda ctx: [spec.shape for spec in _TRANSPOSE.infer(ctx)],
    kernel=_conjugate_kernel,
    grad=_conjugate_gradient,
)
