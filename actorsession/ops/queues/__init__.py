"""Queues as users hold them: ``FIFOQueue``, ``RandomShuffleQueue``, ``PaddingFIFOQueue``, ``PriorityQueue``.

Names, arguments and messages are TensorFlow's. ``kernels`` has the op types, ``state`` what they act on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from actorsession.graph.dtypes import DType, as_dtype, int32, int64
from actorsession.graph.operation import Operation, Tensor
from actorsession.graph.shape import TensorShape
from actorsession.ops.build import convert_to_tensor, make, make_one
from actorsession.ops.queues import kernels  # noqa: F401 - registers the op types
from actorsession.ops.random import get_seed
from actorsession.ops.shared_state import make_handle

__all__ = [
    "FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "QueueBase", "RandomShuffleQueue",
]  # fmt: skip


class QueueBase:
    """What all queues can do.

    Args:
        dtypes: of an element's components.
        shapes: of them; unknown if empty.
        names: of them, if elements are dictionaries.
        queue_ref: the queue's handle.
    """

    _pads = False

    def __init__(
        self,
        dtypes: Sequence[Any],
        shapes: Sequence[Any],
        names: Sequence[str] | None,
        queue_ref: Tensor,
    ) -> None:
        self._dtypes = [as_dtype(t) for t in dtypes]
        self._shapes = [TensorShape(s) for s in shapes]
        if self._shapes and len(self._shapes) != len(self._dtypes):
            raise ValueError(
                f"Queue shapes must have the same length as dtypes, received {len(self._shapes)} "
                f"shapes, {len(self._dtypes)} dtypes"
            )
        self._names = None if names is None else list(names)
        if self._names is not None and len(self._names) != len(self._dtypes):
            raise ValueError(
                f"Queue names must have the same length as dtypes, received {len(self._names)} "
                f"names, {len(self._dtypes)} dtypes"
            )
        self._queue_ref = queue_ref

    @staticmethod
    def from_list(index: Any, queues: Sequence[QueueBase]) -> QueueBase:
        """A queue that is, in each step, one of several of the same kind and types.

        Args:
            index: an integer scalar, which says which one.
            queues: those to choose from.

        Raises:
            TypeError: if ``queues`` is no list of queues of equal types.
        """
        if not queues or not all(isinstance(q, QueueBase) for q in queues):
            raise TypeError("A list of queues expected")
        first = queues[0]
        if any(q.dtypes != first.dtypes for q in queues):
            raise TypeError("Queues do not have matching component dtypes.")
        if any(q.names != first.names for q in queues):
            raise TypeError("Queues do not have matching component names.")
        which = convert_to_tensor(index)
        handle = make_one("RefSelect", [which, *[q.queue_ref for q in queues]])
        shapes = _common_shapes([q.shapes for q in queues])
        made = QueueBase(first.dtypes, shapes, first.names, handle)
        made._pads = first._pads
        return made

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
        """Its name without scopes: those of the operations on it are around it as well."""
        return self.name.rpartition("/")[2]

    @property
    def dtypes(self) -> list[DType]:
        """The dtypes of an element's components."""
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        """The shapes of an element's components; empty if they are not known."""
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        """The names of an element's components, if they have any."""
        return self._names

    # -- putting in ----------------------------------------------------------------------------

    def enqueue(self, vals: Any, name: str | None = None) -> Operation:
        """Puts an element in; waits while the queue is full.

        Args:
            vals: a tensor, a list or tuple of them, or a dictionary if components have names.
            name: wanted name.

        Returns:
            The operation. CancelledError at run time if the queue is closed.

        Raises:
            ValueError: if the values are not the components of an element.
            TypeError: if their dtypes are others.
        """
        return self._put("QueueEnqueueV2", vals, name or f"{self._last_name}_enqueue")

    def enqueue_many(self, vals: Any, name: str | None = None) -> Operation:
        """Puts one element in for each row of the values; waits while the queue is full.

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

    # -- taking out ----------------------------------------------------------------------------

    def dequeue(self, name: str | None = None) -> Any:
        """Takes an element out; waits while there is none.

        Args:
            name: wanted name.

        Returns:
            A tensor, a list of them if elements have several components, or a dictionary if those have
            names. OutOfRangeError at run time if the queue is closed and empty.
        """
        op = make(
            "QueueDequeueV2", [self._queue_ref], self._attrs(), name or f"{self._last_name}_Dequeue"
        )
        return self._element(op)

    def dequeue_many(self, n: Any, name: str | None = None) -> Any:
        """Takes ``n`` elements out, stacked into one; waits until there are so many.

        What it has taken goes back if the step ends before it is complete.

        Args:
            n: an int32 scalar.
            name: wanted name.

        Returns:
            As ``dequeue``, with a dimension more. OutOfRangeError at run time if the queue is closed and
            has too few; they stay in it.
        """
        return self._take("QueueDequeueManyV2", n, name or f"{self._last_name}_DequeueMany")

    def dequeue_up_to(self, n: Any, name: str | None = None) -> Any:
        """``dequeue_many`` that is content with fewer elements, but not none, once the queue is closed."""
        return self._take("QueueDequeueUpToV2", n, name or f"{self._last_name}_DequeueUpTo")

    def _take(self, op_type: str, n: Any, name: str) -> Any:
        graph = self._queue_ref.graph
        with graph.name_scope(name) as scope:
            count = convert_to_tensor(n, int32, name="n", graph=graph)
            attrs = {**self._attrs(), "pads": self._pads}
            return self._element(make(op_type, [self._queue_ref, count], attrs, scope, graph))

    def _element(self, op: Operation) -> Any:
        outputs = list(op.outputs)
        if self._names is not None:
            return dict(zip(self._names, outputs, strict=True))
        return outputs[0] if len(outputs) == 1 else outputs

    # -- the rest ------------------------------------------------------------------------------

    def close(self, cancel_pending_enqueues: bool = False, name: str | None = None) -> Operation:
        """Takes no more elements in; those that are in it may still be taken out.

        Args:
            cancel_pending_enqueues: whether steps that wait to put something in end with CancelledError.
            name: wanted name.

        Returns:
            The operation. CancelledError at run time if the queue is closed already.
        """
        attrs = {"cancel_pending_enqueues": bool(cancel_pending_enqueues)}
        return make("QueueCloseV2", [self._queue_ref], attrs, name or f"{self._last_name}_Close")

    def is_closed(self, name: str | None = None) -> Tensor:
        """Whether the queue is closed, as a bool scalar."""
        return make_one(
            "QueueIsClosedV2", [self._queue_ref], name=name or f"{self._last_name}_Is_Closed"
        )

    def size(self, name: str | None = None) -> Tensor:
        """How many elements are in the queue, as an int32 scalar."""
        return make_one("QueueSizeV2", [self._queue_ref], name=name or f"{self._last_name}_Size")

    def _attrs(self) -> dict[str, Any]:
        return {"component_types": self._dtypes, "shapes": self._shapes}


def _common_shapes(shapes: Sequence[Sequence[TensorShape]]) -> list[Any]:
    """For each component the shape that all queues have; unknown dimensions where they differ."""
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


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _shapes(shapes: Any, dtypes: Sequence[Any]) -> list[TensorShape]:
    """The shapes argument of a queue, which may be a single shape for a single component."""
    if shapes is None:
        return []
    single = len(dtypes) == 1 and (
        isinstance(shapes, TensorShape)
        or not _as_list(shapes)
        or not isinstance(_as_list(shapes)[0], (list, tuple, TensorShape))
    )
    listed = [shapes] if single else list(shapes)
    return [TensorShape(s) for s in listed]


def _new_queue(
    op_type: str,
    capacity: int,
    dtypes: Sequence[Any],
    shapes: Sequence[TensorShape],
    shared_name: str | None,
    name: str,
    **more: Any,
) -> Tensor:
    attrs = {
        "component_types": [as_dtype(t) for t in dtypes], "shapes": list(shapes),
        "capacity": int(capacity), **more,
    }  # fmt: skip
    return make_handle(op_type, name, shared_name, attrs)


class FIFOQueue(QueueBase):
    """A queue whose elements come out in the order in which they came in.

    Args:
        capacity: how many elements it holds; less than 0 for no bound.
        dtypes: a dtype, or one for each component of an element.
        shapes: likewise; needed to take several elements out as one.
        names: names of the components, if elements are to be dictionaries.
        shared_name: by which several sessions share it, on the device that it is on.
        name: wanted name.

    Raises:
        ValueError: if there are not as many shapes or names as dtypes.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "fifo_queue",
    ) -> None:
        types = _as_list(dtypes)
        known = _shapes(shapes, types)
        _check_counts(types, known, names)
        handle = _new_queue("FIFOQueueV2", capacity, types, known, shared_name, name)
        super().__init__(types, known, None if names is None else _as_list(names), handle)


