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
from actorsession.graph.dtypes import as_dtype, int32
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import (
    NOT_DIFFERENTIABLE,
    REQUIRED,
    InferContext,
    Kernel,
    KernelContext,
)
from actorsession.graph.shape import scalar_shape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor, graph_of, make, make_one
from actorsession.ops.lists.operands import (
    LIST,
    Grads,
    define,
    element_shape_operand,
    item_reader,
    known_shape,
    of_dtype,
    require_elements,
    require_int_scalars,
    require_list,
    shape_of,
    shape_reader,
)
from actorsession.ops.lists.sums import zero_list, zero_of
from actorsession.ops.lists.values import TensorList, empty_list, new_list

__all__ = [
    "empty_tensor_list", "resized", "tensor_list_get_item", "tensor_list_length",
    "tensor_list_pop_back", "tensor_list_push_back", "tensor_list_reserve", "tensor_list_resize",
    "tensor_list_set_item",
]  # fmt: skip


# -- EmptyTensorList, TensorListReserve ------------------------------------------------------------


def empty_tensor_list(
    element_shape: Any, element_dtype: Any, max_num_elements: Any = None, name: str | None = None
) -> Tensor:
    """Return a list without elements.

    Args:
        element_shape: static shape of all elements.
        element_dtype: dtype of the elements.
        max_num_elements: maximum number of elements; any number if left out.
        name: wanted name.
    """
    graph = graph_of(element_shape, max_num_elements)
    most = -1 if max_num_elements is None else max_num_elements
    inputs = [element_shape_operand(element_shape, graph), convert_to_tensor(most, graph=graph)]
    return make_one(
        "EmptyTensorList", inputs, {"element_dtype": as_dtype(element_dtype)}, name, graph
    )


def tensor_list_reserve(
    element_shape: Any, num_elements: Any, element_dtype: Any, name: str | None = None
) -> Tensor:
    """Return a list of ``num_elements`` unset elements; arguments as ``empty_tensor_list``."""
    graph = graph_of(element_shape, num_elements)
    inputs = [
        element_shape_operand(element_shape, graph),
        convert_to_tensor(num_elements, graph=graph),
    ]
    return make_one(
        "TensorListReserve", inputs, {"element_dtype": as_dtype(element_dtype)}, name, graph
    )


def _infer_new(ctx: InferContext) -> list[TensorSpec]:
    require_int_scalars(ctx, 1)
    known_shape(ctx, 0)
    return [LIST]


def _empty_kernel(ctx: KernelContext) -> Kernel:
    dtype, read = ctx.attrs["element_dtype"], shape_reader(ctx, 0)
    return lambda element_shape, most: empty_list(dtype, read(element_shape))


def _reserve_kernel(ctx: KernelContext) -> Kernel:
    dtype, read = ctx.attrs["element_dtype"], shape_reader(ctx, 0)

    def reserve(element_shape: Any, count: Any) -> TensorList:
        if count < 0:
            raise InvalidArgumentError(f"a list of {count} elements was asked for")
        return new_list(dtype, read(element_shape), int(count))

    return reserve


define("EmptyTensorList", _infer_new, _empty_kernel, NOT_DIFFERENTIABLE)
define("TensorListReserve", _infer_new, _reserve_kernel, NOT_DIFFERENTIABLE, sized_by=(1,))


# -- TensorListPushBack, TensorListPopBack ---------------------------------------------------------


def tensor_list_push_back(input_handle: Tensor, tensor: Any, name: str | None = None) -> Tensor:
    """Return the list with ``tensor`` appended."""
    item = convert_to_tensor(tensor, graph=input_handle.graph)
    attrs = {"element_dtype": item.dtype}
    return make_one("TensorListPushBack", [input_handle, item], attrs, name)


def tensor_list_pop_back(
    input_handle: Tensor, element_dtype: Any, name: str | None = None, element_shape: Any = None
) -> tuple[Tensor, Tensor]:
    """Return the list without its last element, and that element."""
    inputs = [input_handle, element_shape_operand(element_shape, input_handle.graph)]
    attrs = {"element_dtype": as_dtype(element_dtype)}
    op = make("TensorListPopBack", inputs, attrs, name)
    return op.outputs[0], op.outputs[1]


