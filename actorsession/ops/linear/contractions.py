"""Products and norms of tensors composed of other ops: traces, sums over chosen axes, norms.

Registers no op; composed as in TensorFlow.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from actorsession.graph.dtypes import as_dtype, float32
from actorsession.graph.graph import constant_value
from actorsession.graph.operation import Tensor
from actorsession.ops.arrays.dimensions import rank as rank_of
from actorsession.ops.arrays.dimensions import shape_tensor
from actorsession.ops.arrays.fills import fill, range_
from actorsession.ops.arrays.gather import gather
from actorsession.ops.arrays.joining import concat, stack
from actorsession.ops.arrays.layout import transpose
from actorsession.ops.arrays.shape import expand_dims, reshape, squeeze
from actorsession.ops.build import constant, convert_all, convert_to_tensor, graph_of, to_array
from actorsession.ops.elements.arithmetic import minimum
from actorsession.ops.elements.arithmetic import pow as pow_
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.elementwise import abs as abs_
from actorsession.ops.elements.elementwise import conj, sqrt
from actorsession.ops.linear.matmul import matmul
from actorsession.ops.linear.matrix_diagonals import matrix_diag, matrix_diag_part, matrix_set_diag
from actorsession.ops.linear.spectra import svd
from actorsession.ops.operands import scalar_like
from actorsession.ops.reductions.reduction import reduce_max, reduce_prod, reduce_sum
from actorsession.ops.reductions.unique import setdiff1d
from actorsession.ops.shape_operands import normal_axis, shape_operand

__all__ = ["eye", "matvec", "norm", "normalize", "tensordot", "trace"]


def eye(
    num_rows: Any, num_columns: Any = None, batch_shape: Any = None, dtype: Any = float32, name: str | None = None
) -> Tensor:
    """Return matrices with ones on the diagonal and zeros elsewhere.

    Args:
        num_rows: an int or an integer scalar tensor.
        num_columns: the same; as many as rows if left out.
        batch_shape: shape of the batch; a single matrix if left out.
        dtype: any numeric type or bool.

    Raises:
        ValueError: for a negative number.
    """
    element_type = as_dtype(dtype)
    parts = list(batch_shape) if isinstance(batch_shape, (list, tuple)) else [batch_shape]
    graph = graph_of(num_rows, num_columns, *parts)
    for count in (num_rows, num_columns):
        if isinstance(count, (int, np.integer)) and count < 0:
            raise ValueError(f"eye: rows and columns are at least 0, got {count}")
    with graph.as_default(), graph.name_scope(name or "eye"):
        batch = shape_operand([] if batch_shape is None else batch_shape, graph)
        one, zero = (constant(to_array(n).astype(element_type.np_dtype), graph=graph) for n in (1, 0))
        if num_columns is None:
            return matrix_diag(fill(_with_batch(batch, [num_rows]), one), name="diag")
        both = [num_rows, num_columns]
        known = all(isinstance(count, (int, np.integer)) for count in both)
        least = min(both) if known else minimum(num_rows, num_columns)
        diagonal = fill(_with_batch(batch, [least]), one)
        return matrix_set_diag(fill(_with_batch(batch, both), zero), diagonal, "set_diag")


def _with_batch(batch: Tensor, dims: list[Any]) -> Tensor:
    """Return the shape of a batch of arrays with the given dimensions."""
    tail = shape_operand(dims, batch.graph)
    if batch.shape.sizes == (0,):
        return tail
    return concat([batch, cast(tail, batch.dtype)], 0)


def trace(x: Any, name: str | None = None) -> Tensor:
    """Return the sum of the diagonal of matrices in the last two axes."""
    value = convert_to_tensor(x)
    with value.graph.name_scope(name or "Trace") as scope:
        return reduce_sum(matrix_diag_part(value), [-1], name=scope)


def matvec(a: Any, b: Any, transpose_a: bool = False, adjoint_a: bool = False, name: str | None = None) -> Tensor:
    """Return the product of matrices and vectors.

    Args:
        a: matrices, in the last two axes.
        b: vectors, in the last axis; the batches broadcast.
        transpose_a: whether the matrices are transposed first.
        adjoint_a: whether the matrices are transposed and conjugated first.
    """
    matrix, vector = convert_all([a, b])
    with matrix.graph.name_scope(name or "MatVec"):
        column = expand_dims(vector, -1)
        product = matmul(matrix, column, transpose_a=transpose_a, adjoint_a=adjoint_a)
        return squeeze(product, [-1])


# -- tensordot -----------------------------------------------------------------------------------


def tensordot(a: Any, b: Any, axes: Any, name: str | None = None) -> Tensor:
    """Return the sum of products over chosen axes of two tensors.

    Args:
        a: tensor of any rank; its remaining axes come first in the result.
        b: tensor of the same dtype; its remaining axes follow.
        axes: how many of the last axes of ``a`` and the first of ``b`` are summed over, or the axes of ``a``
            and those of ``b``, which are taken in pairs; Python ints or a constant.

    Raises:
        ValueError: if the axes do not fit each other or the tensors.
    """
    left, right = convert_all([a, b])
    with left.graph.name_scope(name or "Tensordot") as scope:
        mine, theirs = _pairs(left, right, axes)
        rows, free_a = _as_matrix(left, mine, first=False)
        columns, free_b = _as_matrix(right, theirs, first=True)
        product = matmul(rows, columns)
        if isinstance(free_a, list) and isinstance(free_b, list):
            return reshape(product, shape_operand(free_a + free_b, left.graph), scope)
        ends = [shape_operand(free, left.graph) for free in (free_a, free_b)]
        return reshape(product, concat(ends, 0), scope)


def _pairs(a: Tensor, b: Tensor, axes: Any) -> tuple[Any, Any]:
    """Return the axes to sum over; they may be tensors for an operand of unknown rank."""
    if isinstance(axes, Tensor):
        known = constant_value(axes)
        if known is None:
            raise ValueError("tensordot needs axes that are known while the graph is built")
        axes = known
    axes = axes.tolist() if isinstance(axes, (np.ndarray, np.generic)) else axes
    if isinstance(axes, int):
        if axes < 0:
            raise ValueError(f"tensordot: the number of axes is at least 0, got {axes}")
        for tensor in (a, b):
            if tensor.shape.rank is not None and axes > tensor.shape.rank:
                raise ValueError(f"tensordot cannot sum over {axes} axes of shape {tensor.shape}")
        return list(range(-axes, 0)), list(range(axes))
    if len(axes) != 2:
        raise ValueError(f"tensordot takes a number or two lists of axes, got {axes!r:.100}")
    mine, theirs = ([side] if isinstance(side, int) else list(side) for side in axes)
    if len(mine) != len(theirs):
        raise ValueError(f"tensordot takes axes in pairs, got {mine} and {theirs}")
    return mine, theirs


def _as_matrix(x: Tensor, axes: list[int], *, first: bool) -> tuple[Tensor, Any]:
    """Return a tensor as a matrix with the summed axes as rows or columns, and the dimensions of the others.

    Where the rank is known the dimensions are a list, with tensors for unknown dimensions; else they are a
    tensor.
    """
    rank = x.shape.rank
    if rank is None:
        return _as_matrix_of_any_rank(x, axes, first=first)
    summed = [normal_axis(axis, rank, "tensordot") for axis in axes]
    if len(set(summed)) != len(summed):
        raise ValueError(f"tensordot cannot sum twice over one axis, got {axes}")
    others = [axis for axis in range(rank) if axis not in summed]
    perm = summed + others if first else others + summed
    turned = x if perm == sorted(perm) else transpose(x, perm)
    known = x.spec.shape
    dims = [known[axis] for axis in others]
    if None in dims:
        lengths = shape_tensor(x)
        dims = [lengths[axis] if known[axis] is None else known[axis] for axis in others]
    inner = [known[axis] for axis in summed]
    outer = [known[axis] for axis in others]
    matrix = _flattened(x, turned, outer, inner, others, summed, first)
    return matrix, dims


def _flattened(
    x: Tensor, turned: Tensor, outer: list[Any], inner: list[Any], others: list[int], summed: list[int], first: bool
) -> Tensor:
    lengths = None if None not in (*outer, *inner) else shape_tensor(x)

    def count(dims: list[Any], axes: list[int]) -> Any:
        if None not in dims:
            return math.prod(dims)
        return reduce_prod(gather(lengths, axes))

    sizes = [count(outer, others), count(inner, summed)]
    return reshape(turned, shape_operand(sizes[::-1] if first else sizes, x.graph))


def _as_matrix_of_any_rank(x: Tensor, axes: list[int], *, first: bool) -> tuple[Tensor, Tensor]:
    count, lengths = rank_of(x), shape_tensor(x)
    asked = np.array(axes, np.int32)
    summed = (asked < 0).astype(np.int32) * count + asked
    others = setdiff1d(range_(count), summed)[0]
    perm = concat([summed, others] if first else [others, summed], 0)
    dims = gather(lengths, others)
    sizes = [reduce_prod(dims), reduce_prod(gather(lengths, summed))]
    matrix = reshape(transpose(x, perm), stack(sizes[::-1] if first else sizes))
    return matrix, dims


# -- norms ---------------------------------------------------------------------------------------

_MATRIX_NORMS = ("euclidean", "fro", 1, 2, np.inf)


def norm(
    tensor: Any, ord: Any = "euclidean", axis: Any = None, keepdims: bool | None = None, name: str | None = None
) -> Tensor:
    """Return the norms of vectors or matrices.

    Args:
        tensor: floating or complex numbers.
        ord: ``'euclidean'`` or a positive number, including infinity, for vectors; ``'euclidean'``,
            ``'fro'``, 1, 2 or infinity for matrices.
        axis: the axis of the vectors, or two axes of the matrices; ``None`` for all numbers as one vector.
        keepdims: whether these axes stay with length 1.

    Raises:
        ValueError: for another ``ord`` or ``axis``.
    """
    keep = bool(keepdims)
    chosen = list(axis) if isinstance(axis, (tuple, list)) else axis
    if isinstance(chosen, list) and len(chosen) == 1:
        chosen = chosen[0]
    matrices = isinstance(chosen, list)
    _check_norm(ord, chosen)
    value = convert_to_tensor(tensor)
    with value.graph.name_scope(name or "norm"):
        if ord in ("fro", "euclidean") or (ord == 2 and not matrices):
            squares = reduce_sum(value * conj(value), chosen, keepdims=True)
            norms = sqrt(squares)
        elif ord == 2:
            norms = _greatest_singular(value, chosen)
        else:
            norms = _other_norm(abs_(value), ord, chosen)
        if keep:
            return norms
        return squeeze(norms) if chosen is None else squeeze(norms, chosen)


def _check_norm(ord: Any, axis: Any) -> None:
    if isinstance(axis, list):
        if len(axis) != 2 or axis[0] == axis[1] or not all(isinstance(a, int) for a in axis):
            raise ValueError(f"norm: axis is None, an int or two different ints, got {axis}")
        if ord not in _MATRIX_NORMS:
            raise ValueError(f"norm of matrices: ord is one of {list(_MATRIX_NORMS)}, got {ord!r}")
        return
    number = isinstance(ord, (int, float, np.number)) and not isinstance(ord, bool) and ord > 0
    if ord != "euclidean" and not number:
        raise ValueError(f"norm of vectors: ord is 'euclidean' or a number above 0, got {ord!r}")


def _other_norm(sizes: Tensor, ord: Any, axis: Any) -> Tensor:
    if isinstance(axis, list):
        summed, greatest = axis if ord == 1 else axis[::-1]
        return reduce_max(reduce_sum(sizes, summed, keepdims=True), greatest, keepdims=True)
    if ord == np.inf:
        return reduce_max(sizes, axis, keepdims=True)
    if ord == 1:
        return reduce_sum(sizes, axis, keepdims=True)
    power = scalar_like(float(ord), sizes)
    total = reduce_sum(pow_(sizes, power), axis, keepdims=True)
    return pow_(total, scalar_like(1.0 / float(ord), sizes))


def _greatest_singular(value: Tensor, axes: list[int]) -> Tensor:
    rank = value.shape.rank
    if rank is None:
        raise ValueError("norm of matrices with ord=2 needs a tensor of known rank")
    summed = [normal_axis(axis, rank, "norm") for axis in axes]
    perm = [axis for axis in range(rank) if axis not in summed] + summed
    values = svd(transpose(value, perm), compute_uv=False)
    greatest = expand_dims(reduce_max(values, -1, keepdims=True), -1)
    return transpose(greatest, list(np.argsort(perm)))


def normalize(tensor: Any, ord: Any = "euclidean", axis: Any = None, name: str | None = None) -> tuple[Tensor, Tensor]:
    """Return a tensor divided by its norm, and the norm, whose axes have length 1.

    Arguments as for ``norm``.
    """
    value = convert_to_tensor(tensor)
    with value.graph.name_scope(name or "normalize"):
        length = cast(norm(value, ord, axis, keepdims=True), value.dtype)
        return value / length, length
