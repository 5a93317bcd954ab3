"""Faults of real clusters: processes that are killed or stopped, and a network between them that fails.

Signals go to the processes of a cluster that this program has started. What a network does is done by a proxy
before each task; see ``Network``.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine, Iterable, Iterator
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Any, Self, TypeVar

from actorsession.cluster.admin.admin_client import update_cluster
from actorsession.cluster.launch.local_cluster import LocalCluster
from actorsession.errors import OpError
from actorsession.graph.device import task_name
from actorsession.process_bound import ProcessBound
from actorsession.testing.proxy import BOTH, CHUNK, Proxy, Way

__all__ = ["CHUNK", "Network", "Proxy", "Way", "cont", "kill", "stop", "stopped"]

T = TypeVar("T")


def kill(cluster: LocalCluster, job: str, index: int = 0) -> None:
    """Kill the process of a task, which has no time to say so; ``restart`` of the cluster starts it again."""
    cluster.process(job, index).send_signal(signal.SIGKILL)


def stop(cluster: LocalCluster, job: str, index: int = 0) -> None:
    """Stop the process of a task: it keeps its memory and its connections, and does nothing until ``cont``."""
    cluster.process(job, index).send_signal(signal.SIGSTOP)


def cont(cluster: LocalCluster, job: str, index: int = 0) -> None:
    """Let a process go on that was stopped."""
    cluster.process(job, index).send_signal(signal.SIGCONT)


@contextmanager
def stopped(cluster: LocalCluster, job: str, index: int = 0) -> Iterator[None]:
    """Stop the process of a task while the block lasts."""
    stop(cluster, job, index)
    try:
        yield
    finally:
        cont(cluster, job, index)


class Network(ProcessBound):
    """The network between the tasks of a cluster of processes, which can fail: ``with Network(cluster) as network:``.

    All tasks and sessions reach a task through a proxy on loopback, as long as the block lasts; afterwards the tasks
    reach each other directly again. Enter it before the first session of the cluster, as links that exist stay where
    they are. The calls are for any thread; the proxies have a loop of their own. Sessions take their target from
    ``target``.

    Args:
        cluster: a cluster that runs, with ``protocol="tcp"``.

    Attributes:
        cluster: the cluster.
        proxies: the proxy before each task, by task name.
    """

    def __init__(self, cluster: LocalCluster) -> None:
        self.cluster = cluster
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self.proxies: dict[str, Proxy] = {}

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="network that can fail")
        self._thread.start()
        try:
            self._do(self._begin())
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None) -> None:
        self._close()

    def target(self, job: str, index: int = 0) -> str:
        """Return the address of the proxy before a task, for sessions that use the task as their master."""
        return self.proxies[task_name(job, index)].address

    def partition(self, job: str, index: int = 0, ways: Iterable[Way] = BOTH) -> None:
        """Lose all that goes to or comes from a task, without a word to anybody.

        Args:
            job: its job.
            index: its index.
            ways: the directions in which bytes are lost.
        """
        self._change(lambda proxy: proxy.swallow(*ways), job, index)

    def hold(self, job: str, index: int = 0, ways: Iterable[Way] = BOTH) -> None:
        """Hold back all that goes to or comes from a task, until ``heal``: nothing is lost."""
        self._change(lambda proxy: proxy.hold(*ways), job, index)

    def cut(self, job: str, index: int = 0) -> None:
        """Reset the connections to a task, and each new one."""
        self._change(lambda proxy: proxy.cut(), job, index)

    def slow(self, job: str, index: int = 0, *, bytes_per_second: float) -> None:
        """Pass no more than so much in each direction of each connection to a task."""
        self._change(lambda proxy: proxy.slow(bytes_per_second), job, index)

    def delay(self, job: str, index: int = 0, *, seconds: float) -> None:
        """Pass all that goes to or comes from a task so much later."""
        self._change(lambda proxy: proxy.delay(seconds), job, index)

    def heal(self) -> None:
        """End all faults; connections that have lost bytes are reset."""
        for proxy in self.proxies.values():
            self._do(self._on_loop(proxy.heal))

    def introduce(self) -> None:
        """Tell the tasks the addresses of the proxies, again after a task was started again.

        A proxy refuses who dials a task that has ended, until then.

        Raises:
            UnavailableError: if a task that runs does not answer.
        """
        self._do(self._introduce(lambda task: self.proxies[task].address))

    def _change(self, fault: Callable[[Proxy], object], job: str, index: int) -> None:
        self._do(self._on_loop(lambda: fault(self.proxies[task_name(job, index)])))

    async def _on_loop(self, work: Callable[[], object]) -> None:
        work()

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _begin(self) -> None:
        for task, process in self.cluster.processes.items():
            self.proxies[task] = await Proxy(process.address, shuts=True).__aenter__()
        await self._introduce(lambda task: self.proxies[task].address)

    async def _introduce(self, address: Callable[[str], str]) -> None:
        for proxy in self.proxies.values():
            proxy.open()
        addresses = {task: address(task) for task in self.cluster.processes}
        for process in self.cluster.processes.values():
            if process.alive:
                await update_cluster(process.address, addresses)

    async def _end(self) -> None:
        for proxy in self.proxies.values():
            proxy.heal()
        with suppress(OpError):  # a process may be stopped or at its end, and the block may have an error of its own
            await self._introduce(lambda task: self.cluster.processes[task].address)
        for proxy in self.proxies.values():
            await proxy.__aexit__(None, None, None)

    def _close(self) -> None:
        loop, thread = self._loop, self._thread
        assert loop is not None
        assert thread is not None
        try:
            self._do(self._end())
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()
