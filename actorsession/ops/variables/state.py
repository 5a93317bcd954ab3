"""Variables as ops: handles, reads, assignments and scattered updates.

Owns the op types that access the state behind a resource handle. ``variables.variable`` wraps them in the
public class, ``training`` adds the fused updates of optimisers. A handle is an ordinary input, so every op
that uses a variable is tied to the device of its ``VarHandleOp``.

A handle does not describe its variable; every op that takes one therefore has the variable's dtype and static
shape as attributes. A value that was read never changes: updates write in place only if the holder reports
that there is no other reference to the old value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError, OutOfRangeError
from actorsession.graph.dtypes import as_dtype, int32, int64, resource
from actorsession.graph.node import TensorSpec
from actorsession.graph.registry import NOT_DIFFERENTIABLE, Array, InferContext, Kernel, KernelContext, VariableHolder
from actorsession.graph.shape import TensorShape, clash, scalar_shape
from actorsession.ops.arrays.scatter import add_rows
from actorsession.ops.rows import checked, no_outputs, op, scalar
from actorsession.ops.shape_operands import fits_always

__all__ = [
    "check_handle",
    "check_same_shape",
    "check_scattered",
    "check_value",
    "elements",
    "flat_rows",
    "replace_rows",
    "scatter",
    "sum_duplicates",
    "variable_spec",
]


# -- checks of static types ----------------------------------------------------------------------


def variable_spec(attrs: Mapping[str, Any]) -> TensorSpec:
    """Return the static type of the variable that an op's attributes describe."""
    return TensorSpec(as_dtype(attrs["dtype"]), TensorShape(attrs["shape"]))


def check_handle(ctx: InferContext, index: int = 0) -> TensorSpec:
    """Check that input ``index`` is a handle, and return the variable's static type.

    Raises:
        TypeError: if the input is not a handle.
    """
    dtype = ctx.inputs[index].dtype
    if dtype is not resource:
        raise TypeError(f"{ctx.op} takes a variable's handle as input {index}, got a {dtype.name} tensor")
    return variable_spec(ctx.attrs)


def check_value(ctx: InferContext, index: int, variable: TensorSpec) -> None:
    """Check that an input can be a value of the variable.

    Raises:
        TypeError: if its dtype is another.
        ValueError: if its shape contradicts the variable's.
    """
    value = ctx.inputs[index]
    if value.dtype is not variable.dtype:
        raise TypeError(f"{ctx.op}: the variable holds {variable.dtype.name}, input {index} is {value.dtype.name}")
    if not value.shape.is_compatible_with(variable.shape):
        raise ValueError(
            f"{clash(variable.shape, value.shape)}: {ctx.op}: the variable has shape {variable.shape}, input "
            f"{index} has {value.shape}; the two must be the same"
        )


def check_same_shape(op: str, old: Any, value: Any) -> None:
    """Check that the shape of an update is that of the variable's current value.

    Raises:
        InvalidArgumentError: if it is not; the error names both shapes.
    """
    if np.shape(old) != np.shape(value):
        raise InvalidArgumentError(
            f"{op}: the variable has shape {list(np.shape(old))}, "
            f"the update {list(np.shape(value))}; the two must be the same"
        )


def elements(spec: TensorSpec) -> int:
    """Return the number of elements of a static type, for cost estimates (1 where unknown)."""
    return spec.shape.num_elements() or 1


# -- handles and reads ---------------------------------------------------------------------------


def _handle_kernel(ctx: KernelContext) -> Kernel:
    holder = ctx.resources.variable(
        ctx.attrs["container"], ctx.attrs["shared_name"] or ctx.name, variable_spec(ctx.attrs)
    )
    declared = ctx.attrs.get("_by_reference")
    if declared is not None:
        # TensorFlow makes one whose shape is not known as a scalar.
        holder.declare(declared.as_tuple() if declared.is_fully_defined() else ())
    return lambda: holder


def _handle_shape(ctx: InferContext) -> Sequence[TensorShape]:
    variable_spec(ctx.attrs)
    return [scalar_shape]


op(
    "VarHandleOp",
    _handle_shape,
    kernel=_handle_kernel,
    grad=NOT_DIFFERENTIABLE,
    aliases=True,
    once=True,  # a holder outlives all plans; clearing its container only empties it
    cost=lambda inputs, outputs: 0.05,
)
# By convention, the gradient of the handle is the gradient of the variable's value.
op(
    "ReadVariableOp",
    infer=lambda ctx: [check_handle(ctx)],
    function=lambda handle: handle.read(),
    grad=lambda op, grad: [grad],
    aliases=True,
    emit="{0}.read()",
    emit_sent=lambda ctx, args: f"{args[0]}.lend()",
    cost=lambda inputs, outputs: 0.1,
)
op(
    "VarIsInitializedOp",
    checked(scalar),
    lambda handle: np.bool_(handle.initialized),
    NOT_DIFFERENTIABLE,
    cost=lambda inputs, outputs: 0.1,
)
op(
    # TensorFlow marks a variable with it that is being written out; no value here needs that.
    "DisableCopyOnRead",
    checked(no_outputs),
    lambda handle: None,
    NOT_DIFFERENTIABLE,
)


