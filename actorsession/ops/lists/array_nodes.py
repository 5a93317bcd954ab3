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
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, scalar_shape, unknown_shape
from actorsession.ops import raw
from actorsession.ops.arrays.array import identity
from actorsession.ops.lists.array_values import StepArray, StepStack
from actorsession.ops.rows import checked, no_outputs, op, pair, scalar
from actorsession.ops.shape_operands import ints

__all__: list[str] = []

Grads = Sequence["Tensor | None"]


def _flow() -> Any:
    # The value only orders operations.
    return np.zeros((), np.float32)


# -- shapes ----------------------------------------------------------------------------------------


_ANY = checked(lambda ctx: [unknown_shape])
_PAIR = checked(pair)
_PAIR_AND_FLOW = checked(lambda ctx: [*pair(ctx), scalar_shape])
_FLOW = checked(scalar)
_NOTHING = checked(no_outputs)
_PUSHED = checked(lambda ctx: [ctx.inputs[1].shape])


@checked
def _gathered(ctx: InferContext) -> list[TensorShape]:
    count, element = ctx.inputs[1].shape.with_rank(1), ctx.attrs["element_shape"]
    return [unknown_shape if element.rank is None else count.concatenate(element)]


@checked
def _joined(ctx: InferContext) -> list[TensorShape]:
    behind, some = ctx.attrs["element_shape_except0"], TensorShape([None])
    return [unknown_shape if behind.rank is None else some.concatenate(behind), some]


# -- arrays ----------------------------------------------------------------------------------------


def _array_kernel(ctx: KernelContext) -> Kernel:
    attrs = ctx.attrs
    dtype, shape = attrs["dtype"], attrs["element_shape"]
    dynamic, clears = attrs["dynamic_size"], attrs["clear_after_read"]
    alike = attrs.get("identical_element_shapes", False)
    with_flow = len(ctx.outputs) == 2

    def array(size: Any) -> Any:
        new = StepArray(dtype, int(size), shape, dynamic=dynamic, clears=clears, alike=alike)
        return (new, _flow()) if with_flow else new

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


@checked
def _packed(ctx: InferContext) -> list[TensorShape]:
    element = ctx.attrs["element_shape"]
    return [unknown_shape if element.rank is None else TensorShape([None]).concatenate(element)]


def _pack_kernel(ctx: KernelContext) -> Kernel:
    shape = ctx.attrs["element_shape"]
    return lambda array, flow: array.read_all(list(range(len(array))), shape)


def _unpack(array: StepArray, value: Any, flow: Any) -> Any:
    return _scatter(array, np.arange(len(array)), value, flow)


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
            f"elements of rank 1 or more that differ in their length alone are joined, got {shapes or 'none'}"
        )
    return np.concatenate(parts), np.array([len(part) for part in parts], np.int64)


def _gradient_kernel(ctx: KernelContext) -> Kernel:
    source = ctx.attrs["source"]
    if ctx.op == "TensorArrayGradWithShape":
        return lambda array, flow, ahead: (array.gradient(source, ints(ahead)), _flow())
    if len(ctx.outputs) == 1:
        return lambda array, flow: array.gradient(source)
    return lambda array, flow: (array.gradient(source), _flow())


def _version(op: Operation) -> str:
    """Return the end of the names of the types that take the handle of an operation."""
    return op.type[-2:] if op.type.endswith(("V2", "V3")) else ""


def _node(op: Operation, what: str, *operands: Tensor, **attrs: Any) -> Any:
    """Add a node for the handle of an operation, of the types that take it."""
    return getattr(raw, f"TensorArray{what}{_version(op)}")(*operands, **attrs)


def _array(op: Operation, flow: Tensor) -> Sequence[Tensor]:
    """Return the array of gradients of the array of an operation, with its flow."""
    # Not at the top: ``backward`` imports modules that register these gradients.
    from actorsession.ops.derivatives.backward import gradient_source

    gradient_array = _node(op, "Grad", op.inputs[0], flow, source=gradient_source())
    if isinstance(gradient_array, tuple):
        return gradient_array
    # The older types have no flow out of this node, and begin with that of the array.
    with gradient_array.graph.control_dependencies([gradient_array]):
        return gradient_array, identity(flow)


