"""The steps of a direct session that remembers its last ones: what ``DirectSteps`` does, with a record of each.

A session makes these classes in place of the plain ones if ``ConfigProto.kept_steps`` is set, so that the steps of
other sessions pay nothing. A plan of one call records itself, other steps do when they are done.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from actorsession.config import ConfigProto, RunOptions
from actorsession.config.step_record import StepKind
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
from actorsession.session.direct.steps import DirectSteps, step_ids
from transports.host import current_host

if TYPE_CHECKING:
    from actorsession.session.partial.direct_partial_runs import PartialPlan

__all__ = ["LoggedInlineRun", "LoggedSteps"]


class LoggedInlineRun(InlineRun):
    """A plan of one call that records each.

    Args:
        plain: the plan.
        names: the names of its runs.
        session: the handle of the session.
        log: keeps the last steps of the session.
    """

    __slots__ = ("_device", "_ids", "_log", "_names", "_session")
    _names: tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]

    def __init__(self, plain: InlineRun, names: RunSignature, session: str, log: StepLog) -> None:
        super().__init__(plain.part)
        self._device = plain.bound.device
        self._ids = current_host().own(step_ids)
        self._names = names.feeds, names.fetches, names.targets
        self._session = session
        self._log = log

    def run(self, feeds: Sequence[Any], gate: Gate) -> Sequence[Any]:
        """See ``InlineRun.run``."""
        step_id, began, text = next(self._ids), current_host().clock.monotonic(), ""
        try:
            return super().run(feeds, gate)
        except BaseException as exc:
            text = error_text(exc)
            self._log.errors.note(exc, session=self._session, step_id=step_id)
            raise
        finally:
            log, now = self._log, current_host().clock.monotonic()
            log.durations.observe(now - began)
            feeds, fetches, targets = self._names
            session, device = self._session, self._device
            log.wholes.append((step_id, session, "run", feeds, fetches, targets, began, now, text, device, ""))
            if len(log.wholes) >= log.full:
                log.trim()


class _LoggedRendezvous(Rendezvous):
    """A rendezvous that records what passes through it.

    Attributes:
        seen: the transfers.
        left_out: those that are not kept, because there were so many.
    """

    __slots__ = ("left_out", "seen")

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[Transfers] = []
        self.left_out = 0

    def send(self, key: str, value: Any, dead: bool = False) -> None:
        """See ``Rendezvous.send``."""
        if len(self.seen) < MOST_TRANSFERS:
            self.seen.append((current_host().clock.monotonic(), "local", (key,), (getattr(value, "nbytes", 0),)))
        else:
            self.left_out += 1
        super().send(key, value, dead)


class _LoggedStep(Step):
    """A step that measures how long its thread works on it.

    Attributes:
        names: the kind of the step and the names of its run.
        devices: the devices of its partitions.
        passed: the rendezvous of the step.
        worked: see ``Part``.
        entered: when its thread came back to it; 0 while it is elsewhere.
        paused: see ``Part``.
    """

    __slots__ = ("devices", "entered", "names", "passed", "paused", "worked")
    names: tuple[StepKind, RunSignature]
    devices: tuple[str, ...]
    passed: _LoggedRendezvous
    worked: float
    entered: float
    paused: bool

    def drain(self) -> None:
        """See ``Step.drain``."""
        if self._draining:
            return
        self.entered = began = current_host().clock.monotonic()
        super().drain()
        self.worked += current_host().clock.monotonic() - began
        self.entered = 0.0
        if not self.done:
            self.paused = True


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
        step.names = "run" if isinstance(plan, DirectPlan) else "partial", plan.signature
        step.devices = tuple([each.executor.device.name for each in graph.parts])
        step.rendezvous = step.passed = _LoggedRendezvous()
        step.worked, step.entered, step.paused, step.pooled = 0.0, 0.0, False, TimedWork()
        step.on_done(partial(self._ended, step))
        return step, graph

    def _ended(self, step: _LoggedStep) -> None:
        log, now = self._log, current_host().clock.monotonic()
        error = step.error or step.cancelled
        log.durations.observe(now - step.since)
        for rows, row in zip((log.wholes, log.parts), self._rows(step, now, error_text(error)), strict=True):
            rows.append(tuple(row))
        if error is not None:
            log.errors.note(error, session=self._session, step_id=step.step_id)
        if len(log.wholes) >= log.full or len(log.parts) >= log.full:
            log.trim()

    def _under_way(self) -> list[Whole | Part]:
        steps = [step for step in self.now() if isinstance(step, _LoggedStep)]
        return list(itertools.chain.from_iterable(self._rows(step, 0.0, "") for step in steps))

    def _rows(self, step: _LoggedStep, ended: float, error: str) -> tuple[Whole, Part]:
        """Return the step as a whole and its partitions."""
        number, session, began, (kind, names) = step.step_id, self._session, step.since, step.names
        worked = step.worked + (ended - step.entered if step.entered and ended else 0.0)
        pooled, seen, left_out = step.pooled.seconds, tuple(step.passed.seen), step.passed.left_out
        return (
            Whole(number, session, kind, names.feeds, names.fetches, names.targets, began, ended, error),
            Part(number, session, step.devices, began, ended, worked, pooled, step.paused, seen, left_out, error),
        )
