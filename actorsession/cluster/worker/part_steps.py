"""The steps of one session at one worker: those that run, are held, or have run and are not settled.

A step that has to wait is not a child of the actor: whoever waits for it is called when it ends. A hop of a
step takes a few tens of microseconds, a child alone takes ten.

``PartSteps`` is owned by a worker session, and runs graphs that are registered there. Invariant: each step
that was begun ends once, by its values or an error, and what it has taken is settled once.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_left
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Protocol, TypeAlias

from actorsession.actors.supervision import Children
from actorsession.cluster.unsent import unsent_fetch
from actorsession.cluster.worker.backpressure import StepGate
from actorsession.cluster.worker.debug_runs import TaskDebugRuns
from actorsession.cluster.worker.env import WorkerEnv
from actorsession.cluster.worker.worker_rendezvous import WorkerRendezvous
from actorsession.config import FrameStats
from actorsession.errors import AbortedError, CancelledError, InvalidArgumentError, OpError, from_exception
from actorsession.messages.step_frames import NO_VALUES, GraphRequest, WireValues, extra_to_wire
from actorsession.metrics import BOUNDS, SessionTally
from actorsession.records import dataclass
from actorsession.rpc.served_runs import ServedRun, encode_apart
from actorsession.runtime.collective.groups import GroupResolver
from actorsession.runtime.debug.task_debugger import TaskDebugPlan
from actorsession.runtime.engine.inline_run import Gate
from actorsession.runtime.engine.loaded_graph import LoadedGraph
from actorsession.runtime.engine.pooled_work import TimedWork
from actorsession.runtime.engine.step import Step
from actorsession.runtime.engine.takes import ended_from_outside
from actorsession.runtime.step_log import error_text
from actorsession.spans import TaskSpan, begin_task
from transports.host import current_host

__all__ = ["PartProgram", "PartSteps", "PartValues", "PartWaiter", "Registered", "unknown_graph"]


_new = tuple.__new__


class PartWaiter(Protocol):
    """Receives the outcome of the partitions of a step at this worker, in the same process."""

    def part_done(self, values: Sequence[Any], pushed: int, stats: list[Any] | None) -> None:
        """They have run, returned these values and pushed so many bytes; with statistics if asked for."""

    def part_failed(self, error: OpError) -> None:
        """They have failed."""


PartValues: TypeAlias = tuple[Sequence[Any], int, "list[Any] | None"]
"""What partitions have returned, how many bytes they have pushed, and their statistics in wire form."""


@dataclass(slots=True)
class Registered:
    """A graph with the number of feeds of its steps, its groups, what it sends to, what is watched, its devices."""

    graph: LoadedGraph
    feeds: int
    group_scope: str
    groups: GroupResolver
    sends_to: tuple[str, ...] = ()
    debug: TaskDebugPlan | None = None
    drop_program: Callable[[], None] | None = None
    handle: str = ""
    released: bool = False
    devices: tuple[str, ...] = ()

    def unsent(self, values: Sequence[Any], error: OpError) -> OpError:
        """Return the error of fetched values that cannot be sent, with the node of the first of them."""
        return unsent_fetch(self.graph.partitions, self.graph.fetches, values, error)


class PartProgram:
    """The step program of registered partitions, for a master at another task; see ``rpc.served_runs``."""

    __slots__ = ("_registered", "_steps")

    def __init__(self, steps: PartSteps, registered: Registered) -> None:
        self._steps = steps
        self._registered = registered

    def begin(self, run: ServedRun) -> None:
        """Run the partitions for the step whose id is the number of the run."""
        steps, registered = self._steps, self._registered
        if registered.released:
            run.gone()
            return
        waiter = _new(_RemoteWaiter, (run, registered))  # without a call
        feeds = run.values.read_all()
        answer = steps.begin(registered, run.peer, run.call, feeds, waiter, run.asked)
        if answer is None:
            run.on_cancel = partial(steps.cancel, run.call)
        else:
            waiter.part_done(*answer)


class _RemoteWaiter(NamedTuple):
    """The master of a step, at another task.

    Attributes:
        run: its run.
        registered: the graph.
    """

    run: ServedRun
    registered: Registered

    def part_done(self, values: Sequence[Any], pushed: int, stats: list[Any] | None) -> None:
        """See ``PartWaiter.part_done``."""
        if values and encode_apart(values, partial(self.part_done, pushed=pushed, stats=stats)):
            return
        try:
            wire = WireValues.of(values) if values else NO_VALUES
            extra = (pushed or None) if stats is None else extra_to_wire(pushed, stats)
        except Exception as exc:
            self.run.fail(self.registered.unsent(values, from_exception(exc)))
        else:
            self.run.done(wire, extra)

    def part_failed(self, error: OpError) -> None:
        """See ``PartWaiter.part_failed``."""
        self.run.fail(error)


class _SpanWaiter(NamedTuple):
    """Ends the span of a part with it.

    Attributes:
        waiter: waits for the part.
        span: the span.
    """

    waiter: PartWaiter
    span: TaskSpan

    def part_done(self, values: Sequence[Any], pushed: int, stats: list[Any] | None) -> None:
        """See ``PartWaiter.part_done``."""
        self.span.end()
        self.waiter.part_done(values, pushed, stats)

    def part_failed(self, error: OpError) -> None:
        """See ``PartWaiter.part_failed``."""
        self.span.end(error)
        self.waiter.part_failed(error)


class PartSteps:
    """The steps of one session at one worker.

    Args:
        env: the environment of the session.
        tally: the counters of the session.
        children: own the waiting of held steps.
        session: the handle of the session.

    Attributes:
        running: the steps that run here by their ids, in the order in which they started.
        held: the steps that backpressure of a task holds back.
        unsettled: steps that have run and taken something, until the master settles them.
        debug_runs: the debugged steps whose values were not taken yet.
        over: why the session has ended; ``None`` before.
    """

    def __init__(self, env: WorkerEnv, tally: SessionTally, children: Children, session: str = "") -> None:
        self._env = env
        self._now = current_host().clock.monotonic
        self._session = session
        self._tally = tally
        self.running: dict[int, Step] = {}
        self.held = StepGate(env.workers, children)
        self.unsettled: dict[int, Step] = {}
        self.debug_runs = TaskDebugRuns()
        self.over: OpError | None = None
        # A share of the session's own, so that sessions take turns in the pool.
        self._pool = None if env.pool is None else env.pool.share()
        self._gate = Gate()  # never closed: inline steps run on the loop that would close it

    def begin(
        self,
        registered: Registered,
        peer: str,
        step_id: int,
        feeds: Sequence[Any],
        waiter: PartWaiter,
        asked: GraphRequest | None = None,
    ) -> PartValues | None:
        """Run partitions for one step of a peer; return their values or call the waiter with them later.

        Whatever can run without waiting has run when this returns. While a link that the step sends over is
        backlogged, the step is held.
        """
        if asked is not None and asked.trace_parent:
            return self._begin_in_span(registered, peer, step_id, feeds, waiter, asked)
        if self._env.log.enabled:
            self._env.log.note(step_id, "RunGraph", peer, feeds)
        if self.over is not None or registered.released or len(feeds) != registered.feeds:
            raise self._refusal(registered, feeds)
        if registered.sends_to:
            # Mostly none is held and no link has a backlog, which takes no more calls than this.
            held, is_backlogged = self.held, self._env.workers.is_backlogged
            waits = held.by_link or any(map(is_backlogged, registered.sends_to))
            link = held.blocked(registered.sends_to) if waits else None
            if link is not None:
                if asked is not None and asked.trace:
                    asked = replace(asked, held_by=link, arrived=asked.arrived or current_host().clock.time())
                begin = partial(self._begin_held, registered, peer, step_id, feeds, waiter, asked)
                held.hold(link, step_id, begin, waiter.part_failed)
                return None
        graph, pool, env = registered.graph, self._pool, self._env
        trace, debug = asked is not None and asked.trace, None
        if registered.debug is not None:
            debug_run = None if asked is None else asked.debug_run
            debug = self.debug_runs.begin(registered.debug, step_id, debug_run)
        env.counters.runs += 1
        self._tally.runs += 1
        inline = None if trace or debug is not None else graph.inline
        log = env.step_log
        if inline is not None and (pool is None or not inline.is_expensive(feeds)):
            began, error = self._now(), ""
            try:
                values = list(inline.run(feeds, self._gate))
            except Exception as exc:
                error = error_text(exc)
                env.errors.note(exc, session=self._session, step_id=step_id)
                raise
            finally:
                now, durations = self._now(), env.counters.step_seconds
                durations.counts[bisect_left(BOUNDS, now - began)] += 1  # without a call
                durations.sum += now - began
                if log is not None:
                    log.parts.append(
                        (step_id, self._session, registered.devices, began, now, 0.0, 0.0, False, (), 0, error)
                    )
                    if len(log.parts) >= log.full:
                        log.trim()
            return values, 0, None
        rendezvous = env.rendezvous.begin(step_id, env.peers)
        step = Step(
            step_id,
            rendezvous,
            len(graph.fetches),
            partitions=len(graph.parts),
            pool=pool,
            loop=asyncio.get_running_loop(),
            trace=trace,
            debug=debug,
            groups=registered.groups,
        )
        if trace:
            assert asked is not None  # it asks for the trace
            self._trace(step, peer, asked)
        self.running[step_id] = step
        seen = rendezvous.seen
        if seen is not None:
            rendezvous.part = self._session, registered.devices, step.since
            step.pooled = TimedWork()
        step.begin(graph.parts, feeds)
        if step.done:
            return self._finish(step)
        if seen is not None:
            rendezvous.worked, rendezvous.paused = self._now() - step.since, True
        step.on_done(partial(self._report, step, waiter))
        return None

    def _begin_in_span(
        self,
        registered: Registered,
        peer: str,
        step_id: int,
        feeds: Sequence[Any],
        waiter: PartWaiter,
        asked: GraphRequest,
    ) -> PartValues | None:
        """Begin partitions as a span of OpenTelemetry; see ``begin``."""
        attributes = {"actorsession.task": self._env.task, "actorsession.step_id": step_id}
        span = begin_task("actorsession.part", asked.trace_parent, asked.arrived, attributes)
        asked = replace(asked, trace_parent="")
        try:
            answer = self.begin(registered, peer, step_id, feeds, _SpanWaiter(waiter, span), asked)
        except Exception as exc:
            span.end(exc)
            raise
        if answer is not None:
            span.end()
        return answer

    def _trace(self, step: Step, peer: str, asked: GraphRequest) -> None:
        """Have a step report what it is here, when it came, and what it waited for until now."""
        collector, rendezvous = step.collector, step.rendezvous
        assert collector is not None  # the step is traced
        assert isinstance(rendezvous, WorkerRendezvous)  # begin() has made it
        rendezvous.trace()
        collector.phase, collector.task = "part", rendezvous.task
        if asked.held_by:
            collector.add_wait("backpressure", asked.arrived, asked.held_by)
        elif asked.arrived:
            collector.began = asked.arrived
        if asked.sent:
            arrival = FrameStats("RunGraph", peer, rendezvous.task, (), asked.nbytes, asked.sent, asked.arrived)
            collector.frames.append(arrival)

    def _begin_held(
        self,
        registered: Registered,
        peer: str,
        step_id: int,
        feeds: Sequence[Any],
        waiter: PartWaiter,
        asked: GraphRequest | None,
    ) -> None:
        answer = self.begin(registered, peer, step_id, feeds, waiter, asked)
        if answer is not None:
            waiter.part_done(*answer)

    def _report(self, step: Step, waiter: PartWaiter) -> None:
        try:
            answer = self._finish(step)
        except Exception as exc:
            waiter.part_failed(from_exception(exc))
        else:
            waiter.part_done(*answer)

    def hold(self, step_id: int) -> WorkerRendezvous:
        """Return the rendezvous of a partial run, which outlasts its partitions here.

        Raises:
            OpError: why the session has ended.
        """
        if self.over is not None:
            raise self.over
        table = self._env.rendezvous
        rendezvous = table.begin(step_id, self._env.peers)
        rendezvous.holder = table
        return rendezvous

    def cancel(self, step_id: int) -> None:
        """Cancel partitions that ``begin`` has begun; their waiter is called as they end."""
        error = CancelledError(f"step {step_id} was cancelled", derived=True)
        self.held.give_up(step_id, error)
        step = self.running.get(step_id)
        if step is not None:
            step.fail(error)

    def _refusal(self, registered: Registered, feeds: Sequence[Any]) -> OpError:
        """Return why partitions cannot be run with these feeds."""
        if self.over is not None:
            return self.over
        if registered.released:
            return unknown_graph(registered.handle, self._env.task)
        return InvalidArgumentError(f"graph {registered.handle!r} is fed {registered.feeds} values, got {len(feeds)}")

    def _finish(self, step: Step) -> PartValues:
        """Return what a step that is done answers.

        Raises:
            OpError: the step's first error.
        """
        step_id = step.step_id
        self.running.pop(step_id, None)
        now, durations = self._now(), self._env.counters.step_seconds
        durations.counts[bisect_left(BOUNDS, now - step.since)] += 1  # without a call
        durations.sum += now - step.since
        if step.debug is not None:
            step.debug.end(step.error)
        rendezvous = step.rendezvous
        assert isinstance(rendezvous, WorkerRendezvous)  # begin() has made it
        seen, log, error = rendezvous.seen, self._env.step_log, step.error
        if error is not None:
            self._env.errors.note(error, session=self._session, step_id=step_id)
        if seen is not None and log is not None:
            _, devices, began = rendezvous.part
            worked = rendezvous.worked + (now - rendezvous.entered if rendezvous.entered else 0.0)
            text = "" if error is None else error_text(error)
            pooled, paused, left_out = step.pooled.seconds, rendezvous.paused, rendezvous.left_out
            log.parts.append(
                (step_id, self._session, devices, began, now, worked, pooled, paused, tuple(seen), left_out, text)
            )
            if len(log.parts) >= log.full:
                log.trim()
        self._env.rendezvous.end(step_id, step.error)
        values = step.outputs if step.error is None and step.cancelled is None else step.result()
        if step.takes:
            self.unsettled[step_id] = step
        if step.collector is None:
            return values, rendezvous.pushed, None
        step.collector.frames += getattr(rendezvous, "frames", ())
        return values, rendezvous.pushed, step.collector.finalise().to_wire()

    def give_up(self, step_id: int, error: OpError, handed_out: Collection[int] = ()) -> None:
        """End a step that runs here with an error.

        Args:
            step_id: the step; an unknown one is not an error.
            error: the error.
            handed_out: positions of the fetches of a partial run whose values the caller has.
        """
        self.held.give_up(step_id, error)
        step = self.running.get(step_id)
        if step is not None:
            step.handed_out.update(handed_out)
            step.fail(error)

    def settle(self, step_id: int, error: OpError | None, *, ran: bool, handed_out: Collection[int]) -> None:
        """Settle what a step has taken whose partitions here have run.

        Args:
            step_id: the step; it is not an error if it has taken nothing.
            error: the error with which the step has ended; ``None`` if its caller has the values.
            ran: whether the partitions of all tasks had run.
            handed_out: see ``give_up``.
        """
        step = self.unsettled.pop(step_id, None)
        if step is not None and error is not None and ended_from_outside(error):
            step.takes.roll_back(ran=ran, handed_out=handed_out)

    def close(self, error: OpError) -> None:
        """End every step with an error; none begins any more."""
        self.over = error
        self.held.close(error)
        for step in list(self.running.values()):
            step.fail(error)
        for step_id in list(self.unsettled):
            self.settle(step_id, error, ran=True, handed_out=())

    def release_pool(self) -> None:
        """Give the share of the pool back, when nothing runs any more."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)


def unknown_graph(graph_handle: str, task: str) -> OpError:
    """Return the error for a graph that is not registered at a task."""
    return AbortedError(
        f"graph handle {graph_handle!r} is not registered: the worker has probably restarted", task=task
    )
