"""Changes of parts of variables: products and extremes of rows, single places, slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from actorsession import Graph, IndexedSlices, Variable, as_dtype, constant, ops
from actorsession.errors import FailedPreconditionError, InvalidArgumentError
from actorsession.ops.variables import lists
from tests.ops.interpreter import Variables, evaluate, source
from tests.rows import for_each

NAN = float("nan")
WHOLE = np.arange(6, dtype=np.float32).reshape(3, 2) + 1


def after(first: Any, change: Callable[[Variable], Any], dtype: Any = None) -> Any:
    """What a variable holds after a change, as the change's own result says; both must agree."""
    v = Variable(first, dtype=dtype)
    state, update = Variables(), change(v)
    evaluate([lists.variables_initializer([v])], None, state)
    found = evaluate([update], None, state)[0]
    np.testing.assert_array_equal(found, evaluate([v], None, state)[0])
    assert np.asarray(found).dtype == v.dtype.np_dtype
    return found.tolist()


# -- rows ------------------------------------------------------------------------------------------


@for_each(
    "name, repeated, scalar",
    [
        ("mul", [80.0, 20.0, 90.0], [250.0, 20.0, 750.0]),
        ("div", [1.25, 20.0, 10.0], [np.float32(0.4), 20.0, np.float32(1.2)]),
        ("min", [2.0, 20.0, 3.0], [10.0, 20.0, 25.0]),
        ("max", [10.0, 20.0, 30.0], [25.0, 20.0, 30.0]),
    ],
)
def test_rows_change_one_after_the_other_and_a_scalar_stands_for_all(name: str, repeated: Any, scalar: Any) -> None:
    scatter = getattr(ops, f"scatter_{name}")
    first = [10.0, 20.0, 30.0]
    assert after(first, lambda v: scatter(v, [0, 2, 0], [2.0, 3.0, 4.0])) == repeated
    assert after(first, lambda v: scatter(v, [0, 2], 25.0)) == scalar


@for_each("name", ["mul", "div", "min", "max"])
def test_the_method_takes_slices_and_does_the_same(name: str) -> None:
    rows = IndexedSlices(constant([[2.0, 0.5]]), constant([1]))
    by_method = after(WHOLE, lambda v: getattr(v, f"scatter_{name}")(rows))
    by_function = after(WHOLE, lambda v: getattr(ops, f"scatter_{name}")(v, [1], [[2.0, 0.5]]))
    assert by_method == by_function
    assert by_method[0] == [1.0, 2.0]


@for_each("dtype", ["float16", "bfloat16", "float64", "int8", "uint16", "int64"])
@for_each("name", ["mul", "div", "min", "max"])
def test_numbers_of_every_size_keep_their_type(name: str, dtype: str) -> None:
    function = {"mul": np.multiply, "div": np.floor_divide, "min": np.minimum, "max": np.maximum}[name]
    first, rows = np.array([4, 9], as_dtype(dtype).np_dtype), [2, 3]
    found = after(first, lambda v: getattr(ops, f"scatter_{name}")(v, [0, 1], rows), dtype)
    assert found == function([4, 9], rows).tolist()


def test_integers_are_divided_towards_zero_and_never_by_zero() -> None:
    found = after([7, -7, 7, 6], lambda v: ops.scatter_div(v, [0, 1, 2, 3], [2, 2, -2, -3]))
    assert found == [3, -3, -3, -2]
    with pytest.raises(InvalidArgumentError, match="divided by zero"):
        after([1, 2], lambda v: ops.scatter_div(v, [0, 1], [1, 0]))


@pytest.mark.parametrize("name", ["min", "max"])
def test_nothing_beats_a_nan_and_a_nan_beats_nothing(name: str) -> None:
    for make in (
        lambda v: getattr(ops, f"scatter_{name}")(v, [0, 1], [1.0, NAN]),
        lambda v: getattr(v, f"scatter_nd_{name}")([[0], [1]], [1.0, NAN]),
    ):
        np.testing.assert_array_equal(after([NAN, 10.0], make), [NAN, 10.0])


@pytest.mark.parametrize("first", [[1j, 2.0], [True, False], ["a", "b"]])
def test_extremes_need_numbers_that_have_an_order(first: Any) -> None:
    v = Variable(first)
    with pytest.raises(TypeError, match=r"ResourceScatterMax takes signed integers.* as updates"):
        ops.scatter_max(v, [0], [first[0]])


def test_complex_numbers_are_multiplied() -> None:
    assert after([1j, 2.0], lambda v: ops.scatter_mul(v, [0], [1j])) == [-1, 2]


# -- single places and blocks ----------------------------------------------------------------------


