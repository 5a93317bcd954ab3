"""Observation of steps: the trace, critical path and timeline of a step, and the traffic between processes.

Pure functions on the reports of a traced run and the counters of links; nothing here runs or measures.
"""

from __future__ import annotations

from actorsession.observe import timeline
from actorsession.observe.critical_path import CriticalPath, PathRow, critical_path
from actorsession.observe.trace import chrome_trace, write_trace
from actorsession.observe.traffic import Traffic, traffic

__all__ = ["CriticalPath", "PathRow", "Traffic", "chrome_trace", "critical_path", "timeline", "traffic", "write_trace"]
