"""Stacks of bidirectional networks: each layer reads the joined outputs of the layer below."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from actorsession import ops
from actorsession.train.layers.recurrent.dynamic import bidirectional_dynamic_rnn
from actorsession.train.layers.recurrent.static import static_bidirectional_rnn

__all__ = ["stack_bidirectional_dynamic_rnn", "stack_bidirectional_rnn"]


def stack_bidirectional_rnn(
    cells_fw: Any,
    cells_bw: Any,
    inputs: Any,
    initial_states_fw: Any = None,
    initial_states_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Return the outputs and last states of ``static_bidirectional_rnn`` in layers.

    Args:
        cells_fw: a list of the forward cells, starting with the lowest layer.
        cells_bw: a list of the backward cells.
        inputs: see ``static_rnn``.
        initial_states_fw: a list of the initial states of the forward cells.
        initial_states_bw: a list of the initial states of the backward cells.
        dtype: see ``static_rnn``.
        sequence_length: see ``static_rnn``.
        scope: the scope of the variables; ``stack_bidirectional_rnn`` if omitted.

    Returns:
        The joined outputs of the last layer; the last states of each forward cell; those of each backward
        cell.

    Raises:
        ValueError: if an argument is not a list, or for lists of different lengths.
    """

    def layer(fw: Any, bw: Any, layer_inputs: Any, first: tuple[Any, Any]) -> tuple[Any, Any, Any]:
        here = ops.get_variable_scope()
        return static_bidirectional_rnn(fw, bw, layer_inputs, *first, dtype, sequence_length, here)

    states = (initial_states_fw, initial_states_bw)
    return _stacked(layer, cells_fw, cells_bw, inputs, states, scope)


def stack_bidirectional_dynamic_rnn(
    cells_fw: Any,
    cells_bw: Any,
    inputs: Any,
    initial_states_fw: Any = None,
    initial_states_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Return the outputs and last states of ``bidirectional_dynamic_rnn`` in layers.

    The arguments are those of that function and of ``stack_bidirectional_rnn``.

    Raises:
        ValueError: if an argument is not a list, or for lists of different lengths.
    """

    def layer(fw: Any, bw: Any, layer_inputs: Any, first: tuple[Any, Any]) -> tuple[Any, Any, Any]:
        outputs, last = bidirectional_dynamic_rnn(fw, bw, layer_inputs, sequence_length, *first, dtype, time_major)
        return ops.concat(outputs, 2), *last

    states = (initial_states_fw, initial_states_bw)
    return _stacked(layer, cells_fw, cells_bw, inputs, states, scope)


def _stacked(
    layer: Callable[..., tuple[Any, Any, Any]],
    cells_fw: Any,
    cells_bw: Any,
    inputs: Any,
    states: tuple[Any, Any],
    scope: Any,
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    for direction, cells in (("fw", cells_fw), ("bw", cells_bw)):
        if not cells:
            raise ValueError(f"Must specify at least one {direction} cell for BidirectionalRNN.")
        if not isinstance(cells, list):
            raise ValueError(f"cells_{direction} must be a list of RNNCells (one per layer).")
    if len(cells_fw) != len(cells_bw):
        raise ValueError("Forward and Backward cells must have the same depth.")
    first = [
        _states(initial, direction, len(cells_fw)) for direction, initial in zip(("fw", "bw"), states, strict=True)
    ]
    last_fw, last_bw = [], []
    with ops.variable_scope(scope or "stack_bidirectional_rnn"):
        layers = zip(cells_fw, cells_bw, *first, strict=True)
        for number, (fw, bw, state_fw, state_bw) in enumerate(layers):
            with ops.variable_scope(f"cell_{number}"):
                inputs, after_fw, after_bw = layer(fw, bw, inputs, (state_fw, state_bw))
            last_fw.append(after_fw)
            last_bw.append(after_bw)
    return inputs, tuple(last_fw), tuple(last_bw)


def _states(initial: Any, direction: str, count: int) -> Sequence[Any]:
    """Return an initial state for each layer; ``None`` for every layer if none is given."""
    if initial is None:
        return [None] * count
    if not isinstance(initial, list) or len(initial) != count:
        raise ValueError(f"initial_states_{direction} must be a list of state tensors (one per layer).")
    return initial
