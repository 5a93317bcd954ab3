"""Debugged runs of local sessions, in both faces: what is watched, and that watching changes nothing."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import stat
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import actorsession as acts
from actorsession import (
    AsyncSession,
    ConfigProto,
    Graph,
    GraphOptions,
    RunMetadata,
    RunOptions,
    Session,
    TraceLevel,
    nn,
    ops,
)
from actorsession.config import DebugOptions
from actorsession.errors import DeadlineExceededError, InvalidArgumentError, OpError
from actorsession.extend import RunSignature
from actorsession.observe.debug import DebugDumpDir
from actorsession.runtime.debug.debugger import LocalDebugRun
from actorsession.runtime.debug.dump import ENTRY_BYTES
from actorsession.testing.strategies import Recipe, graphs
from tests.actors.kit import eventually
from tests.default_device import HERE
from tests.session.debugger_kit import BREAK, debug_sink, hearing, registered, seen, watch, watch_all
from tests.session.partial_kit import Stages

CPU = "/job:localhost/replica:0/task:0/device:CPU:{}".format
TWO = ConfigProto(device_count={"CPU": 2})
MakeSession = Callable[..., Any]


# -- what is watched -------------------------------------------------------------------------------
async def test_a_watched_tensor_is_dumped_with_all_that_is_known_of_it(session: Any, log_of: Any) -> None:
    x, z = log_of
    assert (await session.run(z, {x: [0.0]}, watch("y", global_step=7))).tolist() == [0.0]
    (dump,) = session.session.debug_dumps()
    assert (dump.node_name, dump.output_slot, dump.op_type) == ("y", 0, "AddV2")
    assert (dump.device_name, dump.debug_op) == (HERE, "DebugIdentity")
    assert (dump.tensor_name, dump.watch_key) == ("y:0", "y:0:DebugIdentity")
    assert (dump.global_step, dump.session_run_index, dump.executor_step_index) == (7, 0, 0)
    assert (dump.value.tolist(), dump.value.dtype) == ([1.0], np.float32)
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


async def test_each_device_shows_its_own_nodes_and_what_several_read_is_dumped_once(
    make_session: MakeSession, graph: Graph
) -> None:
    session = make_session(TWO)
    x = ops.placeholder("float32", [], name="x")
    two = ops.constant(2.0, name="two")
    ends = []
    for number in range(2):
        with graph.device(f"/cpu:{number}"):
            ends.append(ops.multiply(x, two, name=f"end{number}"))
    assert await session.run(ends, {x: 3.0}, watch_all()) == [6.0, 6.0]
    devices = {d.node_name: d.device_name for d in session.session.debug_dumps()}
    assert sorted(d.node_name for d in session.session.debug_dumps()) == ["end0", "end1", "two", "x"]
    assert (devices["end0"], devices["end1"]) == (CPU(0), CPU(1))


async def test_strings_and_odd_types_are_kept_as_they_are(session: Any, graph: Graph) -> None:
    values: dict[str, list[Any]] = {"s": [b"a\x00", b""], "c": [1j], "i": [2**40], "b": [True], "h": [0.5]}
    for name in "scib":
        ops.identity(ops.constant(np.array(values[name], object if name == "s" else None)), name=name)
    half = ops.cast(ops.constant([0.5]), "bfloat16", name="h")
    await session.run(["s:0", "c:0", "i:0", "b:0", half], None, watch(*values))
    found = {d.node_name: d.value for d in session.session.debug_dumps()}
    assert {n: v.tolist() for n, v in found.items()} == values
    assert found["h"].dtype.name == "bfloat16"


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
@given(recipe=graphs())
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
    options = replace(watch("z"), trace_level=TraceLevel.FULL_TRACE, output_partition_graphs=True)
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

        with debug_sink("ask", ask) as url:
            await asyncio.to_thread(session.run, z, None, watch("y", "z", debug_urls=[url]))
        assert outer == ["y", "z"]
        assert [d.session_run_index for d in session.debug_dumps()] == [1, 2]
        assert [r.failures for r in session.debug_reports()] == [0, 0, 0]


async def test_the_step_breaks_at_the_first_node_that_makes_one_and_a_healthy_one_does_not(
    session: Any, log_of: Any
) -> None:
    x, z = log_of
    after = ops.exp(z, name="after")
    with pytest.raises(InvalidArgumentError) as raised:
        await session.run(after, {x: [1.0, -1.0, -5.0]}, BREAK)
    error = raised.value
    assert (error.node, error.device) == ("z", HERE)
    assert "conftest.py:" in (error.source or "")  # where log_of builds it
    assert "'z' (Log) made a NaN or Inf: z:0 (float32[3]) has 1 NaN and 1 Inf of 3" in str(error)
    assert "inputs: y:0 (float32[3]) min -4.0, max 2.0" in str(error)
    assert session.session.debug_reports()[0].error == str(error)
    assert (await session.run(z, {x: [0.0]}, BREAK)).tolist() == [0.0]


async def test_the_value_that_breaks_the_step_was_dumped(session: Any, log_of: Any) -> None:
    x, z = log_of
    with pytest.raises(InvalidArgumentError, match="made a NaN or Inf"):
        await session.run(z, {x: [-1.0]}, watch("y", "z", break_on="nan_or_inf"))
    assert seen(session) == {"y:0:DebugIdentity": [0.0], "z:0:DebugIdentity": [-np.inf]}


async def test_what_only_passes_on_is_not_blamed(session: Any, log_of: Any) -> None:
    """With the logarithm excused, what reads its infinity is not at fault; a new NaN is."""
    x, z = log_of
    passed = ops.identity(z, name="passed")
    made = ops.subtract(passed, z, name="made")  # inf - inf
    excused = RunOptions(debug_options=DebugOptions(break_on="nan_or_inf", break_exclude=["z", "q*"]))
    assert (await session.run(passed, {x: [-1.0]}, excused)).tolist() == [-np.inf]
    with pytest.raises(InvalidArgumentError, match=r"'made' \(Sub\) made a NaN"):
        await session.run(made, {x: [-1.0]}, excused)


async def test_a_nan_that_was_fed_is_told_as_such_and_passes_through_on_purpose(session: Any, log_of: Any) -> None:
    x, z = log_of
    with pytest.raises(InvalidArgumentError, match="a NaN or Inf was fed: x:0") as raised:
        await session.run(z, {x: [np.nan]}, BREAK)
    assert raised.value.node == "x"
    excused = RunOptions(debug_options=DebugOptions(break_on="nan_or_inf", break_exclude=["x"]))
    assert np.isnan(await session.run(z, {x: [np.nan]}, excused)).all()


async def test_an_infinite_constant_is_what_the_program_says(session: Any, graph: Graph) -> None:
    mask = ops.constant([-np.inf, 0.0])
    x = ops.placeholder("float32", [2], name="x")
    y = nn.softmax(x + mask)
    assert (await session.run(y, {x: [1.0, 1.0]}, BREAK)).tolist() == [0.0, 1.0]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64"])
async def test_every_type_that_has_nans_breaks(session: Any, graph: Graph, dtype: str) -> None:
    x = ops.placeholder("float64", [2], name="x")
    y = ops.cast(x, dtype, name="y")
    z = ops.multiply(y, y * ops.cast(0.5, dtype), name="z")
    with pytest.raises(InvalidArgumentError, match=f"'y' .* y:0 .{dtype}.*1 Inf of 2|'z' .*Inf"):
        await session.run(z, {x: [1.0, 1e308]}, BREAK)


async def test_a_break_on_another_device_names_it_and_the_tensor_that_came_there(
    make_session: MakeSession, graph: Graph
) -> None:
    session = make_session(TWO)
    x = ops.placeholder("float32", [1], name="x")
    with graph.device("/cpu:0"):
        y = ops.add(x, 1.0, name="y")
    with graph.device("/cpu:1"):
        z = ops.log(y, name="z")
    with graph.device("/cpu:0"):
        w = ops.exp(z, name="w")
    with pytest.raises(InvalidArgumentError, match=r"inputs: y:0 \(float32\[1\]\) min 0.0") as e:
        await session.run(w, {x: [-1.0]}, BREAK)
    assert (e.value.node, e.value.device) == ("z", CPU(1))


async def test_inside_a_loop_the_node_of_the_body_is_named(session: Any, graph: Graph) -> None:
    """The logarithm of the logarithm of 1: the second iteration makes the infinity."""
    x = ops.placeholder("float32", [], name="x")
    _, last = ops.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, ops.log(v, name="log")), [ops.constant(0), x])
    with pytest.raises(InvalidArgumentError, match=r"'while/log' \(Log\) made.* min 0.0") as raised:
        await session.run(last + 1.0, {x: 1.0}, BREAK)
    assert raised.value.node == "while/log"
    assert "test_debugger.py" in str(raised.value)
    assert await session.run(last, {x: 1.0}) != 0  # without the break it runs to its end


async def test_a_watch_inside_a_loop_is_refused_with_what_can_be_watched(session: Any, graph: Graph) -> None:
    y = ops.while_loop(lambda v: v < 9.0, lambda v: ops.add(v, 1.0, name="add"), [ops.constant(0.0)])
    with pytest.raises(InvalidArgumentError, match=r"'while/add' is inside 'while' \(While\).*itself"):
        await session.run(y, None, watch("while/add"))
    await session.run(y, None, watch("while"))
    assert seen(session) == {"while:0:DebugIdentity": 9.0}


async def test_inside_branches_and_nested_loops_the_innermost_node_is_named(session: Any, graph: Graph) -> None:
    x = ops.placeholder("float32", [2], name="x")

    def body(i: Any, v: Any) -> Any:
        deep = ops.cond(i > 1, lambda: ops.sqrt(v - 5.0, name="root"), lambda: ops.identity(v) + 1.0, name="if")
        return i + 1, deep

    _, last = ops.while_loop(lambda i, v: i < 4, body, [ops.constant(0), x], name="outer")
    with pytest.raises(InvalidArgumentError, match=r"\(Sqrt\) made.*inputs: .*sub:0") as raised:
        await session.run(last, {x: [1.0, 9.0]}, BREAK)
    assert raised.value.node == "outer/if/root"
    excused = DebugOptions(break_on="nan_or_inf", break_exclude=["*/root"])
    found = await session.run(last * 1.0, {x: [1.0, 9.0]}, RunOptions(debug_options=excused))
    assert np.isnan(found[0])
    assert (await session.run(last, {x: [100.0, 100.0]}, BREAK) > 0).all()


async def test_checks_inside_a_loop_change_no_value(session: Any, graph: Graph) -> None:
    """A variable that nothing reads is dropped from the loop as without checks."""
    x = ops.placeholder("float32", [3], name="x")
    start = [ops.constant(0), x, x]
    i, v, _ = ops.while_loop(lambda i, v, unread: i < 5, lambda i, v, unread: (i + 1, v * 1.5 + x, unread / 0.0), start)
    fed = {x: [1.0, 2.0, 3.0]}
    plain = await session.run([i, v], fed)
    checked = await session.run([i, v], fed, BREAK)
    assert checked[0] == plain[0] == 5
    np.testing.assert_array_equal(checked[1], plain[1])


async def test_what_was_assigned_before_the_break_stays_and_nothing_after_it_runs(
    session: Any, log_of: Any, graph: Graph
) -> None:
    x, _ = log_of
    before = ops.Variable(np.float32(0), name="before")
    after = ops.Variable(np.float32(0), name="after")
    first = before.assign_add(1.0)
    with graph.control_dependencies([first]):
        middle = ops.log(x, name="middle")
    with graph.control_dependencies([middle]):
        last = after.assign_add(1.0)
    await session.run([before.initializer, after.initializer])
    with pytest.raises(InvalidArgumentError, match="'middle'"):
        await session.run([last, middle], {x: [-1.0]}, BREAK)
    assert await session.run([before, after]) == [1.0, 0.0]


async def test_a_variable_that_went_wrong_earlier_is_found_where_it_is_read(session: Any, graph: Graph) -> None:
    v = ops.Variable(np.float32(0), name="v")
    await session.run(v.initializer)
    await session.run(v.assign(np.float32(np.nan)))
    read = v.value()
    with pytest.raises(InvalidArgumentError, match=r"inputs: v:0 \(resource\)"):
        await session.run(read + 1.0, None, BREAK)


async def test_many_runs_at_once_break_each_by_itself(make_session: MakeSession, graph: Graph) -> None:
    session = make_session(ConfigProto(inter_op_parallelism_threads=2))
    x = ops.placeholder("float32", [None], name="x")
    z = ops.log(x, name="z")

    async def one(i: int) -> str:
        try:
            await session.run(z, {x: np.full(1000, i % 2, np.float32)}, BREAK)
        except InvalidArgumentError as error:
            return error.node or ""
        return "fine"

    found = await asyncio.gather(*[one(i) for i in range(20)])
    assert found == ["z", "fine"] * 10


async def test_on_an_event_loop_values_are_taken_in_the_kernel_pool(graph: Graph) -> None:
    threads: list[str] = []
    with debug_sink("threads", lambda dump: threads.append(threading.current_thread().name)) as url:
        async with AsyncSession(graph=graph) as session:
            await session.run(ops.identity(ops.constant(1.0), name="y"), None, watch("y", debug_urls=[url]))
    assert threads[0].startswith("actorsession-kernel")


async def test_values_are_watched_as_their_feeds_come(session: Any, stages: Stages) -> None:
    def values() -> dict[str, Any]:
        return {d.tensor_name: d.value.tolist() for d in session.session.debug_dumps()}

    run = await session.partial_run_setup(stages.fetches, stages.feeds, watch_all(global_step=3))
    assert values() == {}
    assert await session.partial_run(run, stages.first, {stages.a: 1, stages.b: 2}) == 3
    first = {stages.a.name: 1, stages.b.name: 2, stages.first.name: 3}
    await eventually(lambda: values() == first)  # what watches a feed need not run before what reads it
    assert session.session.debug_reports() == []
    assert await session.partial_run(run, stages.second, {stages.c: 10}) == 30
    await eventually(lambda: bool(session.session.debug_reports()))
    assert values() == {**first, stages.c.name: 10, stages.second.name: 30}
    (report,) = session.session.debug_reports()
    assert (report.seen, report.kept, report.global_step, report.error) == (5, 5, 3, "")


async def test_a_run_that_is_left_has_a_report_of_what_was_seen(session: Any, stages: Stages) -> None:
    async with session.partial([stages.first, stages.second], stages.feeds, watch_all()) as run:
        await run.run(stages.first, {stages.a: 1, stages.b: 2})
        await eventually(lambda: len(session.session.debug_dumps()) == 3)
        types = {dump.tensor_name: dump.op_type for dump in session.session.debug_dumps()}
        assert types[stages.a.name] == "Placeholder"
    (report,) = session.session.debug_reports()
    assert report.seen == 3
    assert "was left" in report.error


async def test_a_break_ends_the_partial_run_at_the_node_that_made_a_nan(session: Any, graph: Graph) -> None:
    x, y = (ops.placeholder("float32", [], name=name) for name in "xy")
    log = ops.log(x, name="log")
    total = ops.add(log, y, name="total")
    run = await session.partial_run_setup([log, total], [x, y], BREAK)
    with pytest.raises(InvalidArgumentError, match=r"'log' .* made a NaN or Inf") as error:
        await session.partial_run(run, log, {x: -1.0})
    assert error.value.node == "log"
    (report,) = session.session.debug_reports()
    assert "'log'" in report.error
    with pytest.raises(InvalidArgumentError):
        await session.partial_run(run, total, {y: 1.0})
    assert await session.run(total, {x: 1.0, y: 1.0}) == 1.0


async def test_a_nan_that_is_fed_to_a_partial_run_is_told_as_such(session: Any, graph: Graph) -> None:
    x = ops.placeholder("float32", [], name="x")
    double = ops.multiply(x, 2.0, name="double")
    run = await session.partial_run_setup([double], [x], BREAK)
    with pytest.raises(InvalidArgumentError, match="a NaN or Inf was fed: x:0"):
        await session.partial_run(run, double, {x: float("nan")})


async def test_plain_and_debugged_partial_runs_of_one_signature_are_told_apart(session: Any, stages: Stages) -> None:
    feeds = {stages.a: 1, stages.b: 2}
    for options in (None, watch(stages.first.op.name), None):
        async with session.partial(stages.first, stages.feeds, options) as run:
            assert await run.run(stages.first, feeds) == 3
    assert seen(session) == {f"{stages.first.name}:DebugIdentity": 3}
    assert await session.run(stages.first, feeds) == 3
    assert len(session.session.debug_reports()) == 1


async def test_files_of_a_partial_run_are_read_back(session: Any, stages: Stages, tmp_path: Path) -> None:
    options = watch_all(debug_urls=[f"file://{tmp_path}"])
    async with session.partial([stages.first, stages.second], stages.feeds, options) as run:
        await run.run(stages.first, {stages.a: 1, stages.b: 2})
        await run.run(stages.second, {stages.c: 4})
    found = DebugDumpDir(tmp_path)
    assert all(run.complete for run in found.runs)
    assert found.get_tensors(stages.second.op.name)[0] == 12


async def test_a_wrong_watch_is_refused_at_setup(session: Any, stages: Stages) -> None:
    with pytest.raises(InvalidArgumentError, match="the graph has no node 'nobody' to watch"):
        await session.partial_run_setup(stages.first, stages.feeds, watch("nobody"))


async def test_other_options_are_refused_by_name(session: Any, stages: Stages) -> None:
    for options, said in (
        (RunOptions(trace_level=TraceLevel.FULL_TRACE), "trace_level"),
        (RunOptions(timeout_in_ms=5), "timeout_in_ms=5"),
        (RunOptions(output_partition_graphs=True), "output_partition_graphs"),
    ):
        with pytest.raises(InvalidArgumentError, match=f"debug_options and no other.*{said}"):
            await session.partial_run_setup(stages.first, stages.feeds, options)
    with pytest.raises(TypeError, match="options is a RunOptions, got dict"):
        await session.partial_run_setup(stages.first, stages.feeds, {})


@pytest.fixture
def sink() -> Iterator[list[acts.debugging.DebugDump]]:
    """What reaches ``sink://tests``."""
    taken: list[acts.debugging.DebugDump] = []
    with debug_sink("tests", taken.append):
        yield taken


