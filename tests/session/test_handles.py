"""Tensor handles: values stay in the session, are read and fed by their handles, and cannot be written to."""

from __future__ import annotations

import asyncio
import gc
import inspect
import random
import re
import sys
import threading
import tracemalloc
from collections.abc import AsyncIterator, Callable
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, ConfigProto, Graph, Server, Session, TensorHandle, get_default_graph, ops
from actorsession.errors import FailedPreconditionError, InternalError, InvalidArgumentError
from tests.default_device import TYPE
from tests.rows import for_each
from tests.session.test_concurrency import in_threads


def stored(face: Any) -> int:
    """How many values a session keeps."""
    count: int = face.session.statistics().tensor_handles
    return count


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
    assert array.flags.owndata is (TYPE == "CPU")  # else its memory is that of a tensor
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


# -- errors and the end of a value -----------------------------------------------------------------
async def test_a_deleted_handle_is_refused_wherever_it_is_used(session: Any) -> None:
    x = ops.placeholder("float32", [2])
    kept = await session.run(ops.get_session_handle(ops.constant([1.0, 2.0]) + 0.0))
    placeholder, tensor = ops.get_session_tensor(kept.handle, "float32")
    kept.delete()
    assert stored(session) == 0
    with pytest.raises(InvalidArgumentError, match="not in the session's store") as caught:
        await session.run(tensor, {placeholder: kept.handle})
    assert caught.value.node == tensor.op.name
    with pytest.raises(InvalidArgumentError, match="not in the session's store"):
        await session.run(x + 1.0, {x: kept})
    for again in (kept.eval, kept.delete):
        with pytest.raises(TypeError, match="deleted already"):
            again()


@for_each("device", ["0", "1", "7"])
async def test_an_unknown_handle_is_refused(make_session: Any, device: str) -> None:
    face = make_session(TWO_CPUS)
    placeholder, tensor = ops.get_session_tensor(f"x;0;{CPU}0", "float32")
    with pytest.raises(InvalidArgumentError, match=r"'nobody;1;.*not in the session's store"):
        await face.run(tensor, {placeholder: f"nobody;1;{CPU}{device}"})


async def test_a_string_that_is_no_handle_is_a_value_error(session: Any) -> None:
    placeholder, tensor = ops.get_session_tensor(f"x;0;{CPU}0", "float32")
    for wrong in ("nonsense", "a;1;nonsense"):
        with pytest.raises(ValueError, match="not a tensor handle"):
            await session.run(tensor, {placeholder: wrong})
    with pytest.raises(ValueError, match="one tensor handle"):
        await session.run(tensor, {placeholder: [f"x;0;{CPU}0"] * 2})


async def test_a_handle_of_another_session_is_refused(make_session: Any) -> None:
    first, second = make_session(), make_session()
    handle = ops.get_session_handle(ops.constant([1.0, 2.0]) + 0.0)
    mine = [await first.run(handle) for _ in range(3)]
    theirs = [await second.run(handle) for _ in range(3)]
    placeholder, tensor = ops.get_session_tensor(mine[0].handle, "float32")
    ordinary = ops.placeholder("float32", [2])
    for kept in mine:
        with pytest.raises(InvalidArgumentError, match="belongs to another session"):
            await second.run(tensor, {placeholder: kept.handle})
        with pytest.raises(InvalidArgumentError, match="belongs to another session"):
            await second.run(ordinary + 1.0, {ordinary: kept})
    for kept in theirs:
        await second.run(tensor, {placeholder: kept.handle})
        await second.run(ordinary + 1.0, {ordinary: kept})


@for_each("device", [0, 1])
async def test_reading_with_another_dtype_is_an_internal_error(make_session: Any, device: int) -> None:
    face, graph = make_session(TWO_CPUS), get_default_graph()
    with graph.device(f"/cpu:{device}"):
        handle = ops.get_session_handle(ops.constant([1.0, 2.0]) + 0.0)
    kept = await face.run(handle)
    for wrong in ("int32", "string"):
        placeholder, tensor = ops.get_session_tensor(f"x;0;{CPU}0", wrong)
        with pytest.raises(InternalError, match=f"float32.*{wrong}"):
            await face.run(tensor, {placeholder: kept.handle})


