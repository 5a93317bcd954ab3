"""Cells as functions of whole sequences, the steps first."""

from __future__ import annotations

import abc
from typing import Any

from actorsession import ops
from actorsession.graph.shape import TensorShape
from actorsession.train.layers import nests
from actorsession.train.layers.recurrent.dynamic import dynamic_rnn
from actorsession.train.layers.recurrent.static import static_rnn

__all__ = [
    "CompiledWrapper",
    "FusedRNNCell",
    "FusedRNNCellAdaptor",
    "TimeReversedFusedRNN",
    "best_effort_input_batch_size",
]


def best_effort_input_batch_size(flat_input: Any) -> Any:
    """Return the size of the batch of inputs ``[steps, batch, ...]``: a number, or a tensor of it."""
    for each in flat_input:
        sizes = TensorShape(each.shape).sizes
        if sizes is not None and len(sizes) >= 2 and sizes[1] is not None:
            return sizes[1]
    return ops.shape(flat_input[0])[1]


class FusedRNNCell(abc.ABC):
    """A function of whole sequences; subclasses define ``__call__``."""

    @abc.abstractmethod
    def __call__(
        self, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None, scope: Any = None
    ) -> tuple[Any, Any]:
        """Return the outputs of all steps and the last state.

        Args:
            inputs: the inputs, ``[steps, batch, columns]``, or a list with those of each step.
            initial_state: the first state; zeros if left out.
            dtype: the dtype of these zeros.
            sequence_length: the number of steps of each member.
            scope: the scope around its variables.
        """


class FusedRNNCellAdaptor(FusedRNNCell):
    """A cell of single steps as a function of sequences.

    Args:
        cell: the cell.
        use_dynamic_rnn: whether the steps are a loop; otherwise they are built one after the other.
    """

    def __init__(self, cell: Any, use_dynamic_rnn: bool = False) -> None:
        self._cell, self._loops = cell, use_dynamic_rnn

    def __call__(
        self, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None, scope: Any = None
    ) -> tuple[Any, Any]:
        """Return the outputs of all steps and the last state; see ``FusedRNNCell``."""
        listed = isinstance(inputs, list)
        if self._loops:
            outputs, state = dynamic_rnn(
                self._cell,
                ops.stack(inputs) if listed else inputs,
                sequence_length,
                initial_state,
                dtype,
                time_major=True,
                scope=scope,
            )
            return (ops.unstack(outputs) if listed else outputs), state
        steps = inputs if listed else ops.unstack(ops.convert_to_tensor(inputs))
        outputs, state = static_rnn(self._cell, steps, initial_state, dtype, sequence_length, scope)
        if listed:
            return outputs, state
        leaves = [nests.flatten(each) for each in outputs]
        stacked = [ops.stack(list(steps)) for steps in zip(*leaves, strict=True)]
        return nests.pack(outputs[0], stacked), state


class TimeReversedFusedRNN(FusedRNNCell):
    """A fused cell that reads sequences from their ends.

    Args:
        cell: the fused cell.
    """

    def __init__(self, cell: Any) -> None:
        self._cell = cell

    def __call__(
        self, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None, scope: Any = None
    ) -> tuple[Any, Any]:
        """Return the outputs of all steps and the last state; see ``LSTMBlockFusedCell``."""

        def turned(value: Any) -> Any:
            if isinstance(value, list):
                return value[::-1]
            if sequence_length is None:
                return ops.reverse(value, [0])
            return ops.reverse_sequence(value, sequence_length, seq_axis=0, batch_axis=1)

        steps = inputs if isinstance(inputs, list) else ops.convert_to_tensor(inputs)
        outputs, state = self._cell(turned(steps), initial_state, dtype, sequence_length, scope)
        if isinstance(outputs, list):
            return turned(outputs), state
        return nests.mapped(turned, outputs), state


def CompiledWrapper(cell: Any, compile_stateful: bool = False) -> Any:
    """Return the cell itself: there is no compiler that would take it."""
    return cell
