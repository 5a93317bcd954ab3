"""Training: batches, progress, and the same steps whatever the session is."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import actorsession as acts
from actorsession.demo.digits import Digits, load_digits
from actorsession.demo.model import Model, build_model
from actorsession.demo.training import Plan, batches, check, train


@pytest.fixture(scope="module")
def digits() -> Digits:
    return load_digits()


def built() -> tuple[acts.Graph, Model]:
    graph = acts.Graph()
    with graph.as_default():
        return graph, build_model()


def few(digits: Digits, count: int) -> Digits:
    """Digits of which only some are trained on."""
    return Digits(
        train_images=digits.train_images[:count],
        train_labels=digits.train_labels[:count],
        test_images=digits.test_images,
        test_labels=digits.test_labels,
    )


def test_a_round_of_batches_shows_every_image_once_at_most(digits: Digits) -> None:
    small = few(digits, 130)
    first, second = itertools.islice(batches(small, seed=0), 2)
    shown = np.concatenate([first[0], second[0]])
    assert shown.shape == (128, 64)
    assert len(np.unique(shown, axis=0)) == 128
    small = few(digits, 64)
    first, second = itertools.islice(batches(small, seed=0), 2)
    assert not np.array_equal(first[1], second[1])
    np.testing.assert_array_equal(next(batches(small, seed=0))[1], first[1])
    images, labels = next(batches(few(digits, 3), seed=0))
    assert (images.shape, labels.shape) == ((3, 64), (3,))


async def test_the_loss_falls_and_the_steps_are_counted(digits: Digits) -> None:
    graph, model = built()
    images, labels = next(batches(digits, seed=9))
    feeds = {model.images: images, model.labels: labels}
    async with acts.AsyncSession(graph=graph) as session:
        await session.run(model.initialize)
        before = await session.run(model.loss, feeds)
        curve = await train(session, model, digits, Plan(steps=60, look_every=20), lambda *_: None)
        after = await session.run(model.loss, feeds)
        last = await check(session, model, digits)
    assert [point.step for point in curve] == [20, 40, 60]
    assert after < before / 2
    assert last == curve[-1]
    assert last.accuracy > 0.8


async def test_progress_adds_up_to_all_steps(digits: Digits) -> None:
    graph, model = built()
    told: list[tuple[int, float | None]] = []
    async with acts.AsyncSession(graph=graph) as session:
        await session.run(model.initialize)
        await train(session, model, digits, Plan(steps=25, look_every=0), lambda *news: told.append(news))
    assert told == [(10, None), (10, None), (5, None)]
    graph, model = built()
    async with acts.AsyncSession(graph=graph) as session:
        await session.run(model.initialize)
        before = await check(session, model, digits)
        assert await train(session, model, digits, Plan(steps=0, look_every=0), _refuse) == []
        assert await check(session, model, digits) == before


def _refuse(_steps: int, _accuracy: float | None) -> None:
    raise AssertionError("there is no progress to tell")


async def test_two_replicas_begin_alike(digits: Digits) -> None:
    """Only then may one of them give all variables their values, and the other train them."""
    results = []
    for graph, model in (built(), built()):
        async with acts.AsyncSession(graph=graph) as session:
            await session.run(model.initialize)
            results.append(await check(session, model, digits))
    names = [[op.name for op in graph.get_operations()] for graph, _ in (built(), built())]
    assert names[0] == names[1]
    assert results[0] == results[1]
