"""The driver: parses options, alternates between both sides, and prints and saves the results.

The speed of a noisy machine drifts, so the sides alternate within a row: a round of actorsession, a round of
the peer, and so on. A row with a wrong answer is reported as failed and not timed.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from . import report
from .result import Result, Times
from .rows import GROUPS, Row, find
from .side_process import SideError, SideProcess

__all__ = ["main"]

_OK, _FAILED, _CALLED_WRONGLY, _INTERRUPTED = 0, 1, 2, 130
# Seconds for any one request to a side; the longest is the peer's start of a cluster.
_PATIENCE = 180.0
# Idle threads of BLAS libraries spin for a while before they sleep; the next round must not compete with
# them.
_SETTLE = 0.05
# A whole step takes seconds, so few rounds suffice to recognise a disturbed one.
_WHOLE_ROUNDS = 3


@dataclass(frozen=True)
class Rounds:
    """The amount of measurement.

    Attributes:
        count: the number of rounds of each row and side.
        seconds: the approximate total time of a round's steps.
        least: the minimal number of steps of a round.
    """

    count: int
    seconds: float
    least: int


def main(arguments: Sequence[str]) -> int:
    """Run the benchmarks.

    Args:
        arguments: the command line, without the program.

    Returns:
        The exit code: 0 if every row ran with the correct answer, 1 if one did not, 2 for wrong options.
    """
    options = _parser().parse_args(arguments)
    if options.list:
        print(report.list_rows())
        return _OK
    try:
        rows = find(_groups(options.group), options.rows)
    except KeyError as error:
        return _print_error(f"no row {error}; --list shows all", _CALLED_WRONGLY)
    if options.json and not options.json.parent.is_dir():
        return _print_error(f"--json: no folder {options.json.parent}", _CALLED_WRONGLY)
    try:
        results = _run(options, rows, arguments)
    except SideError as error:
        return _print_error(str(error), _FAILED)
    except KeyboardInterrupt:
        print("\nStopped.")
        return _INTERRUPTED
    failed = [result.row.name for result in results if result.status == "failed"]
    return _print_error(f"failed: {', '.join(failed)}", _FAILED) if failed else _OK


def _print_error(what: str, code: int) -> int:
    sys.stdout.flush()
    print(f"scripts/bench: {what}", file=sys.stderr)
    return code


def _groups(asked: list[str] | None) -> Sequence[str]:
    if not asked:
        return [group for group in GROUPS if group != "install"]
    return GROUPS if "all" in asked else asked


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description="Measures steps of actorsession, beside TensorFlow when a Python that has it is named.",
    )
    parser.add_argument("--peer", metavar="PYTHON", help="an interpreter with tensorflow")
    parser.add_argument(
        "--group", action="append", choices=[*GROUPS, "all"], metavar="GROUP",
        help=f"rows of a group: {', '.join(GROUPS)} or all; may be repeated (default: all but install)",
    )  # fmt: skip
    parser.add_argument("--rows", nargs="+", default=[], metavar="NAME", help="these rows only")
    parser.add_argument("--list", action="store_true", help="list the rows and end")
    parser.add_argument(
        "--rounds", type=_positive, metavar="N", help="rounds of each side (default 5; 1 if quick)"
    )
    parser.add_argument("--quick", action="store_true", help="short rounds: to see that all runs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything there, too")
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"a whole number from 1 upwards is needed, got {text!r}")
    return value


def _run(
    options: argparse.Namespace, rows: Sequence[Row], arguments: Sequence[str]
) -> list[Result]:
    """Measure rows and print each as soon as it is done."""
    rounds = Rounds(options.rounds or 5, 0.25, 5)
    if options.quick:
        rounds = Rounds(options.rounds or 1, 0.02, 1)
    with _sides(options.peer) as sides:
        about = [side.ask("describe", _PATIENCE)["about"] for side in sides]
        whole = {
            "command": ["scripts/bench", *arguments],
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "machine": report.machine(),
            "ours": about[0],
            "peer": about[1] if len(about) > 1 else None,
            "rounds": {"count": rounds.count, "seconds": rounds.seconds},
        }
        print(report.head(whole), flush=True)
        results = []
        for result in _measured(rows, sides, rounds):
            print(report.line(result), flush=True)
            results.append(result)
    if options.json:
        whole["rows"] = [result.to_json() for result in results]
        options.json.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    return results


@contextmanager
def _sides(peer: str | None) -> Iterator[list[SideProcess]]:
    """Start both sides; end them with the block, immediately if it fails.

    The peer's side is only started if there is a peer.
    """
    sides = [SideProcess("actorsession", sys.executable, _our_environment())]
    if peer:
        sides.append(SideProcess("tensorflow", peer, os.environ))
    try:
        yield sides
    except BaseException:
        for side in sides:
            side.kill()
        raise
    finally:
        for side in sides:
            side.close()


def _our_environment() -> dict[str, str]:
    """Return our environment, with the BLAS kernels that worker processes use."""
    from actorsession.cluster.launch.blas_environment import (
        core_type,  # imported late, because it is slow and --help does not need it
    )

    out = dict(os.environ)
    kernels = core_type()
    if kernels is not None:
        out["OPENBLAS_CORETYPE"] = kernels
    return out


def _measured(
    rows: Sequence[Row], sides: Sequence[SideProcess], rounds: Rounds
) -> Iterator[Result]:
    for row in rows:
        result = Result(row)
        measure = _measure_size if row.group == "install" else _measure_times
        measure(result, sides, rounds)
        yield result


def _measure_size(result: Result, sides: Sequence[SideProcess], _rounds: Rounds) -> None:
    try:
        result.sizes = [side.ask("size", _PATIENCE)["bytes"] for side in sides]
    except SideError as error:
        result.errors.append(str(error))


def _measure_times(result: Result, sides: Sequence[SideProcess], rounds: Rounds) -> None:
    row = result.row
    ready: list[tuple[SideProcess, Times]] = []
    for side, times in zip(sides, (result.ours, result.peer), strict=False):
        try:
            side.ask("open", _PATIENCE, row=row.name)
            ready.append((side, times))
        except SideError as error:
            result.errors.append(f"{side.name}: {error}")
    count = min(rounds.count, _WHOLE_ROUNDS) if row.whole else rounds.count
    try:
        for _ in range(count):
            for side, times in ready:
                time.sleep(_SETTLE)
                times.rounds.append(_round(side, rounds))
    except SideError as error:
        result.errors.append(str(error))
    finally:
        _close(result, [side for side, _ in ready])


def _round(side: SideProcess, rounds: Rounds) -> list[float]:
    reply = side.ask("measure", _PATIENCE, seconds=rounds.seconds, least=rounds.least)
    times: list[float] = reply["times"]
    return times


def _close(result: Result, sides: Sequence[SideProcess]) -> None:
    for side in sides:
        try:
            side.ask("close", _PATIENCE)
        except SideError as error:
            result.errors.append(f"{side.name}: {error}")
