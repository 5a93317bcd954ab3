"""Code that elementwise ops share: conversion of operands, and the static type of a result.

The math files build their nodes with ``unary`` and ``binary`` and use the shape functions of this module, so
that conversion, node names, dtype errors and broadcasting are the same for all of them. Imports nothing of
``ops/`` but ``build`` and ``rows``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeAlias

from actorsession.graph.dtypes import DType, bool_
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import (
    Gradient,
    InferContext,
    Kernel,
    KernelContext,
    OpDef,
    register,
)
from actorsession.ops.build import convert_to_tensor, graph_of, make_of, make_one
from actorsession.ops.rows import broadcast, by_rank, merged_shape, writes

__all__ = [
    "binary",
    "broadcast",
    "by_rank",
    "check_dtype",
    "compare",
    "infer_like",
    "infer_same",
    "merged_shape",
    "register_binary", "scalar_like",
    "unary",
    "writes",
]  # fmt: skip

Infer: TypeAlias = Callable[[InferContext], Sequence[TensorSpec]]

_KIND_WORDS = {
    "b": "bool", "i": "signed integers", "u": "unsigned integers", "f": "floating types",
    "c": "complex types", "s": "strings", "r": "resources",
}  # fmt: skip


# -- nodes ---------------------------------------------------------------------------------------


# TensorFlow names the operand of these ops "features".
_RECTIFIERS = frozenset({"Elu", "Relu", "Relu6", "Selu", "Softplus", "Softsign"})


def unary(op_type: str, x: Any, name: str | None = None) -> Tensor:
    """Add a node with one operand, which may be any value that converts to a tensor."""
    return make_of(op_type, {"features" if op_type in _RECTIFIERS else "x": x}, None, name)


def binary(op_type: str, x: Any, y: Any, name: str | None = None) -> Tensor:
    """Add a node with two operands of one dtype; a plain value gets the dtype of the other operand.

    Raises:
        TypeError: if the dtypes differ, or a plain value does not fit.
    """
    if isinstance(x, Tensor) and isinstance(y, Tensor):
        return make_one(op_type, [x, y], name=name)
    with converted(x, y, name or op_type) as (left, right, scope):
        return make_one(op_type, [left, right], name=scope)


@contextlib.contextmanager
def converted(x: Any, y: Any, name: str) -> Iterator[tuple[Tensor, Tensor, str]]:
    """Enter the name scope of a node with two operands, and convert the operands there.

    As in TensorFlow, constants made of plain values are named after the node: ``add/y``.

    Yields:
        The two tensors, and the name for the node itself.

    Raises:
        TypeError: if a plain value does not fit the dtype of the other operand.
    """
    wanted = next((v._as_graph_element().dtype for v in (x, y) if _is_graph_element(v)), None)
    graph = graph_of(x, y)
    with graph.name_scope(name) as scope:
        left = convert_to_tensor(x, None if _is_graph_element(x) else wanted, "x", graph=graph)
        right = convert_to_tensor(
            y, None if _is_graph_element(y) else wanted or left.dtype, "y", graph=graph
        )
        yield left, right, scope


def _is_graph_element(value: Any) -> bool:
    return hasattr(value, "_as_graph_element")


def scalar_like(value: complex, x: Tensor) -> Tensor:
    """Return a scalar constant of the dtype and in the graph of ``x``, for gradients."""
    return convert_to_tensor(value, x.dtype, graph=x.graph)


# -- static types --------------------------------------------------------------------------------


def check_dtype(ctx: InferContext, kinds: str, indices: Iterable[int] | None = None) -> DType:
    """Return the dtype that the inputs share.

    Args:
        ctx: context of the shape function.
        kinds: kinds of dtype (see ``DType.kind``) that the op accepts.
        indices: which inputs must share it; all if left out.

    Raises:
        TypeError: for another kind, or inputs of two dtypes.
    """
    dtypes = [ctx.inputs[i].dtype for i in (range(len(ctx.inputs)) if indices is None else indices)]
    for dtype in dtypes:
        if dtype.kind not in kinds:
            words = ", ".join(_KIND_WORDS[k] for k in kinds)
            raise TypeError(f"{ctx.op} takes {words}; got {dtype.name}")
        if dtype is not dtypes[0]:
            names = ", ".join(d.name for d in dtypes)
            raise TypeError(f"{ctx.op} takes inputs of one dtype; got {names}: cast one of them")
    return dtypes[0]


def infer_same(kinds: str) -> Infer:
    """Return the shape function of an elementwise op with broadcast inputs and a result of their dtype."""

    def infer(ctx: InferContext) -> list[TensorSpec]:
        return [TensorSpec(check_dtype(ctx, kinds), broadcast(ctx))]

    return infer


def infer_like(kinds: str) -> Infer:
    """Return the shape function of an op whose inputs and result all have one dtype and shape."""

    def infer(ctx: InferContext) -> list[TensorSpec]:
        return [TensorSpec(check_dtype(ctx, kinds), merged_shape(ctx))]

    return infer


def compare(kinds: str) -> Infer:
    """Return the shape function of an elementwise predicate with broadcast inputs and a bool result."""

    def infer(ctx: InferContext) -> list[TensorSpec]:
        check_dtype(ctx, kinds)
        return [TensorSpec(bool_, broadcast(ctx))]

    return infer


# -- registration --------------------------------------------------------------------------------


def register_binary(
    name: str,
    kinds: str,
    kernel: Callable[[KernelContext], Kernel],
    gradient: Gradient,
    emit: str | None = None,
    into: Kernel | None = None,
) -> None:
    """Register an op of two inputs of one dtype that broadcast.

    Args:
        name: operation type.
        kinds: kinds of dtype that the op accepts.
        kernel: kernel factory.
        gradient: gradient function of the op.
        emit: format of an inline expression.
        into: form of the function that writes the result to an array.
    """
    register(
        OpDef(
            name=name,
            infer=infer_same(kinds),
            kernel=kernel,
            gradient=gradient,
            emit=None if emit is None else lambda ctx, args: emit.format(*args),
            into=None if into is None else writes(into),
        )
    )
