"""Ctrl-C at any time: exit code 0, one line on standard output, nothing left running.

Owns the handler of SIGINT while the demo runs. Imports nothing heavy, so that it stands before anything
that takes time to import.

Outside the event loop nothing has been started that would need an end, so Ctrl-C ends the process on the
spot. Inside, it cancels the demo's work, which ends what it has started on its way out. If that takes too
long, or Ctrl-C comes again, the cluster's processes are killed and the process ends on the spot too.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NoReturn

__all__ = ["GOODBYE", "Interrupts"]

GOODBYE = "Stopped by Ctrl-C; nothing is left running."

# Seconds for the work to end in good order. A cluster needs a tenth of that; the whole may take one.
_ORDERLY = 0.75
_SHOW_CURSOR = "\x1b[?25h"  # a progress bar that was cut off has hidden it


class Interrupts:
    """The demo's answer to Ctrl-C, from ``install`` to ``uninstall``.

    Attributes:
        came: whether the work was cancelled by Ctrl-C.
    """

    def __init__(self) -> None:
        self.came = False
        self._cancel: Callable[[], object] | None = None
        self._kill: Callable[[], object] = lambda: None
        self._said = False
        self._before: Any = signal.SIG_DFL

    def install(self) -> None:
        """Take over from the handler of before."""
        self._before = signal.signal(signal.SIGINT, self._on_signal)
        # While the interpreter goes, Python's own answer to Ctrl-C would be a traceback.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)

    def uninstall(self) -> None:
        """Give back to the handler of before."""
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        # None stands for a handler that was not set from Python, which cannot set it again.
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    @contextlib.contextmanager
    def cancelling_this(self) -> Iterator[None]:
        """Let Ctrl-C cancel the running child of the event loop, for a block in a coroutine."""
        import asyncio  # not above: it takes as long as all that stands before the handler

        child = asyncio.current_task()
        loop = asyncio.get_running_loop()
        assert child is not None

        def cancel() -> None:
            child.cancel()
            loop.call_soon_threadsafe(lambda: None)  # wakes a loop that waits for its sockets

        self._cancel = cancel
        try:
            yield
        finally:
            self._cancel = None

    def on_hard_end(self, kill: Callable[[], object]) -> None:
        """Register what ends the processes that were started, without waiting for anything."""
        self._kill = kill

    def say_goodbye(self) -> None:
        """Print the one line, once."""
        if not self._said:
            self._said = True
            # Not through sys.stdout, which may be in the middle of a line when a signal comes.
            os.write(1, f"{_start_of_line()}{GOODBYE}\n".encode())

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self._cancel is None or self.came:
            self._end_now()
        self.came = True
        signal.signal(signal.SIGALRM, lambda *_: self._end_now())
        signal.setitimer(signal.ITIMER_REAL, _ORDERLY)
        self._cancel()

    def _end_now(self) -> NoReturn:
        self._kill()
        self.say_goodbye()
        os._exit(0)


def _start_of_line() -> str:
    """Return what comes before a line at a terminal, which shows ``^C`` and perhaps half a progress bar."""
    return f"{_SHOW_CURSOR}\n" if sys.stdout.isatty() else ""
