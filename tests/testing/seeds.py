"""Seeds that tests play: a few in the short suite, and many more in the whole one."""

from __future__ import annotations

import os
import subprocess
import sys

from actorsession.testing.simulation.explore import play
from actorsession.testing.simulation.story import Story
from tests.template import ROOT, cold_starts
from tests.testing.planted import Defect

# Every so many seeds one is played; the others are left to ``scripts/simulate``.
_SPREAD = 37
FEW = range(0, 12 * _SPREAD, _SPREAD)
MORE = range(FEW.stop, 240 * _SPREAD, _SPREAD)

PROGRAMS, CLUSTERS = "tests.testing.random_programs", "tests.testing.random_clusters"


def assert_all_hold(seed: int) -> None:
    """Check that all checks hold in the story of a seed."""
    report, _ = play(Story.draw(seed))
    words = "\n".join(map(str, report.findings))
    assert not report.findings, f"scripts/simulate --replay {seed} shortens it and writes its trace:\n{words}"
    assert report.steps >= 200


def seeds_until_found(defect: Defect, first: int, most: int) -> int | None:
    """How many seeds are played until a check finds a defect that is planted; ``None`` if that are too many."""
    for count in range(1, most + 1):
        if play(Story.draw(first + count - 1))[0].failed & defect.checks:
            return count
    return None


def differing(module: str, count: int) -> list[str]:
    """The lines of seeds, one each, whose digests differ between two processes with other hashes of strings."""
    processes = []
    for hash_seed in ("1", "2"):
        command = [sys.executable, "-m", module, "0", str(count)]
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        with cold_starts():
            processes.append(
                subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            )
    first, second = [process.communicate()[0].decode().splitlines() for process in processes]
    assert [process.returncode for process in processes] == [0, 0]
    assert len({line.split()[1] for line in first}) == count
    return [f"{line} != {other}" for line, other in zip(first, second, strict=True) if line != other]
