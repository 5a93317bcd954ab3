"""Dialling: a connection to a peer, tried again where an attempt ends in the middle of its hello.

Servers dial each other and programs dial servers through ``dial``; it imports deadlines and transports.
Somebody had taken the connection: a network that comes back resets what it knows nothing of, and a listener
that is full drops whoever has waited longest, so the next attempt is likely to succeed. Where the process has
ended, the next one is refused, and that is an error at once: whether to wait for somebody who is not there is
the caller's to say.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from errno import ECONNRESET, ETIMEDOUT

from actorsession.actors.deadline import DEFAULT_SECONDS, Deadline
from transports import ConnectError, Connection, Hello, SecurityConfig, connect

__all__ = ["dial"]

# Seconds from one attempt to the next: soon at first, because most of these faults pass at once; then seldom
# enough that a listener which hangs up on everybody is no busier for it.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
# Where attempts end that somebody had taken.
_TAKEN = frozenset({"tls", "hello"})


async def dial(
    address: str,
    hello: Hello,
    deadline: Deadline,
    *,
    expect_task: str | None = None,
    expect_cluster: str | None = None,
    token: str | None = None,
    security: SecurityConfig | None = None,
    on_fault: Callable[[ConnectError], None] | None = None,
) -> Connection:
    """Connect to a listener and shake hands, again and again while attempts end in their hello.

    Cancelling it leaves nothing open.

    Args:
        address: where the listener is.
        hello: who we are.
        deadline: until when to try; the last attempt ends then.
        expect_task: the task that must answer; any if left out.
        expect_cluster: the cluster that whoever answers must belong to; any if left out.
        token: the secret that both sides must have, if the listener asks for one.
        security: TLS files, for ``tls://``.
        on_fault: called with the error of an attempt after which there is another one.

    Returns:
        The connection, the caller's to close.

    Raises:
        ConnectError: nobody is there, or the deadline came first; counts the attempts.
        TransportError: whoever is there is not the one who is meant; see ``transports.connect``.
    """
    attempts, pause = 0, _FIRST_PAUSE
    while True:
        attempts += 1
        left = deadline.time_left
        timeout = DEFAULT_SECONDS if left is None else max(left, _FIRST_PAUSE)
        try:
            return await connect(
                address, hello, timeout=timeout,
                expect_task=expect_task, expect_cluster=expect_cluster, token=token,
                security=security,
            )  # fmt: skip
        except ConnectError as error:
            counted = _counted(error, attempts)
            left = deadline.time_left
            if not _passes(error) or (left is not None and left <= pause):
                raise counted from error
        if on_fault is not None:
            on_fault(counted)
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _passes(error: ConnectError) -> bool:
    """Return whether an attempt has failed for what may be over with the next one."""
    return error.errno == ECONNRESET or (error.phase in _TAKEN and error.errno != ETIMEDOUT)


def _counted(error: ConnectError, attempts: int) -> ConnectError:
    """Return the same error, which speaks of all attempts."""
    return ConnectError(
        error.reason, address=error.address, errno=error.errno, attempts=attempts,
        phase=error.phase,
    )  # fmt: skip
