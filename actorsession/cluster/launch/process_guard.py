"""The guard of a worker process: a small child that kills the process when it should end and cannot.

A signal handler of Python runs only when the interpreter does, which a kernel in C can prevent for as long as
it holds the interpreter lock. The handlers of ``faulthandler`` are written in C: whatever the interpreter
does, they write to a pipe, and the guard reads its other end. If the process is to end with its own parent,
the guard monitors the parent as well. Owned by ``child``; created while the process has no threads of its own
yet.

Invariants: The guard ends with the process, because the pipe is closed. The guard kills only the process that
created it, and not for a signal that a forked child of the process gets.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import select
import signal
import time
import warnings
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path

__all__ = ["ProcessGuard"]

# Seconds between checks of the process's parent: a forked process may hold a pipe open beyond its end.
_LOOK = 5.0
# Prefix of the seconds that a last snapshot may take; it cannot occur in the text that ``faulthandler``
# writes.
_SAVING = b"\x00"


class ProcessGuard:
    """A child process that kills this process some time after it should have ended.

    Args:
        seconds: the delay until the kill; more than the process takes to end by itself.
        with_parent: whether the process should end when its parent does, which holds its standard input open.
    """

    def __init__(self, seconds: float, *, with_parent: bool) -> None:
        self._pipe = self._pid = -1
        self._signals: Sequence[int] = ()
        if not hasattr(os, "fork") or not hasattr(faulthandler, "register"):
            return
        own, parent = os.getpid(), os.getppid() if with_parent else 0
        reading_end, pipe = os.pipe()
        with warnings.catch_warnings():
            # The process may have threads of numpy's libraries; the child calls none of them.
            warnings.simplefilter("ignore", DeprecationWarning)
            pid = os.fork()
        if not pid:
            _guard(own, parent, reading_end, seconds)
        os.close(reading_end)
        self._pipe, self._pid = pipe, pid
        _GUARDS.add(self)

    def close(self) -> None:
        """End the guard when it is not needed any more; may be called twice."""
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(self._pid, signal.SIGKILL)
                os.waitpid(self._pid, 0)

    def wait_for_snapshot(self, seconds: float) -> None:
        """Make the guard wait ``seconds`` from now on, because the process writes its last snapshot."""
        if self._pipe >= 0:
            # The guard may have been killed; then there is nothing to notify.
            with contextlib.suppress(BrokenPipeError):
                os.write(self._pipe, b"%b%d\n" % (_SAVING, seconds))

    @contextlib.contextmanager
    def watching(self, signals: Sequence[int]) -> Iterator[None]:
        """Notify the guard of signals; their present handlers are called as well."""
        if self._pipe < 0:
            yield
            return
        self._signals = signals
        for number in signals:
            faulthandler.register(number, self._pipe, all_threads=False, chain=True)
        try:
            yield
        finally:
            self._signals = ()
            for number in signals:
                faulthandler.unregister(number)

    def leave_to_parent(self) -> None:
        """Part a forked child from the guard: the signals end the child, as they end any process."""
        for number in self._signals:
            faulthandler.unregister(number)
            signal.signal(number, signal.SIG_DFL)
        self._signals = ()
        if self._pipe >= 0:
            os.close(self._pipe)
            self._pipe = -1


_GUARDS: weakref.WeakSet[ProcessGuard] = weakref.WeakSet()


def _start_anew() -> None:
    for guard in _GUARDS:
        guard.leave_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_start_anew)


def _guard(own: int, parent: int, pipe: int, seconds: float) -> None:
    """Run the guard and end its process; it must hold no file descriptors of the guarded process."""
    try:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        os.closerange(1 if parent else 0, pipe)
        os.closerange(pipe + 1, os.sysconf("SC_OPEN_MAX"))
        poll = select.poll()
        poll.register(pipe, select.POLLIN)
        if parent:
            poll.register(0, 0)  # only hang-ups: data on standard input is not for the guard
        until, saves = float("inf"), False
        while os.getppid() == own:
            left = until - time.monotonic()
            if left <= 0:
                os.kill(own, signal.SIGKILL)
                return
            ready = [end for end, _ in poll.poll(min(left, _LOOK) * 1000)]
            if pipe in ready:
                said = os.read(pipe, 4096)
                if not said:
                    return
                _, saving, rest = said.rpartition(_SAVING)
                if saving:
                    until = time.monotonic() + int(rest.partition(b"\n")[0])
                    ready, saves = [], True
            if saves:
                continue
            if 0 in ready:
                poll.unregister(0)
            if ready or (parent and _parent_of(own) not in (parent, None)):
                until = min(until, time.monotonic() + seconds)
    finally:
        os._exit(0)


def _parent_of(pid: int) -> int | None:
    """Return the parent of a process; ``None`` if it cannot be determined."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[1])
    except OSError:
        return None