@for_each(
    "name, repeated, places, rows",
    [
        ("update", [4, 20, 3], [[1, 2], [3, 4], [3, 6]], [[2, 3], [3, 4], [4, 5]]),
        ("add", [16, 20, 33], [[1, 4], [3, 4], [8, 6]], [[3, 5], [3, 4], [9, 11]]),
        ("sub", [4, 20, 27], [[1, 0], [3, 4], [2, 6]], [[-1, -1], [3, 4], [1, 1]]),
        ("min", [2, 20, 3], [[1, 2], [3, 4], [3, 6]], [[1, 2], [3, 4], [4, 5]]),
        ("max", [10, 20, 30], [[1, 2], [3, 4], [5, 6]], [[2, 3], [3, 4], [5, 6]]),
    ],
)
def test_places_and_blocks_are_changed(name: str, repeated: Any, places: Any, rows: Any) -> None:
    def change(indices: Any, updates: Any) -> Callable[[Variable], Any]:
        return lambda v: getattr(v, f"scatter_nd_{name}")(indices, updates)

    assert after([10.0, 20.0, 30.0], change([[0], [2], [0]], [2.0, 3.0, 4.0])) == repeated
    assert after(WHOLE, change([[0, 1], [2, 0]], [2.0, 3.0])) == places
    assert after(WHOLE, change([[0], [2]], [[2.0, 3.0], [4.0, 5.0]])) == rows
    none = change(np.zeros((0, 2), np.int64), np.zeros(0, np.float32))
    assert after(WHOLE, none) == WHOLE.tolist()


@pytest.mark.parametrize("name", ["update", "add", "sub"])
def test_the_functions_are_the_methods(name: str) -> None:
    def by_function(v: Variable) -> Any:
        return getattr(ops, f"scatter_nd_{name}")(v, [[[0, 1]]], [[9.0]])

    def by_method(v: Variable) -> Any:
        return getattr(v, f"scatter_nd_{name}")([[[0, 1]]], [[9.0]])

    assert after(WHOLE, by_function) == after(WHOLE, by_method) != WHOLE.tolist()


def test_strings_and_truth_values_are_replaced_but_not_added() -> None:
    assert after(["a", "b"], lambda v: v.scatter_nd_update([[1]], ["z"])) == [b"a", b"z"]
    assert after([True, False], lambda v: v.scatter_nd_update([[1]], [True])) == [True, True]
    with pytest.raises(TypeError, match=r"ResourceScatterNdAdd takes signed integers.* as updates; got string"):
        Variable(["a"]).scatter_nd_add([[0]], ["z"])


@pytest.mark.parametrize(("place", "shown"), [([0, 5], r"\[0, 5\]"), ([0, -1], r"\[0, -1\]")])
def test_a_place_outside_is_refused_and_nothing_changes(place: Any, shown: str) -> None:
    v, state = Variable(WHOLE), Variables()
    evaluate([v.initializer], None, state)
    with pytest.raises(InvalidArgumentError, match=rf"indices\[1\] = {shown} is not in"):
        evaluate([v.scatter_nd_update([[1, 1], place], [7.0, 8.0])], None, state)
    assert evaluate([v], None, state)[0].tolist() == WHOLE.tolist()


@for_each(
    "indices, updates, match",
    [
        ([[0, 1]], [2.0, 3.0], r"updates have shape \(2,\).*must have \(1,\)"),
        ([[0, 1, 1]], [2.0], "indices with 3 positions each"),
        (np.zeros((1, 0), np.int32), np.ones((1, 3, 2), np.float32), "indices with 0 positions"),
        ([[0, 1]], 2.0, "rank 1 or more"),
    ],
)
def test_shapes_that_can_never_fit_are_refused_while_building(indices: Any, updates: Any, match: str) -> None:
    with pytest.raises(ValueError, match=match):
        Variable(WHOLE).scatter_nd_update(indices, updates)


@pytest.mark.parametrize(
    ("indices", "updates", "match"),
    [([[0, 1]], [2.0, 3.0], r"\[2\], these indices need \[1\]"), ([[0, 1, 1]], [2.0], "do not fit")],
)
def test_shapes_that_turn_out_wrong_are_refused(indices: Any, updates: Any, match: str) -> None:
    v, state = Variable(WHOLE), Variables()
    evaluate([v.initializer], None, state)
    where, rows = source("int32"), source("float32")
    feeds = {where: np.array(indices, np.int32), rows: np.array(updates, np.float32)}
    with pytest.raises(InvalidArgumentError, match=match):
        evaluate([v.scatter_nd_update(where, rows)], feeds, state)


def test_each_member_of_a_batch_has_rows_of_its_own_replaced() -> None:
    where, rows = [[0], [1], [0]], [[100.0], [200.0], [300.0]]
    wanted = [[100.0, 2.0], [3.0, 200.0], [300.0, 6.0]]
    assert after(WHOLE, lambda v: ops.batch_scatter_update(v, where, rows)) == wanted
    slices = IndexedSlices(constant(rows), constant(where))
    assert after(WHOLE, lambda v: v.batch_scatter_update(slices)) == wanted


