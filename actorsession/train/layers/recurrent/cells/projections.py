"""Wrappers of ``tf.contrib.rnn`` that change what goes into a cell and what comes out, and attention."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from actorsession import ops
from actorsession.ops.convolutions.operations import conv2d
from actorsession.ops.neural.embedding import embedding_lookup
from actorsession.ops.neural.softmax import softmax
from actorsession.train.layers import nests
from actorsession.train.layers.recurrent.cells.cell import RNNCell, check_cell
from actorsession.train.layers.recurrent.cells.linear import _linear

__all__ = [
    "AttentionCellWrapper",
    "EmbeddingWrapper",
    "HighwayWrapper",
    "InputProjectionWrapper",
    "OutputProjectionWrapper",
]


class _Around(RNNCell):
    """The common part of cells around another one, whose state is theirs."""

    def __init__(self, cell: Any, reuse: Any = None) -> None:
        super().__init__(_reuse=reuse)
        check_cell("cell", cell)
        self._cell = cell

    @property
    def state_size(self) -> Any:
        """The state of the cell."""
        return self._cell.state_size

    @property
    def output_size(self) -> Any:
        """The outputs of the cell."""
        return self._cell.output_size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return the first state of the cell."""
        return self._cell.zero_state(batch_size, dtype)


class InputProjectionWrapper(_Around):
    """A cell that reads a linear map of its inputs.

    Args:
        cell: the cell.
        num_proj: the number of columns of the map.
        activation: applied to the map; none if left out.
        input_size: without effect.
        reuse: whether its variables are shared.
    """

    def __init__(
        self,
        cell: Any,
        num_proj: int,
        activation: Callable[..., Any] | None = None,
        input_size: Any = None,
        reuse: Any = None,
    ) -> None:
        super().__init__(cell, reuse)
        self._columns, self._activation = num_proj, activation

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step."""
        projected = _linear(inputs, self._columns, True)
        read = projected if self._activation is None else self._activation(projected)
        stepped: tuple[Any, Any] = self._cell(read, state)
        return stepped


class OutputProjectionWrapper(_Around):
    """A cell whose outputs are a linear map of those of another one.

    Args:
        cell: the cell.
        output_size: the number of columns of the map.
        activation: applied to the map; none if left out.
        reuse: whether its variables are shared.

    Raises:
        ValueError: for a number of columns below 1.
    """

    def __init__(
        self, cell: Any, output_size: int, activation: Callable[..., Any] | None = None, reuse: Any = None
    ) -> None:
        super().__init__(cell, reuse)
        if output_size < 1:
            raise ValueError(f"Parameter output_size must be > 0: {output_size}.")
        self._columns, self._activation = output_size, activation

    @property
    def output_size(self) -> int:
        """The number of columns of the map."""
        return self._columns

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step."""
        output, after = self._cell(inputs, state)
        projected = _linear(output, self._columns, True)
        return (projected if self._activation is None else self._activation(projected)), after


