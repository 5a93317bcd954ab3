"""Functions that join, slice, reshape, transpose, reduce and fill sparse tensors, under TensorFlow 1's names.

``shapes`` and ``rows`` have the op types; sums and products are in ``basics``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.graph.constant_value import get_static_value
from actorsession.graph.dtypes import int32, int64
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import shape_tensor
from actorsession.ops.arrays.fills import range_
from actorsession.ops.arrays.gather import gather
from actorsession.ops.arrays.joining import concat, stack
from actorsession.ops.arrays.shape import reshape
from actorsession.ops.build import convert_to_tensor, make
from actorsession.ops.elements.arithmetic import maximum
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.selection import where
from actorsession.ops.reductions.reduction import reduce_max
from actorsession.opsets.sparse.basics import SparseTensor, checked_sparse, parts_of, sparse_reorder

__all__ = [
    "sparse_concat",
    "sparse_fill_empty_rows",
    "sparse_reduce_max",
    "sparse_reduce_sum",
    "sparse_reset_shape",
    "sparse_reshape",
    "sparse_retain",
    "sparse_slice",
    "sparse_softmax",
    "sparse_transpose",
]


def _shaped(sparse: SparseTensor, shape: TensorShape) -> SparseTensor:
    sparse.set_shape(shape)
    return sparse


# -- joined, cut, reshaped -------------------------------------------------------------------------


def sparse_concat(
    axis: Any, sp_inputs: Sequence[Any], name: str | None = None, expand_nonconcat_dims: bool = False
) -> SparseTensor:
    """Join sparse tensors along an axis.

    Args:
        axis: the axis to join along.
        sp_inputs: the tensors; they have the same shape except along this axis.
        expand_nonconcat_dims: whether other axes may differ; the largest extent is then used.

    Returns:
        A sparse tensor with all entries in row-major order.

    Raises:
        ValueError: for an axis that does not exist.
        TypeError: if an input is not sparse, or dtypes differ.
    """
    along = int(axis)
    tensors = [checked_sparse(s) for s in sp_inputs]
    if len(tensors) == 1:
        return tensors[0]
    shapes = [s.dense_shape for s in tensors]
    if expand_nonconcat_dims:
        largest = reduce_max(stack(shapes), 0)
        # What is behind the last axis is nothing, whatever the rank.
        behind = along + 1 or None
        after = largest[behind:] if behind is not None else largest[:0]
        shapes = [concat([largest[:along], s[along:behind], after], 0) for s in shapes]
    indices, values = [s.indices for s in tensors], [s.values for s in tensors]
    joined = raw.SparseConcat(indices, values, shapes, concat_dim=along, name=name)
    return _shaped(SparseTensor(*joined), _joined_shape(tensors, along, bool(expand_nonconcat_dims)))


def _joined_shape(tensors: list[SparseTensor], axis: int, expand_nonconcat_dims: bool) -> TensorShape:
    shapes = [s.shape.sizes for s in tensors]
    if any(dims is None for dims in shapes):
        return TensorShape(None)
    columns = [list(column) for column in zip(*[d for d in shapes if d is not None], strict=True)]
    at = axis + len(columns) if axis < 0 else axis
    dims: list[int | None] = []
    for i, column in enumerate(columns):
        known = [d for d in column if d is not None]
        if len(known) < len(column):
            dims.append(None)
        elif i == at:
            dims.append(sum(known))
        else:
            dims.append(max(known) if expand_nonconcat_dims or len(set(known)) == 1 else None)
    return TensorShape(dims)


def sparse_reshape(sp_input: Any, shape: Any, name: str | None = None) -> SparseTensor:
    """Reshape a sparse tensor, keeping the row-major order of its elements.

    Args:
        sp_input: the sparse tensor.
        shape: an integer vector; one entry may be -1.

    Raises:
        ValueError: if the number of elements is known to differ.
    """
    sparse = checked_sparse(sp_input)
    new_shape = convert_to_tensor(shape, graph=sparse.indices.graph)
    new_shape = new_shape if new_shape.dtype is int64 else cast(new_shape, int64)
    old_shape = get_static_value(sparse.dense_shape)
    known = get_static_value(new_shape)
    indices, dense_shape = raw.SparseReshape(sparse.indices, sparse.dense_shape, new_shape, name=name)
    reshaped = SparseTensor(indices, sparse.values, dense_shape)
    if known is None:
        return reshaped
    dims = [None if d == -1 else int(d) for d in known]
    if old_shape is not None and dims.count(None) == 1:
        rest = int(np.prod([d for d in dims if d is not None]))
        dims[dims.index(None)] = int(np.prod(old_shape)) // rest if rest else None
    return _shaped(reshaped, TensorShape(dims))


def sparse_slice(sp_input: Any, start: Any, size: Any, name: str | None = None) -> SparseTensor:
    """Return a rectangular slice of a sparse tensor.

    Args:
        sp_input: the sparse tensor.
        start: start of the slice, a vector.
        size: size of the slice; it is limited by the tensor.
    """
    sparse = checked_sparse(sp_input)
    graph = sparse.indices.graph
    with graph.name_scope(name or "SparseSlice") as scope:
        first = convert_to_tensor(start, int64, "start", graph=graph)
        extent = convert_to_tensor(size, int64, "size", graph=graph)
        sliced = raw.SparseSlice(*parts_of(sparse), first, extent, name=scope)
    return SparseTensor(*sliced)


def sparse_retain(sp_input: Any, to_retain: Any) -> SparseTensor:
    """Return a sparse tensor with selected entries.

    Args:
        sp_input: the sparse tensor.
        to_retain: a bool for each entry.

    Raises:
        ValueError: if their number is known to differ from that of the entries.
    """
    sparse = checked_sparse(sp_input)
    graph = sparse.indices.graph
    with graph.as_default():
        kept = convert_to_tensor(to_retain, "bool", graph=graph)
        kept.shape.merge_with(sparse.values.shape)
        chosen = reshape(where(kept), [-1])
        retained = SparseTensor(gather(sparse.indices, chosen), gather(sparse.values, chosen), sparse.dense_shape)
        return _shaped(retained, sparse.shape)


def sparse_transpose(sp_input: Any, perm: Any = None, name: str | None = None) -> SparseTensor:
    """Permute the axes of a sparse tensor, and put its entries into row-major order.

    Args:
        sp_input: the sparse tensor.
        perm: the new order of axes; the reverse if left out.

    Raises:
        ValueError: if ``perm`` is known to be no permutation of the axes, or left out where the rank is
            unknown.
    """
    sparse = checked_sparse(sp_input)
    graph = sparse.indices.graph
    with graph.as_default(), graph.name_scope(name or "SparseTranspose"):
        if perm is None:
            rank = sparse.shape.rank
            if rank is None:
                raise ValueError("sparse_transpose needs perm where the rank is not known")
            perm = list(range(rank))[::-1]
        order = convert_to_tensor(perm, int32, graph=graph)
        known, dims = get_static_value(order), sparse.shape.sizes
        if known is not None and dims is not None and sorted(known) != list(range(len(dims))):
            raise ValueError(f"perm is an order of {len(dims)} axes, got {known.tolist()}")
        transposed = SparseTensor(
            gather(sparse.indices, order, axis=1), sparse.values, gather(sparse.dense_shape, order)
        )
        if known is not None and dims is not None:
            transposed.set_shape([dims[int(i)] for i in known])
        return sparse_reorder(transposed)


def sparse_reset_shape(sp_input: Any, new_shape: Any = None) -> SparseTensor:
    """Return a sparse tensor with another dense shape and the same coordinates.

    Args:
        sp_input: the sparse tensor.
        new_shape: the new shape, at least as large along each axis; the smallest one that contains all
            entries if left out.

    Raises:
        ValueError: if ``new_shape`` is known to be too small, or of another rank.
    """
    sparse = checked_sparse(sp_input)
    graph = sparse.indices.graph
    with graph.as_default(), graph.name_scope("SparseResetShape"):
        if new_shape is None:
            bound = reduce_max(sparse.indices, 0) + 1
            return SparseTensor(sparse.indices, sparse.values, maximum(bound, convert_to_tensor(0, int64, graph=graph)))
        extents = convert_to_tensor(new_shape, int64, graph=graph)
        known, dims = get_static_value(extents), sparse.shape.sizes
        if known is not None and dims is not None:
            fits = len(known) == len(dims) and all(d is None or d <= n for n, d in zip(known, dims, strict=True))
            if not fits:
                raise ValueError(f"a shape at least as large as {sparse.shape} is needed, got {known.tolist()}")
        return SparseTensor(sparse.indices, sparse.values, extents)


# -- reduced and filled ----------------------------------------------------------------------------


def sparse_reduce_sum(sp_input: Any, axis: Any = None, keepdims: bool | None = None) -> Tensor:
    """Return the sums of a sparse tensor along axes, as a dense tensor.

    Args:
        sp_input: the sparse tensor.
        axis: an axis or several; all if left out.
        keepdims: whether the axes are kept with extent 1.

    Raises:
        ValueError: for an axis that does not exist.
    """
    return _reduced("SparseReduceSum", sp_input, axis, keepdims)


def sparse_reduce_max(sp_input: Any, axis: Any = None, keepdims: bool | None = None) -> Tensor:
    """Return the maxima of a sparse tensor along axes as a dense tensor, 0 where there are no entries.

    The arguments are those of ``sparse_reduce_sum``; positions without an entry are ignored.
    """
    return _reduced("SparseReduceMax", sp_input, axis, keepdims)


def _reduced(op_type: str, sp_input: Any, axis: Any, keepdims: Any) -> Tensor:
    return reduction(op_type, sp_input, axis, keepdims).outputs[0]


def reduction(op_type: str, sp_input: Any, axis: Any, keepdims: Any) -> Operation:
    """Add a node that reduces a sparse tensor along axes; arguments as for ``sparse_reduce_sum``."""
    sparse = checked_sparse(sp_input)
    axes = axis
    graph = sparse.indices.graph
    with graph.as_default():
        if axes is None:
            rank = sparse.shape.rank
            axes = range_(shape_tensor(sparse.dense_shape)[0]) if rank is None else np.arange(rank, dtype=np.int32)
        chosen = convert_to_tensor(axes, int32, "reduction_axes", graph=graph)
        return make(op_type, [*parts_of(sparse), chosen], {"keep_dims": bool(keepdims)})


def sparse_softmax(sp_input: Any, name: str | None = None) -> SparseTensor:
    """Return the softmax of each row, over its entries only.

    Args:
        sp_input: a sparse tensor of floating type and rank 2 at least; rows run along the last axis.

    Raises:
        ValueError: for another rank.
    """
    sparse = checked_sparse(sp_input)
    with sparse.graph.name_scope(name or "SparseSoftmax"):
        values = raw.SparseSoftmax(*parts_of(sparse))
    return _shaped(SparseTensor(sparse.indices, values, sparse.dense_shape), sparse.shape)


def sparse_fill_empty_rows(sp_input: Any, default_value: Any, name: str | None = None) -> tuple[SparseTensor, Tensor]:
    """Add an entry to each empty row of a sparse tensor.

    Args:
        sp_input: the sparse tensor; a row consists of all entries with the same first coordinate.
        default_value: a scalar, inserted at the beginning of empty rows.

    Returns:
        The sparse tensor, and a bool for each row that tells whether it was empty.
    """
    sparse = checked_sparse(sp_input)
    default = convert_to_tensor(default_value, sparse.dtype, graph=sparse.indices.graph)
    with sparse.graph.name_scope(name or "SparseFillEmptyRows"):
        indices, values, empty, _ = raw.SparseFillEmptyRows(*parts_of(sparse), default)
    filled = SparseTensor(indices, values, sparse.dense_shape)
    return _shaped(filled, sparse.shape), empty
