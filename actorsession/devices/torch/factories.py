"""The factories of torch devices; each is an entry point of ``actorsession.device_factories``."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial

from actorsession.config import ConfigProto
from actorsession.devices.torch.arrays import TorchArrays
from actorsession.devices.torch.compiler import TorchCompiler
from actorsession.devices.torch.gpus import KINDS, GpuKind
from actorsession.devices.torch.groups import gloo
from actorsession.devices.torch.kernels.rows import NAMESPACE
from actorsession.devices.torch.kernels.tables import HOSTED, ROWS, TRANSPARENT, compiles
from actorsession.devices.torch.threads import USUAL_THREADS, SideBySide
from actorsession.devices.torch.variables import TorchVariable
from actorsession.drawing.text import byte_size
from actorsession.errors import AlreadyExistsError, InvalidArgumentError
from actorsession.graph.device import DeviceSpec
from actorsession.graph.device_kernels import DeviceKernel, DeviceKernels
from actorsession.graph.dtypes import DType
from actorsession.graph.registry import KernelContext
from actorsession.runtime.devices import CpuFactory, Device, DeviceFactory
from actorsession.runtime.resources import ResourceManager
from actorsession.whole_numbers import is_index

__all__ = ["TorchCpu", "TorchGpu", "visible_gpus"]

_FAMILY = "torch"
_log = logging.getLogger(__name__)


class TorchCpu(CpuFactory):
    """``TORCH_CPU``: the processor, with torch's kernels."""

    priority = DeviceFactory.priority

    def __init__(self) -> None:
        self._arrays = TorchArrays()
        self.kernels: DeviceKernels = DeviceKernels(
            arrays=lambda device: self._arrays,
            rows=ROWS,
            namespace=NAMESPACE,
            transparent=TRANSPARENT,
            hosted=HOSTED,
            shares_memory=True,
            side_by_side=SideBySide() if USUAL_THREADS > 1 else None,
            groups=gloo(),
            compiler=TorchCompiler(),
            compiles=compiles,
            family=_FAMILY,
        )

    def list_physical_devices(self) -> Sequence[str]:
        """Return the one processor."""
        return ("/physical_device:TORCH_CPU:0",)

    def resources(self, device: str) -> ResourceManager:
        """See ``DeviceFactory.resources``."""
        return ResourceManager(make_variable=partial(TorchVariable, arrays=self._arrays))


def visible_gpus(listed: str, there: int) -> tuple[int, ...]:
    """Return the numbers of the GPUs that a session may use, in the order of its devices.

    Args:
        listed: ``GPUOptions.visible_device_list``.
        there: how many GPUs the machine has; where it has none, nothing that is listed is wrong.

    Raises:
        InvalidArgumentError: for what is no list of numbers, or a number twice, or one of no GPU.
    """
    if not listed.strip() or not there:
        return tuple(range(there))
    words = [word.strip() for word in listed.split(",")]
    if not all(is_index(word) and int(word) < there for word in words) or len({int(w) for w in words}) < len(words):
        raise InvalidArgumentError(
            f"visible_device_list is a list of different numbers of GPUs, from 0 to {there - 1}, such as '0'; "
            f"got {listed!r:.100}"
        )
    return tuple(map(int, words))


