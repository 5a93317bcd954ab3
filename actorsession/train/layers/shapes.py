"""``Flatten``, which makes a vector of each example."""

from __future__ import annotations

from typing import Any, Unpack

from actorsession import ops
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.train.layers.kernels import data_layout
from actorsession.train.layers.layer import Layer, LayerSettings

__all__ = ["Flatten"]


class Flatten(Layer):
    """Join all axes but the first: ``[batch, ...]`` becomes ``[batch, columns]``.

    Args:
        data_format: ``channels_last``, or ``channels_first`` for inputs whose axis 1 becomes the last one
            first, so that both formats have the same outputs.
        settings: see ``Layer``.

    Raises:
        ValueError: for another format, or inputs without axes or of unknown rank.
    """

    def __init__(self, *, data_format: str = "channels_last", **settings: Unpack[LayerSettings]) -> None:
        super().__init__(**settings)
        self._channels_first = data_layout(data_format, 1) == "NCW"

    def call(self, inputs: Tensor) -> Any:
        """Build the outputs."""
        sizes = TensorShape(inputs.shape).sizes
        if not sizes:
            raise ValueError(f"Flatten {self.name!r} takes inputs of a known rank of 1 or more, got {inputs!r}")
        if self._channels_first and len(sizes) > 2:
            inputs = ops.transpose(inputs, [0, *range(2, len(sizes)), 1])
        columns: int | None = 1
        for size in sizes[1:]:
            columns = None if columns is None or size is None else columns * size
        batch = ops.shape(inputs)[0] if sizes[0] is None else sizes[0]
        # A batch without examples determines no other size, so -1 stands for the columns only if it must.
        outputs = ops.reshape(inputs, [batch, -1 if columns is None else columns])
        outputs.set_shape([sizes[0], columns])
        return outputs
