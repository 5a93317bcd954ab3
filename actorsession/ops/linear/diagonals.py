"""Diagonals of whole tensors, and bands of matrices: ``diag``, ``diag_part`` and ``matrix_band_part``.

Each op is defined here completely. ``matrix_diagonals`` owns the ops on the diagonals of batches of matrices.
"""

from __future__ import annotations

from math import prod
from typing import Any

from actorsession.errors import InvalidArgumentError
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import constant_ints, require_index

__all__ = ["diag", "diag_part", "matrix_band_part"]


# -- Diag, DiagPart --------------------------------------------------------------------------------


def diag(diagonal: Any, name: str | None = None) -> Tensor:
    """Return a tensor with the given one on its diagonal and zeros elsewhere.

    Args:
        diagonal: numbers of shape ``s``, of rank at least 1.

    Returns:
        A tensor of shape ``s + s``; its entry at ``i + i`` is that of ``diagonal`` at ``i``.

    Raises:
        ValueError: for a scalar.
    """
    return raw.Diag(diagonal, name=name)


def diag_part(input: Any, name: str | None = None) -> Tensor:
    """Return the diagonal of a tensor, the inverse of ``diag``.

    Args:
        input: numbers of shape ``s + s``.

    Raises:
        ValueError: if the second half of the shape differs from the first.
    """
    return raw.DiagPart(input, name=name)


def _diag_shape(ctx: InferContext) -> list[TensorShape]:
    shape = ctx.inputs[0].shape
    if shape.rank == 0:
        raise ValueError("Diag: the diagonal has rank at least 1, got a scalar")
    return [shape.concatenate(shape)]


def _spread(xp: Any, ctx: KernelContext) -> Kernel:
    def spread(x: Any) -> Any:
        if not x.ndim:
            raise InvalidArgumentError("Diag: the diagonal has rank at least 1, got a scalar")
        count = prod(x.shape)
        out = xp.zeros(count * count, dtype=x.dtype, device=x.device)
        out[:: count + 1] = x.reshape(-1)
        return out.reshape(*x.shape, *x.shape)

    return spread


def _diag_part_shape(ctx: InferContext) -> list[TensorShape]:
    shape = ctx.inputs[0].shape
    if shape.rank is None:
        return [unknown_shape]
    half = shape.rank // 2
    if shape.rank != 2 * half or not half or not shape[:half].is_compatible_with(shape[half:]):
        raise ValueError(f"DiagPart: a shape is taken whose halves are equal, got {shape}")
    return [shape[:half].merge_with(shape[half:])]


def _taken(xp: Any, ctx: KernelContext) -> Kernel:
    def taken(x: Any) -> Any:
        half = x.ndim // 2
        if not half or x.shape[:half] != x.shape[half:]:
            raise InvalidArgumentError(f"DiagPart: a shape is taken whose halves are equal, got {list(x.shape)}")
        count = prod(x.shape[:half])
        return xp.asarray(x.reshape(-1)[:: count + 1].reshape(x.shape[:half]), copy=True)

    return taken


op("Diag", _diag_shape, sentence=_spread, grad=lambda op, grad: [diag_part(grad)])
op("DiagPart", _diag_part_shape, sentence=_taken, grad=lambda op, grad: [diag(grad)])


# -- MatrixBandPart --------------------------------------------------------------------------------


def matrix_band_part(input: Any, num_lower: Any, num_upper: Any, name: str | None = None) -> Tensor:
    """Set matrices to zero outside a band around the diagonal.

    Args:
        input: matrices of any dtype, in the last two axes.
        num_lower: number of diagonals to keep below the main one, all if negative; an int32 or int64 scalar
            of at most the number of rows.
        num_upper: the same above, of the same dtype, at most the number of columns.

    Raises:
        ValueError: for a rank below 2.
    """
    value = convert_to_tensor(input)
    with value.graph.name_scope(name or "MatrixBandPart") as scope:
        lower = convert_to_tensor(num_lower, name="num_lower", graph=value.graph)
        upper = convert_to_tensor(num_upper, name="num_upper", graph=value.graph)
        return raw.MatrixBandPart(value, lower, upper, name=scope)


def _band_shape(ctx: InferContext) -> list[TensorShape]:
    require_index(ctx, 1, 2, rank=0)
    shape = ctx.inputs[0].shape
    if shape.rank is not None:
        if shape.rank < 2:
            raise ValueError(f"MatrixBandPart takes matrices, got shape {shape}")
        for index, axis in ((1, -2), (2, -1)):
            width, extent = constant_ints(ctx, index), shape[axis]
            if width is not None and extent is not None:
                _check_width(width[0], extent, ValueError)
    return [shape]


def _check_width(width: int, extent: int, error: type[Exception]) -> None:
    if width > extent:
        raise error(f"MatrixBandPart: {width} diagonals are kept of matrices with {extent}")


def _band(xp: Any, ctx: KernelContext) -> Kernel:
    def band(x: Any, num_lower: Any, num_upper: Any) -> Any:
        if x.ndim < 2:
            raise InvalidArgumentError(f"MatrixBandPart takes matrices, got shape {list(x.shape)}")
        lower, upper = int(num_lower), int(num_upper)
        _check_width(lower, x.shape[-2], InvalidArgumentError)
        _check_width(upper, x.shape[-1], InvalidArgumentError)
        if lower < 0 and upper < 0:
            return xp.asarray(x, copy=True)
        below = x if lower < 0 else xp.triu(x, -lower)
        return below if upper < 0 else xp.tril(below, upper)

    return band


def _band_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    return [matrix_band_part(grad, op.inputs[1], op.inputs[2]), None, None]


op("MatrixBandPart", _band_shape, sentence=_band, grad=_band_gradient)
