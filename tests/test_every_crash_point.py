"""Every crash point of checkpoints and snapshots: ``test_crash_points`` looks at some."""

from __future__ import annotations

import pytest

from tests.crash_points import run_scenarios
from tests.test_crash_points import SOME

ALL = ("sharded", "one file", "one file over sharded", "snapshots", "TensorFlow's format", "TensorFlow's format, again")


@pytest.mark.process
@pytest.mark.timeout(300)
def test_whatever_call_is_the_last_a_checkpoint_is_there_and_the_next_writer_clears_up() -> None:
    reports = run_scenarios(dict.fromkeys(ALL, 1000))
    assert all(report.points > SOME for report in reports.values())
    assert [fault for report in reports.values() for fault in report.faults] == []
