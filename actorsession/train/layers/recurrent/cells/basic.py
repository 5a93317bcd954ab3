"""Cells with one state: ``BasicRNNCell`` and ``GRUCell``."""

from __future__ import annotations

from typing import Any

from actorsession import ops
from actorsession.graph.shape import TensorShape
from actorsession.ops.neural.biases import bias_add
from actorsession.ops.variables.store import Reuse
from actorsession.train.layers.arguments import checked_count
from actorsession.train.layers.names import activation_of, initializer_of
from actorsession.train.layers.recurrent.cells.cell import LayerRNNCell
from actorsession.train.layers.recurrent.sizes import check_floating, require_floating

__all__ = ["BasicRNNCell", "GRUCell", "UnitsCell"]


class UnitsCell(LayerRNNCell):
    """A cell with a number of units and an activation.

    Args:
        num_units: the number of columns of a state.
        activation: a function, or the name of one; ``tanh`` if omitted.
        reuse: ``True`` if its variables exist already, ``AUTO_REUSE`` if they may.
        name: the name of its variable scope.
        dtype: the dtype of its variables; that of the first inputs if omitted.
        kwargs: see ``RNNCell``.

    Raises:
        ValueError: for a dtype that is not floating.
    """

    def __init__(self, num_units: int, activation: Any, reuse: Any, name: Any, dtype: Any, **kwargs: Any) -> None:
        super().__init__(_reuse=reuse, name=name, dtype=dtype, **kwargs)
        require_floating(dtype)
        self._num_units = checked_count("num_units", num_units, 0)
        self._activation = activation_of(activation)

    @property
    def state_size(self) -> Any:
        """The number of columns of a state."""
        return self._num_units

    @property
    def output_size(self) -> Any:
        """The number of columns of an output."""
        return self._num_units

    def _depth(self, inputs_shape: Any) -> int:
        """Return the number of columns of the inputs.

        Raises:
            ValueError: if it is not known, or the dtype is not floating.
        """
        sized = TensorShape(inputs_shape).sizes
        if not sized or sized[-1] is None:
            raise ValueError(f"Expected inputs.shape[-1] to be known, saw shape: {inputs_shape}")
        require_floating(self.dtype)
        return sized[-1]


class BasicRNNCell(UnitsCell):
    """The basic cell: the output and next state is ``activation(W [inputs, state] + b)``.

    Args:
        num_units: the number of columns of a state.
        activation: a function, or the name of one; ``tanh`` if omitted.
        reuse: ``True`` if its variables exist already, ``AUTO_REUSE`` if they may.
        name: the name of its variable scope.
        dtype: the dtype of its variables; that of the first inputs if omitted.
        kwargs: see ``RNNCell``.

    Raises:
        ValueError: for a dtype that is not floating.
    """

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: Reuse = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype, **kwargs)

    def build(self, inputs_shape: Any) -> None:
        """Create the kernel and the bias for inputs of a shape."""
        rows = self._depth(inputs_shape) + self._num_units
        self._kernel = self.add_variable("kernel", [rows, self._num_units])
        self._bias = self.add_variable("bias", [self._num_units], initializer=ops.zeros_initializer())
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step and return its output and next state; see ``RNNCell``."""
        check_floating(inputs, state)
        gates = ops.matmul(ops.concat([inputs, state], 1), self._kernel)
        output = self._activation(bias_add(gates, self._bias))
        return output, output


class GRUCell(UnitsCell):
    """The gated recurrent unit of Cho et al. (2014).

    Args:
        num_units: the number of columns of a state.
        activation: a function, or the name of one; ``tanh`` if omitted.
        reuse: ``True`` if its variables exist already, ``AUTO_REUSE`` if they may.
        kernel_initializer: the initialiser of its matrices; the scope's if omitted.
        bias_initializer: the initialiser of its biases; 1 for the gates and 0 for the candidate if omitted.
        name: the name of its variable scope.
        dtype: the dtype of its variables; that of the first inputs if omitted.
        kwargs: see ``RNNCell``.

    Raises:
        ValueError: for a dtype that is not floating.
    """

    def __init__(
        self,
        num_units: int,
        activation: Any = None,
        reuse: Reuse = None,
        kernel_initializer: Any = None,
        bias_initializer: Any = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype, **kwargs)
        self._kernel_initializer = initializer_of(kernel_initializer)
        self._bias_initializer = initializer_of(bias_initializer)

    def build(self, inputs_shape: Any) -> None:
        """Create the kernels and biases of gates and candidate for inputs of a shape."""
        rows = self._depth(inputs_shape) + self._num_units
        ones, zeros = ops.constant_initializer(1.0), ops.zeros_initializer()
        self._gate_kernel, self._gate_bias = self._add_layer("gates", rows, 2, ones)
        self._candidate_kernel, self._candidate_bias = self._add_layer("candidate", rows, 1, zeros)
        self.built = True

    def _add_layer(self, name: str, rows: int, count: int, bias: Any) -> tuple[Any, Any]:
        columns = count * self._num_units
        initializer = self._bias_initializer
        return (
            self.add_variable(f"{name}/kernel", [rows, columns], initializer=self._kernel_initializer),
            self.add_variable(f"{name}/bias", [columns], initializer=bias if initializer is None else initializer),
        )

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step and return its output and next state; see ``RNNCell``."""
        check_floating(inputs, state)
        gates = ops.matmul(ops.concat([inputs, state], 1), self._gate_kernel)
        reset, update = ops.split(ops.sigmoid(bias_add(gates, self._gate_bias)), num_or_size_splits=2, axis=1)
        candidate = ops.matmul(ops.concat([inputs, reset * state], 1), self._candidate_kernel)
        new = self._activation(bias_add(candidate, self._candidate_bias))
        state = update * state + (1 - update) * new
        return state, state
