"""What a server remembers, and what it holds: its last steps and errors, its log, its variables.

``ServerMemory`` answers the requests for these, which come from the administration of a cluster. ``LogMemory`` keeps
the last lines of the log of the process, whatever becomes of standard error; the servers of a process share it.
The values in which ``admin_client`` returns the answers stand here, too. Owned by the ``Control`` of a server.

Invariant: the size of each answer is bounded, and nothing here waits.
"""

from __future__ import annotations

import logging
import math
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from actorsession.actors.actor import Actor, answers
from actorsession.actors.context import CallContext
from actorsession.cluster.last_steps import read_steps
from actorsession.config.step_record import ErrorRecord
from actorsession.errors import ProtocolError
from actorsession.messages.server import (
    ErrorsRead,
    ListVariables,
    LogRead,
    NoteRestart,
    ReadErrors,
    ReadLog,
    ReadSteps,
    StepsRead,
    VariablesListed,
)
from actorsession.records import dataclass
from actorsession.runtime.inspection import HeldState
from actorsession.runtime.step_log import ErrorLog, StepLog
from actorsession.terminal_text import VisibleFormatter, visible
from transports.host import current_host

__all__ = ["LogMemory", "MemoryReader", "ServerMemory", "TaskErrors", "TaskVariable", "held_log"]

