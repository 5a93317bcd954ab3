"""Cells of ``tf.contrib.rnn`` that compute a step, or all steps, with one node.

The nodes are ``LSTMBlockCell``, ``BlockLSTM`` and ``GRUBlockCell``. They take float32, and the first also
float16; with other numbers an LSTM is computed by several nodes.
"""

from __future__ import annotations

from typing import Any

from actorsession import ops
from actorsession.graph.dtypes import float16, float32, int64
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import shape_tensor
from actorsession.train.layers.recurrent.cells.basic import GRUCell
from actorsession.train.layers.recurrent.cells.fused import FusedRNNCell
from actorsession.train.layers.recurrent.cells.lstm import LSTMCell, LSTMStateTuple

__all__ = ["GRUBlockCell", "GRUBlockCellV2", "LSTMBlockCell", "LSTMBlockFusedCell"]


class LSTMBlockCell(LSTMCell):
    """An ``LSTMCell`` that computes a step with one node.

    Args:
        num_units: the number of columns of a state.
        forget_bias: added to the bias of the forget gate.
        cell_clip: the greatest size of a memory's numbers.
        use_peephole: whether gates see the memory.
        dtype: the dtype of its variables.
        reuse: whether its variables are shared.
        name: the name of the scope of its variables.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        dtype: Any = None,
        reuse: Any = None,
        name: str | None = "lstm_cell",
    ) -> None:
        clip = None if cell_clip is None or cell_clip < 0 else cell_clip
        super().__init__(num_units, use_peephole, clip, forget_bias=forget_bias, reuse=reuse, name=name, dtype=dtype)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step and return its output and next state; see ``RNNCell``."""
        c, h = state
        if self._kernel.dtype.base_dtype not in (float16, float32):
            return super().call(inputs, state)
        outputs = raw.LSTMBlockCell(inputs, c, h, *self.weights_of_node(), **self.attrs_of_node())
        return outputs[6], LSTMStateTuple(outputs[1], outputs[6])

    def weights_of_node(self) -> list[Any]:
        """Return the matrix, the vectors by which gates see the memory, and the bias."""
        if self._use_peepholes:
            diagonals = [self._w_i_diag, self._w_f_diag, self._w_o_diag]
        else:
            diagonals = [ops.zeros([self._num_units], self._kernel.dtype.base_dtype)] * 3
        return [self._kernel, *diagonals, self._bias]

    def attrs_of_node(self) -> dict[str, Any]:
        """Return the attributes of a node that computes it."""
        return {
            "forget_bias": self._forget_bias,
            "use_peephole": self._use_peepholes,
            "cell_clip": -1.0 if self._cell_clip is None else self._cell_clip,
        }


class GRUBlockCell(GRUCell):
    """A ``GRUCell`` that computes a step with one node, and whose variables have names of their own.

    Args:
        num_units: the number of columns of a state.
        cell_size: the same, if ``num_units`` is left out.
        reuse: whether its variables are shared.
        name: the name of the scope of its variables.
        dtype: the dtype of its variables.

    Raises:
        ValueError: without a number of columns.
    """

    def __init__(
        self,
        num_units: int | None = None,
        cell_size: int | None = None,
        reuse: Any = None,
        name: str | None = "gru_cell",
        dtype: Any = None,
    ) -> None:
        units = num_units if cell_size is None else cell_size
        if units is None:
            raise ValueError("num_units must be given")
        super().__init__(units, reuse=reuse, name=name, dtype=dtype)

    def _add_layer(self, name: str, rows: int, count: int, bias: Any) -> tuple[Any, Any]:
        short, columns = {"gates": "ru", "candidate": "c"}[name], count * self._num_units
        return (
            self.add_variable(f"w_{short}", [rows, columns]),
            self.add_variable(f"b_{short}", [columns], initializer=bias),
        )

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step and return its output and next state; see ``RNNCell``."""
        if self._gate_kernel.dtype.base_dtype is not float32:
            return super().call(inputs, state)
        outputs = raw.GRUBlockCell(
            inputs, state, self._gate_kernel, self._candidate_kernel, self._gate_bias, self._candidate_bias
        )
        return outputs[3], outputs[3]


class GRUBlockCellV2(GRUBlockCell):
    """A ``GRUBlockCell`` whose variables have the names of a ``GRUCell``'s; arguments are the same."""

    def _add_layer(self, name: str, rows: int, count: int, bias: Any) -> tuple[Any, Any]:
        return GRUCell._add_layer(self, name, rows, count, bias)