async def test_a_function_gets_each_value(session: Any, log_of: Any, sink: list[acts.debugging.DebugDump]) -> None:
    x, z = log_of
    await session.run(z, {x: [0.0]}, watch("y", "z", debug_urls=["sink://tests"]))
    assert [d.node_name for d in sink] == ["y", "z"]
    assert session.session.debug_dumps() == []


@pytest.fixture
def broken() -> Iterator[str]:
    def fail(_: acts.debugging.DebugDump) -> None:
        raise ValueError("full up")

    with debug_sink("broken", fail) as url:
        yield url


async def test_a_sink_that_fails_is_logged_and_counted_and_the_step_goes_on(
    session: Any, log_of: Any, broken: str, caplog: pytest.LogCaptureFixture
) -> None:
    x, z = log_of
    with caplog.at_level(logging.WARNING, "actorsession.debugger"):
        found = await session.run(z, {x: [0.0]}, watch_all(debug_urls=[broken, "memory://"]))
    assert found.tolist() == [0.0]
    report = session.session.debug_reports()[0]
    assert (report.seen, report.failures, report.kept) == (4, 4, 4)
    assert report.last_failure == "debug sink sink://broken failed: ValueError: full up"
    assert len(caplog.records) == 1  # not one for each value


async def test_a_sink_that_fails_ends_the_step_where_that_is_asked_for(session: Any, log_of: Any, broken: str) -> None:
    x, z = log_of
    options = watch("y", debug_urls=[broken], raise_sink_errors=True)
    with pytest.raises(InvalidArgumentError, match="sink://broken failed: ValueError: full up") as e:
        await session.run(z, {x: [0.0]}, options)
    assert e.value.node == "y"


