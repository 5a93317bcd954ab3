"""Cells that go over frequencies within each step of time: ``TimeFreqLSTMCell`` and grids of LSTMs."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import Any

from actorsession import ops
from actorsession.ops.neural.biases import bias_add
from actorsession.train.layers.recurrent.cells.cell import RNNCell
from actorsession.train.layers.recurrent.cells.variants import _clipped, _columns, sharded

__all__ = ["BidirectionalGridLSTMCell", "GridLSTMCell", "TimeFreqLSTMCell"]


class TimeFreqLSTMCell(RNNCell):
    """An LSTM over windows of frequencies within each step (Li and others, 2015).

    Args:
        num_units: the number of columns of a memory.
        use_peepholes: whether gates see the memory.
        cell_clip: the greatest size of a memory's numbers.
        initializer: without effect, as in TensorFlow.
        num_unit_shards: how many variables the kernel consists of.
        forget_bias: added to the forget gate.
        feature_size: the width of a window.
        frequency_skip: the step from one window to the next.
        reuse: whether its variables are shared.
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_unit_shards: int = 1,
        forget_bias: float = 1.0,
        feature_size: int | None = None,
        frequency_skip: int = 1,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._peeps, self._clip = num_units, use_peepholes, cell_clip
        self._shards, self._bias = num_unit_shards, forget_bias
        self._width, self._skip = feature_size, frequency_skip

    @property
    def state_size(self) -> int:
        """The number of columns of memory and output together."""
        return 2 * self._num_units

    @property
    def output_size(self) -> int:
        """The number of columns of an output."""
        return self._num_units

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step."""
        units, dtype = self._num_units, inputs.dtype
        wide = self._width or 0
        windows = (_columns(inputs) - wide) // self._skip + 1
        kernel = sharded("W", [wide + 2 * units, 4 * units], dtype, self._shards)
        bias = ops.get_variable("B", [4 * units], dtype, ops.zeros_initializer())
        peeps = {gate: ops.get_variable(f"W_{gate}_diag", [units], dtype) if self._peeps else 0.0 for gate in "FIO"}
        before: Any = ops.zeros(ops.stack([ops.shape(inputs)[0], units]), dtype)
        outputs, states = [], []
        for number in range(windows):
            window = inputs[:, number * self._skip : number * self._skip + wide]
            memory = state[:, 2 * number * units : (2 * number + 1) * units]
            last = state[:, (2 * number + 1) * units : (2 * number + 2) * units]
            gates = bias_add(ops.matmul(ops.concat([window, last, before], 1), kernel), bias)
            entering, new, forget, leaving = ops.split(gates, 4, 1)
            kept = ops.sigmoid(forget + self._bias + peeps["F"] * memory) * memory
            taken = ops.sigmoid(entering + peeps["I"] * memory) * ops.tanh(new)
            memory = _clipped(kept + taken, self._clip)
            before = ops.sigmoid(leaving + peeps["O"] * memory) * ops.tanh(memory)
            outputs.append(before)
            states += [memory, before]
        return ops.concat(outputs, 1), ops.concat(states, 1)


class GridLSTMCell(RNNCell):
    """An LSTM over time and one over windows of frequencies, which see each other (Kalchbrenner and others).

    Args:
        num_units: the number of columns of a memory.
        use_peepholes: whether gates see the memories.
        share_time_frequency_weights: whether both have the same weights.
        cell_clip: the greatest size of a memory's numbers.
        initializer: without effect, as in TensorFlow.
        num_unit_shards: how many variables a kernel consists of.
        forget_bias: added to the forget gates.
        feature_size: the width of a window.
        frequency_skip: the step from one window to the next.
        num_frequency_blocks: the number of windows of each block of frequencies.
        start_freqindex_list: where each block begins; there is one block if left out.
        end_freqindex_list: where each block ends.
        couple_input_forget_gates: whether it forgets as much as it learns.
        state_is_tuple: whether a state is a tuple; otherwise its parts are side by side.
        reuse: whether its variables are shared.

    Raises:
        ValueError: without ``num_frequency_blocks``; in the first call, if they do not fit the inputs.
    """

    _TUPLE = "GridLSTMStateTuple"
    _PREFIXES: tuple[str, ...] = ("state",)

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        share_time_frequency_weights: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_unit_shards: int = 1,
        forget_bias: float = 1.0,
        feature_size: int | None = None,
        frequency_skip: int | None = None,
        num_frequency_blocks: Sequence[int] | None = None,
        start_freqindex_list: Sequence[int] | None = None,
        end_freqindex_list: Sequence[int] | None = None,
        couple_input_forget_gates: bool = False,
        state_is_tuple: bool = True,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        if num_frequency_blocks is None:
            raise ValueError("Must specify num_frequency_blocks")
        self._num_units, self._peeps, self._shares = (num_units, use_peepholes, share_time_frequency_weights)
        self._clip, self._shards, self._bias = cell_clip, num_unit_shards, forget_bias
        self._width, self._skip = feature_size or 0, frequency_skip or 1
        self._blocks = [int(each) for each in num_frequency_blocks]
        self._starts, self._ends = start_freqindex_list, end_freqindex_list
        self._couples, self._as_tuple = couple_input_forget_gates, state_is_tuple
        names = [
            f"{prefix}_f{window:02d}_b{block:02d}_{part}"
            for prefix in self._PREFIXES
            for block, count in enumerate(self._blocks)
            for window in range(count)
            for part in "cm"
        ]
        self._kind: Any = collections.namedtuple(self._TUPLE, names) if state_is_tuple else None
        self._count = len(names)

    @property
    def state_tuple_type(self) -> Any:
        """The class of its states."""
        return self._kind

    @property
    def state_size(self) -> Any:
        """The numbers of columns of a state."""
        if self._kind is None:
            return self._num_units * self._count
        return self._kind(*[self._num_units] * self._count)

    @property
    def output_size(self) -> int:
        """The number of columns of an output."""
        return self._num_units * self._count

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step."""
        outputs, states = self._blocks_of(self._windows(inputs), state, "state")
        after = self._kind(*states) if self._kind is not None else ops.concat(states, 1)
        return ops.concat(outputs, 1), after

    def _blocks_of(self, blocks: list[Any], state: Any, prefix: str) -> tuple[list[Any], list[Any]]:
        outputs: list[Any] = []
        states: list[Any] = []
        for block, windows in enumerate(blocks):
            own_outputs, kept = self._block(windows, block, state, prefix)
            outputs += own_outputs
            states += kept
        return outputs, states

    def _windows(self, inputs: Any, offset: int = 0) -> list[list[Any]]:
        """Return the windows of each block.

        Raises:
            ValueError: for other numbers of windows than the cell has.
        """
        columns = _columns(inputs)
        if offset:
            inputs = ops.pad(inputs, [[0, 0], [max(-offset, 0), max(offset, 0)]])
        starts, ends = self._starts or [0], self._ends or [columns]
        if len(starts) != len(ends):
            raise ValueError(f"Length of start and end freqindex_list does not match {len(starts)} {len(ends)}")
        if len(starts) != len(self._blocks):
            if self._starts:
                raise ValueError(
                    "Length of num_frequency_blocks is not equal to start_freqindex_list "
                    f"{len(self._blocks)} {len(starts)}"
                )
            raise ValueError(f"Length of num_frequency_blocks is not 1, but instead is {len(self._blocks)}")
        windows = []
        for start, end, expected in zip(starts, ends, self._blocks, strict=True):
            count = (end - start - self._width) // self._skip + 1
            if count != expected:
                raise ValueError(
                    f"Invalid num_frequency_blocks, requires {expected} but gets {count}, please check the "
                    "input size and filter config are correct."
                )
            first = start + max(offset, 0)
            places = range(first, first + count * self._skip, self._skip)
            windows.append([inputs[:, at : at + self._width] for at in places])
        return windows

    def _variables_of(self, block: int, dtype: Any, gates: int) -> tuple[list[Any], dict[str, Any]]:
        """Return kernels and biases of frequencies and of time, and the peepholes by their names."""
        units, shape = self._num_units, [self._width + 2 * self._num_units, gates * self._num_units]
        weights = []
        for axis in "f" if self._shares else "ft":
            kernel = sharded(f"W_{axis}_{block}", shape, dtype, self._shards)
            zeros = ops.zeros_initializer()
            bias = ops.get_variable(f"B_{axis}_{block}", [gates * units], dtype, zeros)
            weights.append((kernel, bias))
        peeps = {}
        if self._peeps:
            for axis in ("freq",) if self._shares else ("freq", "time"):
                for gate in "IO" if self._couples else "FIO":
                    for of in "ft":
                        name = f"W_{gate}_diag_{axis}{of}_{block}"
                        peeps[gate + axis + of] = ops.get_variable(name, [units], dtype)
        return weights, peeps

    def _block(self, windows: list[Any], block: int, state: Any, prefix: str) -> tuple[list[Any], list[Any]]:
        units, dtype, gates = self._num_units, windows[0].dtype, 3 if self._couples else 4
        weights, peeps = self._variables_of(block, dtype, gates)
        axes = ("freq", "freq" if self._shares else "time")
        zeros = ops.zeros(ops.stack([ops.shape(windows[0])[0], units]), dtype)
        output, memory = zeros, zeros
        outputs: list[Any] = []
        states: list[Any] = []

        def seen(gate: str, axis: str, of_frequency: Any, of_time: Any) -> Any:
            if not peeps:
                return 0.0
            return peeps[gate + axis + "f"] * of_frequency + peeps[gate + axis + "t"] * of_time

        for number, window in enumerate(windows):
            if self._kind is not None:
                name = f"{prefix}_f{number:02d}_b{block:02d}"
                known, last = getattr(state, f"{name}_c"), getattr(state, f"{name}_m")
            else:
                known = state[:, 2 * number * units : (2 * number + 1) * units]
                last = state[:, (2 * number + 1) * units : (2 * number + 2) * units]
            joined = ops.concat([window, last, output], 1)
            maps = [bias_add(ops.matmul(joined, kernel), bias) for kernel, bias in weights]
            memories, leavings = [], []
            for axis, mapped, before in zip(axes, (maps[0], maps[-1]), (memory, known), strict=True):
                parts = ops.split(mapped, gates, 1)
                entering = ops.sigmoid(parts[0] + seen("I", axis, memory, known))
                kept = 1.0 - entering
                if not self._couples:
                    kept = ops.sigmoid(parts[2] + self._bias + seen("F", axis, memory, known))
                updated = kept * before + entering * ops.tanh(parts[1])
                memories.append(_clipped(updated, self._clip))
                leavings.append(parts[-1])
            output, of_time = (
                ops.sigmoid(leaving + seen("O", axis, *memories)) * ops.tanh(own)
                for axis, leaving, own in zip(axes, leavings, memories, strict=True)
            )
            memory = memories[0]
            states += [memories[1], of_time]
            outputs += [of_time, output]
        return outputs, states


