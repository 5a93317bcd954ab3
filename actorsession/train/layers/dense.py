"""``Dense``, the layer in which every output depends on every input of the last axis."""

from __future__ import annotations

from typing import Any, Unpack

from actorsession import ops
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.train.layers.arguments import checked_count
from actorsession.train.layers.kernels import KernelLayer, KernelSettings
from actorsession.train.layers.layer import known_sizes

__all__ = ["Dense"]


class Dense(KernelLayer):
    """A dense layer: ``activation(inputs @ kernel + bias)`` over the last axis of its inputs.

    Inputs are ``[batch, ..., columns]`` and outputs ``[batch, ..., units]``. The weights are
    ``kernel [columns, units]`` and ``bias [units]``.

    Args:
        units: the number of columns of the outputs.
        settings: see ``KernelLayer``.

    Raises:
        ValueError: for a number of units below 1; in the first call for inputs of a rank below 2, or whose
            last axis has an unknown size.
        TypeError: for a number of units that is no whole number; in the first call for inputs of a dtype that
            is neither floating nor complex.
    """

    def __init__(self, units: int, **settings: Unpack[KernelSettings]) -> None:
        super().__init__(**settings)
        self.units = checked_count("units", units)

    def _check_inputs(self, inputs: Tensor) -> None:
        rank = TensorShape(inputs.shape).rank
        if rank is not None and rank < 2:
            raise ValueError(
                f"Dense {self.name!r} takes inputs of rank 2 or more, [batch, ..., columns]; got shape {inputs.shape}"
            )

    def build(self, shape: Any) -> None:
        """Create the kernel and the bias for inputs of a shape."""
        (columns,) = known_sizes(self, shape, [-1])
        self.kernel = self._add_kernel([columns, self.units], self.units)

    def call(self, inputs: Tensor) -> Any:
        """Build the outputs."""
        rank = TensorShape(inputs.shape).rank
        inputs = ops.cast(inputs, self.dtype)
        if rank == 2:
            return self._activated(ops.matmul(inputs, self.kernel))
        if rank is None:
            raise ValueError(f"Dense {self.name!r} takes inputs of a known rank, got {inputs!r}")
        outputs = ops.tensordot(inputs, self.kernel, [[rank - 1], [0]])
        outputs.set_shape([*(inputs.shape.sizes or ())[:-1], self.units])
        return self._activated(outputs)
