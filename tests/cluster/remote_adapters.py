"""Both kinds of sessions on a cluster, for specifications of local sessions that are run again there."""

from __future__ import annotations

import itertools
from typing import Any

from actorsession import AsyncSession, Graph, Operation, Session
from actorsession.config import ConfigProto
from tests.cluster.kit import PS0, W0, W1
from tests.cluster.master_access import Way
from tests.session.session_adapters import AsyncAdapter, SyncAdapter

__all__ = ["FACES", "spread"]


class RemoteAdapter:
    """What both faces tell of a session on a cluster."""

    way: Way
    session: Any

    def counts(self) -> tuple[int, int, int]:
        """In the form of local faces: a cluster does not tell what waits in a meeting place.

        The first is what the client counts, and the second what the servers do.
        """
        return self.session.statistics().partial_runs, self.way.open_partial_runs(), 0


class RemoteAsync(RemoteAdapter, AsyncAdapter):
    """``AsyncSession`` on a cluster."""

    def __init__(self, way: Way, graph: Graph, config: ConfigProto | None) -> None:
        self.way = way
        self.session = AsyncSession(way.target, graph=graph, config=config or way.config())


class RemoteSync(RemoteAdapter, SyncAdapter):
    """``Session`` on a cluster."""

    def __init__(self, way: Way, graph: Graph, config: ConfigProto | None) -> None:
        self.way = way
        self.session = Session(way.target, graph=graph, config=config or way.config())


FACES: dict[str, Any] = {"AsyncSession": RemoteAsync, "Session": RemoteSync}


def spread(graph: Graph) -> Any:
    """Return the device scope that gives the nodes of a graph to one task after the other."""
    tasks = itertools.cycle([W0, PS0, W1])

    def next_task(op: Operation) -> str:
        return op.device or next(tasks)

    return graph.device(next_task)
