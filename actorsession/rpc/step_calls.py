"""The step frames of one link: runs of steps in both directions, and pushed values.

A *step program* is a client graph with everything that a step needs bound once: at a client the plan of a
session, at a master the registered client graph, at a worker its partitions. A worker registers the programs
of its graphs, whose numbers it tells the master. A client numbers its plans itself: the first run of one
brings the plan along, so that registration and run leave together. A frame is handled in the call that
received it, without an actor's mailbox, an asyncio task or a future.

``Link`` owns a ``StepCalls``: it passes on the frames that arrive and reports its end. A ``RunWaiter``
receives the outcome of a run that was requested here; a ``StepProgram`` runs here for the peer.

Invariants: each run that the peer requests is answered once, by its values, an error or ``GONE``, unless the
peer has cancelled it or the link has ended. Each run that is requested here ends once. What a run has taken
out of queues and the like is settled once: it stays taken when the peer says that the values were received,
and else is put back. A process uses no number of a program twice, and begins at a random one: a program of a
former link, or of a former incarnation, is not found.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
import secrets
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from itertools import repeat
from typing import Any, Protocol, TypeAlias

from msgpack import unpackb

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
from actorsession.graph.codec import Buffer, encoded_ahead, is_long_text, not_encoded, unpack_start
from actorsession.messages.step_frames import (
    CANCEL,
    DONE,
    FAIL,
    GONE,
    PARTIAL_RUN,
    PUSH,
    RECEIVED,
    RUN_GRAPH,
    RUN_STEP,
    CallRequest,
    GraphRequest,
    StepRequest,
    WireValues,
    read_error,
    read_header,
    read_value,
    write_header,
    write_value,
)
from actorsession.records import dataclass

__all__ = [
    "LONG_HEADER",
    "MAX_PLANS",
    "MAX_RUNS",
    "Pushed",
    "RunWaiter",
    "ServedRun",
    "ServedSetup",
    "Settle",
    "StepCalls",
    "StepProgram",
    "encode_apart",
    "is_bulky",
]

MAX_RUNS = 20_000
"""Runs of one peer that may be in progress; as for calls, see ``service``."""

# Keys that a link numbers, a few hundred bytes each. Those of further programs travel as text.
_MAX_KEYS = 65_536

_NUMBERS_ALONE = {int}

# Cancellations kept because they arrived before their runs, which large arrays can delay.
_EARLY = 1024

LONG_HEADER = 64 * 2**10
"""Bytes of a header above which its frame goes by the bulk lane."""

MAX_PLANS = 10_000
"""Plans that one client may have at a master; it brings an older one along again."""

# Answers whose values were taken out of queues and the like; a correct peer confirms each of them at once.
_MAX_UNSETTLED = 10_000

_NUMBERS = itertools.count(1 + secrets.randbits(48))

Settle: TypeAlias = Callable[[bool], None]
"""Settles what a run has taken; the argument is whether its values have reached the caller."""

logger = logging.getLogger("actorsession.actors")


def is_bulky(header: Buffer, segments: Sequence[Buffer]) -> bool:
    """Return whether a frame goes by the bulk lane of a connection, where others overtake it.

    All frames with segments do, and long headers, which graphs have; no urgent message is that long.
    """
    return bool(segments) or len(header) > LONG_HEADER


@dataclass(slots=True)
class Pushed:
    """Values on their way to the rendezvous of one step at another task; one entry of each list per value.

    Attributes:
        step_id: the step; it may not have begun at the receiver yet.
        keys: rendezvous keys in text form.
        values: the values, borrowed; ``None`` for a dead tensor.
        dead: whether the value is a dead tensor (on the branch not taken).
    """

    step_id: int
    keys: list[str]
    values: list[Any]
    dead: list[bool]


class RunWaiter(Protocol):
    """Receives the outcome of a run that was requested here: one call, on the loop of the link."""

    def done(self, values: WireValues, extra: Any) -> None:
        """The run has succeeded; raises ``ProtocolError`` for values that cannot be its own."""

    def failed(self, error: OpError) -> None:
        """The run has failed, or the link has ended."""

    def gone(self) -> None:
        """The peer does not know the program; nothing was run. The plan may be sent again."""


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

    def __init__(
        self, calls: StepCalls, call: int, seconds: float | None, values: WireValues, asked: Any
    ) -> None:
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


class StepCalls:
    """The step frames of one link.

    Args:
        peer: cluster task of the peer.
        send: sends the header of a frame with its segments; raises ``UnavailableError`` or
            ``CancelledError`` once the link has ended.
        send_from_thread: sends a header at once, in any thread; returns whether it did.
        congested: whether many bytes to the peer are unsent.
        drain: waits until few are, or the link has ended.
        children: own the waiting for the peer to read on.

    Attributes:
        setups: the partial runs of the peer that are open here, by the number of the run that set them up.
        sent: how many runs were requested here.
        received: how many runs the peer has requested.
        pushes: how many times values were pushed to the peer.
        on_plan: returns the program of a plan that a client runs for the first time; set before the link
            runs, as the next two.
        on_push: takes the step id, keys, values and marks of dead tensors that the peer has pushed.
        on_push_lost: takes the step id and the error of a push for which there was no memory.
    """

    def __init__(
        self,
        peer: str,
        *,
        send: Callable[[bytes, Sequence[Buffer]], None],
        send_from_thread: Callable[[bytes], bool],
        congested: Callable[[], bool],
        drain: Callable[[], Awaitable[None]],
        children: Children,
    ) -> None:
        self.peer = peer
        self._send = send
        self._send_from_thread = send_from_thread
        self._congested = congested
        self._drain = drain
        self._children = children
        self._graphs: dict[int, StepProgram] = {}
        self._plans: dict[int, StepProgram] = {}
        self.setups: dict[int, ServedSetup] = {}
        self._programs: dict[int, Mapping[int, StepProgram]] = {
            RUN_STEP: self._plans, PARTIAL_RUN: self.setups, RUN_GRAPH: self._graphs
        }  # fmt: skip
        self._unsettled: dict[int, Settle] = {}
        self._serving: dict[int, ServedRun] = {}
        self._held = _NONE_HELD
        self._early: dict[int, None] = {}
        self._waiting: dict[int, RunWaiter] = {}
        self._keys_sent: dict[str, int] = {}
        self._keys_received: dict[int, str] = {}
        self._texts_received: dict[str, None] = {}
        self.on_plan: Callable[[list[Any]], StepProgram]
        self.on_push: Callable[[int, Sequence[str], Sequence[Any], Sequence[bool]], None]
        self.on_push_lost: Callable[[int, OpError], None]
        self.sent = self.received = self.pushes = 0
        self._counter = itertools.count(1)
        self._is_over = False

    @property
    def pending(self) -> int:
        """How many runs that were requested here have no answer yet."""
        return len(self._waiting)

    @property
    def serving(self) -> int:
        """How many runs of the peer have no answer yet."""
        return len(self._serving)

    @property
    def unsettled(self) -> int:
        """How many answers have not been confirmed yet whose values were taken out of something."""
        return len(self._unsettled)

    @property
    def held(self) -> int:
        """How many of these have not begun because the peer does not read its answers."""
        return len(self._held)

    # -- programs that run here ----------------------------------------------------------------

    def register(self, program: StepProgram) -> int:
        """Let the peer run a program of a graph, and return its number."""
        number = next(_NUMBERS)
        self._graphs[number] = program
        return number

    def drop(self, number: int) -> None:
        """Remove a program of a graph; runs of it that have begun go on."""
        self._graphs.pop(number, None)

    # -- runs requested here -------------------------------------------------------------------

    def run_step(
        self, call: int, program: int, seconds: float | None, values: WireValues, waiter: RunWaiter,
        asked: StepRequest | None = None,
    ) -> None:  # fmt: skip
        """Request a run of a plan, as its client.

        Args:
            call: a number for the run, which no other run over this link has.
            program: the number of the program.
            seconds: how long this end waits at most; ``None`` for no limit.
            values: its feeds.
            waiter: called when the run has ended.
            asked: what else is asked for; ``None`` for nothing.

        Raises:
            OpError: the link has ended, or the values cannot be sent; the waiter is not called.
        """
        wire = None if asked is None else asked.to_wire()
        self._run(_header([RUN_STEP, call, program, seconds, wire], values), call, values, waiter)

    def call_partial(
        self, call: int, setup: int, seconds: float | None, values: WireValues, waiter: RunWaiter,
        asked: CallRequest,
    ) -> None:  # fmt: skip
        """Request a call of the partial run that run ``setup`` has set up; see ``run_step``."""
        header = _header([PARTIAL_RUN, call, setup, seconds, asked.to_wire()], values)
        self._run(header, call, values, waiter)

    def run_graph(
        self, step_id: int, program: int, values: WireValues, waiter: RunWaiter,
        asked: GraphRequest | None = None,
    ) -> None:  # fmt: skip
        """Request a run of registered partitions, as their master; see ``run_step``."""
        wire = None if asked is None else asked.to_wire()
        self._run(
            _header([RUN_GRAPH, step_id, program, None, wire], values), step_id, values, waiter
        )

    def _run(self, header: bytes, call: int, values: WireValues, waiter: RunWaiter) -> None:
        self._send(header, values.segments)
        self.sent = next(self._counter)
        self._waiting[call] = waiter

    def run_from_thread(
        self, call: int, program: int, seconds: float | None, values: WireValues, waiter: RunWaiter,
        asked: StepRequest | None = None,
    ) -> bool:  # fmt: skip
        """Request a run in another thread than that of the loop, if it can be sent at once.

        See ``run_step``.

        Returns:
            Whether it was requested; if not, the waiter is not called.

        Raises:
            InvalidArgumentError: the values cannot be sent; the waiter is not called.
        """
        if values.segments:
            return False
        wire = None if asked is None else asked.to_wire()
        header = _header([RUN_STEP, call, program, seconds, wire], values)
        if len(header) > LONG_HEADER:  # it goes by the bulk lane
            return False
        self._waiting[call] = waiter  # before it is sent: the answer may come at once
        if not self._is_over and self._send_from_thread(header):
            self.sent = next(self._counter)
            return True
        # If it is not there any more, the end of the link was told to it meanwhile.
        return self._waiting.pop(call, None) is None

    def confirm(self, call: int, *, received: bool) -> None:
        """Tell the peer whether the values of a run have reached its caller, as its answer asks for."""
        with suppress(UnavailableError, CancelledError):  # its end puts back what was taken
            self._send(write_header([RECEIVED if received else CANCEL, call]), ())

    def cancel(self, call: int) -> None:
        """Cancel a run that was requested here; its waiter is not called any more."""
        if self._waiting.pop(call, None) is not None:
            with suppress(UnavailableError, CancelledError):  # its end cancels the run
                self._send(write_header([CANCEL, call]), ())

    def push(self, message: Pushed) -> None:
        """Send values to the rendezvous of a step at the peer.

        Raises:
            OpError: the link has ended, or the values cannot be sent.
        """
        items: list[Any] = [PUSH, message.step_id]
        segments: list[Buffer] = []
        keys = message.keys
        try:
            number = self._keys_sent.get(keys[0]) if len(keys) == 1 else None
            if number is not None and not message.dead[0]:
                # Most pushes: one value, under a key that the peer knows.
                items.append(number)
                write_value(message.values[0], items, segments)
                self._send(write_header(items), segments)
                self.pushes += 1
            else:
                self._push(message, items, segments)
        except OpError:
            raise
        except Exception as exc:
            raise not_encoded(exc) from exc

    def _push(self, message: Pushed, items: list[Any], segments: list[Buffer]) -> None:
        number_of, new = self._keys_sent.get, False
        for key, value, dead in zip(message.keys, message.values, message.dead, strict=True):
            numbered: int | str | None = number_of(key)
            if numbered is None:
                numbered, new = key, True
            items.append(numbered)
            if dead:
                items += (None, None)
            else:
                write_value(value, items, segments)
        header = write_header(items)
        self._send(header, segments)
        self.pushes += 1
        # Other frames arrive in the order in which they are sent: a number that a bulky one has defined might
        # be used before it arrives.
        if new and not is_bulky(header, segments):
            self._number(message.keys)

    # -- what arrives --------------------------------------------------------------------------

    def receive(self, header: Buffer, segments: Sequence[Buffer], wire: Any = None) -> None:
        """Handle a step frame that has arrived.

        Args:
            header: its header.
            segments: its segments.
            wire: the header decoded, if that was done elsewhere.

        Raises:
            ProtocolError: the frame is malformed, or does not fit the state of the link.
            ResourceExhaustedError: it pushes values and the receiver has no room for them.
        """
        try:
            wire = unpackb(header) if len(header) <= LONG_HEADER else wire
        except Exception:  # whatever it is, read_header() says it
            wire = None
        try:
            # What read_header() does, without a call; it reads long headers, and raises for what is none.
            if type(wire) is not list or len(wire) < 2 or type(wire[1]) is not int or wire[1] < 0:
                wire = read_header(header)
            try:
                receive = _RECEIVERS[wire[0]]
            except (KeyError, TypeError):
                raise ProtocolError(f"unknown kind of step frame: {wire[0]!r:.100}") from None
            receive(self, wire, header, segments)
        except MemoryError:
            self.lost(header, ResourceExhaustedError("no memory to read a message"))

    def lost(self, start: Buffer, error: ResourceExhaustedError) -> None:
        """Fail the run or the step of a frame for which there is no memory.

        Args:
            start: the first bytes of its header, or all of it.
            error: what there was no memory for.

        Raises:
            ProtocolError: the bytes are not those of a step frame.
        """
        kind, number = unpack_start(start, 2)
        if kind == PUSH:
            self.on_push_lost(number, error)
        elif kind == CANCEL:
            self._receive_cancel([kind, number], b"", ())
        elif kind == RECEIVED:
            self._settle(number, received=True)
        elif kind not in (RUN_STEP, PARTIAL_RUN, RUN_GRAPH):
            if (waiter := self._waiting.pop(number, None)) is not None:
                waiter.failed(error)
                if kind == DONE:  # so that what the run has taken is put back
                    self.confirm(number, received=False)
        elif number in self._early:
            del self._early[number]
        else:
            self.finish(number)
            self.answer(number, [FAIL, number, error_to_wire(error)])

    def _receive_run(self, wire: list[Any], header: Buffer, segments: Sequence[Buffer]) -> None:
        if len(wire) < 5 or type(wire[2]) is not int:
            raise ProtocolError("a run has a program, a limit and a request")
        kind, call, number, seconds, asked = wire[:5]
        if seconds is not None and not is_seconds(seconds):
            raise ProtocolError(
                f"the limit of a run is a number of seconds, found {seconds!r:.100}"
            )
        if call in self._serving:
            raise ProtocolError(f"run {call} is requested twice at the same time")
        if asked is not None or kind == PARTIAL_RUN:
            asked = _REQUESTS[kind].from_wire(asked)
        self.received += 1
        run = ServedRun(self, call, seconds, WireValues.received(wire[5:], segments), asked)
        if self._early and call in self._early:  # it was cancelled before it has arrived
            del self._early[call]
            return
        self._serving[call] = run
        try:
            program = self._programs[kind].get(number)
            if program is None:
                self._begin_new(kind, number, run)
            elif len(self._serving) > MAX_RUNS or self._held or self._congested():
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
        if self._held or self._congested():
            self._hold(program, run)
        else:
            program.begin(run)

    def _begin(self, program: StepProgram, run: ServedRun) -> None:
        try:
            program.begin(run)
        except Exception as exc:
            run.fail(from_exception(exc))

    def _hold(self, program: StepProgram, run: ServedRun) -> None:
        """Begin a run when the peer reads its answers again."""
        if not self._held:
            self._held = OrderedDict()
        self._held[run.call] = program, run
        if len(self._held) == 1:
            _ = self._children.start(self._begin_held(), name=f"held runs of {self.peer}")

    async def _begin_held(self) -> None:
        while self._held:
            await self._drain()
            while self._held and not self._congested():
                _, (program, run) = self._held.popitem(last=False)
                self._begin(program, run)

    def _receive_done(self, wire: list[Any], header: Buffer, segments: Sequence[Buffer]) -> None:
        if len(wire) < 3:
            raise ProtocolError("a run that is done has values")
        values = WireValues.received(wire[3:], segments)
        waiter = self._waiting.pop(wire[1], None)
        if waiter is None:  # it was cancelled
            return
        try:
            waiter.done(values, wire[2])
        except ProtocolError as exc:
            waiter.failed(exc)  # the end of the link, which follows, does not find it any more
            raise
        except Exception as exc:
            waiter.failed(from_exception(exc))
            self.confirm(wire[1], received=False)

    def _receive_fail(self, wire: list[Any], header: Buffer, segments: Sequence[Buffer]) -> None:
        error = read_error(wire)
        waiter = self._waiting.pop(wire[1], None)
        if waiter is not None:
            waiter.failed(error.locate(task=self.peer))

    def _receive_gone(self, wire: list[Any], header: Buffer, segments: Sequence[Buffer]) -> None:
        waiter = self._waiting.pop(wire[1], None)
        if waiter is not None:
            waiter.gone()

    def _receive_cancel(self, wire: list[Any], header: Buffer, segments: Sequence[Buffer]) -> None:
        call = wire[1]
        run = self._serving.pop(call, None)
        self._cancel(run)
        # Else it was answered, or has not arrived: then it is not begun when it does.
        setup = self.setups.get(call)
        if setup is not None:
            _finish(setup.abandon)
        elif run is None and not self._settle(call, received=False):
            self._early[call] = None
            if len(self._early) > _EARLY:
                del self._early[next(iter(self._early))]

    def _receive_received(
        self, wire: list[Any], header: Buffer, segments: Sequence[Buffer]
    ) -> None:
        self._settle(wire[1], received=True)

    def hold_unsettled(self, call: int, settle: Settle) -> None:
        """Keep what settles a run until the peer says whether its values have reached the caller."""
        self._unsettled[call] = settle
        if len(self._unsettled) > _MAX_UNSETTLED:
            self._settle(next(iter(self._unsettled)), received=True)

    def _settle(self, call: int, *, received: bool) -> bool:
        """Settle a run that was answered; return whether there was anything to settle."""
        settle = self._unsettled.pop(call, None)
        if settle is None:
            return False
        _finish(partial(settle, received))
        return True

    def _receive_push(self, wire: list[Any], header: Buffer, segments: Sequence[Buffer]) -> None:
        if len(wire) == 5 and type(wire[2]) is int:  # most pushes: one value, under a numbered key
            text = self._keys_received.get(wire[2])
            if text is None:
                raise self._unknown_key(wire[2:3])
            content = wire[4]
            value = read_value(wire[3], content, segments)
            self.on_push(wire[1], [text], [value], [content is None])
            return
        if len(wire) % 3 != 2:
            raise ProtocolError(f"a push has three items for each value, found {len(wire) - 2}")
        named, contents = wire[2::3], wire[4::3]
        # Pushes but the first have numbers alone. ``True`` and 1.0 are none, but would be found as 1.
        if is_new := {*map(type, named)} != _NUMBERS_ALONE:
            keys = [self._key(key) for key in named]
        else:
            try:
                keys = list(map(self._keys_received.__getitem__, named))
            except KeyError:
                raise self._unknown_key(named) from None
        if is_new and not is_bulky(header, segments):
            self._learn(
                keys
            )  # first: the sender numbers them whether there is memory for the values or not
        values = list(map(read_value, wire[3::3], contents, repeat(segments)))
        dead = (
            [content is None for content in contents] if None in contents else [False] * len(keys)
        )
        self.on_push(wire[1], keys, values, dead)

    def _key(self, key: Any) -> str:
        """Return the text of a key that was received as text or as its number."""
        if type(key) is str:
            return key
        text = self._keys_received.get(key) if type(key) is int else None
        if text is None:
            raise self._unknown_key([key])
        return text

    def _unknown_key(self, named: Sequence[Any]) -> ProtocolError:
        wrong = [key for key in named if type(key) is not int or key not in self._keys_received]
        return ProtocolError(
            f"a key is text or one of {len(self._keys_received)} numbers, found {wrong[0]!r:.100}"
        )

    def _number(self, keys: Iterable[str]) -> None:
        """Number the keys that were sent as text, as the receiver does."""
        for key in keys:
            if len(self._keys_sent) < _MAX_KEYS:
                self._keys_sent.setdefault(key, len(self._keys_sent))

    def _learn(self, keys: Iterable[str]) -> None:
        """Number the keys that were received as text, as their sender does."""
        for key in keys:
            if len(self._keys_received) < _MAX_KEYS and key not in self._texts_received:
                self._texts_received[key] = None
                self._keys_received[len(self._keys_received)] = key

    # -- the end -------------------------------------------------------------------------------

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
            self._send(write_header(wire), segments)
        except (UnavailableError, CancelledError):
            pass  # the link has ended: there is no waiter
        except Exception as exc:
            self._settle(call, received=False)
            with suppress(UnavailableError, CancelledError):
                self._send(write_header([FAIL, call, error_to_wire(not_encoded(exc))]), ())

    def end(self, make_error: Callable[[], OpError]) -> None:
        """End all runs, because the link has ended.

        Args:
            make_error: makes the error of a run that was requested here.
        """
        self._is_over = True
        self._graphs.clear()
        self._plans.clear()
        serving, self._serving = self._serving, {}
        self._held = _NONE_HELD
        # One by one: a thread that has seen too late that the link has ended takes its own out.
        for call in list(self._waiting):
            waiter = self._waiting.pop(call, None)
            if waiter is not None:
                _finish(partial(waiter.failed, make_error()))
        for run in serving.values():
            _finish(partial(self._cancel, run))
        for setup in list(self.setups.values()):
            _finish(setup.abandon)
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
        made = [encoded_ahead(value) if is_long_text(value) else value for value in values]
        with suppress(RuntimeError):  # the loop is closed, so nobody waits
            loop.call_soon_threadsafe(then, made)

    try:
        threading.Thread(target=work, name="actorsession-encoding", daemon=True).start()
    except RuntimeError:  # there can be no more threads
        return False
    return True


def _header(numbers: list[Any], values: WireValues) -> bytes:
    try:
        return write_header([*numbers, *values.items])
    except Exception as exc:
        raise not_encoded(exc) from exc


def _finish(ending: Callable[[], None]) -> None:
    """Tell one of those who wait for a link of its end; what becomes of it must not concern the others."""
    try:
        ending()
    except Exception:
        logger.exception("the end of a link could not be told to one of its users")


_RECEIVERS: dict[int, Callable[[StepCalls, list[Any], Buffer, Sequence[Buffer]], None]] = {
    RUN_STEP: StepCalls._receive_run,
    PARTIAL_RUN: StepCalls._receive_run,
    RUN_GRAPH: StepCalls._receive_run,
    DONE: StepCalls._receive_done,
    FAIL: StepCalls._receive_fail,
    GONE: StepCalls._receive_gone,
    CANCEL: StepCalls._receive_cancel,
    PUSH: StepCalls._receive_push,
    RECEIVED: StepCalls._receive_received,
}
_REQUESTS: dict[int, Any] = {
    RUN_STEP: StepRequest, PARTIAL_RUN: CallRequest, RUN_GRAPH: GraphRequest
}  # fmt: skip
