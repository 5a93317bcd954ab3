"""Plans and runs of a remote session: one frame each way, without a coroutine in between.

A ``SessionProgram`` is a plan as it is run over one connection, a ``RemoteRun`` one step at its client. An
``AsyncRun`` is awaited on the session's loop, a ``PartialCall`` is one that continues a partial run. A
``ThreadRun`` is one for which a thread waits: it writes the frame itself, unless other bytes to the master are
unsent or there is no plain socket, and waits for a lock. The loop does the rest.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, TypeAlias

import numpy as np

from actorsession.actors.timer_wheel import Alarm
from actorsession.errors import (
    AbortedError,
    CancelledError,
    DeadlineExceededError,
    OpError,
    PicklableError,
    ProtocolError,
    from_exception,
)
from actorsession.graph.held_arrays import kept_feed
from actorsession.messages.step_frames import (
    PARTIAL_RUN,
    RUN_STEP,
    CallRequest,
    StepRequest,
    WireValues,
    done_bytes,
    extra_from_wire,
)
from actorsession.plan.signature import RunSignature
from actorsession.records import dataclass
from actorsession.rpc.link import Link
from actorsession.rpc.local_calls import LocalCalls, LocalValues
from actorsession.runtime.interruptible import acquire
from actorsession.runtime.partial.run_state import no_such_run
from transports.host import current_host

if TYPE_CHECKING:
    from actorsession.session.remote.remote_steps import RemoteSteps

__all__ = [
    "ANSWER_MARGIN",
    "AsyncRun",
    "MustWait",
    "PartialCall",
    "RemotePlan",
    "RemoteRun",
    "SessionProgram",
    "ThreadRun",
]

ANSWER_MARGIN = 0.25
"""Seconds that the client waits beyond the limit of a run, for the master's report on what was late."""
# Seconds that a thread waits beyond the limit for its loop, which ends the run then unless it hangs.
_LOOP_MARGIN = 10.0
_PLAIN = StepRequest()


class MustWait(PicklableError):
    """Nothing was run: the run has to wait on the loop before it is requested."""


RunValues: TypeAlias = WireValues | LocalValues
"""The feeds or fetches of a run of a step program."""


class RunCalls(Protocol):
    """Requests runs of a master: ``StepCalls`` over a link, ``LocalCalls`` within a process."""

    def request(
        self,
        kind: int,
        call: int,
        number: int,
        seconds: float | None,
        asked: StepRequest | CallRequest | None,
        values: Any,
        waiter: Any,
    ) -> None:
        """Request a run; see ``StepCalls.request``."""

    def cancel(self, call: int) -> None:
        """Cancel a run; see ``StepCalls.cancel``."""

    def confirm(self, call: int, *, received: bool) -> None:
        """Say whether the values of a run were received; see ``StepCalls.confirm``."""


@dataclass(slots=True, eq=False)
class SessionProgram:
    """A plan as it is run over one connection to a master.

    Attributes:
        channel: the link to the master, or the calls of a master in this process.
        number: the client's number for it there.
        plan: the plan in wire form, which the first run brings along.
        calls: the runs that are requested over the channel.
        over_link: whether values are encoded on their way to the master.
        known: whether the master has answered a run of it.
    """

    channel: Link | LocalCalls
    number: int
    plan: list[Any]
    calls: RunCalls
    over_link: bool
    known: bool = False

    @classmethod
    def over(cls, channel: Link | LocalCalls, number: int, plan: list[Any]) -> SessionProgram:
        """Return a plan that no run of has been answered over a channel."""
        return cls(channel, number, plan, channel.steps, isinstance(channel, Link))

    @property
    def threads_may_write(self) -> bool:
        """Whether ``run_from_thread`` can request a run now, as far as can be seen."""
        channel = self.channel
        return isinstance(channel, Link) and channel.threads_may_write

    def open_to_threads(self) -> None:
        """Let threads request runs, if values travel over a link that can."""
        if isinstance(self.channel, Link):
            self.channel.open_to_threads()

    def run_from_thread(
        self, call: int, seconds: float | None, asked: StepRequest | None, values: RunValues, waiter: Any
    ) -> bool:
        """Request a run in another thread than that of the loop; see ``StepCalls.run_from_thread``."""
        channel = self.channel
        return (
            isinstance(channel, Link)
            and isinstance(values, WireValues)
            and channel.steps.run_from_thread(call, self.number, seconds, asked, values, waiter)
        )

    def sent(self, feeds: Sequence[Any], nbytes: int) -> RunValues:
        """Return feeds of so many bytes as a run takes them; arrays are borrowed until it has ended, or copied."""
        if self.over_link:
            return WireValues.of(feeds)
        values = LocalValues(map(kept_feed, feeds))
        values.nbytes = nbytes
        return values


