"""What the tables of torch kernels share: how a row is written.

A row says which inputs and outputs are tensors of the device; a node with another dtype there is left to the CPU's
kernel. Whole numbers come as numpy arrays, see ``arrays``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import torch

from actorsession.devices.torch.arrays import TORCH_TYPES
from actorsession.graph.device_kernels import DeviceKernel
from actorsession.graph.registry import Kernel, KernelContext

__all__ = ["Refused", "Rows", "Tensor", "fitting", "floats", "ints", "plain", "row"]

Tensor: TypeAlias = torch.Tensor
Rows: TypeAlias = "dict[str, DeviceKernel]"


def row(
    kernel: Callable[[KernelContext], Kernel],
    *,
    host: Sequence[int] = (),
    host_outputs: bool = False,
    aliases: bool = False,
    checks: bool = False,
    emit: str | None = None,
    takes: Callable[[KernelContext], bool] | None = None,
) -> DeviceKernel:
    """Return the row of a kernel that is made for each node.

    Args:
        kernel: makes the function.
        host: inputs that are whole numbers or handles, from the end if negative.
        host_outputs: whether the outputs are whole numbers.
        aliases: see ``DeviceKernel``.
        checks: likewise.
        emit: a format string of the argument expressions, used in place of a call.
        takes: further conditions.
    """

    def fits(context: KernelContext) -> bool:
        inputs = list(context.inputs)
        for k in host:
            if -len(inputs) <= k < len(inputs):
                inputs[k] = None  # type: ignore[call-overload]
        if not all(spec is None or spec.dtype in TORCH_TYPES for spec in inputs):
            return False
        if not host_outputs and not all(spec.dtype in TORCH_TYPES for spec in context.outputs):
            return False
        return takes is None or takes(context)

    expression = None if emit is None else (lambda context, arguments: emit.format(*arguments))
    return DeviceKernel(kernel=kernel, takes=fits, aliases=aliases, checks=checks, emit=expression)


def plain(function: Callable[..., Any], **more: Any) -> DeviceKernel:
    """Return the row of an operation whose node needs no more than a function of its inputs; see ``row``."""
    return row(lambda context: function, **more)


class Refused(ValueError):
    """The values of a node do not fit; the kernel of the CPU says why."""


def fitting(holds: bool) -> None:
    """Refuse the values of a node if something that is required of them does not hold."""
    if not holds:
        raise Refused


def floats(context: KernelContext) -> bool:
    """Return whether no tensor of a node is complex."""
    return not any(spec.dtype.is_complex for spec in (*context.inputs, *context.outputs))


def ints(value: Any) -> list[int]:
    """Return whole numbers of the host as a list."""
    numbers = np.asarray(value)
    return [int(numbers)] if not numbers.ndim else numbers.tolist()
