"""The command behind ``scripts/simulate``: plays the stories of many seeds, and shortens those that fail.

``python -m tests.testing.simulate --help``. A run is a function of its seed, so a failure is a seed; its shortened
story and its trace are written to files. ``--plant`` plants a defect of ``tests/testing/planted.py`` first, which some
of the seeds must find.
"""

from __future__ import annotations

import argparse
import json
import logging
import os
import secrets
import sys
import time
from collections import Counter
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from actorsession.testing.simulation.explore import Report, explore, play, shorten, trace
from actorsession.testing.simulation.story import Story
from tests.testing.planted import DEFECTS, plant

# Runs between two lines of progress.
_LINE = 1000
# Failures that are shortened; the others are listed with their seeds.
_SHORTENED = 3


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


class Totals:
    """What was seen of all runs."""

    def __init__(self) -> None:
        self.runs = self.steps = self.faults = 0
        self.failed: list[Report] = []
        self.checks: Counter[str] = Counter()
        self.seconds = 0.0
        self._began = time.monotonic()

    def add(self, report: Report) -> None:
        """Counts a run; says a line after every thousand, and for one that has failed."""
        self.runs += 1
        self.steps += report.steps
        self.faults += report.faults
        self.seconds += report.seconds
        if report.findings:
            self.failed.append(report)
            self.checks.update(report.failed)
            say(f"seed {report.story.seed} FAILED {', '.join(sorted(report.failed))}: {str(report.findings[0])[-600:]}")
        if self.runs % _LINE == 0:
            say(str(self))

    def __str__(self) -> str:
        wall = time.monotonic() - self._began
        each = 1000 * self.seconds / max(1, self.steps)
        return (
            f"{self.runs} runs, {self.steps} steps, {self.faults} faults, {len(self.failed)} failed, {wall:.0f} s, "
            f"{each:.2f} ms of processor time a step"
        )


def replay(story: Story, folder: Path, *, shortens: bool = True) -> int:
    """Plays one story, and says and writes what is wrong with it.

    Returns:
        The exit status.
    """
    report, performance = play(story)
    say(f"seed {story.seed}: {report.steps} operations, {report.faults} faults, {report.digest}")
    for finding in report.findings:
        say(f"  {finding}")
    if not report.findings:
        return 0
    if shortens:
        story = shorten(story, report.failed)
        _, performance = play(story)
        say(f"shortened to {len(story.faults)} faults and {len(story.operations)} operations:\n{story}")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"seed-{story.seed}.story").write_text(str(story), encoding="utf-8")
    (folder / f"seed-{story.seed}.json").write_text(json.dumps(trace(performance)), encoding="utf-8")
    say(f"written: {folder / f'seed-{story.seed}'}.story, .json (open the latter at https://ui.perfetto.dev)")
    return 1


def arguments(words: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/simulate", description=__doc__.partition("\n\n")[0])
    parser.add_argument("--seeds", type=int, default=1000, help="how many (default %(default)s)")
    parser.add_argument("--first", type=int, default=0, help="the first seed; -1 for one that is drawn")
    parser.add_argument("--minutes", type=float, default=10.0, help="begin no run later (default %(default)g)")
    parser.add_argument("--steps", type=int, default=200, help="operations of a story (default %(default)s)")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="default: one a core")
    parser.add_argument("--replay", type=int, metavar="SEED", help="play one seed")
    parser.add_argument("--faults", type=Path, metavar="FILE", help="play the story that a file holds")
    parser.add_argument("--plant", choices=sorted(DEFECTS), help="plant a defect, which has to be found")
    parser.add_argument("--keep", type=Path, default=Path("simulated"), help="folder of stories and traces that failed")
    return parser.parse_args(words)


def main(words: Sequence[str] | None = None) -> int:
    options = arguments(words)
    logging.disable(logging.CRITICAL)
    if options.replay is not None or options.faults is not None:
        if options.plant:
            plant(options.plant)
        if options.faults is not None:
            return replay(Story.of_text(options.faults.read_text(encoding="utf-8")), options.keep, shortens=False)
        return replay(Story.draw(options.replay, options.steps), options.keep)
    first = options.first if options.first >= 0 else secrets.randbits(40)
    say(f"seeds {first} to {first + options.seeds - 1}, {options.steps} steps each, {options.processes} processes")
    totals = Totals()
    seeds = range(first, first + options.seeds)
    before = partial(plant, options.plant) if options.plant else None
    for report in explore(
        seeds, options.steps, processes=options.processes, seconds=60 * options.minutes, before=before
    ):
        totals.add(report)
    say(f"{totals}; {dict(totals.checks)}")
    if options.plant:
        return int(not totals.failed)
    for report in totals.failed[:_SHORTENED]:
        replay(report.story, options.keep)
    return int(bool(totals.failed))


if __name__ == "__main__":
    sys.exit(main())
