"""One step at its master: a ``RunGraph`` to each task that has partitions of it, and one outcome.

The partitions of the master's own task are started first, by a direct call. What they push then leaves
before the ``RunGraph`` of the other tasks: the other tasks find their inputs already there and answer without
waiting. Owned by a ``MasterSession``; imports refs and messages.

Invariants: The first error that is not derived wins. The calls to the other tasks are then cancelled at once,
and every worker of the step is told to drop it; none of them is waited for. A step that succeeded needs no
such message, unless it has taken something out of a queue or the like: then ``settle`` reports what becomes
of that.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import secrets
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from actorsession.actors.context import CallContext
from actorsession.actors.deadline import NEVER, Deadline
from actorsession.actors.ref import Ref
from actorsession.cluster.master.client_graph import ClientGraph, TaskPart
from actorsession.cluster.master.step_observer import Observation
from actorsession.errors import (
    CancelledError,
    DeadlineExceededError,
    InternalError,
    OpError,
    UnavailableError,
    error_to_wire,
    first_error,
    from_exception,
)  # fmt: skip
from actorsession.graph.codec import bytes_held
from actorsession.messages.worker import AskWhy, CleanupGraph, GraphDone, RunGraph, WorkerWhy
from actorsession.plan.partition import RECV, SEND
from actorsession.plan.prune import ARG
from actorsession.runtime.wait_graph import TaskWaits

__all__ = ["STEP_IDS", "MasterStep", "clean_up", "part_error", "step_too_late"]

_log = logging.getLogger("actorsession.cluster")
# Steps of the session that are looked through for the collectives of one, and those that an error names.
_MOST, _NAMED = 50, 2
# Nodes that an error does not name, because no line of the user's program built them.
_NOT_NAMED = (ARG, SEND, RECV)
STEP_IDS = itertools.count(secrets.randbits(61))
"""The numbers of steps; they start at a random one, so that those of two masters differ."""


class MasterStep:
    """A step of one client graph.

    Args:
        graph: the client graph; it must be registered at all its workers.
        workers: the worker of each task.
        session_handle: the handle of the session.
        feeds: values in the order of the graph's signature; borrowed.
        trace: whether to collect step statistics.
        observed: why the session has the step traced although its options do not request it;
            ``None`` if it has not.
        deadline: the deadline of the step.
        debug_run: the debugged run to which it belongs, in wire form, if the graph is one of those.
    """

    __slots__ = (
        "_calls", "_collectives", "_deadline", "_debug_run", "_feeds", "_graph", "_handle", "_trace",
        "_workers", "answers", "handed_out", "observed", "since", "step_id",
    )  # fmt: skip

    def __init__(
        self,
        graph: ClientGraph,
        workers: Mapping[str, Ref],
        session_handle: str,
        feeds: Sequence[Any],
        *,
        trace: bool,
        observed: Observation | None = None,
        deadline: Deadline,
        debug_run: list[Any] | None = None,
    ) -> None:
        self.step_id = next(STEP_IDS)
        self.since = 0.0
        # Fetches of a partial run whose values the caller has received, by position.
        self.handed_out: set[int] = set()
        self.answers: list[GraphDone | None] = [None] * len(graph.parts)
        self._graph = graph
        self._workers = workers
        self._handle = session_handle
        self._feeds = feeds
        self.observed = observed
        self._trace = trace or observed is not None
        self._deadline = deadline
        self._debug_run = debug_run
        self._collectives = ""  # what they wait for, once the step is late
        self._calls: dict[asyncio.Future[Any], int] = {}  # calls under way, with their parts

    def begin(self) -> bool:
        """Start the partitions of the master's own task, if there are any.

        Returns:
            Whether these are all partitions of the step, and have ended.

        Raises:
            OpError: the error of these partitions.
        """
        here = self._graph.here
        if here is None:
            return False
        self._submit(here)
        return len(self.answers) == 1 and not self._calls

    def on_begun_ended(self, callback: Callable[[], None]) -> None:
        """Call ``callback`` when the partitions that ``begin`` has started have ended, with any outcome."""
        for call in self._calls:
            call.add_done_callback(lambda _: callback())

    @property
    def nbytes(self) -> int:
        """Bytes that a successful step fetched and sent from task to task; 0 if they are few."""
        total = 0
        for answer in self.answers:
            if answer is not None:
                total += bytes_held(answer.values) + answer.pushed
        return total

    async def run(self) -> None:
        """Run the step to its end; cancellation cancels the step on all tasks.

        Raises:
            OpError: the step's first error, with the task that it comes from.
        """
        try:
            if not self.begin():
                await self._wait()
        except BaseException as exc:
            self._clean_up(exc)
            raise

    async def finish(self) -> None:
        """Run a step that has been started to its end, as ``run`` does."""
        try:
            await self._wait()
        except BaseException as exc:
            self._clean_up(exc)
            raise

    @property
    def unfinished(self) -> tuple[str, ...]:
        """The tasks whose partitions have not ended."""
        ended = {index for index, answer in enumerate(self.answers) if answer is not None}
        ended |= {index for call, index in self._calls.items() if call.done()}
        return tuple(part.task for i, part in enumerate(self._graph.parts) if i not in ended)

    # -- calls ---------------------------------------------------------------------------------

    def _submit(self, index: int) -> None:
        """Start the partitions of one task.

        Raises:
            OpError: an error that is known at once, with the task.
        """
        part = self._graph.parts[index]
        message = RunGraph(
            session_handle=self._handle,
            graph_handle=part.graph_handle,
            step_id=self.step_id,
            feeds=[self._feeds[i] for i in part.feeds],
            trace=self._trace,
            debug_run=self._debug_run,
        )
        try:
            answer = self._workers[part.task].submit(message, CallContext(self._deadline))
        except OpError as error:
            raise error.locate(task=part.task) from error.__cause__
        if isinstance(answer, asyncio.Future):
            # Nothing may wait for it in the end: another call fails, or the step is cancelled.
            answer.add_done_callback(_retrieve)
            self._calls[answer] = index
        else:
            self._take(index, answer)

    def _take(self, index: int, answer: Any) -> None:
        part = self._graph.parts[index]
        if not isinstance(answer, GraphDone) or len(answer.values) != len(part.fetches):
            raise InternalError(
                f"{part.task} answered a part with {len(part.fetches)} fetches by {answer!r:.200}"
            )
        self.answers[index] = answer

    async def _wait(self) -> None:
        """Start the partitions of the other tasks, and wait for all; after the first failure, for none."""
        self.since = time.monotonic()  # for hang reports
        errors: list[OpError] = []
        late: list[str] = []
        try:
            for index in range(len(self._graph.parts)):
                if index != self._graph.here:
                    self._submit(index)
            if self._calls:
                await asyncio.wait(
                    self._calls, timeout=self._deadline.time_left,
                    return_when=asyncio.FIRST_EXCEPTION,
                )  # fmt: skip
        except OpError as error:
            errors.append(error)
        finally:
            for call, index in self._calls.items():
                if not call.done():
                    late.append(self._graph.parts[index].task)
                elif call.cancelled() or call.exception() is not None:
                    errors.append(self._error(call, index))
            if late:
                with contextlib.suppress(
                    Exception
                ):  # the step ends, whether or not its reason is found
                    self._collectives = self._waiting_collectives()
                await _cancel(self._calls)
        if errors or late:
            self._raise_first(errors, late)
        for call, index in self._calls.items():
            self._take(index, call.result())

    def _error(self, call: asyncio.Future[Any], index: int) -> OpError:
        """Return the error of a call that failed."""
        error = None if call.cancelled() else call.exception()
        if error is None:
            return CancelledError(f"step {self.step_id} was cancelled", derived=True)
        return part_error(error, self._graph.parts[index], self.step_id)

    def _raise_first(self, errors: list[OpError], late: list[str]) -> None:
        """Raise the root cause of a failed step; ``late`` are the tasks without an outcome."""
        error = first_error(errors)
        # That of a node is its kernel's own, as if the function of the kernel had waited for something.
        if isinstance(error, DeadlineExceededError) and error.node is None:
            late = late + [e.task or "" for e in errors if isinstance(e, DeadlineExceededError)]
            raise self._too_late(late) from error
        raise error or self._too_late(late)

    def _too_late(self, tasks: Iterable[str]) -> DeadlineExceededError:
        return step_too_late(self.step_id, self._deadline.whose, tasks, self._collectives)

    def _waiting_collectives(self) -> str:
        """Return the text on the collectives of the master's own task, whose worker answers at once."""
        graph = self._graph
        if not graph.meets or graph.here is None:
            return ""
        message = AskWhy(session_handle=self._handle, most=_MOST, steps=[], keys=[])
        try:
            answer = self._workers[graph.parts[graph.here].task].submit(message, CallContext(NEVER))
        except OpError:  # the worker is stopping; the step has an error of its own
            return ""
        if not isinstance(answer, WorkerWhy):
            return ""
        steps = TaskWaits.from_wire(answer.waits).steps
        waits = [str(c) for s in steps if s.step_id == self.step_id for c in s.collectives]
        return "; ".join(["", *waits[:_NAMED]])

    # -- the end -------------------------------------------------------------------------------

    def settle(self, error: OpError | None, *, ran: bool) -> None:
        """Report to the workers what becomes of the values that the step has taken.

        Args:
            error: the reason why the values have not reached the caller; ``None`` if they have.
            ran: whether the partitions of all tasks have run.
        """
        self._tell([part for part in self._graph.parts if part.takes], error, ran=ran)

    def _clean_up(self, exc: BaseException) -> None:
        error = exc if isinstance(exc, OpError) else CancelledError("the step was cancelled")
        self._tell(self._graph.parts, error, ran=False)

    def _tell(self, parts: Iterable[TaskPart], error: OpError | None, *, ran: bool) -> None:
        clean_up(self._workers, parts, self.step_id, error, ran=ran, handed_out=self.handed_out)


