"""What a block of code, or a test, leaves behind: descriptors, threads, child processes, shared memory, asyncio tasks.

``no_leaks`` is for programs; the tests of this library compare ``take_holdings`` before and after each test. The
module imports the standard library alone, so that it cannot share mistakes of what it looks after.

Descriptors, child processes and shared memory are read from ``/proc``; where that is missing, only threads and
tasks are compared.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import signal
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from types import TracebackType

__all__ = ["Holdings", "end_processes", "no_leaks", "pending_tasks", "take_holdings", "wait_for_release"]

# Descriptors that libraries open once, at their first use, and keep: not a test's own.
TOLERATED_TARGETS = ("/dev/null", "/dev/urandom", "/proc/", "/var/lib/libuuid/")

# pytest swaps these for its capture files and back between the phases of a test.
STANDARD_STREAMS = (0, 1, 2)

# What a shared mapping of memory, not of a file, is called.
_MEMORY = ("/memfd:", "/dev/shm/", "/dev/zero")

# A thread that was told to stop, or a process that was killed, needs a moment on a busy
# machine; only a test that leaks pays for the whole of it.
PATIENCE_SECONDS = 5.0
_POLL_SECONDS = 0.01

# A task that was cancelled, or whose peer has closed, ends within a few turns of its loop.
# More would hide a task that nobody awaits.
_TURNS_TO_END = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Holdings:
    """What this process holds at one moment.

    Args:
        descriptors: open descriptors, each with what it points to (a reused number is a new one).
        threads: living threads that would keep the interpreter from ending.
        processes: ids of the child processes, those that nobody has waited for included.
        memory: mappings of shared memory, each with its addresses.
        tasks: tasks of asyncio that have not ended.
    """

    descriptors: frozenset[tuple[int, str]] = frozenset()
    threads: frozenset[threading.Thread] = frozenset()
    processes: frozenset[int] = frozenset()
    memory: frozenset[tuple[str, str]] = frozenset()
    tasks: frozenset[asyncio.Task[object]] = frozenset()

    def beyond(self, earlier: Holdings) -> Holdings:
        """Return what is held now and was not then."""
        return Holdings(**{f.name: getattr(self, f.name) - getattr(earlier, f.name) for f in fields(self)})

    def along_with(self, others: Holdings) -> Holdings:
        """Return all that is held here or there."""
        return Holdings(**{f.name: getattr(self, f.name) | getattr(others, f.name) for f in fields(self)})

    def describe(self) -> list[str]:
        """Return one line for each thing held."""
        return [
            *(f"descriptor {number} -> {target}" for number, target in sorted(self.descriptors)),
            *(f"thread {thread.name}" for thread in sorted(self.threads, key=lambda t: t.name)),
            *(f"child process {pid}: {_command_line(pid)}" for pid in sorted(self.processes)),
            *(f"shared memory {where} of {name}" for where, name in sorted(self.memory)),
            *sorted(f"pending {task!r}" for task in self.tasks),
        ]


def take_holdings(kept: Mapping[int, int] | None = None) -> Holdings:
    """Look at the descriptors, threads and child processes of this process as they are now.

    Args:
        kept: child processes that are to stay, by id, with the descriptor by which each is reached; they and their
            descriptors are left out.
    """
    kept = {} if kept is None else kept
    return Holdings(
        descriptors=frozenset(_open_descriptors(kept)),
        threads=frozenset(t for t in threading.enumerate() if t.is_alive() and not t.daemon),
        processes=frozenset(_child_processes(kept)),
    )


def wait_for_release(
    before: Holdings, patience: float | None = None, *, take: Callable[[], Holdings] = take_holdings
) -> Holdings:
    """Return what is still held beyond ``before`` once it has had ``patience`` seconds to go away.

    Args:
        before: what was held before.
        patience: seconds; ``PATIENCE_SECONDS`` if left out.
        take: looks at the process.
    """
    left = take().beyond(before)
    if not left.describe():
        return left
    gc.collect()  # a socket in a reference cycle reports its own ResourceWarning, and is gone
    deadline = time.monotonic() + (PATIENCE_SECONDS if patience is None else patience)
    while (left := take().beyond(before)).describe():
        if time.monotonic() >= deadline:
            gc.collect()  # a thread that ended meanwhile may have left a cycle, such as an error's frames
            return take().beyond(before)
        time.sleep(_POLL_SECONDS)
    return left


async def pending_tasks(but: frozenset[asyncio.Task[object]] = frozenset()) -> frozenset[asyncio.Task[object]]:
    """Return the other tasks of the running loop that do not end within a few of its turns.

    Args:
        but: tasks that are left out.
    """
    for _ in range(_TURNS_TO_END):
        if not _tasks_beside(but):
            break
        await asyncio.sleep(0)
    return _tasks_beside(but)


def _tasks_beside(but: frozenset[asyncio.Task[object]] = frozenset()) -> frozenset[asyncio.Task[object]]:
    return frozenset(task for task in asyncio.all_tasks() if task is not asyncio.current_task()) - but


@dataclass(slots=True)
class no_leaks:
    """Check that a block leaves nothing behind: ``with no_leaks():``, or ``async with`` for the tasks of its loop too.

    What goes away within some seconds is not left behind. An error of the block comes before any leak.

    Args:
        patience: seconds that descriptors, threads and processes get to go away.

    Raises:
        AssertionError: at the end of the block, with a line for each thing that is left.
    """

    patience: float = PATIENCE_SECONDS
    _before: Holdings = field(default_factory=Holdings, init=False)
    _tasks: frozenset[asyncio.Task[object]] = field(default=frozenset(), init=False)

    def __enter__(self) -> None:
        self._before = _everything()

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        if exc is None:
            self._check(Holdings())

    async def __aenter__(self) -> None:
        self._tasks = _tasks_beside()
        self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        if exc is None:
            self._check(Holdings(tasks=await pending_tasks(self._tasks)))

    def _check(self, tasks: Holdings) -> None:
        left = wait_for_release(self._before, self.patience, take=_everything).along_with(tasks)
        if lines := left.describe():
            raise AssertionError("\n  ".join([f"{len(lines)} things are left behind:", *lines]))


def _everything() -> Holdings:
    """Return what this process holds, with its shared memory."""
    return take_holdings().along_with(Holdings(memory=frozenset(_shared_memory())))


def end_processes(pids: frozenset[int]) -> None:
    """Kill leaked child processes and wait for them, so that they do not outlive the run."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)


