"""Lists of tensors as values of a graph: the ops that make, change and read them, with their gradients.

A list is a scalar tensor of dtype ``variant`` (see ``lists.values``). An op that changes a list returns a new
one, and its input stays unchanged. The op types are TensorFlow's, which has no public functions for them
either: ``TensorArray`` and the gradients of loops are built from them. ``lists.blocks`` has the ops that
process many items at a time.

The gradient of a list is the list of the gradients of its items, of the same length; an item that was never
set is zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, scalar_shape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.apply import one
from actorsession.ops.arrays.fills import zeros_like
from actorsession.ops.build import graph_of
from actorsession.ops.lists.operands import (
    Grads,
    element_shape_operand,
    item_reader,
    known_shape,
    of_dtype,
    of_lists,
    once_mark,
    one_list,
    reads,
    shape_of,
    shape_reader,
)
from actorsession.ops.lists.values import TensorList, empty_list, new_list
from actorsession.ops.rows import op, scalar

__all__ = [
    "empty_tensor_list",
    "resized",
    "tensor_list_get_item",
    "tensor_list_length",
    "tensor_list_pop_back",
    "tensor_list_push_back",
    "tensor_list_reserve",
    "tensor_list_resize",
    "tensor_list_set_item",
]


# -- EmptyTensorList, TensorListReserve ------------------------------------------------------------


def empty_tensor_list(
    element_shape: Any, element_dtype: Any, max_num_elements: Any = None, name: str | None = None
) -> Tensor:
    """Return a list without elements.

    Args:
        element_shape: static shape of all elements.
        element_dtype: dtype of the elements.
        max_num_elements: maximum number of elements; any number if left out.
    """
    graph = graph_of(element_shape, max_num_elements)
    most = -1 if max_num_elements is None else max_num_elements
    dims = element_shape_operand(element_shape, graph)
    return raw.EmptyTensorList(dims, most, element_dtype=element_dtype, name=name)


def tensor_list_reserve(
    element_shape: Any, num_elements: Any, element_dtype: Any, name: str | None = None, read_once: bool = False
) -> Tensor:
    """Return a list of ``num_elements`` unset elements.

    Args:
        element_shape: static shape of all elements.
        num_elements: the number of elements.
        element_dtype: dtype of the elements.
        name: wanted name.
        read_once: whether a step may read each element only once.
    """
    graph = graph_of(element_shape, num_elements)
    dims = element_shape_operand(element_shape, graph)
    attrs = {"element_dtype": element_dtype, **once_mark(read_once)}
    return one("TensorListReserve", (dims, num_elements), attrs, name)


@of_lists
def _new_list(ctx: InferContext) -> list[TensorShape]:
    known_shape(ctx, 0)
    return [scalar_shape]


def _empty_kernel(ctx: KernelContext) -> Kernel:
    dtype, read = ctx.attrs["element_dtype"], shape_reader(ctx, 0)
    return lambda element_shape, most: empty_list(dtype, read(element_shape))


def _reserve_kernel(ctx: KernelContext) -> Kernel:
    dtype, read = ctx.attrs["element_dtype"], shape_reader(ctx, 0)

    def reserve(element_shape: Any, count: Any) -> TensorList:
        if count < 0:
            raise InvalidArgumentError(f"a list of {count} elements was asked for")
        elements = new_list(dtype, read(element_shape), int(count))
        elements.once = reads(ctx)
        return elements

    return reserve


op("EmptyTensorList", _new_list, kernel=_empty_kernel, grad=NOT_DIFFERENTIABLE, aliases=True)
op("TensorListReserve", _new_list, kernel=_reserve_kernel, grad=NOT_DIFFERENTIABLE, aliases=True, sized_by=(1,))


# -- TensorListPushBack, TensorListPopBack ---------------------------------------------------------


def tensor_list_push_back(input_handle: Tensor, tensor: Any, name: str | None = None) -> Tensor:
    """Return the list with ``tensor`` appended."""
    return raw.TensorListPushBack(input_handle, tensor, name=name)


def tensor_list_pop_back(
    input_handle: Tensor, element_dtype: Any, name: str | None = None, element_shape: Any = None
) -> tuple[Tensor, Tensor]:
    """Return the list without its last element, and that element."""
    dims = element_shape_operand(element_shape, input_handle.graph)
    return raw.TensorListPopBack(input_handle, dims, element_dtype=element_dtype, name=name)


def _push_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.attrs["element_dtype"]
    return lambda elements, item: of_dtype(elements, dtype).appended(item)


def _push_gradient(op: Operation, grad: Tensor) -> Grads:
    item = op.inputs[1]
    return tensor_list_pop_back(grad, item.dtype, element_shape=shape_of(item))


def _pop_kernel(ctx: KernelContext) -> Kernel:
    dtype, read = ctx.attrs["element_dtype"], item_reader(ctx, 1)

    def pop(elements: TensorList, element_shape: Any) -> tuple[TensorList, Any]:
        items = of_dtype(elements, dtype).items
        if not len(items):
            raise InvalidArgumentError("an element was asked for of a list without any")
        return elements.like(items.pop()), read(elements, len(items) - 1, element_shape)

    return pop


def _pop_gradient(op: Operation, rest: Tensor | None, item: Tensor | None) -> Grads:
    if rest is None:
        rest = zeros_like(op.outputs[0])
    if item is None:
        item = zeros_like(op.outputs[1])
    return [tensor_list_push_back(rest, item), None]


_LIST_AND_ITEM = of_lists(lambda ctx: [scalar_shape, known_shape(ctx, 1)])

op("TensorListPushBack", one_list, kernel=_push_kernel, grad=_push_gradient, aliases=True)
op("TensorListPopBack", _LIST_AND_ITEM, kernel=_pop_kernel, grad=_pop_gradient, aliases=True)


# -- TensorListLength, TensorListElementShape, TensorListResize ------------------------------------


def tensor_list_length(input_handle: Tensor, name: str | None = None) -> Tensor:
    """Return the number of elements, an int32 scalar."""
    return raw.TensorListLength(input_handle, name=name)


def tensor_list_resize(input_handle: Tensor, size: Any, name: str | None = None) -> Tensor:
    """Return the list truncated, or extended by unset elements, to ``size`` elements."""
    return raw.TensorListResize(input_handle, size, name=name)


def _element_shape_kernel(ctx: KernelContext) -> Kernel:
    numpy = ctx.attrs["shape_type"].np_dtype

    def read(elements: TensorList) -> Any:
        dims = elements.element_shape.sizes
        if dims is None:
            return numpy.type(-1)
        return np.array([-1 if d is None else d for d in dims], numpy)

    return read


def resized(elements: TensorList, count: int) -> TensorList:
    """Return the list with ``count`` elements; see ``tensor_list_resize``."""
    if count < 0:
        raise InvalidArgumentError(f"a list of {count} elements was asked for")
    items = elements.items
    if count < len(items) - count:
        return elements.like(type(items).of([items[k] for k in range(count)]))
    while len(items) > count:
        items = items.pop()
    while len(items) < count:
        items = items.append(None)
    return elements.like(items)


op("TensorListLength", of_lists(scalar), lambda given: np.int32(len(given)), NOT_DIFFERENTIABLE)
op(
    "TensorListElementShape",
    of_lists(lambda ctx: [unknown_shape]),
    kernel=_element_shape_kernel,
    grad=NOT_DIFFERENTIABLE,
)
op(
    "TensorListResize",
    one_list,
    lambda given, count: resized(given, int(count)),
    lambda op, grad: [tensor_list_resize(grad, tensor_list_length(op.inputs[0])), None],
    aliases=True,
    sized_by=(1,),
)


# -- TensorListSetItem, TensorListGetItem ----------------------------------------------------------


def tensor_list_set_item(
    input_handle: Tensor,
    index: Any,
    item: Any,
    resize_if_index_out_of_bounds: bool = False,
    name: str | None = None,
    write_once: bool = False,
) -> Tensor:
    """Return the list with another element at an index.

    Args:
        input_handle: the list.
        index: the index.
        item: the element.
        resize_if_index_out_of_bounds: whether an index after the end extends the list.
        write_once: whether an element that was set before is an error.
    """
    grows = bool(resize_if_index_out_of_bounds)
    attrs = {"element_dtype": None, "resize_if_index_out_of_bounds": grows}
    # A mark of ours, which TensorFlow passes over.
    marks = {"_write_once": True} if write_once else {}
    return one("TensorListSetItem", (input_handle, index, item), {**attrs, **marks}, name)


def tensor_list_get_item(
    input_handle: Tensor, index: Any, element_dtype: Any, element_shape: Any = None, name: str | None = None
) -> Tensor:
    """Return the element at an index; zeros if it was never set and its shape is known."""
    dims = element_shape_operand(element_shape, input_handle.graph)
    return raw.TensorListGetItem(input_handle, index, dims, element_dtype=element_dtype, name=name)


def _set_kernel(ctx: KernelContext) -> Kernel:
    dtype, grows = ctx.attrs["element_dtype"], ctx.attrs["resize_if_index_out_of_bounds"]
    once = ctx.attrs.get("_write_once", False)

    def set_item(elements: TensorList, index: Any, item: Any) -> TensorList:
        place = int(index)
        of_dtype(elements, dtype).check(item)
        if grows and place >= len(elements):
            elements = resized(elements, place + 1)
        if not 0 <= place < len(elements):
            raise InvalidArgumentError(f"element {place} was to be set in a list of {len(elements)} elements")
        if once and elements.items[place] is not None:
            raise InvalidArgumentError(
                f"Could not write to TensorArray index {place} because it has already been written to."
            )
        return elements.like(elements.items.replace(place, item))

    return set_item


def _set_gradient(op: Operation, grad: Tensor) -> Grads:
    handle, index, item = op.inputs
    nothing = zeros_like(item)
    before = tensor_list_set_item(grad, index, nothing)
    if op.attrs["resize_if_index_out_of_bounds"]:
        before = tensor_list_resize(before, tensor_list_length(handle))
    return [before, None, tensor_list_get_item(grad, index, item.dtype, shape_of(item))]


def _get_kernel(ctx: KernelContext) -> Kernel:
    dtype, read = ctx.attrs["element_dtype"], item_reader(ctx, 2)
    return lambda elements, index, element_shape: read(of_dtype(elements, dtype), int(index), element_shape)


def _get_gradient(op: Operation, grad: Tensor) -> Grads:
    handle, index, element_shape = op.inputs
    nothing = tensor_list_reserve(element_shape, tensor_list_length(handle), grad.dtype)
    return [tensor_list_set_item(nothing, index, grad), None, None]


_ITEM = of_lists(lambda ctx: [known_shape(ctx, 2)])

op("TensorListSetItem", one_list, kernel=_set_kernel, grad=_set_gradient, aliases=True, sized_by=(1,))
op("TensorListGetItem", _ITEM, kernel=_get_kernel, grad=_get_gradient, aliases=True)
