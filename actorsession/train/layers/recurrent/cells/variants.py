"""Cells of ``tf.contrib.rnn`` that fewer programs use: found by search, phased, unit by unit, in groups."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from actorsession import ops
from actorsession.graph.dtypes import float32
from actorsession.graph.graph import control_dependencies
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.ops.neural.activations import relu
from actorsession.ops.neural.biases import bias_add
from actorsession.ops.neural.normalisation import batch_normalization, moments
from actorsession.ops.reductions.spread import l2_normalize
from actorsession.train.layers.names import initializer_of
from actorsession.train.layers.recurrent.cells.basic import UnitsCell
from actorsession.train.layers.recurrent.cells.cell import LayerRNNCell, RNNCell
from actorsession.train.layers.recurrent.cells.linear import _linear
from actorsession.train.layers.recurrent.cells.lstm import LSTMStateTuple

__all__ = [
    "CoupledInputForgetGateLSTMCell",
    "GLSTMCell",
    "IndRNNCell",
    "IndyGRUCell",
    "IndyLSTMCell",
    "IntersectionRNNCell",
    "NASCell",
    "PhasedLSTMCell",
    "SRUCell",
    "WeightNormLSTMCell",
    "norm",
    "sharded",
]


# -- what they share -------------------------------------------------------------------------------


def sharded(name: str, shape: list[int], dtype: Any, shards: int) -> Any:
    """Return a matrix that consists of variables with some of its rows each.

    Args:
        name: the beginning of their names.
        shape: the shape of the matrix.
        dtype: the dtype.
        shards: how many there are.

    Raises:
        ValueError: if there are more than rows.
    """
    if shards > shape[0]:
        raise ValueError(f"Too many shards: shape={shape}, num_shards={shards}")
    whole, more = divmod(shape[0], shards)
    parts = [ops.get_variable(f"{name}_{i}", [whole + (i < more), *shape[1:]], dtype) for i in range(shards)]
    return parts[0] if shards == 1 else ops.concat(parts, 0)


def norm(gain: float, shift: float, value: Any, scope: str) -> Tensor:
    """Return each row of a matrix normalised, with the variables ``gamma`` and ``beta`` of a scope."""
    width = [value.shape[-1]]
    with ops.variable_scope(scope):
        gamma = ops.get_variable("gamma", width, float32, ops.constant_initializer(gain))
        beta = ops.get_variable("beta", width, float32, ops.constant_initializer(shift))
    mean, variance = moments(value, [1], keepdims=True)
    return batch_normalization(value, mean, variance, beta, gamma, 1e-12)


def _clipped(value: Any, most: float | None) -> Any:
    return value if most is None else ops.clip_by_value(value, -most, most)


class _Memory(RNNCell):
    """A cell whose state is a memory and an output, which may be projected."""

    def _sizes(self, num_units: int, num_proj: int | None) -> None:
        self._num_units, self._num_proj = num_units, num_proj

    @property
    def state_size(self) -> Any:
        """The number of columns of memory and output."""
        return LSTMStateTuple(self._num_units, self.output_size)

    @property
    def output_size(self) -> int:
        """The number of columns of an output."""
        return self._num_proj or self._num_units


def _columns(inputs: Any) -> int:
    """Return the number of columns of inputs."""
    columns: int | None = TensorShape(getattr(inputs, "shape", inputs))[-1]
    if columns is None:
        raise ValueError("Could not infer input size from inputs.get_shape()[-1]")
    return int(columns)


# -- cells -----------------------------------------------------------------------------------------


class CoupledInputForgetGateLSTMCell(_Memory):
    """An LSTM that forgets as much as it learns (Greff and others, 2015).

    Args:
        num_units: the number of columns of a memory.
        use_peepholes: whether gates see the memory.
        initializer: without effect, as in TensorFlow.
        num_proj: the number of columns of outputs; that of the memory if left out.
        proj_clip: the greatest size of an output's numbers.
        num_unit_shards: how many variables the kernel consists of.
        num_proj_shards: the same of the projection.
        forget_bias: added to the gate.
        state_is_tuple: whether a state is a tuple; otherwise its parts are side by side.
        activation: the activation.
        reuse: whether its variables are shared.
        layer_norm: whether gates and memory are normalised.
        norm_gain: the first factor of a normalisation.
        norm_shift: the first offset of a normalisation.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int = 1,
        num_proj_shards: int = 1,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Callable[..., Any] = ops.tanh,
        reuse: Any = None,
        layer_norm: bool = False,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._sizes(num_units, num_proj)
        self._peeps, self._clip, self._bias = use_peepholes, proj_clip, forget_bias
        self._shards, self._proj_shards = num_unit_shards, num_proj_shards
        self._as_tuple, self._activation = state_is_tuple, activation
        self._normalizes, self._gain, self._shift = layer_norm, norm_gain, norm_shift

    @property
    def state_size(self) -> Any:
        """The number of columns of memory and output."""
        return super().state_size if self._as_tuple else self._num_units + self.output_size

    def _normed(self, value: Any, scope: str) -> Any:
        return norm(self._gain, self._shift, value, scope) if self._normalizes else value

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step."""
        units = self._num_units
        memory, last = state if self._as_tuple else (state[:, :units], state[:, units:])
        shape = [_columns(inputs) + self.output_size, 3 * units]
        kernel = sharded("W", shape, inputs.dtype, self._shards)
        bias = ops.get_variable("B", [3 * units], inputs.dtype, ops.zeros_initializer())
        gates = ops.matmul(ops.concat([inputs, last], 1), kernel)
        if not self._normalizes:
            gates = bias_add(gates, bias)
        new, forget, leaving = ops.split(gates, 3, 1)
        new, forget = self._normed(new, "transform"), self._normed(forget, "forget")
        leaving = self._normed(leaving, "output")
        if self._peeps:
            of_forget = ops.get_variable("W_F_diag", [units], inputs.dtype)
            of_output = ops.get_variable("W_O_diag", [units], inputs.dtype)
            forget = forget + of_forget * memory
        kept = ops.sigmoid(forget + self._bias)
        memory = self._normed(kept * memory + (1 - kept) * self._activation(new), "state")
        if self._peeps:
            leaving = leaving + of_output * memory
        output = ops.sigmoid(leaving) * self._activation(memory)
        if self._num_proj is not None:
            shape = [units, self._num_proj]
            output = ops.matmul(output, sharded("W_P", shape, inputs.dtype, self._proj_shards))
            output = _clipped(output, self._clip)
        after = LSTMStateTuple(memory, output) if self._as_tuple else ops.concat([memory, output], 1)
        return output, after


class NASCell(LayerRNNCell):
    """The cell that a search over architectures found (Zoph and Le, 2016).

    Args:
        num_units: the number of columns of a memory.
        num_proj: the number of columns of outputs; that of the memory if left out.
        use_bias: whether a bias is added.
        reuse: whether its variables are shared.
        kwargs: ``name`` and ``dtype``, as for all cells.
    """

    def __init__(
        self, num_units: int, num_proj: int | None = None, use_bias: bool = False, reuse: Any = None, **kwargs: Any
    ) -> None:
        super().__init__(_reuse=reuse, **kwargs)
        self._num_units, self._num_proj, self._use_bias = num_units, num_proj, use_bias

    @property
    def state_size(self) -> LSTMStateTuple:
        """The number of columns of memory and output."""
        return LSTMStateTuple(self._num_units, self.output_size)

    @property
    def output_size(self) -> int:
        """The number of columns of an output."""
        return self._num_proj or self._num_units

    def build(self, inputs_shape: Any) -> None:
        """Create the weights for inputs of a shape."""
        wide = 8 * self._num_units
        self.recurrent_kernel = self.add_variable("recurrent_kernel", [self.output_size, wide])
        self.kernel = self.add_variable("kernel", [_columns(inputs_shape), wide])
        if self._use_bias:
            self.bias = self.add_variable("bias", [wide], initializer=ops.zeros_initializer())
        if self._num_proj is not None:
            shape = [self._num_units, self._num_proj]
            self.projection_weights = self.add_variable("projection_weights", shape)
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step."""
        memory, last = state
        recurrent = ops.matmul(last, self.recurrent_kernel)
        if self._use_bias:
            recurrent = bias_add(recurrent, self.bias)
        a = ops.split(ops.matmul(inputs, self.kernel), 8, 1)
        b = ops.split(recurrent, 8, 1)
        sigmoid, tanh = ops.sigmoid, ops.tanh
        first = tanh(sigmoid(a[0] + b[0]) * relu(a[1] + b[1]))
        second = tanh(sigmoid(a[2] + b[2]) + relu(a[3] * b[3]))
        third = tanh(tanh(a[4] + b[4]) * sigmoid(a[5] + b[5]))
        fourth = sigmoid(tanh(a[6] + b[6]) + sigmoid(a[7] + b[7]))
        memory = tanh(first + memory) * second
        output = tanh(memory * tanh(third + fourth))
        if self._num_proj is not None:
            output = ops.matmul(output, self.projection_weights)
        return output, LSTMStateTuple(memory, output)


