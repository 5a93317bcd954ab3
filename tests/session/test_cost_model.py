"""Sessions that measure their steps: which are recorded, and what the costs change in plans made later."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import actorsession as acts
from actorsession import ops
from actorsession.config import NodeStats, StepStats
from tests.default_device import BESIDE, LOCAL, TYPE
from tests.rows import for_each
from tests.session.inner import direct_session

DEVICE = f"{LOCAL}{TYPE}:"
# So many that no step of a test is recorded: the test says what nodes cost.
NEVER = 10**6
X = np.linspace(-1, 1, 4, dtype=np.float32)


def measuring(every: int = 1, after: int = 0) -> acts.ConfigProto:
    options = acts.GraphOptions(build_cost_model=every, build_cost_model_after=after)
    return acts.ConfigProto(device_count={TYPE: 2}, graph_options=options)


def placing(period: int = 1, devices: int = 3, **options: Any) -> acts.ConfigProto:
    return acts.ConfigProto(
        device_count={TYPE: devices},
        placement_period=period,
        # Two threads wherever the tests run: on one nothing is won by a second device.
        inter_op_parallelism_threads=2,
        use_per_session_threads=True,
        graph_options=acts.GraphOptions(build_cost_model=1, build_cost_model_after=NEVER, **options),
    )


def teach(session: Any, **seconds: float) -> None:
    """Makes the session's cost model believe that nodes took so long."""
    nodes = [NodeStats(f"{DEVICE}0", n, "Op", 0.0, s, "main", 16) for n, s in seconds.items()]
    session._session.cost_model.record(StepStats(1, nodes))


def model_of(session: Any) -> Any:
    return session._session.cost_model


def two_chains() -> acts.Tensor:
    """Two chains of three nodes on one input, and their sum."""
    x = ops.placeholder("float32", [4], name="x")
    ends = []
    for chain, kind in (("a", ops.tanh), ("b", ops.exp)):
        y = x
        for i in range(3):
            y = kind(y, name=f"{chain}{i}")
        ends.append(y)
    return ops.add(ends[0], ends[1], name="end")


HEAVY = {f"{chain}{i}": 0.01 for chain in "ab" for i in range(3)}


def taught(make_session: Any, period: int = 1, **options: Any) -> tuple[Any, acts.Tensor]:
    """A session that believes that two chains are heavy, and their sum."""
    face, end = make_session(placing(period, **options)), two_chains()
    teach(face.session, **HEAVY)
    return face, end


# -- which steps are recorded ----------------------------------------------------------------------
@for_each(
    "every, after, recorded",
    [(1, 0, [0, 1, 2, 3, 4, 5]), (2, 0, [1, 3, 5]), (2, 1, [2, 4]), (3, 2, [4]), (1, 4, [4, 5])],
)
async def test_every_nth_run_of_a_plan_is_recorded_after_those_left_out(
    make_session: Any, graph: acts.Graph, every: int, after: int, recorded: list[int]
) -> None:
    """As in TensorFlow: run ``i`` counts if ``(i - after + 1) % every == 0``."""
    face = make_session(measuring(every, after))
    x = ops.placeholder("float32", [], name="x")
    y = ops.add(x, 1.0, name="y")
    for other in (y, ops.multiply(x, 2.0, name="z")):
        seen = []
        for i in range(6):
            metadata = acts.RunMetadata()
            await face.run(other, {x: 1.0}, run_metadata=metadata)
            if metadata.cost_graph.node:
                seen.append(i)
                assert metadata.step_stats is not None, "as in TensorFlow"
            else:
                assert metadata.step_stats is None
        assert seen == recorded
    assert face.session.statistics().model_steps == 2 * len(recorded)


async def test_the_cost_graph_has_each_node_with_what_it_took(make_session: Any, graph: acts.Graph) -> None:
    face = make_session(measuring())
    metadata = acts.RunMetadata()
    await face.run(two_chains(), {"x:0": X}, run_metadata=metadata)
    nodes = {n.name: n for n in metadata.cost_graph.node}
    assert set(HEAVY) | {"end", "_arg/x/0"} == set(nodes)
    end = nodes["end"]
    by_id = {n.id: n.name for n in nodes.values()}
    assert [by_id[i.preceding_node] for i in end.input_info] == ["a2", "b2"]
    assert end.output_info[0].size == 16
    assert end.output_info[0].shape == (4,)
    assert end.device == f"{DEVICE}0"
    measured = model_of(face.session).cost("end")
    assert end.compute_cost == round(measured.most_seconds * 1e6)


