"""Staging areas: values wait between steps, in order or by key; who waits holds no thread."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, float32, int32, ops, opsets, string
from actorsession.errors import InvalidArgumentError, ResourceExhaustedError
from actorsession.opsets.staging.state import Limits, MapState, StageState
from tests.cluster.kit import soon
from tests.ops.queues.kit import held
from tests.rows import refused, refused_later


@pytest.fixture(params=[False, True], ids=["unordered", "ordered"])
def area(request: pytest.FixtureRequest, graph: Graph) -> opsets.MapStagingArea:
    """Two elements of a number and a vector."""
    return opsets.MapStagingArea([float32, int32], shapes=[[], [None]], capacity=2, ordered=request.param)


def whole(area: opsets.MapStagingArea, key: int, x: float = 1.0) -> Any:
    return area.put(key, [x, [key]], [0, 1])


async def sizes(session: AsyncSession, area: opsets.MapStagingArea) -> list[int]:
    return [int(n) for n in await session.run([area.size(), area.incomplete_size()])]


# -- in order --------------------------------------------------------------------------------------


async def test_elements_come_out_in_the_order_in_which_they_came_in(session: AsyncSession) -> None:
    area = opsets.StagingArea([float32, string])
    for x, word in ((1.0, "a"), (2.0, "b")):
        await session.run(area.put([x, word]))
    assert (await session.run(area.size()), await session.run(area.peek(1))) == (2, [2.0, b"b"])
    assert (await session.run(area.get()), await session.run(area.get())) == ([1.0, b"a"], [2.0, b"b"])


async def test_taking_and_looking_wait_for_an_element(session: AsyncSession) -> None:
    area = opsets.StagingArea([int32])
    take = await held(session, area.get())
    look = await held(session, area.peek(1), count=2)
    await session.run(area.put(1))
    assert await soon(take) == [1]
    await session.run([area.put(2), area.put(3)])
    assert (await soon(look))[0] in (2, 3)


async def test_putting_waits_for_room(session: AsyncSession) -> None:
    area = opsets.StagingArea([int32], capacity=1)
    await session.run(area.put(1))
    put = await held(session, area.put(2))
    assert await session.run(area.get()) == [1]
    await soon(put)
    assert await session.run(area.get()) == [2]


async def test_putting_waits_for_memory_and_what_fits_goes_first(session: AsyncSession) -> None:
    area = opsets.StagingArea([float32], memory_limit=12)
    x = ops.constant([1.0, 2.0])
    await session.run(area.put(x))
    large = await held(session, area.put(x + 2.0))
    await session.run(area.put(ops.constant([5.0])))
    assert [v.tolist() for v in await session.run(area.get())] == [[1.0, 2.0]]
    await soon(large)
    assert await session.run(area.size()) == 2
    with pytest.raises(ResourceExhaustedError, match=r"'16' bytes .* memory limit of '12'"):
        await session.run(area.put(ops.zeros([4])))


async def test_clearing_lets_in_who_waits(session: AsyncSession) -> None:
    area = opsets.StagingArea([int32], capacity=1)
    await session.run(area.put(1))
    put = await held(session, area.put(2))
    await session.run(area.clear())
    await soon(put)
    assert await session.run(area.get()) == [2]


async def test_a_step_that_ends_early_takes_nothing_and_leaves_nothing(session: AsyncSession) -> None:
    area = opsets.StagingArea([int32], capacity=1)
    take = await held(session, area.get())
    take.cancel()
    await asyncio.wait([take])
    await session.run(area.put(1))
    put = await held(session, area.put(2))
    put.cancel()
    await asyncio.wait([put])
    assert (await session.run(area.get()), await session.run(area.size())) == ([1], 0)


async def test_what_was_looked_at_is_nobody_elses(session: AsyncSession) -> None:
    area = opsets.StagingArea([float32])
    x = ops.placeholder(float32, [2])
    given = np.ones(2, np.float32)
    await session.run(area.put([x]), {x: given})
    given[:] = 5.0
    (seen,) = await session.run(area.peek(0))
    seen[:] = 7.0
    assert (await session.run(area.get()))[0].tolist() == [1.0, 1.0]


async def test_areas_of_one_shared_name_are_one(session: AsyncSession) -> None:
    one, other = [opsets.StagingArea([float32], shared_name="s") for _ in range(2)]
    await session.run(one.put(1.0))
    assert await session.run(other.get()) == [1.0]
    with pytest.raises(InvalidArgumentError, match=r"capacity 0 .* asked for as .* capacity 1"):
        await session.run(opsets.StagingArea([float32], shared_name="s", capacity=1).size())


async def test_an_element_of_other_types_stays(session: AsyncSession) -> None:
    area = opsets.StagingArea([float32, int32])
    await session.run(area.put([1.0]))
    await refused_later(session.run(area.get()), InvalidArgumentError, r"Mismatch stage/unstage: 1 vs\. 2")
    other = opsets.StagingArea([int32], shared_name=area.name)
    await refused_later(session.run(other.get()), InvalidArgumentError, "value 0 is float32, int32 was asked for")
    await refused_later(session.run(area.peek(-1)), InvalidArgumentError, "index is at least 0, got -1")
    assert await session.run(area.size()) == 1


async def test_elements_with_names_are_dictionaries(session: AsyncSession) -> None:
    area = opsets.StagingArea([float32, int32], names=["x", "y"])
    await session.run(area.put({"y": 2, "x": 1.0}))
    assert await session.run(area.get()) == {"x": 1.0, "y": 2}
    refused(lambda: area.put({"z": 1.0}), ValueError, "do not match names")
    refused(lambda: area.put([1.0, 2]), ValueError, "must enqueue a dictionary")


def test_nodes_are_called_after_the_area_and_lie_where_it_is(graph: Graph) -> None:
    with graph.device("/cpu:1"):
        area = opsets.StagingArea([float32, int32], shapes=[[], [None]], capacity=3, memory_limit=99)
    put, (number, vector) = area.put([1.0, [2]]), area.get()
    assert (area.name, put.name, number.op.name) == ("StagingArea", "StagingArea_put", "StagingArea_get")
    assert [t.shape.as_list() for t in (number, vector)] == [[], [None]]
    assert put.device == number.op.device == area.size().op.device
    assert put.device.lower().endswith("cpu:1")
    assert (area.dtypes, area.names, area.capacity, area.memory_limit) == ([float32, int32], None, 3, 99)
    assert opsets.StagingArea([float32]).name == "StagingArea_1"


def test_what_does_not_fit_is_refused_by_the_line_that_builds(graph: Graph) -> None:
    area = opsets.StagingArea([float32, int32], shapes=[[], [None]])
    refused(lambda: area.put([ops.constant(1), [1]]), ValueError, "Datatypes do not match")
    refused(lambda: area.put([[1.0], [1]]), ValueError, "incompatible")
    refused(lambda: area.put([1.0, [1], 1.0]), ValueError, "Unexpected number of inputs 3 vs 2")
    refused(lambda: area.put({"x": 1.0}), ValueError, "must have names")
    refused(lambda: opsets.StagingArea([float32], shapes=[]), ValueError, "shapes must be the same length")
    refused(lambda: opsets.StagingArea([float32], names=["a", "b"]), ValueError, "names must be the same length")
    refused(lambda: opsets.StagingArea([float32], shared_name=3), ValueError, "shared_name must be a string")  # type: ignore[arg-type] # what is tested


def test_an_attempt_is_done_in_the_thread_that_makes_it_possible() -> None:
    area = StageState("StagingArea 'a'", Limits(1, 0))
    first, second = area.get([int32]), area.get([int32])
    assert not first.done()
    area.put((np.int32(1),))
    assert (first.result(timeout=0), second.done()) == (1, False)
    area.clear()
    assert second.exception(timeout=0) is not None


# -- by key ----------------------------------------------------------------------------------------


async def test_an_element_is_there_once_all_its_values_are(session: AsyncSession, area: opsets.MapStagingArea) -> None:
    await session.run(area.put(3, [[7]], [1]))
    assert await sizes(session, area) == [0, 1]
    take = await held(session, area.get(3)[1])
    await session.run(area.put(3, [1.0], [0]))
    number, vector = await soon(take)
    assert (number, vector.tolist(), await sizes(session, area)) == (1.0, [7], [0, 0])


async def test_values_are_taken_one_by_one(session: AsyncSession, area: opsets.MapStagingArea) -> None:
    await session.run(whole(area, 1))
    assert [v.tolist() for v in await session.run(area.get(1, [1])[1])] == [[1]]
    assert await sizes(session, area) == [1, 0]
    for again in (area.get(1, [1])[1], area.peek(1)):
        await refused_later(session.run(again), InvalidArgumentError, "'1' for key '1' has already been removed")
    assert (await session.run(area.peek(1, [0])), await session.run(area.get(1, [0])[1])) == ([1.0], [1.0])
    assert await sizes(session, area) == [0, 0]


async def test_without_a_key_some_element_is_taken(session: AsyncSession) -> None:
    for ordered, wanted in ((True, [1, 3]), (False, [3, 1])):
        area = opsets.MapStagingArea([float32], ordered=ordered)
        for key in (3, 1):
            await session.run(area.put(key, [float(key)], [0]))
        found = [await session.run(area.get()) for _ in range(2)]
        assert found == [(key, [float(key)]) for key in wanted]


def test_an_element_that_goes_back_is_the_oldest_again() -> None:
    area = MapState("the area", Limits(0, 0), ordered=False)
    for key in (3, 1, 2):
        area.put(key, [0], (np.float32(key),), 1)
    take = area.get_any([0], [float32])
    assert take.result()[0] == 3
    take.put_back()
    assert [area.get_any([0], [float32]).result()[0] for _ in range(3)] == [3, 1, 2]


async def test_an_element_whose_key_is_there_is_dropped(session: AsyncSession, area: opsets.MapStagingArea) -> None:
    await session.run(whole(area, 5, 1.0))
    await session.run(whole(area, 5, 2.0))
    assert (await session.run(area.peek(5, [0])), await sizes(session, area)) == ([1.0], [1, 0])


def test_an_element_that_is_dropped_takes_no_memory() -> None:
    area = MapState("the area", Limits(0, 8), ordered=False)
    for key in (1, 1, 2):
        assert area.put(key, [0], (np.float32(key),), 1).done()
    assert area.size == 2


async def test_only_whole_elements_wait_for_room(session: AsyncSession, area: opsets.MapStagingArea) -> None:
    full = [whole(area, key) for key in (1, 2)]
    third, parts = whole(area, 3), [area.put(4, [2.0], [0]), area.put(4, [[4]], [1])]
    counts, takes = [area.size(), area.incomplete_size()], [area.get(k)[1] for k in (1, 2)]
    await session.run(full)
    put = await held(session, third)
    for part in parts:
        await session.run(part)
    assert await session.run(counts) == [3, 0]
    await session.run(takes)
    await soon(put)
    assert await session.run(counts) == [2, 0]
    await session.run(area.clear())
    assert await session.run(counts) == [0, 0]


async def test_values_of_elements_that_are_begun_take_memory(session: AsyncSession) -> None:
    area = opsets.MapStagingArea([float32, float32], memory_limit=12)
    await session.run(area.put(1, [[1.0, 2.0]], [0]))
    put = await held(session, area.put(2, [[1.0, 2.0]], [0]))
    await session.run(area.put(1, [[1.0]], [1]))
    await session.run(area.get(1)[1])
    await soon(put)
    await refused_later(session.run(area.put(3, [[1.0] * 4], [0])), ResourceExhaustedError, "'16' bytes")


async def test_indices_that_do_not_fit_are_refused(session: AsyncSession, area: opsets.MapStagingArea) -> None:
    for put in (area.put(1, [[2], 2.0], [1, 0]), area.put(1, [2.0, 2.0], [0, 0])):
        await refused_later(session.run(put), InvalidArgumentError, "not strictly ordered")
    await session.run(area.put(1, [2.0], [0]))
    await refused_later(session.run(whole(area, 1)), InvalidArgumentError, "'0' for key '1' was already initialized")
    assert await sizes(session, area) == [0, 1]
    await session.run(whole(area, 2))
    await refused_later(session.run(area.get(2, [1, 0])[1]), InvalidArgumentError, "not strictly ordered")
    refused(lambda: area.get(2, []), ValueError, "Empty indices")
    refused(lambda: area.get(2, ["x"]), ValueError, "not created with names")
    refused(lambda: area.get(2, ["x", 1]), TypeError, "Mixed types")
    refused(lambda: area.get(2, 1), TypeError, "a list of numbers or names")
    refused(lambda: area.put(1, [1.0, [1]]), ValueError, "Indices must be supplied")


async def test_named_values_come_and_go_by_name(session: AsyncSession) -> None:
    area = opsets.MapStagingArea([float32, int32], names=["x", "y"])
    await session.run(area.put(1, {"y": 2}))
    await session.run(area.put(1, {"x": 3.0}))
    assert await session.run(area.get(1, ["y"])[1]) == {"y": 2}
    assert await session.run(area.get(indices=["x"])) == (1, {"x": 3.0})
    refused(lambda: area.get(1, ["z"]), ValueError, "not among the names")


async def test_who_waits_for_a_key_and_ends_early_takes_nothing(
    session: AsyncSession, area: opsets.MapStagingArea
) -> None:
    take = await held(session, area.get(9)[1])
    take.cancel()
    await asyncio.wait([take])
    await session.run(whole(area, 9))
    assert await sizes(session, area) == [1, 0]
