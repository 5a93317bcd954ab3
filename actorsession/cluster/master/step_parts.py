"""The parts of a step: what each task runs of it, by a direct call or by a frame each way.

The part of the master's own task is begun first: what it pushes leaves before the frames of the other tasks,
which then find their inputs there. Neither needs an asyncio task or a future.

Invariants: A step ends once, when all its parts have returned or when it fails. It fails with the first error
that is not derived, among those that arrive at the same time as the first of all; every worker of the step is
then told to drop it, and none is waited for. A step that succeeded needs no such message, unless it has taken
something out of a queue or the like: then ``settle`` reports what becomes of that.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from actorsession.actors.ref import Ref
from actorsession.cluster.master.client_graph import ClientGraph, TaskPart
from actorsession.cluster.worker.worker_session import BeginPart
from actorsession.errors import (
    AbortedError,
    DeadlineExceededError,
    OpError,
    ProtocolError,
    UnavailableError,
    error_to_wire,
    first_error,
    from_exception,
)
from actorsession.messages.step_frames import (
    NO_VALUES,
    RUN_GRAPH,
    GraphRequest,
    WireValues,
    done_bytes,
    extra_from_wire,
)
from actorsession.messages.worker import CleanupGraph
from actorsession.plan.partition import RECV, SEND
from actorsession.plan.prune import ARG
from actorsession.records import dataclass
from actorsession.rpc.local_calls import LocalValues
from actorsession.rpc.step_calls import StepCalls
from transports.host import current_host

__all__ = ["BoundPart", "Measured", "PartsOwner", "StepParts", "bind_parts", "step_ids", "step_too_late"]

_log = logging.getLogger("actorsession.cluster")
# Nodes that an error does not name, because no line of the user's program built them.
_NOT_NAMED = (ARG, SEND, RECV)
_new = tuple.__new__


def step_ids() -> Iterator[int]:
    """Return the numbers of the steps of a process; they start at a random one, so that those of two differ."""
    return itertools.count(current_host().entropy.randbits(61))


class Measured(NamedTuple):
    """The report of a part of a traced step.

    Attributes:
        task: the task.
        stats: its statistics in wire form, in the time of its own clock.
        returned: wall-clock seconds at which they came; 0 from the master's own task.
        nbytes: the size of the frame that has brought them.
    """

    task: str
    stats: list[Any]
    returned: float = 0.0
    nbytes: int = 0


class PartsOwner(Protocol):
    """What a step needs of its session."""

    @property
    def handle(self) -> str:
        """The handle of the session."""

    @property
    def workers(self) -> Mapping[str, Ref]:
        """The worker of each task."""

    @property
    def step_ids(self) -> Iterator[int]:
        """The numbers of new steps."""

    def bind_part(self, task: str, graph_handle: str) -> BeginPart:
        """Return what begins partitions of the master's own task."""

    def step_calls(self, task: str) -> StepCalls | None:
        """Return the step frames of the link to another task."""


