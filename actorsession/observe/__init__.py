"""What can be seen of a step: its trace, and what it moved between processes.

Pure functions on the ``StepStats`` that a traced run reports; nothing here runs or measures anything.
"""

from __future__ import annotations

from actorsession.observe.trace import chrome_trace, write_trace
from actorsession.observe.traffic import StepTraffic, step_traffic

__all__ = ["StepTraffic", "chrome_trace", "step_traffic", "write_trace"]
