"""``tf.train.Server``: a task of a cluster, in a separate thread of the program.

``actorsession.Server`` runs on its program's event loop, and TensorFlow programs have none. So the server
gets an event loop in a daemon thread, which ends with the program. In a forked child there is no such thread:
the server is its parent's, and ends with it.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import os
import re
import socket
import threading
from typing import Any

from actorsession import cluster
from actorsession.actors.loops import new_event_loop
from actorsession.actors.ownership import Owner
from actorsession.compat.v1.sessions.messages import ServerDef
from actorsession.compat.v1.sessions.settings import as_settings
from actorsession.compat.v1.train.clusters import ClusterSpec
from actorsession.config import ConfigProto
from actorsession.errors import FailedPreconditionError
from actorsession.graph.device import DeviceSpec
from actorsession.interop.message import Message
from actorsession.process_bound import ProcessBound
from actorsession.runtime.interruptible import result_of
from actorsession.standard_streams import open_standard_descriptors

__all__ = ["Server"]

_LOCAL = {"localhost": ["localhost:0"]}
# The loops of servers by their threads.
_RUNNING: dict[threading.Thread, asyncio.AbstractEventLoop] = {}
# A task at any free port of this machine.
_FREE = re.compile(r"(?:(?:grpc|tcp)://)?(localhost|127\.0\.0\.1|\[::1\]):0")


class Server(ProcessBound):
    """One task of a cluster.

    Args:
        server_or_cluster_def: the cluster: a ``ClusterSpec``, a ``ClusterDef`` or a dictionary from jobs to
            addresses; or a ``ServerDef``, which also holds the next three arguments.
        job_name: the job of the task; may be omitted if there is only one.
        task_index: the number of the task; may be omitted if there is only one.
        protocol: the protocol; ``"grpc"`` means ``"tcp"``.
        config: settings of the process.
        start: whether to listen immediately; otherwise ``start()`` does.

    Raises:
        ValueError: if the job is not in the cluster, and no number of the task was given.
        InternalError: if the task is not in the cluster.
        UnknownError: if the address is not available.
    """

    instead = "send its target, and make a session with that"

    def __init__(
        self,
        server_or_cluster_def: Any,
        job_name: str | None = None,
        task_index: int | None = None,
        protocol: str | None = None,
        config: Any = None,
        start: bool = True,
    ) -> None:
        if isinstance(server_or_cluster_def, ServerDef):
            said = server_or_cluster_def
            server_or_cluster_def = said.cluster
            job_name = job_name or said.job_name or None
            # An unset task index reads as 0, which is its meaning.
            task_index = said.task_index if task_index is None else task_index
            protocol = protocol or said.protocol or None
            if config is None and said.HasField("default_session_config"):
                config = said.default_session_config
        if isinstance(server_or_cluster_def, cluster.ClusterResolver):
            server_or_cluster_def = server_or_cluster_def.cluster_spec()
        known = ClusterSpec(server_or_cluster_def)
        if task_index is None and job_name is not None and job_name not in known.jobs:
            raise ValueError(f"No such job in cluster: {job_name!r}; it has {known.jobs}")
        open_standard_descriptors()
        bound, listening = _bound(known, job_name, task_index, protocol)
        settings = cluster.ServerSettings(
            protocol="tcp" if protocol == "grpc" else protocol,
            listening_socket=listening,
            config=as_settings(config) or ConfigProto(),
        )
        self._server = cluster.Server(bound, job_name, task_index, settings)
        task = DeviceSpec.parse(self._server.task)
        # The name of a task is complete.
        assert task.job is not None
        assert task.task is not None
        self._address = bound.task_address(task.job, task.task)
        self._def = ServerDef(
            cluster=known.as_cluster_def(),
            job_name=task.job,
            task_index=task.task,
            protocol=protocol or "grpc",
            default_session_config=_as_message(config),
        )
        self._owner = Owner("server")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended = threading.Event()
        self._changing = threading.Lock()  # one thread at a time makes or ends the loop
        if start:
            self.start()

    @staticmethod
    def create_local_server(config: Any = None, start: bool = True) -> Server:
        """Return a server of a cluster without other tasks, at a free port.

        Args:
            config: settings of the process.
            start: whether to listen immediately.
        """
        return Server(_LOCAL, config=config, start=start)

    @property
    def server_def(self) -> Any:
        """The task and its cluster, as a message."""
        return self._def.copy()

    @property
    def target(self) -> str:
        """The address for sessions that use this server as their master, known before it is started."""
        scheme, separator, rest = self._address.partition("://")
        if not separator:
            return f"grpc://{self._address}"
        return f"grpc://{rest}" if scheme == "tcp" else self._address

    def start(self) -> None:
        """Start to listen and serve; do nothing if the server is running."""
        self._owner.check_process()
        with self._changing:
            if self._ended.is_set():
                raise FailedPreconditionError("the server was stopped; create a new one")
            if self._loop is not None:
                return
            loop = self._loop = new_event_loop()
            thread = threading.Thread(target=self._main, args=[loop], name="actorsession-server", daemon=True)
            thread.start()
            _RUNNING[thread] = loop
            starting = asyncio.run_coroutine_threadsafe(self._server.start(), loop)
        try:
            result_of(starting)
        except BaseException:
            self.stop()
            raise

    def _main(self, loop: asyncio.AbstractEventLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_forever()
        finally:
            # Where the program ends the loop is left as it is.
            if _RUNNING.pop(threading.current_thread(), None) is not None:
                asyncio.set_event_loop(None)
                loop.close()
            self._ended.set()

    def join(self) -> None:
        """Wait until another thread stops the server; Ctrl-C ends the wait."""
        self._owner.check_process()
        while self._loop is not None and not self._ended.wait(0.1):
            pass

    def stop(self) -> None:
        """Stop the server, which fails running steps; further calls, and calls in a fork, have no effect."""
        if self._owner.is_forked:
            return
        with self._changing:
            loop = self._loop
            if loop is None or self._ended.is_set():
                self._ended.set()
                return
            try:
                stopped: concurrent.futures.Future[None] = asyncio.run_coroutine_threadsafe(self._server.stop(), loop)
                result_of(stopped)
            finally:
                loop.call_soon_threadsafe(loop.stop)
                self._ended.wait()


@atexit.register
def _leave_loops() -> None:
    """End the threads of servers with the program, which may crash in a loop that runs while it ends."""
    running = dict(_RUNNING)
    _RUNNING.clear()
    for loop in running.values():
        loop.call_soon_threadsafe(loop.stop)
    for thread in running:
        thread.join(1.0)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_RUNNING.clear)


def _bound(
    known: ClusterSpec, job_name: str | None, task_index: int | None, protocol: str | None
) -> tuple[ClusterSpec, socket.socket | None]:
    """Return a cluster in which a task at any free port has its port, and the socket that holds it."""
    job = job_name or (known.jobs[0] if len(known.jobs) == 1 else None)
    if job is None or job not in known.jobs or protocol not in (None, "grpc", "tcp"):
        return known, None
    tasks = {i: known.task_address(job, i) for i in known.task_indices(job)}
    index = next(iter(tasks)) if task_index is None and len(tasks) == 1 else task_index
    free = None if index is None else _FREE.fullmatch(tasks.get(index, ""))
    if index is None or free is None:
        return known, None
    host = free[1]
    listening = socket.socket(socket.AF_INET6 if "[" in host else socket.AF_INET)
    listening.bind((host.strip("[]"), 0))
    jobs = {name: {i: known.task_address(name, i) for i in known.task_indices(name)} for name in known.jobs}
    jobs[job][index] = f"{host}:{listening.getsockname()[1]}"
    return ClusterSpec(jobs), listening


def _as_message(config: Any) -> Any:
    """Return settings if they are a message; the library's own are no part of a ``ServerDef``."""
    return config if isinstance(config, Message) else None
