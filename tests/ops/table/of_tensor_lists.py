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
        "EmptyTensorList",
        lambda t: stacked(tensor_list_push_back(empty_tensor_list(None, t.dtype), t), t),
        lambda t: t[None],
    ).on([ROWS3, LINE, NOTHING, np.float32(2)]),
    Row("TensorListReserve", _reserved, lambda n: np.zeros((n, 2), np.float32)).on(
        [at(0), at(3), at(70)], faults=[Fault(at(-1), "a list of -1 elements")]
    ),
    Row(
        "TensorListPushBack",
        lambda t, item: stacked(tensor_list_push_back(listed(t), item), t),
        lambda t, item: np.concatenate([t, np.asarray(item)[None]]),
    ).on([*NUMBERS, (NOTHING, ONE)], [(SMOOTH, SMOOTH_ONE)], [Fault((ROWS3, ROWS3), r"element 3 has shape \[3, 2\]")]),
    Row("TensorListPopBack", _popped, lambda t: [t[:-1], t[-1]]).on(
        [ROWS3, LINE, np.array([[1.0], [2.0]])], [SMOOTH], [Fault(NOTHING, "a list without any")]
    ),
    Row("TensorListLength", lambda t: tensor_list_length(listed(t)), lambda t: np.int32(len(t))).on(
        [ROWS3, NOTHING, WORDS]
    ),
    Row(
        "TensorListElementShape",
        lambda t: make_one("TensorListElementShape", [tensor_list_from_tensor(t, [None, 2])]),
        lambda t: np.array([-1, 2], np.int32),
    ).on([np.zeros([2, 3, 2])]),
    Row(
        "TensorListResize",
        lambda t, n: tensor_list_stack(
            tensor_list_resize(tensor_list_from_tensor(t, [2]), n), t.dtype, element_shape=[2]
        ),
        lambda t, n: np.concatenate([t, np.zeros([5, 2], t.dtype)])[:n],
    ).on(
        [(ROWS3, at(1)), (ROWS3, at(3)), (ROWS3, at(5)), (ROWS3, at(0)), (NOTHING, at(2))],
        [(SMOOTH, at(2)), (SMOOTH, at(4))],
        [Fault((ROWS3, at(-1)), "a list of -1 elements")],
    ),
    Row("TensorListSetItem", lambda t, k, item: stacked(tensor_list_set_item(listed(t), k, item), t), _with).on(
        [(t, at(1), item) for t, item in NUMBERS],
        [(SMOOTH, at(2), SMOOTH_ONE)],
        [
            Fault((ROWS3, at(3), ONE), "element 3 was to be set in a list of 3"),
            Fault((ROWS3, at(-1), ONE), "element -1"),
        ],
    ),
    Row("TensorListSetItem-behind the end", _grown, lambda t, k, item: item * 2).on(
        [(ROWS3, at(5), ONE), (ROWS3, at(0), ONE)], [(SMOOTH, at(5), SMOOTH_ONE), (SMOOTH, at(1), SMOOTH_ONE)]
    ),
    Row("TensorListGetItem", lambda t, k: tensor_list_get_item(listed(t), k, t.dtype), lambda t, k: t[k]).on(
        [(t, at(1)) for t, _ in NUMBERS],
        [(SMOOTH, at(2))],
        [Fault((ROWS3, at(3)), "element 3 was asked for of a list of 3"), Fault((ROWS3, at(-1)), "element -1")],
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
    Row("TensorListFromTensor", lambda t: stacked(listed(t), t), lambda t: t).on(
        [ROWS3, LINE, WORDS, np.zeros([40, 2, 1])],
        [SMOOTH],
        [Fault(ONE[0], "a scalar has no items", "a scalar has no")],
    ),
    Row("TensorListStack", lambda t: tensor_list_stack(listed(t), t.dtype, 3, [2]), lambda t: t).on(
        [ROWS3],
        [SMOOTH],
        [
            Fault(ROWS3[:2], "a list of 2 elements is stacked as one of 3"),
            Fault(np.ones([3, 1], np.float32), r"has shape \[1\]"),
        ],
    ),
    Row(
        "TensorListGather",
        lambda t, places: tensor_list_gather(listed(t), places, t.dtype),
        lambda t, places: t[places],
    ).on(
        [(ROWS3, PLACES), (LINE, PLACES), (WORDS, PLACES)],
        [(SMOOTH, np.array([1, 2, 1], np.int32))],
        [Fault((ROWS3, np.array([0, 3], np.int32)), "element 3 was asked for")],
    ),
    Row("TensorListScatterV2", _scatter, _scattered).on(
        [(ROWS3[:2], PLACES, at(-1)), (ROWS3[:2], PLACES, at(5)), (NOTHING, np.zeros(0, np.int32), at(2))],
        [(SMOOTH[:2], PLACES, at(4))],
        [
            Fault((ROWS3[:2], PLACES, at(2)), "element 2 was to be set in a list of 2"),
            Fault((ROWS3, PLACES, at(5)), "3 items are put at 2 places"),
        ],
    ),
    Row("TensorListScatterIntoExistingList", _scatter_into, lambda t, rows, places: _with(t, places, rows)).on(
        [(ROWS3, ROWS3[1:], PLACES)], [(SMOOTH, SMOOTH[1:] * 2, PLACES)]
    ),
    Row("TensorListConcatV2", _joined, lambda t: [t, np.array([1, 0, 2])]).on([ROWS3], [SMOOTH]),
    Row("TensorListSplit", _split, lambda t, lengths: t * 3).on(
        [(ROWS3, np.array([2, 0, 1])), (NOTHING, np.array([0, 0]))],
        [(SMOOTH, np.array([2, 0, 1]))],
        [
            Fault((ROWS3, np.array([2, 2])), r"sum of lengths is 4 and value's shape is: \[3, 2\]"),
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
        "AddN-of lists", lambda t, u: stacked(add_lists([listed(t), listed(u), listed(t)]), t), lambda t, u: t + u + t
    ).on(
        [(ROWS3, ROWS3[::-1]), (LINE, LINE)],
        [(SMOOTH, SMOOTH[::-1].copy())],
        [
            Fault((ROWS3, ROWS3[:2]), "lists of 3 and 2 elements cannot be added"),
            Fault((ROWS3, LINE.astype(np.float32)), "cannot be added to each other"),
            Fault((ROWS3, ROWS3.astype(np.float64)), "a list of .*float32.* and one of"),
        ],
    ),
    Row(
        "AddN-of one element",
        lambda t, k: stacked(add_lists([_single(t, k), listed(t)]), t),
        lambda t, k: _with(t, k, t[k] * 2),
    ).on([(ROWS3, at(1))], [(SMOOTH, at(2))]),
    Row(
        "ZerosLike-of a list",
        lambda t: stacked(zeros_like(listed(t)), t),
        lambda t: np.zeros_like(t) if t.dtype != object else np.full(t.shape, b"", object),
    ).on([ROWS3, LINE, WORDS]),
]
