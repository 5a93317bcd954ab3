"""The message of an operation type, for ``registry``; see ``extension.PROTO_VIEWS``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from actorsession.graph.extension import PROTO_VIEWS

if TYPE_CHECKING:
    from actorsession.graph.registry import OpDef

__all__ = ["forms"]


class forms:
    """The part of ``PROTO_VIEWS`` that ``registry`` reads."""

    def definition(self, op_def: OpDef) -> Any:
        """Return an operation type as TensorFlow's ``OpDef``."""
        return PROTO_VIEWS.get("OpDef")(op_def)
