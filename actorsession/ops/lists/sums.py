"""Sums of lists of tensors, and zeros like them, from which gradients of lists are built.

The op types are this library's: TensorFlow's ``AddN`` and ``ZerosLike`` accept lists as well, and inspect
each value to recognise them. Used by the gradients of lists, loops and branches, and by ``gradients``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import variant
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Kernel, KernelContext
from actorsession.ops import raw
from actorsession.ops.arrays.fills import zeros_like
from actorsession.ops.lists.operands import (
    Grads,
    element_shape_operand,
    of_dtype,
    one_list,
    shape_of,
)
from actorsession.ops.lists.values import TensorList, added, sum_of, zeros_of
from actorsession.ops.rows import op

__all__ = ["add_lists", "zero_list", "zero_of"]


def zero_list(given: Tensor) -> Tensor:
    """Return a list of zeros with the shapes of the elements of ``given``."""
    return raw.TensorListZerosLike(given)


def zero_of(tensor: Tensor) -> Tensor:
    """Return zeros like a tensor or list."""
    return zero_list(tensor) if tensor.dtype is variant else zeros_like(tensor)


def add_lists(lists: Sequence[Tensor]) -> Tensor:
    """Return the list of the elementwise sums of lists of one length.

    A list that consists of one element in a list of zeros, as gradients of reads do, needs only one addition.
    """
    single = [each for each in lists if _is_single(each)]
    whole = [each for each in lists if not _is_single(each)] or [single.pop()]
    total = whole[0] if len(whole) == 1 else raw.TensorListAdd(whole)
    for each in single:
        _, index, item = each.op.inputs
        total = raw.TensorListAddItem(total, index, item)
    return total


def _is_single(given: Tensor) -> bool:
    return (
        given.op.type == "TensorListSetItem" and given.op.inputs[0].op.type == "TensorListReserve"
    )


def _add_item_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.attrs["element_dtype"]

    def add_item(given: TensorList, index: Any, item: Any) -> TensorList:
        place, items = int(index), of_dtype(given, dtype).items
        if not 0 <= place < len(items):
            raise InvalidArgumentError(
                f"element {place} was to be added to in a list of {len(items)} elements"
            )
        return given.like(items.replace(place, added([items[place], item])))

    return add_item


def _add_item_gradient(op: Operation, grad: Tensor) -> Grads:
    _, index, item = op.inputs
    dims = element_shape_operand(shape_of(item), grad.graph)
    return [grad, None, raw.TensorListGetItem(grad, index, dims, element_dtype=item.dtype)]


op("TensorListZerosLike", one_list, zeros_of, NOT_DIFFERENTIABLE, aliases=True)
op(
    "TensorListAdd", one_list, lambda *lists: sum_of(lists),
    lambda op, grad: [grad] * len(op.inputs), aliases=True,
)  # fmt: skip
op("TensorListAddItem", one_list, kernel=_add_item_kernel, grad=_add_item_gradient, aliases=True)
