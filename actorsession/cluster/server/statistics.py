"""What a server counts.

Owns ``ServerStatistics`` and its wire form. Servers make one when they are asked; it imports
the counters of links.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from actorsession.errors import ProtocolError
from actorsession.records import dataclass
from actorsession.rpc.link import LinkStatistics

__all__ = ["CLIENT", "ServerStatistics"]

CLIENT = "client"
"""The task that those give who are no task of a cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerStatistics:
    """The counters of one task at one moment.

    Attributes:
        task: its name.
        sessions: sessions whose master it is.
        worker_sessions: sessions that have a side here.
        graphs: registered graphs of those.
        steps: steps that run here now.
        rendezvous: steps that have a meeting place for tensors here, begun or not.
        runs: steps begun here so far.
        pushes: messages with tensors sent to other tasks so far.
        links: traffic of each open link; clients, and whoever asked for this, are among them.
        loop_lag: seconds by which the event loop came late to its last look at the clock.
        worst_loop_lag: the most that was, since the server was started.
        waiting: steps that wait at this master until fewer are under way.
        held: parts of steps that are held back here until a task that they send to reads on.
        unsettled: parts of steps that have run here and taken something, which is put back unless word comes
            that the caller has the values.
        pool_threads: threads that kernels have here, with those of the lane of first runs that are
            ``overdue``; 0 where they run in the event loop's own.
        overdue: those of them that are held by kernels whose steps are over.
        overdue_kernels: the same in words; "" if there are none.
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
    def idle(self) -> bool:
        """Whether nothing is left of any step."""
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
        out["links"] = list(out["links"])  # tuples do not travel
        return out

    @classmethod
    def from_wire(cls, value: Mapping[str, Any]) -> ServerStatistics:
        """Read what ``to_wire`` made.

        Raises:
            ProtocolError: for any other form.
        """
        try:
            links = tuple(LinkStatistics(**link) for link in value["links"])
            return cls(**{**value, "links": links})
        except (TypeError, KeyError) as exc:
            raise ProtocolError(f"not the statistics of a server: {exc}: {value!r:.200}") from exc
