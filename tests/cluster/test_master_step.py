"""A step at its master: one run per part, the first real error, and the clean-up after it."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from actorsession.actors.timer_wheel import TimerWheel
from actorsession.cluster.master.client_graph import ClientGraph, TaskPart
from actorsession.cluster.master.master_step import MasterStep
from actorsession.cluster.master.step_parts import BoundPart
from actorsession.errors import (
    AbortedError,
    CancelledError,
    DeadlineExceededError,
    InvalidArgumentError,
    OpError,
    ProtocolError,
    UnavailableError,
    error_from_wire,
)
from actorsession.extend import RunSignature
from actorsession.messages import CleanupGraph
from actorsession.messages.step_frames import WireValues, extra_to_wire
from actorsession.rpc.local_calls import LocalRun, LocalValues
from tests.cluster.fakes import FakeWorker, Outcome
from tests.cluster.kit import PS0, W0, W1, soon

TASKS = (PS0, W0, W1)


class FakeCalls:
    """The step frames of a link to a task that is not there; the test answers, or ``answer`` does."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.runs: list[tuple[int, int, list[Any]]] = []
        self.cancelled: list[int] = []
        self.waiter: Any = None

    def request(
        self, kind: int, step_id: int, program: int, seconds: None, asked: Any, values: WireValues, waiter: Any
    ) -> None:
        self.runs.append((step_id, program, values.read_all()))
        self.waiter = waiter
        asyncio.get_running_loop().call_soon(self._answer, waiter)

    def _answer(self, waiter: Any) -> None:
        if self.answer == "gone":
            waiter.gone()
        elif isinstance(self.answer, OpError):
            waiter.failed(self.answer)
        elif self.answer is not None:
            waiter.done(WireValues.of([self.answer]), None)

    def cancel(self, step_id: int) -> None:
        self.cancelled.append(step_id)


class Run(Outcome):
    """The run of a client in this process."""

    def __init__(self, feeds: Sequence[Any]) -> None:
        super().__init__()
        self.values, self.asked, self.seconds = LocalValues.of(feeds), None, None
        self.on_cancel: Any = None

    def done(self, values: Any, extra: Any = None, settle: Any = None) -> None:
        super().done(values, extra)

    fail, fetched = Outcome.failed, staticmethod(LocalRun.fetched)


class Steps:
    """Steps over tasks that are not there; each part has one feed and one fetch."""

    def __init__(self, tasks: Sequence[str] = TASKS) -> None:
        self.workers = {task: FakeWorker(task) for task in tasks}
        self.calls = {task: FakeCalls(np.float32(number)) for number, task in enumerate(tasks)}
        parts = [TaskPart(t, [], (i,), (i,), f"h{i}", program=10 + i) for i, t in enumerate(tasks)]
        self.graph = ClientGraph(RunSignature(tuple("abc"[: len(tasks)])), parts)
        self.running: list[MasterStep] = []
        session = SimpleNamespace(
            handle="s",
            now=time.monotonic,
            step_ids=itertools.count(),
            workers=self.workers,
            wheel=TimerWheel(),
            observer=SimpleNamespace(is_active=False),
            began=lambda step, graph: self.running.append(step),
            ended=lambda step, graph, nbytes, error: self.running.remove(step),
            whose_limit=lambda seconds: "the limit of the run",
        )
        self.program: Any = SimpleNamespace(
            session=session,
            fetches=[(i, 0) for i in range(len(tasks))],
            parts=[BoundPart(p, p.feeds, self.calls[p.task], None) for p in parts],  # type: ignore[arg-type]
        )

    def begin(self, seconds: float = 60.0) -> tuple[MasterStep, Run]:
        run: Any = Run([f"feed {number}" for number in range(len(self.calls))])
        step = MasterStep(self.program, self.graph, run, 0, seconds)
        step.begin()
        return step, run

    def told(self) -> dict[str, list[OpError]]:
        """The errors of the clean-ups that each worker was told."""
        return {
            task: [error_from_wire(m.error) for m in w.told if isinstance(m, CleanupGraph)]
            for task, w in self.workers.items()
        }


async def failed(steps: Steps, kind: type[OpError], seconds: float = 60.0) -> Any:
    with pytest.raises(kind) as info:
        await soon(steps.begin(seconds)[1].ended)
    assert steps.running == []
    return info.value


@pytest.mark.parametrize("count", [1, 2, 3])
async def test_every_part_is_run_once_with_its_own_feeds(count: int) -> None:
    steps = Steps(TASKS[:count])
    step, run = steps.begin()
    assert await soon(run.ended) == list(range(count))
    for number, calls in enumerate(steps.calls.values()):
        assert calls.runs == [(step.step_id, 10 + number, [f"feed {number}"])]


async def test_the_part_of_the_masters_own_task_is_run_by_a_call_before_the_others() -> None:
    steps = Steps()
    began: list[Any] = []

    def begin(step_id: int, feeds: Sequence[Any], waiter: Any, asked: Any) -> Any:
        began.append((feeds, [len(calls.runs) for calls in steps.calls.values()]))
        return [np.float32(7)], 0, None

    steps.graph.here = 1
    steps.program.parts[1] = BoundPart(steps.graph.parts[1], (1,), None, begin)
    assert await soon(steps.begin()[1].ended) == [0, 7, 2]
    assert began == [(["feed 1"], [0, 0, 0])]
    assert [len(calls.runs) for calls in steps.calls.values()] == [1, 0, 1]


