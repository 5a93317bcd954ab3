"""The result of a row: times of both sides, their ratio, and the comparison with the budget."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from .rows import Row

__all__ = ["Result", "Times"]

_MEGABYTE = 1e6


@dataclass
class Times:
    """The times of one side's steps in seconds, round by round.

    Attributes:
        rounds: a list of times for each round.
    """

    rounds: list[list[float]] = field(default_factory=list)

    @property
    def median(self) -> float:
        """The median of the rounds' medians, which ignores a disturbed round."""
        return statistics.median(statistics.median(times) for times in self.rounds)

    @property
    def p99(self) -> float:
        """The time that 99 of 100 steps of all rounds do not exceed; with fewer than 100, the slowest."""
        times = sorted(time for each in self.rounds for time in each)
        return times[math.ceil(len(times) * 0.99) - 1]

    def to_json(self) -> dict[str, Any]:
        """Return the times for the report, in microseconds."""
        return {
            "median_us": round(self.median * 1e6, 3),
            "p99_us": round(self.p99 * 1e6, 3),
            "round_medians_us": [round(statistics.median(t) * 1e6, 3) for t in self.rounds],
            "steps": sum(map(len, self.rounds)),
        }


@dataclass
class Result:
    """The result of a row.

    Attributes:
        row: the row.
        ours: actorsession's times.
        peer: the peer's times.
        sizes: for rows about sizes, the bytes of actorsession and, if there is one, of the peer.
        errors: the errors of both sides.
    """

    row: Row
    ours: Times = field(default_factory=Times)
    peer: Times = field(default_factory=Times)
    sizes: Sequence[int] = ()
    errors: list[str] = field(default_factory=list)

    @property
    def status(self) -> str:
        """``measured`` or ``failed``."""
        return "failed" if self.errors else "measured"

    @property
    def values(self) -> tuple[float | None, float | None]:
        """The figures of actorsession and the peer, in seconds or bytes."""
        if self.sizes:
            return self.sizes[0], self.sizes[1] if len(self.sizes) > 1 else None
        return (
            self.ours.median if self.ours.rounds else None,
            self.peer.median if self.peer.rounds else None,
        )

    @property
    def ratio(self) -> float | None:
        """The figure of actorsession divided by that of the peer."""
        ours, peer = self.values
        return ours / peer if ours is not None and peer is not None else None

    @property
    def of_budget(self) -> float | None:
        """The figure of actorsession divided by the budget; above 1 the budget is exceeded."""
        budget, (ours, _) = self.row.budget, self.values
        if budget.unit == "peer":
            return None if self.ratio is None else self.ratio / budget.at_most
        scale = _MEGABYTE if budget.unit == "MB" else 1.0
        return None if ours is None else ours / scale / budget.at_most

    @property
    def verdict(self) -> str:
        """``ok``, or by how much the budget is exceeded; empty without figures."""
        share = self.of_budget
        if share is None:
            return ""
        return "ok" if share <= 1 else f"over by {share - 1:.0%}"

    def to_json(self) -> dict[str, Any]:
        """Return the result for the report."""
        row = self.row
        if self.sizes:
            sides: list[Any] = [{"bytes": size} for size in self.sizes]
        else:
            sides = [t.to_json() if t.rounds else None for t in (self.ours, self.peer)]
        return {
            "name": row.name,
            "group": row.group,
            "title": row.title,
            "status": self.status,
            "ours": sides[0],
            "peer": sides[1] if len(sides) > 1 else None,
            "ratio": self.ratio,
            "budget": {"at_most": row.budget.at_most, "unit": row.budget.unit},
            "verdict": self.verdict,
            "errors": self.errors,
        }
