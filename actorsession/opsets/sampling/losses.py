"""Losses that train a classifier of many classes with a sample of the classes.

Owns ``nn.nce_loss`` and ``nn.sampled_softmax_loss``. Only composes ops: weights are looked up only for the
true classes and those of the sample, so the cost of a step depends on the size of the sample.
"""

from __future__ import annotations

from typing import Any

from actorsession.graph.dtypes import int32, int64
from actorsession.graph.operation import Tensor
from actorsession.ops.arrays import fills
from actorsession.ops.arrays.array import stop_gradient
from actorsession.ops.arrays.dimensions import shape
from actorsession.ops.arrays.gather import scatter_nd
from actorsession.ops.arrays.joining import concat
from actorsession.ops.arrays.shape import expand_dims, reshape
from actorsession.ops.build import constant, convert_to_tensor, graph_of
from actorsession.ops.elements import elementwise
from actorsession.ops.elements.cast import cast
from actorsession.ops.linear.matmul import matmul
from actorsession.ops.neural.cross_entropy import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
)
from actorsession.ops.neural.embedding import embedding_lookup
from actorsession.ops.reductions.reduction import reduce_sum
from actorsession.opsets.sampling.accidental_hits import compute_accidental_hits
from actorsession.opsets.sampling.candidates import log_uniform_candidate_sampler

__all__ = ["nce_loss", "sampled_softmax_loss"]


def nce_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = False,
    partition_strategy: str = "mod",
    name: str = "nce_loss",
) -> Tensor:
    """Return the noise-contrastive estimation loss, which separates true classes from sampled ones.

    Args:
        weights: shape ``[num_classes, dim]``: a tensor, a variable, or a list of its parts.
        biases: shape ``[num_classes]``, likewise.
        labels: the true classes, int64, shape ``[batch, num_true]``.
        inputs: floating, shape ``[batch, dim]``.
        num_sampled: number of classes to draw for the batch.
        num_classes: number of classes.
        num_true: true classes of each example.
        sampled_values: result of a candidate sampler; that of ``log_uniform_candidate_sampler`` with unique
            classes if left out.
        remove_accidental_hits: whether to ignore drawn classes that are true for an example.
        partition_strategy: as for ``embedding_lookup``.

    Returns:
        The loss of each example, shape ``[batch]``.
    """
    logits, targets = _sampled_logits(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        partition_strategy,
        name,
        None,
    )
    losses = sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name="sampled_losses")
    return reduce_sum(losses, axis=1)


def sampled_softmax_loss(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int = 1,
    sampled_values: Any = None,
    remove_accidental_hits: bool = True,
    partition_strategy: str = "mod",
    name: str = "sampled_softmax_loss",
    seed: int | None = None,
) -> Tensor:
    """Return the softmax cross entropy over the true classes and a sample; for training only.

    The arguments are those of ``nce_loss``; ``seed`` is the seed of the sampler.
    """
    logits, targets = _sampled_logits(
        weights,
        biases,
        labels,
        inputs,
        num_sampled,
        num_classes,
        num_true,
        sampled_values,
        remove_accidental_hits,
        partition_strategy,
        name,
        seed,
    )
    fixed = stop_gradient(targets, name="labels_stop_gradient")
    return softmax_cross_entropy_with_logits_v2(fixed, logits)


def _sampled_logits(
    weights: Any,
    biases: Any,
    labels: Any,
    inputs: Any,
    num_sampled: int,
    num_classes: int,
    num_true: int,
    sampled_values: Any,
    remove_accidental_hits: bool,
    partition_strategy: str,
    name: str | None,
    seed: int | None,
) -> tuple[Tensor, Tensor]:
    """Return the logits of the true classes followed by those of the sample, and the labels for both."""
    graph = graph_of(inputs, labels)
    with graph.as_default(), graph.name_scope(name or "compute_sampled_logits"):
        features = convert_to_tensor(inputs)
        true = cast(convert_to_tensor(labels), int64)
        candidates = sampled_values or log_uniform_candidate_sampler(
            true, num_true, num_sampled, True, num_classes, seed=seed
        )
        sampled, true_count, sampled_count = (stop_gradient(value) for value in candidates)
        sampled = cast(sampled, int64)
        ids = concat([reshape(true, [-1]), sampled], 0)

        def rows(table: Any) -> tuple[Tensor, Tensor]:
            looked_up = cast(embedding_lookup(table, ids, partition_strategy=partition_strategy), features.dtype)
            count = shape(reshape(true, [-1]))[0]
            return looked_up[:count], looked_up[count:]

        (true_w, sampled_w), (true_b, sampled_b) = rows(weights), rows(biases)
        dim = shape(true_w)[1:2]
        each = reshape(true_w, concat([constant([-1, num_true], int32), dim], 0))
        true_logits = reduce_sum(expand_dims(features, 1) * each, axis=2)
        true_logits = true_logits + reshape(true_b, [-1, num_true])
        logits = matmul(features, sampled_w, transpose_b=True) + sampled_b
        if remove_accidental_hits:
            logits = logits + _lowered(true, sampled, num_true, logits)
        true_logits = true_logits - cast(elementwise.log(true_count), features.dtype)
        logits = logits - cast(elementwise.log(sampled_count), features.dtype)
        targets = [fills.ones_like(true_logits) / num_true, fills.zeros_like(logits)]
        return concat([true_logits, logits], 1), concat(targets, 1)


def _lowered(true: Tensor, sampled: Tensor, num_true: int, logits: Tensor) -> Tensor:
    """Return the lowest number where a sampled class is true for an example, and 0 elsewhere."""
    hits = compute_accidental_hits(true, sampled, num_true)
    places = concat([reshape(cast(hits.indices, int64), [-1, 1]), reshape(hits.ids, [-1, 1])], 1)
    return scatter_nd(places, cast(hits.weights, logits.dtype), cast(shape(logits), int64))
