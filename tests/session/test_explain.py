"""``session.explain`` in this process: it agrees with the run that follows, and leaves the session as it was."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given

from actorsession import (
    AsyncSession,
    ConfigProto,
    Explanation,
    Graph,
    GraphOptions,
    RunMetadata,
    RunOptions,
    Session,
    TraceLevel,
    ops,
)
from actorsession.compat import v1 as tf
from actorsession.extend import PassContext, PassGroup, PlacedGraph, register_graph_pass, registration_scope
from actorsession.testing.strategies import Recipe, graphs
from tests.rows import for_each
from tests.session.large_kit import large

TWO = ConfigProto(device_count={"CPU": 2})
TRACED = RunOptions(trace_level=TraceLevel.FULL_TRACE, output_partition_graphs=True)


async def explain(face: Any, *args: Any) -> Explanation:
    """The explanation by either kind of session, the synchronous one in a thread."""
    if isinstance(face.session, Session):
        return await asyncio.to_thread(face.session.explain, *args)
    explanation: Explanation = await face.session.explain(*args)
    return explanation


def two_devices(graph: Graph) -> tuple[Any, Any, Any]:
    x = ops.placeholder("float32", [None, 2], name="x")
    v = ops.Variable(np.ones((2, 2), np.float32), name="v")
    with graph.device("/cpu:1"):
        y = ops.matmul(x, v, name="y")
    return x, v, ops.reduce_sum(y, name="z")


async def test_both_kinds_of_sessions_explain(make_session: Any, graph: Graph) -> None:
    x, v, z = two_devices(graph)
    face = make_session(TWO)
    step = await explain(face, z, {x: np.ones((5, 2), np.float32)})
    assert [tensor.shape for tensor in step.feeds] == [(5, 2)]
    assert [m.kind for m in step.missing] == ["value"]
    assert {t.tensor.nbytes for t in step.transfers} == {16, 40}
    await face.run(v.initializer)
    assert (await explain(face, z, [x])).missing == ()
    assert [(m.kind, m.name) for m in (await explain(face, {"z": [z, v.initializer]})).missing] == [("feed", "x")]


async def test_an_explained_session_is_as_before(make_session: Any, graph: Graph) -> None:
    x, v, z = two_devices(graph)
    face = make_session(TWO)
    fed = {x: np.ones((5, 2), np.float32)}
    await face.run(v.initializer)
    await face.run(z, fed)

    def counters() -> Any:
        statistics = face.session.statistics()
        passes = [(p.name, p.runs, p.changes) for p in statistics.graph_passes]
        return statistics.cache, statistics.runs, statistics.variables, passes, statistics.growths, statistics.nodes

    before, kept = counters(), dict(face.session._requests)
    for _ in range(3):
        await explain(face, [z, v], fed)
        await explain(face, v.initializer)
    assert counters() == before
    assert dict(face.session._requests) == kept
    assert await face.run(z, fed) == 20.0


@for_each("pruned", [False, True])
async def test_explaining_first_places_nothing_for_later_runs(make_session: Any, graph: Graph, pruned: bool) -> None:
    options = GraphOptions(place_pruned_graph=pruned)
    face = make_session(ConfigProto(device_count={"CPU": 2}, graph_options=options))
    v = ops.Variable(1.0, name="v")
    first = await explain(face, v.initializer)
    with graph.device("/cpu:1"), graph.colocate_with(v.handle.op) if not pruned else graph.device(None):
        ops.identity(v.value(), name="later")
    await face.run(v.initializer)
    assert first.node("v").device.endswith("CPU:0")
    assert (await explain(face, v.initializer)).nodes == first.nodes


async def test_what_is_wrong_with_the_call_is_an_error(make_session: Any, graph: Graph) -> None:
    x, _, z = two_devices(graph)
    face = make_session(TWO)
    for wrong, error, match in [
        ((z, {x: np.ones(3)}), ValueError, "Cannot feed value of shape"),
        (("nothing:0",), ValueError, "nothing"),
        ((z, [z.op]), TypeError, "Cannot interpret feed_dict key"),
    ]:
        with pytest.raises(error, match=match):
            await explain(face, *wrong)
    await face.close()
    with pytest.raises(RuntimeError, match="closed"):
        await explain(face, z)


async def test_a_node_that_cannot_be_placed_is_part_of_the_explanation(make_session: Any, graph: Graph) -> None:
    with graph.device("/cpu:7"):
        y = ops.exp(ops.constant(1.0), name="y")
    (missing,) = (await explain(make_session(TWO), y)).missing
    assert missing.kind == "plan"
    assert "CPU:7" in missing.what


async def test_feeds_alone_need_no_plan(make_session: Any, graph: Graph) -> None:
    x = ops.placeholder("float32", [], name="x")
    step = await explain(make_session(), x, {x: 1.0})
    assert (step.nodes, step.missing, step.findings) == ((), (), ())


async def test_measured_costs_are_part_of_it(make_session: Any, graph: Graph) -> None:
    face = make_session(ConfigProto(graph_options=GraphOptions(build_cost_model=1)))
    y = ops.exp(ops.constant(np.ones(3, np.float32)) + ops.placeholder("float32", [None], name="x"), name="y")
    fed = {"x:0": np.ones(3, np.float32)}
    await face.run(y, fed)
    measured = (await explain(face, y, ["x:0"])).node("y")
    assert measured.measured
    assert measured.outputs[0].nbytes == 12


@pytest.mark.parametrize("build", [tf.py_func, tf.py_function])
async def test_nothing_runs(make_session: Any, build: Callable[..., Any]) -> None:
    calls: list[np.float32] = []

    def called() -> np.float32:
        calls.append(np.float32(1.0))
        return calls[-1]

    y = build(called, [], tf.float32)
    step = await explain(make_session(), y)
    assert calls == []
    assert "python" in [finding.kind for finding in step.findings]


async def test_a_large_graph_is_explained_beside_the_loop(graph: Graph) -> None:
    fetch = large(ops.placeholder("float32", [], name="x"), 4000)
    async with AsyncSession(graph=graph) as session:
        turns = 0
        explaining = asyncio.ensure_future(session.explain(fetch, ["x:0"]))
        while not explaining.done():
            turns += 1
            await asyncio.sleep(0)
        assert len((await explaining).nodes) >= 2000
        assert turns > 2


# -- agreement with what runs ----------------------------------------------------------------------
@given(recipe=graphs())
def test_the_explanation_of_a_random_graph_agrees_with_its_run(recipe: Recipe) -> None:
    graph = Graph()
    with Session(graph=graph, config=ConfigProto(device_count={"CPU": 3})) as session:
        placeholders, tensors = recipe.build(graph, lambda place: graph.device(f"/cpu:{place}"))
        fed = dict(zip(placeholders, recipe.fed(), strict=True))
        step = session.explain(tensors, fed)
        metadata = RunMetadata()
        session.run(tensors, fed, options=TRACED, run_metadata=metadata)
    stats = metadata.step_stats
    assert stats is not None
    assert {t.key for t in step.transfers} == {t.key for t in stats.transfers}
    sent = {t.key: t.nbytes for t in stats.transfers if t.kind == "send"}
    assert {t.key: t.tensor.nbytes for t in step.transfers} == sent
    device_of = {node.name: node.device for node in step.nodes}
    ran = {node.node: node.device for node in stats.nodes if not node.node.startswith("_")}
    assert {name: device_of[name] for name in ran} == ran
    inside = {
        (node.name, node.device)
        for partition in metadata.partition_graphs
        for node in partition.nodes
        if not node.op.startswith("_")
    }
    assert {name for name, _ in inside} == set(device_of)
    assert set(device_of.items()) <= inside


async def test_a_pass_of_a_program_says_what_it_did_where_a_step_is_explained(make_session: Any, graph: Graph) -> None:
    notes: list[bool] = []

    with registration_scope():

        @register_graph_pass(PassGroup.POST_REWRITE_FOR_EXEC, 5)
        def without_bees(placed: PlacedGraph, context: PassContext) -> PlacedGraph:
            notes.append(context.note is not None)
            kept = {n: replace(v, inputs=(("a", 0),)) if n == "c" else v for n, v in placed.graph.nodes.items()}
            del kept["b"]
            if context.note is not None:
                context.note("b", "bees are not wanted")
            return replace(placed, graph=replace(placed.graph, nodes=kept))

        a = ops.exp(ops.placeholder("float32", [], name="x"), name="a")
        c = ops.tanh(ops.sin(a, name="b"), name="c")
        face = make_session()
        step = await explain(face, c, ["x:0"])
        await face.run(c, {"x:0": 1.0})
    assert [(d.stage, d.why) for d in step.dropped if d.name == "b"] == [("without_bees", "bees are not wanted")]
    assert notes == [True, False]
    (seen,) = [p for p in face.session.statistics().graph_passes if p.name == "without_bees"]
    assert seen.runs == 1
