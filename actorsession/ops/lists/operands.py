"""Code that the ops on lists of tensors share: checks and conversions of operands.

Used by the other modules of this folder; ``lists.nodes`` describes lists.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType, variant
from actorsession.graph.node import TensorSpec
from actorsession.graph.op_signatures import signature_of
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import InferContext, KernelContext
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops.arrays.dimensions import shape
from actorsession.ops.build import constant
from actorsession.ops.lists.values import TensorList, fits
from actorsession.ops.rows import Shapes, scalar
from actorsession.ops.shape_operands import require_index

__all__ = [
    "Grads",
    "element_shape_operand",
    "item_reader",
    "known_shape",
    "of_dtype",
    "of_lists",
    "once_mark",
    "one_list",
    "reads",
    "shape_of",
    "shape_reader",
]

Grads = Sequence["Tensor | None"]


def element_shape_operand(shape: Any, graph: Any) -> Tensor:
    """Return an element shape as the operand of list ops, in which -1 stands for unknown."""
    if isinstance(shape, Tensor):
        return shape
    known = shape if isinstance(shape, TensorShape) else TensorShape(shape)
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
    value = ctx.constant(index)
    if value is not None:
        return _as_shape(value)
    rank = ctx.inputs[index].shape.sizes
    return TensorShape([None] * rank[0]) if rank and rank[0] is not None else unknown_shape


def shape_reader(ctx: KernelContext, index: int) -> Callable[[Any], TensorShape]:
    """Return the function from an element shape's value to the shape, precomputed if that is constant."""
    value = ctx.constant(index)
    if value is None:
        return _as_shape
    known = _as_shape(value)
    return lambda value: known


def item_reader(ctx: KernelContext, index: int) -> Callable[[TensorList, int, Any], Any]:
    """Return the function from a list, an index and an element shape's value to the element."""
    read, shape_value = shape_reader(ctx, index), ctx.constant(index)
    known = None if shape_value is None else _as_shape(shape_value)

    # Loops read one or more elements in each iteration, and merging shapes would cost more than everything
    # else.
    def item(elements: TensorList, place: int, element_shape: Any) -> Any:
        if known is not None and elements.once is None and 0 <= place < len(elements.items):
            element = elements.items[place]
            if element is not None and fits(known, np.shape(element)):
                return element
        return elements.item(place, read(element_shape))

    return item


def of_lists(shapes: Shapes) -> Shapes:
    """Return a shape rule that first checks the operands by their names and types in the signature.

    Lists are scalars of dtype ``variant``, elements have the node's element dtype, and indices, sizes and
    lengths are int32 or int64. Element shapes are not checked.
    """

    def rule(ctx: InferContext) -> Sequence[TensorShape]:
        signature = signature_of(ctx.op)
        assert signature is not None
        for i, spec in enumerate(ctx.inputs):
            arg = signature.inputs[min(i, len(signature.inputs) - 1)]
            if arg.type == "variant":
                _check_list(ctx, i, spec)
            elif arg.type == "element_dtype":
                _check_element(ctx, i, spec)
            elif arg.name in ("indices", "lengths"):
                require_index(ctx, i, rank=1)
            elif arg.name in ("index", "size", "num_elements", "max_num_elements"):
                require_index(ctx, i, rank=0)
        return shapes(ctx)

    return rule


def _check_list(ctx: InferContext, index: int, spec: TensorSpec) -> None:
    if spec.dtype is not variant:
        raise TypeError(f"{ctx.op}: input {index} is a list, of dtype variant; got {spec.dtype.name}")
    if spec.shape.rank not in (None, 0):
        raise ValueError(f"{ctx.op}: input {index} is one list, got variants of shape {spec.shape}")


def _check_element(ctx: InferContext, index: int, spec: TensorSpec) -> None:
    dtype = ctx.attrs["element_dtype"]
    if spec.dtype is not dtype:
        raise TypeError(f"{ctx.op}: input {index} is of the list's {dtype.name}, got {spec.dtype.name}")


one_list = of_lists(scalar)


def of_dtype(elements: TensorList, dtype: DType) -> TensorList:
    """Return the list if its elements are of ``dtype``; InvalidArgumentError otherwise."""
    if elements.element_dtype is not dtype:
        if elements.element_dtype is None:
            return TensorList(dtype, elements.element_shape, elements.items, elements.once)
        raise InvalidArgumentError(f"a list of {elements.element_dtype.name} is used as one of {dtype.name}")
    return elements


def once_mark(read_once: bool) -> dict[str, bool]:
    """Return the attribute of a list of which each element is read once; TensorFlow passes over it."""
    return {"_read_once": True} if read_once else {}


def reads(ctx: KernelContext) -> set[int] | None:
    """Return what a new list records its reads in, if a step may read each element only once."""
    return set() if ctx.attrs.get("_read_once") else None


def shape_of(item: Tensor) -> Any:
    """Return the shape of a tensor, static if it is fully defined or the tensor is a list."""
    return item.shape if item.shape.is_fully_defined() or item.dtype is variant else shape(item)
