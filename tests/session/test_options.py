"""Options of sessions and runs: names, state, planning, and what would have no effect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from actorsession import (
    AsyncSession,
    ConfigProto,
    Graph,
    GraphOptions,
    OptimizerOptions,
    RunMetadata,
    RunOptions,
    Session,
    ops,
)
from actorsession.config import Experimental, OptLevel, SessionMetadata
from actorsession.errors import FailedPreconditionError, InvalidArgumentError
from actorsession.extend import OptimiserSettings
from actorsession.plan.passes.optimise import optimiser_settings
from tests.rows import for_each

Make = Callable[..., Any]


# -- state and names -------------------------------------------------------------------------------


def serving(name: str, version: int) -> ConfigProto:
    metadata = SessionMetadata(name=name, version=version)
    return ConfigProto(experimental=Experimental(session_metadata=metadata))


def test_a_session_that_could_not_be_made_takes_no_name(graph: Graph) -> None:
    metadata = SessionMetadata(name="failed", version=1)
    bad = ConfigProto(experimental=Experimental(session_metadata=metadata), device_filters=["nonsense::"])
    with pytest.raises(InvalidArgumentError, match="filter"):
        Session(graph=graph, config=bad)
    with Session(graph=graph, config=serving("failed", 1)):
        pass


# -- what would have no effect ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("config", "said"),
    [
        (ConfigProto(placement_period=5), "placement_period=5 has no effect without a cost model"),
        (
            ConfigProto(graph_options=GraphOptions(build_cost_model_after=3)),
            r"graph_options\.build_cost_model_after=3 has no effect without a cost model",
        ),
        (
            ConfigProto(placement_period=5, graph_options=GraphOptions(timeline_step=2)),
            "set graph_options.build_cost_model to the number of runs",
        ),
    ],
    ids=["placement", "after", "placement with timelines"],
)
def test_what_needs_a_cost_model_is_refused_where_none_is_built(config: ConfigProto, said: str, graph: Graph) -> None:
    for face in (Session, AsyncSession):
        with pytest.raises(InvalidArgumentError, match=said):
            face(graph=graph, config=config)


async def test_options_and_metadata_of_a_wrong_type_are_refused_before_anything_runs(
    make_session: Make, graph: Graph
) -> None:
    v = ops.Variable(0.0)
    count = v.assign_add(1.0)
    session = make_session()
    await session.run(v.initializer)
    call = session.callable(count, accept_options=True)
    wrong: list[Any] = [{}, {"timeout_in_ms": 3}, ConfigProto(), RunOptions, 5, "x"]
    for options in wrong:
        with pytest.raises(TypeError, match="options is a RunOptions, got"):
            await session.run(count, options=options)
        with pytest.raises(TypeError, match="options is a RunOptions, got"):
            await call(options=options)
    wrong = [{}, RunOptions(), RunMetadata, 5, "x"]
    for metadata in wrong:
        with pytest.raises(TypeError, match="run_metadata is a RunMetadata, got"):
            await session.run(count, run_metadata=metadata)
        with pytest.raises(TypeError, match="run_metadata is a RunMetadata, got"):
            await session.run([], run_metadata=metadata)
        with pytest.raises(TypeError, match="run_metadata is a RunMetadata, got"):
            await call(run_metadata=metadata)
    assert await session.run(v) == 0


@for_each("limit", [2**31, 2**62, 2**63 - 1])
async def test_a_limit_of_any_length_is_a_limit(limit: int, make_session: Make, graph: Graph) -> None:
    x = ops.placeholder("float32", [])
    y = ops.py_func(lambda value: value, [x], "float32")  # which leaves the event loop
    session = make_session(ConfigProto(operation_timeout_in_ms=limit))
    assert await session.run(y, {x: 1.0}) == 1
    assert await session.run(y, {x: 1.0}, options=RunOptions(timeout_in_ms=limit)) == 1


# -- planning --------------------------------------------------------------------------------------


@for_each(
    "options, settings",
    [
        (OptimizerOptions(), (True, True, 0)),
        (OptimizerOptions(max_folded_constant_in_bytes=9), (True, True, 9)),
        (OptimizerOptions(opt_level=OptLevel.L0), (False, False, 0)),
        (OptimizerOptions(opt_level=OptLevel.L0, do_constant_folding=True), (False, True, 0)),
        (OptimizerOptions(opt_level=OptLevel.L0, do_common_subexpression_elimination=True), (True, False, 0)),
    ],
    ids=["L1", "L1 with a limit", "L0", "L0 and folding", "L0 and merging"],
)
def test_level_1_stands_for_all_optimisations_and_level_0_for_those_that_are_named(
    options: OptimizerOptions, settings: tuple[bool, bool, int]
) -> None:
    merges, folds, limit = settings
    assert optimiser_settings(options) == OptimiserSettings(
        do_common_subexpression_elimination=merges,
        do_constant_folding=folds,
        max_folded_constant_in_bytes=limit,
        do_functionalization=options.opt_level is OptLevel.L1,
        do_control_edge_grouping=options.opt_level is OptLevel.L1,
    )


@for_each(
    "options, folds, merges",
    [
        (OptimizerOptions(), True, True),
        (OptimizerOptions(opt_level=OptLevel.L0), False, False),
        (OptimizerOptions(opt_level=OptLevel.L0, do_constant_folding=True), True, False),
        (OptimizerOptions(opt_level=OptLevel.L0, do_common_subexpression_elimination=True), False, True),
        (OptimizerOptions(max_folded_constant_in_bytes=3), False, True),
    ],
    ids=["L1", "L0", "L0 and folding", "L0 and merging", "L1 with a limit"],
)
async def test_optimizer_options_change_what_a_run_computes_and_not_its_values(
    options: OptimizerOptions, folds: bool, merges: bool, make_session: Make, graph: Graph
) -> None:
    x = ops.placeholder("float32", [], name="x")
    sum_ = ops.add(ops.constant(1.0), ops.constant(2.0), name="sum")
    one, other = ops.multiply(x, sum_, name="one"), ops.multiply(x, sum_, name="other")
    y = ops.subtract(one, other) + one
    session = make_session(ConfigProto(graph_options=GraphOptions(optimizer_options=options)))
    metadata = RunMetadata()
    asked = RunOptions(output_partition_graphs=True)
    assert await session.run(y, {x: 2.0}, options=asked, run_metadata=metadata) == 6.0
    types = {n.name: n.op for g in metadata.partition_graphs for n in g.nodes}
    assert types["sum"] == ("Const" if folds else "AddV2")
    assert ("other" in types) != merges


async def test_between_devices_of_one_process_nothing_is_narrowed(make_session: Make, graph: Graph) -> None:
    """As in TensorFlow: bfloat16 is for what travels from task to task."""
    x = ops.placeholder("float32", [3])
    with graph.device("/cpu:0"):
        a = x * 1.0
    with graph.device("/cpu:1"):
        y = a + 0.0
    session = make_session(
        ConfigProto(device_count={"CPU": 2}, graph_options=GraphOptions(enable_bfloat16_sendrecv=True))
    )
    exact = np.array([1.0001, 3.14159, 7e-3], np.float32)
    np.testing.assert_array_equal(await session.run(y, {x: exact}), exact)


# -- static graphs ---------------------------------------------------------------------------------

STATIC = ConfigProto(experimental=Experimental(optimize_for_static_graph=True))


async def test_a_static_graph_is_complete_at_the_first_run(make_session: Make, graph: Graph) -> None:
    """1. Nodes may be added until the first run. 2. What needs a new plan then fails while there are nodes
    that were added later. 3. What was planned before goes on."""
    session = make_session(STATIC)
    x = ops.placeholder("float32", [])
    y, z = x * 2.0, x * 3.0
    assert await session.run(y, {x: 1.0}) == 2.0
    assert await session.run(z, {x: 1.0}) == 3.0
    late = ops.add(y, 1.0, name="late")
    for fetches in (late, [y, z]):
        with pytest.raises(FailedPreconditionError, match=r"grown since .*'late'.*optimize_for_static"):
            await session.run(fetches, {x: 1.0})
    assert await session.run(y, {x: 2.0}) == 4.0
