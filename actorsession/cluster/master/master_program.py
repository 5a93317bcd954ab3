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
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias

from actorsession.actors.deadline import Deadline
from actorsession.actors.timer_wheel import Alarm
from actorsession.cluster.master.client_graph import ClientGraph, TaskPart
from actorsession.cluster.master.master_step import STEP_IDS, clean_up, part_error, step_too_late
from actorsession.cluster.worker.worker_session import BeginPart
from actorsession.errors import (
    AbortedError,
    CancelledError,
    InvalidArgumentError,
    OpError,
    ProtocolError,
    first_error,
)
from actorsession.messages.step_frames import WireValues
from actorsession.messages.worker import GraphDone, RunGraph
from actorsession.plan.signature import RunSignature
from actorsession.records import dataclass
from actorsession.rpc.local_calls import LocalRun, LocalValues
from actorsession.rpc.step_calls import ServedRun, StepCalls

if TYPE_CHECKING:
    from actorsession.cluster.master.master_session import MasterSession

__all__ = ["Answer", "ClientRun", "MasterProgram", "ProgramStep", "passed_on", "read"]

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
            out.add(found[at])
    return out


def read(parts: Parts, fetches: Iterable[tuple[int, int]]) -> LocalValues:
    """Return the answer to a client in this process."""
    out = []
    for number, at in fetches:
        found = parts[number]
        assert found is not None  # every part has returned
        out.append(found.read(at) if isinstance(found, WireValues) else found[at])
    return LocalValues(out)


@dataclass(frozen=True, slots=True)
class _BoundPart:
    """A part of a client graph, as a program runs it.

    Attributes:
        part: the part.
        feeds: for each feed of the task, its position among the values of a frame.
        steps: the step frames of the link to the task; ``None`` for the master's own.
        begin: begins the part of the master's own task; ``None`` for others.
    """

    part: TaskPart
    feeds: tuple[int, ...]
    steps: StepCalls | None
    begin: BeginPart | None


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
        self.parts: tuple[_BoundPart, ...] = ()
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
        feeds = [place[name] for name in graph.signature.feeds]
        bound = []
        returned: dict[str, tuple[int, int]] = {}
        for number, part in enumerate(graph.parts):
            steps = begin = None
            if number == graph.here:
                begin = session.bind_part(part.task)
            else:
                steps = session.step_calls(part.task)
                if steps is None or not part.program:
                    return None
            bound.append(_BoundPart(part, tuple([feeds[at] for at in part.feeds]), steps, begin))
            for at, position in enumerate(part.fetches):
                returned[graph.signature.fetches[position]] = number, at
        self.parts = tuple(bound)
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
    """Answer a run whose wait was cancelled by the end of the session, not by its client."""
    if waiting.cancelled():
        run.fail(AbortedError("the session was closed while the step waited its turn"))


