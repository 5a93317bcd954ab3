"""``actorsession status``: the processes, sessions and counters of one task of a cluster, or of all tasks."""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypeAlias

from actorsession.cli.console import (
    FAILURE,
    SUCCESS,
    UsageError,
    add_address,
    as_json,
    clear_screen,
    fail,
    print_line,
    raw,
    seconds,
)
from actorsession.cli.rates import RATE_HEADINGS, Rounds, rate_cells
from actorsession.drawing.text import table
from actorsession.durations import short_duration
from actorsession.records import dataclass

if TYPE_CHECKING:
    from actorsession.actors.deadline import Deadline
    from actorsession.cluster import ServerStatistics, TaskRates
    from actorsession.prometheus import MetricFamily

__all__ = ["TaskAnswer", "add_to", "ask_cluster", "ask_tasks", "marked", "metric_families", "wrongs_of"]

_EPILOG = """\
A task answers while it is busy with steps. A task that is stopped, hangs or has ended is reported with
the reason when the timeout expires; the others are shown nevertheless. A row begins with

    x   if the task has not answered
    ?   if it is of a server that is not the task which the cluster lists at that address (--all)
    !   if something is wrong, which the last lines explain: a version older than that of another
        task, kernels whose steps are over, a late event loop, a snapshot that is overdue

exit status: 0 every requested task has answered, or Ctrl-C ended --watch; 1 a task has not answered, or
another server answers at its address; 2 invalid arguments.
environment: ACTORSESSION_TOKEN is the secret that servers and clients share.
"""
_COLUMNS = ("sessions", "worker_sessions", "graphs", "steps", "runs", "partitions", "kernel_seconds", "pushes")
_HEADINGS = ("SESSIONS", "SIDES", "GRAPHS", "STEPS", "RUNS", "PARTITIONS", "KERNELS", "PUSHES")
_PROCESS_HEADINGS = ("TASK", "ADDRESS", "PID", "VERSION", "UPTIME", "MEMORY", "PEAK", "SNAPSHOT")
_SESSION_HEADINGS = ("SESSION", "TASK", "CLIENT", "STEPS", "WAITING", "RUNS", "PARTIAL")
# Seconds between two rounds of --watch.
_WATCH = 2.0


def add_to(commands: Any) -> None:
    """Add the command to the sub-parsers of the program's parser."""
    parser = commands.add_parser(
        "status",
        help="show what the tasks of a cluster are doing",
        description=(
            "Show the process of a task: PID, VERSION, UPTIME, resident MEMORY now and at its PEAK, age of\n"
            "the SNAPSHOT; its counters: SESSIONS opened at it, worker sessions (SIDES) and their GRAPHS,\n"
            "STEPS that run now, RUNS so far, PARTITIONS begun, seconds in KERNELS, PUSHES of tensors to\n"
            "other tasks, and connected PEERS; and each session that was opened at it. With --watch also what it\n"
            "did since the last round: steps per second, how long they took (P50, P99), processor time, bytes\n"
            "per second sent and received, and ERRORS."
        ),
        epilog=_EPILOG,
        formatter_class=raw,
    )
    add_address(parser, "a task")
    parser.add_argument("--all", action="store_true", help="ask all tasks of its cluster")
    parser.add_argument(
        "--timeout",
        type=seconds,
        default=5.0,
        metavar="SECONDS",
        help="how long to wait for answers (default %(default)g)",
    )
    parser.add_argument(
        "--watch",
        type=seconds,
        nargs="?",
        const=_WATCH,
        metavar="SECONDS",
        help=f"ask again and again, SECONDS (default {_WATCH:g}) after each answer, until Ctrl-C",
    )
    parser.add_argument(
        "--format",
        choices=tuple(_FORMATS),
        default="table",
        help="what to print: tables, one line of JSON, or counters as Prometheus reads them",
    )
    parser.add_argument("--json", action="store_const", const="json", dest="format", help="the same as --format json")
    parser.set_defaults(run=_run)


