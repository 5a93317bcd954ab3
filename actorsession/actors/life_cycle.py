"""The life cycle of what is started and stopped: a table says what each call does in each state.

Clusters and servers hold a ``LifeCycle`` each. Starting and stopping run in children of it, so that a call
can be given up without leaving half of its work: what was begun is undone or ends by itself, and whoever
calls next finds one of five states.

Invariants: at most one child changes the state. A start that fails or is cancelled is undone before its error
goes on, also if it was done when the cancellation came: its caller has nothing that it could stop. An undoing is
not cancelled by calls. In a forked child nothing is changed.
"""

from __future__ import annotations

import asyncio
import enum
from collections.abc import Callable, Coroutine
from typing import Any, TypeAlias

from actorsession.actors.ownership import Owner
from actorsession.actors.supervision import Children
from actorsession.errors import FailedPreconditionError

__all__ = ["EFFECTS", "Call", "Effect", "LifeCycle", "State"]

Work: TypeAlias = Callable[[], Coroutine[Any, Any, None]]


class State(enum.Enum):
    """Where an object is in its life; the value goes on a sentence about it."""

    NEW = "was not started"
    STARTING = "is being started"
    RUNNING = "was started already"
    STOPPING = "was stopped and is ending"
    STOPPED = "was stopped"


class Call(enum.Enum):
    """What may be asked of an object."""

    START = "start"
    USE = "use"
    STOP = "stop"


class Effect(enum.Enum):
    """What a call does."""

    ACT = "acts"
    REFUSE = "is refused with FailedPreconditionError"
    INTERRUPT = "ends the start, and waits for that"
    JOIN = "waits for the stop that is under way"
    NOTHING = "does nothing"


EFFECTS: dict[Call, dict[State, Effect]] = {
    Call.START: {
        State.NEW: Effect.ACT,
        State.STARTING: Effect.REFUSE,
        State.RUNNING: Effect.REFUSE,
        State.STOPPING: Effect.REFUSE,
        State.STOPPED: Effect.REFUSE,
    },
    Call.USE: {
        State.NEW: Effect.REFUSE,
        State.STARTING: Effect.REFUSE,
        State.RUNNING: Effect.ACT,
        State.STOPPING: Effect.REFUSE,
        State.STOPPED: Effect.REFUSE,
    },
    Call.STOP: {
        State.NEW: Effect.NOTHING,
        State.STARTING: Effect.INTERRUPT,
        State.RUNNING: Effect.ACT,
        State.STOPPING: Effect.JOIN,
        State.STOPPED: Effect.NOTHING,
    },
}
"""The effect of each call in each state."""


