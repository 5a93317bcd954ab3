"""The counters of a process over all its sessions and links, read as one frozen value.

Each session counts in a ``SessionTally`` of its own, each link in the connection below it. Counting is the
increment of an integer, and readers do the work: ``process_metrics`` adds what is alive to what has ended. Times
are counted in a ``Histogram``, which finds the integer to increment by one bisection.
Sessions, masters, workers and links report here; this module imports ``records`` and the host.

Invariants: no counter ever decreases, also when a session or link is closed or collected. The names of the
fields are stable, because exporters and dashboards refer to them.
"""

from __future__ import annotations

import contextlib
import itertools
import threading
import weakref
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import asdict, field, fields
from typing import Any, Literal, Protocol, TypeAlias, get_args

from actorsession.records import dataclass
from transports.host import current_host

__all__ = [
    "BOUNDS",
    "Histogram",
    "HistogramCounts",
    "LinkMetrics",
    "ProcessMetrics",
    "ProcessTally",
    "SessionKind",
    "SessionMetrics",
    "SessionTally",
    "mailbox_waits",
    "process_metrics",
    "round_trips",
    "session_tally",
]

SessionKind: TypeAlias = Literal["direct", "remote", "master", "worker"]
"""The kind of a session: in this process; at a client of a master; at the master; at a worker."""


# From a plan of a few nodes to a step that a user watches, in steps of 2 or 2.5: a quantile that is read between
# two bounds is off by less than half of it. 26 series for each histogram are few enough to keep for many tasks.
BOUNDS = (5e-6, *(float(f"{digit}e{exponent}") for exponent in range(-5, 2) for digit in (1, 2, 5)), 100.0)
"""The upper bounds of the buckets of a histogram, in seconds."""


@dataclass(frozen=True, slots=True)
class HistogramCounts:
    """How many times were observed, by their size; what a ``Histogram`` has counted until one moment.

    Counts of the same bounds can be added, and the earlier ones of a histogram subtracted from the later ones.

    Attributes:
        counts: how many are at most as large as each bound and larger than that before; the last count is of
            those beyond all bounds.
        sum: the sum of all, in seconds.
        bounds: the bounds in seconds, in ascending order.

    Raises:
        ValueError: for another number of counts than one more than there are bounds.
    """

    counts: tuple[int, ...] = (0,) * (len(BOUNDS) + 1)
    sum: float = 0.0
    bounds: tuple[float, ...] = BOUNDS

    def __post_init__(self) -> None:
        """Check the number of counts."""
        if len(self.counts) != len(self.bounds) + 1:
            raise ValueError(f"{len(self.bounds)} bounds have one count more, got {len(self.counts)}")

    @property
    def total(self) -> int:
        """How many were observed."""
        return sum(self.counts)

    @property
    def mean(self) -> float:
        """The average in seconds; 0 without any."""
        return self.sum / total if (total := self.total) else 0.0

    def quantile(self, share: float) -> float:
        """Return a time than which a share of all took less, read between two bounds; 0 without any.

        Times beyond all bounds count as the last one, as in ``histogram_quantile`` of Prometheus.

        Args:
            share: from 0 to 1.
        """
        rank, below = share * self.total, 0
        for place, (count, bound) in enumerate(zip(self.counts, self.bounds, strict=False)):
            if count and below + count >= rank:
                low = self.bounds[place - 1] if place else 0.0
                return low + (bound - low) * (rank - below) / count
            below += count
        return self.bounds[-1] if self.counts[-1] else 0.0

    def __add__(self, other: HistogramCounts) -> HistogramCounts:
        return self._combined(other, 1)

    def __sub__(self, other: HistogramCounts) -> HistogramCounts:
        return self._combined(other, -1)

    def _combined(self, other: HistogramCounts, sign: int) -> HistogramCounts:
        """Return the sum, or the difference for a sign of -1.

        Raises:
            ValueError: for counts of other bounds.
        """
        if self.bounds != other.bounds:
            raise ValueError(f"histograms of other bounds: {self.bounds!r:.100} and {other.bounds!r:.100}")
        counts = tuple([a + sign * b for a, b in zip(self.counts, other.counts, strict=True)])
        return HistogramCounts(counts, self.sum + sign * other.sum, self.bounds)

    def to_wire(self) -> dict[str, Any]:
        """Return the counts as plain values."""
        return {"counts": list(self.counts), "sum": self.sum, "bounds": list(self.bounds)}

    @classmethod
    def from_wire(cls, value: Any) -> HistogramCounts:
        """Read the result of ``to_wire``, of any version: one with other bounds, or with more fields.

        Raises:
            TypeError: the value has another form.
        """
        if not isinstance(value, Mapping):
            raise TypeError(f"a histogram is a mapping, got {type(value).__name__}")
        read: Any = value.get
        counts, total, bounds = read("counts"), read("sum"), read("bounds")
        if not (
            _are_all(counts, int)
            and _are_all(bounds, (int, float))
            and isinstance(total, (int, float))
            and len(counts) == len(bounds) + 1
            and all(low < high for low, high in itertools.pairwise(bounds))
        ):
            raise TypeError(f"not a histogram: {value!r:.100}")
        return cls(tuple(counts), total, tuple(bounds))


