"""LSTM cells whose products are convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession import ops
from actorsession.graph.dtypes import float32
from actorsession.graph.shape import TensorShape
from actorsession.ops.convolutions.operations import convolution
from actorsession.train.layers.recurrent.cells.cell import RNNCell
from actorsession.train.layers.recurrent.cells.lstm import LSTMStateTuple

__all__ = ["Conv1DLSTMCell", "Conv2DLSTMCell", "Conv3DLSTMCell", "ConvLSTMCell"]


class ConvLSTMCell(RNNCell):
    """An LSTM whose gates are convolutions (Shi and others, 2015).

    Args:
        conv_ndims: the number of spatial axes, 1 to 3.
        input_shape: the shape of the inputs of one member, channels last.
        output_channels: the number of channels of a state.
        kernel_shape: the size of the kernel.
        use_bias: whether a bias is added.
        skip_connection: whether inputs are joined to outputs.
        forget_bias: added to the forget gate.
        initializers: without effect.
        name: the name of the scope of its variables.

    Raises:
        ValueError: for a shape of another rank.
    """

    def __init__(
        self,
        conv_ndims: int,
        input_shape: Sequence[int],
        output_channels: int,
        kernel_shape: Sequence[int],
        use_bias: bool = True,
        skip_connection: bool = False,
        forget_bias: float = 1.0,
        initializers: Any = None,
        name: str = "conv_lstm_cell",
    ) -> None:
        super().__init__(name=name)
        if conv_ndims != len(input_shape) - 1:
            raise ValueError(f"Invalid input_shape {input_shape} for conv_ndims={conv_ndims}.")
        self._shape, self._channels = list(input_shape), output_channels
        self._kernel_shape, self._use_bias = list(kernel_shape), use_bias
        self._skips, self._forget_bias = skip_connection, forget_bias

    @property
    def state_size(self) -> LSTMStateTuple:
        """The shapes of memory and output."""
        each = TensorShape([*self._shape[:-1], self._channels])
        return LSTMStateTuple(each, each)

    @property
    def output_size(self) -> TensorShape:
        """The shape of an output."""
        more = self._shape[-1] if self._skips else 0
        return TensorShape([*self._shape[:-1], self._channels + more])

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return a state of zeros."""

        def zeros(shape: TensorShape) -> Any:
            state = ops.zeros(ops.stack([batch_size, *shape.as_list()]), dtype)
            state.set_shape([batch_size if isinstance(batch_size, int) else None, *shape.as_list()])
            return state

        return LSTMStateTuple(*map(zeros, self.state_size))

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step."""
        memory, last = state
        joined = ops.concat([inputs, last], -1)
        kernel = ops.get_variable("kernel", [*self._kernel_shape, int(joined.shape[-1]), 4 * self._channels], float32)
        gates = convolution(joined, kernel, "SAME")
        if self._use_bias:
            gates = gates + ops.get_variable("biases", [4 * self._channels], float32, ops.zeros_initializer())
        entering, new, forget, leaving = ops.split(gates, 4, -1)
        kept = ops.sigmoid(forget + self._forget_bias) * memory
        kept = kept + ops.sigmoid(entering) * ops.tanh(new)
        output = ops.tanh(kept) * ops.sigmoid(leaving)
        if self._skips:
            return ops.concat([output, inputs], -1), LSTMStateTuple(kept, output)
        return output, LSTMStateTuple(kept, output)


class Conv1DLSTMCell(ConvLSTMCell):
    """A ``ConvLSTMCell`` over sequences."""

    def __init__(self, name: str = "conv_1d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=1, name=name, **kwargs)


class Conv2DLSTMCell(ConvLSTMCell):
    """A ``ConvLSTMCell`` over images."""

    def __init__(self, name: str = "conv_2d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=2, name=name, **kwargs)


class Conv3DLSTMCell(ConvLSTMCell):
    """A ``ConvLSTMCell`` over volumes."""

    def __init__(self, name: str = "conv_3d_lstm_cell", **kwargs: Any) -> None:
        super().__init__(conv_ndims=3, name=name, **kwargs)
