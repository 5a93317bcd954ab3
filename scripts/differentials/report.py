"""The report: a verdict for each program, a table by family, and the differences in full."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from .compare import Difference, differences
from .program import Program
from .reasons import REASONS, Reason

__all__ = ["Outcome", "judge", "stale", "summary", "table"]


@dataclass
class Outcome:
    """The outcome of one program.

    Attributes:
        program: the program.
        verdict: ``SAME``, ``MEANT`` (differs with a reason) or ``DIFFERS``.
        found: its differences, each with its reason.
    """

    SAME: ClassVar[str] = "same"
    MEANT: ClassVar[str] = "differs with reason"
    DIFFERS: ClassVar[str] = "differs"

    program: Program
    verdict: str
    found: list[tuple[Difference, Reason | None]] = field(default_factory=list)

    def told(self) -> str:
        """Return its differences in full, with reasons; empty without differences."""
        if not self.found:
            return ""
        lines = [f"\n{self.program.name}: {self.verdict}"]
        for difference, reason in self.found:
            lines.append(f"  {difference.kind} ({difference.where})")
            lines.append(f"    ours:   {difference.ours}")
            lines.append(f"    theirs: {difference.theirs}")
            lines.append(f"    reason: {reason.why if reason else 'NONE'}")
        return "\n".join(lines)


def judge(program: Program, ours: dict[str, Any], theirs: dict[str, Any]) -> Outcome:
    """Compare the two records of a program and find reasons for the differences."""
    found = [(each, _reason(program.name, each)) for each in differences(ours, theirs)]
    if not found:
        return Outcome(program, Outcome.SAME)
    meant = all(reason is not None for _, reason in found)
    return Outcome(program, Outcome.MEANT if meant else Outcome.DIFFERS, found)


def _reason(name: str, difference: Difference) -> Reason | None:
    return next((each for each in REASONS if each.explains(name, difference.kind, difference.theirs)), None)


def stale(outcomes: Sequence[Outcome], known: Sequence[str]) -> list[Reason]:
    """Return the reasons for differences that no longer exist.

    Args:
        outcomes: the outcomes of the programs that ran; a reason is checked if all programs that it matches
            ran.
        known: the names of all programs.
    """
    ran = {outcome.program.name for outcome in outcomes}
    used = Counter(
        (reason, difference.kind) for outcome in outcomes for difference, reason in outcome.found if reason is not None
    )
    out = []
    for reason in REASONS:
        spoken_of = {name for name in known if reason.matches(name)}
        complete = spoken_of <= ran
        if complete and not all(used[reason, kind] for kind in reason.kinds):
            out.append(reason)
    return out


_HEADS = (Outcome.SAME, Outcome.MEANT, Outcome.DIFFERS)


def table(outcomes: Sequence[Outcome]) -> str:
    """Return the counts by family, with a line for the totals."""
    families = list(dict.fromkeys(outcome.program.family for outcome in outcomes))
    counts = Counter((outcome.program.family, outcome.verdict) for outcome in outcomes)
    wide = max(len("family"), *(len(family) for family in families))
    lines = [f"{'family':{wide}}  {'  '.join(_HEADS)}"]
    for family in families:
        cells = (f"{counts[family, head]:{len(head)}}" for head in _HEADS)
        lines.append(f"{family:{wide}}  {'  '.join(cells)}")
    totals = Counter(outcome.verdict for outcome in outcomes)
    cells = (f"{totals[head]:{len(head)}}" for head in _HEADS)
    lines.append(f"{'all':{wide}}  {'  '.join(cells)}")
    return "\n".join(lines)


def summary(outcomes: Sequence[Outcome]) -> str:
    """Return the counts in a sentence."""
    totals = Counter(outcome.verdict for outcome in outcomes)
    return (
        f"{len(outcomes)} programs compared: {totals[Outcome.SAME]} the same, "
        f"{totals[Outcome.MEANT]} differ with a reason, {totals[Outcome.DIFFERS]} differ."
    )
