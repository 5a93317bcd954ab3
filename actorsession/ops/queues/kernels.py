"""TensorFlow's op types of queues, implemented on ``state``.

A queue's handle does not describe its elements; every op that takes one therefore has the component types and
shapes as attributes. Queues without a shared name belong to the session whose node made them; those with one
to the device, under their container. Nodes that may wait suspend (see ``OpDef.suspends``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.dtypes import DType, as_dtype, bool_, int32, int64
from actorsession.graph.node import TensorSpec
from actorsession.graph.registry import REQUIRED, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.graph.take import Take
from actorsession.ops.queues.batches import join_many, join_one, own, split_many
from actorsession.ops.queues.state import (
    FifoElements,
    PriorityElements,
    QueueState,
    ShuffledElements,
)
from actorsession.ops.shared_state import check_handle_of, register_op, register_state

__all__ = ["COMPONENTS"]

# The attributes that describe elements in every op that takes a queue's handle.
COMPONENTS: Mapping[str, Any] = {"component_types": REQUIRED, "shapes": ()}
_KIND = "queue"
# The number of components of an element that are passed without a copy; the others are copied.
_MOST = 64
_WORD = 0xFFFF_FFFF_FFFF_FFFF


def components(attrs: Mapping[str, Any]) -> list[TensorSpec]:
    """Return the static types of an element; shapes are unknown if none were given."""
    types = [as_dtype(t) for t in attrs["component_types"]]
    shapes = list(attrs["shapes"]) or [None] * len(types)
    return [TensorSpec(t, TensorShape(s)) for t, s in zip(types, shapes, strict=True)]


# -- queues ----------------------------------------------------------------------------------------


_QUEUE: Mapping[str, Any] = {"capacity": -1, **COMPONENTS}

register_state(
    "FIFOQueueV2", _KIND, "FIFOQueue",
    lambda label, attrs: QueueState(label, attrs["capacity"], FifoElements()), _QUEUE,
)  # fmt: skip
register_state(
    "PaddingFIFOQueueV2", _KIND, "PaddingFIFOQueue",
    lambda label, attrs: QueueState(label, attrs["capacity"], FifoElements()), _QUEUE,
)  # fmt: skip
register_state(
    "PriorityQueueV2", _KIND, "PriorityQueue",
    lambda label, attrs: QueueState(label, attrs["capacity"], PriorityElements()), _QUEUE,
)  # fmt: skip


def _shuffled(label: str, attrs: Mapping[str, Any]) -> QueueState:
    seeds = (attrs["seed"] & _WORD, attrs["seed2"] & _WORD)
    return QueueState(label, attrs["capacity"], ShuffledElements(attrs["min_after_dequeue"], seeds))


register_state(
    "RandomShuffleQueueV2", _KIND, "RandomShuffleQueue", _shuffled,
    {**_QUEUE, "min_after_dequeue": 0, "seed": 0, "seed2": 0},
)  # fmt: skip


# -- enqueue ---------------------------------------------------------------------------------------


def _check_components(ctx: InferContext, *, many: bool) -> None:
    wanted, given = components(ctx.attrs), ctx.inputs[1:]
    if len(wanted) != len(given):
        raise ValueError(f"{ctx.op}: elements have {len(wanted)} components, got {len(given)}")
    for i, (want, got) in enumerate(zip(wanted, given, strict=True)):
        if got.dtype is not want.dtype:
            raise TypeError(f"{ctx.op}: component {i} is {want.dtype.name}, got {got.dtype.name}")
        shape = TensorShape(None) if want.shape.sizes is None else want.shape
        if many and shape.sizes is not None:
            shape = TensorShape([None, *shape.sizes])
        if not got.shape.is_compatible_with(shape):
            raise ValueError(
                f"{ctx.op}: component {i} has shape {shape}, got {got.shape}; the two must be "
                "compatible"
            )
    if many:
        _check_rows(ctx, given)


def _check_rows(ctx: InferContext, given: Sequence[TensorSpec]) -> None:
    """Check that all components may have equally many rows."""
    counts = [spec.shape.sizes[0] for spec in given if spec.shape.sizes]
    if len(set(counts) - {None}) > 1:
        raise ValueError(f"{ctx.op}: all components have a row for each element, got {counts} rows")


def _infer_enqueue(ctx: InferContext) -> list[TensorSpec]:
    check_handle_of(ctx, "a queue")
    _check_components(ctx, many=ctx.op == "QueueEnqueueManyV2")
    return []


def _check_element(specs: Sequence[TensorSpec], values: Sequence[Any], *, many: bool) -> None:
    for i, (spec, value) in enumerate(zip(specs, values, strict=True)):
        shape = np.shape(value)
        if many and not shape:
            raise InvalidArgumentError(f"component {i} of many elements is a scalar")
        if not spec.shape.is_compatible_with(shape[1:] if many else shape):
            count = shape[:1] if many else ()
            wanted = [*count, *("?" if d is None else d for d in spec.shape.as_list())]
            raise InvalidArgumentError(
                f"Shape mismatch in tuple component {i}. Expected {_written(wanted)}, got "
                f"{_written(shape)}"
            )


def _written(shape: Sequence[Any]) -> str:
    return f"[{','.join(map(str, shape))}]"


def _enqueue_kernel(ctx: KernelContext) -> Kernel:
    specs = components(ctx.attrs)

    def enqueue(queue: QueueState, *values: Any) -> Future[Any]:
        _check_element(specs, values, many=False)
        kept, beyond = values[: _MOST - 1], values[_MOST - 1 :]
        return queue.enqueue([(*kept, *map(own, beyond))])

    return enqueue


def _enqueue_many_kernel(ctx: KernelContext) -> Kernel:
    specs = components(ctx.attrs)

    def enqueue_many(queue: QueueState, *values: Any) -> Future[Any]:
        _check_element(specs, values, many=True)
        return queue.enqueue(split_many(values))

    return enqueue_many


register_op(
    "QueueEnqueueV2", _infer_enqueue, _enqueue_kernel, attrs=COMPONENTS, suspends=True,
    keeps=frozenset(range(1, _MOST)),
)  # fmt: skip
register_op(
    "QueueEnqueueManyV2", _infer_enqueue, _enqueue_many_kernel, attrs=COMPONENTS, suspends=True
)


# -- dequeue ---------------------------------------------------------------------------------------


def _infer_dequeue(ctx: InferContext) -> list[TensorSpec]:
    check_handle_of(ctx, "a queue")
    return components(ctx.attrs)


def _infer_dequeue_many(ctx: InferContext) -> list[TensorSpec]:
    check_handle_of(ctx, "a queue")
    if ctx.inputs[1].dtype is not int32:
        raise TypeError(f"{ctx.op}: n is an int32 scalar, got {ctx.inputs[1].dtype.name}")
    if not ctx.inputs[1].shape.is_compatible_with(()):
        raise ValueError(f"{ctx.op}: n is a scalar, got shape {ctx.inputs[1].shape}")
    count = ctx.constant(1)
    n = int(count) if count is not None and ctx.op == "QueueDequeueManyV2" else None
    if n is not None and n < 0:
        raise ValueError(f"{ctx.op}: n is at least 0, got {n}")
    return [
        TensorSpec(s.dtype, TensorShape(None if s.shape.sizes is None else [n, *s.shape.sizes]))
        for s in components(ctx.attrs)
    ]


def _dequeue_kernel(ctx: KernelContext) -> Kernel:
    return lambda queue: queue.dequeue(1, join_one)


def _dequeue_many_kernel(ctx: KernelContext) -> Kernel:
    specs, up_to = components(ctx.attrs), ctx.op == "QueueDequeueUpToV2"
    pads = bool(ctx.attrs["pads"])

    def dequeue_many(queue: QueueState, n: Any) -> Take:
        if n < 0:
            raise InvalidArgumentError(f"{ctx.op}: n is at least 0, got {n}")
        if not pads and any(not s.shape.is_fully_defined() for s in specs):
            raise InvalidArgumentError(
                f"{queue.label}: taking several elements as one needs components of known shape; give "
                "the queue shapes, or use a PaddingFIFOQueue"
            )
        return queue.dequeue(int(n), lambda taken: join_many(taken, specs), up_to=up_to)

    return dequeue_many


register_op(
    "QueueDequeueV2", _infer_dequeue, _dequeue_kernel, attrs=COMPONENTS, suspends=True, takes=True
)
for _name in ("QueueDequeueManyV2", "QueueDequeueUpToV2"):
    register_op(
        _name,
        _infer_dequeue_many,
        _dequeue_many_kernel,
        attrs={**COMPONENTS, "pads": False},
        suspends=True,
        takes=True,
    )


# -- other ops -------------------------------------------------------------------------------------


def _infer_nothing(ctx: InferContext) -> list[TensorSpec]:
    check_handle_of(ctx, "a queue")
    return []


def _infer_scalar(dtype: DType) -> Any:
    def infer(ctx: InferContext) -> list[TensorSpec]:
        check_handle_of(ctx, "a queue")
        return [TensorSpec(dtype, scalar_shape)]

    return infer


def _close_kernel(ctx: KernelContext) -> Kernel:
    cancel = bool(ctx.attrs["cancel_pending_enqueues"])
    return lambda queue: queue.close(cancel_pending=cancel)


register_op("QueueCloseV2", _infer_nothing, _close_kernel, attrs={"cancel_pending_enqueues": False})
register_op(
    "QueueIsClosedV2", _infer_scalar(bool_), lambda ctx: lambda queue: np.bool_(queue.closed)
)
register_op("QueueSizeV2", _infer_scalar(int32), lambda ctx: lambda queue: np.int32(queue.size))


def _infer_select(ctx: InferContext) -> list[TensorSpec]:
    if ctx.inputs[0].dtype not in (int32, int64):
        raise TypeError(f"RefSelect: the index is an integer, got {ctx.inputs[0].dtype.name}")
    first = ctx.inputs[1]
    if any(spec.dtype is not first.dtype for spec in ctx.inputs[1:]):
        raise TypeError("RefSelect: all inputs have one dtype")
    return [first]


def _select_kernel(ctx: KernelContext) -> Kernel:
    def select(index: Any, *handles: Any) -> Any:
        if not 0 <= index < len(handles):
            raise InvalidArgumentError(f"index {index} selects one of {len(handles)} inputs")
        return handles[int(index)]

    return select


register_op("RefSelect", _infer_select, _select_kernel, aliases=True)