def test_without_a_batch_rows_are_replaced() -> None:
    found = after(WHOLE, lambda v: ops.batch_scatter_update(v, [2, 0], [[7.0, 8.0], [9.0, 9.0]]))
    assert found == [[9.0, 9.0], [3.0, 4.0], [7.0, 8.0]]


# -- slices ----------------------------------------------------------------------------------------


@for_each(
    "index, value, wanted",
    [
        (np.s_[0:2], [[7, 7], [8, 8]], [[7, 7], [8, 8], [5, 6]]),
        (1, [7, 7], [[1, 2], [7, 7], [5, 6]]),
        (1, 5, [[1, 2], [5, 5], [5, 6]]),
        (np.s_[0:2], [5, 6], [[5, 6], [5, 6], [5, 6]]),
        (np.s_[0, None, 1], [9], [[1, 9], [3, 4], [5, 6]]),
        (np.s_[::-1, 0], [1, 2, 3], [[3, 2], [2, 4], [1, 6]]),
        (np.s_[..., 0], [1, 2, 5], [[1, 2], [2, 4], [5, 6]]),
        (np.s_[-1, -1], 0, [[1, 2], [3, 4], [5, 0]]),
        (np.s_[3:], 0, [[1, 2], [3, 4], [5, 6]]),
    ],
)
def test_a_part_is_assigned_as_numpy_does(index: Any, value: Any, wanted: Any) -> None:
    given = np.array(value, np.float32)
    assert after(WHOLE, lambda v: v[index].assign(given)) == wanted
    ours = WHOLE.copy()
    ours[index] = given
    assert ours.tolist() == wanted


def test_a_part_may_be_named_by_a_tensor() -> None:
    place, state, v = source("int32"), Variables(), Variable(WHOLE)
    evaluate([v.initializer], None, state)
    found = evaluate([v[place].assign([1.0, 2.0])], {place: np.int32(2)}, state)[0]
    assert found.tolist() == [[1, 2], [3, 4], [1, 2]]


def test_the_function_assigns_parts_too() -> None:
    assert after([1.0, 2.0], lambda v: ops.assign(v[1], 5.0, name="mine")) == [1.0, 5.0]


def test_a_scalar_is_assigned_as_a_whole_part() -> None:
    assert after(1.0, lambda v: v[...].assign(4.0)) == 4.0


def test_the_update_of_a_part_is_named_after_the_read_or_as_asked(graph: Graph) -> None:
    v = Variable(WHOLE)
    v[0].assign([1.0, 2.0])
    v[1].assign([1.0, 2.0], name="mine")
    found = [op.name for op in graph.get_operations() if op.type == "ResourceStridedSliceAssign"]
    assert found == ["strided_slice/_assign", "mine"]


def test_a_value_that_does_not_fit_the_part_is_refused_and_nothing_changes() -> None:
    v, state = Variable(WHOLE), Variables()
    evaluate([v.initializer], None, state)
    with pytest.raises(InvalidArgumentError, match=r"value of shape \[3\] does not fit that part"):
        evaluate([v[0:2].assign([5.0, 6.0, 7.0])], None, state)
    assert evaluate([v], None, state)[0].tolist() == WHOLE.tolist()


def test_a_part_outside_or_of_another_type_is_refused_while_building() -> None:
    v = Variable(WHOLE)
    with pytest.raises(ValueError, match="position 5 on axis 0"):
        v[5].assign([1.0, 2.0])
    with pytest.raises(TypeError, match="int32"):
        v[0].assign(constant([1, 2]))


def test_only_parts_of_variables_can_be_assigned() -> None:
    assert not hasattr(constant([1.0])[0], "assign")
    assert hasattr(Variable([1.0])[0], "assign")


# -- state -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "change",
    [
        lambda v: ops.scatter_mul(v, [0], [[1.0, 2.0]]),
        lambda v: v.scatter_nd_add([[0, 0]], [1.0]),
        lambda v: v[0].assign([1.0, 2.0]),
    ],
    ids=["rows", "places", "slice"],
)
def test_a_variable_without_value_has_no_parts(change: Callable[[Variable], Any]) -> None:
    with pytest.raises(FailedPreconditionError):
        evaluate([change(Variable(WHOLE))])


def test_updates_are_placed_where_the_variable_is(graph: Graph) -> None:
    with graph.device("/job:ps/task:1"):
        v = Variable(WHOLE)
    with graph.device("/job:worker/task:0"):
        changed = [v[0].assign([1.0, 2.0]), v.scatter_nd_add([[0, 0]], [1.0])]
    for read in changed:
        assert {op.device for op in [read.op, *read.op.control_inputs]} == {"/job:ps/task:1"}
