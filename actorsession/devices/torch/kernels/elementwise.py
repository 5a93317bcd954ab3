"""Torch kernels of operations that work element by element."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch

from actorsession.devices.torch.arrays import TORCH_TYPES
from actorsession.devices.torch.kernels.rows import Rows, Tensor, fitting, floats, narrowed, plain, row
from actorsession.devices.torch.loading import MKL_IS_SLOW, USUAL_THREADS
from actorsession.graph.dtypes import bfloat16, bool_, float16, float32, float64
from actorsession.graph.registry import Kernel, KernelContext

__all__ = ["ROWS"]

aten = torch.ops.aten


def _div_no_nan(x: Tensor, y: Tensor) -> Tensor:
    return torch.where(y == 0, torch.zeros((), dtype=x.dtype, device=x.device), x / y)


def _times_no_nan(x: Tensor, y: Tensor) -> Tensor:
    return torch.where(y == 0, torch.zeros((), dtype=x.dtype, device=x.device), x * y)


def _zero_where_zero(dy: Tensor, out: Tensor) -> Tensor:
    """Return a new gradient that is zero where the gradient before it is, also at a pole."""
    return out.masked_fill_(dy == 0, 0)


def _rsqrt_back(y: Tensor, dy: Tensor) -> Tensor:
    y = y.conj()
    return _zero_where_zero(dy, torch.mul(y, y).mul_(y).mul_(dy).mul_(-0.5))


def _reciprocal_back(y: Tensor, dy: Tensor) -> Tensor:
    return _zero_where_zero(dy, torch.square(y.conj()).mul_(dy).neg_())


# Elements from which the conversions take less than what they save.
_FOR_NUMPY = 1 << 12
# Functions of 32-bit floats that numpy computes so many times faster than MKL where that is slow, both in one thread.
_FASTER: dict[str, tuple[np.ufunc, float]] = {"Tanh": (np.tanh, 12.0), "Log": (np.log, 3.3), "Exp": (np.exp, 1.9)}


def _by_numpy(function: Kernel, ufunc: np.ufunc, times: float) -> Callable[[KernelContext], Kernel]:
    """Return what makes the kernel of a function that numpy computes so many times faster than a thread of MKL."""

    def make(context: KernelContext) -> Kernel:
        size = context.inputs[0].shape.num_elements()
        is_better = MKL_IS_SLOW and times > USUAL_THREADS and context.inputs[0].dtype is float32
        if not is_better or (size is not None and size < _FOR_NUMPY):
            return function

        def kernel(x: Tensor) -> Tensor:
            if x.numel() < _FOR_NUMPY or not x.is_cpu:
                return function(x)
            out = torch.empty_like(x)
            ufunc(x.numpy(), out=out.numpy())
            return out

        return kernel

    return make


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


def _softplus(x: Tensor) -> Tensor:
    return torch.clamp(x, min=0) + torch.log1p(torch.exp(-torch.abs(x)))


def _elu_grad(gradients: Tensor, outputs: Tensor) -> Tensor:
    return gradients * torch.where(outputs < 0, outputs + 1, torch.ones((), dtype=outputs.dtype, device=outputs.device))


# TensorFlow's constants.
_SELU_SCALE, _SELU_SCALE_ALPHA = 1.0507009873554804934193349852946, 1.7580993408473768599402175208123


def _selu(x: Tensor) -> Tensor:
    return torch.where(x < 0, torch.expm1(x) * _SELU_SCALE_ALPHA, x * _SELU_SCALE)


def _selu_grad(gradients: Tensor, outputs: Tensor) -> Tensor:
    return gradients * torch.where(
        outputs < 0,
        outputs + _SELU_SCALE_ALPHA,
        torch.full((), _SELU_SCALE, dtype=outputs.dtype, device=outputs.device),
    )


def _softsign_grad(gradients: Tensor, features: Tensor) -> Tensor:
    return gradients / (1 + torch.abs(features)).square()


def _leaky(context: KernelContext) -> Kernel:
    alpha = float(context.attrs["alpha"])
    return lambda x: torch.where(x > 0, x, x * alpha)


def _leaky_grad(context: KernelContext) -> Kernel:
    alpha = float(context.attrs["alpha"])
    return lambda gradients, features: torch.where(features > 0, gradients, gradients * alpha)


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
    return torch.add(total, value, out=out)


def _add_n(*values: Tensor) -> Tensor:
    fitting(all(value.shape == values[0].shape for value in values))
    if len(values) == 1:
        return values[0].clone()
    total = torch.add(values[0], values[1])
    for value in values[2:]:
        total.add_(value)
    return total


def _select(condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
    """Choose whole rows where the condition is a vector, as the older operation does."""
    fitting(x.shape == y.shape and condition.shape in ((), x.shape, x.shape[:1]))
    if condition.ndim == 1 and x.ndim > 1:
        condition = condition.reshape(-1, *[1] * (x.ndim - 1))
    return torch.where(condition, x, y)


def _emit_select(context: KernelContext, arguments: Sequence[str]) -> str | None:
    condition, x, y = arguments
    is_alike = context.inputs[0].shape.sizes == context.inputs[1].shape.sizes
    return f"{x}.where({condition}, {y})" if is_alike else None


def _clip(x: Tensor, low: Tensor, high: Tensor) -> Tensor:
    fitting(all(not limit.ndim or limit.shape == x.shape for limit in (low, high)))
    return torch.maximum(torch.minimum(x, high), low)


def _near(context: KernelContext) -> Kernel:
    tolerance = float(context.attrs["tolerance"])

    def kernel(x: Tensor, y: Tensor) -> Tensor:
        fitting(x.shape == y.shape)
        return (x - y).abs_() < tolerance

    return kernel


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


_BINARY: dict[str, tuple[Any, str | None]] = {
    "Add": (torch.add, "({0} + {1})"),
    "AddV2": (torch.add, "({0} + {1})"),
    "Sub": (torch.sub, "({0} - {1})"),
    "Mul": (torch.mul, "({0} * {1})"),
    "RealDiv": (torch.div, "({0} / {1})"),
    "Div": (torch.div, "({0} / {1})"),
    "Equal": (torch.eq, "({0} == {1})"),
    "NotEqual": (torch.ne, "({0} != {1})"),
    "Complex": (lambda x, y: torch.complex(*torch.broadcast_tensors(x, y)), None),
    "LogicalAnd": (torch.logical_and, None),
    "LogicalOr": (torch.logical_or, None),
}
_FLOAT_BINARY: dict[str, tuple[Any, str | None]] = {
    "DivNoNan": (_div_no_nan, None),
    "MulNoNan": (_times_no_nan, None),
    "FloorDiv": (lambda x, y: torch.floor(x / y), None),
    "FloorMod": (torch.remainder, None),
    "TruncateMod": (torch.fmod, None),
    "Maximum": (torch.maximum, None),
    "Minimum": (torch.minimum, None),
    "Less": (torch.lt, "({0} < {1})"),
    "LessEqual": (torch.le, "({0} <= {1})"),
    "Greater": (torch.gt, "({0} > {1})"),
    "GreaterEqual": (torch.ge, "({0} >= {1})"),
    "Atan2": (torch.atan2, None),
    "Xlogy": (torch.xlogy, None),
    "Xlog1py": (torch.special.xlog1py, None),
    "Xdivy": (lambda x, y: torch.where(x == 0, torch.zeros_like(x), x / y), None),
    "SquaredDifference": (lambda x, y: (x - y).square_(), None),
    "NextAfter": (torch.nextafter, None),
    "Igamma": (_incomplete(torch.special.gammainc, 0.0), None),
    "Igammac": (_incomplete(torch.special.gammaincc, math.nan), None),
}
_UNARY: dict[str, Any] = {
    "Neg": torch.neg,
    "Square": torch.square,
    "Sqrt": torch.sqrt,
    "Rsqrt": torch.rsqrt,
    "Inv": torch.reciprocal,
    "Reciprocal": torch.reciprocal,
    "Exp": torch.exp,
    "Expm1": torch.expm1,
    "Log": torch.log,
    "Log1p": torch.log1p,
    "Sin": torch.sin,
    "Cos": torch.cos,
    "Tan": torch.tan,
    "Asin": torch.asin,
    "Acos": torch.acos,
    "Atan": torch.atan,
    "Sinh": torch.sinh,
    "Cosh": torch.cosh,
    "Asinh": torch.asinh,
    "Acosh": torch.acosh,
    "Atanh": torch.atanh,
    "Tanh": torch.tanh,
    "Sigmoid": torch.sigmoid,
    "Sign": _sign,
    "Abs": torch.abs,
    "ComplexAbs": torch.abs,
    "Conj": torch.conj_physical,
    "Real": lambda x: x.real.clone(),
    "Imag": lambda x: x.imag.clone(),
    "Angle": lambda x: torch.atan2(x.imag, x.real),
    "ZerosLike": torch.zeros_like,
    "OnesLike": torch.ones_like,
    "LogicalNot": torch.logical_not,
}
_FLOAT_UNARY: dict[str, Any] = {
    "Relu": torch.relu,
    "Relu6": lambda x: torch.clamp(x, 0, 6),
    "Elu": lambda x: torch.where(x < 0, torch.expm1(x), x),
    "Selu": _selu,
    "Softplus": _softplus,
    "Softsign": lambda x: x / (1 + torch.abs(x)),
    "Floor": torch.floor,
    "Ceil": torch.ceil,
    "Round": torch.round,
    "Rint": torch.round,
    "IsNan": torch.isnan,
    "IsInf": torch.isinf,
    "IsFinite": torch.isfinite,
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
}
_GRADIENTS: dict[str, Any] = {
    "SqrtGrad": lambda y, dy: _zero_where_zero(dy, torch.div(dy, y.conj()).mul_(0.5)),
    "RsqrtGrad": _rsqrt_back,
    "InvGrad": _reciprocal_back,
    "ReciprocalGrad": _reciprocal_back,
}
_FLOAT_GRADIENTS: dict[str, Any] = {
    "ReluGrad": lambda g, x: aten.threshold_backward(g, x, 0),
    "TanhGrad": lambda y, dy: aten.tanh_backward(dy, y),
    "SigmoidGrad": lambda y, dy: aten.sigmoid_backward(dy, y),
    "Relu6Grad": lambda g, x: g * ((x > 0) & (x < 6)),
    "EluGrad": _elu_grad,
    "SeluGrad": _selu_grad,
    "SoftplusGrad": lambda g, x: g / (torch.exp(-x) + 1),
    "SoftsignGrad": _softsign_grad,
}

ROWS: Rows = {
    **{name: plain(function, emit=emit) for name, (function, emit) in _BINARY.items()},
    **{name: plain(function, emit=emit, takes=floats) for name, (function, emit) in _FLOAT_BINARY.items()},
    **{name: plain(function) for name, function in {**_UNARY, **_GRADIENTS}.items()},
    **{name: plain(function, takes=floats) for name, function in {**_FLOAT_UNARY, **_FLOAT_GRADIENTS}.items()},
    "LeakyRelu": row(_leaky),
    "LeakyReluGrad": row(_leaky_grad),
    "ApproximateEqual": row(_near, checks=True, takes=floats),
    **{name: row(_by_numpy(_UNARY[name], *faster)) for name, faster in _FASTER.items()},
    "Pow": row(_power, emit=_emit_power),
    "Cast": row(_cast, emit=_emit_cast, takes=lambda context: not context.attrs.get("Truncate")),
    "AddN": plain(_add_n, emit=_emit_sum, joins=_join),
    "Select": plain(_select, emit=_emit_select),
    "SelectV2": plain(torch.where),
    "ClipByValue": plain(_clip, takes=floats),
}
