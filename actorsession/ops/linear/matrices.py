"""Helpers of ops on batches of matrices: shape rules, run-time checks, and kernels based on numpy.linalg.

Used by the modules of ``linear``. A matrix is the last two axes of a tensor; the axes before are the batch.
The kernels made here compute 16-bit floats in float32 and convert numpy's LinAlgError into an
InvalidArgumentError.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType, bfloat16, float16
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import Dim, TensorShape, unknown_shape
from actorsession.ops.linear.diagonals import matrix_band_part
from actorsession.ops.linear.transposition import matrix_transpose
from actorsession.ops.shape_operands import elements

__all__ = [
    "adjoint", "adjoint_array", "check_rows", "check_square", "cubic_cost", "lower_part", "matrix_kernel",
    "narrowed", "require_pairing", "require_square", "solution", "split_shape", "square", "widened",
]  # fmt: skip

# Microseconds per n * n * n of a decomposition.
_COST = 0.002


# -- tensors -------------------------------------------------------------------------------------


def adjoint(matrix: Any, name: str | None = None) -> Tensor:
    """Return matrices transposed, and conjugated where they are complex.

    Args:
        matrix: matrices, in the last two axes.

    Raises:
        ValueError: for a rank below 2.
    """
    return matrix_transpose(matrix, name or "adjoint", conjugate=True)


def lower_part(matrix: Tensor) -> Tensor:
    """Return the lower triangle, including the diagonal."""
    return matrix_band_part(matrix, -1, 0)


# -- static types --------------------------------------------------------------------------------


def split_shape(ctx: InferContext, index: int = 0) -> tuple[TensorShape, Dim, Dim]:
    """Return the batch of an operand, and the rows and columns of its matrices.

    Raises:
        ValueError: for a rank below 2.
    """
    shape = ctx.inputs[index].shape
    if shape.sizes is None:
        return unknown_shape, None, None
    if len(shape.sizes) < 2:
        raise ValueError(f"{ctx.op} takes matrices or batches of them; got shape {shape}")
    rows, columns = shape.sizes[-2:]
    return shape[:-2], rows, columns


def require_square(ctx: InferContext, index: int = 0) -> tuple[TensorShape, Dim]:
    """Return the batch of an operand of square matrices, and their number of rows.

    Raises:
        ValueError: if they can never be square.
    """
    batch, rows, columns = split_shape(ctx, index)
    if rows is not None and columns is not None and rows != columns:
        raise ValueError(
            f"{ctx.op} takes square matrices; got shape {ctx.inputs[index].shape}, of {rows} rows and {columns} columns"
        )
    return batch, columns if rows is None else rows


def require_pairing(ctx: InferContext, rows: Dim) -> tuple[TensorShape, Dim]:
    """Return the batch of the right sides (the second operand), and their number of columns.

    Args:
        ctx: the context of the shape function.
        rows: the number of rows that the right sides must have.

    Raises:
        ValueError: if they have another number of rows.
    """
    batch, own_rows, columns = split_shape(ctx, 1)
    if rows is not None and own_rows is not None and rows != own_rows:
        raise ValueError(
            f"{ctx.op} takes a matrix and right sides of as many rows; got shapes "
            f"{ctx.inputs[0].shape} and {ctx.inputs[1].shape}"
        )
    return batch, columns


def square(ctx: InferContext) -> list[TensorShape]:
    """The input and the output are square matrices of one shape."""
    batch, rows = require_square(ctx)
    return [batch.concatenate([rows, rows])]


def solution(ctx: InferContext, batches: Callable[[TensorShape, TensorShape], TensorShape]) -> list[TensorShape]:
    """Return the shape of the solutions of systems with square matrices.

    Args:
        ctx: the context of the shape rule.
        batches: function that joins the shapes of the two batches.
    """
    batch, rows = require_square(ctx)
    theirs, columns = require_pairing(ctx, rows)
    rows = split_shape(ctx, 1)[1] if rows is None else rows
    try:
        return [batches(batch, theirs).concatenate([rows, columns])]
    except ValueError:
        raise ValueError(
            f"{ctx.op} cannot match the batches of shapes {ctx.inputs[0].shape} and {ctx.inputs[1].shape}"
        ) from None


def cubic_cost(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> float:
    """Return a cost estimate proportional to elements times rows."""
    dims = inputs[0].shape.sizes
    return 10.0 + _COST * elements(inputs[0]) * ((dims[-2] if dims and len(dims) > 1 else 1) or 1)


# -- kernels -------------------------------------------------------------------------------------


def check_square(op: str, x: Array) -> None:
    """Check that an array is a batch of square matrices.

    Raises:
        InvalidArgumentError: if it is not.
    """
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise InvalidArgumentError(f"{op} takes square matrices; got shape {list(x.shape)}")


def check_rows(op: str, matrix: Array, rhs: Array, *, broadcast: bool = False) -> None:
    """Check that right sides fit their matrices.

    Args:
        op: operation type, for the error message.
        matrix: a batch of matrices.
        rhs: a batch of right sides.
        broadcast: whether the batches may be broadcast as in numpy.

    Raises:
        InvalidArgumentError: if they do not.
    """
    fits = min(matrix.ndim, rhs.ndim) >= 2 and matrix.shape[-2] == rhs.shape[-2]
    if fits and matrix.shape[:-2] != rhs.shape[:-2]:
        fits = broadcast and _broadcasts(matrix.shape[:-2], rhs.shape[:-2])
    if not fits:
        raise InvalidArgumentError(
            f"{op} takes a matrix and right sides of as many rows, in batches of one shape; got "
            f"shapes {list(matrix.shape)} and {list(rhs.shape)}"
        )


def _broadcasts(left: tuple[int, ...], right: tuple[int, ...]) -> bool:
    try:
        np.broadcast_shapes(left, right)
    except ValueError:
        return False
    return True


def adjoint_array(x: Array) -> Array:
    """Return matrices transposed and conjugated; a view where they are real."""
    turned = np.swapaxes(x, -1, -2)
    return np.conjugate(turned) if x.dtype.kind == "c" else turned


def widened(x: Any, dtype: DType) -> Any:
    """Return an array in a dtype that LAPACK supports."""
    return x.astype(np.float32) if dtype in (float16, bfloat16) else x


def narrowed(x: Any, dtype: DType) -> Any:
    """Return a result in the dtype of the node."""
    return x.astype(dtype.np_dtype, copy=False)


def matrix_kernel(
    function: Callable[[Array], Any], refusal: str, *, square: bool = True
) -> Callable[[KernelContext], Kernel]:
    """Return the kernel factory of an op of one batch of matrices.

    Args:
        function: function from the array to the result, or to a tuple of results.
        refusal: the property that a matrix lacks if numpy fails, for the error message.
        square: whether only square matrices are accepted.
    """

    def factory(ctx: KernelContext) -> Kernel:
        op, dtype = ctx.op, ctx.inputs[0].dtype

        def kernel(x: Array) -> Any:
            if square:
                check_square(op, x)
            elif x.ndim < 2:
                raise InvalidArgumentError(f"{op} takes matrices; got shape {list(x.shape)}")
            try:
                results = function(widened(x, dtype))
            except np.linalg.LinAlgError as error:
                raise InvalidArgumentError(
                    f"{op} takes matrices that are {refusal}; got one that is not, among shape {list(x.shape)}"
                ) from error
            if isinstance(results, tuple):
                return tuple(part if part.dtype.kind == "i" else narrowed(part, dtype) for part in results)
            return narrowed(results, dtype)

        return kernel

    return factory
