"""The result of a row: figures of all sides, their ratios, and the comparison with the budgets."""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .rows import SLOPES, Budget, Row, Slope

__all__ = ["OURS", "Growth", "Result", "Times", "growth"]

OURS = "actorsession"
_SCALES = {"s": 1.0, "%": 1.0, "MB": 1e6}


@dataclass
class Times:
    """The figures of one side's steps, round by round; seconds, unless the row has another unit.

    Attributes:
        rounds: a list of figures for each round.
    """

    rounds: list[list[float]] = field(default_factory=list)

    @property
    def medians(self) -> list[float]:
        """The median of each round."""
        return [statistics.median(times) for times in self.rounds]

    @property
    def median(self) -> float:
        """The median of the rounds' medians, which ignores a disturbed round."""
        return statistics.median(self.medians)

    @property
    def p99(self) -> float:
        """The figure that 99 of 100 steps of all rounds do not exceed; with fewer than 100, the highest."""
        times = sorted(time for each in self.rounds for time in each)
        return times[math.ceil(len(times) * 0.99) - 1]

    def to_json(self) -> dict[str, Any]:
        """Return the figures for the report, in the unit of the row."""
        return {
            "median": _rounded(self.median),
            "p99": _rounded(self.p99),
            "round_medians": [_rounded(median) for median in self.medians],
            "steps": sum(map(len, self.rounds)),
        }


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


@dataclass
class Result:
    """The result of a row.

    Attributes:
        row: the row.
        sides: the figures of each side that has measured it, by the side's name.
        errors: the errors of all sides.
    """

    row: Row
    sides: dict[str, Times] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)

    @property
    def status(self) -> str:
        """``measured`` or ``failed``."""
        return "failed" if self.errors else "measured"

    def ratio(self, peer: str) -> float | None:
        """Return our figure divided by that of a peer."""
        if OURS not in self.sides or peer not in self.sides:
            return None
        return self.sides[OURS].median / self.sides[peer].median

    def of_budget(self, budget: Budget) -> float | None:
        """Return our figure divided by a budget; above 1 the budget is exceeded."""
        if budget.unit not in _SCALES:
            ratio = self.ratio(budget.unit)
            return None if ratio is None else ratio / budget.at_most
        ours = self.sides.get(OURS)
        return None if ours is None else ours.median / _SCALES[budget.unit] / budget.at_most

    def verdict(self, budget: Budget) -> str:
        """Return ``ok``, or by how much a budget is exceeded; empty without figures."""
        share = self.of_budget(budget)
        if share is None:
            return ""
        return "ok" if share <= 1 else f"over by {share - 1:.0%}"

    def to_json(self) -> dict[str, Any]:
        """Return the result for the report."""
        row = self.row
        return {
            "name": row.name,
            "group": row.group,
            "title": row.title,
            "unit": row.unit,
            "status": self.status,
            "sides": {name: times.to_json() for name, times in self.sides.items()},
            "ratios": {name: self.ratio(name) for name in self.sides if name != OURS},
            "budgets": [
                {"at_most": budget.at_most, "unit": budget.unit, "verdict": self.verdict(budget)}
                for budget in row.budgets
            ],
            "errors": self.errors,
        }


@dataclass(frozen=True)
class Growth:
    """A slope that was measured.

    Attributes:
        slope: what it is.
        sides: by the side's name, the cost of the larger row divided by that of the smaller one and by how
            many times as large it is.
    """

    slope: Slope
    sides: Mapping[str, float]

    @property
    def verdict(self) -> str:
        """``ok``, or by how much our limit is exceeded; empty without either."""
        limit, ours = self.slope.at_most, self.sides.get(OURS)
        if limit is None or ours is None:
            return ""
        return "ok" if ours <= limit else f"over by {ours / limit - 1:.0%}"


def growth(results: Sequence[Result]) -> list[Growth]:
    """Return the slopes of which both rows were measured."""
    by_name = {result.row.name: result.sides for result in results}
    out = []
    for slope in SLOPES:
        small, large = by_name.get(slope.small, {}), by_name.get(slope.large, {})
        sides = {name: large[name].median / small[name].median / slope.times for name in small if name in large}
        if sides:
            out.append(Growth(slope, sides))
    return out
