"""Stories of simulated clusters that are drawn from seeds: all checks hold in each, and a seed is one run."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from actorsession.testing import Schedule
from actorsession.testing.simulation.explore import play, shorten, trace
from actorsession.testing.simulation.history import Outcome
from actorsession.testing.simulation.story import KINDS, Performance, Story
from tests.dashboard.chromium import EXECUTABLE
from tests.dashboard.conftest import chromium as chromium
from tests.observe.test_perfetto import FAULTS, PACKAGE, opened, rows
from tests.testing.planted import planted
from tests.testing.seeds import FEW, MENDED, assert_all_hold, assert_mended

# Seeds of which one finds a defect that shows in most stories.
_TRIED = 20

SHORT = "setting jobs=worker:2 clients=2 lanes=1 restart=3 down=1.0 snapshot_every={} lease=4.0 shuffle=0\n"


pytestmark = pytest.mark.usefixtures("quiet")


@pytest.mark.parametrize("seed", FEW)
def test_all_checks_hold(seed: int) -> None:
    assert_all_hold(seed)


@pytest.mark.parametrize("name", MENDED)
def test_what_was_mended_stays_so(name: str) -> None:
    assert_mended(name)


def test_a_seed_is_one_run() -> None:
    story = Story.draw(3, 60)
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
    crash, power = performance.history.disturbances
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


def performed(text: str, *, snapshot_every: float = 0.0) -> Performance:
    """A short story by its text, in which all checks hold."""
    report, performance = play(Story.of_text(SHORT.format(snapshot_every) + text))
    assert list(map(str, report.findings)) == []
    return performance


def test_stories_have_each_kind_of_fault_often() -> None:
    """Of a few hundred seeds, so many that every kind meets all others."""
    stories = [Story.draw(seed) for seed in range(300)]
    having = Counter(kind for story in stories for kind in {fault.kind for fault in story.faults})
    rare = {kind: having[kind] for kind in ("join", "leave", "kill", "foreign", "stray", "ghost")}
    assert min(rare.values()) >= 10, rare
    assert min(having.values()) >= 10, having


def test_a_task_of_a_story_leaves_and_joins_again_and_another_one_joins() -> None:
    performance = performed(
        """
client 0.0: visit a=0 x=3
client 0.0: compute a=0 b=0 x=3 pause=1.0
client 0.0: visit a=0 x=3 pause=8.0
client 1.0: compute a=0 b=1 x=3 pause=0.5
client 1.0: compute a=0 b=1 x=3 pause=8.0
fault 0.1 leave worker-1
fault 5 join worker
"""
    )
    before, after = performance.history.of("visit")
    assert before.seen is None
    np.testing.assert_array_equal(after.seen, after.expected)
    assert {"/job:worker/replica:0/task:1", "/job:worker/replica:0/task:2"} <= performance.processes.keys()
    assert [d.ended > d.forgot > d.began for d in performance.history.disturbances if d.forgets] == [True]


@pytest.mark.parametrize(
    ("faults", "losses"),
    [
        (["1 leave worker-1", "1.5 power worker-1"], [0]),  # the task is away
        (["1 power worker-1", "1.005 crash worker-1"], [0]),  # whose parent has not heard of its end
        (["1 restart worker-1", "1.1 crash worker-1"], [0]),  # the next process is still starting
        (["1 leave worker-1", "1.001 crash worker-1"], [0]),  # the process is about to end, as sessions know
        (["1 leave worker-1", "5 crash worker-1"], [0, 1]),
        # The second restart waits for the first one, and kills the process that this has started.
        (["1 power worker-1", "1.002 restart worker-1", "1.004 restart worker-1"], [0, 2]),
    ],
)
def test_a_process_loses_its_memory_once_and_one_that_has_not_served_had_none(
    faults: list[str], losses: list[int]
) -> None:
    lines = "".join(f"fault {fault}\n" for fault in faults)
    performance = performed(f"client 0.0: add v=1 k=0 via=-1 pause=8.0\n{lines}")
    lost = performance.history.losses("/job:worker/replica:0/task:1")
    assert [loss.what for loss in lost] == [faults[number] for number in losses]
    ends = [float(line.split()[0]) for line in performance.loop.trace if line.endswith(" worker-1 crashes")]
    # The parent of a process hears of its end within 5 s.
    assert all(end - 1e-6 <= loss.forgot < end + 5.0 for loss, end in zip(lost, ends, strict=False))


def test_a_client_restores_what_it_has_saved_also_after_a_loss_of_power() -> None:
    performance = performed(
        """
