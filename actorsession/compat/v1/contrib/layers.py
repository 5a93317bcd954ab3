"""``tf.contrib.layers``: its initialisers and regularisers, without the layers."""

from __future__ import annotations

import numbers
from collections.abc import Callable
from typing import Any

from actorsession import ops
from actorsession.graph.dtypes import DType, float32
from actorsession.graph.graph import name_scope
from actorsession.graph.operation import Tensor
from actorsession.namespaces import nn

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
    """Return an initialiser for random values of variance ``factor / n``.

    See ``tf.variance_scaling_initializer``.

    Args:
        factor: a number above 0.
        mode: the definition of ``n``: ``FAN_IN``, ``FAN_OUT`` or ``FAN_AVG``.
        uniform: whether to use a uniform distribution instead of a normal one truncated at two standard
            deviations.
        seed: the seed of the random sequence.
        dtype: element type.

    Raises:
        TypeError: for a dtype that is not floating.
        ValueError: for a mode that does not exist.
    """
    if not dtype.is_floating:
        raise TypeError(
            f"an initialiser of random values needs a floating-point type, got {dtype.name}"
        )
    distribution = "uniform" if uniform else "truncated_normal"
    return ops.variance_scaling_initializer(factor, mode.lower(), distribution, seed, dtype)


def xavier_initializer(
    uniform: bool = True, seed: int | None = None, dtype: DType = float32
) -> ops.variance_scaling_initializer:
    """Return an initialiser after Glorot and Bengio (2010).

    The arguments are those of ``variance_scaling_initializer``.
    """
    return variance_scaling_initializer(1.0, "FAN_AVG", uniform, seed, dtype)


xavier_initializer_conv2d = xavier_initializer


def l1_regularizer(scale: float, scope: str | None = None) -> Callable[[Any], Tensor | None]:
    """Return a regulariser that adds ``scale`` times the sum of absolute weights to the loss.

    Args:
        scale: the factor; 0 for no loss at all.
        scope: the name scope of the operations.

    Raises:
        ValueError: for an integer or a negative number.
    """
    return _regularizer(scale, scope or "l1_regularizer", lambda w: ops.reduce_sum(ops.abs(w)))


def l2_regularizer(scale: float, scope: str | None = None) -> Callable[[Any], Tensor | None]:
    """Return a regulariser that adds ``scale`` times half the sum of squared weights.

    The arguments are those of ``l1_regularizer``.
    """
    return _regularizer(scale, scope or "l2_regularizer", nn.l2_loss)


def _regularizer(
    scale: float, scope: str, loss: Callable[[Any], Tensor]
) -> Callable[[Any], Tensor | None]:
    whole: Any = scale  # An argument annotated as float may be an int.
    if isinstance(whole, numbers.Integral):
        raise ValueError(f"scale cannot be an integer: {scale}")
    if scale < 0.0:
        raise ValueError(f"the scale of a regulariser must not be negative: {scale}")
    if scale == 0.0:
        return lambda _: None

    def regularize(weights: Any) -> Tensor:
        with name_scope(scope) as inner:
            # The factor has the element type of the weights.
            factor = ops.convert_to_tensor(scale, weights.dtype.base_dtype, name="scale")
            return ops.multiply(factor, loss(weights), name=inner)

    return regularize
