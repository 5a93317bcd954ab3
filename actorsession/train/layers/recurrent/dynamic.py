"""Networks over sequences of any length: ``dynamic_rnn`` and ``bidirectional_dynamic_rnn``.

They build one loop, which reads the inputs of a step from arrays and writes its outputs into arrays; see
``while_loop`` and ``TensorArray``. Inside the loop, time is the first axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession import ops
from actorsession.graph.graph import control_dependencies
from actorsession.graph.operation import Tensor
from actorsession.ops.lists.blocks import tensor_list_stack
from actorsession.train.layers import nests
from actorsession.train.layers.recurrent import sizes
from actorsession.train.layers.recurrent.cells.cell import check_cell
from actorsession.train.layers.recurrent.steps import (
    Lengths,
    batch_of,
    check_lengths,
    first_state,
    opened,
    sizes_of,
    transposed,
)

__all__ = ["bidirectional_dynamic_rnn", "dynamic_rnn"]


def dynamic_rnn(
    cell: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state: Any = None,
    dtype: Any = None,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Any, Any]:
    """Return the outputs of a cell over time, and its last state.

    Args:
        cell: the cell.
        inputs: a tensor with axes for batch, time and at least one more of known size, or a structure of such
            tensors.
        sequence_length: the length of each member's sequence, an integer vector. Past its end, outputs are
            zeros and the state stays unchanged.
        initial_state: the initial state, in the structure of ``cell.state_size``; zeros if omitted.
        dtype: the dtype of the initial zeros and of the outputs.
        time_major: whether time comes before the batch, in inputs and outputs.
        scope: the scope of the variables; ``rnn`` if omitted.

    Returns:
        The outputs in the structure of ``cell.output_size``, with batch and time as the first dimensions, and
        the last state.

    Raises:
        TypeError: if an argument is not a cell.
        ValueError: for inputs of a rank below 3, of unknown size, or with inconsistent sizes; for lengths
            that are no vector; or without both ``initial_state`` and ``dtype``.
        InvalidArgumentError: at run time, if the number of lengths differs from the batch size.
    """
    check_cell("cell", cell)
    with opened(scope, "rnn"):
        swap = ops.convert_to_tensor if time_major else transposed
        flat = [swap(leaf) for leaf in nests.flatten(inputs)]
        lengths = None
        if sequence_length is not None:
            lengths = ops.identity(check_lengths(sequence_length), name="sequence_length")
        if not flat:
            raise ValueError(f"dynamic_rnn needs inputs, got {inputs!r}")
        batch = batch_of(flat, 1)
        state = first_state(cell, initial_state, batch, dtype)
        if lengths is not None:
            lengths = _checked(lengths, batch)
        loop = _Loop(cell, nests.pack(inputs, flat), flat, lengths, state, dtype)
        outputs, last = loop.build(state)
        if not time_major:
            outputs = nests.mapped(transposed, outputs)
    return outputs, last


def _checked(lengths: Tensor, batch: Any) -> Tensor:
    """Return the lengths, with a run-time check that their number is the batch size."""
    known = sizes_of(lengths)
    if known is not None and isinstance(batch, int) and known[0] not in (None, batch):
        raise ValueError(f"sequence_length has {known[0]} lengths for a batch of {batch}")
    actual, expected = ops.shape(lengths), ops.stack([batch])
    fits = ops.reduce_all(ops.equal(actual, expected))
    told = [f"Expected shape for Tensor {lengths.name} is ", expected, " but saw shape: ", actual]
    with control_dependencies([ops.Assert(fits, told)]):
        return ops.identity(lengths, name="CheckSeqLen")


class _Loop:
    """The loop over time during its construction.

    Args:
        cell: the cell.
        inputs: the inputs in their structure, with time as the first axis.
        flat: the same inputs as a flat sequence.
        lengths: the lengths of the sequences, if they differ.
        state: the initial state.
        dtype: the requested dtype.

    Raises:
        ValueError: for inputs of a rank below 3, of unknown size, or with inconsistent sizes.
    """

    def __init__(
        self, cell: Any, inputs: Any, flat: Sequence[Tensor], lengths: Tensor | None, state: Any, dtype: Any
    ) -> None:
        self.cell, self.inputs = cell, inputs
        self.static_time, self.static_batch = _common_extents(flat)
        self.steps = ops.shape(flat[0])[0]
        self.batch = batch_of(flat, 1)
        self.sizes = nests.flatten(cell.output_size)
        self.dtype = sizes.state_dtype(dtype, state)
        self.bound: Any = self.steps
        self.lengths = None
        if lengths is not None:
            zeros = [sizes.zeros(self.batch, size, self.dtype) for size in self.sizes]
            self.lengths = Lengths(lengths, nests.pack(cell.output_size, zeros))
            # At least one step, if there is one, so that the shapes of the arrays' elements are known.
            self.bound = ops.minimum(self.steps, ops.maximum(1, self.lengths.most))
        self.arrays = [
            ops.TensorArray(each.dtype, self.steps, element_shape=sizes_of(each)[1:]).unstack(each) for each in flat
        ]

    def build(self, state: Any) -> tuple[Any, Any]:
        """Build the loop and return the outputs, with time as the first axis, and the last state."""
        time = ops.constant(0, name="time")
        arrays = [
            ops.TensorArray(self.dtype, self.steps, element_shape=sizes.known_shape([self.static_batch], size))
            for size in self.sizes
        ]
        _, written, last = ops.while_loop(
            lambda time, *_: time < self.bound,
            self._turn,
            (time, tuple(arrays), state),
            # TensorFlow counts the iterations, too, which numbers the exits of the loop.
            maximum_iterations=self.steps,
        )
        stacked = [self._stacked(array, size) for array, size in zip(written, self.sizes, strict=True)]
        return nests.pack(self.cell.output_size, stacked), last

    def _turn(self, time: Tensor, written: Any, state: Any) -> tuple[Any, Any, Any]:
        now = nests.pack(self.inputs, [array.read(time) for array in self.arrays])

        def call() -> tuple[Any, Any]:
            called: tuple[Any, Any] = self.cell(now, state)
            return called

        if self.lengths is None:
            outputs, after = call()
        else:
            outputs, after = self.lengths.step(time, state, call)
        leaves = nests.flatten(outputs)
        if len(leaves) != len(written):
            raise ValueError(f"the cell has output_size {self.cell.output_size} but returned {outputs!r:.200}")
        pairs = zip(written, leaves, strict=True)
        return time + 1, tuple([array.write(time, leaf) for array, leaf in pairs]), after

    def _stacked(self, array: Any, size: Any) -> Tensor:
        known = sizes.known_shape([self.static_batch], size)
        if known.is_fully_defined():
            stacked: Tensor = array.stack()
        else:
            # The shape is given as a tensor, so that a loop without steps returns outputs of the right shape.
            whole = sizes.shape_operand(self.batch, size)
            with array.flow.graph.name_scope("TensorArrayStack"):
                stacked = tensor_list_stack(array.flow, self.dtype, -1, whole, "TensorArrayGatherV3")
        stacked.set_shape(sizes.known_shape([self.static_time], known))
        return stacked


def _common_extents(flat: Sequence[Tensor]) -> tuple[int | None, int | None]:
    """Return the static sizes of time and batch, which must be the same for all inputs."""
    for each in flat:
        sized = sizes_of(each)
        if sized is None or len(sized) < 3:
            raise ValueError(f"Shape {each.shape} must have rank at least 3: {each!r}")
        if None in sized[2:]:
            raise ValueError(
                "Input size (depth of inputs) must be accessible via shape inference, but saw value None "
                f"for input={each!r}."
            )
    time, batch = sizes_of(flat[0])[:2]
    for each in flat:
        for what, size, expected in zip(
            ("Time steps is", "Batch_size is"), sizes_of(each)[:2], (time, batch), strict=True
        ):
            if size != expected:
                raise ValueError(
                    f"{what} not the same for all the elements in the input: {expected} and {size} for input={each!r}."
                )
    return time, batch


def bidirectional_dynamic_rnn(
    cell_fw: Any,
    cell_bw: Any,
    inputs: Any,
    sequence_length: Any = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: Any = None,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Return the outputs of two cells, one running forward in time and one backward.

    Args:
        cell_fw: the forward cell.
        cell_bw: the backward cell.
        inputs: see ``dynamic_rnn``.
        sequence_length: see ``dynamic_rnn``; each sequence is reversed within its own length.
        initial_state_fw: see ``dynamic_rnn``.
        initial_state_bw: see ``dynamic_rnn``.
        dtype: see ``dynamic_rnn``.
        time_major: see ``dynamic_rnn``.
        scope: the scope of the variables; ``bidirectional_rnn`` if omitted.

    Returns:
        The forward and backward outputs, both in the order of the inputs, and the forward and backward last
        states.

    Raises:
        TypeError: if an argument is not a cell.
        ValueError: as for ``dynamic_rnn``.
    """
    check_cell("cell_fw", cell_fw)
    check_cell("cell_bw", cell_bw)
    time_axis, batch_axis = (0, 1) if time_major else (1, 0)

    def reverse(value: Any) -> Tensor:
        if sequence_length is None:
            return ops.reverse(value, [time_axis])
        return ops.reverse_sequence(value, sequence_length, seq_axis=time_axis, batch_axis=batch_axis)

    with ops.variable_scope(scope or "bidirectional_rnn"):
        with ops.variable_scope("fw") as forward:
            outputs_fw, state_fw = dynamic_rnn(
                cell_fw, inputs, sequence_length, initial_state_fw, dtype, time_major, forward
            )
        with ops.variable_scope("bw") as back:
            outputs_bw, state_bw = dynamic_rnn(
                cell_bw, nests.mapped(reverse, inputs), sequence_length, initial_state_bw, dtype, time_major, back
            )
    return (outputs_fw, nests.mapped(reverse, outputs_bw)), (state_fw, state_bw)
