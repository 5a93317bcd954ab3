"""The driver: parses options, alternates between both sides, and prints and saves the results.

The speed of a noisy machine drifts, so the sides alternate within a row: a round of actorsession, a round of
each peer, and so on. A row with a wrong answer is reported as failed and not timed. Rows on one core have
processes of their own, which are bound to it from their start.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import compare, report
from .questions import DEVICE_VARIABLE, TORCH_DEVICE
from .result import OURS, Result, Times, growth
from .rows import GROUPS, OPT_IN, Row, find
from .side_process import SideError, SideProcess

__all__ = ["main"]

_OK, _FAILED, _CALLED_WRONGLY, _INTERRUPTED = 0, 1, 2, 130
# Seconds for any one request to a side; the longest is the peer's start of a cluster. Rows about growth build
# and run graphs of 200,000 nodes.
_PATIENCE, _GROWTH_PATIENCE = 180.0, 600.0
# Idle threads of BLAS libraries spin for a while before they sleep; the next round must not compete with
# them.
_SETTLE = 0.05
# A whole step takes seconds, and so does the start of fresh processes; few rounds suffice to recognise a
# disturbed one.
_LONG_ROUNDS = 3
# The peers, with what the interpreter needs that an option names.
_PEERS = {
    "tensorflow": ("--peer", "tensorflow"),
    "ray": ("--peer-ray", "ray and numpy"),
    "pyzmq": ("--peer-zmq", "pyzmq, msgpack, numpy and uvloop"),
    "torch": ("--peer-torch", "torch and numpy"),
}


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
        before = compare.load(options.compare) if options.compare else None
    except compare.NoReportError as error:
        return _print_error(f"--compare: {error}", _CALLED_WRONGLY)
    try:
        results = _run(options, rows, arguments, before)
    except SideError as error:
        return _print_error(str(error), _FAILED)
    except KeyboardInterrupt:
        print("\nStopped.")
        return _INTERRUPTED
    failed = [result.row.name for result in results if result.status == "failed"]
    if failed:
        return _print_error(f"failed: {', '.join(failed)}", _FAILED)
    slow = [r.row.name for r in results if any((r.ratio(name) or 0) > options.at_most for name in _PEERS)]
    if slow:
        return _print_error(f"above {options.at_most:g} times a peer's: {', '.join(slow)}", _FAILED)
    return _OK


def _print_error(what: str, code: int) -> int:
    sys.stdout.flush()
    print(f"scripts/bench: {what}", file=sys.stderr)
    return code


def _groups(asked: list[str] | None) -> Sequence[str]:
    if not asked:
        return [group for group in GROUPS if group not in OPT_IN]
    return GROUPS if "all" in asked else asked


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/bench", description="Measures steps of actorsession, beside those of peers whose Python is named."
    )
    for name, (option, needs) in _PEERS.items():
        parser.add_argument(option, dest=name, metavar="PYTHON", help=f"an interpreter with {needs}")
    parser.add_argument(
        "--group",
        action="append",
        choices=[*GROUPS, "all"],
        metavar="GROUP",
        help=f"rows of a group: {', '.join(GROUPS)} or all; may be repeated (default: all but {' and '.join(OPT_IN)})",
    )
    parser.add_argument("--rows", nargs="+", default=[], metavar="NAME", help="these rows only")
    parser.add_argument(
        "--device",
        default=TORCH_DEVICE,
        metavar="TYPE",
        help="our device type in the group torch (default %(default)s)",
    )
    parser.add_argument(
        "--at-most", type=float, default=math.inf, metavar="RATIO", help="fail rows that take longer beside any peer"
    )
    parser.add_argument("--list", action="store_true", help="list the rows and end")
    parser.add_argument("--rounds", type=_positive, metavar="N", help="rounds of each side (default 5; 1 if quick)")
    parser.add_argument("--quick", action="store_true", help="short rounds: to see that all runs")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write everything there, too")
    parser.add_argument(
        "--compare",
        type=Path,
        metavar="OLD.json",
        help="say what has changed since that file was written, by more than the noise of both runs",
    )
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"a whole number from 1 upwards is needed, got {text!r}")
    return value


def _run(
    options: argparse.Namespace, rows: Sequence[Row], arguments: Sequence[str], before: compare.Report | None
) -> list[Result]:
    """Measure rows and print each as soon as it is done."""
    rounds = Rounds(options.rounds or 5, 0.25, 5)
    if options.quick:
        rounds = Rounds(options.rounds or 1, 0.02, 1)
    interpreters = {name: getattr(options, name) for name in _PEERS if getattr(options, name)}
    with _sides(interpreters, options.device) as sides:
        results = []
        whole: dict[str, Any] = {
            "command": ["scripts/bench", *arguments],
            "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "machine": report.machine(),
            "sides": {side.name: side.describe() for side in sides},
            "rounds": {"count": rounds.count, "seconds": rounds.seconds},
        }
        print(report.head(whole), flush=True)
        for result in _measured(rows, sides, rounds):
            print(report.line(result, list(interpreters)), flush=True)
            results.append(result)
    slopes = growth(results)
    whole["rows"] = [result.to_json() for result in results]
    whole["slopes"] = {each.slope.name: each.sides for each in slopes}
    lines = report.growth_lines(slopes, list(interpreters))
    if before is not None:
        lines += compare.lines(before, whole)
    print("\n".join(lines), end="\n" if lines else "", flush=True)
    if options.json:
        options.json.write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    return results


class Sides:
    """One side's processes: one with all cores, and one that is bound to a core for the rows that ask for it.

    Args:
        name: of the side.
        python: the interpreter.
        environment: of the processes.
    """

    def __init__(self, name: str, python: str, environment: Mapping[str, str]) -> None:
        self.name = name
        self._free = SideProcess(name, python, environment)
        self._bound = SideProcess(name, python, environment, core=_last_core())
        self._answers: Sequence[str] = ()

    def describe(self) -> dict[str, str]:
        """Ask for versions and settings, and which rows the side answers."""
        reply = self._free.ask("describe", _PATIENCE)
        self._answers = reply["rows"]
        about: dict[str, str] = reply["about"]
        return about

    def process(self, row: Row) -> SideProcess:
        """Return the process for a row."""
        return self._bound if row.one_core else self._free

    def answers(self, row: Row) -> bool:
        """Whether the side has the row."""
        if row.one_core and not hasattr(os, "sched_setaffinity"):
            return False
        return row.group == "install" or row.question in self._answers

    def kill(self) -> None:
        """Kill the processes, which also ends everything that they started."""
        self._free.kill()
        self._bound.kill()

    def close(self) -> None:
        """End the processes permanently."""
        self._free.close()
        self._bound.close()


def _last_core() -> int:
    """Return the core for rows on one core; without affinity, as on macOS, they are not measured."""
    return max(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 0


@contextmanager
def _sides(interpreters: Mapping[str, str], device: str) -> Iterator[list[Sides]]:
    """Start all sides; end them with the block, immediately if it fails.

    Args:
        interpreters: of the peers, by name.
        device: our device type for the rows of the group ``torch``.
    """
    chosen = {DEVICE_VARIABLE: device}
    sides = [Sides(OURS, sys.executable, _our_environment() | chosen)]
    sides += [Sides(name, python, os.environ | chosen) for name, python in interpreters.items()]
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
    # Imported late: it is slow, and --help does not need it.
    from actorsession.ops.blas_threads import core_type

    out = dict(os.environ)
    kernels = core_type()
    if kernels is not None:
        out["OPENBLAS_CORETYPE"] = kernels
    return out


def _measured(rows: Sequence[Row], sides: Sequence[Sides], rounds: Rounds) -> Iterator[Result]:
    for row in rows:
        result = Result(row)
        asked = [side for side in sides if side.name == OURS or not row.alone]
        having = {side.name: side.process(row) for side in asked if side.answers(row)}
        if row.group == "install":
            _measure_size(result, having)
        elif row.fresh:
            _measure_fresh(result, having, rounds)
        else:
            _measure_times(result, having, rounds)
        yield result


def _measure_size(result: Result, sides: Mapping[str, SideProcess]) -> None:
    try:
        for name, side in sides.items():
            result.sides[name] = Times([[side.ask("size", _PATIENCE)["bytes"]]])
    except SideError as error:
        result.errors.append(str(error))


def _measure_times(result: Result, sides: Mapping[str, SideProcess], rounds: Rounds) -> None:
    """Measure rounds of all sides that can open the row, by turns."""
    row = result.row
    ready = []
    for name, side in sides.items():
        try:
            side.ask("open", _patience(row), row=row.question)
            ready.append((name, side))
        except SideError as error:
            result.errors.append(f"{name}: {error}")
    try:
        for _ in range(min(rounds.count, _LONG_ROUNDS) if row.whole else rounds.count):
            for name, side in ready:
                time.sleep(_SETTLE)
                _add_round(result, name, side, rounds)
    except SideError as error:
        result.errors.append(str(error))
    finally:
        for name, side in ready:
            try:
                side.ask("close", _PATIENCE)
            except SideError as error:
                result.errors.append(f"{name}: {error}")


def _measure_fresh(result: Result, sides: Mapping[str, SideProcess], rounds: Rounds) -> None:
    """Measure rounds of all sides by turns, each in a process that does nothing else."""
    for _ in range(min(rounds.count, _LONG_ROUNDS)):
        for name, side in sides.items():
            try:
                side.stop()
                side.ask("open", _patience(result.row), row=result.row.question)
                _add_round(result, name, side, rounds)
            except SideError as error:
                result.errors.append(f"{name}: {error}")
                return
            finally:
                side.stop()


def _add_round(result: Result, name: str, side: SideProcess, rounds: Rounds) -> None:
    patience = _patience(result.row)
    reply = side.ask("measure", patience, seconds=rounds.seconds, least=rounds.least)
    result.sides.setdefault(name, Times()).rounds.append(reply["times"])


def _patience(row: Row) -> float:
    return _GROWTH_PATIENCE if row.group == "growth" else _PATIENCE
