"""``actorsession stop``: stop one server of a cluster, or all of them, in an orderly way."""

from __future__ import annotations

import argparse
import asyncio
import os
import platform
from typing import Any

from actorsession.cli.console import FAILURE, SUCCESS, add_address, fail, print_json, print_line, raw, seconds

__all__ = ["add_to"]

_EPILOG = """\
A server accepts this request from clients that have its token or certificate, and from clients on its
own machine. It releases its address and closes its sessions; steps that run there fail with the reason.

exit status: 0 every requested server has ended; 1 a server has not ended, or has lost changes because
its last snapshot could not be written; 2 invalid arguments.
environment: ACTORSESSION_TOKEN is the secret that servers and clients share.
"""


def add_to(commands: Any) -> None:
    """Add the command to the sub-parsers of the program's parser."""
    parser = commands.add_parser(
        "stop",
        help="stop a server, or all servers of a cluster",
        description="Stop a server, and wait until it has ended.",
        epilog=_EPILOG,
        formatter_class=raw,
    )
    add_address(parser, "a task")
    parser.add_argument("--all", action="store_true", help="stop all tasks of its cluster")
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=10.0,
        metavar="SECONDS",
        help="how long to wait until they have ended (default %(default)g)",
    )
    parser.add_argument("--json", action="store_true", help="print the tasks that have ended as JSON")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from actorsession.actors.loops import run

    ended: dict[str, str] = {}
    failed: dict[str, str] = {}
    run(_stop(options.address, ended, failed, all_tasks=options.all, limit=options.timeout))
    if options.json:
        print_json({"ended": ended, "failed": failed})
    else:
        for task, address in sorted(ended.items()):
            print_line(f"{task} at {address} has ended")
    for address, reason in sorted(failed.items()):
        fail("stop", f"{address}: {reason}")
    return FAILURE if failed else SUCCESS


async def _stop(address: str, ended: dict[str, str], failed: dict[str, str], *, all_tasks: bool, limit: float) -> None:
    from actorsession.actors.deadline import Deadline
    from actorsession.cluster import read_cluster, stop_server
    from actorsession.errors import OpError

    deadline = Deadline.after(limit)
    who = f"actorsession stop, process {os.getpid()} on {platform.node()}"

    async def stop_one(where: str, task: str | None, cluster_id: str | None) -> None:
        try:
            task = await stop_server(where, reason=who, task=task, cluster_id=cluster_id, deadline=deadline)
            ended[task] = where
        except OpError as error:
            failed[where] = error.message
        except ValueError as error:  # not an address
            failed[where] = str(error)

    tasks: list[tuple[str, str | None, str | None]] = [(address, None, None)]
    if all_tasks:
        view = await read_cluster(address, deadline=deadline)
        tasks = [(where, task, view.cluster_id) for task, where in view.tasks.items()]
    async with asyncio.TaskGroup() as group:
        for meant in tasks:
            group.create_task(stop_one(*meant), name=f"stop {meant[0]}")
