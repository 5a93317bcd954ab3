"""Torch kernels of products of matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch.nn import functional

from actorsession.devices.torch.arrays import TorchArrays
from actorsession.devices.torch.kernels.rows import Rows, Tensor, fitting, plain, row
from actorsession.devices.torch.loading import MKL_IS_SLOW
from actorsession.devices.torch.threads import USUAL_THREADS, in_one_thread
from actorsession.graph.device_kernels import arrays_of, definition_of
from actorsession.graph.dtypes import float32
from actorsession.graph.registry import Kernel, KernelContext, SumTerm
from actorsession.ops.blas import product

__all__ = ["FOR_ONE_THREAD", "ROWS"]

# Multiplications up to which one thread makes a product. A second one saves half of what that takes, 40 us, and its
# start costs 15 us on idle cores; where others are busy, a product of 64 x 64 took 6 us with one thread and 1.1 ms
# with two. In a training step of BERT's encoder 512 x 128 by 128 x 128 takes oneDNN 80 to 117 us with one thread and 80
# to 173 with two, which have gone to sleep in between.
FOR_ONE_THREAD, _FOR_ONE_THREAD_OF_ONEDNN = 1 << 21, 1 << 23
# Multiplications from which oneDNN is faster than MKL where that is slow: a product of 96 x 96 by 96 x 96 takes 18 us
# by either, of 128 x 128 by 128 x 128 28 and 41. It compiles code for each shape, in some 0.35 ms; where shapes are
# known in a step only, they may be many.
_FOR_ONEDNN, _FOR_ONEDNN_UNKNOWN = 1 << 20, 1 << 23
# The shortest side with which it was tried.
_NARROWEST = 8
# Multiplications from which numpy's BLAS is faster than MKL where that is slow, up to those of oneDNN: a product of
# 64 x 64 by 64 x 64 takes 4.5 us and 7.0, of 128 x 256 by 256 x 10 10 and 32.
_FOR_NUMPY = 1 << 16
# What is behind ``torch.compile``; the other functions of torch take oneDNN for lower precisions only.
_linear: Any = getattr(torch.ops.mkldnn, "_linear_pointwise", None) if torch.backends.mkldnn.is_available() else None
# Multiplications of those that are added up by one product, whose operands are theirs side by side: four of 156 x 64 by
# 64 x 512 take 225 us, and one by one 250 and 25 to be added.
_TOGETHER = 20 << 20
_MOST_TOGETHER = 64  # whose operands are kept until then


_SHARED: Kernel = torch.mm


def _by_onednn(a: Tensor, b: Tensor) -> Tensor:
    """Return a product of matrices of 32-bit floats on the CPU."""
    return _linear(a, b.t(), None, "none", [], "")


def _by_numpy(a: Tensor, b: Tensor) -> Tensor:
    """Return a product of matrices on the CPU."""
    return torch.from_numpy(product(a.numpy(), b.numpy()))


def _takes_onednn(rows: int, inner: int, columns: int, least: float) -> bool:
    return rows * inner * columns >= least and min(rows, inner, columns) >= _NARROWEST


def _chosen(rows: int, inner: int, columns: int, *, onednn_from: float) -> Kernel:
    """Return the function of products of matrices of such sizes on the CPU."""
    multiplications = rows * inner * columns
    if onednn_from < math.inf and _FOR_NUMPY <= multiplications < _FOR_ONEDNN:
        return _by_numpy  # which knows itself how many threads it needs
    by_onednn = _takes_onednn(rows, inner, columns, onednn_from)
    function: Kernel = _by_onednn if by_onednn else _SHARED
    if USUAL_THREADS == 1 or multiplications > (_FOR_ONE_THREAD_OF_ONEDNN if by_onednn else FOR_ONE_THREAD):
        return function
    return lambda a, b: in_one_thread(function, a, b)


def _has_onednn(context: KernelContext) -> bool:
    return MKL_IS_SLOW and _linear is not None and context.outputs[0].dtype is float32


def _multiply(context: KernelContext) -> Kernel:
    """Return the function of products of a node's matrices."""
    arrays = arrays_of(context.device)
    if not isinstance(arrays, TorchArrays) or not arrays.is_host:
        return _SHARED
    has_onednn = _has_onednn(context)
    if _of_matrices(context):
        rows, columns = context.outputs[0].shape.as_tuple()
        inner = context.inputs[0].shape.as_tuple()[0 if context.attrs["transpose_a"] else 1]
        return _chosen(rows, inner, columns, onednn_from=_FOR_ONEDNN if has_onednn else math.inf)
    if USUAL_THREADS == 1 and not has_onednn:
        return _SHARED
    least = _FOR_ONEDNN_UNKNOWN if has_onednn else math.inf
    return lambda a, b: _chosen(a.shape[0], a.shape[1], b.shape[1], onednn_from=least)(a, b)