async def test_tracing_alone_feeds_no_model_and_gives_no_cost_graph(make_session: Any, graph: acts.Graph) -> None:
    face = make_session(measuring(after=NEVER))
    metadata = acts.RunMetadata()
    traced = acts.RunOptions(trace_level=acts.TraceLevel.FULL_TRACE)
    await face.run(two_chains(), {"x:0": X}, options=traced, run_metadata=metadata)
    assert metadata.step_stats is not None
    assert metadata.cost_graph.node == ()
    assert len(model_of(face.session)) == 0


async def test_a_debugged_run_is_not_measured(make_session: Any, graph: acts.Graph) -> None:
    from actorsession.config import DebugOptions, DebugTensorWatch

    face = make_session(measuring())
    watch = DebugTensorWatch(node_name="a0", debug_ops=("DebugIdentity",), debug_urls=("memory://",))
    options = acts.RunOptions(debug_options=DebugOptions(debug_tensor_watch_opts=(watch,)))
    await face.run(two_chains(), {"x:0": X}, options=options)
    assert face.session.statistics().model_steps == 0
    face.session.clear_debug_dumps()


async def test_averages_follow_the_steps(make_session: Any, graph: acts.Graph) -> None:
    face = make_session(measuring())
    end = two_chains()
    for _ in range(3):
        await face.run(end, {"x:0": X})
    cost = model_of(face.session).cost("a0")
    assert (cost.steps, cost.runs) == (3, 3)
    assert 0 < cost.seconds <= cost.most_seconds
    assert cost.output_bytes == (16.0,)


# -- inline or in the pool -------------------------------------------------------------------------
async def test_a_plan_made_later_starts_from_measured_times(graph: acts.Graph) -> None:
    """Small tensors would run on the loop; nodes that were measured to be dear do not."""
    end = two_chains()
    async with acts.AsyncSession(graph=graph, config=measuring(after=NEVER)) as session:
        first = await session.run(end, {"x:0": X})
        assert session.statistics().offloaded == 0
        teach(session, **HEAVY)
        part = await session.run("a2:0", {"x:0": X})
        assert session.statistics().offloaded == 1
        await session.run("a2:0", {"x:0": X})
        second = await session.run(end, {"x:0": X})
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(part, np.tanh(np.tanh(np.tanh(X))))


# -- placement -------------------------------------------------------------------------------------
async def test_two_heavy_chains_land_on_two_devices(make_session: Any, graph: acts.Graph) -> None:
    face = make_session(placing(period=2))
    end = two_chains()
    session = face.session
    teach(session, **HEAVY)
    before = await face.run(end, {"x:0": X})
    assert {p.device for p in direct_session(session).placement().values()} == {f"{DEVICE}0"}
    await face.run(end, {"x:0": X})
    placed = direct_session(session).placement()
    devices = [{placed[f"{chain}{i}"].device for i in range(3)} for chain in "ab"]
    assert [len(d) for d in devices] == [1, 1]
    assert devices[0] != devices[1]
    moved = [p for p in placed.values() if p.reason.startswith("cost model: ")]
    assert len(moved) == 3
    assert all("is estimated to take 30.1 ms in place of 60.1 ms" in p.reason for p in moved)
    np.testing.assert_array_equal(await face.run(end, {"x:0": X}), before)


