"""What a test may leave behind: nothing.

Owns the comparison of the process before and after a test: file descriptors, threads and child
processes. Called by the fixtures of ``conftest.py``; imports nothing of the packages under test, so
that it cannot share their mistakes.

Descriptors and child processes are read from ``/proc``; where that is missing, only threads are
compared.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from tests.template import PROCESSES

__all__ = ["Holdings", "end_processes", "take_holdings", "wait_for_release"]

# Descriptors that libraries open once, at their first use, and keep: not a test's own.
TOLERATED_TARGETS = ("/dev/null", "/dev/urandom", "/proc/")

# pytest swaps these for its capture files and back between the phases of a test.
STANDARD_STREAMS = (0, 1, 2)

# A thread that was told to stop, or a process that was just killed, needs a moment on a busy
# machine; only a test that leaks pays for the whole of it.
PATIENCE_SECONDS = 5.0
_POLL_SECONDS = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """What this process holds at one moment.

    Args:
        descriptors: open descriptors, each with what it points to (a reused number is a new one).
        threads: living threads that would keep the interpreter from ending.
        processes: ids of the child processes, those that nobody has waited for included.
    """

    descriptors: frozenset[tuple[int, str]]
    threads: frozenset[threading.Thread]
    processes: frozenset[int]

    def beyond(self, earlier: Holdings) -> Holdings:
        """What is held now and was not then."""
        return Holdings(
            descriptors=self.descriptors - earlier.descriptors,
            threads=self.threads - earlier.threads,
            processes=self.processes - earlier.processes,
        )

    def along_with(self, others: Holdings) -> Holdings:
        """All that is held here or there."""
        return Holdings(
            descriptors=self.descriptors | others.descriptors,
            threads=self.threads | others.threads,
            processes=self.processes | others.processes,
        )

    def describe(self) -> list[str]:
        """One line for each thing held."""
        return [
            *(f"descriptor {number} -> {target}" for number, target in sorted(self.descriptors)),
            *(f"thread {thread.name}" for thread in sorted(self.threads, key=lambda t: t.name)),
            *(f"child process {pid}: {_command_line(pid)}" for pid in sorted(self.processes)),
        ]


def take_holdings() -> Holdings:
    """Look at the process as it is now."""
    return Holdings(
        descriptors=frozenset(_open_descriptors()),
        threads=frozenset(t for t in threading.enumerate() if t.is_alive() and not t.daemon),
        processes=frozenset(_child_processes()),
    )


def wait_for_release(before: Holdings, patience: float | None = None) -> Holdings:
    """What is still held beyond ``before`` once it has had ``patience`` seconds to go away.

    Left out, these are ``PATIENCE_SECONDS``.
    """
    left = take_holdings().beyond(before)
    if not left.describe():
        return left
    gc.collect()  # a socket in a reference cycle reports its own ResourceWarning, and is gone
    deadline = time.monotonic() + (PATIENCE_SECONDS if patience is None else patience)
    while (left := take_holdings().beyond(before)).describe():
        if time.monotonic() >= deadline:
            gc.collect()  # a thread that ended meanwhile may have left a cycle, such as an error's frames
            return take_holdings().beyond(before)
        time.sleep(_POLL_SECONDS)
    return left


def end_processes(pids: frozenset[int]) -> None:
    """Kill leaked child processes and wait for them, so that they do not outlive the run."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)


def _open_descriptors() -> list[tuple[int, str]]:
    folder = Path("/proc/self/fd")
    if not folder.is_dir():
        return []
    found = []
    for name in os.listdir(folder):
        try:
            target = os.readlink(f"{folder}/{name}")
        except FileNotFoundError:  # the one that listed the folder
            continue
        if int(name) not in (*STANDARD_STREAMS, *PROCESSES.values()) and not target.startswith(TOLERATED_TARGETS):
            found.append((int(name), target))
    return found


def _child_processes() -> list[int]:
    try:  # one system call in the usual case, which is to have none
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return []
    listed = _listed_children()
    while listed is not None and listed != (again := _listed_children()):
        listed = again  # the list may lack one beside a child that ends while it is read
    if listed is not None:
        return sorted(listed - PROCESSES.keys())
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            # pid (command) state parent ...: the command may hold spaces and brackets
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and int(status.parent.name) not in PROCESSES:
                found.append(int(status.parent.name))
    return found


def _listed_children() -> set[int] | None:
    """The children that the kernel lists for each thread; ``None`` if it cannot be told now."""
    found: set[int] = set()
    try:
        for thread in os.listdir("/proc/self/task"):
            lines = Path(f"/proc/self/task/{thread}/children").read_bytes()
            found.update(map(int, lines.split()))
    except (FileNotFoundError, ProcessLookupError):
        return None
    return found


def _command_line(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except FileNotFoundError:
        return "already gone"
    return b" ".join(words).decode(errors="replace").strip() or "ended, but nobody waited for it"
