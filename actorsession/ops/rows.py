"""Rows of the op table: what an operation type computes, beside its signature.

The signature, its element types, attributes and statefulness stand in ``graph/op_signatures.txt``. A row
names a shape rule, the function of the values, the gradient, and how the op may be written in place or
inline::

    op("Neg", same, operator.neg, grad=lambda op, g: [-g], into=np.negative, emit="(-{0})")

A shape rule gives the shapes of the outputs; their element types follow from the signature. An op is computed alike
on all devices whose arrays have the functions of the array API standard, where the row says that it is one of those
functions (``"exp"``), an operator of Python or a *sentence* of both: a function of the module of functions and the
node::

    op("Softsign", same, sentence=lambda xp, ctx: lambda x: x / (1 + xp.abs(x)))
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from actorsession.errors import WrongDtypeError
from actorsession.graph.node import TensorSpec
from actorsession.graph.op_signatures import (
    add_signature,
    check_types,
    fixed_type,
    input_args,
    output_types,
    remove_signature,
    signature_of,
)
from actorsession.graph.registry import Gradient, InferContext, Kernel, KernelContext, OpDef, register
from actorsession.graph.shape import TensorShape, broadcast_shapes, clash, merge_all, scalar_shape

__all__ = [
    "Shapes", "broadcast", "broadcasts", "by_rank", "check_inputs", "checked", "first", "full", "merged_shape",
    "no_outputs", "numbers", "op", "pair", "same", "scalar", "where", "writes",
]  # fmt: skip

Shapes: TypeAlias = Callable[[InferContext], Sequence[TensorShape]]
"""A shape rule: from a node's inputs and attributes to the shapes of its outputs."""


def full(xp: Any, shape: Any, value: Any, like: Any) -> Any:
    """Return a new array of a shape, filled with a value that is broadcast, with the dtype of another array.

    Args:
        xp: the module of functions of the arrays.
        shape: sizes of the result.
        value: a number or an array.
        like: the other array.
    """
    if xp is np:
        return np.full(shape, value, like.dtype)
    value = xp.asarray(value, dtype=like.dtype, device=like.device)
    return xp.asarray(xp.broadcast_to(value, shape), copy=True)


def op(
    name: str,
    shapes: Shapes | None = None,
    function: Kernel | str | None = None,
    grad: Gradient | None = None,
    *,
    kernel: Callable[[KernelContext], Kernel] | None = None,
    sentence: Callable[[Any, KernelContext], Kernel] | None = None,
    scalar: Kernel | None = None,
    into: Kernel | None = None,
    into_kernel: Callable[[KernelContext], Kernel | None] | None = None,
    emit: str | Callable[[KernelContext, Sequence[str]], str | None] | None = None,
    infer: Callable[[InferContext], Sequence[TensorSpec]] | None = None,
    **more: Any,
) -> OpDef:
    """Register an operation type of the table of signatures, or one that brings its signature along.

    Args:
        name: operation type; a whole row of the table, such as ``Swish x:T -> y:T | T:type{f}``, for a type
            that the table does not have.
        shapes: shape rule.
        function: computes the outputs from the values of the inputs. The name of a function of the array API
            standard, and an operator of Python, do so for the arrays of all devices.
        grad: gradient function; ``None`` when there is none.
        kernel: makes that function for a node, in place of ``function``; beside a name or a ``sentence`` it is
            numpy's own.
        sentence: makes that function from the module of functions of the arrays, which is numpy or that of a
            device, and the node; see ``OpDef.sentence``.
        scalar: computes the outputs for a first input of rank 0, if that is a different function.
        into: computes the result into an array; ``function`` if that is a ufunc of numpy.
        into_kernel: makes that function for a node, in place of ``into``; ``None`` where it has none.
        emit: format of an inline expression, or a function that gives one; see ``OpDef``.
        infer: shape function in place of ``shapes``, for element types that do not follow from the signature.
        more: further fields of ``OpDef``.

    Returns:
        The registered type.

    Raises:
        KeyError: if the name is taken.
        ValueError: for a row that is none.
    """
    values: Kernel | None = getattr(np, function) if isinstance(function, str) else function
    if isinstance(function, str):
        sentence = _named(function)
    elif function is not None and getattr(function, "__module__", "") == "_operator":
        sentence = _same_for_all(function)
    if isinstance(values, np.ufunc):
        into = into or values
    if isinstance(emit, str):
        more["emit"] = lambda ctx, args: emit.format(*args)
    elif emit is not None:
        more["emit"] = emit
    more["into"] = into_kernel if into is None else writes(into)
    if kernel is None and values is not None:
        kernel = _of_values(values, scalar)
    elif kernel is None and sentence is not None:
        kernel = partial(sentence, np)
    more["kernel"], more["sentence"] = kernel, sentence
    if infer is None:
        assert shapes is not None
        infer = _typed(shapes)
    else:
        infer = _after_check(infer)
    if " " not in name:
        return register(OpDef(name=name, infer=infer, gradient=grad, **more))
    name = add_signature(name)
    try:
        return register(OpDef(name=name, infer=infer, gradient=grad, **more))
    except KeyError:  # somebody registered the name without a signature
        remove_signature(name)
        raise


