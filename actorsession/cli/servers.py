"""``actorsession worker`` and ``actorsession master``: one task of a cluster.

Both run a ``Server``, which has a master and a worker. A master is a task at which sessions are opened and
which need not be part of the cluster's description. The cluster and the task are taken from ``--cluster``, a
file, a resolver of a scheduler, or ``TF_CONFIG``, in this order; all but the first are asked again whenever a
lost task is dialled.
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from actorsession.cli.console import (
    SUCCESS,
    UsageError,
    add_devices,
    add_file_roots,
    add_imports,
    add_log_file,
    add_metrics_port,
    check_environment,
    given,
    import_modules,
    job_counts,
    listed,
    port,
    raw,
    seconds,
    whole_number,
)
from actorsession.cli.logs import LEVEL_VARIABLE
from actorsession.collector import pause_collector
from actorsession.json_text import read_json

if TYPE_CHECKING:
    from actorsession.cluster import SecurityConfig
    from actorsession.cluster.launch.child import WorkerOptions
    from actorsession.cluster.resolvers import ClusterResolver
    from actorsession.cluster.spec import ClusterSpec

__all__ = ["add_to"]

_CONFIG_VARIABLE = "ACTORSESSION_CONFIG"
_EPILOG = """\
The cluster comes from --cluster, else from --config, else from --resolver, else from the
environment variable TF_CONFIG. --config and TF_CONFIG have the same form, JSON or (in FILE.toml) TOML:

    {"cluster": {"ps": ["10.0.0.1:7000"], "worker": ["10.0.0.2:7000", "10.0.0.3:7000"]},
     "task": {"type": "worker", "index": 0}, "cluster_id": "a name"}

--job and --task override "task", and may be omitted where there is only one choice.

--resolver slurm reads the environment of a Slurm step: `srun actorsession worker --resolver slurm
--jobs ps=1,worker=7`. --resolver kubernetes finds the pods of StatefulSets and services that are called
like the jobs, or those that --selector selects.

exit status: 0 a signal, `actorsession stop` or the parent ended the server; 1 it could not start, or its last
snapshot could not be written and changes are lost; 2 invalid arguments.
environment: ACTORSESSION_TOKEN, or the file that ACTORSESSION_TOKEN_FILE names, is the secret that
servers and clients share, needed to listen on anything but loopback without TLS (without it a server on
loopback accepts only your own user);
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
        "worker",
        help="serve one task of a cluster",
        description="Serve one task of a cluster until a signal arrives.",
        epilog=_EPILOG,
        formatter_class=raw,
    )
    _add_options(worker)
    worker.add_argument("--announce", action="store_true", help=argparse.SUPPRESS)
    worker.set_defaults(run=_run, role="worker", listen=None)

    master = commands.add_parser(
        "master",
        help="serve a master at which clients open sessions",
        description=(
            "Serve a task at which clients open sessions. It is the task of job `master` (or --job) if the\n"
            "cluster has it, and otherwise an additional task at --listen that the workers need not list."
        ),
        epilog=_EPILOG,
        formatter_class=raw,
    )
    _add_options(master)
    master.add_argument(
        "--listen",
        default="127.0.0.1:0",
        metavar="ADDRESS",
        help="where to listen if the cluster has no task for it (default %(default)s)",
    )
    master.set_defaults(run=_run, role="master", announce=False)


