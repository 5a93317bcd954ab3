"""Softmax and the cross entropies that belong to it.

Owns ``Softmax``, ``LogSoftmax`` and the two fused cross entropies, which give loss and gradient in one
go. Kernels see a matrix of [rows, classes], make one buffer and work in place on it; sums over
classes go through BLAS. The half types are computed in float32.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import bfloat16, float16, float32
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext, OpDef, register
from actorsession.graph.shape import TensorShape, broadcast_shapes, unknown_shape
from actorsession.ops.build import constant, convert_to_tensor, make, make_one
from actorsession.ops.dimensions import rank, shape
from actorsession.ops.fills import range_
from actorsession.ops.gather import one_hot
from actorsession.ops.joining import concat
from actorsession.ops.layout import transpose
from actorsession.ops.placeholder import stop_gradient
from actorsession.ops.shape import expand_dims, reshape
from actorsession.ops.shape_operands import elements, normal_axis, require_floating, require_index

__all__ = [
    "log_softmax", "softmax", "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2", "sparse_softmax_cross_entropy_with_logits",
]  # fmt: skip

# numpy takes about 45 ns a row for the maximum of a short row; over columns it is vectorised, and a
# transposed copy is cheap. 128 x 10: 6.1 us against 1.7; the two meet near 64 classes.
_SHORT_ROW, _MANY_ROWS = 64, 32

# Microseconds an element: exp and about six passes.
_COST = 0.004


# -- rows ------------------------------------------------------------------------------------------


def _row_max(x: Array) -> Array:
    """The maximum of each row, as a column."""
    if x.shape[1] <= _SHORT_ROW and x.shape[0] >= _MANY_ROWS:
        largest = np.maximum.reduce(x.T.copy(), axis=0)
    else:
        largest = np.maximum.reduce(x, axis=1)
    column: Array = largest[:, None]
    return column


@lru_cache(maxsize=64)
def _ones(length: int, dtype: np.dtype[Any]) -> Array:
    ones = np.ones(length, dtype)
    ones.flags.writeable = False
    return ones


def _row_sum(x: Array) -> Array:
    """The sum of each row; BLAS is three to six times faster at it than numpy's own."""
    total: Array = x @ _ones(x.shape[1], x.dtype)
    return total


def _by_rows(function: Callable[[Array], Array], spec: TensorSpec) -> Kernel:
    """A kernel for any rank from a function that takes a fresh or borrowed matrix."""
    dtype = spec.dtype.np_dtype
    half = spec.dtype in (float16, bfloat16)

    def kernel(x: Any) -> Any:
        if not x.size:
            return x.copy()
        rows = x if x.ndim == 2 else x.reshape(-1, x.shape[-1])
        out = function(rows.astype(np.float32) if half else rows)
        out = out if x.ndim == 2 else out.reshape(x.shape)
        return out.astype(dtype) if half else out

    return kernel


# -- Softmax, LogSoftmax ---------------------------------------------------------------------------


