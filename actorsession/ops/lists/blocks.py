"""Conversions between lists of tensors and stacked tensors: stack, gather and their inverses.

See ``lists.nodes`` for what lists are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import as_dtype
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import REQUIRED, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import shape
from actorsession.ops.arrays.slicing import strided_slice
from actorsession.ops.build import convert_to_tensor, make_one
from actorsession.ops.lists.nodes import resized, tensor_list_length
from actorsession.ops.lists.operands import (
    LIST,
    Grads,
    define,
    element_shape_operand,
    known_shape,
    of_dtype,
    require_elements,
    require_int_scalars,
    require_list,
    shape_reader,
)
from actorsession.ops.lists.persistent_vector import PersistentVector
from actorsession.ops.lists.sums import zero_of
from actorsession.ops.lists.values import TensorList, added, new_list
from actorsession.ops.shape_operands import require_index

__all__ = [
    "rest_of", "rows_of", "tensor_list_from_tensor", "tensor_list_gather", "tensor_list_scatter",
    "tensor_list_stack",
]  # fmt: skip


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
    input_handle: Tensor,
    element_dtype: Any,
    num_elements: int = -1,
    element_shape: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return the elements of a list as one tensor, along a new first axis.

    Args:
        input_handle: the list.
        element_dtype: dtype of its elements.
        num_elements: required number of elements; any number for -1.
        element_shape: static shape of all elements.
        name: wanted name.
    """
    inputs = [input_handle, element_shape_operand(element_shape, input_handle.graph)]
    attrs = {"element_dtype": as_dtype(element_dtype), "num_elements": int(num_elements)}
    return make_one("TensorListStack", inputs, attrs, name)


def tensor_list_from_tensor(tensor: Any, element_shape: Any, name: str | None = None) -> Tensor:
    """Return the items along the first axis of a tensor as a list; arguments as ``tensor_list_stack``."""
    value = convert_to_tensor(tensor)
    inputs = [value, element_shape_operand(element_shape, value.graph)]
    return make_one("TensorListFromTensor", inputs, {"element_dtype": value.dtype}, name)


def _infer_stack(ctx: InferContext) -> list[TensorSpec]:
    require_list(ctx, 0)
    count = ctx.attrs["num_elements"]
    front = TensorShape([None if count < 0 else count])
    return [TensorSpec(ctx.attrs["element_dtype"], front.concatenate(known_shape(ctx, 1)))]


def _stack_kernel(ctx: KernelContext) -> Kernel:
    dtype, read, wanted = (
        ctx.attrs["element_dtype"],
        shape_reader(ctx, 1),
        ctx.attrs["num_elements"],
    )

    def stack(given: TensorList, element_shape: Any) -> Any:
        if wanted >= 0 and len(given) != wanted:
            raise InvalidArgumentError(
                f"a list of {len(given)} elements is stacked as one of {wanted}"
            )
        items, dims = of_dtype(given, dtype).values(read(element_shape))
        out = np.empty((len(items), *dims), dtype.np_dtype)
        for k, item in enumerate(items):
            out[k] = item
        return out

    return stack


def _stack_gradient(op: Operation, grad: Tensor) -> Grads:
    return [
        raw.TensorListFromTensor(grad, op.inputs[1], element_dtype=grad.dtype),
        None,
    ]


def _infer_from_tensor(ctx: InferContext) -> list[TensorSpec]:
    require_elements(ctx, 0)
    dims = ctx.inputs[0].shape.sizes
    if dims is not None:
        if not dims:
            raise ValueError(f"{ctx.op}: a scalar has no items to make a list of")
        TensorShape(dims[1:]).merge_with(known_shape(ctx, 1))
    return [LIST]


def _from_tensor_kernel(ctx: KernelContext) -> Kernel:
    dtype, read = ctx.attrs["element_dtype"], shape_reader(ctx, 1)

    def from_tensor(tensor: Any, element_shape: Any) -> TensorList:
        made = TensorList(
            dtype, read(element_shape), PersistentVector.of(rows_of(tensor, "TensorListFromTensor"))
        )
        if len(made):
            made.check(made.items[0])
        return made

    return from_tensor


def _from_tensor_gradient(op: Operation, grad: Tensor) -> Grads:
    tensor = op.inputs[0]
    return [tensor_list_stack(grad, tensor.dtype, element_shape=rest_of(tensor)), None]


define(
    "TensorListStack", _infer_stack, _stack_kernel, _stack_gradient,
    {"element_dtype": REQUIRED, "num_elements": -1}, makes_lists=False,
)  # fmt: skip
define("TensorListFromTensor", _infer_from_tensor, _from_tensor_kernel, _from_tensor_gradient)


# -- TensorListGather, TensorListScatterV2, TensorListScatterIntoExistingList ----------------------


