"""The differences that are meant, each with its reason; ``docs/semantics.md`` tells most of them at length."""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase

__all__ = ["REASONS", "Reason"]


@dataclass(frozen=True)
class Reason:
    """Why programs differ.

    Attributes:
        programs: a name, or a pattern of names as the shell has them.
        kinds: what may differ (``compare.KINDS``); each has to, in some program.
        why: a sentence.
    """

    programs: str
    kinds: tuple[str, ...]
    why: str

    def matches(self, name: str) -> bool:
        """Whether it speaks of a program."""
        return fnmatchcase(name, self.programs)


REASONS: tuple[Reason, ...] = ()
