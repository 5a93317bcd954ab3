"""Statistics as Prometheus reads them: a strict reader gets back the numbers, under names with units."""

from __future__ import annotations

import asyncio
import math
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from actorsession import AsyncSession, Graph, Session, ops
from actorsession.cluster import OpenSession, ServerStatistics
from actorsession.cluster.server import statistics as server_statistics
from actorsession.errors import DeadlineExceededError, InvalidArgumentError
from actorsession.extend import PassStatistics
from actorsession.metrics import BOUNDS, HistogramCounts
from actorsession.plan.plan_cache import CacheStatistics
from actorsession.prometheus import Metric, MetricFamily, exposition, metric_families
from actorsession.rpc import LinkStatistics, link_statistics
from actorsession.runtime.engine import executor_statistics
from actorsession.session import statistics as session_statistics

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]

_SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)")
_PAIR = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,(?=.)|$)')
_UNESCAPED = {r"\\": "\\", r"\"": '"', r"\n": "\n"}


def read(text: str) -> tuple[Samples, dict[str, str]]:
    """The samples of a text and the type of each family; fails where Prometheus would."""
    samples: Samples = {}
    types: dict[str, str] = {}
    helped: set[str] = set()
    family = ""
    assert text.endswith("\n")
    for line in text[:-1].split("\n"):
        if line.startswith("# HELP "):
            family, words = line.removeprefix("# HELP ").split(" ", 1)
            assert family not in helped, f"{family} is explained twice"
            assert words
            helped.add(family)
        elif line.startswith("# TYPE "):
            name, kind = line.removeprefix("# TYPE ").split(" ")
            assert name == family, f"the type of {name} is not below its help"
            assert name not in types
            assert kind in ("counter", "gauge", "histogram")
            types[name] = kind
        else:
            found = _SAMPLE.fullmatch(line)
            assert found is not None, f"not a sample: {line!r}"
            assert family in types
            parts = ("_bucket", "_sum", "_count") if types[family] == "histogram" else ("",)
            assert found[1] in [family + part for part in parts], f"{found[1]} is not among its family"
            key = (found[1], frozenset(pairs(found[2] or "").items()))
            assert key not in samples, f"{line!r} comes twice"
            samples[key] = float(found[3])
    return samples, types


def pairs(text: str) -> dict[str, str]:
    """The labels between braces."""
    found, at = {}, 0
    while at < len(text):
        pair = _PAIR.match(text, at)
        assert pair is not None, f"not a label: {text[at:]!r}"
        assert pair[1] not in found
        found[pair[1]] = re.sub(r"\\.", lambda escape: _UNESCAPED[escape[0]], pair[2])
        at = pair.end()
    return found


def value(samples: Samples, name: str, **labels: str) -> float:
    return samples[name, frozenset(labels.items())]


# -- the text --------------------------------------------------------------------------------------


def gauge(name: str, *samples: tuple[dict[str, str], float], words: str = "Words.") -> MetricFamily:
    return MetricFamily(f"actorsession_{name}", "gauge", words, samples)


def test_no_family_is_no_text() -> None:
    assert exposition([]) == ""


def test_labels_and_help_are_escaped() -> None:
    odd = 'a "b" \\ c\nd, e="f"}'
    text = exposition([gauge("x", ({"of": odd}, 1), words="one\\two\nthree")])
    assert text.splitlines()[0] == r"# HELP actorsession_x one\\two\nthree"
    assert read(text)[0] == {("actorsession_x", frozenset({("of", odd)})): 1.0}


def test_families_of_one_name_stand_together_and_samples_with_the_same_labels_are_added() -> None:
    first = [gauge("x", ({"of": "a"}, 1)), gauge("y", ({}, 5))]
    second = [gauge("x", ({"of": "b"}, 2)), gauge("x", ({"of": "a"}, 10))]
    samples, types = read(exposition([*first, *second]))
    assert value(samples, "actorsession_x", of="a") == 11
    assert value(samples, "actorsession_x", of="b") == 2
    assert value(samples, "actorsession_y") == 5
    assert list(types) == ["actorsession_x", "actorsession_y"]


