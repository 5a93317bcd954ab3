"""The debugger of a local session: plans of decorated graphs, and debugged runs.

``SessionDebugger`` belongs to a direct session. It caches the plans of debugged runs and begins a
``DebugRun`` for each run. The run passes the values that generated code reports to a debugger state. Called
by the direct session and, through the step, by generated code.

Invariants: all errors in the options are found before the step runs. A state is called by one thread at a
time, and not after the end. A run without debug options does not use this module.
"""

from __future__ import annotations

import itertools
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from actorsession.config import DebugOptions
from actorsession.errors import OpError
from actorsession.graph.node import GraphDef
from actorsession.plan.signature import RunSignature
from actorsession.runtime.debug.dump import DebugDump, DebugReport, DumpStore
from actorsession.runtime.debug.graph import DebugGraphDecorator, WatchPoint, watched_by
from actorsession.runtime.debug.sinks import sink_for
from actorsession.runtime.debug.state import DebuggerState, DebuggerStateRegistry, SinkState, Tally
from actorsession.runtime.engine.loaded_graph import LoadedGraph

__all__ = ["DebugPlan", "DebugRun", "SessionDebugger"]

_log = logging.getLogger("actorsession.debugger")
# Decorated plans cached per session: a debugging session repeats a few sets of watches.
_PLANS = 32


class DebugPlan:
    """The plan of a debugged run.

    Args:
        decorator: the decorator that made the graph.
        graph: its partitions, decorated and loaded.
    """

    def __init__(self, decorator: DebugGraphDecorator, graph: LoadedGraph) -> None:
        self.decorator = decorator
        self.graph = graph
        self.steps = itertools.count()

    def publish_graph(self, state: DebuggerState) -> None:
        """Pass the decorated graph of each device to a state."""
        for part in self.graph.partitions:
            state.publish_graph(GraphDef(part.nodes), part.device)


