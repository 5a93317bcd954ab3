"""Conversions between lists of tensors and stacked tensors: stack, gather and their inverses.

See ``lists.nodes`` for what lists are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops import raw
from actorsession.ops.apply import one
from actorsession.ops.arrays.dimensions import shape
from actorsession.ops.arrays.fills import zeros_like
from actorsession.ops.arrays.slicing import strided_slice
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.lists.nodes import resized, tensor_list_length
from actorsession.ops.lists.operands import (
    Grads,
    element_shape_operand,
    known_shape,
    of_dtype,
    of_lists,
    once_mark,
    one_list,
    reads,
    shape_reader,
)
from actorsession.ops.lists.persistent_vector import PersistentVector
from actorsession.ops.lists.values import TensorList, new_list
from actorsession.ops.rows import op

__all__ = ["rows_of", "tensor_list_from_tensor", "tensor_list_gather", "tensor_list_scatter", "tensor_list_stack"]


def rows_of(values: Any, what: str) -> list[Any]:
    """Return the items along the first axis in the form of kernel results: scalars where they have rank 0."""
    if not np.ndim(values):
        raise InvalidArgumentError(f"{what}: a scalar has no items to make a list of")
    return list(values)


def rest_of(item: Tensor) -> Any:
    """Return the shape of the items along the first axis of a tensor."""
    if item.shape.sizes and item.shape[1:].is_fully_defined():
        return TensorShape(item.shape[1:])
    return strided_slice(shape(item), [1], [0], end_mask=1)


# -- TensorListStack, TensorListFromTensor ---------------------------------------------------------


def tensor_list_stack(
    input_handle: Tensor, element_dtype: Any, num_elements: int = -1, element_shape: Any = None, name: str | None = None
) -> Tensor:
    """Return the elements of a list as one tensor, along a new first axis.

    Args:
        input_handle: the list.
        element_dtype: dtype of its elements.
        num_elements: required number of elements; any number for -1.
        element_shape: static shape of all elements.
    """
    dims = element_shape_operand(element_shape, input_handle.graph)
    return raw.TensorListStack(
        input_handle, dims, element_dtype=element_dtype, num_elements=int(num_elements), name=name
    )


def tensor_list_from_tensor(
    tensor: Any, element_shape: Any, name: str | None = None, read_once: bool = False
) -> Tensor:
    """Return the items along the first axis of a tensor as a list.

    Args:
        tensor: the items.
        element_shape: static shape of all of them.
        name: wanted name.
        read_once: whether a step may read each element only once.
    """
    value = convert_to_tensor(tensor)
    dims = element_shape_operand(element_shape, value.graph)
    attrs = {"element_dtype": None, **once_mark(read_once)}
    return one("TensorListFromTensor", (value, dims), attrs, name)


@of_lists
def _stacked(ctx: InferContext) -> list[TensorShape]:
    count = ctx.attrs["num_elements"]
    front = TensorShape([None if count < 0 else count])
    return [front.concatenate(known_shape(ctx, 1))]


def _stack_kernel(ctx: KernelContext) -> Kernel:
    dtype, count = ctx.attrs["element_dtype"], ctx.attrs["num_elements"]
    read = shape_reader(ctx, 1)

    def stack(elements: TensorList, element_shape: Any) -> Any:
        if count >= 0 and len(elements) != count:
            raise InvalidArgumentError(f"a list of {len(elements)} elements is stacked as one of {count}")
        items, dims = of_dtype(elements, dtype).values(read(element_shape))
        out = np.empty((len(items), *dims), dtype.np_dtype)
        for k, item in enumerate(items):
            out[k] = item
        return out

    return stack


@of_lists
def _list_of_items(ctx: InferContext) -> list[TensorShape]:
    dims = ctx.inputs[0].shape.sizes
    if dims is not None:
        if not dims:
            raise ValueError(f"{ctx.op}: a scalar has no items to make a list of")
        TensorShape(dims[1:]).merge_with(known_shape(ctx, 1))
    return [scalar_shape]


def _from_tensor_kernel(ctx: KernelContext) -> Kernel:
    dtype, read = ctx.attrs["element_dtype"], shape_reader(ctx, 1)

    def from_tensor(tensor: Any, element_shape: Any) -> TensorList:
        items = PersistentVector.of(rows_of(tensor, "TensorListFromTensor"))
        elements = TensorList(dtype, read(element_shape), items, reads(ctx))
        if len(elements):
            elements.check(elements.items[0])
        return elements

    return from_tensor


def _from_tensor_gradient(op: Operation, grad: Tensor) -> Grads:
    tensor = op.inputs[0]
    return [tensor_list_stack(grad, tensor.dtype, element_shape=rest_of(tensor)), None]


op(
    "TensorListStack",
    _stacked,
    kernel=_stack_kernel,
    grad=lambda op, grad: [raw.TensorListFromTensor(grad, op.inputs[1]), None],
)
op("TensorListFromTensor", _list_of_items, kernel=_from_tensor_kernel, grad=_from_tensor_gradient, aliases=True)


# -- TensorListGather, TensorListScatterV2, TensorListScatterIntoExistingList ----------------------


def tensor_list_gather(
    input_handle: Tensor, indices: Any, element_dtype: Any, element_shape: Any = None, name: str | None = None
) -> Tensor:
    """Return the elements at some indices as one tensor; arguments as ``tensor_list_stack``."""
    dims = element_shape_operand(element_shape, input_handle.graph)
    return raw.TensorListGather(input_handle, indices, dims, element_dtype=element_dtype, name=name)


def tensor_list_scatter(
    tensor: Any,
    indices: Any,
    element_shape: Any = None,
    input_handle: Tensor | None = None,
    num_elements: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return a list with the items along the first axis of a tensor at some indices.

    Args:
        tensor: the items.
        indices: the index of each item.
        element_shape: static shape of the elements.
        input_handle: a list in which these elements are replaced; a new one if left out.
        num_elements: length of a new list; as long as necessary if left out.
    """
    value = convert_to_tensor(tensor)
    if input_handle is not None:
        return raw.TensorListScatterIntoExistingList(input_handle, value, indices, name=name)
    count = -1 if num_elements is None else num_elements
    dims = element_shape_operand(element_shape, value.graph)
    return raw.TensorListScatterV2(value, indices, dims, count, name=name)


