"""``tensorflow.python.client.timeline``: traces of steps in Chrome's format."""

from __future__ import annotations

from typing import Any

from actorsession.compat.v1.sessions.runs import step_stats_of
from actorsession.observe import timeline as plain
from actorsession.observe.timeline import ChromeTrace, StepStatsAnalysis

__all__ = ["ChromeTrace", "StepStatsAnalysis", "Timeline"]


class Timeline(plain.Timeline):
    """The timeline of one step.

    Args:
        step_stats: ``RunMetadata.step_stats`` of a run with ``RunOptions.trace_level`` set.
        graph: accepted as in TensorFlow; the statistics contain everything that is drawn.

    Raises:
        TypeError: for anything but step statistics.
    """

    def __init__(self, step_stats: Any, graph: Any = None) -> None:
        super().__init__(step_stats_of(step_stats), graph)
