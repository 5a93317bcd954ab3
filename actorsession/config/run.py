"""The options of one run: ``RunOptions``, including its debugging.

Frozen values with TensorFlow's names. ``session`` and ``runtime`` read them.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar

from actorsession.config.debug import DebugOptions
from actorsession.config.wire import check_types, from_wire, one_of, reject, to_wire
from actorsession.durations import checked_milliseconds
from actorsession.errors import InvalidArgumentError
from actorsession.records import changed_fields, dataclass
from actorsession.spans import TRACE_PARENT

__all__ = ["RunExperimental", "RunOptions", "TraceLevel"]


class TraceLevel(enum.IntEnum):
    """How much a run records about itself."""

    NO_TRACE = 0
    SOFTWARE_TRACE = 1
    HARDWARE_TRACE = 2
    FULL_TRACE = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class RunExperimental:
    """Options of one run that TensorFlow marks as experimental; ``RunOptions.Experimental``.

    Attributes:
        collective_graph_key: other than 0, the collectives of the step meet those of other sessions' steps
            with the same key: each session runs the members that are in its graph. A direct session has all
            members itself, whatever the key.
        use_run_handler_pool: refused: each session has its share of the kernel pool.
        trace_parent: the span of OpenTelemetry below which the tasks make theirs, as W3C's header
            ``traceparent``. Inside a span the session sets it itself. Not one of TensorFlow's.
    """

    collective_graph_key: int = 0
    use_run_handler_pool: bool = False
    trace_parent: str = ""

    __repr__ = changed_fields

    def __post_init__(self) -> None:
        check_types(self)
        why = "each session has its share of the kernel pool"
        reject("use_run_handler_pool", self.use_run_handler_pool, (False,), why)
        if self.trace_parent and TRACE_PARENT.fullmatch(self.trace_parent) is None:
            given = f"{self.trace_parent!r:.100}"
            raise InvalidArgumentError(f"trace_parent is the value of a traceparent header, got {given}")

    def to_wire(self) -> dict[str, Any]:
        """Return the options as plain values."""
        return to_wire(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions:
    """The options of one run.

    Attributes:
        trace_level: above ``NO_TRACE`` the run's metadata gets step statistics.
        timeout_in_ms: limit for this run; 0 for the session's.
        inter_op_thread_pool: index of the session's pool that runs the kernels; -1 for the caller's thread.
            Remote sessions ignore it.
        output_partition_graphs: whether the metadata gets the graph of each device.
        debug_options: tensors to watch.
        experimental: what TensorFlow marks as experimental.
    """

    Experimental: ClassVar[type[RunExperimental]] = RunExperimental
    NO_TRACE: ClassVar[TraceLevel] = TraceLevel.NO_TRACE
    SOFTWARE_TRACE: ClassVar[TraceLevel] = TraceLevel.SOFTWARE_TRACE
    HARDWARE_TRACE: ClassVar[TraceLevel] = TraceLevel.HARDWARE_TRACE
    FULL_TRACE: ClassVar[TraceLevel] = TraceLevel.FULL_TRACE

    trace_level: TraceLevel = TraceLevel.NO_TRACE
    timeout_in_ms: int = 0
    inter_op_thread_pool: int = 0
    output_partition_graphs: bool = False
    debug_options: DebugOptions = field(default_factory=DebugOptions, metadata=one_of(DebugOptions))
    experimental: RunExperimental = field(default_factory=RunExperimental, metadata=one_of(RunExperimental))

    __repr__ = changed_fields

    def __post_init__(self) -> None:
        check_types(self)
        _ = checked_milliseconds("timeout_in_ms", self.timeout_in_ms)
        try:
            object.__setattr__(self, "trace_level", TraceLevel(self.trace_level))
        except ValueError as exc:
            levels = ", ".join(f"{level.name}={level.value}" for level in TraceLevel)
            raise InvalidArgumentError(f"trace_level must be one of {levels}, got {self.trace_level!r}") from exc

    @property
    def traced(self) -> bool:
        """Whether step statistics are requested."""
        return self.trace_level > TraceLevel.NO_TRACE

    @property
    def is_plain(self) -> bool:
        """Whether they request nothing but a limit and a thread pool."""
        return not (
            self.trace_level
            or self.output_partition_graphs
            or self.debug_options.active
            or self.experimental.collective_graph_key
            or self.experimental.trace_parent
        )

    def to_wire(self) -> dict[str, Any]:
        """Return the options as plain values."""
        return to_wire(self)

    @classmethod
    def from_wire(cls, value: Mapping[str, Any]) -> RunOptions:
        """Read the result of ``to_wire``.

        Raises:
            InvalidArgumentError: the value has another form, an unknown field or a value that is not
                allowed.
        """
        return from_wire(cls, value)
