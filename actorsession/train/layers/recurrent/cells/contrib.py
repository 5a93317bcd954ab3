"""Cells of ``tf.contrib.rnn`` beyond those of ``tf.nn.rnn_cell``, and ``_linear``, which programs use."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from actorsession import ops
from actorsession.graph.dtypes import float32
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.ops.convolutions.operations import conv2d, convolution
from actorsession.ops.neural.biases import bias_add
from actorsession.ops.neural.dropout import dropout
from actorsession.ops.neural.embedding import embedding_lookup
from actorsession.ops.neural.normalisation import batch_normalization, moments
from actorsession.ops.neural.softmax import softmax
from actorsession.train.layers import nests
from actorsession.train.layers.names import activation_of
from actorsession.train.layers.recurrent.cells.cell import RNNCell, check_cell
from actorsession.train.layers.recurrent.cells.fused import FusedRNNCell
from actorsession.train.layers.recurrent.cells.lstm import LSTMStateTuple

__all__ = [
    "AttentionCellWrapper", "CompiledWrapper", "Conv1DLSTMCell", "Conv2DLSTMCell", "Conv3DLSTMCell",
    "ConvLSTMCell", "EmbeddingWrapper", "HighwayWrapper", "InputProjectionWrapper",
    "LayerNormBasicLSTMCell", "OutputProjectionWrapper", "TimeReversedFusedRNN", "UGRNNCell",
]  # fmt: skip


# -- linear maps -----------------------------------------------------------------------------------


def _linear(
    args: Any,
    output_size: int,
    bias: bool,
    bias_initializer: Any = None,
    kernel_initializer: Any = None,
) -> Tensor:
    """Return a linear map of matrices side by side, with variables ``kernel`` and ``bias`` of the scope.

    Args:
        args: a matrix, or a list of them.
        output_size: the number of columns of the result.
        bias: whether a bias is added.
        bias_initializer: the initialiser of the bias; zeros if left out.
        kernel_initializer: the initialiser of the kernel; that of the scope if left out.

    Raises:
        ValueError: for no matrix, or one of another rank or unknown number of columns.
    """
    matrices = list(args) if isinstance(args, (list, tuple)) else [args]
    if not matrices:
        raise ValueError("`args` must be specified")
    columns = 0
    for matrix in matrices:
        sizes = matrix.shape.sizes
        if sizes is None or len(sizes) != 2:
            raise ValueError(f"linear is expecting 2D arguments: {[m.shape for m in matrices]}")
        if sizes[1] is None:
            raise ValueError(
                f"linear expects shape[1] to be provided for shape {matrix.shape}, but saw None"
            )
        columns += sizes[1]
    dtype = matrices[0].dtype
    kernel = ops.get_variable("kernel", [columns, output_size], dtype, kernel_initializer)
    joined = matrices[0] if len(matrices) == 1 else ops.concat(matrices, 1)
    product: Tensor = ops.matmul(joined, kernel)
    if not bias:
        return product
    start = bias_initializer or ops.zeros_initializer()
    made: Tensor = bias_add(product, ops.get_variable("bias", [output_size], dtype, start))
    return made


class _Linear:
    """A linear map like ``_linear`` whose variables are made once.

    Args:
        args: matrices like those that it is called with.
        output_size: the number of columns of the result.
        build_bias: whether a bias is added.
        bias_initializer: the initialiser of the bias; zeros if left out.
        kernel_initializer: the initialiser of the kernel; that of the scope if left out.
    """

    def __init__(
        self,
        args: Any,
        output_size: int,
        build_bias: bool,
        bias_initializer: Any = None,
        kernel_initializer: Any = None,
    ) -> None:
        matrices = list(args) if isinstance(args, (list, tuple)) else [args]
        rows = sum(int(matrix.shape[1]) for matrix in matrices)
        dtype = matrices[0].dtype
        self._weights = ops.get_variable("kernel", [rows, output_size], dtype, kernel_initializer)
        self._bias = None
        if build_bias:
            start = bias_initializer or ops.zeros_initializer()
            self._bias = ops.get_variable("bias", [output_size], dtype, start)

    def __call__(self, args: Any) -> Tensor:
        """Return the map of matrices side by side."""
        matrices = list(args) if isinstance(args, (list, tuple)) else [args]
        joined = matrices[0] if len(matrices) == 1 else ops.concat(matrices, 1)
        product: Tensor = ops.matmul(joined, self._weights)
        made: Tensor = product if self._bias is None else bias_add(product, self._bias)
        return made


# -- sequences in reverse -------------------------------------------------------------------------


class TimeReversedFusedRNN(FusedRNNCell):
    """A fused cell that reads sequences from their ends.

    Args:
        cell: the fused cell.
    """

    def __init__(self, cell: Any) -> None:
        self._cell = cell

    def __call__(
        self,
        inputs: Any,
        initial_state: Any = None,
        dtype: Any = None,
        sequence_length: Any = None,
        scope: Any = None,
    ) -> tuple[Any, Any]:
        """Return the outputs of all steps and the last state; see ``LSTMBlockFusedCell``."""

        def turned(value: Any) -> Any:
            if isinstance(value, list):
                return value[::-1]
            if sequence_length is None:
                return ops.reverse(value, [0])
            return ops.reverse_sequence(value, sequence_length, seq_axis=0, batch_axis=1)

        given = inputs if isinstance(inputs, list) else ops.convert_to_tensor(inputs)
        outputs, state = self._cell(turned(given), initial_state, dtype, sequence_length, scope)
        if isinstance(outputs, list):
            return turned(outputs), state
        return nests.mapped(turned, outputs), state


def CompiledWrapper(cell: Any, compile_stateful: bool = False) -> Any:
    """Return the cell itself: there is no compiler that would take it."""
    return cell


# -- normalised and gated --------------------------------------------------------------------------


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
        made = kept * state + (1.0 - kept) * self._activation(new)
        return made, made


# -- wrappers --------------------------------------------------------------------------------------


class _Around(RNNCell):
    """The common part of cells around another one, whose state is theirs."""

    def __init__(self, cell: Any, reuse: Any = None) -> None:
        super().__init__(_reuse=reuse)
        check_cell("cell", cell)
        self._cell = cell

    @property
    def state_size(self) -> Any:
        """The state of the cell."""
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        """The outputs of the cell."""
        return self._cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return the first state of the cell."""
        return self._cell.zero_state(batch_size, dtype)


