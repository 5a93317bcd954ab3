"""Tensors with some elements changed: TensorFlow's ``tensor_scatter_...`` functions.

Owns ``TensorScatterUpdate``, ``Add``, ``Sub``, ``Min`` and ``Max``. The tensor itself is unchanged; each
result is a copy. Updates with equal indices are combined; with ``Update`` the last one counts.
"""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import Array, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape
from actorsession.ops.arrays.dimensions import shape_tensor
from actorsession.ops.arrays.fills import zeros_like
from actorsession.ops.arrays.gather import gather_nd, scatter_nd
from actorsession.ops.arrays.scatter import add_rows
from actorsession.ops.build import convert_to_tensor, make_one
from actorsession.ops.elements.arithmetic import divide, multiply
from actorsession.ops.elements.cast import cast
from actorsession.ops.elements.comparison import equal
from actorsession.ops.rows import op

__all__ = [
    "tensor_scatter_add",
    "tensor_scatter_nd_add",
    "tensor_scatter_nd_max",
    "tensor_scatter_nd_min",
    "tensor_scatter_nd_sub",
    "tensor_scatter_nd_update",
    "tensor_scatter_sub",
    "tensor_scatter_update",
]

_POLICIES = ("", "DEFAULT", "ERROR", "IGNORE")


def tensor_scatter_nd_update(tensor: Any, indices: Any, updates: Any, name: str | None = None) -> Tensor:
    """Return the tensor with ``updates`` written at ``indices``.

    Args:
        tensor: tensor of rank at least k.
        indices: int32 or int64 of shape ``[..., k]``; each row is a position in the first k axes.
        updates: values of shape ``indices.shape[:-1] + tensor.shape[k:]`` and the dtype of ``tensor``.

    Returns:
        A new tensor.
    """
    return _scattered("Update", tensor, indices, updates, "", name)


def tensor_scatter_nd_add(
    tensor: Any, indices: Any, updates: Any, bad_indices_policy: str = "", name: str | None = None
) -> Tensor:
    """Return the tensor with ``updates`` added; arguments as ``tensor_scatter_nd_update``.

    With ``bad_indices_policy`` ``IGNORE``, positions outside of the tensor are left out; else they are an
    error.
    """
    return _scattered("Add", tensor, indices, updates, bad_indices_policy, name)


def tensor_scatter_nd_sub(
    tensor: Any, indices: Any, updates: Any, bad_indices_policy: str = "", name: str | None = None
) -> Tensor:
    """Return the tensor with ``updates`` subtracted; arguments as ``tensor_scatter_nd_add``."""
    return _scattered("Sub", tensor, indices, updates, bad_indices_policy, name)


def tensor_scatter_nd_min(
    tensor: Any, indices: Any, updates: Any, bad_indices_policy: str = "", name: str | None = None
) -> Tensor:
    """Return the tensor with the minimum of it and ``updates`` written; see ``tensor_scatter_nd_add``."""
    return _scattered("Min", tensor, indices, updates, bad_indices_policy, name)


def tensor_scatter_nd_max(
    tensor: Any, indices: Any, updates: Any, bad_indices_policy: str = "", name: str | None = None
) -> Tensor:
    """Return the tensor with the maximum of it and ``updates`` written; see ``tensor_scatter_nd_add``."""
    return _scattered("Max", tensor, indices, updates, bad_indices_policy, name)


tensor_scatter_update = tensor_scatter_nd_update
tensor_scatter_add = tensor_scatter_nd_add
tensor_scatter_sub = tensor_scatter_nd_sub


def _scattered(what: str, tensor: Any, indices: Any, updates: Any, policy: str, name: str | None) -> Tensor:
    value = convert_to_tensor(tensor)
    op_type = f"TensorScatter{what}"
    with value.graph.name_scope(name or op_type) as scope:
        places = convert_to_tensor(indices, name="indices", graph=value.graph)
        rows = convert_to_tensor(updates, value.dtype, "updates", graph=value.graph)
        attrs = {"bad_indices_policy": policy}
        return make_one(op_type, [value, places, rows], attrs, scope)