async def test_delete_session_tensor_deletes_once(session: Any) -> None:
    kept = await session.run(ops.get_session_handle(ops.constant(1.0) + 1.0))
    placeholder, deletion = ops.delete_session_tensor(kept.handle)
    assert await session.run(deletion, {placeholder: kept.handle}) is None
    assert stored(session) == 0
    with pytest.raises(InvalidArgumentError, match="failed to delete"):
        await session.run(deletion, {placeholder: kept.handle})
    with pytest.raises(InvalidArgumentError, match="failed to delete"):
        kept.delete()


async def test_handles_whose_objects_died_are_deleted_in_batches_of_ten(session: Any) -> None:
    other = ops.constant(0)
    handle = ops.get_session_handle(ops.constant([1.0]) + 1.0)
    living = await session.run(handle)
    for _ in range(9):
        await session.run(handle)
    await session.run(other)  # a thread may hold on to the last result until it has another
    gc.collect()
    assert stored(session) == 10  # nine of them dead
    await session.run(handle)
    async with asyncio.timeout(60):
        while stored(session) != 1:  # whichever thread holds on to the tenth
            await session.run(other)
            gc.collect()
    np.testing.assert_array_equal(living.eval(), [2])


async def test_deletions_of_dead_handles_work_on_a_finalised_graph_and_add_no_nodes(session: Any) -> None:
    """TensorFlow adds nodes to delete, and complains from a finaliser when the graph is final."""
    graph = get_default_graph()
    other = ops.constant(0)
    handle = ops.get_session_handle(ops.constant([1.0]) + 1.0)
    graph.finalize()
    nodes = len(graph.get_operations())
    for _ in range(25):
        await session.run(handle)
    await session.run(other)
    gc.collect()
    assert stored(session) == 5
    kept = await session.run(handle)
    np.testing.assert_array_equal(kept.eval(), [2])
    kept.delete()
    assert len(graph.get_operations()) == nodes


async def test_a_raw_handle_is_not_collected(session: Any) -> None:
    handle = ops.get_session_handle(ops.constant([1.0]) + 1.0)
    kept = await session.run(handle)
    raw = kept.get_raw_handle()
    assert raw == kept.handle == kept.get_raw_handle()
    for use in (kept.eval, kept.delete):
        with pytest.raises(TypeError, match="get_raw_handle"):
            use()
    x = ops.placeholder("float32", [1])
    np.testing.assert_array_equal(await session.run(x + 0.0, {x: kept}), [2])
    del kept
    for _ in range(20):
        await session.run(handle)
    gc.collect()
    placeholder, tensor = ops.get_session_tensor(raw, "float32")
    np.testing.assert_array_equal(await session.run(tensor, {placeholder: raw}), [2])
    placeholder, deletion = ops.delete_session_tensor(raw)
    await session.run(deletion, {placeholder: raw})
    assert stored(session) == 0


async def test_handles_may_die_in_any_thread(session: Any) -> None:
    handle = ops.get_session_handle(ops.constant([1.0]) + 1.0)
    batches = [[await session.run(handle) for _ in range(25)] for _ in range(4)]
    await session.run(ops.constant(0))  # a thread may hold on to the last result until then
    assert stored(session) == 100
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        threads = [threading.Thread(target=batch.clear) for batch in batches]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    gc.collect()
    assert stored(session) < 10


async def test_a_closed_session_refuses_its_handles(session: Any) -> None:
    kept = await session.run(ops.get_session_handle(ops.constant(1.0) + 1.0))
    await session.close()
    for use in (kept.eval, kept.delete):
        with pytest.raises(RuntimeError, match="closed Session"):
            use()
    del kept  # and a finaliser that comes later does no harm
    gc.collect()


