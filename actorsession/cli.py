"""The command line: ``worker`` serves one task of a cluster, ``demo`` trains a model."""

from __future__ import annotations

import argparse
import json
import logging
import os
import sys
from collections.abc import Sequence
from typing import Any

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command.

    Args:
        argv: arguments without the program's name; the process's own if left out.

    Returns:
        The exit code: 0 done, 1 failed, 2 called wrongly.
    """
    level = os.environ.get("ACTORSESSION_LOG")
    if level:
        logging.basicConfig(level=level.upper(), format="%(asctime)s %(name)s %(message)s")
    parser = _parser()
    options = parser.parse_args(argv)
    if options.command is None:
        parser.print_help()
        return 2
    code: int = options.run(options)
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="actorsession", description="A runtime for stateful dataflow graphs."
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_worker(commands)
    if len(sys.argv) < 2 or sys.argv[1] != "worker":
        from actorsession.demo import command  # workers start without it

        command.add_to(commands)
    return parser


def _add_worker(commands: Any) -> None:
    worker = commands.add_parser("worker", help="serve one task of a cluster")
    worker.add_argument("--job", required=True, help="job of this task, such as ps or worker")
    worker.add_argument("--task", type=int, default=0, help="index of this task in its job")
    worker.add_argument(
        "--cluster", required=True, type=_cluster,
        help='all tasks as JSON: {"ps": ["127.0.0.1:7000"], "worker": ["127.0.0.1:7001"]}',
    )  # fmt: skip
    worker.add_argument("--cluster-id", default="", help="refuse peers of another id")
    worker.add_argument("--devices", type=int, default=1, help="CPU devices of this task")
    worker.add_argument(
        "--announce", action="store_true",
        help="speak with a parent over standard input and output, and end with it",
    )  # fmt: skip
    worker.set_defaults(run=_run_worker)


def _cluster(text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except ValueError as exc:
        raise argparse.ArgumentTypeError(f"not JSON: {exc}") from None
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError("a cluster is a JSON object from job name to addresses")
    # JSON has no integer keys; sparse jobs come with them as strings.
    return {
        job: {int(i): a for i, a in tasks.items()} if isinstance(tasks, dict) else tasks
        for job, tasks in value.items()
    }


def _run_worker(options: argparse.Namespace) -> int:
    from actorsession.actors.loops import run
    from actorsession.cluster.child import WorkerOptions, serve
    from actorsession.errors import OpError

    try:
        run(
            serve(
                WorkerOptions(
                    job=options.job, index=options.task, cluster=options.cluster,
                    cluster_id=options.cluster_id, device_count={"CPU": options.devices},
                    announce=options.announce,
                )
            )
        )  # fmt: skip
    except (ValueError, OpError) as exc:
        print(f"actorsession worker: {exc}", file=sys.stderr)
        return 1
    return 0
