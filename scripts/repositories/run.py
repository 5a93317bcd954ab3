"""Runs a row: a working copy of the commit, its data, and its programs, each in a process with a deadline."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

from .row import Row
from .step_times import FOLDER, SEED, median_step

__all__ = ["OURS", "THEIRS", "Outcome", "apart", "check_out", "run"]

_FOLDER = Path(__file__).resolve().parent
# Seconds between two looks at whether an endless program has learnt.
_LOOK = 3.0
_KEPT = 1500

OURS: tuple[str, ...] = (sys.executable, str(_FOLDER / "step_times.py"))
# What follows the Python that has TensorFlow.
THEIRS: tuple[str, ...] = (str(_FOLDER / "beside.py"),)


class Outcome(NamedTuple):
    """What came of a row.

    Attributes:
        learnt: whether its sign was found.
        words: the figures of the sign, or why there are none.
        seconds: how long all programs took.
        end: the last of what was printed, where the sign was not found.
        step: the median of the processor time of the step that took most, in seconds; ``None`` if nobody knows.
    """

    learnt: bool
    words: str
    seconds: float
    end: str = ""
    step: float | None = None


def apart(requirement: str) -> Path:
    """Return the folder of a distribution that only some rows see."""
    return Path(sys.prefix) / "apart" / requirement


def check_out(clone: Path, commit: str, folder: Path) -> None:
    """Write the files of a commit of a clone, whatever its working tree holds, into a folder.

    Raises:
        LookupError: if there is no such clone, or it does not have the commit.
    """
    git = ["git", "-C", str(clone)]
    listed = subprocess.run([*git, "ls-tree", "-r", "-z", commit], capture_output=True, check=False)
    if listed.returncode:
        raise LookupError(listed.stderr.decode(errors="replace").strip())
    files = [line.split(b"\t") for line in listed.stdout.split(b"\0") if line]
    names = [os.fsdecode(name) for _, name in files]
    asked = b"".join(entry.split()[2] + b"\n" for entry, _ in files)
    with subprocess.Popen([*git, "cat-file", "--batch"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as read:
        assert read.stdin is not None
        assert read.stdout is not None
        threading.Thread(target=_feed, args=(read.stdin, asked), daemon=True).start()
        for name in names:
            head = read.stdout.readline().split()
            # A clone need not have all large files, nor those of other repositories.
            if head[1:2] != [b"blob"]:
                continue
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(read.stdout.read(int(head[2])))
            read.stdout.readline()


def _feed(pipe: IO[bytes], asked: bytes) -> None:
    with pipe:
        pipe.write(asked)


def run(row: Row, folder: Path, command: Sequence[str], seed: int | None = None) -> Outcome:
    """Run the programs of a row in a folder with its files.

    Args:
        row: the row.
        folder: the working copy, which the programs write into.
        command: what runs a program: ``OURS``, or a Python and ``THEIRS``.
        seed: what random numbers begin with, of programs that ``OURS`` runs.
    """
    for name, constants in row.constants.items():
        _set_constants(folder / name, constants)
    if row.data is not None:
        row.data(folder)
    began = time.monotonic()
    said = folder / "said-by-all-programs"
    for number, program in enumerate(row.programs, start=1):
        last = number == len(row.programs)
        environment = _environment(row, folder, seed)
        status = _run(row, program, folder / row.folder, command, said, began, row.endless and last, environment)
        if status != 0:
            break
    seconds = time.monotonic() - began
    text = said.read_text(encoding="utf-8", errors="replace")
    finding = row.sign.read(text)
    if status == 0 and last:
        step = median_step(folder)
        return Outcome(finding.learnt, finding.words, seconds, "" if finding.learnt else _end(text), step)
    how = f"not done after {row.seconds:g} s" if status is None else f"exit status {status}"
    return Outcome(False, f"{how}; {finding.words}", seconds, _end(text))


def _end(text: str) -> str:
    return text[-_KEPT:].replace("\r", "\n").strip()


def _set_constants(file: Path, constants: Mapping[str, str]) -> None:
    text = file.read_text(encoding="utf-8")
    for name, value in constants.items():
        text, count = re.subn(
            rf"^(\s*){re.escape(name)}(\s*)=.*$",
            lambda found, name=name, value=value: f"{found[1]}{name}{found[2]}= {value}",
            text,
            flags=re.MULTILINE,
        )
        if not count:
            raise LookupError(f"{file}: no line sets {name}")
    file.write_text(text, encoding="utf-8")


def _environment(row: Row, folder: Path, seed: int | None) -> dict[str, str]:
    return {
        **os.environ,
        "MPLBACKEND": "Agg",
        "PYTHONUNBUFFERED": "1",
        "TF_CPP_MIN_LOG_LEVEL": "2",
        FOLDER: str(folder),
        **({} if seed is None else {SEED: str(seed), "PYTHONHASHSEED": str(seed)}),
        "PYTHONPATH": os.pathsep.join([*(str(apart(each)) for each in row.apart), *row.path]),
        **row.environment,
    }


def _run(
    row: Row,
    program: str,
    folder: Path,
    command: Sequence[str],
    said: Path,
    began: float,
    endless: bool,
    environment: Mapping[str, str],
) -> int | None:
    """Return the exit status of a program, 0 if it was stopped as it has learnt, None at the deadline."""
    words = [word.replace("DRIVERS", str(_FOLDER / "drivers")) for word in shlex.split(program)]
    with open(said, "ab") as out:
        process = subprocess.Popen(
            [*command, *words],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            start_new_session=True,
        )
    try:
        while True:
            left = began + row.seconds - time.monotonic()
            try:
                return process.wait(min(_LOOK, left) if endless else left)
            except subprocess.TimeoutExpired:
                text = said.read_text(encoding="utf-8", errors="replace") if endless else ""
                if endless and row.sign.read(text).learnt:
                    return 0
                if left <= _LOOK or not endless:
                    return None
    finally:
        # With all that it has started.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
