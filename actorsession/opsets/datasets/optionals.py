"""Optional values: an element of an iterator, or the knowledge that there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from actorsession.graph.graph import control_dependencies
from actorsession.graph.operation import Tensor
from actorsession.ops.arrays.array import identity
from actorsession.ops.arrays.fills import zeros
from actorsession.ops.build import constant, make
from actorsession.ops.flow.assertions import Assert
from actorsession.opsets.datasets.dataset import Dataset, output_attrs
from actorsession.opsets.datasets.elements import flat_specs, packed, spec_of
from actorsession.opsets.datasets.iterators import Iterator

__all__ = ["Optional", "get_next_as_optional"]


class Optional:
    """A value that may be missing.

    Args:
        has_value: a bool scalar.
        tensors: the tensors of the value.
        structure: its structure.
    """

    def __init__(self, has_value: Tensor, tensors: Sequence[Tensor], structure: Any) -> None:
        self._has_value = has_value
        self._tensors = list(tensors)
        self._structure = structure

    @property
    def element_spec(self) -> Any:
        """The static type of the value."""
        return self._structure

    @staticmethod
    def from_value(value: Any) -> Optional:
        """Return a value that is there."""
        structure, tensors = spec_of(value)
        return Optional(constant(True), tensors, structure)

    @staticmethod
    def empty(element_spec: Any) -> Optional:
        """Return a value that is missing.

        Args:
            element_spec: its static type.
        """
        made = [
            zeros([size or 0 for size in spec.shape.sizes or ()], spec.dtype)
            for spec in flat_specs(element_spec)
        ]
        return Optional(constant(False), made, element_spec)

    none_from_structure = empty

    def has_value(self, name: str | None = None) -> Tensor:
        """Return whether the value is there, as a bool scalar."""
        return identity(self._has_value, name=name)

    def get_value(self, name: str | None = None) -> Any:
        """Return the value. InvalidArgumentError at run time if it is missing."""
        check = Assert(self._has_value, ["The given optional does not have a value."])
        with control_dependencies([check]):
            return packed(self._structure, [identity(t) for t in self._tensors], Dataset)


def get_next_as_optional(iterator: Iterator) -> Optional:
    """Return the next element of an iterator, which is missing at the end."""
    handle, structure = iterator._iterator_resource, iterator._structure
    attrs = output_attrs(structure)
    op = make("IteratorTryNext", [handle], attrs, "IteratorGetNextAsOptional", handle.graph)
    return Optional(op.outputs[0], op.outputs[1:], structure)
