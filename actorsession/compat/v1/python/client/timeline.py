"""``tensorflow.python.client.timeline``: traces of steps in Chrome's format."""

from __future__ import annotations

from actorsession.observe.timeline import ChromeTrace, StepStatsAnalysis, Timeline

__all__ = ["ChromeTrace", "StepStatsAnalysis", "Timeline"]
