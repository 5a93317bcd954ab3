"""Torch kernels of variables and of the updates of optimisers.

State changes in place where nothing else holds it; see ``TorchVariable.change``. Formulas are those of the kernels of
the CPU. The scalars of an update are tensors of rank 0. Optimisers that have no row here are sentences of array
functions (``ops.training.rules``); large variables on the processor they change with the kernels of the CPU, in the
same memory and block by block.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

from actorsession.devices.torch.arrays import TorchArrays, positions
from actorsession.devices.torch.kernels.indexing import SCATTERS
from actorsession.devices.torch.kernels.rows import Rows, Tensor, row
from actorsession.devices.torch.threads import in_one_thread
from actorsession.devices.torch.variables import FedVariable, TorchVariable
from actorsession.errors import InvalidArgumentError
from actorsession.graph.device_kernels import arrays_of
from actorsession.graph.dtypes import float32, float64
from actorsession.graph.registry import Kernel, KernelContext
from actorsession.ops.variables.state import flat_rows, variable_spec

__all__ = ["ROWS"]

# A step so late that torch's own corrections of the bias are 1: that of TensorFlow is in the rate.
_LATE = torch.tensor(1e9)
# Elements that one thread updates in some 50 us. With two threads for 200,000, a step of a small network takes a tenth
# less.
_FOR_ONE_THREAD = 1 << 17


def _fits(op: str, tensor: Tensor, *others: Tensor) -> None:
    for other in others:
        if tensor.shape != other.shape:
            raise InvalidArgumentError(
                f"{op}: the variable has shape {list(tensor.shape)}, the update {list(other.shape)}; "
                "the two must be the same"
            )


def _adding(sign: int) -> Callable[[KernelContext], Kernel]:
    def make(context: KernelContext) -> Kernel:
        op = context.op

        def add(tensor: Tensor, value: Tensor) -> None:
            _fits(op, tensor, value)
            tensor.add_(value, alpha=sign)

        return lambda variable, value: variable.change(add, value)

    return make


def _scattered(change: Callable[[Tensor, Tensor, Tensor], Any]) -> Callable[[KernelContext], Kernel]:
    def make(context: KernelContext) -> Kernel:
        op = context.op

        def write(tensor: Tensor, indices: Any, updates: Tensor) -> None:
            where, shape = np.asarray(indices).reshape(-1), (*np.shape(indices), *tensor.shape[1:])
            inside = not where.size or (where.min() >= 0 and where.max() < len(tensor))
            if not inside or (updates.ndim and updates.shape != shape):
                flat_rows(op, tensor, indices, np.broadcast_to(0, updates.shape))  # says why
            rows = updates.expand(shape).reshape(where.size, *tensor.shape[1:])
            change(tensor, positions(where, tensor), rows)

        return lambda variable, indices, updates: variable.change(write, indices, updates)

    return make


def _number(scalar: Tensor) -> Any:
    """Return a scalar as torch's functions take it best: as a number, where reading it waits for nothing."""
    return scalar.item() if scalar.is_cpu else scalar


def _descent(context: KernelContext) -> Kernel:
    op = context.op

    def step(tensor: Tensor, rate: Tensor, delta: Tensor) -> None:
        _fits(op, tensor, delta)
        if rate.is_cpu:
            tensor.add_(delta, alpha=-rate.item())
        else:
            tensor.addcmul_(delta, rate, value=-1)

    return lambda variable, rate, delta: variable.change(step, rate, delta)


def _update(variable: Any, slots: list[Any], step: Callable[..., None]) -> None:
    """Call ``step(tensor, *slots)``, which changes them all; they are locked in the order of the CPU's kernels."""

    def locked(held: list[Tensor], left: list[Any]) -> None:
        left[0].change(lambda tensor: locked([*held, tensor], left[1:]) if left[1:] else step(tensor, *held))

    locked([], [*slots, variable])


def _momentum(context: KernelContext) -> Kernel:
    op, nesterov = context.op, bool(context.attrs["use_nesterov"])

    def kernel(variable: Any, accumulator: Any, rate: Tensor, gradient: Tensor, momentum: Tensor) -> None:
        def step(tensor: Tensor, speed: Tensor) -> None:
            _fits(op, tensor, gradient, speed)
            factor = _number(momentum)
            speed.mul_(factor).add_(gradient)
            ahead = gradient + speed * factor if nesterov else speed
            tensor.sub_(ahead * _number(rate))

        _update(variable, [accumulator], step)

    return kernel


