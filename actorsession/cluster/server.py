"""A server: one task of a cluster, with a master and a worker behind one listener.

Binding comes first and the real address is published after it, so port 0 works and no free port is
guessed. A server says of itself cluster id, task and incarnation to whoever connects, and refuses peers of
another cluster.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from actorsession.actors import registry
from actorsession.actors.ref import Ref
from actorsession.cluster.master import Master
from actorsession.cluster.spec import ClusterSpec
from actorsession.cluster.statistics import ServerStatistics
from actorsession.cluster.worker import Worker
from actorsession.cluster.worker_cache import WorkerCache
from actorsession.config import ConfigProto
from actorsession.errors import FailedPreconditionError, OpError, UnknownError, error_to_wire
from actorsession.graph.device import task_name
from actorsession.messages.session import MASTER
from actorsession.messages.worker import WORKER, CleanupGraph
from actorsession.runtime.blas_threads import BlasThreads, hold_blas_threads
from actorsession.runtime.devices import make_devices, new_incarnation
from actorsession.runtime.kernel_pool import KernelPool
from actorsession.runtime.pools import server_pool
from actorsession.session.remote import shared_token
from actorsession.session.remote_settings import refuse_local_settings
from transports import Hello, Listener, TransportError, listen

__all__ = ["Server", "ServerStatistics"]

_log = logging.getLogger("actorsession.cluster")
# Seconds that stopping may take for connections and actors to end by themselves.
_GRACE = 2.0


class Server:
    """One task of a cluster.

    Args:
        cluster: the tasks and their addresses; this task's may have port 0.
        job_name: the job of this task.
        task_index: its index in the job.
        config: settings of the process: ``device_count``, and the threads of its kernel pool and of
            the BLAS library (``inter_op_parallelism_threads``, ``intra_op_parallelism_threads``).
        cluster_id: servers and clients of another id are refused; "" accepts clients and servers that
            have none.
        token: shared secret; needed to listen on anything but loopback. By default what
            ``ACTORSESSION_TOKEN`` of the environment says, as for clients.

    Raises:
        ValueError: if the task is not in the cluster.
        InvalidArgumentError: for settings that only local sessions have.
    """

    def __init__(
        self,
        cluster: ClusterSpec | Mapping[str, Any],
        job_name: str,
        task_index: int = 0,
        *,
        config: ConfigProto | None = None,
        cluster_id: str = "",
        token: str | None = None,
    ) -> None:
        self._spec = ClusterSpec(cluster)
        self._config = config or ConfigProto()
        refuse_local_settings(self._config)
        self._bind_to = self._spec.tasks().get(task_name(job_name, task_index))
        if self._bind_to is None:
            self._spec.task_address(job_name, task_index)  # says what would be valid
        self.task = task_name(job_name, task_index)
        self.incarnation = new_incarnation()
        self._token = token if token is not None else shared_token()
        hello = Hello(
            cluster_id=cluster_id, task=self.task, incarnation=self.incarnation, pid=os.getpid()
        )
        self._hello = hello
        self._serves: dict[str, Ref] = {}
        self._cache = WorkerCache(self.task, hello, self._serves, self._lost_push, self._token)
        self._listener: Listener | None = None
        self._master: Master | None = None
        self._worker: Worker | None = None
        self._pool: KernelPool | None = None
        self._blas: BlasThreads | None = None
        self._stopping = asyncio.Event()

    # -- life ----------------------------------------------------------------------------------

    async def start(self) -> None:
        """Binds, and serves from then on.

        Raises:
            FailedPreconditionError: if it was started before.
            UnknownError: if the address cannot be had (TensorFlow's class for it).
        """
        if self._listener is not None:
            raise FailedPreconditionError(f"the server of {self.task} was started already")
        assert self._bind_to is not None
        self._make_actors()
        try:
            self._listener = await listen(
                self._bind_to, self._hello, self._cache.serve, token=self._token
            )
        except TransportError as exc:
            await self._stop_actors(f"the server of {self.task} has no address")
            raise UnknownError(
                f"{self.task} cannot listen at {self._bind_to}: {exc}", task=self.task
            ) from exc
        self._cache.learn({**self._spec.tasks(), self.task: self.target})
        registry.publish(self.target, self._serves[MASTER])

    def _make_actors(self) -> None:
        self._pool = server_pool(self._config)
        threads = self._config.intra_op_parallelism_threads
        self._blas = hold_blas_threads(threads) if threads else None
        devices = make_devices(self.task, self._config.device_count)
        self._worker = Worker(
            self.task, self.incarnation, devices, self._cache.push, self._cache.learn,
            lambda: self.statistics().to_wire(), self._pool,
        )  # fmt: skip
        self._master = Master(self.task, self.incarnation, self._known_tasks, self._worker_of)
        self._serves[WORKER] = self._worker.ref
        self._serves[MASTER] = self._master.ref

    def _known_tasks(self) -> Mapping[str, str]:
        known = self._cache.addresses
        return {task: known[task] for task in self._spec.tasks()}

    def _worker_of(self, task: str, incarnation: int | None) -> Ref:
        if task == self.task:
            return self._serves[WORKER]
        return self._cache.worker(task, incarnation)

    def _lost_push(self, step_id: int, error: OpError) -> None:
        """Tensors could not be delivered: the step fails here, and so everywhere."""
        if self._worker is not None:
            self._serves[WORKER].tell(CleanupGraph(step_id=step_id, error=error_to_wire(error)))

    def learn_peers(self, cluster: ClusterSpec | Mapping[str, Any]) -> None:
        """Takes in the addresses of the other tasks, once everybody has bound.

        Args:
            cluster: the same tasks with their real addresses.
        """
        self._spec = ClusterSpec(cluster)
        self._cache.learn({**self._spec.tasks(), self.task: self.target})

    @property
    def target(self) -> str:
        """The address that sessions connect to, with the real port.

        Raises:
            FailedPreconditionError: before the server was started.
        """
        if self._listener is None:
            raise FailedPreconditionError(
                f"the server of {self.task} is not started: no address yet"
            )
        return self._listener.address

    async def serve_forever(self) -> None:
        """Waits until the server is stopped."""
        await self._stopping.wait()

    async def stop(self, grace: float = _GRACE) -> None:
        """Gives the address up and closes sessions and connections.

        Bounded by a few times ``grace``. May be called twice, also at the same time; if it is
        cancelled, another call goes on with what is left.

        Args:
            grace: seconds for connections to end by themselves.
        """
        self._stopping.set()
        if self._listener is None:
            return
        registry.withdraw(self.target, self._serves[MASTER])
        await self._listener.aclose(connections=False)
        await self._stop_actors(f"the server of {self.task} is stopping")
        await self._cache.aclose(grace)
        await self._listener.aclose(grace=grace)

    async def _stop_actors(self, why: str) -> None:
        assert self._master is not None
        assert self._worker is not None
        await self._master.aclose(why)
        await self._worker.aclose(why)
        if self._pool is not None:
            self._pool.shutdown(wait=False)
        self._blas = None  # the library gets its own number back with the last holder

    async def __aenter__(self) -> Server:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self.stop()

    def statistics(self) -> ServerStatistics:
        """Counters of this server at this moment.

        Raises:
            FailedPreconditionError: before the server was started.
        """
        if self._master is None or self._worker is None:
            raise FailedPreconditionError(f"the server of {self.task} is not started")
        return ServerStatistics(
            task=self.task,
            sessions=self._master.sessions,
            worker_sessions=self._worker.sessions,
            graphs=self._worker.graphs,
            steps=self._worker.running,
            rendezvous=self._worker.pending_rendezvous,
            runs=self._worker.runs,
            pushes=self._cache.pushes,
            links=self._cache.statistics(),
        )

    def __repr__(self) -> str:
        where = self._listener.address if self._listener is not None else "not started"
        return f"<Server {self.task} at {where}>"
