"""``actorsession variables``: which variables lie where, and how large they are."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from actorsession.cli.console import FAILURE, SUCCESS, add_address, print_json, print_line, raw
from actorsession.cli.tasks import add_timeout, ask_tasks, report_silent
from actorsession.drawing.text import byte_size, device_label, table

if TYPE_CHECKING:
    from actorsession.cluster import TaskVariable

__all__ = ["add_to"]

_EPILOG = """\
A variable is listed once a step has used it. Its BYTES are those of its value; without one it is not
INITIALISED. One with a SESSION belongs to that session alone and ends with it; the others stay until their
CONTAINER is cleared or the task ends.

exit status: 0 every requested task has answered; 1 a task has not answered; 2 invalid arguments.
environment: ACTORSESSION_TOKEN is the secret that servers and clients share.
"""
_HEADINGS = ("VARIABLE", "DEVICE", "TYPE", "SHAPE", "CONTAINER", "SESSION", "INITIALISED", "BYTES")


def add_to(commands: Any) -> None:
    """Add the command to the sub-parsers of the program's parser."""
    parser = commands.add_parser(
        "variables",
        help="list the variables of a task or cluster",
        description="List the variables of a task, the largest first, and the sum of their bytes.",
        epilog=_EPILOG,
        formatter_class=raw,
    )
    add_address(parser, "a task")
    parser.add_argument("--all", action="store_true", help="list those of all tasks of its cluster")
    parser.add_argument("--json", action="store_true", help="print the variables as one line of JSON")
    add_timeout(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from actorsession.actors.loops import run
    from actorsession.cluster import read_variables

    answers = run(ask_tasks(options.address, options.timeout, read_variables, all_tasks=options.all))
    silent = report_silent("variables", answers)
    variables = [variable for row in answers for variable in row.answer or ()]
    variables.sort(key=lambda variable: (-variable.nbytes, variable.device, variable.name))
    if options.json:
        faults = {row.task or row.address: row.fault for row in answers if row.fault}
        print_json({"variables": [asdict(variable) for variable in variables], "silent": faults})
    elif told := [row for row in answers if not row.fault]:
        print_line(*_lines(variables, len(told)))
    return FAILURE if silent else SUCCESS


def _lines(variables: Sequence[TaskVariable], tasks: int) -> list[str]:
    rows = [
        (
            variable.name,
            device_label(variable.device),
            variable.dtype,
            "?" if variable.shape is None else str(list(variable.shape)),
            variable.container,
            variable.session or "-",
            "yes" if variable.initialised else "no",
            byte_size(variable.nbytes),
        )
        for variable in variables
    ]
    total = byte_size(sum(variable.nbytes for variable in variables))
    where = f"{tasks} tasks" if tasks > 1 else "1 task"
    count = f"{len(variables)} variables" if len(variables) != 1 else "1 variable"
    return [*(table([_HEADINGS, *rows], names=7) if rows else []), f"{count} at {where}, {total}"]
