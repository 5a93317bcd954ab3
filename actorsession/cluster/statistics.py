"""What a server counts, and how to ask any server for it.

Owns ``ServerStatistics`` and the way to read it over the wire: whoever can connect to a task may ask, also
while the task is busy with steps, because the answer waits for none of them. Called by servers, local
clusters and tests; it imports links and messages.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from actorsession.actors.deadline import Deadline
from actorsession.actors.link import Link, LinkStatistics
from actorsession.actors.supervision import Children
from actorsession.errors import DeadlineExceededError, ProtocolError, UnavailableError
from actorsession.messages.worker import WORKER, GetStatus, WorkerStatus
from actorsession.session.remote import shared_token
from transports import Hello, TransportError, connect

__all__ = ["CLIENT", "ServerStatistics", "read_statistics"]

CLIENT = "client"
"""The task that those give who are no task of a cluster."""

# Seconds to answer a question that needs no work; a task that does not is held by something else.
_PATIENCE = 10.0
_CLOSE = 1.0


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

    @property
    def peers(self) -> tuple[LinkStatistics, ...]:
        """The links to other tasks of the cluster."""
        return tuple(link for link in self.links if link.peer != CLIENT)

    @property
    def idle(self) -> bool:
        """Whether nothing is left of any step."""
        return not (
            self.steps or self.rendezvous or any(k.pending or k.serving for k in self.links)
        )

    def to_wire(self) -> dict[str, Any]:
        """The counters as plain values."""
        out = asdict(self)
        out["links"] = list(out["links"])  # tuples do not travel
        return out

    @classmethod
    def from_wire(cls, value: Mapping[str, Any]) -> ServerStatistics:
        """Reads what ``to_wire`` made.

        Raises:
            ProtocolError: for any other form.
        """
        try:
            links = tuple(LinkStatistics(**link) for link in value["links"])
            return cls(**{**value, "links": links})
        except (TypeError, KeyError) as exc:
            raise ProtocolError(f"not the statistics of a server: {exc}: {value!r:.200}") from exc


def _hello() -> Hello:
    return Hello(cluster_id="", task=CLIENT, incarnation=secrets.randbits(63), pid=os.getpid())


async def read_statistics(
    address: str, *, token: str | None = None, deadline: Deadline | None = None
) -> ServerStatistics:
    """Asks the server at an address for its counters, over a connection of its own.

    Args:
        address: where it listens, such as ``Server.target``.
        token: its shared secret; by default what ``ACTORSESSION_TOKEN`` of the environment says.
        deadline: until when to wait; by default 10 s from now.

    Raises:
        UnavailableError: if no server answers there.
        DeadlineExceededError: if it takes too long.
    """
    if deadline is None:
        deadline = Deadline.after(_PATIENCE)
    left = deadline.time_left
    if left == 0.0:
        raise DeadlineExceededError(f"the statistics of {address}: the deadline is over")
    try:
        connection = await connect(
            address, _hello(), timeout=left or _PATIENCE, token=token or shared_token()
        )
    except TransportError as exc:
        raise UnavailableError(f"no statistics of {address}: {exc}") from exc
    link, children = Link(connection, serves={}), Children(f"statistics of {address}")
    _ = children.start(link.run(), name=f"link to {address}")
    try:
        status: WorkerStatus = await link.ask(WORKER, GetStatus(), deadline)
    finally:
        await link.aclose(_CLOSE)
        await children.stop(_CLOSE)
    return ServerStatistics.from_wire(status.statistics)