def _add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--job", help="job of this task, such as ps or worker")
    parser.add_argument("--task", type=whole_number, help="index of this task in its job")
    parser.add_argument(
        "--cluster", type=_cluster, help='all tasks as JSON: {"ps": ["127.0.0.1:7000"], "worker": ["127.0.0.1:7001"]}'
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="a file that describes the cluster, and is read again when the cluster changes; see below",
    )
    parser.add_argument("--resolver", choices=sorted(_RESOLVERS), help="ask this scheduler for the cluster; see below")
    parser.add_argument(
        "--jobs",
        type=job_counts,
        metavar="JOB=N,...",
        help="for --resolver: the number of tasks of each job, such as ps=1,worker=7 (default for slurm: "
        "all are workers)",
    )
    parser.add_argument(
        "--selector",
        action="append",
        dest="selectors",
        type=_selector,
        metavar="JOB=SELECTOR",
        help="for --resolver kubernetes: the label selector of the pods of a job, such as "
        "worker=app=digits,role=worker; may be given several times",
    )
    parser.add_argument(
        "--prefix",
        metavar="TEXT",
        help="for --resolver kubernetes: what precedes the job in the names of its StatefulSet and service",
    )
    parser.add_argument(
        "--port",
        type=port,
        help="for --resolver: the port of each task, for slurm of the first on each node, whose others have "
        "the next ones (default: 7000, for slurm 8888)",
    )
    parser.add_argument("--cluster-id", default="", help="the id of the cluster; peers with another id are refused")
    add_devices(parser, "this task")
    parser.add_argument(
        "--port-file",
        metavar="FILE",
        help="write the address to this file once it is bound; the server removes it when it ends",
    )
    parser.add_argument(
        "--probe-port",
        type=port,
        metavar="PORT",
        help="answer GET /healthz and /readyz at this port of all addresses, without a token and with a "
        "status alone: 200 or 503",
    )
    add_metrics_port(parser, "this task")
    parser.add_argument(
        "--snapshot-dir",
        metavar="DIR",
        help="save the variables of this task in this folder, and start with those of the last snapshot",
    )
    parser.add_argument(
        "--snapshot-every",
        type=seconds,
        default=60.0,
        metavar="SECONDS",
        help="the time between two snapshots (default %(default)g)",
    )
    add_file_roots(parser)
    add_imports(parser)
    add_log_file(parser)
    parser.add_argument(
        "--lease",
        type=seconds,
        default=5.0,
        metavar="SECONDS",
        help="how long an idle peer may be silent before it counts as lost (default %(default)g)",
    )
    parser.add_argument(
        "--beat",
        type=seconds,
        default=1.0,
        metavar="SECONDS",
        help="the time between two heartbeats; at most half a lease (default %(default)g)",
    )
    parser.add_argument(
        "--sidecar",
        action="store_true",
        help="use a sidecar process, which answers for a busy server, on loopback and for this host too",
    )
    parser.add_argument(
        "--restart-wait",
        type=seconds,
        default=0.0,
        metavar="SECONDS",
        help="how long a step waits for a lost task that something starts again, such as systemd (default: "
        "it fails at once)",
    )
    parser.add_argument(
        "--kept-steps",
        type=whole_number,
        metavar="N",
        help="how many of the last steps to remember for actorsession trace (default 1000; 0 for none)",
    )
    parser.add_argument(
        "--grace",
        type=seconds,
        default=3.0,
        metavar="SECONDS",
        help="how long a clean shutdown may take; a second later the process is killed (default %(default)g)",
    )
    for name, _, what in _TLS:
        parser.add_argument(f"--tls-{name}", metavar="FILE", help=what)
    parser.add_argument("--json", action="store_true", help="print the address as JSON")


def _cluster(text: str) -> dict[str, Any]:
    try:
        value = read_json(text)
    except ValueError as exc:
        raise argparse.ArgumentTypeError(f"not JSON: {exc}") from None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"a cluster is a JSON object from job name to addresses, got {value!r:.100}")
    from actorsession.cluster.spec import ClusterSpec

    try:
        spec = ClusterSpec(value)
    except (TypeError, ValueError) as exc:
        raise argparse.ArgumentTypeError(str(exc)) from None
    if not spec.tasks():
        raise argparse.ArgumentTypeError("the cluster has no task")
    return value


def _selector(text: str) -> tuple[str, str]:
    job, _, selector = text.partition("=")
    if not job or not selector:
        raise argparse.ArgumentTypeError(
            f"a selector is written as JOB=SELECTOR, such as worker=app=digits; got {text!r}"
        )
    return job, selector


def _slurm(options: argparse.Namespace) -> ClusterResolver:
    from actorsession.cluster.slurm_resolver import PORT_BASE, SlurmClusterResolver

    return SlurmClusterResolver(options.jobs, options.port or PORT_BASE)


def _kubernetes(options: argparse.Namespace) -> ClusterResolver:
    from actorsession.cluster.kubernetes_resolver import PORT, KubernetesClusterResolver

    jobs = {**(options.jobs or {}), **dict(options.selectors or ())}
    if not jobs:
        raise ValueError("needs --jobs ps=1,worker=2 or --selector worker=app=digits, and has neither")
    return KubernetesClusterResolver(jobs, options.port or PORT, prefix=options.prefix or "")


class _Scheduler(NamedTuple):
    """A row of the table of resolvers.

    Attributes:
        make: makes the resolver.
        takes: the options for resolvers that it has.
    """

    make: Callable[[argparse.Namespace], ClusterResolver]
    takes: frozenset[str]


