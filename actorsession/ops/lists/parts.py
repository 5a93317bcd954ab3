"""Concatenation of a list of tensors of different lengths, and splitting of a tensor into such a list.

See ``lists.nodes`` for what lists are.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import int64
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, scalar_shape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.apply import one
from actorsession.ops.build import convert_to_tensor
from actorsession.ops.lists.operands import (
    Grads,
    element_shape_operand,
    known_shape,
    of_dtype,
    of_lists,
    once_mark,
    reads,
    shape_reader,
)
from actorsession.ops.lists.persistent_vector import PersistentVector
from actorsession.ops.lists.values import TensorList
from actorsession.ops.rows import first, op, same

__all__ = ["tensor_list_concat", "tensor_list_split"]


def tensor_list_concat(
    input_handle: Tensor, element_dtype: Any, element_shape: Any = None, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Return the elements of a list concatenated along their first axis, and their lengths.

    Arguments as ``tensor_list_stack``; ``element_shape`` has a first axis of unknown extent.
    """
    graph = input_handle.graph
    leading = convert_to_tensor(np.zeros(0, np.int64), graph=graph)
    dims = element_shape_operand(element_shape, graph)
    return raw.TensorListConcatV2(input_handle, dims, leading, element_dtype=element_dtype, name=name)


def tensor_list_split(
    tensor: Any, element_shape: Any, lengths: Any, name: str | None = None, read_once: bool = False
) -> Tensor:
    """Return a list of slices of a tensor along its first axis, of the given lengths.

    Args:
        tensor: the tensor.
        element_shape: static shape of the slices.
        lengths: their lengths, a vector.
        name: wanted name.
        read_once: whether a step may read each element only once.
    """
    value = convert_to_tensor(tensor)
    graph = value.graph
    dims = element_shape_operand(element_shape, graph)
    sizes = convert_to_tensor(lengths, int64, graph=graph)
    attrs = {"element_dtype": None, **once_mark(read_once)}
    return one("TensorListSplit", (value, dims, sizes), attrs, name)


@of_lists
def _joined(ctx: InferContext) -> list[TensorShape]:
    dims = known_shape(ctx, 1).sizes
    joined = unknown_shape if not dims else TensorShape([None, *dims[1:]])
    return [joined, TensorShape([None])]


def _concat_kernel(ctx: KernelContext) -> Kernel:
    dtype, read = ctx.attrs["element_dtype"], shape_reader(ctx, 1)

    def concat(elements: TensorList, element_shape: Any, leading: Any) -> Any:
        known = read(element_shape)
        elements.read(*range(len(elements)))
        items = list(of_dtype(elements, dtype).items)
        parts = [elements.zeros(known) if item is None else item for item in items]
        scalar = next((k for k, part in enumerate(parts) if not np.ndim(part)), None)
        if scalar is not None:
            raise InvalidArgumentError(f"Concat saw a scalar shape at index {scalar} but requires at least vectors.")
        lengths = np.array([len(part) for part in parts], np.int64)
        if len({part.shape[1:] for part in parts}) > 1:
            shapes = [list(part.shape) for part in parts]
            raise InvalidArgumentError(f"elements of shapes {shapes} cannot be joined along axis 0")
        if parts:
            return np.concatenate(parts), lengths
        rest = TensorShape(known.sizes[1:]) if known.sizes else unknown_shape
        if not rest.is_fully_defined():
            raise InvalidArgumentError(
                f"a list without elements of shape {known} has nothing to say what their join is"
            )
        return np.empty((0, *rest.as_tuple()), dtype.np_dtype), lengths

    return concat


def _concat_gradient(op: Operation, grad: Tensor | None, _: Tensor | None) -> Grads:
    if grad is None:
        return [None, None, None]
    return [raw.TensorListSplit(grad, op.inputs[1], op.outputs[1]), None, None]


@of_lists
def _list_of_parts(ctx: InferContext) -> list[TensorShape]:
    known_shape(ctx, 1)
    return [scalar_shape]


def _split_kernel(ctx: KernelContext) -> Kernel:
    dtype, read = ctx.attrs["element_dtype"], shape_reader(ctx, 1)

    def split(tensor: Any, element_shape: Any, lengths: Any) -> TensorList:
        if lengths.ndim != 1:
            raise InvalidArgumentError(f"Expected lengths to be a vector, received shape: {list(lengths.shape)}")
        if not np.ndim(tensor):
            raise InvalidArgumentError("Expected value to be at least a vector, but received shape: []")
        if lengths.sum() != len(tensor) or (lengths < 0).any():
            raise InvalidArgumentError(
                "Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
                f"{lengths.sum()} and value's shape is: {list(np.shape(tensor))}: {lengths.tolist()} do "
                "not make it up"
            )
        ends = np.cumsum(lengths).tolist()
        starts = [0, *ends[:-1]]
        parts = [tensor[a:b] for a, b in zip(starts, ends, strict=False)]
        elements = TensorList(dtype, read(element_shape), PersistentVector.of(parts), reads(ctx))
        if parts:
            elements.check(parts[0])
        return elements

    return split


def _split_gradient(op: Operation, grad: Tensor) -> Grads:
    tensor = op.inputs[0]
    joined, _ = tensor_list_concat(grad, tensor.dtype, TensorShape([None]).concatenate(tensor.shape[1:]))
    return [joined, None, None]


def _of_both(a: Any, b: Any) -> TensorList:
    """Return the items of two lists in one."""
    if a.element_dtype is not b.element_dtype:
        raise InvalidArgumentError(f"input_a.dtype != input_b.dtype: {a.element_dtype} vs {b.element_dtype}")
    try:
        shape = a.element_shape.merge_with(b.element_shape)
    except ValueError as exc:
        raise InvalidArgumentError(f"element shapes of two lists differ: {exc}") from None
    return TensorList(a.element_dtype, shape, PersistentVector.of([*a.items, *b.items]))


def _pairs(a: Any, b: Any) -> Any:
    """Join the lists of two tensors of them, pair by pair."""
    if not isinstance(a, np.ndarray):
        return _of_both(a, b)
    if a.shape != np.shape(b):
        raise InvalidArgumentError(
            f"tensors of lists of one shape are joined, got {list(a.shape)} and {list(np.shape(b))}"
        )
    out = np.empty(a.shape, object)
    for place in np.ndindex(*a.shape):
        out[place] = _of_both(a[place], b[place])
    return out


def _push_each(lists: Any, values: Any) -> Any:
    """Append each row of a tensor to a list of its own."""
    if not isinstance(lists, np.ndarray) or len(lists) != len(values):
        raise InvalidArgumentError(
            f"a row for each list: got lists of shape {list(np.shape(lists))} and values of shape "
            f"{list(np.shape(values))}"
        )
    out = np.empty(len(lists), object)
    for place, (each, item) in enumerate(zip(lists, values, strict=True)):
        out[place] = each.appended(item)
    return out


op("TensorListConcatLists", same, _pairs, NOT_DIFFERENTIABLE)
op("TensorListPushBackBatch", first, _push_each, NOT_DIFFERENTIABLE, aliases=True)
op("TensorListConcatV2", _joined, kernel=_concat_kernel, grad=_concat_gradient)
op("TensorListSplit", _list_of_parts, kernel=_split_kernel, grad=_split_gradient, aliases=True)
