"""Layers that run cells over time: ``RNN`` and ``BidirectionalRNN``."""

from __future__ import annotations

from typing import Any, Unpack

from actorsession.ops import VariableScope
from actorsession.train.layers.layer import Layer, LayerSettings
from actorsession.train.layers.recurrent.cells.cell import check_cell
from actorsession.train.layers.recurrent.dynamic import bidirectional_dynamic_rnn, dynamic_rnn

__all__ = ["RNN", "BidirectionalRNN"]


class _OverTime(Layer):
    """A layer whose weights are those of its cells.

    Args:
        cells: the cells by the names of their arguments.
        time_major: whether time comes before the batch, in inputs and outputs.
        settings: see ``Layer``.
    """

    def __init__(self, cells: dict[str, Any], time_major: bool, **settings: Unpack[LayerSettings]) -> None:
        super().__init__(**settings)
        for argument, cell in cells.items():
            check_cell(argument, cell)
        self.cells = tuple(cells.values())
        self.time_major = time_major

    def _kept(self) -> list[tuple[Any, bool]]:
        return [kept for cell in self.cells if isinstance(cell, Layer) for kept in cell._kept()]


class RNN(_OverTime):
    """Run a cell over time, in one loop of the graph.

    Inputs are ``[batch, time, columns]``. A call returns the outputs ``[batch, time, cell.output_size]`` and
    the last state, in the structure of ``cell.state_size``. The weights are those of the cell, below the
    layer's name: ``rnn/lstm_cell/kernel``.

    Args:
        cell: the cell, such as ``LSTMCell(32)``.
        time_major: whether time comes before the batch, in inputs and outputs.
        settings: see ``Layer``.

    Raises:
        TypeError: if ``cell`` is no cell.
        ValueError: for inputs of a rank below 3, or whose last axis has an unknown size.
    """

    def __init__(self, cell: Any, *, time_major: bool = False, **settings: Unpack[LayerSettings]) -> None:
        super().__init__({"cell": cell}, time_major, **settings)

    def call(
        self, inputs: Any, sequence_length: Any = None, initial_state: Any = None, *, scope: VariableScope
    ) -> tuple[Any, Any]:
        """Build the outputs and the last state.

        Args:
            inputs: the inputs.
            sequence_length: the length of each member's sequence, an integer vector ``[batch]``. Past its
                end, outputs are zeros and the state stays unchanged.
            initial_state: the initial state; zeros if left out.
            scope: the variable scope of the layer, which the base class passes.
        """
        return dynamic_rnn(
            self.cells[0], inputs, sequence_length, initial_state, inputs.dtype, time_major=self.time_major, scope=scope
        )


class BidirectionalRNN(_OverTime):
    """Run one cell forward in time and another backward.

    A call returns the pair of their outputs, both in the order of the inputs, and the pair of their last
    states; ``concat(outputs, 2)`` joins the outputs. Arguments not named here are those of ``RNN``.

    Args:
        forward: the cell that runs forward.
        backward: the cell that runs backward, another object.
    """

    def __init__(
        self, forward: Any, backward: Any, *, time_major: bool = False, **settings: Unpack[LayerSettings]
    ) -> None:
        super().__init__({"forward": forward, "backward": backward}, time_major, **settings)

    def call(
        self,
        inputs: Any,
        sequence_length: Any = None,
        initial_states: tuple[Any, Any] = (None, None),
        *,
        scope: VariableScope,
    ) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
        """Build the outputs and last states; see ``RNN``.

        Args:
            inputs: the inputs.
            sequence_length: the lengths; each sequence is reversed within its own length.
            initial_states: the initial states of both cells.
            scope: the variable scope of the layer, which the base class passes.
        """
        return bidirectional_dynamic_rnn(
            self.cells[0],
            self.cells[1],
            inputs,
            sequence_length,
            initial_states[0],
            initial_states[1],
            inputs.dtype,
            time_major=self.time_major,
            scope=scope,
        )