async def test_a_step_that_went_well_needs_no_clean_up() -> None:
    steps = Steps()
    await soon(steps.begin()[1].ended)
    assert all(worker.told == [] for worker in steps.workers.values())
    assert all(calls.cancelled == [] for calls in steps.calls.values())
    assert steps.running == []


async def test_steps_have_different_numbers() -> None:
    steps = Steps()
    begun = [steps.begin() for _ in range(100)]
    assert len({step.step_id for step, _ in begun}) == 100
    await soon(asyncio.gather(*[run.ended for _, run in begun]))


@pytest.mark.parametrize("count", [1, 2, 3])
async def test_an_error_names_the_task_it_comes_from(count: int) -> None:
    steps = Steps(TASKS[:count])
    last = TASKS[count - 1]
    steps.calls[last].answer = InvalidArgumentError("wrong", node="n")
    error = await failed(steps, InvalidArgumentError)
    assert (error.task, error.node) == (last, "n")


async def test_the_first_error_gives_the_other_parts_up_and_everybody_is_told_of_it() -> None:
    steps = Steps()
    steps.calls[PS0].answer = steps.calls[W1].answer = None
    steps.calls[W0].answer = InvalidArgumentError("wrong")
    await failed(steps, InvalidArgumentError)
    assert [len(calls.cancelled) for calls in steps.calls.values()] == [1, 1, 1]
    for errors in steps.told().values():
        assert [(type(e), e.message) for e in errors] == [(InvalidArgumentError, "wrong")]


async def test_an_error_that_only_follows_from_another_is_not_the_one_that_is_raised() -> None:
    steps = Steps()
    steps.calls[PS0].answer = CancelledError("given up", derived=True)
    steps.calls[W0].answer = UnavailableError("lost")
    steps.calls[W1].answer = CancelledError("given up", derived=True)
    assert (await failed(steps, UnavailableError)).task == W0


async def test_what_parts_report_after_the_end_of_the_step_changes_nothing() -> None:
    steps = Steps()
    steps.calls[PS0].answer = steps.calls[W1].answer = None
    steps.calls[W0].answer = InvalidArgumentError("wrong")
    await failed(steps, InvalidArgumentError)
    steps.calls[PS0].waiter.done(WireValues.of([np.float32(1)]), None)
    steps.calls[W1].waiter.failed(UnavailableError("lost"))
    await asyncio.sleep(0)
    assert [len(errors) for errors in steps.told().values()] == [1, 1, 1]


async def test_a_client_that_cancels_its_run_gives_the_step_up_everywhere() -> None:
    steps = Steps()
    for calls in steps.calls.values():
        calls.answer = None
    step, run = steps.begin()
    run.on_cancel()
    with pytest.raises(CancelledError):
        await soon(run.ended)
    assert [calls.cancelled for calls in steps.calls.values()] == [[step.step_id]] * 3
    for errors in steps.told().values():
        assert [type(e) for e in errors] == [CancelledError]


@pytest.mark.parametrize("at_work", [(W0, W1), (PS0,)])
async def test_a_step_over_its_limit_names_all_tasks_that_are_at_work_and_no_other(at_work: Sequence[str]) -> None:
    steps = Steps()
    for task in at_work:
        steps.calls[task].answer = None
    error = await failed(steps, DeadlineExceededError, seconds=0.02)
    words = f"exceeded the limit of the run; still at work on it: {', '.join(at_work)}"
    assert error.message.endswith(words)
    assert error.task == (at_work[0] if len(at_work) == 1 else None)


@pytest.mark.parametrize(
    ("values", "extra"),
    [
        ([], None),
        ([1, 2], None),
        ([1], -1),
        ([1], True),
        ([1], "nonsense"),
        ([1], extra_to_wire(0)),
        ([1], extra_to_wire(0, "stats")),
    ],
    ids=repr,
)
async def test_a_worker_that_answers_nonsense_breaks_the_protocol(values: list[Any], extra: Any) -> None:
    """Its link, which calls the waiter, reports the error to it and ends."""
    steps = Steps()
    steps.calls[W1].answer = None
    _, run = steps.begin()
    waiter = steps.calls[W1].waiter
    with pytest.raises(ProtocolError) as info:
        waiter.done(WireValues.of(values), extra)
    waiter.failed(info.value)
    with pytest.raises(ProtocolError, match=r"a part with 1 fetches was answered by|a request has"):
        await soon(run.ended)


async def test_a_worker_that_does_not_know_the_graph_has_probably_restarted() -> None:
    steps = Steps()
    steps.calls[W1].answer = "gone"
    error = await failed(steps, AbortedError)
    assert "the worker has probably restarted" in error.message
    assert error.task == W1


async def test_a_worker_that_cannot_be_told_of_the_end_does_not_hide_the_error() -> None:
    steps = Steps()
    steps.calls[W1].answer = UnavailableError("lost")

    def gone(message: Any) -> None:
        raise UnavailableError("no link")

    steps.workers[W1].tell = gone  # type: ignore[method-assign]
    assert (await failed(steps, UnavailableError)).message.startswith("lost; step ")
    assert len(steps.told()[PS0]) == 1


async def test_a_part_that_cannot_be_sent_fails_the_step() -> None:
    steps = Steps()

    def over(*args: Any, **more: Any) -> None:
        raise UnavailableError("over")

    steps.calls[W0].request = over  # type: ignore[method-assign]
    assert (await failed(steps, UnavailableError)).task == W0
    assert steps.calls[W1].runs == []
