"""Command-line flags as TensorFlow 1 programs define them, implemented with ``argparse``.

``DEFINE_string("name", default, help)`` adds a flag and ``FLAGS.name`` reads it. The first read parses the
command line. Arguments that are not flags are left to ``app.run``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from typing import Any

__all__ = [
    "FLAGS",
    "DEFINE_bool",
    "DEFINE_boolean",
    "DEFINE_enum",
    "DEFINE_float",
    "DEFINE_integer",
    "DEFINE_list",
    "DEFINE_string",
]  # fmt: skip


class _Flags:
    """The flags of the program."""

    def __init__(self) -> None:
        self.__dict__["_parser"] = argparse.ArgumentParser(allow_abbrev=False)
        self.__dict__["_values"] = None
        self.__dict__["_rest"] = []

    def _define(self, name: str, **how: Any) -> None:
        parser: argparse.ArgumentParser = self.__dict__["_parser"]
        parser.add_argument(f"--{name}", dest=name, **how)
        self.__dict__["_values"] = None  # the last parse did not include this flag

    def _parse(self, words: Sequence[str] | None = None) -> list[str]:
        """Parse the command line and return the arguments that are not flags."""
        given = list(sys.argv[1:] if words is None else words)
        parser: argparse.ArgumentParser = self.__dict__["_parser"]
        self.__dict__["_values"], rest = parser.parse_known_args(given)
        self.__dict__["_rest"] = rest
        return rest

    def __getattr__(self, name: str) -> Any:
        if self.__dict__["_values"] is None:
            self._parse()
        try:
            return getattr(self.__dict__["_values"], name)
        except AttributeError:
            raise AttributeError(f"there is no flag {name!r}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        if self.__dict__["_values"] is None:
            self._parse()
        setattr(self.__dict__["_values"], name, value)

    def __contains__(self, name: str) -> bool:
        if self.__dict__["_values"] is None:
            self._parse()
        return hasattr(self.__dict__["_values"], name)

    def __iter__(self) -> Any:
        if self.__dict__["_values"] is None:
            self._parse()
        return iter(vars(self.__dict__["_values"]))


FLAGS = _Flags()
"""The values of the flags as attributes."""


def _definer(kind: Callable[[str], Any]) -> Callable[..., None]:
    def define(name: str, default: Any, help: str | None = "") -> None:
        """Add a flag.

        Args:
            name: the name after ``--``.
            default: the value if the flag is not given.
            help: the help text.
        """
        FLAGS._define(name, type=kind, default=default, help=help)

    return define


def _truth(text: str) -> bool:
    if text.lower() in ("true", "t", "1", "yes", "y"):
        return True
    if text.lower() in ("false", "f", "0", "no", "n"):
        return False
    raise argparse.ArgumentTypeError(f"{text!r} is neither true nor false")


DEFINE_string = _definer(str)
DEFINE_integer = _definer(int)
DEFINE_float = _definer(float)


def DEFINE_boolean(name: str, default: bool | None, help: str | None = "") -> None:
    """Add a flag that is true or false: ``--name``, ``--noname`` or ``--name=false``.

    Args:
        name: the name after ``--``.
        default: the value if the flag is not given.
        help: the help text.
    """
    FLAGS._define(name, type=_truth, nargs="?", const=True, default=default, help=help)
    parser: argparse.ArgumentParser = FLAGS.__dict__["_parser"]
    parser.add_argument(f"--no{name}", dest=name, action="store_false", default=argparse.SUPPRESS)


DEFINE_bool = DEFINE_boolean


def DEFINE_list(name: str, default: Any, help: str | None = "") -> None:
    """Add a flag with a comma-separated list of strings; the arguments are those of ``DEFINE_boolean``."""
    FLAGS._define(
        name, type=lambda text: text.split(",") if text else [], default=default, help=help
    )


def DEFINE_enum(name: str, default: Any, enum_values: Sequence[str], help: str | None = "") -> None:
    """Add a flag with one of the given values; the other arguments are those of ``DEFINE_boolean``."""
    FLAGS._define(name, choices=list(enum_values), default=default, help=help)