def _are_all(values: Any, kind: Any) -> bool:
    return isinstance(values, (list, tuple)) and all(isinstance(value, kind) for value in values)


class Histogram:
    """Counts times by their size, in fixed buckets; for one thread, or for several that share the interpreter lock.

    Without that lock, two observations at the same moment may count as one.

    Attributes:
        counts: how many times each bucket has; see ``HistogramCounts``. What ``observe`` does is done without its
            call on the path of a step.
        sum: the sum of all, in seconds.
    """

    __slots__ = ("counts", "sum")

    def __init__(self) -> None:
        self.counts = [0] * (len(BOUNDS) + 1)
        self.sum = 0.0

    def observe(self, seconds: float) -> None:
        """Count a time."""
        self.counts[bisect_left(BOUNDS, seconds)] += 1
        self.sum += seconds

    def add(self, counts: HistogramCounts) -> None:
        """Count what another histogram has counted.

        Raises:
            ValueError: for other bounds.
        """
        total = self.snapshot() + counts
        self.counts[:], self.sum = total.counts, total.sum

    def snapshot(self) -> HistogramCounts:
        """Return what was counted so far; callable from any thread."""
        return HistogramCounts(tuple(self.counts), self.sum)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionMetrics:
    """The counters of all sessions of one kind.

    Attributes:
        sessions_created: sessions that were made, including those that were closed or never reached a master.
        runs: steps that were begun, without those of partial runs.
        partial_runs: partial runs that were begun. At workers they count among the runs.
        plans: plans that were made: pruned, placed, partitioned and compiled in direct sessions, pruned,
            placed and partitioned at masters, compiled at workers. Clients of a master make none.
        plan_seconds: the time that this took.
    """

    sessions_created: int = 0
    runs: int = 0
    partial_runs: int = 0
    plans: int = 0
    plan_seconds: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkMetrics:
    """The counters of all links to other processes. What stays in the process crosses none.

    Attributes:
        links_opened: links that were made, including those that have ended.
        messages_sent: frames of any kind, including heartbeats.
        messages_received: likewise.
        bytes_sent: their size, including values that were passed in shared memory.
        bytes_received: likewise.
    """

    links_opened: int = 0
    messages_sent: int = 0
    messages_received: int = 0
    bytes_sent: int = 0
    bytes_received: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessMetrics:
    """The counters of this process since it was started or forked; none of them ever decreases.

    Attributes:
        direct: sessions in this process.
        remote: sessions of this process that a master runs, at the client's side.
        master: sessions that masters in this process run.
        worker: sessions that have a side at a worker in this process.
        links: traffic with other processes.
    """

    direct: SessionMetrics = field(default_factory=SessionMetrics)
    remote: SessionMetrics = field(default_factory=SessionMetrics)
    master: SessionMetrics = field(default_factory=SessionMetrics)
    worker: SessionMetrics = field(default_factory=SessionMetrics)
    links: LinkMetrics = field(default_factory=LinkMetrics)

    def to_wire(self) -> dict[str, dict[str, Any]]:
        """Return the counters as plain values, by field and name."""
        return asdict(self)


