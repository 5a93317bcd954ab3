"""Cells with a memory: ``BasicLSTMCell`` and ``LSTMCell``, with their state ``LSTMStateTuple``."""

from __future__ import annotations

from typing import Any, NamedTuple

from actorsession import ops
from actorsession.ops.neural.biases import bias_add
from actorsession.ops.variables.store import Reuse
from actorsession.train.layers import nests
from actorsession.train.layers.names import initializer_of
from actorsession.train.layers.recurrent.cells.basic import UnitsCell
from actorsession.train.layers.recurrent.sizes import check_floating

__all__ = ["BasicLSTMCell", "LSTMCell", "LSTMStateTuple"]


class _MemoryAndOutput(NamedTuple):
    c: Any
    h: Any


class LSTMStateTuple(_MemoryAndOutput):
    """The state of a cell with a memory.

    Attributes:
        c: the memory.
        h: the output.
    """

    __slots__ = ()

    @property
    def dtype(self) -> Any:
        """The common dtype of both.

        Raises:
            TypeError: if they differ.
        """
        c, h = self
        if c.dtype != h.dtype:
            raise TypeError(f"Inconsistent internal state: {c.dtype.name} vs {h.dtype.name}")
        return c.dtype


def _both(state: Any) -> Any:
    """Return the memory and the output of a state."""
    if not nests.is_nested(state):
        raise TypeError(f"a state must be a pair of memory and output, (c, h); got {state!r:.200}")
    return state


class BasicLSTMCell(UnitsCell):
    """The cell of Zaremba et al. (2014): a memory with an input, a forget and an output gate.

    Args:
        num_units: the number of columns of memory and output.
        forget_bias: the bias that is added to the forget gate.
        state_is_tuple: whether a state is an ``LSTMStateTuple``; otherwise memory and output are concatenated
            to one matrix.
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
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: Reuse = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype, **kwargs)
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple

    @property
    def state_size(self) -> Any:
        """The numbers of columns of memory and output."""
        units = self._num_units
        return LSTMStateTuple(units, units) if self._state_is_tuple else 2 * units

    def build(self, inputs_shape: Any) -> None:
        """Create the kernel and the bias of all gates for inputs of a shape."""
        rows, columns = self._depth(inputs_shape) + self._num_units, 4 * self._num_units
        self._kernel = self.add_variable("kernel", [rows, columns])
        self._bias = self.add_variable("bias", [columns], initializer=ops.zeros_initializer())
        self.built = True

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step and return its output and next state; see ``RNNCell``."""
        check_floating(inputs, state)
        if self._state_is_tuple:
            c, h = _both(state)
        else:
            c, h = ops.split(state, num_or_size_splits=2, axis=1)
        gates = ops.matmul(ops.concat([inputs, h], 1), self._kernel)
        i, j, f, o = ops.split(bias_add(gates, self._bias), num_or_size_splits=4, axis=1)
        bias = ops.constant(self._forget_bias, f.dtype)
        kept = ops.multiply(c, ops.sigmoid(ops.add(f, bias)))
        new_c = ops.add(kept, ops.multiply(ops.sigmoid(i), self._activation(j)))
        new_h = ops.multiply(self._activation(new_c), ops.sigmoid(o))
        if self._state_is_tuple:
            return new_h, LSTMStateTuple(new_c, new_h)
        return new_h, ops.concat([new_c, new_h], 1)


class LSTMCell(UnitsCell):
    """The cell of Sak et al. (2014): ``BasicLSTMCell`` with peepholes, a projection and limits.

    Args:
        num_units: the number of columns of the memory.
        use_peepholes: whether gates also depend on the memory, each column on its own.
        cell_clip: the largest absolute value in the memory.
        initializer: the initialiser of its matrices and peepholes; the scope's if omitted.
        num_proj: the number of columns to which the output is projected.
        proj_clip: the largest absolute value of a projected output.
        num_unit_shards: the number of shards of the kernel; a partitioner of the scope has the same effect.
        num_proj_shards: the number of shards of the projection.
        forget_bias: the bias that is added to the forget gate.
        state_is_tuple: see ``BasicLSTMCell``.
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
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int | None = None,
        num_proj_shards: int | None = None,
        forget_bias: float = 1.0,
        state_is_tuple: bool = True,
        activation: Any = None,
        reuse: Reuse = None,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(num_units, activation, reuse, name, dtype, **kwargs)
        self._use_peepholes = use_peepholes
        self._cell_clip = cell_clip
        self._initializer = initializer_of(initializer)
        self._num_proj = num_proj
        self._proj_clip = proj_clip
        self._shards = (num_unit_shards, num_proj_shards)
        self._forget_bias = forget_bias
        self._state_is_tuple = state_is_tuple
        self._output_size = num_proj or num_units

    @property
    def state_size(self) -> Any:
        """The numbers of columns of memory and output."""
        units, outputs = self._num_units, self._output_size
        return LSTMStateTuple(units, outputs) if self._state_is_tuple else units + outputs

    @property
    def output_size(self) -> Any:
        """The number of columns of an output."""
        return self._output_size

    def build(self, inputs_shape: Any) -> None:
        """Create the variables for inputs of a shape."""
        rows, units = self._depth(inputs_shape) + self._output_size, self._num_units
        self._kernel = self._add_matrix("kernel", [rows, 4 * units], self._shards[0])
        self._bias = self.add_variable("bias", [4 * units], initializer=ops.zeros_initializer())
        if self._use_peepholes:
            self._w_f_diag = self._add_matrix("w_f_diag", [units])
            self._w_i_diag = self._add_matrix("w_i_diag", [units])
            self._w_o_diag = self._add_matrix("w_o_diag", [units])
        if self._num_proj is not None:
            shape = [units, self._num_proj]
            self._proj_kernel = self._add_matrix("projection/kernel", shape, self._shards[1])
        self.built = True

    def _add_matrix(self, name: str, shape: list[int], shards: int | None = None) -> Any:
        partitioner = None if shards is None else ops.fixed_size_partitioner(shards)
        return self.add_variable(name, shape, initializer=self._initializer, partitioner=partitioner)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step and return its output and next state; see ``RNNCell``."""
        check_floating(inputs, state)
        if self._state_is_tuple:
            c_before, h_before = _both(state)
        else:
            units = self._num_units
            c_before = ops.slice(state, [0, 0], [-1, units])
            h_before = ops.slice(state, [0, units], [-1, self._output_size])
        gates = ops.matmul(ops.concat([inputs, h_before], 1), self._kernel)
        i, j, f, o = ops.split(bias_add(gates, self._bias), num_or_size_splits=4, axis=1)
        f = f + self._forget_bias
        if self._use_peepholes:
            f, i = f + self._w_f_diag * c_before, i + self._w_i_diag * c_before
        c = ops.sigmoid(f) * c_before + ops.sigmoid(i) * self._activation(j)
        if self._cell_clip is not None:
            c = ops.clip_by_value(c, -self._cell_clip, self._cell_clip)
        if self._use_peepholes:
            o = o + self._w_o_diag * c
        h = self._projected(ops.sigmoid(o) * self._activation(c))
        return h, LSTMStateTuple(c, h) if self._state_is_tuple else ops.concat([c, h], 1)

    def _projected(self, h: Any) -> Any:
        if self._num_proj is None:
            return h
        h = ops.matmul(h, self._proj_kernel)
        if self._proj_clip is None:
            return h
        return ops.clip_by_value(h, -self._proj_clip, self._proj_clip)
