"""Requests to a server from the operator of a cluster: the addresses of its tasks, and the stop.

The module holds the vocabulary of the target ``SERVER``. The messages come from the command line and from
programs that manage clusters, never from masters or workers.
"""

from __future__ import annotations

from actorsession.messages.registry import message
from actorsession.records import dataclass

__all__ = ["SERVER", "ClusterView", "GetCluster", "KeepServer", "StopServer"]

SERVER = "server"
"""The target that serves these messages."""


@message("get_cluster", reply="cluster_view")
@dataclass(frozen=True, slots=True, kw_only=True)
class GetCluster:
    """Requests the cluster that a server is part of."""


@message("cluster_view")
@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """The cluster as one of its tasks sees it.

    Attributes:
        cluster_id: the id of the cluster; "" if it has none.
        task: the task that answers.
        tasks: cluster task to address.
    """

    cluster_id: str
    task: str
    tasks: dict[str, str]


@message("keep_server", reply="done")
@dataclass(frozen=True, slots=True, kw_only=True)
class KeepServer:
    """Requests a server to serve on: without another such request it stops by itself.

    Sent by the process that has started the server through an engine, so that none stays when it is gone.

    Attributes:
        seconds: how long the server serves without another request.
    """

    seconds: float


@message("stop_server", reply="done")
@dataclass(frozen=True, slots=True, kw_only=True)
class StopServer:
    """Requests a server to stop: it releases its address and closes its sessions and connections.

    The answer is sent before the stop, which shows as the end of the link. A server that keeps snapshots
    sends it when the last one is written; it is a ``DataLossError`` if that has failed and changes are lost.

    Attributes:
        reason: who requests the stop, or why; written to the server's log.
    """

    reason: str
