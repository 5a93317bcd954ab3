"""The configuration of a session: ``ConfigProto`` and its parts, with TensorFlow's names.

Frozen values. Python itself refuses a field that does not exist here. An existing field takes effect, or
refuses with the reason every value that requests something this runtime cannot do. The runtime reads the
configuration and never changes it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import Any

from actorsession.config.graph_options import GraphOptions
from actorsession.config.limits import MAX_INFLIGHT_BYTES, MAX_INFLIGHT_STEPS
from actorsession.config.wire import (
    at_least,
    at_most,
    check_types,
    from_wire,
    list_of,
    merged,
    one_of,
    reject,
    to_wire,
    whole_number,
)
from actorsession.durations import checked_milliseconds, in_seconds
from actorsession.errors import InvalidArgumentError
from actorsession.records import changed_fields, dataclass

__all__ = [
    "ConfigProto",
    "Experimental",
    "GPUOptions",
    "RPCOptions",
    "SessionMetadata",
    "SessionOptions",
    "ThreadPoolOptionProto",
]


# BLAS libraries take the number of threads as a 32-bit int.
_MOST_THREADS = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadPoolOptionProto:
    """One of the thread pools that runs may choose from.

    Attributes:
        num_threads: how many threads for kernels; 0 for as many as ``inter_op_parallelism_threads`` gives.
            Functions that may block, such as ``py_func``, get threads beside them; ``max_inflight_steps``
            bounds the steps in which they run.
        global_name: pools of one name are one pool in the whole process, and all have the same number of
            threads; empty for a pool of the session's own.
    """

    num_threads: int = 0
    global_name: str = ""

    __repr__ = changed_fields

    def __post_init__(self) -> None:
        check_types(self)
        at_least(0, "num_threads", self.num_threads)

    def to_wire(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return to_wire(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionMetadata:
    """A name and version for a session, for processes that serve several models.

    Attributes:
        name: name of the model.
        version: at least 0; no two open sessions of one process, or of one master, may have the same name
            and version.
    """

    name: str = ""
    version: int = 0

    __repr__ = changed_fields

    def __post_init__(self) -> None:
        check_types(self)

    def to_wire(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return to_wire(self)

    @classmethod
    def from_wire(cls, value: Mapping[str, Any]) -> SessionMetadata:
        """Read the result of ``to_wire``.

        Raises:
            InvalidArgumentError: the value has another form, an unknown field or a value that is not
                allowed.
        """
        return from_wire(cls, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Experimental:
    """Settings that TensorFlow marks as experimental.

    Attributes:
        session_metadata: name and version of the session.
        share_cluster_devices_in_session: TensorFlow's earlier name for the field of ``ConfigProto``.
        share_session_state_in_clusterspec_propagation: the session shares the variables of its tasks with
            all other sessions that do so, even if it defines its cluster, or isolates its state: several
            masters that bring their clusters along then update the variables of one parameter server.
        optimize_for_static_graph: the graph is complete at the first run: FailedPreconditionError if it has
            grown since. A remote session sends it then, and not when it connects.
        collective_group_leader: the task that forms the groups in which steps of several sessions meet; all
            these sessions name the same. The first task of the cluster if left out.
        collective_deterministic_sequential_execution: each device runs the collectives of a step one after
            the other, in the order in which they were built.
        collective_nccl: large collectives of GPUs go through NCCL, as if ``communication_hint`` asked for it.
        use_tfrt: refused: there is one runtime here.
    """

    session_metadata: SessionMetadata | None = field(default=None, metadata=one_of(SessionMetadata))
    share_cluster_devices_in_session: bool = False
    share_session_state_in_clusterspec_propagation: bool = False
    optimize_for_static_graph: bool = False
    collective_group_leader: str = ""
    collective_deterministic_sequential_execution: bool = False
    collective_nccl: bool = False
    use_tfrt: bool = False

    __repr__ = changed_fields

    def __post_init__(self) -> None:
        check_types(self)
        reject("use_tfrt", self.use_tfrt, (False,), "this is the only runtime here")

    def to_wire(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return to_wire(self)


_TLS_FILES = ("ca_file", "certificate_file", "key_file")


@dataclass(frozen=True, slots=True, kw_only=True)
class RPCOptions:
    """How a remote session connects to its master.

    The three files are for targets of ``tls://``. They belong to this process and are not sent to the
    master. Where none is given, those of the environment apply (``ACTORSESSION_TLS_CA``, ``_CERT`` and
    ``_KEY``).

    Attributes:
        use_rpc_for_inprocess_master: encode messages even to a master in this very process.
        ca_file: PEM file of the CA that servers' certificates must be signed by.
        certificate_file: PEM file of the client's certificate.
        key_file: PEM file of its private key.
    """

    use_rpc_for_inprocess_master: bool = False
    ca_file: str = ""
    certificate_file: str = ""
    key_file: str = ""

    __repr__ = changed_fields

    def __post_init__(self) -> None:
        check_types(self)
        files = {name: getattr(self, name) for name in _TLS_FILES}
        missing = [name for name, path in files.items() if not path]
        if missing and len(missing) < len(files):
            raise InvalidArgumentError(
                f"TLS needs three files, and {' and '.join(missing)} of RPCOptions "
                f"{'is' if len(missing) == 1 else 'are'} empty; set all of {', '.join(files)}"
            )

    def to_wire(self) -> dict[str, Any]:
        """Return the settings as plain values, without the files, which belong to this process."""
        return {name: v for name, v in to_wire(self).items() if name not in _TLS_FILES}


def _as_jobs(cluster: Any) -> dict[str, dict[str, str]] | None:
    """Return a cluster as plain values: job to a dict from index, as text, to address."""
    if cluster is None:
        return None
    if hasattr(cluster, "as_dict"):
        cluster = cluster.as_dict()
    elif hasattr(cluster, "job"):
        cluster = {job.name: dict(job.tasks) for job in cluster.job}
    try:
        return {
            str(job): {
                str(index): str(address)
                for index, address in (tasks.items() if isinstance(tasks, Mapping) else enumerate(tasks))
            }
            for job, tasks in cluster.items()
        }
    except (AttributeError, TypeError):
        raise InvalidArgumentError(
            f"cluster_def must be a ClusterSpec, a ClusterDef or a dict from job to addresses, got {cluster!r:.100}"
        ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class GPUOptions:
    """How devices of type ``GPU`` use theirs; nothing where there are none.

    Attributes:
        per_process_gpu_memory_fraction: share of the memory of each GPU that this process may take, up to 1; 0 for
            no limit. It is that of the last session that set one.
        allow_growth: memory is taken when it is needed, whatever this says.
        visible_device_list: numbers of the GPUs that become ``GPU:0``, ``GPU:1`` and so on, such as ``2,0``; empty
            for all.
    """

    per_process_gpu_memory_fraction: float = 0.0
    allow_growth: bool = False
    visible_device_list: str = ""

    __repr__ = changed_fields

    def __post_init__(self) -> None:
        check_types(self)
        at_least(0.0, "per_process_gpu_memory_fraction", self.per_process_gpu_memory_fraction)

    def to_wire(self) -> dict[str, Any]:
        """Return the options as plain values."""
        return to_wire(self)

    @classmethod
    def from_wire(cls, value: Mapping[str, Any]) -> GPUOptions:
        """Read the result of ``to_wire``."""
        return from_wire(cls, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigProto:
    """The configuration of a session.

    Attributes:
        device_count: number of devices per type in this process, for instance ``{"CPU": 3}``; for remote
            sessions the server's own configuration applies.
        intra_op_parallelism_threads: threads of the BLAS library within one kernel; 0 to leave it as it is.
            One number applies to the whole process: that of the first session that sets one, until the last
            session that set one is closed.
        inter_op_parallelism_threads: threads of the kernel pool that the sessions of the process share, if
            this is the first of them; 0 for the value of ``ACTORSESSION_NUM_INTEROP_THREADS`` or
            ``TF_NUM_INTEROP_THREADS``, else one per processor; negative to run every kernel in the caller's
            thread.
        use_per_session_threads: a kernel pool of the session's own instead of the process's; refused for
            remote sessions.
        session_inter_op_thread_pool: pools that runs choose from by ``RunOptions.inter_op_thread_pool``;
            refused for remote sessions.
        placement_period: number of steps after which nodes without a device of their own are placed again
            by the cost model, if there is one; 0 for never; refused for remote sessions.
        device_filters: partial device names; the session uses only devices that match one of them, and its
            client device. A remote session waits only for tasks that match, and uses all devices of its
            master's own task.
        gpu_options: how devices of type ``GPU`` use theirs; for remote sessions the server's own applies.
        allow_soft_placement: place an op elsewhere when its device type or number does not exist.
        log_device_placement: log the device of each node and the reason for it.
        graph_options: how graphs are planned.
        operation_timeout_in_ms: limit for each call; 0 for the default limits.
        rpc_options: how a remote session connects to its master.
        cluster_def: a cluster that the session defines, of which its target is one task: a ``ClusterSpec``,
            a ``ClusterDef`` or a dict. Its devices have the names given there, and state of the session's
            own unless ``experimental.share_session_state_in_clusterspec_propagation`` is set. Refused in a
            local session.
        isolate_session_state: private variables for this session on every task; a session in this process
            always has its own.
        share_cluster_devices_in_session: each worker of a remote session learns the devices of all of them,
            and refuses partitions that exchange values with any other device.
        experimental: settings that TensorFlow calls experimental.
        plan_cache_size: number of run signatures whose plans are kept.
        max_inflight_steps: steps of the session that are in flight at once. A run over the limit waits for
            its turn, in order; its timeout counts meanwhile. Runs that end without waiting for anything are
            not counted.
        max_inflight_bytes: bytes of tensors that the steps in flight may hold: their feeds, and at a master
            also their fetches and the tensors sent between tasks. A step that is larger by itself runs
            alone. Steps with an op that may wait for other steps, such as ``py_func``, count as zero.
        partial_run_idle_limit_in_ms: a partial run that is not continued for this long is aborted.
        kept_steps: how many of its last steps a session of this process remembers, for ``last_steps``; 0 for none.
            Refused for remote sessions, whose steps their servers remember.
        wait_for_all_tasks: create a remote session only when every task that it may use has answered, as
            TensorFlow does. If not, it begins with the tasks that answer, and a step that needs another one
            waits for it within its limit, 30 s at most.
    """

    device_count: Mapping[str, int] = field(default_factory=dict)
    intra_op_parallelism_threads: int = 0
    inter_op_parallelism_threads: int = 0
    use_per_session_threads: bool = False
    session_inter_op_thread_pool: Sequence[ThreadPoolOptionProto] = field(
        default=(), metadata=list_of(ThreadPoolOptionProto)
    )
    placement_period: int = 0
    device_filters: Sequence[str] = ()
    gpu_options: GPUOptions = field(default_factory=GPUOptions, metadata=one_of(GPUOptions))
    allow_soft_placement: bool = False
    log_device_placement: bool = False
    graph_options: GraphOptions = field(default_factory=GraphOptions, metadata=one_of(GraphOptions))
    operation_timeout_in_ms: int = 0
    rpc_options: RPCOptions = field(default_factory=RPCOptions, metadata=one_of(RPCOptions))
    cluster_def: Any = None
    isolate_session_state: bool = False
    share_cluster_devices_in_session: bool = False
    experimental: Experimental = field(default_factory=Experimental, metadata=one_of(Experimental))
    plan_cache_size: int = 256
    max_inflight_steps: int = MAX_INFLIGHT_STEPS
    max_inflight_bytes: int = MAX_INFLIGHT_BYTES
    partial_run_idle_limit_in_ms: int = 600_000
    wait_for_all_tasks: bool = False
    kept_steps: int = 0

    __repr__ = changed_fields

    def __post_init__(self) -> None:
        check_types(self)
        object.__setattr__(self, "device_count", _counts(self.device_count))
        at_least(0, "intra_op_parallelism_threads", self.intra_op_parallelism_threads)
        at_most(_MOST_THREADS, "intra_op_parallelism_threads", self.intra_op_parallelism_threads)
        at_least(0, "placement_period", self.placement_period)
        _ = checked_milliseconds("operation_timeout_in_ms", self.operation_timeout_in_ms)
        at_least(1, "plan_cache_size", self.plan_cache_size)
        at_least(0, "kept_steps", self.kept_steps)
        at_least(1, "max_inflight_steps", self.max_inflight_steps)
        at_least(1, "max_inflight_bytes", self.max_inflight_bytes)
        _ = checked_milliseconds("partial_run_idle_limit_in_ms", self.partial_run_idle_limit_in_ms, 1)
        filters = self.device_filters
        if (
            isinstance(filters, str)
            or not isinstance(filters, Collection)
            or not all(isinstance(text, str) for text in filters)
        ):
            raise InvalidArgumentError(f"device_filters must be a list of device names, got {filters!r:.100}")
        object.__setattr__(self, "device_filters", tuple(filters))
        object.__setattr__(self, "cluster_def", _as_jobs(self.cluster_def))

    @property
    def operation_timeout(self) -> float | None:
        """The limit for each call in seconds; ``None`` when the defaults apply."""
        return in_seconds(self.operation_timeout_in_ms) or None

    @property
    def shares_cluster_devices(self) -> bool:
        """Whether ``share_cluster_devices_in_session`` is set, by its present or its earlier name."""
        earlier = self.experimental.share_cluster_devices_in_session
        return self.share_cluster_devices_in_session or earlier

    def merged_over(self, defaults: ConfigProto) -> ConfigProto:
        """Return the settings with those of ``defaults`` where a field has its default; see ``merged``."""
        return merged(defaults, self)

    def to_wire(self) -> dict[str, Any]:
        """Return the settings as plain values."""
        return to_wire(self)

    @classmethod
    def from_wire(cls, value: Mapping[str, Any]) -> ConfigProto:
        """Read the result of ``to_wire``.

        Raises:
            InvalidArgumentError: the value has another form, an unknown field or a value that is not
                allowed.
        """
        return from_wire(cls, value)


@dataclass(frozen=True, slots=True)
class SessionOptions:
    """The options of a session.

    Attributes:
        target: "" or "local" for this process, or one address or several.
        config: settings.
    """

    target: str
    config: ConfigProto


def _counts(device_count: Any) -> dict[str, int]:
    """Return the numbers of devices by type."""
    if not isinstance(device_count, Mapping):
        raise TypeError(f"device_count must be a mapping from device type to number, got {device_count!r:.100}")
    counts: dict[str, int] = {}
    for kind, count in device_count.items():
        if not isinstance(kind, str):
            raise TypeError(f"the keys of device_count must be device types, such as 'CPU', got {kind!r:.100}")
        counts[kind] = whole_number(f"device_count[{kind!r}]", count)
        at_least(0, f"device_count[{kind!r}]", counts[kind])
    return counts
