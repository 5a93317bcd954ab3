"""The operations of a graph in the order they were built, by name, and by the tensors that they read.

This module holds the methods of ``Graph`` that find an operation or a tensor. ``Graph`` alone adds
operations. They are never removed, except those of a loop body or branch that was abandoned: operations in
bodies are found by name, and are not part of the order here.
"""

from __future__ import annotations

import threading
from typing import Any

from actorsession.graph.operation import Operation, Tensor

__all__ = ["NodeIndex"]


class NodeIndex:
    """The part of ``Graph`` that finds operations and tensors."""

    _lock: threading.RLock

    def __init__(self) -> None:
        super().__init__()
        self._operations: list[Operation] = []
        self._by_name: dict[str, Operation] = {}
        self._consumers: dict[Tensor, list[Operation]] = {}
        self._consumers_of = 0  # number of operations whose inputs are indexed

    def get_operations(self) -> list[Operation]:
        """Return all operations in the order they were built."""
        return list(self._operations)

    def operations_since(self, number: int) -> list[Operation]:
        """Return the operations built after the first ``number``."""
        return self._operations[number:]

    def consumers(self, tensor: Tensor) -> list[Operation]:
        """Return the operations that read ``tensor``, in the order they were built."""
        with self._lock:
            # Brought up to date here, because this is called rarely, and never while a large graph is built.
            for op in self._operations[self._consumers_of :]:
                for read in dict.fromkeys(op.inputs):
                    self._consumers.setdefault(read, []).append(op)
            self._consumers_of = len(self._operations)
            return list(self._consumers.get(tensor, ()))

    def get_operation_by_name(self, name: str) -> Operation:
        """Return the operation of that name.

        Raises:
            TypeError: if the name is no string.
            KeyError: if there is none.
            ValueError: if the name is that of a tensor.
        """
        found = self.as_graph_element(_checked_name(name), allow_tensor=False)
        assert isinstance(found, Operation)
        return found

    def get_tensor_by_name(self, name: str) -> Tensor:
        """Return the tensor of that name, ``operation:index``.

        Raises:
            TypeError: if the name is no string.
            KeyError: if the operation or the output does not exist.
            ValueError: if the name is malformed or that of an operation.
        """
        found = self.as_graph_element(_checked_name(name), allow_operation=False)
        assert isinstance(found, Tensor)
        return found

    def as_graph_element(
        self, obj: Any, *, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Tensor | Operation:
        """Return the tensor or operation that an object or name denotes.

        Args:
            obj: a tensor, an operation, a name, or anything with ``_as_graph_element()``.
            allow_tensor: whether a tensor is allowed.
            allow_operation: whether an operation is allowed.

        Raises:
            TypeError: if the object can never denote an element of a graph.
            ValueError: for a malformed name, the wrong kind, or an element of another graph.
            KeyError: if the name is not in the graph.
        """
        if isinstance(obj, str):
            _check_kind(obj, ":" in obj, allow_tensor, allow_operation)
            return self._find(obj)
        if not hasattr(obj, "_as_graph_element"):
            kinds = " or ".join(["Tensor"] * allow_tensor + ["Operation"] * allow_operation)
            raise TypeError(f"cannot convert a {type(obj).__name__} to a {kinds}: {obj!r:.100}")
        found: Any = obj._as_graph_element()
        if isinstance(found, str):  # objects may denote a name, as in TensorFlow
            return self.as_graph_element(
                found, allow_tensor=allow_tensor, allow_operation=allow_operation
            )
        if not isinstance(found, (Tensor, Operation)):
            raise TypeError(
                f"{type(obj).__name__}._as_graph_element() gives a Tensor, an Operation or a name, got "
                f"{found!r:.100}"
            )
        if found.graph is not self:
            raise ValueError(f"{found!r} is not an element of this graph but of another one")
        _check_kind(found.name, isinstance(found, Tensor), allow_tensor, allow_operation)
        return found

    def _find(self, name: str) -> Tensor | Operation:
        op_name, colon, index = name.partition(":")
        if colon and not (index.isascii() and index.isdigit()):
            raise ValueError(f"malformed tensor name {name!r}: write 'operation:index'")
        op = self._by_name.get(op_name)
        if op is None:
            raise KeyError(f"the name {name!r} refers to an operation that is not in the graph")
        if not colon:
            return op
        if int(index) >= len(op.outputs):
            raise KeyError(
                f"the name {name!r} refers to output {index} of {op_name!r} ({op.type}), "
                f"which has {len(op.outputs)}"
            )
        return op.outputs[int(index)]

    def _forget_consumers(self) -> None:
        """Drop the index of consumers, because an operation reads something else now."""
        self._consumers = {}
        self._consumers_of = 0


def _checked_name(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(f"names are strings, got a {type(name).__name__}: {name!r:.100}")
    return name


def _check_kind(name: str, is_tensor: bool, allow_tensor: bool, allow_operation: bool) -> None:
    if is_tensor and not allow_tensor:
        raise ValueError(f"{name!r} names a tensor; an operation is wanted here")
    if not is_tensor and not allow_operation:
        raise ValueError(
            f"{name!r} names an operation; a tensor is wanted here, such as '{name}:0'"
        )
