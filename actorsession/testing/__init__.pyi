# Written by scripts/generated.py.
"""What tests of programs that use this library need: fixtures, comparisons, faults, and clusters in a simulation.

``docs/testing.md`` is the guide. The fixtures of pytest are in the module ``actorsession_pytest``. pytest and
Hypothesis, which the extra ``testing`` installs, are imported by what uses them.
"""

from actorsession.testing import faults as faults, strategies as strategies
from actorsession.testing.comparison import assert_same as assert_same
from actorsession.testing.in_process import InProcessCluster as InProcessCluster
from actorsession.testing.leaks import no_leaks as no_leaks
from actorsession.testing.simulation.cluster import SimulatedCluster as SimulatedCluster
from actorsession.testing.simulation.disk import SimulatedDisk as SimulatedDisk
from actorsession.testing.simulation.faults import Fault as Fault, Schedule as Schedule
from actorsession.testing.simulation.host import (
HostCrash as HostCrash, SimulatedHost as SimulatedHost
)
from actorsession.testing.simulation.loop import (
SimulatedLoop as SimulatedLoop, SimulationError as SimulationError
)
from actorsession.testing.simulation.network import SimulatedNetwork as SimulatedNetwork
from actorsession.testing.still_clock import StillClock as StillClock
from transports.host import Host as Host, current_host as current_host, on_host as on_host


__all__ = [
"Fault", "Host", "HostCrash", "InProcessCluster", "Schedule", "SimulatedCluster", "SimulatedDisk",
"SimulatedHost", "SimulatedLoop", "SimulatedNetwork", "SimulationError", "StillClock",
"assert_same", "current_host", "faults", "no_leaks", "on_host", "strategies"
]
