"""Initialisers with a variance by the number of inputs, so that signals keep their size through layers.

The last two axes of a shape count channels; axes before them are the window of a convolution.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

from actorsession.graph.dtypes import DType, as_dtype, float32
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import ShapeLike, TensorShape
from actorsession.ops.randomness import numbers
from actorsession.ops.variables.initializer import FloatingInitializer

__all__ = [
    "glorot_normal_initializer",
    "glorot_uniform_initializer",
    "he_normal_initializer",
    "he_uniform_initializer",
    "lecun_normal_initializer",
    "lecun_uniform_initializer",
    "uniform_unit_scaling_initializer",
    "variance_scaling_initializer",
]

# The standard deviation of a unit normal distribution cut at two deviations: its variance is
# 1 - 4 * pdf(2) / erf(sqrt(2)), and pdf(2) = exp(-2) / sqrt(2 * pi).
_TRUNCATED_STDDEV = math.sqrt(1.0 - 4.0 * math.exp(-2.0) / math.sqrt(2.0 * math.pi) / math.erf(math.sqrt(2.0)))


class variance_scaling_initializer(FloatingInitializer):
    """Random values of variance ``scale / n``, so that signals keep their size through layers.

    Args:
        scale: factor of the variance, above 0.
        mode: the meaning of ``n``: ``fan_in`` is the inputs of a unit, ``fan_out`` its outputs, ``fan_avg``
            the mean of both.
        distribution: ``truncated_normal`` (also ``normal``), ``untruncated_normal`` or ``uniform``.
        seed: seed of the sequence; see ``set_random_seed``.
        dtype: element type, unless the call gives one.

    Raises:
        ValueError: for an invalid setting.
    """

    _settings: ClassVar[tuple[str, ...]] = ("scale", "mode", "distribution", "seed")
    _MODES = ("fan_in", "fan_out", "fan_avg")
    _DISTRIBUTIONS = ("normal", "uniform", "truncated_normal", "untruncated_normal")

    def __init__(
        self,
        scale: float = 1.0,
        mode: str = "fan_in",
        distribution: str = "truncated_normal",
        seed: int | None = None,
        dtype: Any = float32,
    ) -> None:
        super().__init__(dtype)
        if scale <= 0:
            raise ValueError(f"scale is above 0, got {scale}")
        if mode not in self._MODES:
            raise ValueError(f"mode is one of {self._MODES}, got {mode!r}")
        if distribution not in self._DISTRIBUTIONS:
            raise ValueError(f"distribution is one of {self._DISTRIBUTIONS}, got {distribution!r}")
        self.scale = scale
        self.mode = mode
        self.distribution = distribution
        self.seed = seed

    def __call__(self, shape: ShapeLike, dtype: Any = None, partition_info: Any = None) -> Tensor:
        """Build an initial value; a part of a larger variable has the variance of the whole."""
        dims = TensorShape(shape).as_tuple()
        whole = dims if partition_info is None else tuple(partition_info.full_shape)
        return self._scaled(dims, self.dtype if dtype is None else as_dtype(dtype), whole)

    def build(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        """Build the value."""
        return self._scaled(shape, dtype, shape)

    def _scaled(self, shape: tuple[int, ...], dtype: DType, whole: tuple[int, ...]) -> Tensor:
        fan_in, fan_out = _fans(whole)
        n = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        variance = self.scale / max(1.0, n)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return numbers.random_uniform(shape, -limit, limit, dtype, seed=self.seed)
        stddev = math.sqrt(variance)
        if self.distribution == "untruncated_normal":
            return numbers.random_normal(shape, 0.0, stddev, dtype, seed=self.seed)
        # Truncation of the tails makes the variance smaller; the factor compensates for that.
        return numbers.truncated_normal(shape, 0.0, stddev / _TRUNCATED_STDDEV, dtype, seed=self.seed)


def _fans(shape: Sequence[int]) -> tuple[float, float]:
    """Return the inputs and outputs of a unit of a layer whose weights have that shape.

    The last two axes count channels; axes before them are the window of a convolution.
    """
    if len(shape) < 2:
        size = shape[0] if shape else 1
        return size, size
    window = math.prod(shape[:-2])
    return shape[-2] * window, shape[-1] * window


class glorot_uniform_initializer(variance_scaling_initializer):
    """The initialiser of Glorot and Bengio (2010): uniform, variance ``2 / (fan_in + fan_out)``."""

    _settings = ("seed",)

    def __init__(self, seed: int | None = None, dtype: Any = float32) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)


class glorot_normal_initializer(variance_scaling_initializer):
    """The initialiser of Glorot and Bengio (2010): truncated normal, variance ``2 / (fan_in + fan_out)``."""

    _settings = ("seed",)

    def __init__(self, seed: int | None = None, dtype: Any = float32) -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)


class he_uniform_initializer(variance_scaling_initializer):
    """The initialiser of He et al. (2015) for rectified units: uniform, variance ``2 / fan_in``."""

    _settings = ("seed",)

    def __init__(self, seed: int | None = None, dtype: Any = float32) -> None:
        super().__init__(2.0, "fan_in", "uniform", seed, dtype)


class he_normal_initializer(variance_scaling_initializer):
    """The initialiser of He et al. (2015) for rectified units: truncated normal, variance ``2 / fan_in``."""

    _settings = ("seed",)

    def __init__(self, seed: int | None = None, dtype: Any = float32) -> None:
        super().__init__(2.0, "fan_in", "truncated_normal", seed, dtype)


class lecun_uniform_initializer(variance_scaling_initializer):
    """The initialiser of LeCun et al. (1998): uniform, variance ``1 / fan_in``."""

    _settings = ("seed",)

    def __init__(self, seed: int | None = None, dtype: Any = float32) -> None:
        super().__init__(1.0, "fan_in", "uniform", seed, dtype)


class lecun_normal_initializer(variance_scaling_initializer):
    """The initialiser of LeCun et al. (1998): truncated normal, variance ``1 / fan_in``."""

    _settings = ("seed",)

    def __init__(self, seed: int | None = None, dtype: Any = float32) -> None:
        super().__init__(1.0, "fan_in", "truncated_normal", seed, dtype)


class uniform_unit_scaling_initializer(FloatingInitializer):
    """Uniform values between ``-limit`` and ``limit``, with ``limit = factor * sqrt(3 / inputs)``.

    Args:
        factor: factor of the limit.
        seed: seed of the sequence; see ``set_random_seed``.
        dtype: element type, unless the call gives one.
    """

    _settings = ("factor", "seed")

    def __init__(self, factor: float = 1.0, seed: int | None = None, dtype: Any = float32) -> None:
        super().__init__(dtype)
        self.factor = factor
        self.seed = seed

    def __call__(self, shape: ShapeLike, dtype: Any = None, partition_info: Any = None) -> Tensor:
        """Build an initial value; a part of a larger variable has the limit of the whole."""
        dims = TensorShape(shape).as_tuple()
        whole = dims if partition_info is None else tuple(partition_info.full_shape)
        limit = math.sqrt(3.0 / max(1.0, math.prod(whole[:-1]))) * self.factor
        element_type = self.dtype if dtype is None else as_dtype(dtype)
        return numbers.random_uniform(dims, -limit, limit, element_type, seed=self.seed)
