"""Cross entropies between labels and logits.

Owns the two fused softmax cross entropies. Their kernels compute the loss and its gradient in the same
passes; the gradient is the op's second output, and the gradient function multiplies it by the incoming
gradient. The half types are computed in float32. The sigmoid form is composed of other ops.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import bfloat16, float16, float32
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, broadcast_shapes, unknown_shape
from actorsession.ops import raw
from actorsession.ops.arrays.array import stop_gradient
from actorsession.ops.arrays.dimensions import shape
from actorsession.ops.arrays.joining import concat
from actorsession.ops.arrays.layout import transpose
from actorsession.ops.arrays.shape import expand_dims, reshape
from actorsession.ops.broadcasting import sum_to_operands
from actorsession.ops.build import constant, convert_to_tensor
from actorsession.ops.neural.softmax import centred, log_softmax, row_sum, softmax, softmax_back, softmax_cost
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import normal_axis

__all__ = [
    "sigmoid_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits",
    "softmax_cross_entropy_with_logits_v2",
    "sparse_softmax_cross_entropy_with_logits",
]

# Up to this many classes it is cheap to copy the one-hot rows of a batch from a table (128 x 10: the whole
# kernel takes 9 us instead of 11).
_FEW_CLASSES = 128


# -- SoftmaxCrossEntropyWithLogits -----------------------------------------------------------------


def softmax_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, axis: int | None = None, name: str | None = None
) -> Tensor:
    """Return the cross entropy between two distributions over classes, without a gradient for ``labels``.

    Args:
        labels: probabilities of the classes, of the shape of ``logits``.
        logits: unscaled logarithms of probabilities.
        axis: the axis of the classes, the last if left out.

    Returns:
        The loss, of the shape of ``logits`` without that axis.
    """
    _check_both(labels, logits)
    distribution = convert_to_tensor(labels)
    return softmax_cross_entropy_with_logits_v2(
        stop_gradient(distribution), logits, axis, name or "softmax_cross_entropy_with_logits_sg"
    )


def softmax_cross_entropy_with_logits_v2(
    labels: Any, logits: Any, axis: int | None = None, name: str | None = None
) -> Tensor:
    """Return ``softmax_cross_entropy_with_logits`` with a gradient for ``labels``."""
    scores = convert_to_tensor(logits)
    graph = scores.graph
    with graph.name_scope(name or "softmax_cross_entropy_with_logits"):
        precise = _float32_if_half(scores)
        targets = _as(convert_to_tensor(labels, graph=graph), precise)
        where = -1 if axis is None else int(axis)
        if where != -1 and where != (precise.shape.rank or 0) - 1:
            order = _last_behind(precise, where)
            precise, targets = transpose(precise, order), transpose(targets, order)
        matrices = _as_matrix(precise), _as_matrix(targets)
        # The result has the name that it has in TensorFlow, where it is reshaped in any case.
        last, flat = "Reshape_2", precise.shape.rank == 2
        loss, _ = raw.SoftmaxCrossEntropyWithLogits(*matrices, name=last if flat else None)
        if not flat:
            loss = reshape(loss, shape(precise)[:-1], last)
            loss.set_shape(precise.shape[:-1])
        return _as(loss, scores)


def _check_both(labels: Any, logits: Any) -> None:
    if labels is None or logits is None:
        raise ValueError("labels and logits must be given, both of them")


def _last_behind(value: Tensor, axis: int) -> list[int]:
    """Return the permutation that moves an axis to the end and keeps the order of the others."""
    known = value.shape.rank
    if known is None:
        raise ValueError("an axis other than the last needs logits of known rank")
    where = normal_axis(axis, known, "softmax_cross_entropy_with_logits")
    return [a for a in range(known) if a != where] + [where]


def _float32_if_half(value: Tensor) -> Tensor:
    if value.dtype in (float16, bfloat16):
        return raw.Cast(value, DstT=float32)
    return value


def _as(value: Tensor, like: Tensor) -> Tensor:
    if value.dtype is like.dtype:
        return value
    return raw.Cast(value, DstT=like.dtype)


def _as_matrix(value: Tensor) -> Tensor:
    if value.shape.rank == 2:
        return value
    classes = None if value.shape.rank is None else value.spec.shape[-1]
    if classes is not None:
        return reshape(value, [-1, classes])
    front = constant([-1], graph=value.graph)
    return reshape(value, concat([front, shape(value)[-1:]], 0))


def _cross_entropy(ctx: InferContext) -> Sequence[TensorShape]:
    logits, labels = (ctx.inputs[i].shape for i in (0, 1))
    try:
        both = broadcast_shapes(logits.with_rank(2), labels.with_rank(2))
    except ValueError:
        raise ValueError(f"{ctx.op}: logits and labels are matrices of one shape, got {logits} and {labels}") from None
    return [TensorShape(both[:1]), both]


def _cross_entropy_rows(x: Array, y: Array) -> tuple[Array, Array]:
    """Return loss and gradient; ``log(total) * sum(y) - sum(y * shifted)`` needs no further matrix."""
    back = centred(x)
    picked = np.vecdot(y, back)
    np.exp(back, back)
    total = row_sum(back)
    back /= total[:, None]
    back -= y
    loss = np.log(total, total)
    loss *= row_sum(y)
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
                    f"logits and labels are matrices of one shape, got {list(logits.shape)} and {list(labels.shape)}"
                ) from exc
        if logits.ndim == 2 and not logits.shape[1]:
            return np.zeros(len(logits), dtype), np.zeros(logits.shape, dtype)
        _check_classes(logits)
        if half:
            loss, back = _cross_entropy_rows(logits.astype(np.float32), labels.astype(np.float32))
            return loss.astype(dtype), back.astype(dtype)
        return _cross_entropy_rows(logits, labels)

    return kernel


def _check_classes(logits: Any) -> None:
    if logits.ndim != 2 or not logits.shape[1]:
        raise InvalidArgumentError(f"logits are a matrix of [rows, at least 1 class], got {list(logits.shape)}")


def _backprop(op: Operation, loss: Tensor | None, back: Tensor | None) -> Tensor | None:
    """Return the gradient by the logits, from the gradient that the forward op computed with the loss."""
    parts = []
    if loss is not None:
        parts.append(expand_dims(loss, -1) * op.outputs[1])
    if back is not None:
        # Second order: the op's second output is softmax(logits) - labels.
        parts.append(softmax_back(softmax(op.inputs[0]), back))
    return parts[0] if len(parts) == 1 else parts[0] + parts[1] if parts else None


def _cross_entropy_gradient(op: Operation, loss: Tensor | None, back: Tensor | None) -> list[Tensor | None]:
    parts = []
    if loss is not None:
        parts.append(-(expand_dims(loss, -1) * log_softmax(op.inputs[0])))
    if back is not None:
        parts.append(-back)
    by_labels = parts[0] + parts[1] if len(parts) == 2 else parts[0] if parts else None
    return sum_to_operands(op.inputs[0], op.inputs[1], _backprop(op, loss, back), by_labels)


op(
    "SoftmaxCrossEntropyWithLogits",
    _cross_entropy,
    kernel=_cross_entropy_kernel,
    grad=_cross_entropy_gradient,
    cost=softmax_cost,
)


# -- SparseSoftmaxCrossEntropyWithLogits -----------------------------------------------------------


def sparse_softmax_cross_entropy_with_logits(labels: Any = None, logits: Any = None, name: str | None = None) -> Tensor:
    """Return the softmax cross entropy where each label is a single class.

    Args:
        labels: int32 or int64, the classes; of the shape of ``logits`` without the last axis.
        logits: unscaled logarithms of probabilities, classes last.

    Returns:
        The loss, of the shape of ``labels``.

    Raises:
        ValueError: if the ranks or shapes can never fit.
    """
    _check_both(labels, logits)
    scores = convert_to_tensor(logits)
    classes = convert_to_tensor(labels, graph=scores.graph)
    have, expected = classes.shape, scores.shape[:-1] if scores.shape.rank else unknown_shape
    if scores.shape.rank == 0 or not have.is_compatible_with(expected):
        raise ValueError(f"labels have the shape of logits without the last axis, got {have} for {scores.shape}")
    base = name or "SparseSoftmaxCrossEntropyWithLogits"
    with scores.graph.name_scope(base):
        precise = _float32_if_half(scores)
        flat = scores.shape.rank == 2 and have.rank == 1
        inputs = (precise, classes) if flat else (_as_matrix(precise), reshape(classes, [-1]))
        loss, _ = raw.SparseSoftmaxCrossEntropyWithLogits(*inputs, name=base)
        if not flat:
            loss = reshape(loss, shape(classes))
            loss.set_shape(have)
        return _as(loss, scores)


def _sparse(ctx: InferContext) -> Sequence[TensorShape]:
    logits, labels = (spec.shape for spec in ctx.inputs)
    try:
        matrix = logits.with_rank(2)
        rows = TensorShape(matrix[:1]).merge_with(labels.with_rank(1))
    except ValueError:
        raise ValueError(f"{ctx.op}: a matrix of logits and a label for each row, got {logits} and {labels}") from None
    return [rows, rows.concatenate(matrix[1:])]


@lru_cache(maxsize=64)
def _unit_rows(classes: int, dtype: np.dtype[Any]) -> Array:
    rows = np.eye(classes, dtype=dtype)
    rows.flags.writeable = False
    return rows


def _few_classes_rows(x: Array, labels: Array) -> tuple[Array, Array]:
    """Use one-hot rows from a table: for short rows this is cheaper than gathering single elements."""
    y = _unit_rows(x.shape[1], x.dtype).take(labels, 0)
    back = centred(x)
    picked = np.vecdot(y, back)
    if np.isnan(picked).any():
        # The sum contains 0 times a logit of minus infinity, which marks an impossible class.
        picked = back[np.arange(len(labels)), labels]
    np.exp(back, back)
    total = row_sum(back)
    back /= total[:, None]
    back -= y
    loss = np.log(total, total)
    loss -= picked
    return loss, back


def _sparse_rows(x: Array, labels: Array) -> tuple[Array, Array]:
    if x.shape[1] <= _FEW_CLASSES:
        return _few_classes_rows(x, labels)
    places = np.arange(0, x.size, x.shape[1])
    places += labels
    back = centred(x)
    flat = back.reshape(-1)
    picked = flat.take(places)
    np.exp(back, back)
    total = row_sum(back)
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
                f"a matrix of logits needs one label for each row, got {list(logits.shape)} and {list(labels.shape)}"
            )
        # Interpreted as unsigned, negative labels are too large as well.
        if labels.size and labels.view(unsigned).max() >= logits.shape[1]:
            bad = labels[labels.view(unsigned).argmax()]
            raise InvalidArgumentError(f"label {bad} is outside the valid range of [0, {logits.shape[1]})")
        loss, back = _sparse_rows(logits.astype(np.float32) if half else logits, labels)
        return (loss.astype(dtype), back.astype(dtype)) if half else (loss, back)

    return kernel


op(
    "SparseSoftmaxCrossEntropyWithLogits",
    _sparse,
    kernel=_sparse_kernel,
    grad=lambda op, loss, back: [_backprop(op, loss, back), None],
    cost=softmax_cost,
)


# -- the sigmoid form ------------------------------------------------------------------------------


def sigmoid_cross_entropy_with_logits(labels: Any = None, logits: Any = None, name: str | None = None) -> Tensor:
    """Return the cross entropy of independent yes-or-no classes.

    Args:
        labels: probabilities, of the dtype and shape of ``logits``.
        logits: unscaled logarithms of odds.

    Returns:
        The loss of each class, of the shape of ``logits``.

    Raises:
        ValueError: if the shapes differ.
    """
    _check_both(labels, logits)
    x = convert_to_tensor(logits)
    z = convert_to_tensor(labels, x.dtype, graph=x.graph)
    if not x.shape.is_compatible_with(z.shape):
        raise ValueError(f"logits and labels have one shape, got {x.shape} and {z.shape}")
    with x.graph.name_scope(name or "logistic_loss") as scope:
        # The same as max(x, 0) - x * z + log(1 + exp(-abs(x))), but with the right gradient at 0, where max
        # and abs have none, and where every network with zero weights starts.
        return raw.Sub(raw.Softplus(x), x * z, name=scope)
