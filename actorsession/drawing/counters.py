"""The sheet of a value that has counters: scalars are facts, groups of equal values are tables.

Which quantity a field has follows from its name, so that a counter that is added is shown without a word here.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any

from actorsession.drawing.sheet import Sheet, Table
from actorsession.drawing.text import byte_size, duration
from actorsession.records import is_default

__all__ = ["counters_sheet", "quantity"]

_BYTES = frozenset({"bytes", "nbytes", "memory", "buffer"})
_SECONDS = frozenset(
    {"seconds", "lag", "uptime", "age", "every", "median", "p50", "p90", "p99", "most", "took", "waited"}
)
# What is not worth a word.
_NOTHING: tuple[object, ...] = (0, "", None, ())
_SHARES = {"median": 0.5, "p90": 0.9, "p99": 0.99}


def counters_sheet(counters: Any, title: str = "") -> Sheet:
    """Return the sheet of a dataclass.

    Args:
        counters: its values; those that are the default of their field are left out.
        title: its class if empty.
    """
    facts: dict[str, object] = {}
    tables = []
    for field in dataclasses.fields(counters):
        value = getattr(counters, field.name)
        name = field.name.replace("_", " ")
        if is_default(field, value):
            continue
        if isinstance(value, tuple) and value and all(map(dataclasses.is_dataclass, value)):
            tables.append(_table(name, value))
        else:
            facts[name] = _shown(field.name, value)
    return Sheet(title or type(counters).__name__, facts, tables)


def _table(title: str, rows: Sequence[Any]) -> Table:
    """Return a table of values, without columns in which all have the default."""
    fields = [
        field
        for field in dataclasses.fields(rows[0])
        if not all(is_default(field, getattr(row, field.name)) for row in rows)
        and any(getattr(row, field.name) not in _NOTHING for row in rows)
    ]
    cells = [[_shown(field.name, getattr(row, field.name)) for field in fields] for row in rows]
    names = len(list(takewhile(lambda field: isinstance(getattr(rows[0], field.name), str), fields)))
    return Table(title, [field.name.replace("_", " ") for field in fields], cells, names)


def _shown(name: str, value: Any) -> object:
    if hasattr(value, "quantile"):  # a histogram, whose class is above this package
        shares = ", ".join(f"{name} {duration(value.quantile(share))}" for name, share in _SHARES.items())
        return f"{value.total}, {shares}" if value.total else ""
    if dataclasses.is_dataclass(value):
        parts = ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
        told = ((part.replace("_", " "), quantity(part, number)) for part, number in parts if number not in _NOTHING)
        return ", ".join(f"{part} {number}" for part, number in told)
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {number}" for key, number in value.items())
    return quantity(name, value)


def quantity(name: str, value: object) -> object:
    """Return a number with the unit that its name tells; any other value as it is."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    words = set(name.split("_"))
    if words & _BYTES:
        return byte_size(value)
    return duration(value) if words & _SECONDS else value
