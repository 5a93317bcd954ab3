"""Actors: owners of state that nobody else touches, taking typed messages one at a time.

Owns ``Actor`` and the decorator ``handles``. Masters, workers, their sessions and executors derive
from it; callers hold a ref and never the actor. It imports the other files of this room and the
error classes.

The theory. An actor lives on one event loop, so two of its handlers never run at the same moment;
what has to be kept apart is only what stands on one stack. A message that finds the actor idle is
handled at once, inside the call: a direct method call in price and order. One that comes while a
handler of the actor is on the stack (it told itself something, or was called back) is queued until
the loop is free again. A handler that returns a plain value is atomic. One that returns an
awaitable goes on as a child, which interleaves with other messages at its awaits: state must be
whole at each of them.

Invariants: a failing ask fails its caller and nobody else; a failing tell fails the actor, and the
supervisor hears of it; once stopped, an actor takes no message, and everyone who waited has an
answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, ClassVar, TypeAlias, TypeVar

from actorsession.actors.context import LOCAL_TELL, CallContext
from actorsession.actors.delivery import Delivery
from actorsession.actors.mailbox import MAILBOX_LIMIT, Mailbox
from actorsession.actors.ref import LocalRef
from actorsession.actors.supervision import STOP_GRACE, Children
from actorsession.errors import (
    AbortedError,
    FailedPreconditionError,
    OpError,
    ResourceExhaustedError,
    UnimplementedError,
    from_exception,
)
from actorsession.records import dataclass

__all__ = ["Actor", "ActorStatistics", "OnFailure", "handles"]

H = TypeVar("H", bound=Callable[..., Any])

OnFailure: TypeAlias = Callable[["Actor", OpError], None]

logger = logging.getLogger("actorsession.actors")

_current_loop = asyncio.events._get_running_loop


def handles(*message_classes: type[Any]) -> Callable[[H], H]:
    """Declare that a method ``(self, message, call: CallContext)`` handles messages of these
    classes.

    What it returns is the answer; if that is awaitable, what it yields is.
    """

    def mark(method: H) -> H:
        method.__dict__["_handles"] = message_classes
        return method

    return mark


@dataclass(frozen=True, slots=True, kw_only=True)
class ActorStatistics:
    """How an actor fares.

    Attributes:
        asks: messages asked so far.
        tells: messages told so far.
        in_flight: messages that a child works on.
        queued: messages accepted and not begun.
        waiting: asks that wait for room in the mailbox.
        stopped: why it was stopped, if it was.
    """

    asks: int
    tells: int
    in_flight: int
    queued: int
    waiting: int
    stopped: str | None


class Actor:
    """The base of all actors; a subclass declares its handlers with ``handles``.

    Args:
        name: unique among those that a reader of logs could confuse it with.
        limit: how many messages may be in flight and queued. Over it an ask waits for room, a tell
            is refused.
        on_failure: called with the actor and the error when a tell has failed and the actor has
            shut; who supervises still awaits ``stop``. Without it the error is logged.
    """

    _handlers: ClassVar[Mapping[type[Any], Callable[[Any, Any, CallContext], Any]]] = {}

    def __init__(
        self, name: str, *, limit: int = MAILBOX_LIMIT, on_failure: OnFailure | None = None
    ) -> None:
        self.name = name
        # Where it lives: the loop it was made on, else the first that it is called from.
        self.loop = _current_loop()
        self.children = Children(f"actor {name!r}", self._child_failed)
        self._on_failure = on_failure
        self._mailbox: Mailbox[Delivery] = Mailbox(limit)
        self._in_flight: set[Delivery] = set()
        self._busy = False  # a handler is on the stack
        self._pumping = False  # the loop will look at the queue
        self._stopped: str | None = None
        self._asks = self._tells = 0

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Collect the handlers, those of base classes included."""
        super().__init_subclass__(**kwargs)
        names: dict[type[Any], str] = {}
        for base in reversed(cls.__mro__):
            own: dict[type[Any], str] = {}
            for name, member in vars(base).items():
                for message_class in getattr(member, "_handles", ()):
                    if message_class in own:
                        raise TypeError(
                            f"{base.__name__} handles {message_class.__name__} in {name} "
                            f"and in {own[message_class]}; one method may"
                        )
                    own[message_class] = name
            names |= own
        cls._handlers = {kind: getattr(cls, name) for kind, name in names.items()}

    @property
    def ref(self) -> LocalRef:
        """What others hold to talk to it."""
        return LocalRef(self)

    def statistics(self) -> ActorStatistics:
        """Return how it fares at this moment."""
        return ActorStatistics(
            asks=self._asks,
            tells=self._tells,
            in_flight=self._mailbox.in_flight,
            queued=len(self._mailbox.queue),
            waiting=self._mailbox.waiting,
            stopped=self._stopped,
        )

    async def stop(self, reason: str = "stopped", grace: float = STOP_GRACE) -> None:
        """Take no more messages, answer everyone who waits with ``AbortedError``, ends all
        children.

        To be called on the actor's loop. May be called again, also by a handler, whose own child is
        left to end and to answer by itself.

        Args:
            reason: told to those who waited; that of the first call counts.
            grace: seconds that cancelled children have to end; the stubborn are logged.
        """
        self._shut(reason)
        await self.children.stop(grace)

    # -- what refs and links call, on the actor's loop -------------------------------------------

    def submit(self, message: Any, context: CallContext) -> Any:
        """Ask; the core of ``Ref.ask``.

        Returns:
            The answer, or a future of it if the handler goes on as a child or the message has to
            wait. Cancelling the future cancels the handler.

        Raises:
            OpError: what a handler has raised that needed no child; ``UnimplementedError`` for a
                message that no handler takes, ``AbortedError`` once stopped.
        """
        self._asks += 1
        handler = self._handlers.get(type(message))
        if handler is None:
            raise self.unimplemented(message)
        mailbox = self._mailbox
        if self._busy or mailbox.queue or self._stopped is not None or mailbox.full:
            return self._line_up(message, context)
        self._busy = True
        try:
            result = handler(self, message, context)
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
        delivery = Delivery(message, context, self.name)
        self._start_child(delivery, result)
        return delivery.expect_answer(mailbox.leave)

    def deliver(
        self, message: Any, context: CallContext = LOCAL_TELL, *, posted: bool = False
    ) -> None:
        """Tell; the core of ``Ref.tell``. What the handler raises fails the actor, not the caller.

        Args:
            message: what is told.
            context: by whom.
            posted: whether another thread has sent it and reserved its room.

        Raises:
            UnimplementedError: no handler takes such a message.
            AbortedError: the actor was stopped.
            ResourceExhaustedError: the mailbox is full.
        """
        mailbox = self._mailbox
        if posted:
            mailbox.arrive()
        self.check_tell(message)
        if not posted and mailbox.full:
            raise self._no_room(message)
        self._tells += 1
        delivery = Delivery(message, context, self.name)
        if self._busy or mailbox.queue or self._called_by_child():
            mailbox.queue.append(delivery)
            self._schedule_pump()
        else:
            self._handle(delivery)

    def post(self, message: Any) -> None:
        """Tell from another thread or loop; raise what ``deliver`` would."""
        self.check_tell(message)
        if not self._mailbox.reserve():
            raise self._no_room(message)
        try:
            self.call_home(self._deliver_posted, message)
        except AbortedError:
            self._mailbox.arrive()
            raise

    def check_tell(self, message: Any) -> None:
        """Raise if a message could not be told; any thread may call it."""
        if type(message) not in self._handlers:
            raise self.unimplemented(message)
        if self._stopped is not None:
            raise self._aborted(message)

    def call_home(self, callback: Callable[..., None], *args: Any) -> None:
        """Have the actor's loop call something; any thread may call it.

        Raises:
            AbortedError: the loop is closed.
        """
        assert self.loop is not None  # an actor without one is called directly
        try:
            self.loop.call_soon_threadsafe(callback, *args)
        except RuntimeError as exc:
            raise AbortedError(f"the event loop of actor {self.name!r} is closed") from exc

    def unimplemented(self, message: Any) -> UnimplementedError:
        """Return the error for a message that no handler takes; it names those that one does."""
        accepted = ", ".join(sorted(kind.__name__ for kind in self._handlers)) or "nothing"
        return UnimplementedError(
            f"actor {self.name!r} does not take {type(message).__name__}; it takes {accepted}"
        )

    # -- inside ----------------------------------------------------------------------------------

    def _line_up(self, message: Any, context: CallContext) -> asyncio.Future[Any]:
        if self._stopped is not None:
            raise self._aborted(message)
        delivery = Delivery(message, context, self.name)
        answer = delivery.expect_answer(self._mailbox.leave)
        if self._mailbox.full:
            self._mailbox.wait_for_room(delivery)
        else:
            self._mailbox.queue.append(delivery)
            self._schedule_pump()
        return answer

    def _called_by_child(self) -> bool:
        # A child between two awaits is on the stack like a handler.
        return bool(self.children) and asyncio.current_task() in self.children

    def _schedule_pump(self) -> None:
        if self._pumping:
            return
        if self.loop is not None:
            # Not here and now, so that an actor that tells itself something for ever lets others
            # in.
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
        """Handle what is queued at this moment, not what comes meanwhile."""
        mailbox = self._mailbox
        for _ in range(len(mailbox.queue)):
            if not mailbox.queue:  # stopped meanwhile
                break
            delivery = mailbox.queue.popleft()
            if not delivery.abandoned:
                self._handle(delivery)
            mailbox.admit()

    def _handle(self, delivery: Delivery) -> None:
        """Run the handler of a message and sees to its answer or its child."""
        handler = self._handlers[type(delivery.message)]
        self._busy = True
        try:
            result = handler(self, delivery.message, delivery.context)
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
        self._in_flight.add(delivery)
        delivery.child.add_done_callback(lambda child: self._child_ended(delivery, child))

    def _child_ended(self, delivery: Delivery, child: asyncio.Task[Any]) -> None:
        self._in_flight.discard(delivery)
        self._mailbox.release()
        error = delivery.outcome(child)
        if error is not None and delivery.answer is None and self._stopped is None:
            self._failed(delivery, error)
        if self._mailbox.queue:
            self._schedule_pump()

    def _failed(self, delivery: Delivery, error: OpError) -> None:
        if delivery.answer is not None:
            delivery.fail(error)
        else:
            self._fail(f"{delivery} failed", error)

    def _child_failed(self, name: str, error: BaseException) -> None:
        self._fail(f"its child {name!r} failed", from_exception(error))

    def _fail(self, what: str, error: OpError) -> None:
        """Shut because nobody else can be told of an error, and tells the supervisor."""
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

    def _shut(self, reason: str) -> None:
        if self._stopped is not None:
            return
        self._stopped = reason
        # A handler that stops its own actor still answers for itself.
        own = asyncio.current_task() if self._called_by_child() else None
        for delivery in [*self._in_flight, *self._mailbox.drain()]:
            if own is None or delivery.child is not own:
                delivery.fail(self._aborted(delivery.message))

    def _aborted(self, message: Any) -> AbortedError:
        name = type(message).__name__
        return AbortedError(
            f"actor {self.name!r} was stopped ({self._stopped}); {name} has no answer"
        )

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
    """Make a coroutine of a future."""
    return await awaitable
