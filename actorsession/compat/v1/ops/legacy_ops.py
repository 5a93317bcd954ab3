"""Functions under their names from before TensorFlow 1.0.

``tf`` provides them under the old names; they build the same operations as the functions with the newer
names.
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
    """Return the products of matrices, one for each member of a batch, like ``matmul``.

    Args:
        x: a tensor of rank 2 or more.
        y: a tensor of the rank and dtype of ``x``.
        adj_x: whether to conjugate and transpose the matrices of ``x`` first.
        adj_y: the same for ``y``.
        name: the name of the operation.
    """
    return ops.matmul(x, y, adjoint_a=bool(adj_x), adjoint_b=bool(adj_y), name=name)


def pack(values: Any, axis: int = 0, name: str = "pack") -> Tensor:
    """Return tensors of one shape stacked along a new axis, like ``stack``."""
    return ops.stack(values, axis, name)


def unpack(value: Any, num: int | None = None, axis: int = 0, name: str = "unpack") -> Any:
    """Return the slices of a tensor along an axis, which is removed, like ``unstack``."""
    return ops.unstack(value, num, axis, name)
