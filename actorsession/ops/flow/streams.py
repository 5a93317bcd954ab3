"""Lines for standard error and output whose writer never waits for whoever should read them.

A pipe that nobody reads takes 64 KiB, and then stops who writes to it: a kernel on the event loop would stop
the whole process. Lines for what could make a writer wait go through one thread, in order; those that find
its queue full are dropped, and their number is written where they are missing. ``Print`` writes so, and the
processes of a cluster do with all that they say (``relay_standard_streams``).

Invariants: what is queued is bounded; while the reader reads, a line is out before its writer goes on, so it
stands before whatever the writer says next.
"""

from __future__ import annotations

import atexit
import contextlib
import io
import os
import select
import stat
import sys
import threading
from collections import deque
from typing import Any

__all__ = ["relay_standard_streams", "write_line"]

# Bytes that wait for a reader at most.
_MOST = 1 << 20
# Seconds that a writer gives a reader that has read all so far; one that lags behind gets none.
_PATIENCE = 0.02
# Seconds for what is left when the process ends.
_LAST = 1.0


class _Writer:
    """Writes to descriptors in a thread of its own, which is started with the first line."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._written = threading.Condition(self._lock)
        self._queued: deque[tuple[int, bytes]] = deque()
        self._size = 0  # of what is queued or being written
        self._dropped: dict[int, int] = {}
        self._lags = False
        self._thread: threading.Thread | None = None

    def put(self, descriptor: int, data: bytes) -> None:
        """Have bytes written, or dropped if too many wait."""
        with self._lock:
            if self._size and self._size + len(data) > _MOST:
                lines = data.count(b"\n") or 1
                self._dropped[descriptor] = self._dropped.get(descriptor, 0) + lines
                return
            self._note_dropped(descriptor)
            self._add(descriptor, data)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="actorsession-output", daemon=True
                )
                self._thread.start()
            self._written.notify_all()
            if not self._lags:
                self._lags = not self._written.wait_for(lambda: not self._size, _PATIENCE)

    def _add(self, descriptor: int, data: bytes) -> None:
        self._queued.append((descriptor, data))
        self._size += len(data)

    def _note_dropped(self, descriptor: int) -> None:
        """Say behind what is queued how many lines are missing there."""
        lines = self._dropped.pop(descriptor, 0)
        if lines:
            what = "1 line was dropped" if lines == 1 else f"{lines} lines were dropped"
            self._add(descriptor, f"[{what}: nobody read]\n".encode())

    def flush(self, seconds: float) -> None:
        """Wait until all is written, or for some seconds."""
        with self._lock:
            for descriptor in tuple(self._dropped):
                self._note_dropped(descriptor)
            self._written.notify_all()
            self._written.wait_for(lambda: not self._size, seconds)

    def _run(self) -> None:
        while True:
            with self._lock:
                while not self._queued:
                    for descriptor in tuple(self._dropped):
                        self._note_dropped(descriptor)
                    if not self._queued:
                        self._written.wait()
                descriptor, data = self._queued.popleft()
            with contextlib.suppress(OSError):  # whoever should read is gone
                _write(descriptor, data)
            with self._lock:
                self._size -= len(data)
                if not self._size:
                    self._lags = False
                    self._written.notify_all()


def _write(descriptor: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(descriptor, rest) :]
        except BlockingIOError:  # somebody has made the pipe so
            select.select([], [descriptor], [])


_writer = _Writer()


def _start_anew() -> None:
    """In a forked child: the thread stayed behind in the parent, with what it had to write."""
    global _writer
    _writer = _Writer()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)
atexit.register(lambda: _writer.flush(_LAST))


def write_line(stream: Any, line: str) -> None:
    """Write a line to a stream, and do not wait for a reader.

    Args:
        stream: such as ``sys.stderr``.
        line: without the end of line.
    """
    descriptor = _descriptor_that_may_wait(stream)
    if descriptor is None:
        stream.write(f"{line}\n")
        stream.flush()
    else:
        _writer.put(descriptor, f"{line}\n".encode(errors="replace"))


def _descriptor_that_may_wait(stream: Any) -> int | None:
    """Return what a stream writes to, unless that takes all that it is given."""
    try:
        descriptor = int(stream.fileno())
        mode = os.fstat(descriptor).st_mode
    except (AttributeError, OSError, ValueError):  # no file, as in a notebook or a test
        return None
    return None if stat.S_ISREG(mode) else descriptor


class _Relayed(io.TextIOBase):
    """A text stream whose writers do not wait for its reader; partial lines wait for their ends."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self._begun = ""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        with self._lock:
            whole, end, self._begun = (self._begun + text).rpartition("\n")
        if end:
            _writer.put(self._descriptor, (whole + end).encode(errors="replace"))
        return len(text)

    def flush(self) -> None:
        with self._lock:
            rest, self._begun = self._begun, ""
        if rest:
            _writer.put(self._descriptor, rest.encode(errors="replace"))


def relay_standard_streams() -> None:
    """Make all that this process writes to its standard streams from now on wait for nobody.

    Streams that write to a file, or to none, stay as they are.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        descriptor = _descriptor_that_may_wait(stream)
        if descriptor is not None:
            stream.flush()
            setattr(sys, name, _Relayed(descriptor))
