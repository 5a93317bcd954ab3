"""The demo with and without a parameter server, which goes on when a worker is killed."""

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
from actorsession.demo.distributed import train_on_cluster
from actorsession.demo.report import PASS_MARK
from actorsession.errors import UnavailableError
from tests.cluster.kit import PATIENCE

pytestmark = pytest.mark.process


async def test_training_goes_on_while_one_of_three_workers_is_killed_and_another_joins() -> None:
    """The worker whose session has initialised the variables is as good as any other."""
    clusters: list[Any] = []
    told: list[int] = []

    def progress(steps: int, accuracy: float | None) -> None:
        if sum(told) < 200 <= sum(told) + steps:
            clusters[0].process("worker", 0).send_signal(signal.SIGKILL)
        told.append(steps)

    lesson = await train_on_cluster(load_digits(), 1500, 3, progress, clusters.append)
    assert lesson.accuracy >= PASS_MARK
    assert sum(told) == lesson.steps == 1500
    # Steps of the lost worker whose answers were lost are taken again by the others.
    assert 1500 <= lesson.curve[-1].step <= 1510
    lost, started, joined, done = lesson.events
    assert re.fullmatch(
        r"step 2\d0: /job:worker/replica:0/task:0 \(pid \d+\) was killed by SIGKILL; workers 1, 2 go on", lost
    )
    assert re.fullmatch(r"step 2\d0: another worker is started", started)
    assert re.fullmatch(r"step \d+: /job:worker/replica:0/task:3 has joined; workers 1, 2, 3 train", joined)
    assert done == "step 1500: done; the variables were on the server all the time"


async def test_the_loss_of_the_server_ends_the_training() -> None:
    clusters: list[Any] = []

    def progress(steps: int, accuracy: float | None) -> None:
        clusters[0].process("ps").send_signal(signal.SIGKILL)

    with pytest.RaisesGroup(
        pytest.RaisesExc(UnavailableError, match="/job:ps/replica:0/task:0"), flatten_subgroups=True
    ):
        await train_on_cluster(load_digits(), 1000, 1, progress, clusters.append)


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


ROOT = Path(__file__).resolve().parents[2]


PRINTS = {
    "quickstart.py": "loss: 0.0000\n",
    "tensorflow1.py": "accuracy: True\n",
    "two_workers.py": "sum of squares so far: 14.0\nsum of squares so far: 28.0\n",
}


def test_every_example_is_run_here() -> None:
    assert sorted(path.name for path in (ROOT / "examples").glob("*.py")) == sorted(PRINTS)


@pytest.mark.parametrize("name", PRINTS)
def test_an_example_prints_its_results_and_nothing_else(name: str, tmp_path: Path) -> None:
    run = subprocess.run(
        [sys.executable, "-W", "error", ROOT / "examples" / name],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    assert (run.returncode, run.stdout, run.stderr) == (0, PRINTS[name], "")
