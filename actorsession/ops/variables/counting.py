"""``count_up_to``: a counter in a variable, which fails at its limit."""

from __future__ import annotations

from typing import Any

from actorsession.errors import OutOfRangeError
from actorsession.graph.dtypes import int32, int64
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Tensor
from actorsession.graph.registry import (
    NOT_DIFFERENTIABLE,
    InferContext,
    Kernel,
    KernelContext,
    VariableHolder,
)
from actorsession.graph.shape import scalar_shape
from actorsession.ops.rows import op
from actorsession.ops.variables.state import check_handle, variable_spec
from actorsession.ops.variables.variable import Variable

__all__ = ["count_up_to"]


def count_up_to(ref: Variable, limit: int, name: str | None = None) -> Tensor:
    """Increment a variable up to a limit; see ``Variable.count_up_to``.

    Args:
        ref: a scalar variable of an integer type.
        limit: the limit.
        name: wanted name.
    """
    return ref.count_up_to(limit, name)


def _infer(ctx: InferContext) -> list[TensorSpec]:
    variable = check_handle(ctx)
    limit = ctx.attrs["limit"]
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise TypeError(f"{ctx.op}: limit is an int, got {limit!r:.100}")
    if variable.dtype not in (int32, int64):
        raise TypeError(
            f"{ctx.op} counts in int32 or int64, the variable holds {variable.dtype.name}"
        )
    if not variable.shape.is_compatible_with(scalar_shape):
        raise ValueError(f"{ctx.op} counts in a scalar, the variable has shape {variable.shape}")
    return [TensorSpec(variable.dtype, scalar_shape)]


def _kernel(ctx: KernelContext) -> Kernel:
    limit, name = ctx.attrs["limit"], ctx.name
    one = variable_spec(ctx.attrs).dtype.np_dtype.type(1)

    def count(handle: VariableHolder) -> Any:
        before: list[Any] = []

        def step(value: Any) -> Any:
            if value >= limit:
                raise OutOfRangeError(f"{name!r} has reached its limit of {limit}")
            before.append(value)
            return value + one

        handle.access(step)
        return before[0]

    return count


op(
    "ResourceCountUpTo", infer=_infer, kernel=_kernel, grad=NOT_DIFFERENTIABLE,
    cost=lambda inputs, outputs: 1.0,
)  # fmt: skip
