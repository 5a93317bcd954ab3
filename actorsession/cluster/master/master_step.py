"""The plan of runs at a master, and one step of it, which answers one run of a client.

Owned by a ``SessionSteps``; imports the base of plans and the parts of a step.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from actorsession.actors.context import CallContext
from actorsession.actors.deadline import NEVER, Deadline
from actorsession.actors.timer_wheel import Alarm
from actorsession.cluster.master.client_graph import ClientGraph
from actorsession.cluster.master.program import Program
from actorsession.cluster.master.step_parts import BoundPart, StepParts, step_too_late
from actorsession.cluster.unsent import unsent_fetch
from actorsession.config import RunOptions
from actorsession.errors import CancelledError, OpError, from_exception
from actorsession.messages.step_frames import GraphRequest, StepRequest, WireValues
from actorsession.messages.worker import AskWhy, WorkerWhy
from actorsession.plan.signature import RunSignature
from actorsession.rpc.local_calls import ClientRun
from actorsession.rpc.step_calls import ServedRun, encode_apart
from actorsession.runtime.wait_graph import TaskWaits
from actorsession.spans import TaskSpan, begin_task

if TYPE_CHECKING:
    from actorsession.cluster.master.step_observer import Observation

__all__ = ["MasterProgram", "MasterStep"]

_log = logging.getLogger("actorsession.cluster")
# Steps of the session that are looked through for the collectives of one, and those that an error names.
_MOST, _NAMED = 50, 2
_GIVEN_UP = CancelledError("the step was given up by its caller while the answer was on its way")
_NO_OPTIONS = RunOptions()


class MasterStep(StepParts):
    """One step of a program.

    Args:
        program: the program.
        graph: the client graph, which is bound.
        run: the run of the client.
        nbytes: the bytes for which it was admitted.
        seconds: how long it may take from now on.

    Attributes:
        since: when it began, by the monotonic clock.
        trace_id: the trace of OpenTelemetry that it belongs to; "" for none.
    """

    __slots__ = (
        "_alarm",
        "_nbytes",
        "_observed",
        "_options",
        "_over",
        "_program",
        "_run",
        "_seconds",
        "_span",
        "since",
        "trace_id",
    )
    _asked: GraphRequest | None
    _observed: Observation | None
    _span: TaskSpan

    def __init__(self, program: MasterProgram, graph: ClientGraph, run: ClientRun, nbytes: int, seconds: float) -> None:
        # What the base class does, without a call.
        parts, session = program.parts, program.session
        self._asked = self._observed = None
        self._stats = []
        self.handed_out = set()
        self._options = _NO_OPTIONS
        self.step_id = next(session.step_ids)
        self._session = session
        self._graph = graph
        self._parts = parts
        self._answers = [None] * len(parts)
        self._left = len(parts)
        self._pushed = 0
        self._errors = []
        self.since = session.now()
        self.trace_id = ""
        self._program = program
        self._run = run
        self._nbytes = nbytes
        self._seconds = seconds
        self._alarm: Alarm | None = None
        self._over = False

    @property
    def signature(self) -> RunSignature:
        """The names of the run."""
        return self._graph.signature

    def begin(self) -> None:
        """Begin all parts, that of the master's own task first, so that its values are pushed before."""
        session, run = self._program.session, self._run
        if run.asked is not None or session.observer.is_active:
            self._ask(run.asked)
        session.began(self, self._graph)
        run.on_cancel = self._cancelled
        try:
            self.begin_here(run.values)
            if self._left and not self._over:
                self._alarm = session.wheel.add(self._seconds, self._expired)
                self.begin_there(run.values)
        except Exception as exc:  # else the run would keep its place, and its client would wait
            self.fail(from_exception(exc))

    def _ask(self, asked: StepRequest | None) -> None:
        """Ask the workers for what the client, or the session itself, wants beside the values.

        Raises:
            InvalidArgumentError: for malformed options.
        """
        session, graph = self._program.session, self._graph
        if asked is not None and asked.options:
            self._options = RunOptions.from_wire(asked.options)
        if graph.survey is None:
            self._observed = session.observer.begin(graph, self._options)
        debug_run = None if asked is None else asked.debug_run
        trace, parent = self._options.traced or self._observed is not None, self._options.experimental.trace_parent
        self.trace_id = parent[3:35]  # of version, trace, span and flags
        if parent:
            parent = self._begin_span(parent, 0.0 if asked is None else asked.arrived)
        if trace or debug_run is not None or parent:
            self._asked = GraphRequest(trace, debug_run, parent)
        if graph.survey is not None and asked is not None:
            session.debug_runs.add(asked.key, self.step_id, graph, partial(session.is_over, self.step_id))

    def _begin_span(self, parent: str, arrived: float) -> str:
        """Make the step a span below that of its client; return the text of the span."""
        session = self._program.session
        attributes = {
            "actorsession.task": session.clocks.task,
            "actorsession.session": session.handle,
            "actorsession.step_id": self.step_id,
        }
        self._span = begin_task("actorsession.step", parent, arrived, attributes)
        self.__class__ = SpannedStep
        return self._span.parent

    def _succeed(self) -> None:
        if self._over:
            return
        program, graph, run = self._program, self._graph, self._run
        here = graph.here
        if here is not None and type(run) is ServedRun:
            values = self._answers[here]
            if not isinstance(values, WireValues) and encode_apart(values or (), self._encoded):
                return
        extra = settle = None
        try:
            out = run.fetched(self._answers, program.fetches)
            if run.asked is not None or graph.takes or self._observed is not None:
                stats = None
                if self._options.traced or self._observed is not None:
                    stats = program.session.merged_stats(self, self._stats, run.asked)
                metadata = program.session.metadata(graph, stats, self._options, self._observed)
                settle = program.session.deliveries.add(self._settle) if graph.takes else None
                extra = run.extra(metadata, graph.takes)
        except Exception as exc:  # a value that cannot be encoded
            if settle is not None:
                settle(False)
            self.fail(self._unsent(from_exception(exc)))
            return
        self._end()
        graph.nbytes = out.nbytes + self._pushed
        run.done(out, extra, settle)
        if program.session.observer.is_active:
            program.session.plans.review(graph)

    def _settle(self, received: bool) -> None:
        self.settle(None if received else _GIVEN_UP, ran=True)

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
        words = self._waiting_collectives() if self._graph.meets else ""
        self.fail(step_too_late(self.step_id, whose, self.unfinished, words))

    def _waiting_collectives(self) -> str:
        """Return the text on the collectives of the master's own task, whose worker answers at once."""
        session, graph = self._program.session, self._graph
        if graph.here is None:
            return ""
        message = AskWhy(session_handle=session.handle, most=_MOST, steps=[], keys=[])
        try:
            worker = session.workers[graph.parts[graph.here].task]
            answer = worker.submit(message, CallContext(NEVER))
        except OpError:  # the worker is stopping; the step has an error of its own
            return ""
        if not isinstance(answer, WorkerWhy):
            return ""
        steps = TaskWaits.from_wire(answer.waits).steps
        waits = [str(c) for s in steps if s.step_id == self.step_id for c in s.collectives]
        return "; ".join(["", *waits[:_NAMED]])

    def _cancelled(self) -> None:
        self.fail(CancelledError("the step was cancelled"))

    def fail(self, error: OpError) -> None:
        """End the step with an error, on all tasks; do nothing if it has ended."""
        if self._over:
            return
        try:
            self._end(error)
            self.abort_parts(error)
        finally:
            self._run.fail(error)

    def _end(self, error: OpError | None = None) -> None:
        self._over = True
        session = self._program.session
        try:
            if self._alarm is not None:
                session.wheel.discard(self._alarm)
            session.ended(self, self._graph, self._nbytes, error)
        except Exception:  # the client gets its answer all the same
            _log.exception("step %d: its end is not recorded", self.step_id)


