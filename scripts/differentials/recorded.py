"""What TensorFlow gave for the programs of each family, with which our tests compare.

``scripts/differential --record`` writes it down: a file for each family, in which each line is the record of
a program. Messages of errors are left out, and numbers have as many digits as their dtype.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

__all__ = ["RESULTS", "load", "save"]

RESULTS = Path(__file__).resolve().parent / "results"
"""A file for each family."""

_DIGITS = {"float16": 6, "bfloat16": 5, "float32": 9, "complex64": 9}


def load(family: str, folder: Path = RESULTS) -> dict[str, dict[str, Any]]:
    """Return the records of a family by the names of programs; none if nothing is written down."""
    path = folder / f"{family}.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
    return {record["name"]: record for record in map(json.loads, lines)}


def save(family: str, names: Iterable[str], records: Mapping[str, dict[str, Any]], folder: Path = RESULTS) -> None:
    """Write down records of a family.

    Args:
        family: its name.
        names: its programs in order; what is written down of others goes.
        records: the new records; those of other programs stay.
        folder: where the file is.
    """
    known = load(family, folder) | records
    lines = [
        json.dumps(_short(known[name]), separators=(",", ":"), ensure_ascii=False) for name in names if name in known
    ]
    (folder / f"{family}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _short(value: Any) -> Any:
    if isinstance(value, dict):
        if "broken" in value:  # what a process that died wrote does not matter
            return {"name": value["name"], "broken": value["broken"].partition("\n")[0]}
        digits = _DIGITS.get(str(value.get("dtype")))
        return {
            key: _rounded(item, digits) if digits and key == "data" else _short(item)
            for key, item in value.items()
            if key != "message"
        }
    return [_short(item) for item in value] if isinstance(value, list) else value


def _rounded(value: Any, digits: int) -> Any:
    if isinstance(value, list):
        return [_rounded(item, digits) for item in value]
    return float(f"{value:.{digits}g}") if isinstance(value, float) else value
