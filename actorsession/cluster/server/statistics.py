"""The counters of a server.

Holds ``ServerStatistics`` and its wire form. Servers create one on request. Imports the counters of links and
executors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from actorsession.errors import ProtocolError
from actorsession.records import dataclass
from actorsession.rpc.link import LinkStatistics
from actorsession.runtime.engine.executor_statistics import ExecutorStatistics

__all__ = ["CLIENT", "ServerStatistics"]

CLIENT = "client"
"""The task name in the hello of clients, which are not tasks of a cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatistics:
    """The counters of one task at one moment.

    Attributes:
        task: the name of the task.
        sessions: sessions whose master is here.
        worker_sessions: sessions that have a side at this worker.
        graphs: registered graphs of those.
        steps: steps that run here now.
        rendezvous: steps that have a rendezvous here, started or not.
        runs: steps started here so far.
        pushes: messages with tensors sent to other tasks so far.
        devices: counters of the executor of each device.
        links: traffic of each open link, including those of clients and of the requester.
        loop_lag: seconds by which the event loop was late at its last check of the clock.
        worst_loop_lag: the maximum of that since the server was started.
        waiting: steps that wait at this master for admission.
        held: partitions of steps that backpressure of a task that they send to holds back here.
        unsettled: partitions of steps that have run here and taken something, which is put back unless a
            confirmation arrives that the caller has the values.
        pool_threads: threads for kernels, including those of the lane of first runs that are ``overdue``; 0
            if kernels run in the thread of the event loop.
        overdue: those of them that are occupied by kernels whose steps are over.
        overdue_kernels: the same as text; "" if there are none.
    """

    task: str
    sessions: int
    worker_sessions: int
    graphs: int
    steps: int
    rendezvous: int
    runs: int
    pushes: int
    links: tuple[LinkStatistics, ...]
    devices: tuple[ExecutorStatistics, ...] = ()
    waiting: int = 0
    held: int = 0
    unsettled: int = 0
    loop_lag: float = 0.0
    worst_loop_lag: float = 0.0
    pool_threads: int = 0
    overdue: int = 0
    overdue_kernels: str = ""

    @property
    def peers(self) -> tuple[LinkStatistics, ...]:
        """The links to other tasks of the cluster."""
        return tuple(link for link in self.links if link.peer != CLIENT)

    @property
    def partitions(self) -> int:
        """The partitions that steps have begun so far, over all devices."""
        return sum(device.begun for device in self.devices)

    @property
    def kernel_seconds(self) -> float:
        """The seconds that kernels have run so far, over all devices."""
        return round(sum(device.seconds for device in self.devices), 1)

    @property
    def idle(self) -> bool:
        """Whether no step runs, waits or is unsettled, and no request is pending."""
        return not (
            self.steps
            or self.rendezvous
            or self.waiting
            or self.held
            or self.unsettled
            or any(k.pending or k.serving for k in self.links)
        )

    def to_wire(self) -> dict[str, Any]:
        """Return the counters as plain values."""
        out = asdict(self)
        for name in ("links", "devices"):
            out[name] = list(out[name])  # tuples have no wire form
        return out

    @classmethod
    def from_wire(cls, value: Mapping[str, Any]) -> ServerStatistics:
        """Parse the result of ``to_wire``.

        Raises:
            ProtocolError: for any other form.
        """
        try:
            links = tuple(LinkStatistics(**link) for link in value["links"])
            devices = tuple(ExecutorStatistics(**device) for device in value["devices"])
            return cls(**{**value, "links": links, "devices": devices})
        except (TypeError, KeyError) as exc:
            raise ProtocolError(f"not the statistics of a server: {exc}: {value!r:.200}") from exc