# -- whole updates -------------------------------------------------------------------------------


def _assigned(ctx: InferContext) -> Sequence[TensorShape]:
    check_value(ctx, 1, check_handle(ctx))
    return []


def _assign_kernel(ctx: KernelContext) -> Kernel:
    declared, validates = variable_spec(ctx.attrs).shape, ctx.attrs.get("validate_shape")
    if not validates and fits_always(declared, ctx.inputs[1].shape):
        return lambda handle, value: handle.assign(value)

    def assign(handle: VariableHolder, value: Any) -> None:
        shape = getattr(value, "shape", ())  # a string scalar is plain bytes
        # Another graph may have given a reference variable another shape, so that what counts is its value.
        expected = handle.shape if validates and handle.by_reference else None
        if expected is not None:
            if expected != shape:
                raise InvalidArgumentError(
                    "Assign requires shapes of both tensors to match. "
                    f"lhs shape= {list(expected)} rhs shape= {list(shape)}"
                )
        elif not declared.is_compatible_with(shape):
            raise InvalidArgumentError(
                f"cannot assign a value of shape {list(shape)} "
                f"to a variable of shape {declared}: only one that was made with validate_shape=False "
                "takes other shapes"
            )
        handle.assign(value)

    return assign


def _adding_kernel(function: Any) -> Callable[[KernelContext], Kernel]:
    def kernel(ctx: KernelContext) -> Kernel:
        op = ctx.op

        # Also where the graph knows both shapes: another graph may have given the variable another one.
        def checked(old: Any, value: Any, **out: Any) -> Any:
            if old.shape != value.shape:
                check_same_shape(op, old, value)
            return function(old, value, **out)

        return lambda handle, value: handle.update(checked, value)

    return kernel


def _add_cost(inputs: Sequence[TensorSpec], outputs: Sequence[TensorSpec]) -> float:
    """Return the cost of two reads and a write per element, measured in the second-level cache."""
    return 0.7 + 1e-4 * elements(inputs[1])


op(
    "AssignVariableOp",
    _assigned,
    kernel=_assign_kernel,
    grad=NOT_DIFFERENTIABLE,
    keeps=frozenset({1}),
    cost=lambda inputs, outputs: 0.2,
)
for _name, _function in (("AssignAddVariableOp", np.add), ("AssignSubVariableOp", np.subtract)):
    op(_name, _assigned, kernel=_adding_kernel(_function), grad=NOT_DIFFERENTIABLE, cost=_add_cost)


# -- counting -----------------------------------------------------------------------------------


def _infer_count(ctx: InferContext) -> list[TensorSpec]:
    variable = check_handle(ctx)
    limit = ctx.attrs["limit"]
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise TypeError(f"{ctx.op}: limit is an int, got {limit!r:.100}")
    if variable.dtype not in (int32, int64):
        raise TypeError(f"{ctx.op} counts in int32 or int64, the variable holds {variable.dtype.name}")
    if not variable.shape.is_compatible_with(scalar_shape):
        raise ValueError(f"{ctx.op} counts in a scalar, the variable has shape {variable.shape}")
    return [TensorSpec(variable.dtype, scalar_shape)]


def _count_kernel(ctx: KernelContext) -> Kernel:
    limit, name = ctx.attrs["limit"], ctx.name
    one = variable_spec(ctx.attrs).dtype.np_dtype.type(1)

    def count(handle: VariableHolder) -> Any:
        before: list[Any] = []

        def step(value: Any) -> Any:
            if value >= limit:
                raise OutOfRangeError(f"Reached limit of {limit}: {name!r}")
            before.append(value)
            return value + one

        handle.access(step)
        return before[0]

    return count


op(
    "ResourceCountUpTo",
    infer=_infer_count,
    kernel=_count_kernel,
    grad=NOT_DIFFERENTIABLE,
    cost=lambda inputs, outputs: 1.0,
)


# -- scattered updates ---------------------------------------------------------------------------


