"""``actorsession cluster``: worker processes on this machine, until a signal is received."""

from __future__ import annotations

import argparse
import asyncio
import signal
from typing import TYPE_CHECKING, Any

from actorsession.cli.words import (
    DONE,
    FAILED,
    add_file_roots,
    fail,
    positive,
    raw,
    say,
    say_json,
    seconds,
)

if TYPE_CHECKING:
    from actorsession.cluster import LocalCluster
    from actorsession.cluster.launch.worker_process import WorkerProcess

__all__ = ["add_to"]

_EPILOG = """\
The processes listen at sockets in a folder that only you can enter, and end with this one, however
it ends. One that dies is reported; the others go on.

exit status: 0 ended by a signal, or because every process was told to stop; 1 the cluster did not
come up, or no process is left; 2 called wrongly.
"""


def add_to(commands: Any) -> None:
    """Add the command to the sub-parsers of the program's parser."""
    parser = commands.add_parser(
        "cluster", help="start a cluster of processes on this machine",
        description="Starts a cluster of processes on this machine and keeps it until a signal comes.",
        epilog=_EPILOG, formatter_class=raw,
    )  # fmt: skip
    parser.add_argument(
        "--jobs", required=True, type=_jobs, metavar="JOB=N,...",
        help="how many tasks each job has: ps=1,worker=2",
    )  # fmt: skip
    parser.add_argument(
        "--devices", type=positive, default=1, help="CPU devices of each task (default %(default)s)"
    )
    parser.add_argument(
        "--protocol", choices=("unix", "tcp", "tls"),
        help="what the processes listen at: sockets in a private folder, or free ports of loopback "
        "(default: tls if the environment names TLS files, else unix)",
    )  # fmt: skip
    add_file_roots(parser)
    parser.add_argument(
        "--timeout", type=seconds, default=30.0, metavar="SECONDS",
        help="until when all processes must be up (default %(default)g)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="say where the tasks are as JSON")
    parser.set_defaults(run=_run)


def _jobs(text: str) -> dict[str, int]:
    out: dict[str, int] = {}
    for part in text.split(","):
        job, equals, count = part.strip().partition("=")
        if not (job and equals and count.isascii() and count.isdigit()) or job in out:
            raise argparse.ArgumentTypeError(
                f"each job once, with a number: ps=1,worker=2; cannot read {part!r} of {text!r}"
            )
        out[job] = int(count)
    return out


def _run(options: argparse.Namespace) -> int:
    from actorsession.actors.loops import run
    from actorsession.cluster import LocalCluster

    try:
        cluster = LocalCluster(
            options.jobs, devices=options.devices, start_timeout=options.timeout,
            protocol=options.protocol, file_roots=options.file_roots or (),
        )  # fmt: skip
        return run(_keep(cluster, as_json=options.json))
    except KeyboardInterrupt:  # before our own handler was installed
        return DONE
    except ValueError as exc:
        return fail("cluster", exc)


async def _keep(cluster: LocalCluster, *, as_json: bool) -> int:
    """Start a cluster, and keep it until a signal is received or no process is left."""
    loop = asyncio.get_running_loop()
    async with asyncio.TaskGroup() as group:
        life = group.create_task(_live(cluster, as_json=as_json), name="the cluster")

        def end() -> None:
            if not life.cancelling():  # a second signal must not interrupt the end
                life.cancel()

        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, end)
    return DONE if life.cancelled() else life.result()


async def _live(cluster: LocalCluster, *, as_json: bool) -> int:
    from actorsession.errors import OpError

    try:
        async with cluster:
            _announce(cluster, as_json=as_json)
            async with asyncio.TaskGroup() as group:
                ends = [group.create_task(_see_end(p)) for p in cluster.processes.values()]
            return DONE if all(end.result() for end in ends) else FAILED
    except (OSError, OpError) as exc:
        return fail("cluster", exc)


def _announce(cluster: LocalCluster, *, as_json: bool) -> None:
    processes = cluster.processes.values()
    if as_json:
        tasks = {p.task: {"address": p.address, "pid": p.pid} for p in processes}
        say_json({"tasks": tasks})
        return
    for process in processes:
        say(f"{process.task} serves at {process.address}")
    say("the cluster is up; Ctrl-C ends it")


async def _see_end(process: WorkerProcess) -> bool:
    """Wait for the unexpected end of a process; return whether its exit code was 0."""
    in_order = await process.wait_ended() == 0
    if not in_order:
        fail("cluster", f"{process.task} has ended: {process.fate}")
    return in_order
