"""How much went over the wires of a cluster so far.

Owns ``Traffic``, the sum over the counters of all links. Called by users and the demo; imports the
statistics of ``actors`` and ``cluster``. What a piece of work has moved is the difference of two sums.
"""

from __future__ import annotations

from collections.abc import Iterable

from actorsession.cluster.server.statistics import ServerStatistics
from actorsession.records import dataclass
from actorsession.rpc.link import LinkStatistics

__all__ = ["Traffic", "traffic"]


@dataclass(frozen=True, slots=True)
class Traffic:
    """What went over the wires.

    Attributes:
        messages: calls, their answers, and messages that want none, such as those with tensors.
        nbytes: bytes on the wire; signs of life, of which a link sends one a second while it has
            nothing else to send, are among them, but not among the messages.
    """

    messages: int
    nbytes: int

    def __sub__(self, earlier: Traffic) -> Traffic:
        return Traffic(self.messages - earlier.messages, self.nbytes - earlier.nbytes)


def traffic(servers: Iterable[ServerStatistics], client: LinkStatistics | None = None) -> Traffic:
    """Add up what all links of a cluster have carried so far.

    Args:
        servers: the counters of all tasks, as ``LocalCluster.statistics`` gives them. Each link between
            two tasks is counted once at each end, for what that end has sent.
        client: the counters of a session's link with its master, if it has one:
            ``session.statistics().link``. The servers' own counters of links with clients are left
            out: whoever asks for statistics has such a link too.

    Returns:
        The sums. Links that are closed by now are not in them.
    """
    total = Traffic(0, 0)
    for link in [link for server in servers for link in server.peers]:
        total = Traffic(total.messages + _messages(link), total.nbytes + link.bytes_sent)
    if client is not None:
        both_ways = client.bytes_sent + client.bytes_received
        total = Traffic(total.messages + _messages(client), total.nbytes + both_ways)
    return total


def _messages(link: LinkStatistics) -> int:
    """Message that belong to what this end has sent: the answers to its calls with them."""
    return 2 * link.calls_sent + link.tells_sent
