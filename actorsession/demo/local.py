"""The first half of the demo: everything in this process."""

from __future__ import annotations

import time

import actorsession as acts
from actorsession.demo.digits import Digits
from actorsession.demo.model import build_model
from actorsession.demo.training import LOOKS, Lesson, OnProgress, Plan, check, train

__all__ = ["train_locally"]


async def train_locally(digits: Digits, steps: int, on_progress: OnProgress) -> Lesson:
    """Train in this process, with a session whose target is ``""``.

    Args:
        digits: the training and test images.
        steps: the number of training steps.
        on_progress: called from time to time.
    """
    lesson = Lesson(where="one process", steps=steps)
    graph = acts.Graph()
    with graph.as_default():
        model = build_model()
    async with acts.AsyncSession("", graph=graph) as session:
        await session.run(model.initialize)
        lesson.curve.append(await check(session, model, digits))
        plan = Plan(steps=steps, look_every=max(1, steps // LOOKS))
        start = time.perf_counter()
        lesson.curve += await train(session, model, digits, plan, on_progress)
        lesson.seconds = time.perf_counter() - start
        lesson.curve.append(await check(session, model, digits))
    return lesson
