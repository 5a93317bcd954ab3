"""``actorsession status``: the activity of one task of a cluster, or of all tasks."""

from __future__ import annotations

import argparse
import asyncio
from typing import TYPE_CHECKING, Any

from actorsession.cli.console import (
    FAILURE,
    SUCCESS,
    add_address,
    fail,
    print_json,
    print_line,
    raw,
    seconds,
)
from actorsession.records import dataclass

if TYPE_CHECKING:
    from actorsession.cluster import ServerStatistics

__all__ = ["add_to"]

_EPILOG = """\
A task answers while it is busy with steps. A task that is stopped, hangs or has ended is reported with
the reason when the timeout expires; the others are shown nevertheless. With --all, a row that begins
with a question mark shows a server that is not the task which the cluster lists at that address.

exit status: 0 every requested task has answered; 1 a task has not answered, or another server answers
at its address; 2 invalid arguments.
environment: ACTORSESSION_TOKEN is the secret that servers and clients share.
"""
_COLUMNS = (
    "sessions", "worker_sessions", "graphs", "steps", "runs", "partitions", "kernel_seconds", "pushes",
)  # fmt: skip
_HEADINGS = ("SESSIONS", "SIDES", "GRAPHS", "STEPS", "RUNS", "PARTITIONS", "KERNELS", "PUSHES")


def add_to(commands: Any) -> None:
    """Add the command to the sub-parsers of the program's parser."""
    parser = commands.add_parser(
        "status", help="show what the tasks of a cluster are doing",
        description=(
            "Show the counters of a task: SESSIONS opened at it, worker sessions (SIDES) and their GRAPHS,\n"
            "STEPS that run now, RUNS so far, PARTITIONS begun, seconds in KERNELS, PUSHES of tensors to\n"
            "other tasks, and connected PEERS."
        ),
        epilog=_EPILOG, formatter_class=raw,
    )  # fmt: skip
    add_address(parser, "a task")
    parser.add_argument("--all", action="store_true", help="ask all tasks of its cluster")
    parser.add_argument(
        "--timeout", type=seconds, default=5.0, metavar="SECONDS",
        help="how long to wait for answers (default %(default)g)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="print the counters as JSON")
    parser.set_defaults(run=_run)


@dataclass(slots=True)
class _Row:
    """The result for one address.

    Attributes:
        task: the task that is expected there; "" for any.
        address: the address.
        counters: the counters of the server there; ``None`` if none has answered.
        fault: why there is no answer, or which server answers in place of the task; "" on success.
    """

    task: str
    address: str
    counters: ServerStatistics | None = None
    fault: str = ""

    @property
    def text(self) -> str:
        """The fault as text for standard error."""
        who = f"{self.task or 'the task'} at {self.address}"
        return f"{who} {'does not answer: ' if self.counters is None else ''}{self.fault}"


def _run(options: argparse.Namespace) -> int:
    from actorsession.actors.loops import run

    rows = run(_ask(options.address, all_tasks=options.all, limit=options.timeout))
    if options.json:
        print_json(_as_json(rows))
    elif any(row.counters is not None for row in rows):
        _show(rows)
    faults = [row.text for row in rows if row.fault]
    for words in faults:
        fail("status", words)
    return FAILURE if faults else SUCCESS


async def _ask(address: str, *, all_tasks: bool, limit: float) -> list[_Row]:
    from actorsession.actors.deadline import Deadline
    from actorsession.cluster import read_cluster
    from actorsession.errors import OpError

    deadline = Deadline.after(limit)
    rows, cluster_id = [_Row("", address)], None
    if all_tasks:
        try:
            view = await read_cluster(address, deadline=deadline)
        except OpError as error:
            rows[0].fault = error.message
            return rows
        rows, cluster_id = [_Row(*item) for item in sorted(view.tasks.items())], view.cluster_id
    async with asyncio.TaskGroup() as group:
        for row in rows:
            group.create_task(_ask_one(row, cluster_id, deadline), name=f"ask {row.address}")
    return rows


async def _ask_one(row: _Row, cluster_id: str | None, deadline: Any) -> None:
    """Fill in a row; check the identity of the server, too, if a certain task of a cluster is expected."""
    from actorsession.cluster import read_cluster, read_statistics
    from actorsession.errors import OpError

    try:
        counters = await read_statistics(row.address, deadline=deadline)
        if row.task:
            view = await read_cluster(row.address, deadline=deadline)
            if (view.task, view.cluster_id) != (row.task, cluster_id):
                row.fault = f"is another server: {view.task} of cluster {view.cluster_id!r}"
                if view.cluster_id != cluster_id:
                    row.fault += f"; this is cluster {cluster_id!r}"
    except OpError as error:
        row.fault = error.message
    except ValueError as error:  # not an address
        row.fault = str(error)
    else:
        row.counters = counters


def _as_json(rows: list[_Row]) -> dict[str, Any]:
    tasks, silent, wrong = {}, {}, {}
    for row in rows:
        if row.counters is None:
            silent[row.address] = {"task": row.task or None, "reason": row.fault}
        elif row.fault:
            found = {"task": row.task, "reason": row.fault, "found": row.counters.to_wire()}
            wrong[row.address] = found
        else:
            found = {"address": row.address, **row.counters.to_wire()}
            tasks[row.counters.task] = found
    return {"tasks": tasks, "silent": silent, "wrong": wrong}


def _show(rows: list[_Row]) -> None:
    lines: list[tuple[str, ...]] = [("TASK", "ADDRESS", *_HEADINGS, "PEERS")]
    for row in rows:
        if row.counters is not None:
            numbers = [str(getattr(row.counters, name)) for name in _COLUMNS]
            task = f"? {row.task}" if row.fault else row.counters.task
            lines.append((task, row.address, *numbers, str(len(row.counters.peers))))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        names = [cell.ljust(width) for cell, width in zip(line[:2], widths, strict=False)]
        numbers = [cell.rjust(width) for cell, width in zip(line[2:], widths[2:], strict=True)]
        print_line("  ".join(names + numbers))
    for row in rows:
        counters = row.counters
        if counters is not None and counters.overdue:
            all_held = counters.overdue >= counters.pool_threads
            last = "; other kernels wait until the task is restarted" if all_held else ""
            print_line(f"{counters.task}: {counters.overdue_kernels}{last}")
