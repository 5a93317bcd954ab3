"""The driver: runs all programs on both sides, compares the records, and prints the differences.

A side that dies in a program is restarted with the next program, and the program counts as broken. Whole
programs are compared by what they print; see ``whole``. Files go in both directions; see ``interchange``.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from . import recorded, rows
from .families import programs
from .interchange import compare_interchange
from .program import Program
from .report import Outcome, judge, stale, summary, table
from .side import OURS, THEIRS
from .whole import Printed, WholeProgram, output_difference, whole_programs, whole_side

__all__ = ["main"]

_ROOT = Path(__file__).resolve().parents[2]
_SAME, _DIFFERS, _CALLED_WRONGLY, _INTERRUPTED = 0, 1, 2, 130
# Seconds for all programs of one side; the slower side takes half a minute on an idle machine.
_PATIENCE = 1200.0
_KEPT = 1500


# The name of the exchanges of files among the programs.
_INTERCHANGE = "interchange/all"


class SideError(Exception):
    """Error for a side that did not start."""


def main(arguments: Sequence[str]) -> int:
    """Compare both sides.

    Args:
        arguments: the command line, without the program.

    Returns:
        The exit code: 0 if all differences have a reason and all reasons apply, 1 if not, 2 for wrong
        options.
    """
    options = _parser().parse_args(arguments)
    pattern = _pattern(options.only)
    chosen = [each for each in programs() if fnmatchcase(each.name, pattern)]
    whole = [each for each in whole_programs() if fnmatchcase(each.name, pattern)]
    exchanges = fnmatchcase(_INTERCHANGE, pattern)
    of_rows = rows.names(pattern)
    if not chosen and not whole and not exchanges and not of_rows:
        return _print_error(f"--only {options.only}: no program; --list shows all", _CALLED_WRONGLY)
    if options.list:
        names = [program.name for program in chosen] + [each.name for each in whole]
        print("\n".join(names + of_rows + [_INTERCHANGE] * exchanges))
        return _SAME
    named = {"2.21": options.peer, "1.15": options.peer_1}
    peers = {version: _placed(python) for version, python in named.items() if python is not None}
    if "2.21" not in peers and (chosen or of_rows or exchanges or not peers):
        return _print_error("--peer: a Python that has tensorflow is needed", _CALLED_WRONGLY)
    if options.record:
        if chosen:
            _record_programs(chosen, peers["2.21"])
        return _record(whole, peers)
    codes = []
    if whole:
        codes.append(_compare_whole(whole, peers))
    if exchanges:
        codes.append(_DIFFERS if compare_interchange(peers["2.21"]) else _SAME)
    if chosen or of_rows:
        codes.append(_compare(chosen, pattern, peers["2.21"], options.seed))
    return max(codes)


def _compare(chosen: Sequence[Program], pattern: str, peer: str, seed: int) -> int:
    """Compare the records of small programs, and of the rows of the table that match a pattern."""
    with tempfile.TemporaryDirectory(prefix="actorsession-rows.") as folder:
        file = os.path.join(folder, "rows.jsonl")
        rows.export(file, pattern)
        every = [*chosen, *rows.programs(file)]
        try:
            ours = _side(OURS, sys.executable, every, seed, file)
            theirs = _side(THEIRS, peer, every, seed, file)
        except SideError as error:
            return _print_error(str(error), _CALLED_WRONGLY)
        except KeyboardInterrupt:
            print("\nStopped.")
            return _INTERRUPTED
    return _print_report(every, ours, theirs)


def _compare_whole(chosen: Sequence[WholeProgram], peers: Mapping[str, str]) -> int:
    """Compare what whole programs print on both sides; without their peer, with what is recorded."""
    printed: dict[WholeProgram, Printed] = {}
    for version, python in peers.items():
        with whole_side(THEIRS, python) as theirs:
            printed |= {each: theirs.run(each) for each in chosen if each.peer == version}
    differing = 0
    with whole_side(OURS, sys.executable) as ours:
        for program in chosen:
            found = ours.run(program)
            expected = printed.get(program)
            if expected is None:
                expected = Printed(0, program.recorded.read_text(encoding="utf-8"), "")
            problem = output_difference(expected.out, found.out)
            if problem is None and found.status != expected.status:
                problem = f"exit status {found.status}, not {expected.status}"
            if problem is not None:
                differing += 1
                print(f"{program.name}: {problem}\n{found.err[-_KEPT:]}{expected.err[-_KEPT:]}")
    print(f"{len(chosen)} whole programs, {len(printed)} beside a peer: {differing} differ\n")
    return _DIFFERS if differing else _SAME


def _record_programs(chosen: Sequence[Program], peer: str) -> None:
    """Write down what TensorFlow gives for small programs."""
    found = _side(THEIRS, peer, chosen, 0, os.devnull)
    for family in dict.fromkeys(program.family for program in chosen):
        names = [program.name for program in programs() if program.family == family]
        recorded.save(family, names, {name: found[name] for name in names if name in found})


def _record(chosen: Sequence[WholeProgram], peers: Mapping[str, str]) -> int:
    """Write down what whole programs print with the TensorFlow that runs them."""
    failed = 0
    for version, python in peers.items():
        with whole_side(THEIRS, python) as theirs:
            for program in (each for each in chosen if each.peer == version):
                printed = theirs.run(program)
                if printed.status:
                    failed += 1
                    print(f"{program.name}: exit status {printed.status}\n{printed.err[-_KEPT:]}")
                else:
                    program.recorded.write_text(printed.out, encoding="utf-8")
    return _DIFFERS if failed else _SAME


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/differential",
        description="Runs small programs with actorsession and with TensorFlow, and compares what comes out.",
    )
    parser.add_argument("--peer", metavar="PYTHON", help="an interpreter with tensorflow 2.21")
    parser.add_argument(
        "--peer-1", metavar="PYTHON", help="one with tensorflow 1.15, for the whole programs that need it"
    )
    parser.add_argument("--only", metavar="PATTERN", default="*", help="programs, such as 'math/*'")
    parser.add_argument("--list", action="store_true", help="list the programs and end")
    parser.add_argument("--record", action="store_true", help="write down what programs give and print with TensorFlow")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="other numbers in the programs (default 0)")
    return parser


def _pattern(only: str) -> str:
    """Return the pattern for an option; the name of a family alone matches all its programs."""
    return only if any(sign in only for sign in "*?[/") else f"{only}/*"


def _placed(python: str) -> str:
    """Return an absolute path; a link is kept, as it may be the interpreter of a virtual environment."""
    return os.path.abspath(python) if os.sep in python else python


def _print_error(what: str, code: int) -> int:
    sys.stdout.flush()
    print(f"scripts/differential: {what}", file=sys.stderr)
    return code


def _print_report(chosen: Sequence[Program], ours: dict[str, Any], theirs: dict[str, Any]) -> int:
    outcomes = [judge(each, ours[each.name], theirs[each.name]) for each in chosen]
    old = stale(outcomes, [each.name for each in programs()] + rows.names("*"))
    print(f"{ours['']} beside {theirs['']}\n")
    print(table(outcomes))
    for told in (outcome.told() for outcome in outcomes):
        if told:
            print(told)
    for reason in old:
        print(f"\nstale: {reason.programs} no longer differs as its reason says: {reason.why}")
    print(f"\n{summary(outcomes)}")
    failed = bool(old) or any(outcome.verdict is Outcome.DIFFERS for outcome in outcomes)
    return _DIFFERS if failed else _SAME


def _side(library: str, python: str, chosen: Sequence[Program], seed: int, of_rows: str) -> dict[str, Any]:
    """Return the records of one side by name, with the description of the side under the empty name."""
    found: dict[str, Any] = {}
    left = [program.name for program in chosen]
    while left:
        lines, problem = _run(library, python, left, seed, of_rows)
        for line in lines:
            if "name" in line:
                found[line["name"]] = line
            elif "about" in line:
                found[""] = line["about"]
        began = [line["began"] for line in lines if "began" in line]
        if not began:
            raise SideError(f"{library} did not start with {python}: {problem}")
        if began[-1] not in found:
            found[began[-1]] = {"name": began[-1], "broken": f"its process ended: {problem}"}
        left = [name for name in left if name not in found]
    return found


def _run(library: str, python: str, names: Sequence[str], seed: int, of_rows: str) -> tuple[list[dict[str, Any]], str]:
    """Start a side once, and return the lines that it wrote and how it ended."""
    with tempfile.TemporaryDirectory(prefix="actorsession-differential.") as folder:
        out, said = Path(folder, "records.jsonl"), Path(folder, "said")
        with open(said, "wb") as log:
            try:
                ended = subprocess.run(
                    [python, "-m", "scripts.differentials", "side", library, str(seed), out, of_rows],
                    cwd=_ROOT,
                    env=os.environ,
                    input="\n".join(names).encode(),
                    stdout=log,
                    stderr=log,
                    timeout=_PATIENCE,
                    check=False,
                )
                how = f"exit status {ended.returncode}"
            except OSError as error:
                return [], str(error)
            except subprocess.TimeoutExpired:
                how = f"not done after {_PATIENCE:g} s"
        text = said.read_text(encoding="utf-8", errors="replace")
        lines = out.read_text(encoding="utf-8").splitlines() if out.exists() else []
    return [json.loads(line) for line in lines], f"{how}\n{text[-_KEPT:]}"
