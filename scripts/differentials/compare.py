"""The differences between two records of one program.

Each difference has a kind, to which reasons refer: ``value``, ``dtype``, ``shape``, ``type`` (the type of the
returned object), ``static`` (dtype or shape before any run), ``exact`` (a shape of which we know more), ``name``,
``facts``, ``error`` (its class, or whether there is one), ``moment`` (building or running), ``broken`` (a side
could not make its record).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["KINDS", "Difference", "differences"]

KINDS = ("value", "dtype", "shape", "type", "static", "exact", "name", "facts", "error", "moment", "broken")

# Relative and absolute. The order of sums may differ, and functions such as exp differ in the last digits.
_TOLERANCES = {
    "float16": 4e-3,
    "bfloat16": 2e-2,
    "float32": 2e-5,
    "float64": 1e-10,
    "complex64": 2e-5,
    "complex128": 1e-10,
}


@dataclass(frozen=True)
class Difference:
    """One difference between two records.

    Attributes:
        kind: one of ``KINDS``.
        where: the step, and the position in its result.
        ours: actorsession's result.
        theirs: TensorFlow's result.
    """

    kind: str
    where: str
    ours: str
    theirs: str


def differences(ours: dict[str, Any], theirs: dict[str, Any]) -> list[Difference]:
    """Compare two records.

    Args:
        ours: actorsession's record.
        theirs: TensorFlow's record.

    Returns:
        The differences; empty if the records agree.
    """
    return list(_differences(ours, theirs))


def _differences(ours: dict[str, Any], theirs: dict[str, Any]) -> Iterator[Difference]:
    broken = [side.get("broken") for side in (ours, theirs)]
    if any(broken):
        yield Difference("broken", "record", *(str(what) for what in broken))
        return
    if "error" in ours or "error" in theirs:
        yield from _built(ours, theirs)
        return
    for index, (mine, other) in enumerate(zip(ours["static"], theirs["static"], strict=False)):
        yield from _static(f"fetch {index}", mine, other)
    if len(ours["static"]) != len(theirs["static"]):
        yield _of("static", "fetches", len(ours["static"]), len(theirs["static"]))
    if ours["facts"] != theirs["facts"]:
        yield _of("facts", "building", ours["facts"], theirs["facts"])
    if len(ours["steps"]) != len(theirs["steps"]):
        yield _of("moment", "steps", len(ours["steps"]), len(theirs["steps"]))
    for index, (mine, other) in enumerate(zip(ours["steps"], theirs["steps"], strict=False)):
        yield from _step(f"step {index}", mine, other, theirs)


def _of(kind: str, where: str, ours: Any, theirs: Any) -> Difference:
    return Difference(kind, where, str(ours), str(theirs))


def _built(ours: dict[str, Any], theirs: dict[str, Any]) -> Iterator[Difference]:
    """Yield the differences of records of which at least one has an error in building."""
    mine, other = _first_error(ours), _first_error(theirs)
    if mine is None or other is None or not _same_error(mine, other):
        yield _of("error", "program", _shown(mine), _shown(other))
    if ("error" in ours) != ("error" in theirs) and mine is not None and other is not None:
        moments = ["building" if "error" in side else "running" for side in (ours, theirs)]
        yield Difference("moment", "program", *moments)


def _first_error(side: dict[str, Any]) -> dict[str, Any] | None:
    if "error" in side:
        error: dict[str, Any] = side["error"]
        return error
    return next((step["error"] for step in side["steps"] if "error" in step), None)


def _same_error(mine: dict[str, Any], other: dict[str, Any]) -> bool:
    """Return whether code that catches TensorFlow's error also catches actorsession's."""
    return other["classes"][0] in mine["classes"]


def _shown(error: dict[str, Any] | None) -> str:
    if error is None:
        return "no error"
    said = " ".join(error.get("message", "").split())[:200]
    return f"{error['classes'][0]}: {said}"


def _static(where: str, mine: dict[str, Any], other: dict[str, Any]) -> Iterator[Difference]:
    for part in ("dtype", "shape"):
        if mine[part] != other[part]:
            kind = "exact" if part == "shape" and _is_more_exact(mine[part], other[part]) else "static"
            yield _of(kind, f"{where}, {part}", mine[part], other[part])
    if mine.get("node") != other.get("node"):
        yield _of("name", where, mine.get("node"), other.get("node"))


def _is_more_exact(mine: list[int | None] | None, other: list[int | None] | None) -> bool:
    if mine is None or other is None:
        return other is None
    return len(mine) == len(other) and all(size in (None, known) for known, size in zip(mine, other, strict=True))


def _step(where: str, mine: dict[str, Any], other: dict[str, Any], record: dict[str, Any]) -> Iterator[Difference]:
    if "error" not in mine and "error" not in other:
        yield from _value(where, mine["value"], other["value"], record)
        return
    errors = mine.get("error"), other.get("error")
    if errors[0] is None or errors[1] is None or not _same_error(errors[0], errors[1]):
        yield _of("error", where, _shown(errors[0]), _shown(errors[1]))


def _value(where: str, mine: dict[str, Any], other: dict[str, Any], record: dict[str, Any]) -> Iterator[Difference]:
    if mine["kind"] != other["kind"]:
        yield _of("type", where, mine["kind"], other["kind"])
        if ("dtype" in mine) != ("dtype" in other) or ("items" in mine) != ("items" in other):
            return
    if "items" in mine:
        if list(mine["items"]) != list(other["items"]):
            yield _of("type", where, list(mine["items"]), list(other["items"]))
            return
        for key, item in mine["items"].items():
            yield from _value(f"{where}[{key}]", item, other["items"][key], record)
    elif "dtype" in mine:
        yield from _array(where, mine, other, record)
    elif mine["data"] != other["data"]:
        yield _of("value", where, mine["data"], other["data"])


def _array(where: str, mine: dict[str, Any], other: dict[str, Any], record: dict[str, Any]) -> Iterator[Difference]:
    if mine["dtype"] != other["dtype"]:
        yield _of("dtype", where, mine["dtype"], other["dtype"])
    if mine["shape"] != other["shape"]:
        yield _of("shape", where, mine["shape"], other["shape"])
        return
    if record["random"] or _agree(mine, other, record["tolerance"]):
        return
    yield _of("value", where, _some(mine["data"]), _some(other["data"]))


def _agree(mine: dict[str, Any], other: dict[str, Any], tolerance: float | None) -> bool:
    usual = _TOLERANCES.get(other["dtype"])
    if usual is None:
        same: bool = mine["data"] == other["data"]
        return same
    wide = usual if tolerance is None else tolerance
    ours, theirs = (np.asarray(side["data"], np.float64) for side in (mine, other))
    return bool(np.allclose(ours, theirs, rtol=wide, atol=wide, equal_nan=True))


def _some(data: Any) -> str:
    text = str(data)
    return text if len(text) <= 300 else f"{text[:300]} ..."
