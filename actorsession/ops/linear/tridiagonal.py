"""Tridiagonal matrices: products and systems of equations, without storing the zeros.

Owns ``TridiagonalMatMul`` and ``TridiagonalSolve``. The kernels traverse the diagonals once, for all matrices
of a batch together; entries of diagonals that lie outside the matrix are ignored.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError, UnimplementedError
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.arrays.array import pad
from actorsession.ops.arrays.joining import concat, stack
from actorsession.ops.arrays.shape import expand_dims, squeeze
from actorsession.ops.build import convert_to_tensor, make_one
from actorsession.ops.elements.elementwise import conj
from actorsession.ops.linear.matrices import adjoint
from actorsession.ops.linear.matrix_diagonals import matrix_diag_part
from actorsession.ops.linear.transposition import matrix_transpose
from actorsession.ops.reductions.reduction import reduce_sum
from actorsession.ops.rows import op

__all__ = ["tridiagonal_matmul", "tridiagonal_solve"]


# -- public functions ------------------------------------------------------------------------------


def tridiagonal_matmul(diagonals: Any, rhs: Any, diagonals_format: str = "compact", name: str | None = None) -> Tensor:
    """Return products of tridiagonal matrices with other matrices.

    Args:
        diagonals: the upper, the main and the lower diagonal: as a tensor of shape ``[..., 3, n]``
            (``compact``, where the last number of the upper and the first of the lower diagonal are ignored),
            as three tensors of shape ``[..., n]`` (``sequence``), or as square matrices (``matrix``).
        rhs: shape ``[..., n, k]``.
        diagonals_format: which of these forms is used.

    Returns:
        A tensor of shape ``[..., n, k]``.

    Raises:
        TypeError: for numbers that are not float32, float64 or complex.
        ValueError: for another format, or shapes that do not fit together.
    """
    right = convert_to_tensor(rhs)
    with right.graph.as_default():
        parts = _three(diagonals, diagonals_format, right)
        operands = [*(expand_dims(part, -2) for part in parts), right]
        return raw.TridiagonalMatMul(*operands, name=name)


def tridiagonal_solve(
    diagonals: Any,
    rhs: Any,
    diagonals_format: str = "compact",
    transpose_rhs: bool = False,
    conjugate_rhs: bool = False,
    name: str | None = None,
    partial_pivoting: bool = True,
    perturb_singular: bool = False,
) -> Tensor:
    """Solve systems of equations with tridiagonal matrices.

    Args:
        diagonals: as in ``tridiagonal_matmul``.
        rhs: right sides of shape ``[..., n, k]``, or ``[..., n]`` for a single one.
        diagonals_format: as in ``tridiagonal_matmul``.
        transpose_rhs: whether ``rhs`` is given with its last two axes exchanged.
        conjugate_rhs: whether ``rhs`` is conjugated first.
        partial_pivoting: whether rows are exchanged, so that rounding errors do not grow.
        perturb_singular: must be ``False``.

    Returns:
        A tensor of shape ``[..., n, k]`` or ``[..., n]``; NaN for a singular matrix.

    Raises:
        TypeError: for numbers that are not float32, float64 or complex.
        ValueError: for another format, or shapes that do not fit together.
        UnimplementedError: for ``perturb_singular``.
    """
    if perturb_singular and not partial_pivoting:
        raise ValueError("partial_pivoting must be True if perturb_singular is.")
    right = convert_to_tensor(rhs)
    with right.graph.as_default():
        compact = stack(_three(diagonals, diagonals_format, right), -2)
        one = _is_one(compact, right)
        if one:
            # A vector has nothing to transpose.
            right = expand_dims(conj(right) if conjugate_rhs else right, -1)
        elif transpose_rhs:
            right = adjoint(right) if conjugate_rhs else matrix_transpose(right)
        elif conjugate_rhs:
            right = conj(right)
        solution = raw.TridiagonalSolve(
            compact, right, partial_pivoting=bool(partial_pivoting), perturb_singular=bool(perturb_singular), name=name
        )
        return squeeze(solution, [-1]) if one else solution


def _is_one(compact: Tensor, right: Tensor) -> bool:
    """Return whether there is a single right side."""
    ranks = compact.shape.rank, right.shape.rank
    if ranks[0] is None or ranks[1] is None:
        return False
    if ranks[1] not in (ranks[0] - 1, ranks[0]):
        raise ValueError(f"Expected the rank of rhs to be {ranks[0] - 1} or {ranks[0]}, got {ranks[1]}")
    return ranks[1] == ranks[0] - 1


def _three(diagonals: Any, form: str, right: Tensor) -> list[Tensor]:
    """Return the three diagonals, all padded to the length of the main one."""
    if form == "compact":
        compact = convert_to_tensor(diagonals, right.dtype, "diagonals")
        if compact.shape.rank is not None and compact.shape[-2] not in (None, 3):
            raise ValueError(f"Expected 3 diagonals got {compact.shape[-2]}")
        return [compact[..., i, :] for i in range(3)]
    if form == "sequence":
        if not isinstance(diagonals, (list, tuple)) or len(diagonals) != 3:
            raise ValueError("Expected diagonals to be a sequence of length 3.")
        parts = [convert_to_tensor(part, right.dtype) for part in diagonals]
        return [_as_long(parts[0], parts[1], 0), parts[1], _as_long(parts[2], parts[1], 1)]
    if form == "matrix":
        matrix = convert_to_tensor(diagonals, right.dtype, "diagonals")
        above, main, below = (matrix_diag_part(matrix, k=k) for k in (1, 0, -1))
        return [_as_long(above, main, 0), main, _as_long(below, main, 1)]
    raise ValueError(f"Unrecognized diagonals_format: {form}")


def _as_long(part: Tensor, main: Tensor, before: int) -> Tensor:
    """Return a diagonal padded to the length of the main one with an ignored number at one end."""
    sizes = part.shape.rank and part.shape[-1], main.shape.rank and main.shape[-1]
    if part.shape.rank is None or None in sizes:
        raise ValueError("diagonals of other lengths than the main one need known shapes")
    if sizes[0] == sizes[1]:
        return part
    if sizes[0] != (sizes[1] or 0) - 1:
        raise ValueError(
            f"diagonals beside the main one of length {sizes[1]} have that length or one less, got {sizes[0]}"
        )
    margins = [[0, 0]] * (part.shape.rank - 1) + [[1, 0] if before else [0, 1]]
    return pad(part, margins)


# -- shapes ----------------------------------------------------------------------------------------


def _product_shape(ctx: InferContext) -> list[TensorShape]:
    right = ctx.inputs[3].shape
    if right.rank is None:
        return [unknown_shape]
    if right.rank < 2:
        raise ValueError(f"{ctx.op}: rhs has at least two axes, got shape {right}")
    expected = [*right.as_list()[:-2], 1, right[-2]]
    if not all(spec.shape.is_compatible_with(expected) for spec in ctx.inputs[:3]):
        raise ValueError(
            f"{ctx.op}: diagonals have shape {TensorShape(expected)} for rhs of shape {right}, got "
            f"{', '.join(str(spec.shape) for spec in ctx.inputs[:3])}"
        )
    return [right]


def _solution_shape(ctx: InferContext) -> list[TensorShape]:
    if ctx.attrs["perturb_singular"]:
        raise UnimplementedError(f"{ctx.op}: matrices without an inverse are not changed here: their solutions are NaN")
    diagonals, right = ctx.inputs[0].shape, ctx.inputs[1].shape
    if right.rank is not None:
        if right.rank < 2:
            raise ValueError(f"{ctx.op}: rhs has at least two axes, got shape {right}")
        expected = [*right.as_list()[:-2], 3, right[-2]]
        if not diagonals.is_compatible_with(expected):
            raise ValueError(
                f"{ctx.op}: diagonals have shape {TensorShape(expected)} for rhs of shape {right}, got {diagonals}"
            )
    return [right]


# -- kernels ---------------------------------------------------------------------------------------


def _product(above: Any, main: Any, below: Any, right: Any) -> Any:
    expected = (*right.shape[:-2], 1, right.shape[-2]) if right.ndim > 1 else ()
    if right.ndim < 2 or any(part.shape != expected for part in (above, main, below)):
        raise InvalidArgumentError(
            f"TridiagonalMatMul: diagonals have shape {list(expected)} for rhs of shape {list(right.shape)}, "
            f"got {list(above.shape)}, {list(main.shape)} and {list(below.shape)}"
        )
    out = main[..., 0, :, None] * right
    out[..., :-1, :] += above[..., 0, :-1, None] * right[..., 1:, :]
    out[..., 1:, :] += below[..., 0, 1:, None] * right[..., :-1, :]
    return out


def _solve_kernel(ctx: KernelContext) -> Kernel:
    pivots = ctx.attrs["partial_pivoting"]

    def solved(diagonals: Any, right: Any) -> Any:
        expected = (*right.shape[:-2], 3, right.shape[-2]) if right.ndim > 1 else ()
        if diagonals.shape != expected or right.ndim < 2:
            raise InvalidArgumentError(
                f"{ctx.op}: diagonals have shape {list(expected)} for rhs of shape {list(right.shape)}, got "
                f"{list(diagonals.shape)}"
            )
        if not right.size:
            return np.empty_like(right)
        # Rows first, then the batch, so that each step operates on whole arrays.
        parts = np.moveaxis(diagonals, (-2, -1), (0, 1)).copy()[..., np.newaxis]
        rows = np.moveaxis(right, -2, 0).copy()
        with np.errstate(all="ignore"):
            far = _eliminated(parts[0], parts[1], parts[2], rows, pivots)
            _substituted(parts[0], parts[1], far, rows)
        return np.ascontiguousarray(np.moveaxis(rows, 0, -2))

    return solved


def _eliminated(above: Any, main: Any, below: Any, rows: Any, pivots: bool) -> Any:
    """Eliminate the lower diagonal, and return the second upper diagonal, which row exchanges fill."""
    far = np.zeros_like(above)
    for i in range(len(rows) - 1):
        turn = (np.abs(main[i]) < np.abs(below[i + 1])) & pivots
        pivot = np.where(turn, below[i + 1], main[i])
        factor = np.where(turn, main[i], below[i + 1]) / pivot
        first = np.where(turn, main[i + 1], above[i])
        second = np.where(turn, above[i], main[i + 1])
        if i + 2 < len(rows):
            far[i] = np.where(turn, above[i + 1], 0)
            above[i + 1] = np.where(turn, -factor * above[i + 1], above[i + 1])
        main[i], above[i], main[i + 1] = pivot, first, second - factor * first
        upper = np.where(turn, rows[i + 1], rows[i])
        lower = np.where(turn, rows[i], rows[i + 1])
        rows[i], rows[i + 1] = upper, lower - factor * upper
    return far


def _substituted(above: Any, main: Any, far: Any, rows: Any) -> None:
    """Turn the rows into solutions in place, the last one first."""
    last = len(rows) - 1
    for i in range(last, -1, -1):
        if i + 1 <= last:
            rows[i] -= above[i] * rows[i + 1]
        if i + 2 <= last:
            rows[i] -= far[i] * rows[i + 2]
        rows[i] /= main[i]


# -- gradients and registration --------------------------------------------------------------------


def _moved(value: Tensor, by: int) -> Tensor:
    """Return a diagonal shifted by one, with an ignored number at the end that becomes free."""
    if by > 0:
        return concat([value[..., :1] * 0, value[..., :-1]], -1)
    return concat([value[..., 1:], value[..., :1] * 0], -1)


def _turned(above: Tensor, main: Tensor, below: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return the conjugated diagonals of the transposed matrix."""
    return conj(_moved(below, -1)), conj(main), conj(_moved(above, 1))


def _along(grad: Tensor, right: Tensor) -> list[Tensor]:
    """Return the gradient of a product by the numbers of the diagonals."""
    other = conj(right)
    main = reduce_sum(grad * other, -1)
    above = reduce_sum(grad[..., :-1, :] * other[..., 1:, :], -1)
    below = reduce_sum(grad[..., 1:, :] * other[..., :-1, :], -1)
    free = main[..., :1] * 0
    return [concat([above, free], -1), main, concat([free, below], -1)]


def _product_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    above, main, below, right = op.inputs
    back = raw.TridiagonalMatMul(*_turned(above, main, below), grad)
    return [*(expand_dims(part, -2) for part in _along(grad, right)), back]


def _solution_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    parts = [op.inputs[0][..., i, :] for i in range(3)]
    turned = stack(_turned(*parts), -2)
    back = make_one("TridiagonalSolve", [turned, grad], dict(op.attrs))
    return [-stack(_along(back, op.outputs[0]), -2), back]


op("TridiagonalMatMul", _product_shape, sentence=lambda xp, ctx: _product, grad=_product_gradient)
op("TridiagonalSolve", _solution_shape, kernel=_solve_kernel, grad=_solution_gradient)
