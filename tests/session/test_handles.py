"""Tensor handles: values stay in the session, are read and fed by their handles, and cannot be written to."""

from __future__ import annotations

import asyncio
import inspect
import re
import tracemalloc
from collections.abc import AsyncIterator
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, ConfigProto, Graph, Server, Session, TensorHandle, get_default_graph, ops
from actorsession.errors import FailedPreconditionError, InvalidArgumentError
from tests.rows import for_each
from tests.session.handle_kit import stored

TWO_CPUS = ConfigProto(device_count={"CPU": 2})
CPU = "/job:localhost/replica:0/task:0/device:CPU:"


def in_store(face: Any, handle: str) -> Any:
    """The very object that a session keeps."""
    return face.session._session.tensors.get(handle, handle.rpartition(";")[2])


# -- fetching a handle -----------------------------------------------------------------------------


async def test_fetching_a_session_handle_keeps_the_value_and_gives_a_tensor_handle(session: Any) -> None:
    x = ops.placeholder("float32", [2])
    kept = await session.run(ops.get_session_handle(x * 2.0), {x: [1, 2]})
    assert isinstance(kept, TensorHandle)
    assert kept.dtype.name == "float32"
    assert stored(session) == 1
    np.testing.assert_array_equal(kept.eval(), [2, 4])


async def test_a_handle_is_the_name_of_its_node_a_counter_and_the_name_of_its_device(make_session: Any) -> None:
    face, graph = make_session(TWO_CPUS), get_default_graph()
    with graph.device("/cpu:1"), graph.name_scope("scope"):
        data = ops.add(ops.placeholder("float32", [], name="x"), 1.0)
        first, named = ops.get_session_handle(data), ops.get_session_handle(data, name="mine")
    values = await face.run([first, named], {"scope/x:0": 1})
    form = r"scope/{};\d+;" + re.escape(CPU) + "1"
    assert re.fullmatch(form.format("GetSessionHandle"), values[0].handle)
    assert re.fullmatch(form.format("mine"), values[1].handle)
    assert str(values[0]) == values[0].handle
    assert values[0].handle.split(";")[1] != values[1].handle.split(";")[1]


async def test_a_handle_fetched_twice_in_one_run_is_one_handle(session: Any) -> None:
    handle = ops.get_session_handle(ops.constant(1.0) + 1.0)
    first, rest = await session.run([handle, {"again": handle}])
    assert first is rest["again"]
    again = await session.run(handle)
    assert again.handle != first.handle
    assert stored(session) == 2


@pytest.mark.parametrize(
    "value",
    [
        np.float64(1.5),
        np.int32(3),
        np.bool_(True),
        b"text",
        np.array([[1, 2]], np.int64),
        np.array([b"a", b"bc"], object),
    ],
    ids=lambda v: type(v).__name__ + str(getattr(v, "dtype", "")),
)
async def test_a_kept_value_comes_back_as_a_fetch_gives_it(session: Any, value: Any) -> None:
    data = ops.identity(ops.constant(value))
    plain, handle = await session.run([data, ops.get_session_handle(data)])
    placeholder, tensor = ops.get_session_tensor(handle.handle, data.dtype)
    for found in (handle.eval(), await session.run(tensor, {placeholder: handle.handle})):
        assert type(found) is type(plain)
        np.testing.assert_array_equal(found, plain)


async def test_a_value_is_kept_only_if_its_handle_is_fetched(session: Any) -> None:
    handle = ops.get_session_handle(ops.constant([1.0, 2.0]) * 2.0)
    text = ops.identity(handle)
    assert (await session.run(text)).startswith(b"GetSessionHandle;")
    assert await session.run(handle.op) is None
    assert stored(session) == 0
    placeholder, tensor = ops.get_session_tensor(f"x;0;{CPU}0", "float32")
    with pytest.raises(InvalidArgumentError, match="not in the session's store"):
        await session.run(tensor, {placeholder: await session.run(text)})
    both, copy = await session.run([handle, text])
    assert (stored(session), copy.decode()) == (1, both.handle)


async def test_a_handle_cannot_be_read_in_the_step_that_makes_it(session: Any) -> None:
    made = ops.get_session_handle(ops.constant(1.0) + 1.0)
    attrs = {"dtype": "float32"}
    [read] = get_default_graph().create_op("GetSessionTensor", [made], attrs).outputs
    for fetches in (read, [made, read]):
        with pytest.raises(InvalidArgumentError, match="not in the session's store"):
            await session.run(fetches)
    assert stored(session) == 0


async def test_callables_keep_and_take_values_by_handle(session: Any) -> None:
    x = ops.placeholder("float32", [2])
    keep = session.callable(ops.get_session_handle(x + 1.0), [x])
    kept = await keep([1, 2])
    assert isinstance(kept, TensorHandle)
    placeholder, tensor = ops.get_session_tensor(kept.handle, "float32")
    np.testing.assert_array_equal(await session.callable(tensor, [placeholder])(kept.handle), [2, 3])
    np.testing.assert_array_equal(await session.callable(x * 2.0, [x])(kept), [4, 6])


