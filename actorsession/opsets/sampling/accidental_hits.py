"""Search for sampled classes that are also true classes, for the losses that must ignore them.

Owns ``ComputeAccidentalHits``; ``sampled_losses`` calls it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import int64
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.rows import op
from actorsession.opsets.sampling.candidates import check_true_classes, seeds, true_shape

__all__ = ["compute_accidental_hits"]


class AccidentalHits(NamedTuple):
    """The positions at which a sample contains true classes.

    Attributes:
        indices: the examples (rows of the true classes), int32, shape ``[hits]``.
        ids: their positions in the sample, int64, shape ``[hits]``.
        weights: the lowest float32 for each, to be added to logits, shape ``[hits]``.
    """

    indices: Tensor
    ids: Tensor
    weights: Tensor


def compute_accidental_hits(
    true_classes: Any, sampled_candidates: Any, num_true: int, seed: int | None = None, name: str | None = None
) -> AccidentalHits:
    """Find the classes of a sample that are true for an example.

    Args:
        true_classes: int64, shape ``[batch, num_true]``.
        sampled_candidates: int64, shape ``[num_sampled]``.
        num_true: true classes of each example.
        seed: without effect: nothing is drawn.

    Raises:
        ValueError: for true classes of another shape.
    """
    classes = convert_to_tensor(true_classes, int64)
    sampled = convert_to_tensor(sampled_candidates, int64, graph=classes.graph)
    hits = raw.ComputeAccidentalHits(classes, sampled, num_true=int(num_true), **seeds(seed, classes), name=name)
    return AccidentalHits(*hits)


def _hits(ctx: InferContext) -> Sequence[TensorShape]:
    true_shape(ctx)
    sampled = ctx.inputs[1]
    if sampled.dtype is not int64:
        raise TypeError(f"{ctx.op}: sampled candidates are int64, got {sampled.dtype.name}")
    if sampled.shape.rank not in (None, 1):
        raise ValueError(f"{ctx.op}: sampled candidates are a vector, got shape {sampled.shape}")
    return [TensorShape([None])] * 3


def _hits_kernel(ctx: KernelContext) -> Kernel:
    def hits(true_classes: Any, sampled: Any) -> tuple[Array, Array, Array]:
        check_true_classes(ctx, true_classes)
        if sampled.ndim != 1:
            raise InvalidArgumentError(f"sampled candidates are a vector, got shape {list(sampled.shape)}")
        # If a class occurs several times in the sample, its last position counts, as in TensorFlow.
        known, places = np.unique(sampled[::-1], return_index=True)
        flat = true_classes.reshape(-1)
        near = np.minimum(np.searchsorted(known, flat), max(known.size - 1, 0))
        matches = np.flatnonzero(known[near] == flat) if known.size else np.zeros(0, np.int64)
        rows = (matches // ctx.attrs["num_true"]).astype(np.int32)
        ids = (sampled.size - 1 - places[near[matches]]).astype(np.int64)
        return rows, ids, np.full(rows.size, -np.finfo(np.float32).max, np.float32)

    return hits


op("ComputeAccidentalHits", _hits, kernel=_hits_kernel, grad=NOT_DIFFERENTIABLE)
