"""Torch kernels of products of matrices."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from actorsession.devices.torch.kernels.rows import Rows, Tensor, fitting, plain, row
from actorsession.devices.torch.loading import USUAL_THREADS, in_one_thread
from actorsession.graph.device_kernels import definition_of
from actorsession.graph.registry import Kernel, KernelContext, SumTerm

__all__ = ["ROWS"]

# Multiplications up to which one thread makes a product. A second one saves half of what that takes, 40 us, and its
# start costs 15 us on idle cores; where others are busy, a product of 64 x 64 took 6 us with one thread and 1.1 ms
# with two.
_FOR_ONE_THREAD = 1 << 21
# Multiplications of smaller ones that are added up by one product, whose operands are theirs side by side: copying
# these costs as much as is saved where one thread multiplies, and two of them take half of the time.
_TOGETHER = 5 << 20
_MOST_TOGETHER = 64  # whose operands are kept until then


def _alone(a: Tensor, b: Tensor) -> Tensor:
    """Return a product that one thread makes."""
    return in_one_thread(torch.mm, a, b)


def _of_any_size(a: Tensor, b: Tensor) -> Tensor:
    is_small = a.shape[0] * a.shape[1] * b.shape[1] <= _FOR_ONE_THREAD
    return _alone(a, b) if is_small else torch.mm(a, b)


def _multiply(context: KernelContext) -> Kernel:
    """Return the function of products of matrices of a node's sizes."""
    shared: Kernel = torch.mm
    if USUAL_THREADS == 1:
        return shared
    if not _of_matrices(context):
        return _of_any_size
    multiplications = (context.inputs[0].shape.num_elements() or 0) * (context.outputs[0].shape[1] or 0)
    return _alone if multiplications <= _FOR_ONE_THREAD else shared


def _matmul(context: KernelContext) -> Kernel:
    left, right = context.attrs["transpose_a"], context.attrs["transpose_b"]
    product = _multiply(context)
    if left and right:
        return lambda a, b: product(a.t(), b.t())
    if left:
        return lambda a, b: product(a.t(), b)
    if right:
        return lambda a, b: product(a, b.t())
    return product


def _of_matrices(context: KernelContext) -> bool:
    """Whether shapes are known to fit."""
    a, b = (spec.shape.sizes for spec in context.inputs)
    if a is None or b is None or None in a or None in b:
        return False
    inner = a[0] if context.attrs["transpose_a"] else a[1]
    return bool(inner == (b[1] if context.attrs["transpose_b"] else b[0]))


def _adds(context: KernelContext) -> SumTerm:
    """Return how the products of a node, and of others of its sizes, are added up."""
    of_a, of_b = int(not context.attrs["transpose_a"]), int(bool(context.attrs["transpose_b"]))  # the inner axes
    fits, size = _of_matrices(context), context.outputs[0].shape.num_elements() or 0
    multiplications = size * (context.inputs[0].shape.as_tuple()[of_a] if fits else 0)
    is_small = 0 < multiplications <= _FOR_ONE_THREAD

    def add(total: Tensor | None, *operands: Tensor) -> Tensor:
        pairs = operands[::2], operands[1::2]
        if not fits:
            for a, b in zip(*pairs, strict=True):
                if a.shape[of_a] != b.shape[of_b]:
                    return definition_of(context).kernel(context)(a, b)  # says why
        a, b = operands if len(operands) == 2 else (torch.cat(pairs[0], of_a), torch.cat(pairs[1], of_b))
        a, b = a if of_a else a.t(), b.t() if of_b else b
        product = torch.mm if total is None else total.addmm_
        if USUAL_THREADS > 1 and size * a.shape[1] <= _FOR_ONE_THREAD:
            return in_one_thread(product, a, b)
        return product(a, b)

    return SumTerm(add, min(_TOGETHER // multiplications, _MOST_TOGETHER) if is_small else 1)


def _batch_matmul(context: KernelContext) -> Kernel:
    left, right = bool(context.attrs["adj_x"]), bool(context.attrs["adj_y"])
    broadcasts = context.op != "BatchMatMul"

    def kernel(a: Tensor, b: Tensor) -> Tensor:
        fitting(a.ndim >= 2 <= b.ndim and (broadcasts or a.shape[:-2] == b.shape[:-2]))
        return torch.matmul(a.mH if left else a, b.mH if right else b).resolve_conj()

    return kernel


def _checked(context: KernelContext) -> Kernel:
    """Return the product for shapes that are known in a step only."""
    multiply = _matmul(context)
    left, right = context.attrs["transpose_a"], context.attrs["transpose_b"]

    def kernel(a: Tensor, b: Tensor) -> Tensor:
        fitting(a.ndim == b.ndim == 2 and a.shape[0 if left else 1] == b.shape[1 if right else 0])
        return multiply(a, b)

    return kernel


def _half_of_squares(x: Tensor) -> Tensor:
    wide = x.float() if x.dtype in (torch.float16, torch.bfloat16) else x
    return (torch.sum(wide * wide) * 0.5).to(x.dtype)


def _einsum(context: KernelContext) -> Kernel:
    equation = str(context.attrs["equation"])
    return lambda *operands: torch.einsum(equation, *operands).resolve_conj().contiguous()


def _contracts(context: KernelContext) -> bool:
    """Whether an equation is one of torch's: it adds up no axes of an ellipsis, and makes no diagonals."""
    operands, arrow, output = str(context.attrs["equation"]).replace(" ", "").replace("...", ".").partition("->")
    return bool(arrow) and len(set(output)) == len(output) and ("." in output or "." not in operands)


def _band_part(x: Tensor, low: Any, high: Any) -> Tensor:
    fitting(x.ndim >= 2 and np.ndim(low) == 0 == np.ndim(high))
    fitting(int(low) <= x.shape[-2] and int(high) <= x.shape[-1])
    out = x.clone() if low < 0 and high < 0 else x
    out = out if low < 0 else torch.triu(out, -int(low))
    return out if high < 0 else torch.tril(out, int(high))


ROWS: Rows = {
    "MatMul": row(lambda context: _matmul(context) if _of_matrices(context) else _checked(context), adds=_adds),
    "BatchMatMul": row(_batch_matmul),
    "BatchMatMulV2": row(_batch_matmul),
    "BatchMatMulV3": row(_batch_matmul, takes=lambda context: context.inputs[0].dtype is context.outputs[0].dtype),
    "Einsum": row(_einsum, aliases=True, checks=True, takes=_contracts),
    "MatrixBandPart": plain(_band_part, host=[1, 2], checks=True),
    "L2Loss": plain(_half_of_squares),
}
