"""Dialling: connecting to a peer, with retries where an attempt fails during its handshake.

Servers dial each other and clients dial servers through ``dial``. The module imports deadlines and
transports.

An attempt that fails during its handshake was accepted by a listener. A network that recovers resets
connections it has no record of, and a listener at its limit drops the dialler that has waited longest; so
the next attempt is likely to succeed. Where the process has ended, the next attempt is refused, which is an
error at once: the caller decides whether to wait for a peer that is not there.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from errno import ECONNRESET, ETIMEDOUT

from actorsession.actors.deadline import DEFAULT_SECONDS, Deadline
from actorsession.rpc.schemes import supports
from actorsession.standard_streams import open_standard_descriptors
from transports import ConnectError, Connection, Hello, SecurityConfig, connect

__all__ = ["dial"]

# Seconds from one attempt to the next: short at first, because most of these faults pass at once; then long
# enough that a listener which hangs up on every dialler is not loaded by it.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.05, 1.0
# Phases of attempts that a listener had accepted.
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
    """Connect to a listener and shake hands, retrying while attempts fail during their handshake.

    Cancelling the call leaves nothing open.

    Args:
        address: the address of the listener.
        hello: the identity of this side.
        deadline: when to stop trying; the last attempt ends then.
        expect_task: the task that must answer; any if left out.
        expect_cluster: the cluster that the listener must belong to; any if left out.
        token: the secret that both sides must have, if the listener demands one.
        security: TLS files, for ``tls://``.
        on_fault: called with the error of each attempt that is followed by another one.

    Returns:
        The connection, which the caller must close.

    Raises:
        ConnectError: there is no listener, or the deadline came first; the error counts the attempts.
        TransportError: the listener is not the expected one; see ``transports.connect``.
    """
    supports(address.partition("://")[0])  # loads its transport
    open_standard_descriptors()  # the loop may be the caller's own
    attempts, pause = 0, _FIRST_PAUSE
    known: ConnectError | None = None
    while True:
        attempts += 1
        left = deadline.time_left
        timeout = DEFAULT_SECONDS if left is None else max(left, _FIRST_PAUSE)
        try:
            return await connect(
                address,
                hello,
                timeout=timeout,
                expect_task=expect_task,
                expect_cluster=expect_cluster,
                token=token,
                security=security,
            )
        except ConnectError as error:
            # An attempt that had only the last moments before the deadline says less than one before it.
            cut_short = error.errno == ETIMEDOUT and timeout < _LONGEST_PAUSE
            known = counted = _counted(known if cut_short and known else error, attempts)
            left = deadline.time_left
            if not _passes(error) or (left is not None and left <= pause):
                raise counted from error
        if on_fault is not None:
            on_fault(counted)
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE)


def _passes(error: ConnectError) -> bool:
    """Return whether the cause of a failed attempt may be gone at the next one."""
    return error.errno == ECONNRESET or (error.phase in _TAKEN and error.errno != ETIMEDOUT)


def _counted(error: ConnectError, attempts: int) -> ConnectError:
    """Return the same error with the number of all attempts."""
    return ConnectError(error.reason, address=error.address, errno=error.errno, attempts=attempts, phase=error.phase)
