"""Training any session, and looking at how well it does.

The session may be of this process or of a cluster: these functions cannot tell.
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

__all__ = ["LOOKS", "Checkpoint", "Lesson", "OnProgress", "Plan", "batches", "check", "train"]

BATCH = 64
# Looks at the accuracy in one lesson: enough for a smooth curve, and a few percent of the time.
LOOKS = 100
# Steps between two calls of ``on_progress``: a few milliseconds, and little of their time.
TELL_EVERY = 10

# Called with steps done since the last call, and the accuracy if it was looked at.
OnProgress: TypeAlias = Callable[[int, float | None], None]


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """How well the model did at some moment.

    Attributes:
        step: training steps done until then, by all workers together.
        accuracy: share of the held-out images that it recognised.
    """

    step: int
    accuracy: float


@dataclass(slots=True, kw_only=True)
class Lesson:
    """One model's training, from its first step to its examination.

    Attributes:
        where: what ran it, in words.
        steps: training steps.
        seconds: from the first step to the end of the last, with the looks at the accuracy.
        curve: how well it did meanwhile; the last entry is the result.
        step_messages: messages between processes for one training step, on average.
        step_bytes: their bytes, likewise; all that went over the wires.
        trace: statistics of one training step, if it was distributed.
    """

    where: str
    steps: int
    seconds: float = 0.0
    curve: list[Checkpoint] = field(default_factory=list)
    step_messages: float = 0.0
    step_bytes: float = 0.0
    trace: acts.StepStats | None = None

    @property
    def accuracy(self) -> float:
        """The share of the held-out images that it recognised in the end."""
        return self.curve[-1].accuracy


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one session trains.

    Attributes:
        steps: training steps.
        look_every: steps between two looks at the accuracy; 0 to leave that to others.
        seed: of the order of its batches.
    """

    steps: int
    look_every: int
    seed: int = 0


def batches(digits: Digits, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Images and labels in batches, shuffled anew in every round, without an end."""
    random = np.random.default_rng(seed)
    size = min(BATCH, len(digits.train_labels))
    while True:
        order = random.permutation(len(digits.train_labels))
        for start in range(0, len(order) - size + 1, size):
            chosen = order[start : start + size]
            yield digits.train_images[chosen], digits.train_labels[chosen]


async def train(
    session: acts.AsyncSession, model: Model, digits: Digits, plan: Plan, on_progress: OnProgress
) -> list[Checkpoint]:
    """Train for as many steps as planned.

    Args:
        session: its variables have their first values.
        model: built in the session's graph.
        digits: what is learnt.
        plan: how long.
        on_progress: hears of it now and then.

    Returns:
        How well the model did at each look.
    """
    curve: list[Checkpoint] = []
    told = 0
    source = batches(digits, plan.seed)
    for number in range(1, plan.steps + 1):
        images, labels = next(source)
        await session.run(model.train, {model.images: images, model.labels: labels})
        if plan.look_every and number % plan.look_every == 0:
            curve.append(await check(session, model, digits))
        if number - told >= TELL_EVERY or number == plan.steps:
            on_progress(number - told, curve[-1].accuracy if curve else None)
            told = number
            # Steps of this process never wait, so others get their turn here.
            await asyncio.sleep(0)
    return curve


async def check(session: acts.AsyncSession, model: Model, digits: Digits) -> Checkpoint:
    """Examine the model on the images that were held out."""
    step, accuracy = await session.run(
        [model.steps_done, model.accuracy],
        {model.images: digits.test_images, model.labels: digits.test_labels},
    )
    return Checkpoint(int(step), float(accuracy))
