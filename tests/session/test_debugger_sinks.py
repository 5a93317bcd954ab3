"""Where the values that a debugged run watched go, and what happens when they cannot go there."""

from __future__ import annotations

import json
import logging
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import actorsession as acts
from actorsession.errors import InvalidArgumentError
from actorsession.runtime.debug.dump import ENTRY_BYTES
from tests.session.debugger_kit import watch, watch_all


@pytest.fixture
def sink() -> Iterator[list[acts.debugging.DebugDump]]:
    """What reaches ``sink://tests``."""
    taken: list[acts.debugging.DebugDump] = []
    acts.debugging.register_debug_sink("tests", taken.append)
    yield taken
    acts.debugging.unregister_debug_sink("tests")


async def test_a_function_gets_each_value(session: Any, log_of: Any, sink: list[acts.debugging.DebugDump]) -> None:
    x, z = log_of
    await session.run(z, {x: [0.0]}, watch("y", "z", debug_urls=["sink://tests"]))
    assert [d.node_name for d in sink] == ["y", "z"]
    assert session.session.debug_dumps() == []


@pytest.fixture
def broken() -> Iterator[str]:
    def fail(_: acts.debugging.DebugDump) -> None:
        raise ValueError("full up")

    acts.debugging.register_debug_sink("broken", fail)
    yield "sink://broken"
    acts.debugging.unregister_debug_sink("broken")


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