def check_scattered(ctx: InferContext, updates: int, indices: int, variable: TensorSpec) -> None:
    """Check that rows and indices can be an update of some rows of the variable.

    Args:
        ctx: the node being built.
        updates: index of the input with the rows, shape ``indices.shape + variable.shape[1:]``.
        indices: index of the input with the positions of the rows.
        variable: the variable's static type.

    Raises:
        TypeError: for other dtypes.
        ValueError: for shapes that contradict each other, or a scalar variable.
    """
    rows, where = ctx.inputs[updates], ctx.inputs[indices]
    if where.dtype not in (int32, int64):
        raise TypeError(f"{ctx.op}: indices are int32 or int64, got {where.dtype.name}")
    if rows.dtype is not variable.dtype:
        raise TypeError(f"{ctx.op}: the variable holds {variable.dtype.name}, the updates {rows.dtype.name}")
    if variable.shape.rank == 0:
        raise ValueError(f"{ctx.op}: a scalar variable has no rows to update")
    expected = where.shape.concatenate(variable.shape[1:])
    if not rows.shape.is_compatible_with(expected):
        raise ValueError(
            f"{ctx.op}: updates have shape {rows.shape}; with indices of shape {where.shape} and a "
            f"variable of shape {variable.shape} they must have {expected}"
        )


def _scattered(ctx: InferContext) -> Sequence[TensorShape]:
    variable = check_handle(ctx)
    if ctx.inputs[2].shape.rank == 0 and ctx.inputs[2].dtype is variable.dtype:
        # As in TensorFlow, one scalar may be used for all updates.
        whole = ctx.inputs[1].shape.concatenate(variable.shape[1:])
        filled = (*ctx.inputs[:2], TensorSpec(variable.dtype, whole))
        ctx = InferContext(ctx.op, filled, ctx.attrs, ctx.constants)
    check_scattered(ctx, updates=2, indices=1, variable=variable)
    return []


def flat_rows(op: str, whole: Array, indices: Any, updates: Any) -> tuple[Array, Array]:
    """Return the indices as a vector, and the updates with one row per index.

    Args:
        op: operation type, for messages.
        whole: the variable's value, rank 1 or more.
        indices: integers of any shape.
        updates: rows of shape ``indices.shape + whole.shape[1:]``, or a scalar for all.

    Raises:
        InvalidArgumentError: for an index outside the value, or updates of another shape.
    """
    where = np.asarray(indices).reshape(-1)
    outside = (where < 0) | (where >= whole.shape[0])
    if outside.any():
        position = int(outside.argmax())
        raise InvalidArgumentError(f"{op}: indices[{position}] = {where[position]} is not in [0, {whole.shape[0]})")
    rows = np.asarray(updates)
    expected = np.shape(indices) + whole.shape[1:]
    if rows.ndim and rows.shape != expected:
        raise InvalidArgumentError(f"{op}: updates have shape {list(rows.shape)}, these indices need {list(expected)}")
    return where, np.broadcast_to(rows, expected).reshape(where.size, *whole.shape[1:])


def sum_duplicates(where: Array, rows: Array) -> tuple[Array, Array]:
    """Add up rows with the same index.

    Args:
        where: indices, shape ``[n]``.
        rows: shape ``[n, ...]``; borrowed.

    Returns:
        Different indices in ascending order and one row for each.
    """
    order = np.argsort(where, kind="stable")
    ordered = where[order]
    starts = np.flatnonzero(np.concatenate(([True], ordered[1:] != ordered[:-1]))) if where.size else order
    if starts.size == where.size:
        return ordered, rows[order]
    # A sorted reduction is many times faster than ufunc.at on rows.
    return ordered[starts], np.add.reduceat(rows[order], starts, axis=0).astype(rows.dtype, copy=False)


def scatter(name: str, change: Callable[[Array, Array, Array], None]) -> None:
    """Register an op that changes rows of a variable.

    Args:
        name: operation type.
        change: a function of the value, indices in range and one row per index that writes to the value.
    """

    def kernel(ctx: KernelContext) -> Kernel:
        def update(handle: VariableHolder, indices: Any, updates: Any) -> None:
            def write(whole: Array) -> Array:
                where, rows = flat_rows(name, whole, indices, updates)
                whole = np.ascontiguousarray(whole)
                change(whole, where, rows)
                return whole

            handle.access(write)

        return update

    op(
        name,
        _scattered,
        kernel=kernel,
        grad=NOT_DIFFERENTIABLE,
        # Scattered accesses to rows cost more than a sequential pass.
        cost=lambda inputs, outputs: 5 + 2e-3 * elements(inputs[2]),
    )


def replace_rows(whole: Array, where: Any, rows: Array) -> None:
    """Replace elements or rows; of several for one index, the last one counts."""
    whole[where] = rows


scatter("ResourceScatterAdd", add_rows)
scatter("ResourceScatterSub", lambda whole, where, rows: add_rows(whole, where, np.negative(rows)))
scatter("ResourceScatterUpdate", replace_rows)