def tensor_list_gather(
    input_handle: Tensor,
    indices: Any,
    element_dtype: Any,
    element_shape: Any = None,
    name: str | None = None,
) -> Tensor:
    """Return the elements at some indices as one tensor; arguments as ``tensor_list_stack``."""
    graph = input_handle.graph
    inputs = [
        input_handle,
        convert_to_tensor(indices, graph=graph),
        element_shape_operand(element_shape, graph),
    ]
    return make_one("TensorListGather", inputs, {"element_dtype": as_dtype(element_dtype)}, name)


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
        name: wanted name.
    """
    value = convert_to_tensor(tensor)
    graph = value.graph
    places, attrs = convert_to_tensor(indices, graph=graph), {"element_dtype": value.dtype}
    if input_handle is not None:
        inputs = [input_handle, value, places]
        return make_one("TensorListScatterIntoExistingList", inputs, attrs, name)
    count = convert_to_tensor(-1 if num_elements is None else num_elements, graph=graph)
    inputs = [value, places, element_shape_operand(element_shape, graph), count]
    return make_one("TensorListScatterV2", inputs, attrs, name)


def _infer_gather(ctx: InferContext) -> list[TensorSpec]:
    require_list(ctx, 0)
    require_index(ctx, 1, rank=1)
    count = ctx.inputs[1].shape.sizes
    front = TensorShape([None if count is None else count[0]])
    return [TensorSpec(ctx.attrs["element_dtype"], front.concatenate(known_shape(ctx, 2)))]


def _gather_kernel(ctx: KernelContext) -> Kernel:
    dtype, read = ctx.attrs["element_dtype"], shape_reader(ctx, 2)

    def gather_items(given: TensorList, indices: Any, element_shape: Any) -> Any:
        places, held = indices.tolist(), of_dtype(given, dtype).items
        bad = next((p for p in places if not 0 <= p < len(held)), None)
        if bad is not None:
            raise InvalidArgumentError(
                f"element {bad} was asked for of a list of {len(held)} elements"
            )
        chosen = given.like(PersistentVector.of([held[p] for p in places]))
        items, dims = chosen.values(read(element_shape))
        out = np.empty((len(items), *dims), dtype.np_dtype)
        for k, item in enumerate(items):
            out[k] = item
        return out

    return gather_items


def _gather_gradient(op: Operation, grad: Tensor) -> Grads:
    given, indices, element_shape = op.inputs
    # Elements are added one after another, because an element that is read twice has two contributions.
    length = tensor_list_length(given)
    inputs = [grad, indices, element_shape, length]
    made = make_one("TensorListScatterAdd", inputs, {"element_dtype": grad.dtype})
    return [made, None, None]


def _infer_scatter(ctx: InferContext) -> list[TensorSpec]:
    require_elements(ctx, 0)
    require_index(ctx, 1, rank=1)
    require_int_scalars(ctx, 3)
    known_shape(ctx, 2)
    return [LIST]


def _infer_scatter_into(ctx: InferContext) -> list[TensorSpec]:
    require_list(ctx, 0)
    require_elements(ctx, 1)
    require_index(ctx, 2, rank=1)
    return [LIST]


def _scattered(given: TensorList, tensor: Any, indices: Any, grows: bool, adds: bool) -> TensorList:
    places, rows = indices.tolist(), rows_of(tensor, "TensorListScatter")
    if len(places) != len(rows):
        raise InvalidArgumentError(f"{len(rows)} items are put at {len(places)} places")
    if grows and places:
        given = resized(given, max(len(given), max(places) + 1))
    items = given.items
    for place, row in zip(places, rows, strict=True):
        if not 0 <= place < len(items):
            raise InvalidArgumentError(
                f"element {place} was to be set in a list of {len(items)} elements"
            )
        given.check(row)
        items = items.replace(place, added([items[place], row]) if adds else row)
    return given.like(items)


def _scatter_kernel(ctx: KernelContext) -> Kernel:
    dtype, read = ctx.attrs["element_dtype"], shape_reader(ctx, 2)
    adds = ctx.op == "TensorListScatterAdd"

    def scatter(tensor: Any, indices: Any, element_shape: Any, count: Any) -> TensorList:
        made = new_list(dtype, read(element_shape), max(int(count), 0))
        return _scattered(made, tensor, indices, count < 0, adds)

    return scatter


def _scatter_into_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.attrs["element_dtype"]
    return lambda given, tensor, indices: _scattered(
        of_dtype(given, dtype), tensor, indices, True, False
    )


def _read_back(grad: Tensor, indices: Tensor, tensor: Tensor) -> Tensor:
    return tensor_list_gather(grad, indices, tensor.dtype, rest_of(tensor))


def _scatter_gradient(op: Operation, grad: Tensor) -> Grads:
    tensor, indices = op.inputs[:2]
    return [_read_back(grad, indices, tensor), None, None, None]


def _scatter_into_gradient(op: Operation, grad: Tensor) -> Grads:
    given, tensor, indices = op.inputs
    before = tensor_list_scatter(zero_of(tensor), indices, input_handle=grad)
    before = raw.TensorListResize(before, tensor_list_length(given))
    return [before, _read_back(grad, indices, tensor), None]


define(
    "TensorListGather", _infer_gather, _gather_kernel, _gather_gradient, makes_lists=False
)  # fmt: skip
for _name in ("TensorListScatterV2", "TensorListScatterAdd"):
    define(_name, _infer_scatter, _scatter_kernel, _scatter_gradient, sized_by=(1, 3))
define(
    "TensorListScatterIntoExistingList", _infer_scatter_into, _scatter_into_kernel,
    _scatter_into_gradient, sized_by=(2,),
)  # fmt: skip