@dataclass(slots=True, eq=False)
class RemotePlan:
    """A remote session's record of a plan: the names in the order in which values are sent.

    Attributes:
        signature: the names.
        programs: how it is run over the present connection, by what options make another plan of it.
        needs_loop: whether a step needs an event loop: always.
    """

    needs_loop: ClassVar[bool] = True
    signature: RunSignature
    programs: dict[Any, SessionProgram] = field(default_factory=dict)


class RemoteRun:
    """One run of a plan; the base of all kinds.

    Everything but the constructor and ``result`` belongs to the session's loop, unless it says otherwise.

    Args:
        steps: the steps of the session.
        program: the program.
        values: the feeds; arrays are borrowed until the run has ended.
        limit: seconds; ``None`` for the default.
        fetches: how many values the run returns.
        asked: what is asked for beside them; ``None`` for nothing. The first run of a plan brings it along.

    Attributes:
        kind: the kind of the frame that requests it.
        counts: whether the admission of the session counts runs of its kind.
        sets_up: whether the answer is the handle of a partial run, in place of a report.
        program: the argument ``program``.
        values: the argument ``values``.
        number: the number of what is requested there: that of the program, or of the setup of a call.
        call: its number; -1 while it was not requested.
        extra: what the master has said beside the values.
        answer: when that was read, in wall-clock seconds, and the size of its frame; set where that has bytes.
        nbytes: the bytes for which the run counts in the session's admission.
        admitted: whether it counts there now.
    """

    kind: ClassVar[int] = RUN_STEP
    answer: tuple[float, int]
    counts: ClassVar[bool] = True
    sets_up: ClassVar[bool] = False
    __slots__ = (
        "_asked",
        "_error",
        "_fetches",
        "_found",
        "_limit",
        "_steps",
        "admitted",
        "answer",
        "call",
        "extra",
        "nbytes",
        "number",
        "program",
        "values",
    )

    def __init__(
        self,
        steps: RemoteSteps,
        program: SessionProgram,
        values: RunValues,
        limit: float | None,
        fetches: int,
        asked: StepRequest | CallRequest | None = None,
    ) -> None:
        self._steps = steps
        if not (program.known or isinstance(asked, CallRequest)):
            asked = replace(asked or _PLAIN, plan=program.plan)
        self._asked: Any = asked
        self.program = program
        self.number = program.number
        self.values = values
        self._limit = limit
        self._fetches = fetches
        self.nbytes = 0
        self.admitted = False
        self.call = -1
        self.extra: Any = None
        self._found: RunValues | None = None
        self._error: BaseException | None = None

    def begin(self) -> None:
        """Request the run, which was admitted."""
        calls = self.program.calls
        # Before the request, because a master in this process may answer at once.
        call = self.call = next(self._steps.calls)
        try:
            calls.request(self.kind, call, self.number, self._limit, self._asked, self.values, self)
        except BaseException as exc:  # Ctrl-C among them, which may come inside a master of this process
            calls.cancel(call)
            self._leave()
            if not isinstance(exc, Exception):
                raise
            # On the session's loop, where nobody would see it.
            self._steps.explain(from_exception(exc), self._end)

    def result(self) -> Sequence[Any]:
        """Return the fetched values of a run that has ended; arrays are the caller's own.

        Raises:
            MustWait: if nothing was run.
            OpError: the error of the run.
        """
        if self._error is not None:
            raise self._error
        assert self._found is not None
        return list(map(received_value if self.program.over_link else own_value, self._found.read_all()))

    @property
    def waited(self) -> float:
        """Seconds of its limit that the run has waited here before it was requested."""
        return 0.0 if self._asked is None else self._asked.waited

    @property
    def unconfirmed(self) -> bool:
        """Whether the master waits for ``confirm``, because the step has taken values out of something."""
        return self.extra is not None and self.extra[1] is True

    @property
    def given_up(self) -> OpError | None:
        """Why the caller must not have values any more: the master was, or is about to be, told to put them back."""
        return self._steps.closed_error()

    def confirm(self, *, received: bool) -> None:
        """Tell the master whether the values have reached their caller; else it puts back what was taken.

        Raises:
            OpError: the run was given up while its answer was on its way, so nobody has received them.
        """
        error = self.given_up if received else None
        self.program.calls.confirm(self.call, received=received and error is None)
        if error is not None:
            raise error

    def cancel(self) -> None:
        """Cancel the run, or give up the values of one that has ended."""
        if self.admitted:
            self.program.calls.cancel(self.call)
            self._leave()
            self._end(CancelledError("the run was cancelled"))
        elif self._found is not None and self.unconfirmed:
            self.confirm(received=False)

    # -- RunWaiter -----------------------------------------------------------------------------

    def done(self, values: RunValues, extra: Any) -> None:
        """See ``RunWaiter.done``."""
        if type(extra) is bytes:
            assert isinstance(values, WireValues)  # a master in this process sends none
            self.answer = current_host().clock.time(), done_bytes(self.call, extra, values)
            extra = extra_from_wire(extra, 1 if self.sets_up else 2)
        if len(values) != self._fetches or not (type(extra) is list or (extra is None and not self.sets_up)):
            raise ProtocolError(
                f"a run with {self._fetches} fetches was answered by {len(values)} values and {extra!r:.100}"
            )
        self.program.known = True
        self._leave()
        self._found, self.extra = values, extra
        self._wake()

    def failed(self, error: OpError) -> None:
        """See ``RunWaiter.failed``."""
        self._leave()
        self._steps.explain(error, self._end)

    def gone(self) -> None:
        """See ``RunWaiter.gone``: request the run again, and bring the plan along."""
        program = self.program
        if self._asked is not None and self._asked.plan is not None:
            self.failed(AbortedError("the master has not taken the plan that the run has brought"))
            return
        program.known, self._asked = False, replace(self._asked or _PLAIN, plan=program.plan)
        try:
            program.calls.request(RUN_STEP, self.call, self.number, self._limit, self._asked, self.values, self)
        except OpError as error:
            self.failed(error)

    def _expired(self) -> None:
        if not self.admitted:  # it has ended
            return
        program, seconds = self.program, (self._limit or self._steps.step_limit) + ANSWER_MARGIN
        program.calls.cancel(self.call)
        where = f"{program.channel.peer_name} at {program.channel.address}"
        self.failed(DeadlineExceededError(f"{where} did not answer a step within {seconds:.3g} s"))

    # -- the end -------------------------------------------------------------------------------

    def _leave(self) -> None:
        self._steps.leave(self)

    def _end(self, error: BaseException) -> None:
        self._error = error
        self._wake()

    def _wake(self) -> None:
        """Wake the caller."""
        raise NotImplementedError