class LifeCycle:
    """The state of one object, and the work that changes it.

    Args:
        kind: what the object is, for messages: ``cluster``.
        name: the object in messages: ``the cluster``.
        cut: ends what is left of the object at once, without waiting, from any thread; called if a stop is
            given up, fails, or comes after the end of the object's loop.
        retries: whether a start that has failed or was cancelled may be tried again.
        goes_on: whether a stop that is given up goes on by itself instead, and the next call after a failure
            continues with what is left.

    Attributes:
        owner: the process and the loop of the object.
        state: the present state.
    """

    def __init__(
        self, kind: str, name: str, cut: Callable[[], None], *, retries: bool = False, goes_on: bool = False
    ) -> None:
        self.owner = Owner(kind)
        self.state = State.NEW
        self._kind, self._name, self._cut = kind, name, cut
        self._retries, self._goes_on = retries, goes_on
        self._children = Children(f"life cycle of {name}")
        self._changing: asyncio.Task[None] | None = None
        self._given_up = self._undoing = False  # of the start
        self._waiting = 0  # calls that wait for the change

    def check(self, call: Call = Call.USE) -> Effect:
        """Return the effect that a call has now.

        Raises:
            RuntimeError: in a forked child, or on another loop than that of the object.
            FailedPreconditionError: if the call is refused in the present state.
        """
        self.owner.check_process()
        if self.state is State.NEW:
            self.owner.bind()  # nothing of it is on any loop yet
        elif self.state is not State.STOPPED:
            self.owner.check()
        effect = EFFECTS[call][self.state]
        if effect is Effect.REFUSE:
            ended = self.state in (State.STOPPING, State.STOPPED)
            then = f"; a {self._kind} is started once: make another one" if ended else ""
            raise FailedPreconditionError(f"{self._name} {self.state.value}{then}")
        return effect

    async def start(self, work: Work, undo: Work) -> None:
        """Start the object.

        Args:
            work: starts it.
            undo: ends what ``work`` has begun, if it fails or is cancelled.

        Raises:
            RuntimeError: as ``check``.
            FailedPreconditionError: as ``check``; or if ``stop`` was called meanwhile.
        """
        self.check(Call.START)
        self.state, self._given_up = State.STARTING, False
        child = self._change(self._start(work, undo), "start")
        try:
            await self._attend(child, lambda: self._interrupt(child))
        except asyncio.CancelledError:
            if self.state is State.RUNNING and child is self._changing:
                self.state = State.STARTING
                await asyncio.wait({self._change(self._undo(undo), "undo the start of")})
            raise
        if child.cancelled():
            raise FailedPreconditionError(f"{self._name} was stopped while it was being started")
        child.result()

    async def _start(self, work: Work, undo: Work) -> None:
        try:
            await work()
            if self._given_up or self.state is not State.STARTING:
                raise FailedPreconditionError(f"{self._name} was stopped while it was being started")
            self.state = State.RUNNING
        except BaseException:
            if not self.owner.is_forked:
                await self._undo(undo)
            raise

    async def _undo(self, undo: Work) -> None:
        self._undoing = True
        try:
            await undo()
        except BaseException:
            self.cut()
            raise
        finally:
            self._undoing = False
            again = self._retries and self.state is State.STARTING
            self.state = State.NEW if again else State.STOPPED

    def _interrupt(self, child: asyncio.Task[None]) -> None:
        """Cancel a start once it has begun: one that is cancelled before does not undo itself."""
        self._given_up = True
        asyncio.get_running_loop().call_soon(lambda: self._undoing or child.cancel())

    async def stop(self, work: Work) -> None:
        """Stop the object; without effect in a forked child.

        Args:
            work: stops it.

        Raises:
            RuntimeError: on another loop than that of the object, unless that has ended.
        """
        if self.owner.is_forked:
            return
        if self.owner.loop_has_ended:
            if self.state is not State.STOPPED:
                self.cut()
                self.state = State.STOPPED
            return
        effect = self.check(Call.STOP)
        if effect is Effect.NOTHING:
            return
        child = self._changing
        if effect is Effect.INTERRUPT:
            assert child is not None
            self.state = State.STOPPING
            self._interrupt(child)
        elif effect is Effect.ACT or child is None or child.done():
            self.state = State.STOPPING
            child = self._change(self._stop(work), "stop")
        await self._attend(child, None if self._goes_on else self._cut)
        if effect is not Effect.INTERRUPT and not child.cancelled():
            child.result()

    async def _stop(self, work: Work) -> None:
        try:
            await work()
        except BaseException:
            if not self._goes_on and not self.owner.is_forked:
                self._cut()
                self.state = State.STOPPED
            raise
        self.state = State.STOPPED

    def cut(self) -> None:
        """End the object without waiting, from any thread, as far as that can be done; not in a fork."""
        if self.owner.is_forked:
            return
        if self.state in (State.STARTING, State.RUNNING):
            self.state = State.STOPPING  # a later ``stop`` sees to the rest
        self._cut()

    def _change(self, work: Coroutine[Any, Any, None], what: str) -> asyncio.Task[None]:
        child = self._children.start(work, name=f"{what} {self._name}", awaited=True)
        child.add_done_callback(_retrieve)
        self._changing = child
        return child

    async def _attend(self, child: asyncio.Task[None], give_up: Callable[[], object] | None) -> None:
        """Wait for a change; give it up if the last call that waits for it is cancelled."""
        self._waiting += 1
        try:
            await asyncio.wait({child})
        except asyncio.CancelledError:
            if self._waiting == 1 and give_up is not None:
                give_up()
                await asyncio.wait({child})  # short: there is nothing to wait for but the end
            raise
        finally:
            self._waiting -= 1


def _retrieve(child: asyncio.Task[None]) -> None:
    """Take note of an error that the callers get, or have not waited for."""
    if not child.cancelled():
        child.exception()
