"""Initialisers: functions from a shape and dtype to the first value of a variable.

TensorFlow's lower-case names are the public ones; they are classes, so that they can be told apart
and carry their settings. Calling one builds nodes in the default graph.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.graph.dtypes import DType, as_dtype, float32
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import ShapeLike, TensorShape
from actorsession.ops import fills, random
from actorsession.ops.build import constant

__all__ = [
    "Initializer", "constant_initializer", "glorot_normal_initializer",
    "glorot_uniform_initializer", "he_normal_initializer", "he_uniform_initializer",
    "ones_initializer", "random_normal_initializer", "random_uniform_initializer",
    "truncated_normal_initializer", "variance_scaling_initializer", "zeros_initializer",
]  # fmt: skip

# The standard deviation of a unit normal distribution cut at two deviations: its variance is
# 1 - 4 * pdf(2) / erf(sqrt(2)), and pdf(2) = exp(-2) / sqrt(2 * pi).
_TRUNCATED_STDDEV = math.sqrt(
    1.0 - 4.0 * math.exp(-2.0) / math.sqrt(2.0 * math.pi) / math.erf(math.sqrt(2.0))
)


class Initializer:
    """Base class of initialisers; a subclass overrides ``build``.

    Args:
        dtype: element type unless the call names one.
    """

    def __init__(self, dtype: Any = float32) -> None:
        self.dtype: DType = as_dtype(dtype)

    def __call__(self, shape: ShapeLike, dtype: Any = None, partition_info: Any = None) -> Tensor:
        """Builds a first value.

        Args:
            shape: a fully known shape.
            dtype: element type; the initialiser's own if left out.
            partition_info: accepted for TensorFlow's sake.

        Raises:
            ValueError: if the shape is not fully known.
            TypeError: if the initialiser cannot make values of that dtype.
        """
        dims = TensorShape(shape).as_tuple()
        return self.build(dims, self.dtype if dtype is None else as_dtype(dtype))

    def build(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        """Builds the value; what a subclass overrides."""
        raise NotImplementedError(f"{type(self).__name__} must override build")


class zeros_initializer(Initializer):
    """All zeros (``False`` for bool)."""

    def build(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        """Builds the value."""
        return fills.zeros(shape, dtype)


class ones_initializer(Initializer):
    """All ones."""

    def build(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        """Builds the value."""
        return fills.ones(shape, dtype)


class constant_initializer(Initializer):
    """A given value.

    Args:
        value: one value for all elements, or as many as there are.
        dtype: element type unless the call names one.
        verify_shape: whether one value for several elements is refused.
    """

    def __init__(self, value: Any = 0, dtype: Any = float32, verify_shape: bool = False) -> None:
        super().__init__(dtype)
        self.value = value
        self.verify_shape = verify_shape

    def build(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        """Builds the value.

        Raises:
            ValueError: if the value does not fill the shape, or has another one and must not.
        """
        if self.verify_shape and np.shape(self.value) != shape:
            raise ValueError(
                f"the initial value has shape {list(np.shape(self.value))}, asked was {list(shape)}"
            )
        return constant(self.value, dtype, shape)


class random_uniform_initializer(Initializer):
    """Uniformly distributed values.

    Args:
        minval: smallest value.
        maxval: upper bound, not reached; 1 for floats if left out.
        seed: of the sequence; see ``set_random_seed``.
        dtype: element type unless the call names one.
    """

    def __init__(
        self, minval: Any = 0, maxval: Any = None, seed: int | None = None, dtype: Any = float32
    ) -> None:
        super().__init__(dtype)
        self.minval = minval
        self.maxval = maxval
        self.seed = seed

    def build(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        """Builds the value."""
        return random.random_uniform(shape, self.minval, self.maxval, dtype, seed=self.seed)


class random_normal_initializer(Initializer):
    """Normally distributed values.

    Args:
        mean: mean.
        stddev: standard deviation.
        seed: of the sequence; see ``set_random_seed``.
        dtype: element type unless the call names one.
    """

    def __init__(
        self, mean: Any = 0.0, stddev: Any = 1.0, seed: int | None = None, dtype: Any = float32
    ) -> None:
        super().__init__(dtype)
        self.mean = mean
        self.stddev = stddev
        self.seed = seed

    def build(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        """Builds the value."""
        return random.random_normal(shape, self.mean, self.stddev, dtype, seed=self.seed)


class truncated_normal_initializer(random_normal_initializer):
    """Normally distributed values, drawn again where more than two deviations from the mean."""

    def build(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        """Builds the value."""
        return random.truncated_normal(shape, self.mean, self.stddev, dtype, seed=self.seed)


class variance_scaling_initializer(Initializer):
    """Random values of variance ``scale / n``, so that signals keep their size through layers.

    Args:
        scale: above 0.
        mode: what ``n`` is: ``fan_in`` the inputs of a unit, ``fan_out`` its outputs, ``fan_avg``
            the mean of both.
        distribution: ``truncated_normal`` (also ``normal``), ``untruncated_normal`` or ``uniform``.
        seed: of the sequence; see ``set_random_seed``.
        dtype: element type unless the call names one.

    Raises:
        ValueError: for a setting that does not exist.
    """

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

    def build(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        """Builds the value."""
        fan_in, fan_out = _fans(shape)
        n = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        variance = self.scale / max(1.0, n)
        if self.distribution == "uniform":
            limit = math.sqrt(3.0 * variance)
            return random.random_uniform(shape, -limit, limit, dtype, seed=self.seed)
        stddev = math.sqrt(variance)
        if self.distribution == "untruncated_normal":
            return random.random_normal(shape, 0.0, stddev, dtype, seed=self.seed)
        # Cutting off the tails makes the variance smaller; made up for here.
        return random.truncated_normal(
            shape, 0.0, stddev / _TRUNCATED_STDDEV, dtype, seed=self.seed
        )


def _fans(shape: Sequence[int]) -> tuple[float, float]:
    """Inputs and outputs of a unit of a layer whose weights have that shape.

    The last two axes count channels; axes before them are the window of a convolution.
    """
    if len(shape) < 2:
        size = shape[0] if shape else 1
        return size, size
    window = math.prod(shape[:-2])
    return shape[-2] * window, shape[-1] * window


class glorot_uniform_initializer(variance_scaling_initializer):
    """Glorot and Bengio's (2010): uniform, variance ``2 / (fan_in + fan_out)``."""

    def __init__(self, seed: int | None = None, dtype: Any = float32) -> None:
        super().__init__(1.0, "fan_avg", "uniform", seed, dtype)


class glorot_normal_initializer(variance_scaling_initializer):
    """Glorot and Bengio's (2010): truncated normal, variance ``2 / (fan_in + fan_out)``."""

    def __init__(self, seed: int | None = None, dtype: Any = float32) -> None:
        super().__init__(1.0, "fan_avg", "truncated_normal", seed, dtype)


class he_uniform_initializer(variance_scaling_initializer):
    """He and others' (2015) for rectified units: uniform, variance ``2 / fan_in``."""

    def __init__(self, seed: int | None = None, dtype: Any = float32) -> None:
        super().__init__(2.0, "fan_in", "uniform", seed, dtype)


class he_normal_initializer(variance_scaling_initializer):
    """He and others' (2015) for rectified units: truncated normal, variance ``2 / fan_in``."""

    def __init__(self, seed: int | None = None, dtype: Any = float32) -> None:
        super().__init__(2.0, "fan_in", "truncated_normal", seed, dtype)
