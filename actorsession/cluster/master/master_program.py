"""Step programs at a master: the runs of one signature of a session, without options, over one link.

A client that runs a plan again registers it. From then on each run is a step frame: the feeds of other tasks
are passed on as they came, the partitions of the master's own task run by a direct call, and their values and
those of the other tasks go back in one frame. ``ProgramStep`` is such a step; in the steady state it does
what ``MasterStep`` does, for which it needs no asyncio task and no future.

Whatever is not plain is answered by ``GONE``, and goes by message then: members that have changed, a client
graph that was dropped and cannot be bound again.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from actorsession.actors.deadline import Deadline
from actorsession.actors.timer_wheel import Alarm
from actorsession.cluster.master.client_graph import ClientGraph
from actorsession.cluster.master.master_step import STEP_IDS, step_too_late
from actorsession.cluster.master.step_parts import BoundPart, StepParts, bind_parts
from actorsession.cluster.unsent import unsent_fetch
from actorsession.errors import (
    AbortedError,
    CancelledError,
    InvalidArgumentError,
    OpError,
    from_exception,
)
from actorsession.messages.step_frames import WireValues, write_value
from actorsession.plan.signature import RunSignature
from actorsession.rpc.local_calls import LocalRun, LocalValues
from actorsession.rpc.step_calls import ServedRun, encode_apart

if TYPE_CHECKING:
    from actorsession.cluster.master.master_session import MasterSession

__all__ = ["Answer", "ClientRun", "MasterProgram", "ProgramStep", "passed_on", "read"]

_log = logging.getLogger("actorsession.cluster")

ClientRun: TypeAlias = "ServedRun | LocalRun"
"""A run that a client has requested, over a link or in this process."""

Parts: TypeAlias = "Sequence[WireValues | Sequence[Any] | None]"
Answer: TypeAlias = "Callable[[Parts, Iterable[tuple[int, int]]], Any]"
"""Makes the answer to a run of what its parts have returned, and of the places of the fetches in that."""


def passed_on(parts: Parts, fetches: Iterable[tuple[int, int]]) -> WireValues:
    """Return the answer to a client at the other end of a link: values of other tasks as they came.

    Raises:
        InvalidArgumentError: for a value that cannot be encoded.
    """
    out = WireValues([])
    for number, at in fetches:
        found = parts[number]
        if isinstance(found, WireValues):
            found.pass_on(at, out)
        else:
            assert found is not None  # every part has returned
            write_value(found[at], out.items, out.segments)
    return out


def read(parts: Parts, fetches: Iterable[tuple[int, int]]) -> LocalValues:
    """Return the answer to a client in this process."""
    out = []
    for number, at in fetches:
        found = parts[number]
        assert found is not None  # every part has returned
        out.append(found.read(at) if isinstance(found, WireValues) else found[at])
    return LocalValues(out)


class MasterProgram:
    """The step program of one signature.

    Args:
        session: the session.
        signature: its names, in the order in which runs bring and get values.
        answer: makes the values that a run gets of what its parts have returned.
    """

    def __init__(self, session: MasterSession, signature: RunSignature, answer: Answer) -> None:
        self.session = session
        self.signature = signature
        self.answer = answer
        self.graph: ClientGraph | None = None
        self.parts: tuple[BoundPart, ...] = ()
        # For each fetch of the signature, the part that returns it and its position there.
        self.fetches: tuple[tuple[int, int], ...] = ()

    def bind(self) -> ClientGraph | None:
        """Bind and return the client graph of the signature, if the session has one that programs may run."""
        session = self.session
        self.graph = None
        graph = session.plain_graph(self.signature)
        if graph is None:
            return None
        place = {name: at for at, name in enumerate(self.signature.feeds)}
        parts = bind_parts(session, graph, [place[name] for name in graph.signature.feeds])
        if parts is None:
            return None
        returned: dict[str, tuple[int, int]] = {}
        for number, bound in enumerate(parts):
            for at, position in enumerate(bound.part.fetches):
                returned[graph.signature.fetches[position]] = number, at
        self.parts = parts
        self.fetches = tuple([returned[name] for name in self.signature.fetches])
        self.graph = graph
        return graph

    def begin(self, run: ClientRun) -> None:
        """Run a step; see ``StepProgram.begin``."""
        session, graph = self.session, self.graph
        expected = len(self.signature.feeds)
        if len(run.values) != expected:
            raise InvalidArgumentError(
                f"a run of {self.signature} brings {expected} values, got {len(run.values)}"
            )
        if graph is None or graph.dropped:
            graph = self.bind()
        if graph is None or not session.is_plain:
            run.gone()  # the client requests the run by a message
            return
        nbytes = 0 if graph.may_wait else graph.nbytes + run.values.nbytes
        seconds = session.step_seconds(run.seconds)
        if session.admission.enter_nowait(nbytes):
            ProgramStep(self, graph, run, nbytes, seconds).begin()
        else:
            waiting = session.start(self._wait(run, nbytes, seconds), "a step waits its turn")
            waiting.add_done_callback(partial(_answer_cancelled, run))
            run.on_cancel = partial(_cancel, waiting)

    async def _wait(self, run: ClientRun, nbytes: int, seconds: float) -> None:
        """Run a step when it is its turn; its values stay as they came until then."""
        session = self.session
        deadline = Deadline.after(seconds, whose=session.whose_limit(run.seconds))
        try:
            await session.admission.enter(deadline, nbytes)
        except OpError as error:
            run.fail(error)
            return
        graph = self.graph
        if graph is None or graph.dropped or not session.is_plain:
            session.admission.leave(nbytes)
            run.gone()
            return
        ProgramStep(self, graph, run, nbytes, deadline.time_left or 0.0).begin()


def _cancel(waiting: asyncio.Task[None]) -> None:
    waiting.cancel()


def _answer_cancelled(run: ClientRun, waiting: asyncio.Task[None]) -> None:
    """Answer a run whose wait was cancelled by the end of the session, not by its client, or has failed."""
    if waiting.cancelled():
        run.fail(AbortedError("the session was closed while the step waited its turn"))
    elif (error := waiting.exception()) is not None:
        run.fail(from_exception(error))


class ProgramStep(StepParts):
    """One step of a program.

    Args:
        program: the program.
        graph: the client graph, which is bound.
        run: the run of the client.
        nbytes: the bytes for which it was admitted.
        seconds: how long it may take from now on.

    Attributes:
        since: when it began, by the monotonic clock.
    """

    __slots__ = ("_alarm", "_nbytes", "_over", "_program", "_run", "_seconds", "since")

    def __init__(
        self,
        program: MasterProgram,
        graph: ClientGraph,
        run: ClientRun,
        nbytes: int,
        seconds: float,
    ) -> None:
        # What the base class does, without a call.
        parts = program.parts
        self.step_id = next(STEP_IDS)
        self._session = program.session
        self._graph = graph
        self._parts = parts
        self._answers = [None] * len(parts)
        self._left = len(parts)
        self._pushed = 0
        self._errors = []
        self.since = time.monotonic()
        self._program = program
        self._run = run
        self._nbytes = nbytes
        self._seconds = seconds
        self._alarm: Alarm | None = None
        self._over = False

    def begin(self) -> None:
        """Begin all parts, that of the master's own task first, so that its values are pushed before."""
        session, run = self._program.session, self._run
        session.began(self, self._graph)
        run.on_cancel = self._cancelled
        try:
            self.begin_here(run.values)
            if self._left and not self._over:
                self._alarm = session.wheel.add(self._seconds, self._expired)
                self.begin_there(run.values)
        except Exception as exc:  # else the run would keep its place, and its client would wait
            self.fail(from_exception(exc))

    def _succeed(self) -> None:
        if self._over:
            return
        program, here = self._program, self._graph.here
        if here is not None and type(self._run) is ServedRun:
            values = self._answers[here]
            if not isinstance(values, WireValues) and encode_apart(values or (), self._encoded):
                return
        try:
            out = program.answer(self._answers, program.fetches)
        except Exception as exc:  # a value that cannot be encoded
            self.fail(self._unsent(from_exception(exc)))
            return
        self._end()
        self._graph.nbytes = out.nbytes + self._pushed
        self._run.done(out)

    def _encoded(self, values: Sequence[Any]) -> None:
        """Go on with the values of the part of this task, which a thread has encoded."""
        assert self._graph.here is not None
        self._answers[self._graph.here] = values
        try:
            self._succeed()
        except Exception as exc:  # else its client would wait
            self.fail(from_exception(exc))

    def _unsent(self, error: OpError) -> OpError:
        """Return the error of values that cannot be sent to the client; others came encoded."""
        here = self._graph.here
        values = None if here is None else self._answers[here]
        if here is None or values is None:
            return error
        assert not isinstance(values, WireValues)  # it is the part of this task
        partitions = self._parts[here].part.partitions
        return unsent_fetch(partitions, range(len(values)), values, error)

    def _expired(self) -> None:
        whose = self._program.session.whose_limit(self._run.seconds)
        self.fail(step_too_late(self.step_id, whose, self.unfinished))

    def _cancelled(self) -> None:
        self.fail(CancelledError("the step was cancelled"))

    def fail(self, error: OpError) -> None:
        """End the step with an error, on all tasks; do nothing if it has ended."""
        if self._over:
            return
        try:
            self._end()
            self.abort_parts(error)
        finally:
            self._run.fail(error)

    def _end(self) -> None:
        self._over = True
        session = self._program.session
        try:
            if self._alarm is not None:
                session.wheel.discard(self._alarm)
            session.ended(self, self._graph, self._nbytes)
        except Exception:  # the client gets its answer all the same
            _log.exception("step %d: its end is not recorded", self.step_id)
