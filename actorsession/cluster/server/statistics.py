"""The counters of a server.

Holds ``ServerStatistics``, its wire form and its form for Prometheus. Servers create one on request. Imports
the counters of links and executors.

The tasks of a cluster and their operators may run different versions. Therefore fields that a later version
has added are left out when its statistics are parsed, and those that an earlier one lacks have defaults. The
rest is checked, because anyone may answer at an address.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, Any, TypeVar

from actorsession.drawing.shown import Counters
from actorsession.durations import short_duration
from actorsession.errors import ProtocolError
from actorsession.metrics import HistogramCounts
from actorsession.prometheus import Metric, MetricFamily, exposition, metric_families
from actorsession.records import dataclass
from actorsession.rpc.link import LinkStatistics
from actorsession.runtime.engine.executor_statistics import ExecutorStatistics
from actorsession.whole_numbers import is_index

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["CLIENT", "OpenSession", "QueueSize", "ServerStatistics", "VariableSize"]

T = TypeVar("T")

CLIENT = "client"
"""The task name in the hello of clients, which are not tasks of a cluster."""

# Seconds by which an event loop is late when something holds it, and not only a busy machine.
_LATE = 0.5
# Seconds beyond two intervals that a snapshot may be late: for a moment without steps, and for a slow disk.
_SNAPSHOT_SLACK = 10.0
_SCALARS: Mapping[Any, tuple[type, ...]] = {
    "int": (int,),
    "float": (int, float),
    "str": (str,),
    "str | None": (str, type(None)),
}
_METRICS = (
    Metric("sessions", "gauge", "actorsession_server_sessions", "Sessions whose master is here."),
    Metric(
        "worker_sessions", "gauge", "actorsession_server_worker_sessions", "Sessions that have a side at this worker."
    ),
    Metric("graphs", "gauge", "actorsession_server_graphs", "Registered graphs of those."),
    Metric("steps", "gauge", "actorsession_server_steps", "Steps that run here."),
    Metric("rendezvous", "gauge", "actorsession_server_rendezvous", "Steps that have a rendezvous here."),
    Metric("runs", "counter", "actorsession_server_runs_total", "Steps started here."),
    Metric("pushes", "counter", "actorsession_server_pushes_total", "Messages with tensors to other tasks."),
    Metric("pending", "gauge", "actorsession_server_pending_values", "Values and receivers that wait for each other."),
    Metric("waiting", "gauge", "actorsession_server_waiting_steps", "Steps that wait for admission."),
    Metric("held", "gauge", "actorsession_server_held_partitions", "Partitions that backpressure holds back."),
    Metric(
        "unsettled",
        "gauge",
        "actorsession_server_unsettled_partitions",
        "Partitions that have taken something and wait for a confirmation.",
    ),
    Metric(
        "loop_lag", "gauge", "actorsession_server_loop_lag_seconds", "Lateness of the event loop at its last check."
    ),
    Metric(
        "worst_loop_lag",
        "gauge",
        "actorsession_server_worst_loop_lag_seconds",
        "Largest lateness of the event loop since the start.",
    ),
    Metric("pool_threads", "gauge", "actorsession_server_pool_threads", "Threads for kernels."),
    Metric("pool_busy", "gauge", "actorsession_server_pool_busy_threads", "Threads that run kernels."),
    Metric("pool_waiting", "gauge", "actorsession_server_pool_waiting_segments", "Segments that wait for a thread."),
    Metric(
        "overdue",
        "gauge",
        "actorsession_server_overdue_kernels",
        "Threads that are occupied by kernels whose steps are over.",
    ),
    Metric("cached_plans", "gauge", "actorsession_server_cached_plans", "Plans that masters here keep."),
    Metric("plan_hits", "counter", "actorsession_server_plan_hits_total", "Runs that found their plan."),
    Metric("plan_misses", "counter", "actorsession_server_plan_misses_total", "Plans that had to be made."),
    Metric("plan_evictions", "counter", "actorsession_server_plan_evictions_total", "Plans dropped for others."),
    Metric("variables", "gauge", "actorsession_server_variables", "Variables with a value."),
    Metric("variable_bytes", "gauge", "actorsession_server_variables_bytes", "Bytes of their values."),
    Metric("restarts", "counter", "actorsession_server_restarts_total", "Times that the task was started again."),
    Metric("clock", "gauge", "actorsession_server_clock_seconds", "Wall-clock time of the process, since 1970."),
    Metric("cpu_seconds", "counter", "actorsession_server_cpu_seconds_total", "Processor time of the process."),
    Metric("uptime", "gauge", "actorsession_server_uptime_seconds", "Time since the server was started."),
    Metric("memory", "gauge", "actorsession_server_memory_bytes", "Resident memory of the process."),
    Metric("peak_memory", "gauge", "actorsession_server_peak_memory_bytes", "Largest resident memory of the process."),
)
_TIMES = (
    Metric("mailbox_waits", "histogram", "actorsession_server_mailbox_wait_seconds", "Times in the queue of an actor."),
    Metric(
        "round_trips", "histogram", "actorsession_server_round_trip_seconds", "Times of heartbeats to peers and back."
    ),
    Metric("pool_waits", "histogram", "actorsession_server_pool_wait_seconds", "Times in the queue for a thread."),
)
_QUEUE_METRICS = (
    ("size", "actorsession_queue_elements", "Elements of a queue."),
    ("capacity", "actorsession_queue_capacity_elements", "How many it takes; -1 for no limit."),
    ("waiting_enqueues", "actorsession_queue_waiting_enqueues", "Enqueues that wait for room."),
    ("waiting_dequeues", "actorsession_queue_waiting_dequeues", "Dequeues that wait for elements."),
)
_SNAPSHOT_METRICS = (
    Metric(
        "snapshot_age",
        "gauge",
        "actorsession_server_snapshot_age_seconds",
        "Time since the variables were on disk as they were.",
    ),
    Metric("snapshot_every", "gauge", "actorsession_server_snapshot_interval_seconds", "Time between two snapshots."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenSession:
    """One session, as its master sees it.

    Attributes:
        session_handle: the master's name for the session.
        name: the client's name for it, of its ``session_metadata``; "" if it has none.
        client: the address of the client that created it.
        steps: steps in flight, without those that wait.
        waiting: steps that wait for admission.
        runs: steps begun so far.
        partial_runs: partial runs that are open.
        nodes: nodes of its graph.
    """

    session_handle: str
    name: str = ""
    client: str = ""
    steps: int = 0
    waiting: int = 0
    runs: int = 0
    partial_runs: int = 0
    nodes: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class VariableSize:
    """The size of one variable.

    Attributes:
        name: its name.
        device: full name of its device.
        container: its container.
        nbytes: bytes of its value.
    """

    name: str
    device: str
    container: str
    nbytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSize:
    """The size of one queue.

    Attributes:
        name: its shared name, or the name of its node.
        device: full name of its device.
        container: its container; "" for a queue that belongs to one session.
        session: the handle of that session.
        size: the number of elements.
        capacity: the maximum of that; below 0 for no limit.
        waiting_enqueues: how many enqueues wait for room.
        waiting_dequeues: how many dequeues wait for elements.
    """

    name: str
    device: str
    container: str = ""
    session: str = ""
    size: int = 0
    capacity: int = -1
    waiting_enqueues: int = 0
    waiting_dequeues: int = 0


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class ServerStatistics(Counters):
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
        master_steps: how long steps of the sessions whose master is here took, from their begin to the answer for
            their client.
        worker_steps: how long the parts of steps here took, from their begin to the answer for their master.
        mailbox_waits: how long messages waited in the mailboxes of busy actors of the process.
        round_trips: how long heartbeats of the process took to their peers and back, one in ten of each link.
        pool_waits: how long segments waited for a thread of the kernel pool.
        pending: values that wait in the rendezvous of steps here for receivers, and receivers for values.
        waiting: steps that wait at this master for admission.
        held: partitions of steps that backpressure of a task that they send to holds back here.
        unsettled: partitions of steps that have run here and taken something, which is put back unless a
            confirmation arrives that the caller has the values.
        pool_threads: threads for kernels, including those of the lane of first runs that are ``overdue``; 0
            if kernels run in the thread of the event loop.
        pool_busy: those of them that run a segment or a node now.
        pool_waiting: segments and nodes that wait for a thread.
        overdue: those of them that are occupied by kernels whose steps are over.
        overdue_kernels: the same as text; "" if there are none.
        cached_plans: plans that the sessions keep whose master is here.
        plan_hits: runs that found their plan so far, in open sessions and in those that have ended.
        plan_misses: plans that had to be made, likewise.
        plan_evictions: plans that were dropped for others, likewise.
        variables: variables with a value.
        variable_bytes: bytes of their values.
        largest_variables: the largest ten of them.
        queues: the queues, a hundred at most.
        errors: errors that the server has noted so far, by class; see ``read_errors``.
        restarts: how often the task was started again, as far as the server knows.
        clock: wall-clock seconds at that moment, by the clock of the task; 0 if unknown.
        cpu_seconds: processor time that the process has used so far, in all threads.
        pid: the process; 0 if unknown.
        version: the version of this package that it runs; "" if unknown.
        uptime: seconds since the server was started.
        memory: bytes of resident memory of the process; 0 if unknown.
        peak_memory: the most bytes of that since the process was started; 0 if unknown.
        snapshot_every: seconds between two snapshots of the variables; 0 if none are kept.
        snapshot_age: seconds since the variables were last on disk as they were: a snapshot was taken, or
            nothing had changed since the one before; since the start of the server if neither was yet.
        restored_from: the snapshot that the variables were restored from when the server started; "" if there
            was none.
        open_sessions: the sessions whose master is here.
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
    master_steps: HistogramCounts = HistogramCounts()
    worker_steps: HistogramCounts = HistogramCounts()
    mailbox_waits: HistogramCounts = HistogramCounts()
    round_trips: HistogramCounts = HistogramCounts()
    pool_waits: HistogramCounts = HistogramCounts()
    pending: int = 0
    waiting: int = 0
    held: int = 0
    unsettled: int = 0
    loop_lag: float = 0.0
    worst_loop_lag: float = 0.0
    pool_threads: int = 0
    pool_busy: int = 0
    pool_waiting: int = 0
    overdue: int = 0
    overdue_kernels: str = ""
    cached_plans: int = 0
    plan_hits: int = 0
    plan_misses: int = 0
    plan_evictions: int = 0
    variables: int = 0
    variable_bytes: int = 0
    largest_variables: tuple[VariableSize, ...] = ()
    queues: tuple[QueueSize, ...] = ()
    errors: Mapping[str, int] = field(default_factory=dict)
    restarts: int = 0
    clock: float = 0.0
    cpu_seconds: float = 0.0
    pid: int = 0
    version: str = ""
    uptime: float = 0.0
    memory: int = 0
    peak_memory: int = 0
    snapshot_every: float = 0.0
    snapshot_age: float = 0.0
    restored_from: str = ""
    open_sessions: tuple[OpenSession, ...] = ()

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
    def snapshot_overdue(self) -> bool:
        """Whether the last snapshot is older than the interval allows, so that writing fails or hangs."""
        limit = 2 * self.snapshot_every + _SNAPSHOT_SLACK
        return self.snapshot_every > 0 and self.snapshot_age > limit

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

    def findings(self, versions: Iterable[str]) -> list[str]:
        """Return what is wrong with the task, one sentence each.

        Args:
            versions: the versions that the tasks of its cluster run.
        """
        texts = []
        newest = max(versions, key=_order, default="")
        if _order(self.version) < _order(newest):
            texts.append(f"it runs version {self.version or 'unknown'}, and another task {newest}")
        if self.loop_lag > _LATE:
            texts.append(f"its event loop was {self.loop_lag:.1f} s late; a kernel or callback holds it")
        if self.snapshot_overdue:
            texts.append(
                f"its last snapshot is {short_duration(self.snapshot_age)} old, with one every "
                f"{short_duration(self.snapshot_every)}; its log has the reason"
            )
        if self.overdue:
            all_held = self.overdue >= self.pool_threads
            last = "; other kernels wait until the task is restarted" if all_held else ""
            texts.append(f"{self.overdue_kernels}{last}")
        return texts

    def to_wire(self) -> dict[str, Any]:
        """Return the counters as plain values."""
        out = _plain(self)
        for name in _ITEMS:
            out[name] = [_plain(item) for item in out[name]]
        for name in _HISTOGRAMS:
            out[name] = getattr(self, name).to_wire()
        return out

    @classmethod
    def from_wire(cls, value: Mapping[str, Any]) -> ServerStatistics:
        """Parse the result of ``to_wire``.

        Raises:
            ProtocolError: for any other form.
        """
        try:
            return _parsed(cls, value)
        except TypeError as exc:
            raise ProtocolError(f"not the statistics of a server: {exc}: {value!r:.200}") from exc

    def metric_families(self) -> list[MetricFamily]:
        """Return the counters for Prometheus, with the task as a label of each."""
        labels = {"task": self.task}
        about = {**labels, "version": self.version, "pid": str(self.pid)}
        families = metric_families(self, (*_METRICS, *_TIMES), labels)
        families += self._labelled_families(labels)
        if self.snapshot_every > 0:
            families += metric_families(self, _SNAPSHOT_METRICS, labels)
        families.append(
            MetricFamily("actorsession_server_info", "gauge", "Version and process of the server.", [(about, 1)])
        )
        for device in self.devices:
            families += device.metric_families(labels)
        # Links of one peer at one address are added up, but for their round trips, of which the longest counts.
        slowest: dict[tuple[str, str], LinkStatistics] = {}
        for link in sorted(self.links, key=lambda link: link.round_trip):
            slowest[link.peer, link.address] = link
        for link in self.links:
            alone = link is slowest[link.peer, link.address]
            families += (link if alone else replace(link, round_trip=0.0)).metric_families(labels)
        return families

    def _labelled_families(self, labels: Mapping[str, str]) -> list[MetricFamily]:
        """Return the families whose samples have labels of their own."""
        by_kind = [({**labels, "kind": "master"}, self.master_steps), ({**labels, "kind": "worker"}, self.worker_steps)]
        errors = [({**labels, "class": name}, count) for name, count in self.errors.items()]
        sizes = [
            ({**labels, "device": one.device, "container": one.container, "variable": one.name}, one.nbytes)
            for one in self.largest_variables
        ]
        queues = [
            (one, {**labels, "device": one.device, "container": one.container, "queue": one.name})
            for one in self.queues
        ]
        return [
            MetricFamily("actorsession_server_step_seconds", "histogram", "Times of steps, by who saw them.", by_kind),
            MetricFamily("actorsession_server_errors_total", "counter", "Errors, by class.", errors),
            MetricFamily("actorsession_server_variable_bytes", "gauge", "Bytes of the largest variables.", sizes),
            *[
                MetricFamily(name, "gauge", words, [(place, getattr(one, field)) for one, place in queues])
                for field, name, words in _QUEUE_METRICS
            ],
        ]

    def prometheus(self) -> str:
        """Return the counters in the text form that Prometheus reads.

        Links of one peer at one address, such as those of clients at a unix socket, are added up.
        """
        return exposition(self.metric_families())


def _order(version: str) -> tuple[tuple[int, int, str], ...]:
    """Return a key by which versions are sorted: numbers by value, and before a word such as "rc1"."""
    parts = version.replace("-", ".").split(".") if version else []
    return tuple((1, int(p), "") if is_index(p) else (0, 0, p) for p in parts)


# The fields that are tuples, and the class of their items.
_ITEMS: Mapping[str, type[Any]] = {
    "links": LinkStatistics,
    "devices": ExecutorStatistics,
    "open_sessions": OpenSession,
    "largest_variables": VariableSize,
    "queues": QueueSize,
}
_HISTOGRAMS = [f.name for f in fields(ServerStatistics) if f.type == "HistogramCounts"]


def _plain(counts: DataclassInstance) -> dict[str, Any]:
    """Return the values of the fields by name; ``asdict`` copies each, which takes a millisecond for a server."""
    return {f.name: getattr(counts, f.name) for f in fields(counts)}


def _parsed(kind: type[T], value: Any) -> T:
    """Return an instance of a class of statistics, without the fields that it does not have.

    Raises:
        TypeError: if a field is missing or has a value of another type.
    """
    if not isinstance(value, Mapping):
        raise TypeError(f"expected a mapping, got {type(value).__name__}")
    dataclass_type: Any = kind
    values = {f.name: _checked(f, value[f.name]) for f in fields(dataclass_type) if f.name in value}
    return kind(**values)


def _checked(field: Any, value: Any) -> Any:
    if field.name in _ITEMS:
        if not isinstance(value, (list, tuple)):
            raise TypeError(f"{field.name} is a list, got {type(value).__name__}")
        return tuple(_parsed(_ITEMS[field.name], item) for item in value)
    if field.name == "errors":
        if not isinstance(value, Mapping) or not all(isinstance(count, int) for count in value.values()):
            raise TypeError(f"errors are numbers by class, got {value!r:.100}")
        return {str(name): count for name, count in value.items()}
    if field.type == "HistogramCounts":
        return HistogramCounts.from_wire(value)
    if not isinstance(value, _SCALARS[field.type]):
        raise TypeError(f"{field.name} is of type {field.type}, got {type(value).__name__}")
    return value
