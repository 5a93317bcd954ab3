"""What hears of a debugged run: debugger states, the default one and the registry for the user's own.

A state is made for each debugged run. It hears of the run, of the decorated graphs when the plan is new,
of each watched value, and of the end. The default state sends values where their URLs say, within the
limits; ``Tally`` counts what became of them. Called by ``debugger``, by one thread at a time for each
run.

Invariant: what a state or a sink raises is logged and counted and never changes the step, unless the run
says ``raise_sink_errors``.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from actorsession.config import DebugOptions
from actorsession.errors import InvalidArgumentError, OpError, from_exception
from actorsession.graph.node import GraphDef
from actorsession.runtime.debug.dump import DebugDump
from actorsession.runtime.debug.sinks import DebugSink

__all__ = ["DebuggerState", "DebuggerStateRegistry", "SinkState", "Tally"]

_log = logging.getLogger("actorsession.debugger")


class DebuggerState:
    """What hears of one debugged run; the base does nothing with it.

    A subclass overrides what it wants to hear. It is called by one thread at a time, which may be one
    of the kernel pool.
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
        """Hear of the run before it starts.

        Args:
            global_step: the caller's own count of steps; -1 for none.
            session_run_index: which of the session's debugged runs, from 0.
            executor_step_index: which run of this plan, from 0.
            input_names: the tensors that are fed.
            output_names: the tensors that are fetched.
            target_names: the operations that run as targets.
        """

    def publish_graph(self, graph_def: GraphDef, device: str) -> None:
        """Hear of the decorated graph of a device, in the first run of a plan.

        Args:
            graph_def: the part, with the debugger's nodes in it.
            device: full name.
        """

    def publish_tensor(self, dump: DebugDump, debug_urls: Sequence[str]) -> None:
        """Get a watched value.

        Args:
            dump: the value, which nobody changes any more.
            debug_urls: where the watches want it.
        """

    def publish_end(self, error: OpError | None) -> None:
        """Hear how the run ended.

        Args:
            error: the step's first error; ``None`` if all went well.
        """


StateFactory: TypeAlias = Callable[[DebugOptions], DebuggerState]


class DebuggerStateRegistry:
    """What makes the debugger states of this process; one factory at a time."""

    _lock = threading.Lock()
    _factory: StateFactory | None = None

    @classmethod
    def register_factory(cls, factory: StateFactory | None) -> StateFactory | None:
        """Set what makes the state of each debugged run that begins from now on.

        Args:
            factory: from the run's options to a state; ``None`` for the default one.

        Returns:
            The factory that counted before.
        """
        with cls._lock:
            before, cls._factory = cls._factory, factory
        return before

    @classmethod
    def create_state(
        cls, debug_options: DebugOptions, default: StateFactory | None = None
    ) -> DebuggerState:
        """Make the state of a run.

        Args:
            debug_options: of the run.
            default: what makes it if no factory is registered.

        Raises:
            InvalidArgumentError: if there is neither, or the factory makes something else.
        """
        factory = cls._factory or default
        if factory is None:
            raise InvalidArgumentError(
                "no debugger state factory is registered: DebuggerStateRegistry.register_factory(...)"
            )
        state = factory(debug_options)
        if not isinstance(state, DebuggerState):
            raise InvalidArgumentError(
                f"a debugger state factory makes a DebuggerState, this one made {state!r:.100}"
            )
        return state


class Tally:
    """What is counted of one run, and what to do about a sink that fails."""

    def __init__(self, options: DebugOptions) -> None:
        self._raises = options.raise_sink_errors
        self._told: set[str] = set()
        self.kept = self.kept_bytes = self.left_out = self.left_out_bytes = 0
        self.seen = self.failures = 0
        self.last_failure = ""

    def failed(self, who: str, exc: Exception, *, may_raise: bool = True) -> None:
        """Log and count a failure, or raise it where the run asks for that."""
        self.failures += 1
        self.last_failure = f"{who} failed: {type(exc).__name__}: {exc}"
        if who not in self._told:  # one line per run and sink, not one per value
            self._told.add(who)
            _log.warning("debugged run: %s", self.last_failure)
        if self._raises and may_raise:
            raise type(from_exception(exc))(self.last_failure) from exc

    def count(self, dump: DebugDump, *, kept: bool) -> None:
        """Count what became of a value at one place."""
        if kept:
            self.kept += 1
            self.kept_bytes += dump.nbytes
        else:
            self.left_out += 1
            self.left_out_bytes += dump.nbytes


class SinkState(DebuggerState):
    """The default state: values go where their URLs say, within the limits."""

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
        """Tell each sink of the run."""
        metadata = {
            "global_step": global_step, "session_run_index": session_run_index,
            "executor_step_index": executor_step_index, "input_names": list(input_names),
            "output_names": list(output_names), "target_names": list(target_names),
        }  # fmt: skip
        self._each(lambda sink: sink.begin(metadata))

    def publish_graph(self, graph_def: GraphDef, device: str) -> None:
        """Give each sink the graph."""
        self._each(lambda sink: sink.take_graph(graph_def, device))

    def publish_tensor(self, dump: DebugDump, debug_urls: Sequence[str]) -> None:
        """Give the value to the sinks that are to have it, as far as the limits allow."""
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
        """Tell each sink how the run ended."""
        summary = {
            "kept": self._tally.kept, "left_out": self._tally.left_out,
            "left_out_bytes": self._tally.left_out_bytes, "error": str(error) if error else "",
        }  # fmt: skip
        self._each(lambda sink: sink.end(summary), may_raise=False)