class TorchGpu(DeviceFactory):
    """``GPU``: the GPUs that torch finds, of the first kind of which there are any, with its kernels.

    Which of them ``GPU:0`` is holds for the whole process, because the code of a plan knows devices by name.

    Attributes:
        kinds: the kinds of GPUs that are looked for.
        kind: the one whose GPUs it has.
    """

    priority = 210  # TensorFlow's
    kinds: Sequence[GpuKind] = KINDS

    def __init__(self) -> None:
        self.kind = kind = next((kind for kind in self.kinds if kind.find()), self.kinds[0])
        self._lock = threading.Lock()
        self._numbers: dict[int, int] = {}  # of the GPU of a device, by that of the device
        self._arrays: dict[int, TorchArrays] = {}  # of a device, likewise
        self.kernels: DeviceKernels = DeviceKernels(
            arrays=self._arrays_of,
            rows=_rows_without(kind.lacks) if kind.lacks else ROWS,
            namespace=NAMESPACE,
            lacks_functions=bool(kind.lacks),
            transparent=TRANSPARENT,
            hosted=HOSTED,
            compiler=TorchCompiler(),
            compiles=compiles,
            memory=self._taken,
            family=_FAMILY,
            clock=lambda device: kind.clock(self._number(device)),
            groups=kind.groups(lambda device: self._arrays_of(device).device),
            all_to_host=lambda device: arrays.all_to_host if (arrays := self._arrays_of(device)).pins else None,
            lending=kind.lending(self._arrays_of),
            staged=lambda device: arrays.to_pinned if (arrays := self._arrays_of(device)).pins else None,
        )

    def list_physical_devices(self) -> Sequence[str]:
        """Return a name for each GPU."""
        return [f"/physical_device:GPU:{number}" for number in range(self.kind.find())]

    def count_devices(self, asked: int | None, config: ConfigProto) -> int:
        """Return how many there are for the session, and as in TensorFlow no more than it asks for."""
        there = len(visible_gpus(config.gpu_options.visible_device_list, self.kind.find()))
        if asked is not None and asked > there:
            _log.warning("device_count gives GPU %d, and torch finds %d that may be used", asked, there)
        return there if asked is None else min(asked, there)

    def create_devices(self, device_type: str, task: str, count: int, config: ConfigProto) -> Sequence[Device]:
        """See ``DeviceFactory.create_devices``.

        Raises:
            AlreadyExistsError: if a device is another GPU in a session of this process that was made before.
            InvalidArgumentError: for a fraction above 1.
        """
        options = config.gpu_options
        if options.per_process_gpu_memory_fraction > 1:
            raise InvalidArgumentError(
                "per_process_gpu_memory_fraction is at most 1, because memory of the host is not used for a GPU's; "
                f"got {options.per_process_gpu_memory_fraction}"
            )
        with self._lock:
            if not self._numbers:
                self.kind.prepare()
            for index, number in enumerate(visible_gpus(options.visible_device_list, self.kind.find())[:count]):
                if self._numbers.setdefault(index, number) != number:
                    raise AlreadyExistsError(
                        f"GPU:{index} is GPU {self._numbers[index]} of the machine since an earlier session of this "
                        f"process, and visible_device_list={options.visible_device_list!r:.100} makes it {number}; "
                        "give all sessions the same list"
                    )
                self._arrays.setdefault(index, self.kind.arrays(number))
                if options.per_process_gpu_memory_fraction:
                    self.kind.limit(number, options.per_process_gpu_memory_fraction)
        return super().create_devices(device_type, task, count, config)

    def device(self, name: str, device_type: str, incarnation: int | None = None) -> Device:
        """See ``DeviceFactory.device``."""
        device = super().device(name, device_type, incarnation)
        memory = self.kind.memory(self._number(name))
        return replace(device, attributes=replace(device.attributes, memory_limit=memory))

    def resources(self, device: str) -> ResourceManager:
        """See ``DeviceFactory.resources``."""
        return ResourceManager(make_variable=partial(TorchVariable, arrays=self._arrays_of(device)))

    def _arrays_of(self, device: str) -> TorchArrays:
        return self._arrays.get(_index(device)) or self.kind.arrays(self._number(device))

    def _number(self, device: str) -> int:
        """Return the number of the GPU of a device; a plan may be made for one of another process."""
        index = _index(device)
        return self._numbers.get(index, index)

    def _taken(self, device: str) -> str:
        tensors, kept = self.kind.taken(self._number(device))
        return f"this process has {byte_size(tensors)} of the GPU in tensors and keeps {byte_size(kept)} in all"


def _index(device: str) -> int:
    """Return the number of a device, given its full name."""
    return DeviceSpec.parse(device).device_index or 0


def _rows_without(lacks: Set[DType]) -> Mapping[str, DeviceKernel]:
    """Return the rows for a device that has no tensors of some dtypes, nor all of torch's kernels."""

    def having(takes: Callable[[KernelContext], bool]) -> Callable[[KernelContext], bool]:
        return lambda context: (
            lacks.isdisjoint([spec.dtype for spec in (*context.inputs, *context.outputs)]) and takes(context)
        )

    return {op: replace(row, takes=having(row.takes), checks=True) for op, row in ROWS.items()}
