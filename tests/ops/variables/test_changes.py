"""Changes of variables of both kinds, as numpy makes them: of the whole, of rows, single places and slices."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import ops
from actorsession.errors import FailedPreconditionError, InvalidArgumentError
from tests.ops.interpreter import Variables, evaluate, source
from tests.rows import for_each, refused, refusing

NAN = float("nan")
WHOLE = np.arange(6, dtype=np.float32).reshape(3, 2) + 1
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": np.add,
    "sub": np.subtract,
    "update": lambda old, new: new,
    "mul": np.multiply,
    "div": np.divide,
    "min": np.minimum,
    "max": np.maximum,
}


def after(first: Any, change: Callable[[Any], Any], dtype: Any = None, op: str = "") -> Any:
    """What a variable holds after a change, as the change's own result says; both must agree, of both kinds."""
    v = acts.Variable(first, dtype=dtype)
    state, update = Variables(), change(v)
    assert op in {each.type for each in v.graph.get_operations()} | {""}
    evaluate([v.initializer], None, state)
    found = evaluate([update], None, state)[0]
    np.testing.assert_array_equal(found, evaluate([v], None, state)[0])
    assert np.asarray(found).dtype == v.dtype.np_dtype
    with acts.Graph().as_default() as graph, acts.Session(graph=graph) as session:
        v = ops.Variable(first, dtype=dtype, use_resource=False)
        update = change(v)
        assert op.removeprefix("Resource") in {each.type for each in graph.get_operations()} | {""}
        session.run(v.initializer)
        np.testing.assert_array_equal(session.run(update), found)
        np.testing.assert_array_equal(session.run(v), found)
    return found.tolist()


def started(first: Any = WHOLE) -> tuple[acts.Variable, Variables]:
    v, state = acts.Variable(first), Variables()
    evaluate([v.initializer], None, state)
    return v, state


# -- rows ------------------------------------------------------------------------------------------


@for_each(
    "indices, updates",
    [
        ([2, 0], [[1, 2], [4, 5]]),
        ([1, 1, 2], [[1, 1], [2, 2], [4, 4]]),
        ([[0, 2], [2, 2]], np.arange(1, 9).reshape(2, 2, 2)),
        (1, [7, 8]),
        ([], np.zeros((0, 2))),
        ([0, 2], 5.0),
    ],
)
@for_each("name", FUNCTIONS)
@for_each("index_dtype", ["int32", "int64"])
def test_rows_change_in_turn_and_a_scalar_is_for_all(name: str, index_dtype: str, indices: Any, updates: Any) -> None:
    where, wanted = np.asarray(indices, index_dtype), WHOLE.copy()
    rows = np.broadcast_to(np.asarray(updates, np.float32), (*where.shape, 2))
    for position in np.ndindex(*where.shape):
        wanted[where[position]] = FUNCTIONS[name](wanted[where[position]], rows[position])
    scatter = getattr(ops, f"scatter_{name}")
    given = np.asarray(updates, np.float32)
    assert after(WHOLE, lambda v: scatter(v, where, given), op=f"ResourceScatter{name.title()}") == wanted.tolist()


@for_each("name", FUNCTIONS)
def test_the_method_takes_slices_and_does_the_same(name: str) -> None:
    def by_method(v: Any) -> Any:
        return getattr(v, f"scatter_{name}")(acts.IndexedSlices(acts.constant([[2.0, 0.5]]), acts.constant([1])))

    by_function = after(WHOLE, lambda v: getattr(ops, f"scatter_{name}")(v, [1], [[2.0, 0.5]]))
    assert after(WHOLE, by_method) == by_function


@for_each("dtype", ["float16", "bfloat16", "float64", "int8", "uint16", "int64"])
@for_each("name", FUNCTIONS)
def test_numbers_of_every_size_keep_their_type(name: str, dtype: str) -> None:
    function = np.floor_divide if name == "div" else FUNCTIONS[name]
    first, rows = np.array([4, 9], acts.as_dtype(dtype).np_dtype), [2, 3]
    found = after(first, lambda v: getattr(ops, f"scatter_{name}")(v, [0, 1], rows), dtype)
    assert found == np.asarray(function([4, 9], rows)).tolist()


def test_integers_are_divided_towards_zero_and_never_by_zero() -> None:
    found = after([7, -7, 7, 6], lambda v: ops.scatter_div(v, [0, 1, 2, 3], [2, 2, -2, -3]))
    assert found == [3, -3, -3, -2]
    with pytest.raises(InvalidArgumentError, match="divided by zero"):
        after([1, 2], lambda v: ops.scatter_div(v, [0, 1], [1, 0]))


