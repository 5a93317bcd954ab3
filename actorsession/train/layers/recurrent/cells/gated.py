"""Cells of ``tf.contrib.rnn`` with normalised or fewer gates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actorsession import ops
from actorsession.ops.neural.biases import bias_add
from actorsession.ops.neural.dropout import dropout
from actorsession.ops.neural.normalisation import batch_normalization, moments
from actorsession.train.layers.names import activation_of
from actorsession.train.layers.recurrent.cells.cell import RNNCell
from actorsession.train.layers.recurrent.cells.linear import _linear
from actorsession.train.layers.recurrent.cells.lstm import LSTMStateTuple

__all__ = ["LayerNormBasicLSTMCell", "UGRNNCell"]


class LayerNormBasicLSTMCell(RNNCell):
    """An LSTM with normalised gates and memory, and dropout of what enters the memory.

    Args:
        num_units: the number of columns of a state.
        forget_bias: added to the forget gate.
        input_size: without effect.
        activation: the activation.
        layer_norm: whether gates and memory are normalised.
        norm_gain: the first factor of a normalisation.
        norm_shift: the first offset of a normalisation.
        dropout_keep_prob: the probability of a number to enter the memory: a float or scalar tensor.
        dropout_prob_seed: the seed of the choice.
        reuse: whether its variables are shared.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        input_size: Any = None,
        activation: Callable[..., Any] = ops.tanh,
        layer_norm: bool = True,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        dropout_keep_prob: Any = 1.0,
        dropout_prob_seed: int | None = None,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._forget_bias = num_units, forget_bias
        self._activation, self._normalizes = activation_of(activation), layer_norm
        self._gain, self._shift = norm_gain, norm_shift
        self._kept_share, self._seed = dropout_keep_prob, dropout_prob_seed

    @property
    def state_size(self) -> LSTMStateTuple:
        """The number of columns of memory and output."""
        return LSTMStateTuple(self._num_units, self._num_units)

    @property
    def output_size(self) -> int:
        """The number of columns of an output."""
        return self._num_units

    def _norm(self, value: Any, scope: str) -> Any:
        width = [self._num_units]
        with ops.variable_scope(scope):
            gain = ops.constant_initializer(self._gain)
            gamma = ops.get_variable("gamma", width, value.dtype, gain)
            shift = ops.constant_initializer(self._shift)
            beta = ops.get_variable("beta", width, value.dtype, shift)
        mean, variance = moments(value, [1], keepdims=True)
        return batch_normalization(value, mean, variance, beta, gamma, 1e-12)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step."""
        memory, last = state
        gates = _linear([inputs, last], 4 * self._num_units, False)
        if not self._normalizes:
            # As in TensorFlow, it begins as the scope says and not as zeros.
            bias = ops.get_variable("bias", [4 * self._num_units], gates.dtype)
            gates = bias_add(gates, bias)
        entering, new, forget, leaving = ops.split(gates, 4, 1)
        if self._normalizes:
            entering, new = self._norm(entering, "input"), self._norm(new, "transform")
            forget, leaving = self._norm(forget, "forget"), self._norm(leaving, "output")
        drawn = self._activation(new)
        if not isinstance(self._kept_share, float) or self._kept_share < 1:
            drawn = dropout(drawn, rate=1 - self._kept_share, seed=self._seed)
        kept = memory * ops.sigmoid(forget + self._forget_bias) + ops.sigmoid(entering) * drawn
        if self._normalizes:
            kept = self._norm(kept, "state")
        output = self._activation(kept) * ops.sigmoid(leaving)
        return output, LSTMStateTuple(kept, output)


class UGRNNCell(RNNCell):
    """A cell with one gate between its old state and a new one (Collins and others, 2016).

    Args:
        num_units: the number of columns of a state.
        initializer: the initialiser of its variables.
        forget_bias: added to the gate.
        activation: the activation.
        reuse: whether its variables are shared.
    """

    def __init__(
        self,
        num_units: int,
        initializer: Any = None,
        forget_bias: float = 1.0,
        activation: Callable[..., Any] = ops.tanh,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._forget_bias = num_units, forget_bias
        self._initializer, self._activation = initializer, activation_of(activation)

    @property
    def state_size(self) -> int:
        """The number of columns of a state."""
        return self._num_units

    @property
    def output_size(self) -> int:
        """The number of columns of an output."""
        return self._num_units

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step."""
        with ops.variable_scope(ops.get_variable_scope(), initializer=self._initializer):
            both = _linear([inputs, state], 2 * self._num_units, True)
        gate, new = ops.split(both, 2, 1)
        kept = ops.sigmoid(gate + self._forget_bias)
        output = kept * state + (1.0 - kept) * self._activation(new)
        return output, output
