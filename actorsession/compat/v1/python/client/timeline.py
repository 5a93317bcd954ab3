"""``tensorflow.python.client.timeline``: drawings of what a step did."""

from __future__ import annotations

from actorsession.observe.timeline import ChromeTrace, StepStatsAnalysis, Timeline

__all__ = ["ChromeTrace", "StepStatsAnalysis", "Timeline"]
