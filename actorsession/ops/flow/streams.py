"""Lines for standard error and output whose writers never wait for a slow reader.

A pipe without a reader accepts 64 KiB and then blocks its writer: a kernel on the event loop would block the
whole process. Lines for streams that may block go through one thread, in order. Lines that find its queue
full are dropped, and their number is written in their place. ``Print`` uses this module, and so do the
processes of a cluster for all their output (``relay_standard_streams``).

Invariants: the size of the queue is bounded. While the reader reads, a line is written before its writer
continues, so it precedes the writer's later output.
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

from actorsession.terminal_text import visible

__all__ = ["relay_standard_streams", "serve_others", "write_line"]

# Maximum number of bytes in the queue.
_MOST = 1 << 20
# Seconds that a writer waits for a reader that is up to date; it does not wait for one that lags behind.
_PATIENCE = 0.02
# Seconds to wait for the rest of the queue when the process ends.
_LAST = 1.0


class _Writer:
    """A writer to descriptors in a separate thread, which is started with the first line."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._written = threading.Condition(self._lock)
        self._queued: deque[tuple[int, bytes]] = deque()
        self._size = 0  # of the data that is queued or being written
        self._dropped: dict[int, int] = {}
        self._lags = False
        self._thread: threading.Thread | None = None

    def put(self, descriptor: int, data: bytes) -> None:
        """Queue bytes, or drop them if the queue is full."""
        with self._lock:
            if self._size and self._size + len(data) > _MOST:
                lines = data.count(b"\n") or 1
                self._dropped[descriptor] = self._dropped.get(descriptor, 0) + lines
                return
            self._note_dropped(descriptor)
            self._add(descriptor, data)
            if self._thread is None:
                thread = threading.Thread(target=self._run, name="actorsession-output", daemon=True)
                thread.start()  # else what is queued is written with what comes next
                self._thread = thread
            self._written.notify_all()
            if not self._lags:
                self._lags = not self._written.wait_for(lambda: not self._size, _PATIENCE)

    def _add(self, descriptor: int, data: bytes) -> None:
        self._queued.append((descriptor, data))
        self._size += len(data)

    def _note_dropped(self, descriptor: int) -> None:
        """Append to the queue how many lines are missing there."""
        lines = self._dropped.pop(descriptor, 0)
        if lines:
            what = "1 line was dropped" if lines == 1 else f"{lines} lines were dropped"
            self._add(descriptor, f"[{what}: nobody read]\n".encode())

    def flush(self, seconds: float) -> None:
        """Wait until everything is written, or until some seconds have passed."""
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
            with contextlib.suppress(OSError):  # the reader is gone
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
        except BlockingIOError:  # the pipe was made non-blocking
            select.select([], [descriptor], [])


_writer = _Writer()


def _start_anew() -> None:
    """Reset the writer in a forked child: its thread exists only in the parent, with the queued data."""
    global _writer
    _writer = _Writer()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)
atexit.register(lambda: _writer.flush(_LAST))


_serves_others = False


def serve_others() -> None:
    """Say that what nodes print comes from others, who do not see the terminal or log of this process."""
    global _serves_others
    _serves_others = True


def write_line(stream: Any, line: str) -> None:
    """Write a line to a stream without waiting for a reader.

    In a process that serves others, what would act on the terminal of its operator is made visible.

    Args:
        stream: a stream such as ``sys.stderr``; ``None``, as in a program that has none, to write nothing.
        line: the line without its end.
    """
    if stream is None:
        return
    if _serves_others:
        line = "\n".join("\t".join(map(visible, row.split("\t"))) for row in line.split("\n"))
    descriptor = _descriptor_that_may_wait(stream)
    if descriptor is None:
        stream.write(f"{line}\n")
        stream.flush()
    else:
        _writer.put(descriptor, f"{line}\n".encode(errors="replace"))


def _descriptor_that_may_wait(stream: Any) -> int | None:
    """Return a stream's descriptor, or ``None`` if writes to the stream never block."""
    try:
        descriptor = int(stream.fileno())
        mode = os.fstat(descriptor).st_mode
    except (AttributeError, OSError, ValueError):  # no file, as in a notebook or a test
        return None
    return None if stat.S_ISREG(mode) else descriptor


class _Relayed(io.TextIOBase):
    """A text stream whose writers do not wait for its reader; partial lines are held until complete."""

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
    """Replace the standard streams of this process by ones whose writers never wait.

    Streams that write to a file, or to no descriptor, stay as they are.
    """
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        descriptor = _descriptor_that_may_wait(stream)
        if descriptor is not None:
            stream.flush()
            setattr(sys, name, _Relayed(descriptor))
