"""``device_lib`` and ``device_attributes_pb2``: the devices of this process."""

from __future__ import annotations

from typing import Any

from actorsession.interop.tabled import message_class

__all__ = ["DeviceAttributes", "DeviceLocality", "list_local_devices"]

DeviceAttributes: Any = message_class("DeviceAttributes")
DeviceLocality: Any = message_class("DeviceLocality")


def list_local_devices(session_config: Any = None) -> list[Any]:
    """Return the devices of this process.

    Args:
        session_config: settings of sessions, such as how many devices there are.
    """
    from actorsession.compat.v1.graphs.graph import Graph
    from actorsession.compat.v1.sessions.session import Session

    with Session(graph=Graph(), config=session_config) as session:
        devices = session.list_devices()
    return [
        DeviceAttributes(
            name="/" + device.name.rpartition("/")[2],
            device_type=device.device_type,
            memory_limit=device.memory_limit_bytes,
            incarnation=device.incarnation,
            locality=DeviceLocality(),
            xla_global_id=-1,
        )
        for device in devices
    ]