async def test_partial_runs_keep_and_take_values_by_handle(session: Any) -> None:
    async def call(method: str, *args: Any) -> Any:
        function = getattr(session.session, method)
        found = await asyncio.to_thread(function, *args)
        return await found if inspect.isawaitable(found) else found

    x = ops.placeholder("float32", [2])
    handle = ops.get_session_handle(x + 1.0)
    placeholder, tensor = ops.get_session_tensor(f"x;0;{CPU}0", "float32")
    doubled = tensor * 2.0
    partial = await call("partial_run_setup", [handle, doubled], [x, placeholder])
    kept = await call("partial_run", partial, handle, {x: [1, 2]})
    np.testing.assert_array_equal(kept.eval(), [2, 3])
    found = await call("partial_run", partial, doubled, {placeholder: kept.handle})
    np.testing.assert_array_equal(found, [4, 6])


async def test_a_handle_tensor_that_is_fed_gives_a_handle_and_keeps_nothing(session: Any) -> None:
    handle = ops.get_session_handle(ops.constant(1.0) + 1.0)
    fed = await session.run(handle, {handle: "anything"})
    assert (type(fed), fed.handle, stored(session)) == (TensorHandle, "anything", 0)
    with pytest.raises(InvalidArgumentError, match="not in the session's store"):
        fed.eval()


async def test_a_failed_step_keeps_nothing(session: Any) -> None:
    divisor = ops.placeholder("int32", [])
    handle = ops.get_session_handle(ops.constant(1.0) + 1.0)
    with pytest.raises(InvalidArgumentError, match="division by zero"):
        await session.run([handle, ops.floordiv(1, divisor)], {divisor: 0})
    assert stored(session) == 0


# -- who owns the memory ---------------------------------------------------------------------------


async def test_what_is_kept_is_the_computed_array_itself_and_nobody_can_write_to_it(session: Any) -> None:
    x = ops.placeholder("float32", [3])
    kept = await session.run(ops.get_session_handle(x + 1.0), {x: [1, 2, 3]})
    array = in_store(session, kept.handle)
    assert array.flags.owndata
    assert not array.flags.writeable
    y = ops.placeholder("float32", [3])
    seen = await session.run(y * 1.0, {y: kept})
    assert kept._feed_value(y, kept._keeper) is array  # by reference
    seen[:] = 0
    kept.eval()[:] = 0
    np.testing.assert_array_equal(in_store(session, kept.handle), [2, 3, 4])


async def test_keeping_a_value_that_nothing_else_reads_copies_nothing(session: Any) -> None:
    x = ops.placeholder("float32", [1 << 20])
    keep = ops.get_session_handle(x + 1.0)
    fed = np.zeros(1 << 20, np.float32)
    kept = await session.run(keep, {x: fed})
    tracemalloc.start()  # the peak shows a copy that is released again
    try:
        kept = await session.run(keep, {x: kept})
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 1.5 * fed.nbytes  # the new value; neither it nor the fed one was copied
    assert kept.eval()[7] == 2


async def test_changing_what_was_fed_or_fetched_does_not_change_what_is_kept(session: Any) -> None:
    x = ops.placeholder("float32", [2])
    view = ops.reshape(x, [2, 1])
    doubled = x * 2.0
    fed = np.array([1, 2], np.float32)
    fetches = [ops.get_session_handle(t) for t in (x, view, doubled)]
    *handles, fetched, same = await session.run([*fetches, doubled, x], {x: fed})
    fed[:] = 7
    fetched[:] = 7
    same[:] = 7
    np.testing.assert_array_equal(handles[0].eval(), [1, 2])
    np.testing.assert_array_equal(handles[1].eval(), [[1], [2]])
    np.testing.assert_array_equal(handles[2].eval(), [2, 4])


async def test_what_is_read_by_a_handle_can_be_assigned_without_changing_what_is_kept(session: Any) -> None:
    x = ops.placeholder("float32", [2])
    kept = await session.run(ops.get_session_handle(x + 0.0), {x: [1, 2]})
    placeholder, tensor = ops.get_session_tensor(kept.handle, "float32")
    variable = ops.Variable(tensor, validate_shape=False, dtype="float32")
    await session.run(variable.initializer, {placeholder: kept.handle})
    await session.run(variable.assign_add([10.0, 10.0]))
    np.testing.assert_array_equal(await session.run(variable), [11, 12])
    np.testing.assert_array_equal(kept.eval(), [1, 2])