@of_lists
def _gathered(ctx: InferContext) -> list[TensorShape]:
    count = ctx.inputs[1].shape.sizes
    front = TensorShape([None if count is None else count[0]])
    return [front.concatenate(known_shape(ctx, 2))]


def _gather_kernel(ctx: KernelContext) -> Kernel:
    dtype, read = ctx.attrs["element_dtype"], shape_reader(ctx, 2)

    def gather_items(elements: TensorList, indices: Any, element_shape: Any) -> Any:
        places, held = indices.tolist(), of_dtype(elements, dtype).items
        bad = next((p for p in places if not 0 <= p < len(held)), None)
        if bad is not None:
            raise InvalidArgumentError(f"element {bad} was asked for of a list of {len(held)} elements")
        elements.read(*places)
        items_of = PersistentVector.of([held[p] for p in places])
        chosen = TensorList(elements.element_dtype, elements.element_shape, items_of)
        items, dims = chosen.values(read(element_shape))
        out = np.empty((len(items), *dims), dtype.np_dtype)
        for k, item in enumerate(items):
            out[k] = item
        return out

    return gather_items


def _gather_gradient(op: Operation, grad: Tensor) -> Grads:
    handle, indices, element_shape = op.inputs
    # An element that is read twice has two contributions, of which TensorFlow's gradient keeps the last.
    places, at = raw.Unique(indices)
    sums = raw.UnsortedSegmentSum(grad, at, raw.Size(places))
    back = raw.TensorListScatterV2(sums, places, element_shape, tensor_list_length(handle))
    return [back, None, None]


@of_lists
def _scattered_list(ctx: InferContext) -> list[TensorShape]:
    known_shape(ctx, 2)
    return [scalar_shape]


def _scattered(elements: TensorList, tensor: Any, indices: Any, grows: bool) -> TensorList:
    places, rows = indices.tolist(), rows_of(tensor, "TensorListScatter")
    if len(places) != len(rows):
        raise InvalidArgumentError(f"{len(rows)} items are put at {len(places)} places")
    if grows and places:
        elements = resized(elements, max(len(elements), max(places) + 1))
    items = elements.items
    for place, row in zip(places, rows, strict=True):
        if not 0 <= place < len(items):
            raise InvalidArgumentError(f"element {place} was to be set in a list of {len(items)} elements")
        elements.check(row)
        items = items.replace(place, row)
    return elements.like(items)


def _scatter_kernel(ctx: KernelContext) -> Kernel:
    dtype, read = ctx.attrs["element_dtype"], shape_reader(ctx, 2)

    def scatter(tensor: Any, indices: Any, element_shape: Any, count: Any) -> TensorList:
        elements = new_list(dtype, read(element_shape), max(int(count), 0))
        return _scattered(elements, tensor, indices, count < 0)

    return scatter


def _scatter_into_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.attrs["element_dtype"]
    return lambda elements, tensor, indices: _scattered(of_dtype(elements, dtype), tensor, indices, True)


def _read_back(grad: Tensor, indices: Tensor, tensor: Tensor) -> Tensor:
    return tensor_list_gather(grad, indices, tensor.dtype, rest_of(tensor))


def _scatter_gradient(op: Operation, grad: Tensor) -> Grads:
    tensor, indices = op.inputs[:2]
    return [_read_back(grad, indices, tensor), None, None, None]


def _scatter_into_gradient(op: Operation, grad: Tensor) -> Grads:
    handle, tensor, indices = op.inputs
    before = tensor_list_scatter(zeros_like(tensor), indices, input_handle=grad)
    before = raw.TensorListResize(before, tensor_list_length(handle))
    return [before, _read_back(grad, indices, tensor), None]


op("TensorListGather", _gathered, kernel=_gather_kernel, grad=_gather_gradient)
op(
    "TensorListScatterV2",
    _scattered_list,
    kernel=_scatter_kernel,
    grad=_scatter_gradient,
    aliases=True,
    sized_by=(1, 3),
)
op(
    "TensorListScatterIntoExistingList",
    one_list,
    kernel=_scatter_into_kernel,
    grad=_scatter_into_gradient,
    aliases=True,
    sized_by=(2,),
)
