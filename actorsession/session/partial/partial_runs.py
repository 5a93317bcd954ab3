"""The interface of the partial runs of a session: what the session API calls, for every kind of session."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Sequence
from typing import Any, Generic, TypeVar

from actorsession.config import RunOptions
from actorsession.errors import OpError
from actorsession.plan.signature import RunSignature

__all__ = ["PartialRuns"]

# Cached requests, as in ``base``.
_REMEMBERED = 1024

P = TypeVar("P")
T = TypeVar("T")


class PartialRuns(ABC, Generic[P]):
    """The partial runs of one session, made from plans of type ``P``.

    A kind of session whose runs always need an event loop overrides the abstract methods only.

    Attributes:
        requests: cache of setups and calls for the session API.
    """

    def __init__(self) -> None:
        self.requests: dict[Hashable, Any] = {}

    def remember(self, key: Hashable | None, value: T) -> T:
        """Cache the result of a setup or a call, unless its key is ``None``."""
        if key is not None:
            if len(self.requests) >= _REMEMBERED:
                self.requests.clear()
            self.requests[key] = value
        return value

    @abstractmethod
    def plan(self, signature: RunSignature) -> P:
        """Return the plan of a signature.

        Raises:
            InvalidArgumentError: if the signature is not valid for a partial run, or cannot be run on this
                graph and these devices.
        """

    async def prepare(self, signature: RunSignature) -> P:
        """Return the plan of a signature; a large graph is planned in a thread."""
        return self.plan(signature)

    @abstractmethod
    async def open(self, plan: P, options: RunOptions | None = None) -> str:
        """Start a run on the running event loop.

        Args:
            plan: the plan.
            options: of the run; only ``debug_options`` are set.

        Returns:
            The handle of the run.

        Raises:
            InvalidArgumentError: if the run is not possible on this graph and these devices.
            OpError: if a task refuses its partitions or cannot be reached.
        """

    @abstractmethod
    async def call(
        self, handle: str, feeds: tuple[str, ...], values: Sequence[Any], fetches: tuple[str, ...], limit: float | None
    ) -> Sequence[Any]:
        """Continue a run with feeds, and return fetches; cancelling the call aborts the run.

        Args:
            handle: a result of ``open``.
            feeds: names of the feeds.
            values: converted values of the feeds.
            fetches: names of the fetches.
            limit: seconds; ``None`` for the default.

        Returns:
            The values of the fetches, owned by the caller.

        Raises:
            InvalidArgumentError: for an invalid call, which has changed nothing.
            DeadlineExceededError: if the call took too long; the run is then aborted.
            OpError: the step's first error.
        """

    @abstractmethod
    async def abort(self, handle: str, error: OpError) -> None:
        """Abort a run if it is open."""

    @abstractmethod
    def abort_here(self, handle: str, error: OpError) -> None:
        """Abort a run if it is open, from any thread, without waiting for its end."""

    # -- in the caller's thread, where the kind of session allows it ---------------------------

    def needs_loop(self, plan: P) -> bool:
        """Return whether runs of a plan need an event loop, so that ``open`` starts them."""
        return True

    def is_on_loop(self, handle: str) -> bool:
        """Return whether an event loop drives a run, so that ``call`` continues it."""
        return True

    def open_here(self, plan: P, limit: float | None, options: RunOptions | None = None) -> str:
        """Start a run in the calling thread.

        Args:
            plan: the plan; not one that ``needs_loop``.
            limit: seconds for what can run without any feed; ``None`` for no limit.
            options: of the run; see ``open``.

        Returns:
            The handle of the run.
        """
        raise NotImplementedError

    def call_here(
        self, handle: str, feeds: tuple[str, ...], values: Sequence[Any], fetches: tuple[str, ...], limit: float | None
    ) -> Sequence[Any]:
        """Continue a run in the calling thread; see ``call``.

        Args:
            handle: a result of ``open_here``.
            feeds: names of the feeds.
            values: converted values of the feeds.
            fetches: names of the fetches.
            limit: seconds; ``None`` for none.

        Raises:
            FailedPreconditionError: for a call from a function inside a step of the same run.
        """
        raise NotImplementedError
