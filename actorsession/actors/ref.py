"""Refs: the handles by which actors are called, in this process or another.

The module holds the protocol ``Ref`` and ``LocalRef``, the ref to an actor of this process. All packages
above hold refs. The module imports the actor and the deadline. A ref may be copied and kept; it does not
imply that the actor still runs.

A call from the actor's own loop is a direct call. One from another loop or thread uses
``call_soon_threadsafe`` and waits on the caller's loop, whose timer bounds the wait even if the actor's
loop is blocked.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Protocol

from actorsession.actors.context import CallContext, Watch
from actorsession.actors.deadline import DEFAULT_SECONDS, NEVER, Deadline
from actorsession.errors import (
    AbortedError,
    CancelledError,
    DeadlineExceededError,
    FailedPreconditionError,
    OpError,
    from_exception,
)

if TYPE_CHECKING:
    from actorsession.actors.actor import Actor

__all__ = ["LocalRef", "Ref", "ask_without_withdrawing"]

_current_loop = asyncio.events._get_running_loop


class Ref(Protocol):
    """A handle to an actor, wherever it runs."""

    @property
    def name(self) -> str:
        """The name of the actor in logs and errors."""

    async def ask(self, message: Any, deadline: Deadline | None = None) -> Any:
        """Send a message and return the answer.

        Cancelling the call cancels the handler, and does not wait for its clean-up.

        Args:
            message: of a class that the actor handles.
            deadline: the end of the wait; by default 30 s from now.

        Returns:
            The answer. In the same process arrays in it belong to the actor and are not copies.

        Raises:
            DeadlineExceededError: the deadline came first; the handler is cancelled.
            OpError: the error that the handler raised; a foreign exception is the cause of one.
        """

    def submit(self, message: Any, context: CallContext) -> Any:
        """Send a message as ``ask`` does, on the actor's loop and without a coroutine.

        Args:
            message: of a class that the actor handles.
            context: the circumstances of the message, which include its deadline.

        Returns:
            The answer, or a future of it; cancelling the future cancels the handler.

        Raises:
            OpError: as for ``ask``, if the error is known at once.
        """

    def tell(self, message: Any) -> None:
        """Send a message without an answer, without blocking.

        Args:
            message: of a class that the actor handles.

        Raises:
            OpError: the message cannot be delivered: ``UnimplementedError``, ``AbortedError``,
                ``ResourceExhaustedError`` or ``UnavailableError``.
        """


class LocalRef:
    """A ref to an actor of this process.

    Attributes:
        actor: the actor.
        submit: asks for another caller, on the actor's loop; see ``Actor.submit``.
        deliver: tells for another caller, on the actor's loop; see ``Actor.deliver``.
    """

    __slots__ = ("actor", "deliver", "submit")

    def __init__(self, actor: Actor) -> None:
        self.actor = actor
        # Bound here, because every message of another process passes through them.
        self.submit = actor.submit
        self.deliver = actor.deliver

    @property
    def name(self) -> str:
        """The actor's name."""
        return self.actor.name

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The actor's event loop; ``None`` if the actor has not been called from one yet."""
        return self.actor.loop

    def is_here(self) -> bool:
        """Return whether the caller runs on the actor's loop, so that calls are direct."""
        actor, here = self.actor, _current_loop()
        if actor.loop is None:
            actor.loop = here
        return actor.loop is here

    async def ask(self, message: Any, deadline: Deadline | None = None, watch: Watch | None = None) -> Any:
        """Ask the actor, suspending only if the handler does; see ``Ref.ask``.

        Args:
            message: the message.
            deadline: the end of the wait.
            watch: registers a callback for the end of what the caller has to do with the actor, on the actor's loop.
        """
        actor, here = self.actor, _current_loop()
        if actor.loop is not here and not self.is_here():
            return await _Crossing(actor, message, deadline, watch).ask(here)
        if deadline is not None and deadline.expired:
            raise DeadlineExceededError(
                f"{type(message).__name__} was not sent to actor {actor.name!r}: its deadline is over"
            )
        answer = actor.submit(message, CallContext(deadline, watch=watch))
        return await answer if isinstance(answer, asyncio.Future) else answer

    def tell(self, message: Any) -> None:
        """Tell the actor; see ``Ref.tell``."""
        if self.is_here():
            self.actor.deliver(message)
        else:
            self.actor.post(message)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LocalRef) and other.actor is self.actor

    def __hash__(self) -> int:
        return hash(self.actor)

    def __repr__(self) -> str:
        return f"<LocalRef to {self.actor!r}>"