def _infer_push(ctx: InferContext) -> list[TensorSpec]:
    require_list(ctx, 0)
    require_elements(ctx, 1)
    return [LIST]


def _push_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.attrs["element_dtype"]
    return lambda given, item: of_dtype(given, dtype).appended(item)


def _push_gradient(op: Operation, grad: Tensor) -> Grads:
    item = op.inputs[1]
    return tensor_list_pop_back(grad, item.dtype, element_shape=shape_of(item))


def _infer_pop(ctx: InferContext) -> list[TensorSpec]:
    require_list(ctx, 0)
    return [LIST, TensorSpec(ctx.attrs["element_dtype"], known_shape(ctx, 1))]


def _pop_kernel(ctx: KernelContext) -> Kernel:
    dtype, read = ctx.attrs["element_dtype"], item_reader(ctx, 1)

    def pop(given: TensorList, element_shape: Any) -> tuple[TensorList, Any]:
        items = of_dtype(given, dtype).items
        if not len(items):
            raise InvalidArgumentError("an element was asked for of a list without any")
        return given.like(items.pop()), read(given, len(items) - 1, element_shape)

    return pop


def _pop_gradient(op: Operation, rest: Tensor | None, item: Tensor | None) -> Grads:
    if rest is None:
        rest = zero_list(op.outputs[0])
    if item is None:
        item = zero_of(op.outputs[1])
    return [tensor_list_push_back(rest, item), None]


define("TensorListPushBack", _infer_push, _push_kernel, _push_gradient)
define("TensorListPopBack", _infer_pop, _pop_kernel, _pop_gradient)


# -- TensorListLength, TensorListElementShape, TensorListResize ------------------------------------


def tensor_list_length(input_handle: Tensor, name: str | None = None) -> Tensor:
    """Return the number of elements, an int32 scalar."""
    return raw.TensorListLength(input_handle, name=name)


def tensor_list_resize(input_handle: Tensor, size: Any, name: str | None = None) -> Tensor:
    """Return the list truncated, or extended by unset elements, to ``size`` elements."""
    count = convert_to_tensor(size, graph=input_handle.graph)
    return raw.TensorListResize(input_handle, count, name=name)


def _infer_length(ctx: InferContext) -> list[TensorSpec]:
    require_list(ctx, 0)
    return [TensorSpec(int32, scalar_shape)]


def _infer_element_shape(ctx: InferContext) -> list[TensorSpec]:
    require_list(ctx, 0)
    return [TensorSpec(ctx.attrs["shape_type"], unknown_shape)]


def _element_shape_kernel(ctx: KernelContext) -> Kernel:
    numpy = ctx.attrs["shape_type"].np_dtype

    def read(given: TensorList) -> Any:
        dims = given.element_shape.sizes
        if dims is None:
            return numpy.type(-1)
        return np.array([-1 if d is None else d for d in dims], numpy)

    return read


def _infer_resize(ctx: InferContext) -> list[TensorSpec]:
    require_list(ctx, 0)
    require_int_scalars(ctx, 1)
    return [LIST]


def resized(given: TensorList, count: int) -> TensorList:
    """Return the list with ``count`` elements; see ``tensor_list_resize``."""
    if count < 0:
        raise InvalidArgumentError(f"a list of {count} elements was asked for")
    items = given.items
    if count < len(items) - count:
        return given.like(type(items).of([items[k] for k in range(count)]))
    while len(items) > count:
        items = items.pop()
    while len(items) < count:
        items = items.append(None)
    return given.like(items)


def _resize_gradient(op: Operation, grad: Tensor) -> Grads:
    return [tensor_list_resize(grad, tensor_list_length(op.inputs[0])), None]


