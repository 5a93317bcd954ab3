"""The command: runs the chosen rows one after the other, and prints what came of each and the table."""

from __future__ import annotations

import argparse
import importlib.metadata
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from .row import Row
from .run import OURS, THEIRS, Outcome, apart, check_out, run
from .table import ROWS

__all__ = ["main", "markdown"]

_NUMPY = "cpu"
_LEARNT, _NOT_LEARNT, _NOTHING_RUN, _INTERRUPTED = 0, 1, 2, 130


def main(arguments: Sequence[str], rows: Sequence[Row] = ROWS) -> int:
    """Run the repositories.

    Args:
        arguments: the command line, without the program.
        rows: the table.

    Returns:
        The exit code: 0 if all that were run have learnt, 1 if one has not, 2 if none was run.
    """
    options = _parser().parse_args(arguments)
    chosen = [row for row in rows if any(fnmatchcase(_name(row), f"*{each}*") for each in options.only)]
    if options.list:
        print("\n".join(f"{row.repository} {row.commit[:8]}: {row.what}" for row in chosen))
        return _LEARNT
    found = [row for row in chosen if (options.folder / row.repository / ".git").exists()]
    for name in dict.fromkeys(row.repository for row in chosen if row not in found):
        print(f"missing: git clone https://github.com/{name} {options.folder / name}")
    if not found:
        print("scripts/famous: no clone of a chosen repository was found", file=sys.stderr)
        return _NOTHING_RUN
    _install(requirement for row in found for requirement in row.requires)
    for requirement in dict.fromkeys(requirement for row in found for requirement in row.apart):
        if not apart(requirement).exists():
            _pip("--no-deps", "--target", str(apart(requirement)), requirement)
    try:
        outcomes = [(row, *_outcomes(row, options)) for row in found]
    except KeyboardInterrupt:
        print("\nStopped.")
        return _INTERRUPTED
    learnt = sum(all(each.learnt for each in ours) for _, ours, _ in outcomes)
    print(f"\n{learnt} of {len(found)} have learnt; {len(chosen) - len(found)} clones are missing.")
    if options.markdown:
        compares = options.device != [_NUMPY]
        print("\n" + (by_device(outcomes, options.device) if compares else markdown(outcomes)))
    return _LEARNT if learnt == len(found) else _NOT_LEARNT


def markdown(outcomes: Iterable[tuple[Row, Sequence[Outcome], Outcome | None]]) -> str:
    """Return the table for a page: each row with our outcome and that of TensorFlow."""
    lines = ["| repository | commit | what is run | here | TensorFlow or author |", "|---|---|---|---|---|"]
    for row, (ours, *_), theirs in outcomes:
        beside = row.figure if theirs is None or not theirs.learnt else f"{theirs.words}, TensorFlow 2.21"
        name = f"[{row.repository}]({row.url})"
        lines.append(f"| {name} | `{row.commit[:8]}` | {row.what} | {_words(ours)} | {beside or '-'} |")
    return "\n".join(lines)


def by_device(outcomes: Iterable[tuple[Row, Sequence[Outcome], Outcome | None]], devices: Sequence[str]) -> str:
    """Return the table that compares devices: our outcomes on each, with the times of a step."""
    cells = ["repository", "what is run", *devices, *(f"ms, {device}" for device in devices)]
    lines = [cells, ["---"] * len(cells)]
    for row, ours, _ in outcomes:
        times = ["-" if each.step is None else f"{1e3 * each.step:.3g}" for each in ours]
        lines.append([row.repository, row.what, *map(_words, ours), *times])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _words(outcome: Outcome) -> str:
    return outcome.words if outcome.learnt else f"**{outcome.words}**"


def _name(row: Row) -> str:
    return f"{row.repository}: {row.what}"


def _outcomes(row: Row, options: argparse.Namespace) -> tuple[list[Outcome], Outcome | None]:
    """Run a row on each device, and with TensorFlow where that is asked for; print a line for each run."""
    ours = []
    for device in options.device:
        for _ in range(row.attempts):
            outcome = _outcome(row, options, (*OURS, "--device", device), "" if device == _NUMPY else f" on {device}")
            if outcome.learnt:
                break
        ours.append(outcome)
    if options.beside is None:
        return ours, None
    return ours, _outcome(row, options, (options.beside, *THEIRS), " beside")


def _outcome(row: Row, options: argparse.Namespace, command: Sequence[str], side: str) -> Outcome:
    with tempfile.TemporaryDirectory(prefix="actorsession-famous.", ignore_cleanup_errors=True) as made:
        folder = Path(made)
        if options.keep is not None:
            options.keep.mkdir(parents=True, exist_ok=True)
            folder = Path(tempfile.mkdtemp(prefix=f"{row.repository.replace('/', '.')}.", dir=options.keep))
        try:
            check_out(options.folder / row.repository, row.commit, folder)
            outcome = run(row, folder, command, options.seed)
        except LookupError as error:
            outcome = Outcome(False, str(error), 0.0)
    verdict = "learnt" if outcome.learnt else "NOT LEARNT"
    pace = "" if outcome.step is None else f", {1e3 * outcome.step:.3g} ms a step"
    print(f"{row.repository}{side}: {verdict}, {outcome.words} ({outcome.seconds:.0f} s{pace})", flush=True)
    if outcome.end:
        print("  | " + outcome.end.replace("\n", "\n  | "), flush=True)
    return outcome


def _install(requirements: Iterable[str]) -> None:
    """Install what is missing into the environment of this Python."""
    missing = [each for each in dict.fromkeys(requirements) if not _is_installed(each)]
    if missing:
        _pip(*missing)


def _pip(*arguments: str) -> None:
    print(f"Environment: installing {' '.join(arguments)}", flush=True)
    subprocess.run(
        [sys.executable, "-m", "pip", "install", "--quiet", *arguments], check=True, stdin=subprocess.DEVNULL
    )


def _is_installed(requirement: str) -> bool:
    try:
        importlib.metadata.version(re.split(r"[^A-Za-z0-9._-]", requirement)[0])
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="scripts/famous", description="Trains models of public repositories for TensorFlow 1."
    )
    parser.add_argument("folder", metavar="FOLDER", type=_placed, help="holds clones as OWNER/NAME")
    parser.add_argument("--only", metavar="PATTERN", nargs="+", default=["*"], help="rows with this in their name")
    parser.add_argument("--beside", metavar="PYTHON", help="an interpreter with tensorflow 2.21")
    parser.add_argument(
        "--device",
        nargs="+",
        choices=[_NUMPY, "torch-cpu"],
        default=[_NUMPY],
        help="run with numpy, with PyTorch on the processor, or with one after the other",
    )
    parser.add_argument("--seed", type=int, help="what random numbers begin with, so that runs can be compared")
    parser.add_argument("--markdown", action="store_true", help="print the table as Markdown in the end")
    parser.add_argument("--list", action="store_true", help="list the rows and end")
    parser.add_argument("--keep", metavar="FOLDER", type=_placed, help="keep the working copies here")
    return parser


def _placed(path: str) -> Path:
    return Path(path).absolute()