async def test_a_directory_that_cannot_be_made_is_a_failure_of_its_sink_alone(
    session: Any, log_of: Any, tmp_path: Path
) -> None:
    x, z = log_of
    (tmp_path / "file").write_text("")
    url = f"file://{tmp_path}/file/below"
    await session.run(z, {x: [0.0]}, watch("y", debug_urls=[url, "memory://"]))
    assert len(session.session.debug_dumps()) == 1
    # The run, the graph of its device, the value and the end.
    assert session.session.debug_reports()[0].failures == 4


async def test_dumps_are_their_owners_alone_whatever_the_umask(session: Any, log_of: Any, tmp_path: Path) -> None:
    x, z = log_of
    before = os.umask(0)
    try:
        url = f"file://{tmp_path}/dumps"
        await session.run(z, {x: [0.0]}, watch("y", debug_urls=[url]))
    finally:
        os.umask(before)
    made = [p for p in tmp_path.rglob("*") if p.exists()]
    assert len(made) > 3
    assert {stat.S_IMODE(p.stat().st_mode) for p in made if p.is_dir()} == {0o700}
    assert {stat.S_IMODE(p.stat().st_mode) for p in made if p.is_file()} == {0o600}


async def test_what_is_beyond_the_limit_of_the_run_is_counted_and_not_kept(
    session: Any, log_of: Any, caplog: pytest.LogCaptureFixture
) -> None:
    x, z = log_of
    one = ENTRY_BYTES + 4
    with caplog.at_level(logging.WARNING, "actorsession.debugger"):
        await session.run(z, {x: [0.0]}, watch_all(run_byte_usage_limit=2 * one))
    report = session.session.debug_reports()[0]
    assert (report.seen, report.kept, report.kept_bytes) == (4, 2, 2 * one)
    assert (report.left_out, report.left_out_bytes) == (2, 2 * one)
    assert "2 values of 1032 bytes were left out" in caplog.text
    await session.run(z, {x: [0.0]}, watch_all())
    assert session.session.debug_reports()[1].left_out == 0


