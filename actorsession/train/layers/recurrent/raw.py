"""``raw_rnn``: a network whose inputs, outputs and end are determined step by step by a user function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from actorsession import ops
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.train.layers import nests
from actorsession.train.layers.recurrent import sizes
from actorsession.train.layers.recurrent.cells.cell import check_cell
from actorsession.train.layers.recurrent.steps import as_tensors, batch_of, copied_through, opened, sizes_of

__all__ = ["raw_rnn"]


def raw_rnn(cell: Any, loop_fn: Callable[..., Any], scope: Any = None) -> tuple[Any, Any, Any]:
    """Run a cell on the inputs from ``loop_fn`` until all members of the batch are finished.

    Args:
        cell: the cell.
        loop_fn: a function of ``(time, cell_output, cell_state, loop_state)``, in the first call
            ``(0, None, None, None)``. It returns five values: a bool vector of the finished members; the next
            input; the next state, in the first call the initial state; the emitted output, in the first call
            a structure of tensors like one member's output or ``None`` for that of the cell; and the loop
            state, or ``None`` if there is none or it is unchanged.
        scope: the scope of the variables; ``rnn`` if omitted.

    Returns:
        ``TensorArray``s of the emitted outputs in their structure, with zeros for finished members; the last
        state, for each member that of its last step; and the loop state.

    Raises:
        TypeError: if ``cell`` is not a cell or ``loop_fn`` is not callable.
        ValueError: if structures or batches differ.
    """
    check_cell("cell", cell)
    if not callable(loop_fn):
        raise TypeError(f"Argument `loop_fn` must be a callable. Received: {loop_fn}.")
    with opened(scope, "rnn"):
        time = ops.constant(0)
        finished, first_input, state, emitted, loop_state = loop_fn(time, None, None, None)
        nests.check_alike(state, cell.state_size, "the first state and cell.state_size")
        state = as_tensors(state)
        arrays, zeros = _emissions(cell, first_input, state, emitted)
        turn = _Turn(cell, loop_fn, zeros)
        kept = ops.constant(0) if loop_state is None else loop_state
        final = ops.while_loop(
            lambda _, finished, *__: ops.logical_not(ops.reduce_all(finished)),
            turn,
            [time, finished, first_input, arrays, state, kept],
        )
    arrays, state, kept = final[-3:]
    return arrays, state, None if loop_state is None else kept


def _emissions(cell: Any, inputs: Any, state: Any, emitted: Any) -> tuple[Any, Any]:
    """Return the arrays for the emitted outputs, and the zeros for finished members."""
    flat = nests.flatten(inputs)
    batch = batch_of(flat, 0)
    static = _static_batch(flat)
    if emitted is None:
        structure = cell.output_size
        extents: list[Any] = nests.flatten(structure)
        dtypes = [nests.flatten(state)[0].dtype] * len(extents)
    else:
        structure, leaves = emitted, nests.flatten(emitted)
        extents = [_extent(leaf) for leaf in leaves]
        dtypes = [leaf.dtype for leaf in leaves]
    arrays, zeros = [], []
    for number, (extent, dtype) in enumerate(zip(extents, dtypes, strict=True)):
        shape = sizes.known_shape([static], extent)
        name = f"rnn_output_{number}"
        arrays.append(ops.TensorArray(dtype, 0, dynamic_size=True, element_shape=shape, name=name))
        zeros.append(sizes.zeros(batch, extent, dtype))
    return nests.pack(structure, arrays), nests.pack(structure, zeros)


def _static_batch(flat: Sequence[Tensor]) -> int | None:
    batch = TensorShape([None])
    for each in flat:
        batch = batch.merge_with(TensorShape(sizes_of(each))[:1] if sizes_of(each) else [None])
    sized = batch.sizes
    return sized[0] if sized else None


def _extent(leaf: Tensor) -> Any:
    shape = TensorShape(sizes_of(leaf))
    return shape if shape.is_fully_defined() else ops.shape(leaf)


class _Turn:
    """One iteration of the loop during its construction.

    Args:
        cell: the cell.
        loop_fn: see ``raw_rnn``.
        zeros: the emitted output of finished members.
    """

    def __init__(self, cell: Any, loop_fn: Callable[..., Any], zeros: Any) -> None:
        self._cell = cell
        self._loop_fn = loop_fn
        self._zeros = zeros

    def __call__(self, time: Tensor, finished: Any, inputs: Any, arrays: Any, state: Any, kept: Any) -> list[Any]:
        """Return the next values of all loop variables."""
        output, after = self._cell(inputs, state)
        nests.check_alike(state, after, "the states before and after a step of the cell")
        nests.check_alike(self._cell.output_size, output, "output_size and the outputs of the cell")
        soon = time + 1
        ended, following, next_state, emitted, next_kept = self._loop_fn(soon, output, after, kept)
        nests.check_alike(state, next_state, "two states that loop_fn gave")
        nests.check_alike(inputs, following, "two inputs that loop_fn gave")
        nests.check_alike(self._zeros, emitted, "what loop_fn put out first and later")
        emitted = copied_through(finished, self._zeros, emitted)
        next_state = copied_through(finished, state, next_state)
        arrays = nests.mapped(lambda array, leaf: array.write(time, leaf), arrays, emitted)
        kept = kept if next_kept is None else next_kept
        return [soon, ops.logical_or(finished, ended), following, arrays, next_state, kept]
