"""``app.run``: runs the main function of a program after parsing its flags."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from actorsession.compat.v1 import flags

__all__ = ["flags", "run"]


def run(main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None) -> None:
    """Parse the flags, call ``main`` with the remaining arguments, and exit with its result.

    Args:
        main: the function; ``main`` of the program's ``__main__`` module if omitted.
        argv: the command line with the program's name; that of the process if omitted.
    """
    words = list(sys.argv if argv is None else argv)
    rest = flags.FLAGS._parse(words[1:])
    function = main if main is not None else sys.modules["__main__"].main
    sys.exit(function([*words[:1], *rest]))