def test_numbers_that_are_not_finite_are_written_as_prometheus_does() -> None:
    numbers = {"a": math.inf, "b": -math.inf, "c": math.nan, "d": 0.1, "e": 2**63}
    text = exposition([gauge("x", *[({"of": of}, number) for of, number in numbers.items()])])
    assert [line.split(" ")[1] for line in text.splitlines()[2:]] == [
        "+Inf",
        "-Inf",
        "NaN",
        "0.1",
        "9223372036854775808",
    ]


@pytest.mark.parametrize(
    ("name", "kind", "labels"),
    [
        ("other_x", "gauge", {}),
        ("actorsession_X", "gauge", {}),
        ("actorsession_x", "counter", {}),
        ("actorsession_x_total", "gauge", {}),
        ("actorsession_x", "gauge", {"no-label": ""}),
        ("actorsession_x", "gauge", {"__name__": ""}),
        ("actorsession_x", "histogram", {"le": ""}),
    ],
)
def test_a_name_that_prometheus_or_its_users_would_not_take_is_refused(
    name: str, kind: Any, labels: dict[str, str]
) -> None:
    with pytest.raises(ValueError, match="got "):
        MetricFamily(name, kind, "Words.", [(labels, 1)])


def test_a_histogram_is_its_buckets_up_to_each_bound_its_sum_and_its_count() -> None:
    small, more = HistogramCounts((1, 0, 2), 7.5, (0.5, 1.0)), HistogramCounts((0, 1, 0), 0.75, (0.5, 1.0))
    samples = [({"of": "a"}, small), ({"of": "b"}, more), ({"of": "a"}, more)]
    text = exposition([MetricFamily("actorsession_x_seconds", "histogram", "Words.", samples)])
    assert text.splitlines()[:7] == [
        "# HELP actorsession_x_seconds Words.",
        "# TYPE actorsession_x_seconds histogram",
        'actorsession_x_seconds_bucket{of="a",le="0.5"} 1',
        'actorsession_x_seconds_bucket{of="a",le="1.0"} 2',
        'actorsession_x_seconds_bucket{of="a",le="+Inf"} 4',
        'actorsession_x_seconds_sum{of="a"} 8.25',
        'actorsession_x_seconds_count{of="a"} 4',
    ]
    found, _ = read(text)
    assert value(found, "actorsession_x_seconds_count", of="b") == 1


def test_a_histogram_without_labels_has_the_bounds_alone() -> None:
    text = exposition([MetricFamily("actorsession_x_seconds", "histogram", "Words.", [({}, HistogramCounts())])])
    assert len(read(text)[0]) == len(BOUNDS) + 3
    assert text.endswith('_bucket{le="+Inf"} 0\nactorsession_x_seconds_sum 0.0\nactorsession_x_seconds_count 0\n')


def test_one_name_has_one_type() -> None:
    counter = MetricFamily("actorsession_x_total", "counter", "Words.", [])
    object.__setattr__(counter, "name", "actorsession_x")
    with pytest.raises(ValueError, match="actorsession_x is a gauge and a counter"):
        exposition([gauge("x"), counter])


def test_a_table_names_the_fields_of_an_instance() -> None:
    rows = [Metric("imag", "gauge", "actorsession_imag", "Words.")]
    (family,) = metric_families(3 + 4j, rows, {"of": "a"})
    assert list(family.samples) == [({"of": "a"}, 4.0)]


# -- statistics ------------------------------------------------------------------------------------

# One family, whose label says which of them it is.
_OF_OTHER_FAMILIES = {"master_steps", "worker_steps"}
TABLES = [
    (ServerStatistics, (*server_statistics._METRICS, *server_statistics._TIMES, *server_statistics._SNAPSHOT_METRICS)),
    (session_statistics.SessionStatistics, (*session_statistics._METRICS, *session_statistics._TIMES)),
    (CacheStatistics, session_statistics._CACHE_METRICS),
    (PassStatistics, session_statistics._PASS_METRICS),
    (LinkStatistics, link_statistics._METRICS),
    (executor_statistics.ExecutorStatistics, executor_statistics._METRICS),
]


