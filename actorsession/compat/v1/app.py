"""``app.run``: runs the main function of a program after parsing its flags."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from actorsession.compat.v1 import flags

__all__ = ["flags", "run"]

_HELP = ("--help", "-help", "-h", "--h", "--helpshort", "--helpfull")


def _errors_of_absl() -> tuple[Any, ...]:
    module = sys.modules.get("absl.flags")
    return (module.Error,) if module is not None and hasattr(module, "Error") else ()


def absl_flags() -> Any:
    """Return the flags of ``absl`` itself, if the program has imported it; else ``None``."""
    module = sys.modules.get("absl.flags")
    return None if module is None else getattr(module, "FLAGS", None)


def run(main: Callable[[list[str]], Any] | None = None, argv: Sequence[str] | None = None) -> None:
    """Parse the flags, call ``main`` with the remaining arguments, and exit with its result.

    A command line that cannot be read ends the program with status 1 and a message on standard error;
    ``--help`` prints what the program says of itself and its flags.

    Args:
        main: the function; ``main`` of the program's ``__main__`` module if omitted.
        argv: the command line with the program's name; that of the process if omitted.
    """
    words = list(sys.argv if argv is None else argv) or [""]
    program: Any = sys.modules["__main__"]
    if any(word in _HELP for word in words[1:]):
        said = (program.__doc__ or f"\nUSAGE: {words[0]} [flags]\n").strip("\n")
        sys.stdout.write(f"{said}\nflags:\n\n{flags.FLAGS.main_module_help()}\n")
        sys.exit(1)
    try:
        rest = flags.FLAGS(words, known_only=True)
        of_absl = absl_flags()
        if of_absl is not None and of_absl is not flags.FLAGS:
            rest = of_absl(rest, known_only=True)
    except (flags.Error, *_errors_of_absl()) as error:
        said = f"FATAL Flags parsing error:\n  {error}\nPass --help to see help on flags.\n"
        sys.stderr.write(said)
        sys.exit(1)
    sys.exit((main if main is not None else program.main)(rest))
