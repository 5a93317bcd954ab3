"""``tf.contrib.training``'s batches of examples that are alike: one queue for each kind of example."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from actorsession.compat import v1 as tf
from actorsession.train import QueueRunner, add_queue_runner

__all__ = ["bucket", "bucket_by_sequence_length"]

_CLOSED = (tf.errors.OutOfRangeError, tf.errors.CancelledError)


def bucket(
    tensors: Any,
    which_bucket: Any,
    batch_size: Any,
    num_buckets: int,
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Return batches of examples of one bucket each, and which bucket that is.

    Args:
        tensors: an example, as tensors in order or by key.
        which_bucket: the number of its bucket.
        batch_size: examples of a batch, or a number for each bucket.
        num_buckets: how many buckets there are.
        num_threads: threads that read examples.
        capacity: batches that are kept ready, and examples of a bucket.
        bucket_capacities: examples of each bucket instead.
        shapes: shapes of the tensors, if they are not known.
        dynamic_pad: whether sizes may differ; examples of a batch are padded, then.
        allow_smaller_final_batch: whether the last batches may be smaller.
        keep_input: whether to use the example.
        shared_name: name under which sessions share the queues.
        name: name of the scope.

    Raises:
        ValueError: for less than two buckets, or sizes for another number of them.
    """
    sizes = [batch_size] * num_buckets if isinstance(batch_size, int) else list(batch_size)
    rooms = list(bucket_capacities or [capacity] * num_buckets)
    if num_buckets < 2:
        raise ValueError(f"num_buckets must be > 1, got {num_buckets}")
    if len(sizes) != num_buckets or len(rooms) != num_buckets:
        raise ValueError(f"there are {num_buckets} buckets, {len(sizes)} batch sizes and {len(rooms)} capacities")
    keys = sorted(tensors) if isinstance(tensors, Mapping) else None
    listed = [tf.convert_to_tensor(t) for t in ([tensors[k] for k in keys] if keys else tensors)]
    kinds = [each.dtype for each in listed]
    inner = [each.shape for each in listed] if shapes is None else [tf.TensorShape(s) for s in shapes]
    kind = tf.PaddingFIFOQueue if dynamic_pad else tf.FIFOQueue
    with tf.name_scope(name, "bucket", listed):
        buckets = [
            kind(rooms[number], kinds, inner, shared_name=shared_name, name=f"bucket_queue_{number}")
            for number in range(num_buckets)
        ]
        whole = [
            [None if allow_smaller_final_batch else size, *shape.as_list()]
            for size in (sizes[0] if len(set(sizes)) == 1 else None,)
            for shape in inner
        ]
        # Batches differ in their sizes, so that the queue of them has no shapes.
        batches = tf.FIFOQueue(capacity, [tf.int32, *kinds], shared_name=shared_name, name="top_queue")
        keep = tf.convert_to_tensor(keep_input)
        which = tf.cast(which_bucket, tf.int32)
        put = tf.cond(keep, lambda: _put(buckets, which, listed), lambda: tf.constant(False))
        add_queue_runner(
            QueueRunner(
                buckets[0],
                [put.op] * num_threads,
                tf.group(*[each.close() for each in buckets]),
                tf.group(*[each.close(cancel_pending_enqueues=True) for each in buckets]),
                _CLOSED,
            )
        )
        filled = []
        for number, queue in enumerate(buckets):
            take = queue.dequeue_up_to if allow_smaller_final_batch else queue.dequeue_many
            taken = take(sizes[number])
            taken = taken if isinstance(taken, (list, tuple)) else [taken]
            filled.append(batches.enqueue([tf.constant(number), *taken]))
        add_queue_runner(
            QueueRunner(batches, filled, batches.close(), batches.close(cancel_pending_enqueues=True), _CLOSED)
        )
        share = tf.cast(batches.size(), tf.float32) * (1.0 / capacity)
        tf.summary.scalar(f"bucket/{batches.name}/fraction_of_{capacity}_full", share)
        chosen, *members = batches.dequeue()
        chosen.set_shape([])
        for tensor, shape in zip(members, whole, strict=True):
            tensor.set_shape(shape)
    return chosen, dict(zip(keys, members, strict=True)) if keys else members


def _put(queues: Sequence[Any], which: Any, example: Sequence[Any]) -> Any:
    """Put an example into the queue of its bucket."""

    def into(queue: Any) -> Callable[[], Any]:
        def put() -> Any:
            with tf.control_dependencies([queue.enqueue(list(example))]):
                return tf.constant(True)

        return put

    first, *others = queues
    if not others:
        return into(first)()
    return tf.cond(tf.equal(which, 0), into(first), lambda: _put(others, which - 1, example))


def bucket_by_sequence_length(
    input_length: Any,
    tensors: Any,
    batch_size: Any,
    bucket_boundaries: Sequence[int],
    num_threads: int = 1,
    capacity: int = 32,
    bucket_capacities: Sequence[int] | None = None,
    shapes: Any = None,
    dynamic_pad: bool = False,
    allow_smaller_final_batch: bool = False,
    keep_input: Any = True,
    shared_name: str | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Return batches of examples of like length, and their lengths; further arguments as for ``bucket``.

    Args:
        input_length: the length of the example.
        tensors: the example, as tensors in order or by key.
        batch_size: examples of a batch, or a number for each bucket.
        bucket_boundaries: the lengths at which buckets begin, but for the first.
        num_threads: threads that read examples.
        capacity: batches that are kept ready, and examples of a bucket.
        bucket_capacities: examples of each bucket instead.
        shapes: shapes of the tensors, if they are not known.
        dynamic_pad: whether sizes may differ.
        allow_smaller_final_batch: whether the last batches may be smaller.
        keep_input: whether to use the example.
        shared_name: name under which sessions share the queues.
        name: name of the scope.

    Raises:
        ValueError: for boundaries that are none or do not increase.
    """
    bounds = list(bucket_boundaries)
    if not bounds or any(a >= b for a, b in itertools.pairwise(bounds)):
        raise ValueError(f"bucket_boundaries must contain increasing numbers, got {bounds}")
    with tf.name_scope(name, "bucket_by_sequence_length", [input_length]):
        length = tf.cast(input_length, tf.int32)
        passed = tf.greater_equal(length, tf.constant(np.array(bounds, np.int32)))
        which = tf.reduce_sum(tf.cast(passed, tf.int32))
        keys = sorted(tensors) if isinstance(tensors, Mapping) else None
        example = [tensors[key] for key in keys] if keys else list(tensors)
        _, (lengths, *members) = bucket(
            [length, *example],
            which,
            batch_size,
            len(bounds) + 1,
            num_threads,
            capacity,
            bucket_capacities,
            None if shapes is None else [[], *shapes],
            dynamic_pad,
            allow_smaller_final_batch,
            keep_input,
            shared_name,
        )
    return lengths, dict(zip(keys, members, strict=True)) if keys else members