@dataclass(slots=True)
class TaskAnswer:
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

    if options.watch is None:
        return run(_show(options))[0]
    if options.format == "prometheus":
        raise UsageError("--watch: --format prometheus is one text, which is not repeated")
    try:
        return run(_watch(options))
    except KeyboardInterrupt:
        return SUCCESS


async def _watch(options: argparse.Namespace) -> int:
    rounds = Rounds()
    while True:
        clear_screen()
        when = f"{time.strftime('%H:%M:%S')} {options.address}"
        code, is_read = await _show(options, [when] if options.format == "table" else [], rounds)
        if not is_read:
            return code
        await asyncio.sleep(options.watch)


async def _show(
    options: argparse.Namespace, heading: Sequence[str] = (), rounds: Rounds | None = None
) -> tuple[int, bool]:
    """Ask the tasks and print what they answer; return the exit status, and whether somebody reads it."""
    rows = await ask_cluster(options.address, all_tasks=options.all, limit=options.timeout)
    rates = None if rounds is None else rounds.rates(rows)
    is_read = print_line(*heading, *_FORMATS[options.format](rows, rates))
    faults = [row.text for row in rows if row.fault]
    for words in faults:
        fail("status", words)
    return FAILURE if faults else SUCCESS, is_read


async def ask_cluster(address: str, *, all_tasks: bool, limit: float) -> list[TaskAnswer]:
    """Return what a task answers, or all tasks of its cluster.

    Args:
        address: where the task listens.
        all_tasks: whether all are asked.
        limit: seconds for that.
    """
    from actorsession.actors.deadline import Deadline
    from actorsession.cluster import read_cluster
    from actorsession.errors import OpError

    deadline = Deadline.after(limit)
    if not all_tasks:
        return await ask_tasks({"": address}, None, deadline)
    try:
        view = await read_cluster(address, deadline=deadline)
    except OpError as error:
        return [TaskAnswer("", address, fault=error.message)]
    return await ask_tasks(view.tasks, view.cluster_id, deadline)


async def ask_tasks(tasks: Mapping[str, str], cluster_id: str | None, deadline: Deadline) -> list[TaskAnswer]:
    """Return what each task has answered, sorted by their names.

    Args:
        tasks: the address by task; "" for any task that is there.
        cluster_id: the cluster of the tasks; ``None`` for any.
        deadline: when those that have not answered are given up.
    """
    rows = [TaskAnswer(*item) for item in sorted(tasks.items())]
    async with asyncio.TaskGroup() as group:
        for row in rows:
            group.create_task(_ask_one(row, cluster_id, deadline), name=f"ask {row.address}")
    return rows


async def _ask_one(row: TaskAnswer, cluster_id: str | None, deadline: Deadline) -> None:
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


# -- what is wrong ---------------------------------------------------------------------------------


def wrongs_of(rows: Sequence[TaskAnswer]) -> dict[str, list[str]]:
    """Return what is wrong, by address, for the tasks that have answered and are the right ones."""
    good = {row.address: row.counters for row in rows if row.counters is not None and not row.fault}
    versions = {counters.version for counters in good.values()}
    return {address: counters.findings(versions) for address, counters in good.items()}


_Rates: TypeAlias = "Mapping[str, TaskRates] | None"
"""What tasks did since the last round, by address; ``None`` where there is but one."""


# -- forms -----------------------------------------------------------------------------------------


def _json_lines(rows: Sequence[TaskAnswer], rates: _Rates = None) -> Iterable[str]:
    tasks, silent, wrong = {}, {}, {}
    wrongs = wrongs_of(rows)
    for row in rows:
        if row.counters is None:
            silent[row.address] = {"task": row.task or None, "reason": row.fault}
        elif row.fault:
            entry = {"task": row.task, "reason": row.fault, "found": row.counters.to_wire()}
            wrong[row.address] = entry
        else:
            entry = {"address": row.address, **row.counters.to_wire()}
            since = {} if rates is None else {"rates": asdict(rates[row.address]) if row.address in rates else None}
            tasks[row.counters.task] = {**entry, **since, "findings": wrongs[row.address]}
    return [as_json({"tasks": tasks, "silent": silent, "wrong": wrong})]


