"""The factories of torch devices; each is an entry point of ``actorsession.device_factories``."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from actorsession.devices.torch.arrays import TorchArrays
from actorsession.devices.torch.kernels.tables import ROWS, TRANSPARENT
from actorsession.devices.torch.variables import TorchVariable
from actorsession.graph.device_kernels import DeviceKernels
from actorsession.runtime.devices import CpuFactory, DeviceFactory
from actorsession.runtime.resources import ResourceManager

__all__ = ["TorchCpu"]


_CPU = TorchArrays()


class TorchCpu(CpuFactory):
    """``TORCH_CPU``: the processor, with torch's kernels."""

    priority = DeviceFactory.priority
    kernels = DeviceKernels(arrays=lambda device: _CPU, rows=ROWS, transparent=TRANSPARENT, shares_memory=True)

    def list_physical_devices(self) -> Sequence[str]:
        """Return the one processor."""
        return ("/physical_device:TORCH_CPU:0",)

    def resources(self) -> ResourceManager:
        """See ``DeviceFactory.resources``."""
        return ResourceManager(make_variable=partial(TorchVariable, arrays=_CPU))
