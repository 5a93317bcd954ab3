"""Helpers of the fused optimiser updates: arrays in blocks, locking of slots, static types.

Serves ``nodes`` and ``updates``, which own the op types. Large arrays are processed in blocks that fit the
second-level cache together with their scratch, and those are distributed over threads.

Invariant: while a node updates a variable its slots are locked, in the order of the op's inputs and the
variable last; scratch belongs to the thread. So two steps may run one node at the same time.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.graph.dtypes import int64
from actorsession.graph.op_signatures import Arg, signature_of
from actorsession.graph.registry import Array, InferContext, VariableHolder
from actorsession.graph.shape import TensorShape
from actorsession.ops.blas import in_blocks
from actorsession.ops.variables.state import check_handle, check_scattered, check_value, elements

__all__ = ["GRADIENTS", "flat", "in_pieces", "inputs_of", "stored", "target_of", "update", "update_cost", "with_slots"]

# -- arrays in blocks ----------------------------------------------------------------------------


class _Scratch(threading.local):
    """One block of scratch per dtype and thread."""

    def __init__(self) -> None:
        self._blocks: dict[np.dtype[Any], Array] = {}

    def block(self, dtype: np.dtype[Any], length: int) -> Array:
        block = self._blocks.get(dtype)
        if block is None or block.size < length:
            block = self._blocks[dtype] = np.empty(length, dtype)
        return block[:length]


_SCRATCH = _Scratch()


def in_pieces(update: Callable[..., object], loops: int, dtype: np.dtype[Any], *arrays: Array) -> None:
    """Call a function with matching pieces of equally long vectors, in several threads if those are large.

    Args:
        update: called with a piece of each vector, and a piece of scratch at last.
        loops: how many loops over the elements it has.
        dtype: dtype of all vectors.
        *arrays: the vectors; the old value and the new one usually share memory.
    """

    def work(share: Sequence[slice]) -> None:
        for some in share:
            pieces = [array[some] for array in arrays]
            update(*pieces, _SCRATCH.block(dtype, pieces[0].size))

    in_blocks(work, arrays[0].size, len(arrays) * dtype.itemsize, loops)


def flat(array: Any) -> Array:
    """Return the elements as a vector: a view where the array is contiguous, else a copy."""
    return np.asarray(array).reshape(-1)


def target_of(old: Any, out: Array | None) -> Array:
    """Return the array for the new value: ``out`` if it is writable through a flat view, else a new one."""
    if out is not None and out.flags.c_contiguous:
        return out
    return np.empty(np.shape(old), old.dtype)


def stored(target: Array, out: Array | None) -> Any:
    """Return the new value, in ``out`` if that was given."""
    if out is None:
        return target[()]
    if out is not target:
        out[...] = target
    return out


def with_slots(holders: Sequence[VariableHolder], update: Callable[..., None]) -> None:
    """Call ``update`` with a writable array per slot, while all slots are locked; numpy's are contiguous.

    Args:
        holders: the slots, in the order of the inputs of every op.
        update: function that changes the arrays in place; it must not raise after a change.
    """

    def enter(index: int, arrays: tuple[Array, ...]) -> None:
        if index == len(holders):
            update(*arrays)
            return

        def write(value: Any) -> Any:
            array = np.array(value) if isinstance(value, np.generic) else value
            if isinstance(array, np.ndarray) and not array.flags.c_contiguous:
                array = np.ascontiguousarray(array)
            enter(index + 1, (*arrays, array))
            return array[()] if isinstance(value, np.generic) else array

        holders[index].access(write)

    enter(0, ())


# -- static types --------------------------------------------------------------------------------


GRADIENTS = ("grad", "delta")
"""Names of the input with the gradient."""


def inputs_of(op: str) -> Sequence[Arg]:
    """Return the inputs of an update: its variable, slots, scalars and gradient, in no fixed order."""
    signature = signature_of(op)
    assert signature is not None
    return signature.inputs


def update(ctx: InferContext) -> Sequence[TensorShape]:
    """All inputs fit the variable, which is input 0; there are no outputs."""
    variable = check_handle(ctx)
    for index, (arg, spec) in enumerate(zip(inputs_of(ctx.op), ctx.inputs, strict=True)):
        if arg.type == "resource":
            check_handle(ctx, index)
        elif arg.name == "indices":
            check_scattered(ctx, updates=index - 1, indices=index, variable=variable)
        elif arg.name in GRADIENTS:
            if "Sparse" not in ctx.op:
                check_value(ctx, index, variable)
        elif arg.type == "int64" and spec.dtype is not int64:
            raise TypeError(f"{ctx.op}: the global step is int64, got {spec.dtype.name}")
        elif not spec.shape.is_compatible_with(()):
            what = "the global step" if arg.type == "int64" else f"input {index}"
            raise ValueError(f"{ctx.op}: {what} is a scalar, got shape {spec.shape}")
    return []


def update_cost(per_element: float) -> Callable[..., float]:
    """Return a cost function proportional to the size of the gradient, the largest input."""
    return lambda inputs, outputs: 3 + per_element * max(map(elements, inputs))
