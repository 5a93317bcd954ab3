"""``tensorflow.python.util.nest`` and ``tf.nest``: nested structures, as in TensorFlow."""

from __future__ import annotations

import collections
from typing import Any

import pytest

import actorsession.compat.v1 as tf
from tests.rows import for_each

nest: Any = tf.nest
Point = collections.namedtuple("Point", "y x")


@for_each(
    "structure, flat",
    [
        (3, [3]),
        ([1, (2, [3])], [1, 2, 3]),
        ({"b": 1, "a": [2]}, [2, 1]),
        (Point(y=1, x=2), [1, 2]),
        ("text", ["text"]),
        ([], []),
        (collections.OrderedDict([("z", 1), ("a", {"k": 2})]), [2, 1]),
    ],
)
def test_structures_are_taken_apart_and_put_together(structure: Any, flat: list[Any]) -> None:
    assert nest.flatten(structure) == flat
    again = nest.pack_sequence_as(structure, flat)
    assert again == structure
    assert type(again) is type(structure)


def test_what_is_put_together_has_to_fit() -> None:
    with pytest.raises(ValueError, match=r"Structure had 2 elements, but flat_sequence had 1"):
        nest.pack_sequence_as([1, 2], [3])
    with pytest.raises(ValueError, match=r"Structure is a scalar but len\(flat_sequence\) == 2 > 1"):
        nest.pack_sequence_as(1, [3, 4])
    with pytest.raises(TypeError, match="flat_sequence"):
        nest.pack_sequence_as([1], 3)
    with pytest.raises(TypeError, match="sortable keys"):
        nest.flatten({1: 2, "a": 3})


def test_functions_are_mapped_over_structures() -> None:
    one, other = {"a": [1, 2], "b": Point(3, 4)}, {"a": [10, 20], "b": Point(30, 40)}
    assert nest.map_structure(lambda x, y: x + y, one, other) == {"a": [11, 22], "b": Point(33, 44)}
    assert nest.map_structure_with_paths(lambda path, x: f"{path}={x}", one) == {
        "a": ["a/0=1", "a/1=2"],
        "b": Point("b/y=3", "b/x=4"),
    }
    with pytest.raises(TypeError, match=r"same sequence type|different types"):
        nest.map_structure(lambda x, y: x, [1], (1,))
    assert nest.map_structure(lambda x, y: x + y, [1], (1,), check_types=False) == [2]
    with pytest.raises(ValueError, match="at least one structure"):
        nest.map_structure(len)
    with pytest.raises(TypeError, match="func must be callable"):
        nest.map_structure(3, [1])


@for_each(
    "one, other, error",
    [
        ([1], [1, 2], ValueError),
        ({"a": 1}, {"b": 1}, ValueError),
        (1, [1], ValueError),
        ([1], (1,), TypeError),
        (Point(1, 2), (1, 2), TypeError),
        ({"a": 1}, [1], TypeError),
    ],
)
def test_structures_of_other_forms_are_told_apart(one: Any, other: Any, error: Any) -> None:
    with pytest.raises(error, match="The two structures don't have the same nested structure"):
        nest.assert_same_structure(one, other)
    nest.assert_same_structure(one, one)


def test_structures_are_flattened_as_far_as_another_one_goes() -> None:
    assert nest.flatten_up_to([0, {"k": 0}], [[1, 2], {"k": (3,)}]) == [[1, 2], (3,)]
    mapped = nest.map_structure_up_to([0, 0], lambda x, y: (x, y), [[1], 2], [3, [4]])
    assert mapped == [([1], 3), (2, [4])]
    with pytest.raises(ValueError, match="same sequence length"):
        nest.flatten_up_to([0], [1, 2])
    with pytest.raises(TypeError, match="input must also be a sequence"):
        nest.flatten_up_to([0], 1)
    # Dicts of structures become dicts of leaves.
    assert nest.flatten_dict_items({(1, 2): (3, 4), 5: 6}) == {1: 3, 2: 4, 5: 6}
    with pytest.raises(ValueError, match="Key had 2 elements, but value had 1"):
        nest.flatten_dict_items({(1, 2): (3,)})
    with pytest.raises(ValueError, match="key 1 is not unique"):
        nest.flatten_dict_items({(1, 2): (3, 4), 1: 5})
    assert nest.flatten_with_tuple_paths({"b": [1], "a": 2}) == [(("a",), 2), (("b", 0), 1)]
    assert nest.flatten_with_joined_string_paths([{"k": 1}], "-") == [("0-k", 1)]
    assert nest.list_to_tuple([1, {"a": [2]}]) == (1, {"a": (2,)})
    with tf.Graph().as_default():
        sparse = tf.SparseTensor([[0]], [1.0], [3])
        assert nest.flatten([sparse]) == [sparse]
        assert len(nest.flatten([sparse], expand_composites=True)) == 3
