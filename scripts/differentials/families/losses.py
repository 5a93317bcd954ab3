"""Losses with every weight and reduction."""

from __future__ import annotations

from typing import Any

from scripts.differentials.numbers import choices, reals
from scripts.differentials.program import Family, Plan

__all__ = ["FAMILIES"]

losses = Family("losses")
FAMILIES = [losses]

_LOSSES: dict[str, Any] = {
    "mean_squared_error": {},
    "absolute_difference": {},
    "huber_loss": {"delta": 0.7},
    "log_loss": {},
    "hinge_loss": {},
    "mean_pairwise_squared_error": {},
    "sigmoid_cross_entropy": {},
    "softmax_cross_entropy": {},
    "cosine_distance": {"axis": 1},
}


def _loss_of(tf: Any, np: Any, name: str, **options: Any) -> Any:
    low = 0.05 if name in ("log_loss", "cosine_distance") else -2
    labels = choices(np, (3, 4), "float32")
    if name == "softmax_cross_entropy":
        labels = np.eye(4, dtype="float32")[:3]
    values = tf.constant(reals(np, (3, 4), low, 0.95))
    return getattr(tf.losses, name)(labels, values, **_LOSSES[name], **options)


losses.over("{name}-plain", lambda tf, np, name: Plan(_loss_of(tf, np, name), names=True), name=[*_LOSSES])
losses.over(
    "{name}-weights-{weights}", _loss_of, name=[*_LOSSES], weights=(0.0, 2.5, [[1.0], [0.0], [2.0]], [1.0, 2.0])
)
losses.over(
    "{name}-{reduction}",
    _loss_of,
    name=[name for name in _LOSSES if name != "mean_pairwise_squared_error"],
    reduction=("none", "weighted_sum", "weighted_mean", "weighted_sum_over_batch_size", "mean"),
)


@losses("collected")
def _collected(tf: Any, np: Any) -> Plan:
    tf.losses.mean_squared_error([1.0, 2.0], [2.0, 4.0])
    tf.losses.add_loss(tf.constant(3.0))
    tf.losses.absolute_difference([1.0], [5.0], scope="mine")
    facts = [len(tf.losses.get_losses()), len(tf.losses.get_losses("mine"))]
    return Plan([tf.losses.get_total_loss(), tf.losses.get_losses()], facts=facts, names=True)


losses.each(
    {
        "other-shapes": lambda tf, np: tf.losses.mean_squared_error([[1.0, 2.0]], [1.0, 2.0, 3.0]),
        "none": lambda tf, np: tf.losses.mean_squared_error(None, [1.0]),
        "sparse-softmax": lambda tf, np: tf.losses.sparse_softmax_cross_entropy([0, 2], reals(np, (2, 3))),
        "label-smoothing": lambda tf, np: tf.losses.softmax_cross_entropy(
            np.eye(3, dtype="float32"), reals(np, (3, 3)), label_smoothing=0.2
        ),
        "weighted": lambda tf, np: tf.losses.compute_weighted_loss([1.0, 2.0, 3.0], [0.0, 1.0, 1.0]),
    }
)
