"""The common operations of all queues: enqueue, dequeue, size and close.

Messages are TensorFlow's. ``queues`` has the kinds of queues, ``kernels`` the op types, ``state`` the state
that they act on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from actorsession.graph.dtypes import as_dtype, int32
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.shape import TensorShape
from actorsession.ops import raw
from actorsession.ops.build import convert_to_tensor, make
from actorsession.ops.queues import kernels  # noqa: F401 - registers the op types
from actorsession.ops.queues.components import Components
from actorsession.process_bound import GraphBound

__all__ = ["QueueBase", "as_list", "check_counts"]


class QueueBase(Components, GraphBound):
    """The base class of all queues.

    Args:
        dtypes: dtypes of an element's components.
        shapes: shapes of the components; unknown if empty.
        names: names of the components, if elements are dictionaries.
        queue_ref: the queue's handle.
    """

    def __init__(
        self, dtypes: Sequence[Any], shapes: Sequence[Any], names: Sequence[str] | None, queue_ref: Tensor
    ) -> None:
        super().__init__(
            [as_dtype(t) for t in dtypes], [TensorShape(s) for s in shapes], None if names is None else list(names)
        )
        check_counts(self._dtypes, self._shapes, self._names)
        self._queue_ref = queue_ref

    @staticmethod
    def from_list(index: Any, queues: Sequence[QueueBase]) -> QueueBase:
        """Return a queue that is, in each step, one of several of the same kind and types.

        Args:
            index: an integer scalar that selects the queue.
            queues: the queues.

        Raises:
            TypeError: if ``queues`` is not a list of queues of equal types.
        """
        if not queues or not all(isinstance(q, QueueBase) for q in queues):
            raise TypeError("A list of queues expected")
        first = queues[0]
        if any(q.dtypes != first.dtypes for q in queues):
            raise TypeError("Queues do not have matching component dtypes.")
        if any(q.names != first.names for q in queues):
            raise TypeError("Queues do not have matching component names.")
        which = convert_to_tensor(index)
        handle = raw.RefSelect(which, [q.queue_ref for q in queues])
        shapes = _common_shapes([q.shapes for q in queues])
        return QueueBase(first.dtypes, shapes, first.names, handle)

    @property
    def queue_ref(self) -> Tensor:
        """The queue's handle."""
        return self._queue_ref

    @property
    def name(self) -> str:
        """The name of the queue's node."""
        return self._queue_ref.op.name

    @property
    def _last_name(self) -> str:
        """The queue's name without scopes, since the operations on it are built in those scopes as well."""
        return self.name.rpartition("/")[2]

    # -- enqueue -------------------------------------------------------------------------------

    def enqueue(self, vals: Any, name: str | None = None) -> Operation:
        """Build an operation that puts an element in, and waits while the queue is full.

        Args:
            vals: a tensor, a list or tuple of them, or a dictionary if components have names.
            name: wanted name.

        Returns:
            The operation. CancelledError at run time if the queue is closed.

        Raises:
            ValueError: if the values are not the components of an element.
            TypeError: if their dtypes differ from the queue's.
        """
        return self._put("QueueEnqueueV2", vals, name or f"{self._last_name}_enqueue")

    def enqueue_many(self, vals: Any, name: str | None = None) -> Operation:
        """Build an operation that puts in an element for each row, and waits while the queue is full.

        Arguments and errors as ``enqueue``.
        """
        return self._put("QueueEnqueueManyV2", vals, name or f"{self._last_name}_EnqueueMany")

    def _put(self, op_type: str, vals: Any, name: str) -> Operation:
        graph = self._queue_ref.graph
        with graph.name_scope(name) as scope:
            given = self._components(vals)
            tensors = [
                convert_to_tensor(value, dtype, name=f"component_{i}", graph=graph)
                for i, (value, dtype) in enumerate(zip(given, self._dtypes, strict=True))
            ]
            return make(op_type, [self._queue_ref, *tensors], self._attrs(), scope, graph)

    def _components(self, vals: Any) -> list[Any]:
        if isinstance(vals, Mapping):
            if self._names is None:
                raise ValueError("Queue must have names to enqueue a dictionary")
            if sorted(self._names, key=str) != sorted(vals, key=str):
                raise ValueError(
                    "Keys in dictionary to enqueue do not match names of Queue. Dictionary: "
                    f"{sorted(vals)}, Queue: {sorted(self._names)}"
                )
            return [vals[name] for name in self._names]
        if self._names is not None:
            raise ValueError("You must enqueue a dictionary in a Queue with names")
        given = list(vals) if isinstance(vals, (list, tuple)) else [vals]
        if len(given) != len(self._dtypes):
            raise ValueError(
                f"elements of queue {self.name!r} have {len(self._dtypes)} components, got a list of "
                f"{len(given)}: give one value for each component, as in [value]"
            )
        return given

    # -- dequeue -------------------------------------------------------------------------------

    def dequeue(self, name: str | None = None) -> Any:
        """Build an operation that takes an element out, and waits while there is none.

        Args:
            name: wanted name.

        Returns:
            A tensor, a list of them if elements have several components, or a dictionary if components have
            names. OutOfRangeError at run time if the queue is closed and empty.
        """
        op = make("QueueDequeueV2", [self._queue_ref], self._attrs(), name or f"{self._last_name}_Dequeue")
        return self._element(op)

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """Build an operation that waits for ``n`` elements and takes them out, stacked into one.

        The elements it has taken go back if the step ends before it is complete.

        Args:
            n: an int32 scalar.
            name: wanted name.

        Returns:
            As ``dequeue``, with one more dimension. OutOfRangeError at run time if the queue is closed and
            has too few elements; they stay in it.
        """
        return self._take("QueueDequeueManyV2", n, name or f"{self._last_name}_DequeueMany")

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """Build a ``dequeue_many`` for which one element or more suffices once the queue is closed."""
        return self._take("QueueDequeueUpToV2", n, name or f"{self._last_name}_DequeueUpTo")

    def _take(self, op_type: str, n: Any, name: str) -> Any:
        graph = self._queue_ref.graph
        with graph.name_scope(name) as scope:
            count = convert_to_tensor(n, int32, name="n", graph=graph)
            made = make(op_type, [self._queue_ref, count], self._attrs(), scope, graph)
            return self._element(made)

    def _element(self, op: Operation) -> Any:
        outputs = list(op.outputs)
        if self._names is not None:
            return dict(zip(self._names, outputs, strict=True))
        return outputs[0] if len(outputs) == 1 else outputs

    # -- other operations ----------------------------------------------------------------------

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Build an operation that closes the queue to new elements; those in it may still be taken out.

        Args:
            cancel_pending_enqueues: whether pending enqueues fail with CancelledError.
            name: wanted name.

        Returns:
            The operation. CancelledError at run time if the queue is closed already.
        """
        cancel, name = bool(cancel_pending_enqueues), name or f"{self._last_name}_Close"
        return raw.QueueCloseV2(self._queue_ref, cancel_pending_enqueues=cancel, name=name)

    def is_closed(self, name: str | None = None) -> Tensor:
        """Return whether the queue is closed, as a bool scalar."""
        return raw.QueueIsClosedV2(self._queue_ref, name=name or f"{self._last_name}_Is_Closed")

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of elements in the queue, as an int32 scalar."""
        return raw.QueueSizeV2(self._queue_ref, name=name or f"{self._last_name}_Size")

    def _attrs(self) -> dict[str, Any]:
        return {"component_types": self._dtypes, "shapes": self._shapes}


