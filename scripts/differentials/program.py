"""A program: a name, and a function that builds a graph with a given API module.

Families add programs when they are imported; ``record`` builds and runs them. The module is independent of
both libraries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from itertools import product
from typing import Any

from .numbers import reals

__all__ = ["Build", "Family", "Plan", "Program", "Step", "in_order", "named", "on", "sized", "words"]

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


def in_order(*fetches: Any) -> Plan:
    """Return the plan of a run for each of some fetches."""
    return Plan(steps=[Step(each) for each in fetches])


@dataclass(frozen=True)
class Program:
    """A named program.

    Attributes:
        name: ``family/what``.
        build: builds the graph.
    """

    name: str
    build: Build

    @property
    def family(self) -> str:
        """The name of its family: the part before the first ``/``."""
        return self.name.partition("/")[0]


@dataclass
class Family:
    """Programs of one kind, in the order in which they are added.

    Args:
        name: the name of the family.
    """

    name: str
    programs: list[Program] = field(default_factory=list)

    def add(self, name: str, build: Build) -> None:
        """Add a program.

        Args:
            name: the name of the program, without that of the family.
            build: builds the graph.
        """
        self.programs.append(Program(f"{self.name}/{name}", build))

    def __call__(self, name: str, /, **options: Any) -> Callable[[Build], Build]:
        """Return a decorator that adds a function as a program; the arguments are those of ``over``."""

        def added(build: Build) -> Build:
            self.over(name, build, **options)
            return build

        return added

    def over(self, name: str, build: Build, /, **options: Any) -> None:
        """Add a program for each combination of options.

        Args:
            name: the name of each, with the options in braces; it has no spaces.
            build: builds the graph; the options are further arguments.
            **options: the values of each, or a mapping from what stands in names to the values.
        """
        pairs = [_labelled(values) for values in options.values()]
        for chosen in product(*pairs):
            labels = {key: label for key, (label, _) in zip(options, chosen, strict=True)}
            given = {key: value for key, (_, value) in zip(options, chosen, strict=True)}
            self.add(name.format_map(labels).replace(" ", ""), partial(build, **given))

    def each(self, builds: Mapping[str, Any], via: Callable[[Any], Build] | None = None) -> None:
        """Add the programs of a table.

        Args:
            builds: what builds each, by name.
            via: makes the function that builds a program of an entry that is none.
        """
        for name, build in builds.items():
            self.add(name, build if via is None else via(build))


def _labelled(values: Any) -> list[tuple[Any, Any]]:
    return list(values.items()) if isinstance(values, Mapping) else [(each, each) for each in values]


def words(text: str) -> list[str]:
    """Return the words of a text, which are names of functions or dtypes."""
    return text.split()


def sized(*sizes: Any) -> dict[str, Any]:
    """Return shapes by the way in which names have them: ``2x3``, or ``scalar``."""
    return {"x".join(map(str, size)) or "scalar": size for size in sizes}


def named(tf: Any, dotted: str) -> Any:
    """Return what a dotted name leads to in an API module."""
    return reduce(getattr, dotted.split("."), tf)


def on(change: Callable[..., Any], shape: Any = (2, 3, 4), known: bool = True) -> Build:
    """Return a program that changes a placeholder of float32.

    Args:
        change: makes the fetches of the API module, the placeholder and the options.
        shape: the shape of what is fed.
        known: whether the graph knows it; ``known`` among the options counts more.
    """

    def build(tf: Any, np: Any, known: bool = known, **options: Any) -> Plan:
        x = tf.placeholder(tf.float32, shape if known else [None] * len(shape))
        return Plan(change(tf, x, **options), {x: reals(np, shape)})

    return build
