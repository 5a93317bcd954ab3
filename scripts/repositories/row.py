"""A row of the table: a repository, what of it is run, and the sign that it has learnt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .sign import Sign

__all__ = ["Row"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A repository and what is run.

    Attributes:
        source: its owner and name on GitHub, ``@``, and the commit that is run, all 40 digits.
        what: what is run, in words.
        programs: the arguments of ``run-tf1``, one after the other; ``DRIVERS/`` is the folder of ours.
        sign: the sign in what they print together.
        figure: the author's figures, or TensorFlow's for the same, where they are known.
        folder: the folder of the repository that they are run in.
        requires: the distributions that they need, as pip takes them.
        apart: old distributions that they need, which are installed where no other row sees them, and without
            what those need.
        data: writes what the repository does not ship into the working copy.
        constants: the constants of a file that have another value, which is an expression.
        path: the folders that modules are looked for in, relative to that one.
        environment: environment variables.
        seconds: the limit of all programs together, for a machine with other work too.
        endless: whether the last program is stopped once the sign is there; it would go on for hours.
        attempts: how often it is run until it learns, for programs that do not in each run, with no seed of theirs.
    """

    source: str
    what: str
    programs: tuple[str, ...]
    sign: Sign
    figure: str = ""
    folder: str = "."
    requires: tuple[str, ...] = ()
    apart: tuple[str, ...] = ()
    data: Callable[[Path], None] | None = None
    constants: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    path: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 900
    endless: bool = False
    attempts: int = 1

    @property
    def repository(self) -> str:
        """Its owner and name."""
        return self.source.partition("@")[0]

    @property
    def commit(self) -> str:
        """The commit that is run."""
        return self.source.partition("@")[2]

    @property
    def url(self) -> str:
        """Where it is cloned from."""
        return f"https://github.com/{self.repository}"
