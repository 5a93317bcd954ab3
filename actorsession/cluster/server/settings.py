"""The settings of a server, as one value; each is checked when the value is made."""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence

from actorsession.cluster.master.stats_publisher import StatsPublisherFactory
from actorsession.config import MAX_SERVER_STEPS, ConfigProto, RPCOptions
from actorsession.config.remote_settings import refuse_local_settings
from actorsession.durations import checked_seconds
from actorsession.errors import InvalidArgumentError
from actorsession.plan.cost_model import check_cost_model_settings
from actorsession.records import dataclass
from actorsession.rpc.liveness.lease import BEAT_SECONDS, LEASE_SECONDS, check_lease
from actorsession.runtime.device_filters import DeviceFilters
from actorsession.runtime.step_log import KEPT_STEPS
from transports import SecurityConfig

__all__ = ["ServerSettings"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerSettings:
    """How a server runs, beside its task and cluster.

    Attributes:
        protocol: scheme of the addresses that have none; if left out ``tls`` where TLS files are given, else
            ``tcp``.
        config: settings of the process: ``device_count``, and the threads of its kernel pool and of the BLAS
            library (``inter_op_parallelism_threads``, ``intra_op_parallelism_threads``). All others are the
            defaults of the sessions whose master is here: where a session leaves a field at its default, that
            of the server applies; lists of the session follow those of the server, maps are merged.
        cluster_id: servers and clients of another id are refused; "" accepts clients and servers that have
            none.
        token: shared secret; needed to listen on anything but loopback without TLS. By default the value of
            the environment variable ``ACTORSESSION_TOKEN``, as for clients.
        security: CA, certificate and key for mutual TLS, with clients and with other tasks. By default the
            files named by the environment variables ``ACTORSESSION_TLS_CA``, ``_CERT`` and ``_KEY``.
        listening_socket: a bound stream socket to serve at in place of binding the task's address, such as
            one that a service manager has opened. Owned by the server from ``start`` on.
        session_gc_seconds: seconds without a request after which a session is closed; 0 for never. Sessions
            whose clients are gone are closed in any case.
        max_inflight_steps: limit on the steps in flight of all sessions whose master is here. Further steps
            wait, and sessions take turns; each session has limits of its own besides
            (``ConfigProto.max_inflight_steps``).
        snapshot_dir: where to write the variables of this task from time to time, and when it stops; they are
            restored from there when it starts. The directory belongs to one cluster, whose tasks may share
            it. ``None`` for no snapshots.
        snapshot_every: seconds between two snapshots.
        file_roots: folders in which operations may open files (``read_file``, savers, tables from text
            files); others are refused with PermissionDeniedError. If left out, all files that the server's
            user may open if only this machine can reach the server (loopback, unix), and none at all
            otherwise.
        lease: seconds of silence after which a peer is declared lost.
        beat: seconds between heartbeats.
        sidecar: whether to start a sidecar on loopback too.
        restart_wait: seconds for which a session whose master is here waits for a task that was lost to be
            started again, before it begins a step that needs the task; 0 to fail the step at once. For
            clusters in which something starts tasks again, such as systemd or a ``LocalCluster``.
        kept_steps: how many of the last steps the server remembers, for ``last_steps`` and ``actorsession trace``;
            0 for none. A step of some transfers takes a kilobyte.
        metrics_port: the port at which the server answers ``GET /metrics`` for Prometheus, by HTTP and without a
            token; 0 for any that is free, see ``Server.metrics_url``. ``None`` for none.
        metrics_host: the address of that port; by default only this machine can reach it.
        stats_publisher_factory: makes what receives the graphs and the statistics of the steps of sessions
            whose master is here, one per run signature of each session.

    Raises:
        InvalidArgumentError: for seconds that are no duration or too few, a limit of steps below 1, a number that is no
            port, and settings of sessions that only local sessions or clients have, or that no session accepts.
    """

    protocol: str | None = None
    config: ConfigProto = ConfigProto()
    cluster_id: str = ""
    token: str | None = None
    security: SecurityConfig | None = None
    listening_socket: socket.socket | None = None
    session_gc_seconds: float = 0.0
    max_inflight_steps: int = MAX_SERVER_STEPS
    snapshot_dir: str | os.PathLike[str] | None = None
    snapshot_every: float = 60.0
    file_roots: Sequence[str | os.PathLike[str]] | None = None
    lease: float = LEASE_SECONDS
    beat: float = BEAT_SECONDS
    sidecar: bool = False
    restart_wait: float = 0.0
    kept_steps: int = KEPT_STEPS
    metrics_port: int | None = None
    metrics_host: str = "127.0.0.1"
    stats_publisher_factory: StatsPublisherFactory | None = None

    def __post_init__(self) -> None:
        _check_session_defaults(self.config)
        for name in ("session_gc_seconds", "restart_wait", "snapshot_every"):
            object.__setattr__(self, name, checked_seconds(name, getattr(self, name)))
        if self.max_inflight_steps < 1:
            raise InvalidArgumentError(f"max_inflight_steps is 1 or more, got {self.max_inflight_steps}")
        if self.kept_steps < 0:
            raise InvalidArgumentError(f"kept_steps is 0 or more, got {self.kept_steps}")
        if self.metrics_port is not None and not 0 <= self.metrics_port < 2**16:
            raise InvalidArgumentError(f"metrics_port is a port from 0 to 65535, got {self.metrics_port}")
        check_lease(self.beat, self.lease)


def _check_session_defaults(config: ConfigProto) -> None:
    """Refuse settings of a server that would make every session of it fail, or have no effect.

    Raises:
        InvalidArgumentError: names the setting.
    """
    refuse_local_settings(config)
    check_cost_model_settings(config)
    DeviceFilters(config.device_filters)  # refuses malformed ones
    if config.rpc_options != RPCOptions():
        raise InvalidArgumentError(
            f"a server's config has no rpc_options, got {config.rpc_options!r}: they say how a client "
            "reaches its master; the server's own TLS files are its setting security"
        )
