"""The arrays and stacks of TensorFlow 1's loops, as they appear in imported graphs.

This library's ``TensorArray`` is made of lists, which are values. TensorFlow 1 wrote ``TensorArrayV3`` and
related op types into graphs, and stacks for the values of each iteration that gradients of loops need. These
are handles of mutable objects, ordered by a float called flow or by control inputs. No function here builds
them; they are imported, exported, run and differentiated. Stacks belong to gradients and have no gradient
themselves.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import float32, int32, int64, resource
from actorsession.graph.node import TensorSpec
from actorsession.graph.registry import (
    NOT_DIFFERENTIABLE,
    InferContext,
    Kernel,
    KernelContext,
    OpDef,
    register,
)
from actorsession.graph.shape import TensorShape, unknown_shape
from actorsession.ops.lists.array_gradients import (
    concat_gradient,
    gather_gradient,
    read_gradient,
    scatter_gradient,
    split_gradient,
    write_gradient,
)
from actorsession.ops.lists.array_values import StepArray, StepStack

__all__: list[str] = []

# In TensorFlow a handle consists of a name and a number; here it is one object. The shape is left open for
# both.
_HANDLE = TensorSpec(resource, unknown_shape)
_FLOW = TensorSpec(float32, TensorShape([]))


def _flow() -> Any:
    # The value only orders operations.
    return np.zeros((), np.float32)


def _check(ctx: InferContext, *wanted: Any) -> None:
    """Check the dtypes of the inputs; ``None`` stands for any dtype."""
    found = [spec.dtype for spec in ctx.inputs]
    fits = [want is None or want is got for want, got in zip(wanted, found, strict=False)]
    if len(found) != len(wanted) or not all(fits):
        names = [dtype.name for dtype in found]
        said = ["any" if dtype is None else dtype.name for dtype in wanted]
        raise TypeError(f"{ctx.op} takes {said}, got {names}")


# -- arrays ----------------------------------------------------------------------------------------


def _infer_array(ctx: InferContext) -> list[TensorSpec]:
    _check(ctx, int32)
    return [_HANDLE, _FLOW]


def _array_kernel(ctx: KernelContext) -> Kernel:
    attrs = ctx.attrs
    dtype, shape = attrs["dtype"], attrs["element_shape"]
    dynamic, clears = attrs["dynamic_size"], attrs["clear_after_read"]
    alike = attrs["identical_element_shapes"]

    def array(size: Any) -> Any:
        made = StepArray(dtype, int(size), shape, dynamic=dynamic, clears=clears, alike=alike)
        return made, _flow()

    return array


def _infer_write(ctx: InferContext) -> list[TensorSpec]:
    _check(ctx, resource, int32, None, float32)
    return [_FLOW]


def _write(array: StepArray, index: Any, value: Any, flow: Any) -> Any:
    array.write(int(index), value)
    return _flow()


def _infer_read(ctx: InferContext) -> list[TensorSpec]:
    _check(ctx, resource, int32, float32)
    return [TensorSpec(ctx.attrs["dtype"], unknown_shape)]


def _infer_gather(ctx: InferContext) -> list[TensorSpec]:
    _check(ctx, resource, int32, float32)
    count = ctx.inputs[1].shape.with_rank(1)
    element = ctx.attrs["element_shape"]
    whole = unknown_shape if element.rank is None else count.concatenate(element)
    return [TensorSpec(ctx.attrs["dtype"], whole)]


def _gather_kernel(ctx: KernelContext) -> Kernel:
    shape = ctx.attrs["element_shape"]
    return lambda array, indices, flow: array.read_all(indices.tolist(), shape)


def _infer_scatter(ctx: InferContext) -> list[TensorSpec]:
    _check(ctx, resource, int32, None, float32)
    return [_FLOW]


def _scatter(array: StepArray, indices: Any, value: Any, flow: Any) -> Any:
    if not np.ndim(value) or len(value) != len(indices):
        raise InvalidArgumentError(
            f"a value for each of {len(indices)} indices is needed, got shape {list(np.shape(value))}"
        )
    for index, part in zip(indices.tolist(), value, strict=True):
        array.write(index, part)
    return _flow()


def _infer_split(ctx: InferContext) -> list[TensorSpec]:
    _check(ctx, resource, None, int64, float32)
    return [_FLOW]


def _split(array: StepArray, value: Any, lengths: Any, flow: Any) -> Any:
    if not np.ndim(value) or int(np.sum(lengths)) != len(value) or np.any(lengths < 0):
        raise InvalidArgumentError(
            f"lengths {lengths.tolist()} do not make up a value of shape {list(np.shape(value))}"
        )
    ends = np.cumsum(lengths)
    for index, (begin, end) in enumerate(zip(ends - lengths, ends, strict=True)):
        array.write(index, value[begin:end])
    return _flow()


def _infer_concat(ctx: InferContext) -> list[TensorSpec]:
    _check(ctx, resource, float32)
    behind = ctx.attrs["element_shape_except0"]
    whole = unknown_shape if behind.rank is None else TensorShape([None]).concatenate(behind)
    return [TensorSpec(ctx.attrs["dtype"], whole), TensorSpec(int64, TensorShape([None]))]


def _concat_kernel(ctx: KernelContext) -> Kernel:
    def concat(array: StepArray, flow: Any) -> Any:
        parts = [array.read(index) for index in range(len(array))]
        if not parts or any(not np.ndim(p) or p.shape[1:] != parts[0].shape[1:] for p in parts):
            shapes = ", ".join(str(list(np.shape(part))) for part in parts)
            raise InvalidArgumentError(
                "elements of rank 1 or more that differ in their length alone are joined, got "
                f"{shapes or 'none'}"
            )
        return np.concatenate(parts), np.array([len(part) for part in parts], np.int64)

    return concat


def _infer_size(ctx: InferContext) -> list[TensorSpec]:
    _check(ctx, resource, float32)
    return [TensorSpec(int32, TensorShape([]))]


def _infer_gradient(ctx: InferContext) -> list[TensorSpec]:
    _check(ctx, resource, float32)
    return [_HANDLE, _FLOW]


def _gradient_kernel(ctx: KernelContext) -> Kernel:
    source = ctx.attrs["source"]
    return lambda array, flow: (array.gradient(source), _flow())


def _infer_close(ctx: InferContext) -> list[TensorSpec]:
    _check(ctx, resource)
    return []


# An array is released with its step, so there is nothing to close.
_CLOSED: Kernel = lambda handle: None  # noqa: E731

register(
    OpDef(
        name="TensorArrayV3",
        gradient=NOT_DIFFERENTIABLE,
        infer=_infer_array,
        kernel=_array_kernel,
                sized_by=(0,),
    )
)  # fmt: skip
register(
    OpDef(
        name="TensorArrayWriteV3",
        gradient=write_gradient,
        infer=_infer_write,
        kernel=lambda ctx: _write,
        keeps=frozenset({2}),
    )
)
register(
    OpDef(
        name="TensorArrayReadV3",
        gradient=read_gradient,
        infer=_infer_read,
        kernel=lambda ctx: lambda array, index, flow: array.read(int(index)),
        aliases=True,
    )
)
register(
    OpDef(
        name="TensorArrayGatherV3",
        gradient=gather_gradient,
        infer=_infer_gather,
        kernel=_gather_kernel,
    )
)
register(
    OpDef(
        name="TensorArrayScatterV3",
        gradient=scatter_gradient,
        infer=_infer_scatter,
        kernel=lambda ctx: _scatter,
        keeps=frozenset({2}),
    )
)
register(
    OpDef(
        name="TensorArraySplitV3",
        gradient=split_gradient,
        infer=_infer_split,
        kernel=lambda ctx: _split,
        keeps=frozenset({1}),
    )
)
register(
    OpDef(
        name="TensorArrayConcatV3",
        gradient=concat_gradient,
        infer=_infer_concat,
        kernel=_concat_kernel,
    )
)
register(
    OpDef(
        name="TensorArraySizeV3",
        gradient=NOT_DIFFERENTIABLE,
        infer=_infer_size,
        kernel=lambda ctx: lambda array, flow: np.array(len(array), np.int32),
    )
)
register(
    OpDef(
        name="TensorArrayGradV3",
        gradient=NOT_DIFFERENTIABLE,
        infer=_infer_gradient,
        kernel=_gradient_kernel,
    )
)
register(
    OpDef(
        name="TensorArrayCloseV3",
        infer=_infer_close,
        kernel=lambda ctx: _CLOSED,
    )
)


# -- stacks ----------------------------------------------------------------------------------------


def _infer_stack(ctx: InferContext) -> list[TensorSpec]:
    _check(ctx, int32)
    return [_HANDLE]


def _infer_push(ctx: InferContext) -> list[TensorSpec]:
    _check(ctx, resource, None)
    return [ctx.inputs[1]]


def _push(stack: StepStack, value: Any) -> Any:
    stack.push(value)
    return value


def _infer_pop(ctx: InferContext) -> list[TensorSpec]:
    _check(ctx, resource)
    return [TensorSpec(ctx.attrs["elem_type"], unknown_shape)]


register(
    OpDef(
        name="StackV2",
        infer=_infer_stack,
        kernel=lambda ctx: lambda limit: StepStack(int(limit)),
    )
)
register(
    OpDef(
        name="StackPushV2",
        infer=_infer_push,
        kernel=lambda ctx: _push,
        aliases=True,
        keeps=frozenset({1}),
    )
)
register(
    OpDef(
        name="StackPopV2",
        infer=_infer_pop,
        kernel=lambda ctx: lambda stack: stack.pop(),
        aliases=True,
    )
)
register(
    OpDef(
        name="StackCloseV2",
        infer=_infer_close,
        kernel=lambda ctx: _CLOSED,
    )
)