def _common_shapes(shapes: Sequence[Sequence[TensorShape]]) -> list[Any]:
    """Return for each component the common shape of all queues; dimensions are unknown where they differ."""
    if not all(shapes):
        return []
    common: list[Any] = []
    for column in zip(*shapes, strict=True):
        ranks = {s.rank for s in column}
        if len(ranks) > 1 or None in ranks:
            common.append(None)
            continue
        dims = zip(*[s.as_list() for s in column], strict=True)
        common.append([d[0] if len(set(d)) == 1 else None for d in dims])
    return common


def as_list(value: Any) -> list[Any]:
    """Return a list or tuple as a list, and any other value as a list of one."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


def check_counts(dtypes: Sequence[Any], shapes: Sequence[TensorShape], names: Any) -> None:
    """Check that there are dtypes, and as many shapes and names if there are any."""
    if not dtypes:
        raise ValueError("elements of a queue have at least one component, got no dtypes")
    if shapes and len(shapes) != len(dtypes):
        raise ValueError(
            f"Queue shapes must have the same length as dtypes, received {len(shapes)} shapes, {len(dtypes)} dtypes"
        )
    if names is not None and len(as_list(names)) != len(dtypes):
        raise ValueError(
            f"Queue names must have the same length as dtypes, received {len(as_list(names))} "
            f"names, {len(dtypes)} dtypes"
        )
