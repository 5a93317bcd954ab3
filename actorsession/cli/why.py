"""``actorsession why``: what the steps of a cluster wait for, and the root cause."""

from __future__ import annotations

import argparse
from typing import Any

from actorsession.cli.console import FAILURE, SUCCESS, add_address, print_json, print_line, raw, seconds

__all__ = ["add_to"]

_EPILOG = """\
The first line is the root cause: a kernel that runs (with the line that built it), a value that was
lost, a task that does not answer, and so on. Tasks answer while they are busy with steps.

exit status: 0 every task has answered; 1 a task has not answered, or the cluster is unreachable;
2 invalid arguments.
environment: ACTORSESSION_TOKEN is the secret that servers and clients share.
"""


def add_to(commands: Any) -> None:
    """Add the command to the sub-parsers of the program's parser."""
    parser = commands.add_parser(
        "why",
        help="show why the steps of a cluster hang",
        description=(
            "Ask all tasks of a cluster what their steps wait for, and follow each value to the task\n"
            "that should send it, down to the root cause."
        ),
        epilog=_EPILOG,
        formatter_class=raw,
    )
    add_address(parser, "any task")
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=5.0,
        metavar="SECONDS",
        help="how long to wait for answers (default %(default)g)",
    )
    parser.add_argument("--json", action="store_true", help="print all findings as JSON")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from actorsession.actors.deadline import Deadline
    from actorsession.actors.loops import run
    from actorsession.cluster import read_why

    async def ask() -> Any:
        return await read_why(options.address, deadline=Deadline.after(options.timeout))

    report = run(ask())
    if options.json:
        print_json(report.to_json())
    else:
        print_line(*str(report).split("\n"))
    return FAILURE if report.silent else SUCCESS
