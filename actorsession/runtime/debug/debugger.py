"""The debugger of a session: plans of debugged runs, and the runs.

``SessionDebugger`` belongs to a session. It caches what it knows of the plans of debugged runs and begins a
``DebugRun`` for each run. The run passes what it is told to a debugger state. In a direct session it is a
``LocalDebugRun``, which generated code reports values to. In a session of a master the values come from the
workers: see ``task_debugger`` for their side and ``session.remote.remote_debugger`` for the client's.

Invariants: all errors in the options are found before the step runs. A state is called by one thread at a
time, and not after the end. A run without debug options does not use this module.
"""

from __future__ import annotations

import itertools
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import field
from functools import partial
from typing import Generic, TypeVar

from actorsession.config import DebugOptions
from actorsession.errors import OpError
from actorsession.graph.node import GraphDef
from actorsession.plan.signature import RunSignature
from actorsession.records import dataclass
from actorsession.runtime.debug.dump import DebugDump, DebugReport, DumpStore
from actorsession.runtime.debug.graph import DebugGraphDecorator
from actorsession.runtime.debug.sinks import check_url, sink_for
from actorsession.runtime.debug.state import DebuggerState, DebuggerStateRegistry, SinkState, Tally
from actorsession.runtime.debug.watched_step import DebugRunDef, WatchedStep
from actorsession.runtime.engine.loaded_graph import LoadedGraph

__all__ = ["DebugPlan", "DebugRun", "LoadedDebugPlan", "LocalDebugRun", "SessionDebugger"]

_log = logging.getLogger("actorsession.debugger")
# Plans cached per session: a debugging session repeats a few sets of watches.
_PLANS = 32


class DebugPlan:
    """A session's record of the plan of debugged runs.

    Args:
        signature: its signature.

    Attributes:
        steps: the indices of its runs.
        not_run: tensors that are watched by name and that the run does not need.
        refused: watches left out because their debug op could not be made, each with the reason.
    """

    def __init__(self, signature: RunSignature) -> None:
        self.signature = signature
        self.steps = itertools.count()
        self.not_run: tuple[str, ...] = ()
        self.refused: tuple[str, ...] = ()


class LoadedDebugPlan(DebugPlan):
    """The plan of debugged runs in this process.

    Args:
        decorator: the decorator that made the graph.
        graph: its partitions, decorated and loaded.
    """

    def __init__(self, decorator: DebugGraphDecorator, graph: LoadedGraph) -> None:
        super().__init__(decorator.signature)
        self.graph = graph
        self.points = decorator.points
        self.not_run, self.refused = decorator.not_run, tuple(decorator.refused)


P = TypeVar("P", bound=DebugPlan)


@dataclass(slots=True)
class DebugRun(Generic[P]):
    """One debugged run at its session.

    Attributes:
        plan: the plan.
        run: the run as plain data.
        store: the session's store.
        state: the debugger state of the run.
        tally: counts the outcomes of watched values.
        lost: tasks of a cluster whose values did not arrive, each with the reason.
    """

    plan: P
    run: DebugRunDef
    store: DumpStore
    state: DebuggerState
    tally: Tally
    lost: tuple[str, ...] = ()
    _over: bool = field(init=False, default=False)

    def begin(self) -> None:
        """Report the run to the state.

        Raises:
            OpError: the error of the state, if the run has ``raise_sink_errors``.
        """
        signature, run = self.plan.signature, self.run
        try:
            self.tell(
                lambda: self.state.publish_debug_metadata(
                    run.options.global_step,
                    run.session_run_index,
                    run.executor_step_index,
                    signature.feeds,
                    signature.fetches,
                    signature.targets,
                )
            )
        except OpError as error:
            self.end(error)
            raise

    def publish_graph(self, graph_def: GraphDef, device: str) -> None:
        """Pass the decorated graph of a device to the state."""
        self.tell(partial(self.state.publish_graph, graph_def, device))

    def publish(self, dump: DebugDump, urls: Sequence[str]) -> None:
        """Pass a watched value to the state.

        Raises:
            OpError: the error of the state, if the run has ``raise_sink_errors``.
        """
        self.tell(partial(self.state.publish_tensor, dump, urls))

    def log_refused(self) -> None:
        """Log the watches that the plan leaves out."""
        refused = self.plan.refused
        if refused:
            _log.warning(
                "debugged run %d leaves out %d watches whose debug op cannot be made; the first: %s",
                self.run.session_run_index,
                len(refused),
                refused[0],
            )

    def tell(self, call: Callable[[], None], *, may_raise: bool = True) -> None:
        """Call the state; count its failures, or raise them if the run has ``raise_sink_errors``."""
        try:
            call()
        except Exception as exc:
            # The default state's own errors were counted where they occurred.
            if isinstance(self.state, SinkState) and isinstance(exc, OpError):
                raise
            who = f"debugger state {type(self.state).__name__}"
            self.tally.failed(who, exc, may_raise=may_raise)

    def end(self, error: OpError | None) -> None:
        """End the run: notify the state, and keep the report; may be called twice."""
        if self._over:
            return
        self._over = True
        self.tell(lambda: self.state.publish_end(error), may_raise=False)
        tally, plan, run = self.tally, self.plan, self.run
        if tally.left_out:
            _log.warning(
                "debugged run %d: %d values of %d bytes were left out, for a limit is reached",
                run.session_run_index,
                tally.left_out,
                tally.left_out_bytes,
            )
        self.store.add_report(
            DebugReport(
                session_run_index=run.session_run_index,
                executor_step_index=run.executor_step_index,
                global_step=run.options.global_step,
                seen=tally.seen,
                kept=tally.kept,
                kept_bytes=tally.kept_bytes,
                left_out=tally.left_out,
                left_out_bytes=tally.left_out_bytes,
                failures=tally.failures,
                last_failure=tally.last_failure,
                not_run=plan.not_run,
                refused=plan.refused,
                lost=self.lost,
                error=str(error) if error else "",
            )
        )