def _named(name: str) -> Callable[[Any, KernelContext], Kernel]:
    return lambda xp, ctx: getattr(xp, name)


def _same_for_all(function: Kernel) -> Callable[[Any, KernelContext], Kernel]:
    return lambda xp, ctx: function


def _of_values(function: Kernel, scalar: Kernel | None) -> Callable[[KernelContext], Kernel]:
    if scalar is None:
        return lambda ctx: function
    return lambda ctx: by_rank(ctx, scalar, function)


def _after_check(
    infer: Callable[[InferContext], Sequence[TensorSpec]],
) -> Callable[[InferContext], Sequence[TensorSpec]]:
    """Return a shape function that first checks the element types of the inputs by the table."""

    def checked(ctx: InferContext) -> Sequence[TensorSpec]:
        check_types(ctx.op, tuple([spec.dtype for spec in ctx.inputs]), ctx.attrs)
        return infer(ctx)

    return checked


def _typed(shapes: Shapes) -> Callable[[InferContext], Sequence[TensorSpec]]:
    """Return the shape function of a shape rule: element types follow from the signature."""

    def infer(ctx: InferContext) -> Sequence[TensorSpec]:
        of_inputs = tuple([spec.dtype for spec in ctx.inputs])
        dtypes = output_types(ctx.op, of_inputs, ctx.attrs)
        inferred = shapes(ctx)
        return [TensorSpec(dtype, shape) for dtype, shape in zip(dtypes, inferred, strict=True)]

    return infer


# -- kernels -------------------------------------------------------------------------------------


def by_rank(ctx: KernelContext, scalar: Kernel, array: Kernel, index: int = 0) -> Kernel:
    """Return the form of a kernel that fits the rank: operators for scalars, in-place temporaries for arrays.

    Args:
        ctx: context of the kernel factory.
        scalar: accepts numpy scalars, which ``out=`` does not allow.
        array: accepts arrays of rank 1 and more.
        index: the input whose rank decides; at run time if it is not known statically.
    """
    rank = ctx.inputs[index].shape.rank
    if rank is not None:
        return array if rank else scalar
    return lambda *args: array(*args) if args[index].ndim else scalar(*args)


def writes(function: Kernel) -> Callable[[KernelContext], Kernel | None]:
    """Return the ``into`` of an op (see ``OpDef``): ``function`` for the dtypes that are built into numpy.

    Complex numbers are excluded: numpy multiplies those at the end of an array with other roundings than
    those in the middle, so blocks of an array would differ from the whole.
    """

    def into(ctx: KernelContext) -> Kernel | None:
        dtypes = [spec.dtype for spec in (*ctx.inputs, *ctx.outputs)]
        plain = all(d.kind in "biuf" and d.np_dtype.isbuiltin == 1 for d in dtypes)
        return function if plain else None

    return into


def numbers(xp: Any, ctx: KernelContext, *values: float) -> Sequence[Any]:
    """Return numbers as a sentence computes with them: Python's would widen bfloat16 in numpy.

    Args:
        xp: the module of functions of the arrays.
        ctx: the node, whose first input has the dtype.
        values: the numbers; a whole number in a sentence needs no conversion.
    """
    return [ctx.inputs[0].dtype.np_dtype.type(value) for value in values] if xp is np else values


