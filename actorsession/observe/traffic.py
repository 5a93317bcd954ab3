"""The number of messages and bytes sent in a cluster so far.

This module holds ``Traffic``, the sum over the counters of all links. Users and the demo call it; it imports
the statistics of ``cluster`` and ``rpc``. The traffic of a piece of work is the difference of two sums.
"""

from __future__ import annotations

from collections.abc import Iterable

from actorsession.cluster.server.statistics import ServerStatistics
from actorsession.records import dataclass
from actorsession.rpc.link import LinkStatistics

__all__ = ["Traffic", "traffic"]


@dataclass(frozen=True, slots=True)
class Traffic:
    """The messages and bytes sent over links.

    Attributes:
        messages: calls, their replies, and messages without reply, such as those with tensors.
        nbytes: bytes on the wire. They include heartbeats, of which an otherwise idle link sends one a
            second; heartbeats do not count as messages.
    """

    messages: int
    nbytes: int

    def __sub__(self, earlier: Traffic) -> Traffic:
        return Traffic(self.messages - earlier.messages, self.nbytes - earlier.nbytes)


def traffic(servers: Iterable[ServerStatistics], *clients: LinkStatistics | None) -> Traffic:
    """Return the sum of the traffic of all links of a cluster so far.

    Args:
        servers: the counters of all tasks, as in ``LocalCluster.statistics``. Each link between two tasks is
            counted once at each end, for the messages that this end has sent.
        clients: the counters of the links of sessions with their masters, where they have one:
            ``session.statistics().link``. The servers' own counters of links with clients are left out,
            because every client that requests statistics has such a link too.

    Returns:
        The sums. Links that are closed by now are not included.
    """
    total = Traffic(0, 0)
    for link in [link for server in servers for link in server.peers]:
        total = Traffic(total.messages + _messages(link), total.nbytes + link.bytes_sent)
    for client in filter(None, clients):
        both_ways = client.bytes_sent + client.bytes_received
        total = Traffic(total.messages + _messages(client), total.nbytes + both_ways)
    return total


def _messages(link: LinkStatistics) -> int:
    """Return the messages that this end has sent and the replies to its calls."""
    return 2 * link.calls_sent + link.tells_sent
