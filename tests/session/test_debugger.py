"""Debugged runs of local sessions, in both faces: what is watched, where it goes, and where steps break."""

from __future__ import annotations

import asyncio
import json
import logging
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import actorsession.ops as ops
from actorsession.cluster import Server
from actorsession.config import (
    ConfigProto,
    DebugOptions,
    DebugTensorWatch,
    GraphOptions,
    RunMetadata,
    RunOptions,
    TraceLevel,
)
from actorsession.errors import (
    DeadlineExceededError,
    InvalidArgumentError,
    OpError,
    UnimplementedError,
)
from actorsession.graph.graph import Graph
from actorsession.graph.node import GraphDef
from actorsession.plan.signature import RunSignature
from actorsession.runtime.debug_dump import ENTRY_BYTES, DebugDump
from actorsession.runtime.debug_sinks import register_debug_sink, unregister_debug_sink
from actorsession.runtime.debug_state import DebuggerState, DebuggerStateRegistry
from actorsession.session import AsyncSession, Session
from tests.property.recipes import Recipe, recipes

CPU = "/job:localhost/replica:0/task:0/device:CPU:{}".format
MakeSession = Callable[..., Any]


def watch(*nodes: str, slot: int = 0, **more: Any) -> RunOptions:
    """Options that watch nodes; what is no field of a watch is one of the options."""
    own = ("debug_ops", "debug_urls", "tolerate_debug_op_creation_failures")
    of_watch = {k: more.pop(k) for k in own if k in more}
    watches = [DebugTensorWatch(node_name=n, output_slot=slot, **of_watch) for n in nodes]
    return RunOptions(debug_options=DebugOptions(debug_tensor_watch_opts=watches, **more))


def watch_all(**more: Any) -> RunOptions:
    return watch("*", slot=-1, **more)


BREAK = RunOptions(debug_options=DebugOptions(break_on="nan_or_inf"))


def seen(session: Any) -> dict[str, Any]:
    return {d.watch_key: d.value.tolist() for d in session.session.debug_dumps()}


@pytest.fixture
def log_of(graph: Graph) -> tuple[Any, Any]:
    """x, and its logarithm z by way of y = x + 1."""
    x = ops.placeholder("float32", [None], name="x")
    return x, ops.log(ops.add(x, 1.0, name="y"), name="z")


@pytest.fixture
def sink() -> Iterator[list[DebugDump]]:
    """What reaches ``sink://tests``."""
    taken: list[DebugDump] = []
    register_debug_sink("tests", taken.append)
    yield taken
    unregister_debug_sink("tests")


# -- what is watched -------------------------------------------------------------------------------


async def test_a_watched_tensor_is_dumped_with_all_that_is_known_of_it(
    session: Any, log_of: Any
) -> None:
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


async def test_all_nodes_are_watched_feeds_and_constants_included(
    session: Any, log_of: Any
) -> None:
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
    assert [d.debug_op for d in session.session.debug_dumps()] == [
        "DebugNanCount", "DebugNumericSummary",
    ]  # fmt: skip


async def test_what_constant_folding_would_take_away_is_watched(
    make_session: MakeSession, graph: Graph
) -> None:
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


async def test_an_output_that_is_fed_hides_the_one_that_its_node_makes(
    session: Any, graph: Graph
) -> None:
    parts = ops.split(ops.constant([1.0, 2.0]), 2, name="parts")
    options = watch("parts", slot=-1)
    found = await session.run(parts[0] + parts[1], {parts[0]: [5.0]}, options)
    assert found.tolist() == [7.0]
    dumps = [(d.tensor_name, d.value.tolist()) for d in session.session.debug_dumps()]
    assert sorted(dumps) == [("parts:0", [5.0]), ("parts:1", [2.0])]


async def test_what_several_devices_read_is_dumped_once(
    make_session: MakeSession, graph: Graph
) -> None:
    session = make_session(ConfigProto(device_count={"CPU": 2}))
    x = ops.placeholder("float32", [], name="x")
    two = ops.constant(2.0, name="two")
    ends = []
    for number in range(2):
        with graph.device(f"/cpu:{number}"):
            ends.append(ops.multiply(x, two, name=f"end{number}"))
    assert await session.run(ends, {x: 3.0}, watch_all()) == [6.0, 6.0]
    assert sorted(d.node_name for d in session.session.debug_dumps()) == [
        "end0",
        "end1",
        "two",
        "x",
    ]


