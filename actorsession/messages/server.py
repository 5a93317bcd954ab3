"""What whoever runs a cluster asks a server: where its tasks are, and to end.

Owns the vocabulary of the target ``SERVER``. The messages come from the command line and from programs that
look after clusters, never from masters or workers.
"""

from __future__ import annotations

from actorsession.messages.registry import message
from actorsession.records import dataclass

__all__ = ["SERVER", "ClusterView", "GetCluster", "StopServer"]

SERVER = "server"
"""The target that serves these messages."""


@message("get_cluster", reply="cluster_view")
@dataclass(frozen=True, slots=True, kw_only=True)
class GetCluster:
    """Asks a server which cluster it is part of."""


@message("cluster_view")
@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """The cluster as one of its tasks knows it.

    Attributes:
        cluster_id: its identity; "" if it has none.
        task: the task that answers.
        tasks: cluster task to address.
    """

    cluster_id: str
    task: str
    tasks: dict[str, str]


@message("stop_server", reply="done")
@dataclass(frozen=True, slots=True, kw_only=True)
class StopServer:
    """Asks a server to end: it gives its address up and closes its sessions and connections.

    The answer comes before the end, which shows as the end of the link.

    Attributes:
        reason: who wants it, or why; goes to the server's log.
    """

    reason: str