class AsyncRun(RemoteRun):
    """A run that is awaited on the session's loop."""

    __slots__ = ("_alarm", "ended")
    ended: asyncio.Future[None]
    """Done when the run has ended; made by ``start``."""
    _alarm: Alarm | None

    def _leave(self) -> None:
        if self._alarm is not None:
            self._steps.wheel.discard(self._alarm)
        self._steps.leave(self)

    def _wake(self) -> None:
        if not self.ended.done():
            self.ended.set_result(None)

    def start(self) -> asyncio.Future[None]:
        """Begin the run; return a future for its end, after which ``result`` says what came of it."""
        steps = self._steps
        self.ended = asyncio.get_running_loop().create_future()
        self._alarm = None
        self.begin()
        if self.admitted:  # else a master in this process has answered
            self._alarm = steps.wheel.add((self._limit or steps.step_limit) + ANSWER_MARGIN, self._expired)
        return self.ended


class Setup(AsyncRun):
    """A run that sets up a partial run; its answer is the handle."""

    counts = False
    sets_up = True
    unconfirmed = False
    __slots__ = ()


class EndsEarly(Protocol):
    """A partial run, as its calls see it."""

    ended_by: OpError | None
    """The error with which the client has ended it, or has seen it end."""


class PartialCall(AsyncRun):
    """A call of a partial run, which asks for its feeds and fetches by their names.

    Attributes:
        number: the run that has set it up; set before the call begins.
        handle: the handle of the partial run; likewise.
        run: the partial run; likewise.
    """

    kind = PARTIAL_RUN
    counts = False
    __slots__ = ("handle", "run")
    handle: str
    run: EndsEarly

    @property
    def given_up(self) -> OpError | None:
        """See ``RemoteRun.given_up``."""
        return self.run.ended_by or super().given_up

    def gone(self) -> None:
        """See ``RunWaiter.gone``."""
        self.failed(no_such_run(self.handle))


