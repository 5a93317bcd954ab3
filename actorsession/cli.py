"""The command line: ``worker`` serves one task of a cluster, ``demo`` trains a model.

Called as ``actorsession`` or ``python -m actorsession``. It imports what a command needs when that command
runs, so that workers start without the demo.
"""

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
    arguments = list(sys.argv[1:] if argv is None else argv)
    parser = _parser(with_demo=arguments[:1] != ["worker"])
    options = parser.parse_args(arguments)
    if options.command is None:
        parser.print_help()
        return 2
    code: int = options.run(options)
    return code


def _parser(*, with_demo: bool) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="actorsession", description="A runtime for stateful dataflow graphs."
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    _add_worker(commands)
    if with_demo:
        from actorsession.demo import command

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
        raise argparse.ArgumentTypeError(
            f"a cluster is a JSON object from job name to addresses, got {value!r:.100}"
        )
    return {job: _tasks(job, tasks) for job, tasks in value.items()}


def _tasks(job: str, tasks: Any) -> Any:
    """The tasks of a job; those of a sparse one have strings for numbers, as JSON wants it."""
    if not isinstance(tasks, dict):
        return tasks
    try:
        return {int(index): address for index, address in tasks.items()}
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"the tasks of job {job!r} have numbers, got {list(tasks)}"
        ) from None


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
    except KeyboardInterrupt:  # before the server's own handler stood
        return 0
    except (TypeError, ValueError, OpError) as exc:
        print(f"actorsession worker: {exc}", file=sys.stderr)
        return 1
    return 0
