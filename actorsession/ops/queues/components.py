"""The components of elements of queues and staging areas: dtypes, shapes and optional names."""

from __future__ import annotations

from actorsession.graph.dtypes import DType
from actorsession.graph.shape import TensorShape

__all__ = ["Components"]


class Components:
    """The static type of an element.

    Args:
        dtypes: dtypes of the components.
        shapes: shapes of the components; may be empty if they are unknown.
        names: names of the components, if elements are dictionaries.
    """

    def __init__(
        self, dtypes: list[DType], shapes: list[TensorShape], names: list[str] | None
    ) -> None:
        self._dtypes = dtypes
        self._shapes = shapes
        self._names = names

    @property
    def dtypes(self) -> list[DType]:
        """The dtypes of an element's components."""
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        """The shapes of an element's components; empty if they are unknown."""
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        """The names of an element's components, if they have any."""
        return self._names