async def test_the_limit_of_the_memory_counts_over_runs(session: Any, log_of: Any) -> None:
    x, z = log_of
    options = watch("z", memory_byte_usage_limit=2 * (ENTRY_BYTES + 4))
    for _ in range(3):
        await session.run(z, {x: [0.0]}, options)
    assert [r.left_out for r in session.session.debug_reports()] == [0, 0, 1]
    session.session.clear_debug_dumps()
    await session.run(z, {x: [0.0]}, options)
    assert [d.session_run_index for d in session.session.debug_dumps()] == [3]


async def test_the_limit_of_the_disk_counts_until_it_is_reset(session: Any, log_of: Any, tmp_path: Path) -> None:
    x, z = log_of
    limit: dict[str, Any] = {"disk_byte_usage_limit": ENTRY_BYTES + 4, "debug_urls": [f"file://{tmp_path}"]}
    for reset in (False, False, True):
        await session.run(z, {x: [0.0]}, watch("z", reset_disk_byte_usage=reset, **limit))
    # The graph of the first run goes beyond what is left after nothing at all.
    assert [r.left_out for r in session.session.debug_reports()] == [0, 1, 0]
    assert len(list(tmp_path.glob("run_*/*.npy"))) == 2
    manifests = [json.loads(p.read_text()) for p in sorted(tmp_path.glob("run_*/manifest.json"))]
    assert [m["left_out"] for m in manifests] == [0, 1, 0]


