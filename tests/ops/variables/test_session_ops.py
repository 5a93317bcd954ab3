"""Tensor handles as ops: what can be built, and kernels with and without a store."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

from actorsession import Graph, get_default_graph, ops
from actorsession.errors import FailedPreconditionError, InternalError, InvalidArgumentError
from actorsession.extend import NOT_DIFFERENTIABLE
from actorsession.graph.registry import TENSOR_STORE, lookup
from actorsession.ops.variables.session_ops import UnsavedHandle, handle_device, handle_dtype
from actorsession.plan.codegen.node_context import NodeContext
from actorsession.runtime.resources import ResourceManager
from actorsession.runtime.tensor_store import TensorStore
from tests.rows import for_each, refused, refusing

DEVICE = "/job:localhost/replica:0/task:0/device:CPU:0"


def kernel(made: Any, store: TensorStore | None) -> Any:
    """The kernel of the operation behind a tensor, or of an operation."""
    op = getattr(made, "op", made)
    manager = ResourceManager()
    if store is not None:
        manager.lookup_or_create(*TENSOR_STORE, lambda: store)
    inputs = tuple(t.spec for t in op.inputs)
    context = NodeContext(op.plain, inputs, (None,) * len(inputs), DEVICE, manager, {})
    return lookup(op.type).kernel(context)


def test_a_handle_is_a_string_scalar_where_its_data_is() -> None:
    data = ops.constant([1.0], name="data")
    handle = ops.get_session_handle(data)
    assert (handle.dtype.name, handle.shape.as_tuple(), handle.op.groups()) == ("string", (), ("loc:@data",))
    assert handle.name == "GetSessionHandle:0"


def test_a_reading_stands_on_the_device_that_the_handle_names(graph: Graph) -> None:
    with graph.device("/job:elsewhere"), graph.name_scope("scope"):
        placeholder, tensor = ops.get_session_tensor(f"x;1;{DEVICE}", "int64", name="reading")
        holder, deletion = ops.delete_session_tensor(f"x;1;{DEVICE}".encode())
    assert {t.device for t in (placeholder, tensor, holder, deletion)} == {DEVICE}
    assert (tensor.name, tensor.dtype.name, tensor.shape.rank) == ("scope/reading:0", "int64", None)
    found = handle_dtype(placeholder)
    assert found is not None
    assert found.name == "int64"
    assert handle_dtype(holder) is None
    assert deletion.outputs == ()


@for_each("wrong", ["nonsense", "a;1;nonsense", None, 3], ids=repr)
def test_what_is_no_handle_is_refused_before_anything_is_built(wrong: Any, graph: Graph) -> None:
    for build in (lambda: ops.get_session_tensor(wrong, "int32"), lambda: ops.delete_session_tensor(wrong)):
        with pytest.raises(ValueError, match="not a tensor handle"):
            build()
    refused(lambda: ops.get_session_tensor(f"x;1;{DEVICE}", "nodtype"), TypeError, "nodtype")
    assert graph.get_operations() == []


def test_the_device_of_a_handle_is_canonical() -> None:
    assert handle_device("x;1;/job:localhost/replica:0/task:0/cpu:0") == DEVICE
    assert handle_device(f"name;with;semicolons;1;{DEVICE}".encode()) == DEVICE


def test_nothing_flows_through_handles() -> None:
    for name in ("GetSessionHandle", "GetSessionTensor", "DeleteSessionTensor"):
        assert lookup(name).gradient is NOT_DIFFERENTIABLE
        assert lookup(name).stateful
    placeholder, tensor = ops.get_session_tensor(f"x;1;{DEVICE}", "float32")
    assert ops.gradients(tensor, placeholder) == [None]


def test_a_handle_brings_its_value_along_and_is_not_yet_kept() -> None:
    store = TensorStore()
    keep = kernel(ops.get_session_handle(ops.constant([1.0], name="data")), store)
    value = np.ones(1, np.float32)
    first, second = keep(value), keep(value)
    assert isinstance(first, UnsavedHandle)
    assert first.value is value
    assert first != second
    assert first.startswith(b"GetSessionHandle;")
    assert first.endswith(DEVICE.encode())
    assert len(store) == 0


def test_a_kept_value_is_read_and_deleted_by_its_string() -> None:
    store = TensorStore()
    _, tensor = ops.get_session_tensor(f"x;1;{DEVICE}", "float32")
    _, deletion = ops.delete_session_tensor(f"x;1;{DEVICE}")
    read, delete = kernel(tensor, store), kernel(deletion, store)
    value = np.ones(1, np.float32)
    store.save(f"x;1;{DEVICE}", value)
    for form in (f"x;1;{DEVICE}".encode(), np.array(f"x;1;{DEVICE}".encode(), object)):
        assert read(form) is value
    refused(lambda: read(np.array([b"a", b"b"], object)), InvalidArgumentError, "one handle")
    assert delete(f"x;1;{DEVICE}".encode()) is None
    for gone in (read, delete):
        with pytest.raises(InvalidArgumentError, match="not in the session's store"):
            gone(f"x;1;{DEVICE}".encode())


def test_a_reading_of_another_dtype_is_our_own_error() -> None:
    store = TensorStore()
    store.save(f"x;1;{DEVICE}", np.ones(1, np.float32))
    store.save(f"y;1;{DEVICE}", b"text")
    _, tensor = ops.get_session_tensor(f"x;1;{DEVICE}", "int32")
    for name, found in (("x", "float32"), ("y", "string")):
        with pytest.raises(InternalError, match=f"is {found}; .* read int32"):
            kernel(tensor, store)(f"{name};1;{DEVICE}".encode())


def test_a_device_without_a_store_refuses_handles() -> None:
    handle = ops.get_session_handle(ops.constant([1.0]))
    _, tensor = ops.get_session_tensor(f"x;1;{DEVICE}", "float32")
    _, deletion = ops.delete_session_tensor(f"x;1;{DEVICE}")
    for made in (handle, tensor, deletion):
        with pytest.raises(FailedPreconditionError, match="belongs to a server"):
            kernel(made, None)(b"anything")


def _reading(handle: Any) -> Any:
    return get_default_graph().create_op("GetSessionTensor", [ops.constant(handle)], {"dtype": "float32"})


OTHERS: list[Any] = [[1.0], 1.0, "x", None]
test_only_tensors_have_handles_and_a_reading_takes_one_string = refusing(
    *[(lambda other=other: ops.get_session_handle(other), TypeError, "data is a Tensor") for other in OTHERS],
    (lambda: ops.get_session_handle(cast("Any", ops.Variable(1.0))), TypeError, "data is a Tensor"),
    (lambda: ops.get_session_handle(cast("Any", ops.Variable(1.0).op)), TypeError, "data is a Tensor"),
    (lambda: ops.get_session_handle(ops.Variable(1.0).handle), TypeError, r"GetSessionHandle takes .*; got resource"),
    (lambda: _reading(1), TypeError, "takes string as handle"),
    (lambda: _reading(["a", "b"]), ValueError, "takes a scalar as handle"),
)
