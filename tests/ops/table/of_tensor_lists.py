"""Rows of lists of tensors: each makes lists of its arguments and reads an array from what comes out."""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession import zeros_like
from actorsession.ops.lists.blocks import (
    tensor_list_from_tensor,
    tensor_list_gather,
    tensor_list_scatter,
    tensor_list_stack,
)
from actorsession.ops.lists.nodes import (
    empty_tensor_list,
    tensor_list_get_item,
    tensor_list_length,
    tensor_list_pop_back,
    tensor_list_push_back,
    tensor_list_reserve,
    tensor_list_resize,
    tensor_list_set_item,
)
from actorsession.ops.lists.parts import tensor_list_concat, tensor_list_split
from actorsession.ops.lists.sums import add_lists
from tests.nodes import make_one
from tests.ops.table.row import Fault, Row

ROWS3 = np.array([[1.5, -2.0], [0.5, np.nan], [3.0, np.inf]], np.float32)
SMOOTH = np.array([[1.5, -2.0], [0.5, 4.0], [3.0, 0.25]])
ONE = np.array([7.0, -1.0], np.float32)
SMOOTH_ONE = np.array([7.0, -1.0])
LINE = np.array([1, -2, 3], np.int64)
WORDS = np.array([b"a", b"", b"d\0"], object)
NOTHING = np.zeros([0, 2], np.float32)
NUMBERS = [(ROWS3, ONE), (LINE, np.int64(9)), (WORDS, np.array(b"e", object))]


def listed(t: Any) -> Any:
    return tensor_list_from_tensor(t, None)


def stacked(handle: Any, like: Any) -> Any:
    return tensor_list_stack(handle, like.dtype)


def at(index: int) -> Any:
    return np.int32(index)


# -- one item at a time ----------------------------------------------------------------------------


def _popped(t: Any) -> Any:
    rest, last = tensor_list_pop_back(listed(t), t.dtype)
    return [stacked(rest, t), last]


def _with(t: Any, k: Any, item: Any) -> Any:
    out = np.array(t)
    out[k] = item
    return out


def _reserved(n: Any) -> Any:
    return tensor_list_stack(tensor_list_reserve([2], n, "float32"), "float32", element_shape=[2])


def _grown(t: Any, k: Any, item: Any) -> Any:
    made = tensor_list_set_item(listed(t), k, item, resize_if_index_out_of_bounds=True)
    return tensor_list_get_item(made, k, t.dtype) * 2.0


