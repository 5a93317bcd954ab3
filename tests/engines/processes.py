"""Folders of engines on this machine, by which the processes that an engine has started are found."""

from __future__ import annotations

import contextlib
import os
import signal
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

__all__ = [
    "QUIET_ENGINES",
    "RAY_DID_NOT_START",
    "RAY_STARTS",
    "RAY_TAKES_NO_JOB",
    "engine_folder",
    "kill_processes_of",
    "processes_of",
]

_PATIENCE = 60.0  # seconds for processes to end

# Settings of engines for tests: what they must not do in a user's name, and patience on a busy machine.
QUIET_ENGINES = {
    "RAY_USAGE_STATS_ENABLED": "0",
    # Ray has its actors give way to all else on the machine, such as other tests, and kills some of them when
    # all else has taken nearly all memory.
    "RAY_worker_niceness": "0",
    "RAY_memory_monitor_refresh_ms": "0",
    "RAY_worker_register_timeout_seconds": "300",
    "RAY_agent_register_timeout_ms": "300000",
    "RAY_gcs_server_request_timeout_seconds": "300",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT": "300s",
    "DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "300s",
}

# What Ray says when processes of its own have not started within 30 s, a limit that nobody can change.
RAY_DID_NOT_START = "The current node timed out during startup"
RAY_STARTS = 3  # attempts
# What it says of a job when its own process that takes jobs does not run within 10 s, another such limit.
RAY_TAKES_NO_JOB = "No available agent to submit job, please try again later."


def processes_of(folder: str) -> list[int]:
    """The processes that name a folder in their command lines and have not ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if folder.encode() in (path / "cmdline").read_bytes():  # "" of one that has ended
                found.append(int(path.name))
    return [pid for pid in found if pid != os.getpid()]


def kill_processes_of(folder: str) -> None:
    """Kill them, and those that they start meanwhile."""
    while left := processes_of(folder):
        for pid in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


@contextlib.contextmanager
def engine_folder() -> Iterator[str]:
    """A new folder with a short name, because Ray and munge have sockets in it.

    In the end all processes that name it are gone, or else they are killed, and that is an error.
    """
    with tempfile.TemporaryDirectory(prefix="as", ignore_cleanup_errors=True) as name:
        try:
            yield name
        except BaseException:
            kill_processes_of(name)
            raise
        limit = time.monotonic() + _PATIENCE
        while (left := processes_of(name)) and time.monotonic() < limit:
            time.sleep(0.05)
        kill_processes_of(name)
        assert left == []
