"""A clock that stands still until it is told to go on."""

from __future__ import annotations

import time

import pytest

from actorsession.testing import Host, StillClock, current_host, on_host


def test_time_passes_when_the_clock_is_told_so() -> None:
    clock = StillClock(now=1000.0)
    assert (clock.monotonic(), clock.perf_counter(), clock.process_time(), clock.time()) == (0.0, 0.0, 0.0, 1000.0)
    clock.advance(1.5)
    clock.sleep(1)
    assert (clock.monotonic(), clock.perf_counter_ns(), clock.time_ns()) == (2.5, 2_500_000_000, 1_002_500_000_000)


def test_the_time_of_day_may_be_set_back_and_what_has_passed_may_not() -> None:
    clock = StillClock(now=1000.0)
    clock.advance(1)
    clock.set(10.0)
    assert (clock.time(), clock.monotonic()) == (10.0, 1.0)
    with pytest.raises(ValueError, match="goes on by 0 seconds or more, got -1"):
        clock.advance(-1)


def test_code_on_a_host_reads_its_clock() -> None:
    with on_host(Host(clock=StillClock(now=5.0))):
        assert current_host().clock.time() == 5.0
    assert current_host().clock.time is time.time
