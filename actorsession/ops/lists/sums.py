"""Sums of lists of tensors, from which gradients of lists are built.

The nodes are those of TensorFlow's gradients: ``AddN`` and ``ZerosLike`` accept lists as well. Used by
``gradients``.
"""

from __future__ import annotations

from collections.abc import Sequence

from actorsession.graph.operation import Tensor
from actorsession.ops import raw
from actorsession.ops.lists.operands import element_shape_operand, shape_of

__all__ = ["add_lists"]


def add_lists(lists: Sequence[Tensor]) -> Tensor:
    """Return the list of the elementwise sums of lists of one length.

    A list that consists of one element in a list of zeros, as gradients of reads do, needs only one addition.
    """
    single = [each for each in lists if _is_single(each)]
    whole = [each for each in lists if not _is_single(each)] or [single.pop()]
    total = whole[0] if len(whole) == 1 else raw.AddN(whole)
    for each in single:
        _, index, item = each.op.inputs
        dims = element_shape_operand(shape_of(item), item.graph)
        before = raw.TensorListGetItem(total, index, dims, element_dtype=item.dtype)
        total = raw.TensorListSetItem(total, index, raw.AddN([before, item]))
    return total


def _is_single(handle: Tensor) -> bool:
    return handle.op.type == "TensorListSetItem" and handle.op.inputs[0].op.type == "TensorListReserve"
