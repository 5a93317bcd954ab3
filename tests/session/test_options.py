"""Options of sessions and runs: names, state, planning, and what would have no effect."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import actorsession as acts
from actorsession import ops
from actorsession.config import Experimental, OptLevel, SessionMetadata
from actorsession.errors import DeadlineExceededError, FailedPreconditionError, InvalidArgumentError
from actorsession.extend import OptimiserSettings
from actorsession.plan.passes.optimise import optimiser_settings
from tests.rows import for_each
from tests.session.probe import Probe

Make = Callable[..., Any]


# -- state and names -------------------------------------------------------------------------------
def serving(name: str, version: int) -> acts.ConfigProto:
    metadata = SessionMetadata(name=name, version=version)
    return acts.ConfigProto(experimental=Experimental(session_metadata=metadata))


def test_a_session_that_could_not_be_made_takes_no_name(graph: acts.Graph) -> None:
    metadata = SessionMetadata(name="failed", version=1)
    bad = acts.ConfigProto(experimental=Experimental(session_metadata=metadata), device_filters=["nonsense::"])
    with pytest.raises(InvalidArgumentError, match="filter"):
        acts.Session(graph=graph, config=bad)
    with acts.Session(graph=graph, config=serving("failed", 1)):
        pass


# -- what would have no effect ---------------------------------------------------------------------
@pytest.mark.parametrize(
    ("config", "said"),
    [
        (acts.ConfigProto(placement_period=5), "placement_period=5 has no effect without a cost model"),
        (
            acts.ConfigProto(graph_options=acts.GraphOptions(build_cost_model_after=3)),
            r"graph_options\.build_cost_model_after=3 has no effect without a cost model",
        ),
        (
            acts.ConfigProto(placement_period=5, graph_options=acts.GraphOptions(timeline_step=2)),
            "set graph_options.build_cost_model to the number of runs",
        ),
    ],
    ids=["placement", "after", "placement with timelines"],
)
def test_what_needs_a_cost_model_is_refused_where_none_is_built(
    config: acts.ConfigProto, said: str, graph: acts.Graph
) -> None:
    for face in (acts.Session, acts.AsyncSession):
        with pytest.raises(InvalidArgumentError, match=said):
            face(graph=graph, config=config)


@pytest.mark.usefixtures("graph")
async def test_options_and_metadata_of_a_wrong_type_are_refused_before_anything_runs(make_session: Make) -> None:
    v = ops.Variable(0.0)
    count = v.assign_add(1.0)
    session = make_session()
    await session.run(v.initializer)
    call = session.callable(count, accept_options=True)
    wrong: list[Any] = [{}, {"timeout_in_ms": 3}, acts.ConfigProto(), acts.RunOptions, 5, "x"]
    for options in wrong:
        with pytest.raises(TypeError, match="options is a RunOptions, got"):
            await session.run(count, options=options)
        with pytest.raises(TypeError, match="options is a RunOptions, got"):
            await call(options=options)
    wrong = [{}, acts.RunOptions(), acts.RunMetadata, 5, "x"]
    for metadata in wrong:
        with pytest.raises(TypeError, match="run_metadata is a RunMetadata, got"):
            await session.run(count, run_metadata=metadata)
        with pytest.raises(TypeError, match="run_metadata is a RunMetadata, got"):
            await session.run([], run_metadata=metadata)
        with pytest.raises(TypeError, match="run_metadata is a RunMetadata, got"):
            await call(run_metadata=metadata)
    assert await session.run(v) == 0


@for_each("limit", [2**31, 2**62, 2**63 - 1])
async def test_a_limit_of_any_length_is_a_limit(limit: int, make_session: Make, graph: acts.Graph) -> None:
    x = ops.placeholder("float32", [])
    y = ops.py_func(lambda value: value, [x], "float32")  # which leaves the event loop
    session = make_session(acts.ConfigProto(operation_timeout_in_ms=limit))
    assert await session.run(y, {x: 1.0}) == 1
    assert await session.run(y, {x: 1.0}, options=acts.RunOptions(timeout_in_ms=limit)) == 1


# -- planning --------------------------------------------------------------------------------------
@for_each(
    "options, settings",
    [
        (acts.OptimizerOptions(), (True, True, 0)),
        (acts.OptimizerOptions(max_folded_constant_in_bytes=9), (True, True, 9)),
        (acts.OptimizerOptions(opt_level=OptLevel.L0), (False, False, 0)),
        (acts.OptimizerOptions(opt_level=OptLevel.L0, do_constant_folding=True), (False, True, 0)),
        (acts.OptimizerOptions(opt_level=OptLevel.L0, do_common_subexpression_elimination=True), (True, False, 0)),
    ],
    ids=["L1", "L1 with a limit", "L0", "L0 and folding", "L0 and merging"],
)
def test_level_1_stands_for_all_optimisations_and_level_0_for_those_that_are_named(
    options: acts.OptimizerOptions, settings: tuple[bool, bool, int]
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
        (acts.OptimizerOptions(), True, True),
        (acts.OptimizerOptions(opt_level=OptLevel.L0), False, False),
        (acts.OptimizerOptions(opt_level=OptLevel.L0, do_constant_folding=True), True, False),
        (acts.OptimizerOptions(opt_level=OptLevel.L0, do_common_subexpression_elimination=True), False, True),
        (acts.OptimizerOptions(max_folded_constant_in_bytes=3), False, True),
    ],
    ids=["L1", "L0", "L0 and folding", "L0 and merging", "L1 with a limit"],
)
async def test_optimizer_options_change_what_a_run_computes_and_not_its_values(
    options: acts.OptimizerOptions, folds: bool, merges: bool, make_session: Make, graph: acts.Graph
) -> None:
    x = ops.placeholder("float32", [], name="x")
    sum_ = ops.add(ops.constant(1.0), ops.constant(2.0), name="sum")
    one, other = ops.multiply(x, sum_, name="one"), ops.multiply(x, sum_, name="other")
    y = ops.subtract(one, other) + one
    session = make_session(acts.ConfigProto(graph_options=acts.GraphOptions(optimizer_options=options)))
    metadata = acts.RunMetadata()
    asked = acts.RunOptions(output_partition_graphs=True)
    assert await session.run(y, {x: 2.0}, options=asked, run_metadata=metadata) == 6.0
    types = {n.name: n.op for g in metadata.partition_graphs for n in g.nodes}
    assert types["sum"] == ("Const" if folds else "AddV2")
    assert ("other" in types) != merges


async def test_between_devices_of_one_process_nothing_is_narrowed(make_session: Make, graph: acts.Graph) -> None:
    """As in TensorFlow: bfloat16 is for what travels from task to task."""
    x = ops.placeholder("float32", [3])
    with graph.device("/cpu:0"):
        a = x * 1.0
    with graph.device("/cpu:1"):
        y = a + 0.0
    session = make_session(
        acts.ConfigProto(device_count={"CPU": 2}, graph_options=acts.GraphOptions(enable_bfloat16_sendrecv=True))
    )
    exact = np.array([1.0001, 3.14159, 7e-3], np.float32)
    np.testing.assert_array_equal(await session.run(y, {x: exact}), exact)


# -- static graphs ---------------------------------------------------------------------------------
STATIC = acts.ConfigProto(experimental=Experimental(optimize_for_static_graph=True))


async def test_a_static_graph_is_complete_at_the_first_run(make_session: Make, graph: acts.Graph) -> None:
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


KERNEL = "actorsession-kernel"
OWN_THREADS = acts.ConfigProto(device_count={"CPU": 2}, use_per_session_threads=True)


# -- limits in time --------------------------------------------------------------------------------
def slow_then_more(graph: acts.Graph, far: bool) -> tuple[Any, Probe, threading.Event]:
    """A node that takes longer than the limit, one behind it, and a switch that makes it fast."""
    fast = threading.Event()
    slow = Probe("slow", lambda: None if fast.is_set() else time.sleep(0.05), dear=False)
    after = Probe("after", dear=False)
    held = slow(ops.constant(1.0))
    with graph.device("/cpu:1" if far else "/cpu:0"):
        return after(held), after, fast


LIMITS = {
    "the session's": (acts.ConfigProto(operation_timeout_in_ms=20), None),
    "the run's": (acts.ConfigProto(), acts.RunOptions(timeout_in_ms=20)),
    "the run's before the session's": (
        acts.ConfigProto(operation_timeout_in_ms=60_000),
        acts.RunOptions(timeout_in_ms=20),
    ),
    "in the caller's thread": (acts.ConfigProto(inter_op_parallelism_threads=-1), acts.RunOptions(timeout_in_ms=20)),
}


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("far", [False, True], ids=["one call", "two devices"])
async def test_a_run_that_is_too_long_ends_between_two_nodes_with_deadline_exceeded(
    limit: str, far: bool, make_session: Make, graph: acts.Graph
) -> None:
    config, options = LIMITS[limit]
    config = acts.ConfigProto(
        **{n: getattr(config, n) for n in ("operation_timeout_in_ms", "inter_op_parallelism_threads")},
        device_count={"CPU": 2},
    )
    y, after, fast = slow_then_more(graph, far)
    session = make_session(config)
    whose = "run's" if options else "session's"
    with pytest.raises(DeadlineExceededError, match=rf"step .*exceeded the {whose} limit of 0\.02 s"):
        await session.run(y, options=options)
    assert after.threads == []
    assert session.session.statistics().steps == 0
    fast.set()
    assert await session.run(y, options=acts.RunOptions(timeout_in_ms=60_000)) == 1.0
    assert len(after.threads) == 1


async def test_a_step_that_has_done_everything_wins_over_its_limit(make_session: Make, graph: acts.Graph) -> None:
    """Nothing could end its last node, which holds the thread; to raise would hide what the step did."""
    y = Probe("last", lambda: time.sleep(0.05), dear=False)(ops.constant(1.0))
    session = make_session()
    await session.warm_up(y)  # on a busy machine the plan alone takes as long as the limit
    assert await session.run(y, options=acts.RunOptions(timeout_in_ms=20)) == 1.0


async def test_a_limit_ends_a_step_in_a_pool_of_the_session(make_session: Make, graph: acts.Graph) -> None:
    slow = Probe("pooled slow", lambda: time.sleep(0.5))
    after = Probe("pooled after")
    held = slow(ops.constant(1.0))
    y = after(held)
    session = make_session(acts.ConfigProto(use_per_session_threads=True))
    with pytest.raises(DeadlineExceededError, match=r"exceeded the run's limit of 0\.25 s") as info:
        await session.run(y, options=acts.RunOptions(timeout_in_ms=250))
    assert info.value.op is held.op
    assert slow.threads == [f"{KERNEL}-session_0"]
    assert after.threads == []


@pytest.mark.usefixtures("graph")
async def test_the_error_of_a_limit_names_the_node_that_was_awaited_and_its_line(make_session: Make) -> None:
    queue = ops.FIFOQueue(1, ["float32"], [[]])
    taken = queue.dequeue(name="taken")
    session = make_session(acts.ConfigProto(operation_timeout_in_ms=50))
    with pytest.raises(DeadlineExceededError) as info:
        await session.run(taken + 1.0)
    error = info.value
    assert (error.op, error.node) == (taken.op, "taken")
    assert "the session's limit of 0.05 s (operation_timeout_in_ms): 'taken' (Queue" in str(error)
    assert str(error).count(f"{error.source}") == 1
    assert str(error).count("taken") == 1


# -- kernels of a step that has failed -------------------------------------------------------------
def hold(begun: threading.Event, gate: threading.Event, back: threading.Event) -> None:
    """What a kernel does that is held until it is let go, and says that it has begun and come back."""
    begun.set()
    gate.wait(20)
    back.set()


def fails_while_another_runs(graph: acts.Graph) -> tuple[Any, threading.Event, threading.Event]:
    """A step of which one part is held in the pool while the other fails, what lets it go, and whether it
    has come back."""
    begun, gate, back = threading.Event(), threading.Event(), threading.Event()

    def fail() -> None:
        assert begun.wait(20), "the other part has not begun, which comes before this one"
        raise InvalidArgumentError("this part fails")

    held = Probe("held", lambda: hold(begun, gate, back))(ops.constant(1.0))
    with graph.device("/cpu:1"):
        failing = Probe("failing", fail, dear=False)(ops.constant(1.0))
    return [held, failing], gate, back


@pytest.mark.parametrize("variable", ["ACTORSESSION_SYNC_ON_FINISH", "TF_SYNC_ON_FINISH"])
@pytest.mark.parametrize("word", ["false", "0", "False"])
async def test_without_sync_on_finish_a_failed_step_does_not_wait_for_its_kernels(
    variable: str,
    word: str,
    make_session: Make,
    graph: acts.Graph,
    monkeypatch: pytest.MonkeyPatch,
    settle: Callable[[float], None],
) -> None:
    monkeypatch.setenv(variable, word)
    settle(60.0)  # who waits would wait until it is back
    fetches, gate, back = fails_while_another_runs(graph)
    session = make_session(OWN_THREADS)
    with pytest.raises(InvalidArgumentError, match="this part fails"):
        await session.run(fetches)
    assert not back.is_set()
    gate.set()


@pytest.mark.parametrize("word", [None, "true", "1", "maybe"])
async def test_a_failed_step_waits_for_its_kernels_by_default(
    word: str | None,
    make_session: Make,
    graph: acts.Graph,
    monkeypatch: pytest.MonkeyPatch,
    settle: Callable[[float], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    if word is not None:
        monkeypatch.setenv("TF_SYNC_ON_FINISH", word)
    settle(60.0)
    fetches, gate, back = fails_while_another_runs(graph)
    with caplog.at_level(logging.ERROR, "actorsession.config"):
        session = make_session(OWN_THREADS)
    assert ("TF_SYNC_ON_FINISH is ignored: 'maybe'" in caplog.text) == (word == "maybe")
    run = asyncio.create_task(session.run(fetches))
    done, _ = await asyncio.wait({run}, timeout=0.1)
    assert not done
    gate.set()
    with pytest.raises(InvalidArgumentError, match="this part fails"):
        await run
    assert back.is_set()


async def test_a_step_given_up_without_sync_on_finish_leaves_its_kernel_behind(
    graph: acts.Graph, monkeypatch: pytest.MonkeyPatch, settle: Callable[[float], None]
) -> None:
    monkeypatch.setenv("ACTORSESSION_SYNC_ON_FINISH", "false")
    settle(60.0)
    begun, gate, back = threading.Event(), threading.Event(), threading.Event()
    held = Probe("behind", lambda: hold(begun, gate, back))(ops.constant(1.0))
    async with acts.AsyncSession(graph=graph) as session:
        with pytest.raises(DeadlineExceededError):
            await session.run(held, options=acts.RunOptions(timeout_in_ms=20))
        assert not back.is_set()
        gate.set()
        assert await session.run(held) == 1.0