@pytest.fixture
def heard() -> Iterator[list[Any]]:
    with hearing() as found:
        yield found


async def test_a_state_hears_of_run_graphs_values_and_end(session: Any, log_of: Any, heard: list[Any]) -> None:
    x, z = log_of
    await session.run(z, {x: [0.0]}, watch("z", global_step=5))
    assert heard == [
        ("run", 5, 0, 0, ("x:0", "z:0")),
        ("graph", HERE, ["_arg/x/0", "y/y", "y", "z", "__dbg_z:0"]),
        ("tensor", HERE, "z:0:DebugIdentity", "memory://"),
        ("end", None),
    ]


async def test_runs_of_the_session_and_of_the_plan_are_counted_and_graphs_told_once(
    session: Any, log_of: Any, heard: list[Any]
) -> None:
    x, z = log_of
    for node in ("y", "y", "z", "y"):
        await session.run(z, {x: [0.0]}, watch(node))
        await session.run(z, {x: [0.0]})  # not debugged: not counted
    assert [h[2:4] for h in heard if h[0] == "run"] == [(0, 0), (1, 1), (2, 0), (3, 2)]
    assert len([h for h in heard if h[0] == "graph"]) == 2


async def test_the_graph_of_each_device_is_told(make_session: MakeSession, graph: Graph, heard: list[Any]) -> None:
    session = make_session(TWO)
    with graph.device("/cpu:0"):
        y = ops.identity(ops.constant(1.0), name="y")
    with graph.device("/cpu:1"):
        z = ops.add(y, 1.0, name="z")
    await session.run(z, None, watch("y"))
    assert {h[1] for h in heard if h[0] == "graph"} == {CPU(0), CPU(1)}


