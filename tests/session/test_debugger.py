"""Debugged runs of local sessions, in both faces: what is watched, and that watching changes nothing."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import actorsession as acts
from actorsession import ConfigProto, Graph, GraphOptions, RunMetadata, RunOptions, Session, TraceLevel, ops
from actorsession.config import DebugOptions, DebugTensorWatch
from actorsession.errors import InvalidArgumentError
from tests.property.recipes import Recipe, recipes
from tests.session.debugger_kit import seen, watch, watch_all

CPU = "/job:localhost/replica:0/task:0/device:CPU:{}".format
MakeSession = Callable[..., Any]


# -- what is watched -------------------------------------------------------------------------------


async def test_a_watched_tensor_is_dumped_with_all_that_is_known_of_it(session: Any, log_of: Any) -> None:
    x, z = log_of
    options = watch("y", global_step=7)
    assert (await session.run(z, {x: [0.0]}, options)).tolist() == [0.0]
    (dump,) = session.session.debug_dumps()
    assert (dump.node_name, dump.output_slot, dump.op_type) == ("y", 0, "AddV2")
    assert (dump.device_name, dump.debug_op) == (CPU(0), "DebugIdentity")
    assert (dump.tensor_name, dump.watch_key) == ("y:0", "y:0:DebugIdentity")
    assert (dump.global_step, dump.session_run_index, dump.executor_step_index) == (7, 0, 0)
    assert dump.value.tolist() == [1.0]
    assert dump.value.dtype == np.float32
    assert dump.timestamp > 1.5e9


async def test_all_nodes_are_watched_feeds_and_constants_included(session: Any, log_of: Any) -> None:
    x, z = log_of
    await session.run(z, {x: [0.0, 1.0]}, watch_all())
    assert list(seen(session)) == [f"{t}:0:DebugIdentity" for t in ("x", "y/y", "y", "z")]


async def test_all_outputs_of_a_node_or_one_of_them_are_watched(session: Any, graph: Graph) -> None:
    parts = ops.split(ops.placeholder("float32", [3], name="x"), 3, name="parts")
    feeds = {"x:0": [1.0, 2.0, 3.0]}
    await session.run(parts[0], feeds, watch("parts", slot=-1))
    assert seen(session) == {f"parts:{i}:DebugIdentity": [i + 1] for i in range(3)}
    session.session.clear_debug_dumps()
    await session.run(parts[0], feeds, watch("parts", slot=2))
    assert seen(session) == {"parts:2:DebugIdentity": [3.0]}


async def test_several_debug_ops_look_at_one_tensor(session: Any, log_of: Any) -> None:
    x, z = log_of
    summary = "DebugNumericSummary(upper_bound=10.0)"
    await session.run(z, {x: [1.0, -1.0, -5.0]}, watch("z", debug_ops=["DebugNanCount", summary]))
    counts, numbers = (d.value for d in session.session.debug_dumps())
    assert counts.tolist() == [1]
    assert numbers[1:8].tolist() == [3, 1, 1, 0, 0, 1, 0]
    assert [d.debug_op for d in session.session.debug_dumps()] == ["DebugNanCount", "DebugNumericSummary"]


async def test_what_constant_folding_would_take_away_is_watched(make_session: MakeSession, graph: Graph) -> None:
    session = make_session(ConfigProto(graph_options=GraphOptions()))
    x = ops.placeholder("float32", [], name="x")
    two = ops.add(ops.constant(1.0), 1.0, name="two")
    y = x * ops.identity(two, name="again")
    assert await session.run(y, {x: 3.0}) == 6.0
    assert await session.run(y, {x: 3.0}, watch("two", "again")) == 6.0
    assert seen(session) == {"two:0:DebugIdentity": 2.0, "again:0:DebugIdentity": 2.0}


async def test_a_fed_tensor_is_seen_as_it_was_fed(session: Any, log_of: Any) -> None:
    _, z = log_of
    await session.run(z, {"y:0": [1.0]}, watch("y", "x"))
    assert seen(session) == {"y:0:DebugIdentity": [1.0]}
    assert session.session.debug_reports()[0].not_run == ("x:0",)


async def test_an_output_that_is_fed_hides_the_one_that_its_node_makes(session: Any, graph: Graph) -> None:
    parts = ops.split(ops.constant([1.0, 2.0]), 2, name="parts")
    options = watch("parts", slot=-1)
    found = await session.run(parts[0] + parts[1], {parts[0]: [5.0]}, options)
    assert found.tolist() == [7.0]
    dumps = [(d.tensor_name, d.value.tolist()) for d in session.session.debug_dumps()]
    assert sorted(dumps) == [("parts:0", [5.0]), ("parts:1", [2.0])]


async def test_what_several_devices_read_is_dumped_once(make_session: MakeSession, graph: Graph) -> None:
    session = make_session(ConfigProto(device_count={"CPU": 2}))
    x = ops.placeholder("float32", [], name="x")
    two = ops.constant(2.0, name="two")
    ends = []
    for number in range(2):
        with graph.device(f"/cpu:{number}"):
            ends.append(ops.multiply(x, two, name=f"end{number}"))
    assert await session.run(ends, {x: 3.0}, watch_all()) == [6.0, 6.0]
    assert sorted(d.node_name for d in session.session.debug_dumps()) == ["end0", "end1", "two", "x"]


async def test_strings_and_odd_types_are_kept_as_they_are(session: Any, graph: Graph) -> None:
    for name, value in (("s", [b"a\x00", b""]), ("c", [1j]), ("i", [2**40]), ("b", [True])):
        ops.identity(ops.constant(np.array(value, object if name == "s" else None)), name=name)
    half = ops.cast(ops.constant([0.5]), "bfloat16", name="h")
    await session.run(["s:0", "c:0", "i:0", "b:0", half], None, watch("s", "c", "i", "b", "h"))
    values = {d.node_name: d.value for d in session.session.debug_dumps()}
    assert {n: v.tolist() for n, v in values.items()} == {
        "s": [b"a\x00", b""],
        "c": [1j],
        "i": [2**40],
        "b": [True],
        "h": [0.5],
    }
    assert values["h"].dtype.name == "bfloat16"


async def test_each_device_shows_its_own_nodes(make_session: MakeSession, graph: Graph) -> None:
    session = make_session(ConfigProto(device_count={"CPU": 2}))
    x = ops.placeholder("float32", [], name="x")
    with graph.device("/cpu:0"):
        y = ops.add(x, 1.0, name="y")
    with graph.device("/cpu:1"):
        z = ops.multiply(y, y, name="z")
    assert await session.run(z, {x: 2.0}, watch("y", "z")) == 9.0
    where = {d.node_name: d.device_name for d in session.session.debug_dumps()}
    assert where == {"y": CPU(0), "z": CPU(1)}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (watch("yy"), "the graph has no node 'yy' to watch; did you mean y"),
        (watch("y:0"), "write node_name='y', output_slot=0"),
        (watch("z", slot=1), r"node 'z' \(Log\) has no output 1 to watch; its outputs are 0, and -1"),
        (watch("v", slot=-1), "has no output to watch; it gives a resource"),
        (watch("nothing"), "it has no outputs"),
        (watch("z", debug_ops=["DebugFoo"]), "there is no debug op 'DebugFoo'; there are DebugIdentity"),
        (watch("z", debug_urls=["s3://b"]), "'s3://b' has no scheme that is known: use memory://"),
        (watch("c", debug_ops=["DebugNumericSummary"]), "does not go with 'c:0' of type complex64"),
    ],
    ids=["node", "tensor", "slot", "resource", "no outputs", "op", "url", "type"],
)
async def test_what_cannot_be_watched_is_refused_before_the_step_runs(
    session: Any, graph: Graph, log_of: Any, options: RunOptions, said: str
) -> None:
    x, z = log_of
    v = ops.Variable(np.float32(0), name="v")
    c = ops.identity(ops.constant([1j], "complex64"), name="c")
    ops.no_op(name="nothing")
    count = v.assign_add(1.0)
    await session.run(v.initializer)
    with pytest.raises(InvalidArgumentError, match=said):
        await session.run([z, c, count], {x: [0.0]}, options)
    assert await session.run(v) == 0.0
    assert session.session.debug_reports() == []


async def test_an_op_that_cannot_be_made_is_left_out_where_that_is_tolerated(
    session: Any, graph: Graph, caplog: pytest.LogCaptureFixture
) -> None:
    c = ops.identity(ops.constant([1j], "complex64"), name="c")
    options = watch(
        "c", debug_ops=["DebugNumericSummary", "DebugFoo", "DebugNanCount"], tolerate_debug_op_creation_failures=True
    )
    with caplog.at_level(logging.WARNING, "actorsession.debugger"):
        await session.run(c, None, options)
    assert "leaves out 2 watches" in caplog.text
    assert list(seen(session)) == ["c:0:DebugNanCount"]
    foo, summary = session.session.debug_reports()[0].refused
    assert "DebugFoo" in foo
    assert "does not go with 'c:0' of type complex64" in summary


# -- watching changes nothing ----------------------------------------------------------------------


async def test_a_later_update_in_place_does_not_reach_what_was_dumped(session: Any, graph: Graph) -> None:
    v = ops.Variable(np.zeros(1000, np.float32), name="v")
    read = v.value()
    grown = v.assign_add(np.ones(1000, np.float32))
    await session.run(v.initializer)
    await session.run(read, None, watch(read.op.name))
    for _ in range(3):
        await session.run(grown)
    (dump,) = session.session.debug_dumps()
    assert dump.value.sum() == 0
    with pytest.raises(ValueError, match="read-only"):
        dump.value[0] = 1


async def test_fetched_arrays_stay_the_callers_own(session: Any, log_of: Any) -> None:
    x, z = log_of
    first = await session.run(z, {x: [0.0, 0.0]}, watch_all())
    first[:] = 9
    assert (await session.run(z, {x: [0.0, 0.0]}, watch_all())).tolist() == [0, 0]
    assert [d.value.tolist() for d in session.session.debug_dumps() if d.node_name == "z"] == [[0, 0], [0, 0]]


async def test_random_ops_draw_the_same_whether_watched_or_not(graph: Graph) -> None:
    drawn = ops.random_uniform([3], seed=1, name="r")
    draws = []
    for options in (None, watch_all()):
        with Session(graph=graph) as session:
            run = partial(session.run, drawn, None, options)
            draws.append([(await asyncio.to_thread(run)).tolist() for _ in range(3)])
    assert draws[0] == draws[1]


@settings(max_examples=30)
@given(recipe=recipes())
def test_random_graphs_give_the_same_bits_when_everything_is_watched(recipe: Recipe) -> None:
    graph = Graph()
    placeholders, tensors = recipe.build(graph, lambda place: graph.device(f"/cpu:{place}"))
    feeds = dict(zip(placeholders, recipe.fed(), strict=True))
    with Session(graph=graph, config=ConfigProto(device_count={"CPU": 3})) as session:
        plain = session.run(tensors, feeds)
        watched = session.run(tensors, feeds, watch_all())
        dumps = {d.tensor_name: d.value for d in session.debug_dumps()}
    for tensor, one, other in zip(tensors, plain, watched, strict=True):
        assert one.tobytes() == other.tobytes() == dumps[tensor.name].tobytes()


# -- beside other things ---------------------------------------------------------------------------


async def test_a_debugged_run_may_be_traced_and_reports_its_graphs(session: Any, log_of: Any) -> None:
    x, z = log_of
    options = RunOptions(
        trace_level=TraceLevel.FULL_TRACE,
        output_partition_graphs=True,
        debug_options=DebugOptions(debug_tensor_watch_opts=[DebugTensorWatch(node_name="z")]),
    )
    metadata = RunMetadata()
    assert (await session.run(z, {x: [0.0]}, options, metadata)).tolist() == [0.0]
    assert metadata.step_stats is not None
    assert seen(session) == {"z:0:DebugIdentity": [0.0]}


async def test_what_runs_left_can_be_read_after_the_session_was_closed(session: Any, log_of: Any) -> None:
    x, z = log_of
    await session.run(z, {x: [0.0]}, watch("z"))
    await session.close()
    assert seen(session) == {"z:0:DebugIdentity": [0.0]}


async def test_a_sink_may_run_the_session_itself(graph: Graph) -> None:
    y = ops.identity(ops.constant(0.0), name="y")
    z = ops.exp(y, name="z")
    outer: list[str] = []
    with Session(graph=graph) as session:

        def ask(dump: acts.debugging.DebugDump) -> None:
            outer.append(dump.node_name)
            assert session.run(z, None, watch("y")) == 1.0

        acts.debugging.register_debug_sink("ask", ask)
        try:
            options = watch("y", "z", debug_urls=["sink://ask"])
            await asyncio.to_thread(session.run, z, None, options)
        finally:
            acts.debugging.unregister_debug_sink("ask")
        assert outer == ["y", "z"]
        assert [d.session_run_index for d in session.debug_dumps()] == [1, 2]
        assert [r.failures for r in session.debug_reports()] == [0, 0, 0]