async def test_a_new_placement_drops_the_plans_and_the_next_run_plans_anew(
    make_session: Any, graph: acts.Graph
) -> None:
    face, end = taught(make_session, period=3)
    for _ in range(2):
        await face.run(end, {"x:0": X})
    before = face.session.statistics()
    assert (before.placements, before.cache.plans, before.cache.misses) == (0, 1, 1)
    await face.run(end, {"x:0": X})
    placed = face.session.statistics()
    assert (placed.placements, placed.cache.plans) == (1, 0)
    metadata = acts.RunMetadata()
    both = acts.RunOptions(trace_level=acts.TraceLevel.FULL_TRACE, output_partition_graphs=True)
    await face.run(end, {"x:0": X}, options=both, run_metadata=metadata)
    after = face.session.statistics()
    assert (after.placements, after.cache.plans, after.cache.misses) == (1, 1, 2)
    assert len(metadata.partition_graphs) == 2 + len(BESIDE)  # feeds enter by the CPU
    assert metadata.step_stats is not None
    threads = [n.thread for n in metadata.step_stats.nodes if n.node in HEAVY]
    assert all(name.startswith("actorsession-kernel") for name in threads), "each chain in the pool"


async def test_once_placed_well_nothing_moves_again(make_session: Any, graph: acts.Graph) -> None:
    face, end = taught(make_session)
    for _ in range(5):
        await face.run(end, {"x:0": X})
    assert face.session.statistics().placements == 1


