"""``tf.contrib.cudnn_rnn``: the cells that compute what layers of cuDNN compute, on any device.

Layers of cuDNN save their variables in the form of these cells, so that checkpoints of such layers are
restored into a ``MultiRNNCell`` or ``stack_bidirectional_dynamic_rnn`` of them.
"""

from __future__ import annotations

from typing import Any

from actorsession import ops
from actorsession.compat.absent import saying_why
from actorsession.compat.v1.internals.module_paths import add_modules
from actorsession.compat.v1.nn.rnn_cell import GRUCell
from actorsession.namespaces import nn
from actorsession.train.layers.recurrent.cells.block import LSTMBlockCell

__all__ = ["CudnnCompatibleGRUCell", "CudnnCompatibleLSTMCell"]


class CudnnCompatibleLSTMCell(LSTMBlockCell):
    """An LSTM as cuDNN has it: nothing is added to the bias of the forget gate.

    Args:
        num_units: the number of columns of a state.
        reuse: whether its variables are shared.
    """

    def __init__(self, num_units: int, reuse: Any = None) -> None:
        super().__init__(num_units, forget_bias=0, reuse=reuse, name="cudnn_compatible_lstm_cell")


class CudnnCompatibleGRUCell(GRUCell):
    """A gated recurrent unit as cuDNN has it: the reset gate follows the product with the state.

    Args:
        num_units: the number of columns of a state.
        reuse: whether its variables are shared.
        kernel_initializer: the initialiser of its matrices.
    """

    def __init__(self, num_units: int, reuse: Any = None, kernel_initializer: Any = None) -> None:
        super().__init__(
            num_units, reuse=reuse, kernel_initializer=kernel_initializer, name="cudnn_compatible_gru_cell"
        )

    def build(self, inputs_shape: Any) -> None:
        """Create the kernels and biases of gates and candidate for inputs of a shape."""
        columns, units = self._depth(inputs_shape), self._num_units
        ones, zeros = ops.constant_initializer(1.0), ops.zeros_initializer()
        self._gate_kernel, self._gate_bias = self._add_layer("gates", columns + units, 2, ones)
        self._of_inputs = self._add_layer("candidate/input_projection", columns, 1, zeros)
        self._of_state = self._add_layer("candidate/hidden_projection", units, 1, zeros)
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step and return its output and next state; see ``RNNCell``."""
        gates = ops.matmul(ops.concat([inputs, state], 1), self._gate_kernel)
        reset, update = ops.split(ops.sigmoid(nn.bias_add(gates, self._gate_bias)), num_or_size_splits=2, axis=1)
        seen, kept = (
            nn.bias_add(ops.matmul(value, kernel), bias)
            for value, (kernel, bias) in ((inputs, self._of_inputs), (state, self._of_state))
        )
        new = self._activation(seen + reset * kept)
        after = (1 - update) * new + update * state
        return after, after


def _nothing(name: str) -> Any:
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__getattr__ = saying_why(_nothing, "contrib.cudnn_rnn")

add_modules(__name__)
