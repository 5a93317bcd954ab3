"""What the master of a remote session has of the client's graph, and how new nodes get there.

Owned by a ``SessionConnection``.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from actorsession.actors.deadline import Deadline
from actorsession.config import DEFAULT_STEP_TIMEOUT, ConfigProto
from actorsession.config.limits import check_graph_size
from actorsession.errors import OpError
from actorsession.graph.function import nodes_in, size_of
from actorsession.graph.graph import Graph
from actorsession.graph.node import GraphDef
from actorsession.graph.operation import Operation
from actorsession.messages.session import ExtendSession, SessionExtended
from actorsession.records import dataclass
from actorsession.runtime.planning import LARGE, Planning

if TYPE_CHECKING:
    from actorsession.session.remote.session_connection import SessionConnection

__all__ = ["SentGraph", "Snapshot"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A graph at some moment.

    Attributes:
        operations: its operations.
        extensions: the number of extensions of them.
        size: the number of its nodes, with those of functions.
    """

    operations: Sequence[Operation] = ()
    extensions: int = 0
    size: int = 0


class SentGraph:
    """The graph of a session, as far as its master has it.

    Args:
        connection: of the session.
        graph: its graph; it may grow.
        config: its settings.

    Attributes:
        may_wait: whether the graph has ops that may wait for other steps.
    """

    __slots__ = (
        "_connection",
        "_extending",
        "_extensions",
        "_graph",
        "_limit",
        "_planning",
        "_sent",
        "_size",
        "_unbuilt",
        "_version",
        "may_wait",
    )

    def __init__(self, connection: SessionConnection, graph: Graph, config: ConfigProto) -> None:
        self._connection = connection
        self._graph = graph
        self._limit = config.operation_timeout or DEFAULT_STEP_TIMEOUT
        # Whether the graph is still being built: a static one is sent by the first run.
        self._unbuilt = config.experimental.optimize_for_static_graph
        self._planning = Planning()
        self._extending = asyncio.Lock()
        self.may_wait = False
        self.note(0, Snapshot())

    def note(self, version: int, sent: Snapshot) -> None:
        """Record what a session that was created, or is about to be, has at its master."""
        self._version = version
        self._sent, self._extensions = len(sent.operations), sent.extensions
        self._size = sent.size

    @property
    def is_whole(self) -> bool:
        """Whether the master has all nodes."""
        return len(self._graph.nodes.order) == self._sent

    def snapshot(self, *, bare: bool) -> Snapshot:
        """Return what a new session is created with: the graph, or nothing.

        Raises:
            ResourceExhaustedError: if the graph is too large.
        """
        if bare or self._unbuilt:
            return Snapshot()
        with self._graph.growing():
            taken = Snapshot(
                self._graph.get_operations(), len(self._graph.changes.extended), self._graph.nodes.total_size
            )
        check_graph_size(taken.size)
        return taken

    def close(self, error: OpError) -> None:
        """End what is under way in a thread."""
        self._planning.close(error)

    async def described(
        self, operations: Callable[[], Sequence[Operation]], number: int, deadline: Deadline
    ) -> list[Any]:
        """Return operations in wire form; many are described, and encoded for a link, in a thread.

        Args:
            operations: returns them; called under the lock of the graph.
            number: their approximate number.
            deadline: the time until which to wait.
        """
        many, seed = number > LARGE, self._graph.seed

        def describe() -> tuple[bool, list[Any]]:
            if many:
                self._graph.nodes.describe(self._sent, self._planning.check)
            with self._graph.growing():
                ops = operations()
                nodes = GraphDef(tuple(op.plain for op in ops), seed=seed)
            self._planning.check()
            return _may_wait(ops), nodes.to_wire(pack=many and self._connection.over_link)

        described = self._planning.run(describe) if many else _now(describe)
        may_wait, wire = await deadline.wait(described, what="the graph to be described")
        self.may_wait = self.may_wait or may_wait
        return wire

    async def extend(self) -> None:
        """Send the master the nodes that were added to the graph."""
        async with self._extending:
            grown: list[Operation] = []
            added: list[Operation] = []
            size = 0

            def new() -> list[Operation]:
                nonlocal size
                size = self._graph.nodes.total_size
                grown[:] = self._graph.changes.extended[self._extensions :]
                added[:] = self._graph.nodes.order[self._sent :]
                return [*(op for op in dict.fromkeys(grown) if op.number < self._sent), *added]

            deadline = Deadline.after(self._limit)
            total = self._graph.nodes.total_size
            check_graph_size(total)
            grows = size_of(self._graph.changes.extended[self._extensions :])
            wire = await self.described(new, grows + total - self._size, deadline)
            if not nodes_in(wire[-1]):
                return
            connection = self._connection
            extended = await connection.ask(
                ExtendSession(
                    session_handle=connection.handle,
                    graph=wire,
                    current_graph_version=self._version,
                    request_id=connection.request_id(),
                ),
                deadline,
                SessionExtended,
            )
            self._unbuilt = False
            self._version = extended.graph_version
            self._sent += len(added)
            self._extensions += len(grown)
            self._size = size


def _may_wait(operations: Sequence[Operation]) -> bool:
    return any(op.op_def.blocks for op in operations)


async def _now(work: Callable[[], T]) -> T:
    return work()
