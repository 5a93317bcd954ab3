"""Whole numbers in texts: names of outputs, arguments of commands, versions.

A module without imports, because the command line uses it before it needs anything else.
"""

from __future__ import annotations

__all__ = ["is_index"]


def is_index(text: str) -> bool:
    """Return whether a text is a whole number from 0, of as many digits as any index or count can have."""
    return text.isascii() and text.isdigit() and len(text) < 19
