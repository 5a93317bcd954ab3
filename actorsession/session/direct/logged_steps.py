"""The steps of a direct session that remembers its last ones: what ``DirectSteps`` does, with a record of each.

A session makes these classes in place of the plain ones if ``ConfigProto.kept_steps`` is set, so that the steps of
other sessions pay nothing. A plan of one call records itself, other steps do when they are done.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from actorsession.config import ConfigProto, RunOptions
from actorsession.plan.signature import RunSignature
from actorsession.runtime.debug.debugger import LoadedDebugPlan, SessionDebugger
from actorsession.runtime.engine.inline_run import Gate, InlineRun
from actorsession.runtime.engine.loaded_graph import LoadedGraph
from actorsession.runtime.engine.pooled_work import TimedWork
from actorsession.runtime.engine.step import Step
from actorsession.runtime.kernel_pool import KernelPool
from actorsession.runtime.rendezvous import Rendezvous
from actorsession.runtime.step_log import MOST_TRANSFERS, Part, StepLog, Transfers, Whole, error_text
from actorsession.session.direct.planner import DirectPlan
from actorsession.session.direct.steps import STEP_IDS, DirectSteps

if TYPE_CHECKING:
    from actorsession.session.partial.direct_partial_runs import PartialPlan

__all__ = ["LoggedInlineRun", "LoggedSteps"]

_new = tuple.__new__


class LoggedInlineRun(InlineRun):
    """A plan of one call that records each.

    Args:
        plain: the plan.
        names: the names of its runs.
        session: the handle of the session.
        log: keeps the last steps of the session.
    """

    __slots__ = ("_device", "_log", "_names", "_session")

    def __init__(self, plain: InlineRun, names: RunSignature, session: str, log: StepLog) -> None:
        super().__init__(plain.part)
        self._device = plain.bound.device
        self._names = names
        self._session = session
        self._log = log

    def run(self, feeds: Sequence[Any], gate: Gate) -> Sequence[Any]:
        """See ``InlineRun.run``."""
        step_id, began, text = next(STEP_IDS), time.monotonic(), ""
        try:
            return super().run(feeds, gate)
        except BaseException as exc:
            text = error_text(exc)
            self._log.errors.note(exc, session=self._session, step_id=step_id)
            raise
        finally:
            log, now = self._log, time.monotonic()
            log.durations.observe(now - began)
            row = (step_id, self._session, "run", self._names, began, now, text, self._device, "")
            log.wholes.append(_new(Whole, row))
            if len(log.wholes) >= log.full:
                log.trim()


class _LoggedRendezvous(Rendezvous):
    """A rendezvous that records what passes through it.

    Args:
        part: what is kept of the step.
    """

    __slots__ = ("_part",)

    def __init__(self, part: Part) -> None:
        super().__init__()
        self._part = part

    def send(self, key: str, value: Any, dead: bool = False) -> None:
        """See ``Rendezvous.send``."""
        part = self._part
        if len(part.transfers) < MOST_TRANSFERS:
            sizes = (getattr(value, "nbytes", 0),)
            part.transfers.append(_new(Transfers, (time.monotonic(), "local", (key,), sizes)))
        else:
            part.left_out += 1
        super().send(key, value, dead)


class _LoggedStep(Step):
    """A step that measures how long its thread works on it.

    Attributes:
        part: what is kept of the step; set before it begins.
        whole: the same as a whole, without an end.
    """

    __slots__ = ("part", "whole")
    part: Part
    whole: Whole

    def drain(self) -> None:
        """See ``Step.drain``."""
        if self._draining:
            return
        part, began = self.part, time.monotonic()
        super().drain()
        part.worked += time.monotonic() - began
        if not self.done:
            part.paused = True


class LoggedSteps(DirectSteps):
    """The steps of one session in this process, each of which is recorded.

    Args:
        gate: see ``DirectSteps``.
        debugger: likewise.
        config: likewise.
        session: the handle of the session.
        log: keeps the last steps.
    """

    def __init__(
        self, gate: Gate, debugger: SessionDebugger[LoadedDebugPlan], config: ConfigProto, session: str, log: StepLog
    ) -> None:
        super().__init__(gate, debugger, config)
        self._session = session
        self._log = log
        log.running.append(self._under_way)

    def new(
        self,
        plan: DirectPlan | PartialPlan,
        options: RunOptions | None,
        pool: KernelPool | None,
        limit: float | None,
        make: type[Step] = _LoggedStep,
    ) -> tuple[Step, LoadedGraph]:
        """See ``DirectSteps.new``."""
        step, graph = super().new(plan, options, pool, limit, make)
        assert isinstance(step, _LoggedStep)
        kind = "run" if isinstance(plan, DirectPlan) else "partial"
        step.whole = _new(Whole, (step.step_id, self._session, kind, plan.signature, step.since, 0.0, "", "", ""))
        step.part = part = Part()
        part.step_id, part.session, part.began, part.transfers = step.step_id, self._session, step.since, []
        part.devices = tuple([each.executor.device.name for each in graph.parts])
        step.rendezvous, step.pooled = _LoggedRendezvous(part), TimedWork()
        step.on_done(partial(self._ended, step))
        return step, graph

    def _ended(self, step: _LoggedStep) -> None:
        log, part, ended = self._log, step.part, time.monotonic()
        error = step.error or step.cancelled
        text = part.error = error_text(error)
        part.ended, part.pooled = ended, step.pooled.seconds
        log.durations.observe(ended - part.began)
        log.parts.append(part)
        log.wholes.append(step.whole._replace(ended=ended, error=text))
        if error is not None:
            log.errors.note(error, session=self._session, step_id=step.step_id)
        if len(log.wholes) >= log.full or len(log.parts) >= log.full:
            log.trim()

    def _under_way(self) -> list[Whole | Part]:
        steps = [step for step in self.now() if isinstance(step, _LoggedStep)]
        return list(itertools.chain.from_iterable((step.whole, step.part) for step in steps))