def _adam_in_one_pass(tensor: Tensor, m: Tensor, v: Tensor, gradient: Tensor, **numbers: float) -> None:
    """Update by the one function in which torch has all of Adam, which passes over memory once."""
    lists: list[list[Tensor]] = [[tensor], [gradient.contiguous()], [m], [v], [], [_LATE]]
    numbers |= {"weight_decay": 0.0, "amsgrad": False, "maximize": False}
    if tensor.numel() <= _FOR_ONE_THREAD:
        in_one_thread(torch._fused_adam_, *lists, **numbers)
    else:
        torch._fused_adam_(*lists, **numbers)


def _adam(context: KernelContext) -> Kernel:
    op, nesterov = context.op, bool(context.attrs["use_nesterov"])
    has_one_pass = not nesterov and hasattr(torch, "_fused_adam_") and context.inputs[-1].dtype in (float32, float64)

    def kernel(
        variable: Any,
        m: Any,
        v: Any,
        power1: Tensor,
        power2: Tensor,
        lr: Tensor,
        beta1: Tensor,
        beta2: Tensor,
        epsilon: Tensor,
        gradient: Tensor,
    ) -> None:
        # In double precision: near the start of training 1 - power2 has few digits.
        if lr.is_cpu:
            rate = lr.item() * math.sqrt(1.0 - power2.item()) / (1.0 - power1.item())
        else:
            wide = torch.float32 if lr.device.type == "mps" else torch.float64  # which Apple's GPUs lack
            rate = (lr.to(wide) * (1 - power2.to(wide)).sqrt() / (1 - power1.to(wide))).to(lr.dtype)
        decay1, decay2, least = _number(beta1), _number(beta2), _number(epsilon)

        def step(tensor: Tensor, first: Tensor, second: Tensor) -> None:
            _fits(op, tensor, gradient, first, second)
            is_simple = has_one_pass and lr.is_cpu and max(decay1, decay2) < 1.0
            if is_simple and tensor.is_contiguous() and first.is_contiguous() and second.is_contiguous():
                numbers = {"lr": rate, "beta1": decay1, "beta2": decay2, "eps": least}
                _adam_in_one_pass(tensor, first, second, gradient, **numbers)
                return
            first.lerp_(gradient, 1 - decay1)
            if lr.is_cpu:
                second.mul_(decay2).addcmul_(gradient, gradient, value=1 - decay2)
            else:
                second.lerp_(gradient * gradient, 1 - decay2)
            below = torch.sqrt(second).add_(least)
            above = first * decay1 + gradient * (1 - decay1) if nesterov else first
            if lr.is_cpu:
                tensor.addcdiv_(above, below, value=-rate)
            else:
                tensor.sub_(torch.div(above, below).mul_(rate))

        _update(variable, [m, v], step)

    return kernel


def _temporary(context: KernelContext) -> Kernel:
    spec, arrays = variable_spec(context.attrs), arrays_of(context.device)
    assert isinstance(arrays, TorchArrays)

    def kernel() -> TorchVariable:
        variable = TorchVariable(context.name, spec, arrays)
        variable.assign(np.zeros(spec.shape.as_tuple(), spec.dtype.np_dtype))
        return variable

    return kernel


def _fed(context: KernelContext) -> Kernel:
    spec, arrays = context.inputs[0], arrays_of(context.device)
    assert isinstance(arrays, TorchArrays)
    return lambda value: FedVariable(context.name, spec, arrays, value)


ROWS: Rows = {
    "TemporaryHandle": row(_temporary, host_outputs=True),
    "ReferenceHandle": row(_fed, host_outputs=True),
    "AssignAddVariableOp": row(_adding(1), host=[0]),
    "AssignSubVariableOp": row(_adding(-1), host=[0]),
    **{f"ResourceScatter{kind}": row(_scattered(SCATTERS[kind]), host=[0, 1]) for kind in ("Add", "Sub")},
    "ResourceApplyGradientDescent": row(_descent, host=[0]),
    "ResourceApplyMomentum": row(_momentum, host=[0, 1]),
    "ResourceApplyAdam": row(_adam, host=[0, 1, 2]),
}
