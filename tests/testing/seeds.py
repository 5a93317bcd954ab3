"""Seeds that tests play: a few in the short suite, and many more in the whole one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from actorsession.testing.simulation.explore import play
from actorsession.testing.simulation.story import Story
from tests.template import ROOT, cold_starts
from tests.testing.planted import Defect

# Every so many seeds one is played; the others are left to ``scripts/simulate``.
_SPREAD = 37
FEW = range(0, 4 * _SPREAD, _SPREAD)
MORE = range(FEW.stop, 240 * _SPREAD, _SPREAD)

KEPT = Path(__file__).parent / "stories"
MENDED = {
    "seed-2698": "reattach() hung up a session when a task beside its master had restarted: its runs were cancelled",
    "killed-while-it-opens": "a client that had been killed was said to have an error of the end of the simulation",
    "left-under-way": "a step that was under way on a task which left ended with CancelledError",
    "left-and-back": "no session was told of variables that had left with their task and came back anew",
    "a-list-that-came-late": "a task that was started again heard last of a departure that was over",
    "a-foreign-snapshot-that-came-back": "a fault that was over came back with a loss of power, its end not synced",
    "closed-while-it-takes": "a run took what its master put back, because its client had closed the session",
    "a-drop-that-was-given-up": "a task kept a session whose drop came together with its cancellation",
    "begun-twice": "a session was begun at a task that may have begun it for somebody else, who had no answer in time",
    "a-power-loss-beside-no-process": "a loss of power at a task that had left counted as a second loss of its memory",
    "a-restart-that-waited": "a restart that waited for another one ended a process and was no loss of its memory",
    "left-without-a-word": "a peer's reason for dropping a link was lost with the reset that followed it",
    "late-for-good": "each run that waited for a lost task waited as long as all before it together",
    "left-as-it-was-admitted": "a session admitted a task that had left the cluster since it answered: a KeyError",
    "given-back-and-taken": "a reattach() that failed gave a session back which a run had taken for its own",
    "told-late": "a session that had not been used since its master was lost was said to be told too late",
    "told-too-late": "a task that did not answer while its cluster changed was never told of the change",
    "closed-while-it-sets-up": "a session that its client closed told a call that its master had none",
    "restored-late": "a restore that was given up, and came late to a task, was said to have lost an update",
    "dialled-meanwhile": "a dial that hung held up all who needed the task, which had dialled itself meanwhile",
    "closed-while-many-extend": "a run that waited to extend the graph was cancelled when its session was closed",
    "told-after-another-went-on": "a session was said to be told too late, as another client had used its own since",
    "restored-with-an-update-in-doubt": "an update that came back with a checkpoint was said to be applied late",
}
"""Stories that have found a defect, as texts, which outlive a change of what is drawn, with the defect."""
MENDED_IN_LONG = {
    "seed-5": "reattach() lost the session that it had made to a run that waited for the same master",
    "seed-20": "steps ended with CancelledError, without a task, when a task came back before its end was noticed",
    "seed-111": "reattach() hung up a session whose master was there, because another task was lost meanwhile",
}
"""The same of 200 operations each."""


def assert_all_hold(seed: int) -> None:
    """Check that all checks hold in the story of a seed."""
    report, _ = play(Story.draw(seed))
    words = "\n".join(map(str, report.findings))
    assert not report.findings, f"scripts/simulate --replay {seed} shortens it and writes its trace:\n{words}"
    assert report.steps >= 200


def assert_mended(name: str) -> None:
    """Check that a story that has found a defect finds none."""
    story = Story.of_text((KEPT / f"{name}.story").read_text(encoding="utf-8"))
    assert list(map(str, play(story)[0].findings)) == []


def seeds_until_found(defect: Defect, first: int, most: int) -> int | None:
    """How many seeds it takes until a check finds a defect that is planted; ``None`` if that are too many."""
    for count in range(1, most + 1):
        story = Story.draw(first + count - 1)
        can_show = not defect.fault or any(fault.kind == defect.fault for fault in story.faults)
        if can_show and play(story)[0].failed & defect.checks:
            return count
    return None


def differing(programs: int, clusters: int) -> list[str]:
    """The seeds of random programs and stories whose digests differ between two processes with other hashes of strings.

    Programs have tasks, queues, locks, groups, timers, pools and faults; asyncio keeps some of them in sets.
    """
    processes = []
    for hash_seed in ("1", "2"):
        words = [f"random_programs={programs}", f"random_clusters={clusters}"]
        command = [sys.executable, "-m", "tests.testing.digests", *words]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        with cold_starts():
            processes.append(
                subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            )
    first, second = [process.communicate()[0].decode().splitlines() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert len({line.split()[2] for line in first}) == programs + clusters
    return [f"{line} != {other}" for line, other in zip(first, second, strict=True) if line != other]