def where(xp: Any, condition: Any, x: Any, y: Any) -> Any:
    """Return ``xp.where(condition, x, y)``; of scalars numpy would make an array."""
    chosen = xp.where(condition, x, y)
    return chosen[()] if xp is np else chosen


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


def pair(ctx: InferContext) -> Sequence[TensorShape]:
    """The output is a handle of an older type, which is a container and a name in TensorFlow."""
    return [TensorShape([2])]


def first(ctx: InferContext) -> Sequence[TensorShape]:
    """The output has the shape of the first input."""
    return [ctx.inputs[0].shape]


def no_outputs(ctx: InferContext) -> Sequence[TensorShape]:
    """There are no outputs."""
    return []


def checked(shapes: Shapes, *ranks: int | None) -> Shapes:
    """Return a shape rule that first checks the inputs; see ``check_inputs``."""

    def rule(ctx: InferContext) -> Sequence[TensorShape]:
        check_inputs(ctx, *ranks)
        return shapes(ctx)

    return rule


# -- shapes of inputs ----------------------------------------------------------------------------


def broadcast(ctx: InferContext, *indices: int) -> TensorShape:
    """Return the shape of inputs broadcast together as in numpy.

    Raises:
        ValueError: if the shapes can never be broadcast.
    """
    shapes = [ctx.inputs[i].shape for i in indices or range(len(ctx.inputs))]
    result = shapes[0]
    try:
        for shape in shapes[1:]:
            result = broadcast_shapes(result, shape)
    except ValueError:
        raise ValueError(
            f"Dimensions must be equal, but are {_clash(shapes)}: {ctx.op} cannot broadcast shapes "
            f"{', '.join(map(str, shapes))}"
        ) from None
    return result


def _clash(shapes: Sequence[TensorShape]) -> str:
    """Return the two sizes, counted from the end, that cannot be broadcast together."""
    for sizes in itertools.zip_longest(*[reversed(s.sizes or ()) for s in shapes], fillvalue=None):
        extents = [size for size in sizes if size not in (None, 1)]
        if len(set(extents)) > 1:
            return f"{extents[0]} and {next(size for size in extents if size != extents[0])}"
    return "different"


def merged_shape(ctx: InferContext) -> TensorShape:
    """Return the common shape of inputs that must all have the same shape.

    Raises:
        ValueError: if two shapes contradict each other.
    """
    shapes = [s.shape for s in ctx.inputs]
    try:
        return merge_all(shapes)
    except ValueError:
        listed = ", ".join(map(str, shapes))
        first = next((s for s in shapes[1:] if not s.is_compatible_with(shapes[0])), None)
        where = "Shapes must be equal" if first is None else clash(shapes[0], first)
        raise ValueError(f"{where}: {ctx.op} takes inputs of one shape; got {listed}") from None


_RANKS = ("a scalar", "a vector")


def check_inputs(ctx: InferContext, *ranks: int | None) -> None:
    """Check inputs for which the signature has a fixed element type, and ranks.

    Args:
        ctx: the node being built.
        ranks: rank of each of the first inputs; ``None`` for any.

    Raises:
        TypeError: for another element type.
        ValueError: for another rank, or another number of inputs.
    """
    signature = signature_of(ctx.op)
    assert signature is not None
    args = input_args(ctx.op, len(ctx.inputs), ctx.attrs)
    for arg, spec in zip(args, ctx.inputs, strict=True):
        dtype = fixed_type(arg, signature.attrs)
        if dtype is not None and spec.dtype is not dtype:
            what = "a resource handle" if dtype.kind == "r" else dtype.name
            raise WrongDtypeError(f"{ctx.op} takes {what} as {arg.name}; got {spec.dtype.name}")
    for arg, spec, rank in zip(args, ctx.inputs, ranks, strict=False):
        if rank is not None and spec.shape.rank not in (None, rank):
            raise ValueError(f"{ctx.op} takes {_RANKS[rank]} as {arg.name}; got shape {spec.shape}")
