"""The parts of a step that run by direct call and by step frames: what programs and partial runs share.

The part of the master's own task is begun first, by a direct call: what it pushes leaves before the frames of
the other tasks, which then find their inputs there. A part of another task is one frame each way. Neither
needs an asyncio task or a future.

Invariant: a step ends once, when all its parts have returned or when it fails. It fails with the first error
that is not derived, among those that arrive at the same time as the first of all.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from actorsession.actors.ref import Ref
from actorsession.cluster.master.client_graph import ClientGraph, TaskPart
from actorsession.cluster.master.master_step import STEP_IDS, clean_up, part_error
from actorsession.cluster.worker.worker_session import BeginPart
from actorsession.errors import AbortedError, OpError, ProtocolError, first_error, from_exception
from actorsession.messages.step_frames import WireValues
from actorsession.records import dataclass
from actorsession.rpc.local_calls import LocalValues
from actorsession.rpc.step_calls import StepCalls

__all__ = ["BoundPart", "PartsOwner", "StepParts", "bind_parts"]


class PartsOwner(Protocol):
    """What a step needs of its session."""

    @property
    def handle(self) -> str:
        """The handle of the session."""

    @property
    def workers(self) -> Mapping[str, Ref]:
        """The worker of each task."""

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


def bind_parts(
    session: PartsOwner, graph: ClientGraph, feeds: Sequence[int]
) -> tuple[BoundPart, ...] | None:
    """Bind the parts of a client graph; ``None`` if some have to be run by message.

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
            if steps is None or not part.program:
                return None
        bound.append(BoundPart(part, tuple([feeds[at] for at in part.feeds]), steps, begin))
    return tuple(bound)


_NO_VALUES = WireValues([])


class StepParts:
    """The parts of one step; a derived class says what its end means.

    Args:
        session: the session.
        graph: the client graph.
        parts: its parts.

    Attributes:
        step_id: the number of the step.
    """

    __slots__ = (
        "_answers", "_errors", "_graph", "_left", "_parts", "_pushed", "_session", "step_id",
    )  # fmt: skip

    def __init__(self, session: PartsOwner, graph: ClientGraph, parts: Sequence[BoundPart]) -> None:
        self.step_id = next(STEP_IDS)
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
            answer = bound.begin(self.step_id, list(map(values.read, bound.feeds)), self)
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
            sent = WireValues([]) if bound.feeds else _NO_VALUES
            waiter = _RemotePart(self, number, len(bound.part.fetches))
            try:
                for at in bound.feeds:
                    values.pass_on(at, sent)
                bound.steps.run(self.step_id, bound.part.program, None, sent, waiter)
            except Exception as exc:
                self.failed(number, from_exception(exc))

    # -- what the parts report -----------------------------------------------------------------

    def part_done(self, values: Sequence[Any], pushed: int) -> None:
        """Take what the part of this task has returned; see ``PartWaiter.part_done``."""
        assert self._graph.here is not None
        self.done(self._graph.here, values, pushed)

    def part_failed(self, error: OpError) -> None:
        """Take the error of the part of this task; see ``PartWaiter.part_failed``."""
        assert self._graph.here is not None
        self.failed(self._graph.here, error)

    def done(self, number: int, values: WireValues | Sequence[Any], pushed: int) -> None:
        """Take what a part has returned; with the last one the step has ended."""
        self._answers[number] = values
        self._pushed += pushed
        self._left -= 1
        if not self._left and not self._errors:
            try:
                self._succeed()
            except (
                Exception
            ) as exc:  # whoever has returned the last part cannot do anything about it
                self.fail(from_exception(exc))

    def failed(self, number: int, error: OpError) -> None:
        """Take the error of a part; the step ends when others that arrive at the same time are here, too."""
        self._errors.append((number, error))
        if len(self._errors) == 1:
            asyncio.get_running_loop().call_soon(self._fail_with_first)

    def _fail_with_first(self) -> None:
        found = [part_error(e, self._parts[n].part, self.step_id) for n, e in self._errors]
        error = first_error(found)
        assert error is not None
        self.fail(error)

    def abort_parts(self, error: OpError) -> None:
        """End what is left of the step on all tasks."""
        for bound in self._parts:
            if bound.steps is not None:
                bound.steps.cancel(self.step_id)
        parts = [bound.part for bound in self._parts]
        clean_up(self._session.workers, parts, self.step_id, error)

    def _succeed(self) -> None:
        """End the step, all parts of which have returned; called once, unless it has failed."""
        raise NotImplementedError

    def fail(self, error: OpError) -> None:
        """End the step with an error, on all tasks; do nothing if it has ended."""
        raise NotImplementedError


class _RemotePart:
    """Waits for the part of a step at another task."""

    __slots__ = ("_fetches", "_number", "_step")

    def __init__(self, step: StepParts, number: int, fetches: int) -> None:
        self._step = step
        self._number = number
        self._fetches = fetches

    def done(self, values: WireValues, extra: Any) -> None:
        """See ``RunWaiter.done``."""
        if len(values.items) != 2 * self._fetches or not (
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
