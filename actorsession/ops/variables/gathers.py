"""Reads of parts of a variable behind a handle: rows, elements, and the shape."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np

from actorsession.graph.dtypes import DType, int32
from actorsession.graph.node import TensorSpec
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext, VariableHolder, lookup
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.arrays.joining import concat
from actorsession.ops.arrays.scatter import scatter_nd
from actorsession.ops.arrays.shape import reshape
from actorsession.ops.build import constant
from actorsession.ops.indexed_slices import IndexedSlices
from actorsession.ops.rows import op
from actorsession.ops.variables.state import check_handle, variable_spec

__all__: list[str] = []


def _of_value(name: str, with_axis: bool) -> dict[str, Callable[..., Any]]:
    """Return the shape function and the kernel of a type that gathers from the variable's value."""
    zero = np.zeros((), np.int32)
    axis = [TensorSpec(int32, TensorShape([]))] if with_axis else []

    def infer(ctx: InferContext) -> Sequence[TensorSpec]:
        specs = (check_handle(ctx), ctx.inputs[1], *axis)
        constants = (None, ctx.constant(1), *[zero] * with_axis)
        return lookup(name).infer(InferContext(name, specs, {"batch_dims": 0, **ctx.attrs}, constants))

    def kernel(ctx: KernelContext) -> Kernel:
        function = lookup(name).kernel(
            cast(Any, _Seen(ctx, name, (variable_spec(ctx.attrs), ctx.inputs[1], *axis), zero))
        )

        def gathered(holder: VariableHolder, indices: Any) -> Any:
            return np.array(function(holder.read(), indices, *[zero] * with_axis))[()]

        return gathered

    return {"infer": infer, "kernel": kernel}


class _Seen:
    """A node as the kernel factory of a gather sees it."""

    def __init__(self, ctx: KernelContext, name: str, inputs: Any, axis: Any) -> None:
        self._ctx, self._axis = ctx, axis
        self.op, self.inputs, self.attrs = name, inputs, {"batch_dims": 0, **ctx.attrs}

    def constant(self, index: int) -> Any:
        return self._axis if index == 2 else None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ctx, name)


def _dims_of(op: Operation, dtype: DType) -> Tensor:
    """Return the shape of the variable whose handle an operation takes."""
    shape = op.attrs["shape"]
    if shape.is_fully_defined():
        return constant(np.array(shape.as_list(), dtype.np_dtype), graph=op.graph)
    return raw.VariableShape(op.inputs[0], out_type=dtype)


def _rows_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    if op.attrs["batch_dims"]:
        raise LookupError("the gradient of ResourceGather with batch_dims is not defined; gather from the value")
    indices = op.inputs[1]
    dims = _dims_of(op, int32)
    slices = IndexedSlices(reshape(grad, concat([[-1], dims[1:]], 0)), reshape(indices, [-1]), dims)
    return [cast(Tensor, slices), None]  # gradient functions are typed for tensors


def _elements_gradient(op: Operation, grad: Tensor) -> Sequence[Tensor | None]:
    indices = op.inputs[1]
    return [scatter_nd(indices, grad, _dims_of(op, indices.dtype)), None]


def _dims(ctx: InferContext) -> Sequence[TensorShape]:
    return [TensorShape([check_handle(ctx).shape.rank])]


def _dims_kernel(ctx: KernelContext) -> Kernel:
    dtype = ctx.outputs[0].dtype.np_dtype
    return lambda holder: np.array(np.shape(holder.read()), dtype)


op("ResourceGather", grad=_rows_gradient, **_of_value("GatherV2", True))
op("ResourceGatherNd", grad=_elements_gradient, **_of_value("GatherNd", False))
op("VariableShape", _dims, kernel=_dims_kernel, grad=NOT_DIFFERENTIABLE)
