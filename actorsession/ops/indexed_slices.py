"""Sparse gradients: rows of a tensor and their positions.

Owns ``IndexedSlices``, the gradient of a gather: the rows that were looked up, without the zeros of all other
rows. Gradient functions make them, ``gradients`` sums them, and optimisers scatter them into variables. This
module imports very little of ``ops``, because gather needs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from actorsession.graph.dtypes import int32, int64
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape, shown
from actorsession.ops import raw
from actorsession.ops.build import constant
from actorsession.ops.composite_tensor import CompositeTensor
from actorsession.ops.shape_operands import shape_from
from actorsession.process_bound import GraphBound

if TYPE_CHECKING:
    import numpy as np

__all__ = ["IndexedSlices", "IndexedSlicesValue", "SparseGradient", "add_slices", "to_dense"]


class IndexedSlicesValue(NamedTuple):
    """The fetched value of ``IndexedSlices``.

    Attributes:
        values: the rows.
        indices: the position of each row in the whole tensor.
        dense_shape: shape of the whole tensor, ``None`` if it is not available.
    """

    values: np.ndarray[Any, Any]
    indices: np.ndarray[Any, Any]
    dense_shape: np.ndarray[Any, Any] | None


class IndexedSlices(CompositeTensor, GraphBound):
    """Some rows of a larger tensor; the others are zero, and rows with equal indices add up.

    Args:
        values: the rows, shape ``[n, ...]``.
        indices: the position of each row in the whole tensor: int32 or int64, shape ``[n]``.
        dense_shape: shape of the whole tensor as an integer vector; needed only to convert to a dense tensor.

    Raises:
        ValueError: if the components belong to different graphs.
    """

    __slots__ = ("_dense_shape", "_indices")

    def __init__(self, values: Tensor, indices: Tensor, dense_shape: Tensor | None = None) -> None:
        for part in (indices, dense_shape):
            known = [getattr(each, "graph", None) for each in (part, values)]
            if None not in known and known[0] is not known[1]:
                raise ValueError(f"{part!r} and {values!r} belong to different graphs")
        self._values = values
        self._indices = indices
        self._dense_shape = dense_shape

    def with_values(self, new_values: Any) -> IndexedSlices:
        """Return other rows at the same positions."""
        return IndexedSlices(new_values, self._indices, self._dense_shape)

    @property
    def values(self) -> Tensor:
        """The rows, shape ``[n, ...]``."""
        return self._values

    @property
    def indices(self) -> Tensor:
        """The position of each row in the whole tensor, shape ``[n]``."""
        return self._indices

    @property
    def dense_shape(self) -> Tensor | None:
        """Shape of the whole tensor, if it was given."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """The static shape of the whole tensor."""
        static = TensorShape([None]).concatenate(self._values.shape[1:])
        if self._dense_shape is not None:
            static = static.merge_with(shape_from(self._dense_shape))
        return shown(static)

    def _operand(self) -> Tensor:
        return to_dense(self)

    def __str__(self) -> str:
        whole = "" if self.dense_shape is None else f", dense_shape={self.dense_shape}"
        return f"IndexedSlices(indices={self.indices}, values={self.values}{whole})"

    def __repr__(self) -> str:
        return (
            f"<IndexedSlices values={self._values.name!r} indices={self._indices.name!r} "
            f"shape={self.shape} dtype={self.dtype.name}>"
        )


SparseGradient: TypeAlias = Tensor | IndexedSlices


def to_dense(value: SparseGradient, name: str | None = None) -> Tensor:
    """Return a value as a dense tensor.

    Args:
        value: a tensor, which is returned unchanged, or slices.
        name: wanted name of the new node.

    Returns:
        For slices a tensor of shape ``dense_shape`` in which rows with equal indices are added up.

    Raises:
        ValueError: for slices without ``dense_shape``.
    """
    if isinstance(value, Tensor):
        return value
    if value.dense_shape is None:
        raise ValueError(f"cannot make {value!r} dense: it has no dense_shape that says how many rows")
    rows = (value.shape.sizes or (None,))[0]
    if rows is not None:
        count = constant(rows, int32, name="num_rows", graph=value.graph)
    else:
        count = _first_element(value.dense_shape)
    dense = raw.UnsortedSegmentSum(value.values, value.indices, count, name=name)
    dense.set_shape(value.shape)
    return dense


def _first_element(vector: Tensor) -> Tensor:
    zero = constant(0, int32, name="first", graph=vector.graph)
    axis = constant(0, int32, name="axis", graph=vector.graph)
    return raw.GatherV2(vector, zero, axis)


def add_slices(parts: Sequence[IndexedSlices]) -> IndexedSlices:
    """Return the sum of slices of one tensor: their rows are concatenated, and not yet added up.

    Args:
        parts: at least one; indices of different integer types are cast to int64.
    """
    if len(parts) == 1:
        return parts[0]
    indices = [part.indices for part in parts]
    if len({t.dtype for t in indices}) > 1:
        indices = [raw.Cast(t, DstT=int64) for t in indices]
    shape = next((p.dense_shape for p in parts if p.dense_shape is not None), None)
    return IndexedSlices(_concat([part.values for part in parts]), _concat(indices), shape)


def _concat(tensors: list[Tensor]) -> Tensor:
    axis = constant(0, int32, name="axis", graph=tensors[0].graph)
    return raw.ConcatV2(tensors, axis)
