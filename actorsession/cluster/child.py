"""A worker process: a server that lives as long as its parent wants.

Run by ``python -m actorsession worker``. With ``--announce`` it is a child of a ``LocalCluster`` and speaks
lines of JSON with it: it writes its real address to standard output, reads the whole cluster from standard
input, writes that it knows it, and serves until that input ends, which it does when the parent closes it
or dies, however it dies.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import select
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from actorsession.cluster.server import Server
from actorsession.cluster.spec import ClusterSpec
from actorsession.config import ConfigProto
from actorsession.graph.device import task_name

__all__ = ["WorkerOptions", "serve"]

# Seconds for an orderly end after the parent is gone or a signal came; then the process ends anyway.
_LAST_GRACE = 3.0
# Seconds between looks at who the parent is; at its death the pipe tells at once in all usual cases.
_LOOK = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerOptions:
    """What a worker process is told on its command line.

    Attributes:
        job: its job.
        index: its index in the job.
        cluster: the tasks and their addresses.
        cluster_id: identity of the cluster.
        device_count: devices by type.
        announce: whether it is the child of a local cluster.
    """

    job: str
    index: int
    cluster: dict[str, Any]
    cluster_id: str = ""
    device_count: dict[str, int] = field(default_factory=dict)
    announce: bool = False


async def serve(options: WorkerOptions) -> None:
    """Serves one task until a signal or the end of the parent.

    Raises:
        ValueError: for a task that is not in the cluster, or a parent that speaks nonsense.
        TypeError: for a cluster in another form.
        UnknownError: if the address cannot be had.
    """
    loop = asyncio.get_running_loop()
    server = Server(
        options.cluster, options.job, options.index,
        config=ConfigProto(device_count=options.device_count), cluster_id=options.cluster_id,
    )  # fmt: skip
    ended = asyncio.Event()
    parent = _Parent(loop, server, ended.set)
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    async with server:
        if options.announce:
            _say({"address": server.target, "pid": os.getpid()})
            parent.start()
        else:
            name = task_name(options.job, options.index)
            sys.stdout.write(f"{name} serves at {server.target}; Ctrl-C ends it\n")
            sys.stdout.flush()
        await ended.wait()
        _end_in(_LAST_GRACE)
    if parent.nonsense:
        raise ValueError(f"the parent should tell the cluster as JSON; {parent.nonsense}")


def _say(value: dict[str, Any]) -> None:
    """Writes a line to the parent; one that is gone needs none."""
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.write(json.dumps(value) + "\n")
        sys.stdout.flush()


class _Parent:
    """Listens to the parent on standard input, in a thread: its end must be seen even while the loop is
    held by a kernel."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, server: Server, ended: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._server = server
        self._ended = ended
        self._pid = os.getppid()
        self.nonsense = ""  # what was wrong with what it said

    def start(self) -> None:
        """Begins to listen."""
        threading.Thread(target=self._listen, name="actorsession-parent", daemon=True).start()

    def _listen(self) -> None:
        # Not sys.stdin: its lock would be held by this thread while the interpreter shuts down.
        with os.fdopen(os.dup(0), "rb") as pipe:
            line = pipe.readline()
            if line and self._understands(line):
                self._wait_for_end(pipe.fileno())
        _end_in(_LAST_GRACE)
        self._loop.call_soon_threadsafe(self._ended)

    def _understands(self, line: bytes) -> bool:
        try:
            cluster = ClusterSpec(json.loads(line))
        except (ValueError, TypeError) as exc:
            self.nonsense = f"it said {line[:100]!r}: {exc}"
            return False
        self._loop.call_soon_threadsafe(self._learn, cluster)
        return True

    def _learn(self, cluster: ClusterSpec) -> None:
        self._server.learn_peers(cluster)
        _say({"ready": True})

    def _wait_for_end(self, pipe: int) -> None:
        """Returns when the parent has closed its end of the pipe, or is gone.

        A process that the parent forked holds the pipe open beyond the parent's death; so it is looked
        whether we are an orphan, too.
        """
        while os.getppid() == self._pid:
            readable, _, _ = select.select([pipe], [], [], _LOOK)
            if readable and not os.read(pipe, 4096):
                return


def _end_in(seconds: float) -> None:
    """Ends the process after a while, whatever hangs: nobody is left to notice."""
    timer = threading.Timer(seconds, os._exit, args=(0,))
    timer.daemon = True
    timer.start()
