"""The ops on the state behind a handle, one node at a time."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from actorsession import Operation, Tensor, TensorShape, as_dtype, bool_, constant, float32, int32
from actorsession.errors import FailedPreconditionError, InvalidArgumentError
from actorsession.graph.registry import lookup
from actorsession.ops.shape_operands import fits_always
from actorsession.ops.variables import state
from tests.nodes import make, make_one
from tests.ops.interpreter import Variables, evaluate, source
from tests.rows import for_each, refused, refusing


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
        op = self.op(op_type, *inputs)
        return evaluate(list(op.outputs) or [op], None, self.variables)

    def holds(self, value: Any) -> None:
        self.run("AssignVariableOp", np.asarray(value, self.attrs["dtype"].np_dtype))

    @property
    def value(self) -> Any:
        return self.run("ReadVariableOp")[0]


def test_a_read_has_the_static_type_of_the_variable() -> None:
    cell = Cell("float64", [None, 3])
    read = cell.op("ReadVariableOp").outputs[0]
    assert (read.dtype.name, read.shape.as_list(), cell.handle.shape.as_list()) == ("float64", [None, 3], [])


def test_a_variable_has_a_value_once_it_was_assigned() -> None:
    cell = Cell(shape=())
    asked = cell.op("VarIsInitializedOp").outputs[0]
    refused(lambda: cell.run("ReadVariableOp"), FailedPreconditionError)
    assert (asked.dtype, evaluate([asked], None, cell.variables)) == (bool_, [False])
    cell.holds(1.0)
    assert evaluate([asked], None, cell.variables) == [True]


@for_each("attrs, place", [({"shared_name": "common", "container": "box"}, ("box", "common")), ({}, ("", "cell"))])
def test_state_is_stored_under_the_shared_name_or_that_of_the_node(attrs: Any, place: Any) -> None:
    cell = Cell(shape=(), **attrs)
    cell.holds(3.0)
    assert set(cell.variables.holders) == {place}


@for_each("dtype", ["float32", "bfloat16", "int64", "bool", "complex64", "string"])
def test_a_variable_gives_back_what_was_assigned(dtype: str) -> None:
    cell = Cell(dtype, (2, 2))
    value = np.array([[0, 1], [1, 0]]).astype(cell.attrs["dtype"].np_dtype)
    if dtype == "string":
        value = np.array([[b"a", b""], [b"b", b"c"]], object)
    cell.holds(value)
    assert cell.value.dtype == value.dtype
    np.testing.assert_array_equal(cell.value, value)


@for_each("dtype", ["float32", "float64", "bfloat16", "float16", "int32", "uint8"])
@for_each("shape", [(), (3,), (0,), (2, 3)], ids=str)
@for_each("op_type, function", [("AssignAddVariableOp", np.add), ("AssignSubVariableOp", np.subtract)])
def test_adding_to_a_variable_agrees_with_numpy(op_type: str, function: Any, shape: Any, dtype: str) -> None:
    cell = Cell(dtype, shape)
    np_dtype = cell.attrs["dtype"].np_dtype
    old = np.full(shape, 5).astype(np_dtype)
    delta = np.arange(np.prod(shape, dtype=int)).reshape(shape).astype(np_dtype)
    cell.holds(old)
    cell.run(op_type, delta)
    assert cell.value.dtype == np_dtype
    np.testing.assert_array_equal(cell.value, function(old, delta))


def test_an_assigned_value_is_declared_as_kept() -> None:
    assert lookup("AssignVariableOp").keeps == {1}


@for_each("op_type", ["AssignVariableOp", "AssignAddVariableOp"])
@for_each("value", [[1.0, 2.0, 3.0], 1.0, [[1.0, 2.0]]])
def test_a_value_whose_shape_turns_out_wrong_is_refused_and_changes_nothing(op_type: str, value: Any) -> None:
    cell = Cell(shape=(2,))
    cell.holds([1.0, 2.0])
    given = source(float32)
    update = cell.op(op_type, given)
    refused(lambda: evaluate([update], {given: value}, cell.variables), InvalidArgumentError, r"shape")
    np.testing.assert_array_equal(cell.value, [1.0, 2.0])


def test_a_variable_of_unknown_shape_takes_any_value_and_adds_only_its_own_shape() -> None:
    cell = Cell()
    cell.holds([[1.0]])
    cell.holds([1.0, 2.0])
    cell.run("AssignAddVariableOp", [1.0, 1.0])
    np.testing.assert_array_equal(cell.value, [2.0, 3.0])
    refused(lambda: cell.run("AssignAddVariableOp", [1.0]), InvalidArgumentError, r"has shape \[2\], the update \[1\]")


def test_a_partly_known_shape_is_checked_when_the_value_is_there() -> None:
    cell = Cell(shape=[None, 2])
    given = source(float32, [None, None])
    assigned = cell.op("AssignVariableOp", given)
    evaluate([assigned], {given: np.zeros((5, 2))}, cell.variables)
    assert cell.value.shape == (5, 2)
    with pytest.raises(InvalidArgumentError, match=r"\[5, 3\] to a variable of shape \(None, 2\)"):
        evaluate([assigned], {given: np.zeros((5, 3))}, cell.variables)


NUMBERS, OF_TWO = r"takes signed integers.* as value; got bool", r"has shape \(2,\), input 1 has \(3,\)"
test_what_can_never_fit_is_refused_by_the_line_that_builds = refusing(
    (lambda: Cell(shape=()).op("AssignVariableOp", constant(1)), TypeError, "holds float32, input 1 is int32"),
    (lambda: Cell(shape=()).op("AssignAddVariableOp", constant(1)), TypeError, "holds float32, input 1 is int32"),
    (lambda: Cell(shape=(2,)).op("AssignVariableOp", [1.0, 2.0, 3.0]), ValueError, OF_TWO),
    (lambda: Cell(shape=(2,)).op("AssignAddVariableOp", [1.0, 2.0, 3.0]), ValueError, OF_TWO),
    (
        lambda: make("ReadVariableOp", [constant(1.0)], {"dtype": float32}),
        TypeError,
        "handle as input 0, got a float32",
    ),
    (
        lambda: make("VarIsInitializedOp", [constant(1.0)], {"dtype": float32}),
        TypeError,
        "a resource handle as resource; got float32",
    ),
    (lambda: Cell(bool_, ()).op("AssignAddVariableOp", True), TypeError, NUMBERS),
    (lambda: Cell(bool_, ()).op("AssignSubVariableOp", True), TypeError, NUMBERS),
    (
        lambda: Cell(shape=(3,)).op("ResourceScatterAdd", [0], constant([1], int32)),
        TypeError,
        "holds float32, the updates int32",
    ),
)


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
    assert fits_always(TensorShape(declared), TensorShape(given)) is always


def test_rows_with_one_index_are_summed_in_order_of_the_indices() -> None:
    where, rows = state.sum_duplicates(np.array([3, 1, 3]), np.array([[1, 2], [3, 4], [5, 6]], ml_dtypes.bfloat16))
    assert (where.tolist(), rows.dtype) == ([1, 3], ml_dtypes.bfloat16)
    np.testing.assert_array_equal(rows.astype(float), [[3, 4], [6, 8]])
