"""The arrays and stacks of TensorFlow 1's loops, as they appear in imported graphs.

This library's ``TensorArray`` is made of lists, which are values. TensorFlow 1 wrote ``TensorArrayV3`` and
related op types into graphs, and stacks for the values of each iteration that gradients of loops need. These
are handles of mutable objects, ordered by a float called flow or by control inputs. No function here builds
them; they are imported, exported, run and differentiated. Stacks belong to gradients and have no gradient
themselves.

What was read is written to an array of gradients. The gradient of a flow is the flow of the array of
gradients, so that the backward operations are ordered in the same way. An array has one array of gradients
for each call of ``gradients``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import as_dtype
from actorsession.graph.op_signatures import signature_of
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, scalar_shape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.lists.array_values import StepArray, StepStack
from actorsession.ops.rows import Shapes, op, scalar

__all__: list[str] = []

Grads = Sequence["Tensor | None"]


def _flow() -> Any:
    # The value only orders operations.
    return np.zeros((), np.float32)


# -- shapes ----------------------------------------------------------------------------------------


def _checked(shapes: Shapes) -> Shapes:
    """Return a shape rule that first checks the inputs whose element types the signature fixes."""

    def rule(ctx: InferContext) -> Sequence[TensorShape]:
        signature = signature_of(ctx.op)
        assert signature is not None
        found = [spec.dtype.name for spec in ctx.inputs]
        wanted = [
            "any" if arg.type in signature.attrs else as_dtype(arg.type).name
            for arg in signature.inputs
        ]
        if len(found) != len(wanted) or any(
            want not in ("any", got) for want, got in zip(wanted, found, strict=True)
        ):
            raise TypeError(f"{ctx.op} takes {wanted}, got {found}")
        return shapes(ctx)

    return rule


# In TensorFlow a handle consists of a name and a number; here it is one object. The shape is left open for
# both.
_ANY = _checked(lambda ctx: [unknown_shape])
_ANY_AND_FLOW = _checked(lambda ctx: [unknown_shape, scalar_shape])
_FLOW = _checked(scalar)
_NOTHING = _checked(lambda ctx: [])
_PUSHED = _checked(lambda ctx: [ctx.inputs[1].shape])


@_checked
def _gathered(ctx: InferContext) -> list[TensorShape]:
    count, element = ctx.inputs[1].shape.with_rank(1), ctx.attrs["element_shape"]
    return [unknown_shape if element.rank is None else count.concatenate(element)]


@_checked
def _joined(ctx: InferContext) -> list[TensorShape]:
    behind, some = ctx.attrs["element_shape_except0"], TensorShape([None])
    return [unknown_shape if behind.rank is None else some.concatenate(behind), some]


# -- arrays ----------------------------------------------------------------------------------------


def _array_kernel(ctx: KernelContext) -> Kernel:
    attrs = ctx.attrs
    dtype, shape = attrs["dtype"], attrs["element_shape"]
    dynamic, clears = attrs["dynamic_size"], attrs["clear_after_read"]
    alike = attrs["identical_element_shapes"]

    def array(size: Any) -> Any:
        made = StepArray(dtype, int(size), shape, dynamic=dynamic, clears=clears, alike=alike)
        return made, _flow()

    return array


def _write(array: StepArray, index: Any, value: Any, flow: Any) -> Any:
    array.write(int(index), value)
    return _flow()


def _read(array: StepArray, index: Any, flow: Any) -> Any:
    return array.read(int(index))


def _gather_kernel(ctx: KernelContext) -> Kernel:
    shape = ctx.attrs["element_shape"]
    return lambda array, indices, flow: array.read_all(indices.tolist(), shape)


def _scatter(array: StepArray, indices: Any, value: Any, flow: Any) -> Any:
    if not np.ndim(value) or len(value) != len(indices):
        raise InvalidArgumentError(
            f"a value for each of {len(indices)} indices is needed, got shape {list(np.shape(value))}"
        )
    for index, part in zip(indices.tolist(), value, strict=True):
        array.write(index, part)
    return _flow()


def _split(array: StepArray, value: Any, lengths: Any, flow: Any) -> Any:
    if not np.ndim(value) or int(np.sum(lengths)) != len(value) or np.any(lengths < 0):
        raise InvalidArgumentError(
            f"lengths {lengths.tolist()} do not make up a value of shape {list(np.shape(value))}"
        )
    ends = np.cumsum(lengths)
    for index, (begin, end) in enumerate(zip(ends - lengths, ends, strict=True)):
        array.write(index, value[begin:end])
    return _flow()


def _concat(array: StepArray, flow: Any) -> Any:
    parts = [array.read(index) for index in range(len(array))]
    if not parts or any(not np.ndim(p) or p.shape[1:] != parts[0].shape[1:] for p in parts):
        shapes = ", ".join(str(list(np.shape(part))) for part in parts)
        raise InvalidArgumentError(
            "elements of rank 1 or more that differ in their length alone are joined, got "
            f"{shapes or 'none'}"
        )
    return np.concatenate(parts), np.array([len(part) for part in parts], np.int64)


def _gradient_kernel(ctx: KernelContext) -> Kernel:
    source = ctx.attrs["source"]
    return lambda array, flow: (array.gradient(source), _flow())


def _array(handle: Tensor, flow: Tensor) -> Sequence[Tensor]:
    """Return the array of gradients of an array, with its flow."""
    # Not at the top: ``backward`` imports modules that register these gradients.
    from actorsession.ops.derivatives.backward import gradient_source

    return raw.TensorArrayGradV3(handle, flow, source=gradient_source())


def _read_gradient(op: Operation, grad: Tensor) -> Grads:
    handle, index, flow = op.inputs
    array, order = _array(handle, flow)
    return [None, None, raw.TensorArrayWriteV3(array, index, grad, order)]


def _write_gradient(op: Operation, grad: Tensor) -> Grads:
    handle, index, value, _ = op.inputs
    array, order = _array(handle, grad)
    found = raw.TensorArrayReadV3(array, index, order, dtype=value.dtype)
    found.set_shape(value.shape)
    return [None, None, found, grad]


def _gather_gradient(op: Operation, grad: Tensor) -> Grads:
    handle, indices, flow = op.inputs
    array, order = _array(handle, flow)
    return [None, None, raw.TensorArrayScatterV3(array, indices, grad, order)]


def _scatter_gradient(op: Operation, grad: Tensor) -> Grads:
    handle, indices, value, _ = op.inputs
    array, order = _array(handle, grad)
    return [None, None, raw.TensorArrayGatherV3(array, indices, order, dtype=value.dtype), grad]


def _concat_gradient(op: Operation, grad: Tensor | None, lengths: Tensor | None = None) -> Grads:
    if grad is None:
        return [None] * 2
    handle, flow = op.inputs
    array, order = _array(handle, flow)
    return [None, raw.TensorArraySplitV3(array, grad, op.outputs[1], order)]


def _split_gradient(op: Operation, grad: Tensor) -> Grads:
    handle, value, _, _ = op.inputs
    array, order = _array(handle, grad)
    found, _ = raw.TensorArrayConcatV3(array, order, dtype=value.dtype)
    return [None, found, None, grad]


# An array is released with its step, so there is nothing to close.
_CLOSED: Kernel = lambda handle: None  # noqa: E731

op("TensorArrayV3", _ANY_AND_FLOW, kernel=_array_kernel, grad=NOT_DIFFERENTIABLE, sized_by=(0,))
op("TensorArrayWriteV3", _FLOW, _write, _write_gradient, keeps=frozenset({2}))
op("TensorArrayReadV3", _ANY, _read, _read_gradient, aliases=True)
op("TensorArrayGatherV3", _gathered, kernel=_gather_kernel, grad=_gather_gradient)
op("TensorArrayScatterV3", _FLOW, _scatter, _scatter_gradient, keeps=frozenset({2}))
op("TensorArraySplitV3", _FLOW, _split, _split_gradient, keeps=frozenset({1}))
op("TensorArrayConcatV3", _joined, _concat, _concat_gradient)
op("TensorArraySizeV3", _FLOW, lambda array, _: np.array(len(array), np.int32), NOT_DIFFERENTIABLE)
op("TensorArrayGradV3", _ANY_AND_FLOW, kernel=_gradient_kernel, grad=NOT_DIFFERENTIABLE)
op("TensorArrayCloseV3", _NOTHING, _CLOSED)


# -- stacks ----------------------------------------------------------------------------------------


def _push(stack: StepStack, value: Any) -> Any:
    stack.push(value)
    return value


op("StackV2", _ANY, lambda limit: StepStack(int(limit)))
op("StackPushV2", _PUSHED, _push, aliases=True, keeps=frozenset({1}))
op("StackPopV2", _ANY, lambda stack: stack.pop(), aliases=True)
op("StackCloseV2", _NOTHING, _CLOSED)
