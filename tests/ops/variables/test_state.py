"""The ops on the state behind a handle, one node at a time."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from actorsession import Operation, Tensor, TensorShape, as_dtype, bool_, constant, float32, int32, string
from actorsession.errors import FailedPreconditionError, InvalidArgumentError
from actorsession.graph.dtypes import resource
from actorsession.graph.registry import lookup
from actorsession.ops.variables import state
from tests.nodes import make, make_one
from tests.ops.interpreter import Variables, evaluate, source
from tests.rows import for_each


class Cell:
    """A variable made of bare ops."""

    def __init__(self, dtype: Any = float32, shape: Any = None, **attrs: Any) -> None:
        self.attrs: dict[str, Any] = {"dtype": as_dtype(dtype), "shape": TensorShape(shape)}
        self.handle = make_one("VarHandleOp", (), {**self.attrs, **attrs}, "cell")
        self.variables = Variables()

    def op(self, op_type: str, *inputs: Any) -> Operation:
        dtypes = {1: self.attrs["dtype"]} if len(inputs) == 1 else {2: self.attrs["dtype"]}
        tensors = [x if isinstance(x, Tensor) else constant(x, dtypes.get(i)) for i, x in enumerate(inputs, start=1)]
        return make(op_type, [self.handle, *tensors], self.attrs)

    def run(self, op_type: str, *inputs: Any) -> Any:
        return evaluate(list(self.op(op_type, *inputs).outputs) or [self.last], None, self.variables)

    @property
    def last(self) -> Operation:
        return self.handle.graph.get_operations()[-1]

    def holds(self, value: Any) -> None:
        self.run("AssignVariableOp", np.asarray(value, self.attrs["dtype"].np_dtype))

    @property
    def value(self) -> Any:
        return self.run("ReadVariableOp")[0]


def test_a_handle_is_a_scalar_of_dtype_resource() -> None:
    cell = Cell(shape=(2, 3))
    assert cell.handle.dtype is resource
    assert cell.handle.shape == []


def test_a_read_has_the_static_type_of_the_variable() -> None:
    read = Cell("float64", [None, 3]).op("ReadVariableOp").outputs[0]
    assert read.dtype is as_dtype("float64")
    assert read.shape.sizes == (None, 3)


def test_a_read_of_an_uninitialised_variable_fails_and_says_so() -> None:
    with pytest.raises(FailedPreconditionError):
        Cell().run("ReadVariableOp")


def test_a_variable_is_initialised_once_it_was_assigned() -> None:
    cell = Cell(shape=())
    asked = cell.op("VarIsInitializedOp").outputs[0]
    assert asked.dtype is bool_
    assert not evaluate([asked], None, cell.variables)[0]
    cell.holds(1.0)
    assert evaluate([asked], None, cell.variables)[0]


def test_state_is_stored_under_the_shared_name_in_the_container() -> None:
    cell = Cell(shape=(), shared_name="common", container="box")
    cell.holds(3.0)
    assert set(cell.variables.holders) == {("box", "common")}


def test_state_is_stored_under_the_name_of_the_node_when_no_other_is_given() -> None:
    cell = Cell(shape=())
    cell.holds(3.0)
    assert set(cell.variables.holders) == {("", "cell")}


@for_each("dtype", ["float32", "bfloat16", "int64", "bool", "complex64"])
def test_a_variable_gives_back_what_was_assigned(dtype: str) -> None:
    cell = Cell(dtype, (2, 2))
    value = np.array([[0, 1], [1, 0]]).astype(cell.attrs["dtype"].np_dtype)
    cell.holds(value)
    assert cell.value.dtype == value.dtype
    np.testing.assert_array_equal(cell.value, value)


def test_a_string_variable_gives_back_what_was_assigned() -> None:
    cell = Cell(string, (2,))
    cell.run("AssignVariableOp", ["a", "b"])
    assert cell.value.tolist() == [b"a", b"b"]


@for_each("dtype", ["float32", "float64", "bfloat16", "float16", "int32", "uint8"])
@for_each("shape", [(), (3,), (0,), (2, 3)], ids=str)
@for_each("op_type, function", [("AssignAddVariableOp", np.add), ("AssignSubVariableOp", np.subtract)])
def test_adding_to_a_variable_agrees_with_numpy(
    op_type: str, function: Any, shape: tuple[int, ...], dtype: str
) -> None:
    cell = Cell(dtype, shape)
    np_dtype = cell.attrs["dtype"].np_dtype
    old = np.full(shape, 5).astype(np_dtype)
    delta = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(np_dtype)
    cell.holds(old)
    cell.run(op_type, delta)
    assert cell.value.dtype == np_dtype
    np.testing.assert_array_equal(cell.value, function(old, delta))


def test_an_update_never_changes_a_value_that_was_read_before() -> None:
    cell = Cell(shape=(3,))
    cell.holds([1.0, 2.0, 3.0])
    before = cell.value
    cell.run("AssignAddVariableOp", np.ones(3, np.float32))
    cell.run("ResourceScatterUpdate", [0], [9.0])
    np.testing.assert_array_equal(before, [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(cell.value, [9.0, 3.0, 4.0])


def test_an_assigned_value_is_declared_as_kept() -> None:
    assert lookup("AssignVariableOp").keeps == {1}


@pytest.mark.parametrize("op_type", ["AssignVariableOp", "AssignAddVariableOp"])
def test_a_value_of_another_dtype_is_refused_while_building(op_type: str) -> None:
    with pytest.raises(TypeError, match="holds float32, input 1 is int32"):
        Cell(shape=()).op(op_type, constant(1))


@pytest.mark.parametrize("op_type", ["AssignVariableOp", "AssignAddVariableOp"])
def test_a_value_of_impossible_shape_is_refused_while_building(op_type: str) -> None:
    with pytest.raises(ValueError, match=r"has shape \(2,\), input 1 has \(3,\)"):
        Cell(shape=(2,)).op(op_type, [1.0, 2.0, 3.0])


@for_each("op_type", ["AssignVariableOp", "AssignAddVariableOp"])
@for_each("value", [[1.0, 2.0, 3.0], 1.0, [[1.0, 2.0]]])
def test_a_value_whose_shape_turns_out_wrong_is_refused_and_changes_nothing(op_type: str, value: Any) -> None:
    cell = Cell(shape=(2,))
    cell.holds([1.0, 2.0])
    given = source(float32)
    update = cell.op(op_type, given)
    with pytest.raises(InvalidArgumentError, match=r"shape"):
        evaluate([update], {given: value}, cell.variables)
    np.testing.assert_array_equal(cell.value, [1.0, 2.0])


def test_a_variable_of_unknown_shape_takes_any_value_and_adds_only_its_own_shape() -> None:
    cell = Cell()
    cell.holds([[1.0]])
    cell.holds([1.0, 2.0])
    cell.run("AssignAddVariableOp", [1.0, 1.0])
    np.testing.assert_array_equal(cell.value, [2.0, 3.0])
    with pytest.raises(InvalidArgumentError, match=r"has shape \[2\], the update \[1\]"):
        cell.run("AssignAddVariableOp", [1.0])


def test_a_partly_known_shape_is_checked_when_the_value_is_there() -> None:
    cell = Cell(shape=[None, 2])
    cell.holds([[1.0, 2.0]])
    given = source(float32, [None, None])
    assigned = cell.op("AssignVariableOp", given)
    evaluate([assigned], {given: np.zeros((5, 2))}, cell.variables)
    assert cell.value.shape == (5, 2)
    with pytest.raises(InvalidArgumentError, match=r"\[5, 3\] to a variable of shape \(None, 2\)"):
        evaluate([assigned], {given: np.zeros((5, 3))}, cell.variables)


@pytest.mark.parametrize(
    ("op_type", "said"),
    [
        ("ReadVariableOp", "takes a variable's handle as input 0, got a float32"),
        ("VarIsInitializedOp", "takes a resource handle as resource; got float32"),
    ],
)
def test_what_is_no_handle_is_refused(op_type: str, said: str) -> None:
    with pytest.raises(TypeError, match=said):
        make(op_type, [constant(1.0)], {"dtype": float32})


@pytest.mark.parametrize("op_type", ["AssignAddVariableOp", "AssignSubVariableOp"])
def test_only_numbers_are_added(op_type: str) -> None:
    with pytest.raises(TypeError, match=r"takes signed integers.* as value; got bool"):
        Cell(bool_, ()).op(op_type, True)


# -- scattered updates ---------------------------------------------------------------------------

WHOLE = np.arange(12.0, dtype=np.float32).reshape(4, 3)

SCATTERS = [
    ([2, 0], [[1, 2, 3], [4, 5, 6]]),
    ([1, 1, 3], [[1, 1, 1], [2, 2, 2], [4, 4, 4]]),
    ([[0, 3], [2, 2]], np.arange(12).reshape(2, 2, 3)),
    (3, [7, 8, 9]),
    ([], np.zeros((0, 3))),
    ([0, 2], 5.0),
]


def _expected(whole: Any, indices: Any, updates: Any, function: Any) -> Any:
    out = whole.copy()
    where = np.asarray(indices, dtype=int)
    rows = np.broadcast_to(np.asarray(updates, out.dtype), where.shape + whole.shape[1:])
    for position in np.ndindex(*where.shape):
        out[where[position]] = function(out[where[position]], rows[position])
    return out


@for_each("indices, updates", SCATTERS)
@for_each("index_dtype", ["int32", "int64"])
@for_each(
    "op_type, function",
    [
        ("ResourceScatterAdd", np.add),
        ("ResourceScatterSub", np.subtract),
        ("ResourceScatterUpdate", lambda old, new: new),
    ],
)
def test_scattered_updates_agree_with_one_row_after_the_other(
    op_type: str, function: Any, index_dtype: str, indices: Any, updates: Any
) -> None:
    cell = Cell(float32, (4, 3))
    cell.holds(WHOLE)
    cell.run(op_type, constant(np.asarray(indices, index_dtype)), np.asarray(updates, np.float32))
    np.testing.assert_array_equal(cell.value, _expected(WHOLE, indices, updates, function))


@for_each("dtype", ["int8", "uint8", "int64", "float64", "bfloat16"])
def test_scattering_to_one_row_twice_keeps_the_dtype(dtype: str) -> None:
    cell = Cell(dtype, (3,))
    cell.holds([1, 2, 3])
    rows = np.array([10, 20, 30]).astype(cell.attrs["dtype"].np_dtype)
    cell.run("ResourceScatterAdd", [1, 0, 1], rows)
    assert cell.value.dtype == rows.dtype
    np.testing.assert_array_equal(cell.value.astype(float), [21, 42, 3])


@pytest.mark.parametrize("bad", [4, -1])
def test_an_index_outside_the_variable_is_refused_and_changes_nothing(bad: int) -> None:
    cell = Cell(float32, (4, 3))
    cell.holds(WHOLE)
    with pytest.raises(InvalidArgumentError, match=rf"indices\[1\] = {bad} is not in \[0, 4\)"):
        cell.run("ResourceScatterAdd", [0, bad], np.ones((2, 3), np.float32))
    np.testing.assert_array_equal(cell.value, WHOLE)


def test_updates_of_impossible_shape_are_refused_while_building() -> None:
    with pytest.raises(ValueError, match=r"updates have shape \(2, 4\).*must have \(2, 3\)"):
        Cell(float32, (4, 3)).op("ResourceScatterAdd", [0, 1], np.ones((2, 4), np.float32))


def test_updates_whose_shape_turns_out_wrong_are_refused() -> None:
    cell = Cell(float32, (4, 3))
    cell.holds(WHOLE)
    rows = source(float32)
    update = cell.op("ResourceScatterAdd", [0, 1], rows)
    with pytest.raises(InvalidArgumentError, match=r"\[3\], these indices need \[2, 3\]"):
        evaluate([update], {rows: np.ones(3)}, cell.variables)


def test_a_scalar_variable_has_no_rows() -> None:
    with pytest.raises(ValueError, match="no rows"):
        Cell(float32, ()).op("ResourceScatterAdd", [0], [1.0])


def test_indices_are_integers() -> None:
    with pytest.raises(TypeError, match="indices are int32 or int64, got float32"):
        Cell(float32, (3,)).op("ResourceScatterAdd", [0.0], [1.0])


def test_scattered_rows_have_the_dtype_of_the_variable() -> None:
    with pytest.raises(TypeError, match="holds float32, the updates int32"):
        Cell(float32, (3,)).op("ResourceScatterAdd", [0], constant([1], int32))


# -- helpers -------------------------------------------------------------------------------------


@for_each(
    "declared, given, always",
    [
        (None, None, True),
        (None, (2,), True),
        ((2,), None, False),
        ((2,), (2,), True),
        ((2,), (None,), False),
        ((None, 3), (None, 3), True),
        ((None, 3), (2, None), False),
        ((None,), (None, None), False),
    ],
)
def test_a_runtime_check_is_left_out_only_when_every_value_fits(declared: Any, given: Any, always: bool) -> None:
    assert state.fits_always(TensorShape(declared), TensorShape(given)) is always


def test_rows_with_one_index_are_summed_in_order_of_the_indices() -> None:
    where, rows = state.sum_duplicates(np.array([3, 1, 3]), np.array([[1, 2], [3, 4], [5, 6]], ml_dtypes.bfloat16))
    assert where.tolist() == [1, 3]
    assert rows.dtype == ml_dtypes.bfloat16
    np.testing.assert_array_equal(rows.astype(float), [[3, 4], [6, 8]])
