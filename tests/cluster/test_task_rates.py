"""What a task does per second, from its counters at two moments."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from actorsession.cluster import ServerStatistics, rates_between
from actorsession.metrics import Histogram, HistogramCounts
from actorsession.rpc import LinkStatistics
from tests.cluster.kit import W0

BEFORE = ServerStatistics(
    task=W0, sessions=0, worker_sessions=0, graphs=0, steps=0, rendezvous=0, runs=10, pushes=0, links=(),
    pid=7, uptime=100.0, cpu_seconds=50.0, errors={"AbortedError": 2},
)  # fmt: skip


def link(address: str, sent: int, received: int) -> LinkStatistics:
    numbers: dict[str, Any] = {f.name: 0 for f in fields(LinkStatistics) if f.type == "int"}
    return LinkStatistics(
        **{**numbers, "bytes_sent": sent, "bytes_received": received, "peer": "p", "address": address, "over": None}
    )


def times(*seconds: float) -> HistogramCounts:
    histogram = Histogram()
    for one in seconds:
        histogram.observe(one)
    return histogram.snapshot()


def test_rates_are_differences_by_the_clock_of_the_server() -> None:
    before = replace(BEFORE, links=(link("a", 100, 10), link("gone", 900, 900)), worker_steps=times(50.0))
    after = replace(
        before,
        uptime=104.0,
        runs=30,
        cpu_seconds=56.0,
        worker_steps=times(50.0, *[0.015] * 20),
        links=(link("a", 500, 30), link("new", 80, 4)),
        errors={"AbortedError": 3, "InternalError": 2},
    )
    rates = rates_between(before, after)
    assert rates is not None
    assert (rates.whole, rates.steps, rates.cpu, rates.sent, rates.received, rates.errors) == (
        0.0,
        5.0,
        1.5,
        120.0,
        6.0,
        3,
    )
    assert 0.01 < rates.p50 <= rates.p99 <= 0.02


def test_the_latency_is_that_of_whole_steps_where_there_are_any() -> None:
    after = replace(BEFORE, uptime=102.0, master_steps=times(*[1.5] * 6), worker_steps=times(0.001))
    rates = rates_between(BEFORE, after)
    assert rates is not None
    assert rates.whole == rates.steps == 3.0
    assert 1.0 < rates.p50 <= 2.0


@pytest.mark.parametrize("change", [{"pid": 8, "uptime": 101.0}, {"uptime": 100.0}, {"uptime": 3.0}])
def test_another_process_or_no_time_has_no_rates(change: dict[str, Any]) -> None:
    assert rates_between(BEFORE, replace(BEFORE, **change)) is None