class LSTMBlockFusedCell(FusedRNNCell):
    """An LSTM that computes all steps of sequences with one node.

    Args:
        num_units: see ``LSTMBlockCell``, as for the others.
        forget_bias: see there.
        cell_clip: see there.
        use_peephole: see there.
        reuse: see there.
        dtype: see there.
        name: see there.
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        reuse: Any = None,
        dtype: Any = None,
        name: str = "lstm_fused_cell",
    ) -> None:
        self._cell = SequencesLSTM(num_units, forget_bias, cell_clip, use_peephole, dtype, reuse, name)
        self.name = name

    @property
    def num_units(self) -> int:
        """The number of columns of a state."""
        return int(self._cell.output_size)

    @property
    def trainable_variables(self) -> list[Any]:
        """The variables that optimisers update."""
        return self._cell.trainable_variables

    weights = variables = trainable_weights = trainable_variables

    def __call__(
        self, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None, scope: Any = None
    ) -> tuple[Any, Any]:
        """Return the outputs of all steps and the last state.

        Args:
            inputs: the inputs, ``[steps, batch, columns]``.
            initial_state: the first state; zeros if left out.
            dtype: the dtype of these zeros; that of the inputs if left out.
            sequence_length: the number of steps of each member.
            scope: the scope around its variables; the current one if left out.
        """
        value = ops.convert_to_tensor(inputs)
        state = initial_state
        if state is None:
            state = self._cell.zero_state(shape_tensor(value)[1], dtype or value.dtype)
        self._cell.lengths = sequence_length
        with ops.variable_scope(scope or ops.get_variable_scope()):
            outputs, last = self._cell(value, LSTMStateTuple(*state))
        return outputs, last


class SequencesLSTM(LSTMBlockCell):
    """The cell of ``LSTMBlockFusedCell``, whose inputs are all steps.

    Attributes:
        lengths: the number of steps of each member in the next call; ``None`` for all.
    """

    lengths: Any = None

    def _check_inputs(self, inputs: Any) -> None:
        inputs.shape.with_rank(3)

    def build(self, inputs_shape: Any) -> None:
        """Create the variables for inputs of a shape, of which the first axis is that of steps."""
        super().build(inputs_shape[1:])

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build all steps and return their outputs and the last state."""
        steps = shape_tensor(inputs)[0]
        last = steps if self.lengths is None else ops.reduce_max(self.lengths)
        results = raw.BlockLSTM(ops.cast(last, int64), inputs, *state, *self.weights_of_node(), **self.attrs_of_node())
        memories, outputs = results[1], results[6]
        if self.lengths is None:
            return outputs, LSTMStateTuple(memories[-1], outputs[-1])
        lengths = ops.convert_to_tensor(self.lengths)
        mask = ops.transpose(ops.sequence_mask(lengths, steps))
        outputs = ops.where(
            ops.tile(ops.expand_dims(mask, -1), [1, 1, self._num_units]), outputs, ops.zeros_like(outputs)
        )
        # Before the first step stands the first state, which is the last one of a member without steps.
        members = ops.range(shape_tensor(lengths)[0])
        where = ops.stack([ops.cast(lengths, members.dtype), members], 1)
        ends = [
            ops.gather_nd(ops.concat([ops.expand_dims(start, 0), all_steps], 0), where)
            for start, all_steps in zip(state, (memories, outputs), strict=True)
        ]
        return outputs, LSTMStateTuple(*ends)