def metric_families(rows: Iterable[TaskAnswer]) -> list[MetricFamily]:
    """Return the counters of the tasks that have answered, and for each task whether it has."""
    from actorsession.prometheus import MetricFamily

    families, up = [], []
    for row in rows:
        good = row.counters is not None and not row.fault
        task = row.counters.task if row.counters is not None and good else row.task
        up.append(({"task": task, "address": row.address}, int(good)))
        if row.counters is not None and good:
            families += row.counters.metric_families()
    families.insert(0, MetricFamily("actorsession_server_up", "gauge", "Whether the task has answered.", up))
    return families


def _prometheus_lines(rows: Sequence[TaskAnswer], rates: _Rates = None) -> Iterable[str]:
    from actorsession.prometheus import exposition

    return exposition(metric_families(rows)).splitlines()


def _table_lines(rows: Sequence[TaskAnswer], rates: _Rates = None) -> Iterable[str]:
    """Return the tables of processes, rates, counters and sessions, and what is wrong."""
    answered = [(row, row.counters) for row in rows if row.counters is not None]
    if not answered:
        return []
    wrongs = wrongs_of(rows)
    names = {row.address: marked(row, wrongs) for row in rows}
    processes = [_PROCESS_HEADINGS, *[_process_cells(row, names[row.address]) for row in rows]]
    counters: list[Sequence[str]] = [("TASK", *_HEADINGS, "PEERS")]
    sessions: list[Sequence[str]] = [_SESSION_HEADINGS]
    for row, seen in answered:
        numbers = [str(getattr(seen, name)) for name in _COLUMNS]
        counters.append((names[row.address], *numbers, str(len(seen.peers))))
        for one in seen.open_sessions:
            client = f"{one.name} at {one.client}" if one.name else one.client
            numbers = [str(number) for number in (one.steps, one.waiting, one.runs, one.partial_runs)]
            sessions.append((one.session_handle, seen.task, client, *numbers))
    lines = [*table(processes, 2), ""]
    if rates is not None:
        cells = [(names[row.address], *rate_cells(rates.get(row.address))) for row, _ in answered]
        lines += [*table([("TASK", *RATE_HEADINGS), *cells], 1), ""]
    lines += table(counters, 1)
    if len(sessions) > 1:
        lines += ["", *table(sessions, 3)]
    told = [f"{seen.task}: {words}" for row, seen in answered for words in wrongs.get(row.address, ())]
    told += [
        f"{seen.task}: it began with the variables of {seen.restored_from}"
        for _, seen in answered
        if seen.restored_from
    ]
    return [*lines, *([""] if told else []), *told]


def marked(row: TaskAnswer, wrongs: Mapping[str, Sequence[str]]) -> str:
    """Return the name of a row, after the mark that the help explains."""
    if row.counters is None:
        return f"x {row.task}"
    if row.fault:
        return f"? {row.task}"
    return f"! {row.counters.task}" if wrongs[row.address] else row.counters.task


def _process_cells(row: TaskAnswer, name: str) -> Sequence[str]:
    seen = row.counters
    if seen is None:
        return (name, row.address, *["-"] * (len(_PROCESS_HEADINGS) - 2))
    return (
        name,
        row.address,
        str(seen.pid or "-"),
        seen.version or "-",
        short_duration(seen.uptime),
        _size(seen.memory),
        _size(seen.peak_memory),
        short_duration(seen.snapshot_age) if seen.snapshot_every > 0 else "-",
    )


def _size(nbytes: int) -> str:
    """Return a number of bytes in a unit; "-" if it is unknown."""
    if not nbytes:
        return "-"
    size = nbytes / 2**20
    return f"{size:.0f}MiB" if size < 1024 else f"{size / 1024:.1f}GiB"


_FORMATS = {"table": _table_lines, "json": _json_lines, "prometheus": _prometheus_lines}
