"""``actorsession trace``: the last steps of a cluster, and the trace of one of them."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from actorsession.cli.console import FAILURE, SUCCESS, UsageError, add_address, positive, print_json, print_line, raw
from actorsession.cli.tasks import add_timeout, ask_tasks, report_silent
from actorsession.drawing.text import byte_size, device_label, duration, table
from actorsession.terminal_text import visible

if TYPE_CHECKING:
    from actorsession.config import PartRecord, StepRecord

__all__ = ["add_to", "step_lines", "steps_table"]

_EPILOG = """\
The servers of a cluster remember the last thousand steps, without values: the master of a session when a step
began and ended and what it fetched, each worker when its part ran, how long it waited, and what it sent and
received. The table has a row for each step, in the order of their ends:

    TOOK     from the begin at the master to the answer
    WORKED   the device that worked longest, and how long
    WAITED   the device that waited longest for values, and how long
    SENT     bytes that devices sent each other

--step shows one step with its parts and transfers. --out writes a file that https://ui.perfetto.dev opens, of
that step, or of the slowest of those that were chosen. A step that is traced on purpose (RunOptions.trace_level)
has each node in its trace; one that is remembered has the parts alone. Times of several machines differ as much
as their clocks do.

exit status: 0 every task has answered; 1 a task has not answered, or no such step is remembered; 2 invalid
arguments.
environment: ACTORSESSION_TOKEN is the secret that servers and clients share.
"""
_UNITS = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0}
_HEADINGS = ("STEP", "BEGAN", "TOOK", "WORKED", "WAITED", "SENT", "RUN")
# Characters of the names of a run in the table.
_RUN = 60
# Steps that are looked through for the one that is asked for; no server keeps more by default.
_MOST = 1000
# More steps than are shown are asked for: some are under way, and tasks that answer a moment later have later ones.
_UNDER_WAY = 10


def add_to(commands: Any) -> None:
    """Add the command to the sub-parsers of the program's parser."""
    parser = commands.add_parser(
        "trace",
        help="show the last steps of a cluster",
        description=(
            "Show the last steps of a cluster: when each began, how long it took, which device worked and\n"
            "which waited longest, what was sent, and what the step fetched or how it failed."
        ),
        epilog=_EPILOG,
        formatter_class=raw,
    )
    add_address(parser, "any task")
    parser.add_argument(
        "--last", type=positive, default=20, metavar="N", help="how many steps to show (default %(default)d)"
    )
    parser.add_argument(
        "--slower-than", type=_time, default=0.0, metavar="TIME", help="only steps that took TIME or more, such as 50ms"
    )
    parser.add_argument("--running", action="store_true", help="show also steps that have not ended")
    parser.add_argument("--session", default="", metavar="HANDLE", help="only steps of the session with this handle")
    parser.add_argument("--step", metavar="NUMBER", help="show one step, by its number or the end of that")
    parser.add_argument("--out", metavar="FILE", help="write the trace of one step for Perfetto")
    parser.add_argument("--json", action="store_true", help="print the steps as one line of JSON")
    add_timeout(parser)
    parser.set_defaults(run=_run)


def _time(text: str) -> float:
    """Parse a length of time such as ``50ms`` or ``0.05``, for argparse."""
    number = text.rstrip("abcdefghijklmnopqrstuvwxyz")
    factor = _UNITS.get(text[len(number) :] or "s", 0.0)
    try:
        value = float(number) * factor
    except ValueError:
        value = -1.0
    if not factor or not 0.0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a time such as 50ms, 200us or 1.5s, got {text!r:.100}")
    return value


def _run(options: argparse.Namespace) -> int:
    from actorsession.actors.loops import run
    from actorsession.cluster import read_steps
    from actorsession.config import merge_records, without_fragments

    number = options.step
    if number is not None and not number.isdecimal():
        raise UsageError(f"--step: expected the number of a step, got {number!r:.100}")
    # What a worker remembers of a step says nothing of how long the whole step took.
    narrow = not (number or options.slower_than or options.session)
    count = min(_MOST, 2 * options.last + _UNDER_WAY) if narrow else _MOST

    async def ask(address: str, **to: Any) -> list[StepRecord]:
        # Also those that run, of which some tasks may have ended their parts.
        return await read_steps(address, count, running=True, **to)

    answers = run(ask_tasks(options.address, options.timeout, ask, all_tasks=True))
    silent = report_silent("trace", answers)
    steps = without_fragments(merge_records([record for row in answers for record in row.answer or ()]))
    under_way = {record.step_id for row in answers for record in row.answer or () if record.is_running}
    steps = [
        step
        for step in steps
        if (step.took >= options.slower_than or step.is_running)
        and (options.running or step.step_id not in under_way)
        and options.session in ("", step.session)
        and (number is None or str(step.step_id).endswith(number))
    ]
    if number is not None and len(steps) != 1:
        raise UsageError(
            f"--step {number}: {len(steps)} steps that are remembered have a number that ends so; see "
            f"actorsession trace {options.address}"
        )
    steps = steps[-options.last :]
    if options.out is not None:
        _write(options.out, steps)
    if options.json:
        print_json({"steps": [asdict(step) for step in steps], "silent": {r.task: r.fault for r in answers if r.fault}})
    elif number is not None:
        print_line(*step_lines(steps[0]))
    elif steps:
        print_line(*steps_table(steps))
    else:
        print_line("no step is remembered that was asked for")
    return FAILURE if silent else SUCCESS


