"""Lists of tensors beyond their values: what they refuse, how they travel, what sessions say of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import actorsession as acts
from actorsession import ops
from actorsession.errors import InvalidArgumentError, ProtocolError
from actorsession.graph import codec
from actorsession.graph.dtypes import variant
from actorsession.ops.lists.blocks import tensor_list_from_tensor, tensor_list_stack
from actorsession.ops.lists.nodes import (
    empty_tensor_list,
    tensor_list_get_item,
    tensor_list_push_back,
    tensor_list_reserve,
    tensor_list_set_item,
)
from actorsession.ops.lists.persistent_vector import EMPTY, WIDTH, PersistentVector
from actorsession.ops.lists.values import TensorList, empty_list, fits, new_list
from tests.ops.cases import run
from tests.rows import for_each, refused

# -- values ----------------------------------------------------------------------------------------


def test_a_list_goes_through_a_loop_and_from_device_to_device() -> None:
    with acts.device("/cpu:1"):
        start = tensor_list_reserve([2], 40, "float32")
        _, filled = ops.while_loop(
            lambda i, _: i < 40,
            lambda i, rows: (i + 1, tensor_list_set_item(rows, i, [1.0, ops.cast(i, "float32")])),
            [0, start],
        )
    with acts.device("/cpu:2"):
        whole = tensor_list_stack(filled, "float32", element_shape=[2])
    assert run(whole, devices=3).tolist() == [[1.0, k] for k in range(40)]


def test_a_list_is_not_changed_by_what_is_made_of_it() -> None:
    first = tensor_list_from_tensor([1, 2, 3], [])
    second = tensor_list_set_item(first, 1, 9)
    both = [tensor_list_stack(each, "int32") for each in (first, second)]
    assert [v.tolist() for v in run(both)] == [[1, 2, 3], [1, 9, 3]]


def test_an_array_that_was_put_into_a_list_is_the_fetchers_own() -> None:
    x = ops.placeholder("float32", [2])
    doubled = x * 2.0
    item = tensor_list_get_item(tensor_list_push_back(empty_tensor_list(None, "float32"), doubled), 0, "float32")
    a, b, c = run([doubled, item, x], {x: [1, 2]})
    a[:] = 0
    assert (b.tolist(), c.tolist()) == ([2, 4], [1, 2])


def test_an_element_that_was_never_set_reads_as_zeros_of_a_known_shape() -> None:
    nothing = tensor_list_reserve([None], 2, "float32")
    assert run(tensor_list_get_item(nothing, 1, "float32", [3])).tolist() == [0, 0, 0]
    with pytest.raises(InvalidArgumentError, match="says too little to read it as zeros"):
        run(tensor_list_get_item(nothing, 1, "float32"))
    with pytest.raises(InvalidArgumentError, match=r"is read as one of shape \(3, 1\)"):
        run(tensor_list_get_item(nothing, 1, "float32", [3, 1]))


def test_a_list_of_one_dtype_is_not_read_as_one_of_another() -> None:
    with pytest.raises(InvalidArgumentError, match="a list of int32 is used as one of float32"):
        run(tensor_list_stack(tensor_list_from_tensor([1], []), "float32"))


def test_an_element_of_another_shape_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"does not take one of shape \[2\]"):
        run(tensor_list_stack(tensor_list_push_back(empty_tensor_list([3], "float32"), [1.0, 2.0]), "float32"))


# -- dtype variant ---------------------------------------------------------------------------------


def test_lists_are_of_dtype_variant_which_can_be_neither_fed_nor_fetched() -> None:
    made = empty_tensor_list(None, "float32")
    assert made.dtype is variant
    refused(lambda: run(made), TypeError, "is a variant and has no value to fetch")
    refused(lambda: run(ops.constant(1), {made: 1}), TypeError, "is a variant, which nothing outside")
    with pytest.raises(TypeError, match="input 0 is a list, of dtype variant; got float32"):
        tensor_list_push_back(ops.constant(1.0), 2.0)


@for_each(
    "value",
    [
        empty_list(None),
        empty_list(acts.string, acts.TensorShape([2])),
        new_list(acts.int32, acts.TensorShape([None, 2]), 40),
        TensorList(acts.float32, acts.TensorShape([]), PersistentVector.of([np.float32(1.5), None])),
        TensorList(acts.string, acts.TensorShape([]), PersistentVector.of([b"a", b""])),
        TensorList(acts.float32, acts.TensorShape([3000]), PersistentVector.of([np.ones(3000, np.float32)] * 3)),
        TensorList(variant, acts.TensorShape([]), PersistentVector.of([new_list(acts.int32, acts.TensorShape([]), 2)])),
    ],
    ids=["empty", "strings", "unset", "scalars", "words", "large", "lists"],
)
@for_each("apart", [False, True])
def test_a_list_travels_as_plain_data(value: TensorList, apart: bool) -> None:
    segments: list[Any] | None = [] if apart else None
    back = codec.unpack(codec.pack(value, segments), segments or ())
    assert isinstance(back, TensorList)
    assert repr(back) == repr(value)
    assert back.element_shape == value.element_shape
    for one, other in zip(back.items, value.items, strict=True):
        assert type(one) is type(other)
        if isinstance(one, TensorList):
            assert list(one.items) == list(other.items)
        elif one is not None:
            np.testing.assert_array_equal(one, other)


@for_each(
    "wire",
    [
        None,
        [],
        [acts.float32, acts.TensorShape([]), 3],
        [acts.float32, acts.TensorShape([]), [np.int32(3)]],
        [acts.float32, acts.TensorShape([]), [b"a"]],
        [None, acts.TensorShape([]), [np.float32(3)]],
        ["float32", acts.TensorShape([]), []],
    ],
    ids=range(7),
)
def test_what_is_no_list_is_refused(wire: Any) -> None:
    refused(lambda: TensorList.from_wire(wire), ProtocolError, r"in a list|wire form of a list|which dtype")


@for_each("found", [(), (2,), (2, 3), (3, 2), (0, 3), (2, 3, 1)])
@for_each("known", [None, [], [2], [None], [2, 3], [None, 3], [None, None], [0, 3]])
def test_a_value_fits_where_its_shape_is_compatible(known: Any, found: Any) -> None:
    shape = acts.TensorShape(known)
    assert fits(shape, found) is shape.is_compatible_with(found)


# -- vectors that never change ---------------------------------------------------------------------

SIZES = [0, 1, WIDTH - 1, WIDTH, WIDTH + 1, 2 * WIDTH, WIDTH**2, WIDTH**2 + WIDTH, WIDTH**2 + WIDTH + 1]
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.integers(1, 3 * WIDTH)),
        st.tuples(st.just("pop"), st.integers(1, 3 * WIDTH)),
        st.tuples(st.just("replace"), st.integers(0, 10**6)),
    ),
    max_size=12,
)


@for_each("size", SIZES)
def test_a_vector_made_at_once_is_one_that_grew(size: int) -> None:
    grown = EMPTY
    for k in range(size):
        grown = grown.append(k)
    for vector in (grown, PersistentVector.of(range(size))):
        assert len(vector) == size
        assert list(vector) == list(range(size))
        assert [vector[k] for k in range(size)] == list(range(size))
        assert list(vector.append("more")) == [*range(size), "more"]


@for_each("size", SIZES[1:])
def test_items_are_taken_away_from_the_end(size: int) -> None:
    vector = PersistentVector.of(range(size))
    while len(vector):
        last = len(vector) - 1
        assert vector[last] == last
        vector = vector.pop()
    assert list(vector) == []


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(SIZES), STEPS)
def test_all_versions_stay_what_they_were(size: int, steps: list[tuple[str, int]]) -> None:
    vector, expected = PersistentVector.of(range(size)), list(range(size))
    versions: list[tuple[Any, list[Any]]] = [(vector, list(expected))]
    for step, number in steps:
        if step == "replace" and expected:
            at = number % len(expected)
            expected[at] = -number
            vector = vector.replace(at, -number)
        for k in range(number if step != "replace" else 0):
            if step == "append":
                vector = vector.append(k)
                expected.append(k)
            elif expected:
                vector = vector.pop()
                expected.pop()
        versions.append((vector, list(expected)))
    for version, items in versions:
        assert (list(version), [version[k] for k in range(len(items))]) == (items, items)


def test_two_versions_share_all_but_a_path() -> None:
    items = [object() for _ in range(WIDTH**2 * 2)]
    first = PersistentVector.of(items)
    second = first.replace(0, object())
    shared = [a is b for a, b in zip(first._root[0], second._root[0], strict=True)]
    assert (shared.count(False), first._root[1] is second._root[1]) == (1, True)


def test_what_is_not_there_is_an_index_error() -> None:
    vector = PersistentVector.of(range(3))
    refused(lambda: vector[3], IndexError, r"index 3 is not in \[0, 3\)")
    refused(lambda: vector.replace(-1, 0), IndexError, "index -1")
    refused(lambda: EMPTY.pop(), IndexError, "empty")
