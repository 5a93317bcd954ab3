"""The functions of ``ops.raw``: one per operation type, as the table of signatures has it."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import actorsession as acts
import actorsession.compat.v1 as tf
from actorsession import Graph, Session
from actorsession.graph.op_signatures import opsets, signature_of
from actorsession.ops import raw
from actorsession.ops.op_modules import OP_MODULES
from tests.rows import for_each

UNTYPED: Any = raw
TYPES = sorted(name for types in opsets().values() for name in types if not name.startswith("_"))


@pytest.fixture
def graph() -> Iterator[Graph]:
    graph = Graph()
    with graph.as_default():
        yield graph


def test_every_operation_type_of_the_library_has_a_function() -> None:
    assert {name for name in OP_MODULES if not name.startswith("_")} == set(TYPES)
    assert sorted(raw.__all__) == TYPES
    assert sorted(tf.raw_ops.__all__) == TYPES


@for_each("name", TYPES)
def test_a_function_takes_the_inputs_and_attributes_of_its_row(name: str) -> None:
    signature = signature_of(name)
    assert signature is not None
    function = inspect.signature(getattr(raw, name))
    wanted = [*(arg.name for arg in signature.inputs), *signature.stored]
    found = [parameter.removesuffix("_") for parameter in function.parameters if parameter != "name"]
    assert sorted(found) == sorted(wanted)
    for parameter in function.parameters.values():
        is_input = parameter.name.removesuffix("_") in [arg.name for arg in signature.inputs]
        assert (parameter.kind is parameter.POSITIONAL_OR_KEYWORD) == is_input
        assert not keyword.iskeyword(parameter.name)


def test_plain_operands_become_constants_named_after_their_inputs(graph: Graph) -> None:
    x = acts.constant([1.0, 2.0], dtype=acts.float64)
    total = raw.AddV2(1, x, name="total")
    assert [op.name for op in graph.get_operations()] == ["Const", "total/x", "total"]
    assert total.dtype is acts.float64
    with Session(graph=graph) as session:
        np.testing.assert_array_equal(session.run(total), [2.0, 3.0])


def test_items_of_a_list_share_their_element_type_and_are_numbered(graph: Graph) -> None:
    made = raw.Pack([1.5, acts.constant(2.0, dtype=acts.float64)], axis=0)
    assert made.dtype is acts.float64
    assert "Pack/values_0" in [op.name for op in graph.get_operations()]


def test_several_outputs_are_a_named_tuple_and_a_list_is_a_list(graph: Graph) -> None:
    found = raw.TopKV2([3, 1, 2], 2)
    assert found._fields == ("values", "indices")  # type: ignore[attr-defined]
    with Session(graph=graph) as session:
        values, indices = session.run(list(found))
    assert (values.tolist(), indices.tolist()) == ([3, 2], [0, 2])
    parts = raw.Split(0, acts.constant([1, 2, 3, 4]), num_split=2)
    assert isinstance(parts, list)
    assert [part.shape.as_list() for part in parts] == [[2], [2]]


def test_a_type_without_outputs_gives_its_operation(graph: Graph) -> None:
    assert isinstance(raw.NoOp(name="nothing"), acts.Operation)


def test_attributes_that_follow_from_inputs_or_the_handle_are_derived(graph: Graph) -> None:
    handle = raw.VarHandleOp(dtype="float32", shape=[2], shared_name="v")
    update = raw.AssignVariableOp(handle, [1.0, 2.0])
    assert update.get_attr("dtype") is acts.float32
    assert raw.ReadVariableOp(handle, dtype="float32").shape.as_list() == [2]
    queue = raw.FIFOQueueV2(component_types=["int32"], shapes=[[]])
    assert raw.QueueEnqueueV2(queue, [7]).attrs["component_types"] == (acts.int32,)


def test_element_types_and_shapes_may_be_given_in_every_form(graph: Graph) -> None:
    assert raw.Cast(1.5, DstT=np.int64).dtype is acts.int64
    assert raw.Placeholder(dtype=float, shape=(None, 3)).shape.as_list() == [None, 3]


@for_each(
    "build, error, said",
    [
        (lambda: raw.Neg(True), TypeError, "Neg takes signed integers, .*; got bool"),
        (
            lambda: raw.AddV2(acts.constant(1), acts.constant(1.0)),
            TypeError,
            "AddV2 takes inputs of one dtype; got int32, float32: cast one of them",
        ),
        (lambda: UNTYPED.Neg(1.0, speed=2), TypeError, "unexpected keyword argument 'speed'"),
        (lambda: UNTYPED.Cast(1.0), TypeError, "missing 1 required keyword-only argument: 'DstT'"),
        (lambda: raw.Cast(1.0, DstT="float33"), TypeError, "float33"),
    ],
)
def test_what_a_row_does_not_allow_is_refused(graph: Graph, build: object, error: type[Exception], said: str) -> None:
    assert callable(build)
    with pytest.raises(error, match=said):
        build()
    assert [op.type for op in graph.get_operations() if op.type in ("Neg", "AddV2", "Cast")] == []