# -- many of them ----------------------------------------------------------------------------------
async def test_gets_and_deletions_in_any_order_find_what_is_there_and_nothing_else(make_session: Any) -> None:
    face, graph = make_session(TWO_CPUS), get_default_graph()
    x = ops.placeholder("float32", [3])
    makers, readers, deleters = [], [], []
    for index in range(2):
        with graph.device(f"/cpu:{index}"):
            makers.append(ops.get_session_handle(x + 0.0))
        readers.append(ops.get_session_tensor(f"x;0;{CPU}{index}", "float32"))
        deleters.append(ops.delete_session_tensor(f"x;0;{CPU}{index}"))
    rng = random.Random(5)
    living: dict[str, tuple[Any, int]] = {}
    dead: list[str] = []
    for number in range(300):
        choice = rng.random()
        if choice < 0.4 or not living:
            kept = await face.run(rng.choice(makers), {x: np.full(3, number)})
            living[kept.handle] = kept, number
            continue
        name = rng.choice(list(living))
        kept, value = living[name]
        placeholder, tensor = rng.choice(readers)
        if choice < 0.7:
            found = await face.run(tensor, {placeholder: name})
            np.testing.assert_array_equal(found, np.full(3, value))
        elif choice < 0.8:
            kept.delete()
            del living[name]
            dead.append(name)
        elif choice < 0.9:
            placeholder, deletion = rng.choice(deleters)
            await face.run(deletion, {placeholder: name})
            kept.get_raw_handle()
            del living[name]
            dead.append(name)
        elif dead:
            with pytest.raises(InvalidArgumentError):
                await face.run(tensor, {placeholder: rng.choice(dead)})
        assert stored(face) == len(living)


async def test_a_training_loop_that_carries_its_state_by_handle_keeps_a_handful_of_values(session: Any) -> None:
    x = ops.placeholder("float32", [64, 64])
    handle = ops.get_session_handle(x + 1.0)

    async def train(run: Callable[..., Any]) -> None:
        state: Any = np.zeros((64, 64))
        highest = 0
        for _ in range(1001):
            state = await run(handle, {x: state})
            highest = max(highest, stored(session))
        assert highest <= 12  # the last value, the one before, and ten that wait for their batch
        assert state.eval()[5, 5] == 1001

    async def run_here(*args: Any) -> Any:
        return session.session.run(*args)

    def through() -> None:
        with pytest.raises(StopIteration):
            train(run_here).send(None)

    if session.name == "Session":
        # In one thread: of those of a pool, each keeps the arguments of its last run for a moment.
        await asyncio.to_thread(through)
    else:
        await train(session.run)
    assert session.session.statistics().cache.plans == 1


async def test_a_loop_through_a_placeholder_for_handles_adds_nothing_to_the_graph(make_session: Any) -> None:
    face, graph = make_session(TWO_CPUS), get_default_graph()
    with graph.device("/cpu:1"):
        first = ops.get_session_handle(ops.constant([0.0]) + 0.0)
    placeholder, tensor = ops.get_session_tensor(f"x;0;{CPU}0", "float32")
    following = ops.get_session_handle(tensor + 1.0)
    state = await face.run(first)
    nodes = len(graph.get_operations())
    for _ in range(100):
        state = await face.run(following, {placeholder: state.handle})
    assert state.eval() == [100]
    assert len(graph.get_operations()) == nodes
    assert stored(face) <= 12


def places(face: Any, handle: str) -> list[str]:
    """The devices on which a session keeps a value."""
    return [name.removeprefix(CPU) for name in face.session._session.tensors.devices(handle)]


async def test_a_handle_of_another_device_is_moved_there_first(make_session: Any) -> None:
    face, graph = make_session(TWO_CPUS), get_default_graph()
    x = ops.placeholder("float32", [2])
    handles = []
    for index in range(2):
        with graph.device(f"/cpu:{index}"):
            handles.append(ops.get_session_handle(x * float(index + 1)))
    near, far = await face.run(handles, {x: [1, 2]})
    placeholder, tensor = ops.get_session_tensor(near.handle, "float32")
    nodes = len(graph.get_operations())
    assert places(face, far.handle) == ["1"]
    np.testing.assert_array_equal(await face.run(tensor, {placeholder: far.handle}), [2, 4])
    assert places(face, far.handle) == ["1", "0"]
    assert places(face, near.handle) == ["0"]
    np.testing.assert_array_equal(await face.run(tensor, {placeholder: near.handle}), [1, 2])
    # A move adds nothing to the program's graph, and nothing to what is counted as kept.
    assert len(graph.get_operations()) == nodes
    assert stored(face) == 2


