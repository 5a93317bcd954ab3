"""The client's side of debugged runs over a master: it begins them, and takes and publishes what was watched.

The debugger state, the store of ``memory://`` and the functions of ``sink://`` belong to this process. The
workers write ``file://`` URLs themselves and keep all other values until the step has ended, or between the
calls of a partial run; then they are taken, in the order in which they were watched. Owned by a remote
session.

Invariant: every run that has begun is ended, with a report, also if the master is lost.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from actorsession.actors.deadline import Deadline
from actorsession.config import DebugOptions, RunOptions
from actorsession.errors import CancelledError, OpError, ProtocolError, from_exception
from actorsession.graph.node import GraphDef
from actorsession.messages.session import StepValues, TakeStepValues
from actorsession.plan.signature import RunSignature
from actorsession.records import dataclass
from actorsession.runtime.debug.debugger import DebugPlan, DebugRun, SessionDebugger
from actorsession.runtime.debug.dump import DumpStore
from actorsession.runtime.debug.task_debugger import dump_from_wire
from actorsession.session.value_delivery import ValueDelivery

if TYPE_CHECKING:
    from actorsession.session.remote.remote_steps import RemoteSteps
    from actorsession.session.remote.session_connection import SessionConnection

__all__ = ["RemoteDebugger", "run_now"]

# Seconds for the master to take some MiB of values from the tasks, which it gives 2 s.
_TAKE = 5.0

T = TypeVar("T")


@dataclass(slots=True)
class _Run:
    """A debugged run.

    Attributes:
        debug: the run.
        calls_user: whether values go to functions or states of the program.
        counts: the counters of each task, as far as they are known, with its last failure.
        lost: tasks whose values did not arrive, with the reasons.
    """

    debug: DebugRun[DebugPlan]
    calls_user: bool
    counts: dict[str, tuple[list[int], str]] = field(default_factory=dict)
    lost: dict[str, str] = field(default_factory=dict)
    _first: bool = True

    def receive(self, received: StepValues) -> None:
        """Publish what the tasks returned.

        Raises:
            OpError: the error of a sink or state, if the run has ``raise_sink_errors``.
            ProtocolError: for a malformed answer.
        """
        debug = self.debug
        if received.tasks or received.lost:
            debug.plan.not_run, debug.plan.refused = tuple(received.not_run), tuple(received.refused)
        if self._first:
            self._first = False
            if not debug.run.executor_step_index:
                debug.log_refused()
        self.lost.update(received.lost)
        values = []
        for task, (graphs, dumps, counts, last_failure, _) in received.tasks.items():
            if counts:  # else the step has not begun there
                self.counts[task] = (counts, last_failure)
            for device, graph in graphs:
                debug.publish_graph(GraphDef.from_wire(graph), device)
            values += [dump_from_wire(value, debug.run) for value in dumps]
        for dump, urls in sorted(values, key=lambda value: value[0].timestamp):
            try:
                debug.publish(dump, urls)
            except OpError as error:
                raise error.locate(node=dump.node_name, device=dump.device_name) from error

    def end(self, error: OpError | None) -> None:
        """End the run, and keep its report."""
        for counts, last_failure in self.counts.values():
            self.debug.tally.add(counts, last_failure)
        self.counts.clear()
        self.debug.lost = tuple([f"{task}: {reason}" for task, reason in self.lost.items()])
        self.debug.end(error)


class RemoteDebugger:
    """The debugged runs of one remote session.

    Args:
        connection: of the session.
        steps: its steps.
    """

    def __init__(self, connection: SessionConnection, steps: RemoteSteps) -> None:
        self._connection = connection
        self._steps = steps
        self._runs: SessionDebugger[DebugPlan] = SessionDebugger(
            lambda signature, options, is_partial: DebugPlan(signature), writes_files=False
        )
        self._partial_runs: dict[str, _Run] = {}

    @property
    def store(self) -> DumpStore:
        """The results of debugged runs."""
        return self._runs.store

    async def _begin(self, signature: RunSignature, options: DebugOptions, *, is_partial: bool) -> _Run:
        """Begin a run; the master checks the options of a new plan before."""
        if not self._runs.has_plan(signature, options, is_partial=is_partial):
            asked = RunOptions(debug_options=options.of_plan)
            await self._steps.prepare(signature, asked, partial=is_partial)
        debug = self._runs.new_run(signature, options, is_partial=is_partial)
        urls = [url for watch in options.debug_tensor_watch_opts for url in watch.debug_urls]
        run = _Run(debug, debug.run.all_values or any(url.startswith("sink://") for url in urls))
        try:
            await self._call(run, debug.begin)
        except asyncio.CancelledError:
            run.end(_cancelled())
            raise
        return run

    async def _call(self, run: _Run, work: Callable[[], None]) -> None:
        """Do something that may call code of the program, which then has a thread of the session."""
        if not run.calls_user or self._connection.closed:
            work()
        else:
            await self._steps.offload(work)

    async def _end(self, run: _Run, error: OpError | None) -> None:
        """End a run, also while the session closes; a caller that is cancelled leaves it to the thread."""
        try:
            await self._call(run, partial(run.end, error))
        except CancelledError:
            run.end(error)

    # -- runs ----------------------------------------------------------------------------------

    async def run(
        self,
        signature: RunSignature,
        options: DebugOptions,
        delivery: ValueDelivery | None,
        step: Callable[[str, list[Any], ValueDelivery], Awaitable[T]],
    ) -> T:
        """Run a debugged step, and publish what was watched before its values are returned.

        Args:
            signature: of the run.
            options: its debug options.
            delivery: see ``SessionInterface.run``.
            step: requests the step, given the id of the request, the run in wire form and the delivery.

        Raises:
            InvalidArgumentError: for options that name what does not exist.
            OpError: the error of the step; that of a sink, if the options have ``raise_sink_errors``.
        """
        run = await self._begin(signature, options, is_partial=False)
        request_id = self._connection.request_id()
        # Confirmed when all is published: a caller that is cancelled before has not received the values.
        held = delivery or ValueDelivery(run_now)
        received = False
        try:
            answer = await step(request_id, run.debug.run.to_wire(), held)
            await self._take(run, request_id, last=True)
            await self._end(run, None)
            received = True
        except OpError as error:
            await self._finish(run, request_id, error)
            raise
        except BaseException:
            self._finish_later(run, request_id, _cancelled())
            raise
        finally:
            if delivery is None:
                held.end(received=received)
        return answer

    def _finish_later(self, run: _Run, key: str, error: OpError) -> None:
        """Do ``_finish`` beside the caller, who is being cancelled."""
        if self._connection.closed:
            run.end(error)
        else:
            self._connection.start(self._finish(run, key, error), f"take the watched values of {key}")

    async def _finish(self, run: _Run, key: str, error: OpError) -> None:
        """Take what a run that has failed has left, and end it."""
        try:
            await self._take(run, key, last=True)
        except OpError:  # of a sink; the first error counts
            pass
        finally:
            await self._end(run, error)

    async def _take(self, run: _Run, key: str, *, last: bool) -> bool:
        """Publish what the tasks have left; return whether the step or partial run is over.

        Raises:
            OpError: the error of a sink or state, if the run has ``raise_sink_errors``.
        """
        connection = self._connection
        message = TakeStepValues(session_handle=connection.handle, run=key, last=last)
        while True:
            try:
                values = await connection.ask(message, Deadline.after(_TAKE), StepValues)
            except OpError as error:
                run.lost[connection.target] = error.message
                return True
            try:
                await self._call(run, partial(run.receive, values))
            except (ProtocolError, TypeError, ValueError) as error:
                run.lost[connection.target] = f"malformed values: {error}"
                return True
            if not any(more for *_, more in values.tasks.values()):
                return values.over

    # -- partial runs --------------------------------------------------------------------------

    async def open(
        self, signature: RunSignature, options: DebugOptions, setup: Callable[[list[Any]], Awaitable[str]]
    ) -> str:
        """Set up a debugged partial run, and return its handle.

        Args:
            signature: of the run.
            options: its debug options.
            setup: requests the setup, given the run in wire form.
        """
        run = await self._begin(signature, options, is_partial=True)
        try:
            handle = await setup(run.debug.run.to_wire())
        except BaseException as exc:
            run.end(from_exception(exc) if isinstance(exc, Exception) else _cancelled())
            raise
        self._partial_runs[handle] = run
        return handle

    def is_debugged(self, handle: str) -> bool:
        """Return whether a partial run is debugged and has not ended."""
        return handle in self._partial_runs

    async def called(self, handle: str, error: OpError | None) -> None:
        """Publish what was watched in a partial run so far, after a call of it.

        Args:
            handle: the run.
            error: the error of the call.

        Raises:
            OpError: the error of a sink or state, if the run has ``raise_sink_errors``.
        """
        run = self._partial_runs[handle]
        over = await self._take(run, handle, last=False)
        if over and handle in self._partial_runs:
            del self._partial_runs[handle]
            await self._end(run, error)

    async def aborted(self, handle: str, error: OpError) -> None:
        """Publish what a partial run has left that its client has aborted, and end it."""
        run = self._partial_runs.pop(handle, None)
        if run is not None:
            await self._finish(run, handle, error)

    def close(self, error: OpError) -> None:
        """End the partial runs that are open."""
        runs, self._partial_runs = self._partial_runs, {}
        for run in runs.values():
            run.end(error)


def _cancelled() -> CancelledError:
    return CancelledError("the run was cancelled by its caller")


def run_now(callback: Callable[[], object]) -> None:
    """Run a callback of a ``ValueDelivery`` in the calling thread, which is that of the session."""
    callback()
