"""Counters as text that Prometheus reads: its text exposition format, version 0.0.4.

A class of statistics has a table of ``Metric`` rows, which name its fields. ``metric_families`` reads an
instance by such a table, and ``exposition`` writes the families of any number of instances as one text. Used
by the statistics of servers and sessions, and by the command line; imports nothing but ``records`` and
``terminal_text``.

Invariants: a family appears once, with its help and type; no two samples of it have the same labels, because
the values of such samples are added. Names are stable, since dashboards refer to them: they begin with
``actorsession_`` and end with their unit, those of counters with ``_total``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from actorsession.records import dataclass
from actorsession.terminal_text import visible

__all__ = ["Kind", "Metric", "MetricFamily", "exposition", "metric_families"]

Kind: TypeAlias = Literal["counter", "gauge"]
"""The type of a family: a number that never decreases, or one that goes up and down."""

_NAME = re.compile(r"actorsession_[a-z0-9_]+")
_LABEL = re.compile(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*")
_HELP_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n"})
_LABEL_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


class Metric(NamedTuple):
    """One row of the table of a class of statistics.

    Attributes:
        field: the attribute to read.
        kind: the type of the family.
        name: the name of the family.
        help: one sentence about it.
    """

    field: str
    kind: Kind
    name: str
    help: str


@dataclass(frozen=True, slots=True)
class MetricFamily:
    """All samples of one name.

    Attributes:
        name: the name.
        kind: its type.
        help: one sentence about it.
        samples: labels and value of each sample.

    Raises:
        ValueError: for a name or label in another form, or a counter whose name does not end in ``_total``.
    """

    name: str
    kind: Kind
    help: str
    samples: Sequence[tuple[Mapping[str, str], float]]

    def __post_init__(self) -> None:
        """Check the names."""
        if not _NAME.fullmatch(self.name) or self.name.endswith("_total") != (self.kind == "counter"):
            raise ValueError(
                f"a {self.kind} is called actorsession_..., and ends in _total if it is a counter; got "
                f"{self.name!r:.100}"
            )
        for label in {label for labels, _ in self.samples for label in labels}:
            if not _LABEL.fullmatch(label):
                raise ValueError(f"a label is letters, digits and '_', without '__' in front; got {label!r:.100}")


def metric_families(statistics: object, rows: Iterable[Metric], labels: Mapping[str, str]) -> list[MetricFamily]:
    """Return the families of one instance, with one sample each.

    Args:
        statistics: the instance.
        rows: the table of its class.
        labels: the labels of all samples.
    """
    return [MetricFamily(row.name, row.kind, row.help, [(labels, getattr(statistics, row.field))]) for row in rows]


def exposition(families: Iterable[MetricFamily]) -> str:
    """Return families as text; those of one name are written together.

    Raises:
        ValueError: for families of one name and several types.
    """
    merged: dict[str, tuple[MetricFamily, dict[str, float]]] = {}
    for family in families:
        first, values = merged.setdefault(family.name, (family, {}))
        if first.kind != family.kind:
            raise ValueError(f"{family.name} is a {first.kind} and a {family.kind}")
        for labels, value in family.samples:
            key = _labels(labels)
            values[key] = values.get(key, 0) + value
    lines: list[str] = []
    for name, (family, values) in merged.items():
        lines.append(f"# HELP {name} {family.help.translate(_HELP_ESCAPES)}")
        lines.append(f"# TYPE {name} {family.kind}")
        lines += [f"{name}{labels} {_number(value)}" for labels, value in values.items()]
    return "".join(f"{line}\n" for line in lines)


def _labels(labels: Mapping[str, str]) -> str:
    if not labels:
        return ""
    pairs = [f'{name}="{_escaped(value)}"' for name, value in labels.items()]
    return "{" + ",".join(pairs) + "}"


def _escaped(value: str) -> str:
    lines = map(visible, value.split("\n"))  # line breaks have an escape of their own here
    return "\n".join(lines).translate(_LABEL_ESCAPES)


def _number(value: float) -> str:
    if value != value:
        return "NaN"
    if value in (float("inf"), -float("inf")):
        return "+Inf" if value > 0 else "-Inf"
    return repr(value)
