"""Stories of simulated clusters that are drawn from seeds, and what has happened in them."""

from __future__ import annotations

from actorsession.testing.simulation.explore import play
from actorsession.testing.simulation.story import Story

STEPS = 30


def trace_of(seed: int) -> list[str]:
    """Return the trace of the story of a seed: faults, connections, ends of processes, and the answer of each run."""
    report, performance = play(Story.draw(seed, STEPS))
    answers = [str(record) for record in performance.history.records]
    findings = [str(finding) for finding in report.findings]
    return [*performance.loop.trace, *answers, *findings, report.digest]
