"""A worker process: a server that lives as long as its parent wants.

Run by ``python -m actorsession worker``. With ``--announce`` it is a child of a ``LocalCluster``: it
prints its real address as one line of JSON on standard output, reads the whole cluster as one line of
JSON from standard input, and serves until that input ends, which it does when the parent closes it or
dies, however it dies.
"""

from __future__ import annotations

import asyncio
import json
import os
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
    """Serves one task until a signal or the end of the parent."""
    loop = asyncio.get_running_loop()
    server = Server(
        options.cluster, options.job, options.index,
        config=ConfigProto(device_count=options.device_count), cluster_id=options.cluster_id,
    )  # fmt: skip
    ended = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    async with server:
        if options.announce:
            sys.stdout.write(json.dumps({"address": server.target, "pid": os.getpid()}) + "\n")
            sys.stdout.flush()
            _Parent(loop, server, ended.set).start()
        else:
            name = task_name(options.job, options.index)
            sys.stdout.write(f"{name} serves at {server.target}; Ctrl-C ends it\n")
            sys.stdout.flush()
        await ended.wait()
        _end_in(_LAST_GRACE)


class _Parent:
    """Listens to the parent on standard input, in a thread: its end must be seen even while the loop is
    held by a kernel."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, server: Server, ended: Callable[[], None]
    ) -> None:
        self._loop = loop
        self._server = server
        self._ended = ended

    def start(self) -> None:
        threading.Thread(target=self._listen, name="actorsession-parent", daemon=True).start()

    def _listen(self) -> None:
        # Not sys.stdin: its lock would be held by this thread while the interpreter shuts down.
        with os.fdopen(os.dup(0), "rb") as pipe:
            line = pipe.readline()
            if line:
                cluster = ClusterSpec(json.loads(line))
                self._loop.call_soon_threadsafe(self._server.learn_peers, cluster)
                pipe.read()  # returns when the parent has closed its end, or died
        _end_in(_LAST_GRACE)
        self._loop.call_soon_threadsafe(self._ended)


def _end_in(seconds: float) -> None:
    """Ends the process after a while, whatever hangs: nobody is left to notice."""
    timer = threading.Timer(seconds, os._exit, args=(0,))
    timer.daemon = True
    timer.start()
