"""Planning of a direct session on an event loop: a large graph in a thread, once for all callers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Hashable
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from actorsession.actors.deadline import Deadline
from actorsession.config import DEFAULT_STEP_TIMEOUT, RunOptions
from actorsession.plan.signature import RunSignature
from actorsession.runtime.debug.debugger import LoadedDebugPlan, SessionDebugger
from actorsession.runtime.planning import Planning
from actorsession.session.direct.planner import DirectPlan, Planner

if TYPE_CHECKING:
    from actorsession.session.partial.direct_partial_runs import PartialPlan

__all__ = ["DirectPlanning"]

T = TypeVar("T")


class DirectPlanning(Planning):
    """The planning of one direct session.

    Args:
        planner: the session's planner.
        debugger: the session's debugger, which has the plans of debugged runs made.
    """

    def __init__(self, planner: Planner, debugger: SessionDebugger[LoadedDebugPlan]) -> None:
        super().__init__()
        self._planner = planner
        self._debugger = debugger

    async def prepare(self, signature: RunSignature) -> DirectPlan:
        """Return the plan of a signature; see ``DirectSession.prepare``."""
        plan = self._planner.kept(signature)
        if plan is not None:
            return plan
        make, what = partial(self._planner.make, signature), f"the plan of a step, {signature}"
        return await self.share(signature.sorted(), make, what, signature.size)

    async def prepare_debug(self, plan: DirectPlan | PartialPlan, options: RunOptions) -> None:
        """Make the plan of a debugged run in a thread, if planning would hold the loop too long."""
        if self.must_wait(self._planner.size):
            asked = plan.signature, options.debug_options
            is_partial = not isinstance(plan, DirectPlan)
            make = partial(self._debugger.prepare, *asked, is_partial=is_partial)
            what = f"the plan of a debugged step, {plan.signature}"
            await self.share((*asked, is_partial), make, what)

    async def share(self, key: Hashable, work: Callable[[], T], what: str, names: int = 0) -> T:
        """Do planning work; for a large graph in a thread, once for all callers with the same key.

        Args:
            key: the same for the same work.
            work: the work.
            what: what it is called in errors.
            names: how many nodes it has to do with beside those of the planner.

        Raises:
            DeadlineExceededError: if it takes too long; it goes on for later callers.
        """
        if not self.must_wait(self._planner.size + names):
            return work()
        deadline = Deadline.after(DEFAULT_STEP_TIMEOUT)
        return await deadline.wait(asyncio.shield(self.shared(key, work)), what=what)