class IntersectionRNNCell(RNNCell):
    """A cell with a gate for its state and one for its output (Collins and others, 2016).

    Args:
        num_units: the number of columns of a state and an output.
        num_in_proj: the number of columns of projected inputs, which must be ``num_units``, if they have
            another.
        initializer: the initialiser of its variables.
        forget_bias: added to both gates.
        y_activation: the activation of outputs.
        reuse: whether its variables are shared.
    """

    def __init__(
        self,
        num_units: int,
        num_in_proj: int | None = None,
        initializer: Any = None,
        forget_bias: float = 1.0,
        y_activation: Callable[..., Any] = relu,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._projects = num_units, num_in_proj
        self._initializer, self._bias, self._of_output = initializer, forget_bias, y_activation

    @property
    def state_size(self) -> int:
        """The number of columns of a state."""
        return self._num_units

    output_size = state_size

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step."""
        with ops.variable_scope(ops.get_variable_scope(), initializer=self._initializer):
            if _columns(inputs) != self._num_units:
                if not self._projects:
                    raise ValueError(
                        "Must have input size == output size for Intersection RNN. To fix, num_in_proj "
                        "should be set to num_units at cell init."
                    )
                with ops.variable_scope("in_projection"):
                    inputs = _linear(inputs, self._num_units, True)
            all_of_it = _linear([inputs, state], 4 * self._num_units, True)
        gate, new, gate_of_output, output = ops.split(all_of_it, 4, 1)
        kept, passed = ops.sigmoid(gate + self._bias), ops.sigmoid(gate_of_output + self._bias)
        state = kept * state + (1.0 - kept) * ops.tanh(new)
        return passed * inputs + (1.0 - passed) * self._of_output(output), state


class PhasedLSTMCell(_Memory):
    """An LSTM whose units are open a part of a period of time only (Neil and others, 2016).

    Its inputs are a pair of times ``[batch, 1]`` and values.

    Args:
        num_units: the number of columns of a memory.
        use_peepholes: whether gates see the memory.
        leak: how much passes while a unit is closed.
        ratio_on: the share of a period in which a unit is open.
        trainable_ratio_on: whether that is trained.
        period_init_min: the least first period.
        period_init_max: the greatest first period.
        reuse: whether its variables are shared.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        leak: float = 0.001,
        ratio_on: float = 0.1,
        trainable_ratio_on: bool = True,
        period_init_min: float = 1.0,
        period_init_max: float = 1000.0,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._sizes(num_units, None)
        self._peeps, self._leak = use_peepholes, leak
        self._ratio, self._trains_ratio = ratio_on, trainable_ratio_on
        self._least, self._most = math.log(period_init_min), math.log(period_init_max)

    def _first_period(self, shape: Any, dtype: Any = float32, **_: Any) -> Any:
        return ops.exp(ops.random_uniform(shape, self._least, self._most, dtype))

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step."""
        memory, last = state
        time, value = inputs
        width = [self._num_units]
        with ops.variable_scope("mask_gates"):
            seen = [value, last, *([memory] if self._peeps else [])]
            gates = ops.sigmoid(_linear(seen, 2 * self._num_units, True))
        entering, forget = ops.split(gates, 2, 1)
        with ops.variable_scope("new_input"):
            new = ops.tanh(_linear([value, last], self._num_units, True))
        new_memory = memory * forget + entering * new
        with ops.variable_scope("output_gate"):
            seen = [value, last, *([new_memory] if self._peeps else [])]
            leaving = ops.sigmoid(_linear(seen, self._num_units, True))
        output = ops.tanh(new_memory) * leaving
        period = ops.get_variable("period", width, float32, self._first_period)
        first_phase: Any = lambda shape, dtype=float32, **_: (  # noqa: E731
            ops.random_uniform(shape, 0.0, 1.0, dtype) * period.initial_value
        )
        phase = ops.get_variable("phase", width, float32, first_phase)
        ratio = ops.get_variable(
            "ratio_on", width, float32, ops.constant_initializer(self._ratio), trainable=self._trains_ratio
        )
        shifted, whole = time - ops.cast(phase, time.dtype), ops.cast(period, time.dtype)
        # The remainder has the derivative of what is divided.
        rest = ops.stop_gradient(ops.floormod(shifted, whole) - shifted) + shifted
        place = ops.cast(rest / whole, float32)
        rising = 2 * place / ratio
        share = ops.where(place < ratio + ops.zeros_like(place), 2 - rising, self._leak * place)
        share = ops.where(place < 0.5 * ratio + ops.zeros_like(place), rising, share)
        memory = share * new_memory + (1 - share) * memory
        output = share * output + (1 - share) * last
        return output, LSTMStateTuple(memory, output)


class _Plain(UnitsCell):
    """A cell of units with a kernel for inputs, and one number for the state of each unit."""

    def _make(
        self,
        shape: Any,
        count: int,
        prefix: str = "",
        names: tuple[str, str] = ("kernel_w", "kernel_u"),
        kernel: Any = None,
        bias: Any = None,
    ) -> tuple[Any, Any, Any]:
        columns, within = count * self._num_units, ops.random_uniform_initializer(-1, 1)
        return (
            self.add_variable(prefix + names[0], [self._depth(shape), columns], initializer=kernel),
            self.add_variable(prefix + names[1], [1, columns], initializer=within),
            self.add_variable(f"{prefix}bias", [columns], initializer=bias or ops.zeros_initializer()),
        )


class SRUCell(UnitsCell):
    """The simple recurrent unit (Lei and others, 2017).

    Args:
        num_units: the number of columns of a state.
        activation: a function, or the name of one; ``tanh`` if omitted.
        reuse: whether its variables are shared.
        name: the name of its variable scope.
        kwargs: see ``RNNCell``.
    """

    def __init__(
        self, num_units: int, activation: Any = None, reuse: Any = None, name: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(num_units, activation, reuse, name, **{"dtype": None, **kwargs})

    def build(self, inputs_shape: Any) -> None:
        """Create the kernel and the bias for inputs of a shape."""
        shape = [self._depth(inputs_shape), 4 * self._num_units]
        self._kernel = self.add_variable("kernel", shape)
        zeros = ops.zeros_initializer()
        self._bias = self.add_variable("bias", [2 * self._num_units], initializer=zeros)
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step."""
        new, forget, reset, passed = ops.split(ops.matmul(inputs, self._kernel), 4, 1)
        gates = bias_add(ops.concat([forget, reset], 1), self._bias)
        forget, reset = ops.split(ops.sigmoid(gates), 2, 1)
        state = forget * state + (1.0 - forget) * new
        return reset * self._activation(state) + (1.0 - reset) * passed, state


class IndRNNCell(_Plain):
    """A cell whose units see no other unit's state (Li and others, 2018).

    Args:
        num_units: the number of columns of a state.
        activation: a function, or the name of one; ``tanh`` if omitted.
        reuse: whether its variables are shared.
        name: the name of its variable scope.
        dtype: the dtype of its variables.
    """

    def __init__(
        self, num_units: int, activation: Any = None, reuse: Any = None, name: str | None = None, dtype: Any = None
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype)

    def build(self, inputs_shape: Any) -> None:
        """Create the weights for inputs of a shape."""
        self._weights = self._make(inputs_shape, 1)
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step."""
        kernel, own, bias = self._weights
        output = self._activation(bias_add(ops.matmul(inputs, kernel) + state * own, bias))
        return output, output


class _Independent(_Plain):
    """The common part of those with gates."""

    def __init__(
        self,
        num_units: int,
        activation: Any,
        reuse: Any,
        kernel_initializer: Any,
        bias_initializer: Any,
        name: str | None,
        dtype: Any,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype)
        self._of_kernel = initializer_of(kernel_initializer)
        self._of_bias = initializer_of(bias_initializer)


class IndyGRUCell(_Independent):
    """A GRU whose units see no other unit's state.

    Args:
        num_units: the number of columns of a state.
        activation: a function, or the name of one; ``tanh`` if omitted.
        reuse: whether its variables are shared.
        kernel_initializer: the initialiser of the kernels for inputs.
        bias_initializer: the initialiser of its biases; 1 for the gates and 0 for the candidate if omitted.
        name: the name of its variable scope.
        dtype: the dtype of its variables.
    """

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: Any = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_units, activation, reuse, kernel_initializer, bias_initializer, name, dtype)

    def build(self, inputs_shape: Any) -> None:
        """Create the weights for inputs of a shape."""
        ones = self._of_bias or ops.constant_initializer(1.0)
        self._of_gates = self._make(inputs_shape, 2, "gates/", kernel=self._of_kernel, bias=ones)
        self._of_new = self._make(inputs_shape, 1, "candidate/", ("kernel", "kernel_u"), self._of_kernel, self._of_bias)
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step."""
        kernel, own, bias = self._of_gates
        gates = ops.matmul(inputs, kernel) + ops.tile(state, [1, 2]) * own
        reset, update = ops.split(ops.sigmoid(bias_add(gates, bias)), 2, 1)
        kernel, own, bias = self._of_new
        new = ops.matmul(inputs, kernel) + reset * state * own
        state = update * state + (1 - update) * self._activation(bias_add(new, bias))
        return state, state


class IndyLSTMCell(_Independent):
    """An LSTM whose units see no other unit's state (Gonnet and Deselaers, 2019).

    Args:
        num_units: the number of columns of a state.
        forget_bias: added to the forget gate.
        activation: a function, or the name of one; ``tanh`` if omitted.
        reuse: whether its variables are shared.
        kernel_initializer: the initialiser of the kernel for inputs.
        bias_initializer: the initialiser of the bias; zeros if omitted.
        name: the name of its variable scope.
        dtype: the dtype of its variables.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        activation: Any = None,
        reuse: Any = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(num_units, activation, reuse, kernel_initializer, bias_initializer, name, dtype)
        self._forget_bias = forget_bias

    @property
    def state_size(self) -> Any:
        """The number of columns of memory and output."""
        return LSTMStateTuple(self._num_units, self._num_units)

    def build(self, inputs_shape: Any) -> None:
        """Create the weights for inputs of a shape."""
        self._weights = self._make(inputs_shape, 4, kernel=self._of_kernel, bias=self._of_bias)
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step."""
        memory, last = state
        kernel, own, bias = self._weights
        gates = bias_add(ops.matmul(inputs, kernel) + ops.tile(last, [1, 4]) * own, bias)
        entering, new, forget, leaving = ops.split(gates, 4, 1)
        kept = memory * ops.sigmoid(forget + self._forget_bias)
        memory = kept + ops.sigmoid(entering) * self._activation(new)
        output = self._activation(memory) * ops.sigmoid(leaving)
        return output, LSTMStateTuple(memory, output)


class GLSTMCell(_Memory):
    """An LSTM whose units are in groups that see only themselves (Kuchaiev and Ginsburg, 2017).

    Args:
        num_units: the number of columns of a memory.
        initializer: the initialiser of its variables.
        num_proj: the number of columns of outputs; that of the memory if left out.
        number_of_groups: how many groups there are, which has to divide all numbers of columns.
        forget_bias: added to the forget gate.
        activation: the activation.
        reuse: whether its variables are shared.

    Raises:
        ValueError: for a number of groups that does not divide one of columns.
    """

    def __init__(
        self,
        num_units: int,
        initializer: Any = None,
        num_proj: int | None = None,
        number_of_groups: int = 1,
        forget_bias: float = 1.0,
        activation: Callable[..., Any] = ops.tanh,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        for name, columns in (("num_units", num_units), ("num_proj", num_proj or 0)):
            if columns % number_of_groups:
                raise ValueError(f"{name} must be divisible by number_of_groups")
        self._sizes(num_units, num_proj)
        self._initializer, self._groups = initializer, number_of_groups
        self._bias, self._activation = forget_bias, activation

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step."""
        memory, last = state
        columns = _columns(inputs)
        if columns % self._groups:
            raise ValueError(f"input size ({columns}) must be divisible by number_of_groups ({self._groups})")
        pieces = zip(ops.split(inputs, self._groups, 1), ops.split(last, self._groups, 1), strict=True)
        parts: list[Any] = []
        with ops.variable_scope(ops.get_variable_scope(), initializer=self._initializer):
            for number, piece in enumerate(pieces):
                with ops.variable_scope(f"group{number}"):
                    projected = _linear(list(piece), 4 * self._num_units // self._groups, False)
                    parts.append(ops.split(projected, 4, 1))
            gates = [
                bias_add(
                    ops.concat([part[place] for part in parts], 1),
                    ops.get_variable(f"bias_{name}", [self._num_units], inputs.dtype, ops.zeros_initializer()),
                )
                for place, name in enumerate("ijfo")
            ]
        entering, new, forget, leaving = gates
        kept = ops.sigmoid(forget + self._bias) * memory
        memory = kept + ops.sigmoid(entering) * ops.tanh(new)
        output = ops.sigmoid(leaving) * self._activation(memory)
        if self._num_proj is not None:
            with ops.variable_scope("projection"):
                output = _linear(output, self._num_proj, False)
        return output, LSTMStateTuple(memory, output)


class WeightNormLSTMCell(_Memory):
    """An LSTM whose kernels have columns of trained lengths (Salimans and Kingma, 2016).

    Args:
        num_units: the number of columns of a memory.
        norm: whether lengths are trained.
        use_peepholes: whether gates see the memory.
        cell_clip: the greatest size of a memory's numbers.
        initializer: the initialiser of its variables.
        num_proj: the number of columns of outputs; that of the memory if left out.
        proj_clip: the greatest size of an output's numbers.
        forget_bias: added to the forget gate.
        activation: the activation; ``tanh`` if left out.
        reuse: whether its variables are shared.
    """

    def __init__(
        self,
        num_units: int,
        norm: bool = True,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        forget_bias: float = 1,
        activation: Any = None,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._base_name = "wn_lstm_cell"
        self._sizes(num_units, num_proj)
        self._normalizes, self._peeps, self._initializer = norm, use_peepholes, initializer
        self._clip, self._proj_clip, self._bias = cell_clip, proj_clip, forget_bias
        self._activation = activation or ops.tanh

    def _map(self, matrices: list[Any], columns: int, bias: bool) -> Any:
        dtype = matrices[0].dtype
        rows = [_columns(each) for each in matrices]
        kernel = ops.get_variable("kernel", [sum(rows), columns], dtype)
        weights: Any = kernel
        if self._normalizes:
            with control_dependencies(None):
                parts = ops.split(kernel, rows, 0)
                weights = ops.concat(
                    [
                        l2_normalize(part, axis=0) * ops.get_variable(f"norm_{i}", [columns], dtype)
                        for i, part in enumerate(parts)
                    ],
                    0,
                )
        product = ops.matmul(ops.concat(matrices, 1), weights)
        if not bias:
            return product
        zeros = ops.zeros_initializer()
        return bias_add(product, ops.get_variable("bias", [columns], dtype, zeros))

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step."""
        memory, last = state
        width, dtype = [self._num_units], inputs.dtype
        with ops.variable_scope("wn_lstm_cell", initializer=self._initializer):
            gates = self._map([inputs, last], 4 * self._num_units, True)
            entering, new, forget, leaving = ops.split(gates, 4, 1)
            if self._peeps:
                forget = forget + ops.get_variable("w_f_diag", width, dtype) * memory
                entering = entering + ops.get_variable("w_i_diag", width, dtype) * memory
                of_output = ops.get_variable("w_o_diag", width, dtype)
            kept = memory * ops.sigmoid(forget + self._bias)
            memory = _clipped(kept + ops.sigmoid(entering) * self._activation(new), self._clip)
            if self._peeps:
                leaving = leaving + of_output * memory
            output = ops.sigmoid(leaving) * self._activation(memory)
            if self._num_proj is not None:
                with ops.variable_scope("projection"):
                    output = _clipped(self._map([output], self._num_proj, False), self._proj_clip)
        return output, LSTMStateTuple(memory, output)