class InputProjectionWrapper(_Around):
    """A cell that reads a linear map of its inputs.

    Args:
        cell: the cell.
        num_proj: the number of columns of the map.
        activation: applied to the map; none if left out.
        input_size: without effect.
        reuse: whether its variables are shared.
    """

    def __init__(
        self,
        cell: Any,
        num_proj: int,
        activation: Callable[..., Any] | None = None,
        input_size: Any = None,
        reuse: Any = None,
    ) -> None:
        super().__init__(cell, reuse)
        self._columns, self._activation = num_proj, activation

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step."""
        made = _linear(inputs, self._columns, True)
        read = made if self._activation is None else self._activation(made)
        found: tuple[Any, Any] = self._cell(read, state)
        return found


class OutputProjectionWrapper(_Around):
    """A cell whose outputs are a linear map of those of another one.

    Args:
        cell: the cell.
        output_size: the number of columns of the map.
        activation: applied to the map; none if left out.
        reuse: whether its variables are shared.

    Raises:
        ValueError: for a number of columns below 1.
    """

    def __init__(
        self,
        cell: Any,
        output_size: int,
        activation: Callable[..., Any] | None = None,
        reuse: Any = None,
    ) -> None:
        super().__init__(cell, reuse)
        if output_size < 1:
            raise ValueError(f"Parameter output_size must be > 0: {output_size}.")
        self._columns, self._activation = output_size, activation

    @property
    def output_size(self) -> int:
        """The number of columns of the map."""
        return self._columns

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step."""
        output, after = self._cell(inputs, state)
        made = _linear(output, self._columns, True)
        return (made if self._activation is None else self._activation(made)), after


