"""``actorsession status``: what one task of a cluster, or all of them, are doing."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from actorsession.cli.words import DONE, FAILED, fail, raw, say, say_json, seconds

if TYPE_CHECKING:
    from actorsession.cluster import ServerStatistics

__all__ = ["add_to"]

_EPILOG = """\
A task answers while it is busy with steps. One that is stopped, hangs or is gone is named with the
reason once the timeout is over; the others are shown nevertheless.

exit status: 0 every task that was asked has answered; 1 one has not; 2 called wrongly.
environment: ACTORSESSION_TOKEN is the secret that servers and clients share.
"""
_COLUMNS = ("sessions", "worker_sessions", "graphs", "steps", "runs", "pushes")
_HEADINGS = ("SESSIONS", "SIDES", "GRAPHS", "STEPS", "RUNS", "PUSHES")


def add_to(commands: Any) -> None:
    """Adds the command to the sub-parsers of the program's parser."""
    parser = commands.add_parser(
        "status", help="show what the tasks of a cluster are doing",
        description=(
            "Shows what a task is doing: SESSIONS opened at it, sessions that have a SIDE here and their\n"
            "GRAPHS, STEPS that run now, RUNS so far, PUSHES of tensors to others, and its PEERS."
        ),
        epilog=_EPILOG, formatter_class=raw,
    )  # fmt: skip
    parser.add_argument("address", help="of a task, such as 127.0.0.1:7000")
    parser.add_argument("--all", action="store_true", help="ask all tasks of its cluster")
    parser.add_argument(
        "--timeout", type=seconds, default=5.0, metavar="SECONDS",
        help="until when to wait for answers (default %(default)g)",
    )  # fmt: skip
    parser.add_argument("--json", action="store_true", help="say it as JSON")
    parser.set_defaults(run=_run)


@dataclass(slots=True)
class _Found:
    """What was answered.

    Attributes:
        tasks: statistics by task.
        addresses: where each of those is.
        silent: for each address that did not answer: the task, and why.
    """

    tasks: dict[str, ServerStatistics] = field(default_factory=dict)
    addresses: dict[str, str] = field(default_factory=dict)
    silent: dict[str, tuple[str, str]] = field(default_factory=dict)


def _run(options: argparse.Namespace) -> int:
    from actorsession.actors.loops import run
    from actorsession.errors import OpError

    try:
        found = run(_ask(options.address, everybody=options.all, patience=options.timeout))
    except KeyboardInterrupt:
        return FAILED
    except (ValueError, OpError) as exc:
        return fail("status", exc)
    if options.json:
        say_json(_as_json(found))
    elif found.tasks:
        _show(found)
    for address, (task, reason) in found.silent.items():
        fail("status", f"{task or 'the task'} at {address} does not answer: {reason}")
    return FAILED if found.silent else DONE


async def _ask(address: str, *, everybody: bool, patience: float) -> _Found:
    from actorsession.actors.deadline import Deadline
    from actorsession.cluster import read_cluster
    from actorsession.errors import OpError

    deadline = Deadline.after(patience)
    asked: Mapping[str, str] = {"": address}
    found = _Found()
    if everybody:
        try:
            asked = (await read_cluster(address, deadline=deadline)).tasks
        except OpError as error:
            found.silent[address] = ("", error.message)
            return found
    async with asyncio.TaskGroup() as group:
        for task, where in asked.items():
            group.create_task(_ask_one(task, where, found, deadline), name=f"ask {where}")
    return found


async def _ask_one(task: str, address: str, found: _Found, deadline: Any) -> None:
    from actorsession.cluster import read_statistics
    from actorsession.errors import OpError

    try:
        counters = await read_statistics(address, deadline=deadline)
    except OpError as error:
        found.silent[address] = (task, error.message)
        return
    except ValueError as error:  # no address
        found.silent[address] = (task, str(error))
        return
    found.tasks[counters.task] = counters
    found.addresses[counters.task] = address


def _as_json(found: _Found) -> dict[str, Any]:
    tasks = {
        t: {"address": found.addresses[t], **s.to_wire()} for t, s in sorted(found.tasks.items())
    }
    silent = {a: {"task": t or None, "reason": why} for a, (t, why) in sorted(found.silent.items())}
    return {"tasks": tasks, "silent": silent}


def _show(found: _Found) -> None:
    rows: list[tuple[str, ...]] = [("TASK", "ADDRESS", *_HEADINGS, "PEERS")]
    for task, counters in sorted(found.tasks.items()):
        numbers = [str(getattr(counters, name)) for name in _COLUMNS]
        rows.append((task, found.addresses[task], *numbers, str(len(counters.peers))))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        names = [cell.ljust(width) for cell, width in zip(row[:2], widths, strict=False)]
        numbers = [cell.rjust(width) for cell, width in zip(row[2:], widths[2:], strict=True)]
        say("  ".join(names + numbers))
    for task, counters in sorted(found.tasks.items()):
        if counters.overdue:
            last = "others wait until it is started again" * (
                counters.overdue >= counters.pool_threads
            )
            say(f"{task}: {counters.overdue_kernels}" + f"; {last}" * bool(last))
