"""The positions of iterators in checkpoints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession.graph.operation import Operation, Tensor
from actorsession.ops.build import make, make_one
from actorsession.opsets.datasets.iterators import Iterator
from actorsession.train.saveable import SaveableObject, SaveSpec

__all__ = ["make_saveable_from_iterator"]


class _IteratorSaveable(SaveableObject):
    """The position of an iterator, as a variant tensor."""

    def __init__(self, handle: Tensor) -> None:
        with handle.graph.colocate_with(handle.op):
            state = make_one("SerializeIterator", [handle], {}, "SerializeIterator", handle.graph)
        name = handle.name
        super().__init__(handle, [SaveSpec(state, "", f"{name}_STATE")], name)

    def restore(self, restored_tensors: Sequence[Tensor], restored_shapes: Sequence[Any] | None) -> Operation:
        [state] = restored_tensors
        with self.op.graph.colocate_with(self.op.op):
            return make("DeserializeIterator", [self.op, state], {}, "DeserializeIterator", self.op.graph)


def make_saveable_from_iterator(iterator: Iterator) -> SaveableObject:
    """Return an object by which a saver saves the position of an iterator.

    Add it to the collection ``GraphKeys.SAVEABLE_OBJECTS``, or give it to the saver. An iterator is
    initialised before its position is restored.

    Args:
        iterator: the iterator.
    """
    return _IteratorSaveable(iterator._iterator_resource)