class ThreadRun(RemoteRun):
    """A run for which another thread waits."""

    __slots__ = ("_ended",)

    def __init__(
        self,
        steps: RemoteSteps,
        program: SessionProgram,
        values: RunValues,
        limit: float | None,
        fetches: int,
        asked: StepRequest | None = None,
    ) -> None:
        super().__init__(steps, program, values, limit, fetches, asked)
        self._ended = threading.Lock()
        self._ended.acquire()

    def _wake(self) -> None:
        if self._ended.locked():
            self._ended.release()

    def run(self, call: Callable[[Callable[[], object]], None]) -> Sequence[Any]:
        """Begin the run and wait for it in the calling thread; see ``result``.

        Ctrl-C, or any other exception of a signal handler, cancels the run. The wait itself is the deadline
        of the run; the loop is asked for no timer.

        Args:
            call: calls a function on the session's loop.
        """
        patience = (self._limit or self._steps.step_limit) + ANSWER_MARGIN
        try:
            if not self._begin_here():
                call(self._begin_on_loop)
            ended = acquire(self._ended, patience, partial(_call, call, self.cancel))
            if not ended:
                call(self._expired)
                ended = acquire(self._ended, _LOOP_MARGIN)
            if ended:
                values = self.result()
                if self.extra is not None and self.unconfirmed:
                    call(partial(self.confirm, received=True))
                return values
        except BaseException:  # also an error of ours, which a signal handler may raise
            if self.admitted or self._found is not None:
                _call(call, self.cancel)
            raise
        raise DeadlineExceededError(
            f"the event loop of the session has not ended a run within {patience + _LOOP_MARGIN:.3g} s"
        )

    def _begin_here(self) -> bool:
        """Begin the run in the calling thread; return False if the loop has to do it."""
        steps, program = self._steps, self.program
        if not (program.threads_may_write and steps.admit(self)):
            return False
        call = self.call = next(steps.calls)
        return program.run_from_thread(call, self._limit, self._asked, self.values, self)

    def _begin_on_loop(self) -> None:
        self.program.open_to_threads()
        try:
            if not (self.admitted or self._steps.admit(self)):
                self._end(MustWait())
                return
        except CancelledError as error:
            self._end(error)
            return
        self.begin()


def own_value(value: Any) -> Any:
    """Return a value of a master in this process, owned by the caller; rank 0 becomes a scalar, as in TensorFlow."""
    if not isinstance(value, np.ndarray):
        return value
    return np.array(value) if value.ndim else value[()]


def received_value(value: Any) -> Any:
    """Return a value that has come over a link, owned by the caller; see ``own_value``."""
    if not isinstance(value, np.ndarray):
        return value
    if not value.ndim:
        return value[()]
    # What cannot be written to is memory of the master.
    return value if value.flags.writeable else value.copy()


def _call(call: Callable[[Callable[[], object]], None], callback: Callable[[], object]) -> None:
    """Call a function on the session's loop, unless the session is closed, which has ended its runs."""
    with suppress(CancelledError):
        call(callback)
