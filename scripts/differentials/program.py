"""What a program is: a name, and a function that builds a graph with whichever face it is given.

Families add programs while they are imported; ``record`` builds and runs them. Nothing here knows either
library.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Build", "Family", "Plan", "Program", "Step"]

# Not ``[Any, Any]``: in a loop, a program takes what it is made for as a default of its own.
Build = Callable[..., Any]
"""``build(tf, np)`` builds the graph and returns a ``Plan``, or just what is to be fetched."""


@dataclass(frozen=True)
class Step:
    """One run of a session.

    Attributes:
        fetches: what is fetched.
        feeds: what is fed.
    """

    fetches: Any
    feeds: Any = None


@dataclass(frozen=True)
class Plan:
    """What is to be run once the graph is built, and what of it is compared.

    Attributes:
        fetches: of the one run, when there are no steps; their static dtypes and shapes are compared as well.
        feeds: of the one run.
        steps: the runs in order, in one session; each is compared, also after one that failed.
        drive: instead of steps, called with the session: calls without arguments that are made in order.
        facts: what was seen while building, as lists, dicts, numbers and text; has to be equal.
        names: whether the names of what is fetched are compared.
        initialize: whether variables are initialised first.
        random: whether values are drawn, so that only their dtypes and shapes can be compared.
        tolerance: relative and absolute, where the usual one of the dtype is too narrow.
    """

    fetches: Any = None
    feeds: Any = None
    steps: Sequence[Step] | None = None
    drive: Callable[[Any], Sequence[Callable[[], Any]]] | None = None
    facts: Any = None
    names: bool = False
    initialize: bool = True
    random: bool = False
    tolerance: float | None = None


@dataclass(frozen=True)
class Program:
    """A named program.

    Attributes:
        name: ``family/what``.
        build: builds it.
        needs: dotted names of the face without which it is left out.
    """

    name: str
    build: Build
    needs: tuple[str, ...] = ()

    @property
    def family(self) -> str:
        """What stands before the first ``/``."""
        return self.name.partition("/")[0]

    def lacks(self, face: Any) -> list[str]:
        """Return the names it needs that a face does not have."""
        return [name for name in self.needs if not _has(face, name)]


@dataclass
class Family:
    """Programs of one kind, in the order in which they are added.

    Args:
        name: of the family.
    """

    name: str
    programs: list[Program] = field(default_factory=list)

    def add(self, name: str, build: Build, *needs: str) -> None:
        """Add a program.

        Args:
            name: without the family's.
            build: builds it.
            *needs: dotted names of the face without which it is left out.
        """
        self.programs.append(Program(f"{self.name}/{name}", build, needs))

    def __call__(self, name: str, *needs: str) -> Callable[[Build], Build]:
        """Add the function below as a program; arguments as ``add``."""

        def added(build: Build) -> Build:
            self.add(name, build, *needs)
            return build

        return added


def _has(face: Any, dotted: str) -> bool:
    for part in dotted.split("."):
        face = getattr(face, part, None)
        if face is None:
            return False
    return True