class SessionTally:
    """The counters of one session.

    Args:
        kind: the kind of the session.
        lock: held where several threads count; that of the process, whose reader sees no half of a plan.
        created: how many sessions were created.

    Attributes:
        kind: the kind of the session.
        runs: steps begun; the owner assigns to it, because that is on the path of every step.
        partial_runs: partial runs begun; an owner on one loop increments it, others call ``begin_partial_run``.
    """

    __slots__ = ("_created", "_lock", "_most_runs", "_plan_seconds", "_plans", "kind", "partial_runs", "runs")

    def __init__(self, kind: SessionKind, lock: threading.Lock | None = None, *, created: int = 1) -> None:
        self.kind: SessionKind = kind
        self._lock = lock or threading.Lock()
        self.runs = 0
        self._most_runs = 0
        self._created = created
        self.partial_runs = 0
        self._plans = 0
        self._plan_seconds = 0.0

    @contextlib.contextmanager
    def planning(self) -> Iterator[None]:
        """Count a plan and its time, if making it succeeds; usable in any thread."""
        started = current_host().clock.perf_counter()
        yield
        taken = current_host().clock.perf_counter() - started
        with self._lock:
            self._plans += 1
            self._plan_seconds += taken

    def begin_partial_run(self) -> None:
        """Count a partial run; callable from any thread."""
        with self._lock:
            self.partial_runs += 1

    def add(self, other: SessionTally) -> None:
        """Add the counters of another session; those of the same session never decrease."""
        # Threads that run steps at once may store their numbers in another order.
        other._most_runs = max(other._most_runs, other.runs)
        self.runs += other._most_runs
        self._created += other._created
        self.partial_runs += other.partial_runs
        self._plans += other._plans
        self._plan_seconds += other._plan_seconds

    def metrics(self) -> SessionMetrics:
        """Return the counters."""
        return SessionMetrics(
            sessions_created=self._created,
            runs=self.runs,
            partial_runs=self.partial_runs,
            plans=self._plans,
            plan_seconds=self._plan_seconds,
        )


class CountedLink(Protocol):
    """A link that reports its counters."""

    def metrics(self) -> LinkMetrics:
        """Return the counters of the link."""


class ProcessTally:
    """Whatever counts in this process, and the sums of what has ended; ``current_host()`` owns it.

    Attributes:
        lock: held while sums are made.
        mailbox_waits: how long messages waited in the mailboxes of actors that were busy.
        round_trips: how long heartbeats took to a peer and back.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._tallies: dict[SessionTally, None] = {}
        # Finalizers run anywhere, perhaps in a thread that holds the lock, so they only append here.
        self._collected: deque[SessionTally] = deque()
        self._collected_sums = self._no_sessions()
        self._open_links: weakref.WeakSet[CountedLink] = weakref.WeakSet()
        self._ended_links = LinkMetrics()
        self.mailbox_waits = Histogram()
        self.round_trips = Histogram()

    def add_tally(self, tally: SessionTally, owner: object) -> None:
        """Count a session until its owner is collected."""
        with self.lock:
            self._drop_collected()
            self._tallies[tally] = None
        weakref.finalize(owner, self._collected.append, tally).atexit = False

    def add_link(self, link: CountedLink) -> None:
        """Count an open link."""
        with self.lock:
            self._open_links.add(link)

    def end_link(self, link: CountedLink) -> None:
        """Add the counters of a link that has ended to the sums."""
        with self.lock:
            self._open_links.discard(link)
            self._ended_links = _sum(self._ended_links, link.metrics())

    def read(self) -> ProcessMetrics:
        """Return the sums of what is alive and what has ended."""
        with self.lock:
            self._drop_collected()
            sums, links = self._no_sessions(), self._ended_links
            for tally in (*self._collected_sums.values(), *self._tallies):
                sums[tally.kind].add(tally)
            for link in list(self._open_links):
                links = _sum(links, link.metrics())
        by_kind = {kind: tally.metrics() for kind, tally in sums.items()}
        return ProcessMetrics(**by_kind, links=links)

    def _no_sessions(self) -> dict[SessionKind, SessionTally]:
        return {kind: SessionTally(kind, self.lock, created=0) for kind in get_args(SessionKind)}

    def _drop_collected(self) -> None:
        while self._collected:
            tally = self._collected.popleft()
            del self._tallies[tally]
            self._collected_sums[tally.kind].add(tally)


def _sum(one: LinkMetrics, other: LinkMetrics) -> LinkMetrics:
    names = [f.name for f in fields(LinkMetrics)]
    return LinkMetrics(**{n: getattr(one, n) + getattr(other, n) for n in names})


def session_tally(kind: SessionKind, owner: object, *, counts: bool = True) -> SessionTally:
    """Return the counters of a new session, which are part of the process metrics from now on.

    Args:
        kind: the kind of the session.
        owner: the session; its counters stay in the sums when it is collected.
        counts: whether it counts as a session that was created.
    """
    process = current_host().own(ProcessTally)
    tally = SessionTally(kind, process.lock, created=int(counts))
    process.add_tally(tally, owner)
    return tally


def round_trips() -> HistogramCounts:
    """Return how long heartbeats of this process took to their peers and back, those that were measured."""
    return current_host().own(ProcessTally).round_trips.snapshot()


def mailbox_waits() -> HistogramCounts:
    """Return how long messages waited in the mailboxes of this process; those that did not have to are not counted."""
    return current_host().own(ProcessTally).mailbox_waits.snapshot()


def process_metrics() -> ProcessMetrics:
    """Return the counters of this process, added up now; callable from any thread."""
    return current_host().own(ProcessTally).read()
