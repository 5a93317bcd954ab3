"""``MultiRNNCell``: a stack of cells."""

from __future__ import annotations

import logging
from typing import Any

from actorsession import ops
from actorsession.graph.graph import name_scope
from actorsession.train.layers import nests
from actorsession.train.layers.recurrent.cells.cell import RNNCell

__all__ = ["MultiRNNCell"]

_log = logging.getLogger("tensorflow")


class MultiRNNCell(RNNCell):
    """A stack of cells: the output of each is the input of the next one.

    Args:
        cells: the cells, starting with the lowest one.
        state_is_tuple: whether a state is a tuple of the cells' states; otherwise they are concatenated to
            one matrix.

    Raises:
        ValueError: without cells, or if ``state_is_tuple`` is false and a cell's state is a tuple.
        TypeError: if ``cells`` is not a sequence.
    """

    def __init__(self, cells: Any, state_is_tuple: bool = True) -> None:
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not nests.is_nested(cells):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells}.")
        if len({id(cell) for cell in cells}) < len(cells):
            _log.warning("At least two cells provided to MultiRNNCell are the same object and will share weights.")
        self._cells = cells
        self._state_is_tuple = state_is_tuple
        tuples = [cell.state_size for cell in cells if nests.is_nested(cell.state_size)]
        if tuples and not state_is_tuple:
            raise ValueError(
                "Some cells return tuples of states, but the flag state_is_tuple is not set.  State sizes "
                f"are: {[cell.state_size for cell in cells]}"
            )

    @property
    def state_size(self) -> Any:
        """The sizes of the cells' states, or their sum."""
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        """The output size of the last cell."""
        return self._cells[-1].output_size

    @property
    def trainable_weights(self) -> list[Any]:
        """The variables of all cells that optimisers update."""
        return self._weights("trainable_weights") if self.trainable else []

    @property
    def non_trainable_weights(self) -> list[Any]:
        """The variables of all cells that optimisers do not update."""
        others = self._weights("non_trainable_weights")
        return others if self.trainable else self._weights("trainable_weights") + others

    def _weights(self, which: str) -> list[Any]:
        weights = [v for cell in self._cells for v in getattr(cell, which, [])]
        return list({id(v): v for v in weights}.values())

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return a state of zeros; see ``RNNCell``."""
        if not self._state_is_tuple:
            return super().zero_state(batch_size, dtype)
        with name_scope(f"{type(self).__name__}ZeroState"):
            return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step of all cells and return its output and next state; see ``RNNCell``."""
        if self._state_is_tuple and not nests.is_nested(state):
            raise ValueError(f"Expected state to be a tuple of length {len(self._cells)}, but received: {state}")
        place, states = 0, []
        for number, cell in enumerate(self._cells):
            with ops.variable_scope(f"cell_{number}"):
                if self._state_is_tuple:
                    before = state[number]
                else:
                    before = ops.slice(state, [0, place], [-1, cell.state_size])
                    place += cell.state_size
                inputs, after = cell(inputs, before)
                states.append(after)
        return inputs, tuple(states) if self._state_is_tuple else ops.concat(states, 1)