class ProgramStep:
    """One step of a program.

    Args:
        program: the program.
        graph: the client graph, which is bound.
        run: the run of the client.
        nbytes: the bytes for which it was admitted.
        seconds: how long it may take from now on.

    Attributes:
        step_id: its number.
        since: when it began, by the monotonic clock.
    """

    __slots__ = (
        "_alarm", "_answers", "_errors", "_graph", "_left", "_nbytes", "_over", "_program", "_pushed",
        "_run", "_seconds", "since", "step_id",
    )  # fmt: skip

    def __init__(
        self,
        program: MasterProgram,
        graph: ClientGraph,
        run: ClientRun,
        nbytes: int,
        seconds: float,
    ) -> None:
        self.step_id = next(STEP_IDS)
        self.since = time.monotonic()
        self._program = program
        self._graph = graph
        self._run = run
        self._nbytes = nbytes
        self._seconds = seconds
        self._answers: list[WireValues | Sequence[Any] | None] = [None] * len(program.parts)
        self._left = len(program.parts)
        self._pushed = 0
        self._errors: list[tuple[int, OpError]] = []
        self._alarm: Alarm | None = None
        self._over = False

    @property
    def unfinished(self) -> tuple[str, ...]:
        """The tasks whose partitions have not ended."""
        failed = {number for number, _ in self._errors}
        parts = enumerate(self._program.parts)
        return tuple(
            [
                bound.part.task
                for number, bound in parts
                if self._answers[number] is None and number not in failed
            ]
        )

    def begin(self) -> None:
        """Begin all parts, that of the master's own task first, so that its values are pushed before."""
        program = self._program
        program.session.began(self, self._graph)
        self._run.on_cancel = self._cancelled
        here = self._graph.here
        if here is not None:
            self._begin_here(here, program.parts[here])
        if self._left and not self._over:
            self._alarm = program.session.wheel.add(self._seconds, self._expired)
            for number, bound in enumerate(program.parts):
                if bound.steps is not None and not self._errors:
                    self._begin_there(number, bound, bound.steps)

    def _begin_here(self, number: int, bound: _BoundPart) -> None:
        values = self._run.values
        assert bound.begin is not None  # it is the part of this task
        try:
            message = RunGraph(
                session_handle=self._program.session.handle, graph_handle=bound.part.graph_handle,
                step_id=self.step_id, feeds=[values.read(at) for at in bound.feeds], trace=False,
            )  # fmt: skip
            answer = bound.begin(message, self)
        except OpError as error:
            self.part_failed(error)
            return
        if answer is not None:
            self.part_done(answer)

    def _begin_there(self, number: int, bound: _BoundPart, steps: StepCalls) -> None:
        values = WireValues([])
        waiter = _RemotePart(self, number, len(bound.part.fetches))
        try:
            for at in bound.feeds:
                self._run.values.pass_on(at, values)
            steps.run(self.step_id, bound.part.program, None, values, waiter)
        except OpError as error:
            self.failed(number, error)

    # -- what the parts report -----------------------------------------------------------------

    def part_done(self, answer: GraphDone) -> None:
        """Take what the part of this task has returned; see ``PartWaiter.part_done``."""
        assert self._graph.here is not None
        self.done(self._graph.here, answer.values, answer.pushed)

    def part_failed(self, error: OpError) -> None:
        """Take the error of the part of this task; see ``PartWaiter.part_failed``."""
        assert self._graph.here is not None
        self.failed(self._graph.here, error)

    def done(self, number: int, values: WireValues | Sequence[Any], pushed: int) -> None:
        """Take what a part has returned; with the last one the step has ended."""
        if self._over:
            return
        self._answers[number] = values
        self._pushed += pushed
        self._left -= 1
        if not self._left and not self._errors:
            self._succeed()

    def failed(self, number: int, error: OpError) -> None:
        """Take the error of a part; the step ends when others that arrive at the same time are here, too."""
        if self._over:
            return
        self._errors.append((number, error))
        if len(self._errors) == 1:
            asyncio.get_running_loop().call_soon(self._fail_with_first)

    def _succeed(self) -> None:
        program = self._program
        try:
            out = program.answer(self._answers, program.fetches)
        except OpError as error:  # a value that cannot be encoded
            self.fail(error)
            return
        self._end()
        self._graph.nbytes = out.nbytes + self._pushed
        self._run.done(out)

    # -- how it ends otherwise -----------------------------------------------------------------

    def _fail_with_first(self) -> None:
        if self._over:
            return
        parts = self._program.parts
        found = [part_error(e, parts[n].part, self.step_id) for n, e in self._errors]
        error = first_error(found)
        assert error is not None
        self.fail(error)

    def _expired(self) -> None:
        whose = self._program.session.whose_limit(self._run.seconds)
        self.fail(step_too_late(self.step_id, whose, self.unfinished))

    def _cancelled(self) -> None:
        self.fail(CancelledError("the step was cancelled"))

    def fail(self, error: OpError) -> None:
        """End the step with an error, on all tasks; do nothing if it has ended."""
        if self._over:
            return
        self._end()
        program = self._program
        for bound in program.parts:
            if bound.steps is not None:
                bound.steps.cancel(self.step_id)
        clean_up(program.session.workers, [b.part for b in program.parts], self.step_id, error)
        self._run.fail(error)

    def _end(self) -> None:
        self._over = True
        session = self._program.session
        if self._alarm is not None:
            session.wheel.discard(self._alarm)
        session.ended(self, self._graph, self._nbytes)


class _RemotePart:
    """Waits for the part of a step at another task."""

    __slots__ = ("_fetches", "_number", "_step")

    def __init__(self, step: ProgramStep, number: int, fetches: int) -> None:
        self._step = step
        self._number = number
        self._fetches = fetches

    def done(self, values: WireValues, extra: Any) -> None:
        """See ``RunWaiter.done``."""
        if len(values) != self._fetches or not (
            extra is None or (type(extra) is int and extra >= 0)
        ):
            raise ProtocolError(
                f"a part with {self._fetches} fetches was answered by {len(values)} values and "
                f"{extra!r:.100}"
            )
        self._step.done(self._number, values, extra or 0)

    def failed(self, error: OpError) -> None:
        """See ``RunWaiter.failed``."""
        self._step.failed(self._number, error)

    def gone(self) -> None:
        """See ``RunWaiter.gone``."""
        self.failed(AbortedError("its graph is not registered: the worker has probably restarted"))
