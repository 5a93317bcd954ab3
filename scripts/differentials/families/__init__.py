"""The programs: one module for each group of families, with a list ``FAMILIES``.

A program imports neither library. ``programs`` collects all of them, always in the same order.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

from scripts.differentials.program import Program

__all__ = ["programs"]


def programs() -> list[Program]:
    """Return all programs, by family and in the order in which each family adds them."""
    out: list[Program] = []
    for module in sorted(pkgutil.iter_modules(__path__), key=lambda found: found.name):
        for family in import_module(f"{__name__}.{module.name}").FAMILIES:
            out.extend(family.programs)
    return out