class EmbeddingWrapper(_Around):
    """A cell that reads the vectors of ids.

    Args:
        cell: the cell.
        embedding_classes: the number of ids.
        embedding_size: the number of columns of a vector.
        initializer: the initialiser of the vectors; uniform up to the root of 3 if the scope has none.
        reuse: whether its variables are shared.

    Raises:
        ValueError: for a number below 1.
    """

    def __init__(
        self, cell: Any, embedding_classes: int, embedding_size: int, initializer: Any = None, reuse: Any = None
    ) -> None:
        super().__init__(cell, reuse)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError(
                f"Both embedding_classes and embedding_size must be > 0: {embedding_classes}, {embedding_size}."
            )
        self._shape, self._start = [embedding_classes, embedding_size], initializer

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step."""
        start = self._start or ops.get_variable_scope().initializer
        if start is None:
            limit = math.sqrt(3)
            start = ops.random_uniform_initializer(-limit, limit)
        dtype = nests.flatten(state)[0].dtype
        table = ops.get_variable("embedding", self._shape, dtype, start)
        read = embedding_lookup(table, ops.reshape(inputs, [-1]))
        stepped: tuple[Any, Any] = self._cell(read, state)
        return stepped


class HighwayWrapper(_Around):
    """A cell with a gate between its inputs and its outputs (Srivastava and others, 2015).

    Args:
        cell: the cell, with as many columns of outputs as of inputs.
        couple_carry_transform_gates: whether one gate is what the other leaves.
        carry_bias_init: the first bias of the gate of the inputs.
    """

    def __init__(self, cell: Any, couple_carry_transform_gates: bool = True, carry_bias_init: float = 1.0) -> None:
        super().__init__(cell)
        self._coupled, self._bias = couple_carry_transform_gates, carry_bias_init

    def _gate(self, name: str, inputs: Any, bias: float) -> Any:
        width = int(inputs.shape[-1])
        weights = ops.get_variable(f"{name}_w", [width, width], inputs.dtype)
        start = ops.constant_initializer(bias)
        offset = ops.get_variable(f"{name}_b", [width], inputs.dtype, start)
        return ops.sigmoid(ops.matmul(inputs, weights) + offset)

    def __call__(self, inputs: Any, state: Any, scope: Any = None) -> tuple[Any, Any]:
        """Build one step; the gates have no scope of their own."""
        outputs, after = self._cell(inputs, state, scope=scope)
        carry = self._gate("carry", inputs, self._bias)
        changed = 1 - carry if self._coupled else self._gate("transform", inputs, -self._bias)
        return inputs * carry + outputs * changed, after


class AttentionCellWrapper(_Around):
    """A cell that looks at the last states of its own.

    Args:
        cell: the cell.
        attn_length: the number of states.
        attn_size: the number of columns of a state; as many as outputs have if left out.
        attn_vec_size: the number of columns in which they are compared; as many if left out.
        input_size: the number of columns that the cell reads; as many as inputs have if left out.
        state_is_tuple: accepted if it is true.
        reuse: whether its variables are shared.

    Raises:
        ValueError: for a number of states below 1, or states that are no tuples.
    """

    def __init__(
        self,
        cell: Any,
        attn_length: int,
        attn_size: int | None = None,
        attn_vec_size: int | None = None,
        input_size: int | None = None,
        state_is_tuple: bool = True,
        reuse: Any = None,
    ) -> None:
        super().__init__(cell, reuse)
        if attn_length <= 0:
            raise ValueError(f"attn_length should be greater than zero, got {attn_length}")
        if not state_is_tuple:
            raise ValueError("states are tuples here; state_is_tuple has to be true")
        self._length, self._input_size = attn_length, input_size
        self._size = attn_size or int(cell.output_size)
        self._vec_size = attn_vec_size or self._size

    @property
    def state_size(self) -> Any:
        """The state of the cell, what was looked at, and the last states."""
        return (self._cell.state_size, self._size, self._size * self._length)

    @property
    def output_size(self) -> int:
        """The number of columns of an output."""
        return self._size

    def zero_state(self, batch_size: Any, dtype: Any) -> Any:
        """Return a state of zeros."""
        return RNNCell.zero_state(self, batch_size, dtype)

    def call(self, inputs: Any, state: Any) -> tuple[Any, Any]:
        """Build one step."""
        inner, seen, states = state
        states = ops.reshape(states, [-1, self._length, self._size])
        read = _linear([inputs, seen], self._input_size or int(inputs.shape[1]), True)
        output, after = self._cell(read, inner)
        flat = ops.concat(nests.flatten(after), 1)
        seen, newer = self._attention(flat, states)
        with ops.variable_scope("attn_output_projection"):
            projected = _linear([output, seen], self._size, True)
        newer = ops.concat([newer, ops.expand_dims(projected, 1)], 1)
        return projected, (after, seen, ops.reshape(newer, [-1, self._length * self._size]))

    def _attention(self, query: Any, states: Any) -> tuple[Any, Any]:
        with ops.variable_scope("attention"):
            kernel = ops.get_variable("attn_w", [1, 1, self._size, self._vec_size])
            vector = ops.get_variable("attn_v", [self._vec_size])
            hidden = ops.reshape(states, [-1, self._length, 1, self._size])
            keys = conv2d(hidden, kernel, [1, 1, 1, 1], "SAME")
            asked = ops.reshape(_linear(query, self._vec_size, True), [-1, 1, 1, self._vec_size])
            shares = softmax(ops.reduce_sum(vector * ops.tanh(keys + asked), [2, 3]))
            weighted = ops.reshape(shares, [-1, self._length, 1, 1]) * hidden
            seen = ops.reshape(ops.reduce_sum(weighted, [1, 2]), [-1, self._size])
            return seen, states[:, 1:]
