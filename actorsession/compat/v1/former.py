"""Names from before TensorFlow 1.0 whose functions are called otherwise since.

``tf`` has them as they were then; they build what the newer names build.
"""

from __future__ import annotations

from typing import Any

from actorsession import ops
from actorsession.graph.operation import Tensor

__all__ = ["batch_matmul", "mul", "neg", "pack", "sub", "unpack"]

mul, neg, sub = ops.multiply, ops.negative, ops.subtract


def batch_matmul(
    x: Any, y: Any, adj_x: bool | None = None, adj_y: bool | None = None, name: str | None = None
) -> Tensor:
    """Products of matrices, one for each member of a batch: ``matmul``.

    Args:
        x: rank 2 or more.
        y: of the rank and dtype of ``x``.
        adj_x: whether the matrices of ``x`` are conjugated and transposed first.
        adj_y: the same for ``y``.
        name: wanted name.
    """
    return ops.matmul(x, y, adjoint_a=bool(adj_x), adjoint_b=bool(adj_y), name=name)


def pack(values: Any, axis: int = 0, name: str = "pack") -> Tensor:
    """Tensors of one shape along a new axis: ``stack``."""
    return ops.stack(values, axis, name)


def unpack(value: Any, num: int | None = None, axis: int = 0, name: str = "unpack") -> Any:
    """Return the parts of a tensor along an axis, which goes: ``unstack``."""
    return ops.unstack(value, num, axis, name)
