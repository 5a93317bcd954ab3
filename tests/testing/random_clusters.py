"""Stories of simulated clusters that are drawn from seeds, and the digests of what has happened in them.

``python -m tests.testing.random_clusters FIRST COUNT`` prints a line for each seed, so that two processes can be
compared.
"""

from __future__ import annotations

import hashlib
import logging
import sys

from actorsession.testing.simulation.explore import play
from actorsession.testing.simulation.story import Story

STEPS = 30


def trace_of(seed: int) -> list[str]:
    """Return the trace of the story of a seed: faults, connections, ends of processes, and the answer of each run."""
    report, performance = play(Story.draw(seed, STEPS))
    answers = [str(record) for record in performance.history.records]
    findings = [str(finding) for finding in report.findings]
    return [*performance.loop.trace, *answers, *findings, report.digest]


def digest_of(seed: int) -> str:
    return hashlib.sha256("\n".join(trace_of(seed)).encode()).hexdigest()


if __name__ == "__main__":
    logging.disable()
    first, count = map(int, sys.argv[1:])
    for each in range(first, first + count):
        sys.stdout.write(f"{each} {digest_of(each)}\n")
        sys.stdout.flush()
