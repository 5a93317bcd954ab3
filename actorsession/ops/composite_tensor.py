"""What tensors of several parts share, of which one holds the values."""

from __future__ import annotations

from typing import Any

from actorsession.graph.dtypes import DType
from actorsession.graph.graph import Graph
from actorsession.graph.operation import Operation, Tensor

__all__ = ["CompositeTensor"]


class CompositeTensor:
    """A tensor of several parts; its element type, operation, name and graph are those of its values."""

    __slots__ = ("__dict__", "__weakref__", "_values")  # programs set attributes of their own

    _values: Tensor

    def with_values(self, new_values: Any) -> Any:
        """Return the same parts with other values, possibly of another element type."""
        raise NotImplementedError

    @property
    def dtype(self) -> DType:
        """The element type of the values."""
        return self._values.dtype

    @property
    def op(self) -> Operation:
        """The operation that produces the values."""
        return self._values.op

    @property
    def name(self) -> str:
        """The name of the values."""
        return self._values.name

    @property
    def device(self) -> str:
        """The requested device of the values, possibly empty."""
        return self._values.device

    @property
    def graph(self) -> Graph:
        """The graph that the parts belong to."""
        return self._values.graph

    def consumers(self) -> list[Operation]:
        """Return the operations that take the values as input, in the order they were built."""
        return self._values.consumers()
