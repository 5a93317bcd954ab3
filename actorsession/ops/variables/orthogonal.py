"""The orthogonal initialiser: random matrices with orthonormal rows or columns.

Orthonormal vectors are made of normally distributed ones, one after another, which makes every rotation
equally likely. The components along the previous vectors are subtracted twice: one subtraction leaves errors
that grow with the number of vectors, the second does not (W. Kahan; B. Parlett, The Symmetric Eigenvalue
Problem, 6.9). As a loop in the graph it needs only matrix products, wherever the variable is placed.
"""

from __future__ import annotations

import math
from typing import Any

from actorsession.graph.dtypes import DType, float32, float64
from actorsession.graph.operation import Tensor
from actorsession.ops.arrays import fills
from actorsession.ops.arrays.gather import gather, one_hot
from actorsession.ops.arrays.layout import transpose
from actorsession.ops.arrays.shape import reshape
from actorsession.ops.build import constant
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.elementwise import rsqrt, square
from actorsession.ops.flow.control_flow import while_loop
from actorsession.ops.linear.matmul import matmul
from actorsession.ops.randomness import numbers
from actorsession.ops.reductions.reduction import reduce_sum
from actorsession.ops.variables.initializer import FloatingInitializer

__all__ = ["orthogonal_initializer"]


class orthogonal_initializer(FloatingInitializer):
    """A random orthogonal matrix; for shapes of more axes the last one is the columns.

    With more rows than columns the columns are orthonormal, otherwise the rows.

    Args:
        gain: factor of the matrix.
        seed: seed of the sequence; see ``set_random_seed``.
        dtype: element type, unless the call gives one.
    """

    _settings = ("gain", "seed")

    def __init__(self, gain: float = 1.0, seed: int | None = None, dtype: Any = float32) -> None:
        super().__init__(dtype)
        self.gain = gain
        self.seed = seed

    def build(self, shape: tuple[int, ...], dtype: DType) -> Tensor:
        """Build the value.

        Raises:
            ValueError: for a shape of fewer than two axes.
        """
        if len(shape) < 2:
            raise ValueError(f"an orthogonal matrix has rank 2 or more, got shape {list(shape)}")
        rows, columns = math.prod(shape[:-1]), shape[-1]
        wide = dtype if dtype is float64 else float32
        count, length = min(rows, columns), max(rows, columns)
        drawn = numbers.random_normal((count, length), dtype=wide, seed=self.seed)
        orthonormal = _orthonormal(drawn, count)
        if rows > columns:
            orthonormal = transpose(orthonormal)
        scaled: Tensor = reshape(orthonormal, shape) * self.gain
        return cast(scaled, dtype)


def _orthonormal(vectors: Tensor, count: int) -> Tensor:
    """Return orthonormal rows with the span of the rows of ``vectors``."""

    def free(row: Tensor, done: Tensor) -> Tensor:
        """Return a row without its components along finished rows; the other rows are still 0."""
        shares = matmul(row, done, transpose_b=True)
        return row - matmul(shares, done)

    def body(number: Tensor, done: Tensor) -> tuple[Tensor, Tensor]:
        row = reshape(gather(vectors, number), [1, -1])
        row = free(free(row, done), done)
        row = row * rsqrt(reduce_sum(square(row)))
        place = reshape(one_hot(number, count, dtype=done.dtype), [-1, 1])
        return number + 1, done + place * row

    start = [constant(0), fills.zeros(vectors.shape.as_tuple(), vectors.dtype)]
    _, done = while_loop(lambda number, done: number < count, body, start)
    assert isinstance(done, Tensor)
    return done
