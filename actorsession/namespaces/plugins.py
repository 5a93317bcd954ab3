"""What a program registers or replaces: passes, devices, session factories, conversions, publishers.

A module of its own that other programs use imports ``actorsession.extend``.
"""

from __future__ import annotations

from actorsession.lazy_names import lazy_names

_NAMES = {
    "actorsession.cluster.master.stats_publisher": "StatsPublisherFactory StatsPublisherInterface",
    "actorsession.graph.device": "DeviceAttributes",
    "actorsession.ops.derivatives.registry": "NotDifferentiable RegisterGradient",
    "actorsession.plan.passes.registry": (
        "GraphPass PassContext PassGroup PassStatistics PlacedGraph "
        "register_pass=register_graph_pass registered_passes=registered_graph_passes "
        "unregister_pass=unregister_graph_pass"
    ),
    "actorsession.runtime.devices": ("CPU_PRIORITY Device DeviceFactory new_incarnation register_device_factory"),
    "actorsession.runtime.virtual_devices": "VirtualDevices",
    "actorsession.session": ("SessionFactory SessionOptions register_factory=register_session_factory"),
    "actorsession.session.conversions": "register_session_run_conversion_functions",
}

__all__, __getattr__, __dir__ = lazy_names(__name__, _NAMES)
