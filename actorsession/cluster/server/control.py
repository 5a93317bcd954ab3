"""The administration of a server: requests for the tasks of its cluster, and to stop.

An actor of its own, so that it answers even if master and worker are busy. Owned by a server; the client side
is ``admin_client``. Imports messages, and parses addresses with transports.

A server is stopped by a peer that has proved the cluster's token, by one that is connected over TLS, which
requires a certificate of the cluster's own authority on both sides, and by one on the same machine. All of
these may run graphs here, and a graph can do more harm than an orderly stop. A server without a token or TLS
listens on loopback only, so this refuses no peer that the transports accept. It is checked again here because
a server may have been given a bound socket.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from actorsession.actors.actor import answers
from actorsession.actors.context import LOCAL, CallContext
from actorsession.cluster.server.memory import MemoryReader, ServerMemory
from actorsession.errors import DataLossError, PermissionDeniedError
from actorsession.messages.done import Done
from actorsession.messages.server import ClusterView, GetCluster, KeepServer, NoteRestart, StopServer
from actorsession.runtime.step_log import ErrorLog
from transports import parse_address

__all__ = ["Control", "is_near"]

_log = logging.getLogger("actorsession.cluster")


class Control(MemoryReader):
    """The actor that answers administration requests.

    Args:
        task: this server's task.
        cluster_id: the identity of its cluster.
        tasks: returns the current tasks of the cluster and their addresses.
        stop: starts to stop the server, without waiting for it; the argument is by whom.
        keep: lets the server stop by itself unless it is called again within that many seconds.
        trusted: whether every connected peer has proved a token.
        memory: what the server remembers and holds; by default nothing.

    Attributes:
        keeps_snapshots: whether a stop ends with a snapshot, whose outcome is the answer to the request.
    """

    def __init__(
        self,
        task: str,
        cluster_id: str,
        tasks: Callable[[], Mapping[str, str]],
        stop: Callable[[str], None],
        keep: Callable[[float], None],
        *,
        trusted: bool,
        memory: ServerMemory | None = None,
    ) -> None:
        super().__init__(f"server {task}", memory or ServerMemory(task, ErrorLog(task), None, tuple))
        self._task = task
        self._cluster_id = cluster_id
        self._tasks = tasks
        self._stop = stop
        self._keep = keep
        self._trusted = trusted
        self.keeps_snapshots = False
        self._asked: set[asyncio.Task[Any]] = set()  # the handlers of those who wait for the stop
        self._settled = asyncio.Event()
        self._lost = ""

    @answers(GetCluster)
    def on_get_cluster(self, message: GetCluster, call: CallContext) -> ClusterView:
        """Return the tasks of the cluster and their addresses."""
        return ClusterView(cluster_id=self._cluster_id, task=self._task, tasks=dict(self._tasks()))

    @answers(StopServer)
    def on_stop_server(self, message: StopServer, call: CallContext) -> Done | Awaitable[Done]:
        """Start to stop the server, and answer when its last snapshot is written, if it keeps snapshots."""
        self._check(call)
        _log.info("%s was asked to stop by %s: %s", self._task, call.address, message.reason)
        reason = f": {message.reason}" if message.reason else ""
        self._stop(f"at the request of {call.caller}{reason}")
        return self._outcome() if self.keeps_snapshots else Done()

    async def _outcome(self) -> Done:
        """Wait until the last snapshot is written.

        Raises:
            DataLossError: says what is lost, because it could not be written.
        """
        task = asyncio.current_task()
        assert task is not None
        self._asked.add(task)
        await self._settled.wait()
        if self._lost:
            raise DataLossError(self._lost, task=self._task)
        return Done()

    async def settle(self, lost: str) -> None:
        """Answer those who have asked for the stop, and wait until they have their answers.

        Args:
            lost: what is lost with the server; "" for nothing.
        """
        self._lost = lost
        self._settled.set()
        if self._asked:
            await asyncio.wait(self._asked)

    @answers(KeepServer)
    def on_keep_server(self, message: KeepServer, call: CallContext) -> Done:
        """Begin the time anew after which the server stops by itself."""
        self._check(call)
        self._keep(message.seconds)
        return Done()

    # -- what the server remembers and holds ------------------------------------------------------

    @answers(NoteRestart)
    def on_note_restart(self, message: NoteRestart, call: CallContext) -> Done:
        """Remember why the task was started again."""
        self._check(call)
        self._memory.note_restart(message)
        return Done()

    def _check(self, call: CallContext) -> None:
        """Refuse a caller that must not decide when the server stops.

        Raises:
            PermissionDeniedError: names the caller.
        """
        if self._trusted or is_near(call.address):
            return
        who = {"peer": parse_address(call.address).host}
        _log.warning("%s does not stop for %s", self._task, call.address, extra=who)
        raise PermissionDeniedError(
            f"a caller at {call.address} must not stop {self._task}: it has neither the token nor a "
            "certificate of the cluster, and runs on another machine",
            task=self._task,
        )


def is_near(address: str) -> bool:
    """Return whether a connection comes from this machine, or over TLS, where both sides show certificates.

    Args:
        address: the address of the other end, in the form of its link.
    """
    if address == LOCAL:
        return True
    parsed = parse_address(address)
    if parsed.port is None or parsed.scheme == "tls":
        return True
    try:
        host = ipaddress.ip_address(parsed.host.partition("%")[0])
    except ValueError:
        return False
    return (getattr(host, "ipv4_mapped", None) or host).is_loopback