class RandomShuffleQueue(QueueBase):
    """A queue of whose elements a random one comes out.

    Args:
        capacity: as for ``FIFOQueue``.
        min_after_dequeue: how many elements stay while the queue is open, so that they mix.
        dtypes: as for ``FIFOQueue``.
        shapes: as for ``FIFOQueue``.
        names: as for ``FIFOQueue``.
        seed: of the choice, together with the graph's.
        shared_name: as for ``FIFOQueue``.
        name: wanted name.
    """

    def __init__(
        self,
        capacity: int,
        min_after_dequeue: int,
        dtypes: Any,
        shapes: Any = None,
        names: Any = None,
        seed: int | None = None,
        shared_name: str | None = None,
        name: str = "random_shuffle_queue",
    ) -> None:
        types = _as_list(dtypes)
        known = _shapes(shapes, types)
        _check_counts(types, known, names)
        first, second = get_seed(seed)
        handle = _new_queue(
            "RandomShuffleQueueV2", capacity, types, known, shared_name, name,
            min_after_dequeue=int(min_after_dequeue), seed=first or 0, seed2=second or 0,
        )  # fmt: skip
        super().__init__(types, known, None if names is None else _as_list(names), handle)


class PaddingFIFOQueue(QueueBase):
    """A ``FIFOQueue`` whose elements may differ in shape; taken out together, they are padded.

    Args:
        capacity: as for ``FIFOQueue``.
        dtypes: as for ``FIFOQueue``.
        shapes: of known rank; unknown dimensions are those that may differ.
        names: as for ``FIFOQueue``.
        shared_name: as for ``FIFOQueue``.
        name: wanted name.

    Raises:
        ValueError: if shapes and dtypes are not as many, or a rank is not known.
    """

    _pads = True

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:
        types = _as_list(dtypes)
        known = _shapes(shapes, types)
        _check_counts(types, known, names)
        if len(known) != len(types):
            raise ValueError(
                f"Shapes must be provided for all components, but received {len(types)} dtypes and "
                f"{len(known)} shapes."
            )
        if any(s.rank is None for s in known):
            raise ValueError(f"a PaddingFIFOQueue needs shapes of known rank, got {known}")
        handle = _new_queue("PaddingFIFOQueueV2", capacity, types, known, shared_name, name)
        super().__init__(types, known, None if names is None else _as_list(names), handle)


