"""Initialisers: functions of a shape and dtype that return the initial value of a variable.

TensorFlow's lower-case names are the public ones. They are classes, so that they can be distinguished and
carry their settings. Calling one builds nodes in the default graph. As the namespace ``initializers`` the
module also has the shorter names, ``zeros`` for ``zeros_initializer``, and the functions that initialise
variables.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from actorsession.graph.dtypes import DType, as_dtype, float32
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import ShapeLike, TensorShape
from actorsession.ops.arrays import fills
from actorsession.ops.build import constant as constant_tensor
from actorsession.ops.build import to_array
from actorsession.ops.randomness import numbers
from actorsession.ops.variables import lists as variable_lists
from actorsession.ops.variables.initializer import FloatingInitializer, Initializer
from actorsession.ops.variables.orthogonal import orthogonal_initializer
from actorsession.ops.variables.variance_scaling import (
    glorot_normal_initializer,
    glorot_uniform_initializer,
    he_normal_initializer,
    he_uniform_initializer,
    lecun_normal_initializer,
    lecun_uniform_initializer,
    uniform_unit_scaling_initializer,
    variance_scaling_initializer,
)

__all__ = [
    "Initializer",
    "constant_initializer",
    "glorot_normal_initializer",
    "glorot_uniform_initializer",
    "he_normal_initializer",
    "he_uniform_initializer",
    "identity_initializer",
    "lecun_normal_initializer",
    "lecun_uniform_initializer",
    "ones_initializer",
    "orthogonal_initializer",
    "random_normal_initializer",
    "random_uniform_initializer",
    "truncated_normal_initializer",
    "uniform_unit_scaling_initializer",
    "variance_scaling_initializer",
    "zeros_initializer",
]


class zeros_initializer(Initializer):
    """All zeros (``False`` for bool)."""

    def build(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        """Build the value."""
        return fills.zeros(shape, dtype)


class ones_initializer(Initializer):
    """All ones."""

    def build(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        """Build the value."""
        return fills.ones(shape, dtype)


class constant_initializer(Initializer):
    """A given value.

    Args:
        value: one value for all elements, or several in row order, the last of which fills the rest.
        dtype: element type, unless the call gives one.
        verify_shape: whether the value must have exactly the shape of the variable.
    """

    _settings = ("value",)

    def __init__(self, value: Any = 0, dtype: Any = float32, verify_shape: bool = False) -> None:
        super().__init__(dtype)
        self.value = value
        self.verify_shape = verify_shape

    def build(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        """Build the value.

        Raises:
            TypeError: if the shape of the value is another while ``verify_shape`` is true.
            ValueError: if the value does not fit the shape.
        """
        if self.verify_shape and np.shape(self.value) != shape:
            raise TypeError(f"Expected Tensor's shape: {tuple(shape)}, but got {np.shape(self.value)}.")
        size = math.prod(shape)
        if 1 < np.size(self.value) < size:
            flat = to_array(self.value, dtype).reshape(-1)
            return constant_tensor(np.append(flat, np.repeat(flat[-1:], size - flat.size)), dtype, shape)
        return constant_tensor(self.value, dtype, shape)


class random_uniform_initializer(Initializer):
    """Uniformly distributed values.

    Args:
        minval: smallest value.
        maxval: exclusive upper bound; 1 for floats if left out.
        seed: seed of the sequence; see ``set_random_seed``.
        dtype: element type, unless the call gives one.
    """

    _settings = ("minval", "maxval", "seed")

    def __init__(self, minval: Any = 0.0, maxval: Any = None, seed: int | None = None, dtype: Any = float32) -> None:
        super().__init__(dtype)
        self.minval = minval
        self.maxval = maxval
        self.seed = seed

    def build(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        """Build the value."""
        return numbers.random_uniform(shape, self.minval, self.maxval, dtype, seed=self.seed)


class random_normal_initializer(FloatingInitializer):
    """Normally distributed values.

    Args:
        mean: mean.
        stddev: standard deviation.
        seed: seed of the sequence; see ``set_random_seed``.
        dtype: element type, unless the call gives one.
    """

    _settings = ("mean", "stddev", "seed")

    def __init__(self, mean: Any = 0.0, stddev: Any = 1.0, seed: int | None = None, dtype: Any = float32) -> None:
        super().__init__(dtype)
        self.mean = mean
        self.stddev = stddev
        self.seed = seed

    def build(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        """Build the value."""
        return numbers.random_normal(shape, self.mean, self.stddev, dtype, seed=self.seed)


class truncated_normal_initializer(random_normal_initializer):
    """Normally distributed values, redrawn if more than two standard deviations from the mean."""

    def build(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        """Build the value."""
        return numbers.truncated_normal(shape, self.mean, self.stddev, dtype, seed=self.seed)


class identity_initializer(FloatingInitializer):
    """The identity matrix, padded with zeros if it is not square.

    Args:
        gain: factor of the matrix.
        dtype: element type, unless the call gives one.
    """

    _settings = ("gain",)

    def __init__(self, gain: float = 1.0, dtype: Any = float32) -> None:
        super().__init__(dtype)
        self.gain = gain

    def __call__(self, shape: ShapeLike, dtype: Any = None, partition_info: Any = None) -> Tensor:
        """Build an initial value; a part of a larger variable gets that part of the whole matrix.

        Raises:
            ValueError: unless the variable is a matrix.
        """
        dims = TensorShape(shape).as_tuple()
        whole = dims if partition_info is None else tuple(partition_info.full_shape)
        if len(whole) != 2:
            raise ValueError(f"an identity matrix has rank 2, got shape {list(whole)}")
        row, column = (0, 0) if partition_info is None else partition_info.var_offset
        matrix = self.gain * np.eye(dims[0], dims[1], row - column)
        element_type = self.dtype if dtype is None else as_dtype(dtype)
        return constant_tensor(matrix.astype(element_type.np_dtype))


# -- shorter names ---------------------------------------------------------------------------------

zeros = zeros_initializer
ones = ones_initializer
constant = constant_initializer
random_uniform = random_uniform_initializer
random_normal = random_normal_initializer
truncated_normal = truncated_normal_initializer
identity = identity_initializer
orthogonal = orthogonal_initializer
uniform_unit_scaling = uniform_unit_scaling_initializer
variance_scaling = variance_scaling_initializer
glorot_normal = glorot_normal_initializer
glorot_uniform = glorot_uniform_initializer
he_normal = he_normal_initializer
he_uniform = he_uniform_initializer
lecun_normal = lecun_normal_initializer
lecun_uniform = lecun_uniform_initializer
variables = variable_lists.variables_initializer
global_variables = variable_lists.global_variables_initializer
local_variables = variable_lists.local_variables_initializer
