"""What has changed between two runs by more than their noise.

The noise of a row in a run is the range of its rounds' medians. A row has changed if the ranges of both runs
do not overlap. Where TensorFlow was measured beside us in both runs, the ranges are those of our share of its
time, round by round, so that a machine that is slower on one day than on another is no change.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from .result import OURS

__all__ = ["NoReportError", "Report", "lines", "load"]

Report = Mapping[str, Any]
# With fewer rounds nothing is known of the noise.
_LEAST_ROUNDS = 3
_PEER = "tensorflow"


class NoReportError(Exception):
    """Error for a file that is not a report of this program."""


class Range(NamedTuple):
    """The medians of a row's rounds in one run.

    Attributes:
        middle: their median.
        low: the lowest.
        high: the highest.
    """

    middle: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.middle:.3g} ({self.low:.3g} to {self.high:.3g})"


def load(path: Path) -> Report:
    """Return the report that an earlier run wrote with ``--json``.

    Raises:
        NoReportError: if the file is not one.
    """
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        _by_name(found)
    except OSError as error:
        raise NoReportError(f"cannot read {path}: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise NoReportError(f"{path} was not written by --json of this version") from None
    return found


def _by_name(report: Report) -> dict[str, Any]:
    return {row["name"]: row["sides"] for row in report["rows"]}


def lines(old: Report, new: Report) -> list[str]:
    """Return lines that say what has changed.

    Args:
        old: the report of the earlier run, from ``load``.
        new: the report of this one, as it is saved.
    """
    changed, same, unknown, earlier = [], 0, [], _by_name(old)
    for row in new["rows"]:
        name, before, now = row["name"], earlier.get(row["name"], {}), row["sides"]
        if OURS not in before or OURS not in now:
            continue
        if min(len(sides[OURS]["round_medians"]) for sides in (before, now)) < _LEAST_ROUNDS:
            unknown.append(name)
            continue
        relative = all(_has_shares(sides) for sides in (before, now))
        then, today = _range(before, relative=relative), _range(now, relative=relative)
        if then.low <= today.high and today.low <= then.high:
            same += 1
        else:
            changed.append(_change(name, then, today, "x TensorFlow" if relative else row["unit"]))
    out = ["", f"since {old['date']}:", *changed]
    out.append(f"  {same} rows have not changed by more than the noise")
    if unknown:
        out.append(f"  not known with fewer than {_LEAST_ROUNDS} rounds in both runs: {', '.join(unknown)}")
    return out


def _change(name: str, then: Range, now: Range, unit: str) -> str:
    more = now.middle > then.middle
    factor = now.middle / then.middle if more else then.middle / now.middle
    word = "more" if more else "less"
    return f"  {name}: {factor:.2f} times {word}, {then} -> {now} {unit}"


def _has_shares(sides: Mapping[str, Any]) -> bool:
    ours, peer = sides[OURS], sides.get(_PEER)
    return peer is not None and len(peer["round_medians"]) == len(ours["round_medians"])


def _range(sides: Mapping[str, Any], *, relative: bool) -> Range:
    medians = sides[OURS]["round_medians"]
    if relative:
        pairs = zip(medians, sides[_PEER]["round_medians"], strict=True)
        medians = [ours / peer for ours, peer in pairs]
    return Range(statistics.median(medians), min(medians), max(medians))
