"""Debugged partial runs: what is watched as the feeds come, in both faces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from actorsession import Graph, RunOptions, TraceLevel, ops
from actorsession.errors import InvalidArgumentError
from actorsession.observe.debug import DebugDumpDir
from tests.session.debugger_kit import BREAK, seen, watch, watch_all
from tests.session.partial_kit import Stages


async def test_values_are_watched_as_their_feeds_come(session: Any, stages: Stages) -> None:
    run = await session.partial_run_setup([stages.first, stages.second], stages.feeds, watch_all(global_step=3))
    assert session.session.debug_dumps() == []
    assert await session.partial_run(run, stages.first, {stages.a: 1, stages.b: 2}) == 3
    names = {d.tensor_name for d in session.session.debug_dumps()}
    assert names == {stages.a.name, stages.b.name, stages.first.name}
    assert session.session.debug_reports() == []
    assert await session.partial_run(run, stages.second, {stages.c: 10}) == 30
    values = {d.tensor_name: d.value.tolist() for d in session.session.debug_dumps()}
    assert values == {
        stages.a.name: 1,
        stages.b.name: 2,
        stages.c.name: 10,
        stages.first.name: 3,
        stages.second.name: 30,
    }
    (report,) = session.session.debug_reports()
    assert (report.seen, report.kept, report.global_step, report.error) == (5, 5, 3, "")


async def test_a_fed_tensor_has_the_op_type_of_its_node(session: Any, stages: Stages) -> None:
    async with session.partial(stages.first, stages.feeds, watch(stages.a.op.name)) as run:
        await run.run(stages.first, {stages.a: 1, stages.b: 2})
        (dump,) = session.session.debug_dumps()
        assert (dump.tensor_name, dump.op_type) == (stages.a.name, "Placeholder")


async def test_a_run_that_is_left_has_a_report_of_what_was_seen(session: Any, stages: Stages) -> None:
    async with session.partial([stages.first, stages.second], stages.feeds, watch_all()) as run:
        await run.run(stages.first, {stages.a: 1, stages.b: 2})
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
