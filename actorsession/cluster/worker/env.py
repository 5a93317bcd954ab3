"""What the sessions of one worker share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from actorsession.cluster.worker.collective_groups import TaskGroups
from actorsession.cluster.worker.rpc_log import RpcLog
from actorsession.cluster.worker.worker_rendezvous import RendezvousTable, SessionPeers
from actorsession.cluster.worker_cache_interface import WorkerCacheInterface
from actorsession.metrics import Histogram
from actorsession.records import dataclass
from actorsession.runtime.devices import Device
from actorsession.runtime.engine.executor import Executor
from actorsession.runtime.kernel_pool import KernelPool
from actorsession.runtime.step_log import ErrorLog, StepLog

__all__ = ["WorkerCounters", "WorkerEnv"]


@dataclass(slots=True)
class WorkerCounters:
    """The counters of a worker over all its sessions.

    Attributes:
        runs: steps started so far.
        step_seconds: how long steps took here, from their begin to the answer for their master.
    """

    runs: int = 0
    step_seconds: Histogram = field(default_factory=Histogram)


@dataclass(frozen=True, slots=True)
class WorkerEnv:
    """The environment that the sessions of one worker share.

    Attributes:
        task: the worker's task, by its name in the session.
        devices: the devices of the session.
        executors: one per device, by full name.
        rendezvous: the rendezvous of all steps.
        workers: the other tasks of the session; steps that send over a backlogged link to one of them are
            held.
        pool: threads for kernels.
        counters: the counters of all sessions together.
        log: the log of the messages of steps.
        groups: the groups of collectives at the task.
        host: the name or address under which members of its groups reach it beside the links of the cluster; "" if they
            may not.
        peers: the tasks of the session; ``None`` if they are the tasks of the worker's cluster.
        step_log: keeps the last steps; ``None`` if none are kept.
        errors: keeps the last errors.
    """

    task: str
    devices: tuple[Device, ...]
    executors: Mapping[str, Executor]
    rendezvous: RendezvousTable
    workers: WorkerCacheInterface
    pool: KernelPool | None
    groups: TaskGroups
    host: str = ""
    counters: WorkerCounters = field(default_factory=WorkerCounters)
    log: RpcLog = field(default_factory=RpcLog)
    peers: SessionPeers | None = None
    step_log: StepLog | None = None
    errors: ErrorLog = field(default_factory=lambda: ErrorLog(""))
