"""Rows of the op table: what an operation type computes, beside its signature.

The signature, its element types, attributes and statefulness stand in ``graph/op_signatures.txt``. A row
names a shape rule, the function of the values, the gradient, and how the op may be written in place or
inline::

    op("Neg", same, operator.neg, grad=lambda op, g: [-g], into=np.negative, emit="(-{0})")

A shape rule gives the shapes of the outputs; their element types follow from the signature.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from actorsession.graph.dtypes import as_dtype
from actorsession.graph.node import TensorSpec
from actorsession.graph.op_signatures import output_types, signature_of
from actorsession.graph.registry import (
    Gradient,
    InferContext,
    Kernel,
    KernelContext,
    OpDef,
    register,
)
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops.operands import broadcast, by_rank, merged_shape, writes

__all__ = ["Shapes", "broadcasts", "check_fixed_types", "op", "same", "scalar", "typed"]

Shapes: TypeAlias = Callable[[InferContext], Sequence[TensorShape]]
"""A shape rule: from a node's inputs and attributes to the shapes of its outputs."""


def op(
    name: str,
    shapes: Shapes,
    function: Kernel | None = None,
    grad: Gradient | None = None,
    *,
    kernel: Callable[[KernelContext], Kernel] | None = None,
    scalar: Kernel | None = None,
    into: Kernel | None = None,
    emit: str | Callable[[KernelContext, Sequence[str]], str | None] | None = None,
    **more: Any,
) -> OpDef:
    """Register an operation type of the table of signatures.

    Args:
        name: operation type.
        shapes: shape rule.
        function: computes the outputs from the values of the inputs.
        grad: gradient function; ``None`` when there is none.
        kernel: makes that function for a node, in place of ``function``.
        scalar: computes the outputs for a first input of rank 0, if that is a different function.
        into: computes the result into an array; ``function`` if that is a ufunc of numpy.
        emit: format of an inline expression, or a function that gives one; see ``OpDef``.
        more: further fields of ``OpDef``.
    """
    if isinstance(function, np.ufunc):
        into = into or function
    if isinstance(emit, str):
        more["emit"] = lambda ctx, args: emit.format(*args)
    elif emit is not None:
        more["emit"] = emit
    if into is not None:
        more["into"] = writes(into)
    if function is not None:
        more["kernel"] = _of_values(function, scalar)
    else:
        more["kernel"] = kernel
    return register(OpDef(name=name, infer=typed(shapes), gradient=grad, **more))


def _of_values(function: Kernel, scalar: Kernel | None) -> Callable[[KernelContext], Kernel]:
    if scalar is None:
        return lambda ctx: function
    return lambda ctx: by_rank(ctx, scalar, function)


def typed(shapes: Shapes) -> Callable[[InferContext], Sequence[TensorSpec]]:
    """Return the shape function of a shape rule: element types follow from the signature."""

    def infer(ctx: InferContext) -> Sequence[TensorSpec]:
        made = shapes(ctx)
        dtypes = output_types(ctx.op, [spec.dtype for spec in ctx.inputs], ctx.attrs)
        return [TensorSpec(dtype, shape) for dtype, shape in zip(dtypes, made, strict=True)]

    return infer


# -- shape rules ---------------------------------------------------------------------------------


def same(ctx: InferContext) -> Sequence[TensorShape]:
    """All inputs and the output have one shape."""
    return [merged_shape(ctx)]


def broadcasts(ctx: InferContext) -> Sequence[TensorShape]:
    """The inputs broadcast together, as in numpy."""
    return [broadcast(ctx)]


def scalar(ctx: InferContext) -> Sequence[TensorShape]:
    """The output is a scalar."""
    return [scalar_shape]


# -- checks that shape rules share ---------------------------------------------------------------


def check_fixed_types(ctx: InferContext) -> None:
    """Check the inputs for which the signature names an element type instead of an attribute.

    Raises:
        TypeError: for another element type.
    """
    signature = signature_of(ctx.op)
    assert signature is not None
    for arg, spec in zip(signature.inputs, ctx.inputs, strict=True):
        if arg.type not in signature.attrs and spec.dtype is not as_dtype(arg.type):
            wanted = as_dtype(arg.type).name
            raise TypeError(f"{ctx.op} takes {wanted} as {arg.name}; got {spec.dtype.name}")
