"""What tests of programs that use this library need: fixtures, comparisons, faults, and clusters in a simulation.

``docs/testing.md`` is the guide. The fixtures of pytest are in the module ``actorsession_pytest``. pytest and
Hypothesis, which the extra ``testing`` installs, are imported by what uses them.
"""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    ".comparison": "assert_same",
    ".faults": "*=faults",
    ".in_process": "InProcessCluster",
    ".leaks": "no_leaks",
    ".simulation.cluster": "SimulatedCluster",
    ".simulation.disk": "SimulatedDisk",
    ".simulation.faults": "Fault Schedule",
    ".simulation.host": "HostCrash SimulatedHost",
    ".simulation.loop": "SimulatedLoop SimulationError",
    ".simulation.network": "SimulatedNetwork",
    ".still_clock": "StillClock",
    ".strategies": "*=strategies",
    "transports.host": "Host current_host on_host",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
