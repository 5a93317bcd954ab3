"""The counters of a server: process, sessions, and what is taken from other versions and strangers."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import actorsession
import actorsession as acts
from actorsession import AsyncSession, Graph, Server, ServerSettings, ops
from actorsession.cluster import OpenSession, ServerStatistics, read_statistics
from actorsession.cluster.server.process_memory import ProcessMemory, process_memory
from actorsession.config import ConfigProto, SessionMetadata
from actorsession.errors import ProtocolError
from tests.cluster.kit import W0, Gate, InProcess, eventually, on

ONE = {"worker": ["127.0.0.1:0"]}
SEEN = ServerStatistics(
    task=W0, sessions=1, worker_sessions=2, graphs=3, steps=4, rendezvous=5, runs=6, pushes=7,
    links=(), pid=8, version="1.2.3", uptime=9.5, memory=10, peak_memory=11, snapshot_every=60.0,
    snapshot_age=12.5, open_sessions=(OpenSession(session_handle="h", name="n", client="c", runs=13),),
)  # fmt: skip


async def test_a_server_says_which_process_it_is() -> None:
    async with Server(ONE) as server:
        seen = await read_statistics(server.target)
        assert (seen.pid, seen.version) == (os.getpid(), actorsession.__version__)
        assert 0 < seen.memory <= seen.peak_memory
        later = await read_statistics(server.target)
        assert 0 < seen.uptime < later.uptime
        assert (seen.snapshot_every, seen.snapshot_age, seen.snapshot_overdue) == (0.0, 0.0, False)


async def test_a_server_names_its_sessions_their_clients_and_their_steps(
    over_links: Any, cluster: InProcess, graph: Graph
) -> None:
    gate = Gate("counted")
    x = ops.placeholder("float32", [])
    with on(W0):
        end = gate(x)
    named = ConfigProto(
        experimental=acts.config.Experimental(session_metadata=SessionMetadata(name="training", version=1))
    )
    async with (
        AsyncSession(cluster.target(), graph=graph, config=named) as session,
        AsyncSession(cluster.target(), graph=Graph()) as other,
    ):
        gate.open()
        for number in range(3):
            await session.run(end, {x: float(number)})
        await other.list_devices()
        seen = await read_statistics(cluster.target())
        first, second = seen.open_sessions
        assert (first.name, first.steps, first.waiting, first.runs) == ("training", 0, 0, 3)
        assert (second.name, second.steps, second.waiting, second.runs) == ("", 0, 0, 0)
        assert first.session_handle != second.session_handle
        clients = {link.address for link in seen.links if link.peer == "client"}
        assert {first.client, second.client} <= clients
    await eventually(lambda: not cluster.server(W0).statistics().open_sessions)


async def test_the_age_of_a_snapshot_begins_anew_when_nothing_had_to_be_written(tmp_path: Path) -> None:
    async with Server(ONE, settings=ServerSettings(snapshot_dir=tmp_path, snapshot_every=0.05)) as server:
        ages = [0.0]

        def fell() -> bool:
            ages.append(server.statistics().snapshot_age)
            return ages[-1] < ages[-2]

        for _ in range(3):
            await eventually(fell)
        assert server.statistics().snapshot_every == 0.05
        assert len(list(tmp_path.glob("*.snapshot"))) == 1  # nothing has changed since the first


@pytest.mark.parametrize(
    ("every", "age", "overdue"), [(60.0, 61.0, False), (60.0, 129.0, False), (60.0, 131.0, True), (0.0, 1000.0, False)]
)
def test_a_snapshot_is_overdue_after_two_intervals_and_some_seconds(every: float, age: float, overdue: bool) -> None:
    assert replace(SEEN, snapshot_every=every, snapshot_age=age).snapshot_overdue is overdue


# -- over the wire ---------------------------------------------------------------------------------


def test_an_earlier_version_that_lacks_fields_is_understood() -> None:
    wire = SEEN.to_wire()
    for name in ("pid", "version", "uptime", "memory", "snapshot_age", "open_sessions"):
        del wire[name]
    seen = ServerStatistics.from_wire(wire)
    assert (seen.pid, seen.version, seen.uptime, seen.open_sessions) == (0, "", 0.0, ())
    assert seen.runs == SEEN.runs


def test_fields_that_a_later_version_has_are_left_out() -> None:
    wire = SEEN.to_wire()
    wire["temperature"] = 36.6
    wire["open_sessions"][0]["colour"] = ["red"]
    assert ServerStatistics.from_wire(wire) == SEEN


@pytest.mark.parametrize(
    "change",
    [
        {"task": 5},
        {"runs": "many"},
        {"uptime": None},
        {"version": b"1"},
        {"links": 5},
        {"links": [5]},
        {"links": [{}]},
        {"links": [{"peer": "x"}]},
        {"devices": [{"device": 7}]},
        {"open_sessions": [{"session_handle": None}]},
        {"open_sessions": {"session_handle": "h"}},
    ],
)
def test_a_stranger_s_values_of_other_types_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError, match="not the statistics of a server"):
        ServerStatistics.from_wire({**SEEN.to_wire(), **change})


@pytest.mark.parametrize("value", [{}, [], None, {"task": W0}])
def test_what_is_no_statistics_at_all_is_refused(value: Any) -> None:
    with pytest.raises(ProtocolError, match="not the statistics of a server"):
        ServerStatistics.from_wire(value)


# -- memory ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("VmHWM:\t  300 kB\nVmRSS:\t  200 kB\n", ProcessMemory(200 * 1024, 300 * 1024)),
        ("VmRSS:\t  200 kB\n", ProcessMemory(200 * 1024, 0)),
        ("VmRSS: much\nVmHWM:\nnonsense", ProcessMemory()),
        ("", ProcessMemory()),
    ],
)
def test_memory_that_the_system_does_not_tell_is_0(text: str, found: ProcessMemory, tmp_path: Path) -> None:
    path = tmp_path / "status"
    path.write_text(text)
    assert process_memory(path) == found
    assert process_memory(tmp_path / "none") == ProcessMemory()
