"""The functions of ``ops.raw``: one per operation type, as the table of signatures has it."""

from __future__ import annotations

import inspect
import keyword
from typing import Any

import numpy as np
import pytest

import actorsession as acts
import actorsession.compat.v1 as tf
from actorsession import Graph
from actorsession.graph.op_signatures import opsets, signature_of
from actorsession.ops import raw
from actorsession.ops.op_modules import OP_MODULES
from tests.nodes import make
from tests.ops.interpreter import source
from tests.ops.uses import each_use, equals, gives
from tests.rows import for_each

UNTYPED: Any = raw
TYPES = sorted(name for types in opsets().values() for name in types if not name.startswith("_"))


def test_every_operation_type_of_the_library_has_a_function() -> None:
    assert ({name for name in OP_MODULES if not name.startswith("_")}, sorted(raw.__all__)) == (set(TYPES), TYPES)
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


def _list_and_fields() -> Any:
    found = raw.TopKV2([3, 1, 2], 2)
    parts = raw.Split(0, acts.constant([1, 2, 3, 4]), num_split=2)
    return found._fields, type(parts), [part.shape.as_list() for part in parts]  # type: ignore[attr-defined]


def _handles() -> Any:
    """Attributes that follow from inputs or the handle are derived."""
    handle = raw.VarHandleOp(dtype="float32", shape=[2], shared_name="v")
    update = raw.AssignVariableOp(handle, [1.0, 2.0])
    queue = raw.FIFOQueueV2(component_types=["int32"], shapes=[[]])
    put = raw.QueueEnqueueV2(queue, [7])
    return update.get_attr("dtype"), raw.ReadVariableOp(handle, dtype="float32").shape, put.attrs["component_types"]


def _mixed() -> Any:
    return raw.AddV2(acts.constant(1), acts.constant(1.0))


def _names(build: Any) -> list[str]:
    x = acts.constant(2.0, dtype=acts.float64)
    build(x)
    return [op.name for op in x.graph.get_operations()[1:]]


def _parsed(kind: str) -> acts.Operation:
    attrs: dict[str, Any] = {"Nsparse": 1, "Ndense": 0, "sparse_types": [acts.int64], "dense_shapes": []}
    return make("ParseExample", [source("string", ()), source("string", ()), source(kind, ())], attrs)


def _function_of_a_handle() -> Any:
    return raw.PyFunc([raw.VarHandleOp(dtype="float32", shape=())], token="f", Tout=[])


ONE_TYPE = "AddV2 takes inputs of one dtype; got int32, float32: cast one of them"
USES = [
    gives(lambda: raw.AddV2(1, acts.constant([1.0, 2.0], dtype=acts.float64), name="total"), np.array([2.0, 3.0])),
    equals(lambda: _names(lambda x: raw.AddV2(1, x, name="total")), ["total/x", "total"]),
    gives(lambda: raw.Pack([1.5, acts.constant(2.0, dtype=acts.float64)], axis=0), np.array([1.5, 2.0])),
    equals(lambda: _names(lambda x: raw.Pack([1.5, x], axis=0)), ["Pack/values_0", "Pack"]),
    gives(lambda: raw.TopKV2([3, 1, 2], 2), [[3, 2], [0, 2]]),
    equals(_list_and_fields, (("values", "indices"), list, [[2], [2]])),
    equals(lambda: type(raw.NoOp(name="nothing")), acts.Operation),
    equals(_handles, (acts.float32, [2], (acts.int32,))),
    equals(lambda: raw.Cast(1.5, DstT=np.int64).dtype, acts.int64),
    equals(lambda: raw.Placeholder(dtype=float, shape=(None, 3)).shape.as_list(), [None, 3]),
    (lambda: raw.Neg(True), TypeError, "Neg takes signed integers, .*; got bool"),
    (_mixed, TypeError, ONE_TYPE),
    (lambda: UNTYPED.Neg(1.0, speed=2), TypeError, "unexpected keyword argument 'speed'"),
    (lambda: UNTYPED.Cast(1.0), TypeError, "missing 1 required keyword-only argument: 'DstT'"),
    (lambda: raw.Cast(1.0, DstT="float33"), TypeError, "float33"),
    # What a row of the table of signatures says of single inputs, of their number, and of lists of them.
    (lambda: raw.Switch(1.0, source("int32")), TypeError, "Switch takes bool as pred; got int32"),
    (lambda: raw.Switch(1.0, source("bool", [2])), ValueError, r"takes a scalar as pred; got shape \(2,\)"),
    equals(lambda: raw.Switch(source("float32", [3]), source("bool"))[0].shape, [3]),
    equals(lambda: len(_parsed("string").outputs), 3),
    (lambda: _parsed("int32"), TypeError, "ParseExample takes string as sparse_keys; got int32"),
    (lambda: make("Switch", [source("float32")]), ValueError, "Switch takes the inputs data, pred; got 1"),
    # What TensorFlow calls a reference is a handle.
    equals(lambda: raw.Barrier(component_types=[acts.float32]).dtype.name, "resource"),
    (lambda: raw.BarrierReadySize("a"), TypeError, "takes a resource handle as handle; got string"),
    (_function_of_a_handle, TypeError, r"PyFunc takes .*; got resource"),
]


test_functions_of_operation_types_do_what_their_rows_say = each_use(USES)


def test_a_node_that_is_refused_is_not_there(graph: Graph) -> None:
    for build in (_mixed, lambda: raw.Neg(True), lambda: raw.Cast(1.0, DstT="float33")):
        with pytest.raises(TypeError):
            build()
    assert {op.type for op in graph.get_operations()} == {"Const"}
