"""The server of one task in a process that an engine has started: a Ray actor, a Dask worker.

The server has an event loop in a thread of its own, so that neither waits for the engine's loop. The process
is the engine's: nothing here ends it, or changes its signals. Imported by the engines' own processes, in
which the cluster's driver does not run.
"""

from __future__ import annotations

import asyncio
import importlib
import logging
from collections import deque
from collections.abc import Sequence
from typing import ClassVar
from urllib.parse import urlsplit

from actorsession.cluster.server.server import Server
from actorsession.cluster.server.settings import ServerSettings
from actorsession.cluster.spec import ClusterSpec
from actorsession.config import ConfigProto
from actorsession.engines.launcher import TaskOrder
from actorsession.errors import UnknownError
from actorsession.rpc.security import forget_token, remember_token
from actorsession.runtime.loop_thread import LoopThread

__all__ = ["TaskHost"]

_KEPT_LINES = 40  # as many as of a child process
_LOGGERS = ("actorsession", "transports")
_FORM = "%(asctime)s %(levelname)s %(message)s"


class TaskHost:
    """Serves one task in this process.

    Args:
        order: the task.
        host: the name or address of this node, at which the others reach it.
    """

    def __init__(self, order: TaskOrder, host: str) -> None:
        self._order = order
        self._host = f"[{host}]" if ":" in host else host
        self._server: Server | None = None
        self._thread: LoopThread | None = None
        self._serving: asyncio.Task[str] | None = None
        self._log = _LastLines(_KEPT_LINES)
        self.address = ""

    async def start(self) -> str:
        """Serve from now on, and return the address; if that fails nothing is left of it.

        Raises:
            ImportError: if a module that the order names cannot be imported.
            OpError: for what ``Server`` raises.
        """
        self._log.attach()
        try:
            for name in self._order.imports:
                importlib.import_module(name)
            self._thread = LoopThread(f"actorsession-{self._order.job}-{self._order.index}")
            self.address = await asyncio.wrap_future(self._thread.submit(self._serve()))
        except BaseException:
            self.release()
            raise
        remember_token(self.address, self._order.token)
        return self.address

    async def _serve(self) -> str:
        self._serving = asyncio.current_task()
        server = await self._listen()
        server.keep(self._order.keep)
        self._server = server
        return server.target

    async def _listen(self) -> Server:
        """Return a server at the task's former address, or at another port where that is taken."""
        former = urlsplit(ClusterSpec(self._order.cluster).tasks()[self._order.task])
        if former.port and former.hostname == self._host.strip("[]"):
            try:
                return await self._started(former.port)
            except UnknownError:
                logging.getLogger("actorsession.cluster").info("port %s is taken", former.port)
        return await self._started(0)

    async def _started(self, port: int) -> Server:
        order = self._order
        own = f"{order.scheme}://{self._host}:{port}"
        tasks = {**ClusterSpec(order.cluster).tasks(), order.task: own}
        settings = ServerSettings(
            config=ConfigProto(device_count=order.devices),
            cluster_id=order.cluster_id,
            token=order.token,
            security=order.security,
            snapshot_dir=order.snapshot_dir,
            snapshot_every=order.snapshot_every,
            file_roots=order.file_roots,
            restart_wait=order.restart_wait,
        )
        server = Server(ClusterSpec.of_tasks(tasks), order.job, order.index, settings)
        await server.start()
        return server

    @property
    def serving(self) -> bool:
        """Whether the server runs: it was started and was not asked to stop."""
        return self._server is not None and not self._server.stopping

    def log(self) -> Sequence[str]:
        """Return the last lines of this process's log of the library."""
        return tuple(self._log.lines)

    async def stop(self, grace: float) -> str:
        """Stop the server and its loop; may be called twice.

        Args:
            grace: seconds for connections to end by themselves.

        Returns:
            What is lost because the last snapshot could not be written; "" for nothing.
        """
        thread, self._thread = self._thread, None
        if thread is not None:
            await asyncio.wrap_future(thread.submit(self._end(grace)))
            thread.request_stop()
        forget_token([self.address])
        self._log.detach()
        return "" if self._server is None else self._server.lost

    def release(self) -> None:
        """Stop without waiting, for a host that its engine drops without a word; not in a forked child."""
        thread, self._thread = self._thread, None
        if thread is not None and not thread.is_forked:
            thread.submit(self._end(0.0))
            thread.request_stop()
        forget_token([self.address])
        self._log.detach()

    async def _end(self, grace: float) -> None:
        """End the server, also one that is being started, whose start undoes itself."""
        if self._serving is not None:
            if not self._serving.cancelling():  # a second cancellation would not wait for the undoing
                self._serving.cancel()
            await asyncio.wait({self._serving})
        if self._server is not None:
            await self._server.stop(grace)


class _LastLines(logging.Handler):
    """Keeps the last lines that the library has logged in this process.

    Loggers without a level of their own log from INFO on while there is such a handler; a level that the
    program has set stays.
    """

    _attached: ClassVar[set[_LastLines]] = set()
    _levelled: ClassVar[set[str]] = set()

    def __init__(self, kept: int) -> None:
        super().__init__(logging.INFO)
        self.lines: deque[str] = deque(maxlen=kept)
        self.setFormatter(logging.Formatter(_FORM))

    def attach(self) -> None:
        self._attached.add(self)
        for name in _LOGGERS:
            logger = logging.getLogger(name)
            logger.addHandler(self)
            if logger.level == logging.NOTSET:
                logger.setLevel(logging.INFO)
                self._levelled.add(name)

    def detach(self) -> None:
        self._attached.discard(self)
        for name in _LOGGERS:
            logging.getLogger(name).removeHandler(self)
        while not self._attached and self._levelled:
            logging.getLogger(self._levelled.pop()).setLevel(logging.NOTSET)

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(self.format(record))
