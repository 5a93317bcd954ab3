"""The interface of the sessions that factories make and that ``AsyncSession`` and ``Session`` call.

``DirectSession`` and ``RemoteSession`` implement it, and so do kinds of session of other distributions. As
in TensorFlow's ``Session``, a kind implements the few abstract methods; what it leaves out refuses with
``UnimplementedError`` or does nothing. ``LocalSession`` adds what sessions in this process can do.

Only the session that made a plan understands it. The session API keeps plans in requests and passes them
back, so the interface is generic in their type.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeAlias, TypeVar

from actorsession.config import RunMetadata, RunOptions, StepStats
from actorsession.config.step_record import StepRecord
from actorsession.errors import FailedPreconditionError, UnimplementedError
from actorsession.graph.device import DeviceAttributes
from actorsession.graph.graph import Graph
from actorsession.plan.place import Placed
from actorsession.plan.signature import RunSignature
from actorsession.process_bound import ProcessBound

if TYPE_CHECKING:
    from actorsession.plan.explain.explain import Feeds
    from actorsession.plan.explain.explanation import Explanation
    from actorsession.runtime.debug.dump import DumpStore
    from actorsession.runtime.hang_report import HangReport
    from actorsession.runtime.step_log import StepLog
    from actorsession.runtime.tensor_store import TensorStore
    from actorsession.session.partial.partial_runs import PartialRuns
    from actorsession.session.reattach import Reattached
    from actorsession.session.statistics import SessionStatistics
    from actorsession.session.value_delivery import ValueDelivery

__all__ = ["SESSION_CLOSED", "TIMELINES", "TURN", "LocalSession", "OnEvict", "SessionInterface", "SessionPlan"]

SESSION_CLOSED = "Session has been closed."

TURN = 0.005
"""Seconds for which runs that never suspend may hold the event loop in a row."""

TIMELINES = 8
"""Timelines that a session keeps: the trace of a large step takes megabytes, and the last ones matter."""

T = TypeVar("T")


class SessionPlan(Protocol):
    """What the session API reads of a plan."""

    @property
    def signature(self) -> RunSignature:
        """The names of the run, in the order in which values are passed."""

    @property
    def needs_loop(self) -> bool:
        """Whether a step of the plan needs an event loop, because it may suspend."""


P = TypeVar("P", bound=SessionPlan)

OnEvict: TypeAlias = Callable[[SessionPlan], None]
"""Called with a plan that the session keeps no longer, from any thread."""


class SessionInterface(ProcessBound, ABC, Generic[P]):
    """A session that a factory made.

    Its coroutines are called on one event loop: that of an ``AsyncSession``, or that of a ``Session``'s own
    thread.

    Attributes:
        partial_runs: the steps that are fed and fetched in several calls; ``None`` if this kind has none.
    """

    partial_runs: PartialRuns[Any] | None = None

    @property
    def local(self) -> LocalSession[Any] | None:
        """This session, if it runs steps in this process without an event loop; else ``None``."""
        return None

    @property
    def debug_store(self) -> DumpStore | None:
        """The results of debugged runs; ``None`` if this kind watches no tensors."""
        return None

    @abstractmethod
    async def connect(self) -> None:
        """Reach what runs the steps; do nothing if that is done.

        Raises:
            UnavailableError: if it cannot be reached in time.
            CancelledError: if the session is closed.
        """

    @abstractmethod
    async def prepare(self, signature: RunSignature) -> P:
        """Return the plan of a signature; connect first where that is needed.

        The plan's signature has the same names, perhaps in another order.

        Raises:
            InvalidArgumentError: if the signature cannot be run on this graph and these devices.
            CancelledError: if the session is closed.
        """

    async def warm_up(self, signature: RunSignature, *, partial: bool) -> None:
        """Do what the first step of a prepared signature does elsewhere before it begins.

        Args:
            signature: feeds, fetches and targets of the step.
            partial: whether it is the step of partial runs.
        """

    @abstractmethod
    async def run(
        self,
        plan: P,
        feeds: Sequence[Any],
        limit: float | None,
        options: RunOptions | None = None,
        metadata: RunMetadata | None = None,
        delivery: ValueDelivery | None = None,
    ) -> Sequence[Any]:
        """Run a step; cancelling the call aborts it and leaves the session usable.

        Args:
            plan: a result of ``prepare``.
            feeds: values in the plan's order; arrays that the caller could change while the step is
                under way are copied.
            limit: seconds; ``None`` for the default.
            options: of this run.
            metadata: filled with what ``options`` request.
            delivery: notified of what the step has taken, if the values go to a caller in another thread.

        Returns:
            The fetched values in the plan's order; arrays are the caller's own.

        Raises:
            DeadlineExceededError: if the step took too long.
            OpError: the step's first error.
        """

    def run_in_thread(
        self, plan: P, feeds: Sequence[Any], limit: float | None, call: Callable[[Callable[[], object]], None]
    ) -> Sequence[Any] | None:
        """Run a step for a thread that blocks, by a shorter way than ``run``.

        Args:
            plan: a result of ``prepare``.
            feeds: as in ``run``.
            limit: seconds of the run's own limit; ``None`` for that of the session.
            call: calls a function on the event loop of the session's coroutines.

        Returns:
            The fetched values as ``run`` returns them, or ``None`` if nothing was run and ``run`` must be
            called.
        """
        return None

    async def offload(self, work: Callable[[], T]) -> T:
        """Do work on large values in a worker thread, if the session has any."""
        return work()

    @abstractmethod
    async def devices(self) -> list[DeviceAttributes]:
        """Return the devices that the session may use, the client device first."""

    async def find_placement(self) -> dict[str, Placed]:
        """Return the device of every node of the graph, with the reason, without holding the event loop."""
        raise UnimplementedError(f"{type(self).__name__} does not report where it places nodes")

    async def explain(self, signature: RunSignature, feeds: Feeds) -> Explanation:
        """Return what a step would do, without holding the event loop; nothing runs and no plan is kept.

        Args:
            signature: what the step feeds, fetches and targets.
            feeds: the fed tensors.
        """
        raise UnimplementedError(f"{type(self).__name__} does not explain steps")

    def timelines(self) -> list[StepStats]:
        """Return the last steps that were traced for ``timeline_step``, oldest first."""
        raise UnimplementedError(f"{type(self).__name__} keeps no timelines")

    async def last_steps(self, count: int, slower_than: float) -> list[StepRecord]:
        """Return what is remembered of the session's last steps; see ``AsyncSession.last_steps``."""
        raise UnimplementedError(f"{type(self).__name__} does not remember its steps")

    async def why(self, within: float) -> HangReport:
        """Return what the session's steps wait for.

        Args:
            within: seconds to wait for the answers of tasks.
        """
        raise UnimplementedError(f"{type(self).__name__} does not report why its steps hang")

    async def reattach(self) -> Reattached:
        """Continue with the tasks that are present now, after some have restarted."""
        raise UnimplementedError(f"{type(self).__name__} has no reattach()")

    async def wait_for(self, tasks: str, count: int | None, limit: float) -> list[str]:
        """Wait until tasks of the cluster answer; see ``AsyncSession.wait_for``."""
        raise UnimplementedError(f"{type(self).__name__} has no wait_for()")

    @abstractmethod
    async def close(self) -> None:
        """Cancel running steps and release everything; bounded in time, may be called twice."""

    async def abandon(self) -> None:
        """Do the same on another event loop when that of the session has ended; by default do nothing."""

    @abstractmethod
    def statistics(self) -> SessionStatistics:
        """Return the counters of the session."""


