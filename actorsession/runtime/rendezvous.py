"""Rendezvous: the table in which tensors of one step meet their receivers.

It maps a key to a queue of *either* sent values *or* waiting receivers, never both. A send with a waiting
receiver completes the oldest receiver, else the value is queued. Several sends under one key are delivered in
order, each once. A producer never blocks. An abort fails all waiting and all future calls with the first
error, once. The table is plain data; only ``recv`` awaits.

A rendezvous belongs to one event loop (or, without a loop, to one thread).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any, TypeAlias

from actorsession.actors.deadline import Deadline
from actorsession.errors import CancelledError, OpError
from actorsession.plan.rendezvous_key import parse_key
from actorsession.records import dataclass

__all__ = ["Arrival", "Rendezvous", "Waiter"]


@dataclass(frozen=True, slots=True)
class Arrival:
    """A received value.

    Attributes:
        value: the tensor, borrowed from the sender.
        dead: whether it is a dead tensor, of a branch that was not taken.
    """

    value: Any
    dead: bool = False


# Called with an arrival, or with the error that ended the wait.
Waiter: TypeAlias = Callable[[Arrival | OpError], None]


class Rendezvous:
    """The rendezvous of one step in one process."""

    __slots__ = ("_aborted", "_closed", "_sent", "_waiting")

    def __init__(self) -> None:
        self._sent: dict[str, deque[Arrival]] = {}
        self._waiting: dict[str, deque[Waiter]] = {}
        self._aborted: OpError | None = None
        self._closed = False

    def send(self, key: str, value: Any, dead: bool = False) -> None:
        """Pass a value to the oldest receiver of a key, or keep it for the next one.

        Args:
            key: rendezvous key.
            value: not copied; must not be changed afterwards.
            dead: whether the value is a dead tensor.

        Raises:
            InvalidArgumentError: for a malformed key.
            OpError: the error with which the rendezvous was aborted.
        """
        if self._aborted is not None:
            raise self._aborted
        if self._closed:
            raise _over()
        waiting = self._waiting.get(key)
        if waiting:
            waiter = waiting.popleft()
            if not waiting:
                del self._waiting[key]
            waiter(Arrival(value, dead))
            return
        parse_key(key)
        self._sent.setdefault(key, deque()).append(Arrival(value, dead))

    def flush(self) -> None:
        """Send values that ``send`` has buffered; a rendezvous within one process buffers none."""

    def recv_async(self, key: str, waiter: Waiter) -> None:
        """Call ``waiter`` with the next value of a key; at once if there is one.

        Raises:
            InvalidArgumentError: for a malformed key.
        """
        reason = self.aborted
        if reason is not None:
            waiter(reason)
            return
        sent = self._sent.get(key)
        if sent:
            arrival = sent.popleft()
            if not sent:
                del self._sent[key]
            waiter(arrival)
            return
        parse_key(key)
        self._waiting.setdefault(key, deque()).append(waiter)

    def forget(self, key: str, waiter: Waiter) -> bool:
        """Remove a waiter from the table; return whether it was still there."""
        waiting = self._waiting.get(key)
        if waiting is None or waiter not in waiting:
            return False
        waiting.remove(waiter)
        if not waiting:
            del self._waiting[key]
        return True

    async def recv(self, key: str, deadline: Deadline | None = None) -> Arrival:
        """Wait for the next value of a key.

        Cancelling the wait removes its receiver from the table; a value that is sent later is kept for the
        next receiver.

        Args:
            key: rendezvous key.
            deadline: the time until which to wait.

        Raises:
            InvalidArgumentError: for a malformed key.
            DeadlineExceededError: if no value arrived in time; the message names the key.
            OpError: the error with which the rendezvous was aborted.
        """
        future: asyncio.Future[Arrival] = asyncio.get_running_loop().create_future()

        def settle(outcome: Arrival | OpError) -> None:
            if isinstance(outcome, OpError):
                future.set_exception(outcome)
            else:
                future.set_result(outcome)

        self.recv_async(key, settle)
        try:
            if deadline is None:
                return await future
            return await deadline.wait(future, what=f"a value under rendezvous key {key!r}")
        except BaseException:
            if not self.forget(key, settle) and future.done() and not future.cancelled():
                self._give_back(key, future)
            raise

    def _give_back(self, key: str, future: asyncio.Future[Arrival]) -> None:
        """Put back a value that arrived at the moment when its receiver was cancelled."""
        if future.exception() is None and self.aborted is None:
            self._sent.setdefault(key, deque()).appendleft(future.result())

    def abort(self, error: OpError) -> None:
        """End all waits with ``error``, drop what was sent, and fail every later call.

        A second abort changes nothing: the first error wins.
        """
        if self._aborted is not None or self._closed:
            return
        self._aborted = error
        waiting = [w for queue in self._waiting.values() for w in queue]
        self._waiting.clear()
        self._sent.clear()
        for waiter in waiting:
            waiter(error)

    def close(self) -> None:
        """End all waits with a derived ``CancelledError``; called at the end of a step."""
        if self._waiting:
            self.abort(_over())
        self._closed = True
        self._sent.clear()

    @property
    def aborted(self) -> OpError | None:
        """The error with which the rendezvous was aborted or closed, if it was."""
        return _over() if self._closed and self._aborted is None else self._aborted

    @property
    def pending(self) -> tuple[int, int]:
        """The numbers of sent values and of receivers that wait."""
        return sum(map(len, self._sent.values())), sum(map(len, self._waiting.values()))

    def waiters(self) -> list[tuple[str, Waiter]]:
        """Return the waiting receivers, each with its key."""
        return [(key, waiter) for key in tuple(self._waiting) for waiter in self._queue(key)]

    def _queue(self, key: str) -> tuple[Waiter, ...]:
        return tuple(self._waiting.get(key, ()))

    def waiting_keys(self) -> tuple[str, ...]:
        """Return the keys with waiting receivers."""
        return tuple(self._waiting)


def _over() -> CancelledError:
    """Return the error of calls after the end of a step; made when needed, as nearly no step needs one."""
    return CancelledError("the step is over", derived=True)