class SpannedStep(MasterStep):
    """A step that is a span of OpenTelemetry; what it has more, other steps have no calls for."""

    __slots__ = ()
    _span: TaskSpan

    def _end(self, error: OpError | None = None) -> None:
        super()._end(error)
        self._span.end(error)


class MasterProgram(Program):
    """The plan of runs.

    Attributes:
        fetches: for each fetch of the signature, the part that returns it and its position there.
    """

    fetches: tuple[tuple[int, int], ...] = ()

    def _feeds(self, graph: ClientGraph) -> list[int]:
        place = {name: at for at, name in enumerate(self.signature.feeds)}
        return [place[name] for name in graph.signature.feeds]

    def _bound(self, graph: ClientGraph, parts: tuple[BoundPart, ...]) -> None:
        returned: dict[str, tuple[int, int]] = {}
        for number, bound in enumerate(parts):
            for at, position in enumerate(bound.part.fetches):
                returned[graph.signature.fetches[position]] = number, at
        self.fetches = tuple([returned[name] for name in self.signature.fetches])

    def begin(self, run: ClientRun) -> None:
        """Run a step; see ``StepProgram.begin``."""
        session, graph = self.session, self.graph
        members = session.plans.membership
        compares = False
        if run.asked is not None or self._is_debugged or len(run.values) != self._count:
            self._check(run, self._count)
            compares = graph is not None and bool(self._unread_clocks(graph, run))
        if graph is None:
            graph = self.bind()
        if graph is None or compares or session.over is not None or members.view.version != members.version:
            self.begin_later(run)
            return
        nbytes = 0 if graph.may_wait else graph.nbytes + run.values.nbytes
        if not session.admission.enter_nowait(nbytes):
            self.begin_later(run)
            return
        seconds = session.limit if run.seconds is None and run.asked is None else session.seconds_of(run)
        MasterStep(self, graph, run, nbytes, seconds).begin()

    def _unread_clocks(self, graph: ClientGraph, run: ClientRun) -> list[str]:
        """Return the tasks whose clocks have to be read before a run, because it is traced."""
        if run.asked is None or not run.asked.traced:
            return []
        return self.session.clocks.unread([part.task for part in graph.parts])

    async def _begin_with(self, graph: ClientGraph, run: ClientRun, deadline: Deadline) -> bool:
        session = self.session
        if unread := self._unread_clocks(graph, run):
            await session.clocks.read(unread, session.workers)
        nbytes = 0 if graph.may_wait else graph.nbytes + run.values.nbytes
        if not session.admission.enter_nowait(nbytes):
            await session.admission.enter(deadline, nbytes)
        bound = self.graph or self.bind()
        if bound is None or session.must_prepare:
            session.admission.leave(nbytes)
            return False
        MasterStep(self, bound, run, nbytes, deadline.time_left or 0.0).begin()
        return True
