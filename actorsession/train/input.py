"""Input through queues: producers of elements, and batches of them.

Each function makes a queue and adds a ``QueueRunner`` that fills it to the collection used by
``start_queue_runners`` and ``running_queues``. The tensors that are returned dequeue from it. Names are
TensorFlow's. ``input_batches`` is re-exported here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from actorsession import ops, opsets
from actorsession.graph.dtypes import string
from actorsession.graph.graph import control_dependencies, name_scope
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.shape import TensorShape
from actorsession.ops.graph_keys import GraphKeys
from actorsession.ops.queues.base import QueueBase
from actorsession.ops.queues.queues import FIFOQueue
from actorsession.train.input_batches import (
    batch,
    batch_join,
    maybe_batch,
    maybe_batch_join,
    maybe_shuffle_batch,
    maybe_shuffle_batch_join,
    note_fullness,
    shuffle_batch,
    shuffle_batch_join,
)
from actorsession.train.queue_runner import QueueRunner, add_queue_runner

__all__ = [
    "batch",
    "batch_join",
    "input_producer",
    "limit_epochs",
    "match_filenames_once",
    "maybe_batch",
    "maybe_batch_join",
    "maybe_shuffle_batch",
    "maybe_shuffle_batch_join",
    "range_input_producer",
    "shuffle_batch",
    "shuffle_batch_join",
    "slice_input_producer",
    "string_input_producer",
]


def match_filenames_once(pattern: Any, name: str | None = None) -> ops.Variable:
    """Return a variable with the files that match a pattern when local variables are initialised.

    Args:
        pattern: a string, or a vector of them; see ``matching_files``.
        name: wanted name.

    Returns:
        A local variable, a vector of strings.
    """
    with name_scope(name or "matching_filenames") as scope:
        return ops.Variable(
            opsets.matching_files(pattern),
            trainable=False,
            validate_shape=False,
            name=scope,
            collections=[GraphKeys.LOCAL_VARIABLES],
        )


def limit_epochs(tensor: Any, num_epochs: int | None = None, name: str | None = None) -> Any:
    """Return a tensor that can be evaluated ``num_epochs`` times; further evaluations raise OutOfRangeError.

    Args:
        tensor: the tensor.
        num_epochs: number of times; unlimited if left out. The count is a local variable, ``epochs``.
        name: wanted name.

    Raises:
        ValueError: for a count that is not positive.
    """
    if num_epochs is None:
        return tensor
    if num_epochs <= 0:
        raise ValueError(f"num_epochs must be > 0 not {num_epochs}.")
    with name_scope(name or "limit_epochs") as scope:
        epochs = ops.Variable(np.int64(0), trainable=False, name="epochs", collections=[GraphKeys.LOCAL_VARIABLES])
        with control_dependencies([epochs.count_up_to(num_epochs)]):
            return ops.identity(tensor, name=scope)


def input_producer(
    input_tensor: Any,
    element_shape: Any = None,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    summary_name: str | None = None,
    name: str | None = None,
    cancel_op: Operation | None = None,
) -> QueueBase:
    """Return a queue that produces the rows of a tensor repeatedly.

    Args:
        input_tensor: the rows.
        element_shape: shape of a row, where it is not known from the tensor.
        num_epochs: number of times that each row is produced; requires local variables to be initialised.
        shuffle: whether rows are shuffled anew in each epoch.
        seed: seed of the order.
        capacity: capacity of the queue in rows.
        shared_name: name under which sessions of a cluster share the queue.
        summary_name: name of a summary of how full the queue is; there is none if left out.
        name: wanted name.
        cancel_op: run when the program stops; closes the queue if left out.

    Raises:
        ValueError: if the shape of a row is not known.
    """
    with name_scope(name or "input_producer"):
        rows = ops.convert_to_tensor(input_tensor, name="input_tensor")
        shape = rows.shape[1:].merge_with(TensorShape(element_shape))
        if not shape.is_fully_defined():
            raise ValueError(
                "Either `input_tensor` must have a fully defined shape or `element_shape` must be specified"
            )
        if shuffle:
            rows = ops.random_shuffle(rows, seed)
        rows = limit_epochs(rows, num_epochs)
        queue = FIFOQueue(capacity, [rows.dtype], shapes=[shape], shared_name=shared_name, name=name or "FIFOQueueV2")
        runner = QueueRunner(queue, [queue.enqueue_many([rows])], cancel_op=cancel_op)
        add_queue_runner(runner)
        if summary_name is not None:
            note_fullness(queue, capacity, name=summary_name)
        return queue


def string_input_producer(
    string_tensor: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
    cancel_op: Operation | None = None,
) -> QueueBase:
    """Return a queue of strings, usually file names; arguments as for ``input_producer``.

    Raises:
        ValueError: for an empty list. An empty tensor is an InvalidArgumentError at run time.
    """
    needed = "string_input_producer requires a non-null input tensor"
    if not isinstance(string_tensor, (Tensor, ops.Variable)) and not len(string_tensor):
        raise ValueError(needed)
    with name_scope(name or "input_producer") as scope:
        strings = ops.convert_to_tensor(string_tensor, string)
        with control_dependencies([ops.Assert(ops.greater(ops.size(strings), 0), [needed])]):
            strings = ops.identity(strings)
        return input_producer(
            strings,
            [],
            num_epochs,
            shuffle,
            seed,
            capacity,
            shared_name,
            f"fraction_of_{capacity}_full",
            scope,
            cancel_op,
        )


def range_input_producer(
    limit: Any,
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> QueueBase:
    """Return a queue of the numbers below ``limit``; arguments as for ``input_producer``."""
    with name_scope(name or "input_producer") as scope:
        numbers = ops.range(limit)
        return input_producer(
            numbers, [], num_epochs, shuffle, seed, capacity, shared_name, f"fraction_of_{capacity}_full", scope
        )


def slice_input_producer(
    tensor_list: Sequence[Any],
    num_epochs: int | None = None,
    shuffle: bool = True,
    seed: int | None = None,
    capacity: int = 32,
    shared_name: str | None = None,
    name: str | None = None,
) -> list[Tensor]:
    """Return one row of each tensor, with the same index; arguments as for ``input_producer``.

    Args:
        tensor_list: tensors with the same number of rows.

    Raises:
        ValueError: for an empty list.
    """
    with name_scope(name or "input_producer"):
        tensors = [ops.convert_to_tensor(tensor) for tensor in tensor_list]
        if not tensors:
            raise ValueError("Expected at least one tensor in slice_input_producer().")
        count = ops.shape(tensors[0])[0]
        queue = range_input_producer(count, num_epochs, shuffle, seed, capacity, shared_name)
        index = queue.dequeue()
        return [ops.gather(tensor, index) for tensor in tensors]
