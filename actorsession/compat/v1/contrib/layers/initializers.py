"""Initialisers of ``tf.contrib.layers``."""

from __future__ import annotations

from actorsession import ops
from actorsession.graph.dtypes import DType, float32

__all__ = ["variance_scaling_initializer", "xavier_initializer", "xavier_initializer_conv2d"]


def variance_scaling_initializer(
    factor: float = 2.0, mode: str = "FAN_IN", uniform: bool = False, seed: int | None = None, dtype: DType = float32
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
        raise TypeError(f"an initialiser of random values needs a floating-point type, got {dtype.name}")
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

# The defaults of layers.
XAVIER, ZEROS = xavier_initializer(), ops.zeros_initializer()
