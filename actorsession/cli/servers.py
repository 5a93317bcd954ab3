"""``actorsession worker`` and ``actorsession master``: one task of a cluster.

Both run a ``Server``, which has a master and a worker. A master is a task at which sessions are opened and
which need not be part of the cluster's description. The cluster and the task are taken from ``--cluster``, a
file, or ``TF_CONFIG``, in this order; the latter two are read again whenever a lost task is dialled.
"""

from __future__ import annotations

import argparse
import json
import os
from typing import TYPE_CHECKING, Any

from actorsession.cli.console import SUCCESS, USAGE_ERROR, add_file_roots, fail, raw, seconds

if TYPE_CHECKING:
    from actorsession.cluster import SecurityConfig
    from actorsession.cluster.launch.child import WorkerOptions
    from actorsession.cluster.resolvers import ClusterResolver

__all__ = ["add_to"]

_CONFIG_VARIABLE = "ACTORSESSION_CONFIG"
_EPILOG = """\
The cluster comes from --cluster, else from --config, else from the environment variable
TF_CONFIG. --config and TF_CONFIG have the same form, JSON or (in FILE.toml) TOML:

    {"cluster": {"ps": ["10.0.0.1:7000"], "worker": ["10.0.0.2:7000", "10.0.0.3:7000"]},
     "task": {"type": "worker", "index": 0}, "cluster_id": "a name"}

--job and --task override "task", and may be omitted where there is only one choice.

exit status: 0 a signal, `actorsession stop` or the parent ended the server; 1 it could not start;
2 invalid arguments.
environment: ACTORSESSION_TOKEN is the secret that servers and clients share, needed to listen on
anything but loopback without TLS (without it a server on loopback accepts only your own user);
ACTORSESSION_TLS_CA, ACTORSESSION_TLS_CERT and ACTORSESSION_TLS_KEY replace --tls-ca, --tls-cert and
--tls-key; ACTORSESSION_CONFIG replaces --config. With TLS files host:port means
tls://host:port.
"""
# Option, field of SecurityConfig, help.
_TLS = (
    ("ca", "ca_file", "PEM file of the CA that must have signed the certificates of peers"),
    ("cert", "certificate_file", "PEM file of this task's certificate"),
    ("key", "key_file", "PEM file of the certificate's private key"),
)


def add_to(commands: Any) -> None:
    """Add the commands to the sub-parsers of the program's parser."""
    worker = commands.add_parser(
        "worker", help="serve one task of a cluster",
        description="Serve one task of a cluster until a signal arrives.",
        epilog=_EPILOG, formatter_class=raw,
    )  # fmt: skip
    _add_options(worker)
    worker.add_argument("--announce", action="store_true", help=argparse.SUPPRESS)
    worker.set_defaults(run=_run, role="worker", listen=None)

    master = commands.add_parser(
        "master", help="serve a master at which clients open sessions",
        description=(
            "Serve a task at which clients open sessions. It is the task of job `master` (or --job) if the\n"
            "cluster has it, and otherwise an additional task at --listen that the workers need not list."
        ),
        epilog=_EPILOG, formatter_class=raw,
    )  # fmt: skip
    _add_options(master)
    master.add_argument(
        "--listen", default="127.0.0.1:0", metavar="ADDRESS",
        help="where to listen if the cluster has no task for it (default %(default)s)",
    )  # fmt: skip
    master.set_defaults(run=_run, role="master", announce=False)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--job", help="job of this task, such as ps or worker")
    parser.add_argument("--task", type=int, help="index of this task in its job")
    parser.add_argument(
        "--cluster", type=_cluster,
        help='all tasks as JSON: {"ps": ["127.0.0.1:7000"], "worker": ["127.0.0.1:7001"]}',
    )  # fmt: skip
    parser.add_argument(
        "--config", metavar="FILE", default=os.environ.get(_CONFIG_VARIABLE),
        help="a file that describes the cluster, and is read again when the cluster changes; see below",
    )  # fmt: skip
    parser.add_argument(
        "--cluster-id", default="", help="the id of the cluster; peers with another id are refused"
    )
    parser.add_argument("--devices", type=int, default=1, help="number of CPU devices of this task")
    parser.add_argument(
        "--port-file", metavar="FILE",
        help="write the address to this file once it is bound; the server removes it when it ends",
    )  # fmt: skip
    parser.add_argument(
        "--snapshot-dir", metavar="DIR",
        help="save the variables of this task in this folder, and start with those of the last snapshot",
    )  # fmt: skip
    parser.add_argument(
        "--snapshot-every", type=seconds, default=60.0, metavar="SECONDS",
        help="the time between two snapshots (default %(default)g)",
    )  # fmt: skip
    add_file_roots(parser)
    parser.add_argument(
        "--lease", type=seconds, default=5.0, metavar="SECONDS",
        help="how long an idle peer may be silent before it counts as lost (default %(default)g)",
    )  # fmt: skip
    parser.add_argument(
        "--beat", type=seconds, default=1.0, metavar="SECONDS",
        help="the time between two heartbeats; at most half a lease (default %(default)g)",
    )  # fmt: skip
    parser.add_argument(
        "--sidecar", action="store_true",
        help="use a sidecar process, which answers for a busy server, on loopback and for this host too",
    )  # fmt: skip
    parser.add_argument(
        "--grace", type=seconds, default=3.0, metavar="SECONDS",
        help="how long a clean shutdown may take; a second later the process is killed (default %(default)g)",
    )  # fmt: skip
    for name, _, what in _TLS:
        parser.add_argument(f"--tls-{name}", metavar="FILE", help=what)
    parser.add_argument("--json", action="store_true", help="print the address as JSON")


