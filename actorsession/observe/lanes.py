"""Lanes: concurrent spans, distributed so that no two on one lane overlap.

A trace viewer draws a lane as one line and shows overlapping spans on it as nested calls, which nodes of a
graph are not.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Any

from actorsession.records import dataclass

__all__ = ["Span", "spread"]


@dataclass(slots=True)
class Span:
    """A named interval of time.

    Attributes:
        name: the label in the viewer.
        category: its kind.
        start: nanoseconds since the trace's beginning.
        end: nanoseconds, at least ``start``.
        args: shown in the viewer when the span is clicked.
    """

    name: str
    category: str
    start: int
    end: int
    args: dict[str, Any] = field(default_factory=dict)


def spread(spans: Iterable[Span]) -> list[list[Span]]:
    """Put each span, in the order of their starts, on the first lane that is free by then.

    Args:
        spans: in any order.

    Returns:
        As many lanes as spans overlap at the busiest moment; each is ordered, and a span begins where
        the one before it has ended or later.
    """
    lanes: list[list[Span]] = []
    for span in sorted(spans, key=lambda s: (s.start, s.end)):
        for lane in lanes:
            if lane[-1].end <= span.start:
                lane.append(span)
                break
        else:
            lanes.append([span])
    return lanes
