"""Rendezvous: the table in which tensors of one step meet their receivers.

It maps a key to a queue of *either* sent values *or* waiting receivers, never both. A send with a waiting
receiver completes the oldest receiver, else the value is queued. Several sends under one key are delivered in
order, each once. A producer never blocks. An abort fails all waiting and all future calls with the first
error, once. The table is plain data; only ``recv`` awaits.

A partition waits for one value under each of its keys. It is a ``Receiver``, which is entered under all of
them at once and needs no callback for each.

A rendezvous belongs to one event loop (or, without a loop, to one thread).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any, Protocol, TypeAlias

from actorsession.actors.deadline import Deadline
from actorsession.errors import CancelledError, OpError
from actorsession.plan.rendezvous_key import parse_key
from actorsession.records import dataclass

__all__ = ["Arrival", "Receiver", "Rendezvous", "Waiter"]


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


class ReceivingStep(Protocol):
    """The step of a receiver."""

    def drain(self) -> None:
        """Run what has become ready; a nested call returns at once."""


class Receiver(Protocol):
    """Receives values under several keys, one under each."""

    @property
    def step(self) -> ReceivingStep:
        """The step, whose ``drain`` is called when all values that have come together were received."""

    def received(self, key: str, value: Any, dead: bool) -> None:
        """Store a value and note what it makes ready, without running it."""

    def aborted(self, error: OpError) -> None:
        """End the wait for the values that have not come."""


class Rendezvous:
    """The rendezvous of one step in one process.

    Attributes:
        gathered: what ``send`` has gathered for other processes, by task; ``flush`` sends it.
        on_abort: called once with the error if the rendezvous is aborted, after what waits there; not if it is
            closed.
    """

    gathered: Mapping[str, Any] = MappingProxyType({})

    on_abort: Callable[[OpError], None] | None = None

    __slots__ = ("_aborted", "_closed", "_expected", "_sent", "_waiting")

    def __init__(self) -> None:
        self._expected: dict[str, Receiver] = {}
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
        receiver = self._expected.pop(key, None)
        if receiver is not None:
            receiver.received(key, value, dead)
            receiver.step.drain()
            return
        waiting = self._waiting.get(key)
        if waiting:
            waiter = waiting.popleft()
            if not waiting:
                del self._waiting[key]
            waiter(Arrival(value, dead))
            return
        parse_key(key)
        self._sent.setdefault(key, deque()).append(Arrival(value, dead))

    def receive(self, keys: Sequence[str], values: Sequence[Any], dead: Sequence[bool]) -> None:
        """Store values that have come together from another process, as many of each; see ``send``.

        What the end of the step, or an abort, leaves of them is dropped.
        """
        expected, last = self._expected, None
        for key, value, is_dead in zip(keys, values, dead):  # noqa: B905 - as many of each
            receiver = expected.pop(key, None)
            if receiver is not None:
                receiver.received(key, value, is_dead)
                last = receiver
            elif self._aborted is None and not self._closed:
                Rendezvous.send(self, key, value, is_dead)  # not that of a derived class
        if last is not None:  # all receivers of a rendezvous belong to its step
            last.step.drain()

    def flush(self) -> None:
        """Send what ``send`` has gathered; need not be called while that is nothing."""

    def recv_async(self, key: str, waiter: Waiter) -> None:
        """Call ``waiter`` with the next value of a key; at once if there is one.

        Raises:
            InvalidArgumentError: for a malformed key.
        """
        if self._aborted is not None or self._closed:
            waiter(self._aborted or _over())
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

    def expect(self, keys: Iterable[str], receiver: Receiver) -> None:
        """Pass one value under each of some keys to a receiver, now or when they come.

        Args:
            keys: valid rendezvous keys, none of them twice.
            receiver: gets the values; its step is drained if any of them are here.
        """
        if self._aborted is not None or self._closed:
            receiver.aborted(self._aborted or _over())
        elif not (self._sent or self._waiting) and self._expected.keys().isdisjoint(keys):
            self._expected.update(dict.fromkeys(keys, receiver))
        else:
            for key in keys:
                if key in self._sent or key in self._waiting or key in self._expected:
                    self.recv_async(key, partial(_pass_on, receiver, key))
                else:
                    self._expected[key] = receiver

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
        receivers = dict.fromkeys(self._expected.values())
        self._expected.clear()
        self._waiting.clear()
        self._sent.clear()
        for receiver in receivers:
            receiver.aborted(error)
        for waiter in waiting:
            waiter(error)
        if self.on_abort is not None:
            self.on_abort(error)

    def close(self) -> None:
        """End all waits with a derived ``CancelledError``; called at the end of a step."""
        if self._waiting or self._expected:
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
        waiting = len(self._expected) + sum(map(len, self._waiting.values()))
        return sum(map(len, self._sent.values())), waiting

    def waiting_keys(self) -> tuple[str, ...]:
        """Return the keys with waiting receivers; callable from any thread."""
        return (*tuple(self._expected), *tuple(self._waiting))


def _pass_on(receiver: Receiver, key: str, outcome: Arrival | OpError) -> None:
    """Pass an outcome to a receiver; used where a key has a value or another receiver already."""
    if isinstance(outcome, OpError):
        receiver.aborted(outcome)
    else:
        receiver.received(key, outcome.value, outcome.dead)
        receiver.step.drain()


def _over() -> CancelledError:
    """Return the error of calls after the end of a step; made when needed, as nearly no step needs one."""
    return CancelledError("the step is over", derived=True)
