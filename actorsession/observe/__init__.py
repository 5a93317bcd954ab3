"""What can be seen of steps: the trace and timeline of one, and what they moved between processes.

Pure functions on what a traced run and the counters of links report; nothing here runs or measures.
"""

from __future__ import annotations

from actorsession.observe import timeline
from actorsession.observe.trace import chrome_trace, write_trace
from actorsession.observe.traffic import Traffic, traffic

__all__ = ["Traffic", "chrome_trace", "timeline", "traffic", "write_trace"]
