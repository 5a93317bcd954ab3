"""The forms of operations and shapes as TensorFlow's messages, which a higher package provides.

``Operation.node_def``, ``Operation.get_attr``, the inputs, outputs and attributes in ``Operation.op_def``,
and ``TensorShape.as_proto`` return messages like TensorFlow's. The messages belong to ``interop``, which is
above graphs and registers here how to make them. Everything else reads ``Operation.plain`` and
``Operation.attrs``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from actorsession.graph.operation import Operation
    from actorsession.graph.registry import OpDef
    from actorsession.graph.shape import TensorShape

__all__ = ["Forms", "forms", "register_forms"]


class Forms(Protocol):
    """The factory of TensorFlow's messages."""

    def node(self, op: Operation) -> Any:
        """Return an operation as ``NodeDef``.

        Raises:
            ValueError: for one that has no such form.
        """

    def attribute(self, op: Operation, name: str) -> Any:
        """Return an attribute as in TensorFlow, also one that is derived from the inputs.

        Raises:
            ValueError: if the operation has no such attribute.
        """

    def definition(self, op_def: OpDef) -> Any:
        """Return an operation type as TensorFlow's ``OpDef``."""

    def shape(self, shape: TensorShape) -> Any:
        """Return a shape as ``TensorShapeProto``."""


_REGISTERED: list[Forms] = []


def register_forms(made: Forms) -> None:
    """Register the factory of messages; ``interop`` calls this once, when it is imported."""
    _REGISTERED[:] = [made]


def forms() -> Forms:
    """Return the factory of messages.

    Raises:
        RuntimeError: before ``actorsession.interop`` is imported, which ``import actorsession`` does.
    """
    if not _REGISTERED:
        raise RuntimeError("TensorFlow's messages are made by actorsession.interop: import it")
    return _REGISTERED[0]