_RESOLVERS = {
    "slurm": _Scheduler(_slurm, frozenset({"jobs", "port"})),
    "kubernetes": _Scheduler(_kubernetes, frozenset({"jobs", "selectors", "prefix", "port"})),
}
# Option, and field of the parsed options.
_OF_RESOLVERS = {"--jobs": "jobs", "--selector": "selectors", "--prefix": "prefix", "--port": "port"}


@contextlib.contextmanager
def _log_for_readers() -> Iterator[None]:
    """Have lines of INFO for ``actorsession logs``; standard error has warnings, as its handler says."""
    log = logging.getLogger("actorsession")
    before = log.level
    if not os.environ.get(LEVEL_VARIABLE):
        log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.setLevel(before)


def _run(options: argparse.Namespace) -> int:
    with pause_collector():
        from actorsession.actors.loops import run
        from actorsession.cluster.launch.child import make_guard, serve
        from actorsession.errors import UnknownError
        from actorsession.rpc.security import refusal_to_listen

    import_modules(options.imports)  # before the cluster is read: a module may register a transport
    worker = _worker_options(options)
    try:
        guard = make_guard(worker)
        try:
            with _log_for_readers():
                run(serve(worker, guard))
        finally:
            guard.close()
    except KeyboardInterrupt:  # before the server's own handler was installed
        pass
    except UnknownError as error:
        refusal = refusal_to_listen(error.__cause__)
        if refusal:
            raise UsageError(refusal) from error
        raise
    return SUCCESS


def _worker_options(options: argparse.Namespace) -> WorkerOptions:
    """Return the options of the process.

    Raises:
        UsageError: for whatever can be seen to be wrong before the server is started.
    """
    from actorsession.cluster.launch.child import WorkerOptions
    from actorsession.cluster.server.settings import ServerSettings
    from actorsession.config import ConfigProto
    from actorsession.runtime.step_log import KEPT_STEPS

    _check_times(options)
    _check_paths(options)
    security = _security(options)
    source = _source(options)
    with given(source.label):
        resolver, cluster_id = source.resolver, source.cluster_id
        if not resolver.cluster_spec():
            raise ValueError('no cluster is described; it needs a "cluster"')
        job, index = options.job or resolver.task_type, options.task
        index = resolver.task_id if index is None else index
    if options.role == "master":
        job = job or "master"
        resolver = _Extended(resolver, job, options.listen)
    _check_task(options, resolver.cluster_spec(), job, index, source.label)
    _check_addresses(options, resolver, job, source.label, tls=security is not None)
    settings = ServerSettings(
        config=ConfigProto(device_count=options.devices),
        security=security,
        cluster_id=options.cluster_id or cluster_id,
        snapshot_dir=options.snapshot_dir,
        snapshot_every=options.snapshot_every,
        lease=options.lease,
        beat=options.beat,
        sidecar=options.sidecar,
        restart_wait=options.restart_wait,
        kept_steps=KEPT_STEPS if options.kept_steps is None else options.kept_steps,
        file_roots=options.file_roots,
        metrics_port=options.metrics_port,
        metrics_host=options.metrics_host,
    )
    return WorkerOptions(
        job=job,
        index=options.task,
        cluster=resolver,
        settings=settings,
        announce=options.announce,
        role=options.role,
        json=options.json,
        port_file=options.port_file,
        grace=options.grace,
        probe_port=options.probe_port,
    )


class _Source(NamedTuple):
    """Where the description of the cluster comes from.

    Attributes:
        label: the option or variable, for errors.
        resolver: the resolver that reads it.
    """

    label: str
    resolver: Any

    @property
    def cluster_id(self) -> str:
        """The id that the description gives the cluster; "" if it gives none."""
        return str(getattr(self.resolver, "cluster_id", ""))


def _source(options: argparse.Namespace) -> _Source:
    from actorsession.cluster.resolvers import (
        TF_CONFIG,
        FileClusterResolver,
        SimpleClusterResolver,
        TFConfigClusterResolver,
    )
    from actorsession.cluster.spec import ClusterSpec

    scheduler = _scheduler(options)
    if options.cluster is not None:
        return _Source("--cluster", SimpleClusterResolver(ClusterSpec(options.cluster)))
    if options.config is not None:
        return _Source("--config", FileClusterResolver(options.config))
    if scheduler is not None:
        with given("--resolver"):
            return _Source("--resolver", scheduler.make(options))
    if path := os.environ.get(_CONFIG_VARIABLE):
        return _Source(_CONFIG_VARIABLE, FileClusterResolver(path))
    if os.environ.get(TF_CONFIG):
        return _Source(TF_CONFIG, TFConfigClusterResolver())
    raise UsageError(f"no cluster was described; pass --cluster, --config or --resolver, or set {TF_CONFIG}")