def _open_descriptors(kept: Mapping[int, int]) -> list[tuple[int, str]]:
    try:
        names = os.listdir("/proc/self/fd")
    except FileNotFoundError:
        return []
    descriptors = []
    for name in names:
        try:
            target = os.readlink(f"/proc/self/fd/{name}")
        except FileNotFoundError:  # the one that listed the folder
            continue
        if int(name) not in (*STANDARD_STREAMS, *kept.values()) and not target.startswith(TOLERATED_TARGETS):
            descriptors.append((int(name), target))
    return descriptors


def _child_processes(kept: Mapping[int, int]) -> list[int]:
    try:  # one system call in the usual case, which is to have none
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return []
    listed = _listed_children()
    while listed is not None and listed != (again := _listed_children()):
        listed = again  # the list may lack one beside a child that ends while it is read
    if listed is not None:
        return sorted(listed - kept.keys())
    children = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            # pid (command) state parent ...: the command may hold spaces and brackets
            parent = int(status.read_text().rpartition(")")[2].split()[1])
            if parent == os.getpid() and int(status.parent.name) not in kept:
                children.append(int(status.parent.name))
    return children


def _listed_children() -> set[int] | None:
    """Return the children that the kernel lists for each thread; ``None`` if it cannot be told now."""
    children: set[int] = set()
    try:
        for thread in os.listdir("/proc/self/task"):
            with open(f"/proc/self/task/{thread}/children", "rb") as file:
                children.update(map(int, file.read().split()))
    except (FileNotFoundError, ProcessLookupError):
        return None
    return children


def _shared_memory() -> list[tuple[str, str]]:
    """Return the mappings of shared memory: addresses, and what is mapped."""
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except FileNotFoundError:
        return []
    rows = [line.split(maxsplit=5) for line in lines if " /" in line]
    return [(row[0], row[5]) for row in rows if row[1].endswith("s") and row[5].startswith(_MEMORY)]


def _command_line(pid: int) -> str:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except FileNotFoundError:
        return "already gone"
    return b" ".join(words).decode(errors="replace").strip() or "ended, but nobody waited for it"