async def test_strings_and_odd_types_are_kept_as_they_are(session: Any, graph: Graph) -> None:
    for name, value in (("s", [b"a\x00", b""]), ("c", [1j]), ("i", [2**40]), ("b", [True])):
        ops.identity(ops.constant(np.array(value, object if name == "s" else None)), name=name)
    half = ops.cast(ops.constant([0.5]), "bfloat16", name="h")
    await session.run(["s:0", "c:0", "i:0", "b:0", half], None, watch("s", "c", "i", "b", "h"))
    values = {d.node_name: d.value for d in session.session.debug_dumps()}
    assert {n: v.tolist() for n, v in values.items()} == {
        "s": [b"a\x00", b""], "c": [1j], "i": [2**40], "b": [True], "h": [0.5],
    }  # fmt: skip
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
)  # fmt: skip
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
        "c", debug_ops=["DebugNumericSummary", "DebugFoo", "DebugNanCount"],
        tolerate_debug_op_creation_failures=True,
    )  # fmt: skip
    with caplog.at_level(logging.WARNING, "actorsession.debugger"):
        await session.run(c, None, options)
    assert "leaves out 2 watches" in caplog.text
    assert list(seen(session)) == ["c:0:DebugNanCount"]
    foo, summary = session.session.debug_reports()[0].refused
    assert "DebugFoo" in foo
    assert "does not go with 'c:0' of type complex64" in summary


# -- watching changes nothing ----------------------------------------------------------------------


async def test_a_later_update_in_place_does_not_reach_what_was_dumped(
    session: Any, graph: Graph
) -> None:
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
    assert [d.value.tolist() for d in session.session.debug_dumps() if d.node_name == "z"] == [
        [0, 0], [0, 0],
    ]  # fmt: skip


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


# -- where it goes ---------------------------------------------------------------------------------


async def test_a_function_gets_each_value(session: Any, log_of: Any, sink: list[DebugDump]) -> None:
    x, z = log_of
    await session.run(z, {x: [0.0]}, watch("y", "z", debug_urls=["sink://tests"]))
    assert [d.node_name for d in sink] == ["y", "z"]
    assert session.session.debug_dumps() == []


@pytest.fixture
def broken() -> Iterator[str]:
    def fail(_: DebugDump) -> None:
        raise ValueError("full up")

    register_debug_sink("broken", fail)
    yield "sink://broken"
    unregister_debug_sink("broken")


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


async def test_a_sink_that_fails_ends_the_step_where_that_is_asked_for(
    session: Any, log_of: Any, broken: str
) -> None:
    x, z = log_of
    options = watch("y", debug_urls=[broken], raise_sink_errors=True)
    with pytest.raises(
        InvalidArgumentError, match="sink://broken failed: ValueError: full up"
    ) as e:
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


async def test_the_limit_of_the_disk_counts_until_it_is_reset(
    session: Any, log_of: Any, tmp_path: Path
) -> None:
    x, z = log_of
    limit: dict[str, Any] = {
        "disk_byte_usage_limit": ENTRY_BYTES + 4,
        "debug_urls": [f"file://{tmp_path}"],
    }
    for reset in (False, False, True):
        await session.run(z, {x: [0.0]}, watch("z", reset_disk_byte_usage=reset, **limit))
    # The graph of the first run goes beyond what is left after nothing at all.
    assert [r.left_out for r in session.session.debug_reports()] == [0, 1, 0]
    assert len(list(tmp_path.glob("run_*/*.npy"))) == 2
    manifests = [json.loads(p.read_text()) for p in sorted(tmp_path.glob("run_*/manifest.json"))]
    assert [m["left_out"] for m in manifests] == [0, 1, 0]


# -- states ----------------------------------------------------------------------------------------


