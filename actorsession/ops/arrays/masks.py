"""Selection by masks or rows: ``boolean_mask``, masks of sequences, ``batch_gather``.

The functions are composed of other ops, as in TensorFlow; the module registers none.
"""

from __future__ import annotations

from typing import Any

from actorsession.graph.dtypes import as_dtype, bool_
from actorsession.graph.graph import constant_value
from actorsession.graph.operation import Tensor
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import shape_tensor
from actorsession.ops.arrays.fills import range_
from actorsession.ops.arrays.gather import gather
from actorsession.ops.arrays.joining import concat
from actorsession.ops.arrays.shape import expand_dims, reshape, squeeze
from actorsession.ops.build import convert_to_tensor, graph_of
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.comparison import less
from actorsession.ops.elements.selection import where
from actorsession.ops.indexed_slices import IndexedSlices
from actorsession.ops.reductions.reduction import reduce_max, reduce_prod
from actorsession.ops.reductions.unique import setdiff1d
from actorsession.ops.shape_operands import constant_ints_of

__all__ = ["batch_gather", "boolean_mask", "sequence_mask", "sparse_mask"]


def boolean_mask(tensor: Any, mask: Any, name: str = "boolean_mask", axis: int | None = None) -> Tensor:
    """Return the parts of a tensor for which a mask is true, concatenated.

    Args:
        tensor: any tensor.
        mask: bool, of known rank ``k``, at least 1; its shape is that of ``tensor`` from ``axis`` on.
        axis: first axis of the mask, 0 if left out; negative counts from the end.

    Returns:
        The tensor with the ``k`` axes of the mask merged into one.
    """
    graph = graph_of(tensor, mask)
    with graph.name_scope(name):
        value = convert_to_tensor(tensor, name="tensor", graph=graph)
        chosen = convert_to_tensor(mask, bool_, "mask", graph=graph)
        rank = chosen.shape.rank
        if not rank:
            raise ValueError(
                "boolean_mask takes a mask of known rank, at least 1 (dimensions may be unknown); "
                f"got shape {chosen.shape}"
            )
        first = _first_axis(axis, value)
        covered = value.shape[first : first + rank]
        if covered.rank not in (None, rank) or not covered.is_compatible_with(chosen.shape):
            raise ValueError(
                f"boolean_mask: a mask of shape {chosen.shape} from axis {first} on does not fit a "
                f"tensor of shape {value.shape}"
            )
        return _chosen_parts(value, chosen, first, rank)


def _first_axis(axis: Any, value: Tensor) -> int:
    known = 0 if axis is None else axis
    if hasattr(known, "_as_graph_element"):
        fixed = constant_ints_of(convert_to_tensor(known))
        if fixed is None:
            raise ValueError("boolean_mask needs an axis that is known while the graph is built")
        known = fixed[0]
    if known < 0:
        if value.shape.rank is None:
            raise ValueError(f"boolean_mask: axis {known} counts from the end of an unknown rank")
        known += value.shape.rank
    return int(known)


def _chosen_parts(value: Tensor, chosen: Tensor, first: int, rank: int) -> Tensor:
    dims = shape_tensor(value)
    count = reduce_prod(dims[first : first + rank], [0])
    merged = reshape(value, concat([dims[:first], reshape(count, [1]), dims[first + rank :]], 0))
    front = value.shape[:first]
    merged.set_shape(
        front.concatenate([value.shape[first : first + rank].num_elements()]).concatenate(value.shape[first + rank :])
    )
    places = squeeze(where(reshape(chosen, [-1])), axis=[1])
    return gather(merged, places, axis=first)


def batch_gather(params: Any, indices: Any, name: str | None = None) -> Tensor:
    """Gather for each batch entry from its own part of ``params``.

    Args:
        params: tensor of rank at least that of ``indices``.
        indices: int32 or int64, ``[..., n]``; all axes but the last are the batch, as in ``params``.
    """
    value = convert_to_tensor(params)
    with value.graph.name_scope(name or "BatchGather"):
        places = convert_to_tensor(indices, name="indices", graph=value.graph)
        if not places.shape.rank:
            raise ValueError(f"batch_gather takes indices of known rank, at least 1; got shape {places.shape}")
        batch = places.shape.rank - 1
        return gather(value, places, axis=batch, batch_dims=batch)


def sequence_mask(lengths: Any, maxlen: Any = None, dtype: Any = bool_, name: str | None = None) -> Tensor:
    """Return for each length as many true entries, followed by false ones.

    Args:
        lengths: integers of shape ``s``.
        maxlen: number of entries for each length, a scalar; the greatest length if left out.
        dtype: dtype of the result; in types other than bool, true is 1 and false 0.

    Returns:
        A tensor of shape ``s + [maxlen]``.
    """
    graph = graph_of(lengths, maxlen)
    with graph.name_scope(name or "SequenceMask"):
        ends = convert_to_tensor(lengths, name="lengths", graph=graph)
        if maxlen is None:
            zero = convert_to_tensor(0, ends.dtype, graph=graph)
            limit = raw.Maximum(zero, reduce_max(ends))
        else:
            limit = convert_to_tensor(maxlen, graph=graph)
        if limit.shape.rank not in (None, 0):
            raise ValueError(f"sequence_mask: maxlen is a scalar, got shape {limit.shape}")
        start, step = (convert_to_tensor(n, limit.dtype, graph=graph) for n in (0, 1))
        places = range_(start, limit, step)
        mask = less(places, cast(expand_dims(ends, -1), limit.dtype))
        known = constant_value(ends)
        if maxlen is None and known is not None:
            mask.set_shape(ends.shape.concatenate([max(0, int(known.max(initial=0)))]))
        element_type = as_dtype(dtype)
        return mask if element_type is bool_ else cast(mask, element_type)


def sparse_mask(a: IndexedSlices, mask_indices: Any, name: str | None = None) -> IndexedSlices:
    """Return the slices of ``a`` whose index is not among ``mask_indices``.

    Args:
        a: some rows of a larger tensor.
        mask_indices: vector of the indices to leave out.
    """
    with a.values.graph.name_scope(name or "sparse_mask"):
        kept, places = setdiff1d(a.indices, convert_to_tensor(mask_indices, a.indices.dtype))
        return IndexedSlices(gather(a.values, places), kept, a.dense_shape)
