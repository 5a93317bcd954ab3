"""Options that say which devices a session has, and how nodes are placed on them."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest

from actorsession import AsyncSession, ConfigProto, Graph, GraphOptions, Session, ops
from actorsession.errors import InvalidArgumentError
from tests.rows import for_each

DEVICE = "/job:localhost/replica:0/task:0/device:CPU:{}"
NOWHERE = "/job:nowhere/task:3"
Make = Callable[..., Any]


# -- devices ---------------------------------------------------------------------------------------


def devices_of(session: Any) -> list[str]:
    return [d.name for d in session.session._session.list_devices()]


@for_each(
    "filters, seen",
    [
        ([], [0, 1, 2]),
        (["/job:localhost"], [0, 1, 2]),
        (["/device:CPU:2"], [0, 2]),
        (["/cpu:1", "/cpu:2"], [0, 1, 2]),
        (["/job:ps", "/job:worker/task:1"], [0]),
    ],
)
async def test_a_session_sees_the_devices_that_its_filters_allow_and_its_client_device(
    filters: list[str], seen: list[int], make_session: Make, graph: Graph
) -> None:
    session = make_session(ConfigProto(device_count={"CPU": 3}, device_filters=filters))
    assert devices_of(session) == [DEVICE.format(i) for i in seen]


async def test_an_op_cannot_be_placed_on_a_device_that_is_filtered_out(make_session: Make, graph: Graph) -> None:
    with graph.device("/cpu:1"):
        y = ops.constant(1.0) + 1.0
    session = make_session(ConfigProto(device_count={"CPU": 2}, device_filters=["/cpu:0"]))
    with pytest.raises(InvalidArgumentError, match=r"device:CPU:1, which does not exist"):
        await session.run(y)


@pytest.mark.parametrize("kind", [AsyncSession, Session])
def test_a_malformed_filter_is_an_invalid_argument(kind: Any, graph: Graph) -> None:
    with pytest.raises(InvalidArgumentError, match=r"invalid device filter: .*'nonsense::'"):
        kind(graph=graph, config=ConfigProto(device_filters=["nonsense::"]))


# -- placement -------------------------------------------------------------------------------------


async def test_soft_placement_takes_what_exists_of_type_and_number_but_keeps_the_task(
    make_session: Make, graph: Graph
) -> None:
    with graph.device("/device:GPU:7"):
        y = ops.constant(1.0) + 1.0
    with pytest.raises(InvalidArgumentError, match="GPU:7"):
        await make_session().run(y)
    soft = ConfigProto(allow_soft_placement=True)
    assert await make_session(soft).run(y) == 2.0
    with graph.device(NOWHERE):
        z = y + 1.0
    with pytest.raises(InvalidArgumentError, match="/job:nowhere"):
        await make_session(soft).run(z)


async def test_log_device_placement_logs_the_devices_and_a_line_for_each_node(
    make_session: Make, graph: Graph, caplog: pytest.LogCaptureFixture
) -> None:
    a = ops.constant(1.0, name="a")
    with graph.device("/cpu:1"):
        ops.add(a, a, name="b")
    with caplog.at_level(logging.INFO, "actorsession.session"):
        session = make_session(ConfigProto(device_count={"CPU": 2}, log_device_placement=True))
        await session.run("b:0")
    mapping, *lines = [r.message for r in caplog.records if r.name == "actorsession.session.placement"]
    first, *devices = mapping.splitlines()
    assert first == "Device mapping:"
    assert [d.partition(" -> ")[0] for d in devices] == [DEVICE.format(0), DEVICE.format(1)]
    assert all("device type: CPU" in d for d in devices)
    assert lines == [
        f"a: (Const): {DEVICE.format(1)} (no device requested: placed with its consumer)",
        f"b: (AddV2): {DEVICE.format(1)} (requested /device:CPU:1)",
    ]


async def test_without_log_device_placement_nothing_is_logged(
    make_session: Make, graph: Graph, caplog: pytest.LogCaptureFixture
) -> None:
    y = ops.constant(1.0) + 1.0
    with caplog.at_level(logging.INFO, "actorsession.session"):
        await make_session().run(y)
    assert caplog.records == []


def pruned(**settings: Any) -> ConfigProto:
    return ConfigProto(device_count={"CPU": 2}, graph_options=GraphOptions(place_pruned_graph=True), **settings)


async def test_place_pruned_graph_forgives_a_bad_device_on_a_node_that_is_not_needed(
    make_session: Make, graph: Graph
) -> None:
    y = ops.constant(1.0) + 1.0
    with graph.device(NOWHERE):
        z = y + 1.0
    session = make_session(pruned())
    assert await session.run(y) == 2.0
    with pytest.raises(InvalidArgumentError, match="/job:nowhere"):
        await session.run(z)
    assert await session.run(y) == 2.0
    with pytest.raises(InvalidArgumentError, match="/job:nowhere"):
        await make_session().run(y)


async def test_under_place_pruned_graph_state_stays_where_it_was_placed_first(make_session: Make, graph: Graph) -> None:
    """1. The first run needs the variable and no reader: it goes to the client device.
    2. A later run reads it under another device: the reader goes where the state is.
    3. The graph grows by a node that must be with the variable: it goes there as well."""
    v = ops.Variable(3.0, name="v")
    with graph.device("/cpu:1"):
        read = v.read_value()
    session = make_session(pruned())
    await session.run(v.initializer)
    assert await session.run(read) == 3.0
    with graph.colocate_with(v.op):
        tied = ops.identity(read, name="tied")
    assert await session.run(tied) == 3.0
    placed = session.session._session.placement()
    assert {placed[n].device for n in ("v", read.op.name, "tied")} == {DEVICE.format(0)}


async def test_under_place_pruned_graph_each_run_places_what_has_no_state_anew(
    make_session: Make, graph: Graph
) -> None:
    """1. Alone, ``a`` goes to the client device. 2. With ``c``, which must be where ``a`` is and asks
    for the other device, both go there."""
    a = ops.add(ops.constant(1.0), 1.0, name="a")
    with graph.colocate_with(a.op), graph.device("/cpu:1"):
        c = ops.identity(a, name="c")
    session = make_session(pruned())
    assert await session.run(a) == 2.0
    assert session.session._session.placement()["a"].device == DEVICE.format(0)
    assert await session.run(c) == 2.0
    placed = session.session._session.placement()
    assert placed["a"].device == placed["c"].device == DEVICE.format(1)