SINGLE = [
    Row(
        op="EmptyTensorList",
        build=lambda t: stacked(tensor_list_push_back(empty_tensor_list(None, t.dtype), t), t),
        numpy=lambda t: t[None],
        inputs=[(ROWS3,), (LINE,), (NOTHING,), (np.float32(2),)],
        no_gradient="it has no elements",
    ),
    Row(
        op="TensorListReserve",
        build=_reserved,
        numpy=lambda n: np.zeros((n, 2), np.float32),
        inputs=[(at(0),), (at(3),), (at(70),)],
        no_gradient="it has no elements that were set",
        faults=[Fault((at(-1),), "a list of -1 elements")],
    ),
    Row(
        op="TensorListPushBack",
        build=lambda t, item: stacked(tensor_list_push_back(listed(t), item), t),
        numpy=lambda t, item: np.concatenate([t, np.asarray(item)[None]]),
        inputs=[*NUMBERS, (NOTHING, ONE)],
        smooth=[(SMOOTH, SMOOTH_ONE)],
        faults=[Fault((ROWS3, ROWS3), r"element 3 has shape \[3, 2\]")],
    ),
    Row(
        op="TensorListPopBack",
        build=_popped,
        numpy=lambda t: [t[:-1], t[-1]],
        inputs=[(ROWS3,), (LINE,), (np.array([[1.0], [2.0]]),)],
        smooth=[(SMOOTH,)],
        faults=[Fault((NOTHING,), "a list without any")],
    ),
    Row(
        op="TensorListLength",
        build=lambda t: tensor_list_length(listed(t)),
        numpy=lambda t: np.int32(len(t)),
        inputs=[(ROWS3,), (NOTHING,), (WORDS,)],
        no_gradient="it is a count",
    ),
    Row(
        op="TensorListElementShape",
        build=lambda t: make_one("TensorListElementShape", [tensor_list_from_tensor(t, [None, 2])]),
        numpy=lambda t: np.array([-1, 2], np.int32),
        inputs=[(np.zeros([2, 3, 2]),)],
        no_gradient="it is a shape",
    ),
    Row(
        op="TensorListResize",
        build=lambda t, n: tensor_list_stack(
            tensor_list_resize(tensor_list_from_tensor(t, [2]), n), t.dtype, element_shape=[2]
        ),
        numpy=lambda t, n: np.concatenate([t, np.zeros([5, 2], t.dtype)])[:n],
        inputs=[(ROWS3, at(1)), (ROWS3, at(3)), (ROWS3, at(5)), (ROWS3, at(0)), (NOTHING, at(2))],
        smooth=[(SMOOTH, at(2)), (SMOOTH, at(4))],
        faults=[Fault((ROWS3, at(-1)), "a list of -1 elements")],
    ),
    Row(
        op="TensorListSetItem",
        build=lambda t, k, item: stacked(tensor_list_set_item(listed(t), k, item), t),
        numpy=_with,
        inputs=[(t, at(1), item) for t, item in NUMBERS],
        smooth=[(SMOOTH, at(2), SMOOTH_ONE)],
        faults=[
            Fault((ROWS3, at(3), ONE), "element 3 was to be set in a list of 3"),
            Fault((ROWS3, at(-1), ONE), "element -1"),
        ],
    ),
    Row(
        op="TensorListSetItem",
        label="behind the end",
        build=_grown,
        numpy=lambda t, k, item: item * 2,
        inputs=[(ROWS3, at(5), ONE), (ROWS3, at(0), ONE)],
        smooth=[(SMOOTH, at(5), SMOOTH_ONE), (SMOOTH, at(1), SMOOTH_ONE)],
    ),
    Row(
        op="TensorListGetItem",
        build=lambda t, k: tensor_list_get_item(listed(t), k, t.dtype),
        numpy=lambda t, k: t[k],
        inputs=[(t, at(1)) for t, _ in NUMBERS],
        smooth=[(SMOOTH, at(2))],
        faults=[Fault((ROWS3, at(3)), "element 3 was asked for of a list of 3"), Fault((ROWS3, at(-1)), "element -1")],
    ),
]


# -- many items ------------------------------------------------------------------------------------


def _scattered(rows: Any, places: Any, count: Any) -> Any:
    out = np.zeros([max(int(count), int(places.max(initial=-1)) + 1), 2], rows.dtype)
    out[places] = rows
    return out


def _scatter(rows: Any, places: Any, count: Any) -> Any:
    made = tensor_list_scatter(rows, places, [2], num_elements=count)
    return tensor_list_stack(made, rows.dtype, element_shape=[2])


def _scatter_into(t: Any, rows: Any, places: Any) -> Any:
    return stacked(tensor_list_scatter(rows, places, input_handle=listed(t)), t)


def _joined(t: Any) -> Any:
    parts = tensor_list_split(t, [None, 2], ops_lengths(t))
    return list(tensor_list_concat(parts, t.dtype, [None, 2]))


def ops_lengths(t: Any) -> Any:
    return np.array([1, 0, 2], np.int64)


def _split(t: Any, lengths: Any) -> Any:
    return tensor_list_concat(tensor_list_split(t, [None, 2], lengths), t.dtype, [None, 2])[0] * 3.0


