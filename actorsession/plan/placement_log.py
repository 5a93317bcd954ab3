"""The log of ``log_device_placement``: the devices of a session, and the device of every node.

Lines begin as TensorFlow's do, so that tools for its logs read these; here they also give the reason. Called
by direct sessions, and by masters for the sessions of their clients.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence

from actorsession.graph.device import DeviceAttributes
from actorsession.graph.node import NodeDef
from actorsession.plan.place import Placed

__all__ = ["PLACEMENT_LOG", "log_devices", "log_placement"]

PLACEMENT_LOG = "actorsession.session.placement"
"""Name of the logger, for handlers that want nothing else."""

_log = logging.getLogger(PLACEMENT_LOG)


def log_devices(devices: Sequence[DeviceAttributes]) -> None:
    """Log the devices of a new session, the client device first."""
    lines = (f"{d.name} -> device type: {d.device_type}, memory limit: {d.memory_limit} bytes" for d in devices)
    _log.info("Device mapping:\n%s", "\n".join(lines))


def log_placement(nodes: Iterable[NodeDef], placed: Mapping[str, Placed]) -> None:
    """Log a line for each node that was placed: name, type, device and reason."""
    for node in nodes:
        where = placed.get(node.name)
        if where is not None:
            _log.info("%s: (%s): %s (%s)", node.name, node.op, where.device, where.reason)