def _scheduler(options: argparse.Namespace) -> _Scheduler | None:
    """Return the scheduler that is to be asked, if one is.

    Raises:
        UsageError: for an option that it does not have.
    """
    scheduler = _RESOLVERS.get(options.resolver)
    for option, field in _OF_RESOLVERS.items():
        takers = [name for name, row in _RESOLVERS.items() if field in row.takes]
        if getattr(options, field) is not None and options.resolver not in takers:
            raise UsageError(f"{option}: is for --resolver {' or '.join(takers)}")
    return scheduler


def _check_task(options: argparse.Namespace, spec: ClusterSpec, job: str | None, index: int | None, label: str) -> None:
    """Check that the cluster has the task, or that there is only one choice."""
    by_job = "--job" if options.job or not job else label
    by_task = "--task" if options.task is not None or index is None else label
    if job is None:
        if len(spec.jobs) != 1:
            raise UsageError(f"--job: which job is this? the cluster has {listed(spec.jobs)}")
        (job,) = spec.jobs
    if job not in spec.jobs:
        raise UsageError(f"{by_job}: no job {job!r} in the cluster; it has {listed(spec.jobs)}")
    known = spec.task_indices(job)
    if index is None and len(known) != 1:
        raise UsageError(f"--task: which task of job {job!r} is this? it has {listed(known)}")
    if index is not None and index not in known:
        raise UsageError(f"{by_task}: no task {index} in job {job!r}; it has {listed(known)}")


def _check_addresses(options: argparse.Namespace, resolver: Any, job: str | None, label: str, *, tls: bool) -> None:
    """Check the addresses of all tasks, and that of this one if it is the command's own."""
    from actorsession.cluster.server.address_checks import checked_addresses, checked_scheme
    from actorsession.cluster.spec import ClusterSpec
    from actorsession.rpc.security import shared_security

    scheme = checked_scheme(None, tls=tls or shared_security() is not None)
    spec = ClusterSpec(resolver.cluster_spec())
    if isinstance(resolver, _Extended) and job is not None and resolver.adds_task:
        with given("--listen"):
            checked_addresses(ClusterSpec({job: [options.listen]}), scheme)
    with given(label):
        checked_addresses(spec, scheme)


def _check_times(options: argparse.Namespace) -> None:
    if options.lease < 2 * options.beat:
        raise UsageError(
            f"--lease: a lease lasts at least two heartbeats, {2 * options.beat:g} s with --beat "
            f"{options.beat:g}; got {options.lease:g} s"
        )


def _check_paths(options: argparse.Namespace) -> None:
    """Check that the port file and the snapshots can be written."""
    from actorsession.checkpoints.atomic import make_private_folder

    if options.port_file is not None:
        with given("--port-file"):
            _check_folder(os.path.dirname(options.port_file) or ".")
            if os.path.isdir(options.port_file):
                raise ValueError(f"{options.port_file!r} is a folder")
    if options.snapshot_dir is not None:
        with given("--snapshot-dir"):
            make_private_folder(options.snapshot_dir)
            _check_folder(options.snapshot_dir)


def _check_folder(path: str) -> None:
    if not os.path.isdir(path):
        raise ValueError(f"{path!r} is not a folder")
    if not os.access(path, os.W_OK | os.X_OK):
        raise ValueError(f"cannot write into {path!r}")


def _security(options: argparse.Namespace) -> SecurityConfig | None:
    """Return the TLS files of the command line, or ``None`` without any.

    Raises:
        UsageError: if only one or two of the three are given, or a file is unusable.
    """
    from actorsession.cluster import SecurityConfig
    from actorsession.rpc.security import check_files

    given_files = {field: getattr(options, f"tls_{name}") or "" for name, field, _ in _TLS}
    missing = [f"--tls-{name}" for name, field, _ in _TLS if not given_files[field]]
    if len(missing) == len(_TLS):
        check_environment()
        return None
    if missing:
        verb = "is" if len(missing) == 1 else "are"
        raise UsageError(f"TLS needs three files; {listed(missing)} {verb} missing")
    security = SecurityConfig(**given_files)
    with given(listed([f"--tls-{name}" for name, _, _ in _TLS])):
        check_files(security)
    return security


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
    def adds_task(self) -> bool:
        """Whether the task is not part of the cluster otherwise."""
        return self._job not in self._resolver.cluster_spec().jobs

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
