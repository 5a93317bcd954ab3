"""The first half of the demo: everything in this process."""

from __future__ import annotations

import time

import actorsession as acts
from actorsession.demo.digits import Digits
from actorsession.demo.model import build_model
from actorsession.demo.places import Variant
from actorsession.demo.training import LOOKS, Lesson, OnProgress, Plan, check, train

__all__ = ["train_locally"]


async def train_locally(digits: Digits, steps: int, on_progress: OnProgress, variant: Variant | None = None) -> Lesson:
    """Train in this process, with a session whose target is ``""``.

    Args:
        digits: the training and test images.
        steps: the number of training steps.
        on_progress: called from time to time.
        variant: what is trained, and on which device.
    """
    lesson = Lesson(where="one process", steps=steps)
    variant = variant or Variant()
    graph = acts.Graph()
    with graph.as_default(), graph.device(variant.device):
        model = build_model(network=variant.network)
    config = acts.ConfigProto(device_count={variant.device_type: 1})
    async with acts.AsyncSession("", graph=graph, config=config) as session:
        await session.run(model.initialize)
        lesson.curve.append(await check(session, model, digits))
        plan = Plan(steps=steps, look_every=max(1, steps // LOOKS))
        start = time.perf_counter()
        lesson.curve += await train(session, model, digits, plan, on_progress)
        lesson.seconds = time.perf_counter() - start
        lesson.curve.append(await check(session, model, digits))
    return lesson
