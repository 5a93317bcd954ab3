"""Torch kernels of operations that work element by element: torch's own functions, and what the CPU does otherwise.

Most others are sentences of array functions, in the rows of their operation types.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from actorsession.devices.torch.arrays import TORCH_TYPES
from actorsession.devices.torch.kernels.rows import Rows, Tensor, fitting, floats, narrowed, plain, row
from actorsession.graph.registry import Kernel, KernelContext

__all__ = ["ROWS"]

aten = torch.ops.aten


def _cast(context: KernelContext) -> Kernel:
    target = TORCH_TYPES[context.outputs[0].dtype]
    if context.inputs[0].dtype.is_complex and not target.is_complex:
        return lambda x: x.real.to(target, copy=True)
    return lambda x: x.to(target, copy=True)


def _add_n(*values: Tensor) -> Tensor:
    fitting(all(value.shape == values[0].shape for value in values))
    if len(values) == 1:
        return values[0].clone()
    total = torch.add(values[0], values[1])
    for value in values[2:]:
        total.add_(value)
    return total


def _digamma(x: Tensor) -> Tensor:
    return torch.where((x <= 0) & (x == torch.floor(x)), math.nan, torch.digamma(x))


def _incomplete(function: Any, at_zero: float) -> Kernel:
    def kernel(a: Tensor, x: Tensor) -> Tensor:
        # Numbers as TensorFlow has them where the function has none.
        values = torch.where(a > 0, function(a, x), torch.where(x == 0, at_zero, math.nan).to(x.dtype))
        return torch.where((a == math.inf) & (x == math.inf), 0.0, values)

    return kernel


def _sign(x: Tensor) -> Tensor:
    # Of NaN it is NaN, and of a complex number that of its length 1.
    return torch.sgn(x) if x.is_complex() else torch.where(torch.isnan(x), x, torch.sign(x))


# From here on exp(x) + 1 is exp(x), in double precision too.
_STEEP = 40
_FUNCTIONS: dict[str, Any] = {
    "Complex": lambda x, y: torch.complex(*torch.broadcast_tensors(x, y)),
    "Conj": torch.conj_physical,
    "Real": lambda x: x.real.clone(),
    "Imag": lambda x: x.imag.clone(),
    "Sign": _sign,
    "Pow": torch.pow,
    "Rsqrt": torch.rsqrt,
    "Inv": torch.reciprocal,
    "Reciprocal": torch.reciprocal,
    "AddN": _add_n,
    "AccumulateNV2": _add_n,
    "Relu": torch.relu,
    "ReluGrad": lambda g, x: aten.threshold_backward(g, x, 0),
    "Relu6": lambda x: torch.clamp(x, 0, 6),
    "Elu": aten.elu,
    "EluGrad": lambda g, y: aten.elu_backward(g, 1, 1, 1, True, y),
    "Softplus": lambda x: aten.softplus(x, 1, _STEEP),
    "SoftplusGrad": lambda g, x: aten.softplus_backward(g, x, 1, _STEEP),
    "Sigmoid": torch.sigmoid,
    "Erf": torch.erf,
    "Erfc": torch.erfc,
    "Erfinv": torch.erfinv,
    "Ndtri": narrowed(torch.special.ndtri),
    "Lgamma": torch.lgamma,
    "Digamma": _digamma,
    "BesselI0": torch.special.i0,
    "BesselI0e": torch.special.i0e,
    "BesselI1": torch.special.i1,
    "BesselI1e": torch.special.i1e,
    "Igamma": _incomplete(torch.special.gammainc, 0.0),
    "Igammac": _incomplete(torch.special.gammaincc, math.nan),
}

ROWS: Rows = {
    **{name: plain(function) for name, function in _FUNCTIONS.items()},
    "SigmoidGrad": plain(lambda y, dy: aten.sigmoid_backward(dy, y), takes=floats),
    "TanhGrad": plain(lambda y, dy: aten.tanh_backward(dy, y), takes=floats),
    "Cast": row(_cast, takes=lambda context: not context.attrs.get("Truncate")),
}