PLACES = np.array([2, 0], np.int32)
MANY = [
    Row(
        op="TensorListFromTensor",
        build=lambda t: stacked(listed(t), t),
        numpy=lambda t: t,
        inputs=[(ROWS3,), (LINE,), (WORDS,), (np.zeros([40, 2, 1]),)],
        smooth=[(SMOOTH,)],
        faults=[Fault((ONE[0],), "a scalar has no items", static="a scalar has no")],
    ),
    Row(
        op="TensorListStack",
        build=lambda t: tensor_list_stack(listed(t), t.dtype, 3, [2]),
        numpy=lambda t: t,
        inputs=[(ROWS3,)],
        smooth=[(SMOOTH,)],
        faults=[
            Fault((ROWS3[:2],), "a list of 2 elements is stacked as one of 3"),
            Fault((np.ones([3, 1], np.float32),), r"has shape \[1\]"),
        ],
    ),
    Row(
        op="TensorListGather",
        build=lambda t, places: tensor_list_gather(listed(t), places, t.dtype),
        numpy=lambda t, places: t[places],
        inputs=[(ROWS3, PLACES), (LINE, PLACES), (WORDS, PLACES)],
        smooth=[(SMOOTH, np.array([1, 2, 1], np.int32))],
        faults=[Fault((ROWS3, np.array([0, 3], np.int32)), "element 3 was asked for")],
    ),
    Row(
        op="TensorListScatterV2",
        build=_scatter,
        numpy=_scattered,
        inputs=[(ROWS3[:2], PLACES, at(-1)), (ROWS3[:2], PLACES, at(5)), (NOTHING, np.zeros(0, np.int32), at(2))],
        smooth=[(SMOOTH[:2], PLACES, at(4))],
        faults=[
            Fault((ROWS3[:2], PLACES, at(2)), "element 2 was to be set in a list of 2"),
            Fault((ROWS3, PLACES, at(5)), "3 items are put at 2 places"),
        ],
    ),
    Row(
        op="TensorListScatterIntoExistingList",
        build=_scatter_into,
        numpy=lambda t, rows, places: _with(t, places, rows),
        inputs=[(ROWS3, ROWS3[1:], PLACES)],
        smooth=[(SMOOTH, SMOOTH[1:] * 2, PLACES)],
    ),
    Row(
        op="TensorListConcatV2",
        build=_joined,
        numpy=lambda t: [t, np.array([1, 0, 2])],
        inputs=[(ROWS3,)],
        smooth=[(SMOOTH,)],
    ),
    Row(
        op="TensorListSplit",
        build=_split,
        numpy=lambda t, lengths: t * 3,
        inputs=[(ROWS3, np.array([2, 0, 1])), (NOTHING, np.array([0, 0]))],
        smooth=[(SMOOTH, np.array([2, 0, 1]))],
        faults=[
            Fault(inputs=(ROWS3, np.array([2, 2])), match=r"sum of lengths is 4 and value's shape is: \[3, 2\]"),
            Fault((ROWS3, np.array([2, 0])), "sum of lengths is 2"),
        ],
    ),
]


# -- sums ------------------------------------------------------------------------------------------


def _single(t: Any, k: Any) -> Any:
    nothing = tensor_list_reserve([2], tensor_list_length(listed(t)), t.dtype)
    return tensor_list_set_item(nothing, k, t[k])


SUMS = [
    Row(
        op="AddN",
        label="of lists",
        build=lambda t, u: stacked(add_lists([listed(t), listed(u), listed(t)]), t),
        numpy=lambda t, u: t + u + t,
        inputs=[(ROWS3, ROWS3[::-1]), (LINE, LINE)],
        smooth=[(SMOOTH, SMOOTH[::-1].copy())],
        faults=[
            Fault(inputs=(ROWS3, ROWS3[:2]), match="lists of 3 and 2 elements cannot be added"),
            Fault(inputs=(ROWS3, LINE.astype(np.float32)), match="cannot be added to each other"),
            Fault(inputs=(ROWS3, ROWS3.astype(np.float64)), match="a list of .*float32.* and one of"),
        ],
    ),
    Row(
        op="AddN",
        label="of one element",
        build=lambda t, k: stacked(add_lists([_single(t, k), listed(t)]), t),
        numpy=lambda t, k: _with(t, k, t[k] * 2),
        inputs=[(ROWS3, at(1))],
        smooth=[(SMOOTH, at(2))],
    ),
    Row(
        op="ZerosLike",
        label="of a list",
        build=lambda t: stacked(zeros_like(listed(t)), t),
        numpy=lambda t: np.zeros_like(t) if t.dtype != object else np.full(t.shape, b"", object),
        inputs=[(ROWS3,), (LINE,), (WORDS,)],
        no_gradient="it is zero",
    ),
]


ROWS = [*SINGLE, *MANY, *SUMS]
