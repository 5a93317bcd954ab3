"""Batches through queues, of the values of tensors in successive steps.

``input`` re-exports this module. Each function makes a queue and a ``QueueRunner`` that fills it. Names are
TensorFlow's. A summary of each queue says how full it is. Sparse tensors are in the queue as strings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from actorsession import ops, opsets
from actorsession.graph.dtypes import DType, float32, int32
from actorsession.graph.graph import name_scope
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.ops.queues.base import QueueBase
from actorsession.ops.queues.queues import FIFOQueue, PaddingFIFOQueue, RandomShuffleQueue
from actorsession.opsets.summaries.functions import scalar
from actorsession.records import dataclass
from actorsession.train.queue_runner import QueueRunner, add_queue_runner

__all__ = [
    "batch",
    "batch_join",
    "maybe_batch",
    "maybe_batch_join",
    "maybe_shuffle_batch",
    "maybe_shuffle_batch_join",
    "note_fullness",
    "shuffle_batch",
    "shuffle_batch_join",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Batching:
    """The common part of the functions below.

    Attributes:
        size: number of elements in a batch.
        capacity: capacity of the queue.
        threads: number of loops for each list of tensors.
        many: whether tensors have a row for each element.
        shapes: shapes of the elements, if not those of the tensors.
        smaller: whether the last batch may be smaller.
        shared_name: name under which sessions of a cluster share the queue.
        pads: whether elements are padded to one shape.
        mixes: minimum number of elements that stay in the queue for shuffling; ``None`` for no shuffling.
        seed: seed of the shuffling.
    """

    size: Any
    capacity: int
    threads: int = 1
    many: bool
    shapes: Any
    smaller: bool
    shared_name: str | None
    pads: bool = False
    mixes: int | None = None
    seed: int | None = None

    def queue(self, types: Sequence[Any], shapes: Any) -> QueueBase:
        """Return the queue for the elements."""
        if self.mixes is not None:
            return RandomShuffleQueue(
                self.capacity, self.mixes, types, shapes=shapes, seed=self.seed, shared_name=self.shared_name
            )
        kind = PaddingFIFOQueue if self.pads else FIFOQueue
        return kind(self.capacity, types, shapes=shapes, shared_name=self.shared_name)

    def build(self, sets: Sequence[Any], keep_input: Any, name: str) -> Any:
        """Return batches of the values of several lists or dictionaries of tensors."""
        if self.mixes is not None and self.capacity <= self.mixes:
            raise ValueError(f"capacity {self.capacity} must be bigger than min_after_dequeue {self.mixes}.")
        with name_scope(name) as scope:
            lists, sparse = _tensors_of(sets, self.many)
            keep = _checked_keep(keep_input, self.many)
            shapes = self.shapes if self.shapes is not None else _shapes(lists, self.many)
            queue = self.queue([tensor.dtype for tensor in lists[0]], shapes)
            put = queue.enqueue_many if self.many else queue.enqueue
            steps = [_put(put, tensors, keep) for tensors in lists]
            add_queue_runner(QueueRunner(queue, steps * self.threads))
            note_fullness(queue, self.capacity, self.mixes)
            take = queue.dequeue_up_to if self.smaller else queue.dequeue_many
            taken = take(self.size, name=scope)
        parts = list(taken) if isinstance(taken, (list, tuple)) else [taken]
        for at, spec in sparse.items():
            parts[at] = spec.restored(parts[at])
        if not isinstance(sets[0], Mapping):
            return parts[0] if len(parts) == 1 else parts
        return dict(zip(sorted(sets[0]), parts, strict=True))


def note_fullness(queue: QueueBase, capacity: int, kept: int | None = None, name: str | None = None) -> None:
    """Add a summary of the part of a queue that is full, of what it has beyond the elements that stay in it.

    Args:
        queue: the queue.
        capacity: its capacity.
        kept: the number of elements that stay in it for shuffling.
        name: wanted name of the summary.
    """
    size: Any = queue.size()
    if kept is None:
        tag = name or f"fraction_of_{capacity}_full"
    else:
        size = ops.maximum(0, size - kept)
        capacity -= kept
        tag = name or f"fraction_over_{kept}_of_{capacity}_full"
    scalar(tag, ops.cast(size, float32) * (1.0 / capacity))


@dataclass(frozen=True, slots=True)
class _Sparse:
    """A sparse tensor among the components of elements.

    Attributes:
        dtype: dtype of its values.
        shape: static shape of an element.
    """

    dtype: DType
    shape: TensorShape

    def restored(self, strings: Tensor) -> Any:
        """Return a batch of elements, from a row of strings for each."""
        rank = None if self.shape.rank is None else self.shape.rank + 1
        sparse = opsets.deserialize_many_sparse(strings, self.dtype, rank)
        if self.shape.sizes is not None:
            sparse.set_shape([None, *self.shape.sizes])
        return sparse


def _in_queue(value: Any, many: bool) -> tuple[Tensor, _Sparse | None]:
    """Return what stands for a value in the queue, and its static type if it is sparse."""
    if isinstance(value, opsets.SparseTensorValue):
        value = opsets.SparseTensor.from_value(value)
    if not isinstance(value, opsets.SparseTensor):
        return ops.convert_to_tensor(value), None
    shape = value.get_shape()
    if many:
        shape = shape[1:]
    spec = _Sparse(value.dtype, shape)
    write = opsets.serialize_many_sparse if many else opsets.serialize_sparse
    return write(value), spec


def _tensors_of(sets: Sequence[Any], many: bool) -> tuple[list[list[Tensor]], dict[int, _Sparse]]:
    """Return the tensors of each list, and what is sparse, by place."""
    if not sets:
        raise ValueError("Expected at least one set of tensors")
    if isinstance(sets[0], Mapping):
        keys = sorted(sets[0])
        if any(sorted(each) != keys for each in sets):
            raise ValueError("All dictionaries to join must have the same keys")
        sets = [[each[key] for key in keys] for each in sets]
    components = [[_in_queue(value, many) for value in each] for each in sets]
    lists = [[tensor for tensor, _ in each] for each in components]
    if not all(lists):
        raise ValueError("Expected at least one tensor in batch().")
    types = [[tensor.dtype for tensor in each] for each in lists]
    if any(own != types[0] for own in types):
        raise TypeError(f"Expected types to be consistent: {[[t.name for t in each] for each in types]}")
    places = [{at for at, (_, spec) in enumerate(each) if spec is not None} for each in components]
    if any(place != places[0] for place in places):
        raise TypeError("Expected the same components of all lists to be sparse tensors")
    return lists, {at: spec for at, (_, spec) in enumerate(components[0]) if spec is not None}


def _checked_keep(keep_input: Any, many: bool) -> Any:
    """Return which elements to keep: ``True``, or a tensor with one truth value or one for each row."""
    if keep_input is True:
        return True
    keep = ops.convert_to_tensor(keep_input)
    if keep.shape.rank is None:
        raise ValueError("`keep_input` dimensions must be known at graph construction.")
    if not many and keep.shape.rank == 1:
        raise ValueError("`keep_input` cannot be a vector when `enqueue_many=False`.")
    if keep.shape.rank > 1:
        raise ValueError("`keep_input` must be 0 or 1 dimensions.")
    return keep


def _shapes(lists: Sequence[Sequence[Tensor]], many: bool) -> list[TensorShape]:
    """Return the shapes of elements, as far as all lists agree on them."""
    for tensor in (tensor for each in lists for tensor in each):
        if tensor.shape.rank is None:
            raise ValueError(f"Cannot infer Tensor's rank: {tensor!r}")
        if many and tensor.shape.rank == 0:
            raise ValueError(f"with enqueue_many every tensor must have rows, but {tensor!r} is a scalar")
    joined = []
    for tensors in zip(*lists, strict=True):
        shapes = [tensor.shape[1:] if many else tensor.shape for tensor in tensors]
        first = shapes[0].as_list()
        for shape in shapes[1:]:
            if shape.rank != len(first):
                raise ValueError(f"shapes {shapes[0]} and {shape} cannot be joined, because their ranks differ")
            first = [a if a == b else None for a, b in zip(first, shape.as_list(), strict=True)]
        joined.append(TensorShape(first))
    return joined


def _put(put: Any, tensors: list[Tensor], keep: Any) -> Any:
    """Return the operation that enqueues the elements to keep."""
    if keep is True:
        return put(tensors)
    if keep.shape.rank == 1:
        side = ops.cast(keep, int32)
        return put([ops.dynamic_partition(tensor, side, 2)[1] for tensor in tensors])
    return ops.cond(keep, lambda: put(tensors), ops.no_op)


def batch(
    tensors: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches of the values of tensors in successive steps.

    Args:
        tensors: a list or dictionary of tensors.
        batch_size: number of elements in a batch.
        num_threads: number of loops that fill the queue.
        capacity: capacity of the queue.
        enqueue_many: whether tensors have a row for each element.
        shapes: shapes of the elements; those of the tensors if left out.
        dynamic_pad: whether elements of different sizes are padded with zeros to the largest size.
        allow_smaller_final_batch: whether the last batch may be smaller; otherwise the remaining elements are
            dropped.
        shared_name: name under which sessions of a cluster share the queue.
        name: wanted name.

    Returns:
        Batched tensors in a list or dictionary like the given one; the tensor itself for a list of one.

    Raises:
        ValueError: for no tensors, or unknown shapes.
    """
    return maybe_batch(
        tensors,
        True,
        batch_size,
        num_threads,
        capacity,
        enqueue_many,
        shapes,
        dynamic_pad,
        allow_smaller_final_batch,
        shared_name,
        name or "batch",
    )


