"""Code that the ops on lists of tensors share: checks and conversions of operands.

Used by the other modules of this folder; ``lists.nodes`` describes lists.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType, int32, int64, variant
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import InferContext, Kernel, KernelContext, OpDef, register
from actorsession.graph.shape import TensorShape, scalar_shape, unknown_shape
from actorsession.ops.arrays.dimensions import shape
from actorsession.ops.build import constant
from actorsession.ops.lists.values import TensorList, fits

__all__ = [
    "LIST", "Grads", "define", "element_shape_operand", "item_reader", "known_shape", "of_dtype",
    "require_elements", "require_int_scalars", "require_list", "shape_of", "shape_reader",
]  # fmt: skip

# The static type of every list.
LIST = TensorSpec(variant, scalar_shape)
Grads = Sequence["Tensor | None"]


def element_shape_operand(given: Any, graph: Any) -> Tensor:
    """Return an element shape as the operand of list ops, in which -1 stands for unknown."""
    if isinstance(given, Tensor):
        return given
    known = given if isinstance(given, TensorShape) else TensorShape(given)
    dims = -1 if known.sizes is None else [-1 if d is None else d for d in known.sizes]
    return constant(np.array(dims, np.int32), name="element_shape", graph=graph)


def _as_shape(value: Any) -> TensorShape:
    """Return the shape that the value of such an operand describes."""
    if not value.ndim:
        if value == -1:
            return unknown_shape
        raise InvalidArgumentError(f"an element shape is a vector, or -1 for any; got {value}")
    return TensorShape([None if d < 0 else int(d) for d in value])


def known_shape(ctx: InferContext, index: int) -> TensorShape:
    """Return the static value of an element shape operand."""
    found = ctx.constant(index)
    if found is not None:
        return _as_shape(found)
    rank = ctx.inputs[index].shape.sizes
    return TensorShape([None] * rank[0]) if rank and rank[0] is not None else unknown_shape


def shape_reader(ctx: KernelContext, index: int) -> Callable[[Any], TensorShape]:
    """Return the function from an element shape's value to the shape, precomputed if that is constant."""
    found = ctx.constant(index)
    if found is None:
        return _as_shape
    known = _as_shape(found)
    return lambda value: known


def item_reader(ctx: KernelContext, index: int) -> Callable[[TensorList, int, Any], Any]:
    """Return the function from a list, an index and an element shape's value to the element."""
    read, found = shape_reader(ctx, index), ctx.constant(index)
    known = None if found is None else _as_shape(found)

    # Loops read one or more elements in each iteration, and merging shapes would cost more than everything
    # else.
    def item(given: TensorList, place: int, element_shape: Any) -> Any:
        if known is not None and 0 <= place < len(given.items):
            found = given.items[place]
            if found is not None and fits(known, np.shape(found)):
                return found
        return given.item(place, read(element_shape))

    return item


def require_list(ctx: InferContext, *operands: int) -> None:
    """Check that operands are lists.

    Raises:
        TypeError: for another dtype.
        ValueError: for a shape that cannot be a scalar's.
    """
    for i in operands:
        spec = ctx.inputs[i]
        if spec.dtype is not variant:
            raise TypeError(
                f"{ctx.op}: input {i} is a list, of dtype variant; got {spec.dtype.name}"
            )
        if spec.shape.rank not in (None, 0):
            raise ValueError(f"{ctx.op}: input {i} is one list, got variants of shape {spec.shape}")


def require_elements(ctx: InferContext, index: int) -> None:
    """Check that an operand has the node's element dtype; TypeError otherwise."""
    wanted, found = ctx.attrs["element_dtype"], ctx.inputs[index].dtype
    if found is not wanted:
        raise TypeError(f"{ctx.op}: input {index} is of the list's {wanted.name}, got {found.name}")


def require_int_scalars(ctx: InferContext, *operands: int) -> None:
    """Check that operands are int32 or int64 scalars; TypeError or ValueError otherwise."""
    for i in operands:
        spec = ctx.inputs[i]
        if spec.dtype not in (int32, int64):
            raise TypeError(f"{ctx.op}: input {i} is an int32 scalar, got {spec.dtype.name}")
        if spec.shape.rank not in (None, 0):
            raise ValueError(f"{ctx.op}: input {i} is a scalar, got one of shape {spec.shape}")


def of_dtype(given: TensorList, dtype: DType) -> TensorList:
    """Return the list if its elements are of ``dtype``; InvalidArgumentError otherwise."""
    if given.element_dtype is not dtype:
        if given.element_dtype is None:
            return TensorList(dtype, given.element_shape, given.items)
        raise InvalidArgumentError(
            f"a list of {given.element_dtype.name} is used as one of {dtype.name}"
        )
    return given


def define(
    name: str,
    infer: Callable[[InferContext], list[TensorSpec]],
    kernel: Callable[[KernelContext], Kernel],
    gradient: Callable[..., Grads],
    attrs: Mapping[str, Any] | None = None,
    *,
    makes_lists: bool = True,
    sized_by: Container[int] = (),
) -> None:
    """Register an op type; results that are lists may share memory with the inputs."""
    register(
        OpDef(
            name=name, infer=infer, kernel=kernel, gradient=gradient,
            aliases=makes_lists,
            sized_by=sized_by,
        )
    )  # fmt: skip


def shape_of(item: Tensor) -> Any:
    """Return the shape of a tensor, static if it is fully defined or the tensor is a list."""
    return item.shape if item.shape.is_fully_defined() or item.dtype is variant else shape(item)
