"""``actorsession logs``: the log of a task, and its last errors, wherever its standard error goes.

``logs`` beside this module sets the log of commands up.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from typing import TYPE_CHECKING, Any

from actorsession.cli.console import SUCCESS, UsageError, add_address, fail, positive, print_json, print_line, raw
from actorsession.cli.tasks import add_timeout
from actorsession.drawing.text import device_label, table

if TYPE_CHECKING:
    from actorsession.cluster import TaskErrors
    from actorsession.cluster.admin.admin_client import TaskLink
    from actorsession.messages.server import LogRead

__all__ = ["add_to"]

_EPILOG = """\
A server keeps the last two thousand lines of its log in memory: warnings and errors, and sessions and peers
too in the processes of worker, master and cluster, which write them to their own log at ACTORSESSION_LOG=info
only. --errors shows the last hundred errors instead (steps, sessions, links, kernels, snapshots), and how the
process ended that served the task before.

exit status: 0 the task has answered, or Ctrl-C ended --follow; 1 it has not; 2 invalid arguments.
environment: ACTORSESSION_TOKEN is the secret that servers and clients share.
"""
# Seconds between two looks of --follow.
_LOOK = 0.5
# Lines that are asked for at once while following.
_MOST = 2000


def add_to(commands: Any) -> None:
    """Add the command to the sub-parsers of the program's parser."""
    parser = commands.add_parser(
        "logs",
        help="show the log and the last errors of a task",
        description="Show the last lines of the log of a task, on whatever machine it runs.",
        epilog=_EPILOG,
        formatter_class=raw,
    )
    add_address(parser, "a task")
    parser.add_argument(
        "--lines", type=positive, default=100, metavar="N", help="how many lines to show (default %(default)d)"
    )
    parser.add_argument("--follow", action="store_true", help="show new lines as they come, until Ctrl-C")
    parser.add_argument("--errors", action="store_true", help="show the last errors and the restarts")
    parser.add_argument("--json", action="store_true", help="print the answer as one line of JSON")
    add_timeout(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    from actorsession.actors.loops import run

    if options.follow and (options.errors or options.json):
        raise UsageError("--follow shows the lines of the log: it goes neither with --errors nor with --json")
    try:
        return run(_errors(options) if options.errors else _log(options))
    except KeyboardInterrupt:
        if options.follow:
            return SUCCESS
        raise


async def _log(options: argparse.Namespace) -> int:
    """Show the lines, over one link however long they are followed, since each link is a line of the log, too."""
    from actorsession.cluster.admin.admin_client import TaskLink
    from actorsession.errors import OpError

    link = TaskLink(options.address)
    try:
        return await _show(link, options)
    except OpError as error:
        return fail("logs", error.message)
    finally:
        await link.aclose()


async def _show(link: TaskLink, options: argparse.Namespace) -> int:
    from actorsession.actors.deadline import Deadline
    from actorsession.messages.server import SERVER, ReadLog

    count, after = options.lines, 0
    while True:
        message = ReadLog(lines=count, after=after)
        answer: LogRead = await link.ask(SERVER, message, Deadline.after(options.timeout))
        if options.json:
            print_json({"task": answer.task, "level": answer.level, "last": answer.last, "lines": answer.lines})
            return SUCCESS
        if answer.last < after:  # the task was started again
            print_line(f"-- the log of {answer.task} begins anew --")
            after = 0
            continue
        # What the server sends is text of anybody: print_line makes each sign visible.
        is_read = print_line(*answer.lines)
        if not options.follow or not is_read:
            return SUCCESS
        count, after = _MOST, answer.last
        await asyncio.sleep(_LOOK)


async def _errors(options: argparse.Namespace) -> int:
    from actorsession.actors.deadline import Deadline
    from actorsession.cluster import read_errors
    from actorsession.errors import OpError

    try:
        answer = await read_errors(options.address, deadline=Deadline.after(options.timeout))
    except OpError as error:
        return fail("logs", error.message)
    if options.json:
        from dataclasses import asdict

        print_json(asdict(answer))
    else:
        print_line(*_error_lines(answer, options.lines))
    return SUCCESS


def _error_lines(answer: TaskErrors, most: int) -> list[str]:
    rows = [
        (_when(error.when), error.subject, device_label(error.task), error.code, error.step_id or "-", error.message)
        for error in answer.errors[-most:]
    ]
    lines = table([("WHEN", "OF", "TASK", "ERROR", "STEP", "MESSAGE"), *rows], names=6) if rows else []
    counts = ", ".join(f"{count} {code}" for code, count in sorted(answer.counts.items())) or "no errors"
    lines.append(f"{answer.task} since {_when(answer.since)}: {counts}")
    if answer.restarts:
        times = "once" if answer.restarts == 1 else f"{answer.restarts} times"
        lines.append(f"it was started again {times}; the process before: {answer.predecessor}")
    return lines


def _when(moment: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(moment))
