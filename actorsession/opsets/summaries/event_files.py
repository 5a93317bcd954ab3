"""Event files: records of a training run that boards such as TensorBoard read while it is written.

A file is a sequence of records with checksums; each holds an ``Event`` message, which this module takes as
bytes. The first one says that the file is one of events. Names of files contain the time, so those of one
folder are read in the order in which they were made.
"""

from __future__ import annotations

import os
import socket
import threading
import time
import weakref
from types import TracebackType
from typing import Self

from actorsession.checkpoints.atomic import file_errors, regular
from actorsession.config.file_roots import path_text
from actorsession.errors import FailedPreconditionError
from actorsession.opsets.parsing.record_frames import frame
from actorsession.opsets.summaries.fields import double_field
from actorsession.process_bound import ProcessBound
from actorsession.protobuf.wire import length_field

__all__ = ["EventFileWriter"]

_VERSION = b"brain.Event:2"
_FILE_VERSION, _SOURCE, _WRITER = 3, 10, 1
_NAME = b"actorsession"
# More bytes than this do not wait for others.
_MOST_WAITING = 1 << 20


class _File:
    """A file that is open only while records are appended, so nothing has to close it.

    Args:
        path: the file, which is created.

    Raises:
        FileExistsError: if there is such a file, such as another writer's.
    """

    def __init__(self, path: str) -> None:
        self.path, self._owner = path, os.getpid()
        self.waiting: list[bytes] = []
        with open(path, "xb"):
            pass

    def drain(self) -> None:
        """Append the records that wait; in a forked child they are its parent's to write."""
        records, self.waiting = self.waiting, []
        if records and self._owner == os.getpid():
            with file_errors(f"cannot write {self.path!r}"), open(self.path, "ab", opener=regular()) as file:
                file.writelines(frame(records))


class EventFileWriter(ProcessBound):
    """A writer of event files in one folder.

    Events are written to disk when ``max_queue`` of them wait, when ``flush_secs`` have passed at the time of
    the next one, by ``flush`` and ``close``, and at the end of the process.

    Args:
        logdir: the folder, created if it does not exist.
        max_queue: how many events may wait; any number for 0.
        flush_secs: seconds after which waiting events are written.
        filename_suffix: appended to the names of files.

    Attributes:
        path: the current file.

    Raises:
        FailedPreconditionError: if ``logdir`` is a file.
        OpError: for other errors of the file system.
    """

    def __init__(
        self,
        logdir: str | os.PathLike[str],
        max_queue: int = 10,
        flush_secs: float = 120,
        filename_suffix: str | None = None,
    ) -> None:
        self._folder = path_text(logdir, "logdir")
        self._max_queue, self._flush_secs = max_queue, flush_secs
        self._suffix = filename_suffix or ""
        self._lock = threading.Lock()
        if os.path.exists(self._folder) and not os.path.isdir(self._folder):
            raise FailedPreconditionError(f"{self._folder} is not a directory")
        with file_errors(f"cannot make the folder {self._folder!r}"):
            os.makedirs(self._folder, exist_ok=True)
        self._open()

    def _open(self) -> None:
        now = int(time.time())
        base = os.path.join(self._folder, f"events.out.tfevents.{now:010d}.{socket.gethostname()}")
        self._file = self._new_file(base)
        self.path = self._file.path
        self._flushed = time.monotonic()
        self._closed = False
        self._end = weakref.finalize(self, self._file.drain)
        version = length_field(_FILE_VERSION, _VERSION)
        source = length_field(_SOURCE, length_field(_WRITER, _NAME))
        self._file.waiting.append(double_field(1, float(now)) + version + source)
        self._file.drain()

    def _new_file(self, base: str) -> _File:
        """Make a file that no other writer has, not even in another process within the same second."""
        path, number = base + self._suffix, 0
        with file_errors(f"cannot write {path!r}"):
            while True:
                try:
                    return _File(path)
                except FileExistsError:
                    number += 1
                    path = f"{base}.{number}{self._suffix}"

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return self._closed

    def get_logdir(self) -> str:
        """Return the folder."""
        return self._folder

    def write(self, event: bytes) -> None:
        """Append an event; nothing happens after ``close``.

        Args:
            event: a serialised ``Event`` message.
        """
        with self._lock:
            if self._closed:
                return
            waiting = self._file.waiting
            waiting.append(event)
            full = 0 < self._max_queue <= len(waiting) or len(event) >= _MOST_WAITING
            if full or time.monotonic() >= self._flushed + self._flush_secs:
                self._flush()

    def _flush(self) -> None:
        self._file.drain()
        self._flushed = time.monotonic()

    def flush(self) -> None:
        """Write waiting events to disk."""
        with self._lock:
            if not self._closed:
                self._flush()

    def close(self) -> None:
        """Write waiting events and end the file; further calls have no effect."""
        with self._lock:
            self._closed = True
            self._end()

    def reopen(self) -> None:
        """Begin a new file in the folder, if the current one is closed."""
        with self._lock:
            if self._closed:
                self._open()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