@for_each("name", ["min", "max"])
def test_nothing_beats_a_nan_and_a_nan_beats_nothing(name: str) -> None:
    for make in (
        lambda v: getattr(ops, f"scatter_{name}")(v, [0, 1], [1.0, NAN]),
        lambda v: getattr(v, f"scatter_nd_{name}")([[0], [1]], [1.0, NAN]),
    ):
        np.testing.assert_array_equal(after([NAN, 10.0], make), [NAN, 10.0])


# -- the whole, single places, blocks and slices ---------------------------------------------------


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
    def changed(first: Any, indices: Any, updates: Any) -> Any:
        change, op = f"scatter_nd_{name}", f"ResourceScatterNd{name.title()}"
        found = after(first, lambda v: getattr(v, change)(indices, updates), op=op)
        if name in ("update", "add", "sub"):
            assert after(first, lambda v: getattr(ops, change)(v, indices, updates), op=op) == found
        return found

    assert changed([10.0, 20.0, 30.0], [[0], [2], [0]], [2.0, 3.0, 4.0]) == repeated
    assert changed(WHOLE, [[0, 1], [2, 0]], [2.0, 3.0]) == places
    assert changed(WHOLE, [[0], [2]], [[2.0, 3.0], [4.0, 5.0]]) == rows
    assert changed(WHOLE, np.zeros((0, 2), np.int64), np.zeros(0, np.float32)) == WHOLE.tolist()


_OWN_ROWS = [[0], [1], [0]], [[100.0], [200.0], [300.0]]


@for_each(
    "first, change, wanted",
    [
        (10.0, lambda v: ops.assign(v, 2.0), 2.0),
        (10.0, lambda v: ops.assign_add(v, 2.0), 12.0),
        (10.0, lambda v: ops.assign_sub(v, 2.0), 8.0),
        (np.int64(1), lambda v: v.assign_add(1), 2),
        ([1j, 2.0], lambda v: ops.scatter_mul(v, [0], [1j]), [-1, 2]),
        (["a", "b"], lambda v: v.scatter_nd_update([[1]], ["z"]), [b"a", b"z"]),
        ([True, False], lambda v: v.scatter_nd_update([[1]], [True]), [True, True]),
        # Each member of a batch has rows of its own replaced; without a batch, rows are.
        (WHOLE, lambda v: ops.batch_scatter_update(v, *_OWN_ROWS), [[100, 2], [3, 200], [300, 6]]),
        (
            WHOLE,
            lambda v: v.batch_scatter_update(
                acts.IndexedSlices(acts.constant(_OWN_ROWS[1]), acts.constant(_OWN_ROWS[0]))
            ),
            [[100, 2], [3, 200], [300, 6]],
        ),
        (WHOLE, lambda v: ops.batch_scatter_update(v, [2, 0], [[7.0, 8], [9, 9]]), [[9, 9], [3, 4], [7, 8]]),
        ([1.0, 2.0], lambda v: ops.assign(v[1], 5.0, name="mine"), [1.0, 5.0]),
        (1.0, lambda v: v[...].assign(4.0), 4.0),
    ],
)
def test_a_variable_is_changed(first: Any, change: Any, wanted: Any) -> None:
    assert after(first, change) == wanted


@for_each(
    "index, value",
    [
        (np.s_[0:2], [[7, 7], [8, 8]]),
        (1, [7, 7]),
        (1, 5),
        (np.s_[0:2], [5, 6]),
        (np.s_[0, None, 1], [9]),
        (np.s_[::-1, 0], [1, 2, 3]),
        (np.s_[..., 0], [1, 2, 5]),
        (np.s_[-1, -1], 0),
        (np.s_[3:], 0),
    ],
)
def test_a_part_is_assigned_as_numpy_does(index: Any, value: Any) -> None:
    given, wanted = np.array(value, np.float32), WHOLE.copy()
    wanted[index] = given
    assert after(WHOLE, lambda v: v[index].assign(given), op="ResourceStridedSliceAssign") == wanted.tolist()


def test_a_part_may_be_named_by_a_tensor() -> None:
    place, (v, state) = source("int32"), started()
    found = evaluate([v[place].assign([1.0, 2.0])], {place: np.int32(2)}, state)[0]
    assert found.tolist() == [[1, 2], [3, 4], [1, 2]]


def test_updates_have_the_names_asked_for_and_are_placed_where_the_variable_is(graph: acts.Graph) -> None:
    with graph.device("/job:ps/task:1"):
        v = acts.Variable(WHOLE)
    with graph.device("/job:worker/task:0"):
        ops.assign_add(v, WHOLE, name="change")
        changed = [v[0].assign([1.0, 2.0]), v[1].assign([1.0, 2.0], name="mine"), v.scatter_nd_add([[0, 0]], [1.0])]
    assert graph.get_operation_by_name("change").inputs[0] is v.handle
    found = [op.name for op in graph.get_operations() if op.type == "ResourceStridedSliceAssign"]
    assert found == ["strided_slice/_assign", "mine"]
    for read in changed:
        assert {op.device for op in [read.op, *read.op.control_inputs]} == {"/job:ps/task:1"}


