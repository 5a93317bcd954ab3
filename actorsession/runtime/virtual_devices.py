"""Devices of a type that this machine does not have: the CPU computes for them.

A program written for several GPUs is placed, partitioned and run as on a machine with these GPUs, so that it
can be developed, tested and debugged without one. XLA's ``xla_force_host_platform_device_count`` serves the
same purpose. Programs register a ``VirtualDevices`` under the name of the type.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from actorsession.runtime.devices import DeviceFactory

__all__ = ["VirtualDevices"]


class VirtualDevices(DeviceFactory):
    """A number of devices whose operations run on the CPU.

    Operations without a requested device stay on the CPU, unless the type is registered with a priority
    above ``CPU_PRIORITY``.

    Args:
        count: number of devices of each session that does not set it in ``device_count``.
        without: op types that the devices do not run, as a GPU runs no string operations.
        memory_limit: bytes that each device reports; the limit is not enforced.

    Raises:
        ValueError: if ``count`` is negative.
    """

    def __init__(self, count: int = 1, *, without: Collection[str] = (), memory_limit: int = 0) -> None:
        if count < 0:
            raise ValueError(f"the number of virtual devices is 0 or more, got {count}")
        self._count = count
        self._without = frozenset(without)
        self._memory_limit = memory_limit

    def list_physical_devices(self) -> Sequence[str]:
        """Return a name for each device."""
        return [f"/physical_device:VIRTUAL:{index}" for index in range(self._count)]

    def memory_limit(self) -> int:
        """Return the bytes of memory that each device reports."""
        return self._memory_limit

    def supports(self, op_type: str) -> bool:
        """Return whether the devices run operations of a type."""
        return op_type not in self._without
