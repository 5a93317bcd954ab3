"""Code that elementwise ops share: conversion of operands, and the shape of a result.

Imports nothing of ``ops/`` but ``build`` and ``rows``.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from actorsession.graph.dtypes import DType
from actorsession.graph.op_signatures import KIND_WORDS
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import InferContext
from actorsession.ops.build import convert_to_tensor, graph_of
from actorsession.ops.rows import broadcast, by_rank, merged_shape, writes

__all__ = ["broadcast", "by_rank", "check_dtype", "converted", "in_scope", "merged_shape", "scalar_like", "writes"]


# -- nodes ---------------------------------------------------------------------------------------


def in_scope(function: Callable[[Tensor], Tensor], x: Any, name: str) -> Tensor:
    """Call a function of one tensor in a name scope of its own, as TensorFlow does for some functions."""
    value = convert_to_tensor(x)
    with value.graph.name_scope(name):
        return function(value)


@contextlib.contextmanager
def converted(x: Any, y: Any, name: str) -> Iterator[tuple[Tensor, Tensor, str]]:
    """Enter the name scope of a node with two operands, and convert the operands there.

    As in TensorFlow, constants made of plain values are named after the node: ``add/y``.

    Yields:
        The two tensors, and the name for the node itself.

    Raises:
        TypeError: if a plain value does not fit the dtype of the other operand.
    """
    dtype = next((v._as_graph_element().dtype for v in (x, y) if _is_graph_element(v)), None)
    graph = graph_of(x, y)
    with graph.name_scope(name) as scope:
        left = convert_to_tensor(x, None if _is_graph_element(x) else dtype, "x", graph=graph)
        right = convert_to_tensor(y, None if _is_graph_element(y) else dtype or left.dtype, "y", graph=graph)
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
            words = ", ".join(KIND_WORDS[k] for k in kinds)
            raise TypeError(
                f"Value passed to parameter has DataType {dtype.name} not in list of allowed values: "
                f"{ctx.op} takes {words}; got {dtype.name}"
            )
        if dtype is not dtypes[0]:
            names = ", ".join(d.name for d in dtypes)
            raise TypeError(f"{ctx.op} takes inputs of one dtype; got {names}: cast one of them")
    return dtypes[0]