class PriorityQueue(QueueBase):
    """A queue from which the element with the lowest priority number comes out, of equals the oldest.

    Args:
        capacity: as for ``FIFOQueue``.
        types: dtypes of the components behind the priority, which is an int64 scalar and comes first.
        shapes: of them.
        names: as for ``FIFOQueue``, the priority's first.
        shared_name: as for ``FIFOQueue``.
        name: wanted name.
    """

    def __init__(
        self,
        capacity: int,
        types: Any,
        shapes: Any = None,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "priority_queue",
    ) -> None:
        behind = _as_list(types) if types is not None else []
        known = _shapes(shapes, behind) if behind else []
        _check_counts(behind, known, None)
        kinds = [int64, *behind]
        all_shapes = [TensorShape([]), *(known or [TensorShape(None) for _ in behind])]
        handle = _new_queue("PriorityQueueV2", capacity, kinds, all_shapes, shared_name, name)
        super().__init__(kinds, all_shapes, None if names is None else _as_list(names), handle)


def _check_counts(dtypes: Sequence[Any], shapes: Sequence[TensorShape], names: Any) -> None:
    """Before a node is made, which would stay in the graph."""
    if shapes and len(shapes) != len(dtypes):
        raise ValueError(
            f"Queue shapes must have the same length as dtypes, received {len(shapes)} shapes, "
            f"{len(dtypes)} dtypes"
        )
    if names is not None and len(_as_list(names)) != len(dtypes):
        raise ValueError(
            f"Queue names must have the same length as dtypes, received {len(_as_list(names))} "
            f"names, {len(dtypes)} dtypes"
        )
