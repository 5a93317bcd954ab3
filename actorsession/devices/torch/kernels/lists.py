"""Torch kernels of lists of tensors, which hold the device's tensors as they are.

A list may have numpy arrays beside them: items that came from elsewhere, and the zeros of items that were never set.
Who reads an item turns it into a tensor; who takes a list off the device, its items into arrays
(``TorchArrays.to_host``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from actorsession.devices.torch.arrays import TORCH_TYPES
from actorsession.devices.torch.kernels.rows import Rows, Tensor
from actorsession.graph.device_kernels import DeviceKernel, arrays_of
from actorsession.graph.registry import Kernel, KernelContext, lookup
from actorsession.ops.lists.operands import of_dtype, shape_reader
from actorsession.ops.lists.persistent_vector import PersistentVector
from actorsession.ops.lists.values import TensorList

__all__ = ["ROWS"]


def _on_device(context: KernelContext) -> Callable[[Any], Any]:
    """Return the function that makes an item of a list a value of the device."""
    arrays = arrays_of(context.device)
    assert arrays is not None
    return arrays.to_device if context.attrs["element_dtype"] in TORCH_TYPES else lambda value: value


def _get(context: KernelContext) -> Kernel:
    read, to_device = lookup(context.op).kernel(context), _on_device(context)
    return lambda *values: to_device(read(*values))


def _pop(context: KernelContext) -> Kernel:
    pop, to_device = lookup(context.op).kernel(context), _on_device(context)

    def kernel(*values: Any) -> tuple[TensorList, Any]:
        rest, item = pop(*values)
        return rest, to_device(item)

    return kernel


def _stacked(context: KernelContext) -> Callable[[TensorList, Any], Any]:
    """Return the function that makes a tensor of the items of a list."""
    to_device, read = _on_device(context), shape_reader(context, len(context.inputs) - 1)
    dtype = context.attrs["element_dtype"]

    def stack(elements: TensorList, element_shape: Any) -> Tensor:
        items, dims = of_dtype(elements, dtype).values(read(element_shape))
        if not items:
            return to_device(np.zeros((0, *dims), dtype.np_dtype))
        return torch.stack([to_device(item) for item in items])

    return stack


def _stack(context: KernelContext) -> Kernel:
    if context.attrs["element_dtype"] not in TORCH_TYPES:
        return lookup(context.op).kernel(context)
    count, stacked = context.attrs["num_elements"], _stacked(context)
    refuse = lookup(context.op).kernel(context)
    return lambda elements, shape: (stacked if count < 0 or count == len(elements) else refuse)(elements, shape)


def _gather(context: KernelContext) -> Kernel:
    if context.attrs["element_dtype"] not in TORCH_TYPES:
        return lookup(context.op).kernel(context)
    refuse, stacked = lookup(context.op).kernel(context), _stacked(context)

    def kernel(elements: TensorList, indices: Any, shape: Any) -> Any:
        places, held = indices.tolist(), elements.items
        if not all(0 <= place < len(held) for place in places):
            return refuse(elements, indices, shape)
        elements.read(*places)
        chosen = PersistentVector.of([held[place] for place in places])
        return stacked(TensorList(elements.element_dtype, elements.element_shape, chosen), shape)

    return kernel


ROWS: Rows = {
    "TensorListGetItem": DeviceKernel(kernel=_get, aliases=True),
    "TensorListPopBack": DeviceKernel(kernel=_pop, aliases=True),
    "TensorListStack": DeviceKernel(kernel=_stack),
    "TensorListGather": DeviceKernel(kernel=_gather),
}
