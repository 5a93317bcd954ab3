"""The demo with a parameter server, which goes on when a worker is killed, and has another one join."""

from __future__ import annotations

import re
import signal
from typing import Any

import pytest

from actorsession.demo.digits import load_digits
from actorsession.demo.distributed import train_on_cluster
from actorsession.demo.report import PASS_MARK
from actorsession.errors import UnavailableError

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
