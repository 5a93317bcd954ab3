"""``edit_distance``: Levenshtein's distance between sequences.

Owns ``EditDistance``. Sequences are the rows of sparse tensors; the distance of two is computed with one
vector operation per element of the first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import int64
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import Ints, constant_ints, ints, vector_length
from actorsession.opsets.sparse.basics import SparseTensor, SparseTensorValue, parts_of

__all__ = ["edit_distance"]


def edit_distance(hypothesis: Any, truth: Any, normalize: bool = True, name: str = "edit_distance") -> Tensor:
    """Return how many insertions, deletions and substitutions turn one sequence into another.

    Args:
        hypothesis: a ``SparseTensor`` whose last axis runs along sequences.
        truth: another of the same rank and dtype.
        normalize: whether a distance is divided by the length of the sequence in ``truth``; the distance to
            an empty one is then infinite.

    Returns:
        float32 of the common shape without the last axis.

    Raises:
        TypeError: if an argument is no sparse tensor, or the dtypes differ.
    """
    parts: list[Tensor] = []
    for what, sequences in (("hypothesis", hypothesis), ("truth", truth)):
        sparse = SparseTensor(*sequences) if isinstance(sequences, SparseTensorValue) else sequences
        if not isinstance(sparse, SparseTensor):
            raise TypeError(f"edit_distance: {what} is a SparseTensor, got {sequences!r:.100}")
        parts += parts_of(sparse)
    return raw.EditDistance(*parts, normalize=bool(normalize), name=name)


def _distance_shape(ctx: InferContext) -> list[TensorShape]:
    for start in (0, 3):
        indices, values, dims = ctx.inputs[start : start + 3]
        if indices.dtype is not int64 or dims.dtype is not int64:
            raise TypeError(f"{ctx.op}: indices and shapes are int64, got {indices.dtype.name}")
        ranks = ((indices, 2), (values, 1), (dims, 1))
        if any(spec.shape.rank not in (None, rank) for spec, rank in ranks):
            shapes = ", ".join(str(spec.shape) for spec, _ in ranks)
            raise ValueError(f"{ctx.op}: parts of rank 2, 1 and 1 are taken, got shapes {shapes}")
    lengths = {vector_length(ctx.inputs[i]) for i in (2, 5)} - {None}
    if len(lengths) > 1:
        raise ValueError(f"{ctx.op}: both have one rank, got {sorted(map(str, lengths))}")
    first, second = constant_ints(ctx, 2), constant_ints(ctx, 5)
    if first is None or second is None:
        if not lengths:
            return [unknown_shape]
        count = lengths.pop()
        assert count is not None
        return [TensorShape([None] * max(0, count - 1))]
    return [TensorShape(_common(first, second))]


def _common(first: Ints, second: Ints) -> Ints:
    """Return the shape of the distances between sequences of two shapes."""
    return tuple(map(max, first[:-1], second[:-1]))


def _sequences(indices: Any, values: Any, dims: Ints, what: str) -> dict[Ints, list[Any]]:
    """Return the elements of each non-empty sequence, by its position."""
    if indices.shape != (len(values), len(dims)) or not dims:
        raise InvalidArgumentError(
            f"{what}: {len(values)} entries of a tensor of shape {list(dims)} need indices of shape "
            f"{[len(values), len(dims)]}, got {list(indices.shape)}"
        )
    # A sequence may be longer than the shape says, in programs and in TensorFlow.
    wrong = (indices < 0) | (indices >= np.array([*dims[:-1], np.iinfo(np.int64).max]))
    if indices.size and wrong.any():
        bad = indices[wrong.any(axis=1)][0]
        raise InvalidArgumentError(f"{what}: {bad.tolist()} does not index into shape {list(dims)}")
    sequences: dict[Ints, list[Any]] = {}
    for place, value in zip(indices[:, :-1].tolist(), values, strict=True):
        sequences.setdefault(tuple(place), []).append(value)
    return sequences


def _distance(first: list[Any], second: list[Any]) -> int:
    """Return Levenshtein's distance, computed row by row."""
    target = np.empty(len(second), object)
    target[:] = second
    steps = np.arange(len(second) + 1)
    row = steps
    for count, element in enumerate(first, 1):
        replaced = row[:-1] + (target != element)
        best = np.concatenate(([count], np.minimum(row[1:] + 1, replaced)))
        # An insertion costs 1: take the minimum over all earlier positions plus their distance.
        row = np.minimum.accumulate(best - steps) + steps
    return int(row[-1])


def _distance_kernel(ctx: KernelContext) -> Kernel:
    normalize = ctx.attrs["normalize"]

    def measured(*parts: Any) -> Array:
        dims = ints(parts[2]), ints(parts[5])
        if len(dims[0]) != len(dims[1]):
            raise InvalidArgumentError(f"both have one rank, got shapes {dims[0]} and {dims[1]}")
        guesses = _sequences(parts[0], parts[1], dims[0], "hypothesis")
        truths = _sequences(parts[3], parts[4], dims[1], "truth")
        out = np.zeros(_common(*dims), np.float32)
        for place in guesses.keys() | truths.keys():
            truth = truths.get(place, [])
            distance: float = _distance(guesses.get(place, []), truth)
            if normalize:
                distance = distance / len(truth) if truth else np.inf
            out[place] = distance
        return out

    return measured


op("EditDistance", _distance_shape, kernel=_distance_kernel, grad=NOT_DIFFERENTIABLE)
