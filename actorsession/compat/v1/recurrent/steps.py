"""What the loops over time have in common: how they look at inputs, and what they do past the end."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from actorsession import ops
from actorsession.compat.v1.recurrent import nests
from actorsession.graph.dtypes import int32
from actorsession.graph.graph import get_default_graph
from actorsession.graph.operation import Tensor
from actorsession.graph.scopes import scope_of
from actorsession.graph.shape import TensorShape
from actorsession.ops import VariableScope

__all__ = [
    "Lengths", "as_tensors", "batch_of", "check_lengths", "copied_through", "first_state",
    "opened", "sizes_of", "swapped",
]  # fmt: skip


@contextlib.contextmanager
def opened(scope: Any, default: str) -> Iterator[VariableScope]:
    """A variable scope in which each variable is read once in a step, before any loop.

    Args:
        scope: its name or itself.
        default: its name if there is none.
    """
    with ops.variable_scope(scope or default) as found:
        # What is read inside a loop is read in each iteration, and its gradient keeps each of the values.
        if found.caching_device is None and scope_of(get_default_graph()).body is None:
            found.set_caching_device(lambda op: op.device)
        yield found


def swapped(value: Any) -> Tensor:
    """A tensor with its first two axes, batch and time, in the other order; vectors as they are."""
    tensor = ops.convert_to_tensor(value)
    rank = tensor.shape.rank
    if rank is None:
        raise ValueError(f"inputs need a known rank, got {tensor!r}")
    if rank < 2:
        return tensor
    return ops.transpose(tensor, [1, 0, *range(2, rank)])


def sizes_of(tensor: Tensor) -> Any:
    """Return the static sizes of a tensor, numbers and ``None``, or ``None`` for an unknown rank."""
    return TensorShape(tensor.shape).sizes


def batch_of(inputs: Sequence[Tensor], axis: int) -> Any:
    """Return how many members a batch has: a number if one of the inputs tells, else a scalar."""
    for tensor in inputs:
        sized = sizes_of(tensor)
        if sized is not None and len(sized) <= axis:
            raise ValueError(
                f"Input tensor should have rank >= {axis + 1}. Received input={tensor!r} of rank "
                f"{len(sized)}"
            )
        if sized is not None and sized[axis] is not None:
            return sized[axis]
    return ops.shape(inputs[0])[axis]


def as_tensors(state: Any) -> Any:
    """A state whose leaves are tensors, or arrays of them."""
    return nests.mapped(
        lambda leaf: leaf if isinstance(leaf, ops.TensorArray) else ops.convert_to_tensor(leaf),
        state,
    )


def first_state(cell: Any, initial: Any, batch_size: Any, dtype: Any) -> Any:
    """Return the state to begin with: the one that was given, or zeros.

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
    """A structure in which members whose sequence is over have what was before.

    Args:
        over: whether it is, for each member.
        before: what they have then; arrays and scalars are passed on whatever that is.
        after: what the others have.
    """

    def chosen(old: Any, new: Any) -> Any:
        if isinstance(old, ops.TensorArray) or old.shape.rank == 0:
            return new
        made = ops.where(over, old, new)
        made.set_shape(old.shape)
        return made

    return nests.mapped(chosen, before, after)


class Lengths:
    """The lengths of the sequences of a batch, while steps are built.

    Args:
        lengths: an int32 vector.
        zero_output: what is put out past the end.
    """

    def __init__(self, lengths: Tensor, zero_output: Any) -> None:
        self.each = lengths
        self.least = ops.reduce_min(lengths)
        self.most = ops.reduce_max(lengths)
        self.zero_output = zero_output

    def step(self, time: Any, state: Any, call: Callable[[], tuple[Any, Any]]) -> tuple[Any, Any]:
        """A step that every member takes, and whose result those keep whose sequence goes on.

        Args:
            time: how many steps were taken.
            state: before the step.
            call: takes it; gives outputs and state.
        """
        outputs, after = call()
        self._check(outputs, state, after)
        return self._through(time, state, outputs, after)

    def maybe_step(
        self, time: int, state: Any, call: Callable[[], tuple[Any, Any]]
    ) -> tuple[Any, Any]:
        """As ``step``, but when all sequences are over nothing is computed."""
        nothing = nests.flatten(self.zero_output) + nests.flatten(state)

        def step() -> list[Any]:
            outputs, after = call()
            self._check(outputs, state, after)
            whole = nests.flatten(outputs) + nests.flatten(after)
            return _conditional(
                time < self.least,
                lambda: whole,
                lambda: nests.flatten(self._through(time, state, outputs, after)),
            )

        found = _conditional(time >= self.most, lambda: nothing, step)
        for tensor, like in zip(found, nothing, strict=True):
            if not isinstance(tensor, ops.TensorArray):
                tensor.set_shape(like.shape)
        count = len(nests.flatten(self.zero_output))
        return nests.pack(self.zero_output, found[:count]), nests.pack(state, found[count:])

    def _through(self, time: Any, state: Any, outputs: Any, after: Any) -> tuple[Any, Any]:
        over = ops.greater_equal(time, self.each)
        zeros = self.zero_output
        return copied_through(over, zeros, outputs), copied_through(over, state, after)

    def _check(self, outputs: Any, state: Any, after: Any) -> None:
        nests.check_alike(self.zero_output, outputs, "output_size and the outputs of the cell")
        nests.check_alike(state, after, "the states before and after a step of the cell")


def _conditional(
    pred: Any, true_fn: Callable[[], list[Any]], false_fn: Callable[[], list[Any]]
) -> list[Any]:
    """``cond`` between two lists, which stay lists."""
    found: list[Any] = ops.cond(pred, true_fn, false_fn, strict=True)
    return found
