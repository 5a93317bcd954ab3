"""What elements of queues and staging areas are made of: components with dtypes, shapes and perhaps names."""

from __future__ import annotations

from actorsession.graph.dtypes import DType
from actorsession.graph.shape import TensorShape

__all__ = ["Components"]


class Components:
    """What is known of an element.

    Args:
        dtypes: of its components.
        shapes: of them; may be empty if they are not known.
        names: of them, if elements are dictionaries.
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
        """The shapes of an element's components; empty if they are not known."""
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        """The names of an element's components, if they have any."""
        return self._names
