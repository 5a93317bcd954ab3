"""An engine in this process, and what the tests of all engines do with a cluster."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from actorsession import AsyncSession, Graph, Variable, ops
from actorsession.actors import Deadline
from actorsession.cluster import Cluster
from actorsession.engines import EngineCluster, TaskFate, TaskOrder
from actorsession.engines.task_host import TaskHost
from actorsession.errors import OpError, WorkerRestartedError
from tests.cluster.kit import PATIENCE, PS0, W0, on

__all__ = ["Desk", "DeskCluster", "model", "reattached"]


class Desk:
    """An engine whose tasks are all served in this process.

    Attributes:
        places: where each task was placed last, by task name.
        orders: all orders so far.
        moves: whether a task that is placed again finds its former port taken.
        refusal: what is raised instead of placing a task.
        how: what it says of a task that does not answer; ``None`` if it does not say anything.
        free: set while there is a place; orders wait for one.
    """

    engine = "Desk"

    def __init__(self) -> None:
        self.places: dict[str, _Place] = {}
        self.orders: list[TaskOrder] = []
        self.moves = False
        self.refusal: OpError | None = None
        self.how: TaskFate | None = TaskFate(clean=False, how="its leg broke")
        self.opened = self.closed = self.closed_now = 0
        self.free = asyncio.Event()
        self.free.set()

    async def open(self, orders: Sequence[TaskOrder], deadline: Deadline) -> None:
        self.opened = len(orders)

    async def place(self, order: TaskOrder, deadline: Deadline) -> _Place:
        self.orders.append(order)
        await self.free.wait()
        if self.refusal is not None:
            raise self.refusal
        former = self.places.get(order.task)
        host = TaskHost(order, "127.0.0.1")
        if former is None or not self.moves:
            await host.start()
        else:
            with socket.create_server(("127.0.0.1", urlsplit(former.address).port or 0)):
                await host.start()
        self.places[order.task] = placed = _Place(host, self.how)
        return placed

    async def close(self) -> None:
        self.closed += 1

    def close_now(self) -> None:
        self.closed_now += 1


class _Place:
    def __init__(self, host: TaskHost, how: TaskFate | None) -> None:
        self.host = host
        self.address = host.address
        self.node = "desk"
        self.how = how

    async def end(self, grace: float) -> None:
        await self.host.stop(grace)

    def end_now(self) -> None:
        self.host.release()

    async def fate(self) -> TaskFate:
        if self.how is None:
            await asyncio.Event().wait()
        assert self.how is not None
        return self.how

    async def log(self) -> Sequence[str]:
        return self.host.log()


class DeskCluster(EngineCluster):
    """A cluster on a desk."""

    def __init__(self, jobs: Mapping[str, int], **settings: Any) -> None:
        self.desk = Desk()
        super().__init__(self.desk, jobs, **settings)


def model(graph: Graph) -> tuple[Variable, Any, Any]:
    """A variable on the first ps, and what the first worker makes of it and of a feed."""
    with graph.as_default():
        with on(PS0):
            v = ops.Variable(np.arange(4, dtype=np.float32), name="v")
        with on(W0):
            fed = ops.placeholder("float32", [4])
            out = ops.reduce_sum(v * fed)
    return v, fed, out


async def reattached(cluster: Cluster, session: AsyncSession, v: Variable, fetch: Any) -> Any:
    """Run until the loss of a task that comes back is told, go on with the session, and return a fetch."""

    async def until_told() -> None:
        while True:
            try:
                await session.run(fetch)
            except WorkerRestartedError:
                return
            except OpError:  # the step that was under way with the task
                pass

    # An engine starts a process in up to a minute on a busy machine.
    async with asyncio.timeout(4 * PATIENCE):
        await until_told()
        assert (await session.reattach(v.initializer)).lost == ("v",)
        found = await session.run(fetch)
        # A session may find the task before its cluster has noted that it is up.
        while not all(status.alive for status in cluster.status().values()):  # noqa: ASYNC110
            await asyncio.sleep(0.01)
    return found
