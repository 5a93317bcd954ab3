"""The partial runs of one session at its master: steps whose feeds come later.

The setup of a partial run is a run of its plan: it begins the parts, and its answer is the handle. A call is
a frame of feeds, and the fetches that are ready come back as they are. The client graphs are kept apart from
those of ordinary runs, because their feeds and fetches are transferred differently. Owned by a
``SessionSteps``, which holds the runs.

Invariant: A run holds its client graph until it is over.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any

from actorsession.actors.deadline import Deadline
from actorsession.actors.timer_wheel import Alarm
from actorsession.cluster.master.client_graph import ClientGraph
from actorsession.cluster.master.client_graphs import ClientGraphs
from actorsession.cluster.master.partial_step import MasterPartialStep, MasterRun, OwnTask, confirm
from actorsession.cluster.master.program import Program
from actorsession.cluster.master.step_parts import BoundPart
from actorsession.cluster.unsent import unsent_fetch
from actorsession.errors import CancelledError, DeadlineExceededError, InvalidArgumentError, from_exception
from actorsession.messages.step_frames import GraphRequest
from actorsession.plan.partial import check_signature
from actorsession.plan.signature import RunSignature
from actorsession.rpc.local_calls import ClientRun
from actorsession.rpc.step_calls import ServedRun, encode_apart
from actorsession.runtime.partial.driver import PartialRunDriver
from actorsession.runtime.partial.manager import PartialRunMgr
from actorsession.runtime.partial.run_state import Call

if TYPE_CHECKING:
    from actorsession.cluster.master.session_steps import SessionSteps

__all__ = ["PartialProgram"]


class PartialProgram(Program):
    """The plan of partial runs; a run of it sets one up.

    Args:
        session: the steps of the session.
        graphs: the client graphs of partial runs.
        signature: its names.
        runs: the open partial runs of the session.

    Raises:
        InvalidArgumentError: if the signature is not valid for a partial run.
    """

    def __init__(
        self, session: SessionSteps, graphs: ClientGraphs, signature: RunSignature, runs: PartialRunMgr[MasterRun]
    ) -> None:
        check_signature(signature)
        super().__init__(session, graphs, signature)
        self._runs = runs

    def _feeds(self, graph: ClientGraph) -> list[int]:
        return []  # they come with calls

    def _bound(self, graph: ClientGraph, parts: tuple[BoundPart, ...]) -> None:
        self._label = str(graph.signature)
        self._own = OwnTask.of(self.session, self.session.plans.members.devices.client_device)

    def begin(self, run: ClientRun) -> None:
        """Set up a partial run, and answer with its handle; see ``StepProgram.begin``."""
        if run.asked is not None or self._is_debugged or run.values:
            self._check(run, 0)
        graph = self.graph or self.bind()
        if graph is None or self.session.must_prepare:
            self.begin_later(run)
        else:
            self._open(graph, run)

    async def _begin_with(self, graph: ClientGraph, run: ClientRun, deadline: Deadline) -> bool:
        bound = self.graph or self.bind()
        if bound is None or self.session.must_prepare:
            return False
        self._open(bound, run)
        return True

    def _open(self, graph: ClientGraph, run: ClientRun) -> None:
        session, plan = self.session, graph.partial
        assert plan is not None  # it was built for this
        asked = run.asked
        debug_run = None if asked is None else asked.debug_run
        state = self._runs.new_state(self._label, plan)
        self._graphs.hold(graph)
        try:
            step = MasterPartialStep(
                session,
                graph,
                self.parts,
                self._own,
                self._graphs.release,
                None if debug_run is None else GraphRequest(False, debug_run),
            )
        except BaseException:
            self._graphs.release(graph)
            raise
        opened = _OpenRun(session, self._runs)
        opened.driver = driver = PartialRunDriver(state, plan, step, opened.over)
        opened.close = run.open(opened)
        try:
            self._runs.begin(driver)
        except BaseException as exc:
            driver.abort(from_exception(exc) if isinstance(exc, Exception) else _unknown())
            raise
        session.set_up(run, driver)
        run.done(run.fetched((), ()), run.extra(state.handle))


class _OpenRun:
    """A partial run that is open, to whose client it is what a program is: each run of it is a call.

    Args:
        session: the steps of the session.
        runs: the open partial runs of the session.

    Attributes:
        driver: the run.
        close: ends the calls of the client.
    """

    __slots__ = ("_runs", "_session", "close", "driver")
    driver: MasterRun
    close: Callable[[], object]

    def __init__(self, session: SessionSteps, runs: PartialRunMgr[MasterRun]) -> None:
        self._session = session
        self._runs = runs

    def over(self, driver: MasterRun) -> None:
        """Forget the run, which is over."""
        self._runs.delete(driver)
        self.close()

    def abandon(self) -> None:
        """See ``ServedSetup.abandon``."""
        self.driver.abort(_unknown())

    def begin(self, run: ClientRun) -> None:
        """Feed and fetch; answered at once if nothing has to be waited for.

        Raises:
            InvalidArgumentError: for an invalid call, which has changed nothing.
        """
        session, asked, values = self._session, run.asked, run.values.read_all()
        session.last_used = time.monotonic()
        if len(values) != len(asked.feeds):
            raise InvalidArgumentError(
                f"a call that feeds {len(asked.feeds)} tensors brings as many values, got {len(values)}"
            )
        _, call = self._runs.call(self.driver.state.handle, asked.feeds, values, asked.fetches)
        if call.done:
            self._answer(run, call)
            return
        seconds = session.limit if run.seconds is None else run.seconds
        alarm = session.wheel.add(seconds, partial(self._late, run, call))
        run.on_cancel = self._cancelled
        call.on_done = partial(self._waited, run, call, alarm)

    def _waited(self, run: ClientRun, call: Call, alarm: Alarm) -> None:
        call.on_done = None
        self._session.wheel.discard(alarm)
        self._answer(run, call)

    def _late(self, run: ClientRun, call: Call) -> None:
        if call.done:  # it has taken effect
            return
        tasks = ", ".join(sorted(self.driver.step.unfinished))
        more = f"; parts that have not ended: {tasks}" if tasks else ""
        whose = self._session.whose_limit(run.seconds)
        what = f"a call of partial run {self.driver.state.handle!r}"
        self.driver.abort(DeadlineExceededError(f"{what} exceeded {whose}{more}"))

    def _cancelled(self) -> None:
        words = f"partial run {self.driver.state.handle!r} was cancelled by its caller"
        self.driver.abort(CancelledError(words))

    def _answer(self, run: ClientRun, call: Call) -> None:
        if call.error is not None:
            run.fail(call.error)
        elif type(run) is not ServedRun or not encode_apart(call.values, partial(self._send, run, call)):
            self._send(run, call, call.values)

    def _send(self, run: ClientRun, call: Call, values: Sequence[Any]) -> None:
        driver, graph = self.driver, self.driver.step.graph
        try:
            out = run.fetched((values,), zip(repeat(0), range(len(values))))
        except Exception as exc:
            run.fail(unsent_fetch(graph.partitions, call.fetches, values, from_exception(exc)))
            return
        if not graph.takes:
            run.done(out)
            return
        driver.step.unconfirmed += 1
        settle = self._session.deliveries.add(lambda received: confirm(driver, call, received=received))
        run.done(out, run.extra(None, True), settle)


def _unknown() -> CancelledError:
    return CancelledError("the setup was cancelled, and nobody knows the handle")