@dataclass(frozen=True, slots=True)
class BoundPart:
    """A part of a client graph, as it is run.

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


def bind_parts(session: PartsOwner, graph: ClientGraph, feeds: Sequence[int]) -> tuple[BoundPart, ...] | None:
    """Bind the parts of a registered client graph; ``None`` if a task of it is not linked any more.

    Args:
        session: the session.
        graph: the client graph.
        feeds: for each of its feeds, the position among the values of a run.
    """
    bound = []
    for number, part in enumerate(graph.parts):
        steps = begin = None
        if number == graph.here:
            begin = session.bind_part(part.task, part.graph_handle)
        else:
            steps = session.step_calls(part.task)
            if steps is None:
                return None
        bound.append(BoundPart(part, tuple([feeds[at] for at in part.feeds]), steps, begin))
    return tuple(bound)


class StepParts:
    """The parts of one step; a derived class says what its end means.

    Args:
        session: the session.
        graph: the client graph.
        parts: its parts.
        asked: what the workers are asked for beside the values; ``None`` for nothing.

    Attributes:
        step_id: the number of the step.
        handed_out: fetches of a partial run whose values the caller has received, by position.
    """

    __slots__ = (
        "_answers",
        "_asked",
        "_errors",
        "_graph",
        "_left",
        "_parts",
        "_pushed",
        "_session",
        "_stats",
        "handed_out",
        "step_id",
    )

    def __init__(
        self, session: PartsOwner, graph: ClientGraph, parts: Sequence[BoundPart], asked: GraphRequest | None = None
    ) -> None:
        self.step_id = next(session.step_ids)
        self._asked = asked
        self._stats: list[Measured] = []
        self.handed_out: set[int] = set()
        self._session = session
        self._graph = graph
        self._parts = parts
        self._answers: list[WireValues | Sequence[Any] | None] = [None] * len(parts)
        self._left = len(parts)
        self._pushed = 0
        self._errors: list[tuple[int, OpError]] = []

    @property
    def unfinished(self) -> tuple[str, ...]:
        """The tasks whose partitions have not ended."""
        failed = {number for number, _ in self._errors}
        return tuple(
            [
                bound.part.task
                for number, bound in enumerate(self._parts)
                if self._answers[number] is None and number not in failed
            ]
        )

    def begin_here(self, values: WireValues | LocalValues) -> None:
        """Begin the part of the master's own task, if there is one."""
        here = self._graph.here
        if here is None:
            return
        bound = self._parts[here]
        assert bound.begin is not None  # it is the part of this task
        try:
            answer = bound.begin(self.step_id, list(map(values.read, bound.feeds)), self, self._asked)
        except Exception as exc:
            self.part_failed(from_exception(exc))
            return
        if answer is not None:
            self.done(here, *answer)

    def begin_there(self, values: WireValues | LocalValues) -> None:
        """Begin the parts of the other tasks, unless one has failed."""
        for number, bound in enumerate(self._parts):
            if bound.steps is None or self._errors:
                continue
            sent = WireValues([]) if bound.feeds else NO_VALUES
            waiter = _new(_RemotePart, (self, number, len(bound.part.fetches)))  # without a call
            try:
                for at in bound.feeds:
                    values.pass_on(at, sent)
                bound.steps.request(RUN_GRAPH, self.step_id, bound.part.program, None, self._asked, sent, waiter)
            except Exception as exc:
                self.failed(number, from_exception(exc))

    # -- what the parts report -----------------------------------------------------------------

    def part_done(self, values: Sequence[Any], pushed: int, stats: list[Any] | None) -> None:
        """Take what the part of this task has returned; see ``PartWaiter.part_done``."""
        assert self._graph.here is not None
        self.done(self._graph.here, values, pushed, stats)

    def part_failed(self, error: OpError) -> None:
        """Take the error of the part of this task; see ``PartWaiter.part_failed``."""
        assert self._graph.here is not None
        self.failed(self._graph.here, error)

    def done(
        self,
        number: int,
        values: WireValues | Sequence[Any],
        pushed: int,
        stats: list[Any] | None,
        returned: float = 0.0,
        nbytes: int = 0,
    ) -> None:
        """Take what a part has returned; with the last one the step has ended. See ``Measured``."""
        self._answers[number] = values
        if stats is not None:
            self._stats.append(Measured(self._parts[number].part.task, stats, returned, nbytes))
        self._pushed += pushed
        self._left -= 1
        if not self._left and not self._errors:
            try:
                self._succeed()
            except Exception as exc:  # whoever has returned the last part cannot do anything about it
                self.fail(from_exception(exc))

    def failed(self, number: int, error: OpError) -> None:
        """Take the error of a part; the step ends when others that arrive at the same time are here, too."""
        self._errors.append((number, error))
        if len(self._errors) == 1:
            asyncio.get_running_loop().call_soon(self._fail_with_first)

    def _fail_with_first(self) -> None:
        errors = [_part_error(e, self._parts[n].part, self.step_id) for n, e in self._errors]
        error = first_error(errors)
        assert error is not None
        self.fail(error)

    def abort_parts(self, error: OpError) -> None:
        """End what is left of the step on all tasks."""
        parts = [bound.part for bound in self._parts]
        if self.handed_out:  # a cancellation knows nothing of that, so it must not come first
            self._tell(parts, error, ran=False)
        for bound in self._parts:
            if bound.steps is not None:
                bound.steps.cancel(self.step_id)
        if not self.handed_out:
            self._tell(parts, error, ran=False)

    def settle(self, error: OpError | None, *, ran: bool) -> None:
        """Report to the workers what becomes of the values that the step has taken.

        Args:
            error: the reason why the values have not reached the caller; ``None`` if they have.
            ran: whether the partitions of all tasks have run.
        """
        self._tell([bound.part for bound in self._parts if bound.part.takes], error, ran=ran)

    def _tell(self, parts: Iterable[TaskPart], error: OpError | None, *, ran: bool) -> None:
        message = CleanupGraph(
            step_id=self.step_id,
            error=None if error is None else error_to_wire(error),
            ran=ran,
            handed_out=sorted(self.handed_out),
        )
        for part in parts:
            try:
                self._session.workers[part.task].tell(message)
            except (OpError, KeyError) as failed:  # the task is lost, or has left the cluster
                _log.debug("no clean-up of step %d at %s: %s", self.step_id, part.task, failed)

    def _succeed(self) -> None:
        """End the step, all parts of which have returned; called once, unless it has failed."""
        raise NotImplementedError

    def fail(self, error: OpError) -> None:
        """End the step with an error, on all tasks; do nothing if it has ended."""
        raise NotImplementedError


class _RemotePart(NamedTuple):
    """Waits for the part of a step at another task.

    Attributes:
        step: the step.
        number: the number of the part.
        fetches: how many values it returns.
    """

    step: StepParts
    number: int
    fetches: int

    def done(self, values: WireValues, extra: Any) -> None:
        """See ``RunWaiter.done``."""
        pushed, stats = (extra or 0, None) if type(extra) is not bytes else extra_from_wire(extra, 2)
        if (
            len(values.items) != 2 * self.fetches
            or type(pushed) is not int
            or pushed < 0
            or not (stats is None or type(stats) is list)
        ):
            raise ProtocolError(
                f"a part with {self.fetches} fetches was answered by {len(values)} values and {extra!r:.100}"
            )
        if stats is None:
            self.step.done(self.number, values, pushed, None)
        else:
            nbytes = done_bytes(self.step.step_id, extra, values)
            self.step.done(self.number, values, pushed, stats, current_host().clock.time(), nbytes)

    def failed(self, error: OpError) -> None:
        """See ``RunWaiter.failed``."""
        self.step.failed(self.number, error)

    def gone(self) -> None:
        """See ``RunWaiter.gone``."""
        self.failed(AbortedError("its graph is not registered: the worker has probably restarted"))


def _part_error(error: BaseException, part: TaskPart, step_id: int) -> OpError:
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


def step_too_late(step_id: int, whose: str, tasks: Iterable[str], more: str = "") -> DeadlineExceededError:
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
