"""The demo without a parameter server, which goes on when a worker is killed."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from actorsession.demo.all_reduce import train_with_all_reduce
from actorsession.demo.digits import load_digits
from actorsession.demo.report import PASS_MARK
from tests.cluster.kit import PATIENCE

pytestmark = pytest.mark.process


@pytest.mark.parametrize("killed", [0, 1])
async def test_two_workers_learn_even_if_one_is_killed_in_between(killed: int) -> None:
    clusters: list[Any] = []
    told: list[int] = []

    def progress(steps: int, accuracy: float | None) -> None:
        if sum(told) < 200 <= sum(told) + steps:
            clusters[0].process("worker", killed).send_signal(signal.SIGKILL)
        told.append(steps)

    lesson = await train_with_all_reduce(load_digits(), 400, 2, progress, clusters.append)
    assert lesson.accuracy >= PASS_MARK
    assert sum(told) == lesson.steps == 400
    steps = [point.step for point in lesson.curve]
    assert steps == sorted(set(steps))
    assert (steps[0], steps[-1]) == (0, 400)
    (event,) = lesson.events
    assert f"worker {killed} lost" in event
    assert lesson.step_messages > 0
    assert lesson.trace is not None


@pytest.mark.parametrize("workers", [1, 4])
async def test_one_worker_and_four_learn_as_two_do(workers: int) -> None:
    lesson = await train_with_all_reduce(
        load_digits(), 400, workers, lambda steps, accuracy: None, lambda cluster: None
    )
    assert lesson.accuracy >= PASS_MARK
    assert (lesson.steps, lesson.events) == (400, [])


def test_the_command_trains_without_a_parameter_server_and_says_so(tmp_path: Path) -> None:
    options = ["--strategy", "allreduce", "--steps", "200", "--output", str(tmp_path)]
    command = [sys.executable, "-m", "actorsession", "demo", *options]
    run = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert re.search(r"^2 workers, all-reduce +200 ", run.stdout, re.MULTILINE)
