"""Debugger states, the observers of debugged runs: the default state, and the registry for users' own.

A state is made for each debugged run. It is notified of the run, of the decorated graphs when the plan is
new, of each watched value, and of the end. The default state sends values to their URLs within the limits;
``Tally`` counts the outcomes. Called by ``debugger``, by one thread at a time for each run.

Invariant: an exception of a state or a sink is logged and counted and never changes the step, unless the run
has ``raise_sink_errors``.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from actorsession.config import DebugOptions
from actorsession.errors import InvalidArgumentError, OpError, from_exception
from actorsession.graph.node import GraphDef
from actorsession.runtime.debug.dump import DebugDump
from actorsession.runtime.debug.factory_registry import FactoryRegistry
from actorsession.runtime.debug.sinks import DebugSink

__all__ = ["DebuggerState", "DebuggerStateRegistry", "SinkState", "Tally"]

_log = logging.getLogger("actorsession.debugger")


class DebuggerState:
    """The observer of one debugged run; the base class ignores all events.

    A subclass overrides the methods of interest. They are called by one thread at a time, which may be one of
    the kernel pool.
    """

    def publish_debug_metadata(
        self,
        global_step: int,
        session_run_index: int,
        executor_step_index: int,
        input_names: Sequence[str],
        output_names: Sequence[str],
        target_names: Sequence[str],
    ) -> None:
        """Handle the begin of the run.

        Args:
            global_step: the caller's own count of steps; -1 for none.
            session_run_index: index among the session's debugged runs, from 0.
            executor_step_index: index among the runs of this plan, from 0.
            input_names: the feeds.
            output_names: the fetches.
            target_names: the targets.
        """

    def publish_graph(self, graph_def: GraphDef, device: str) -> None:
        """Handle the decorated graph of a device, in the first run of a plan.

        Args:
            graph_def: the partition, including the debugger's nodes.
            device: full name of the device.
        """

    def publish_tensor(self, dump: DebugDump, debug_urls: Sequence[str]) -> None:
        """Handle a watched value.

        Args:
            dump: the value, which does not change any more.
            debug_urls: the URLs of its watches.
        """

    def publish_end(self, error: OpError | None) -> None:
        """Handle the end of the run.

        Args:
            error: the step's first error; ``None`` if there was none.
        """


StateFactory: TypeAlias = Callable[[DebugOptions], DebuggerState]


class DebuggerStateRegistry(FactoryRegistry):
    """The factory of the debugger states of this process; one factory at a time.

    The state of a run belongs to the process of the session's client, also if a master runs the session.
    """

    @classmethod
    def register_factory(cls, factory: StateFactory | None) -> StateFactory | None:
        """Set the factory for the states of all debugged runs that begin from now on.

        Args:
            factory: maps the run's options to a state; ``None`` for the default state.

        Returns:
            The previous factory.
        """
        before: StateFactory | None = cls._replace(factory)
        return before

    @classmethod
    def create_state(cls, debug_options: DebugOptions, default: StateFactory | None = None) -> DebuggerState:
        """Make the state of a run.

        Args:
            debug_options: options of the run.
            default: the factory if none is registered.

        Raises:
            InvalidArgumentError: if there is neither, or the factory makes something else.
        """
        factory: StateFactory | None = cls._registered() or default
        if factory is None:
            raise InvalidArgumentError(
                "no debugger state factory is registered: DebuggerStateRegistry.register_factory(...)"
            )
        state = factory(debug_options)
        if not isinstance(state, DebuggerState):
            raise InvalidArgumentError(f"a debugger state factory makes a DebuggerState, this one made {state!r:.100}")
        return state


class Tally:
    """The counters of one run, and the handling of failing sinks."""

    def __init__(self, options: DebugOptions) -> None:
        self._raises = options.raise_sink_errors
        self._told: set[str] = set()
        self.kept = self.kept_bytes = self.left_out = self.left_out_bytes = 0
        self.seen = self.failures = 0
        self.last_failure = ""

    def failed(self, who: str, exc: Exception, *, may_raise: bool = True) -> None:
        """Log and count a failure; raise it if the run has ``raise_sink_errors``."""
        self.failures += 1
        self.last_failure = f"{who} failed: {type(exc).__name__}: {exc}"
        if who not in self._told:  # one line per run and sink, not one per value
            self._told.add(who)
            _log.warning("debugged run: %s", self.last_failure)
        if self._raises and may_raise:
            raise type(from_exception(exc))(self.last_failure) from exc

    def counts(self) -> list[int]:
        """Return the counters as plain values, for ``add``."""
        return [self.seen, self.kept, self.kept_bytes, self.left_out, self.left_out_bytes, self.failures]

    def add(self, counts: Sequence[int], last_failure: str) -> None:
        """Add the counters of another part of the run, and its last failure, empty for none."""
        seen, kept, kept_bytes, left_out, left_out_bytes, failures = counts
        self.seen += seen
        self.kept += kept
        self.kept_bytes += kept_bytes
        self.left_out += left_out
        self.left_out_bytes += left_out_bytes
        self.failures += failures
        self.last_failure = last_failure or self.last_failure

    def count(self, dump: DebugDump, *, kept: bool) -> None:
        """Count the outcome of a value at one destination."""
        if kept:
            self.kept += 1
            self.kept_bytes += dump.nbytes
        else:
            self.left_out += 1
            self.left_out_bytes += dump.nbytes


class SinkState(DebuggerState):
    """The default state, which sends values to their URLs within the limits."""

    def __init__(self, options: DebugOptions, sinks: Mapping[str, DebugSink], tally: Tally) -> None:
        self._limit = options.run_byte_usage_limit
        self._sinks = sinks
        self._tally = tally

    def _each(self, call: Callable[[DebugSink], None], *, may_raise: bool = True) -> None:
        for url, sink in self._sinks.items():
            try:
                call(sink)
            except Exception as exc:
                self._tally.failed(f"debug sink {url}", exc, may_raise=may_raise)

    def publish_debug_metadata(
        self,
        global_step: int,
        session_run_index: int,
        executor_step_index: int,
        input_names: Sequence[str],
        output_names: Sequence[str],
        target_names: Sequence[str],
    ) -> None:
        """Report the run to each sink."""
        metadata = {
            "global_step": global_step,
            "session_run_index": session_run_index,
            "executor_step_index": executor_step_index,
            "input_names": list(input_names),
            "output_names": list(output_names),
            "target_names": list(target_names),
        }
        self._each(lambda sink: sink.begin(metadata))

    def publish_graph(self, graph_def: GraphDef, device: str) -> None:
        """Pass the graph to each sink."""
        self._each(lambda sink: sink.take_graph(graph_def, device))

    def publish_tensor(self, dump: DebugDump, debug_urls: Sequence[str]) -> None:
        """Pass the value to the sinks of its URLs, within the limits."""
        tally = self._tally
        for url in debug_urls:
            sink = self._sinks[url]
            if sink.keeps and tally.kept_bytes + dump.nbytes > self._limit:
                tally.count(dump, kept=False)
                continue
            try:
                kept = sink.take(dump)
            except Exception as exc:
                tally.failed(f"debug sink {url}", exc)
                continue
            if sink.keeps:
                tally.count(dump, kept=kept)

    def publish_end(self, error: OpError | None) -> None:
        """Report the end of the run to each sink."""
        summary = {
            "kept": self._tally.kept,
            "left_out": self._tally.left_out,
            "left_out_bytes": self._tally.left_out_bytes,
            "error": str(error) if error else "",
        }
        self._each(lambda sink: sink.end(summary), may_raise=False)
