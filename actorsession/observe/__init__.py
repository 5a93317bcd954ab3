"""Observation of steps: the trace and timeline of a step, and the traffic between processes.

Pure functions on the reports of a traced run and the counters of links; nothing here runs or measures.
"""

from __future__ import annotations

from actorsession.observe import timeline
from actorsession.observe.trace import chrome_trace, write_trace
from actorsession.observe.traffic import Traffic, traffic

__all__ = ["Traffic", "chrome_trace", "timeline", "traffic", "write_trace"]