# -- what is refused -------------------------------------------------------------------------------


def _given(indices: Any, updates: Any) -> Any:
    """A change by places whose shapes are not known early."""
    where, rows = source("int32"), source("float32")
    feeds = {where: np.array(indices, np.int32), rows: np.array(updates, np.float32)}
    return lambda v: v.scatter_nd_update(where, rows), feeds


def _rows() -> Any:
    rows = source("float32")
    return lambda v: ops.scatter_add(v, [0, 1], rows), {rows: np.ones(3)}


@for_each(
    "make, match",
    [
        (lambda: (lambda v: v.scatter_nd_update([[1, 1], [0, 5]], [7.0, 8.0]), {}), r"indices\[1\] = \[0, 5\] is not"),
        (lambda: (lambda v: v.scatter_nd_update([[1, 1], [0, -1]], [7.0, 8.0]), {}), r"\[1\] = \[0, -1\] is not"),
        (lambda: (lambda v: ops.scatter_add(v, [0, 3], WHOLE[:2]), {}), r"indices\[1\] = 3 is not in \[0, 3\)"),
        (lambda: (lambda v: ops.scatter_add(v, [0, -1], WHOLE[:2]), {}), r"indices\[1\] = -1 is not in \[0, 3\)"),
        (lambda: (lambda v: v[0:2].assign([5.0, 6.0, 7.0]), {}), r"value of shape \[3\] does not fit that part"),
        (lambda: _given([[0, 1]], [2.0, 3.0]), r"\[2\], these indices need \[1\]"),
        (lambda: _given([[0, 1, 1]], [2.0]), "do not fit"),
        (_rows, r"\[3\], these indices need \[2, 2\]"),
    ],
)
def test_what_turns_out_not_to_fit_is_refused_and_nothing_changes(make: Any, match: str) -> None:
    (v, state), (change, feeds) = started(), make()
    refused(lambda: evaluate([change(v)], feeds, state), InvalidArgumentError, match)
    assert evaluate([v], None, state)[0].tolist() == WHOLE.tolist()


@for_each(
    "change",
    [
        lambda v: ops.scatter_mul(v, [0], [[1.0, 2.0]]),
        lambda v: v.scatter_nd_add([[0, 0]], [1.0]),
        lambda v: v[0].assign([1.0, 2.0]),
    ],
)
def test_a_variable_without_value_has_no_parts(change: Callable[[acts.Variable], Any]) -> None:
    refused(lambda: evaluate([change(acts.Variable(WHOLE))]), FailedPreconditionError)


def _max(first: Any) -> Callable[[], Any]:
    return lambda: ops.scatter_max(acts.Variable(first), [0], [first[0]])


ORDER = r"ResourceScatterMax takes signed integers.* as updates"
test_what_can_never_fit_is_refused_by_the_line_that_builds = refusing(
    (_max([1j, 2.0]), TypeError, ORDER),
    (_max([True, False]), TypeError, ORDER),
    (_max(["a", "b"]), TypeError, ORDER),
    (lambda: acts.Variable(["a"]).scatter_nd_add([[0]], ["z"]), TypeError, "NdAdd takes signed integers.*; got string"),
    (lambda: acts.Variable(WHOLE).scatter_nd_update([[0, 1]], [2.0, 3.0]), ValueError, r"\(2,\).*must have \(1,\)"),
    (lambda: acts.Variable(WHOLE).scatter_nd_update([[0, 1, 1]], [2.0]), ValueError, "indices with 3 positions each"),
    (
        lambda: acts.Variable(WHOLE).scatter_nd_update(np.zeros((1, 0), np.int32), np.ones((1, 3, 2), np.float32)),
        ValueError,
        "indices with 0 positions",
    ),
    (lambda: acts.Variable(WHOLE).scatter_nd_update([[0, 1]], 2.0), ValueError, "rank 1 or more"),
    (lambda: ops.scatter_add(acts.Variable(WHOLE), [0, 1], WHOLE), ValueError, r"\(3, 2\).*must have \(2, 2\)"),
    (lambda: ops.scatter_add(acts.Variable(1.0), [0], [1.0]), ValueError, "no rows"),
    (lambda: ops.scatter_add(acts.Variable([1.0]), [0.0], [1.0]), TypeError, "are int32 or int64, got float32"),
    (lambda: acts.Variable(WHOLE)[5].assign([1.0, 2.0]), ValueError, "position 5 on axis 0"),
    (lambda: acts.Variable(WHOLE)[0].assign(acts.constant([1, 2])), TypeError, "int32"),
    (lambda: acts.constant([1.0])[0].assign, AttributeError, "assign"),
)
