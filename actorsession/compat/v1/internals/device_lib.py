"""``device_lib`` and ``device_attributes_pb2``: the devices of this process."""

from __future__ import annotations

from typing import Any

from actorsession.interop.message import Message

__all__ = ["DeviceAttributes", "DeviceLocality", "list_local_devices"]


class DeviceLocality(Message):
    """Where a device stands in its machine."""

    SCHEMA = """
        1 bus_id int32
        2 numa_node int32
    """


class DeviceAttributes(Message):
    """A device as a message."""

    SCHEMA = """
        1 name string
        2 device_type string
        4 memory_limit int64
        5 locality DeviceLocality
        6 incarnation fixed64
        7 physical_device_desc string
        8 xla_global_id int64
    """


def list_local_devices(session_config: Any = None) -> list[DeviceAttributes]:
    """Return the devices of this process.

    Args:
        session_config: settings of sessions, such as how many devices there are.
    """
    from actorsession.compat.v1.graphs import Graph
    from actorsession.compat.v1.sessions import Session

    with Session(graph=Graph(), config=session_config) as session:
        found = session.list_devices()
    return [
        DeviceAttributes(
            name="/" + device.name.rpartition("/")[2],
            device_type=device.device_type,
            memory_limit=device.memory_limit,
            incarnation=device.incarnation,
            locality=DeviceLocality(),
        )
        for device in found
    ]
