"""The nodes of a graph: in the order they were built, by name, by body, and by the tensors that they read.

Operations are never removed, except those of a loop body or branch that was abandoned: operations in bodies
are found by name, and are not part of the order here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actorsession.graph.function import FunctionBody, size_inside
from actorsession.graph.graph_lock import GraphLock
from actorsession.graph.operation import Operation, Tensor
from actorsession.whole_numbers import is_index

__all__ = ["NodeIndex", "check_kind"]

# Operations whose plain forms are made under one hold of the lock: about a millisecond.
_SLICE = 200


class NodeIndex:
    """The nodes of one graph. Callers hold the mutex to add to it; look-ups need no lock.

    Args:
        lock: that of the graph.

    Attributes:
        order: all operations but those in bodies, in the order they were built; read only.
        bodies: the loop body or branch that each of the other operations is in; read only.
        inside: number of nodes in the functions of ``order``.
    """

    def __init__(self, lock: GraphLock) -> None:
        self._lock = lock
        self.order: list[Operation] = []
        self.bodies: dict[Operation, FunctionBody] = {}
        self.inside = 0
        self._by_name: dict[str, Operation] = {}
        self._consumers: dict[Tensor, list[Operation]] = {}
        self._consumers_of = 0  # number of operations whose inputs are indexed

    def __len__(self) -> int:
        """Return the number of operations, those in bodies included."""
        return len(self.order) + len(self.bodies)

    @property
    def total_size(self) -> int:
        """The number of nodes that a plan of everything has: operations, and the nodes of functions."""
        return len(self.order) + self.inside

    def __contains__(self, name: str) -> bool:
        """Return whether an operation has the name."""
        return name in self._by_name

    def add(self, op: Operation, body: FunctionBody | None) -> None:
        """Add an operation that was built into a body, or into the graph itself."""
        if body is None:
            self.order.append(op)
            self.inside += size_inside(op)
        else:
            body.operations.append(op)
            self.bodies[op] = body
        self._by_name[op.name] = op

    def remove_body(self, body: FunctionBody) -> None:
        """Drop the operations of a loop body or branch that was abandoned; its names stay taken."""
        with self._lock.mutex:
            for op in [op for op, home in self.bodies.items() if body.encloses(home)]:
                del self._by_name[op.name], self.bodies[op]

    def construct_of(self, element: Tensor | Operation) -> str | None:
        """Return the name of the loop or cond around an operation, or around a tensor of one, if any."""
        op = element.op if isinstance(element, Tensor) else element
        body = self.bodies.get(op)
        return None if body is None else body.construct

    def describe(self, number: int, check: Callable[[], None]) -> None:
        """Make and keep the plain forms of all operations but the first ``number``.

        The graph is locked for slices of them, so that other threads hardly wait to build. A session that
        then reads all operations holds the lock only briefly.

        Args:
            number: how many have their plain forms already.
            check: called between two slices; its exception ends the work.
        """
        added = self.order[number:]
        for first in range(0, len(added), _SLICE):
            with self._lock.mutex:
                for op in added[first : first + _SLICE]:
                    _ = op.plain
            check()

    def find(self, name: Any, *, allow_tensor: bool = True, allow_operation: bool = True) -> Tensor | Operation:
        """Return the operation or tensor of a name; see ``Graph.as_graph_element``."""
        if not isinstance(name, str):
            kind = "Tensor" if not allow_operation else "Operation"
            raise TypeError(f"{kind} names are strings (or similar), not {type(name).__name__}: {name!r:.100}")
        check_kind(name, ":" in name, allow_tensor, allow_operation)
        op_name, colon, index = name.partition(":")
        if colon and not is_index(index):
            raise ValueError(
                f"The name {name!r} looks like a Tensor name, but is not a valid one: malformed; tensor "
                'names must be of the form "<op_name>:<output_index>".'
            )
        op = self._by_name.get(op_name)
        if op is None:
            if colon:
                raise KeyError(
                    f"The name {name!r} refers to a Tensor which does not exist. The operation, {op_name!r}, "
                    "does not exist in the graph."
                )
            raise KeyError(f"The name {name!r} refers to an Operation not in the graph.")
        if not colon:
            return op
        if int(index) >= len(op.outputs):
            raise KeyError(
                f"The name {name!r} refers to a Tensor which does not exist. The operation, {op_name!r}, "
                f"exists but only has {len(op.outputs)} outputs."
            )
        return op.outputs[int(index)]

    def consumers(self, tensor: Tensor) -> list[Operation]:
        """Return the operations that read a tensor, in the order they were built."""
        with self._lock.mutex:
            # Brought up to date here, because this is called rarely, and never while a large graph is built.
            for op in self.order[self._consumers_of :]:
                for read in dict.fromkeys(op.inputs):
                    self._consumers.setdefault(read, []).append(op)
            self._consumers_of = len(self.order)
            return list(self._consumers.get(tensor, ()))

    def forget_consumers(self) -> None:
        """Drop the index of consumers, because an operation has other inputs now."""
        self._consumers = {}
        self._consumers_of = 0


def check_kind(name: str, is_tensor: bool, allow_tensor: bool, allow_operation: bool) -> None:
    """Refuse a tensor or an operation where only the other is wanted.

    Raises:
        ValueError: with the name.
    """
    if is_tensor and not allow_tensor:
        raise ValueError(f"Name {name!r} appears to refer to a Tensor, not a Operation.")
    if not is_tensor and not allow_operation:
        raise ValueError(
            f"The name {name!r} refers to an Operation, not a Tensor. Tensor names must be of the form "
            f'"<op_name>:<output_index>", such as "{name}:0".'
        )
