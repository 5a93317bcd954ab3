"""Common code of the loops over time: input sizes, initial states, and steps past the end of a sequence."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from actorsession import ops
from actorsession.graph.dtypes import int32
from actorsession.graph.graph import get_default_graph
from actorsession.graph.operation import Tensor
from actorsession.graph.scopes import scope_of
from actorsession.graph.shape import TensorShape
from actorsession.ops import VariableScope
from actorsession.train.layers import nests

__all__ = [
    "Lengths",
    "as_tensors",
    "batch_of",
    "check_lengths",
    "copied_through",
    "first_state",
    "opened",
    "sizes_of",
    "transposed",
]


@contextlib.contextmanager
def opened(scope: Any, default: str, *, unique: bool = False) -> Iterator[VariableScope]:
    """Open a variable scope in which each variable is read once per step, outside of loops.

    Args:
        scope: the scope or its name.
        default: the name if no scope is given.
        unique: whether that name is made unique.
    """
    with ops.variable_scope(scope or (None if unique else default), default) as entered:
        # A read inside a loop runs in each iteration, and its gradient keeps each value.
        if entered.caching_device is None and scope_of(get_default_graph()).body is None:
            entered.set_caching_device(lambda op: op.device)
        yield entered


def transposed(value: Any) -> Tensor:
    """Return a tensor with its first two axes, batch and time, swapped; vectors are returned unchanged."""
    tensor = ops.convert_to_tensor(value)
    rank = tensor.shape.rank
    if rank is None:
        raise ValueError(f"the rank of inputs must be known, got {tensor!r}")
    if rank < 2:
        return tensor
    return ops.transpose(tensor, [1, 0, *range(2, rank)])


def sizes_of(tensor: Tensor) -> Any:
    """Return the static sizes of a tensor, numbers and ``None``; ``None`` for an unknown rank."""
    return TensorShape(tensor.shape).sizes


def batch_of(inputs: Sequence[Tensor], axis: int) -> Any:
    """Return the batch size: a number if an input has it statically, else a scalar tensor."""
    for tensor in inputs:
        sized = sizes_of(tensor)
        if sized is not None and len(sized) <= axis:
            raise ValueError(
                f"Input tensor should have rank >= {axis + 1}. Received input={tensor!r} of rank {len(sized)}"
            )
        if sized is not None and sized[axis] is not None:
            return sized[axis]
    return ops.shape(inputs[0])[axis]


def as_tensors(state: Any) -> Any:
    """Return a state whose leaves are tensors or tensor arrays."""
    return nests.mapped(lambda leaf: leaf if isinstance(leaf, ops.TensorArray) else ops.convert_to_tensor(leaf), state)


def first_state(cell: Any, initial: Any, batch_size: Any, dtype: Any) -> Any:
    """Return the initial state: the given one, or zeros.

    Raises:
        ValueError: without either a state or a dtype.
    """
    if initial is not None:
        return as_tensors(initial)
    if not dtype:
        raise ValueError("If no initial_state is provided, argument `dtype` must be specified")
    if getattr(cell, "get_initial_state", None) is not None:
        return cell.get_initial_state(inputs=None, batch_size=batch_size, dtype=dtype)
    return cell.zero_state(batch_size, dtype)


def check_lengths(lengths: Any) -> Tensor:
    """Return the lengths of sequences as an int32 vector.

    Raises:
        ValueError: for another rank.
    """
    vector = ops.cast(ops.convert_to_tensor(lengths, name="sequence_length"), int32)
    if vector.shape.rank not in (None, 1):
        raise ValueError(
            "Argument sequence_length must be a vector of length batch_size. Received sequence_length="
            f"{lengths!r:.100} of shape: {vector.shape}"
        )
    return vector


def copied_through(over: Any, before: Any, after: Any) -> Any:
    """Return a structure in which members past the end of their sequence keep their previous values.

    Args:
        over: for each member, whether its sequence is over.
        before: the previous values.
        after: the new values; tensor arrays and scalars are always taken from here.
    """

    def chosen(old: Any, new: Any) -> Any:
        if isinstance(old, ops.TensorArray) or old.shape.rank == 0:
            return new
        selected = ops.where(over, old, new)
        selected.set_shape(old.shape)
        return selected

    return nests.mapped(chosen, before, after)


class Lengths:
    """The lengths of the sequences of a batch, for the construction of steps.

    Args:
        lengths: an int32 vector.
        zero_output: the output past the end.
    """

    def __init__(self, lengths: Tensor, zero_output: Any) -> None:
        self.each = lengths
        self.least = ops.reduce_min(lengths)
        self.most = ops.reduce_max(lengths)
        self.zero_output = zero_output

    def step(self, time: Any, state: Any, call: Callable[[], tuple[Any, Any]]) -> tuple[Any, Any]:
        """Build a step that is computed for every member and discarded past the end of a sequence.

        Args:
            time: the number of the step.
            state: the state before the step.
            call: builds the step and returns outputs and state.
        """
        outputs, after = call()
        self._check(outputs, state, after)
        return self._through(time, state, outputs, after)

    def maybe_step(self, time: int, state: Any, call: Callable[[], tuple[Any, Any]]) -> tuple[Any, Any]:
        """Build a step like ``step`` that is skipped when all sequences are over."""
        nothing = nests.flatten(self.zero_output) + nests.flatten(state)

        def step() -> list[Any]:
            outputs, after = call()
            self._check(outputs, state, after)
            whole = nests.flatten(outputs) + nests.flatten(after)
            return _conditional(
                time < self.least, lambda: whole, lambda: nests.flatten(self._through(time, state, outputs, after))
            )

        leaves = _conditional(time >= self.most, lambda: nothing, step)
        for tensor, like in zip(leaves, nothing, strict=True):
            if not isinstance(tensor, ops.TensorArray):
                tensor.set_shape(like.shape)
        count = len(nests.flatten(self.zero_output))
        return nests.pack(self.zero_output, leaves[:count]), nests.pack(state, leaves[count:])

    def _through(self, time: Any, state: Any, outputs: Any, after: Any) -> tuple[Any, Any]:
        over = ops.greater_equal(time, self.each)
        zeros = self.zero_output
        return copied_through(over, zeros, outputs), copied_through(over, state, after)

    def _check(self, outputs: Any, state: Any, after: Any) -> None:
        nests.check_alike(self.zero_output, outputs, "output_size and the outputs of the cell")
        nests.check_alike(state, after, "the states before and after a step of the cell")


def _conditional(pred: Any, true_fn: Callable[[], list[Any]], false_fn: Callable[[], list[Any]]) -> list[Any]:
    """Return the result of ``cond`` between two lists, as a list."""
    results: list[Any] = ops.cond(pred, true_fn, false_fn, strict=True)
    return results
