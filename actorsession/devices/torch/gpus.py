"""The kinds of GPUs that torch computes on, and what differs between them: a table.

``TorchGpu`` has devices of the first kind of which it finds any. Nothing here was tried on a GPU.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from actorsession.devices.torch.arrays import TorchArrays
from actorsession.devices.torch.groups import nccl
from actorsession.devices.torch.lending import cuda_lending
from actorsession.devices.torch.loading import torch
from actorsession.graph.collective_call import DeviceGroups
from actorsession.graph.device_kernels import DeviceClock, Lending
from actorsession.graph.dtypes import DType, complex128, float64
from actorsession.records import dataclass

__all__ = ["CUDA", "KINDS", "MPS", "CudaClock", "GpuKind"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuKind:
    """A kind of GPUs; its functions take the number of one.

    Attributes:
        find: returns how many there are.
        arrays: returns the arrays of one.
        memory: returns the bytes of its memory.
        taken: returns how many of these are in tensors of this process, and how many the process keeps in all.
        limit: has the process take no more than a share of its memory.
        clock: returns its clock, for traces.
        groups: returns the libraries for collectives, given what returns torch's name of a device with a full name.
        lending: returns what lends its tensors to other processes, given what returns the arrays of a device.
        prepare: is called before the first session has one.
        lacks: the dtypes of TORCH_CPU that it has no tensors of; they stay those of the host. torch does not have all
            its kernels there either, and those of the CPU are asked for what fails.
    """

    find: Callable[[], int]
    arrays: Callable[[int], TorchArrays]
    memory: Callable[[int], int]
    taken: Callable[[int], tuple[int, int]]
    limit: Callable[[int, float], None]
    clock: Callable[[int], DeviceClock | None] = lambda number: None
    groups: Callable[[Callable[[str], Any]], Mapping[str, DeviceGroups]] = lambda device: {}
    lending: Callable[[Callable[[str], TorchArrays]], Lending | None] = lambda arrays: None
    prepare: Callable[[], None] = lambda: None
    lacks: frozenset[DType] = frozenset()


class CudaClock:
    """The clock of a GPU (the ``DeviceClock`` protocol); its marks are events.

    Args:
        number: of the GPU.
    """

    def __init__(self, number: int) -> None:
        self._number = number

    def mark(self) -> Any:
        """See ``DeviceClock.mark``."""
        event = torch.cuda.Event(enable_timing=True)
        event.record(torch.cuda.current_stream(self._number))
        return event

    def seconds(self, since: Any, until: Any) -> float:
        """See ``DeviceClock.seconds``."""
        since.synchronize()
        until.synchronize()
        return float(since.elapsed_time(until)) / 1e3


def _compute_in_full_precision() -> None:
    """Have products summed in float32 at least; torch takes fewer bits in some unless it is told otherwise."""
    for operations in (torch.backends.cuda.matmul, torch.backends.cudnn.conv, torch.backends.cudnn.rnn):
        operations.fp32_precision = "ieee"
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False


CUDA = GpuKind(
    find=lambda: torch.cuda.device_count(),
    arrays=lambda number: TorchArrays(f"cuda:{number}"),
    memory=lambda number: torch.cuda.get_device_properties(number).total_memory,
    taken=lambda number: (torch.cuda.memory_allocated(number), torch.cuda.memory_reserved(number)),
    limit=lambda number, fraction: torch.cuda.set_per_process_memory_fraction(fraction, number),
    clock=CudaClock,
    groups=nccl,
    lending=cuda_lending,
    prepare=_compute_in_full_precision,
)

_WIDE = frozenset({float64, complex128})

MPS = GpuKind(
    find=lambda: torch.mps.device_count(),
    arrays=lambda number: TorchArrays(f"mps:{number}", lacks=_WIDE),
    memory=lambda number: torch.mps.recommended_max_memory(),
    taken=lambda number: (torch.mps.current_allocated_memory(), torch.mps.driver_allocated_memory()),
    limit=lambda number, fraction: torch.mps.set_per_process_memory_fraction(fraction),
    lacks=_WIDE,
)

KINDS = (CUDA, MPS)
"""The kinds of GPUs, the one that is preferred first."""
