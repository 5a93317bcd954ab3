"""What a task does per second, from its counters at two moments.

Used by ``status --watch``, by ``top`` and by whoever keeps a history of a cluster. Pure; imports statistics.
"""

from __future__ import annotations

from collections import Counter

from actorsession.cluster.server.statistics import ServerStatistics
from actorsession.metrics import HistogramCounts
from actorsession.records import dataclass

__all__ = ["TaskRates", "rates_between"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRates:
    """What a task has done between two moments.

    Attributes:
        whole: steps per second that ended here as a whole, at their master; their sum is that of the cluster.
        steps: steps per second that ended here as a whole, or of which parts were begun here.
        p50: seconds than which half of the steps took less: those as a whole, or else the parts; 0 without any.
        p99: likewise for 99 of a hundred.
        cpu: processors in use.
        sent: bytes per second to all peers.
        received: bytes per second from them.
        errors: how many errors the server has noted.
    """

    whole: float
    steps: float
    p50: float
    p99: float
    cpu: float
    sent: float
    received: float
    errors: int


def rates_between(earlier: ServerStatistics, later: ServerStatistics) -> TaskRates | None:
    """Return the rates of a task; ``None`` if no time has passed, or another process serves it now.

    Args:
        earlier: its counters at a moment.
        later: its counters at a later one.
    """
    seconds = later.uptime - earlier.uptime
    if seconds <= 0 or earlier.pid != later.pid:
        return None
    try:
        whole, parts = later.master_steps - earlier.master_steps, later.worker_steps - earlier.worker_steps
    except ValueError:  # the bounds of another version
        whole = parts = HistogramCounts()
    took = whole if whole.total else parts
    return TaskRates(
        whole=whole.total / seconds,
        steps=max(later.runs - earlier.runs, whole.total) / seconds,
        p50=took.quantile(0.5),
        p99=took.quantile(0.99),
        cpu=(later.cpu_seconds - earlier.cpu_seconds) / seconds,
        sent=_more(earlier, later, "bytes_sent") / seconds,
        received=_more(earlier, later, "bytes_received") / seconds,
        errors=sum((Counter(later.errors) - Counter(earlier.errors)).values()),
    )


def _more(earlier: ServerStatistics, later: ServerStatistics, direction: str) -> int:
    """Return the bytes that the links have carried since; what one has that has ended since is not known."""
    before, after = _by_link(earlier, direction), _by_link(later, direction)
    return sum(max(nbytes - before[link], 0) for link, nbytes in after.items())


def _by_link(seen: ServerStatistics, direction: str) -> Counter[tuple[str, str]]:
    counts: Counter[tuple[str, str]] = Counter()
    for link in seen.links:
        counts[link.peer, link.address] += getattr(link, direction)
    return counts