class DebugRun:
    """One debugged run, owned by its step.

    Args:
        plan: the plan.
        options: options of the run.
        session_run_index: index among the session's debugged runs.
        store: the session's store.
        state: the debugger state of the run.
        tally: counts the outcomes of watched values.

    Attributes:
        graph: the graph to run.
    """

    def __init__(
        self,
        plan: DebugPlan,
        options: DebugOptions,
        session_run_index: int,
        store: DumpStore,
        state: DebuggerState,
        tally: Tally,
    ) -> None:
        self.graph = plan.graph
        self._plan = plan
        self._options = options
        self._store = store
        self._index = session_run_index
        self._step_index = next(plan.steps)
        self._state = state
        self._tally = tally
        self._lock = threading.Lock()
        self._ended = False

    def begin(self) -> None:
        """Report the run to the state, and the plan if it is new.

        Raises:
            OpError: the error of the state, if the run has ``raise_sink_errors``.
        """
        signature = self._plan.decorator.signature
        if self._options.reset_disk_byte_usage:
            self._store.reset_disk()
        try:
            self._tell(
                lambda: self._state.publish_debug_metadata(
                    self._options.global_step, self._index, self._step_index,
                    signature.feeds, signature.fetches, signature.targets,
                )
            )  # fmt: skip
            if not self._step_index:
                self._log_refused()
                self._tell(lambda: self._plan.publish_graph(self._state))
        except OpError as error:
            self.end(error)
            raise

    def _log_refused(self) -> None:
        refused = list(self._plan.decorator.refused)
        if refused:
            _log.warning(
                "debugged run %d leaves out %d watches whose debug op cannot be made; the first: %s",
                self._index, len(refused), refused[0],
            )  # fmt: skip

    def shown(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return a segment's function that reports the values of its nodes to this run, in any thread."""

        def call(*arguments: Any) -> Any:
            with watched_by(self):
                return function(*arguments)

        return call

    def watch(self, number: int, values: Sequence[Any]) -> None:
        """Handle values that generated code reports, in any thread.

        Raises:
            InvalidArgumentError: if a numerics check fails.
            OpError: the error of the state, if the run has ``raise_sink_errors``.
        """
        point = self._plan.decorator.points[number]
        if isinstance(point, WatchPoint):
            self._watch(point, values[0])
        else:
            point.check(values)

    def _watch(self, point: WatchPoint, value: Any) -> None:
        for op, urls in point.wants:
            kept = op.apply(value, point.dtype)
            if kept is None:
                continue
            dump = DebugDump(
                node_name=point.node_name, output_slot=point.output_slot, device_name=point.device,
                debug_op=op.name, op_type=point.op_type, value=kept, timestamp=time.time(),
                global_step=self._options.global_step, session_run_index=self._index,
                executor_step_index=self._step_index,
            )  # fmt: skip
            try:
                with self._lock:
                    if not self._ended:
                        self._tally.seen += 1
                        self._tell(partial(self._state.publish_tensor, dump, urls))
            except OpError as error:
                error.locate(node=point.node_name, device=point.device, source=point.source)
                raise

    def _tell(self, call: Callable[[], None], *, may_raise: bool = True) -> None:
        """Call the state; count its failures, or raise them if the run has ``raise_sink_errors``."""
        try:
            call()
        except Exception as exc:
            # The default state's own errors were counted where they occurred.
            if isinstance(self._state, SinkState) and isinstance(exc, OpError):
                raise
            who = f"debugger state {type(self._state).__name__}"
            self._tally.failed(who, exc, may_raise=may_raise)

    def end(self, error: OpError | None) -> None:
        """End the run: notify the state, and keep the report; may be called twice."""
        with self._lock:
            if self._ended:
                return
            self._ended = True
            self._tell(lambda: self._state.publish_end(error), may_raise=False)
        tally, decorator = self._tally, self._plan.decorator
        if tally.left_out:
            _log.warning(
                "debugged run %d: %d values of %d bytes were left out, for a limit is reached",
                self._index, tally.left_out, tally.left_out_bytes,
            )  # fmt: skip
        self._store.add_report(
            DebugReport(
                session_run_index=self._index, executor_step_index=self._step_index,
                global_step=self._options.global_step, seen=tally.seen, kept=tally.kept,
                kept_bytes=tally.kept_bytes, left_out=tally.left_out,
                left_out_bytes=tally.left_out_bytes, failures=tally.failures,
                last_failure=tally.last_failure, not_run=decorator.not_run,
                refused=tuple(decorator.refused), error=str(error) if error else "",
            )
        )  # fmt: skip


class SessionDebugger:
    """The plans, runs and results of one session's debugging; thread-safe.

    Args:
        make_plan: makes the decorated plan of a signature; raises InvalidArgumentError for options that name
            something that does not exist.

    Attributes:
        store: values that runs left in memory, and their reports.
    """

    def __init__(self, make_plan: Callable[[RunSignature, DebugOptions], DebugPlan]) -> None:
        self._make_plan = make_plan
        self.store = DumpStore()
        self._lock = threading.Lock()
        self._plans: OrderedDict[Any, DebugPlan] = OrderedDict()  # least recently used first
        self._runs = itertools.count()

    def begin(self, signature: RunSignature, options: DebugOptions) -> DebugRun:
        """Begin a debugged run; its ``end`` must be called.

        Args:
            signature: of the run; feeds and fetches are in its order.
            options: the debug options of the run.

        Raises:
            InvalidArgumentError: for a node, slot, debug op or URL that does not exist; no run has
                begun then.
            OpError: the error of the debugger state, if the options have ``raise_sink_errors``.
        """
        watches = options.debug_tensor_watch_opts
        urls = dict.fromkeys([url for watch in watches for url in watch.debug_urls])
        sinks = {url: sink_for(url, self.store, options) for url in urls}
        plan = self.prepare(signature, options)
        tally = Tally(options)
        state = DebuggerStateRegistry.create_state(
            options, lambda _: SinkState(options, sinks, tally)
        )
        run = DebugRun(plan, options, next(self._runs), self.store, state, tally)
        run.begin()
        return run

    def prepare(self, signature: RunSignature, options: DebugOptions) -> DebugPlan:
        """Return the decorated plan of a signature; make it if it is not cached.

        Raises:
            InvalidArgumentError: for a node, slot or debug op that does not exist.
        """
        watches = tuple(options.debug_tensor_watch_opts)
        key = (signature, watches, options.break_on, tuple(options.break_exclude))
        with self._lock:
            found = self._plans.get(key)
            if found is not None:
                self._plans.move_to_end(key)
                return found
        made = self._make_plan(signature, options)
        with self._lock:
            # If two threads made the plan, the first one wins, so that its runs are counted together.
            plan = self._plans.setdefault(key, made)
            self._plans.move_to_end(key)
            while len(self._plans) > _PLANS:
                self._plans.popitem(last=False)
        return plan

    def forget_plans(self) -> None:
        """Release all plans; the results of runs stay."""
        with self._lock:
            self._plans.clear()