def clean_up(
    workers: Mapping[str, Ref],
    parts: Iterable[TaskPart],
    step_id: int,
    error: OpError | None,
    *,
    ran: bool = False,
    handed_out: Iterable[int] = (),
) -> None:
    """Report the end of a step to the workers of some of its parts; see ``CleanupGraph``."""
    message = CleanupGraph(
        step_id=step_id, error=None if error is None else error_to_wire(error), ran=ran,
        handed_out=sorted(handed_out),
    )  # fmt: skip
    for part in parts:
        try:
            workers[part.task].tell(message)
        except (OpError, KeyError) as failed:  # the task is lost, or has left the cluster
            _log.debug("no clean-up of step %d at %s: %s", step_id, part.task, failed)


def part_error(error: BaseException, part: TaskPart, step_id: int) -> OpError:
    """Return the error of a part of a step with its task, and what of the step was lost if the task was."""
    located = from_exception(error).locate(task=part.task)
    if isinstance(located, UnavailableError) and located.node is None:
        located.message += f"; {_lost(part, step_id)}"
    return located


def _lost(part: TaskPart, step_id: int) -> str:
    """Return what of a step was lost with a task: the last node that it would have computed."""
    nodes = [node for p in part.partitions for node in p.nodes if node.op not in _NOT_NAMED]
    node = f" {nodes[-1].name!r}" if nodes else " its part"
    source = f", built at {nodes[-1].source}" if nodes and nodes[-1].source else ""
    return f"step {step_id} was to compute{node} there{source}"


def step_too_late(
    step_id: int, whose: str, tasks: Iterable[str], more: str = ""
) -> DeadlineExceededError:
    """Return the error of a step that has exceeded a limit.

    Args:
        step_id: the step.
        whose: whose limit it was, and how long.
        tasks: those that are still at work on it. Which of them the others wait for is not known to the
            master.
        more: appended to the message.
    """
    at_work = sorted(set(tasks))
    return DeadlineExceededError(
        f"step {step_id} exceeded {whose}; still at work on it: {', '.join(at_work)}{more}",
        task=at_work[0] if len(at_work) == 1 else None,
    )


async def _cancel(calls: Iterable[asyncio.Future[Any]]) -> None:
    """Cancel calls and wait until they have ended, which does not depend on any peer."""
    for call in calls:
        call.cancel()
    await asyncio.wait(calls)


def _retrieve(call: asyncio.Future[Any]) -> None:
    """Retrieve the exception of a call, so that asyncio does not log that it was never retrieved."""
    if not call.cancelled():
        _ = call.exception()
