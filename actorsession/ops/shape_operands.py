"""Shape-like operands of ops: sizes, axes and paddings as Python ints, read statically or at run time.

Owns how op files read such operands: from a constant while the graph is built or a plan is bound, from the
array while a step runs. Bad values are a ValueError in the first case and an InvalidArgumentError in the
second; callers choose by passing the error class. Imports only the ``graph`` package and ``build``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import int32, int64
from actorsession.graph.graph import Graph, constant_value
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Tensor
from actorsession.graph.partial_value import entries
from actorsession.graph.partial_value import partial_ints as entries_of
from actorsession.graph.registry import Array, InferContext, Kernel
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops.build import convert_to_tensor

__all__ = [
    "Constants", "Ints", "as_integers", "boxed", "constant_ints", "constant_ints_of",
    "described_shape", "elements", "fits_always", "ints", "normal_axis", "partial_ints", "require_floating",
    "require_index", "require_rank", "same_dtype", "shape_from", "shape_of_rank", "shape_operand",
    "vector_length", "with_boxed",
]  # fmt: skip

Ints: TypeAlias = "tuple[int, ...]"


class Constants(Protocol):
    """The common interface of shape functions and kernel factories: statically known operands."""

    def constant(self, index: int) -> Array | None:
        """Return the value of an operand if it is statically known."""


def ints(value: Any) -> Ints:
    """Return the entries of an integer array or scalar of rank 0 or 1.

    Raises:
        InvalidArgumentError: for another rank.
    """
    if value.ndim > 1:
        raise InvalidArgumentError(f"a vector of integers is needed, got shape {list(value.shape)}")
    return _entries(value)


def _entries(value: Any) -> Ints:
    listed = value.tolist()
    return tuple(listed) if isinstance(listed, list) else (listed,)


def constant_ints(ctx: Constants, index: int) -> Ints | None:
    """Return the entries of a shape-like operand if it is statically known, else ``None``."""
    value = ctx.constant(index)
    return None if value is None else _entries(value)


def partial_ints(ctx: InferContext, index: int) -> Sequence[int | None] | None:
    """Return the entries of a shape-like operand, ``None`` for each that is not known statically.

    Returns:
        ``None`` if their number is not known either.
    """
    numbers = ctx.numbers(index)
    return None if numbers is None or numbers.ndim > 1 else entries(numbers)


def described_shape(ctx: InferContext, index: int) -> TensorShape:
    """Return the static shape that an operand describes, with unknown dimensions where it has -1.

    Raises:
        ValueError: if it is no vector, or an entry is below -1.
    """
    require_rank(ctx, index, rank=1)
    return _described(partial_ints(ctx, index), ctx.inputs[index], ctx.op)


def fits_always(declared: TensorShape, static: TensorShape) -> bool:
    """Return whether every value of static shape ``static`` fits the shape ``declared``."""
    if declared.sizes is None:
        return True
    if static.sizes is None or len(static.sizes) != len(declared.sizes):
        return False
    return all(d is None or d == g for d, g in zip(declared.sizes, static.sizes, strict=True))


def shape_from(vector: Tensor) -> TensorShape:
    """Return the static shape that a vector describes; see ``described_shape``."""
    if vector.shape.rank not in (None, 1):
        return unknown_shape
    return _described(entries_of(vector), vector.spec, vector.op.type)


def _described(dims: Sequence[int | None] | None, vector: TensorSpec, op: str) -> TensorShape:
    if dims is None:
        return shape_of_rank(vector_length(vector))
    if any(d is not None and d < -1 for d in dims):
        raise ValueError(f"{op}: shape {list(dims)} has a negative dimension")
    return TensorShape([None if d == -1 else d for d in dims])


def constant_ints_of(tensor: Tensor) -> Ints | None:
    """Return the entries of an integer tensor if they are known while the graph is built."""
    value = constant_value(tensor)
    return None if value is None else _entries(value)


def normal_axis(axis: int, rank: int, op: str, error: Callable[[str], Exception] = ValueError) -> int:
    """Return the axis counted from the front.

    Args:
        axis: the axis, possibly negative.
        rank: the number of axes.
        op: operation type, for the message.
        error: class of the error; InvalidArgumentError in kernels.
    """
    if not -rank <= axis < rank:
        raise error(f"{op}: axis {axis} is not in [{-rank}, {rank})")
    return axis + rank if axis < 0 else axis


def require_index(ctx: InferContext, *operands: int, rank: int | None = None) -> None:
    """Check that shape-like operands are int32 or int64, and of the given rank.

    Raises:
        TypeError: for another dtype.
        ValueError: for another rank.
    """
    for i in operands:
        spec = ctx.inputs[i]
        if spec.dtype not in (int32, int64):
            raise TypeError(f"{ctx.op}: input {i} is int32 or int64, got {spec.dtype.name}")
    if rank is not None:
        require_rank(ctx, *operands, rank=rank)


def require_rank(ctx: InferContext, *operands: int, rank: int) -> None:
    """Check that operands are of a rank.

    Raises:
        ValueError: for another rank.
    """
    for i in operands:
        shape = ctx.inputs[i].shape
        if shape.rank not in (None, rank):
            raise ValueError(
                f"Shape must be rank {rank} but is rank {shape.rank}: {ctx.op}: input {i} has rank {rank}, "
                f"got shape {shape}"
            )


def require_floating(ctx: InferContext, *operands: int) -> None:
    """Check that operands are of one real floating type.

    Raises:
        TypeError: for another dtype.
    """
    for i in operands:
        dtype = ctx.inputs[i].dtype
        if not dtype.is_floating:
            raise TypeError(f"{ctx.op}: input {i} is of a floating type, got {dtype.name}")
    same_dtype(ctx, *operands)


def same_dtype(ctx: InferContext, *operands: int) -> None:
    """Check that operands share one dtype.

    Raises:
        TypeError: if two differ.
    """
    names = [ctx.inputs[i].dtype.name for i in operands]
    if len(set(names)) > 1:
        raise TypeError(f"{ctx.op}: inputs {list(operands)} share one dtype, got {names}")


def vector_length(spec: TensorSpec) -> int | None:
    """Return the static length of a vector operand, if known."""
    return spec.shape.sizes[0] if spec.shape.sizes else None


def shape_of_rank(rank: int | None) -> TensorShape:
    """Return a shape of a known rank, or of an unknown one, without known dimensions."""
    return unknown_shape if rank is None else TensorShape([None] * rank)


def elements(spec: TensorSpec) -> int:
    """Return the number of elements of a static type, for cost estimates."""
    return spec.shape.num_elements() or 1


def shape_operand(dims: Any, graph: Graph | None = None, name: str = "shape") -> Tensor:
    """Return a shape as an integer vector tensor.

    Args:
        dims: a tensor, a static shape, an int, or a sequence of ints and scalar tensors (which decide whether
            the vector is int32 or int64).
        graph: where constants are made.
        name: name of a constant that is made.
    """
    dtype = None
    if isinstance(dims, (int, np.integer)):
        dims = [int(dims)]
    if isinstance(dims, (list, tuple)):
        tensors = [d for d in dims if hasattr(d, "_as_graph_element")]
        dtype = tensors[0]._as_graph_element().dtype if tensors else None
    return convert_to_tensor(as_integers(dims), dtype, name, graph=graph)


def as_integers(value: Any) -> Any:
    """Return an array of floats, or an empty list, as int32, and any other value unchanged, as TensorFlow."""
    floats = isinstance(value, (np.ndarray, np.generic)) and value.dtype.kind == "f"
    if floats or (isinstance(value, (list, tuple)) and not len(value)):
        return np.asarray(value).astype(np.int32)
    return value


def boxed(value: Any) -> Any:
    """Return a string or variant of rank 0, which arrives as such, as an array; other values unchanged."""
    if isinstance(value, (bytes, str)) or hasattr(value, "to_wire"):
        array = np.empty((), dtype=object)
        array[()] = value
        return array
    return value


def with_boxed(function: Kernel, *specs: TensorSpec) -> Kernel:
    """Return ``function``, with its operands boxed if one of ``specs`` may be a string of rank 0."""
    if any(spec.dtype.kind == "s" and spec.shape.rank in (None, 0) for spec in specs):
        return lambda *values: function(*map(boxed, values))
    return function
