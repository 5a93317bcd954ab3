"""``actorsession cluster``: worker processes on this machine, until a signal is received."""

from __future__ import annotations

import argparse
import asyncio
import logging
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from actorsession.cli.console import (
    FAILURE,
    SUCCESS,
    UsageError,
    add_devices,
    add_file_roots,
    add_imports,
    add_log_file,
    add_metrics_port,
    check_environment,
    fail,
    import_modules,
    job_counts,
    print_json,
    print_line,
    raw,
    seconds,
    whole_number,
)

if TYPE_CHECKING:
    from actorsession.cluster import LocalCluster
    from actorsession.cluster.launch.task_restarts import TaskEnd
    from actorsession.prometheus import MetricFamily

__all__ = ["add_to"]

# Seconds for the tasks to answer a request for metrics; one that takes longer is reported as not up.
_ANSWER = 5.0
_EPILOG = """\
The processes listen on sockets in a folder that only you can access, and end when this one ends, for
whatever reason. A process that dies is reported; the others continue. With --restart N its task is
started again up to N times within 60 s, after pauses that grow, unless it ended with exit code 0 or by
SIGTERM, SIGINT, SIGHUP or SIGPIPE; each restart is one line on standard error.

exit status: 0 a signal ended the command, or every process was stopped by `actorsession stop`; 1 the
cluster did not start, or no process is left; 2 invalid arguments.
"""


def add_to(commands: Any) -> None:
    """Add the command to the sub-parsers of the program's parser."""
    parser = commands.add_parser(
        "cluster",
        help="start a cluster of processes on this machine",
        description="Start a cluster of processes on this machine and run it until a signal arrives.",
        epilog=_EPILOG,
        formatter_class=raw,
    )
    parser.add_argument(
        "--jobs",
        required=True,
        type=job_counts,
        metavar="JOB=N,...",
        help="the number of tasks of each job, such as ps=1,worker=2",
    )
    add_devices(parser, "each task")
    parser.add_argument(
        "--protocol",
        choices=("unix", "tcp", "tls"),
        help="what the processes listen on: sockets in a private folder, or free ports of loopback "
        "(default: tls if the environment names TLS files, else unix)",
    )
    add_file_roots(parser)
    add_imports(parser)
    add_log_file(parser)
    add_metrics_port(parser, "all tasks")
    parser.add_argument(
        "--restart",
        type=whole_number,
        default=0,
        metavar="N",
        help="start a task again whose process dies, up to N times within 60 s (default: never)",
    )
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=30.0,
        metavar="SECONDS",
        help="how long the processes may take to start (default %(default)g)",
    )
    parser.add_argument("--json", action="store_true", help="print the addresses of the tasks as JSON")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from actorsession.actors.loops import run
    from actorsession.cluster import LocalCluster
    from actorsession.rpc.security import shared_security

    check_environment()
    if options.protocol == "tls" and shared_security() is None:
        raise UsageError(
            "--protocol tls needs a CA, a certificate and its key, and none were given; name the files in "
            "ACTORSESSION_TLS_CA, ACTORSESSION_TLS_CERT and ACTORSESSION_TLS_KEY"
        )
    import_modules(options.imports)  # all processes would say the same
    # The log has each end as well.
    told = options.log_file is None and logging.getLogger("actorsession.cluster").isEnabledFor(logging.INFO)
    ends = _Ends(silent=told)
    cluster = LocalCluster(
        options.jobs,
        devices=options.devices,
        start_timeout=options.timeout,
        protocol=options.protocol,
        file_roots=options.file_roots or (),
        log_file=options.log_file,
        imports=options.imports,
        restart=options.restart,
        on_end=ends.add,
    )
    try:
        return run(_run_until_signal(cluster, ends, options))
    except KeyboardInterrupt:  # before our own handler was installed
        return SUCCESS


class _Ends:
    """The tasks of the cluster that have ended and are not started again.

    Args:
        silent: whether somebody else reports the ends.
    """

    def __init__(self, *, silent: bool) -> None:
        self._silent = silent
        self._clean: dict[str, bool] = {}
        self._more = asyncio.Event()

    def add(self, end: TaskEnd) -> None:
        """Report the end of a process, unless it was in order."""
        if not (end.clean or self._silent):
            fail("cluster", end.message)
        if not end.restarts:
            self._clean[end.task] = end.clean
            self._more.set()

    async def wait_for(self, tasks: int) -> bool:
        """Wait until that many tasks have ended; return whether all did so in order."""
        while len(self._clean) < tasks:
            await self._more.wait()
            self._more.clear()
        return all(self._clean.values())


async def _run_until_signal(cluster: LocalCluster, ends: _Ends, options: argparse.Namespace) -> int:
    """Start a cluster, and keep it until a signal is received or no process is left."""
    loop = asyncio.get_running_loop()
    async with asyncio.TaskGroup() as group:
        work = _run_cluster(cluster, ends, options)
        running = group.create_task(work, name="the cluster")

        def end() -> None:
            if not running.cancelling():  # a second signal must not interrupt the end
                running.cancel()

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, end)
    return SUCCESS if running.cancelled() else running.result()


async def _run_cluster(cluster: LocalCluster, ends: _Ends, options: argparse.Namespace) -> int:
    from actorsession.errors import OpError

    try:
        async with cluster, _metrics(cluster, options) as url:
            _announce(cluster, url, as_json=options.json)
            return SUCCESS if await ends.wait_for(len(cluster.processes)) else FAILURE
    except (OSError, OpError) as exc:
        return fail("cluster", exc)


@asynccontextmanager
async def _metrics(cluster: LocalCluster, options: argparse.Namespace) -> AsyncIterator[str]:
    """Answer at the port for metrics, if there is one; return where, or ""."""
    from actorsession.actors.deadline import Deadline
    from actorsession.cli.status import ask_tasks, metric_families
    from actorsession.cluster.server.metrics_port import MetricsPort

    async def read() -> list[MetricFamily]:
        tasks = {status.task: status.address for status in cluster.status().values()}
        return metric_families(await ask_tasks(tasks, cluster.cluster_id, Deadline.after(_ANSWER)))

    port = MetricsPort(options.metrics_host, options.metrics_port)
    await port.open(read)
    try:
        yield port.url
    finally:
        await port.aclose()


def _announce(cluster: LocalCluster, metrics: str, *, as_json: bool) -> None:
    processes = cluster.processes.values()
    if as_json:
        tasks = {p.task: {"address": p.address, "pid": p.pid} for p in processes}
        print_json({"tasks": tasks, **({"metrics": metrics} if metrics else {})})
        return
    for process in processes:
        print_line(f"{process.task} serves at {process.address}")
    if metrics:
        print_line(f"the cluster has metrics at {metrics}")
    print_line("the cluster is up; Ctrl-C ends it")
