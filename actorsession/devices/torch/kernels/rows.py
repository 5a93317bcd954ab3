"""What the tables of torch kernels share: how a row is written.

A row says which inputs and outputs are tensors of the device; a node with another dtype there is left to the CPU's
kernel. Whole numbers come as numpy arrays, see ``arrays``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
import torch

from actorsession.devices.torch.arrays import TORCH_TYPES
from actorsession.graph.device_kernels import DeviceKernel
from actorsession.graph.registry import Kernel, KernelContext, SumTerm, lookup

__all__ = [
    "NAMESPACE",
    "Refused",
    "Rows",
    "Tensor",
    "as_on_cpu",
    "fitting",
    "floats",
    "ints",
    "known_axes",
    "narrowed",
    "plain",
    "row",
    "widened",
]

NAMESPACE = ModuleType("torch")
"""torch's functions by the names of the array API standard: most have them, the others are added here."""
vars(NAMESPACE).update(vars(torch), permute_dims=torch.permute)
Tensor: TypeAlias = torch.Tensor
Rows: TypeAlias = "dict[str, DeviceKernel]"
Emit: TypeAlias = Callable[[KernelContext, Sequence[str]], "str | None"]


def row(
    kernel: Callable[[KernelContext], Kernel],
    *,
    host: Iterable[int] | Callable[[KernelContext], Iterable[int]] = (),
    host_outputs: bool = False,
    aliases: bool = False,
    checks: bool | Callable[[KernelContext], bool] = False,
    emit: str | Emit | None = None,
    takes: Callable[[KernelContext], bool] | None = None,
    over: Sequence[str] | Callable[[KernelContext], Sequence[str]] = (),
    joins: Kernel | None = None,
    adds: Callable[[KernelContext], SumTerm] | None = None,
) -> DeviceKernel:
    """Return the row of a kernel that is made for each node.

    Args:
        kernel: makes the function.
        host: inputs that are whole numbers or handles, from the end if negative; or what gives them.
        host_outputs: whether the outputs are whole numbers.
        aliases: see ``DeviceKernel``.
        checks: likewise.
        emit: a format string of the argument expressions, used in place of a call; or as in ``DeviceKernel``.
        takes: further conditions.
        over: see ``DeviceKernel``.
        joins: likewise.
        adds: likewise.
    """

    def fits(context: KernelContext) -> bool:
        inputs = list(context.inputs)
        for k in host(context) if callable(host) else host:
            if -len(inputs) <= k < len(inputs):
                inputs[k] = None  # type: ignore[call-overload]
        if not all(spec is None or spec.dtype in TORCH_TYPES for spec in inputs):
            return False
        if not host_outputs and not all(spec.dtype in TORCH_TYPES for spec in context.outputs):
            return False
        return takes is None or takes(context)

    expression = (lambda context, arguments: emit.format(*arguments)) if isinstance(emit, str) else emit
    return DeviceKernel(
        kernel=kernel, takes=fits, aliases=aliases, checks=checks, emit=expression, over=over, joins=joins, adds=adds
    )


def plain(function: Callable[..., Any], **more: Any) -> DeviceKernel:
    """Return the row of an operation whose node needs no more than a function of its inputs; see ``row``."""
    return row(lambda context: function, **more)


def as_on_cpu(context: KernelContext, arguments: Sequence[str]) -> str | None:
    """Return the expression of the CPU's kernel, of methods that tensors have as well; for ``emit``."""
    emit = lookup(context.op).emit
    return None if emit is None else emit(context, arguments)


def known_axes(context: KernelContext, index: int) -> list[int] | None:
    """Return the axes of the first input that another input gives, if they are known, fit, and differ."""
    value, rank = context.constant(index), context.inputs[0].shape.rank
    if value is None or rank is None:
        return None
    axes = ints(value) if value.size else []
    fits = all(-rank <= axis < rank for axis in axes) and len({axis % rank for axis in axes}) == len(axes)
    return axes if fits else None


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


_HALVES = (torch.float16, torch.bfloat16)


def widened(x: Tensor) -> Tensor:
    """Return 16-bit floats as float32, of which sums are made; anything else as it is."""
    return x.float() if x.dtype in _HALVES else x


def narrowed(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of tensors of one dtype, and values of the host, that computes 16-bit floats in float32."""

    def kernel(*values: Any) -> Any:
        dtype = next(value.dtype for value in values if isinstance(value, torch.Tensor))
        if dtype not in _HALVES:
            return function(*values)
        result = function(*[value.float() if isinstance(value, torch.Tensor) else value for value in values])
        if isinstance(result, torch.Tensor):
            return result.to(dtype)
        return tuple([value.to(dtype) if isinstance(value, torch.Tensor) else value for value in result])

    return kernel