async def ask_without_withdrawing(ref: Ref, message: Any, seconds: float) -> Any:
    """Ask for what is to happen in any case, such as a release: the end of the wait does not withdraw the message.

    Neither does a cancellation of the call. The message is lost only with the connection, or with the actor.

    Args:
        ref: the actor, on whose loop this is called.
        message: as for ``Ref.ask``.
        seconds: how long the answer is waited for.

    Raises:
        DeadlineExceededError: there is no answer yet.
        OpError: as for ``Ref.ask``.
    """
    answer = ref.submit(message, CallContext(NEVER))
    if not isinstance(answer, asyncio.Future):
        return answer
    answer.add_done_callback(_retrieve)
    await asyncio.wait({answer}, timeout=seconds)
    if not answer.done():
        raise DeadlineExceededError(f"{ref.name} did not answer {type(message).__name__} within {seconds:.3g} s")
    return answer.result()


def _retrieve(answer: asyncio.Future[Any]) -> None:
    """Take note of an error that nobody may wait for any longer."""
    if not answer.cancelled():
        answer.exception()


class _Crossing:
    """An ask from another loop: two futures, one on each loop, each of which ends the other."""

    def __init__(self, actor: Actor, message: Any, deadline: Deadline | None, watch: Watch | None) -> None:
        self._actor = actor
        self._message = message
        self._watch = watch
        self._deadline = deadline if deadline is not None else Deadline.after(DEFAULT_SECONDS)
        self._theirs: asyncio.Future[Any] | None = None  # used on the actor's loop only

    async def ask(self, here: asyncio.AbstractEventLoop | None) -> Any:
        if here is None:
            raise FailedPreconditionError(
                f"actor {self._actor.name!r} lives on an event loop; asking it needs a running one"
            )
        self._here = here
        self._ours: asyncio.Future[Any] = here.create_future()
        self._actor.call_home(self._begin)
        name = type(self._message).__name__
        what = f"the answer of actor {self._actor.name!r} (on another loop) to {name}"
        try:
            return await self._deadline.wait(self._ours, what=what)
        finally:
            if self._ours.cancelled():
                with suppress(AbortedError):  # its loop is closed, so the handler is gone too
                    self._actor.call_home(self._abandon)

    def _begin(self) -> None:
        if self._ours.done():
            return
        try:
            answer = self._actor.submit(self._message, CallContext(self._deadline, watch=self._watch))
        except OpError as exc:
            self._send_back(None, exc)
            return
        if isinstance(answer, asyncio.Future):
            self._theirs = answer
            answer.add_done_callback(self._answered)
        else:
            self._send_back(answer, None)

    def _answered(self, answer: asyncio.Future[Any]) -> None:
        if answer.cancelled():  # not by the caller, unless its own future is done
            self._send_back(None, CancelledError(f"{type(self._message).__name__} was cancelled"))
        elif (error := answer.exception()) is not None:
            self._send_back(None, from_exception(error))
        else:
            self._send_back(answer.result(), None)

    def _abandon(self) -> None:
        if self._theirs is not None:
            self._theirs.cancel()

    def _send_back(self, value: Any, error: OpError | None) -> None:
        with suppress(RuntimeError):  # the caller's loop is closed: there is no waiter
            self._here.call_soon_threadsafe(self._finish, value, error)

    def _finish(self, value: Any, error: OpError | None) -> None:
        if self._ours.done():
            return
        if error is None:
            self._ours.set_result(value)
        else:
            self._ours.set_exception(error)
