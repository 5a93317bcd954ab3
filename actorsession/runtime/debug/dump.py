"""The results of the debugger: a watched value, the report of a run, and the store in memory.

Plain values, made by the debugger and read by users. The store belongs to a session and keeps the values sent
to ``memory://``. Any thread may read and clear it, even after the session was closed.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

import numpy as np

from actorsession.graph.node import tensor_name
from actorsession.records import dataclass

__all__ = ["ENTRY_BYTES", "DebugDump", "DebugNodeKey", "DebugReport", "DumpStore", "dump_nbytes"]

# Bytes counted per value in addition to its elements (names, times, the array's own header), so that a limit
# in bytes also bounds the number of scalars.
ENTRY_BYTES = 512
# Reports that a session keeps; the oldest are dropped first.
_REPORTS = 1024


class DebugNodeKey(NamedTuple):
    """The key of a watch: a tensor, the device where it was watched, and the debug op.

    Attributes:
        device_name: full name of the device.
        node_name: name of the node.
        output_slot: index of its output.
        debug_op: name of the debug op.
    """

    device_name: str
    node_name: str
    output_slot: int
    debug_op: str

    @property
    def debug_node_name(self) -> str:
        """The key without the device, ``node:slot:op``."""
        return f"{tensor_name(self.node_name, self.output_slot)}:{self.debug_op}"

    def __str__(self) -> str:
        return f"{self.device_name};{self.debug_node_name}"


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class DebugDump:
    """One watched value of one run.

    Attributes:
        node_name: name of the node that made it, or of the tensor's node if it was fed.
        output_slot: index of the node's output.
        device_name: full name of the device.
        debug_op: the debug op that was applied to the value.
        op_type: the node's op type.
        value: the value or its summary; read-only, and shared with no other array.
        timestamp: wall-clock seconds.
        global_step: the caller's own count of steps; -1 for none.
        session_run_index: index among the session's debugged runs, from 0.
        executor_step_index: index among the runs of this plan, from 0.
    """

    node_name: str
    output_slot: int
    device_name: str
    debug_op: str
    op_type: str
    value: np.ndarray[Any, Any]
    timestamp: float
    global_step: int
    session_run_index: int
    executor_step_index: int

    @property
    def key(self) -> DebugNodeKey:
        """Device, tensor and debug op."""
        return DebugNodeKey(self.device_name, self.node_name, self.output_slot, self.debug_op)

    @property
    def tensor_name(self) -> str:
        """The name of the tensor, ``node:slot``."""
        return tensor_name(self.node_name, self.output_slot)

    @property
    def watch_key(self) -> str:
        """Tensor and debug op, ``node:slot:op``."""
        return self.key.debug_node_name

    @property
    def nbytes(self) -> int:
        """The bytes that count against limits."""
        return dump_nbytes(self.value)


def dump_nbytes(value: np.ndarray[Any, Any]) -> int:
    """Return the bytes that count for a kept value: its elements, and a flat rate for the rest."""
    held = value.nbytes
    if value.dtype == object:
        held += sum([len(item) for item in value.flat])
    return held + ENTRY_BYTES


@dataclass(frozen=True, slots=True, kw_only=True)
class DebugReport:
    """The report of one debugged run.

    Attributes:
        session_run_index: index among the session's debugged runs, from 0.
        executor_step_index: index among the runs of this plan, from 0.
        global_step: the caller's own count of steps.
        seen: watched values.
        kept: kept values, counted once for each destination.
        kept_bytes: bytes of the kept values.
        left_out: values not kept because of a limit, counted once for each destination.
        left_out_bytes: bytes of these values.
        failures: values or events for which a sink or debugger state has failed.
        last_failure: the last failure as text; empty for none.
        not_run: tensors that were watched by name and that the run did not need.
        refused: watches left out because their debug op could not be made, each with the reason.
        lost: tasks of a cluster whose values did not arrive at the client, each with the reason.
        error: the error with which the run ended; empty for none.
    """

    session_run_index: int
    executor_step_index: int
    global_step: int
    seen: int = 0
    kept: int = 0
    kept_bytes: int = 0
    left_out: int = 0
    left_out_bytes: int = 0
    failures: int = 0
    last_failure: str = ""
    not_run: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    error: str = ""


class DumpStore:
    """What a session's debugged runs left in memory, and the bytes they wrote to disk; thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._dumps: list[DebugDump] = []
        self._reports: list[DebugReport] = []
        self._nbytes = 0
        self._disk_bytes = 0

    def keep(self, dump: DebugDump, limit: int) -> bool:
        """Keep a value unless the store would exceed ``limit`` bytes; return whether it was kept."""
        with self._lock:
            if self._nbytes + dump.nbytes > limit:
                return False
            self._nbytes += dump.nbytes
            self._dumps.append(dump)
            return True

    def take_disk(self, nbytes: int, limit: int) -> bool:
        """Count bytes to be written unless they would exceed ``limit``; return whether they were counted."""
        with self._lock:
            if self._disk_bytes + nbytes > limit:
                return False
            self._disk_bytes += nbytes
            return True

    def reset_disk(self) -> None:
        """Set the count of bytes on disk to zero."""
        with self._lock:
            self._disk_bytes = 0

    def add_report(self, report: DebugReport) -> None:
        """Keep the report of a run."""
        with self._lock:
            self._reports.append(report)
            del self._reports[:-_REPORTS]

    def dumps(self) -> list[DebugDump]:
        """Return the kept values in the order in which they were watched."""
        with self._lock:
            return list(self._dumps)

    def reports(self) -> list[DebugReport]:
        """Return the reports of the last runs, in the order in which they ended."""
        with self._lock:
            return list(self._reports)

    def clear(self) -> None:
        """Release all values and reports."""
        with self._lock:
            self._dumps.clear()
            self._reports.clear()
            self._nbytes = 0