@pytest.mark.usefixtures("graph")
async def test_looks_that_change_nothing_become_rare(make_session: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    face = make_session(placing(period=2))
    end = two_chains()
    observed = face.session._session
    runs, looks, look = 0, [], observed._check_placement

    def noted() -> bool:
        looks.append(runs)
        return bool(look())

    monkeypatch.setattr(observed, "_check_placement", noted)
    teach(face.session, **dict.fromkeys(HEAVY, 20e-6))
    for _ in range(32):
        runs += 1
        await face.run(end, {"x:0": X})
    assert looks == [2, 6, 14, 30]


async def test_nothing_moves_without_a_period_or_without_measurements(make_session: Any, graph: acts.Graph) -> None:
    end = two_chains()
    unmeasured, without = make_session(placing(period=1)), make_session(measuring(after=NEVER))
    teach(without.session, **HEAVY)
    for face in (unmeasured, without):
        for _ in range(3):
            await face.run(end, {"x:0": X})
        assert face.session.statistics().placements == 0


async def test_cheap_nodes_stay_together(make_session: Any, graph: acts.Graph) -> None:
    face = make_session(placing(period=1))
    end = two_chains()
    teach(face.session, **dict.fromkeys(HEAVY, 20e-6))
    await face.run(end, {"x:0": X})
    assert face.session.statistics().placements == 0


async def test_what_somebody_asked_for_or_what_has_state_stays(make_session: Any, graph: acts.Graph) -> None:
    x = ops.placeholder("float32", [4], name="x")
    with graph.device(f"/device:{TYPE}:0"):
        asked = ops.tanh(x, name="asked")
    v = ops.Variable(X, name="v")
    with graph.colocate_with(v.handle.op):
        tied = ops.exp(x, name="tied")
    noise = ops.random_uniform([4], name="noise", seed=1)
    update = v.assign_add(noise, name="update")
    free = ops.negative(x, name="free")
    with graph.control_dependencies([update]):
        end = ops.add_n([free, tied, asked, v.read_value()], name="end")
    face = make_session(placing(period=1))
    await face.run(v.initializer)
    teach(face.session, **dict.fromkeys([op.name for op in graph.get_operations()], 1e-3))
    teach(face.session, free=0.1, tied=0.1)
    await face.run(end, {"x:0": X})
    placed = direct_session(face.session).placement()
    stays = {op.name for op in graph.get_operations() if op.name.startswith(("v", "update"))}
    stays |= {"asked", "tied"} | {n.name for n in graph.get_operations() if "Random" in n.type}
    assert {placed[name].device for name in stays} == {f"{DEVICE}0"}
    assert not any(placed[name].reason.startswith("cost model") for name in stays)
    assert placed["free"].device != f"{DEVICE}0"


async def test_the_plan_that_takes_most_decides_and_the_others_must_not_lose(
    make_session: Any, graph: acts.Graph
) -> None:
    """Apart, the chains win by two devices; a step that runs ``end`` alone does not see them."""
    face = make_session(placing(period=4))
    end = two_chains()
    small = ops.exp(graph.get_tensor_by_name("x:0"), name="small")
    teach(face.session, **HEAVY)
    for fetch in (small, end, small, end):
        await face.run(fetch, {"x:0": X})
    assert face.session.statistics().placements == 1
    assert direct_session(face.session).placement()["small"].device == f"{DEVICE}0"


async def test_a_node_that_new_nodes_are_tied_to_goes_back(make_session: Any, graph: acts.Graph) -> None:
    face, end = taught(make_session)
    await face.run(end, {"x:0": X})
    moved = [n for n, p in direct_session(face.session).placement().items() if p.reason.startswith("cost model")]
    with graph.colocate_with(graph.get_operation_by_name(moved[0])):
        tied = ops.exp(end, name="tied")
    await face.run(tied, {"x:0": X})
    placed = direct_session(face.session).placement()
    assert placed["tied"].device == placed[moved[0]].device


async def test_a_pruned_placement_is_placed_anew_too(make_session: Any, graph: acts.Graph) -> None:
    face, end = taught(make_session, period=1, place_pruned_graph=True)
    before = await face.run(end, {"x:0": X})
    metadata = acts.RunMetadata()
    graphs = acts.RunOptions(output_partition_graphs=True)
    after = await face.run(end, {"x:0": X}, options=graphs, run_metadata=metadata)
    np.testing.assert_array_equal(before, after)
    assert len(metadata.partition_graphs) == 2 + len(BESIDE)  # feeds enter by the CPU


async def test_a_new_placement_is_logged(make_session: Any, graph: acts.Graph, caplog: Any) -> None:
    face = make_session(placing(period=1))
    teach(face.session, **HEAVY)
    with caplog.at_level(logging.INFO, "actorsession.session"):
        await face.run(two_chains(), {"x:0": X})
    assert "3 nodes moved; cost model: a step is estimated to take" in caplog.text


async def test_a_callable_keeps_giving_the_same_value(make_session: Any, graph: acts.Graph) -> None:
    face = make_session(placing(period=1))
    end = two_chains()
    prepared = face.callable(end, ["x:0"])
    first = await prepared(X)
    teach(face.session, **HEAVY)
    await face.run(end, {"x:0": X})
    assert face.session.statistics().placements == 1
    np.testing.assert_array_equal(await prepared(X), first)


UNARY = (ops.tanh, ops.exp, ops.negative, ops.identity)
BINARY = (ops.add, ops.multiply, ops.maximum)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[acts.Graph, list[acts.Tensor], dict[str, float]]:
    """A graph over three devices, all its tensors, and what its nodes are said to cost."""
    with acts.Graph().as_default() as graph:
        tensors = [ops.placeholder("float32", [4], name="x")]
        v = ops.Variable(X, name="v")
        for i in range(draw(st.integers(2, 10))):
            asked = draw(st.sampled_from(["", "", "", *[f"/device:{TYPE}:{i}" for i in range(3)]]))
            after = draw(st.lists(st.sampled_from(tensors[1:]), max_size=1)) if i else []
            with graph.device(asked or None), graph.control_dependencies([t.op for t in after]):
                left, right = (draw(st.sampled_from(tensors)) for _ in range(2))
                kind = draw(st.integers(0, 2))
                if kind == 0:
                    made = draw(st.sampled_from(UNARY))(left, name=f"n{i}")
                elif kind == 1:
                    made = draw(st.sampled_from(BINARY))(left, right, name=f"n{i}")
                else:
                    made = ops.add(v.read_value(), left, name=f"n{i}")
            tensors.append(made)
    costs = {
        op.name: draw(st.sampled_from([1e-6, 0.004, 0.05])) for op in graph.get_operations() if op.name.startswith("n")
    }
    return graph, tensors[1:], costs


@settings(max_examples=40, deadline=None)
@given(graphs())
def test_values_are_the_same_before_and_after(drawn: tuple[acts.Graph, list[acts.Tensor], dict[str, float]]) -> None:
    graph, tensors, costs = drawn
    with acts.Session(graph=graph, config=placing(period=2)) as session:
        session.run(graph.get_operation_by_name("v/Assign"))
        before = session.run(tensors, {"x:0": X})
        teach(session, **costs)
        session.run(tensors, {"x:0": X})
        session.run(tensors, {"x:0": X})
        after = session.run(tensors, {"x:0": X})
    for old, new in zip(before, after, strict=True):
        np.testing.assert_array_equal(old, new)
