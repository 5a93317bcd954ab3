"""Stories of simulated clusters that are drawn from seeds: all checks hold in each, and a seed is one run."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from dataclasses import replace

import pytest

from actorsession.testing import Schedule
from actorsession.testing.simulation.explore import play, shorten, trace
from actorsession.testing.simulation.history import Outcome
from actorsession.testing.simulation.story import KINDS, Story
from tests.testing.planted import planted

# Every so many seeds one is played; the others are left to ``scripts/simulate``.
_SPREAD = 37
# Seeds of the short suite and of the whole one.
_SEEDS, _MORE = 12, 240
# Seeds of which one finds a defect that shows in most stories.
_TRIED = 20

MENDED = {
    5: "reattach() lost the session that it had made to a run that waited for the same master",
    20: "steps ended with CancelledError, without a task, when a task came back before its end was noticed",
    111: "reattach() hung up a session whose master was there, because another task was lost meanwhile",
    2698: "the same when another task had restarted: runs of the session ended with CancelledError",
}
"""Seeds that have found a defect, with the defect."""


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    """Servers say much of what befalls them, and tests fail for warnings that nobody expects."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


def holds(seed: int) -> None:
    report, _ = play(Story.draw(seed))
    words = "\n".join(map(str, report.findings))
    assert not report.findings, f"scripts/simulate --replay {seed} shortens it and writes its trace:\n{words}"
    assert report.steps >= 200


@pytest.mark.parametrize("seed", range(0, _SEEDS * _SPREAD, _SPREAD))
def test_all_checks_hold(seed: int) -> None:
    holds(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(_SEEDS * _SPREAD, _MORE * _SPREAD, _SPREAD))
def test_all_checks_hold_in_more_stories(seed: int) -> None:
    holds(seed)


@pytest.mark.parametrize("seed", MENDED)
def test_what_was_mended_stays_so(seed: int) -> None:
    holds(seed)


def test_a_seed_is_one_run() -> None:
    story = Story.draw(3)
    (first, one), (second, other) = play(story), play(story)
    assert first.digest == second.digest
    assert one.loop.trace == other.loop.trace
    assert list(map(str, one.history.records)) == list(map(str, other.history.records))


def test_a_story_is_what_its_text_says() -> None:
    for seed in range(20):
        story = Story.draw(seed)
        assert str(Story.of_text(str(story))) == str(story)
    with pytest.raises(ValueError, match="not a fault"):
        Story.of_text("fault of mine\n")


def test_clients_go_on_when_a_task_is_there_that_was_lost_unnoticed() -> None:
    """The power goes while the clients pause, at the twelfth write after a restart: no parent and no peer is told."""
    story = Story.of_text(
        """
seed 1
setting jobs=worker:2 clients=2 lanes=1 restart=0 down=1.0 snapshot_every=0.5 lease=5.0 shuffle=0
client 0.0: add v=1 k=0 via=-1 pause=0.1
client 1.0: add v=0 k=0 via=-1 pause=2.0
fault 0.2 crash worker-1
fault 0.3 tear worker-1 by 12 for 20.0
"""
    )
    report, performance = play(story)
    assert report.findings == []
    crash, _, power = performance.history.disturbances
    assert crash.ended < power.began < power.forgot < power.ended < power.began + 10.0


def test_every_kind_of_operation_is_done_and_without_faults_none_is_in_doubt() -> None:
    done = set()
    for seed in range(3):
        report, performance = play(replace(Story.draw(seed), faults=Schedule()))
        assert report.findings == []
        records = performance.history.records
        done |= {record.kind for record in records if record.outcome is Outcome.OK}
        assert not [
            str(record)
            for record in records
            if record.outcome is Outcome.UNKNOWN
            and record.operation.limit is record.operation.cancel is None
            and record.kind != "meet"
            and "closed" not in str(record.error)
        ]
    assert done >= KINDS.keys() - {"guard", "reopen"}


def test_a_story_that_fails_is_shortened_and_drawn() -> None:
    with planted("dropped abort") as defect:
        stories = (Story.draw(seed, 40) for seed in range(_TRIED))
        story = next(story for story in stories if play(story)[0].failed & defect.checks)
        shorter = shorten(story, defect.checks, most=30)
        assert len(shorter.operations) < len(story.operations) / 2
        again, performance = play(Story.of_text(str(shorter)))
    assert again.failed & defect.checks
    drawn = json.loads(json.dumps(trace(performance)))
    names = {event["args"]["name"] for event in drawn["traceEvents"] if event["ph"] == "M"}
    assert names >= {"client-0", *performance.history.tasks, "simulation"}
    assert sum(event["ph"] == "X" and event["cat"] == "operation" for event in drawn["traceEvents"]) == again.steps
