"""Updates of parts of a variable beyond sums: products and extremes of rows, single elements, slices.

Owns the op types of ``scatter_mul`` and the other ``scatter_*`` functions, ``scatter_nd_*`` and
``variable[...].assign``. ``variables.updates`` builds them as methods, ``variables.assignment`` as functions.
All of them check the whole request before they write, so that a refused update leaves the variable unchanged.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext, Kernel, KernelContext, VariableHolder
from actorsession.graph.shape import TensorShape
from actorsession.ops.arrays.strided import numpy_index
from actorsession.ops.rows import op
from actorsession.ops.shape_operands import constant_ints, ints, require_index
from actorsession.ops.variables.state import check_handle, elements, replace_rows, scatter

__all__: list[str] = []

_Change = Callable[[Array, Any, Array], None]


def _by_ufunc(function: Any) -> _Change:
    """Return an update that applies rows one after another, so that all rows of one index count."""

    def change(whole: Array, where: Any, rows: Array) -> None:
        function.at(whole, where, rows)

    return change


def _by_comparison(function: Any, last: float) -> _Change:
    """Return an update by minimum or maximum; NaN in the variable stays, NaN in the rows is ignored."""

    def change(whole: Array, where: Any, rows: Array) -> None:
        if rows.dtype.kind not in "iu":
            rows = np.where(np.isnan(rows), np.array(last, rows.dtype), rows)
        function.at(whole, where, rows)

    return change


_lower, _raise = _by_comparison(np.minimum, np.inf), _by_comparison(np.maximum, -np.inf)


def _divide_rows(whole: Array, where: Any, rows: Array) -> None:
    if whole.dtype.kind not in "iu":
        np.divide.at(whole, where, rows)
        return
    if not np.all(rows):
        raise InvalidArgumentError("integers of a variable are divided by zero")
    for place, row in zip(where.tolist(), rows, strict=True):
        down = whole[place] // row
        # Rounded towards zero, as in integer division in C.
        whole[place] = down + ((down < 0) & (down * row != whole[place]))


scatter("ResourceScatterMul", _by_ufunc(np.multiply))
scatter("ResourceScatterDiv", _divide_rows)
scatter("ResourceScatterMin", _lower)
scatter("ResourceScatterMax", _raise)


# -- single places and blocks ----------------------------------------------------------------------


def _scattered_nd(ctx: InferContext) -> Sequence[TensorShape]:
    variable = check_handle(ctx)
    where, updates = ctx.inputs[1:]
    if updates.dtype is not variable.dtype:
        raise TypeError(f"{ctx.op}: the variable holds {variable.dtype.name}, the updates {updates.dtype.name}")
    if where.shape.rank == 0 or updates.shape.rank == 0:
        raise ValueError(
            f"{ctx.op}: indices and updates have rank 1 or more, got shapes {where.shape} and {updates.shape}"
        )
    depth = where.shape[-1]
    if depth is None or variable.shape.rank is None:
        return []
    if not 1 <= depth <= variable.shape.rank:
        raise ValueError(
            f"{ctx.op}: indices with {depth} positions each; a variable of shape "
            f"{variable.shape} takes 1 to {variable.shape.rank}"
        )
    expected = where.shape[:-1].concatenate(variable.shape[depth:])
    if not updates.shape.is_compatible_with(expected):
        raise ValueError(
            f"{ctx.op}: updates have shape {updates.shape}; with indices of shape {where.shape} "
            f"and a variable of shape {variable.shape} they must have {expected}"
        )
    return []


def _places(op: str, whole: Array, indices: Any, updates: Any) -> tuple[Any, ...]:
    """Return the numpy index of the positions in ``indices``, after a check that all of them exist."""
    depth = indices.shape[-1] if indices.ndim else 0
    if not 1 <= depth <= whole.ndim:
        raise InvalidArgumentError(
            f"{op}: indices of shape {list(indices.shape)} do not fit a variable of shape {list(whole.shape)}"
        )
    flat = indices.reshape(math.prod(indices.shape[:-1]), depth)
    outside = ((flat < 0) | (flat >= np.array(whole.shape[:depth], np.int64))).any(axis=1)
    if outside.any():
        position = int(outside.argmax())
        raise InvalidArgumentError(
            f"{op}: indices[{position}] = {flat[position].tolist()} is not in a variable of shape {list(whole.shape)}"
        )
    expected = indices.shape[:-1] + whole.shape[depth:]
    if np.shape(updates) != expected:
        raise InvalidArgumentError(
            f"{op}: updates have shape {list(np.shape(updates))}, these indices need {list(expected)}"
        )
    return tuple(flat[:, axis] for axis in range(depth))


def _scatter_nd_kernel(change: _Change) -> Callable[[KernelContext], Kernel]:
    def kernel(ctx: KernelContext) -> Kernel:
        def update(handle: VariableHolder, indices: Any, updates: Any) -> None:
            def write(whole: Array) -> Array:
                places = _places(ctx.op, whole, indices, updates)
                count = math.prod(indices.shape[:-1])
                blocks = updates.reshape(count, *whole.shape[len(places) :])
                change(whole, places, blocks)
                return whole

            handle.access(write)

        return update

    return kernel


for _name, _change in (
    ("ResourceScatterNdUpdate", replace_rows),
    ("ResourceScatterNdAdd", _by_ufunc(np.add)),
    ("ResourceScatterNdSub", _by_ufunc(np.subtract)),
    ("ResourceScatterNdMin", _lower),
    ("ResourceScatterNdMax", _raise),
):
    op(
        _name,
        _scattered_nd,
        kernel=_scatter_nd_kernel(_change),
        grad=NOT_DIFFERENTIABLE,
        cost=lambda inputs, outputs: 8 + 1e-2 * elements(inputs[2]),  # scattered accesses
    )


# -- slices ----------------------------------------------------------------------------------------


def _slice_assigned(ctx: InferContext) -> Sequence[TensorShape]:
    variable, value = check_handle(ctx), ctx.inputs[4]
    require_index(ctx, 1, 2, 3, rank=1)
    if value.dtype is not variable.dtype:
        raise TypeError(f"{ctx.op}: the variable holds {variable.dtype.name}, the value is {value.dtype.name}")
    return []


def _slice_assign_kernel(ctx: KernelContext) -> Kernel:
    op, masks = ctx.op, ctx.attrs
    known = [constant_ints(ctx, i) for i in (1, 2, 3)]
    begin, end, strides = known
    fixed = None if begin is None or end is None or strides is None else numpy_index(begin, end, strides, masks)

    def assign(handle: VariableHolder, begin: Any, end: Any, strides: Any, value: Any) -> None:
        index = fixed
        if index is None:
            index = numpy_index(ints(begin), ints(end), ints(strides), masks)

        def write(whole: Any) -> Any:
            out = whole if isinstance(whole, np.ndarray) else np.array(whole, ctx_dtype)
            try:
                out[index] = value
            except (IndexError, ValueError) as exc:
                raise InvalidArgumentError(
                    f"{op}: a value of shape {list(np.shape(value))} does not fit that part of a "
                    f"variable of shape {list(out.shape)}: {exc}"
                ) from exc
            return out if out.ndim else out[()]

        handle.access(write)

    ctx_dtype = ctx.inputs[4].dtype.np_dtype
    return assign


op(
    "ResourceStridedSliceAssign",
    _slice_assigned,
    kernel=_slice_assign_kernel,
    grad=NOT_DIFFERENTIABLE,
    cost=lambda inputs, outputs: 3 + 2e-3 * elements(inputs[4]),
)