@pytest.mark.parametrize(("kind", "rows"), TABLES, ids=[kind.__name__ for kind, _ in TABLES])
def test_every_number_of_the_statistics_has_a_name_of_its_own(kind: Any, rows: tuple[Metric, ...]) -> None:
    numbers = {f.name for f in fields(kind) if f.type in ("int", "float", "HistogramCounts")}
    assert sorted(row.field for row in rows) == sorted(numbers - {"pid", "phase", *_OF_OTHER_FAMILIES})
    for row in rows:
        assert row.help.endswith(".")
        kept_as = next(f.type for f in fields(kind) if f.name == row.field)
        assert ("_seconds" in row.name) == (kept_as != "int"), row
        assert (row.kind == "histogram") == (kept_as == "HistogramCounts"), row
        assert ("_bytes" in row.name) == ("bytes" in row.field or "memory" in row.field or row.field == "send_buffer")


def test_no_name_is_used_twice() -> None:
    names = [row.name for _, rows in TABLES for row in rows]
    assert len(set(names)) == len(names)


def a_link(**more: Any) -> LinkStatistics:
    numbers: dict[str, Any] = {f.name: number for number, f in enumerate(fields(LinkStatistics), 1) if f.type == "int"}
    return LinkStatistics(**{"peer": "client", "address": "unix:///s", "over": None, **numbers, **more})


def test_the_statistics_of_a_server_are_read_back_as_they_were() -> None:
    numbers: dict[str, Any] = {
        f.name: 10 + place for place, f in enumerate(fields(ServerStatistics)) if f.type == "int"
    }
    device = executor_statistics.ExecutorStatistics(device="/cpu:0", loaded=1, begun=2, running=3, runs=4, seconds=0.5)
    seen = ServerStatistics(
        task="/job:w/task:0",
        links=(a_link(),),
        devices=(device,),
        uptime=1.5,
        loop_lag=0.25,
        worst_loop_lag=0.75,
        version="1.2",
        snapshot_every=60.0,
        snapshot_age=7.5,
        open_sessions=(OpenSession(session_handle="h"),),
        **numbers,
    )
    samples, types = read(seen.prometheus())
    for row in (*server_statistics._METRICS, *server_statistics._SNAPSHOT_METRICS):
        assert value(samples, row.name, task=seen.task) == getattr(seen, row.field)
        assert types[row.name] == row.kind
    for row in executor_statistics._METRICS:
        found = value(samples, row.name, task=seen.task, device="/cpu:0")
        assert found == getattr(device, row.field)
    for row in link_statistics._METRICS:
        found = value(samples, row.name, task=seen.task, peer="client", address="unix:///s")
        assert found == getattr(seen.links[0], row.field)
    info = value(samples, "actorsession_server_info", task=seen.task, version="1.2", pid=str(seen.pid))
    assert info == 1


def test_clients_at_one_unix_socket_are_added_up_and_no_snapshots_have_no_age() -> None:
    seen = ServerStatistics(
        task="t",
        sessions=0,
        worker_sessions=0,
        graphs=0,
        steps=0,
        rendezvous=0,
        runs=0,
        pushes=0,
        links=(a_link(bytes_sent=3, round_trip=0.5), a_link(bytes_sent=4, round_trip=0.25)),
    )
    samples, _ = read(seen.prometheus())
    sent = "actorsession_link_bytes_sent_total"
    assert value(samples, sent, task="t", peer="client", address="unix:///s") == 7
    assert value(samples, "actorsession_link_round_trip_seconds", task="t", peer="client", address="unix:///s") == 0.5
    assert not any("snapshot" in name for name, _ in samples)


@pytest.fixture
def session() -> Iterator[Session]:
    with Graph().as_default() as graph:
        x = ops.placeholder("float32", [4], name="x")
        v = ops.Variable(np.ones(8, np.float32), name="v")
        with Session(graph=graph) as session:
            session.run(v.initializer)
            for _ in range(3):
                session.run(x + 1.0, {x: np.ones(4, np.float32)})
            yield session


