"""Exit statuses of processes that this process started, for the errors of sessions whose tasks they were.

The owner of child processes (``cluster.LocalCluster``) registers an exit reporter here, under the addresses
at which sessions are opened. ``MasterConnection`` calls it when a master or one of its workers is lost: a
closed connection does not reveal the cause, but the parent of the process can find it out.

Nothing here waits for a process that is still running.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import TypeAlias

from actorsession.errors import UnavailableError
from transports.host import current_host

__all__ = [
    "LAST_LINES",
    "ExitReporter",
    "add_exit_status",
    "is_given_up",
    "note_answer",
    "register_exit_reporter",
    "retire",
    "unregister_exit_reporter",
]

ExitReporter: TypeAlias = Callable[[str | None], Awaitable[str]]
"""Maps a task, or ``None`` for the task at the address, to a sentence on the end of its process; "" if the
process is running or the status is unknown. It may be called on any loop."""

LAST_LINES = "; its last lines:\n"
"""Stands between the end of a process and the last lines that it wrote, which go to the end of an error."""

_MOST_RETIRED = 1000


class _Reporters(dict[str, tuple[ExitReporter, Callable[[], bool]]]):
    """The reporters of one process by address.

    Attributes:
        retired: addresses that are kept although nothing is there any more, the oldest first.
    """

    def __init__(self) -> None:
        super().__init__()
        self.retired: OrderedDict[str, None] = OrderedDict()


def register_exit_reporter(address: str, reporter: ExitReporter, given_up: Callable[[], bool] = bool) -> None:
    """Register a reporter of exit statuses for the errors of sessions at an address.

    Args:
        address: the address of a task.
        reporter: the reporter.
        given_up: returns whether the task has ended and is not started again, so that nobody need wait for
            it.
    """
    reporters = current_host().own(_Reporters)
    reporters.retired.pop(address, None)
    reporters[address] = reporter, given_up


def unregister_exit_reporter(address: str) -> None:
    """Remove the reporter of an address, if there is one."""
    reporters = current_host().own(_Reporters)
    reporters.retired.pop(address, None)
    reporters.pop(address, None)


def retire(address: str, how: str) -> None:
    """Let nobody wait for a task any more, because its cluster has ended it for good.

    Args:
        address: the address of the task.
        how: what became of it and by whom, for the errors of sessions that look for it there.
    """

    async def report(task: str | None) -> str:
        return how if task is None else ""  # the error of a task says itself what it knows

    register_exit_reporter(address, report, lambda: True)
    retired = current_host().own(_Reporters).retired
    retired[address] = None
    if len(retired) > _MOST_RETIRED:
        oldest, _ = retired.popitem(last=False)
        unregister_exit_reporter(oldest)


def note_answer(address: str) -> None:
    """Forget who was retired at an address, because another task has been given it and answers there."""
    if address in current_host().own(_Reporters).retired:
        unregister_exit_reporter(address)


def is_given_up(address: str) -> bool:
    """Return whether the task at an address has ended and is known not to be started again."""
    registered = current_host().own(_Reporters).get(address)  # one look: other threads unregister
    return registered is not None and registered[1]()


async def add_exit_status(error: UnavailableError, target: str) -> UnavailableError:
    """Add to an error the exit status of its task's process, if it is available.

    Args:
        error: the error of a session; changed in place.
        target: the address at which the session was opened.

    Returns:
        The same error.
    """
    registered = current_host().own(_Reporters).get(target)
    if registered is not None:
        status = await registered[0](error.task)
        # Several waiters on one connection may share its error.
        how, mark, lines = status.partition(LAST_LINES)
        if how and how not in error.message:
            text = error.message
            if error.task:
                # What the link could see of the end of the process is part of its exit status.
                ours = re.escape(error.task)
                text = re.sub(rf"^{ours}( \(pid \d+\) [^:]*)?: ", "", text).replace(error.task, "it")
            error.message = f"{how}: {text}{mark}{lines}"
    return error