def softmax(
    logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Tensor:
    """``exp(logits) / sum(exp(logits))`` along an axis.

    Args:
        logits: floating tensor of rank at least 1.
        axis: the axis of the classes, the last if left out.
        name: wanted name.
        dim: TensorFlow's older spelling of ``axis``.
    """
    return _along("Softmax", logits, dim if axis is None else axis, name)


def log_softmax(
    logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Tensor:
    """The logarithm of ``softmax``, exact where that would underflow; see ``softmax``."""
    return _along("LogSoftmax", logits, dim if axis is None else axis, name)


def _along(op_type: str, logits: Any, axis: int | None, name: str | None) -> Tensor:
    value = convert_to_tensor(logits)
    known = value.shape.rank
    where = -1 if axis is None else int(axis)
    if known is not None:
        where = normal_axis(where, known, op_type)
    if where == -1 or (known is not None and where == known - 1):
        return make_one(op_type, [value], None, name)
    with value.graph.name_scope(name or op_type) as scope:
        order = _to_last(value, where)
        moved = make_one(op_type, [transpose(value, order)])
        return transpose(moved, order, name=scope)


def _to_last(value: Tensor, axis: int) -> Any:
    """The order that exchanges an axis with the last one; it is its own inverse."""
    known = value.shape.rank
    if known is not None:
        order = list(range(known))
        order[axis], order[-1] = order[-1], order[axis]
        return order
    count = rank(value)
    where = (constant(axis, graph=value.graph) + count) % count
    places = range_(count)
    is_axis = one_hot(where, count, dtype="int32")
    is_last = one_hot(count - 1, count, dtype="int32")
    return places + (count - 1 - where) * (is_axis - is_last)


def _infer_softmax(ctx: InferContext) -> list[TensorSpec]:
    require_floating(ctx, 0)
    if ctx.inputs[0].shape.rank == 0:
        raise ValueError(f"{ctx.op}: logits have rank at least 1, got a scalar")
    return [ctx.inputs[0]]


def _softmax_rows(x: Array) -> Array:
    out = x - _row_max(x)
    np.exp(out, out)
    out /= _row_sum(out)[:, None]
    return out


def _log_softmax_rows(x: Array) -> Array:
    out = x - _row_max(x)
    total = _row_sum(np.exp(out))
    out -= np.log(total, total)[:, None]
    return out


def _sum_last(x: Tensor) -> Tensor:
    """The sum over the last axis, which stays as 1."""
    last = constant([-1], graph=x.graph)
    return make_one("Sum", [x, last], {"keep_dims": True})


def _softmax_back(out: Tensor, grad: Tensor) -> Tensor:
    return (grad - _sum_last(grad * out)) * out


def _softmax_gradient(op: Operation, grad: Tensor | None) -> list[Tensor | None]:
    return [None if grad is None else _softmax_back(op.outputs[0], grad)]


def _log_softmax_gradient(op: Operation, grad: Tensor | None) -> list[Tensor | None]:
    if grad is None:
        return [None]
    return [grad - _sum_last(grad) * make_one("Exp", [op.outputs[0]])]


def _cost(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> float:
    return 5.0 + _COST * elements(inputs[0])


register(
    OpDef(
        name="Softmax",
        infer=_infer_softmax,
        kernel=lambda ctx: _by_rows(_softmax_rows, ctx.inputs[0]),
        gradient=_softmax_gradient,
        cost=_cost,
    )
)
register(
    OpDef(
        name="LogSoftmax",
        infer=_infer_softmax,
        kernel=lambda ctx: _by_rows(_log_softmax_rows, ctx.inputs[0]),
        gradient=_log_softmax_gradient,
        cost=_cost,
    )
)


# -- SoftmaxCrossEntropyWithLogits -----------------------------------------------------------------


def softmax_cross_entropy_with_logits(
    *, labels: Any, logits: Any, dim: int = -1, name: str | None = None, axis: int | None = None
) -> Tensor:
    """The cross entropy between two distributions over classes; nothing flows back into ``labels``.

    Args:
        labels: probabilities of the classes, of the shape of ``logits``.
        logits: unscaled logarithms of probabilities.
        dim: the axis of the classes; TensorFlow's older spelling of ``axis``.
        name: wanted name.
        axis: the axis of the classes, the last if left out.

    Returns:
        The loss, of the shape of ``logits`` without that axis.
    """
    given = convert_to_tensor(labels)
    return softmax_cross_entropy_with_logits_v2(
        stop_gradient(given), logits, dim if axis is None else axis, name
    )


def softmax_cross_entropy_with_logits_v2(
    labels: Any, logits: Any, axis: int | None = None, name: str | None = None
) -> Tensor:
    """The same as ``softmax_cross_entropy_with_logits``, but with a gradient for ``labels``."""
    scores = convert_to_tensor(logits)
    graph = scores.graph
    with graph.name_scope(name or "softmax_cross_entropy_with_logits") as scope:
        precise = _float32_if_half(scores)
        wanted = _as(convert_to_tensor(labels, graph=graph), precise)
        where = -1 if axis is None else int(axis)
        if where != -1 and where != (precise.shape.rank or 0) - 1:
            order = _last_behind(precise, where)
            precise, wanted = transpose(precise, order), transpose(wanted, order)
        matrices = [_as_matrix(precise), _as_matrix(wanted)]
        loss = make("SoftmaxCrossEntropyWithLogits", matrices, None, scope).outputs[0]
        if precise.shape.rank != 2:
            loss = reshape(loss, shape(precise)[:-1])
            loss.set_shape(precise.shape[:-1])
        return _as(loss, scores)


def _last_behind(value: Tensor, axis: int) -> list[int]:
    """The order that puts an axis last and leaves the others as they are."""
    known = value.shape.rank
    if known is None:
        raise ValueError("an axis other than the last needs logits of known rank")
    where = normal_axis(axis, known, "softmax_cross_entropy_with_logits")
    return [a for a in range(known) if a != where] + [where]


def _float32_if_half(value: Tensor) -> Tensor:
    if value.dtype in (float16, bfloat16):
        return make_one("Cast", [value], {"DstT": float32})
    return value


def _as(value: Tensor, like: Tensor) -> Tensor:
    if value.dtype is like.dtype:
        return value
    return make_one("Cast", [value], {"DstT": like.dtype})


def _as_matrix(value: Tensor) -> Tensor:
    if value.shape.rank == 2:
        return value
    classes = None if value.shape.rank is None else value.shape[-1]
    if classes is not None:
        return reshape(value, [-1, classes])
    front = constant([-1], graph=value.graph)
    return reshape(value, concat([front, shape(value)[-1:]], 0))


def _infer_cross_entropy(ctx: InferContext) -> list[TensorSpec]:
    require_floating(ctx, 0, 1)
    logits, labels = (ctx.inputs[i].shape for i in (0, 1))
    try:
        both = broadcast_shapes(logits.with_rank(2), labels.with_rank(2))
    except ValueError:
        raise ValueError(
            f"{ctx.op}: logits and labels are matrices of one shape, got {logits} and {labels}"
        ) from None
    dtype = ctx.inputs[0].dtype
    return [TensorSpec(dtype, TensorShape(both[:1])), TensorSpec(dtype, both)]


def _cross_entropy_rows(x: Array, y: Array) -> tuple[Array, Array]:
    """Loss and gradient; ``log(total) * sum(y) - sum(y * shifted)`` needs no other matrix."""
    back = x - _row_max(x)
    picked = np.vecdot(y, back)
    np.exp(back, back)
    total = _row_sum(back)
    back /= total[:, None]
    back -= y
    loss = np.log(total, total)
    loss *= _row_sum(y)
    loss -= picked
    return loss, back


def _cross_entropy_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.outputs[0].dtype.np_dtype
    half = ctx.outputs[0].dtype in (float16, bfloat16)

    def kernel(logits: Any, labels: Any) -> Any:
        if logits.shape != labels.shape:
            try:
                logits, labels = np.broadcast_arrays(logits, labels)
            except ValueError as exc:
                raise InvalidArgumentError(
                    "logits and labels are matrices of one shape, "
                    f"got {list(logits.shape)} and {list(labels.shape)}"
                ) from exc
        _check_classes(logits)
        if half:
            loss, back = _cross_entropy_rows(
                logits.astype(np.float32), labels.astype(np.float32)
            )
            return loss.astype(dtype), back.astype(dtype)
        return _cross_entropy_rows(logits, labels)

    return kernel


def _check_classes(logits: Any) -> None:
    if logits.ndim != 2 or not logits.shape[1]:
        raise InvalidArgumentError(
            f"logits are a matrix of [rows, at least 1 class], got {list(logits.shape)}"
        )


def _backprop(op: Operation, loss: Tensor | None, back: Tensor | None) -> Tensor | None:
    """The gradient by the logits: that of the loss was computed with it."""
    parts = []
    if loss is not None:
        parts.append(expand_dims(loss, -1) * op.outputs[1])
    if back is not None:
        # Second order: the second output is softmax(logits) - labels.
        parts.append(_softmax_back(softmax(op.inputs[0]), back))
    return parts[0] if len(parts) == 1 else parts[0] + parts[1] if parts else None


def _cross_entropy_gradient(
    op: Operation, loss: Tensor | None, back: Tensor | None
) -> list[Tensor | None]:
    from actorsession.ops.broadcasting import sum_to_operands

    parts = []
    if loss is not None:
        parts.append(-(expand_dims(loss, -1) * log_softmax(op.inputs[0])))
    if back is not None:
        parts.append(-back)
    by_labels = parts[0] + parts[1] if len(parts) == 2 else parts[0] if parts else None
    return sum_to_operands(op.inputs[0], op.inputs[1], _backprop(op, loss, back), by_labels)


register(
    OpDef(
        name="SoftmaxCrossEntropyWithLogits",
        infer=_infer_cross_entropy,
        kernel=_cross_entropy_kernel,
        gradient=_cross_entropy_gradient,
        cost=_cost,
    )
)


# -- SparseSoftmaxCrossEntropyWithLogits -----------------------------------------------------------


def sparse_softmax_cross_entropy_with_logits(
    *, labels: Any, logits: Any, name: str | None = None
) -> Tensor:
    """The cross entropy where each label is one class.

    Args:
        labels: int32 or int64, the classes; of the shape of ``logits`` without the last axis.
        logits: unscaled logarithms of probabilities, classes last.
        name: wanted name.

    Returns:
        The loss, of the shape of ``labels``.

    Raises:
        ValueError: if the ranks or shapes can never fit.
    """
    scores = convert_to_tensor(logits)
    classes = convert_to_tensor(labels, graph=scores.graph)
    have, wanted = classes.shape, scores.shape[:-1] if scores.shape.rank else unknown_shape
    if scores.shape.rank == 0 or not have.is_compatible_with(wanted):
        raise ValueError(
            f"labels have the shape of logits without the last axis, got {have} for {scores.shape}"
        )
    base = name or "SparseSoftmaxCrossEntropyWithLogits"
    with scores.graph.name_scope(base) as scope:
        precise = _float32_if_half(scores)
        flat = scores.shape.rank == 2 and have.rank == 1
        inputs = [precise, classes] if flat else [_as_matrix(precise), reshape(classes, [-1])]
        loss = make("SparseSoftmaxCrossEntropyWithLogits", inputs, None, scope).outputs[0]
        if not flat:
            loss = reshape(loss, shape(classes))
            loss.set_shape(have)
        return _as(loss, scores)


def _infer_sparse(ctx: InferContext) -> list[TensorSpec]:
    require_floating(ctx, 0)
    require_index(ctx, 1)
    logits, labels = ctx.inputs[0], ctx.inputs[1].shape
    try:
        matrix = logits.shape.with_rank(2)
        rows = TensorShape(matrix[:1]).merge_with(labels.with_rank(1))
    except ValueError:
        raise ValueError(
            f"{ctx.op}: a matrix of logits and a label for each row, got {logits.shape} and {labels}"
        ) from None
    both = rows.concatenate(matrix[1:])
    return [TensorSpec(logits.dtype, rows), TensorSpec(logits.dtype, both)]


def _sparse_rows(x: Array, labels: Array) -> tuple[Array, Array]:
    places = np.arange(0, x.size, x.shape[1])
    places += labels
    back = x - _row_max(x)
    flat = back.reshape(-1)
    picked = flat.take(places)
    np.exp(back, back)
    total = _row_sum(back)
    back /= total[:, None]
    flat[places] -= 1
    loss = np.log(total, total)
    loss -= picked
    return loss, back


def _sparse_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.outputs[0].dtype.np_dtype
    half = ctx.outputs[0].dtype in (float16, bfloat16)
    unsigned = np.dtype(f"u{ctx.inputs[1].dtype.itemsize}")

    def kernel(logits: Any, labels: Any) -> Any:
        _check_classes(logits)
        if labels.shape != logits.shape[:1]:
            raise InvalidArgumentError(
                "a matrix of logits needs one label for each row, "
                f"got {list(logits.shape)} and {list(labels.shape)}"
            )
        # Seen as unsigned, negative labels are too large as well.
        outside = labels.view(unsigned) >= logits.shape[1]
        if outside.any():
            raise InvalidArgumentError(
                f"label {labels[outside.argmax()]} is outside the valid range of "
                f"[0, {logits.shape[1]})"
            )
        loss, back = _sparse_rows(logits.astype(np.float32) if half else logits, labels)
        return (loss.astype(dtype), back.astype(dtype)) if half else (loss, back)

    return kernel


def _sparse_gradient(
    op: Operation, loss: Tensor | None, back: Tensor | None
) -> list[Tensor | None]:
    return [_backprop(op, loss, back), None]


register(
    OpDef(
        name="SparseSoftmaxCrossEntropyWithLogits",
        infer=_infer_sparse,
        kernel=_sparse_kernel,
        gradient=_sparse_gradient,
        cost=_cost,
    )
)