async def test_a_handle_of_a_variable_keeps_the_value_that_the_variable_had(session: Any) -> None:
    variable = ops.Variable([1.0, 2.0])
    await session.run(variable.initializer)
    kept = await session.run(ops.get_session_handle(variable.value()))
    await session.run(variable.assign_add([1.0, 1.0]))
    np.testing.assert_array_equal(kept.eval(), [1, 2])
    np.testing.assert_array_equal(await session.run(variable), [2, 3])


# -- reading by a handle ---------------------------------------------------------------------------


@for_each(
    "form",
    [
        lambda h: h.handle,
        lambda h: h.handle.encode(),
        lambda h: np.array(h.handle, object),
        lambda h: h.to_numpy_array(),
    ],
    ids=["str", "bytes", "array", "to_numpy_array"],
)
async def test_the_string_fed_to_the_placeholder_of_get_session_tensor_gives_the_value(session: Any, form: Any) -> None:
    kept = await session.run(ops.get_session_handle(ops.constant([1.0, 2.0]) * 2.0))
    placeholder, tensor = ops.get_session_tensor(kept.handle, "float32")
    assert (placeholder.dtype.name, tensor.dtype.name) == ("string", "float32")
    assert placeholder.device == tensor.device == CPU + "0"
    found = await session.run(tensor * 10.0, {placeholder: form(kept)})
    np.testing.assert_array_equal(found, [20, 40])


async def test_one_reading_serves_all_handles_of_its_dtype(session: Any) -> None:
    x = ops.placeholder("float32", None)
    handle = ops.get_session_handle(x + 0.0)
    kept = [await session.run(handle, {x: np.full(n, n)}) for n in range(4)]
    placeholder, tensor = ops.get_session_tensor(kept[0], "float32")  # the object will do here
    for n in (3, 0, 2, 1):
        found = await session.run(tensor, {placeholder: kept[n].handle})
        np.testing.assert_array_equal(found, np.full(n, n))


async def test_the_object_fed_to_an_ordinary_tensor_stands_for_its_value(session: Any) -> None:
    x = ops.placeholder("float32", [2], name="x")
    kept = await session.run(ops.get_session_handle(ops.constant([1.0, 2.0]) * 2.0))
    constant = ops.constant([0.0, 0.0])
    np.testing.assert_array_equal(await session.run(x * 10.0, {x: kept}), [20, 40])
    np.testing.assert_array_equal(await session.run(constant + 1.0, {constant: kept}), [3, 5])
    np.testing.assert_array_equal(await session.run(x, {x: kept}), [2, 4])


async def test_the_object_fed_to_a_placeholder_for_handles_is_refused(session: Any) -> None:
    kept = await session.run(ops.get_session_handle(ops.constant([1.0, 2.0]) * 2.0))
    placeholder, tensor = ops.get_session_tensor(kept.handle, "float32")
    with pytest.raises(InvalidArgumentError, match=r"feed `\.handle`"):
        await session.run(tensor, {placeholder: kept})
    plain = ops.placeholder("string", None)
    with pytest.raises(InvalidArgumentError, match=r"feed its string"):
        await session.run(ops.identity(plain), {plain: kept})


async def test_the_object_fed_to_a_tensor_of_another_type_or_shape_is_refused(session: Any) -> None:
    kept = await session.run(ops.get_session_handle(ops.constant([1.0, 2.0]) * 2.0))
    other, long = ops.placeholder("int32", [2]), ops.placeholder("float32", [3])
    with pytest.raises(InvalidArgumentError, match=r"int32 tensor.*float32 value"):
        await session.run(other + 1, {other: kept})
    with pytest.raises(ValueError, match="shape"):
        await session.run(long + 1.0, {long: kept})


# -- servers ---------------------------------------------------------------------------------------


@pytest.fixture
async def server_target() -> AsyncIterator[str]:
    """The address of a server in this process."""
    async with Server({"worker": ["tcp://127.0.0.1:0"]}, "worker", 0) as server:
        yield server.target


async def test_on_a_server_session_tensor_handles_are_a_failed_precondition(server_target: str, graph: Graph) -> None:
    handle = ops.get_session_handle(ops.constant([1.0]) + 1.0)
    name = "x;0;/job:worker/replica:0/task:0/device:CPU:0"
    placeholder, tensor = ops.get_session_tensor(name, "float32")
    holder, deletion = ops.delete_session_tensor(name)
    other = ops.constant(1.0) + 1.0
    runs: list[tuple[Any, Any]] = [(handle, None), (tensor, {placeholder: name}), (deletion, {holder: name})]
    async with AsyncSession(server_target, graph=graph) as session:
        for fetch, feeds in runs:
            with pytest.raises(FailedPreconditionError, match=r"tensor handles .* a server"):
                await session.run(fetch, feeds)
        assert await session.run(other) == 2
    blocking = Session(server_target, graph=graph)
    for fetch, feeds in runs:
        with pytest.raises(FailedPreconditionError, match=r"tensor handles .* a server"):
            await asyncio.to_thread(blocking.run, fetch, feeds)
    await asyncio.to_thread(blocking.close)
