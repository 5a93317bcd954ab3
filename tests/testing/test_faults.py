"""Faults of a simulated cluster as values: their text form, and schedules drawn from random numbers."""

from __future__ import annotations

import random

import pytest

from actorsession.testing.simulation.faults import KINDS, Fault, Schedule

_JOBS = {"worker": 2, "ps": 1}


def _drawn(seed: int, count: int = 200) -> Schedule:
    weights = dict.fromkeys(KINDS, 1.0)
    return Schedule.draw(random.Random(seed), _JOBS, count=count, seconds=30.0, weights=weights)


@pytest.mark.parametrize("seed", range(20))
def test_a_schedule_is_read_again_as_it_was_written(seed: int) -> None:
    schedule = _drawn(seed)
    assert Schedule.parse(str(schedule)) == schedule


def test_the_text_of_a_fault_is_a_sentence() -> None:
    fault = Fault(kind="slow", whom="worker-0", other="ps-0", at=0.25, by=0.02, seconds=1.5, after=3)
    assert str(fault) == "0.25 slow worker-0 ps-0 by 0.02 for 1.5 after 3"
    assert Fault.parse(str(fault)) == fault


def test_a_schedule_may_have_comments_and_empty_lines() -> None:
    schedule = Schedule.parse("\n# a story\n0.5 crash ps-0  # the variables\n\n")
    assert list(schedule) == [Fault(kind="crash", whom="ps-0", at=0.5)]


def test_schedules_have_all_kinds_of_faults_and_strike_all_tasks() -> None:
    faults = list(_drawn(1, 2000))
    assert {fault.kind for fault in faults} == KINDS.keys()
    assert {fault.whom for fault in faults if fault.kind == "crash"} == {"worker-0", "worker-1", "ps-0"}
    assert all(fault.whom != fault.other for fault in faults)
    assert [fault.at for fault in faults] == sorted(fault.at for fault in faults)


def test_a_schedule_has_only_kinds_that_have_a_weight() -> None:
    schedule = Schedule.draw(random.Random(1), _JOBS, count=50, seconds=1.0, weights={"cut": 1.0, "stall": 2.0})
    assert {fault.kind for fault in schedule} == {"cut", "stall"}


@pytest.mark.parametrize(
    "line", ["", "crash ps-0", "0.5 melt ps-0", "soon crash ps-0", "0.5 crash ps-0 by", "0.5 crash ps-0 ps-1"]
)
def test_what_is_no_fault_is_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"not a fault|could not convert"):
        Fault.parse(line)


def test_unknown_kinds_are_refused() -> None:
    with pytest.raises(ValueError, match="unknown kinds of faults: \\['melt'\\]"):
        Schedule.draw(random.Random(1), _JOBS, count=1, seconds=1.0, weights={"melt": 1.0})
