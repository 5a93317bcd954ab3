"""TensorFlow's op types of queues, implemented on ``state``.

A queue's handle does not describe its elements; every op that takes one therefore has the component types and
shapes as attributes. Queues without a shared name belong to the session whose node made them; those with one
to the device, under their container. Nodes that may wait suspend (see ``OpDef.suspends``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from actorsession.errors import InvalidArgumentError
from actorsession.graph.completion import Completion
from actorsession.graph.dtypes import int32, int64
from actorsession.graph.node import TensorSpec
from actorsession.graph.registry import NOT_DIFFERENTIABLE, InferContext, Kernel, KernelContext
from actorsession.graph.shape import TensorShape, scalar_shape
from actorsession.ops.queues.batches import join_many, own, split_many
from actorsession.ops.queues.components import component_specs, stacked
from actorsession.ops.queues.state import FifoElements, PriorityElements, QueueState, ShuffledElements
from actorsession.ops.rows import check_inputs, checked, no_outputs, op, scalar
from actorsession.ops.shared_state import register_state

__all__: list[str] = []

# The number of components of an element that are passed without a copy; the others are copied.
_MOST = 64
_WORD = 0xFFFF_FFFF_FFFF_FFFF


# -- queues ----------------------------------------------------------------------------------------


def _shuffled(attrs: Mapping[str, Any]) -> ShuffledElements:
    least, capacity = attrs["min_after_dequeue"], attrs["capacity"]
    if least < 0 or 0 <= capacity <= least:
        raise InvalidArgumentError(
            f"min_after_dequeue {least} must be at least 0 and < capacity {capacity}, since a queue that is "
            "full would let nothing be taken"
        )
    seeds = (attrs["seed"] & _WORD, attrs["seed2"] & _WORD)
    return ShuffledElements(least, seeds)


def _register_queue(label: str, elements: Callable[[Mapping[str, Any]], Any]) -> None:
    register_state(
        f"{label}V2",
        "queue",
        label,
        lambda name, attrs: QueueState(
            name, attrs["capacity"], elements(attrs), component_specs(attrs), pads=label == "PaddingFIFOQueue"
        ),
    )


_register_queue("FIFOQueue", lambda attrs: FifoElements())
_register_queue("PaddingFIFOQueue", lambda attrs: FifoElements())
_register_queue("PriorityQueue", lambda attrs: PriorityElements())
_register_queue("RandomShuffleQueue", _shuffled)


# -- enqueue ---------------------------------------------------------------------------------------


def _put(ctx: InferContext) -> Sequence[TensorShape]:
    """The values are the components of an element, or of several; there are no outputs."""
    check_inputs(ctx)
    many = ctx.op == "QueueEnqueueManyV2"
    wanted, given = component_specs(ctx.attrs), ctx.inputs[1:]
    if len(wanted) != len(given):
        raise ValueError(f"{ctx.op}: elements have {len(wanted)} components, got {len(given)}")
    for i, (want, got) in enumerate(zip(wanted, given, strict=True)):
        if got.dtype is not want.dtype:
            raise TypeError(f"{ctx.op}: component {i} is {want.dtype.name}, got {got.dtype.name}")
        shape = stacked(want.shape, None) if many else want.shape
        if not got.shape.is_compatible_with(shape):
            raise ValueError(f"{ctx.op}: component {i} has shape {shape}, got {got.shape}; the two must be compatible")
    if many:
        _check_rows(ctx, given)
    return []


def _check_rows(ctx: InferContext, given: Sequence[TensorSpec]) -> None:
    """Check that all components may have equally many rows."""
    counts = [spec.shape.sizes[0] for spec in given if spec.shape.sizes]
    if len(set(counts) - {None}) > 1:
        raise ValueError(f"{ctx.op}: all components have a row for each element, got {counts} rows")


def _check_element(specs: Sequence[TensorSpec], values: Sequence[Any], *, many: bool) -> None:
    for i, (spec, value) in enumerate(zip(specs, values, strict=True)):
        shape = value.shape if isinstance(value, np.ndarray) else np.shape(value)
        if many and not shape:
            raise InvalidArgumentError(f"component {i} of many elements is a scalar")
        if not spec.shape.is_compatible_with(shape[1:] if many else shape):
            count = shape[:1] if many else ()
            wanted = [*count, *("?" if d is None else d for d in spec.shape.as_list())]
            raise InvalidArgumentError(
                f"Shape mismatch in tuple component {i}. Expected {_written(wanted)}, got {_written(shape)}"
            )


def _written(shape: Sequence[Any]) -> str:
    return f"[{','.join(map(str, shape))}]"


def _enqueue_kernel(ctx: KernelContext) -> Kernel:
    specs = component_specs(ctx.attrs)
    # Most elements have these shapes; what has none or others is looked at more closely.
    shapes = [None if spec.shape.sizes is None else tuple(spec.shape.sizes) for spec in specs]

    def enqueue(queue: QueueState, *values: Any) -> Completion:
        for value, shape in zip(values, shapes, strict=True):
            if getattr(value, "shape", None) != shape:
                _check_element(specs, values, many=False)
                break
        kept, beyond = values[: _MOST - 1], values[_MOST - 1 :]
        return queue.enqueue([(*kept, *map(own, beyond))])

    return enqueue


def _enqueue_many_kernel(ctx: KernelContext) -> Kernel:
    specs = component_specs(ctx.attrs)

    def enqueue_many(queue: QueueState, *values: Any) -> Completion:
        _check_element(specs, values, many=True)
        return queue.enqueue(split_many(values))

    return enqueue_many


op(
    "QueueEnqueueV2",
    _put,
    kernel=_enqueue_kernel,
    grad=NOT_DIFFERENTIABLE,
    suspends=True,
    keeps=frozenset(range(1, _MOST)),
)
op("QueueEnqueueManyV2", _put, kernel=_enqueue_many_kernel, grad=NOT_DIFFERENTIABLE, suspends=True)


# -- dequeue ---------------------------------------------------------------------------------------


def _taken(ctx: InferContext) -> Sequence[TensorShape]:
    return [spec.shape for spec in component_specs(ctx.attrs)]


def _taken_together(ctx: InferContext) -> Sequence[TensorShape]:
    count = ctx.constant(1)
    n = int(count) if count is not None and ctx.op == "QueueDequeueManyV2" else None
    if n is not None and n < 0:
        raise ValueError(f"{ctx.op}: n is at least 0, got {n}")
    return [stacked(spec.shape, n) for spec in component_specs(ctx.attrs)]


def _are_open(specs: Sequence[TensorSpec]) -> bool:
    return any(not spec.shape.is_fully_defined() for spec in specs)


def _specs_of(queue: QueueState, stated: Sequence[TensorSpec]) -> Sequence[TensorSpec]:
    """Return the static types of an element: those that its queue states where the node leaves them open.

    A node of TensorFlow states types alone. The priority is in no list of its queue.
    """
    if not _are_open(stated):
        return stated
    more = len(stated) - len(queue.specs)
    return [*[TensorSpec(spec.dtype, scalar_shape) for spec in stated[:more]], *queue.specs]


def _dequeue_many_kernel(ctx: KernelContext) -> Kernel:
    stated, up_to = component_specs(ctx.attrs), ctx.op == "QueueDequeueUpToV2"

    def dequeue_many(queue: QueueState, n: Any) -> Completion:
        if n < 0:
            what = "DequeueUpTo" if up_to else "DequeueMany"
            raise InvalidArgumentError(f"{what}Op requested {n} < 0 elements")
        specs = _specs_of(queue, stated)
        if not queue.pads and _are_open(specs):
            raise InvalidArgumentError(
                f"{queue.label}: DequeueMany and DequeueUpTo require the components to have specified "
                "shapes; give the queue shapes, or use a PaddingFIFOQueue"
            )
        return queue.dequeue(int(n), lambda taken: join_many(taken, specs), up_to=up_to)

    return dequeue_many


op("QueueDequeueV2", checked(_taken), QueueState.dequeue, NOT_DIFFERENTIABLE, suspends=True, takes=True)
for _name in ("QueueDequeueManyV2", "QueueDequeueUpToV2"):
    op(
        _name,
        checked(_taken_together, None, 0),
        kernel=_dequeue_many_kernel,
        grad=NOT_DIFFERENTIABLE,
        suspends=True,
        takes=True,
    )


# -- other ops -------------------------------------------------------------------------------------


def _close_kernel(ctx: KernelContext) -> Kernel:
    cancel = bool(ctx.attrs["cancel_pending_enqueues"])
    return lambda queue: queue.close(cancel_pending=cancel)


def _selected(ctx: InferContext) -> Sequence[TensorShape]:
    if ctx.inputs[0].dtype not in (int32, int64):
        raise TypeError(f"RefSelect: the index is an integer, got {ctx.inputs[0].dtype.name}")
    return [ctx.inputs[1].shape]


def _select(index: Any, *handles: Any) -> Any:
    if not 0 <= index < len(handles):
        raise InvalidArgumentError(
            f"index {index} is not in [0, {len(handles)}): it selects one of {len(handles)} inputs"
        )
    return handles[int(index)]


op("QueueCloseV2", checked(no_outputs), kernel=_close_kernel, grad=NOT_DIFFERENTIABLE)
op("QueueIsClosedV2", checked(scalar), lambda queue: np.bool_(queue.closed), NOT_DIFFERENTIABLE)
op("QueueSizeV2", checked(scalar), lambda queue: np.int32(queue.size), NOT_DIFFERENTIABLE)
op("RefSelect", _selected, _select, NOT_DIFFERENTIABLE, aliases=True)
