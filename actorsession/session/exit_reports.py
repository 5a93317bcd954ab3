"""How processes have ended that this one started: for the errors of sessions whose tasks they were.

Whoever starts tasks as children (``cluster.LocalCluster``) says here how it can be asked, by the addresses
at which sessions are opened. ``remote_master`` asks when a master, or a worker of it, is lost: that a
connection is closed says nothing about the cause, which the parent of the process knows.

Nobody waits here for a process that lives.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeAlias

from actorsession.errors import UnavailableError

__all__ = ["ExitReporter", "add_exit_status", "register_exit_reporter", "unregister_exit_reporter"]

ExitReporter: TypeAlias = Callable[[str | None], Awaitable[str]]
"""From a task, or ``None`` for the one at the address, to how its process ended; "" if it lives, or if
nobody knows. It may be called on any loop."""

_tellers: dict[str, ExitReporter] = {}


def register_exit_reporter(address: str, teller: ExitReporter) -> None:
    """Have errors of sessions at an address say what a teller knows."""
    _tellers[address] = teller


def unregister_exit_reporter(address: str) -> None:
    """Take a teller back; one that was never there is fine."""
    _tellers.pop(address, None)


async def add_exit_status(error: UnavailableError, target: str) -> UnavailableError:
    """Add to an error how the process of its task ended, where that is known.

    Args:
        error: of a session; it is changed.
        target: the address at which the session was opened.

    Returns:
        The same error.
    """
    teller = _tellers.get(target)
    if teller is not None:
        fate = await teller(error.task)
        # Those who wait for the same connection may share its error.
        if fate and fate not in error.message:
            error.message += f"; how its process ended: {fate}"
    return error