def maybe_batch(
    tensors: Any,
    keep_input: Any,
    batch_size: Any,
    num_threads: int = 1,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches like ``batch``, of the elements for which ``keep_input`` is true.

    Args:
        keep_input: bool, a scalar, or with ``enqueue_many`` one for each row.
    """
    batching = _Batching(
        size=batch_size,
        capacity=capacity,
        threads=num_threads,
        many=enqueue_many,
        shapes=shapes,
        smaller=allow_smaller_final_batch,
        shared_name=shared_name,
        pads=dynamic_pad,
    )
    return batching.build([tensors], keep_input, name or "batch")


def batch_join(
    tensors_list: Sequence[Any],
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches like ``batch``, of several lists or dictionaries of tensors, each with its own loop."""
    return maybe_batch_join(
        tensors_list,
        True,
        batch_size,
        capacity,
        enqueue_many,
        shapes,
        dynamic_pad,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


def maybe_batch_join(
    tensors_list: Sequence[Any],
    keep_input: Any,
    batch_size: Any,
    capacity: int = 32,
    enqueue_many: bool = False,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches like ``batch_join``, of the elements for which ``keep_input`` is true."""
    batching = _Batching(
        size=batch_size,
        capacity=capacity,
        many=enqueue_many,
        shapes=shapes,
        smaller=allow_smaller_final_batch,
        shared_name=shared_name,
        pads=dynamic_pad,
    )
    return batching.build(tensors_list, keep_input, name or "batch_join")


def shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches like ``batch``, with elements in random order.

    Args:
        min_after_dequeue: minimum number of elements that stay in the queue for shuffling; below
            ``capacity``.
        seed: seed of the order.
    """
    return maybe_shuffle_batch(
        tensors,
        batch_size,
        capacity,
        min_after_dequeue,
        True,
        num_threads,
        seed,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


def maybe_shuffle_batch(
    tensors: Any,
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    num_threads: int = 1,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches like ``shuffle_batch``, of the elements for which ``keep_input`` is true."""
    batching = _Batching(
        size=batch_size,
        capacity=capacity,
        threads=num_threads,
        many=enqueue_many,
        shapes=shapes,
        smaller=allow_smaller_final_batch,
        shared_name=shared_name,
        mixes=min_after_dequeue,
        seed=seed,
    )
    return batching.build([tensors], keep_input, name or "shuffle_batch")


def shuffle_batch_join(
    tensors_list: Sequence[Any],
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches like ``shuffle_batch``, of several lists or dictionaries, each with its own loop."""
    return maybe_shuffle_batch_join(
        tensors_list,
        batch_size,
        capacity,
        min_after_dequeue,
        True,
        seed,
        enqueue_many,
        shapes,
        allow_smaller_final_batch,
        shared_name,
        name,
    )


def maybe_shuffle_batch_join(
    tensors_list: Sequence[Any],
    batch_size: Any,
    capacity: int,
    min_after_dequeue: int,
    keep_input: Any,
    seed: int | None = None,
    enqueue_many: bool = False,
    shapes: Any = None,
    allow_smaller_final_batch: bool = False,
    shared_name: str | None = None,
    name: str | None = None,
) -> Any:
    """Return batches like ``shuffle_batch_join``, of the elements for which ``keep_input`` is true."""
    batching = _Batching(
        size=batch_size,
        capacity=capacity,
        many=enqueue_many,
        shapes=shapes,
        smaller=allow_smaller_final_batch,
        shared_name=shared_name,
        mixes=min_after_dequeue,
        seed=seed,
    )
    return batching.build(tensors_list, keep_input, name or "shuffle_batch_join")
