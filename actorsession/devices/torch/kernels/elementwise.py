"""Torch kernels of operations that work element by element: torch's own functions, and what the CPU does otherwise.

Most others are sentences of array functions, in the rows of their operation types.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch

from actorsession.devices.torch.arrays import TORCH_TYPES
from actorsession.devices.torch.kernels.rows import Rows, Tensor, fitting, floats, narrowed, plain, row
from actorsession.devices.torch.loading import MKL_IS_SLOW
from actorsession.devices.torch.threads import USUAL_THREADS
from actorsession.graph.dtypes import bfloat16, bool_, float16, float32, float64
from actorsession.graph.registry import Kernel, KernelContext

__all__ = ["ROWS", "tanh"]

aten = torch.ops.aten
# Elements from which the conversions take less than what they save.
_FOR_NUMPY = 1 << 12
# Functions of 32-bit floats that numpy computes so many times faster than MKL where that is slow, both in one thread.
_FASTER: dict[str, tuple[np.ufunc, float]] = {"Tanh": (np.tanh, 12.0), "Log": (np.log, 3.3), "Exp": (np.exp, 1.9)}


def _by_numpy(function: Kernel, ufunc: np.ufunc, times: float) -> Kernel:
    """Return a function that numpy computes so many times faster than a thread of MKL."""
    if not MKL_IS_SLOW or times <= USUAL_THREADS:
        return function

    def kernel(x: Tensor) -> Tensor:
        # Tensors without numbers, of the compiler, are of another class.
        if type(x) is not Tensor or x.numel() < _FOR_NUMPY or x.dtype is not torch.float32 or not x.is_cpu:
            return function(x)
        return torch.from_numpy(ufunc(x.numpy()))

    return kernel


_BY_NUMPY: dict[str, Kernel] = {op: _by_numpy(getattr(torch, op.lower()), *faster) for op, faster in _FASTER.items()}
tanh = _BY_NUMPY["Tanh"]


def _large_by_numpy(context: KernelContext) -> Kernel:
    spec, op = context.inputs[0], context.op
    size = spec.shape.num_elements()
    if spec.dtype is float32 and (size is None or size >= _FOR_NUMPY):
        return _BY_NUMPY[op]
    function: Kernel = getattr(torch, op.lower())
    return function


def _power(context: KernelContext) -> Kernel:
    """Return the function of powers; of whole numbers, torch takes a loop of products for those that it is given.

    A cube of 262,144 numbers takes 21 us then, and 427 with an exponent in a tensor.
    """
    number = _whole_exponent(context)
    return torch.pow if number is None else lambda x, _: torch.pow(x, number)


def _whole_exponent(context: KernelContext) -> float | None:
    known = context.constant(1)
    if known is None or known.ndim or context.inputs[0].dtype.is_complex or not float(known).is_integer():
        return None
    return float(known)


def _emit_power(context: KernelContext, arguments: Sequence[str]) -> str | None:
    number = _whole_exponent(context)
    return None if number is None else f"{arguments[0]}.pow({number})"


def _cast(context: KernelContext) -> Kernel:
    target = TORCH_TYPES[context.outputs[0].dtype]
    if context.inputs[0].dtype.is_complex and not target.is_complex:
        return lambda x: x.real.to(target, copy=True)
    return lambda x: x.to(target, copy=True)


_METHODS = {float16: "half", bfloat16: "bfloat16", float32: "float", float64: "double", bool_: "bool"}


def _emit_cast(context: KernelContext, arguments: Sequence[str]) -> str | None:
    source, target = context.inputs[0].dtype, context.outputs[0].dtype
    if source is target or source.is_complex or target not in _METHODS:
        return None
    return f"{arguments[0]}.{_METHODS[target]}()"


def _emit_sum(context: KernelContext, arguments: Sequence[str]) -> str | None:
    if len(arguments) == 1:
        return None
    first, second, *rest = arguments
    return f"({first} + {second})" + "".join([f".add_({each})" for each in rest])


def _join(total: Tensor, value: Tensor, out: Tensor | None = None) -> Tensor:
    return torch.add(total, value) if out is None else out.add_(value)


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
    "Rsqrt": torch.rsqrt,
    "Inv": torch.reciprocal,
    "Reciprocal": torch.reciprocal,
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

_OVER = {name: [f"{{0}}.{name.lower()}_()"] for name in ("Relu", "Sigmoid", "Rsqrt")}

ROWS: Rows = {
    **{name: plain(function, over=_OVER.get(name, ())) for name, function in _FUNCTIONS.items()},
    "SigmoidGrad": plain(lambda y, dy: aten.sigmoid_backward(dy, y), takes=floats),
    "TanhGrad": plain(lambda y, dy: aten.tanh_backward(dy, y), takes=floats),
    **{name: row(_large_by_numpy) for name in _FASTER},
    "Pow": row(_power, emit=_emit_power),
    "Cast": row(_cast, emit=_emit_cast, takes=lambda context: not context.attrs.get("Truncate")),
    "AddN": plain(_add_n, emit=_emit_sum, joins=_join),
}