def _matmul(context: KernelContext) -> Kernel:
    left, right = context.attrs["transpose_a"], context.attrs["transpose_b"]
    multiply = _multiply(context)
    if right and not left and multiply is torch.mm:
        transposed: Kernel = functional.linear
        return transposed
    if left and right:
        return lambda a, b: multiply(a.t(), b.t())
    if left:
        return lambda a, b: multiply(a.t(), b)
    if right:
        return lambda a, b: multiply(a, b.t())
    return multiply


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
    least = _FOR_ONEDNN if fits else _FOR_ONEDNN_UNKNOWN
    onednn_from = least if _has_onednn(context) else math.inf

    def add(total: Tensor | None, *operands: Tensor) -> Tensor:
        pairs = operands[::2], operands[1::2]
        if not fits:
            for a, b in zip(*pairs, strict=True):
                if a.shape[of_a] != b.shape[of_b]:
                    return definition_of(context).kernel(context)(a, b)  # says why
        a, b = operands if len(operands) == 2 else (torch.cat(pairs[0], of_a), torch.cat(pairs[1], of_b))
        a, b = a if of_a else a.t(), b.t() if of_b else b
        sizes = a.shape[0], a.shape[1], b.shape[1]
        if a.is_cpu and _takes_onednn(*sizes, onednn_from):  # which adds to no other matrix
            part = _chosen(*sizes, onednn_from=onednn_from)(a, b)
            return part if total is None else total.add_(part)
        multiply = torch.mm if total is None else total.addmm_
        if USUAL_THREADS > 1 and size * a.shape[1] <= FOR_ONE_THREAD:
            return in_one_thread(multiply, a, b)
        return multiply(a, b)

    return SumTerm(add, max(1, min(_TOGETHER // multiplications, _MOST_TOGETHER)) if multiplications else 1)


def _batch_matmul(context: KernelContext) -> Kernel:
    left, right = bool(context.attrs["adj_x"]), bool(context.attrs["adj_y"])
    broadcasts = context.op != "BatchMatMul"

    def kernel(a: Tensor, b: Tensor) -> Tensor:
        fitting(a.ndim >= 2 <= b.ndim and (broadcasts or a.shape[:-2] == b.shape[:-2]))
        return torch.matmul(a.mH if left else a, b.mH if right else b).resolve_conj()

    return kernel


def _emit_batch_matmul(context: KernelContext, arguments: Sequence[str]) -> str | None:
    if any(spec.dtype.is_complex for spec in context.inputs):
        return None
    a, b = [
        f"{argument}.mT" if context.attrs[turned] else argument
        for argument, turned in zip(arguments, ("adj_x", "adj_y"), strict=True)
    ]
    return f"({a} @ {b})"


def _checked(context: KernelContext) -> Kernel:
    """Return the product for shapes that are known in a step only."""
    multiply = _matmul(context)
    left, right = context.attrs["transpose_a"], context.attrs["transpose_b"]

    def kernel(a: Tensor, b: Tensor) -> Tensor:
        fitting(a.ndim == b.ndim == 2 and a.shape[0 if left else 1] == b.shape[1 if right else 0])
        return multiply(a, b)

    return kernel


def _einsum(context: KernelContext) -> Kernel:
    equation = str(context.attrs["equation"])
    return lambda *operands: torch.einsum(equation, *operands).resolve_conj().contiguous()


def _contracts(context: KernelContext) -> bool:
    """Whether an equation is one of torch's: it adds up no axes of an ellipsis, and makes no diagonals."""
    operands, arrow, output = str(context.attrs["equation"]).replace(" ", "").replace("...", ".").partition("->")
    return bool(arrow) and len(set(output)) == len(output) and ("." in output or "." not in operands)


def _of_many_zeros(context: KernelContext) -> Kernel:
    """Return a product of matrices that are dense all the same."""
    left, right = context.attrs["transpose_a"], context.attrs["transpose_b"]

    def kernel(a: Tensor, b: Tensor) -> Tensor:
        fitting(a.ndim == b.ndim == 2)
        a, b = a.float(), b.float()
        return torch.mm(a.t() if left else a, b.t() if right else b)

    return kernel


def _cross(a: Tensor, b: Tensor) -> Tensor:
    fitting(a.ndim > 0 and a.shape == b.shape and a.shape[-1] == 3)
    return torch.linalg.cross(a, b)


ROWS: Rows = {
    "MatMul": row(lambda context: _matmul(context) if _of_matrices(context) else _checked(context), adds=_adds),
    "BatchMatMul": row(_batch_matmul, emit=_emit_batch_matmul),
    "BatchMatMulV2": row(_batch_matmul, emit=_emit_batch_matmul),
    "BatchMatMulV3": row(_batch_matmul, takes=lambda context: context.inputs[0].dtype is context.outputs[0].dtype),
    "Einsum": row(_einsum, aliases=True, checks=True, takes=_contracts),
    "SparseMatMul": row(_of_many_zeros, checks=True),
    "Cross": plain(_cross, checks=True),
}
