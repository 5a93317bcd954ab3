"""The ways to a master: called directly in this process, over the wire, and in another process."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from actorsession import AsyncSession, LocalCluster
from actorsession.cluster import read_statistics
from actorsession.config import ConfigProto, RPCOptions
from tests.cluster.kit import W0, InProcess, eventually, in_process, is_empty, until_all

__all__ = ["Way", "made_ways", "way"]


class Way:
    """A cluster of a ps and two workers, and how sessions reach its master, on worker 0.

    Args:
        cluster: in this process, or in others.
        over_wire: whether messages are encoded even to a master of this process.
    """

    def __init__(self, cluster: InProcess | LocalCluster, *, over_wire: bool) -> None:
        self.cluster = cluster
        self.over_wire = over_wire

    @property
    def is_direct(self) -> bool:
        """Whether sessions call the master without encoding anything."""
        return isinstance(self.cluster, InProcess) and not self.over_wire

    @property
    def target(self) -> str:
        if isinstance(self.cluster, InProcess):
            return self.cluster.target(W0)
        return self.cluster.target("worker")

    def config(self, **settings: Any) -> ConfigProto:
        return ConfigProto(rpc_options=RPCOptions(use_rpc_for_inprocess_master=self.over_wire), **settings)

    def open_partial_runs(self) -> int:
        """How many partial runs are open: each has its meeting place at the master's task."""
        if isinstance(self.cluster, InProcess):
            return self.cluster.server(W0).statistics().rendezvous
        with ThreadPoolExecutor(1) as other:  # not on this loop, which is asked in the middle of a test
            return other.submit(asyncio.run, read_statistics(self.target)).result().rendezvous

    async def until_empty(self) -> None:
        """Waits until no task has anything left of any session."""
        if isinstance(self.cluster, InProcess):
            servers = self.cluster.statistics
            await eventually(lambda: all(is_empty(seen) for seen in servers().values()))
        else:
            await until_all(self.cluster.spec.tasks().values(), is_empty)


async def made_ways(name: str, processes: LocalCluster | None = None) -> AsyncIterator[Way]:
    """A way by its name; looks afterwards that nothing is left of any session, then clears variables."""
    if processes is not None and name == "processes":
        made = Way(processes, over_wire=False)
        yield made
        await made.until_empty()
        await AsyncSession.reset(made.target)
        return
    async with in_process({"ps": 1, "worker": 2}) as cluster:
        made = Way(cluster, over_wire=name == "wire")
        yield made
        await made.until_empty()


@pytest.fixture(params=["inproc", "wire", pytest.param("processes", marks=pytest.mark.whole)])
async def way(request: Any, processes: LocalCluster) -> AsyncIterator[Way]:
    async for made in made_ways(request.param, processes):
        yield made
