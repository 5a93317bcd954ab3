"""The factories of torch devices; each is an entry point of ``actorsession.device_factories``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import partial

from actorsession.devices.torch.arrays import TorchArrays
from actorsession.devices.torch.kernels.tables import ROWS, TRANSPARENT
from actorsession.devices.torch.variables import TorchVariable
from actorsession.graph.device import DeviceAttributes
from actorsession.graph.device_kernels import DeviceKernels
from actorsession.runtime.devices import Device, DeviceFactory, new_incarnation
from actorsession.runtime.resources import ResourceManager

__all__ = ["TorchCpu"]


_CPU = TorchArrays()


class TorchCpu(DeviceFactory):
    """``TORCH_CPU``: the processor, with torch's kernels."""

    kernels = DeviceKernels(arrays=lambda device: _CPU, rows=ROWS, transparent=TRANSPARENT)

    def list_physical_devices(self) -> Sequence[str]:
        """Return the one processor."""
        return ("/physical_device:TORCH_CPU:0",)

    def memory_limit(self) -> int:
        """Return the bytes of memory of the machine."""
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")

    def device(self, name: str, device_type: str, incarnation: int | None = None) -> Device:
        """See ``DeviceFactory.device``."""
        attributes = DeviceAttributes(
            name=name,
            device_type=device_type,
            incarnation=new_incarnation() if incarnation is None else incarnation,
            memory_limit=self.memory_limit(),
        )
        return Device(attributes, ResourceManager(make_variable=partial(TorchVariable, arrays=_CPU)))
