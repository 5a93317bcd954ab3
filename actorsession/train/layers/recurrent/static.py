"""Networks over lists of inputs, with a step for each: ``static_rnn`` and variants.

The steps are built one after the other, so the graph grows with the length; ``dynamic_rnn`` builds only one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from actorsession import ops
from actorsession.graph.graph import control_dependencies
from actorsession.graph.shape import TensorShape
from actorsession.train.layers import nests
from actorsession.train.layers.recurrent import sizes
from actorsession.train.layers.recurrent.cells.cell import check_cell
from actorsession.train.layers.recurrent.steps import Lengths, batch_of, check_lengths, first_state, opened, sizes_of

__all__ = ["static_bidirectional_rnn", "static_rnn", "static_state_saving_rnn"]


def static_rnn(
    cell: Any, inputs: Any, initial_state: Any = None, dtype: Any = None, sequence_length: Any = None, scope: Any = None
) -> tuple[list[Any], Any]:
    """Return the outputs of a cell for each of some inputs, and its last state.

    Args:
        cell: the cell.
        inputs: a list of matrices with a row for each member of the batch, or of structures of such matrices.
        initial_state: the initial state, in the structure of ``cell.state_size``; zeros if omitted.
        dtype: the dtype of the initial zeros.
        sequence_length: the length of each member's sequence, an integer vector. Past its end, outputs are
            zeros and the state stays unchanged. Steps past all ends are not computed.
        scope: the scope of the variables; ``rnn`` if omitted.

    Returns:
        A list of outputs, and the last state.

    Raises:
        TypeError: if an argument is not a cell or not a sequence.
        ValueError: without inputs, for inputs of unknown size, for lengths that are no vector, or without
            both ``initial_state`` and ``dtype``.
    """
    check_cell("cell", cell)
    _check_inputs(inputs)
    outputs: list[Any] = []
    with opened(scope, "rnn") as here:
        flat = nests.flatten(inputs)
        _check_sizes(flat)
        batch = batch_of(flat, 0)
        state = first_state(cell, initial_state, batch, dtype)
        lengths = None
        if sequence_length is not None:
            vector = check_lengths(sequence_length)
            known = sizes.state_dtype(dtype, state)
            zeros = nests.mapped(lambda size: sizes.zeros(batch, size, known), cell.output_size)
            lengths = Lengths(vector, zeros)
        for time, step_input in enumerate(inputs):
            if time:
                here.reuse_variables()
            if lengths is None:
                output, state = cell(step_input, state)
            else:
                output, state = _step(cell, lengths, time, step_input, state)
            outputs.append(output)
    return outputs, state


def _step(cell: Any, lengths: Lengths, time: int, inputs: Any, state: Any) -> tuple[Any, Any]:
    return lengths.maybe_step(time, state, lambda: cell(inputs, state))


def _check_inputs(inputs: Any) -> None:
    if not nests.is_nested(inputs) or isinstance(inputs, Mapping):
        raise TypeError(f"Argument `inputs` must be a sequence. Received: {inputs!r:.200}")
    if not inputs:
        raise ValueError("Argument `inputs` must not be empty.")


def _check_sizes(flat: Sequence[Any]) -> None:
    first = sizes_of(flat[0])
    if first is not None and len(first) == 1:
        return  # Symbol numbers, which the cell looks up itself.
    batch = TensorShape([None])
    for each in flat:
        sized = sizes_of(each)
        if sized is None or len(sized) < 2:
            raise ValueError(f"Shape {each.shape} must have rank at least 2: {each!r}")
        for axis, size in enumerate(sized[1:]):
            if size is None:
                raise ValueError(
                    f"Input size (dimension {axis} of input {each!r}) must be accessible via shape "
                    "inference, but saw value None."
                )
        batch = batch.merge_with([sized[0]])


def _reversed(inputs: Sequence[Any], lengths: Any) -> list[Any]:
    """Return the inputs reversed in time, for each member within the length of its sequence."""
    if lengths is None:
        return list(reversed(inputs))
    columns = []
    for each in zip(*[nests.flatten(structure) for structure in inputs], strict=True):
        turned = ops.unstack(ops.reverse_sequence(ops.stack(each), lengths, seq_axis=0, batch_axis=1))
        for tensor, like in zip(turned, each, strict=True):
            tensor.set_shape(like.shape)
        columns.append(turned)
    rows = zip(*columns, strict=True)
    return [nests.pack(structure, row) for structure, row in zip(inputs, rows, strict=True)]


def static_bidirectional_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    sequence_length: Any = None,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """Return the joined outputs of a forward and a backward cell for some inputs, and their last states.

    Args:
        cell_fw: the forward cell.
        cell_bw: the backward cell.
        inputs: see ``static_rnn``.
        initial_state_fw: see ``static_rnn``.
        initial_state_bw: see ``static_rnn``.
        dtype: see ``static_rnn``.
        sequence_length: see ``static_rnn``.
        scope: the scope of the variables; ``bidirectional_rnn`` if omitted.

    Returns:
        A list of outputs, joined along their columns; the last forward state; the last backward state.

    Raises:
        TypeError: if an argument is not a cell or not a sequence.
        ValueError: as for ``static_rnn``.
    """
    check_cell("cell_fw", cell_fw)
    check_cell("cell_bw", cell_bw)
    _check_inputs(inputs)
    with ops.variable_scope(scope or "bidirectional_rnn"):
        with ops.variable_scope("fw") as forward:
            outputs_fw, state_fw = static_rnn(cell_fw, inputs, initial_state_fw, dtype, sequence_length, forward)
        with ops.variable_scope("bw") as back:
            turned, state_bw = static_rnn(
                cell_bw, _reversed(inputs, sequence_length), initial_state_bw, dtype, sequence_length, back
            )
    outputs_bw = _reversed(turned, sequence_length)
    joined = nests.mapped(lambda fw, bw: ops.concat([fw, bw], 1), outputs_fw, outputs_bw)
    return joined, state_fw, state_bw


def static_state_saving_rnn(
    cell: Any, inputs: Any, state_saver: Any, state_name: Any, sequence_length: Any = None, scope: Any = None
) -> tuple[list[Any], Any]:
    """Return the results of ``static_rnn`` with states that a state saver keeps from run to run.

    Args:
        cell: the cell.
        inputs: see ``static_rnn``.
        state_saver: an object with the methods ``state(name)``, which returns a state, and
            ``save_state(name, state)``, which returns an operation that keeps it.
        state_name: the names of the states in the saver, a structure like ``cell.state_size``.
        sequence_length: see ``static_rnn``.
        scope: see ``static_rnn``.

    Returns:
        A list of outputs and the last state. The last output and the state depend on the operations that keep
        the state.

    Raises:
        TypeError: if an argument is not a cell or not a sequence.
        ValueError: as for ``static_rnn``, or if the numbers of names and states differ.
    """
    size = cell.state_size
    if nests.is_nested(size) != nests.is_nested(state_name):
        raise ValueError(
            "Argument `state_name` should be the same type as `cell.state_size`. Received: state_name="
            f"{state_name}, cell.state_size={size}."
        )
    names = nests.flatten(state_name)
    if len(names) != len(nests.flatten(size)):
        raise ValueError(
            "Number of elements in argument `state_name` and `cell.state_size` are mismatched. Received "
            f"state_name={state_name} and cell.state_size={size}."
        )
    initial = nests.pack(size, [state_saver.state(name) for name in names])
    outputs, state = static_rnn(cell, inputs, initial_state=initial, sequence_length=sequence_length, scope=scope)
    leaves = nests.flatten(state)
    kept = [state_saver.save_state(name, leaf) for name, leaf in zip(names, leaves, strict=True)]
    with control_dependencies(kept):
        outputs[-1] = nests.mapped(ops.identity, outputs[-1])
        state = nests.mapped(ops.identity, state)
    return outputs, state
