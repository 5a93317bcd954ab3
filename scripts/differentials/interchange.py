"""Files and messages that go from one library to the other, in both directions.

An exchange writes files with ``tf`` and reads them again. One side writes, both read, and what they found has
to be the same; then the other side writes. ``interchange_side`` runs the exchanges of a side.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from actorsession.interop.tabled import names_of_messages

from .interchange_side import MESSAGES
from .side import OURS, THEIRS

__all__ = ["compare_interchange", "differences_of"]

_ROOT = Path(__file__).resolve().parents[2]
_SIDE = "scripts.differentials.interchange_side"
_PATIENCE = 300.0
_RELATIVE, _ABSOLUTE = 1e-5, 1e-6
_KEPT = 1500


def compare_interchange(peer: str) -> int:
    """Exchange files with a peer in both directions, and print what differs.

    Args:
        peer: an interpreter with TensorFlow.

    Returns:
        The number of differences.
    """
    pythons = {OURS: sys.executable, THEIRS: peer}
    problems: list[str] = []
    count = 0
    with tempfile.TemporaryDirectory(prefix="actorsession-interchange.") as above:
        for writer in pythons:
            folder = os.path.join(above, writer)
            os.mkdir(folder)
            Path(folder, MESSAGES).write_text(json.dumps(_messages()), encoding="utf-8")
            problems += _ended(_run(pythons[writer], writer, "write", folder), writer)
            found = {}
            for reader in pythons:
                said = _run(pythons[reader], reader, "read", folder)
                problems += _ended(said, reader)
                path = Path(folder, f"found-{reader}.json")
                found[reader] = json.loads(path.read_text()) if path.exists() else {}
            names = sorted({*found[OURS], *found[THEIRS]})
            count += len(names)
            for name in names:
                ours, theirs = (found[side].get(name, "nothing") for side in (OURS, THEIRS))
                problems += [f"{name}, written by {writer}: {each}" for each in differences_of(theirs, ours)]
    for problem in problems:
        print(problem)
    print(f"{count} exchanges in two directions: {len(problems)} differ\n")
    return len(problems)


def _messages() -> list[str]:
    return [name for name in names_of_messages() if "map<" not in name]


def _run(python: str, library: str, what: str, folder: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, "-m", _SIDE, library, what, folder],
        cwd=_ROOT,
        env=os.environ | {"PYTHONPATH": str(_ROOT)},
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )


def _ended(said: subprocess.CompletedProcess[str], library: str) -> list[str]:
    if not said.returncode:
        return []
    return [f"{library} ended with {said.returncode}:\n{said.stderr[-_KEPT:]}"]


def differences_of(expected: Any, found: Any, where: str = "") -> Iterator[str]:
    """Yield the differences between two plain values; numbers may differ by rounding.

    Args:
        expected: one value.
        found: the other.
        where: the place of both, for the text.
    """
    if isinstance(expected, Mapping) and isinstance(found, Mapping):
        for key in sorted({*expected, *found}):
            if key not in expected or key not in found:
                side = "only found" if key in found else "not found"
                yield f"{where}/{key}: {side}"
            else:
                yield from differences_of(expected[key], found[key], f"{where}/{key}")
    elif _is_list(expected) and _is_list(found) and len(expected) == len(found):
        for index, pair in enumerate(zip(expected, found, strict=True)):
            yield from differences_of(*pair, f"{where}[{index}]")
    elif isinstance(expected, float) and isinstance(found, float):
        same = math.isnan(expected) and math.isnan(found)
        if not same and not math.isclose(expected, found, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE):
            yield f"{where}: expected {expected}, found {found}"
    elif expected != found:
        yield f"{where}: expected {expected!r:.300}, found {found!r:.300}"


def _is_list(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)
