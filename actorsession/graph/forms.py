"""How operations and shapes are told in TensorFlow's messages, which a higher room knows.

``Operation.node_def``, ``Operation.get_attr``, what ``Operation.op_def`` says of inputs, outputs and
attributes, and ``TensorShape.as_proto`` answer as TensorFlow's do, in messages of ``interop``, which stands
above graphs and registers here how it makes them. Everything else reads ``Operation.plain`` and
``Operation.attrs``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from actorsession.graph.extension import ExtensionPoint

if TYPE_CHECKING:
    from actorsession.graph.operation import Operation
    from actorsession.graph.registry import OpDef
    from actorsession.graph.shape import TensorShape

__all__ = ["PROTO_VIEWS", "Forms", "forms"]


class Forms(Protocol):
    """Makes TensorFlow's messages."""

    def node(self, op: Operation) -> Any:
        """Return an operation as ``NodeDef``.

        Raises:
            ValueError: for one that has no such form.
        """

    def attribute(self, op: Operation, name: str) -> Any:
        """An attribute as TensorFlow gives it, also one that is derived from the inputs.

        Raises:
            ValueError: if the operation has no such attribute.
        """

    def definition(self, op_def: OpDef) -> Any:
        """Return an operation type as TensorFlow's ``OpDef``."""

    def shape(self, shape: TensorShape) -> Any:
        """A shape as ``TensorShapeProto``."""


PROTO_VIEWS: ExtensionPoint[Forms] = ExtensionPoint("TensorFlow's messages", "actorsession.interop")
"""Filled under ``forms``."""


def forms() -> Forms:
    """Return what makes messages.

    Raises:
        RuntimeError: if nothing does, because no front of the package has said where that is.
    """
    return PROTO_VIEWS.get("forms")
