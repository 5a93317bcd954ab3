"""The end of values behind handles: deleted, dropped or unknown, and how many of them there are."""

from __future__ import annotations

import asyncio
import gc
import random
import sys
import threading
from typing import Any

import numpy as np
import pytest

from actorsession import ConfigProto, get_default_graph, ops
from actorsession.errors import InternalError, InvalidArgumentError
from tests.rows import for_each
from tests.session.handle_kit import stored

TWO_CPUS = ConfigProto(device_count={"CPU": 2})
CPU = "/job:localhost/replica:0/task:0/device:CPU:"


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
    state = await session.run(handle, {x: np.zeros((64, 64))})
    highest = 0
    for _ in range(1000):
        state = await session.run(handle, {x: state})
        highest = max(highest, stored(session))
    assert highest <= 12  # the last value, the one before, and ten that wait for their batch
    assert state.eval()[5, 5] == 1001
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
