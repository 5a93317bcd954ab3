"""A step at its master: one call per part, the first real error, and the clean-up after it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from actorsession.actors import Deadline
from actorsession.cluster.master.client_graph import ClientGraph, TaskPart
from actorsession.cluster.master.master_step import MasterStep
from actorsession.errors import (
    CancelledError,
    DeadlineExceededError,
    InternalError,
    InvalidArgumentError,
    OpError,
    UnavailableError,
    error_from_wire,
)
from actorsession.messages import CleanupGraph, GraphDone, RunGraph
from actorsession.plan.signature import RunSignature
from tests.cluster.fakes import FakeWorker
from tests.cluster.kit import PS0, W0, W1, soon

TASKS = (PS0, W0, W1)


class Steps:
    """Steps over workers that are not there; each part has one fetch."""

    def __init__(self, tasks: Sequence[str] = TASKS) -> None:
        self.workers = {task: FakeWorker(task) for task in tasks}
        parts = [TaskPart(t, [], (i,), (i,), f"h{i}") for i, t in enumerate(tasks)]
        self.graph = ClientGraph(RunSignature(tuple("abc"[: len(tasks)])), parts)
        for number, worker in enumerate(self.workers.values()):
            worker.answers[RunGraph] = GraphDone(values=[np.float32(number)], stats=None)

    def step(self, seconds: float | None = 60.0) -> MasterStep:
        feeds = [f"feed {i}" for i in range(len(self.workers))]
        return MasterStep(
            self.graph, self.workers, "s", feeds, trace=False, deadline=Deadline.after(seconds)
        )

    def told(self) -> dict[str, list[OpError]]:
        """The errors of the clean-ups that each worker was told."""
        return {
            task: [error_from_wire(m.error) for m in w.told if isinstance(m, CleanupGraph)]
            for task, w in self.workers.items()
        }


async def failed(steps: Steps, kind: type[OpError], seconds: float = 60.0) -> Any:
    with pytest.raises(kind) as info:
        await soon(steps.step(seconds).run())
    return info.value


@pytest.mark.parametrize("count", [1, 2, 3])
async def test_every_part_is_asked_once_with_its_own_feeds(count: int) -> None:
    steps = Steps(TASKS[:count])
    step = steps.step()
    await soon(step.run())
    for number, worker in enumerate(steps.workers.values()):
        assert worker.asked == [
            RunGraph(
                session_handle="s", graph_handle=f"h{number}", step_id=step.step_id,
                feeds=[f"feed {number}"], trace=False,
            )
        ]  # fmt: skip
    assert [answer and answer.values for answer in step.answers] == [[n] for n in range(count)]


async def test_a_step_that_went_well_needs_no_clean_up() -> None:
    steps = Steps()
    await steps.step().run()
    assert all(worker.told == [] for worker in steps.workers.values())


async def test_steps_have_different_numbers() -> None:
    steps = Steps()
    assert len({steps.step().step_id for _ in range(100)}) == 100


@pytest.mark.parametrize("count", [1, 2, 3])
async def test_an_error_names_the_task_it_comes_from(count: int) -> None:
    steps = Steps(TASKS[:count])
    last = TASKS[count - 1]
    steps.workers[last].answers[RunGraph] = InvalidArgumentError("wrong", node="n")
    error = await failed(steps, InvalidArgumentError)
    assert (error.task, error.node) == (last, "n")


async def test_the_first_error_gives_the_other_calls_up_and_everybody_is_told_of_it() -> None:
    steps = Steps()
    _ = steps.workers[PS0].hold(RunGraph)
    _ = steps.workers[W1].hold(RunGraph)
    steps.workers[W0].answers[RunGraph] = InvalidArgumentError("wrong")
    await failed(steps, InvalidArgumentError)
    assert len(steps.workers[PS0].cancelled) == len(steps.workers[W1].cancelled) == 1
    for errors in steps.told().values():
        assert [(type(e), e.message) for e in errors] == [(InvalidArgumentError, "wrong")]


async def test_an_error_that_only_follows_from_another_is_not_the_one_that_is_raised() -> None:
    steps = Steps()
    steps.workers[PS0].answers[RunGraph] = CancelledError("given up", derived=True)
    steps.workers[W0].answers[RunGraph] = UnavailableError("lost")
    steps.workers[W1].answers[RunGraph] = CancelledError("given up", derived=True)
    assert (await failed(steps, UnavailableError)).task == W0


async def test_cancelling_a_step_gives_it_up_everywhere() -> None:
    steps = Steps()
    for worker in steps.workers.values():
        _ = worker.hold(RunGraph)
    run = asyncio.create_task(steps.step().run())
    for worker in steps.workers.values():
        await worker.until_asked(RunGraph)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    for task, worker in steps.workers.items():
        assert len(worker.cancelled) == 1
        assert [type(e) for e in steps.told()[task]] == [CancelledError]


async def test_a_step_over_its_limit_names_all_tasks_that_are_at_work_and_no_other() -> None:
    steps = Steps()
    _ = steps.workers[W0].hold(RunGraph)
    _ = steps.workers[W1].hold(RunGraph)
    error = await failed(steps, DeadlineExceededError, seconds=0.02)
    assert f"still at work on it: {W0}, {W1}" in error.message
    assert error.task is None


@pytest.mark.parametrize("count", [1, 3])
async def test_a_step_that_waits_for_one_task_only_blames_that(count: int) -> None:
    steps = Steps(TASKS[:count])
    steps.workers[PS0].answers[RunGraph] = DeadlineExceededError("did not answer in time")
    error = await failed(steps, DeadlineExceededError)
    assert error.message.endswith(f"still at work on it: {PS0}")
    assert error.task == PS0


@pytest.mark.parametrize("answer", [GraphDone(values=[], stats=None), "nonsense"])
async def test_a_worker_that_answers_nonsense_is_an_internal_error(answer: Any) -> None:
    steps = Steps()
    steps.workers[W1].answers[RunGraph] = answer
    error = await failed(steps, InternalError)
    assert W1 in error.message


async def test_a_worker_that_cannot_be_told_of_the_end_does_not_hide_the_error() -> None:
    steps = Steps()
    steps.workers[W1].answers[RunGraph] = UnavailableError("lost")

    def gone(message: Any) -> None:
        raise UnavailableError("no link")

    steps.workers[W1].tell = gone  # type: ignore[method-assign]
    assert (await failed(steps, UnavailableError)).message.startswith("lost; step ")
    assert len(steps.told()[PS0]) == 1
