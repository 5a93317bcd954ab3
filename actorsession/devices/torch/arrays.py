"""The arrays of a torch device: tensors of floating-point, complex and bool types.

Whole numbers stay numpy arrays of the host: most of them are shapes, axes and positions, which kernels have to know
before they begin; those that a kernel needs on the device go there with the call.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np

from actorsession.devices.torch.loading import torch
from actorsession.graph.dtypes import DType, bfloat16, bool_, complex64, complex128, float16, float32, float64, variant
from actorsession.ops.lists.persistent_vector import PersistentVector
from actorsession.ops.lists.values import TensorList

__all__ = ["TORCH_TYPES", "TorchArrays", "borrowed", "positions"]

TORCH_TYPES: dict[DType, torch.dtype] = {
    float16: torch.float16,
    bfloat16: torch.bfloat16,
    float32: torch.float32,
    float64: torch.float64,
    complex64: torch.complex64,
    complex128: torch.complex128,
    bool_: torch.bool,
}
"""The dtypes whose tensors torch devices hold, unless they lack some."""

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_CONJUGATED = frozenset({torch.complex64, torch.complex128})
# Those that ``torch.from_numpy`` takes as they are.
_ALIKE = frozenset({np.dtype(name) for name in ("f4", "f8", "f2", "?", "c8", "c16")})
# Bytes of a tensor that comes to the host by way of pinned memory, from which it is copied once more: that copy takes
# some 50 us for so many. Whether it pays on a GPU was not measured.
_STAGED = 1 << 20
# Bytes of a tensor that is sent by way of pinned memory, which torch keeps for good, in powers of two.
_MOST_STAGED = 1 << 26
_from_numpy = torch.from_numpy
Tensor: TypeAlias = torch.Tensor


class _Writable:
    """Memory that is only read, for torch, which has no such arrays and warns of each."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._array = array  # keeps the memory
        interface = dict(array.__array_interface__)
        interface["data"] = (interface["data"][0], False)
        self.__array_interface__ = interface


def borrowed(value: Any) -> Tensor:
    """Return a numpy array or scalar as a tensor on the CPU, which shares its memory where it can."""
    array = np.asarray(value)
    if array.dtype == _BFLOAT16:
        return borrowed(array.view(np.int16)).view(torch.bfloat16)
    if not array.flags.writeable:
        array = np.asarray(_Writable(array)) if array.size else array.copy()
    try:
        return torch.from_numpy(array)
    except ValueError:  # of negative strides, or in another byte order
        return torch.from_numpy(np.array(array, array.dtype.newbyteorder("=")))


_NUMBERS = (np.ndarray, np.generic, int, float, complex)


def _is_object(value: Any) -> bool:
    return type(value) is np.ndarray and value.dtype.hasobject


class TorchArrays:
    """The arrays of one torch device (the ``DeviceArrays`` protocol).

    Args:
        device: torch's name of the device.
        lacks: the dtypes of ``TORCH_TYPES`` that it has no tensors of.

    Attributes:
        types: the dtypes whose tensors it holds.
        is_host: whether the arrays are in the memory of the host, and so are numpy's as well.
        pins: whether copies to and from the host go through pinned memory, for which the host does not wait.
    """

    def __init__(self, device: str = "cpu", lacks: Set[DType] = frozenset()) -> None:
        self.types = {dtype: known for dtype, known in TORCH_TYPES.items() if dtype not in lacks}
        self.device = torch.device(device)
        self.is_host = self.device.type == "cpu"
        self.pins = self.device.type == "cuda"

    def holds(self, dtype: DType) -> bool:
        """See ``DeviceArrays.holds``: lists of tensors are the device's, too."""
        return dtype in self.types or dtype is variant

    def to_device(self, value: Any) -> Any:
        """See ``DeviceArrays.to_device``; a list and other variants are returned as they are."""
        if type(value) is Tensor:
            return value if value.device == self.device else self._copied(value)
        if self.is_host and isinstance(value, _NUMBERS):
            array = np.asarray(value)
            if array.dtype in _ALIKE and array.flags.writeable:
                try:
                    return _from_numpy(array)  # most values; what ``borrowed`` does beside takes longer
                except ValueError:
                    pass
        if not isinstance(value, _NUMBERS) or _is_object(value):
            return value
        tensor = borrowed(value)
        return tensor if self.is_host else self._copied(tensor)

    def _copied(self, tensor: Tensor) -> Tensor:
        """Return the copy of a tensor of the host or of another device; it waits only where the host gets it."""
        if not self.pins:
            return tensor.to(self.device)
        if tensor.is_cpu:
            # From pinned memory the copy waits for nothing that was launched before; torch keeps it until then.
            tensor = tensor.pin_memory()
        # One from another GPU comes behind what was launched there, and what is launched here comes behind it.
        return tensor.to(self.device, non_blocking=True)

    def to_host(self, value: Any) -> Any:
        """See ``DeviceArrays.to_host``."""
        if type(value) is TensorList:
            return value.like(PersistentVector.of([self.to_host(item) for item in value.items]))
        if type(value) is not Tensor:
            return getattr(value, "on_host", value)  # a variable has both faces
        tensor = value if self.is_host else value.cpu()
        if tensor.dtype is torch.bfloat16:
            array = tensor.contiguous().view(torch.int16).numpy().view(_BFLOAT16)
        else:
            array = (tensor.resolve_conj() if tensor.dtype in _CONJUGATED else tensor).numpy()
        return array if array.ndim else array[()]

    def all_to_host(self, *values: Tensor) -> list[Any]:
        """Return tensors as numpy arrays that share memory with nothing, with one wait for all small ones."""
        small = [value.nbytes <= _STAGED for value in values]
        moved = [
            self._staging(value).copy_(value, non_blocking=True) if is_small else value
            for value, is_small in zip(values, small, strict=True)
        ]
        self._wait()
        arrays = map(self.to_host, moved)
        # What was fetched may be kept for ever, and pinned memory is scarce.
        return [array.copy() if is_small else array for array, is_small in zip(arrays, small, strict=True)]

    def to_pinned(self, value: Any) -> Any:
        """Return a tensor as a numpy array in pinned memory, if it is not huge; anything else as ``to_host`` does.

        The array is to be dropped soon, because pinned memory is scarce.
        """
        if type(value) is Tensor and value.nbytes <= _MOST_STAGED:
            value = self._staging(value).copy_(value, non_blocking=True)
            self._wait()
        return self.to_host(value)

    def _staging(self, value: Tensor) -> Tensor:
        """Return memory of the host into which the device can write a tensor while the host goes on."""
        return torch.empty(value.shape, dtype=value.dtype, pin_memory=True)

    def _wait(self) -> None:
        """Wait for what was launched by this thread."""
        torch.cuda.current_stream(self.device).synchronize()

    def own(self, value: Any) -> Any:
        """See ``DeviceArrays.own``; what is in a list never changes."""
        value = self.to_device(value)
        return value.clone() if type(value) is Tensor else value


def positions(value: Any, like: Tensor) -> Tensor:
    """Return whole numbers of the host as a tensor of int64 beside another one."""
    tensor = value if type(value) is Tensor else borrowed(value)
    return tensor.to(like.device, torch.int64)