define(
    "TensorListLength", _infer_length, lambda ctx: lambda given: np.int32(len(given)),
    NOT_DIFFERENTIABLE, {}, makes_lists=False,
)  # fmt: skip
define(
    "TensorListElementShape", _infer_element_shape, _element_shape_kernel,
    NOT_DIFFERENTIABLE, {"shape_type": int32}, makes_lists=False,
)  # fmt: skip
define(
    "TensorListResize", _infer_resize,
    lambda ctx: lambda given, count: resized(given, int(count)), _resize_gradient, {},
    sized_by=(1,),
)  # fmt: skip


# -- TensorListSetItem, TensorListGetItem ----------------------------------------------------------


def tensor_list_set_item(
    input_handle: Tensor,
    index: Any,
    item: Any,
    resize_if_index_out_of_bounds: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the list with another element at an index.

    Args:
        input_handle: the list.
        index: the index.
        item: the element.
        resize_if_index_out_of_bounds: whether an index after the end extends the list.
        name: wanted name.
    """
    graph = input_handle.graph
    value = convert_to_tensor(item, graph=graph)
    attrs = {
        "element_dtype": value.dtype,
        "resize_if_index_out_of_bounds": bool(resize_if_index_out_of_bounds),
    }
    place = convert_to_tensor(index, graph=graph)
    return make_one("TensorListSetItem", [input_handle, place, value], attrs, name)


def tensor_list_get_item(
    input_handle: Tensor,
    index: Any,
    element_dtype: Any,
    element_shape: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return the element at an index; zeros if it was never set and its shape is known."""
    graph = input_handle.graph
    inputs = [
        input_handle,
        convert_to_tensor(index, graph=graph),
        element_shape_operand(element_shape, graph),
    ]
    return make_one("TensorListGetItem", inputs, {"element_dtype": as_dtype(element_dtype)}, name)


def _infer_set(ctx: InferContext) -> list[TensorSpec]:
    require_list(ctx, 0)
    require_int_scalars(ctx, 1)
    require_elements(ctx, 2)
    return [LIST]


def _set_kernel(ctx: KernelContext) -> Kernel:
    dtype, grows = ctx.attrs["element_dtype"], ctx.attrs["resize_if_index_out_of_bounds"]

    def set_item(given: TensorList, index: Any, item: Any) -> TensorList:
        place = int(index)
        of_dtype(given, dtype).check(item)
        if grows and place >= len(given):
            given = resized(given, place + 1)
        if not 0 <= place < len(given):
            raise InvalidArgumentError(
                f"element {place} was to be set in a list of {len(given)} elements"
            )
        return given.like(given.items.replace(place, item))

    return set_item


def _set_gradient(op: Operation, grad: Tensor) -> Grads:
    given, index, item = op.inputs
    nothing = zero_of(item)
    before = tensor_list_set_item(grad, index, nothing)
    if op.attrs["resize_if_index_out_of_bounds"]:
        before = tensor_list_resize(before, tensor_list_length(given))
    return [before, None, tensor_list_get_item(grad, index, item.dtype, shape_of(item))]


def _infer_get(ctx: InferContext) -> list[TensorSpec]:
    require_list(ctx, 0)
    require_int_scalars(ctx, 1)
    return [TensorSpec(ctx.attrs["element_dtype"], known_shape(ctx, 2))]


def _get_kernel(ctx: KernelContext) -> Kernel:
    dtype, read = ctx.attrs["element_dtype"], item_reader(ctx, 2)
    return lambda given, index, element_shape: read(
        of_dtype(given, dtype), int(index), element_shape
    )


def _get_gradient(op: Operation, grad: Tensor) -> Grads:
    given, index, element_shape = op.inputs
    nothing = tensor_list_reserve(element_shape, tensor_list_length(given), grad.dtype)
    return [tensor_list_set_item(nothing, index, grad), None, None]


define(
    "TensorListSetItem", _infer_set, _set_kernel, _set_gradient,
    {"element_dtype": REQUIRED, "resize_if_index_out_of_bounds": False}, sized_by=(1,),
)  # fmt: skip
define("TensorListGetItem", _infer_get, _get_kernel, _get_gradient)
