"""Counters as text that Prometheus reads: its text exposition format, version 0.0.4.

A class of statistics has a table of ``Metric`` rows, which name its fields. ``metric_families`` reads an
instance by such a table, and ``exposition`` writes the families of any number of instances as one text. Used
by the statistics of servers and sessions, and by the command line; imports nothing but ``records`` and
``terminal_text``.

A histogram is one sample, which is written as the lines of its buckets, its sum and its count.

Invariants: a family appears once, with its help and type; no two samples of it have the same labels, because
the values of such samples are added. Names are stable, since dashboards refer to them: they begin with
``actorsession_`` and end with their unit, those of counters with ``_total``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from math import inf
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias

from actorsession.records import dataclass
from actorsession.terminal_text import visible

__all__ = ["Distribution", "Kind", "Metric", "MetricFamily", "exposition", "merged", "metric_families", "sample_rows"]

Kind: TypeAlias = Literal["counter", "gauge", "histogram"]
"""The type of a family: a number that never decreases, one that goes up and down, or times by their size."""

_NAME = re.compile(r"actorsession_[a-z0-9_]+")
_LABEL = re.compile(r"(?!__)[a-zA-Z_][a-zA-Z0-9_]*")
_HELP_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n"})
_LABEL_ESCAPES = str.maketrans({"\\": r"\\", "\n": r"\n", '"': r"\""})


class Distribution(Protocol):
    """The value of a sample of a histogram, such as ``metrics.HistogramCounts``."""

    @property
    def counts(self) -> Sequence[int]:
        """How many values each bucket has, those beyond all bounds last."""

    @property
    def sum(self) -> float:
        """The sum of all values."""

    @property
    def bounds(self) -> Sequence[float]:
        """The upper bounds of all buckets but the last."""

    def __add__(self, other: Any, /) -> Distribution: ...


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
        ValueError: for a name or label in another form, a counter whose name does not end in ``_total``, or a
            histogram with the label ``le``, which its buckets have.
    """

    name: str
    kind: Kind
    help: str
    samples: Sequence[tuple[Mapping[str, str], float | Distribution]]

    def __post_init__(self) -> None:
        """Check the names."""
        if not _NAME.fullmatch(self.name) or self.name.endswith("_total") != (self.kind == "counter"):
            raise ValueError(
                f"a {self.kind} is called actorsession_..., and ends in _total if it is a counter; got "
                f"{self.name!r:.100}"
            )
        for label in {label for labels, _ in self.samples for label in labels}:
            if not _LABEL.fullmatch(label) or (self.kind == "histogram" and label == "le"):
                raise ValueError(
                    f"a label is letters, digits and '_', without '__' in front, and not a histogram's own le; got "
                    f"{label!r:.100}"
                )


def metric_families(statistics: object, rows: Iterable[Metric], labels: Mapping[str, str]) -> list[MetricFamily]:
    """Return the families of one instance, with one sample each.

    Args:
        statistics: the instance.
        rows: the table of its class.
        labels: the labels of all samples.
    """
    return [MetricFamily(row.name, row.kind, row.help, [(labels, getattr(statistics, row.field))]) for row in rows]


def merged(families: Iterable[MetricFamily]) -> list[MetricFamily]:
    """Return one family of each name; the values of samples with the same labels are added.

    Raises:
        ValueError: for families of one name and several types.
    """
    firsts: dict[str, MetricFamily] = {}
    values: dict[str, dict[tuple[tuple[str, str], ...], Any]] = {}
    for family in families:
        first = firsts.setdefault(family.name, family)
        if first.kind != family.kind:
            raise ValueError(f"{family.name} is a {first.kind} and a {family.kind}")
        sums = values.setdefault(family.name, {})
        for labels, value in family.samples:
            key = tuple([(name, _seen(text)) for name, text in labels.items()])
            sums[key] = sums[key] + value if key in sums else value
    return [
        MetricFamily(name, family.kind, family.help, [(dict(key), value) for key, value in values[name].items()])
        for name, family in firsts.items()
    ]


def sample_rows(family: MetricFamily) -> Iterator[tuple[str, Mapping[str, str], float]]:
    """Yield the name, the labels and the value of each line of a family.

    Those of a histogram are the counts of all values up to each bound, the sum and the count.
    """
    for labels, value in family.samples:
        if isinstance(value, (int, float)):
            yield family.name, labels, value
            continue
        counts = list(accumulate(value.counts))
        for bound, count in zip((*value.bounds, inf), counts, strict=True):
            yield f"{family.name}_bucket", {**labels, "le": _number(float(bound))}, count
        yield f"{family.name}_sum", labels, value.sum
        yield f"{family.name}_count", labels, counts[-1]


def exposition(families: Iterable[MetricFamily]) -> str:
    """Return families as text; those of one name are written together.

    Raises:
        ValueError: for families of one name and several types.
    """
    lines: list[str] = []
    for family in merged(families):
        lines.append(f"# HELP {family.name} {family.help.translate(_HELP_ESCAPES)}")
        lines.append(f"# TYPE {family.name} {family.kind}")
        lines += [f"{name}{_in_braces(labels)} {_number(value)}" for name, labels, value in sample_rows(family)]
    return "".join(f"{line}\n" for line in lines)


def _in_braces(labels: Mapping[str, str]) -> str:
    pairs = [f'{name}="{value.translate(_LABEL_ESCAPES)}"' for name, value in labels.items()]
    return "{" + ",".join(pairs) + "}" if pairs else ""


def _seen(value: str) -> str:
    """Return the value of a label with what cannot be seen in it made visible, but for line breaks."""
    return "\n".join(map(visible, value.split("\n")))  # which have an escape of their own


def _number(value: float) -> str:
    if value != value:
        return "NaN"
    if value in (inf, -inf):
        return "+Inf" if value > 0 else "-Inf"
    return repr(value)
