"""The output, exit statuses and argument parsers that all commands share.

Called by the modules of the commands; imports only the standard library.
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

__all__ = [
    "DONE", "FAILED", "WRONG", "add_file_roots", "fail", "positive", "raw", "say", "say_json", "seconds",
]  # fmt: skip

DONE, FAILED, WRONG = 0, 1, 2
"""Exit statuses."""

raw = argparse.RawDescriptionHelpFormatter


def say(line: str) -> None:
    """Write a line to standard output and flush it, because a reader may wait at a pipe."""
    print(line, flush=True)


def say_json(value: Any) -> None:
    """Write a value as one line of JSON."""
    say(json.dumps(value))


def fail(command: str, error: object) -> int:
    """Write an error to standard error, in one line.

    Returns:
        The exit status of failure.
    """
    text = " | ".join(str(error).splitlines())
    print(f"actorsession {command}: {text}", file=sys.stderr, flush=True)
    return FAILED


def add_file_roots(parser: argparse.ArgumentParser) -> None:
    """Add the option for the folders in which operations may open files."""
    parser.add_argument(
        "--file-root", action="append", dest="file_roots", metavar="DIR",
        help="let operations open files there and nowhere else; may be given several times (by default "
        "anywhere where only this machine reaches the server, and nowhere otherwise)",
    )  # fmt: skip


def positive(text: str) -> int:
    """Parse a whole number from 1, for argparse."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"a whole number from 1 is wanted, got {text!r}")
    return value


def seconds(text: str) -> float:
    """Parse a number of seconds above 0, for argparse."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"a number of seconds above 0 is wanted, got {text!r}")
    return value
