"""Crash points of whatever writes files: see ``crash_points`` for what is done, and what has to hold."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from tests.crash_points import SCENARIOS, Report, run_scenarios, unsynced

# A point takes some ten milliseconds; of those that are much like others, some are looked at. The soak
# looks at all.
ALL = {"sharded", "one file", "one file over sharded", "snapshots", "TensorFlow's format", "TensorFlow's format, again"}
SOME = 6
# Those of whole programs take a hundred milliseconds.
FEW = 2
PROGRAMS = {
    "saver of one name",
    "sharded saver of one name",
    "first saver of one name",
    "first sharded saver of one name",
    "managed checkpoints",
    "saved model",
    "exports of an estimator",
    "graphs",
    "event files",
    "records",
    "dumps",
    "trace",
}


@pytest.fixture(scope="module")
def reports() -> Mapping[str, Report]:
    """Those of all scenarios; starting a process for each would take longer than most of them."""
    points = {**dict.fromkeys(ALL, 1000), **dict.fromkeys(PROGRAMS, FEW)}
    return run_scenarios({name: points.get(name, SOME) for name in SCENARIOS})


@pytest.mark.process
@pytest.mark.timeout(300)
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_whatever_call_is_the_last_nothing_is_lost_and_the_next_writer_clears_up(
    reports: Mapping[str, Report], scenario: str
) -> None:
    report = reports[scenario]
    assert not report.faults, "\n".join(report.faults)
    assert report.points >= (FEW if scenario in PROGRAMS else 5)


def test_a_file_that_gets_its_name_before_it_is_synced_is_noticed() -> None:
    synced = [("write", "f/x"), ("fsync", "f/x"), ("replace", "f/x -> f/y"), ("fsync", "f")]
    assert unsynced(synced) == []
    assert unsynced([call for call in synced if call != ("fsync", "f/x")]) == ["f/x gets its name unsynced"]
    assert unsynced(synced[:-1])[0].endswith("f is never synced")
    assert "is removed before" in unsynced([*synced[:-1], ("unlink", "f/old"), synced[-1]])[0]