async def test_the_end_comes_with_the_error_of_the_step(session: Any, graph: Graph, heard: list[Any]) -> None:
    zero = ops.placeholder("int32", [], name="zero")
    y = ops.identity(ops.constant(1) // zero)
    with pytest.raises(InvalidArgumentError):
        await session.run(y, {zero: 0}, watch("zero"))
    assert heard[-1][0] == "end"
    assert "zero" in heard[-1][1]


async def test_a_state_that_fails_does_not_break_the_step_unless_it_is_asked_to(session: Any, log_of: Any) -> None:
    class Broken(acts.debugging.DebuggerState):
        def publish_tensor(self, dump: acts.debugging.DebugDump, debug_urls: Sequence[str]) -> None:
            raise RuntimeError("lost")

    x, z = log_of
    failure = "debugger state Broken failed: RuntimeError: lost"
    with registered(acts.debugging.DebuggerStateRegistry, lambda options: Broken()):
        await session.run(z, {x: [0.0]}, watch("z"))
        assert session.session.debug_reports()[0].last_failure == failure
        with pytest.raises(OpError, match=failure):
            await session.run(z, {x: [0.0]}, watch("z", raise_sink_errors=True))


async def test_nothing_is_heard_after_the_end(session: Any, log_of: Any, heard: list[Any]) -> None:
    """A kernel of a step that was given up may come back when its run has ended."""
    x, z = log_of
    await session.run(z, {x: [0.0]})
    debugger = session.session._session.debugger
    asked = RunSignature(("x:0",), ("z:0",)), watch("z").debug_options
    run = LocalDebugRun(debugger.new_run(*asked))
    run.begin()
    run.watch(0, [np.zeros(1, np.float32)])
    run.end(None)
    run.end(None)
    run.watch(0, [np.zeros(1, np.float32)])
    assert [h[0] for h in heard] == ["run", "graph", "tensor", "end"]
    assert len(debugger.store.reports()) == 1


async def test_a_run_that_exceeds_its_limit_is_told_as_ended_too(session: Any, graph: Graph, heard: list[Any]) -> None:
    with graph.device("/cpu:0"):
        x = ops.placeholder("float32", [], name="x")
        queue = ops.FIFOQueue(1, "float32", [[]])
        y, fill = queue.dequeue() + x, queue.enqueue(1.0)
    await session.run(fill)
    assert await session.run(y, {x: 1.0}, watch("x")) == 2.0  # planned by now, so that the next one begins in time
    heard.clear()
    with pytest.raises(DeadlineExceededError):
        await session.run(y, {x: 1.0}, replace(watch("x"), timeout_in_ms=300))
    assert heard[-1][0] == "end"
    assert heard[-1][1] is not None


def test_a_run_that_was_interrupted_says_so_in_its_report(log_of: Any, graph: Graph) -> None:
    """Ctrl-C is raised in a node, and is no error of that node."""
    x, z = log_of

    def interrupt(value: Any) -> Any:
        raise KeyboardInterrupt

    y = ops.py_func(interrupt, [z], "float32")
    with Session(graph=graph) as session:
        with pytest.raises(KeyboardInterrupt):
            session.run(y, {x: [0.0]}, watch("z"))
        (report,) = session.debug_reports()
        assert "interrupted: KeyboardInterrupt()" in report.error
        assert session.statistics().steps == 0