class EmbeddingWrapper(_Around):
    """A cell that reads the vectors of ids.

    Args:
        cell: the cell.
        embedding_classes: the number of ids.
        embedding_size: the number of columns of a vector.
        initializer: the initialiser of the vectors; uniform up to the root of 3 if the scope has none.
        reuse: whether its variables are shared.

    Raises:
        ValueError: for a number below 1.
    """

    def __init__(
        self,
        cell: Any,
        embedding_classes: int,
        embedding_size: int,
        initializer: Any = None,
        reuse: Any = None,
    ) -> None:
        super().__init__(cell, reuse)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError(
                f"Both embedding_classes and embedding_size must be > 0: {embedding_classes}, "
                f"{embedding_size}."
            )
        self._shape, self._start = [embedding_classes, embedding_size], initializer

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step."""
        start = self._start or ops.get_variable_scope().initializer
        if start is None:
            limit = math.sqrt(3)
            start = ops.random_uniform_initializer(-limit, limit)
        dtype = nests.flatten(state)[0].dtype
        table = ops.get_variable("embedding", self._shape, dtype, start)
        read = embedding_lookup(table, ops.reshape(inputs, [-1]))
        found: tuple[Any, Any] = self._cell(read, state)
        return found


class HighwayWrapper(_Around):
    """A cell with a gate between its inputs and its outputs (Srivastava and others, 2015).

    Args:
        cell: the cell, with as many columns of outputs as of inputs.
        couple_carry_transform_gates: whether one gate is what the other leaves.
        carry_bias_init: the first bias of the gate of the inputs.
    """

    def __init__(
        self, cell: Any, couple_carry_transform_gates: bool = True, carry_bias_init: float = 1.0
    ) -> None:
        super().__init__(cell)
        self._coupled, self._bias = couple_carry_transform_gates, carry_bias_init

    def _gate(self, name: str, inputs: Any, bias: float) -> Any:
        width = int(inputs.shape[-1])
        weights = ops.get_variable(f"{name}_w", [width, width], inputs.dtype)
        start = ops.constant_initializer(bias)
        offset = ops.get_variable(f"{name}_b", [width], inputs.dtype, start)
        return ops.sigmoid(ops.matmul(inputs, weights) + offset)

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        """Build one step; the gates have no scope of their own."""
        outputs, after = self._cell(inputs, state, scope=scope)
        carry = self._gate("carry", inputs, self._bias)
        changed = 1 - carry if self._coupled else self._gate("transform", inputs, -self._bias)
        return inputs * carry + outputs * changed, after


class AttentionCellWrapper(_Around):
    """A cell that looks at the last states of its own.

    Args:
        cell: the cell.
        attn_length: the number of states.
        attn_size: the number of columns of a state; as many as outputs have if left out.
        attn_vec_size: the number of columns in which they are compared; as many if left out.
        input_size: the number of columns that the cell reads; as many as inputs have if left out.
        state_is_tuple: accepted if it is true.
        reuse: whether its variables are shared.

    Raises:
        ValueError: for a number of states below 1, or states that are no tuples.
    """

    def __init__(
        self,
        cell: Any,
        attn_length: int,
        attn_size: int | None = None,
        attn_vec_size: int | None = None,
        input_size: int | None = None,
        state_is_tuple: bool = True,
        reuse: Any = None,
    ) -> None:
        super().__init__(cell, reuse)
        if attn_length <= 0:
            raise ValueError(f"attn_length should be greater than zero, got {attn_length}")
        if not state_is_tuple:
            raise ValueError("states are tuples here; state_is_tuple has to be true")
        self._length, self._input_size = attn_length, input_size
        self._size = attn_size or int(cell.output_size)
        self._vec_size = attn_vec_size or self._size

    @property
    def state_size(self) -> Any:
        """The state of the cell, what was looked at, and the last states."""
        return (self._cell.state_size, self._size, self._size * self._length)

    @property
    def output_size(self) -> int:
        """The number of columns of an output."""
        return self._size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return a state of zeros."""
        return RNNCell.zero_state(self, batch_size, dtype)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step."""
        inner, seen, states = state
        states = ops.reshape(states, [-1, self._length, self._size])
        read = _linear([inputs, seen], self._input_size or int(inputs.shape[1]), True)
        output, after = self._cell(read, inner)
        flat = ops.concat(nests.flatten(after), 1)
        seen, newer = self._attention(flat, states)
        with ops.variable_scope("attn_output_projection"):
            made = _linear([output, seen], self._size, True)
        newer = ops.concat([newer, ops.expand_dims(made, 1)], 1)
        return made, (after, seen, ops.reshape(newer, [-1, self._length * self._size]))

    def _attention(self, query: Any, states: Any) -> tuple[Any, Any]:
        with ops.variable_scope("attention"):
            kernel = ops.get_variable("attn_w", [1, 1, self._size, self._vec_size])
            vector = ops.get_variable("attn_v", [self._vec_size])
            hidden = ops.reshape(states, [-1, self._length, 1, self._size])
            keys = conv2d(hidden, kernel, [1, 1, 1, 1], "SAME")
            asked = ops.reshape(_linear(query, self._vec_size, True), [-1, 1, 1, self._vec_size])
            shares = softmax(ops.reduce_sum(vector * ops.tanh(keys + asked), [2, 3]))
            weighted = ops.reshape(shares, [-1, self._length, 1, 1]) * hidden
            seen = ops.reshape(ops.reduce_sum(weighted, [1, 2]), [-1, self._size])
            return seen, states[:, 1:]


# -- convolutions ----------------------------------------------------------------------------------


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
            made = ops.zeros(ops.stack([batch_size, *shape.as_list()]), dtype)
            made.set_shape([batch_size if isinstance(batch_size, int) else None, *shape.as_list()])
            return made

        return LSTMStateTuple(*map(zeros, self.state_size))

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step."""
        memory, last = state
        joined = ops.concat([inputs, last], -1)
        kernel = ops.get_variable(
            "kernel", [*self._kernel_shape, int(joined.shape[-1]), 4 * self._channels], float32
        )
        gates = convolution(joined, kernel, "SAME")
        if self._use_bias:
            gates = gates + ops.get_variable(
                "biases", [4 * self._channels], float32, ops.zeros_initializer()
            )
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