client 0.0: add v=0 k=0 via=-1
client 0.0: save n=0 at=1
client 0.0: add v=0 k=1 via=-1
client 0.0: restore n=0 at=1 pause=15.0
client 0.0: restore n=0 at=1 pause=1.0
client 0.0: read v=0
client 1.0: read v=1
fault 0.5 power worker-1
"""
    )
    (save,) = performance.history.of("save")
    restored = [record for record in performance.history.of("restore") if record.outcome is Outcome.OK]
    assert [record.seen[0][1:].tolist() for record in [save, *restored[-1:]]] == [[1, 1, 0]] * 2
    read = next(record for record in performance.history.of("read") if record.operation.client == 0)
    assert read.seen[0][1:].tolist() == [1, 1, 0]


@pytest.mark.parametrize("kind", ["foreign", "stray"])
def test_a_snapshot_of_another_cluster_keeps_a_task_down_and_one_of_another_task_is_passed_over(kind: str) -> None:
    performance = performed(
        f"""
client 0.0: add v=1 k=0 via=-1
client 1.0: add v=0 k=0 via=-1
client 1.0: read v=1 pause=30.0
fault 4 {kind} worker-1 for 10
fault 5 crash worker-1
""",
        snapshot_every=1.0,
    )
    (crash,) = performance.history.losses("/job:worker/replica:0/task:1")
    assert (crash.ended - crash.began > 8.0) == (kind == "foreign")
    last = [record for record in performance.history.of("read") if record.outcome is Outcome.OK and 1 in record.seen]
    (update,) = (record for record in performance.history.of("add") if record.args["v"] == 1)
    np.testing.assert_array_equal(last[-1].seen[1], update.seen[1])  # its own, from its last snapshot


def test_what_a_killed_client_had_taken_is_put_back_and_its_next_process_goes_on() -> None:
    performance = performed(
        """
client 0.0: take q=0 via=1 pause=0.1 cancel=60.0
client 0.0: take q=0 via=1 pause=0.1 cancel=60.0
client 1.0: put q=0 e=7 via=-1 pause=6.0
fault 1 kill client-0 for 2
"""
    )
    lost, taken = performance.history.of("take")
    assert (lost.killed, lost.outcome, taken.outcome, taken.seen) == (True, Outcome.UNKNOWN, Outcome.OK, 7)
    assert taken.session == lost.session + 1
    assert taken.began > lost.ended + 2.0


@pytest.mark.parametrize("write", [1, 2])
def test_a_task_hears_of_a_dead_process_when_its_successor_is_there(write: int) -> None:
    runs = "".join(f"client {n % 2}.0: reduce x=3 pause=0.4\n" for n in range(40))
    performance = performed(f"{runs}fault 0.5 ghost worker-1 worker-0 by {write} for 2.5\n")
    trace = [line.partition(" ")[::2] for line in performance.loop.trace]
    held = next(float(when) for when, what in trace if "is held for 2.5 s" in what)
    stream = next(what.split()[1] for when, what in trace if "is held for 2.5 s" in what)
    late = [float(when) for when, what in trace if what.startswith(f"net {stream} worker-1 > worker-0 ")]
    (loss,) = performance.history.losses("/job:worker/replica:0/task:1")
    assert held <= loss.forgot < loss.ended < held + 2.5 < late[-1]


def test_a_fault_that_finds_no_process_that_introduces_itself_leaves_its_successor_alone() -> None:
    performance = performed(
        """
client 0.0: compute a=0 b=1 x=3
client 0.0: compute a=0 b=1 x=3 pause=2.0
client 0.0: compute a=0 b=1 x=3 pause=2.0
fault 1 power worker-0
fault 1 power worker-1
fault 1.1 ghost worker-1 worker-0 by 1 for 60
"""
    )
    trace = performance.loop.trace
    dialled = [float(line.split()[0]) for line in trace if " net worker-1 > worker-0:2222 is #" in line]
    assert dialled[-1] > 2.0
    assert not [line for line in trace if " is held for " in line]


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
    assert names >= {"client-0", *[f"worker/{task}" for task, _ in enumerate(performance.history.tasks)], "simulation"}
    assert sum(event["ph"] == "X" and event["cat"] == "operation" for event in drawn["traceEvents"]) == again.steps


@pytest.fixture
def drawn() -> dict[str, Any]:
    """The trace of a story, which has a loop of its own."""
    return trace(play(Story.draw(3, 200))[1])


@pytest.mark.process
@pytest.mark.skipif(PACKAGE is None or EXECUTABLE is None, reason="needs Perfetto's page and a browser")
async def test_perfetto_shows_all_operations_and_faults_of_a_story(
    drawn: dict[str, Any], chromium: str, tmp_path: Path
) -> None:
    path = tmp_path / "story.json"
    path.write_text(json.dumps(drawn), encoding="utf-8")
    async with opened(path, chromium) as page:
        assert await rows(page, FAULTS) == []
        spans = await rows(page, "select category, count() from slice where dur > 0 group by 1 order by 1")
        processes = await rows(page, "select name from process where name != ''")
    counts = Counter(event["cat"] for event in drawn["traceEvents"] if event["ph"] == "X" and event["dur"])
    assert spans == sorted(map(list, counts.items()))
    assert {"worker/0", "ps/0", "client-0", "simulation"} <= {name for (name,) in processes}