class LocalSession(SessionInterface[P]):
    """A session in this process, whose steps may run in the thread of their caller.

    Attributes:
        step_log: its last steps; ``None`` if it keeps none.
    """

    step_log: StepLog | None = None

    @property
    def local(self) -> LocalSession[Any]:
        """This session."""
        return self

    async def connect(self) -> None:
        """Do nothing: what runs the steps is here."""

    async def devices(self) -> list[DeviceAttributes]:
        """Return ``list_devices()``."""
        return self.list_devices()

    def timelines(self) -> list[StepStats]:
        """Return no steps, unless the kind of session traces some for ``timeline_step``."""
        return []

    @property
    @abstractmethod
    def tensors(self) -> TensorStore:
        """The values that tensor handles refer to."""

    @property
    @abstractmethod
    def debug_store(self) -> DumpStore:
        """The results of debugged runs."""

    @property
    @abstractmethod
    def has_own_pools(self) -> bool:
        """Whether ``runs_here`` must decide for each run, even without options and a time limit."""

    @abstractmethod
    def list_devices(self) -> list[DeviceAttributes]:
        """Return ``devices()`` without waiting."""

    @abstractmethod
    def plan(self, signature: RunSignature) -> P:
        """Return ``prepare()`` in the calling thread, however long planning takes."""

    @abstractmethod
    def planner_for(self, graph: Graph) -> Callable[[RunSignature], P]:
        """Return the function that plans runs of another graph on the session's devices."""

    @abstractmethod
    def runs_here(self, plan: P, feeds: Sequence[Any], limit: float | None, options: RunOptions | None) -> bool:
        """Return whether a run needs no event loop and may use the thread of its caller; see ``run``."""

    @abstractmethod
    def run_here(
        self,
        plan: P,
        feeds: Sequence[Any],
        options: RunOptions | None = None,
        metadata: RunMetadata | None = None,
        limit: float | None = None,
    ) -> Sequence[Any]:
        """Run a step in the calling thread, which does not wait; see ``run``."""

    @abstractmethod
    def placement(self) -> dict[str, Placed]:
        """Return the device of every node of the graph, with the reason."""

    def last_steps_here(self, count: int, slower_than: float) -> list[StepRecord]:
        """Return ``last_steps()`` without an event loop; callable from any thread.

        Raises:
            FailedPreconditionError: if the session keeps none.
        """
        if self.step_log is None:
            raise FailedPreconditionError(
                "the session keeps no steps: make it with ConfigProto(kept_steps=1000), or any other number"
            )
        return self.step_log.last(count, slower_than)

    async def last_steps(self, count: int, slower_than: float) -> list[StepRecord]:
        """Return ``last_steps_here()``."""
        return self.last_steps_here(count, slower_than)

    def explain_here(self, signature: RunSignature, feeds: Feeds) -> Explanation:
        """Return ``explain()`` in the calling thread."""
        raise UnimplementedError(f"{type(self).__name__} does not explain steps")

    @abstractmethod
    def why_here(self, within: float) -> HangReport:
        """Return ``why()`` without an event loop; callable from any thread."""

    async def abandon(self) -> None:
        """Close the session when its event loop has ended."""
        self.close_here()

    @abstractmethod
    def close_here(self) -> None:
        """Close the session from any thread, without an event loop; may be called twice."""
