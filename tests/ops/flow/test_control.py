"""Ops that only order others."""

from __future__ import annotations

import numpy as np
import pytest

from actorsession import Graph, IndexedSlices, SparseTensor, constant, group, no_op
from actorsession import tuple as tuple_
from actorsession.ops.flow.control import with_dependencies
from tests.ops.interpreter import evaluate, source


def test_no_op_has_no_output_and_runs() -> None:
    op = no_op("anchor")
    assert op.name == "anchor"
    assert op.outputs == ()
    assert evaluate([op]) == [None]


def test_group_runs_after_all_that_it_groups() -> None:
    first, second, third = constant(1), constant(2), no_op()
    together = group(first, [second.op, (third,)], None, name="all")
    assert together.name == "all"
    assert together.type == "NoOp"
    assert together.control_inputs == (first.op, second.op, third)
    assert evaluate([together]) == [None]


def test_group_of_nothing_is_a_no_op() -> None:
    assert group().control_inputs == ()


def test_what_is_named_twice_is_waited_for_once() -> None:
    first = constant(1)
    assert group(first, first.op).control_inputs == (first.op,)


def test_group_takes_slices() -> None:
    slices = IndexedSlices(constant([1.0]), constant([0]))
    assert group(slices).control_inputs == (slices.values.op, slices.indices.op)


def test_group_takes_sparse_tensors_and_structures() -> None:
    sparse = SparseTensor([[0]], [1.0], [2])
    parts = (sparse.indices.op, sparse.values.op, sparse.dense_shape.op)
    assert group({"a": [sparse]}).control_inputs == parts


def test_a_group_over_several_devices_gathers_on_each_of_them_first() -> None:
    with Graph().as_default() as graph:
        with graph.device("/device:CPU:0"):
            near = [no_op(), no_op()]
        with graph.device("/device:CPU:1"):
            far = [no_op()]
        together = group(*near, *far, name="all")
    parts = {part.device: part for part in together.control_inputs}
    assert set(parts) == {"/device:CPU:0", "/device:CPU:1"}
    assert parts["/device:CPU:0"].control_inputs == tuple(near)
    assert parts["/device:CPU:1"].control_inputs == tuple(far)
    assert together.name == "all"


def test_a_group_on_one_device_stands_there() -> None:
    with Graph().as_default() as graph:
        with graph.device("/device:CPU:1"):
            far = no_op()
        assert group(far).device == "/device:CPU:1"


def test_group_of_something_else_is_refused() -> None:
    with pytest.raises(TypeError, match="group takes operations"):
        group("a")


def test_with_dependencies_waits_and_passes_the_value() -> None:
    x, gate = source("float32", []), no_op()
    passed = with_dependencies([gate], x, name="passed")
    assert passed.op.name == "passed"
    assert passed.op.control_inputs == (gate,)
    assert evaluate([passed], {x: 3.0}) == [3.0]


def test_none_of_a_tuple_is_there_before_all_are() -> None:
    x, y = source("float32", []), source("float32", [2])
    double, triple = x * 2.0, y * 3.0
    first, nothing, second = tuple_([double, None, triple])
    assert nothing is None
    (gate,) = first.op.control_inputs
    assert second.op.control_inputs == (gate,)
    assert gate.control_inputs == (double.op, triple.op)
    found = evaluate([first, second], {x: 1.0, y: [2.0, 3.0]})
    assert found[0] == 2.0
    np.testing.assert_array_equal(found[1], [6.0, 9.0])


def test_a_tuple_waits_for_control_inputs_as_well() -> None:
    x, extra = constant(1), no_op()
    (passed,) = tuple_([x], control_inputs=[extra])
    (gate,) = passed.op.control_inputs
    assert gate.control_inputs == (x.op, extra)


def test_a_tuple_keeps_slices() -> None:
    slices = IndexedSlices(constant([1.0]), constant([0]), constant([5]))
    (passed,) = tuple_([slices])
    assert isinstance(passed, IndexedSlices)
    assert passed.values.op.type == "Identity"
    assert passed.indices is slices.indices
    assert passed.dense_shape is slices.dense_shape


def test_a_tuple_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one tensor"):
        tuple_([None])
