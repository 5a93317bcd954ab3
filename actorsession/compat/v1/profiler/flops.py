"""How many float operations a node needs, by its operation type; programs may register further types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from actorsession.graph.operation import Operation
from actorsession.plan.flops import FLOPS, Shapes, float_operations

__all__ = ["OpStats", "RegisterStatistics", "flops_of", "get_stats_for_node_def"]


class OpStats:
    """A number that a program's function tells of a node.

    Args:
        statistic_type: what it counts, such as ``flops``.
        value: the number; ``None`` if it is not known.
    """

    def __init__(self, statistic_type: str, value: Any = None) -> None:
        self.statistic_type, self.value = statistic_type, value

    @property
    def statistic_type(self) -> str:
        """What it counts."""
        return self._statistic_type

    @statistic_type.setter
    def statistic_type(self, statistic_type: str) -> None:
        self._statistic_type = statistic_type

    @property
    def value(self) -> Any:
        """The number."""
        return self._value

    @value.setter
    def value(self, value: Any) -> None:
        self._value = value

    def __iadd__(self, other: OpStats) -> OpStats:
        if other.statistic_type != self.statistic_type:
            raise ValueError(f"a number of {other.statistic_type!r} cannot be added to one of {self.statistic_type!r}")
        if self.value is None:
            self.value = other.value
        elif other.value is not None:
            self.value = self.value + other.value
        return self


_REGISTERED: dict[tuple[str, str], Callable[..., OpStats]] = {}


class RegisterStatistics:
    """A decorator that registers what tells a number of nodes of an operation type.

    The function takes the graph and the node as a message, and returns an ``OpStats``.

    Args:
        op_type: the operation type.
        statistic_type: what it counts, such as ``flops``.

    Raises:
        TypeError: if they are no strings.
        ValueError: if the type has a comma.
        KeyError: from the decorator, if there is such a function already.
    """

    def __init__(self, op_type: str, statistic_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError("op_type must be a string.")
        if "," in op_type:
            raise ValueError("op_type must not contain a comma.")
        if not isinstance(statistic_type, str):
            raise TypeError("statistic_type must be a string.")
        self._key = (op_type, statistic_type)

    def __call__(self, f: Callable[..., OpStats]) -> Callable[..., OpStats]:
        """Register the function and return it."""
        if self._key in _REGISTERED or (self._key[1] == "flops" and self._key[0] in FLOPS):
            raise KeyError(f"{self._key[1]} of {self._key[0]} are registered already")
        _REGISTERED[self._key] = f
        return f


def flops_of(op: Operation) -> int | None:
    """Return the number of float operations of a node; ``None`` if nobody says how they are counted.

    Raises:
        ValueError: if a shape that counts is not fully defined, or the data has another layout.
    """
    function = _REGISTERED.get((op.type, "flops"))
    if function is not None:
        told = function(op.graph, op.node_def).value
        return None if told is None else int(told)
    return float_operations(op.type, Shapes(op.attrs, [t.shape for t in op.inputs], [t.shape for t in op.outputs]))


def get_stats_for_node_def(graph: Any, node: Any, statistic_type: str) -> OpStats:
    """Return a number of a node.

    Args:
        graph: the graph.
        node: the node as a message.
        statistic_type: what is counted, such as ``flops``.

    Raises:
        ValueError: if a shape that counts is not fully defined.
    """
    function = _REGISTERED.get((node.op, statistic_type))
    if function is not None:
        return function(graph, node)
    if statistic_type != "flops":
        return OpStats(statistic_type)
    return OpStats(statistic_type, flops_of(graph.get_operation_by_name(node.name)))
