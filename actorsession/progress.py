"""A line in the terminal while something takes longer than a second: starting tasks, connecting, saving, importing.

It appears at standard error where that is a terminal, says what is done and for how long, and is gone when that has
ended. In files nothing is written. A thread draws it, so that what it is about may block; without a terminal there is
no thread. One line is shown at a time, and none beside a bar that has claimed the terminal.
"""

from __future__ import annotations

import contextlib
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import TextIO

from actorsession.terminal_text import visible

__all__ = ["claimed_terminal", "shown_while"]

# Seconds before the line appears, and between two drawings.
_PATIENCE, _EVERY = 1.0, 0.2

_claim = threading.Lock()


@contextlib.contextmanager
def claimed_terminal() -> Iterator[None]:
    """Keep lines of ``shown_while`` out of a terminal in which a bar is shown."""
    claimed = _claim.acquire(blocking=False)
    try:
        yield
    finally:
        if claimed:
            _claim.release()


@contextlib.contextmanager
def shown_while(
    what: str, count: Callable[[], tuple[int, int]] | None = None, *, patience: float = _PATIENCE
) -> Iterator[None]:
    """Show a line while the block runs, unless it ends soon.

    Args:
        what: what the block does, such as ``saving checkpoints/model-100``.
        count: returns how many parts are done, and of how many; called in another thread.
        patience: seconds before the line appears.
    """
    stream = sys.stderr
    if stream is None or not stream.isatty() or not _claim.acquire(blocking=False):
        yield
        return
    ended = threading.Event()
    line = threading.Thread(target=_show, args=(stream, what, count, patience, ended), name="actorsession-progress")
    line.daemon = True
    line.start()
    try:
        yield
    finally:
        ended.set()
        line.join()
        _claim.release()


def _show(
    stream: TextIO, what: str, count: Callable[[], tuple[int, int]] | None, patience: float, ended: threading.Event
) -> None:
    began = time.monotonic()
    if ended.wait(patience):
        return
    # A terminal that is gone, or closed, is no reason for what is shown to fail.
    with contextlib.suppress(OSError, ValueError):
        while True:
            done = "" if count is None else "{} of {}, ".format(*count())
            text = visible(f"{what}: {done}{time.monotonic() - began:.0f} s")
            stream.write(f"\r\x1b[K{text[: shutil.get_terminal_size().columns - 1]}")
            stream.flush()
            if ended.wait(_EVERY):
                break
        stream.write("\r\x1b[K")
        stream.flush()
