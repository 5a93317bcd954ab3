"""``app.run``: the main function of a program, after its flags were read."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from actorsession.compat.v1 import flags

__all__ = ["flags", "run"]


def run(main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None) -> None:
    """Read the flags, call ``main`` with the words that are none, and ends the program with its result.

    Args:
        main: the function; that of the program's own module if left out.
        argv: the command line with the program's name; that of the process if left out.
    """
    words = list(sys.argv if argv is None else argv)
    rest = flags.FLAGS._parse(words[1:])
    function = main if main is not None else sys.modules["__main__"].main
    sys.exit(function([*words[:1], *rest]))