# Lines of the log that are kept: an hour of a server with some trouble, and half a megabyte.
_LINES = 2000
# Characters of one line.
_LONGEST = 2000
_MINUTE = 60.0
# Warnings of which it is known when they were kept last; some 200 bytes each.
_REMEMBERED = 1000
# Variables in one answer, some 200 bytes each.
_MOST_VARIABLES = 20_000
_FORMAT = "%(asctime)s %(levelname)s %(name)s %(message)s"
_LOGGERS = ("actorsession", "transports", "py.warnings")
# What a warning of a module is about, where that is no matter of the whole task.
_SUBJECTS = {
    "membership": "session",
    "peer_links": "link",
    "session_members": "session",
    "snapshots": "snapshot",
    "step": "kernel",
    "task_addresses": "link",
    "watchdog": "kernel",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskErrors:
    """The last errors of a task.

    Attributes:
        task: the task.
        errors: its last hundred errors, the oldest first.
        counts: how many there were of each class since the server was started.
        restarts: how often the task was started again.
        predecessor: how the process ended that served the task before; "" if it is the first, or unknown.
        since: wall-clock seconds at the start of the server.
    """

    task: str
    errors: tuple[ErrorRecord, ...]
    counts: dict[str, int]
    restarts: int = 0
    predecessor: str = ""
    since: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskVariable:
    """A variable on a device of a task.

    Attributes:
        name: its name.
        dtype: the name of its element type.
        shape: the shape of its value; ``None`` if it has none and no shape was declared.
        nbytes: the bytes of its value.
        container: the container that it is in.
        device: the full name of its device.
        session: the handle of the session that has it for itself; "" if all sessions share it.
        initialised: whether it has a value.
    """

    name: str
    dtype: str
    shape: tuple[int, ...] | None
    nbytes: int
    container: str
    device: str
    session: str
    initialised: bool

    def to_wire(self) -> list[Any]:
        """Return the variable as plain values."""
        shape = None if self.shape is None else list(self.shape)
        return [self.name, self.dtype, shape, self.nbytes, self.container, self.device, self.session, self.initialised]

    @classmethod
    def from_wire(cls, value: Any) -> TaskVariable:
        """Read the result of ``to_wire``.

        Raises:
            ProtocolError: the value has another form.
        """
        match value:
            case [str(name), str(dtype), shape, int(nbytes), str(container), str(device), str(session), bool(has)] if (
                shape is None or (isinstance(shape, list) and all(isinstance(n, int) for n in shape))
            ):
                return cls(
                    name=name,
                    dtype=dtype,
                    shape=None if shape is None else tuple(shape),
                    nbytes=nbytes,
                    container=container,
                    device=device,
                    session=session,
                    initialised=has,
                )
        raise ProtocolError(f"not a variable of a task: {value!r:.200}")


class LogMemory(logging.Handler):
    """The last lines of the log of this process.

    Args:
        kept: how many lines are kept.
        clock: returns the time in seconds; replaced by tests.

    Attributes:
        errors: the errors of the servers of this process, of which a warning may tell any.
    """

    def __init__(self, kept: int = _LINES, clock: Callable[[], float] | None = None) -> None:
        super().__init__()
        self._host = current_host()
        self._clock = clock or self._host.clock.monotonic
        self._warned: dict[tuple[str, str, str], float] = {}
        self._lines: deque[str] = deque(maxlen=kept)
        self._written = 0
        self.errors: list[ErrorLog] = []
        self.setFormatter(VisibleFormatter(_FORMAT))
        self.addFilter(lambda _: current_host() is self._host)  # which are several in a simulation

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the line of a record; a warning or an error is remembered as an error, too.

        The same warning is kept once a minute, so that a peer that tries for ever does not take the place of all else.
        """
        if record.levelno >= logging.WARNING and self._is_repeated(record):
            return
        try:
            line = self.format(record)
        except Exception:
            self.handleError(record)
            return
        lines = line.split("\n")  # those of a traceback
        self._lines.extend([each[:_LONGEST] for each in lines])
        self._written += len(lines)
        if record.levelno >= logging.WARNING and not hasattr(record, "hint"):
            subject, text = _SUBJECTS.get(record.module, "task"), visible(record.getMessage())
            cause = record.exc_info[1] if record.exc_info else None
            code = type(cause).__name__ if cause is not None else record.levelname.capitalize()
            for errors in tuple(self.errors):
                errors.note(text, subject=subject, code=code)

    def _is_repeated(self, record: logging.LogRecord) -> bool:
        key = record.name, str(record.msg), getattr(record, "peer", None) or record.getMessage()
        now, before = self._clock(), self._warned.pop(key, -math.inf)
        repeated = now - before < _MINUTE
        self._warned[key] = before if repeated else now  # the latest come last
        if len(self._warned) > _REMEMBERED:
            del self._warned[next(iter(self._warned))]
        return repeated

    def last(self, count: int, after: int = 0) -> tuple[list[str], int]:
        """Return the last lines after one with a number, and the number of the last line."""
        self.acquire()
        try:
            lines, written = list(self._lines), self._written
        finally:
            self.release()
        new = min(len(lines), max(0, written - after) if after <= written else len(lines), max(0, count))
        return (lines[-new:] if new else []), written


class _HeldLog:
    """The log of this process while servers run, which share it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.memory: LogMemory | None = None

    def process_ended(self) -> None:
        """Keep the log no longer; the simulation of a process calls this as well."""
        memory, self.memory = self.memory, None
        if memory is not None:
            for name in _LOGGERS:
                logging.getLogger(name).removeHandler(memory)


@contextmanager
def held_log(errors: ErrorLog) -> Iterator[LogMemory]:
    """Keep the log of the process in memory while a server runs; all servers of the process share one.

    Args:
        errors: the errors of the server, to which those that are logged meanwhile are added.
    """
    held = current_host().own(_HeldLog)
    with held.lock:
        if held.memory is None:
            held.memory = LogMemory()
            for name in _LOGGERS:
                logging.getLogger(name).addHandler(held.memory)
        memory = held.memory
        memory.errors.append(errors)
    try:
        yield memory
    finally:
        with held.lock:
            memory.errors.remove(errors)
            if not memory.errors:
                held.process_ended()


def _size(value: Any) -> int:
    """Return the bytes of the value of a variable; 0 without one."""
    if isinstance(value, np.ndarray) and value.dtype == object:
        return sum(map(len, value.flat))
    return len(value) if isinstance(value, bytes) else int(getattr(value, "nbytes", 0))


class ServerMemory:
    """Answers what a server remembers and holds.

    Args:
        task: its task.
        errors: its last errors.
        steps: its last steps; ``None`` if it keeps none.
        held_state: returns the state of the task that outlives steps.

    Attributes:
        log: the lines of the log; ``None`` before the server runs.
        restarts: how often the task was started again, as far as is known.
        predecessor: how the process before ended.
    """

    def __init__(
        self, task: str, errors: ErrorLog, steps: StepLog | None, held_state: Callable[[], Iterable[HeldState]]
    ) -> None:
        self._task = task
        self._errors = errors
        self._steps = steps
        self._held_state = held_state
        self._since = current_host().clock.time()
        self.log: LogMemory | None = None
        self.restarts = 0
        self.predecessor = ""

    def read_steps(self, message: ReadSteps) -> StepsRead:
        """Return the last steps."""
        return read_steps(self._steps, message, self._task)

    def read_errors(self) -> ErrorsRead:
        """Return the last errors and the restarts."""
        return ErrorsRead(
            task=self._task,
            errors=[error.to_wire() for error in self._errors.last()],
            counts=self._errors.counts,
            restarts=self.restarts,
            predecessor=self.predecessor,
            since=self._since,
        )

    def note_restart(self, message: NoteRestart) -> None:
        """Remember that the task was started again; the end of the process before is one of its errors."""
        self.restarts, self.predecessor = message.restarts, message.predecessor[:_LONGEST]
        self._errors.note(f"it was started again after its process had ended: {self.predecessor}", subject="task")

    def read_log(self, message: ReadLog) -> LogRead:
        """Return the last lines of the log."""
        lines, last = ([], 0) if self.log is None else self.log.last(message.lines, message.after)
        level = logging.getLevelName(logging.getLogger("actorsession").getEffectiveLevel())
        return LogRead(task=self._task, lines=lines, last=last, level=level)

    def list_variables(self) -> VariablesListed:
        """Return the variables, the largest first."""
        variables = [
            TaskVariable(
                name=name,
                dtype=variable.spec.dtype.name,
                shape=variable.shape,
                nbytes=_size(value := variable.value),
                container=container,
                device=device.name,
                session=session,
                initialised=value is not None,
            )
            for session, devices, _ in self._held_state()
            for device in devices
            for container, name, variable in device.resources.variables()
        ]
        variables.sort(key=lambda variable: (-variable.nbytes, variable.name))
        return VariablesListed(task=self._task, variables=[v.to_wire() for v in variables[:_MOST_VARIABLES]])


class MemoryReader(Actor):
    """Answers for a server, or for what is shown as one, with what is remembered there.

    Args:
        name: the name of the actor.
        memory: what is remembered.
    """

    def __init__(self, name: str, memory: ServerMemory) -> None:
        super().__init__(name)
        self._memory = memory

    @answers(ReadSteps, direct=True)
    def on_read_steps(self, message: ReadSteps, call: CallContext) -> StepsRead:
        """Return the last steps."""
        return self._memory.read_steps(message)

    @answers(ReadErrors)
    def on_read_errors(self, message: ReadErrors, call: CallContext) -> ErrorsRead:
        """Return the last errors and the restarts of the task."""
        return self._memory.read_errors()

    @answers(ReadLog)
    def on_read_log(self, message: ReadLog, call: CallContext) -> LogRead:
        """Return the last lines of the log."""
        return self._memory.read_log(message)

    @answers(ListVariables)
    def on_list_variables(self, message: ListVariables, call: CallContext) -> VariablesListed:
        """Return the variables of the task."""
        return self._memory.list_variables()
