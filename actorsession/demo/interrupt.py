"""Ctrl-C at any time: exit code 0, one line on standard output, nothing left running.

Holds the handler of SIGINT while the demo runs. Imports nothing expensive, so that the handler is installed
before anything that takes time to import.

Outside the event loop nothing has been started that would have to be ended, so Ctrl-C ends the process
immediately. Inside, it cancels the demo's work, which ends what it has started on its way out. If that takes
too long, or Ctrl-C comes again, the cluster's processes are killed and the process ends immediately, too.
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

# Seconds for an orderly end of the work. A cluster needs a tenth of that; the whole may take one second.
_ORDERLY = 0.75
_SHOW_CURSOR = "\x1b[?25h"  # an interrupted progress bar has hidden it


class Interrupts:
    """The demo's handling of Ctrl-C, from ``install`` to ``uninstall``.

    Attributes:
        interrupted: whether the work was cancelled by Ctrl-C.
    """

    def __init__(self) -> None:
        self.interrupted = False
        self._cancel: Callable[[], object] | None = None
        self._kill: Callable[[], object] = lambda: None
        self._message_printed = False
        self._before: Any = signal.SIG_DFL

    def install(self) -> None:
        """Replace the present handler."""
        self._before = signal.signal(signal.SIGINT, self._on_signal)
        # During the interpreter's shutdown, Python's default handler would print a traceback.
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)

    def uninstall(self) -> None:
        """Restore the former handler."""
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        # None stands for a handler that was not set from Python and cannot be set from it again.
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    @contextlib.contextmanager
    def cancelling_this(self) -> Iterator[None]:
        """Make Ctrl-C cancel the current asyncio.Task while a block in a coroutine runs."""
        import asyncio  # not at the top: it takes as long as all imports before the handler

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
        """Register the function that kills the processes that were started, without waiting."""
        self._kill = kill

    def say_goodbye(self) -> None:
        """Print the final line, once."""
        if not self._message_printed:
            self._message_printed = True
            # Not through sys.stdout, which may be in the middle of a line when a signal arrives.
            os.write(1, f"{_start_of_line()}{GOODBYE}\n".encode())

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self._cancel is None or self.interrupted:
            self._end_now()
        self.interrupted = True
        signal.signal(signal.SIGALRM, lambda *_: self._end_now())
        signal.setitimer(signal.ITIMER_REAL, _ORDERLY)
        self._cancel()

    def _end_now(self) -> NoReturn:
        self._kill()
        self.say_goodbye()
        os._exit(0)


def _start_of_line() -> str:
    """Return the prefix of a line; a terminal shows ``^C`` and perhaps half a progress bar before it."""
    return f"{_SHOW_CURSOR}\n" if sys.stdout.isatty() else ""
