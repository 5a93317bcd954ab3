"""Optional values: an element of an iterator, or the knowledge that there is none."""

from __future__ import annotations

from typing import Any

from actorsession.graph.graph import get_default_graph
from actorsession.graph.operation import Tensor
from actorsession.ops.build import make, make_one
from actorsession.opsets.datasets.elements import output_attrs, packed, spec_of
from actorsession.opsets.datasets.iterators import Iterator
from actorsession.process_bound import GraphBound

__all__ = ["Optional", "get_next_as_optional"]


class Optional(GraphBound):
    """A value that may be missing.

    Args:
        tensor: the variant tensor that stands for it.
        structure: the structure of the value.
    """

    def __init__(self, tensor: Tensor, structure: Any) -> None:
        self._tensor = tensor
        self._structure = structure

    @property
    def element_spec(self) -> Any:
        """The static type of the value."""
        return self._structure

    @staticmethod
    def from_value(value: Any) -> Optional:
        """Return a value that is there."""
        structure, tensors = spec_of(value)
        return Optional(make_one("OptionalFromValue", tensors, {}, "optional"), structure)

    @staticmethod
    def empty(element_spec: Any) -> Optional:
        """Return a value that is missing.

        Args:
            element_spec: its static type.
        """
        tensor = make_one("OptionalNone", (), {}, "OptionalNone", get_default_graph())
        return Optional(tensor, element_spec)

    none_from_structure = empty

    def has_value(self, name: str | None = None) -> Tensor:
        """Return whether the value is there, as a bool scalar."""
        with self._tensor.graph.colocate_with(self._tensor.op):
            return make_one("OptionalHasValue", [self._tensor], {}, name or "OptionalHasValue")

    def get_value(self, name: str | None = None) -> Any:
        """Return the value. InvalidArgumentError at run time if it is missing."""
        attrs = output_attrs(self._structure)
        with self._tensor.graph.colocate_with(self._tensor.op):
            op = make("OptionalGetValue", [self._tensor], attrs, name or "OptionalGetValue")
        return packed(self._structure, op.outputs)


def get_next_as_optional(iterator: Iterator) -> Optional:
    """Return the next element of an iterator, which is missing at the end."""
    handle, structure = iterator._iterator_resource, iterator._structure
    op_type = "IteratorGetNextAsOptional"
    with handle.graph.colocate_with(handle.op):
        tensor = make_one(op_type, [handle], output_attrs(structure), op_type, handle.graph)
    return Optional(tensor, structure)
