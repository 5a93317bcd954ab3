"""Values behind handles go to other devices where they are needed."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from actorsession import ConfigProto, Graph, Session, get_default_graph, ops
from actorsession.errors import InvalidArgumentError
from tests.session.handle_kit import stored
from tests.session.test_concurrency import in_threads

TWO_CPUS = ConfigProto(device_count={"CPU": 2})
CPU = "/job:localhost/replica:0/task:0/device:CPU:"


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