def _read_gradient(op: Operation, grad: Tensor) -> Grads:
    _, index, flow = op.inputs
    array, order = _array(op, flow)
    return [None, None, _node(op, "Write", array, index, grad, order)]


def _write_gradient(op: Operation, grad: Tensor) -> Grads:
    _, index, value, _ = op.inputs
    array, order = _array(op, grad)
    read = _node(op, "Read", array, index, order, dtype=value.dtype)
    read.set_shape(value.shape)
    return [None, None, read, grad]


def _gather_gradient(op: Operation, grad: Tensor) -> Grads:
    _, indices, flow = op.inputs
    array, order = _array(op, flow)
    return [None, None, _node(op, "Scatter", array, indices, grad, order)]


def _scatter_gradient(op: Operation, grad: Tensor) -> Grads:
    _, indices, value, _ = op.inputs
    array, order = _array(op, grad)
    return [None, None, _node(op, "Gather", array, indices, order, dtype=value.dtype), grad]


def _concat_gradient(op: Operation, grad: Tensor | None, lengths: Tensor | None = None) -> Grads:
    if grad is None:
        return [None] * 2
    array, order = _array(op, op.inputs[1])
    return [None, _node(op, "Split", array, grad, op.outputs[1], order)]


def _split_gradient(op: Operation, grad: Tensor) -> Grads:
    value = op.inputs[1]
    array, order = _array(op, grad)
    joined, _ = _node(op, "Concat", array, order, dtype=value.dtype)
    return [None, joined, None, grad]


# An array is released with its step, so there is nothing to close.
_CLOSED: Kernel = lambda handle: None  # noqa: E731

for _end, _outputs in (("", _ANY), ("V2", _PAIR), ("V3", _PAIR_AND_FLOW)):
    _of = f"TensorArray{{}}{_end}".format
    op(_of(""), _outputs, kernel=_array_kernel, grad=NOT_DIFFERENTIABLE, sized_by=(0,))
    op(_of("Write"), _FLOW, _write, _write_gradient, keeps=frozenset({2}))
    op(_of("Read"), _ANY, _read, _read_gradient, aliases=True)
    op(_of("Gather"), _gathered, kernel=_gather_kernel, grad=_gather_gradient)
    op(_of("Scatter"), _FLOW, _scatter, _scatter_gradient, keeps=frozenset({2}))
    op(_of("Split"), _FLOW, _split, _split_gradient, keeps=frozenset({1}))
    op(_of("Concat"), _joined, _concat, _concat_gradient)
    op(_of("Size"), _FLOW, lambda array, _: np.array(len(array), np.int32), NOT_DIFFERENTIABLE)
    op(_of("Grad"), _outputs, kernel=_gradient_kernel, grad=NOT_DIFFERENTIABLE)
    op(_of("Close"), _NOTHING, _CLOSED, NOT_DIFFERENTIABLE)
op("TensorArrayGradWithShape", _PAIR_AND_FLOW, kernel=_gradient_kernel, grad=NOT_DIFFERENTIABLE)
# The first form packed and unpacked whole arrays, without indices.
op("TensorArrayPack", _packed, kernel=_pack_kernel)
op("TensorArrayUnpack", _FLOW, _unpack, keeps=frozenset({1}))


# -- stacks ----------------------------------------------------------------------------------------


def _push(stack: StepStack, value: Any) -> Any:
    stack.push(value)
    return value


op("StackV2", _PAIR, lambda limit: StepStack(int(limit)), NOT_DIFFERENTIABLE)
op("Stack", _PAIR, lambda: StepStack(-1), NOT_DIFFERENTIABLE)
for _end in ("", "V2"):
    op(f"StackPush{_end}", _PUSHED, _push, NOT_DIFFERENTIABLE, aliases=True, keeps=frozenset({1}))
    op(f"StackPop{_end}", _ANY, lambda stack: stack.pop(), NOT_DIFFERENTIABLE, aliases=True)
    op(f"StackClose{_end}", _NOTHING, _CLOSED, NOT_DIFFERENTIABLE)
