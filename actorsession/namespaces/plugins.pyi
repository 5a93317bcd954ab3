# Written by scripts/generated.py.
"""What a program registers or replaces: passes, devices, session factories, conversions, publishers.

A module of its own that other programs use imports ``actorsession.extend``.
"""

from actorsession.cluster.master.stats_publisher import (
StatsPublisherFactory as StatsPublisherFactory, StatsPublisherInterface as StatsPublisherInterface
)
from actorsession.graph.device import DeviceAttributes as DeviceAttributes
from actorsession.ops.derivatives.registry import (
NotDifferentiable as NotDifferentiable, RegisterGradient as RegisterGradient
)
from actorsession.plan.passes.registry import (
GraphPass as GraphPass, PassContext as PassContext, PassGroup as PassGroup, PassStatistics as
PassStatistics, PlacedGraph as PlacedGraph, register_pass as register_graph_pass, registered_passes
as registered_graph_passes, unregister_pass as unregister_graph_pass
)
from actorsession.runtime.devices import (
CPU_PRIORITY as CPU_PRIORITY, Device as Device, DeviceFactory as DeviceFactory, new_incarnation as
new_incarnation, register_device_factory as register_device_factory
)
from actorsession.runtime.virtual_devices import VirtualDevices as VirtualDevices
from actorsession.session import (
SessionFactory as SessionFactory, SessionOptions as SessionOptions, register_factory as
register_session_factory
)
from actorsession.session.conversions import register_session_run_conversion_functions as register_session_run_conversion_functions


__all__ = [
"CPU_PRIORITY", "Device", "DeviceAttributes", "DeviceFactory", "GraphPass", "NotDifferentiable",
"PassContext", "PassGroup", "PassStatistics", "PlacedGraph", "RegisterGradient", "SessionFactory",
"SessionOptions", "StatsPublisherFactory", "StatsPublisherInterface", "VirtualDevices",
"new_incarnation", "register_device_factory", "register_graph_pass", "register_session_factory",
"register_session_run_conversion_functions", "registered_graph_passes", "unregister_graph_pass"
]
