"""Whole programs as TensorFlow 1 users wrote them, compared by what they print.

Each is a file of ``tf1_programs``. Beside it is what it prints, as TensorFlow 2.21 printed it
(``scripts/differential --record``). For programs whose first line is ``# peer: 1.15: REASON`` it is what
TensorFlow 1.15 printed, for ``# peer: none: REASON`` what was calculated by hand or with numpy.
"""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

__all__ = ["Printed", "WholeProgram", "WholeSide", "output_difference", "whole_programs", "whole_side"]

_ROOT = Path(__file__).resolve().parents[2]
_FOLDER = Path(__file__).resolve().parent / "tf1_programs"
_SIDE = "scripts.differentials.whole_side"
_PEER = re.compile(r"# peer: (none|1\.15): \S")
_TOKEN = re.compile(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?|[^\s\d]+")
_RELATIVE, _ABSOLUTE = 1e-3, 1e-4


@dataclass(frozen=True)
class WholeProgram:
    """A program in a file.

    Attributes:
        path: the file.
    """

    path: Path

    @property
    def name(self) -> str:
        """Its name among all programs."""
        return f"programs/{self.path.stem}"

    @property
    def recorded(self) -> Path:
        """The file with what it prints."""
        return self.path.with_suffix(".txt")

    @property
    def peer(self) -> str:
        """The TensorFlow that runs it: "2.21", "1.15" or "none"."""
        with open(self.path, encoding="utf-8") as file:
            found = _PEER.match(file.readline())
        return found[1] if found else "2.21"


class Printed(NamedTuple):
    """What a program left: its exit status, and all that it wrote to its two outputs."""

    status: int
    out: str
    err: str


class WholeSide:
    """A process that has imported one library and runs programs in forks of itself.

    Args:
        process: the process, which runs ``whole_side``.
    """

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def run(self, program: WholeProgram) -> Printed:
        """Run a program to its end, in a folder of its own."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with tempfile.TemporaryDirectory(prefix="actorsession-program.") as folder:
            self._process.stdin.write(json.dumps([str(program.path), folder]) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        if not answer:
            raise ChildProcessError(f"the process that was to run {program.name} has ended")
        return Printed(*json.loads(answer))


@contextmanager
def whole_side(library: str, python: str, options: Iterable[str] = ()) -> Iterator[WholeSide]:
    """Start the process of one side, which ends with the block.

    Args:
        library: ``OURS`` or ``THEIRS``.
        python: the interpreter.
        options: options of the interpreter.
    """
    with subprocess.Popen(
        [python, *options, "-m", _SIDE, library],
        cwd=_ROOT,
        env=os.environ | {"PYTHONPATH": str(_ROOT)},
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        try:
            yield WholeSide(process)
        finally:
            process.kill()


def whole_programs() -> list[WholeProgram]:
    """Return all programs, by name."""
    return [WholeProgram(path) for path in sorted(_FOLDER.glob("*.py"))]


def output_difference(expected: str, found: str) -> str | None:
    """Return the first difference between what two runs printed, or None.

    Numbers with a point or an exponent may differ by rounding; all else is equal but for white space.
    """
    theirs, ours = _TOKEN.findall(expected), _TOKEN.findall(found)
    for index, (one, other) in enumerate(zip(theirs, ours, strict=False)):
        if not _same(one, other):
            around = " ".join(theirs[max(0, index - 6) : index])
            return f"after {around!r}: expected {one!r}, found {other!r}"
    if len(theirs) != len(ours):
        longer, what = (theirs, "missing") if len(theirs) > len(ours) else (ours, "too much")
        return f"{what}: {' '.join(longer[min(len(theirs), len(ours)) :][:12])!r}"
    return None


def _same(one: str, other: str) -> bool:
    if one == other:
        return True
    if not any(sign in one + other for sign in ".eE"):
        return False
    try:
        return math.isclose(float(one), float(other), rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)
    except ValueError:
        return False