def _write(path: str, steps: Sequence[StepRecord]) -> None:
    """Write the trace of the slowest of some steps.

    Raises:
        UsageError: if there is none.
        OpError: if the file cannot be written.
    """
    from actorsession.observe.trace import write_trace

    if not steps:
        raise UsageError("--out: no step is remembered that was asked for")
    slowest = max(steps, key=lambda step: step.took)
    write_trace(path, slowest.step_stats())
    print_line(f"step {slowest.step_id}, which took {duration(slowest.took)}, is in {path}")


def steps_table(steps: Sequence[StepRecord]) -> list[str]:
    """Return the lines of a table of steps."""
    rows = [
        (
            step.step_id,
            _clock(step.began),
            "runs" if step.is_running else duration(step.took),
            _most(step.parts, worked=True),
            _most(step.parts, worked=False),
            byte_size(_sent(step)),
            _what(step),
        )
        for step in steps
    ]
    # What was run stands after the numbers, and is as long as it is.
    lines = table([_HEADINGS[:-1], *[row[:-1] for row in rows]], names=5)
    width, words = max(map(len, lines)), [_HEADINGS[-1], *[visible(row[-1]) for row in rows]]
    return [f"{line:<{width}}  {text}" for line, text in zip(lines, words, strict=True)]


def step_lines(step: StepRecord) -> list[str]:
    """Return the lines that show one step: as a whole, by part, and what was sent."""
    took = "it runs" if step.is_running else f"took {duration(step.took)}"
    kind = "partial run" if step.kind == "partial" else "run"
    lines = [
        f"step {step.step_id}, a {kind} of session {step.session}, began at {_clock(step.began)} and {took}",
        f"at {device_label(step.task)}: {_what(step, most=10 * _RUN)}",
    ]
    if step.feeds:
        lines.append(f"fed: {', '.join(step.feeds)}")
    parts = [
        (
            device_label(part.device),
            duration(part.began - step.began),
            duration(_seconds(part)),
            duration(part.waited),
            duration(_seconds(part) - part.waited),
        )
        for part in step.parts
    ]
    lines += ["", *table([("DEVICE", "BEGAN AFTER", "TOOK", "WAITED", "WORKED"), *parts])]
    transfers = [
        (f"{when}", kind, device_label(device), other, tensor, byte_size(nbytes))
        for when, kind, device, other, tensor, nbytes in _transfers(step)
    ]
    if transfers:
        headings = ("AFTER", "END", "AT", "OTHER DEVICE", "TENSOR", "BYTES")
        lines += ["", *table([headings, *transfers], names=5)]
    if step.left_out:
        lines.append(f"{step.left_out} more transfers were not recorded")
    return lines


def _transfers(step: StepRecord) -> list[tuple[str, str, str, str, str, int]]:
    from actorsession.plan.rendezvous_key import parse_key

    rows = []
    for transfer in step.transfers:
        key = parse_key(transfer.key)
        other = device_label(key.dst_device if transfer.kind == "send" else key.src_device)
        after = duration(transfer.time - step.began)
        rows.append((after, transfer.kind, transfer.device, other, key.tensor or key.edge_name, transfer.nbytes))
    return rows


def _seconds(part: PartRecord) -> float:
    return max(0.0, (part.ended or time.time()) - part.began)


def _most(parts: Sequence[PartRecord], *, worked: bool) -> str:
    """Return the device that worked or waited longest, with how long."""
    times = [(_seconds(part) - part.waited if worked else part.waited, part.device) for part in parts]
    seconds, device = max(times, default=(0.0, ""))
    return f"{device_label(device)} {duration(seconds)}" if seconds > 0.0 else "-"


def _sent(step: StepRecord) -> int:
    return sum(transfer.nbytes for transfer in step.transfers if transfer.kind == "send")


def _what(step: StepRecord, most: int = _RUN) -> str:
    names = ", ".join(step.fetches) or "a part, whose master has not answered"
    text = f"{names}: {step.error}" if step.error else names
    return text if len(text) <= most else f"{text[: most - 3]}..."


def _clock(when: float) -> str:
    """Return the time of day with milliseconds."""
    return f"{time.strftime('%H:%M:%S', time.localtime(when))}.{int(when % 1 * 1000):03}"