class LocalDebugRun(WatchedStep):
    """One debugged run in this process, owned by its step.

    Args:
        debug: the run at its session; not begun.

    Attributes:
        graph: the graph to run.
    """

    def __init__(self, debug: DebugRun[LoadedDebugPlan]) -> None:
        super().__init__(debug.plan.points, debug.run)
        self.graph = debug.plan.graph
        self._debug = debug

    def begin(self) -> None:
        """Report the run to the state, and the plan if it is new.

        Raises:
            OpError: the error of the state, if the run has ``raise_sink_errors``.
        """
        debug = self._debug
        if self.run.options.reset_disk_byte_usage:
            debug.store.reset_disk()
        debug.begin()
        if self.run.executor_step_index:
            return
        debug.log_refused()
        try:
            for part in self.graph.partitions:
                debug.publish_graph(GraphDef(part.nodes), part.device)
        except OpError as error:
            self.end(error)
            raise

    def publish(self, dump: DebugDump, urls: Sequence[str]) -> None:
        """See ``WatchedStep.publish``."""
        self._debug.tally.seen += 1
        self._debug.publish(dump, urls)

    def end(self, error: OpError | None) -> None:
        """See ``WatchedStep.end``."""
        with self._lock:
            self._ended = True
            self._debug.end(error)


class SessionDebugger(Generic[P]):
    """The plans, runs and results of one session's debugging; thread-safe.

    Args:
        make_plan: makes the plan of a signature, the last argument says whether of partial runs; raises
            InvalidArgumentError for options that name something that does not exist.
        writes_files: whether ``file://`` names a directory of this process's host, and not of the workers'.

    Attributes:
        store: values that runs left in memory, and their reports.
    """

    def __init__(
        self, make_plan: Callable[[RunSignature, DebugOptions, bool], P], *, writes_files: bool = True
    ) -> None:
        self._make_plan = make_plan
        self._writes_files = writes_files
        self.store = DumpStore()
        self._lock = threading.Lock()
        self._plans: OrderedDict[Hashable, P] = OrderedDict()  # least recently used first
        self._runs = itertools.count()

    def new_run(self, signature: RunSignature, options: DebugOptions, *, is_partial: bool = False) -> DebugRun[P]:
        """Return a new debugged run, not begun.

        Args:
            signature: of the run; feeds and fetches are in its order.
            options: the debug options of the run.
            is_partial: whether it is a partial run.

        Raises:
            InvalidArgumentError: for a node, slot, debug op or URL that does not exist, as far as it is known
                here; no run has begun then.
        """
        watches = options.debug_tensor_watch_opts
        urls = dict.fromkeys([url for watch in watches for url in watch.debug_urls])
        sinks = {}
        for url in urls:
            if self._writes_files or not check_url(url):
                sinks[url] = sink_for(url, self.store, options)
        plan = self.prepare(signature, options, is_partial=is_partial)
        tally = Tally(options)
        state = DebuggerStateRegistry.create_state(options, lambda _: SinkState(options, sinks, tally))
        run = DebugRunDef(
            session_run_index=next(self._runs),
            executor_step_index=next(plan.steps),
            options=options,
            all_values=not isinstance(state, SinkState),
        )
        return DebugRun(plan, run, self.store, state, tally)

    def prepare(self, signature: RunSignature, options: DebugOptions, *, is_partial: bool = False) -> P:
        """Return the plan of a signature; make it if it is not cached.

        Raises:
            InvalidArgumentError: for a node, slot or debug op that does not exist.
        """
        key = (signature, options.of_plan, is_partial)
        with self._lock:
            kept = self._plans.get(key)
            if kept is not None:
                self._plans.move_to_end(key)
                return kept
        new = self._make_plan(signature, options, is_partial)
        with self._lock:
            # If two threads made the plan, the first one wins, so that its runs are counted together.
            plan = self._plans.setdefault(key, new)
            self._plans.move_to_end(key)
            while len(self._plans) > _PLANS:
                self._plans.popitem(last=False)
        return plan

    def has_plan(self, signature: RunSignature, options: DebugOptions, *, is_partial: bool) -> bool:
        """Return whether the plan of a signature is cached."""
        with self._lock:
            return (signature, options.of_plan, is_partial) in self._plans

    def forget_plans(self) -> None:
        """Release all plans; the results of runs stay."""
        with self._lock:
            self._plans.clear()
