"""The empty reply, which confirms that a request has been carried out."""

from __future__ import annotations

from actorsession.messages.registry import message
from actorsession.records import dataclass

__all__ = ["Done"]


@message("done")
@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The request was carried out."""