class Recorder(DebuggerState):
    """Notes all that it hears."""

    def __init__(self, heard: list[Any]) -> None:
        self.heard = heard

    def publish_debug_metadata(
        self,
        global_step: int,
        session_run_index: int,
        executor_step_index: int,
        input_names: Sequence[str],
        output_names: Sequence[str],
        target_names: Sequence[str],
    ) -> None:
        names = (*input_names, *output_names, *target_names)
        self.heard.append(("run", global_step, session_run_index, executor_step_index, names))

    def publish_graph(self, graph_def: GraphDef, device: str) -> None:
        self.heard.append(("graph", device, [n.name for n in graph_def.nodes]))

    def publish_tensor(self, dump: DebugDump, debug_urls: Sequence[str]) -> None:
        self.heard.append(("tensor", dump.watch_key, tuple(debug_urls)))

    def publish_end(self, error: OpError | None) -> None:
        self.heard.append(("end", error and error.message))


@pytest.fixture
def heard() -> Iterator[list[Any]]:
    """What a user's own state hears of debugged runs."""
    found: list[Any] = []
    before = DebuggerStateRegistry.register_factory(lambda options: Recorder(found))
    yield found
    DebuggerStateRegistry.register_factory(before)


async def test_a_state_hears_of_run_graphs_values_and_end(
    session: Any, log_of: Any, heard: list[Any]
) -> None:
    x, z = log_of
    await session.run(z, {x: [0.0]}, watch("z", global_step=5))
    assert heard == [
        ("run", 5, 0, 0, ("x:0", "z:0")),
        ("graph", CPU(0), ["_arg/x/0", "y/y", "y", "z", "__dbg_z:0"]),
        ("tensor", "z:0:DebugIdentity", ("memory://",)),
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


async def test_the_graph_of_each_device_is_told(
    make_session: MakeSession, graph: Graph, heard: list[Any]
) -> None:
    session = make_session(ConfigProto(device_count={"CPU": 2}))
    with graph.device("/cpu:0"):
        y = ops.identity(ops.constant(1.0), name="y")
    with graph.device("/cpu:1"):
        z = ops.add(y, 1.0, name="z")
    await session.run(z, None, watch("y"))
    assert {h[1] for h in heard if h[0] == "graph"} == {CPU(0), CPU(1)}


async def test_the_end_comes_with_the_error_of_the_step(
    session: Any, graph: Graph, heard: list[Any]
) -> None:
    zero = ops.placeholder("int32", [], name="zero")
    y = ops.identity(ops.constant(1) // zero)
    with pytest.raises(InvalidArgumentError):
        await session.run(y, {zero: 0}, watch("zero"))
    assert heard[-1][0] == "end"
    assert "zero" in heard[-1][1]


async def test_a_state_that_fails_does_not_break_the_step_unless_it_is_asked_to(
    session: Any, log_of: Any
) -> None:
    class Broken(DebuggerState):
        def publish_tensor(self, dump: DebugDump, debug_urls: Sequence[str]) -> None:
            raise RuntimeError("lost")

    x, z = log_of
    before = DebuggerStateRegistry.register_factory(lambda options: Broken())
    try:
        await session.run(z, {x: [0.0]}, watch("z"))
        report = session.session.debug_reports()[0]
        assert report.last_failure == "debugger state Broken failed: RuntimeError: lost"
        with pytest.raises(OpError, match="debugger state Broken failed: RuntimeError: lost"):
            await session.run(z, {x: [0.0]}, watch("z", raise_sink_errors=True))
    finally:
        DebuggerStateRegistry.register_factory(before)


async def test_nothing_is_heard_after_the_end(session: Any, log_of: Any, heard: list[Any]) -> None:
    """A kernel of a step that was given up may come back when its run has ended."""
    x, z = log_of
    await session.run(z, {x: [0.0]})
    debugger = session.session._session.debugger
    run = debugger.begin(RunSignature(("x:0",), ("z:0",)), watch("z").debug_options)
    run.watch(0, [np.zeros(1, np.float32)])
    run.end(None)
    run.end(None)
    run.watch(0, [np.zeros(1, np.float32)])
    assert [h[0] for h in heard] == ["run", "graph", "tensor", "end"]
    assert len(debugger.store.reports()) == 1


async def test_a_run_that_was_asked_for_too_long_is_told_as_ended_too(
    session: Any, graph: Graph, heard: list[Any]
) -> None:
    with graph.device("/cpu:0"):
        x = ops.placeholder("float32", [700, 700], name="x")
        y = x
        for _ in range(200):
            y = ops.matmul(y, y)
    options = RunOptions(
        timeout_in_ms=1,
        debug_options=DebugOptions(debug_tensor_watch_opts=[DebugTensorWatch(node_name="x")]),
    )
    with pytest.raises(DeadlineExceededError):
        await session.run(y, {x: np.zeros((700, 700), np.float32)}, options)
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


# -- breaking at a NaN or an infinity --------------------------------------------------------------


async def test_the_step_breaks_at_the_first_node_that_makes_one(session: Any, log_of: Any) -> None:
    x, z = log_of
    after = ops.exp(z, name="after")
    with pytest.raises(InvalidArgumentError) as raised:
        await session.run(after, {x: [1.0, -1.0, -5.0]}, BREAK)
    error = raised.value
    assert (error.node, error.device) == ("z", CPU(0))
    assert __file__ in (error.source or "")
    assert "'z' (Log) made a NaN or Inf: z:0 (float32[3]) has 1 NaN and 1 Inf of 3" in str(error)
    assert "inputs: y:0 (float32[3]) min -4.0, max 2.0" in str(error)
    assert session.session.debug_reports()[0].error == str(error)


async def test_a_healthy_step_is_not_broken(session: Any, log_of: Any) -> None:
    x, z = log_of
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
    excused = RunOptions(
        debug_options=DebugOptions(break_on="nan_or_inf", break_exclude=["z", "q*"])
    )
    assert (await session.run(passed, {x: [-1.0]}, excused)).tolist() == [-np.inf]
    with pytest.raises(InvalidArgumentError, match=r"'made' \(Sub\) made a NaN"):
        await session.run(made, {x: [-1.0]}, excused)


async def test_a_nan_that_was_fed_on_purpose_passes_through(session: Any, log_of: Any) -> None:
    x, z = log_of
    excused = RunOptions(debug_options=DebugOptions(break_on="nan_or_inf", break_exclude=["x"]))
    assert np.isnan(await session.run(z, {x: [np.nan]}, excused)).all()


async def test_a_nan_that_was_fed_is_told_as_such(session: Any, log_of: Any) -> None:
    x, z = log_of
    with pytest.raises(InvalidArgumentError, match="a NaN or Inf was fed: x:0") as raised:
        await session.run(z, {x: [np.nan]}, BREAK)
    assert raised.value.node == "x"


async def test_an_infinite_constant_is_what_the_program_says(session: Any, graph: Graph) -> None:
    mask = ops.constant([-np.inf, 0.0])
    x = ops.placeholder("float32", [2], name="x")
    y = ops.nn.softmax(x + mask)
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
    session = make_session(ConfigProto(device_count={"CPU": 2}))
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
    _, last = ops.while_loop(
        lambda i, v: i < 3, lambda i, v: (i + 1, ops.log(v, name="log")), [ops.constant(0), x]
    )
    with pytest.raises(InvalidArgumentError, match=r"'while/log' \(Log\) made.* min 0.0") as raised:
        await session.run(last + 1.0, {x: 1.0}, BREAK)
    assert raised.value.node == "while/log"
    assert "test_debugger.py" in str(raised.value)
    assert await session.run(last, {x: 1.0}) != 0  # without the break it runs to its end


async def test_a_watch_inside_a_loop_is_refused_with_what_can_be_watched(
    session: Any, graph: Graph
) -> None:
    y = ops.while_loop(
        lambda v: v < 9.0, lambda v: ops.add(v, 1.0, name="add"), [ops.constant(0.0)]
    )
    with pytest.raises(
        InvalidArgumentError, match=r"'while/add' is inside 'while' \(While\).*itself"
    ):
        await session.run(y, None, watch("while/add"))
    await session.run(y, None, watch("while"))
    assert seen(session) == {"while:0:DebugIdentity": 9.0}


async def test_inside_branches_and_nested_loops_the_innermost_node_is_named(
    session: Any, graph: Graph
) -> None:
    x = ops.placeholder("float32", [2], name="x")

    def body(i: Any, v: Any) -> Any:
        deep = ops.cond(
            i > 1, lambda: ops.sqrt(v - 5.0, name="root"), lambda: ops.identity(v) + 1.0, name="if"
        )
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
    i, v, _ = ops.while_loop(
        lambda i, v, unread: i < 5, lambda i, v, unread: (i + 1, v * 1.5 + x, unread / 0.0), start
    )
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


async def test_a_variable_that_went_wrong_earlier_is_found_where_it_is_read(
    session: Any, graph: Graph
) -> None:
    v = ops.Variable(np.float32(0), name="v")
    await session.run(v.initializer)
    await session.run(v.assign(np.float32(np.nan)))
    read = v.value()
    with pytest.raises(InvalidArgumentError, match=r"inputs: v:0 \(resource\)"):
        await session.run(read + 1.0, None, BREAK)


async def test_many_runs_at_once_break_each_by_itself(
    make_session: MakeSession, graph: Graph
) -> None:
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
    register_debug_sink("threads", lambda dump: threads.append(threading.current_thread().name))
    try:
        async with AsyncSession(graph=graph) as session:
            y = ops.identity(ops.constant(1.0), name="y")
            await session.run(y, None, watch("y", debug_urls=["sink://threads"]))
    finally:
        unregister_debug_sink("threads")
    assert threads[0].startswith("actorsession-kernel")


# -- beside other things ---------------------------------------------------------------------------


async def test_a_debugged_run_may_be_traced_and_reports_its_graphs(
    session: Any, log_of: Any
) -> None:
    x, z = log_of
    options = RunOptions(
        trace_level=TraceLevel.FULL_TRACE, output_partition_graphs=True,
        debug_options=DebugOptions(debug_tensor_watch_opts=[DebugTensorWatch(node_name="z")]),
    )  # fmt: skip
    metadata = RunMetadata()
    assert (await session.run(z, {x: [0.0]}, options, metadata)).tolist() == [0.0]
    assert metadata.step_stats is not None
    assert seen(session) == {"z:0:DebugIdentity": [0.0]}


async def test_what_runs_left_can_be_read_after_the_session_was_closed(
    session: Any, log_of: Any
) -> None:
    x, z = log_of
    await session.run(z, {x: [0.0]}, watch("z"))
    await session.close()
    assert seen(session) == {"z:0:DebugIdentity": [0.0]}


async def test_a_sink_may_run_the_session_itself(graph: Graph) -> None:
    y = ops.identity(ops.constant(0.0), name="y")
    z = ops.exp(y, name="z")
    outer: list[str] = []
    with Session(graph=graph) as session:

        def ask(dump: DebugDump) -> None:
            outer.append(dump.node_name)
            assert session.run(z, None, watch("y")) == 1.0

        register_debug_sink("ask", ask)
        try:
            options = watch("y", "z", debug_urls=["sink://ask"])
            await asyncio.to_thread(session.run, z, None, options)
        finally:
            unregister_debug_sink("ask")
        assert outer == ["y", "z"]
        assert [d.session_run_index for d in session.debug_dumps()] == [1, 2]
        assert [r.failures for r in session.debug_reports()] == [0, 0, 0]


async def test_a_session_of_a_master_refuses_debug_options(tmp_path: Path) -> None:
    graph = Graph()
    with graph.as_default():
        y = ops.constant(1.0) + 1.0
    cluster = {"worker": [f"inproc://{tmp_path.name}"]}
    async with (
        Server(cluster, "worker") as server,
        AsyncSession(server.target, graph=graph) as session,
    ):
        assert await session.run(y) == 2.0
        with pytest.raises(UnimplementedError, match="only sessions in this process do"):
            await session.run(y, options=BREAK)
        with pytest.raises(UnimplementedError, match="watches no tensors"):
            session.debug_dumps()
