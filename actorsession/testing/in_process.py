"""A cluster whose servers all run in this process and on one loop: two tasks in milliseconds, over real sockets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

from actorsession.cluster.server.server import Server
from actorsession.cluster.server.settings import ServerSettings
from actorsession.cluster.server.statistics import ServerStatistics
from actorsession.cluster.spec import ClusterSpec
from actorsession.config import ConfigProto
from actorsession.graph.device import task_name
from actorsession.process_bound import ProcessBound

__all__ = ["InProcessCluster"]


class InProcessCluster(ProcessBound):
    """Servers of one cluster, all in this process and on the running loop, for as long as an ``async with`` lasts.

    Args:
        jobs: number of tasks of each job.
        options: fields of ``ServerSettings``, for all of them.

    Attributes:
        servers: the server of each task.
    """

    def __init__(self, jobs: Mapping[str, int], **options: Any) -> None:
        options.setdefault("config", ConfigProto(inter_op_parallelism_threads=8))
        bind = {job: ["127.0.0.1:0"] * count for job, count in jobs.items()}
        tasks = [(job, index) for job, count in jobs.items() for index in range(count)]
        self.servers = [Server(bind, job, index, settings=ServerSettings(**options)) for job, index in tasks]
        self._tasks = tasks

    async def start(self) -> None:
        """Start all servers, and tell each where the others are; if that fails or is cancelled, none is left."""
        try:
            for server in self.servers:
                await server.start()
            for server in self.servers:
                server.learn_peers(self.spec)
        except BaseException:
            await self.stop()
            raise

    async def stop(self) -> None:
        """Stop all servers."""
        for server in self.servers:
            await server.stop()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    @property
    def spec(self) -> ClusterSpec:
        """The tasks and their addresses."""
        jobs: dict[str, dict[int, str]] = {}
        for (job, index), server in zip(self._tasks, self.servers, strict=True):
            jobs.setdefault(job, {})[index] = server.target
        return ClusterSpec(jobs)

    def server(self, task: str) -> Server:
        """Return the server of a task, by its full name."""
        return next(s for s in self.servers if s.task == task)

    def target(self, task: str = task_name("worker", 0)) -> str:
        """Return the address of a task, by its full name."""
        return self.server(task).target

    def statistics(self) -> dict[str, ServerStatistics]:
        """Return the counters of each server, by task name."""
        return {server.task: server.statistics() for server in self.servers}
