"""The partial runs of a remote session: asked of the master, which keeps them.

What may be fed and fetched, and in which order, is the master's to check: it knows what each fetch waits for.
Here a setup is checked as far as its names go. Called by ``partial_faces``; owned by a remote session.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from actorsession.actors.deadline import Deadline
from actorsession.config import DEFAULT_STEP_TIMEOUT
from actorsession.errors import CancelledError, DeadlineExceededError, OpError, error_to_wire
from actorsession.messages.done import Done
from actorsession.messages.session import (
    PartialRun,
    PartialRunDrop,
    PartialRunReady,
    PartialRunSetup,
)
from actorsession.plan.partial import check_signature
from actorsession.plan.signature import RunSignature
from actorsession.records import dataclass
from actorsession.session.remote.values import own_values, wire_limit

if TYPE_CHECKING:
    from actorsession.session.remote.remote_session import RemoteSession

__all__ = ["RemotePartialPlan", "RemotePartialPlans", "RemotePartialRuns"]

# Seconds for the master to drop a run; it waits for nobody.
_DROP = 2.0
# Requests that are remembered, as in ``base``.
_REMEMBERED = 1024

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class RemotePartialPlan:
    """What a client keeps of a setup.

    Attributes:
        signature: all that such a run feeds, fetches and targets.
    """

    signature: RunSignature


class RemotePartialPlans:
    """Makes what a client keeps of setups."""

    def plan(self, signature: RunSignature) -> RemotePartialPlan:
        """Return the plan of a signature.

        Raises:
            InvalidArgumentError: if the signature is none of a partial run.
        """
        check_signature(signature)
        return RemotePartialPlan(signature)


class RemotePartialRuns:
    """The partial runs of one remote session.

    Args:
        session: the session.

    Attributes:
        plans: what setups are remembered by.
        requests: what faces remember of setups and calls.
    """

    def __init__(self, session: RemoteSession) -> None:
        self.plans = RemotePartialPlans()
        self.requests: dict[Any, Any] = {}
        self._session = session
        self._loop: asyncio.AbstractEventLoop | None = None

    def remember(self, key: Any, value: T) -> T:
        """Keep what a face made of a setup or a call, unless there is no key for it."""
        if key is not None:
            if len(self.requests) >= _REMEMBERED:
                self.requests.clear()
            self.requests[key] = value
        return value

    async def open(self, plan: RemotePartialPlan) -> str:
        """Start a run at the master; what needs no feed is under way when this returns.

        Returns:
            Its handle.

        Raises:
            InvalidArgumentError: if it cannot be run on this graph and these devices.
            OpError: why a task refused its part, or cannot be reached.
        """
        self._loop = asyncio.get_running_loop()
        session, signature = self._session, plan.signature
        await session.prepare(signature)
        message = PartialRunSetup(
            session_handle=session.handle,
            feeds=list(signature.feeds),
            fetches=list(signature.fetches),
            targets=list(signature.targets),
            request_id=session.request_id(),
        )
        ready: PartialRunReady = await session.ask_step(message, None, PartialRunReady)
        return ready.partial_run_handle

    async def call(
        self,
        handle: str,
        feeds: tuple[str, ...],
        values: Sequence[Any],
        fetches: tuple[str, ...],
        limit: float | None,
    ) -> Sequence[Any]:
        """Feeds and fetches; cancelling it gives the run up.

        Args:
            handle: what ``open`` returned.
            feeds: names.
            values: of the feeds, converted.
            fetches: names.
            limit: seconds; ``None`` for the default.

        Returns:
            The values of the fetches, the caller's own.

        Raises:
            InvalidArgumentError: for a wrong call, which has changed nothing.
            DeadlineExceededError: if it took too long; the run is given up then.
            OpError: the step's first error.
        """
        session = self._session
        if not session.handle:
            await session.connect()
        over_link = session.over_link
        try:
            kept = await session.sent_feeds(values)
            message = PartialRun(
                session_handle=session.handle,
                partial_run_handle=handle,
                feeds=dict(zip(feeds, kept, strict=True)),
                fetches=list(fetches),
                timeout_in_ms=wire_limit(limit),
                request_id=session.request_id(),
            )
            done = await session.ask_values(
                message, DEFAULT_STEP_TIMEOUT if limit is None else limit, None
            )
        except DeadlineExceededError as error:
            self._drop_soon(handle, error)
            raise
        except asyncio.CancelledError:
            await self.give_up(
                handle, CancelledError(f"partial run {handle!r} was cancelled by its caller")
            )
            raise
        return own_values(done.values, over_link=over_link)

    async def give_up(self, handle: str, error: OpError) -> None:
        """End a run, if it still is one; its kernels end between two nodes, and are not waited for."""
        session = self._session
        message = PartialRunDrop(
            session_handle=session.handle, partial_run_handle=handle, error=error_to_wire(error)
        )
        # A master that is gone, or knows the session no more, has given the run up.
        with contextlib.suppress(OpError):
            await session.ask(message, Deadline.after(_DROP), Done)

    def give_up_here(self, handle: str, error: OpError) -> None:
        """``give_up`` from any thread, without waiting for it."""
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed, and the session with it
                self._loop.call_soon_threadsafe(self._drop_soon, handle, error)

    def _drop_soon(self, handle: str, error: OpError) -> None:
        self._session.start(self.give_up(handle, error), f"drop partial run {handle}")
