"""The last lines that a child process wrote, read by a thread so that the child never has to wait for us.

The program that starts processes may do anything afterwards, and a pipe that is not read blocks its writer.
Owned by a ``WorkerProcess``, whose event loop may be busy or gone.
"""

from __future__ import annotations

import os
import select
import threading
from collections import deque

__all__ = ["StderrReader"]

_KEPT_LINES = 40  # enough for a traceback, little enough for an error message
_KEPT_CHARACTERS = 1000


class StderrReader:
    """Reads a pipe until its last writer is gone.

    Attributes:
        writing_end: the writing end, for the child; to be closed here once the child has it.
    """

    def __init__(self, name: str) -> None:
        self._reading_end, self.writing_end = os.pipe()
        self._stopped, self._stop = os.pipe()
        self._lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"actorsession-drain-{name}", daemon=True)

    def start(self) -> None:
        """Start to read, and close the writing end here."""
        os.close(self.writing_end)
        self._thread.start()

    @property
    def lines(self) -> tuple[str, ...]:
        """The last lines so far."""
        return tuple(self._lines)

    @property
    def ended(self) -> bool:
        """Whether the reader has ended, so that no more lines are added."""
        return self._ended.is_set()

    def stop(self) -> None:
        """Read what is there and no more; the thread ends by itself. May be called twice."""
        stop, self._stop = self._stop, -1
        if stop >= 0:
            os.close(stop)

    def _run(self) -> None:
        rest = ""
        poll = select.poll()
        for end in (self._reading_end, self._stopped):
            poll.register(end, select.POLLIN | select.POLLHUP)
        try:
            while True:
                ready = {end for end, _ in poll.poll()}
                if self._reading_end not in ready:
                    break
                chunk = os.read(self._reading_end, 1 << 16)
                if not chunk:
                    break
                # Read by chunks, with long lines cut: the memory is bounded whatever is written.
                *lines, rest = (rest + chunk.decode(errors="replace")).split("\n")
                self._lines.extend(line[:_KEPT_CHARACTERS].rstrip() for line in lines)
                rest = rest[:_KEPT_CHARACTERS]
        finally:
            if rest:
                self._lines.append(rest)
            os.close(self._reading_end)
            os.close(self._stopped)
            self._ended.set()
