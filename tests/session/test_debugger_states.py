"""Debugger states: objects that hear of debugged runs, their graphs, values and ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import ConfigProto, Graph, GraphDef, RunOptions, Session, ops
from actorsession.config import DebugOptions, DebugTensorWatch
from actorsession.errors import DeadlineExceededError, InvalidArgumentError, OpError
from actorsession.plan.signature import RunSignature
from actorsession.runtime.debug.debugger import LocalDebugRun
from tests.session.debugger_kit import watch

CPU = "/job:localhost/replica:0/task:0/device:CPU:{}".format
MakeSession = Callable[..., Any]


class Recorder(acts.debugging.DebuggerState):
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

    def publish_tensor(self, dump: acts.debugging.DebugDump, debug_urls: Sequence[str]) -> None:
        self.heard.append(("tensor", dump.watch_key, tuple(debug_urls)))

    def publish_end(self, error: OpError | None) -> None:
        self.heard.append(("end", error and error.message))


@pytest.fixture
def heard() -> Iterator[list[Any]]:
    """What a user's own state hears of debugged runs."""
    found: list[Any] = []
    before = acts.debugging.DebuggerStateRegistry.register_factory(lambda options: Recorder(found))
    yield found
    acts.debugging.DebuggerStateRegistry.register_factory(before)


async def test_a_state_hears_of_run_graphs_values_and_end(session: Any, log_of: Any, heard: list[Any]) -> None:
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


async def test_the_graph_of_each_device_is_told(make_session: MakeSession, graph: Graph, heard: list[Any]) -> None:
    session = make_session(ConfigProto(device_count={"CPU": 2}))
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
    before = acts.debugging.DebuggerStateRegistry.register_factory(lambda options: Broken())
    try:
        await session.run(z, {x: [0.0]}, watch("z"))
        report = session.session.debug_reports()[0]
        assert report.last_failure == "debugger state Broken failed: RuntimeError: lost"
        with pytest.raises(OpError, match="debugger state Broken failed: RuntimeError: lost"):
            await session.run(z, {x: [0.0]}, watch("z", raise_sink_errors=True))
    finally:
        acts.debugging.DebuggerStateRegistry.register_factory(before)


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


async def test_a_run_that_was_asked_for_too_long_is_told_as_ended_too(
    session: Any, graph: Graph, heard: list[Any]
) -> None:
    with graph.device("/cpu:0"):
        x = ops.placeholder("float32", [700, 700], name="x")
        y = x
        for _ in range(200):
            y = ops.matmul(y, y)
    options = RunOptions(
        timeout_in_ms=1, debug_options=DebugOptions(debug_tensor_watch_opts=[DebugTensorWatch(node_name="x")])
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
