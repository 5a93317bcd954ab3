"""The one reply that carries nothing: it says that what was asked has been done."""

from __future__ import annotations

from dataclasses import dataclass

from actorsession.messages.registry import message

__all__ = ["Done"]


@message("done")
@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The request was carried out."""