def test_the_statistics_of_a_session_are_read_back_as_they_were(session: Session) -> None:
    seen = session.statistics()
    samples, _ = read(seen.prometheus({"session": 'the "first"'}))
    of = {"session": 'the "first"'}
    for row in session_statistics._METRICS:
        assert value(samples, row.name, **of) == getattr(seen, row.field)
    for row in session_statistics._CACHE_METRICS:
        assert value(samples, row.name, **of) == getattr(seen.cache, row.field)
    assert value(samples, "actorsession_session_variables_bytes", **of) == 32
    assert seen.graph_passes
    for one in seen.graph_passes:
        place = {"pass": one.name, "group": one.group, "phase": str(one.phase)}
        assert value(samples, "actorsession_session_pass_runs_total", **of, **place) == one.runs
    (device,) = seen.devices
    runs = value(samples, "actorsession_device_runs_total", **of, device=device.device)
    assert runs == device.runs > 0


def test_without_labels_a_session_has_none(session: Session) -> None:
    samples, _ = read(session.statistics().prometheus())
    assert value(samples, "actorsession_session_variables") == 1


def test_a_label_that_is_none_is_refused(session: Session) -> None:
    with pytest.raises(ValueError, match="a label is"):
        session.statistics().prometheus({"no label": "x"})


def test_a_session_counts_how_its_runs_have_ended(session: Session) -> None:
    x = session.graph.get_tensor_by_name("x:0")
    before = session.statistics()
    assert (before.runs, before.errors, before.cancelled) == (4, {}, 0)
    assert 0 < before.latency.median <= before.latency.p90 <= before.latency.p99
    assert before.latency.p99 <= before.latency.most
    for bad in ([1.0], ["a"] * 4, [1.0]):
        with pytest.raises((TypeError, ValueError)):
            session.run(x + 1.0, {x: bad})
    with pytest.raises(InvalidArgumentError):
        session.run("x:0")
    call = session.make_callable(x + 2.0, [x])
    call(np.ones(4, np.float32))
    seen = session.statistics()
    assert seen.runs == 5
    assert seen.errors == {"ValueError": 3, "InvalidArgumentError": 1}
    samples, types = read(seen.prometheus())
    failed = "actorsession_session_failed_runs_total"
    assert value(samples, failed, **{"class": "InvalidArgumentError"}) == 1
    assert value(samples, "actorsession_session_run_seconds", quantile="0.5") == seen.latency.median
    assert types["actorsession_session_run_seconds"] == "gauge"


def test_runs_of_several_threads_are_all_counted_while_others_read(session: Session) -> None:
    """Also beyond the number of runs that are gathered before they are counted."""
    x = session.graph.get_tensor_by_name("x:0")
    call, before = session.make_callable(x + 3.0, [x]), session.statistics()
    reads: list[int] = []

    def work(_: int) -> None:
        for number in range(700):
            call(np.ones(4, np.float32))
            if number % 50 == 0:
                reads.append(session.statistics().runs)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    seen = session.statistics()
    assert seen.runs == before.runs + 2800
    assert seen.run_seconds.total == before.run_seconds.total + 2800
    assert max(reads) <= seen.runs


async def test_a_cancelled_run_is_counted_as_such() -> None:
    with Graph().as_default() as graph:
        taken = ops.FIFOQueue(1, ["float32"], [[]]).dequeue()
        async with AsyncSession(graph=graph) as session:
            with pytest.raises(DeadlineExceededError):
                await session.run(taken, timeout=0.05)
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await session.run(taken)
            seen = session.statistics()
    assert (seen.runs, seen.cancelled, seen.errors) == (0, 1, {"DeadlineExceededError": 1})


def test_the_runs_of_many_threads_are_all_counted() -> None:
    with Graph().as_default() as graph:
        y = ops.placeholder("float32", []) + 1.0
        x = graph.get_operations()[0].outputs[0]
    with Session(graph=graph) as session, ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda k: session.run(y, {x: k}), range(400)))
        assert session.statistics().runs == 400
