"""Actors: exclusive owners of state that handle typed messages one at a time.

The module holds ``Actor`` and the decorators by which a handler declares how its messages are dispatched:
``handles``, ``answers`` and ``routes``. Masters, workers, their sessions and executors derive from ``Actor``;
callers hold a ref and never the actor. The module imports the other modules of this package and the error
classes.

An actor is bound to one event loop, so two of its handlers never run at the same moment; only reentrant
calls on one stack have to be kept apart. A message that finds the actor idle is handled at once, inside the
call, with the cost and order of a direct method call. A message that arrives while a handler of the actor
is on the stack (the actor told itself something, or was called back) is queued for the next iteration of
the event loop. A handler that returns a plain value is atomic. One that returns an awaitable continues as a
child, which interleaves with other messages at its awaits: the state must be consistent at each of them.

A handler declared as ``direct`` needs no exclusive turn and bypasses the mailbox: it is called at once, even
while another handler is on the stack, the mailbox is full or the actor has stopped. It returns a value or a
future and completes that future by itself.

Invariants: a failing ask fails only its caller. A failing tell fails the actor, and the supervisor is
notified. A stopped actor accepts no message, and all its waiters have received an answer.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, TypeAlias, TypeVar

from actorsession.actors.context import LOCAL_TELL, CallContext
from actorsession.actors.delivery import Delivery
from actorsession.actors.mailbox import MAILBOX_LIMIT, Mailbox
from actorsession.actors.recent_requests import RecentRequests
from actorsession.actors.ref import LocalRef
from actorsession.actors.supervision import STOP_GRACE, Children
from actorsession.errors import (
    AbortedError,
    FailedPreconditionError,
    OpError,
    ResourceExhaustedError,
    UnimplementedError,
    exhausted,
    from_exception,
)
from actorsession.metrics import ProcessTally
from actorsession.records import dataclass
from transports.host import current_host

__all__ = ["Actor", "ActorStatistics", "OnFailure", "answers", "handles", "routes"]

H = TypeVar("H", bound=Callable[..., Any])

OnFailure: TypeAlias = Callable[["Actor", OpError], None]

logger = logging.getLogger("actorsession.actors")

_current_loop = asyncio.events._get_running_loop


@dataclass(frozen=True, slots=True)
class _Dispatch:
    """How the messages of one class are dispatched.

    Attributes:
        method: the handler; for a route the method that finds the actor.
        tell: whether the message may be told.
        direct: whether the handler bypasses the mailbox.
        once: whether the handler does not run again for a repeated request.
        keep_answer: whether a repeat of an ended request gets its answer.
        completes: whether the handler runs to its end when the caller has given up.
        by: for a route, the field of the message by which its actor is found.
    """

    method: Callable[..., Any]
    tell: bool = True
    direct: bool = False
    once: bool = False
    keep_answer: bool = False
    completes: bool = False
    by: str = ""


def handles(*message_classes: type[Any], direct: bool = False) -> Callable[[H], H]:
    """Declare that a method ``(self, message, call: CallContext)`` handles messages of these classes.

    The return value of the method is the answer; if it is awaitable, its result is.

    Args:
        message_classes: the classes of the messages, which may be asked or told.
        direct: whether the method needs no exclusive turn and is called at once, bypassing the mailbox. It is
            no coroutine function, and it does not raise for a message that is told.
    """
    return _declare(message_classes, tell=True, direct=direct)


def answers(
    *message_classes: type[Any],
    direct: bool = False,
    once: bool = False,
    keep_answer: bool = False,
    completes: bool = False,
) -> Callable[[H], H]:
    """Declare a handler as ``handles`` does, for requests that are only asked.

    A tell of such a message is refused, because its failure would fail the actor: peers may send anything.

    Args:
        message_classes: the classes of the messages.
        direct: see ``handles``.
        once: whether the messages have a ``request_id`` and are not idempotent. A repeated request joins the
            first one while that is in progress, and is refused with ``AbortedError`` afterwards.
        keep_answer: whether a repeat that comes afterwards gets the first answer; for small answers.
        completes: whether the handler runs, and to its end, when the caller has given up: for requests that release
            something, whose callers give up waiting and not what they have asked for. A request of a peer that was
            silent may arrive together with its cancellation.
    """
    return _declare(message_classes, tell=False, direct=direct, once=once, keep_answer=keep_answer, completes=completes)


def routes(*message_classes: type[Any], by: str) -> Callable[[H], H]:
    """Declare that a method finds the actor that answers requests of these classes.

    Args:
        message_classes: the classes of the messages, which are only asked.
        by: the field of the message that is passed to the method ``(self, value) -> Actor``.
    """
    return _declare(message_classes, tell=False, by=by)


def _declare(message_classes: tuple[type[Any], ...], **how: Any) -> Callable[[H], H]:
    def mark(method: H) -> H:
        if how.get("direct") and (how.get("once") or inspect.iscoroutinefunction(method)):
            raise TypeError(f"{method.__name__} is direct: it is no coroutine and not for once=True")
        declared: list[tuple[type[Any], _Dispatch]]
        declared = method.__dict__.setdefault("_dispatch", [])
        declared += [(kind, _Dispatch(method, **how)) for kind in message_classes]
        return method

    return mark


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorStatistics:
    """The state and counters of an actor.

    Attributes:
        asks: messages asked so far.
        tells: messages told so far.
        in_flight: messages that a child works on.
        queued: messages accepted and not started.
        waiting: asks that wait for space in the mailbox.
        stopped: why the actor was stopped, if it was.
    """

    asks: int
    tells: int
    in_flight: int
    queued: int
    waiting: int
    stopped: str | None


class Actor:
    """The base class of all actors; a subclass declares its handlers with the decorators of this module.

    Args:
        name: unique among the names that could be confused with it in logs.
        limit: how many messages may be in flight and queued. Over the limit an ask waits for space, and a
            tell is refused.
        on_failure: called with the actor and the error when a tell has failed and the actor has shut down;
            the supervisor still awaits ``stop``. Without it the error is logged.

    Attributes:
        ref: a ref to this actor.
    """

    # With slots here the attributes of the actors of sessions are few enough for CPython to keep them without
    # a dictionary of each.
    __slots__ = (
        "_asks",
        "_busy",
        "_in_flight",
        "_mailbox",
        "_on_failure",
        "_pumping",
        "_requests",
        "_stop_kind",
        "_stopped",
        "children",
        "loop",
        "name",
        "ref",
        "tells",
    )
    _dispatch: ClassVar[Mapping[type[Any], _Dispatch]] = {}

    def __init__(self, name: str, *, limit: int = MAILBOX_LIMIT, on_failure: OnFailure | None = None) -> None:
        self.name = name
        # The loop on which the actor was made, else the first on which it is called.
        self.loop = _current_loop()
        self.children = Children(f"actor {name!r}", self._child_failed)
        self._on_failure = on_failure
        self._mailbox: Mailbox[Delivery] = Mailbox(limit)
        self._in_flight: dict[Delivery, None] = {}
        self._busy = False  # a handler is on the stack
        self._pumping = False  # a call of _pump is scheduled
        self._stopped: str | None = None
        self._stop_kind: type[OpError] = AbortedError
        self._asks = self.tells = 0
        self._requests = RecentRequests()
        self.ref = LocalRef(self)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Collect the handlers, including those of base classes."""
        super().__init_subclass__(**kwargs)
        handlers: dict[type[Any], tuple[str, _Dispatch]] = {}
        for base in reversed(cls.__mro__):
            own: dict[type[Any], tuple[str, _Dispatch]] = {}
            for name, member in vars(base).items():
                for message_class, dispatch in getattr(member, "_dispatch", ()):
                    if message_class in own:
                        raise TypeError(
                            f"{base.__name__} handles {message_class.__name__} in {name} "
                            f"and in {own[message_class][0]}; one method may"
                        )
                    own[message_class] = name, dispatch
            handlers |= own
        # A subclass may override a handler by its name.
        cls._dispatch = {
            kind: replace(dispatch, method=getattr(cls, name)) for kind, (name, dispatch) in handlers.items()
        }

    def statistics(self) -> ActorStatistics:
        """Return the current state and counters."""
        return ActorStatistics(
            asks=self._asks,
            tells=self.tells,
            in_flight=self._mailbox.in_flight,
            queued=len(self._mailbox.queue),
            waiting=self._mailbox.waiting,
            stopped=self._stopped,
        )

    async def stop(self, reason: str | OpError = "stopped", grace: float = STOP_GRACE) -> None:
        """Accept no more messages, answer every waiter with an error, and end all children.

        The method must be called on the actor's loop. It may be called again. It may also be called by a
        handler; the child of that handler is left to end and to answer by itself.

        Args:
            reason: the reason in the errors of the waiters, which are of the class of this one, or
                ``AbortedError`` for a text; that of the first call counts.
            grace: seconds that cancelled children have to end; those that take longer are logged.
        """
        self._shut(reason)
        await self.children.stop(grace)

    def answer_later(self, message: Any, context: CallContext, work: Coroutine[Any, Any, Any]) -> asyncio.Future[Any]:
        """Answer a message with what a child returns; for handlers that are ``direct`` and have to wait.

        The child takes no space of the mailbox. A caller that waits when the actor is stopped is told so.
        """
        delivery = Delivery(message, context, self.name)
        name = f"{self.name}: {type(message).__name__}"
        delivery.child = self.children.start(work, name=name, awaited=True)
        self._in_flight[delivery] = None

        def ended(child: asyncio.Task[Any]) -> None:
            self._in_flight.pop(delivery, None)
            delivery.outcome(child)

        delivery.child.add_done_callback(ended)
        return delivery.expect_answer(self._mailbox.leave)

    # -- called by refs and links, on the actor's loop -------------------------------------------

    def submit(self, message: Any, context: CallContext) -> Any:
        """Handle an ask; the implementation of ``Ref.ask``.

        Returns:
            The answer, or a future of it if the handler continues as a child or the message has to wait.
            Cancelling the future cancels the handler.

        Raises:
            OpError: the error of a handler that needed no child; ``UnimplementedError`` for a message
                without a handler, ``AbortedError``, or that of ``stop``, once stopped.
        """
        kind = type(message)
        actor: Actor = self
        dispatch = self._dispatch.get(kind)
        while dispatch is not None and dispatch.by:
            actor = dispatch.method(actor, getattr(message, dispatch.by))
            dispatch = actor._dispatch.get(kind)
        if dispatch is None:
            raise actor.unimplemented(message)
        actor._asks += 1
        if dispatch.direct:
            return dispatch.method(actor, message, context)
        if not dispatch.once or not message.request_id:
            return actor._take_turn(dispatch, message, context)
        answer = actor._requests.repeat(message.request_id)
        if answer is None:
            keep, answer = dispatch.keep_answer, actor._take_turn(dispatch, message, context)
            if keep or isinstance(answer, asyncio.Future):
                actor._requests.answered(message.request_id, answer, keep=keep)
        return answer

    def deliver(self, message: Any, context: CallContext = LOCAL_TELL, *, posted: bool = False) -> None:
        """Handle a tell; the implementation of ``Ref.tell``.

        An exception of the handler fails the actor, not the caller. Where memory or threads have run out only
        the message has failed.

        Args:
            message: the message.
            context: the circumstances of the message.
            posted: whether another thread has sent it and reserved its space.

        Raises:
            UnimplementedError: there is no handler for the message.
            AbortedError: the actor was stopped.
            ResourceExhaustedError: the mailbox is full.
        """
        mailbox = self._mailbox
        if posted:
            mailbox.arrive()
        dispatch = self._dispatch.get(type(message))
        if dispatch is None or not dispatch.tell:
            raise self.unimplemented(message)
        if dispatch.direct:
            self.tells += 1
            dispatch.method(self, message, context)
            return
        if self._stopped is not None:
            raise self._aborted(message)
        if not posted and mailbox.full:
            raise self._no_room(message)
        self.tells += 1
        delivery = Delivery(message, context, self.name)
        if self._busy or mailbox.queue or self._called_by_child():
            mailbox.push(delivery)
            self._schedule_pump()
        else:
            self._handle(delivery)

    def post(self, message: Any) -> None:
        """Send a tell from another thread or loop; raise what ``deliver`` would."""
        dispatch = self._dispatch.get(type(message))
        if dispatch is None or not dispatch.tell:
            raise self.unimplemented(message)
        if self._stopped is not None and not dispatch.direct:
            raise self._aborted(message)
        if not self._mailbox.reserve():
            raise self._no_room(message)
        try:
            self.call_home(self._deliver_posted, message)
        except AbortedError:
            self._mailbox.arrive()
            raise

    def call_home(self, callback: Callable[..., None], *args: Any) -> None:
        """Schedule a call on the actor's loop; any thread may call it.

        Raises:
            AbortedError: the loop is closed.
        """
        assert self.loop is not None  # an actor without one is called directly
        try:
            self.loop.call_soon_threadsafe(callback, *args)
        except RuntimeError as exc:
            raise AbortedError(f"the event loop of actor {self.name!r} is closed") from exc

    def unimplemented(self, message: Any) -> UnimplementedError:
        """Return the error for a message without a handler; it lists the messages that have one."""
        accepted = ", ".join(sorted(kind.__name__ for kind in self._dispatch)) or "nothing"
        return UnimplementedError(
            f"actor {self.name!r} does not handle {type(message).__name__}; it handles {accepted}"
        )

    # -- internal --------------------------------------------------------------------------------

    def _take_turn(self, dispatch: _Dispatch, message: Any, context: CallContext) -> Any:
        """Call a handler now if the actor is idle, or queue the message; see ``submit``."""
        mailbox = self._mailbox
        if self._busy or mailbox.queue or self._stopped is not None or mailbox.full:
            return self._line_up(dispatch, message, context)
        self._busy = True
        try:
            result = dispatch.method(self, message, context)
        except OpError:
            raise
        except Exception as exc:
            raise from_exception(exc) from exc
        finally:
            self._busy = False
            if mailbox.queue:
                self._schedule_pump()
        if not hasattr(type(result), "__await__"):
            return result
        delivery = Delivery(message, context, self.name, completes=dispatch.completes)
        self._start_child(delivery, result)
        return delivery.expect_answer(mailbox.leave)

    def _line_up(self, dispatch: _Dispatch, message: Any, context: CallContext) -> asyncio.Future[Any]:
        if self._stopped is not None:
            raise self._aborted(message)
        delivery = Delivery(message, context, self.name, completes=dispatch.completes)
        answer = delivery.expect_answer(self._mailbox.leave)
        if self._mailbox.full:
            self._mailbox.wait_for_space(delivery)
        else:
            self._mailbox.push(delivery)
            self._schedule_pump()
        return answer

    def _called_by_child(self) -> bool:
        # A child between two awaits is on the stack like a handler.
        return bool(self.children) and asyncio.current_task() in self.children

    def _schedule_pump(self) -> None:
        if self._pumping:
            return
        if self.loop is not None:
            # Not immediately, so that an actor that tells itself something for ever does not block the
            # event loop.
            self._pumping = True
            self.loop.call_soon(self._pump)
        elif not self._busy:
            self._pumping = True
            while self._mailbox.queue:
                self._handle_queued()
            self._pumping = False

    def _pump(self) -> None:
        self._pumping = False
        self._handle_queued()
        if self._mailbox.queue:
            self._schedule_pump()

    def _handle_queued(self) -> None:
        """Handle the messages queued at this moment, not those that arrive meanwhile."""
        mailbox = self._mailbox
        for _ in range(len(mailbox.queue)):
            if not mailbox.queue:  # stopped meanwhile
                break
            delivery = mailbox.queue.popleft()
            if not delivery.abandoned:
                host = current_host()
                host.own(ProcessTally).mailbox_waits.observe(host.clock.monotonic() - delivery.since)
                self._handle(delivery)
            mailbox.admit()

    def _handle(self, delivery: Delivery) -> None:
        """Run the handler of a message, and deliver its answer or start its child."""
        method = self._dispatch[type(delivery.message)].method
        self._busy = True
        try:
            result = method(self, delivery.message, delivery.context)
            if hasattr(type(result), "__await__"):
                self._start_child(delivery, result)
            else:
                delivery.succeed(result)
        except Exception as exc:
            self._failed(delivery, from_exception(exc))
        finally:
            self._busy = False
            if self._mailbox.queue:
                self._schedule_pump()

    def _start_child(self, delivery: Delivery, work: Awaitable[Any]) -> None:
        coroutine = work if isinstance(work, Coroutine) else _await(work)
        if self.loop is None:
            coroutine.close()
            raise FailedPreconditionError(f"{delivery} has to wait, and no event loop is running")
        name = f"{self.name}: {type(delivery.message).__name__}"
        delivery.child = self.children.start(coroutine, name=name, awaited=True)
        self._mailbox.in_flight += 1
        self._in_flight[delivery] = None
        delivery.child.add_done_callback(partial(self._child_ended, delivery))

    def _child_ended(self, delivery: Delivery, child: asyncio.Task[Any]) -> None:
        self._in_flight.pop(delivery, None)
        try:
            self._mailbox.release()
        finally:  # whoever waits for the answer gets it, whatever becomes of other messages
            error = delivery.outcome(child)
        if error is not None and delivery.answer is None and self._stopped is None:
            self._failed(delivery, error)
        if self._mailbox.queue:
            self._schedule_pump()

    def _failed(self, delivery: Delivery, error: OpError) -> None:
        if delivery.answer is not None:
            delivery.fail(error)
        elif exhausted(error.__cause__ or error):  # what the next message may have enough of
            logger.error("actor %r: %s failed", self.name, delivery, exc_info=error)
        else:
            self._fail(f"{delivery} failed", error)

    def _child_failed(self, name: str, error: BaseException) -> None:
        self._fail(f"its child {name!r} failed", from_exception(error))

    def _fail(self, what: str, error: OpError) -> None:
        """Shut down because of an error that has no other receiver, and notify the supervisor."""
        if self._stopped is not None:
            return
        self._shut(f"{what}: {error}")
        self.children.cancel()
        if self._on_failure is None:
            logger.error("actor %r has failed: %s", self.name, what, exc_info=error)
            return
        try:
            self._on_failure(self, error)
        except Exception:
            logger.exception("the supervisor of actor %r has failed", self.name)

    def _shut(self, reason: str | OpError) -> None:
        if self._stopped is not None:
            return
        if isinstance(reason, OpError):
            self._stop_kind, reason = type(reason), reason.message
        self._stopped = reason
        # A handler that stops its own actor still answers its own message.
        own = asyncio.current_task() if self._called_by_child() else None
        for delivery in [*self._in_flight, *self._mailbox.drain()]:
            if own is None or delivery.child is not own:
                delivery.fail(self._aborted(delivery.message))

    def _aborted(self, message: Any) -> OpError:
        name = type(message).__name__
        return self._stop_kind(f"actor {self.name!r} was stopped ({self._stopped}); {name} has no answer")

    def _no_room(self, message: Any) -> ResourceExhaustedError:
        return ResourceExhaustedError(
            f"the mailbox of actor {self.name!r} is full ({self._mailbox.limit} messages); "
            f"{type(message).__name__} was not accepted"
        )

    def _deliver_posted(self, message: Any) -> None:
        try:
            self.deliver(message, posted=True)
        except AbortedError as exc:
            logger.info("a message of another thread came too late: %s", exc)

    def __repr__(self) -> str:
        state = "running" if self._stopped is None else f"stopped ({self._stopped})"
        return f"<{type(self).__name__} {self.name!r} {state}, {self._mailbox.in_flight} in flight>"


async def _await(awaitable: Awaitable[Any]) -> Any:
    """Wrap an awaitable in a coroutine."""
    return await awaitable
