"""A program: a name, and a function that builds a graph with a given API module.

Families add programs when they are imported; ``record`` builds and runs them. The module is independent of
both libraries.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["Build", "Family", "Plan", "Program", "Step"]

# Not ``[Any, Any]``: programs defined in a loop take the loop's values as defaults of further parameters.
Build = Callable[..., Any]
"""``build(tf, np)`` builds the graph and returns a ``Plan``, or only the fetches."""


@dataclass(frozen=True)
class Step:
    """One run of a session.

    Attributes:
        fetches: the fetches.
        feeds: the feeds.
    """

    fetches: Any
    feeds: Any = None


@dataclass(frozen=True)
class Plan:
    """The runs of a program after its graph is built, and what to compare.

    Attributes:
        fetches: the fetches of the only run if there are no steps; their static dtypes and shapes are
            compared as well.
        feeds: the feeds of the only run.
        steps: the runs in order, in one session; all are compared, even after a failed one.
        drive: an alternative to steps; a function of the session that returns functions to call in order.
        facts: observations during building, as lists, dicts, numbers and text, which must be equal.
        names: whether to compare the names of fetches.
        initialize: whether to initialise variables first.
        random: whether values are random, so that only their dtypes and shapes can be compared.
        tolerance: the relative and absolute tolerance, where that of the dtype is too narrow.
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
        build: builds the graph.
        needs: dotted names in the API module that the program needs; it is skipped without them.
    """

    name: str
    build: Build
    needs: tuple[str, ...] = ()

    @property
    def family(self) -> str:
        """The name of its family: the part before the first ``/``."""
        return self.name.partition("/")[0]

    def lacks(self, face: Any) -> list[str]:
        """Return the names it needs that an API module does not have."""
        return [name for name in self.needs if not _has(face, name)]


@dataclass
class Family:
    """Programs of one kind, in the order in which they are added.

    Args:
        name: the name of the family.
    """

    name: str
    programs: list[Program] = field(default_factory=list)

    def add(self, name: str, build: Build, *needs: str) -> None:
        """Add a program.

        Args:
            name: the name of the program, without that of the family.
            build: builds the graph.
            *needs: dotted names in the API module that the program needs; it is skipped without them.
        """
        self.programs.append(Program(f"{self.name}/{name}", build, needs))

    def __call__(self, name: str, *needs: str) -> Callable[[Build], Build]:
        """Return a decorator that adds a function as a program; the arguments are those of ``add``."""

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