def _cluster(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as exc:
        raise argparse.ArgumentTypeError(f"not JSON: {exc}") from None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(
            f"a cluster is a JSON object from job name to addresses, got {value!r:.100}"
        )
    return value


def _run(options: argparse.Namespace) -> int:
    from actorsession.actors.loops import run
    from actorsession.cluster.launch.child import make_guard, serve
    from actorsession.cluster.resolvers import TF_CONFIG
    from actorsession.errors import OpError

    if options.cluster is None and not (options.config or os.environ.get(TF_CONFIG)):
        fail(
            options.role,
            f"no cluster was described; pass --cluster or --config, or set {TF_CONFIG}",
        )
        return USAGE_ERROR
    try:
        worker = _worker_options(options)
        guard = make_guard(worker)
        try:
            run(serve(worker, guard))
        finally:
            guard.close()
    except KeyboardInterrupt:  # before the server's own handler was installed
        return SUCCESS
    except (TypeError, ValueError, OSError, OpError) as exc:
        return fail(options.role, exc)
    return SUCCESS


def _worker_options(options: argparse.Namespace) -> WorkerOptions:
    from actorsession.cluster.launch.child import WorkerOptions

    resolver, cluster_id = _resolver(options)
    job = options.job
    if options.role == "master":
        job = job or resolver.task_type or "master"
        resolver = _Extended(resolver, job, options.listen)
    return WorkerOptions(
        job=job, index=options.task, cluster=resolver, cluster_id=options.cluster_id or cluster_id,
        device_count={"CPU": options.devices}, announce=options.announce, role=options.role,
        json=options.json, port_file=options.port_file, security=_security(options),
        snapshot_dir=options.snapshot_dir, snapshot_every=options.snapshot_every,
        lease=options.lease, beat=options.beat, sidecar=options.sidecar,
        grace=options.grace,
        file_roots=options.file_roots,
    )  # fmt: skip


def _security(options: argparse.Namespace) -> SecurityConfig | None:
    """Return the TLS files of the command line, or ``None`` without any.

    Raises:
        ValueError: if only one or two of the three are given.
    """
    from actorsession.cluster import SecurityConfig

    given = {field: getattr(options, f"tls_{name}") or "" for name, field, _ in _TLS}
    missing = [f"--tls-{name}" for name, field, _ in _TLS if not given[field]]
    if len(missing) == len(_TLS):
        return None
    if missing:
        raise ValueError(f"TLS needs three files; {' and '.join(missing)} is missing")
    return SecurityConfig(**given)


def _resolver(options: argparse.Namespace) -> tuple[ClusterResolver, str]:
    """Return the resolver of the cluster, and the cluster id that it gives."""
    from actorsession.cluster.resolvers import (
        FileClusterResolver,
        SimpleClusterResolver,
        TFConfigClusterResolver,
    )
    from actorsession.cluster.spec import ClusterSpec

    if options.cluster is not None:
        return SimpleClusterResolver(ClusterSpec(options.cluster)), ""
    found: FileClusterResolver | TFConfigClusterResolver
    if options.config:
        found = FileClusterResolver(options.config)
    else:
        found = TFConfigClusterResolver()
    if not found.cluster_spec():
        raise ValueError(f'{found!r} describes no cluster; it needs a "cluster"')
    return found, found.cluster_id


class _Extended:
    """The cluster of a resolver, with one more task if it has no task of that job."""

    def __init__(self, resolver: ClusterResolver, job: str, address: str) -> None:
        self._resolver = resolver
        self._job = job
        self._address = address

    def cluster_spec(self) -> Any:
        """Return the current cluster."""
        from actorsession.cluster.spec import ClusterSpec

        spec = self._resolver.cluster_spec()
        if self._job in spec.jobs:
            return spec
        return ClusterSpec({**spec.as_dict(), self._job: [self._address]})

    @property
    def task_type(self) -> str | None:
        """The job of this process."""
        return self._resolver.task_type

    @property
    def task_id(self) -> int | None:
        """The index of this process in the job."""
        return self._resolver.task_id

    def __repr__(self) -> str:
        return repr(self._resolver)