class BidirectionalGridLSTMCell(GridLSTMCell):
    """A grid that goes over frequencies upwards and another one downwards.

    The arguments are those of ``GridLSTMCell`` up to ``couple_input_forget_gates``.

    Args:
        backward_slice_offset: how far the windows of the second one are moved.
        reuse: whether its variables are shared.
    """

    _TUPLE = "BidirectionalGridLSTMStateTuple"
    _PREFIXES = ("fwd_state", "bwd_state")

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        share_time_frequency_weights: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_unit_shards: int = 1,
        forget_bias: float = 1.0,
        feature_size: int | None = None,
        frequency_skip: int | None = None,
        num_frequency_blocks: Sequence[int] | None = None,
        start_freqindex_list: Sequence[int] | None = None,
        end_freqindex_list: Sequence[int] | None = None,
        couple_input_forget_gates: bool = False,
        backward_slice_offset: int = 0,
        reuse: Any = None,
    ) -> None:
        super().__init__(
            num_units, use_peepholes, share_time_frequency_weights, cell_clip, initializer, num_unit_shards,
            forget_bias, feature_size, frequency_skip, num_frequency_blocks, start_freqindex_list,
            end_freqindex_list, couple_input_forget_gates, True, reuse,
        )  # fmt: skip
        self._offset = int(backward_slice_offset)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step."""
        upwards = self._windows(inputs)
        downwards = self._windows(inputs, self._offset) if self._offset else upwards
        with ops.variable_scope("fwd"):
            outputs, states = self._blocks_of(upwards, state, "fwd_state")
        with ops.variable_scope("bwd"):
            turned = [windows[::-1] for windows in downwards]
            more, others = self._blocks_of(turned, state, "bwd_state")
        return ops.concat([*outputs, *more], 1), self._kind(*states, *others)
