"""Strings composed of others: joined element by element, along axes or by segment, or put into a template.

Each op is defined here completely: ``StringJoin``, ``ReduceJoin``, ``UnsortedSegmentJoin``, ``StringFormat``.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import int32, string
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, merge_all, scalar_shape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.arrays.fills import range_
from actorsession.ops.arrays.shape import rank
from actorsession.ops.build import convert_all, convert_to_tensor
from actorsession.ops.rows import op, scalar
from actorsession.ops.shape_operands import Ints, boxed, constant_ints, ints, normal_axis, shape_of_rank
from actorsession.opsets.text.kernels import boxed_all, joined, require_string, string_array, text_of

__all__ = ["reduce_join", "string_format", "string_join", "unsorted_segment_join"]


# -- element by element ----------------------------------------------------------------------------


def string_join(inputs: Sequence[Any], separator: str = "", name: str | None = None) -> Tensor:
    """Join strings element by element.

    Args:
        inputs: tensors of strings of one shape; scalars are repeated.
        separator: the separator between the strings.
    """
    return raw.StringJoin(convert_all(list(inputs), string), separator=separator, name=name)


def _joined_shape(ctx: InferContext) -> Sequence[TensorShape]:
    if not ctx.inputs:
        raise ValueError("StringJoin: there is at least one input, got none")
    require_string(ctx, *range(len(ctx.inputs)))
    shapes = [spec.shape for spec in ctx.inputs]
    if any(shape.rank is None for shape in shapes) and all(not shape.rank for shape in shapes):
        return [unknown_shape]
    wide = [shape for shape in shapes if shape.rank]
    try:
        return [merge_all(wide) if wide else scalar_shape]
    except ValueError:
        listed = ", ".join(map(str, shapes))
        raise ValueError(f"StringJoin takes scalars and one shape; got {listed}") from None


def _join_kernel(ctx: KernelContext) -> Kernel:
    separator = ctx.attrs["separator"].encode()

    def join(*values: Any) -> Any:
        arrays = boxed_all(values)
        shapes = {array.shape for array in arrays if array.shape}
        if len(shapes) > 1:
            listed = ", ".join(str(list(shape)) for shape in sorted(shapes))
            raise InvalidArgumentError(f"StringJoin takes scalars and one shape; got {listed}")
        wide = np.broadcast_arrays(*arrays)
        rows = zip(*[array.flat for array in wide], strict=True)
        return string_array(joined(separator, rows, "StringJoin"), wide[0].shape)

    return join


op("StringJoin", _joined_shape, kernel=_join_kernel, grad=NOT_DIFFERENTIABLE)


# -- along axes ------------------------------------------------------------------------------------


def reduce_join(
    inputs: Any, axis: Any = None, separator: str = "", name: str | None = None, keepdims: bool | None = None
) -> Tensor:
    """Join strings along axes.

    Args:
        inputs: strings.
        axis: an axis or several, in the order in which they are joined; all, the last one first, if left out.
        separator: the separator between the strings.
        keepdims: whether the axes stay, with extent 1.
    """
    axes = axis
    value = convert_to_tensor(inputs, string)
    graph = value.graph
    with graph.as_default(), graph.name_scope("ReduceJoin"):
        if axes is None:
            known = value.shape.rank
            if known is None:
                axes = range_(rank(value) - 1, -1, -1)
            else:
                axes = np.arange(known, dtype=np.int32)[::-1]
        if isinstance(axes, (list, tuple)) and not axes:
            axes = np.zeros(0, np.int32)
        chosen = convert_to_tensor(axes, int32, "reduction_indices", graph=graph)
        return raw.ReduceJoin(value, chosen, keep_dims=bool(keepdims), separator=separator, name=name)


def _without_axes(ctx: InferContext) -> Sequence[TensorShape]:
    require_string(ctx, 0)
    if ctx.inputs[1].dtype is not int32:
        raise TypeError(f"ReduceJoin: axes are int32, got {ctx.inputs[1].dtype.name}")
    shape, axes, keep = ctx.inputs[0].shape, constant_ints(ctx, 1), ctx.attrs["keep_dims"]
    if axes is None or shape.sizes is None:
        return [shape_of_rank(shape.rank if keep else None)]
    gone = {normal_axis(axis, len(shape.sizes), "ReduceJoin") for axis in axes}
    if keep:
        dims = [1 if i in gone else d for i, d in enumerate(shape.sizes)]
    else:
        dims = [d for i, d in enumerate(shape.sizes) if i not in gone]
    return [TensorShape(dims)]


def _normal_axes(axes: Ints, rank: int) -> list[int]:
    normal = [normal_axis(axis, rank, "ReduceJoin", InvalidArgumentError) for axis in axes]
    if len(set(normal)) < len(normal):
        raise InvalidArgumentError(f"ReduceJoin: axes {list(axes)} name one twice")
    return normal


def _reduce_join_kernel(ctx: KernelContext) -> Kernel:
    separator, keep = ctx.attrs["separator"].encode(), ctx.attrs["keep_dims"]

    def join(value: Any, axes: Any) -> Any:
        array = boxed(value)
        gone = _normal_axes(ints(axes), array.ndim)
        kept = [i for i in range(array.ndim) if i not in gone]
        dims = [array.shape[i] for i in kept]
        rows = array.transpose([*kept, *reversed(gone)]).reshape(int(np.prod(dims)), -1 if array.size else 0)
        shape = [1 if i in gone else d for i, d in enumerate(array.shape)] if keep else dims
        return string_array(joined(separator, rows, "ReduceJoin"), tuple(shape))

    return join


op("ReduceJoin", _without_axes, kernel=_reduce_join_kernel, grad=NOT_DIFFERENTIABLE)


# -- by segment ------------------------------------------------------------------------------------


def unsorted_segment_join(
    inputs: Any, segment_ids: Any, num_segments: Any, separator: str = "", name: str | None = None
) -> Tensor:
    """Join the strings of each segment in their order.

    Args:
        inputs: strings.
        segment_ids: the segment of each string, int32 or int64; its shape is a prefix of that of ``inputs``.
        num_segments: number of segments.
        separator: the separator between the strings.

    Returns:
        One string for each segment, empty for an empty segment. At run time an InvalidArgumentError is raised
        for a segment out of range.
    """
    value = convert_to_tensor(inputs, string)
    with value.graph.name_scope(name or "UnsortedSegmentJoin") as scope:
        ids = convert_to_tensor(segment_ids, None, "segment_ids", graph=value.graph)
        count = convert_to_tensor(num_segments, None, "num_segments", graph=value.graph)
        return raw.UnsortedSegmentJoin(value, ids, count, separator=separator, name=scope)


def _segment_rows(ctx: InferContext) -> Sequence[TensorShape]:
    require_string(ctx, 0)
    shape, ids, total = (spec.shape for spec in ctx.inputs)
    if total.rank not in (None, 0):
        raise ValueError(f"{ctx.op}: input 2 has rank 0, got shape {total}")
    count = constant_ints(ctx, 2)
    if shape.sizes is None or ids.sizes is None:
        return [unknown_shape]
    if not TensorShape(shape.sizes[: len(ids.sizes)]).is_compatible_with(ids):
        raise ValueError(f"{ctx.op}: the shape of segment_ids begins that of inputs, got {ids} and {shape}")
    rest = shape.sizes[len(ids.sizes) :]
    return [TensorShape([None if count is None else count[0], *rest])]


def _segment_join_kernel(ctx: KernelContext) -> Kernel:
    separator = ctx.attrs["separator"].encode()

    def join(value: Any, ids: Any, count: Any) -> Any:
        array, where, total = boxed(value), np.asarray(ids), int(count)
        if array.shape[: where.ndim] != where.shape:
            raise InvalidArgumentError(
                f"UnsortedSegmentJoin: the shape of segment_ids begins that of inputs, got "
                f"{list(where.shape)} and {list(array.shape)}"
            )
        if total < 0 or ((where < 0) | (where >= total)).any():
            raise InvalidArgumentError(
                f"UnsortedSegmentJoin: segments are at least 0 and below {total}, got {where.tolist()}"
            )
        rest = array.shape[where.ndim :]
        width = int(np.prod(rest))
        by_segment: list[list[bytes]] = [[] for _ in range(total * width)]
        rows = array.reshape(where.size, width)
        for segment, row in zip(where.flat, rows, strict=True):
            for column, text in enumerate(row):
                by_segment[int(segment) * width + column].append(text)
        return string_array(joined(separator, by_segment, "UnsortedSegmentJoin"), (total, *rest))

    return join


op("UnsortedSegmentJoin", _segment_rows, kernel=_segment_join_kernel, grad=NOT_DIFFERENTIABLE, sized_by=(2,))


# -- templates -------------------------------------------------------------------------------------


def string_format(
    template: str, inputs: Any, placeholder: str = "{}", summarize: int = 3, name: str | None = None
) -> Tensor:
    """Format tensors into a template.

    Args:
        template: the text.
        inputs: a tensor or a list of them, one for each placeholder.
        placeholder: text that is replaced by a tensor.
        summarize: number of entries written at either end of each axis; all for -1.

    Raises:
        ValueError: if there are more or fewer tensors than placeholders.
    """
    listed = list(inputs) if isinstance(inputs, (list, tuple)) else [inputs]
    text, mark = text_of(template), text_of(placeholder)
    count = text.count(mark)
    if count != len(listed):
        raise ValueError(
            f"The template expects {count} tensors, but the inputs only has {len(listed)}. Please "
            "ensure the number of placeholders in template matches inputs length."
        )
    tensors = [convert_to_tensor(value) for value in listed]
    return raw.StringFormat(tensors, template=text, placeholder=mark, summarize=int(summarize), name=name)


def _format_kernel(ctx: KernelContext) -> Kernel:
    texts = ctx.attrs["template"].split(ctx.attrs["placeholder"])
    most = ctx.attrs["summarize"]

    def formatted(*values: Any) -> bytes:
        written = [_written(np.asarray(boxed(value)), most, 0) for value in values]
        pieces = itertools.zip_longest(texts, written, fillvalue="")
        return "".join(itertools.chain(*pieces)).encode("utf-8", "surrogateescape")

    return formatted


def _written(array: Any, most: int, depth: int) -> str:
    """Return a tensor formatted like TensorFlow does, each axis but the last on separate lines."""
    if array.ndim == 0:
        return _one(array[()])
    between = " " if array.ndim == 1 else "\n" * (array.ndim - 1) + " " * (depth + 1)
    count = len(array)
    if most >= 0 and count > 2 * most:
        kept = [*range(most), None, *range(count - most, count)]
    else:
        kept = list(range(count))
    parts = ["..." if i is None else _written(array[i : i + 1][0, ...], most, depth + 1) for i in kept]
    return f"[{between.join(parts)}]"


def _one(value: Any) -> str:
    if isinstance(value, bytes):
        return f'"{_escaped(value)}"'
    if isinstance(value, (bool, np.bool_)):
        return "1" if value else "0"
    if value.dtype.kind in "iu":
        return str(int(value))
    if value.dtype.kind == "c":
        return f"({_number(value.real)},{_number(value.imag)})"
    return _number(value)


def _number(value: Any) -> str:
    """Return the shorter of two formats that reproduces the number."""
    few, many = (15, 17) if value.dtype == np.float64 else (6, 9)
    short = f"{float(value):.{few}g}"
    with np.errstate(over="ignore"):
        same = value.dtype.type(float(short)) == value or value != value
    return short if same else f"{float(value):.{many}g}"


_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t", '"': '\\"', "'": "\\'", "\\": "\\\\"}


def _escaped(value: bytes) -> str:
    """Return a string escaped as in C."""
    text = value.decode("latin-1")
    return "".join(_NAMED.get(c, c if 32 <= ord(c) < 127 else f"\\{ord(c):03o}") for c in text)


op("StringFormat", scalar, kernel=_format_kernel, grad=NOT_DIFFERENTIABLE)
