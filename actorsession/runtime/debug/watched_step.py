"""What a step calls of a debugged run: it turns the values that generated code reports into dumps.

``WatchedStep`` is the common base of the debugged run of a session in this process and of the part of a run
at a worker, which differ in what becomes of a dump. Called by engines, in the threads of kernels.

Invariant: ``publish`` is called by one thread at a time, and not after the end.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

from actorsession.config import DebugOptions
from actorsession.errors import OpError, ProtocolError
from actorsession.records import dataclass
from actorsession.runtime.debug.dump import DebugDump
from actorsession.runtime.debug.graph import WatchPoint, watched_by
from actorsession.runtime.debug.numerics import NumericsPoint
from transports.host import current_host

__all__ = ["DebugRunDef", "WatchedStep"]


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugRunDef:
    """A debugged run as plain data, of which every task of a cluster that takes part gets a copy.

    Attributes:
        session_run_index: index among the session's debugged runs, from 0.
        executor_step_index: index among the runs of the plan, from 0.
        options: the options of the run; see ``DebugOptions.of_run``.
        all_values: whether graphs and all values go to the client, whatever their URLs, because a debugger
            state of its own handles them.
    """

    session_run_index: int
    executor_step_index: int
    options: DebugOptions
    all_values: bool = False

    def to_wire(self) -> list[Any]:
        """Return the run as plain values."""
        options = self.options.of_run.to_wire()
        return [self.session_run_index, self.executor_step_index, options, self.all_values]

    @classmethod
    def from_wire(cls, value: Any) -> DebugRunDef:
        """Read the result of ``to_wire``.

        Raises:
            ProtocolError: for any other form.
            InvalidArgumentError: for options that are not allowed.
        """
        match value:
            case [int(index), int(step), dict(options), bool(all_values)]:
                return cls(
                    session_run_index=index,
                    executor_step_index=step,
                    options=DebugOptions.from_wire(options),
                    all_values=all_values,
                )
        raise ProtocolError(f"this is not the wire form of a debugged run: {value!r:.100}")


class WatchedStep(ABC):
    """The debugged run to which a step belongs.

    Args:
        points: the observed points of its graph, by number.
        run: the run.
    """

    def __init__(self, points: Sequence[WatchPoint | NumericsPoint], run: DebugRunDef) -> None:
        self._points = points
        self.run = run
        self._lock = threading.Lock()
        self._ended = False

    @abstractmethod
    def publish(self, dump: DebugDump, urls: Sequence[str]) -> None:
        """Handle a watched value.

        Args:
            dump: the value.
            urls: the URLs of its watches.

        Raises:
            OpError: to end the step.
        """

    @abstractmethod
    def end(self, error: OpError | None) -> None:
        """End the run; may be called twice.

        Args:
            error: the step's first error; ``None`` if there was none.
        """

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
            OpError: the error of ``publish``.
        """
        point = self._points[number]
        if isinstance(point, WatchPoint):
            self._watch(point, values[0])
        else:
            point.check(values)

    def _watch(self, point: WatchPoint, value: Any) -> None:
        for op, urls in point.wants:
            kept = op.apply(value, point.dtype)
            if kept is None:
                continue
            run = self.run
            dump = DebugDump(
                node_name=point.node_name,
                output_slot=point.output_slot,
                device_name=point.device,
                debug_op=op.name,
                op_type=point.op_type,
                value=kept,
                timestamp=current_host().clock.time(),
                global_step=run.options.global_step,
                session_run_index=run.session_run_index,
                executor_step_index=run.executor_step_index,
            )
            try:
                with self._lock:
                    if not self._ended:
                        self.publish(dump, urls)
            except OpError as error:
                error.locate(node=point.node_name, device=point.device, source=point.source)
                raise