def _infer_scatter(ctx: InferContext) -> list[TensorShape]:
    if ctx.attrs["bad_indices_policy"] not in _POLICIES:
        policy = ctx.attrs["bad_indices_policy"]
        raise ValueError(f"{ctx.op}: bad_indices_policy is one of {_POLICIES}, got {policy!r}")
    value, indices, updates = (spec.shape for spec in ctx.inputs)
    if value.rank == 0 or indices.rank == 0:
        raise ValueError(f"{ctx.op}: tensor and indices have rank at least 1, got {value}, {indices}")
    if None not in (value.rank, indices.rank) and indices[-1] is not None:
        depth = indices[-1]
        expected = indices[:-1].concatenate(value[depth:])
        if depth > len(value) or not expected.is_compatible_with(updates):
            raise ValueError(
                f"{ctx.op}: indices of shape {indices} into {value} need updates of shape {expected}, got {updates}"
            )
    return [value]


def _checked(op: str, x: Any, indices: Any, updates: Any, *, ignore: bool) -> tuple[Array, Array]:
    """Return positions in the flattened first axes of ``x``, and the rows for them."""
    depth = indices.shape[-1] if indices.ndim else 0
    expected = (*indices.shape[:-1], *x.shape[depth:])
    if not indices.ndim or not x.ndim or depth > x.ndim or updates.shape != expected:
        raise InvalidArgumentError(
            f"{op}: indices of shape {list(indices.shape)} into a tensor of shape {list(x.shape)} need "
            f"updates of shape {list(expected)}, got {list(updates.shape)}"
        )
    count, front = prod(indices.shape[:-1]), x.shape[:depth]
    positions = indices.reshape(count, depth).astype(np.intp)
    rows = updates.reshape(count, *x.shape[depth:])
    bad = ((positions < 0) | (positions >= np.array(front, np.intp))).any(axis=1)
    if bad.any():
        if not ignore:
            first = positions[bad.argmax()].tolist()
            raise InvalidArgumentError(f"{op}: {first} does not index into shape {list(x.shape)}")
        positions, rows = positions[~bad], rows[~bad]
    strides = [prod(front[i + 1 :]) for i in range(depth)]
    return positions @ np.array(strides, np.intp), rows


def _set_rows(out: Array, places: Array, rows: Array) -> None:
    out[places] = rows


def _subtract_rows(out: Array, places: Array, rows: Array) -> None:
    add_rows(out, places, np.negative(rows))


def _by(change: Callable[[Array, Array, Array], None]) -> Callable[[KernelContext], Kernel]:
    """Return a kernel that changes the rows at some places of a copy."""

    def kernel(ctx: KernelContext) -> Kernel:
        op, ignore = ctx.op, ctx.attrs["bad_indices_policy"] == "IGNORE"

        def changed(x: Any, indices: Any, updates: Any) -> Any:
            places, rows = _checked(op, x, indices, updates, ignore=ignore)
            out = np.array(x, order="C")
            if rows.size:
                depth = indices.shape[-1]
                change(out.reshape(prod(x.shape[:depth]), *x.shape[depth:]), places, rows)
            return out

        return changed

    return kernel


# -- gradients -------------------------------------------------------------------------------------


def _update_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    _, indices, updates = op.inputs
    kept = tensor_scatter_nd_update(grad, indices, zeros_like(updates))
    return [kept, None, gather_nd(grad, indices)]


def _extreme_gradient(op: Operation, grad: Tensor) -> list[Tensor | None]:
    """Return a gradient distributed in equal parts to all inputs that have the resulting value."""
    value, indices, updates = op.inputs
    result = op.outputs[0]
    by_value = cast(equal(value, result), grad.dtype)
    by_updates = cast(equal(updates, gather_nd(result, indices)), grad.dtype)
    dims = shape_tensor(value, indices.dtype)
    sharers = by_value + scatter_nd(indices, by_updates, dims)
    share = divide(grad, sharers)
    return [multiply(by_value, share), None, multiply(by_updates, gather_nd(share, indices))]


op("TensorScatterUpdate", _infer_scatter, kernel=_by(_set_rows), grad=_update_gradient)
op(
    "TensorScatterAdd",
    _infer_scatter,
    kernel=_by(add_rows),
    grad=lambda op, grad: [grad, None, gather_nd(grad, op.inputs[1])],
)
op(
    "TensorScatterSub",
    _infer_scatter,
    kernel=_by(_subtract_rows),
    grad=lambda op, grad: [grad, None, -gather_nd(grad, op.inputs[1])],
)
op("TensorScatterMin", _infer_scatter, kernel=_by(np.minimum.at), grad=_extreme_gradient)
op("TensorScatterMax", _infer_scatter, kernel=_by(np.maximum.at), grad=_extreme_gradient)
