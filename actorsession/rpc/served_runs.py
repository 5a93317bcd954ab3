"""The runs of step programs that the peer of one link requests.

``StepCalls`` passes on the frames of the peer. A ``StepProgram`` runs here for it, and answers by a
``ServedRun``. Invariants: each run is answered once, by its values, an error or ``GONE``, unless the peer has
cancelled it or the link has ended. What a run has taken out of queues and the like is settled once: it stays
taken when the peer says that the values were received, and else is put back. A process uses no number of a
program twice, and begins at a random one: a program of a former link, or of a former incarnation, is not
found.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Protocol, TypeAlias

from actorsession.actors.supervision import Children
from actorsession.durations import is_seconds
from actorsession.errors import (
    CancelledError,
    OpError,
    ProtocolError,
    ResourceExhaustedError,
    UnavailableError,
    error_to_wire,
    from_exception,
)
from actorsession.graph.codec import Buffer, encoded_ahead, is_long_text, not_encoded
from actorsession.messages.step_frames import (
    DONE,
    FAIL,
    GONE,
    PARTIAL_RUN,
    RUN_GRAPH,
    RUN_STEP,
    CallRequest,
    GraphRequest,
    StepRequest,
    WireValues,
    extra_to_wire,
    write_header,
    write_value,
)
from actorsession.rpc.pushes import FrameWriter
from transports.host import current_host

__all__ = [
    "MAX_PLANS",
    "MAX_RUNS",
    "Backlog",
    "Parts",
    "ServedRun",
    "ServedRuns",
    "ServedSetup",
    "Settle",
    "StepProgram",
    "encode_apart",
    "notify",
]

MAX_RUNS = 20_000
"""Runs of one peer that may be in progress; as for calls, see ``service``."""

# Cancellations kept because they arrived before their runs, which large arrays can delay.
MAX_EARLY = 1024

MAX_PLANS = 10_000
"""Plans that one client may have at a master; it brings an older one along again."""

# Answers whose values were taken out of queues and the like; a correct peer confirms each of them at once.
MAX_UNSETTLED = 10_000


_PROGRAMS = {RUN_STEP: "_plans", PARTIAL_RUN: "setups", RUN_GRAPH: "_graphs"}
_REQUESTS: dict[int, Any] = {RUN_STEP: StepRequest, RUN_GRAPH: GraphRequest}

Parts: TypeAlias = "Sequence[WireValues | Sequence[Any] | None]"
"""What each part of a step has returned; ``None`` while it has not."""

Settle: TypeAlias = Callable[[bool], None]
"""Settles what a run has taken; the argument is whether its values have reached the caller."""

logger = logging.getLogger("actorsession.actors")


def _program_numbers() -> Iterator[int]:
    return itertools.count(1 + current_host().entropy.randbits(48))


class Backlog(Protocol):
    """What a link has not sent yet; see ``Backpressure``."""

    @property
    def is_backlogged(self) -> Callable[[], bool]:
        """Returns whether so many bytes are unsent that their producers should pause."""

    async def drain(self) -> bool:
        """Wait while there is a backlog; return whether the connection has not ended meanwhile."""


class StepProgram(Protocol):
    """A program that runs here for a peer."""

    def begin(self, run: ServedRun) -> None:
        """Begin a run, which calls ``done``, ``fail`` or ``gone`` of it at once or later.

        Raises:
            OpError: the error of the run.
        """


class ServedSetup(StepProgram, Protocol):
    """A partial run that is open here; ``begin`` serves a call of it."""

    def abandon(self) -> None:
        """End it: the peer does not wait for its handle, or the link has ended."""


class ServedRun:
    """A run that the peer has requested.

    Attributes:
        call: its number, chosen by the peer; that of the step for a worker.
        peer: the cluster task of the peer.
        seconds: how long the peer waits at most; ``None`` for no limit.
        values: its feeds; checked, and not decoded.
        asked: what the peer asks for beside the values; ``None`` for nothing.
        on_cancel: called if the peer cancels the run or the link ends before it was answered.
    """

    __slots__ = ("_calls", "asked", "call", "on_cancel", "peer", "seconds", "values")

    def __init__(self, calls: ServedRuns, call: int, seconds: float | None, values: WireValues, asked: Any) -> None:
        self._calls = calls
        self.asked = asked
        self.peer = calls.peer
        self.call = call
        self.seconds = seconds
        self.values = values
        self.on_cancel: Callable[[], None] | None = None

    @property
    def waits(self) -> bool:
        """Whether the peer still waits for the answer."""
        return self._calls.is_serving(self)

    @staticmethod
    def fetched(parts: Parts, fetches: Iterable[tuple[int, int]]) -> Any:
        """Return the values of a run as its client takes them; those of other tasks are passed on as they came.

        Args:
            parts: what each part of its step has returned.
            fetches: for each fetch, the part that returned it and its position there.

        Raises:
            InvalidArgumentError: for a value that cannot be encoded.
        """
        out = WireValues([])
        for number, at in fetches:
            part = parts[number]
            if isinstance(part, WireValues):
                part.pass_on(at, out)
            else:
                assert part is not None  # every part has returned
                write_value(part[at], out.items, out.segments)
        return out

    extra = staticmethod(extra_to_wire)
    """Returns what an answer says beside its values, as the client takes it."""

    def done(self, values: WireValues, extra: Any = None, settle: Settle | None = None) -> None:
        """Answer the run with its values.

        Args:
            values: the values.
            extra: what is said beside them.
            settle: called once with whether they have reached the caller, if that matters.
        """
        calls, call = self._calls, self.call
        if calls._serving.pop(call, None) is not None:  # what finish() does, without a call
            self.on_cancel = None
            if settle is not None:
                calls.hold_unsettled(call, settle)
            calls.answer(call, [DONE, call, extra, *values.items], values.segments)
        elif settle is not None:
            settle(False)

    def open(self, setup: ServedSetup) -> Callable[[], object]:
        """Let the peer make calls of the partial run that this run has set up.

        Returns:
            A function that ends this, to be called at the end of the partial run.
        """
        self._calls.setups[self.call] = setup
        return partial(self._calls.setups.pop, self.call, None)

    def fail(self, error: OpError) -> None:
        """Answer the run with an error."""
        if self._calls.finish(self.call):
            self._calls.answer(self.call, [FAIL, self.call, error_to_wire(error)])

    def gone(self) -> None:
        """Answer that nothing was run, because the program cannot be used any more."""
        if self._calls.finish(self.call):
            self._calls.answer(self.call, [GONE, self.call])


# Stands for the held runs of links that hold none; nothing is put into it.
_NONE_HELD: OrderedDict[int, tuple[StepProgram, ServedRun]] = OrderedDict()


class ServedRuns:
    """The runs that the peer of one link requests, and the programs that it may run.

    Args:
        peer: cluster task of the peer.
        writer: sends the answers.
        backpressure: whether the peer reads them.
        children: own the waiting for the peer to read on.

    Attributes:
        setups: the partial runs of the peer that are open here, by the number of the run that set them up.
        received: how many runs the peer has requested.
        on_plan: returns the program of a plan that a client runs for the first time; set before the link
            runs.
    """

    def __init__(self, peer: str, writer: FrameWriter, backpressure: Backlog, children: Children) -> None:
        self.peer = peer
        self._send = writer.write
        self._send_short = writer.write_short
        self._backpressure = backpressure
        self._children = children
        self._graphs: dict[int, StepProgram] = {}
        self._plans: dict[int, StepProgram] = {}
        self.setups: dict[int, ServedSetup] = {}
        self._unsettled: dict[int, Settle] = {}
        self._serving: dict[int, ServedRun] = {}
        self._held = _NONE_HELD
        self._early: dict[int, None] = {}
        self.on_plan: Callable[[list[Any]], StepProgram]
        self.received = 0

    def __len__(self) -> int:
        """Return how many runs of the peer have no answer yet."""
        return len(self._serving)

    @property
    def unsettled(self) -> int:
        """How many answers have not been confirmed yet whose values were taken out of something."""
        return len(self._unsettled)

    @property
    def held(self) -> int:
        """How many of these have not begun because the peer does not read its answers."""
        return len(self._held)

    def register(self, program: StepProgram) -> int:
        """Let the peer run a program of a graph, and return its number."""
        number = next(current_host().own(_program_numbers))
        self._graphs[number] = program
        return number

    def drop(self, number: int) -> None:
        """Remove a program of a graph; runs of it that have begun go on."""
        self._graphs.pop(number, None)

    def receive(self, wire: list[Any], header: Buffer, segments: Sequence[Buffer]) -> None:
        """Begin a run of the peer, or hold it."""
        if len(wire) < 5 or type(wire[2]) is not int:
            raise ProtocolError("a run has a program, a limit and a request")
        kind, call, number, seconds, asked = wire[:5]
        if seconds is not None and not is_seconds(seconds):
            raise ProtocolError(f"the limit of a run is a number of seconds, found {seconds!r:.100}")
        if call in self._serving:
            raise ProtocolError(f"run {call} is requested twice at the same time")
        if kind == PARTIAL_RUN:
            asked = CallRequest.from_wire(asked)
        elif asked is not None:
            asked = _REQUESTS[kind].from_wire(asked, current_host().clock.time(), len(header) + sum(map(len, segments)))
        self.received += 1
        run = ServedRun(self, call, seconds, WireValues.received(wire[5:], segments), asked)
        if self._early and call in self._early:  # it was cancelled before it has arrived
            del self._early[call]
            return
        self._serving[call] = run
        try:
            program = getattr(self, _PROGRAMS[kind]).get(number)
            if program is None:
                self._begin_new(kind, number, run)
            elif len(self._serving) > MAX_RUNS or self._held or self._backpressure.is_backlogged():
                self._begin_later(program, run)
            else:
                program.begin(run)
        except Exception as exc:
            run.fail(from_exception(exc))

    def _begin_new(self, kind: int, number: int, run: ServedRun) -> None:
        """Begin the first run of a plan; that of a program which is not known is answered so."""
        plan = run.asked.plan if kind == RUN_STEP and run.asked is not None else None
        if plan is None:
            run.gone()
            return
        program = self._plans[number] = self.on_plan(plan)
        if len(self._plans) > MAX_PLANS:
            del self._plans[next(iter(self._plans))]
        self._begin_later(program, run)

    def _begin_later(self, program: StepProgram, run: ServedRun) -> None:
        """Begin a run, unless there are too many, or the peer has to read its answers first.

        Raises:
            ResourceExhaustedError: there are too many.
        """
        if len(self._serving) > MAX_RUNS:
            raise ResourceExhaustedError(
                f"{self.peer} has {len(self._serving)} runs in progress here, which is the limit"
            )
        if not self._held and not self._backpressure.is_backlogged():
            program.begin(run)
            return
        if not self._held:
            self._held = OrderedDict()
        self._held[run.call] = program, run
        if len(self._held) == 1:
            _ = self._children.start(self._begin_held(), name=f"held runs of {self.peer}")

    async def _begin_held(self) -> None:
        while self._held:
            if not await self._backpressure.drain():
                return  # the end of the link follows
            while self._held and not self._backpressure.is_backlogged():
                _, (program, run) = self._held.popitem(last=False)
                try:
                    program.begin(run)
                except Exception as exc:
                    run.fail(from_exception(exc))

    def receive_cancel(self, wire: list[Any], header: Buffer = b"", segments: Sequence[Buffer] = ()) -> None:
        """Cancel a run, or put back what it has taken."""
        call = wire[1]
        run = self._serving.pop(call, None)
        self._cancel(run)
        # Else it was answered, or has not arrived: then it is not begun when it does.
        setup = self.setups.get(call)
        if setup is not None:
            notify(setup.abandon)
        elif run is None and not self._settle(call, received=False):
            self._early[call] = None
            if len(self._early) > MAX_EARLY:
                del self._early[next(iter(self._early))]

    def receive_received(self, wire: list[Any], header: Buffer = b"", segments: Sequence[Buffer] = ()) -> None:
        """Settle a run whose values have reached their caller."""
        self._settle(wire[1], received=True)

    def hold_unsettled(self, call: int, settle: Settle) -> None:
        """Keep what settles a run until the peer says whether its values have reached the caller."""
        self._unsettled[call] = settle
        if len(self._unsettled) > MAX_UNSETTLED:
            self._settle(next(iter(self._unsettled)), received=True)

    def _settle(self, call: int, *, received: bool) -> bool:
        """Settle a run that was answered; return whether there was anything to settle."""
        settle = self._unsettled.pop(call, None)
        if settle is None:
            return False
        notify(partial(settle, received))
        return True

    def is_serving(self, run: ServedRun) -> bool:
        """Return whether a run of the peer has no answer yet, and was not cancelled."""
        return self._serving.get(run.call) is run

    def finish(self, call: int) -> bool:
        """Forget a run of the peer; return whether it still waits for an answer."""
        run = self._serving.pop(call, None)
        if run is None:
            return False
        # It refers to the step, which refers to the run: the step's arrays would stay until a collection.
        run.on_cancel = None
        return True

    def answer(self, call: int, wire: list[Any], segments: Sequence[Buffer] = ()) -> None:
        """Send the answer to a run; one that cannot be sent is answered with the reason."""
        try:
            header = write_header(wire)
            if segments or not self._send_short(header):  # at the end of the link nobody waits for an answer
                self._send(header, segments)
        except (UnavailableError, CancelledError):
            pass  # the link has ended: there is no waiter
        except Exception as exc:
            self._settle(call, received=False)
            with suppress(UnavailableError, CancelledError):
                self._send(write_header([FAIL, call, error_to_wire(not_encoded(exc))]), ())

    def lost(self, call: int, error: OpError) -> None:
        """Fail a run whose request could not be read, unless it was cancelled."""
        if call in self._early:
            del self._early[call]
        else:
            self.finish(call)
            self.answer(call, [FAIL, call, error_to_wire(error)])

    def end(self) -> None:
        """End all runs, because the link has ended."""
        self._graphs.clear()
        self._plans.clear()
        serving, self._serving = self._serving, {}
        self._held = _NONE_HELD
        for run in serving.values():
            notify(partial(self._cancel, run))
        for setup in list(self.setups.values()):
            notify(setup.abandon)
        for call in list(self._unsettled):  # no confirmation can come any more
            self._settle(call, received=False)

    def _cancel(self, run: ServedRun | None) -> None:
        if run is not None and self._held.pop(run.call, None) is None and run.on_cancel is not None:
            on_cancel, run.on_cancel = run.on_cancel, None
            on_cancel()


def encode_apart(values: Sequence[Any], then: Callable[[Sequence[Any]], None]) -> bool:
    """Encode values with many strings in a thread, before a run is answered with them.

    Args:
        values: what a run has returned.
        then: called with the same values, ready to be written, on the loop that runs now.

    Returns:
        Whether it will be called; if not, the values may be written at once.
    """
    if not any(map(is_long_text, values)):
        return False
    loop = asyncio.get_running_loop()

    def work() -> None:
        encoded = [encoded_ahead(value) if is_long_text(value) else value for value in values]
        with suppress(RuntimeError):  # the loop is closed, so nobody waits
            loop.call_soon_threadsafe(then, encoded)

    try:
        current_host().processes.start_thread(work, "actorsession-encoding")
    except RuntimeError:  # there can be no more threads
        return False
    return True


def notify(ending: Callable[[], None]) -> None:
    """Tell one of those who wait for a link of its end; what becomes of it must not concern the others."""
    try:
        ending()
    except Exception:
        logger.exception("the end of a link could not be told to one of its users")