async def test_a_move_is_a_transfer_from_device_to_device_and_is_made_once(make_session: Any) -> None:
    face, graph = make_session(TWO_CPUS), get_default_graph()
    with graph.device("/cpu:1"):
        handle = ops.get_session_handle(ops.placeholder("float32", [2], name="x") + 0.0)
    placeholder, tensor = ops.get_session_tensor(f"x;0;{CPU}0", "float32")
    moved = []
    for value in ([1, 2], [3, 4]):
        kept = await face.run(handle, {"x:0": value})
        copies = []
        for _ in range(2):
            found = await face.run(tensor, {placeholder: kept.handle})
            np.testing.assert_array_equal(found, value)
            copies.append(face.session._session.tensors.get(kept.handle, f"{CPU}0"))
        assert copies[0] is copies[1]  # a second move would have made another one
        moved.append(kept)
        assert places(face, kept.handle) == ["1", "0"]
    mover = face.session._requests.handles._mover
    assert len(mover._plans) == 1
    [plan] = mover._plans.values()
    found_ops = {p.device[-1]: [n.op for n in p.nodes] for p in plan.graph.partitions}
    assert "_Send" in found_ops["1"]
    assert "_Recv" in found_ops["0"]


def test_threads_that_move_at_once_share_one_mover_and_its_plan(graph: Graph) -> None:
    with graph.device("/cpu:1"):
        handle = ops.get_session_handle(ops.placeholder("float32", [2], name="x") + 0.0)
    placeholder, tensor = ops.get_session_tensor(f"x;0;{CPU}0", "float32")
    for _ in range(20):
        with Session(graph=graph, config=TWO_CPUS) as session:
            kept = [session.run(handle, {"x:0": [i, i]}) for i in range(8)]
            begun = threading.Barrier(8)

            def work(index: int, session: Any = session, kept: Any = kept, begun: Any = begun) -> None:
                begun.wait(20)
                found = session.run(tensor, {placeholder: kept[index].handle})
                np.testing.assert_array_equal(found, [index, index])

            in_threads(8, work)
            mover: Any = session._requests.handles and session._requests.handles._mover
            assert len(mover._plans) == 1
            assert len(mover._graph.get_operations()) == 3


async def test_deleting_a_handle_deletes_what_was_moved_as_well(make_session: Any) -> None:
    face, graph = make_session(TWO_CPUS), get_default_graph()
    with graph.device("/cpu:1"):
        handle = ops.get_session_handle(ops.constant([1.0, 2.0]) * 2.0)
    kept = await face.run(handle)
    placeholder, tensor = ops.get_session_tensor(f"x;0;{CPU}0", "float32")
    await face.run(tensor, {placeholder: kept.handle})
    kept.delete()
    assert (stored(face), places(face, kept.handle)) == (0, [])
    with pytest.raises(InvalidArgumentError, match="not in the session's store"):
        await face.run(tensor, {placeholder: kept.handle})


async def test_moves_work_on_a_finalised_graph(make_session: Any) -> None:
    face, graph = make_session(TWO_CPUS), get_default_graph()
    with graph.device("/cpu:1"):
        handle = ops.get_session_handle(ops.constant([1.0, 2.0]) * 2.0)
    placeholder, tensor = ops.get_session_tensor(f"x;0;{CPU}0", "float32")
    graph.finalize()
    kept = await face.run(handle)
    np.testing.assert_array_equal(await face.run(tensor, {placeholder: kept.handle}), [2, 4])


async def test_a_value_kept_elsewhere_can_be_fed_to_any_tensor(make_session: Any) -> None:
    face, graph = make_session(TWO_CPUS), get_default_graph()
    with graph.device("/cpu:1"):
        x = ops.placeholder("float32", [2])
        doubled = x * 2.0
    kept = await face.run(ops.get_session_handle(ops.constant([1.0, 2.0]) + 0.0))
    np.testing.assert_array_equal(await face.run(doubled, {x: kept}), [2, 4])
