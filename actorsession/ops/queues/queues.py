"""The public queue classes: ``FIFOQueue``, ``RandomShuffleQueue``, ``PaddingFIFOQueue``, ``PriorityQueue``.

Names and arguments are TensorFlow's. All arguments are checked before a node is made, since a node stays in
the graph. ``base`` has the operations on queues.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from operator import index
from typing import Any

from actorsession.graph.dtypes import as_dtype, int64
from actorsession.graph.operation import Tensor
from actorsession.graph.shape import TensorShape
from actorsession.ops.queues.base import QueueBase, as_list, check_counts
from actorsession.ops.randomness.numbers import get_seed
from actorsession.ops.shared_state import make_handle

__all__ = ["FIFOQueue", "PaddingFIFOQueue", "PriorityQueue", "RandomShuffleQueue"]


class FIFOQueue(QueueBase):
    """A queue whose elements are taken in the order in which they were put in.

    Args:
        capacity: maximum number of elements; unbounded if less than 0.
        dtypes: a dtype, or one for each component of an element.
        shapes: a shape, or one for each component; needed to take several elements out as one.
        names: names of the components, if elements are dictionaries.
        shared_name: name under which several sessions share the queue on its device.
        name: wanted name.

    Raises:
        ValueError: if there are no dtypes, or not as many shapes or names, or a shape is not fully defined.
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
        types = as_list(dtypes)
        known = _defined(_shapes(shapes, types))
        check_counts(types, known, names)
        handle = _new_queue("FIFOQueueV2", capacity, types, known, shared_name, name)
        super().__init__(types, known, None if names is None else as_list(names), handle)


class RandomShuffleQueue(QueueBase):
    """A queue from which a random element is taken.

    Args:
        capacity: as for ``FIFOQueue``.
        min_after_dequeue: minimum number of elements that stay while the queue is open, so that they mix.
        dtypes: as for ``FIFOQueue``.
        shapes: as for ``FIFOQueue``.
        names: as for ``FIFOQueue``.
        seed: seed of the choice, combined with the graph's.
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
        types = as_list(dtypes)
        known = _defined(_shapes(shapes, types))
        check_counts(types, known, names)
        first, second = get_seed(seed)
        if seed is None and first is not None and shared_name is not None:
            # All nodes of one queue have the same seeds, whichever numbers their operations have.
            digest = hashlib.md5(f"{first}{shared_name}".encode(), usedforsecurity=False).hexdigest()
            second = int(digest[:8], 16) & 0x7FFFFFFF
        handle = _new_queue(
            "RandomShuffleQueueV2",
            capacity,
            types,
            known,
            shared_name,
            name,
            min_after_dequeue=int(min_after_dequeue),
            seed=first or 0,
            seed2=second or 0,
        )
        super().__init__(types, known, None if names is None else as_list(names), handle)


class PaddingFIFOQueue(QueueBase):
    """A ``FIFOQueue`` whose elements may differ in shape; taken out together, they are padded.

    Args:
        capacity: as for ``FIFOQueue``.
        dtypes: as for ``FIFOQueue``.
        shapes: shapes of known rank; unknown dimensions may differ between elements.
        names: as for ``FIFOQueue``.
        shared_name: as for ``FIFOQueue``.
        name: wanted name.

    Raises:
        ValueError: if the numbers of shapes and dtypes differ, or a rank is not known.
    """

    def __init__(
        self,
        capacity: int,
        dtypes: Any,
        shapes: Any,
        names: Any = None,
        shared_name: str | None = None,
        name: str = "padding_fifo_queue",
    ) -> None:
        types = as_list(dtypes)
        known = _shapes(shapes, types)
        check_counts(types, known, names)
        if len(known) != len(types):
            raise ValueError(
                "When providing partial shapes, a list of shapes must be provided. Shapes must be provided "
                f"for all components, but received {len(types)} dtypes and {len(known)} shapes."
            )
        for shape in known:
            if shape.rank is None:
                raise ValueError(f"A shape must have a defined rank in a PaddingFIFOQueue, got {shape} among {known}")
        handle = _new_queue("PaddingFIFOQueueV2", capacity, types, known, shared_name, name)
        super().__init__(types, known, None if names is None else as_list(names), handle)


class PriorityQueue(QueueBase):
    """A queue from which the element with the lowest priority number is taken, of equals the oldest.

    Args:
        capacity: as for ``FIFOQueue``.
        types: dtypes of the components after the priority, which is an int64 scalar and comes first.
        shapes: shapes of the components after the priority.
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
        behind = as_list(types) if types is not None else []
        known = _defined(_shapes(shapes, behind)) if behind else []
        if behind:
            check_counts(behind, known, None)
        kinds = [int64, *behind]
        all_shapes = [TensorShape([]), *(known or [TensorShape(None) for _ in behind])]
        handle = _new_queue("PriorityQueueV2", capacity, kinds, all_shapes, shared_name, name)
        super().__init__(kinds, all_shapes, None if names is None else as_list(names), handle)


def _shapes(shapes: Any, dtypes: Sequence[Any]) -> list[TensorShape]:
    """Return the shapes argument of a queue, which may be a single shape for a single component."""
    if shapes is None:
        return []
    single = len(dtypes) == 1 and (
        isinstance(shapes, TensorShape)
        or not as_list(shapes)
        or not isinstance(as_list(shapes)[0], (list, tuple, TensorShape))
    )
    listed = [shapes] if single else list(shapes)
    return [TensorShape(s) for s in listed]


def _defined(shapes: list[TensorShape]) -> list[TensorShape]:
    """Return the shapes, each of which must be fully defined; only padded elements may differ in shape."""
    if not all(shape.is_fully_defined() for shape in shapes):
        raise ValueError(f"All shapes must be fully defined: {shapes}")
    return shapes


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
        "component_types": [as_dtype(t) for t in dtypes],
        "shapes": list(shapes),
        "capacity": index(capacity),
        **more,
    }
    return make_handle(op_type, name, shared_name, attrs)
