"""Partial runs of a direct session: steps that are fed and fetched in several calls.

Holds their handles, drives them, and collects those that are not continued. On an event loop the runs belong
to the actor ``RunStates``. Without one, each run is driven in the calling thread, under a lock of its own. A
``Session`` uses an event loop for runs with nodes that wait without a thread. The methods that users call are
in ``partial.api``.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
import threading
import time
import weakref
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from actorsession.actors.clock import SYSTEM_CLOCK, Clock
from actorsession.actors.deadline import NEVER, Deadline
from actorsession.config import DEFAULT_STEP_TIMEOUT, ConfigProto
from actorsession.errors import AbortedError, CancelledError, DeadlineExceededError, OpError
from actorsession.plan.device_set import DeviceSet
from actorsession.runtime.engine.inline_run import Gate
from actorsession.runtime.engine.step import Step
from actorsession.runtime.kept_feeds import large_arrays
from actorsession.runtime.partial.partial_step import (
    BeginRun,
    ContinueRun,
    GiveUpAll,
    GiveUpRun,
    PartialStep,
    RunStates,
)  # fmt: skip
from actorsession.runtime.partial.run_state import Call, RunState, no_such_run
from actorsession.runtime.wait_graph import PartialWaits
from actorsession.session.direct.planner import Planner
from actorsession.session.partial.plans import PartialPlan, PartialPlans

__all__ = ["PartialRuns"]

_log = logging.getLogger("actorsession.session")
# Seconds for which calls that never suspend may hold the event loop in a row.
_TURN = 0.005
# Most seconds between two checks of a synchronous session for idle runs. The checking thread also ends within
# this time once no run is open, so it is not started and ended for each run.
_LOOK = 1.0
# Cached requests, as in ``base``.
_REMEMBERED = 1024

T = TypeVar("T")


class PartialRuns:
    """The partial runs of one direct session.

    Args:
        planner: the session's planner.
        devices: the session's devices.
        config: the session's settings.
        gate: refuses work once the session is closed.
        new_step: makes a step of a plan; the second argument is whether an event loop drives it.
        end_step: stops tracking a step.
        keep: returns feeds that cannot change while a step is suspended; see ``kept_feeds``.
        clock: measures how long a run has been idle.

    Attributes:
        plans: the plans of the runs.
        requests: cache of setups and calls for the session API; emptied when a plan is evicted.
    """

    def __init__(
        self,
        planner: Planner,
        devices: DeviceSet,
        config: ConfigProto,
        gate: Gate,
        new_step: Callable[[Any, bool], Step],
        end_step: Callable[[Step], None],
        keep: Callable[[Sequence[Any]], Awaitable[Sequence[Any]]],
        clock: Clock = SYSTEM_CLOCK,
    ) -> None:
        self.clock = clock
        self.requests: dict[Any, Any] = {}
        self.plans = PartialPlans(planner, devices, config, self.requests.clear)
        self._gate = gate
        self._new_step = new_step
        self._end_step = end_step
        self._keep = keep
        self._limit = config.partial_run_idle_limit_in_ms / 1000
        self._numbers = itertools.count()
        self._runs: dict[str, PartialStep] = {}
        self._actor: RunStates | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._watch: _IdleWatch | None = None
        self._lock = threading.Lock()
        self._turn_ends = 0.0

    def __len__(self) -> int:
        return len(self._runs)

    def waits(self, most: int) -> list[PartialWaits]:
        """Return the open runs, oldest first, at most ``most``; callable from any thread."""
        now = self.clock.now()
        return [
            PartialWaits(
                handle=run.state.handle, step_id=run.step.step_id, session="",
                seconds=now - run.state.last_use, feeds=run.state.pending_inputs[:most],
                fetches=run.state.pending_outputs[:most], calls=run.state.waiting,
            )
            for run in list(self._runs.values())[:most]
        ]  # fmt: skip

    def remember(self, key: Any, value: T) -> T:
        """Cache the result of a setup or a call, unless its key is ``None``."""
        if key is not None:
            if len(self.requests) >= _REMEMBERED:
                self.requests.clear()
            self.requests[key] = value
        return value

    def needs_loop(self, plan: PartialPlan) -> bool:
        """Return whether a plan has nodes that wait without a thread, for example queue operations."""
        return plan.graph.suspends

    def is_on_loop(self, handle: str) -> bool:
        """Return whether a run is driven by an event loop, so that ``call`` continues it."""
        run = self._runs.get(handle)
        return run is not None and run.loop_driven

    # -- in the caller's thread ----------------------------------------------------------------

    def open_here(self, plan: PartialPlan, limit: float | None) -> str:
        """Start a run in the calling thread.

        Args:
            plan: the plan; not one that ``needs_loop``.
            limit: seconds for what can run without any feed; ``None`` for no limit.

        Returns:
            The handle of the run.
        """
        run = self._new_run(plan, on_loop=False)
        if limit is not None:
            run.step.limit(Deadline.after(limit))
        run.enter()
        try:
            self._runs[run.state.handle] = run
            run.begin(lambda: plan.graph.begin(run.step, ()), plan.new_failure())
            self._gate.check()  # closing in the meantime has missed this run
        except BaseException as exc:  # Ctrl-C too
            run.give_up(CancelledError(f"the setup was interrupted: {exc!r}"))
            raise
        finally:
            run.leave()
        if self._watch is None:
            self._start_watch()
        return run.state.handle

    def call_here(
        self,
        handle: str,
        feeds: tuple[str, ...],
        values: Sequence[Any],
        fetches: tuple[str, ...],
        limit: float | None,
    ) -> Sequence[Any]:
        """Continue a run in the calling thread: give it feeds, and return fetches.

        Args:
            handle: a result of ``open_here``.
            feeds: names of the feeds.
            values: converted values of the feeds.
            fetches: names of the fetches.
            limit: seconds; ``None`` for none.

        Returns:
            The values of the fetches, owned by the caller.

        Raises:
            InvalidArgumentError: for a wrong call, which has changed nothing.
            FailedPreconditionError: for a call from a function inside a step of the same run.
            OpError: the step's first error.
        """
        run = self._find(handle)
        deadline = NEVER if limit is None else Deadline.after(limit)
        if not run.enter_nowait():
            # Functions in steps of other threads may wait for this thread, so even this wait has a limit.
            run.enter(Deadline.after(DEFAULT_STEP_TIMEOUT) if limit is None else deadline)
        try:
            call = run.call(run.shape(feeds, fetches), values, self.clock.now(), deadline)
        except OpError:  # a wrong call
            self._gate.check()  # or a correct call after the session was closed
            raise
        except BaseException as exc:  # Ctrl-C
            run.give_up(CancelledError(f"the call was interrupted: {exc!r}"))
            raise
        finally:
            run.leave()
        return run.hand_out(call)

    def give_up_here(self, handle: str, error: OpError) -> None:
        """Abort a run that is still open; callable from any thread."""
        run = self._runs.get(handle)
        if run is None:
            return
        if run.loop_driven:
            self._tell(GiveUpRun(handle, error))
        else:
            run.end(error)

    # -- on an event loop ----------------------------------------------------------------------

    async def open(self, plan: PartialPlan) -> str:
        """Start a run on the running event loop; see ``open_here``."""
        await self._take_turn()
        run = self._new_run(plan, on_loop=True)
        if self._actor is None:
            self._actor = RunStates(self._runs)
        try:
            await self._actor.ref.ask(
                BeginRun(run, lambda: plan.graph.begin(run.step, ()), plan.new_failure())
            )
        except BaseException as exc:
            run.give_up(CancelledError(f"the setup was given up: {exc!r}"))
            raise
        if self._alarm is None:
            self._arm(self._limit)
        return run.state.handle

    async def call(
        self,
        handle: str,
        feeds: tuple[str, ...],
        values: Sequence[Any],
        fetches: tuple[str, ...],
        limit: float | None,
    ) -> Sequence[Any]:
        """Continue a run on the running event loop; see ``call_here``.

        Cancelling the call aborts the run between two nodes.
        """
        deadline = Deadline.after(DEFAULT_STEP_TIMEOUT if limit is None else limit)
        run: PartialStep | None = None
        call: Call | None = None
        try:
            await self._take_turn()
            run = self._find(handle)
            if large_arrays(values):
                values = await self._keep(values)
            assert self._actor is not None
            message = ContinueRun(
                handle, feeds, values, fetches, self.clock.now(), Deadline.after(limit)
            )
            call = await self._actor.ref.ask(message)
            assert call is not None
            if not call.done:
                await deadline.wait(_answered(call), what=f"a call of partial run {handle!r}")
        except DeadlineExceededError as error:
            if call is None or not call.done:  # the result of a finished call wins
                await self.give_up(handle, error)
                raise
        except asyncio.CancelledError:
            cancelled = CancelledError(f"partial run {handle!r} was cancelled by its caller")
            if run is not None:  # it may have ended, and its values have no receiver
                run.give_up(cancelled)
            await self.give_up(handle, cancelled)
            raise
        assert run is not None
        return run.hand_out(call)

    async def give_up(self, handle: str, error: OpError) -> None:
        """Abort a run that is still open, and wait for its kernels, which end between two nodes."""
        run = self._runs.get(handle)
        if run is not None and self._actor is not None:
            with contextlib.suppress(OpError):  # the session is closed, which has ended it
                await self._actor.ref.ask(GiveUpRun(handle, error))
            await run.step.settled()

    async def _take_turn(self) -> None:
        # Calls that end at once never suspend by themselves; see ``DirectSession.run``.
        now = time.perf_counter()
        if now >= self._turn_ends:
            self._turn_ends = now + _TURN
            await asyncio.sleep(0)

    # -- lifecycle -----------------------------------------------------------------------------

    def _new_run(self, plan: PartialPlan, *, on_loop: bool) -> PartialStep:
        step = self._new_step(plan, on_loop)
        handle = f"{plan.label};{next(self._numbers)}"
        state = RunState(handle, plan.parts, self.clock.now())
        return PartialStep(state, step, plan.parts, self._delete, loop_driven=on_loop)

    def _find(self, handle: str) -> PartialStep:
        run = self._runs.get(handle)
        if run is None:
            self._gate.check()
            raise no_such_run(handle)
        return run

    def _delete(self, run: PartialStep) -> None:
        self._runs.pop(run.state.handle, None)
        self._end_step(run.step)
        # From another thread the alarm is left to ring, and then finds no run.
        if self._alarm is not None and not self._runs and run.loop_driven:
            self._alarm.cancel()
            self._alarm = None

    def _tell(self, message: GiveUpRun | GiveUpAll) -> None:
        """Send the actor a message that ends runs, from any thread."""
        assert self._actor is not None
        try:
            self._actor.ref.tell(message)
        except AbortedError:
            # Its loop is closed, so these runs have no waiters and can never be continued.
            for run in list(self._runs.values()):
                if run.loop_driven:
                    run.give_up(message.error)
        except OpError as exc:
            _log.warning("partial runs are not ended: %s", exc)

    def collect(self) -> None:
        """Abort the runs that have not been continued for the idle limit."""
        now = self.clock.now()
        for run in list(self._runs.values()):
            if run.state.is_idle(now, self._limit):
                handle = run.state.handle
                _log.info("partial run %r was idle for %g s and is given up", handle, self._limit)
                error = CancelledError(f"partial run {handle!r} was idle for {self._limit:g} s")
                if run.loop_driven:
                    self._tell(GiveUpRun(handle, error))
                else:
                    run.end_if_idle(now, self._limit, error)

    def _arm(self, seconds: float) -> None:
        self._alarm = asyncio.get_running_loop().call_later(seconds, self._ring)

    def _ring(self) -> None:
        self._alarm = None
        self.collect()
        if self._runs:
            # A copy, because a finaliser may end a run in the middle of this line.
            oldest = min(run.state.last_use for run in list(self._runs.values()))
            self._arm(max(oldest + self._limit - self.clock.now(), 0.001))

    def _start_watch(self) -> None:
        watch = _IdleWatch(self, min(self._limit, _LOOK))
        if self._install(watch):
            watch.start()

    def _install(self, watch: _IdleWatch) -> bool:
        with self._lock:
            if self._watch is None:
                self._watch = watch
            return self._watch is watch

    def keeps(self, watch: _IdleWatch) -> bool:
        """Return whether a watch thread is still needed; the thread calls it after each check."""
        # First uninstalled, then checked: a run that begins in between finds no watch and starts one.
        self._watch = None
        return bool(self._runs) and self._install(watch)

    def close_here(self, error: OpError) -> None:
        """End every run; callable from any thread."""
        if self._actor is not None:
            self._tell(GiveUpAll(error))
        for run in list(self._runs.values()):
            if not run.loop_driven:
                run.end(error)
        self.requests.clear()
        self.plans.clear()
        with self._lock:
            watch, self._watch = self._watch, None
        if watch is not None:
            watch.end()

    async def close(self, reason: str) -> None:
        """End the actor, after ``close_here``."""
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if self._actor is not None:
            await self._actor.stop(reason)


class _IdleWatch:
    """A thread that checks a synchronous session for idle runs while any are open.

    It does not keep the session alive.
    """

    def __init__(self, runs: PartialRuns, seconds: float) -> None:
        self._runs = weakref.ref(runs)
        self._seconds = seconds
        self._ended = threading.Event()
        self._thread = threading.Thread(
            target=self._main, name="actorsession-partial-runs", daemon=True
        )

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def _main(self) -> None:
        while not self._ended.wait(self._seconds):
            runs = self._runs()
            if runs is None:
                return
            runs.collect()
            if not runs.keeps(self):
                return
            del runs

    def end(self) -> None:
        """End the thread."""
        self._ended.set()
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(_LOOK)


async def _answered(call: Call) -> None:
    future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    call.on_done = lambda: None if future.done() else future.set_result(None)
    await future
