"""The components of elements of queues and staging areas: dtypes, shapes and optional names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from actorsession.graph.dtypes import DType, as_dtype
from actorsession.graph.node import TensorSpec
from actorsession.graph.shape import TensorShape
from actorsession.records import description

__all__ = ["Components", "component_specs", "stacked"]


class Components:
    """The static type of an element.

    Args:
        dtypes: dtypes of the components.
        shapes: shapes of the components; may be empty if they are unknown.
        names: names of the components, if elements are dictionaries.
    """

    def __init__(self, dtypes: list[DType], shapes: list[TensorShape], names: list[str] | None) -> None:
        self._dtypes = dtypes
        self._shapes = shapes
        self._names = names

    def __repr__(self) -> str:
        types = [dtype.name for dtype in self._dtypes]
        shapes = [str(shape) for shape in self._shapes] or None
        return description(self, self.name, dtypes=types, shapes=shapes, names=self._names)

    @property
    def name(self) -> str:
        """The name of what holds the elements."""
        raise NotImplementedError

    @property
    def dtypes(self) -> list[DType]:
        """The dtypes of an element's components."""
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        """The shapes of an element's components."""
        return self._shapes or [TensorShape(None) for _ in self._dtypes]

    @property
    def names(self) -> list[str] | None:
        """The names of an element's components, if they have any."""
        return self._names


def component_specs(attrs: Mapping[str, Any]) -> list[TensorSpec]:
    """Return the static types of an element by a node's attributes; shapes are unknown if none were given."""
    types = [as_dtype(t) for t in attrs["component_types"]]
    shapes = list(attrs["shapes"]) or [None] * len(types)
    return [TensorSpec(t, TensorShape(s)) for t, s in zip(types, shapes, strict=True)]


def stacked(shape: TensorShape, count: int | None) -> TensorShape:
    """Return the shape of so many components, stacked."""
    return TensorShape(None if shape.sizes is None else [count, *shape.sizes])
