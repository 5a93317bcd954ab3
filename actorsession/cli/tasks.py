"""What commands have in common that ask several tasks of a cluster the same: who is asked, and who is silent."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Generic, TypeVar

from actorsession.cli.console import fail, seconds
from actorsession.errors import OpError
from actorsession.records import dataclass

__all__ = ["TaskAnswer", "add_timeout", "ask_tasks", "report_silent"]

T = TypeVar("T")
# Seconds to wait for answers, which need no work.
_TIMEOUT = 5.0


@dataclass(slots=True)
class TaskAnswer(Generic[T]):
    """The answer of one task, or why there is none.

    Attributes:
        task: the task; "" if only its address is known.
        address: its address.
        answer: what it has answered; ``None`` for nothing.
        fault: why it has not answered; "" if it has.
    """

    task: str
    address: str
    answer: T | None = None
    fault: str = ""


def add_timeout(parser: argparse.ArgumentParser) -> None:
    """Add the option for how long to wait for answers."""
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=_TIMEOUT,
        metavar="SECONDS",
        help="how long to wait for answers (default %(default)g)",
    )


async def ask_tasks(
    address: str, limit: float, ask: Callable[..., Awaitable[T]], *, all_tasks: bool
) -> list[TaskAnswer[T]]:
    """Ask one task of a cluster, or all of them at once.

    A task that is stopped, hangs or has ended costs the others nothing: its answer has the reason.

    Args:
        address: where a task listens.
        limit: seconds for all answers together.
        ask: asks one task; called with its address and keywords of ``admin_client.ask_server``.
        all_tasks: whether to ask all tasks of its cluster.

    Raises:
        OpError: if the task at the address does not name the tasks of its cluster.
    """
    from actorsession.actors.deadline import Deadline
    from actorsession.cluster import read_cluster

    deadline = Deadline.after(limit)
    answers, cluster_id = [TaskAnswer[T]("", address)], None
    if all_tasks:
        view = await read_cluster(address, deadline=deadline)
        tasks = {**view.tasks, view.task: address}
        answers, cluster_id = [TaskAnswer[T](*item) for item in sorted(tasks.items())], view.cluster_id

    async def ask_one(row: TaskAnswer[T]) -> None:
        try:
            row.answer = await ask(row.address, task=row.task or None, cluster_id=cluster_id, deadline=deadline)
        except (OpError, ValueError) as error:  # a ValueError for what is no address
            row.fault = error.message if isinstance(error, OpError) else str(error)

    async with asyncio.TaskGroup() as group:
        for row in answers:
            group.create_task(ask_one(row), name=f"ask {row.address}")
    return answers


def report_silent(command: str, answers: Iterable[TaskAnswer[Any]]) -> bool:
    """Write a line to standard error for each task that has not answered; return whether there is one."""
    silent = [row for row in answers if row.fault]
    for row in silent:
        fail(command, f"{row.task or row.address}: {row.fault}")
    return bool(silent)
