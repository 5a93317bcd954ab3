"""Devices that bring a compiler: what it gets, what it changes in a session, and what stays as it was."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import AsyncSession, ConfigProto, Graph, RunMetadata, RunOptions, Server, ServerSettings, Session, ops
from actorsession.errors import InvalidArgumentError
from actorsession.extend import register_device_factory
from tests.default_device import of_the_cpu_alone
from tests.plan.kit import OFTEN, settle_compilers
from tests.rows import for_each
from tests.runtime.own_arrays import Box, Boxes
from tests.runtime.test_device_kernels import PROGRAMS

BOX = "/device:BOX:0"
JitLevel = acts.config.JitLevel


class Compiler:
    """What it makes calls the function that it got, twice, to see that it is a pure function of boxes."""

    def __init__(self) -> None:
        self.asked = self.called = 0
        self.refuses = False
        self.begun, self.goes_on = threading.Event(), threading.Event()
        self.goes_on.set()

    def __call__(self, function: Callable[..., Any], arrays: Any) -> Callable[..., Any]:
        self.asked += 1
        self.begun.set()
        assert self.goes_on.wait(60)

        def compiled(*boxes: Box) -> Any:
            self.called += 1
            if self.refuses:
                raise ValueError("no such numbers")
            before = [box.array.copy() for box in boxes]
            results = [function(*boxes) for _ in range(2)]
            for first, second in zip(*results, strict=True):
                np.testing.assert_array_equal(first.array, second.array)
            for box, array in zip(boxes, before, strict=True):
                np.testing.assert_array_equal(box.array, array)
            return results[0]

        return compiled


@pytest.fixture
def compiler(registrations: None) -> Compiler:
    """That of the device ``BOX`` in the test."""
    made = Compiler()

    class Compiling(Boxes):
        kernels = replace(Boxes.kernels, compiler=made)

    register_device_factory("BOX", Compiling())
    return made


def config_of(level: Any = JitLevel.ON_1, **settings: Any) -> ConfigProto:
    options = acts.GraphOptions(optimizer_options=acts.OptimizerOptions(global_jit_level=level))
    return ConfigProto(device_count={"BOX": 1}, graph_options=options, **settings)


def session_of(graph: Graph, level: Any = JitLevel.ON_1) -> Session:
    return Session(graph=graph, config=config_of(level))


def subgraphs_of(session: Session, fetches: Any, feeds: Any) -> list[list[str]]:
    segments = [segment for part in session.explain(fetches, feeds).partitions for segment in part.segments]
    return [sorted(names) for segment in segments for names in segment.subgraphs]


@for_each("name", list(PROGRAMS))
def test_a_program_gives_compiled_what_it_gives_otherwise(compiler: Compiler, name: str) -> None:
    build = PROGRAMS[name][0]
    for shape in ([3], None):
        with Graph().as_default() as graph, graph.device(BOX):
            x = ops.placeholder("float32", shape)
            fetches = [build(x * x + x + 1.0), x * 2.0 * x + x]
        with session_of(graph, JitLevel.OFF) as session:
            expected = session.run(fetches, {x: [1.0, 2.0, 3.0]})
        compiler.called = 0
        with session_of(graph) as session:
            for _ in range(OFTEN + 2):
                for got, value in zip(session.run(fetches, {x: [1.0, 2.0, 3.0]}), expected, strict=True):
                    assert type(got) is type(value)
                    np.testing.assert_array_equal(got, value)
                settle_compilers()
        assert compiler.called >= 2


def test_it_gets_pure_functions_of_its_arrays_and_the_order_of_effects_stays(compiler: Compiler) -> None:
    """State is read, changed and read again; random numbers, other kernels and changing whole numbers stay outside."""
    with Graph().as_default() as graph, graph.device(BOX):
        x, i = ops.placeholder("float32", [3], name="x"), ops.placeholder("int32", [], name="i")
        v = acts.Variable([1.0, 2.0, 3.0], name="v")
        read = ops.multiply(v.read_value(), x, name="a")
        b = ops.add(ops.add(read, 1.0, name="b1"), x, name="b2")
        hosted = ops.exp(b * 0.0, name="hosted")
        c = ops.multiply(b, 2.0, name="c")
        changed = v.assign_add(c)
        with graph.control_dependencies([changed]):
            again = v.read_value()
        noise = ops.random_uniform([3], name="noise") * 0.0
        d = ops.add(ops.multiply(again, x, name="d1"), ops.multiply(c, hosted, name="d2"), name="d3")
        e = ops.add(ops.add(d, ops.gather(x, i), name="e1"), noise, name="e2")
    with session_of(graph, JitLevel.OFF) as plain, session_of(graph) as session:
        feeds = {x: [1.0, 2.0, 3.0], i: 1}
        found = subgraphs_of(session, e, [x, i])
        for each in (plain, session):
            each.run(v.initializer)
        for _ in range(OFTEN + 3):
            np.testing.assert_array_equal(session.run(e, feeds), plain.run(e, feeds))
            settle_compilers()
    assert [set(names) & {"a", "b1", "b2", "c", "d1", "d2", "d3", "e1", "e2"} for names in found] == [
        {"a", "b1", "b2", "c"},
        {"d1", "d2", "d3", "e1", "e2"},
    ]
    assert not {name for names in found for name in names if "hosted" in name or "Random" in name or "Gather" in name}
    assert compiler.called == 6


def test_a_variable_is_changed_and_read_in_the_order_of_the_nodes(compiler: Compiler) -> None:
    """The change waits for a subgraph; a read that needs nothing of either stays behind it, without an edge."""
    with Graph().as_default() as graph, graph.device(BOX):
        x = y = ops.placeholder("float32", [3])
        v = acts.Variable([0.0, 0.0, 0.0])
        for _ in range(4):
            y = y + x
        fetches = [v.assign(y).op, v.read_value()]
    with session_of(graph) as session:
        session.run(v.initializer)
        assert len(subgraphs_of(session, fetches, [x])) == 1
        for step in range(OFTEN + 3):
            np.testing.assert_array_equal(session.run(fetches, {x: [step] * 3})[1], [5.0 * step] * 3)
            settle_compilers()
    assert compiler.called == 3


def chain(length: int = 6) -> tuple[Graph, Any, Any]:
    with Graph().as_default() as graph, graph.device(BOX):
        x = y = ops.placeholder("float32", [2], name="x")
        for k in range(length):
            y = ops.add(y, x, name=f"y{k}")
    return graph, x, y


def test_few_nodes_and_sessions_that_do_not_ask_for_it_run_as_ever(compiler: Compiler) -> None:
    for length, level in ((6, JitLevel.DEFAULT), (6, JitLevel.OFF), (3, JitLevel.ON_2)):
        graph, x, y = chain(length)
        with session_of(graph, level) as session:
            assert subgraphs_of(session, y, [x]) == []
            for _ in range(2 * OFTEN):
                session.run(y, {x: [1.0, 2.0]})
            assert "None" not in session.explain(y, [x]).partitions[0].segments[0].source
    settle_compilers()
    assert compiler.asked == 0


def test_what_is_compiled_is_explained(compiler: Compiler) -> None:
    graph, x, y = chain()
    with session_of(graph, JitLevel.ON_2) as session:
        explanation = session.explain(y, [x])
    assert [s.subgraphs for s in explanation.partitions[0].segments] == [(("y0", "y1", "y2", "y3", "y4", "y5"),)]
    assert "1 subgraph of 6 nodes for its compiler" in str(explanation)
    assert type(explanation).from_json(explanation.to_json()) == explanation


def test_a_traced_step_runs_each_node_by_its_kernel(compiler: Compiler) -> None:
    graph, x, y = chain()
    metadata = RunMetadata()
    with session_of(graph) as session:
        for _ in range(OFTEN):
            session.run(y, {x: [1.0, 2.0]})
        settle_compilers()
        session.run(y, {x: [1.0, 2.0]})
        traced = session.run(y, {x: [1.0, 2.0]}, RunOptions(trace_level=RunOptions.FULL_TRACE), metadata)
        assert compiler.called == 1
        np.testing.assert_array_equal(session.run(y, {x: [1.0, 2.0]}), traced)
        assert (compiler.asked, compiler.called) == (1, 2)
    assert metadata.step_stats is not None
    seen = {node.node_name for device in metadata.step_stats.dev_stats for node in device.node_stats}
    assert {f"y{k}" for k in range(6)} <= seen


def test_values_that_are_refused_are_refused_in_the_same_words(compiler: Compiler) -> None:
    with Graph().as_default() as graph, graph.device(BOX):
        x, y = (ops.placeholder("float32", None, name=name) for name in "xy")
        z = ops.matmul(x * 2.0 + x, y * y + y * 1.0, name="product")
    with session_of(graph) as session:
        for _ in range(OFTEN + 2):
            with pytest.raises(InvalidArgumentError, match=r"cannot multiply shapes \(1, 2\)") as refused:
                session.run(z, {x: np.ones((1, 2)), y: np.ones((1, 2))})
            assert refused.value.node == "product"
            settle_compilers()
        assert compiler.called == 2
        for _ in range(OFTEN + 1):
            np.testing.assert_array_equal(session.run(z, {x: np.ones((1, 2)), y: np.ones((2, 1))}), [[12.0]])
            settle_compilers()
        assert compiler.called == 3


def test_what_fails_only_compiled_fails_nobody(compiler: Compiler) -> None:
    graph, x, y = chain()
    compiler.refuses = True
    with session_of(graph) as session:
        for _ in range(OFTEN + 3):
            np.testing.assert_array_equal(session.run(y, {x: [1.0, 2.0]}), [7.0, 14.0])
            settle_compilers()
    assert compiler.called == 3


def test_a_session_that_was_closed_has_nothing_compiled(compiler: Compiler) -> None:
    compiler.goes_on.clear()
    for length in (6, 7):  # while the one is compiled, the other one waits
        graph, x, y = chain(length)
        with session_of(graph) as session:
            for _ in range(2 * OFTEN):
                session.run(y, {x: [1.0, 2.0]})
            assert compiler.begun.wait(60)
    compiler.goes_on.set()
    settle_compilers()
    assert compiler.asked == 1


def test_steps_of_one_session_in_several_threads_share_what_was_compiled(compiler: Compiler) -> None:
    graph, x, y = chain()
    with session_of(graph) as session, ThreadPoolExecutor(8) as threads:
        for _ in range(2):
            got = list(threads.map(lambda k: session.run(y, {x: [k, 2.0]}), range(8 * OFTEN)))
            settle_compilers()
            np.testing.assert_array_equal(got, [[7.0 * k, 14.0] for k in range(8 * OFTEN)])
    assert compiler.asked == 1
    assert compiler.called >= 8 * OFTEN


async def test_tasks_of_a_cluster_compile_for_sessions_that_ask_for_it(compiler: Compiler) -> None:
    with Graph().as_default() as graph:
        x = y = ops.placeholder("float32", [2])
        with graph.device("/job:worker/task:0" + BOX):
            for _ in range(6):
                y = y + x
    settings = ServerSettings(config=ConfigProto(device_count={"BOX": 1}))
    async with Server({"worker": ["127.0.0.1:0"]}, "worker", settings=settings) as server:
        for level, called in ((JitLevel.OFF, 0), (JitLevel.ON_1, 2)):
            async with AsyncSession(server.target, graph=graph, config=config_of(level)) as session:
                for _ in range(OFTEN + 2):
                    np.testing.assert_array_equal(await session.run(y, {x: [1.0, 2.0]}), [7.0, 14.0])
                    settle_compilers()
            assert compiler.called == called


def test_partial_runs_compile_as_well(compiler: Compiler) -> None:
    graph, x, y = chain()
    with session_of(graph) as session:
        for _ in range(OFTEN + 1):
            with session.partial([y], [x]) as run:
                np.testing.assert_array_equal(run.run(y, {x: [1.0, 2.0]}), [7.0, 14.0])
            settle_compilers()
    assert compiler.called == 1


def test_long_code_that_is_split_into_functions_calls_what_was_compiled(compiler: Compiler) -> None:
    """Of 2,000 lines, with subgraphs that end at nodes of the CPU's kernels or at their greatest length."""
    with Graph().as_default() as graph, graph.device(BOX):
        x = y = ops.placeholder("float32", [2])
        for k in range(900):
            y = ops.exp(y * 0.0) * x if k % 100 == 99 else y + x
    with session_of(graph) as session:
        assert len(session.explain(y, [x]).partitions[0].segments[0].lines) > 2000
        for _ in range(OFTEN + 2):
            np.testing.assert_array_equal(session.run(y, {x: [1.0, 2.0]}), [1.0, 2.0])
            settle_compilers()
    assert compiler.asked * 2 == compiler.called >= 18


@of_the_cpu_alone("that has a compiler")
def test_that_no_device_has_a_compiler_is_told_once(registrations: None, caplog: pytest.LogCaptureFixture) -> None:
    register_device_factory("BOX", Boxes())
    graph, x, y = chain()
    for _ in range(2):
        with session_of(graph) as session:
            np.testing.assert_array_equal(session.run(y, {x: [1.0, 2.0]}), [7.0, 14.0])
    assert [record.getMessage() for record in caplog.records] == [
        "global_jit_level compiles nothing: no device of the session has a compiler (BOX, CPU)"
    ]
