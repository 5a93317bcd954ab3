"""Finding the tasks of a cluster, and saying who is missing."""

from __future__ import annotations

import asyncio

import pytest

import actorsession as acts
from actorsession.actors import Deadline
from actorsession.cluster.master.device_discovery import find_tasks
from actorsession.errors import DeadlineExceededError, UnavailableError
from actorsession.messages import GetStatus, WorkerStatus
from tests.cluster.fakes import FakeWorker
from tests.cluster.kit import PS0, W0, W1, soon

ADDRESSES = {PS0: "tcp://h:1", W0: "tcp://h:2", W1: "tcp://h:3"}


def status(task: str) -> WorkerStatus:
    device = acts.plugins.DeviceAttributes(name=f"{task}/device:CPU:0", device_type="CPU", incarnation=9)
    return WorkerStatus(task=task, incarnation=7, devices=[device.to_wire()], statistics={}, restored=None)


def workers() -> dict[str, FakeWorker]:
    made = {task: FakeWorker(task) for task in ADDRESSES}
    for task, worker in made.items():
        worker.answers[GetStatus] = status(task)
    return made


async def test_every_task_is_asked_once_if_all_answer() -> None:
    there = workers()
    found = await find_tasks(ADDRESSES, there.__getitem__, Deadline.after(60))
    assert [task.task for task in found] == list(ADDRESSES)
    assert [task.incarnation for task in found] == [7, 7, 7]
    assert [d.name for task in found for d in task.devices] == [f"{t}/device:CPU:0" for t in ADDRESSES]
    assert all(len(worker.asked) == 1 for worker in there.values())


async def test_a_task_that_comes_late_is_waited_for() -> None:
    there = workers()
    there[W1].answers[GetStatus] = UnavailableError("refused")
    finding = asyncio.create_task(find_tasks(ADDRESSES, there.__getitem__, Deadline.after(60)))
    await there[W1].until_asked(GetStatus, 2)
    there[W1].answers[GetStatus] = status(W1)
    assert len(await soon(finding)) == 3
    assert len(there[W0].asked) == 1


async def test_only_the_missing_are_named_with_address_attempts_and_last_error() -> None:
    there = workers()
    there[PS0].answers[GetStatus] = UnavailableError("connection refused, errno 111")
    _ = there[W1].hold(GetStatus)
    with pytest.raises(DeadlineExceededError) as info:
        await soon(find_tasks(ADDRESSES, there.__getitem__, Deadline.after(0.35)))
    message = info.value.message
    assert "2 of 3 tasks did not answer in time" in message
    assert f"{PS0} at tcp://h:1 (" in message
    assert "last: connection refused, errno 111)" in message
    assert f"{W1} at tcp://h:3 (1 attempt, last: " in message
    assert W0 not in message
    assert info.value.task == PS0


async def test_the_end_of_the_search_does_not_hide_the_error_before_it() -> None:
    there = workers()
    there[W1].answers[GetStatus] = UnavailableError("connection refused")
    finding = asyncio.create_task(find_tasks(ADDRESSES, there.__getitem__, Deadline.after(1.0)))
    await there[W1].until_asked(GetStatus)
    _ = there[W1].hold(GetStatus)
    with pytest.raises(DeadlineExceededError, match=r"\(2 attempts, last: connection refused\)"):
        await soon(finding)


async def test_each_attempt_has_a_limit_of_its_own() -> None:
    there = workers()
    await find_tasks(ADDRESSES, there.__getitem__, Deadline.after(60))
    (deadline,) = there[W0].deadlines
    assert deadline is not None
    assert (deadline.time_left or 0) <= 5.0
