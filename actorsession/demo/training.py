"""Training with any session, and measurement of the accuracy.

The session may be local or one of a cluster; these functions do not depend on it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import field
from typing import TypeAlias

import numpy as np

import actorsession as acts
from actorsession.demo.digits import Digits
from actorsession.demo.model import Model
from actorsession.records import dataclass

__all__ = [
    "LOOKS",
    "TELL_EVERY",
    "Checkpoint",
    "Lesson",
    "OnProgress",
    "Plan",
    "batches",
    "check",
    "report_nothing",
    "train",
]

BATCH = 64
# Measurements of the accuracy in one lesson: enough for a smooth curve, at a few percent of the time.
LOOKS = 100
# Steps between two calls of ``on_progress``: some milliseconds, so that the calls cost little in comparison.
TELL_EVERY = 10

# Called with the steps done since the last call, and the accuracy if it was measured.
OnProgress: TypeAlias = Callable[[int, float | None], None]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The accuracy of the model at one moment.

    Attributes:
        step: training steps done until then, by all workers together.
        accuracy: share of the held-out images that were recognised.
    """

    step: int
    accuracy: float


@dataclass(slots=True, kw_only=True)
class Lesson:
    """The training of one model, from its first step to its final test.

    Attributes:
        where: a description of what ran it.
        steps: training steps.
        seconds: from the first step to the end of the last, including measurements of the accuracy.
        curve: the accuracies measured meanwhile; the last entry is the result.
        step_messages: messages between processes for one training step, on average.
        step_bytes: the bytes of these messages, likewise; all that was sent over connections.
        trace: statistics of one training step, if it was distributed.
        events: a line for each loss of workers that it went on from.
    """

    where: str
    steps: int
    seconds: float = 0.0
    curve: list[Checkpoint] = field(default_factory=list)
    step_messages: float = 0.0
    step_bytes: float = 0.0
    trace: acts.config.StepStats | None = None
    events: list[str] = field(default_factory=list)

    @property
    def accuracy(self) -> float:
        """The share of the held-out images that were recognised in the end."""
        return self.curve[-1].accuracy


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The training of one session.

    Attributes:
        steps: training steps.
        look_every: steps between two measurements of the accuracy; 0 for none in this session.
        seed: the seed for the order of its batches.
    """

    steps: int
    look_every: int
    seed: int = 0


def batches(digits: Digits, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield batches of images and labels for ever, shuffled anew in every round."""
    random = np.random.default_rng(seed)
    size = min(BATCH, len(digits.train_labels))
    while True:
        order = random.permutation(len(digits.train_labels))
        for start in range(0, len(order) - size + 1, size):
            chosen = order[start : start + size]
            yield digits.train_images[chosen], digits.train_labels[chosen]


async def train(
    session: acts.AsyncSession,
    model: Model,
    digits: Digits,
    plan: Plan,
    on_progress: OnProgress,
    options: acts.RunOptions | None = None,
) -> list[Checkpoint]:
    """Train for as many steps as planned.

    Args:
        session: a session whose variables are initialised.
        model: the model, built in the session's graph.
        digits: the training and test images.
        plan: the number of steps and the measurements.
        on_progress: called from time to time.
        options: of each step.

    Returns:
        The accuracy at each measurement.
    """
    curve: list[Checkpoint] = []
    reported = 0
    source = batches(digits, plan.seed)
    for number in range(1, plan.steps + 1):
        images, labels = next(source)
        await session.run(model.train, {model.images: images, model.labels: labels}, options)
        if plan.look_every and number % plan.look_every == 0:
            curve.append(await check(session, model, digits))
        if number - reported >= TELL_EVERY or number == plan.steps:
            on_progress(number - reported, curve[-1].accuracy if curve else None)
            reported = number
            # Steps of this process never wait, so other coroutines run here.
            await asyncio.sleep(0)
    return curve


async def check(session: acts.AsyncSession, model: Model, digits: Digits) -> Checkpoint:
    """Measure the accuracy of the model on the held-out images."""
    step, accuracy = await session.run(
        [model.steps_done, model.accuracy], {model.images: digits.test_images, model.labels: digits.test_labels}
    )
    return Checkpoint(int(step), float(accuracy))


def report_nothing(steps: int, accuracy: float | None) -> None:
    """Take no notice of progress, for callers of ``train`` that report it themselves."""
