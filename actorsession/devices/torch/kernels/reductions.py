"""Torch kernels of reductions, and of what runs along an axis."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from actorsession.devices.torch.kernels.rows import Rows, Tensor, fitting, floats, ints, known_axes, row, widened
from actorsession.graph.registry import Kernel, KernelContext

__all__ = ["ROWS"]

Reduce = Callable[[Tensor, list[int], bool], Tensor]


def _reduction(reduce: Reduce) -> Callable[[KernelContext], Kernel]:
    def make(context: KernelContext) -> Kernel:
        keep = bool(context.attrs["keep_dims"])
        known = context.constant(1)
        if known is not None:
            axes = ints(known)
            return (lambda x, _: reduce(x, axes, keep)) if axes else (lambda x, _: x.clone())

        def kernel(x: Tensor, where: Any) -> Tensor:
            axes = ints(where)
            return reduce(x, axes, keep) if axes else x.clone()

        return kernel

    return make


def _emitted(method: str) -> Callable[[KernelContext, Sequence[str]], str | None]:
    """Return what gives a method's call, where axes are known and there are elements."""

    def emit(context: KernelContext, arguments: Sequence[str]) -> str | None:
        axes = known_axes(context, 1)
        if not axes or not context.inputs[0].shape.num_elements():
            return None
        return f"{arguments[0]}.{method}({axes}, {bool(context.attrs['keep_dims'])})"

    return emit


def _log_sums(x: Tensor, axis: int) -> Tensor:
    fitting(not bool(torch.isnan(x).any()))  # of which TensorFlow's kernel makes something else
    return torch.logcumsumexp(x, axis)


def _product(x: Tensor, axes: list[int], keep: bool) -> Tensor:
    fitting(len({axis % max(x.ndim, 1) for axis in axes}) == len(axes) and all(-x.ndim <= a < x.ndim for a in axes))
    for axis in sorted([axis % max(x.ndim, 1) for axis in axes], reverse=True):
        x = torch.prod(x, axis, keepdim=True)
    return x if keep else x.reshape([n for k, n in enumerate(x.shape) if k not in {a % max(x.ndim, 1) for a in axes}])


def _extremum(reduce: Any, without: float) -> Reduce:
    def extremum(x: Tensor, axes: list[int], keep: bool) -> Tensor:
        if not x.numel():
            shape = [1 if k in {a % x.ndim for a in axes} else n for k, n in enumerate(x.shape)]
            if not keep:
                shape = [n for k, n in enumerate(x.shape) if k not in {a % x.ndim for a in axes}]
            return torch.full(shape, without, dtype=x.dtype, device=x.device)
        return reduce(x, axes, keep)

    return extremum


def _norm(x: Tensor, axes: list[int], keep: bool) -> Tensor:
    wide = widened(x)
    return torch.sqrt(torch.sum((wide * wide.conj()).real if x.is_complex() else wide * wide, axes, keep)).to(x.dtype)


def _arg(function: Any) -> Callable[[KernelContext], Kernel]:
    def make(context: KernelContext) -> Kernel:
        dtype = context.outputs[0].dtype.np_dtype
        without = -math.inf if function is torch.argmax else math.inf  # NaN is neither the largest nor the smallest

        def kernel(x: Tensor, axis: Any) -> Any:
            fitting(x.numel() > 0)  # of an axis without elements there is no position, which the CPU's kernel says
            places = function(torch.where(torch.isnan(x), without, x), int(axis))
            return places.cpu().numpy().astype(dtype)[()]

        return kernel

    return make


def _cumulative(function: Any, start: float) -> Callable[[KernelContext], Kernel]:
    def make(context: KernelContext) -> Kernel:
        exclusive, reverse = bool(context.attrs["exclusive"]), bool(context.attrs["reverse"])

        def kernel(x: Tensor, where: Any) -> Tensor:
            axis = int(where)
            fitting(x.ndim > 0)
            x = torch.flip(x, [axis]) if reverse else x
            if exclusive and x.shape[axis]:
                first = torch.full_like(x.narrow(axis, 0, 1), start)
                x = torch.cat([first, x.narrow(axis, 0, x.shape[axis] - 1)], axis)
            out = function(x, axis)
            return torch.flip(out, [axis]) if reverse else out

        return kernel

    return make


ROWS: Rows = {
    "Sum": row(_reduction(torch.sum), host=[1], emit=_emitted("sum")),
    "Mean": row(_reduction(torch.mean), host=[1], emit=_emitted("mean")),
    "EuclideanNorm": row(_reduction(_norm), host=[1]),
    "Prod": row(_reduction(_product), host=[1]),
    "Max": row(_reduction(_extremum(torch.amax, -np.inf)), host=[1], takes=floats, emit=_emitted("amax")),
    "Min": row(_reduction(_extremum(torch.amin, np.inf)), host=[1], takes=floats, emit=_emitted("amin")),
    "All": row(_reduction(torch.all), host=[1], emit=_emitted("all")),
    "Any": row(_reduction(torch.any), host=[1], emit=_emitted("any")),
    "ArgMax": row(_arg(torch.argmax), host=[1], host_outputs=True, checks=True, takes=floats),
    "ArgMin": row(_arg(torch.argmin), host=[1], host_outputs=True, checks=True, takes=floats),
    "Cumsum": row(_cumulative(torch.cumsum, 0), host=[1]),
    "Cumprod": row(_cumulative(torch.cumprod, 1), host=[1]),
    "CumulativeLogsumexp": row(_cumulative(_log_sums, -math.inf), host=[1], checks=True),
}
