"""``tf.contrib.layers``: its initialisers and regularisers, without the layers."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

from actorsession import ops
from actorsession.graph.default_scopes import name_scope
from actorsession.graph.dtypes import DType, float32
from actorsession.graph.operation import Tensor

__all__ = [
    "l1_regularizer", "l2_regularizer", "variance_scaling_initializer", "xavier_initializer",
    "xavier_initializer_conv2d",
]  # fmt: skip


def variance_scaling_initializer(
    factor: float = 2.0,
    mode: str = "FAN_IN",
    uniform: bool = False,
    seed: int | None = None,
    dtype: DType = float32,
) -> ops.variance_scaling_initializer:
    """Random values of variance ``factor / n``; see ``tf.variance_scaling_initializer``.

    Args:
        factor: above 0.
        mode: what ``n`` is: ``FAN_IN``, ``FAN_OUT`` or ``FAN_AVG``.
        uniform: whether values are drawn evenly instead of from a normal distribution cut at two deviations.
        seed: of the sequence.
        dtype: element type.

    Raises:
        TypeError: for a dtype that is not floating.
        ValueError: for a mode that does not exist.
    """
    if not dtype.is_floating:
        raise TypeError(f"an initialiser of random values is of a floating type, got {dtype.name}")
    distribution = "uniform" if uniform else "truncated_normal"
    return ops.variance_scaling_initializer(factor, mode.lower(), distribution, seed, dtype)


def xavier_initializer(
    uniform: bool = True, seed: int | None = None, dtype: DType = float32
) -> ops.variance_scaling_initializer:
    """Random values after Glorot and Bengio (2010); arguments as ``variance_scaling_initializer``."""
    return variance_scaling_initializer(1.0, "FAN_AVG", uniform, seed, dtype)


xavier_initializer_conv2d = xavier_initializer


def l1_regularizer(scale: float, scope: str | None = None) -> Callable[[Any], Tensor | None]:
    """A regulariser that adds ``scale`` times the sum of absolute weights to the loss.

    Args:
        scale: 0 for no loss at all.
        scope: of the operations.

    Raises:
        ValueError: for a whole or negative number.
    """
    return _regularizer(scale, scope or "l1_regularizer", lambda w: ops.reduce_sum(ops.abs(w)))


def l2_regularizer(scale: float, scope: str | None = None) -> Callable[[Any], Tensor | None]:
    """A regulariser that adds ``scale`` times half the sum of squared weights; as ``l1_regularizer``."""
    return _regularizer(scale, scope or "l2_regularizer", ops.nn.l2_loss)


def _regularizer(
    scale: float, scope: str, loss: Callable[[Any], Tensor]
) -> Callable[[Any], Tensor | None]:
    whole: Any = scale  # A number that says float may be one of int all the same.
    if isinstance(whole, numbers.Integral):
        raise ValueError(f"scale cannot be an integer: {scale}")
    if scale < 0.0:
        raise ValueError(f"a regulariser's scale is not negative: {scale}")
    if scale == 0.0:
        return lambda _: None

    def regularize(weights: Any) -> Tensor:
        with name_scope(scope) as inner:
            # The factor in the weights' own type, whatever that is.
            factor = ops.convert_to_tensor(scale, weights.dtype.base_dtype, name="scale")
            return ops.multiply(factor, loss(weights), name=inner)

    return regularize
