"""The settings of a run's debugger: the watched tensors, and where their values are written.

Frozen values with TensorFlow's names; the debugger itself is in ``runtime``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from actorsession.config.wire import at_least, check_types, from_wire, list_of, to_wire
from actorsession.errors import InvalidArgumentError
from actorsession.records import changed_fields, dataclass

__all__ = ["DebugOptions", "DebugTensorWatch"]

# The values of ``break_on``; empty for no break.
_BREAKS = ("", "nan_or_inf")
_MIB = 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugTensorWatch:
    """One tensor to watch, or all outputs of one node.

    Attributes:
        node_name: name of the node; ``*`` for every node.
        output_slot: index of the output; -1 for all.
        debug_ops: what to keep of each value: ``DebugIdentity`` (the value), ``DebugNanCount`` or
            ``DebugNumericSummary``. Settings follow the name in parentheses, for instance
            ``DebugNumericSummary(upper_bound=10.0;mute_if_healthy=true)``.
        debug_urls: where it is written: ``memory://``, ``file:///directory`` or ``sink://name``.
        tolerate_debug_op_creation_failures: whether a debug op that does not exist or does not support the
            tensor's type is left out, with a line in the log, instead of refusing the run.
    """

    node_name: str
    output_slot: int = 0
    debug_ops: Sequence[str] = ("DebugIdentity",)
    debug_urls: Sequence[str] = ("memory://",)
    tolerate_debug_op_creation_failures: bool = False

    __repr__ = changed_fields

    def __post_init__(self) -> None:
        check_types(self)
        at_least(-1, "output_slot", self.output_slot)
        if not isinstance(self.node_name, str) or not self.node_name:
            raise InvalidArgumentError(f"node_name must be the name of a node, got {self.node_name!r}")
        for name in ("debug_ops", "debug_urls"):
            object.__setattr__(self, name, _strings(name, getattr(self, name)))

    def to_wire(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return to_wire(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugOptions:
    """The settings of a run's debugger.

    The limits count the bytes of what is kept. A value that would exceed one of them is counted, reported
    and not kept; the run continues. Over a master each worker applies them to what it writes and keeps, and
    the client to what it keeps.

    Attributes:
        debug_tensor_watch_opts: the tensors to watch.
        global_step: the caller's own count of steps, published with the run; -1 for none.
        reset_disk_byte_usage: whether the session's count of bytes on disk is reset before the run.
        disk_byte_usage_limit: most bytes that the session writes under ``file://`` URLs.
        memory_byte_usage_limit: most bytes that the session keeps for ``memory://``.
        run_byte_usage_limit: most bytes that this run keeps in memory and on disk together.
        break_on: ``nan_or_inf`` ends the step at the first node that produces a NaN or an infinity.
        break_exclude: shell patterns of the names of nodes at which the step does not end.
        raise_sink_errors: whether the step fails when a sink of watched values does; otherwise the failure
            is logged and counted.
    """

    debug_tensor_watch_opts: Sequence[DebugTensorWatch] = field(default=(), metadata=list_of(DebugTensorWatch))
    global_step: int = -1
    reset_disk_byte_usage: bool = False
    disk_byte_usage_limit: int = 1024 * _MIB
    memory_byte_usage_limit: int = 512 * _MIB
    run_byte_usage_limit: int = 256 * _MIB
    break_on: str = ""
    break_exclude: Sequence[str] = ()
    raise_sink_errors: bool = False

    __repr__ = changed_fields

    def __post_init__(self) -> None:
        check_types(self)
        object.__setattr__(self, "break_exclude", _strings("break_exclude", self.break_exclude, least=0))
        for name in ("disk_byte_usage_limit", "memory_byte_usage_limit", "run_byte_usage_limit"):
            at_least(0, name, getattr(self, name))
        if self.break_on not in _BREAKS:
            raise InvalidArgumentError(f"break_on must be 'nan_or_inf', or empty for no break, got {self.break_on!r}")

    @property
    def active(self) -> bool:
        """Whether the debugger has anything to do."""
        return bool(self.debug_tensor_watch_opts or self.break_on)

    @property
    def of_plan(self) -> DebugOptions:
        """The settings on which the decorated graph depends, the others as by default."""
        return DebugOptions(
            debug_tensor_watch_opts=self.debug_tensor_watch_opts,
            break_on=self.break_on,
            break_exclude=self.break_exclude,
        )

    @property
    def of_run(self) -> DebugOptions:
        """The settings on which the decorated graph does not depend, the others as by default."""
        return replace(self, debug_tensor_watch_opts=(), break_on="", break_exclude=())

    def to_wire(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return to_wire(self)

    @classmethod
    def from_wire(cls, value: Mapping[str, Any]) -> DebugOptions:
        """Read the result of ``to_wire``.

        Raises:
            InvalidArgumentError: the value has another form, an unknown field or a value that is not
                allowed.
        """
        return from_wire(cls, value)


def _strings(name: str, value: Any, *, least: int = 1) -> tuple[str, ...]:
    """Return a field's list of strings as a tuple, so that settings can be compared and kept."""
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    if not is_list or not all(isinstance(item, str) for item in value):
        raise InvalidArgumentError(f"{name} must be a list of strings, got {value!r:.100}")
    strings = tuple(value)
    if len(strings) < least:
        raise InvalidArgumentError(f"{name} must name at least one, got none")
    return strings
