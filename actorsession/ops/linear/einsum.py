"""Sums of products in Einstein's notation of axis labels: ``ij,jk->ik``.

Owns the op ``Einsum`` of one or two operands; the function ``einsum`` takes more, and multiplies them one
after the other. Two operands become one matrix product: labels of one operand only are summed first, labels
of both operands and of the result form the batch, and the rest are rows, columns, and the axes to sum over.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import bfloat16, float16
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import Dim, TensorShape, broadcast_shapes, unknown_shape
from actorsession.ops import raw
from actorsession.ops.arrays.dimensions import shape_tensor
from actorsession.ops.arrays.fills import fill
from actorsession.ops.arrays.joining import stack
from actorsession.ops.arrays.shape import reshape
from actorsession.ops.blas import batch_product
from actorsession.ops.broadcasting import broadcast_gradient_args
from actorsession.ops.build import convert_all
from actorsession.ops.elements.elementwise import conj
from actorsession.ops.operands import scalar_like
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import elements

__all__ = ["einsum"]

_DOTS = "..."
# In parsed subscripts one character stands for the dots of an ellipsis.
_DOT = "."


class _Equation(NamedTuple):
    """The subscripts of the operands and of the result, with one dot for an ellipsis."""

    inputs: tuple[str, ...]
    output: str


def _parsed(equation: str) -> _Equation:
    """Return the subscripts of an equation; without an arrow, labels that occur once form the result.

    Raises:
        ValueError: if the equation is invalid.
    """
    text = equation.replace(" ", "").replace(_DOTS, _DOT)
    left, arrow, right = text.partition("->")
    inputs = tuple(left.split(","))
    for part in (*inputs, right):
        letters = all(c == _DOT or (c.isascii() and c.isalpha()) for c in part)
        if not letters or part.count(_DOT) > 1:
            raise ValueError(f"einsum: {equation!r} is no equation of letters, such as 'ij,jk->ik'")
    if not arrow:
        counts = Counter(left)
        dots = _DOT if _DOT in left else ""
        right = dots + "".join(sorted(c for c in counts if counts[c] == 1 and c.isalpha()))
    unknown = sorted(set(right) - set(left) - {_DOT})
    if unknown:
        raise ValueError(f"einsum: the result has labels that no operand has: {', '.join(unknown)}")
    return _Equation(inputs, right)


def einsum(equation: str, *inputs: Any, name: str | None = None) -> Tensor:
    """Return the sum of products of entries that an equation of subscripts describes.

    Args:
        equation: subscripts of the operands, separated by commas, then ``->`` and the subscripts of the
            result. A label that occurs twice in one operand selects its diagonal; ``...`` stands for any
            axes, which broadcast. Without an arrow the result has the labels that occur once, in alphabetical
            order.
        *inputs: the operands, of one dtype.

    Raises:
        ValueError: if the equation is invalid or does not fit the operands.
    """
    labels, output = _parsed(equation)
    if len(labels) != len(inputs):
        raise ValueError(f"einsum: {equation!r} is for {len(labels)} operands, and {len(inputs)} were given")
    if any(count > 1 for count in Counter(output).values()):
        raise ValueError(f"einsum: a label occurs twice in the result of {equation!r}")
    operands = convert_all(inputs)
    with operands[0].graph.name_scope(name or "einsum"):
        product, mine = operands[0], labels[0]
        if len(operands) == 1:
            return _einsum(_Equation((mine,), output), [product])
        for number, (operand, theirs) in enumerate(zip(operands[1:], labels[1:], strict=True), 2):
            later = set(output).union(*labels[number:])
            both = mine + theirs
            kept = "".join(dict.fromkeys(c for c in both if c in later))
            last = number == len(operands)
            between = output if last else kept
            product = _einsum(_Equation((mine, theirs), between), [product, operand])
            mine = between
        return product


def _einsum(equation: _Equation, operands: Sequence[Tensor]) -> Tensor:
    left, right = ",".join(equation.inputs), equation.output
    text = f"{left}->{right}".replace(_DOT, _DOTS)
    return raw.Einsum(operands, equation=text)


# -- shape ---------------------------------------------------------------------------------------


def _shape(ctx: InferContext) -> list[TensorShape]:
    labels, output = _parsed(ctx.attrs["equation"])
    if len(labels) != len(ctx.inputs) or len(labels) > 2:
        raise ValueError(f"Einsum takes one or two operands as its equation says, got {labels}")
    sizes: dict[str, Dim] = {}
    dots: TensorShape = TensorShape([])
    for part, spec in zip(labels, ctx.inputs, strict=True):
        mine = _static_sizes(part, spec.shape, ctx.attrs["equation"])
        dots = broadcast_shapes(dots, mine[0])
        for label, size in mine[1]:
            known = sizes.get(label)
            if known is not None and size is not None and known != size:
                raise ValueError(
                    f"Einsum {ctx.attrs['equation']!r}: label {label!r} counts {known} and {size}; "
                    f"shapes {', '.join(str(s.shape) for s in ctx.inputs)}"
                )
            sizes[label] = size if known is None else known
    if _DOT not in output and dots.rank not in (None, 0):
        raise ValueError(f"Einsum {ctx.attrs['equation']!r}: the operands have axes for '...', so the result needs it")
    result = TensorShape([])
    for label in output:
        result = result.concatenate(dots if label == _DOT else TensorShape([sizes[label]]))
    return [result]


def _static_sizes(part: str, shape: TensorShape, equation: str) -> tuple[TensorShape, list[tuple[str, Dim]]]:
    """Return the shape of the axes of an ellipsis, and the size of each label."""
    named = len(part.replace(_DOT, ""))
    if shape.sizes is None:
        unknown = unknown_shape if _DOT in part else TensorShape([])
        return unknown, [(c, None) for c in part if c != _DOT]
    rank = len(shape.sizes)
    if rank < named or (rank > named and _DOT not in part):
        raise ValueError(
            f"Einsum {equation!r}: {named} labels {'or more axes ' if _DOT in part else ''}do not fit shape {shape}"
        )
    start = part.find(_DOT)
    if start < 0:
        return TensorShape([]), list(zip(part, shape.sizes, strict=True))
    end = start + rank - named
    plain = shape.sizes[:start] + shape.sizes[end:]
    return TensorShape(shape.sizes[start:end]), list(zip(part.replace(_DOT, ""), plain, strict=True))


# -- kernel --------------------------------------------------------------------------------------

# Axes of an ellipsis are labelled by negative numbers, counted from the end; others by their letters.
_Labels = tuple[str | int, ...]


def _spread(part: str, x: Array, equation: str) -> _Labels:
    """Return a label for each axis."""
    named = len(part.replace(_DOT, ""))
    extra = x.ndim - named
    if extra < 0 or (extra and _DOT not in part):
        raise InvalidArgumentError(f"Einsum {equation!r}: {named} labels do not fit shape {list(x.shape)}")
    start = part.find(_DOT)
    if start < 0:
        return tuple(part)
    return (*part[:start], *range(-extra, 0), *part[start + 1 :])


def _sizes(parts: Sequence[tuple[_Labels, Array]], equation: str) -> dict[str | int, int]:
    sizes: dict[str | int, int] = {}
    for labels, x in parts:
        for label, size in zip(labels, x.shape, strict=True):
            known = sizes.setdefault(label, size)
            if known != size:
                if not isinstance(label, int) or 1 not in (known, size):
                    raise InvalidArgumentError(
                        f"Einsum {equation!r}: label {label!r} counts {known} and {size}; shapes "
                        f"{', '.join(str(list(x.shape)) for _, x in parts)}"
                    )
                sizes[label] = known * size
    return sizes


def _diagonal(labels: _Labels, x: Array) -> tuple[_Labels, Array]:
    """Return a view with one axis for each different label."""
    different = tuple(dict.fromkeys(labels))
    if len(different) == len(labels):
        return labels, x
    strides = [
        sum(stride for mine, stride in zip(labels, x.strides, strict=True) if mine == label) for label in different
    ]
    shape = [x.shape[labels.index(label)] for label in different]
    return different, np.lib.stride_tricks.as_strided(x, shape, strides, writeable=False)


def _without(labels: _Labels, x: Array, kept: set[str | int]) -> tuple[_Labels, Array]:
    """Sum over the labels that are not in ``kept``."""
    gone = tuple(axis for axis, label in enumerate(labels) if label not in kept)
    if not gone:
        return labels, x
    return tuple(label for label in labels if label in kept), x.sum(gone, dtype=x.dtype)


def _arranged(labels: _Labels, x: Array, order: Sequence[str | int]) -> Array:
    """Return an operand with its axes in another order, with length 1 where a label is missing."""
    present = [labels.index(label) for label in order if label in labels]
    turned = x.transpose(present)
    index = tuple(slice(None) if label in labels else None for label in order)
    return turned[index]


def _product(
    left: tuple[_Labels, Array],
    right: tuple[_Labels, Array],
    output: Sequence[str | int],
    sizes: Mapping[str | int, int],
) -> tuple[_Labels, Array]:
    (mine, x), (theirs, y) = left, right
    out = set(output)
    # Within an ellipsis, one operand may have length 1 where the other has more: those axes are batch axes.
    batch = [c for c in output if isinstance(c, int) or (c in mine and c in theirs)]
    inner = [c for c in mine if c in theirs and c not in out]
    rows = [c for c in output if c in mine and c not in batch]
    columns = [c for c in output if c in theirs and c not in batch and c not in rows]
    a, b = (_arranged(mine, x, [*batch, *rows, *inner]), _arranged(theirs, y, [*batch, *inner, *columns]))

    def count(group: Sequence[str | int]) -> int:
        return math.prod(sizes[c] for c in group)

    heads = len(batch)
    a = a.reshape(*a.shape[:heads], count(rows), count(inner))
    b = b.reshape(*b.shape[:heads], count(inner), count(columns))
    product = batch_product(a, b)
    shape = [sizes[c] for c in (*batch, *rows, *columns)]
    return (*batch, *rows, *columns), product.reshape(shape)


def _doubled(labels: _Labels, x: Array, output: Sequence[str | int]) -> Array:
    """Return the result in its final order; a repeated label makes a diagonal, with zeros elsewhere."""
    different = tuple(dict.fromkeys(output))
    x = _arranged(labels, x, different)
    if len(different) == len(output):
        return x
    sizes = dict(zip(different, x.shape, strict=True))
    out = np.zeros([sizes[c] for c in output], x.dtype)
    strides = [sum(stride for label, stride in zip(output, out.strides, strict=True) if label == c) for c in different]
    np.lib.stride_tricks.as_strided(out, x.shape, strides)[...] = x
    return out


def _kernel(ctx: KernelContext) -> Kernel:
    equation = str(ctx.attrs["equation"])
    subscripts, output = _parsed(equation)
    dtype = ctx.outputs[0].dtype
    narrow = dtype in (float16, bfloat16)

    def einsum(*operands: Any) -> Any:
        arrays = [np.asarray(x, np.float32) if narrow else np.asarray(x) for x in operands]
        parts = [(_spread(part, x, equation), x) for part, x in zip(subscripts, arrays, strict=True)]
        sizes = _sizes(parts, equation)
        dots = sorted(c for c in sizes if isinstance(c, int))
        if dots and _DOT not in output:
            raise InvalidArgumentError(f"Einsum {equation!r}: the operands have axes for '...', so the result needs it")
        result_labels = [c for part in output for c in (dots if part == _DOT else [part])]
        parts = [_diagonal(labels, x) for labels, x in parts]
        others = [set(result_labels) | set(labels) for labels, _ in reversed(parts)]
        if len(parts) == 1:
            others = [set(result_labels)]
        parts = [_without(labels, x, kept) for (labels, x), kept in zip(parts, others, strict=True)]
        different = list(dict.fromkeys(result_labels))
        contracted = parts[0] if len(parts) == 1 else _product(parts[0], parts[1], different, sizes)
        result = _doubled(contracted[0], contracted[1], result_labels).astype(dtype.np_dtype, copy=False)
        shared = any(np.may_share_memory(result, np.asarray(x)) for x in operands)
        return result.copy() if shared or not result.flags.writeable else result

    return einsum


# -- gradient ------------------------------------------------------------------------------------


def _gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    subscripts, output = _parsed(str(op.attrs["equation"]))
    if len(subscripts) == 1:
        return [_by_operand(subscripts[0], op.inputs[0], output, grad, [], [])]
    (x, y), (mine, theirs) = op.inputs, subscripts
    by_operand = [
        _by_operand(mine, x, output, grad, [theirs], [conj(y)]),
        _by_operand(theirs, y, output, grad, [mine], [conj(x)]),
    ]
    if _DOT not in mine and _DOT not in theirs:
        return by_operand
    axes = broadcast_gradient_args(_dots_shape(mine, x), _dots_shape(theirs, y))
    return [
        _summed_dots(value, operand, part, over)
        for value, operand, part, over in zip(by_operand, (x, y), subscripts, axes, strict=True)
    ]


def _by_operand(
    part: str, operand: Tensor, output: str, grad: Tensor, other_labels: list[str], others: list[Tensor]
) -> Tensor:
    """Return the gradient by an operand, still with the ellipsis of the result."""
    dots = _DOT if _DOT in output else ""
    known = set(output).union(*other_labels) - {_DOT}
    named = part.replace(_DOT, "")
    kept = "".join(c for c in named if c in known)
    gradient = _einsum(_Equation((output, *other_labels), dots + kept), [grad, *others])
    missing = [c for c in dict.fromkeys(named) if c not in known]
    target = part if _DOT in part else dots + part
    if not missing and target == dots + kept:
        return gradient
    # Axes that were summed are restored by ones of their length; a repeated label makes a diagonal.
    free = "".join(dict.fromkeys(kept))
    if free != kept:
        gradient = _einsum(_Equation((output, *other_labels), dots + free), [grad, *others])
    if not missing:
        return _einsum(_Equation((dots + free,), target), [gradient])
    ones = _ones_of(operand, part, missing)
    return _einsum(_Equation((dots + free, "".join(missing)), target), [gradient, ones])


def _axis_of(part: str, label: str) -> int:
    """Return the axis of a label: counted from the front before an ellipsis, from the end after it."""
    place = part.index(label)
    return place if _DOT not in part[:place] else place - len(part)


def _ones_of(operand: Tensor, part: str, labels: Sequence[str]) -> Tensor:
    dims = shape_tensor(operand)
    count = [dims[_axis_of(part, label)] for label in labels]
    return fill(stack(count), scalar_like(1, operand))


def _dots_shape(part: str, operand: Tensor) -> Tensor:
    dims = shape_tensor(operand)
    if _DOT not in part:
        return dims[:0]
    start = part.index(_DOT)
    end = start + 1 - len(part)
    return dims[start:end] if end else dims[start:]


def _summed_dots(value: Tensor, operand: Tensor, part: str, axes: Tensor) -> Tensor:
    """Sum over the axes of an ellipsis along which the operand was broadcast."""
    start = max(part.find(_DOT), 0)
    summed = raw.Sum(value, axes + start, keep_dims=False)
    return reshape(summed, shape_tensor(operand))


def _cost(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> float:
    # Assumes that the summed axes are as long as the square root of the smaller operand.
    inner = math.sqrt(min(elements(spec) for spec in inputs))
    return 10.0 + 0.0005 * elements(outputs[0]) * inner


op("Einsum", _shape, kernel=_kernel, grad=_gradient, cost=_cost, divides=True)
